/**
 * The records of a tool's result, as the components take them. A host passes on what it received, much of it written by
 * people: every field is checked, and invalid values are left out.
 */
import type { ClosingCondition, EbitdaBridge, OfferPayload, PlPeriod } from '../api/shapes.ts';
import { isCompared, parts, type DecidedOffer } from '../components/offers/payload.ts';
import { isDecimal, sum } from '../lib/decimal.ts';
import { adjustmentCategories, conditionStates } from '../lib/states.ts';
import { isObject, type ToolResult } from './host.ts';
import { wholeNumber } from '../lib/whole-number.ts';

type Row = Readonly<Record<string, unknown>>;

/** More rows than any tool returns. */
const most = 500;

const objectOf = (value: unknown): Row => (isObject(value) ? value : {});
const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');
const decimalOf = (value: unknown): string | null => (typeof value === 'string' && isDecimal(value) ? value : null);
const dayOf = (value: unknown): string | null =>
  typeof value === 'string' && /^\d{4}-\d\d-\d\d$/.test(value) && !Number.isNaN(Date.parse(value)) ? value : null;
const instantOf = (value: unknown): string | null =>
  typeof value === 'string' && !Number.isNaN(Date.parse(value)) ? value : null;
const currencyOf = (value: unknown): string | null =>
  typeof value === 'string' && /^[A-Z]{3}$/.test(value) ? value : null;

/** Returns the object in a tool's result; some hosts omit it and pass it as text. */
export function answerOf({ structuredContent, content }: ToolResult): Row {
  if (isObject(structuredContent)) return structuredContent;
  const [block] = Array.isArray(content) ? (content as unknown[]) : [];
  try {
    return objectOf(JSON.parse(textOf(objectOf(block)['text'])));
  } catch {
    return {};
  }
}

/** Returns the rows of one list in a result. */
function rowsOf(answer: Row, list: string): Row[] {
  const rows = answer[list];
  return Array.isArray(rows) ? rows.filter(isObject).slice(0, most) : [];
}

/** Returns the names of people by their ids, when the result has them. */
function namesOf(answer: Row): ReadonlyMap<string, string> {
  return new Map(rowsOf(answer, 'people').map(({ user_id, name }) => [textOf(user_id), textOf(name)]));
}

/** A currency shared by all rows may be given once, beside them. */
const currencyIn = (row: Row, answer: Row): string => currencyOf(row['currency'] ?? answer['currency']) ?? 'USD';

export type Period = Pick<
  PlPeriod,
  'snapshot_id' | 'period_label' | 'period_start_date' | 'period_end_date' | 'currency' | 'revenue' | 'ebitda'
> & {
  /** When its snapshot was completed; null unless there are several. */
  completed_at: string | null;
};

/** Returns EBITDA as reported, or computed by its definition when missing. */
function ebitdaOf({ ebitda, net_income, interest_expense, tax_expense, depreciation_amortization }: Row) {
  const said = decimalOf(ebitda);
  if (said !== null) return said;
  const named = [net_income, interest_expense, tax_expense, depreciation_amortization].map(decimalOf);
  return named.every((amount) => amount !== null) ? sum(named) : null;
}

/** Returns a period with named amounts and the fields that the result leaves out (see server/tools/compact-rows.ts). */
function wholePeriod(row: Row, answer: Row): Row {
  const { snapshot = 0, amounts, ...period } = row;
  if (!Array.isArray(amounts) || !Array.isArray(answer['columns'])) return row;
  const start = dayOf(period['period_start_date']) ?? '';
  const last = new Date(Date.UTC(wholeNumber(start.slice(0, 4)), wholeNumber(start.slice(5, 7)), 0));
  const month =
    start === '' ? {} : { period_label: start.slice(0, 7), period_end_date: last.toISOString().slice(0, 10) };
  const named = (answer['columns'] as unknown[]).map((name, at) => [textOf(name), (amounts as unknown[])[at]]);
  return { ...rowsOf(answer, 'snapshots')[wholeNumber(snapshot)], ...month, ...period, ...Object.fromEntries(named) };
}

/** Returns the periods of every snapshot in a result of svc_qoe_pl_periods. */
export function periodsIn(answer: Row): Period[] {
  return rowsOf(answer, 'periods').flatMap((given) => {
    const row = wholePeriod(given, answer);
    const [first, last] = [dayOf(row['period_start_date']), dayOf(row['period_end_date'])];
    const revenue = decimalOf(row['revenue']);
    if (first === null || last === null || revenue === null) return [];
    return {
      snapshot_id: textOf(row['snapshot_id'] ?? answer['snapshot_id']),
      completed_at: instantOf(row['completed_at']),
      period_label: textOf(row['period_label']),
      period_start_date: first,
      period_end_date: last,
      currency: currencyIn(row, answer),
      revenue,
      ebitda: ebitdaOf(row),
    };
  });
}

export type Bridge = Pick<
  EbitdaBridge,
  'currency' | 'period_label' | 'first' | 'last' | 'reported_ebitda' | 'adjustments' | 'adjusted_ebitda'
>;

/** Returns the EBITDA bridge in a result of svc_qoe_get; null when there is none. */
export function bridgeIn(answer: Row): Bridge | null {
  const bridge = objectOf(answer['ebitda_bridge']);
  const [reported, adjusted] = [decimalOf(bridge['reported_ebitda']), decimalOf(bridge['adjusted_ebitda'])];
  const label = textOf(bridge['period_label']);
  if (reported === null || adjusted === null || label === '') return null;
  const adjustments = rowsOf(bridge, 'adjustments').flatMap((row) => {
    const amount = decimalOf(row['amount']);
    const category = textOf(row['category']) as keyof typeof adjustmentCategories;
    return amount !== null && Object.hasOwn(adjustmentCategories, category) ? { category, amount } : [];
  });
  return {
    currency: currencyIn(bridge, {}),
    period_label: label,
    first: dayOf(bridge['period_start_date']),
    last: dayOf(bridge['period_end_date']),
    reported_ebitda: reported,
    adjustments,
    adjusted_ebitda: adjusted,
  };
}

/** Returns how many checklist rows in a result of svc_qoe_get are completed, and how many apply. */
export function checklistIn(answer: Row): { done: number; of: number } {
  const states = rowsOf(answer, 'progress').map(({ status }) => status);
  return {
    done: states.filter((status) => status === 'completed').length,
    of: states.filter((status) => status !== 'not_applicable').length,
  };
}

export interface Customer {
  customer_name: string;
  currency: string;
  revenue_total: string;
  revenue_share: string | null;
}

/** Returns the customers in a result of svc_qoe_customer_concentration, and the first and last day of the revenue. */
export function customersIn(answer: Row): { customers: Customer[]; first: string | null; last: string | null } {
  const rows = rowsOf(answer, 'customers');
  const customers = rows.flatMap((row) => {
    const revenue = decimalOf(row['revenue_total']);
    if (revenue === null) return [];
    return {
      customer_name: textOf(row['customer_name']),
      currency: currencyIn(row, answer),
      revenue_total: revenue,
      revenue_share: decimalOf(row['revenue_share']),
    };
  });
  const named = { ...answer, ...rows[0] };
  return { customers, first: dayOf(named['period_start_date']), last: dayOf(named['period_end_date']) };
}

export interface OfferIn extends DecidedOffer {
  id: string;
  /** The buyer's name, or "Buyer" with a number when unknown. */
  buyer: string;
  revision: number;
  submitted_at: string | null;
}

function payloadOf(given: unknown): OfferPayload {
  const payload = objectOf(given);
  const amounts = ['purchase_price', ...parts.map(({ key }) => key)].map((key) => [key, decimalOf(payload[key])]);
  const contingency = payload['financing_contingency'];
  return {
    ...objectOf(payload['other']),
    ...(Object.fromEntries(amounts) as Record<string, string | null>),
    currency: currencyOf(payload['currency']),
    financing_contingency: typeof contingency === 'boolean' ? contingency : null,
    target_close_date: dayOf(payload['target_close_date']),
    expires_at: instantOf(payload['expires_at']),
    terms: textOf(payload['terms']) || null,
  } as OfferPayload;
}

/** Returns the offers in a result of svc_offers_list that belong in the comparison. */
export function offersIn(answer: Row): OfferIn[] {
  const names = namesOf(answer);
  const rows = rowsOf(answer, 'offers');
  const holder = rows.find(({ agreed }) => agreed === true)?.['buyer_user_id'];
  const offers = rows.map((row) => {
    const agreed = row['agreed'] === true;
    return {
      id: textOf(row['id']),
      buyer: textOf(row['buyer_user_id']),
      revision: wholeNumber(row['revision_number']) || 1,
      submitted_at: instantOf(row['submitted_at']),
      is_current: row['is_current'] === true,
      agreed,
      proposed: !agreed && holder !== undefined && row['buyer_user_id'] === holder,
      accepted_at: instantOf(row['accepted_at']),
      declined_at: instantOf(row['declined_at']),
      buyer_left: row['buyer_left'] === true,
      payload: payloadOf(row['payload']),
    };
  });
  const compared = offers.filter(isCompared);
  return compared.map((offer, place) => ({
    ...offer,
    id: offer.id || String(place),
    buyer: names.get(offer.buyer) ?? (compared.length === 1 ? 'Buyer' : `Buyer ${place + 1}`),
  }));
}

export type ConditionIn = Pick<ClosingCondition, 'name' | 'status' | 'deadline' | 'completed_at' | 'overdue'> & {
  id: string;
  owner: string;
};

/** Returns the conditions in a result of svc_closing_conditions_list. */
export function conditionsIn(answer: Row): ConditionIn[] {
  const names = namesOf(answer);
  return rowsOf(answer, 'closing_conditions').map((row, place) => {
    const status = textOf(row['status']) as ClosingCondition['status'];
    const owner = textOf(row['owner_user_id']);
    return {
      id: textOf(row['id']) || String(place),
      name: textOf(row['name']),
      status: Object.hasOwn(conditionStates, status) ? status : 'open',
      deadline: dayOf(row['deadline']),
      completed_at: instantOf(row['completed_at']),
      overdue: row['overdue'] === true,
      owner: owner === '' ? 'Unassigned' : (names.get(owner) ?? 'Assigned'),
    };
  });
}
