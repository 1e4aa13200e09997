import { FileQuestion } from 'lucide-react';
import { ButtonLink } from '../../components/button.tsx';
import { Card } from '../../components/card.tsx';
import { EmptyState } from '../../components/states.tsx';
import { useTitle } from '../../lib/use-title.ts';
import { useDeal } from './context.ts';

/**
 * The page for a path of a deal that does not exist or that the person may not see: the same for both, so that it does
 * not reveal which.
 */
export function NoSection() {
  const { deal } = useDeal();
  useTitle(`Not found · ${deal.title}`);
  return (
    <Card>
      <EmptyState
        icon={FileQuestion}
        level={2}
        title="You cannot open this"
        action={
          <ButtonLink to="/deals/$dealId" params={{ dealId: deal.id }}>
            Go to the overview
          </ButtonLink>
        }
      >
        This part of the deal does not exist, or is not open to you. If you expected to see it, ask a broker of the
        deal.
      </EmptyState>
    </Card>
  );
}
