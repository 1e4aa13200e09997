import { useQuery } from '@tanstack/react-query';
import { Send } from 'lucide-react';
import { undeliveredMailsQuery, useMemberActions } from '../../../api/settings.ts';
import type { Id, UndeliveredMail } from '../../../api/shapes.ts';
import { Badge } from '../../../components/badge.tsx';
import { Button } from '../../../components/button.tsx';
import { Card } from '../../../components/card.tsx';
import { Time } from '../../../components/time.tsx';
import { toast, toastError } from '../../../components/toast.tsx';

/** Labels of the kinds of mail that are sent in a brokerage's name. */
const kinds: Readonly<Record<string, string>> = { invitation: 'Invitation' };

function UndeliveredRow({ mail, brokerageId }: { mail: UndeliveredMail; brokerageId: Id }) {
  const { resendMail } = useMemberActions(brokerageId);
  const resend = () =>
    resendMail.mutateAsync(mail.id).then(() => toast(`The e-mail to ${mail.recipient} will be sent again`), toastError);
  return (
    <li className="flex flex-wrap items-center gap-x-3.5 gap-y-2 px-4 py-3 sm:px-5">
      <div className="min-w-0 flex-1 basis-60">
        <p className="flex flex-wrap items-center gap-x-2 gap-y-1">
          <span className="truncate font-medium">{mail.recipient}</span>
          <Badge>{kinds[mail.kind] ?? 'Notification'}</Badge>
          {mail.given_up ? <Badge tone="bad">Not delivered</Badge> : <Badge tone="warn">Waiting</Badge>}
        </p>
        <p className="text-sm text-faint">
          Since <Time at={mail.created_at} />
          {!mail.given_up && mail.attempts > 0 && (
            <>
              , next attempt <Time at={mail.next_attempt_at} />
            </>
          )}
        </p>
        {mail.last_error && <p className="mt-0.5 text-sm break-words text-soft">{mail.last_error}</p>}
      </div>
      <Button size="sm" icon={<Send className="size-4" />} onClick={() => void resend()}>
        Send again<span className="sr-only"> to {mail.recipient}</span>
      </Button>
    </li>
  );
}

/** The mails that have not been delivered, for admins; renders nothing when there are none. */
export function UndeliveredMails({ brokerageId }: { brokerageId: Id }) {
  const { data } = useQuery(undeliveredMailsQuery(brokerageId));
  if (!data || data.items.length === 0) return null;
  return (
    <Card className="mt-6" flush title="Undelivered e-mail" description="Each e-mail is retried for three days.">
      <ul className="divide-y divide-line">
        {data.items.map((mail) => (
          <UndeliveredRow key={mail.id} mail={mail} brokerageId={brokerageId} />
        ))}
      </ul>
    </Card>
  );
}
