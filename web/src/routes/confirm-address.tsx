import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { MailX } from 'lucide-react';
import { addressLinkQuery, confirmAddress } from '../api/auth.ts';
import { ApiError } from '../api/client.ts';
import { keys } from '../api/query-keys.ts';
import { useMe } from '../api/me.ts';
import { Button, ButtonLink } from '../components/button.tsx';
import { Card } from '../components/card.tsx';
import { Notice } from '../components/notice.tsx';
import { PageHeader } from '../components/page-header.tsx';
import { EmptyState, Loaded, Skeleton } from '../components/states.tsx';
import { toast } from '../components/toast.tsx';
import { linkToken } from '../lib/link-token.ts';

function DeadLink() {
  return (
    <EmptyState
      icon={MailX}
      title="This link no longer works"
      action={<ButtonLink to="/settings/profile">Go to your profile</ButtonLink>}
    >
      It works once, within 30 minutes, and only for the person who requested it. Changing the password or signing out
      everywhere cancels it. Request a new one in your profile.
    </EmptyState>
  );
}

function Confirm({ token, newEmail }: { token: string; newEmail: string }) {
  const { user } = useMe();
  const client = useQueryClient();
  const navigate = useNavigate();
  const confirm = useMutation({
    mutationFn: () => confirmAddress(token),
    onSuccess: async ({ email }) => {
      await client.invalidateQueries({ queryKey: keys.me });
      toast(`You now sign in as ${email}`);
      await navigate({ to: '/settings/profile', replace: true });
    },
  });
  return (
    <div className="flex flex-col items-start gap-4">
      {confirm.error && <Notice tone="bad">{confirm.error.message}</Notice>}
      <p className="text-soft">
        You currently sign in as {user.email}. Once you confirm, you sign in as{' '}
        <strong className="font-medium wrap-anywhere text-ink">{newEmail}</strong>, and anyone who can read that mailbox
        can set a new password. If it is not yours, close this page.
      </p>
      <Button kind="primary" pending={confirm.isPending} onClick={() => confirm.mutate()}>
        Confirm
      </Button>
    </div>
  );
}

/** The page of the link mailed to a new address: once it is confirmed, the person signs in with that address. */
export default function ConfirmAddressPage() {
  const token = linkToken() ?? '';
  const link = useQuery(addressLinkQuery(token));
  const isDead = link.error instanceof ApiError && ['link_expired', 'validation_error'].includes(link.error.code);
  return (
    <>
      <PageHeader title="Confirm your new e-mail address" />
      <Card className="max-w-xl">
        {isDead ? (
          <DeadLink />
        ) : (
          <Loaded query={link} skeleton={<Skeleton className="h-24 w-full" />}>
            {({ email }) => <Confirm token={token} newEmail={email} />}
          </Loaded>
        )}
      </Card>
    </>
  );
}
