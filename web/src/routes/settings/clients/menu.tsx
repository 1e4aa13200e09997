import { Ellipsis, Pencil, Share2, Unplug } from 'lucide-react';
import { useMe } from '../../../api/me.ts';
import { useClientActions } from '../../../api/settings.ts';
import type { Client } from '../../../api/shapes.ts';
import { IconButton } from '../../../components/button.tsx';
import { useConfirm } from '../../../components/confirm-dialog.tsx';
import { Menu, MenuItem } from '../../../components/menu.tsx';
import { useRecentSignIn } from '../../../components/recent-sign-in.tsx';
import { toast, toastError } from '../../../components/toast.tsx';
import { TurnOffOrDelete } from '../turn-off-or-delete.tsx';

export interface ClientMenuProps {
  client: Client;
  onEdit: (client: Client) => void;
}

/** The person's actions on a client. */
export function ClientMenu({ client, onEdit }: ClientMenuProps) {
  const { share, turn, disconnect, remove } = useClientActions();
  const { memberships } = useMe();
  const confirm = useConfirm();
  const withRecentSignIn = useRecentSignIn();
  const { id, name, disabled, brokerage_id } = client;
  // The client's metadata document determines its name and redirect URIs, so they cannot be edited; and it cannot be
  // shared, as every person agrees to it for themselves.
  const byDocument = client.metadata_url !== null;
  const administered = memberships.filter(({ role }) => role === 'admin');
  const shareWith = (brokerageId: string, done: string) =>
    void withRecentSignIn(() => share.mutateAsync({ id, brokerage_id: brokerageId })).then(
      () => toast(done),
      toastError,
    );
  return (
    <Menu trigger={<IconButton size="sm" label={`Actions for ${name}`} icon={<Ellipsis className="size-4.5" />} />}>
      {client.connected_at !== null && (
        <MenuItem
          icon={<Unplug />}
          onSelect={() =>
            confirm(
              {
                title: `Disconnect ${name}?`,
                body: 'It stops seeing your deals at once. To use it again, authorize it again.',
                action: 'Disconnect',
                danger: true,
                done: `${name} is disconnected`,
              },
              () => disconnect.mutateAsync(id),
            )
          }
        >
          Disconnect
        </MenuItem>
      )}
      {client.can_manage && (
        <>
          {!byDocument && (
            <MenuItem icon={<Pencil />} onSelect={() => onEdit(client)}>
              Edit
            </MenuItem>
          )}
          {brokerage_id === null &&
            !byDocument &&
            administered.map((brokerage) => (
              <MenuItem
                key={brokerage.brokerage_id}
                icon={<Share2 />}
                onSelect={() =>
                  shareWith(brokerage.brokerage_id, `Members of ${brokerage.brokerage_name} can connect ${name}`)
                }
              >
                Share with {brokerage.brokerage_name}
              </MenuItem>
            ))}
          {brokerage_id !== null && client.mine && (
            <MenuItem
              icon={<Share2 />}
              onSelect={() =>
                confirm(
                  {
                    title: `Stop sharing ${name}?`,
                    body: 'Only you can use it then. The other members are disconnected at once, and must connect it again if you share it again.',
                    action: 'Stop sharing',
                    danger: true,
                    done: `Only you can use ${name} now`,
                  },
                  () => share.mutateAsync({ id, brokerage_id: null }),
                )
              }
            >
              Stop sharing
            </MenuItem>
          )}
          <TurnOffOrDelete
            name={name}
            kind="client"
            isOff={disabled}
            whenOff="Everyone who connected it is disconnected at once. If you turn it on again, it has to be connected again."
            whenDeleted="Everyone who connected it is disconnected at once."
            turn={(on) => turn.mutateAsync({ id, disabled: !on })}
            remove={() => remove.mutateAsync(id)}
          />
        </>
      )}
    </Menu>
  );
}
