/** What is done to a deal as a whole: opening and editing it, moving it on, and granting it exclusively. */

import { mapped, row, type Statement } from '../../database/statement.ts';
import type { Origin } from '../audit/origin.ts';
import { from, recorded } from '../audit/audited.ts';

/** What a deal says of the business. */
export interface DealInput {
  readonly title: string;
  readonly industry: string | null;
  readonly location: string | null;
  readonly summary: string | null;
  /** A decimal. */
  readonly asking_price: string | null;
  readonly currency: string;
  /** Whether a buyer learns who sells only under an active NDA. */
  readonly needs_nda: boolean;
}

interface Changed {
  id: string;
}

/** Whether a change took place; false when the caller may not make it. */
const took = (statement: Statement<Changed | null>): Statement<boolean> => mapped(statement, (found) => found !== null);

const open = row<Changed>(
  'open_deal',
  `select opened.id from (
     select app.open_deal($3, $4, $5, $6, $7, $8::numeric, $9, $10) as id offset 0) opened
   ${recorded('deal.open', { subject: 'opened.id', deal: 'opened.id' })}`,
);

/** Opens a deal in draft with the caller as its broker; its id. Denied to all but admins and brokers of the brokerage. */
export function openDeal(brokerageId: string, input: DealInput, origin: Origin): Statement<string> {
  const { title, industry, location, summary, asking_price, currency, needs_nda } = input;
  const opened = open(
    ...from(origin),
    brokerageId,
    title,
    industry,
    location,
    summary,
    asking_price,
    currency,
    needs_nda,
  );
  return mapped(opened, (found) => {
    if (!found) throw new Error('A deal was opened without an id.');
    return found.id;
  });
}

const edit = row<Changed>(
  'edit_deal',
  `with changed as (
     update deals d set
       title = coalesce(given.title, d.title),
       industry = case when $4 ? 'industry' then given.industry else d.industry end,
       location = case when $4 ? 'location' then given.location else d.location end,
       summary = case when $4 ? 'summary' then given.summary else d.summary end,
       asking_price = case when $4 ? 'asking_price' then given.asking_price else d.asking_price end,
       currency = coalesce(given.currency, d.currency),
       needs_nda = coalesce(given.needs_nda, d.needs_nda)
     from jsonb_to_record($4::jsonb) as given (title text, industry text, location text, summary text, asking_price numeric,
       currency text, needs_nda boolean)
     where d.id = $3
     returning d.id)
   select changed.id from changed ${recorded('deal.edit', { subject: 'changed.id', deal: 'changed.id' })}`,
);

/** Changes what is given; whether the caller may. */
export const editDeal = (id: string, input: Partial<DealInput>, origin: Origin): Statement<boolean> =>
  took(edit(...from(origin), id, { ...input }));

const move = row<Changed>(
  'move_deal',
  `with changed as (update deals set state = $4 where id = $3 and app.may_move(id, $4, $5) returning id)
   select changed.id from changed
   ${recorded('deal.move', { subject: 'changed.id', deal: 'changed.id', details: `jsonb_build_object('to', $4::text)` })}`,
);

/**
 * Moves a deal to another state; whether the caller may. Refused where the sale cannot go there, and, unless that is
 * confirmed, where something is missing for a closing.
 */
export const moveDeal = (id: string, to: string, confirmed: boolean, origin: Origin): Statement<boolean> =>
  took(move(...from(origin), id, to, confirmed));

const warnings = row<{ warnings: string[] }, [id: string]>(
  'closing_warnings',
  'select app.closing_warnings($1) as warnings',
);

/** What is missing for closing a deal, a sentence each; to its brokers. */
export const closingWarnings = (id: string): Statement<string[]> =>
  mapped(warnings(id), (found) => found?.warnings ?? []);

const grant = row<Changed>(
  'grant_exclusivity',
  `with granted as (
     insert into exclusivities (deal_id, participant_id, expires_at) values ($3, $4, $5) returning id, deal_id)
   select granted.id from granted ${recorded('exclusivity.grant', { subject: '$4', deal: 'granted.deal_id' })}`,
);

/** Grants a buyer exclusivity until a time, which moves the deal there. Denied to all but the deal's brokers. */
export const grantExclusivity = (
  dealId: string,
  { participant_id, expires_at }: { readonly participant_id: string; readonly expires_at: string },
  origin: Origin,
): Statement<boolean> => took(grant(...from(origin), dealId, participant_id, expires_at));

const extend = row<Changed>(
  'extend_exclusivity',
  `with changed as (
     update exclusivities set expires_at = $4 where deal_id = $3 and ended_at is null returning id, deal_id, participant_id)
   select changed.id from changed ${recorded('exclusivity.extend', { subject: 'changed.participant_id', deal: 'changed.deal_id' })}`,
);

/** Gives the exclusivity that runs another end; false when none runs or the caller may not. */
export const extendExclusivity = (dealId: string, expiresAt: string, origin: Origin): Statement<boolean> =>
  took(extend(...from(origin), dealId, expiresAt));

const release = row<Changed>(
  'release_exclusivity',
  `with changed as (
     update exclusivities set ended_at = app.now() where deal_id = $3 and ended_at is null returning id, deal_id, participant_id)
   select changed.id from changed ${recorded('exclusivity.release', { subject: 'changed.participant_id', deal: 'changed.deal_id' })}`,
);

/** Ends the exclusivity that runs; a deal in exclusivity is listed again. False when none runs or the caller may not. */
export const releaseExclusivity = (dealId: string, origin: Origin): Statement<boolean> =>
  took(release(...from(origin), dealId));
