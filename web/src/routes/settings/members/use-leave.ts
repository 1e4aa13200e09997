import { useMe } from '../../../api/me.ts';
import { useMemberActions } from '../../../api/settings.ts';
import type { Id } from '../../../api/shapes.ts';
import { useConfirm } from '../../../components/confirm-dialog.tsx';

/** Returns a function that asks the person whether to leave the brokerage, and does so. */
export function useLeaveBrokerage(brokerageId: Id): (name: string) => void {
  const { user } = useMe();
  const { leave } = useMemberActions(brokerageId);
  const confirm = useConfirm();
  return (name) =>
    confirm(
      {
        title: `Leave ${name}?`,
        body: 'You lose access to the brokerage’s contacts and deals at once, in connected clients too. You stay on deals where you are a buyer or seller yourself. Invitations that you sent and nobody has accepted are withdrawn. To return, you need a new invitation.',
        action: 'Leave',
        danger: true,
        done: `You left ${name}`,
      },
      () => leave.mutateAsync({ user_id: user.id, successor_id: null }),
    );
}
