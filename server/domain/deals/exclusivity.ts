/** Granting a buyer exclusivity on a deal, extending and releasing it. */

import { row, type Statement } from '../../database/statement.ts';
import { audited, from, tookPlace, type Origin } from '../audit/audited.ts';

const grant = row<{ id: string }>(
  'grant_exclusivity',
  `with granted as (
     insert into exclusivities (deal_id, participant_id, expires_at) values ($3, $4, $5) returning id, deal_id, expires_at)
   select granted.id from granted ${audited('exclusivity.grant', { subject: '$4', deal: 'granted.deal_id', details: `jsonb_build_object('until', granted.expires_at)` })}`,
);

/**
 * Grants a buyer exclusivity until a time, which moves the deal to the state exclusivity. Denied to everyone but the
 * deal's brokers.
 */
export const grantExclusivity = (
  dealId: string,
  { participant_id, expires_at }: { readonly participant_id: string; readonly expires_at: string },
  origin: Origin,
): Statement<boolean> => tookPlace(grant(...from(origin), dealId, participant_id, expires_at));

const extend = row<{ id: string }>(
  'extend_exclusivity',
  `with held as (
     select id, expires_at from exclusivities where deal_id = (select app.lock_deal($3)) and ended_at is null for no key update),
   changed as (
     update exclusivities e set expires_at = $4 from held
     where e.id = held.id and held.expires_at <> $4 returning e.id, e.deal_id, e.participant_id, e.expires_at as until, held.expires_at as before)
   select changed.id from changed ${audited('exclusivity.extend', {
     subject: 'changed.participant_id',
     details: `jsonb_build_object('before', changed.before, 'until', changed.until)`,
   })}
   union all select id from held where expires_at = $4`,
);

/**
 * Changes when the current exclusivity ends, and writes nothing if it ends then already; false when there is none or the
 * caller may not.
 */
export const extendExclusivity = (dealId: string, expiresAt: string, origin: Origin): Statement<boolean> =>
  tookPlace(extend(...from(origin), dealId, expiresAt));

const release = row<{ id: string }>(
  'release_exclusivity',
  `with changed as (
     update exclusivities set ended_at = app.now() where deal_id = (select app.lock_deal($3)) and ended_at is null returning id, deal_id, participant_id)
   select changed.id from changed ${audited('exclusivity.release', { subject: 'changed.participant_id' })}`,
);

/**
 * Ends the current exclusivity; a deal in exclusivity is listed again. False when there is none or the caller may not.
 */
export const releaseExclusivity = (dealId: string, origin: Origin): Statement<boolean> =>
  tookPlace(release(...from(origin), dealId));
