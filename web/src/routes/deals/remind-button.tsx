import { useQuery } from '@tanstack/react-query';
import { BellRing } from 'lucide-react';
import { remindersQuery, useRemind } from '../../api/reminders.ts';
import type { Id, Remindable } from '../../api/shapes.ts';
import { Button } from '../../components/button.tsx';
import { Time } from '../../components/time.tsx';
import { useDeal } from './context.ts';

interface RemindButtonProps {
  subject: Remindable;
  id: Id;
  /** What the reminder is about, for screen readers, which may read the button alone. */
  of: string;
}

/**
 * Lets a broker remind the responsible people, once a day; shows the reminder's time for the rest of that day. Nobody
 * is reminded on a withdrawn deal.
 */
export function RemindButton({ subject, id, of }: RemindButtonProps) {
  const { deal } = useDeal();
  const { data } = useQuery(remindersQuery(deal.id));
  const remind = useRemind(deal.id);
  const sent = data?.items.find((one) => one.subject === subject && one.subject_id === id);
  if (sent)
    return (
      <span className="text-sm whitespace-nowrap text-faint">
        Reminded <Time at={sent.sent_at} />
      </span>
    );
  if (deal.state === 'withdrawn') return null;
  return (
    <Button
      size="sm"
      icon={<BellRing className="size-3.5" />}
      disabled={data === undefined}
      pending={remind.isPending}
      onClick={() => remind.mutate({ subject, subject_id: id })}
    >
      Remind<span className="sr-only"> about {of}</span>
    </Button>
  );
}
