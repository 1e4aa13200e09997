/**
 * Per-deal opt-ins, with which a person lets tools write on their behalf, and the broker's stop (specification, section
 * 5.4).
 */

import { mapped, row, rows, type Statement } from '../../database/statement.ts';
import type { Origin } from '../audit/audited.ts';
import { knownName, knownPerson } from '../deals/participants.ts';

/** The two switches of a deal, as its page shows them. */
export interface DealTools {
  /** The caller's own opt-in, unless it has expired. */
  opt_in: { granted_at: string; expires_at: string | null } | null;
  shut_off: { by_name: string | null; at: string } | null;
}

interface Switches {
  granted_at: string | null;
  expires_at: string | null;
  by_name: string | null;
  stopped_at: string | null;
}

const switches = row<Switches, [dealId: string]>(
  'deal_tool_switches',
  `select o.opted_in_at as granted_at, o.expires_at, ${knownName('u')} as by_name, s.stopped_at
   from deals d
   left join deal_opt_ins o on o.deal_id = d.id and (o.expires_at is null or o.expires_at > app.now())
   left join deal_tool_stops s on s.deal_id = d.id
   ${knownPerson('u', 's.stopped_by', 'd.id')}
   where d.id = $1`,
);

/** The switches of a deal that the caller sees, or null. */
export const dealTools = (dealId: string): Statement<DealTools | null> =>
  mapped(
    switches(dealId),
    (found) =>
      found && {
        opt_in: found.granted_at === null ? null : { granted_at: found.granted_at, expires_at: found.expires_at },
        shut_off: found.stopped_at === null ? null : { by_name: found.by_name, at: found.stopped_at },
      },
  );

/** A deal on which the caller lets tools write. */
export interface OptIn {
  deal_id: string;
  deal_title: string;
  granted_at: string;
  expires_at: string | null;
  /** Whether a broker has turned writing off for everybody on the deal. */
  shut_off: boolean;
  shut_off_by_name: string | null;
}

/** Maximum number of listed opt-ins; each is also on the page of its deal. */
export const mostOptIns = 500;

/** The caller's opt-ins that have not expired, on deals that they see, by title, at most {@link mostOptIns}. */
export const liveOptIns = rows<OptIn, []>(
  'live_opt_ins',
  `select o.deal_id, d.title as deal_title, o.opted_in_at as granted_at, o.expires_at, s.deal_id is not null as shut_off,
     ${knownName('u')} as shut_off_by_name
   from deal_opt_ins o
   join deals d on d.id = o.deal_id
   left join deal_tool_stops s on s.deal_id = o.deal_id
   ${knownPerson('u', 's.stopped_by', 'd.id')}
   where o.expires_at is null or o.expires_at > app.now() order by app.folded(d.title), d.id limit ${mostOptIns}`,
);

const optIn = row<{ done: boolean }>('opt_in_deal', 'select app.opt_in_deal($1, $2, $3, $4) as done');

/**
 * Lets tools write on a deal on the caller's behalf until `expiresAt` (RFC 3339; null: until turned off); false when
 * the caller does not see the deal. Rejected with `ends_in_the_past`.
 */
export function optInDeal(dealId: string, expiresAt: string | null, from: Origin): Statement<boolean> {
  return mapped(optIn(dealId, expiresAt, from.address, from.requestId), (answer) => answer?.done ?? false);
}

const optOut = row<{ done: boolean }>('opt_out_deal', 'select app.opt_out_deal($1, $2, $3) as done');

/** Turns the caller's opt-in off, effective immediately; false when there was none. */
export function optOutDeal(dealId: string, from: Origin): Statement<boolean> {
  return mapped(optOut(dealId, from.address, from.requestId), (answer) => answer?.done ?? false);
}

const stop = row<{ done: boolean }>('stop_deal_tools', 'select app.stop_deal_tools($1, $2, $3, $4) as done');

/**
 * Turns writing through tools off for everybody on a deal, or allows it again; false when the caller is not a broker of
 * the deal.
 */
export function stopDealTools(dealId: string, stopped: boolean, from: Origin): Statement<boolean> {
  return mapped(stop(dealId, stopped, from.address, from.requestId), (answer) => answer?.done ?? false);
}
