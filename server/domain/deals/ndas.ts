/** NDAs: a broker sends them to a buyer, who signs on the page. */

import { paged, type Page, type Place, type Placed } from '../../database/paging.ts';
import { mapped, row, rows, type Statement } from '../../database/statement.ts';
import { accountOf, knownName, knownPerson, ndaStatusNow, participantName, type NdaStatus } from './participants.ts';
import { ndaTemplate } from './nda-template.ts';
import { audited, from, tookPlace, type Origin } from '../audit/audited.ts';
import { listOfDeal, recordsByIds } from '../visibility/list-of-deal.ts';

export interface Nda {
  id: string;
  deal_id: string;
  participant_id: string;
  /** Name of the buyer to whom it was sent. */
  participant_name: string;
  status: NdaStatus;
  terms: string;
  sent_by_name: string | null;
  sent_at: string;
  signed_at: string | null;
  /** The name as typed by the signer, and the address the signature came from. */
  signed_name: string | null;
  signed_address: string | null;
  expires_at: string | null;
  revoked_at: string | null;
  /** When the buyer signed the NDA that follows this one, if that was before its end. */
  replaced_at: string | null;
  /** Whether the caller is the buyer who signs it. */
  mine: boolean;
}

const fields = `n.id, n.deal_id, n.participant_id, ${participantName} as participant_name, ${ndaStatusNow} as status, n.terms,
  ${knownName('sender')} as sent_by_name, n.sent_at, n.signed_at, n.signed_name, host(n.signed_address) as signed_address, n.expires_at,
  n.revoked_at, n.replaced_at, p.user_id = (select app.user_id()) as mine`;

const people = `join participants p on p.id = n.participant_id
  ${accountOf}
  ${knownPerson('sender', 'n.sent_by', 'n.deal_id')}`;

// The same expression as in the index ndas_by_standing.
const standing = `case n.status when 'sent' then 2 when 'active' then 1 else 0 end`;

const list = rows<Placed<Nda>, [dealId: string, standing: number, sentAt: string, id: string, limit: number]>(
  'ndas',
  `select ${fields}, concat_ws(' ', ${standing}, n.sent_at) as place from ndas n ${people}
   where n.deal_id = $1 and (${standing}, n.sent_at, n.id) < ($2::int, $3::timestamptz, $4::uuid)
   order by ${standing} desc, n.sent_at desc, n.id desc limit $5`,
);

// Sorts before every row, so that the index finds the first page as it finds the others.
const first: Place = { key: '3 infinity', id: 'ffffffff-ffff-ffff-ffff-ffffffffffff' };

/**
 * The NDAs of a deal that the caller may see, paginated: unsigned ones first, then active ones, then the others; each
 * group latest first.
 */
export function ndas(dealId: string, after: Place | null, limit: number): Statement<Page<Nda>> {
  const { key, id } = after ?? first;
  const [stands = '', sentAt = ''] = key.split(/ (.*)/);
  return paged(list(dealId, Number(stands), sentAt, id, limit + 1), limit, (found) => found);
}

/** One NDA; null if the caller sees no such NDA. */
export const nda = row<Nda, [id: string]>('nda', `select ${fields} from ndas n ${people} where n.id = $1`);

const template = row<{ earlier: string | null; brokerage: string; deal: string }, [dealId: string]>(
  'nda_template',
  `select (select n.terms from ndas n where n.deal_id = d.id order by n.sent_at desc, n.id desc limit 1) as earlier,
     b.name as brokerage, d.title as deal
   from deals d join brokerages b on b.id = d.organization_id where d.id = $1`,
);

/**
 * The initial terms of the next NDA of a deal: those sent last, otherwise the standard ones. Null if there is no such
 * deal.
 */
export const ndaTerms = (dealId: string): Statement<string | null> =>
  mapped(template(dealId), (found) => found && (found.earlier ?? ndaTemplate(found.brokerage, found.deal)));

interface NewNda {
  readonly participant_id: string;
  readonly terms: string;
  readonly expires_at: string | null;
}

const send = row<Nda>(
  'send_nda',
  `with n as (insert into ndas (deal_id, participant_id, terms, expires_at) values ($3, $4, $5, $6) returning *)
   select ${fields} from n ${people} ${audited('nda.send', { subject: 'n.id', deal: 'n.deal_id' })}`,
);

/**
 * Sends an NDA to a buyer, and returns it. It may follow an active one that ends, which stands until this one is signed.
 * Denied to everyone but the deal's brokers.
 */
export const sendNda = (dealId: string, { participant_id, terms, expires_at }: NewNda, origin: Origin) =>
  send(...from(origin), dealId, participant_id, terms, expires_at);

const sign = row<{ id: string }>(
  'sign_nda',
  `select n.id from (select id, deal_id, app.sign_nda(id, $4, $1) as signed from ndas where id = $3 offset 0) n
   ${audited('nda.sign', { subject: 'n.id', deal: 'n.deal_id' })}
   where n.signed`,
);

/**
 * Signs an NDA with the caller's name as typed, which replaces the one that was active; false when it is not the caller's
 * to sign, or can no longer be signed.
 */
export const signNda = (id: string, signedName: string, origin: Origin): Statement<boolean> =>
  tookPlace(sign(...from(origin), id, signedName));

const revoke = row<{ id: string }>(
  'revoke_nda',
  `with changed as (
     update ndas set status = 'revoked' where id = $3 and status <> 'revoked' returning id, deal_id)
   select changed.id from changed ${audited('nda.revoke')}`,
);

/** Revokes an NDA, and with it the access it gave; false when the caller may not, or when it is revoked already. */
export const revokeNda = (id: string, origin: Origin): Statement<boolean> => tookPlace(revoke(...from(origin), id));

/** The status and times of an NDA, without its text and signature. */
type NdaStanding = Pick<
  Nda,
  'id' | 'deal_id' | 'participant_id' | 'status' | 'sent_at' | 'signed_at' | 'expires_at' | 'revoked_at' | 'replaced_at'
>;

const inOrder = {
  columns: `n.id, n.deal_id, n.participant_id, ${ndaStatusNow} as status, n.sent_at, n.signed_at, n.expires_at, n.revoked_at, n.replaced_at`,
  tables: 'ndas n',
  deal: 'n.deal_id',
  key: 'n.sent_at',
  type: 'timestamptz',
  id: 'n.id',
  direction: 'desc',
} as const;

/** The status and times of the NDAs of a deal that the caller may see, latest first, paginated. */
export const ndasOfDeal = listOfDeal<NdaStanding>('ndas_of_deal', inOrder);

/** The status and times of the NDAs with these ids that the caller sees. */
export const ndasByIds = recordsByIds<NdaStanding>('ndas_by_ids', inOrder);
