import { Building2 } from 'lucide-react';
import { Card } from '../../components/card.tsx';
import { EmptyState } from '../../components/states.tsx';

/** Said where a page is about a brokerage, and the person is a member of none. */
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
