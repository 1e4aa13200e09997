import { useQuery } from '@tanstack/react-query';
import { Ellipsis, UserMinus, UserPlus } from 'lucide-react';
import { useState } from 'react';
import { membersQuery, useQoeActions } from '../../../api/qoe.ts';
import type { Id, QoeMember } from '../../../api/shapes.ts';
import { Avatar } from '../../../components/avatar.tsx';
import { Badge } from '../../../components/badge.tsx';
import { Button, IconButton } from '../../../components/button.tsx';
import { Card } from '../../../components/card.tsx';
import { useConfirm } from '../../../components/confirm-dialog.tsx';
import { Menu, MenuChoice, MenuItem, MenuSeparator } from '../../../components/menu.tsx';
import { Loaded, SkeletonRows } from '../../../components/states.tsx';
import { toastError } from '../../../components/toast.tsx';
import { workspaceRoles } from '../../../lib/states.ts';
import { AdmitDialog } from './dialogs.tsx';

const roles = [
  { value: 'reader', label: 'Can view' },
  { value: 'editor', label: 'Can view and edit' },
] as const;

function MemberMenu({ dealId, member }: { dealId: Id; member: QoeMember }) {
  const { admit, dismiss } = useQoeActions(dealId);
  const confirm = useConfirm();
  const takeOut = () =>
    confirm(
      {
        title: `Remove ${member.name} from the workspace?`,
        body: 'They lose access to the figures at once. What they added stays. You can add them again.',
        action: 'Remove',
        danger: true,
        done: `${member.name} was removed from the workspace`,
      },
      () => dismiss.mutateAsync(member.participant_id),
    );
  return (
    <Menu
      trigger={<IconButton size="sm" label={`Actions for ${member.name}`} icon={<Ellipsis className="size-4.5" />} />}
    >
      <MenuChoice
        label="Access"
        value={member.role}
        onChange={(role) => admit.mutate({ id: member.participant_id, role }, { onError: toastError })}
        options={roles}
      />
      <MenuSeparator />
      <MenuItem danger icon={<UserMinus />} onSelect={takeOut}>
        Remove
      </MenuItem>
    </Menu>
  );
}

/** The members of the workspace. */
export function MembersCard({ dealId, broker }: { dealId: Id; broker: boolean }) {
  const query = useQuery(membersQuery(dealId));
  const [admitting, setAdmitting] = useState(false);
  return (
    <Card
      title="In the workspace"
      description="Brokers and sellers always have access."
      flush
      actions={
        broker && (
          <Button size="sm" icon={<UserPlus className="size-4" />} onClick={() => setAdmitting(true)}>
            Add to workspace
          </Button>
        )
      }
    >
      <Loaded query={query} skeleton={<SkeletonRows rows={3} />}>
        {({ items }) => (
          <ul className="divide-y divide-line border-t border-line">
            {items.map((member) => (
              <li key={member.participant_id} className="flex items-center gap-3 px-4 py-2.5 sm:px-5">
                <Avatar name={member.name} />
                <span className="min-w-0 flex-1 truncate font-medium">{member.name}</span>
                <Badge tone={workspaceRoles[member.role].tone}>{workspaceRoles[member.role].label}</Badge>
                {member.can_remove && <MemberMenu dealId={dealId} member={member} />}
              </li>
            ))}
          </ul>
        )}
      </Loaded>
      {admitting && (
        <AdmitDialog dealId={dealId} members={query.data?.items ?? []} onClose={() => setAdmitting(false)} />
      )}
    </Card>
  );
}
