/**
 * Schemas of the records in tools' answers (specification, section 2.2; docs/tools.md, "Beside the records"). Values
 * that an input schema or a description already lists are plain text here: models read all of this with every
 * conversation.
 */

import { z } from 'zod';
import { callerRoles } from '../domain/deals/deals.ts';
import { plAmounts } from '../domain/diligence/snapshots.ts';
import { documentSources } from '../domain/documents/documents.ts';

const id = z.guid();
const time = z.iso.datetime();
const day = z.iso.date();
/** Amounts are text, so that no digit is lost. */
const amount = z.string();
/** A field that is present only when it applies and is left out of the listed schema: its name says what it is. */
export const beside = <Schema extends z.ZodType>(schema: Schema) => schema.meta({ beside: true }).optional();

const dealFields = {
  id,
  title: z.string(),
  state: z.string(),
  organization_id: id,
  exclusive_buyer_user_id: id.nullable(),
  exclusivity_granted_at: time.nullable(),
  exclusivity_expires_at: time.nullable(),
  closed_at: time.nullable(),
  created_at: time,
  updated_at: time,
};

export const deal = z.strictObject(dealFields);
export const listedDeal = z.strictObject({ ...dealFields, caller_role: z.enum(callerRoles) });

/**
 * A person whose id an answer mentions, in addition to the specification's fields (server/tools/people.ts); absent when
 * nobody is mentioned.
 */
const person = z.strictObject({
  user_id: id,
  name: z.string(),
  role: z.string(),
  side: beside(z.string()),
  nda_status: beside(z.string()),
  advises: beside(id),
});
export const people = beside(z.array(person));
/** The caller. */
export const caller = beside(person);
/** The page that shows an answer; for the pipeline, also the URL pattern of the deals' pages. */
export const linked = {
  url: beside(z.url()),
  deal_url: beside(z.string()),
};
/** What the answer lacks, and which inputs would work (server/tools/filters.ts). */
export const hint = beside(
  z.strictObject({ message: z.string(), known: z.record(z.string(), z.array(z.string())).optional() }),
);

/** What is offered for sale, as the overview of a deal shows it. */
export const listing = beside(
  z.strictObject({
    asking_price: amount.nullable(),
    currency: z.string(),
    industry: z.string().nullable(),
    location: z.string().nullable(),
    needs_nda: z.boolean(),
    brokerage_name: z.string(),
  }),
);

export const participant = z.strictObject({ user_id: id, role: z.string(), status: z.string() });

export const progressRow = z.strictObject({
  id,
  status: z.string(),
  completed_at: time.nullable(),
  category: z.string(),
  title: z.string(),
});

export const snapshotRow = z.strictObject({
  id,
  snapshot_type: z.string(),
  status: z.string(),
  requested_at: time,
  completed_at: time.nullable(),
  source_name: beside(z.string()),
  failure: beside(z.string()),
});

/** The bridge from reported to adjusted EBITDA, as on the page; absent when the page shows none. */
export const ebitdaBridge = z
  .strictObject({
    period_label: z.string(),
    period_start_date: day.optional(),
    period_end_date: day.optional(),
    currency: z.string(),
    reported_ebitda: amount,
    adjustments: z.array(z.strictObject({ category: z.string(), amount })),
    adjusted_ebitda: amount,
  })
  .meta({ brief: true })
  .optional();

/**
 * Normalizations recorded with svc_qoe_normalization_create and on the page, latest first; absent when there are none.
 */
export const latestAdjustments = z
  .array(
    z.strictObject({
      period_label: z.string(),
      category: z.string(),
      amount,
      rationale: z.string().optional(),
      counts: z.literal(false).optional(),
      created_at: time.optional(),
      created_by: id.optional(),
      currency: z.string().optional(),
    }),
  )
  .meta({ brief: true })
  .optional();

/** Figures computed from the uploaded books (docs/books.md); absent when there are none. */
const summary = z.looseObject({}).meta({ brief: true }).optional();

/** As built by server/tools/compact-rows.ts: 500 periods that repeat the name of each field would be twice as long. */
export const plPeriods = z.strictObject({
  snapshots: z
    .array(z.strictObject({ snapshot_id: id, currency: z.string(), completed_at: time.optional() }))
    .meta({ brief: true })
    .optional(),
  columns: z.array(z.enum(plAmounts)).meta({ brief: true }).optional(),
  periods: z.array(
    z.strictObject({
      period_start_date: day,
      period_end_date: day.optional(),
      period_label: z.string().optional(),
      snapshot: z.int().optional(),
      amounts: z.array(amount.nullable()),
    }),
  ),
  summary,
});

const inBooks = { snapshot_id: id, period_start_date: day, period_end_date: day, currency: z.string() };
const optional = <Shape extends Record<string, z.ZodType>>(shape: Shape) => z.strictObject(shape).partial().shape;

export const customers = z.strictObject({
  ...optional(inBooks),
  customers: z.array(
    z.strictObject({
      id,
      customer_name: z.string(),
      revenue_total: amount,
      revenue_share: amount.nullable(),
      cumulative_share: amount.nullable(),
      rank: z.int(),
      ...optional({ currency: z.string() }),
    }),
  ),
  summary,
});

export const listedQuestions = z.strictObject({
  asked_by: beside(id),
  questions: z.array(
    z.strictObject({
      id,
      category: z.string(),
      status: z.string(),
      asked_at: time,
      question_text: z.string(),
      distributed_response: z.string().nullable(),
      distributed_at: beside(time),
      answer_text: beside(z.string()),
      answered_at: beside(time),
      rejection_reason: beside(z.string()),
      asked_by: beside(id),
    }),
  ),
  people,
  hint,
});

export const documentMetadata = z.strictObject({
  id,
  filename: z.string(),
  category: z.string(),
  confidentiality: z.string(),
  size_bytes: z.int(),
  uploaded_at: time,
  source: z.enum(documentSources).meta({ brief: true }),
});

export const offer = z.strictObject({
  id,
  buyer_user_id: id,
  revision_number: z.int(),
  is_current: z.boolean(),
  submitted_at: time,
  expired: z.boolean(),
  accepted_at: beside(time),
  ...optional({ declined_at: time }),
  agreed: beside(z.boolean()),
  buyer_left: beside(z.literal(true)),
  // A buyer's payload may lack keys; others that it has are below `other`.
  payload: z
    .strictObject({
      currency: z.string().nullish(),
      purchase_price: amount.nullish(),
      cash_at_close: amount.nullish(),
      seller_note: amount.nullish(),
      earnout: amount.nullish(),
      rollover_equity: amount.nullish(),
      financing_contingency: z.boolean().nullish(),
      target_close_date: z.string().nullish(),
      expires_at: z.string().nullish(),
      terms: z.string().nullish(),
      other: z.record(z.string(), z.unknown()).optional(),
    })
    .meta({ brief: true }),
});

const multiples = z.strictObject({
  reported_ebitda: amount.nullable(),
  adjusted_ebitda: amount.nullable(),
  sde: amount.nullable(),
  revenue: amount.nullable(),
});

/**
 * A deal's offers measured against its books (docs/books.md), as far as the caller may see them; absent without offers.
 */
export const offersSummary = z
  .strictObject({
    basis: z
      .strictObject({
        period: z.string(),
        period_start_date: day,
        period_end_date: day,
        currency: z.string(),
        ...multiples.shape,
      })
      .optional(),
    offers: z.array(
      z.strictObject({
        offer_id: id,
        multiples: multiples.optional(),
        money: z.record(z.string(), amount).optional(),
        parts_beyond_price: amount.optional(),
        coverage: z.string().optional(),
        coverage_without_largest_customer: z.string().optional(),
      }),
    ),
    two_best: z
      .strictObject({
        first: id,
        second: id,
        higher_by: z.record(z.string(), amount),
        unsaid: z.array(z.string()).optional(),
      })
      .optional(),
  })
  .meta({ brief: true })
  .optional();

export const closingCondition = z.strictObject({
  id,
  name: z.string(),
  status: z.string(),
  owner_user_id: id.nullable(),
  deadline: day.nullable(),
  completed_at: time.nullable(),
  overdue: z.boolean(),
  has_owner: beside(z.literal(true)),
});

const findingFields = {
  id,
  category: z.string(),
  title: z.string(),
  description: z.string().nullable(),
  severity: z.string(),
  status: z.string(),
  status_notes: z.string().nullable(),
  owner_user_id: id.nullable(),
  created_by: id.nullable(),
  created_at: time,
  updated_at: time,
};

export const listedFindings = z.strictObject({
  deal_id: id.optional(),
  findings: z.array(z.strictObject({ ...findingFields, comment_count: z.int() })),
  people,
  hint,
});

export const findingWithHistory = z.strictObject({
  deal_id: id,
  ...findingFields,
  comment_count: z.int(),
  comments: z
    .array(z.strictObject({ id, body: z.string(), created_by: id.nullable(), created_at: time }))
    .meta({ brief: true }),
  history: z
    .array(
      z.strictObject({
        from_status: z.string().nullable(),
        to_status: z.string(),
        notes: z.string().nullable(),
        changed_by: id.nullable(),
        changed_at: time,
      }),
    )
    .meta({ brief: true }),
});

const financingSource = z.strictObject({
  id,
  source_type: z.string(),
  source_name: z.string(),
  commitment_amount: z.int(),
  currency: z.string().optional(),
  commitment_status: z.string(),
  created_by: id.nullable(),
  side_user_id: id.nullable().optional(),
  created_at: time,
  updated_at: time,
});

const financingTotal = z.strictObject({
  commitment_status: z.string(),
  currency: z.string(),
  sources: z.int(),
  total: amount,
  side_user_id: id.nullable().optional(),
});

export const financingStack = z.strictObject({
  deal_id: id.optional(),
  currency: z.string().optional(),
  side_user_id: beside(id.nullable()),
  sources: z.array(financingSource),
  totals: z.array(financingTotal).meta({ brief: true }),
  people,
  hint,
});

/** The answer when a record was added. */
export const added = z.strictObject({ id });
