import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { confirmAddress } from '../api/auth.ts';
import { keys } from '../api/query-keys.ts';
import { useMe } from '../api/me.ts';
import { Button } from '../components/button.tsx';
import { Card } from '../components/card.tsx';
import { Notice } from '../components/notice.tsx';
import { PageHeader } from '../components/page-header.tsx';
import { toast } from '../components/toast.tsx';
import { linkToken } from '../lib/link-token.ts';

/** Where the link leads that was mailed to a new address: from here on the person signs in with it. */
export default function ConfirmAddressPage() {
  const token = linkToken() ?? '';
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
    <>
      <PageHeader title="Confirm your new e-mail address" />
      <Card className="max-w-xl">
        <div className="flex flex-col items-start gap-4">
          {confirm.error && <Notice tone="bad">{confirm.error.message}</Notice>}
          <p className="text-soft">
            You currently sign in as {user.email}. Once you confirm, you sign in with the address that this link was
            sent to.
          </p>
          <Button kind="primary" pending={confirm.isPending} onClick={() => confirm.mutate()}>
            Confirm
          </Button>
        </div>
      </Card>
    </>
  );
}
