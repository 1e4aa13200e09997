import { useQuery } from '@tanstack/react-query';
import { brokersAmong, membersQuery, mostMembers } from '../../../api/settings.ts';
import type { Id, Member } from '../../../api/shapes.ts';
import { Field } from '../../../components/field.tsx';
import { Select } from '../../../components/input.tsx';
import { cutHint } from '../../../components/states.tsx';

/** The choice that nobody takes the deals over for now. */
export const noOne = 'none';

interface SuccessorFieldProps {
  brokerageId: Id;
  member: Member;
  /** The id of a member, {@link noOne}, or empty until a choice is made. */
  field: { name: string; value: string; onChange: (value: string) => void };
  error: string | undefined;
  hint: string;
  /** Whether nobody may be chosen. */
  optional?: boolean;
}

/** The choice of who becomes broker of a member's deals. Nobody is preselected. */
export function SuccessorField({ brokerageId, member, field, error, hint, optional = false }: SuccessorFieldProps) {
  const members = useQuery(membersQuery(brokerageId));
  const items = members.data?.items ?? [];
  return (
    <Field
      label="New broker"
      error={error}
      hint={[hint, cutHint(items, mostMembers, 'members by name')].filter(Boolean).join(' ')}
    >
      <Select
        {...field}
        placeholder="Choose a member"
        options={[
          ...brokersAmong(items, member.user_id).map(({ user_id, name }) => ({ value: user_id, label: name })),
          ...(optional ? [{ value: noOne, label: 'No one for now' }] : []),
        ]}
      />
    </Field>
  );
}
