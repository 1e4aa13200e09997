/** The figures that are computed of a deal's books, each with where who may see it finds it; who may is in docs/visibility.md. */

export const places = [
  'the page',
  'the bridge',
  'the page of offers',
  'the first page',
  'svc_qoe_pl_periods',
  'svc_qoe_customer_concentration',
  'svc_qoe_get',
  'svc_offers_list',
  'the report',
  'the document',
] as const;
export type Place = (typeof places)[number];

/** What those are called who uploaded the books. */
export const uploaders = { seller: 'Ulla Selling', removed: 'Rem Gone' } as const;

interface Contradiction {
  kind: string;
  key: string;
  figures: string;
  sentence: string;
  answer: { why: string; answered_at: string; released_at: string | null } | null;
}

/** What the page tells. */
export interface Told {
  earnings: {
    label: string;
    amounts: Record<string, string>;
    gross_margin: string;
    reported_ebitda: string;
    adjusted_ebitda: string;
    sde: string;
    revenue_growth: string;
  }[];
  seasonality: { share: string }[];
  concentration: {
    hhi_of_revenue: string;
    hhi: string;
    ebitda_without_largest: string;
    same_names: { items: { revenue: string }[] };
  };
  bridge: { lost: { difference: string }; grown: { difference: string } };
  restatements: { items: { line: string; difference: string }[] };
  contradictions: { items: Contradiction[]; explained: { items: Contradiction[] } };
}

interface Figure {
  /** What stands for it, as the page tells it to the broker. */
  readonly of: (told: Told) => string;
  /** Where it is shown to those who may see it. */
  readonly told: readonly Place[];
}

const year = ({ earnings }: Told) => earnings.find(({ label }) => label === 'FY2025')!;
const contradiction = ({ contradictions: { items, explained } }: Told, kind: string) =>
  [...items, ...explained.items].find((one) => one.kind === kind)!;
/** To take along: as a workbook, and printed. */
const files = ['the report', 'the document'] as const;
const report = ['the page', ...files] as const;
const customers = ['the page', 'svc_qoe_customer_concentration', ...files] as const;
const contradicting = ['the page', 'svc_qoe_pl_periods', ...files] as const;
/** Where offers are held against earnings. */
const worth = ['the page of offers', 'svc_offers_list'] as const;
const bridged = ['the bridge', 'svc_qoe_get'] as const;

export const bookFigures: Readonly<Record<string, Figure>> = {
  'revenue of a year': {
    of: (told) => year(told).amounts['revenue']!,
    told: ['the page', ...worth, 'svc_qoe_pl_periods', 'svc_qoe_customer_concentration', ...files],
  },
  'gross margin of a year': {
    of: (told) => year(told).gross_margin,
    told: ['the page', 'svc_qoe_pl_periods', ...files],
  },
  'growth of a year': { of: (told) => year(told).revenue_growth, told: report },
  'reported EBITDA of a year': {
    of: (told) => year(told).reported_ebitda,
    told: ['the page', ...bridged, ...worth, 'svc_qoe_pl_periods', 'svc_qoe_customer_concentration', ...files],
  },
  'adjusted EBITDA of a year': {
    of: (told) => year(told).adjusted_ebitda,
    told: ['the page', ...bridged, ...worth, 'the first page', 'svc_qoe_pl_periods', ...files],
  },
  'SDE of a year': {
    of: (told) => year(told).sde,
    told: ['the page', ...worth, 'svc_qoe_pl_periods', ...files],
  },
  seasonality: { of: ({ seasonality }) => seasonality[0]!.share, told: ['the page', 'the document'] },
  // Printed is the HHI of all revenue.
  'customer concentration': {
    of: ({ concentration }) => concentration.hhi,
    told: customers.filter((place) => place !== 'the document'),
  },
  'EBITDA without the largest customer': {
    of: ({ concentration }) => concentration.ebitda_without_largest,
    told: customers,
  },
  'names that may be one customer': {
    of: ({ concentration }) => concentration.same_names.items[0]!.revenue,
    told: ['the page', 'the document'],
  },
  'revenue of lost customers': { of: ({ bridge }) => bridge.lost.difference, told: customers },
  'what another upload restated': {
    of: ({ restatements }) => restatements.items.find(({ line }) => line === 'revenue')!.difference,
    told: report,
  },
  'a contradiction that nobody has answered': {
    of: (told) => contradiction(told, 'period_unmatched').sentence,
    told: contradicting,
  },
  'a contradiction that is answered, not released': {
    of: (told) => contradiction(told, 'customers_total').sentence,
    told: contradicting,
  },
  'its answer': { of: (told) => contradiction(told, 'customers_total').answer!.why, told: contradicting },
  'a contradiction that is released': { of: (told) => contradiction(told, 'owner_pay').sentence, told: contradicting },
  'its answer, released': { of: (told) => contradiction(told, 'owner_pay').answer!.why, told: contradicting },
  'that the seller uploaded it': { of: () => uploaders.seller, told: files },
  'that a broker uploaded it who has left the deal': { of: () => uploaders.removed, told: files },
};
