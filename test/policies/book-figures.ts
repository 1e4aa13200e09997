/**
 * The figures that are computed from a deal's books, each with where people who may see it find it; docs/visibility.md
 * says who may.
 */

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

/** Names of the people who uploaded the books. */
export const uploaders = { seller: 'Ulla Selling', removed: 'Rem Gone' } as const;

interface Contradiction {
  kind: string;
  key: string;
  figures: string;
  sentence: string;
  answer: { why: string; answered_at: string; released_at: string | null } | null;
}

/** The figures in the response that the page shows. */
export interface ComputedFigures {
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
  /** The text of the figure, as the broker gets it on the page. */
  readonly of: (figures: ComputedFigures) => string;
  /** Where people who may see the figure find it. */
  readonly shownIn: readonly Place[];
}

const year = ({ earnings }: ComputedFigures) => earnings.find(({ label }) => label === 'FY2025')!;
const contradiction = ({ contradictions: { items, explained } }: ComputedFigures, kind: string) =>
  [...items, ...explained.items].find((one) => one.kind === kind)!;
/** The files to take along: a workbook and a printable document. */
const files = ['the report', 'the document'] as const;
const report = ['the page', ...files] as const;
const customers = ['the page', 'svc_qoe_customer_concentration', ...files] as const;
const contradicting = ['the page', 'svc_qoe_pl_periods', ...files] as const;
/** Where offers are compared with earnings. */
const worth = ['the page of offers', 'svc_offers_list'] as const;
const bridged = ['the bridge', 'svc_qoe_get'] as const;

export const bookFigures: Readonly<Record<string, Figure>> = {
  'revenue of a year': {
    of: (figures) => year(figures).amounts['revenue']!,
    shownIn: ['the page', ...worth, 'svc_qoe_pl_periods', 'svc_qoe_customer_concentration', ...files],
  },
  'gross margin of a year': {
    of: (figures) => year(figures).gross_margin,
    shownIn: ['the page', 'svc_qoe_pl_periods', ...files],
  },
  'growth of a year': { of: (figures) => year(figures).revenue_growth, shownIn: report },
  'reported EBITDA of a year': {
    of: (figures) => year(figures).reported_ebitda,
    shownIn: ['the page', ...bridged, ...worth, 'svc_qoe_pl_periods', 'svc_qoe_customer_concentration', ...files],
  },
  'adjusted EBITDA of a year': {
    of: (figures) => year(figures).adjusted_ebitda,
    shownIn: ['the page', ...bridged, ...worth, 'the first page', 'svc_qoe_pl_periods', ...files],
  },
  'SDE of a year': {
    of: (figures) => year(figures).sde,
    shownIn: ['the page', ...worth, 'svc_qoe_pl_periods', ...files],
  },
  seasonality: { of: ({ seasonality }) => seasonality[0]!.share, shownIn: ['the page', 'the document'] },
  // The document has the HHI of all revenue instead.
  'customer concentration': {
    of: ({ concentration }) => concentration.hhi,
    shownIn: customers.filter((place) => place !== 'the document'),
  },
  'EBITDA without the largest customer': {
    of: ({ concentration }) => concentration.ebitda_without_largest,
    shownIn: customers,
  },
  'names that may be one customer': {
    of: ({ concentration }) => concentration.same_names.items[0]!.revenue,
    shownIn: ['the page', 'the document'],
  },
  'revenue of lost customers': { of: ({ bridge }) => bridge.lost.difference, shownIn: customers },
  'what another upload restated': {
    of: ({ restatements }) => restatements.items.find(({ line }) => line === 'revenue')!.difference,
    shownIn: report,
  },
  'a contradiction that nobody has answered': {
    of: (figures) => contradiction(figures, 'period_unmatched').sentence,
    shownIn: contradicting,
  },
  'a contradiction that is answered, not released': {
    of: (figures) => contradiction(figures, 'customers_total').sentence,
    shownIn: contradicting,
  },
  'its answer': { of: (figures) => contradiction(figures, 'customers_total').answer!.why, shownIn: contradicting },
  'a contradiction that is released': {
    of: (figures) => contradiction(figures, 'owner_pay').sentence,
    shownIn: contradicting,
  },
  'its answer, released': { of: (figures) => contradiction(figures, 'owner_pay').answer!.why, shownIn: contradicting },
  'that the seller uploaded it': { of: () => uploaders.seller, shownIn: files },
  'that a broker uploaded it who has left the deal': { of: () => uploaders.removed, shownIn: files },
};
