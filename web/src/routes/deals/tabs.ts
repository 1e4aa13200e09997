/** The tabs of a deal that this person sees, with their paths and the counts beside their labels. */
import type { DealPage, Me } from '../../api/shapes.ts';
import type { PagePath } from '../../paths.ts';

interface DealTab {
  to: Extract<PagePath, '/deals/$dealId' | `/deals/$dealId/${string}`>;
  label: string;
  count?: number | undefined;
  /** What `count` counts. */
  countLabel?: string;
}

/** Returns the tabs that this person may see; other tabs are not shown at all. */
export function tabsOf({ capacities, counts }: DealPage, features: Me['features']): DealTab[] {
  const tabs: (DealTab | false)[] = [
    { to: '/deals/$dealId', label: 'Overview' },
    capacities.can_see_ndas && {
      to: '/deals/$dealId/nda',
      label: 'NDA',
      count: counts.ndas_waiting,
      countLabel: 'waiting',
    },
    { to: '/deals/$dealId/documents', label: 'Documents' },
    capacities.can_see_questions && {
      to: '/deals/$dealId/questions',
      label: 'Questions',
      count: counts.questions_waiting,
      countLabel: 'waiting for you',
    },
    capacities.can_read_qoe && { to: '/deals/$dealId/qoe', label: 'QoE' },
    capacities.can_see_offers && {
      to: '/deals/$dealId/offers',
      label: 'Offers',
      count: counts.offers,
      countLabel: counts.offers === 1 ? 'offer' : 'offers',
    },
    capacities.can_see_conditions && {
      to: '/deals/$dealId/closing',
      label: 'Closing',
      count: counts.conditions_open,
      countLabel: counts.conditions_open === 1 ? 'condition open' : 'conditions open',
    },
    features.findings &&
      capacities.can_see_findings && {
        to: '/deals/$dealId/findings',
        label: 'Findings',
        count: counts.findings_open,
        countLabel: 'open',
      },
    features.financing && capacities.can_see_financing && { to: '/deals/$dealId/financing', label: 'Financing' },
    { to: '/deals/$dealId/people', label: 'People' },
    capacities.can_see_activity && { to: '/deals/$dealId/activity', label: 'Activity' },
  ];
  return tabs.filter((tab) => tab !== false);
}
