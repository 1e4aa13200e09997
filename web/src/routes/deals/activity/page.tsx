import { useInfiniteQuery } from '@tanstack/react-query';
import { Activity } from 'lucide-react';
import { dealActivityQuery } from '../../../api/deals.ts';
import { useBrokerage } from '../../../api/me.ts';
import { ActivityList } from '../../../components/activity-list.tsx';
import { ButtonLink } from '../../../components/button.tsx';
import { Card } from '../../../components/card.tsx';
import { PagedList } from '../../../components/paged-list.tsx';
import { EmptyState, SkeletonText } from '../../../components/states.tsx';
import { formatDate } from '../../../lib/format.ts';
import { paths } from '../../../paths.ts';
import { useDeal } from '../context.ts';
import { TabPage } from '../tab-page.tsx';

/** The activity on the deal, by day, latest first. */
export default function ActivityTab() {
  const { deal } = useDeal();
  const query = useInfiniteQuery(dealActivityQuery(deal.id));
  const brokerage = useBrokerage();
  const isAdmin = brokerage?.role === 'admin' && brokerage.brokerage_id === deal.organization_id;
  return (
    <TabPage
      title="Activity"
      actions={
        isAdmin && (
          <ButtonLink to={paths.audit} search={{ deal: deal.id }}>
            Audit trail
          </ButtonLink>
        )
      }
    >
      <Card>
        <PagedList
          query={query}
          skeleton={<SkeletonText lines={12} />}
          empty={
            <EmptyState icon={Activity} title="Nothing has happened yet">
              What people and their assistants do on this deal is recorded here.
            </EmptyState>
          }
        >
          {(items) => (
            <div className="flex flex-col gap-6">
              {[...Map.groupBy(items, ({ at }) => formatDate(at))].map(([day, its]) => (
                <section key={day} aria-label={day} className="grid gap-x-8 gap-y-3 sm:grid-cols-[7rem_minmax(0,1fr)]">
                  <h3 className="text-sm font-semibold text-soft sm:pt-0.5">{day}</h3>
                  <ActivityList items={its} />
                </section>
              ))}
            </div>
          )}
        </PagedList>
      </Card>
    </TabPage>
  );
}
