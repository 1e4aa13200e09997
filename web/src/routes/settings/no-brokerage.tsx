import { Building2 } from 'lucide-react';
import { Card } from '../../components/card.tsx';
import { EmptyState } from '../../components/states.tsx';

/**
 * Shown in place of a settings page to a person without a brokerage or, with `admins`, to a member who is not an admin.
 */
export function NoBrokerage({ admins = false }: { admins?: boolean }) {
  return (
    <Card>
      <EmptyState icon={Building2} title={admins ? 'Only for admins' : 'You are not a member of a brokerage'}>
        {admins
          ? 'The admins of your brokerage manage this. Ask one of them.'
          : 'Ask an admin of your brokerage to invite you.'}
      </EmptyState>
    </Card>
  );
}
