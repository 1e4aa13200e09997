/**
 * The records of a tool's result, as the components take them. A host passes on what it was given, and people wrote
 * much of it: every field is looked at, and what does not fit is left out.
 */
import type { ClosingCondition, EbitdaBridge, OfferPayload, PlPeriod } from '../api/shapes.ts';
import { isCompared, parts, type DecidedOffer } from '../components/offers/payload.ts';
import { isDecimal, sum } from '../lib/decimal.ts';
import { adjustmentCategories, conditionStates } from '../lib/states.ts';
import { isObject, type ToolResult } from './host.ts';
import { wholeNumber } from '../lib/whole-number.ts';

type Row = Readonly<Record<string, unknown>>;

/** More than any tool answers with. */
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

/** The object that a tool answered with; hosts that leave it out have it as text. */
export function answerOf({ structuredContent, content }: ToolResult): Row {
  if (isObject(structuredContent)) return structuredContent;
  const [block] = Array.isArray(content) ? (content as unknown[]) : [];
  try {
    return objectOf(JSON.parse(textOf(objectOf(block)['text'])));
  } catch {
    return {};
  }
}

/** The rows of one list of an answer. */
function rowsOf(answer: Row, list: string): Row[] {
  const rows = answer[list];
  return Array.isArray(rows) ? rows.filter(isObject).slice(0, most) : [];
}

/** The names of people by their ids, where the answer has them. */
function namesOf(answer: Row): ReadonlyMap<string, string> {
  return new Map(rowsOf(answer, 'people').map(({ user_id, name }) => [textOf(user_id), textOf(name)]));
}

/** A currency that all rows share may stand once, beside them. */
const currencyIn = (row: Row, answer: Row): string => currencyOf(row['currency'] ?? answer['currency']) ?? 'USD';

export type Period = Pick<
  PlPeriod,
  'snapshot_id' | 'period_label' | 'period_start_date' | 'period_end_date' | 'currency' | 'revenue' | 'ebitda'
> & {
  /** When its snapshot was completed, where there are several. */
  completed_at: string | null;
};

/** EBITDA as the books say, or what it is by definition when they do not. */
function ebitdaOf({ ebitda, net_income, interest_expense, tax_expense, depreciation_amortization }: Row) {
  const said = decimalOf(ebitda);
  if (said !== null) return said;
  const named = [net_income, interest_expense, tax_expense, depreciation_amortization].map(decimalOf);
  return named.every((amount) => amount !== null) ? sum(named) : null;
}

/** A period with its amounts by name, and with what the answer leaves out: server/tools/compact-rows.ts says what. */
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

/** The periods of every snapshot in an answer of svc_qoe_pl_periods. */
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
  'currency' | 'period_label' | 'reported_ebitda' | 'adjustments' | 'adjusted_ebitda'
>;

/** What svc_qoe_get says of EBITDA; null when it says nothing. */
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
    reported_ebitda: reported,
    adjustments,
    adjusted_ebitda: adjusted,
  };
}

/** How many rows of the checklist in an answer of svc_qoe_get are done, of those that apply. */
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

/** The customers in an answer of svc_qoe_customer_concentration, and from when to when they bought. */
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
  /** The buyer's name; else which of the buyers it is. */
  buyer: string;
  revision: number;
  submitted_at: string | null;
}

function payloadOf(given: unknown): OfferPayload {
  const payload = objectOf(given);
  const amounts = ['purchase_price', ...parts.map(({ key }) => key)].map((key) => [key, decimalOf(payload[key])]);
  const contingency = payload['financing_contingency'];
  return {
    ...payload,
    ...(Object.fromEntries(amounts) as Record<string, string | null>),
    currency: currencyOf(payload['currency']),
    financing_contingency: typeof contingency === 'boolean' ? contingency : null,
    target_close_date: dayOf(payload['target_close_date']),
    expires_at: instantOf(payload['expires_at']),
    terms: textOf(payload['terms']) || null,
  } as OfferPayload;
}

/** The offers in an answer of svc_offers_list that are compared. */
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

/** The conditions in an answer of svc_closing_conditions_list. */
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
