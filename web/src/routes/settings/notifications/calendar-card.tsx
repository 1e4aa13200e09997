import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { calendarLinkQuery, useCalendarLink } from '../../../api/notifications.ts';
import { Button } from '../../../components/button.tsx';
import { Card } from '../../../components/card.tsx';
import { useConfirm } from '../../../components/confirm-dialog.tsx';
import { CopyField } from '../../../components/copy-field.tsx';
import { Field } from '../../../components/field.tsx';
import { useRecentSignIn } from '../../../components/recent-sign-in.tsx';
import { Loaded, SkeletonText } from '../../../components/states.tsx';
import { Time } from '../../../components/time.tsx';
import { toastError } from '../../../components/toast.tsx';

/**
 * The link from which the person's calendar program reads their deadlines: it is created, shown once, replaced or
 * removed here.
 */
export function CalendarCard() {
  const query = useQuery(calendarLinkQuery);
  const { data } = query;
  const { make, remove } = useCalendarLink();
  const [url, setUrl] = useState<string | null>(null);
  const confirm = useConfirm();
  const madeAt = data?.made_at ?? null;
  const withRecentSignIn = useRecentSignIn();
  const makeOne = async () => setUrl((await withRecentSignIn(() => make.mutateAsync())).url);
  const removeIt = async () => {
    await remove.mutateAsync();
    setUrl(null);
  };
  return (
    <Card
      title="Calendar"
      description="Your deadlines in your own calendar program: offers that expire, exclusivity and NDAs that end, closing conditions that are due. It shows the deal and what to do, nothing more."
      actions={
        data !== undefined &&
        (madeAt === null ? (
          <Button onClick={() => void makeOne().catch(toastError)} pending={make.isPending}>
            Create a link
          </Button>
        ) : (
          <>
            <Button
              onClick={() =>
                confirm(
                  {
                    title: 'Create a new link?',
                    body: 'Your current link stops working. Calendars that use it need the new one.',
                    action: 'Create a new link',
                  },
                  makeOne,
                )
              }
            >
              Create a new link
            </Button>
            <Button
              onClick={() =>
                confirm(
                  {
                    title: 'Remove the link?',
                    body: 'Calendars that use it are no longer updated.',
                    action: 'Remove link',
                    danger: true,
                    done: 'The link is removed',
                  },
                  removeIt,
                )
              }
            >
              Remove
            </Button>
          </>
        ))
      }
    >
      {url !== null ? (
        <Field
          label="Your link"
          hint="Subscribe to it in your calendar program (“From URL”). It is shown only once. Anyone who has it sees your deadlines."
        >
          <CopyField value={url} label="Your link" />
        </Field>
      ) : (
        <Loaded query={query} skeleton={<SkeletonText lines={1} />}>
          {({ made_at }) =>
            made_at === null ? (
              <p className="text-soft">You have no link.</p>
            ) : (
              <p className="text-soft">
                Your link was created <Time at={made_at} />. Anyone who has it sees your deadlines.
              </p>
            )
          }
        </Loaded>
      )}
    </Card>
  );
}
