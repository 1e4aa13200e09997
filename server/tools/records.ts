/**
 * The records that tools answer with, as schemas (specification, section 2.2; decisions, "Fields"). Words that an input
 * schema or a description lists already are text here: models read all of this with every conversation.
 */

import { z } from 'zod';
import { callerRoles } from '../domain/deals/deals.ts';
import { documentSources } from '../domain/documents/documents.ts';

const id = z.guid();
const time = z.iso.datetime();
const day = z.iso.date();
/** Amounts are text, so that no digit is lost. */
const amount = z.string();

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
});

export const plPeriodRow = z.strictObject({
  id,
  snapshot_id: id,
  period_label: z.string(),
  period_start_date: day,
  period_end_date: day,
  currency: z.string(),
  revenue: amount,
  cost_of_goods_sold: amount.nullable(),
  gross_profit: amount.nullable(),
  operating_expenses: amount.nullable(),
  owner_compensation: amount.nullable(),
  depreciation_amortization: amount.nullable(),
  interest_expense: amount.nullable(),
  tax_expense: amount.nullable(),
  net_income: amount.nullable(),
  ebitda: amount.nullable(),
});

export const customerRevenueRow = z.strictObject({
  id,
  snapshot_id: id,
  customer_name: z.string(),
  period_start_date: day,
  period_end_date: day,
  currency: z.string(),
  revenue_total: amount,
  revenue_share: amount.nullable(),
  rank: z.int(),
});

export const question = z.strictObject({
  id,
  category: z.string(),
  status: z.string(),
  asked_at: time,
  question_text: z.string(),
  distributed_response: z.string().nullable(),
});

export const documentMetadata = z.strictObject({
  id,
  filename: z.string(),
  category: z.string(),
  confidentiality: z.string(),
  size_bytes: z.int(),
  uploaded_at: time,
  source: z.enum(documentSources),
});

export const offer = z.strictObject({
  id,
  buyer_user_id: id,
  revision_number: z.int(),
  is_current: z.boolean(),
  submitted_at: time,
  // What a buyer submits may leave keys out and add others.
  payload: z.looseObject({
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
  }),
});

export const closingCondition = z.strictObject({
  id,
  name: z.string(),
  status: z.string(),
  owner_user_id: id.nullable(),
  deadline: day.nullable(),
  completed_at: time.nullable(),
});

const findingFields = {
  id,
  deal_id: id,
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

export const listedFinding = z.strictObject({ ...findingFields, comment_count: z.int() });

export const findingWithHistory = z.strictObject({
  ...findingFields,
  comments: z.array(z.strictObject({ id, body: z.string(), created_by: id.nullable(), created_at: time })),
  history: z.array(
    z.strictObject({
      from_status: z.string().nullable(),
      to_status: z.string(),
      notes: z.string().nullable(),
      changed_by: id.nullable(),
      changed_at: time,
    }),
  ),
});

export const financingSource = z.strictObject({
  id,
  deal_id: id,
  source_type: z.string(),
  source_name: z.string(),
  commitment_amount: z.int(),
  currency: z.string(),
  commitment_status: z.string(),
  created_by: id.nullable(),
  created_at: time,
  updated_at: time,
});

export const financingTotal = z.strictObject({
  commitment_status: z.string(),
  currency: z.string(),
  sources: z.int(),
  total: amount,
});

/** What is answered when something was added. */
export const added = z.strictObject({ id });
