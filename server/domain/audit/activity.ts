/** What was done on deals, as the audit trail tells it to each who may see it, in sentences. */

import { mapped, rows, type Statement } from '../../database/statement.ts';

export interface Activity {
  id: string;
  at: string;
  user_id: string | null;
  user_name: string | null;
  /** The connected client through which the person did it. */
  client_name: string | null;
  deal_id: string | null;
  deal_title: string | null;
  action: string;
  outcome: string;
  /** What was done, as a sentence without its subject. */
  summary: string;
}

type Details = Readonly<Record<string, unknown>>;

const words = (value: unknown): string => String(value).replaceAll('_', ' ');
const article = (word: string): string => (/^[aeiou]/.test(word) ? `an ${word}` : `a ${word}`);

const sentences: Readonly<Record<string, string | ((details: Details) => string)>> = {
  'deal.open': 'opened the deal',
  'deal.edit': 'edited the deal',
  'deal.move': ({ to }) => `moved the deal to ${words(to)}`,
  'exclusivity.grant': 'granted exclusivity',
  'exclusivity.extend': 'changed the end of the exclusivity',
  'exclusivity.release': 'released the exclusivity',
  'participant.invite': ({ role }) => `invited ${article(words(role))}`,
  'participant.remove': 'removed somebody',
  'deal.hand_over': 'handed the deal over to another broker',
  'invitation.accept': 'joined',
  'invitation.decline': 'declined an invitation',
  'nda.send': 'sent an NDA',
  'nda.sign': 'signed an NDA',
  'nda.revoke': 'revoked an NDA',
  'offer.submit': ({ revision }) => (Number(revision) > 1 ? 'revised an offer' : 'submitted an offer'),
  'offer.accept': 'accepted an offer',
  'offer.accept_change': 'accepted a change of the accepted terms',
  'offer.decline_change': 'declined a change of the accepted terms',
  'condition.add': 'added a closing condition',
  'condition.change': ({ status }) => `changed a closing condition, now ${words(status)}`,
  'condition.remove': 'removed a closing condition',
  'question.ask': 'asked a question',
  'question.release': 'released a question to the seller',
  'question.reject': 'rejected a question',
  'question.answer': 'answered a question',
  'question.distribute': 'passed an answer on',
  'question.withdraw': 'withdrew a question',
  'document.upload': 'uploaded a document',
  'document.change': 'changed a document',
  'document.remove': 'removed a document',
  'document.restore': 'put a document back',
  'qoe.checklist.add': 'added to the QoE checklist',
  'qoe.checklist.update': ({ status }) => `changed the QoE checklist: ${words(status)}`,
  'qoe.snapshot.request': 'uploaded books',
  'qoe.snapshot.complete': 'finished reading books',
  'qoe.snapshot.fail': 'could not read books',
  'qoe.normalization.add': 'added a normalization',
  'qoe.normalization.remove': 'removed a normalization',
  'qoe.admit': ({ role }) => `let somebody into the QoE workspace as ${words(role)}`,
  'qoe.dismiss': 'took somebody out of the QoE workspace',
  'finding.add': 'recorded a finding',
  'finding.status': 'changed the status of a finding',
  'finding.comment': 'commented on a finding',
  'financing.add': 'added a source of financing',
  'financing.status': 'changed the status of a source of financing',
  'deal_opt_in.on': 'let assistants write',
  'deal_opt_in.off': 'stopped letting assistants write',
  'deal_tools.stop': 'shut assistants off for everybody',
  'deal_tools.allow': 'let assistants write again',
  'tool:svc_questions_create': 'asked a question',
  'tool:svc_qoe_normalization_create': 'added a normalization',
  'tool:svc_findings_create': 'recorded a finding',
  'tool:svc_findings_update_status': 'changed the status of a finding',
  'tool:svc_findings_comment': 'commented on a finding',
  'tool:svc_financing_source_create': 'added a source of financing',
  'tool:svc_financing_source_update_status': 'changed the status of a source of financing',
};

/** What an action of the audit trail did, as a sentence without its subject; actions on deals have one each. */
export function tell(action: string, details: Details): string {
  const sentence = sentences[action];
  if (sentence === undefined) return `did: ${words(action).replace(/[.:]/g, ', ')}`;
  return typeof sentence === 'string' ? sentence : sentence(details);
}

/** The predicate of the indexes of activity, word for word. */
const isActivity = `a.outcome in ('done', 'ok') and (a.action not like 'tool:%' or a.action in ('tool:svc_questions_create',
    'tool:svc_qoe_normalization_create', 'tool:svc_findings_create', 'tool:svc_findings_update_status',
    'tool:svc_findings_comment', 'tool:svc_financing_source_create', 'tool:svc_financing_source_update_status'))`;

/** When something was last done on deal `d`, as far as the caller sees: the time of the first record of its activity. */
export const lastActivityAt = `(select a.at from audit_records a where a.deal_id = d.id and ${isActivity}
    order by a.at desc, a.id desc limit 1)`;

type Found = Omit<Activity, 'summary'> & { details: Details; place: string };

const told = ({ details, place: _place, ...activity }: Found): Activity => ({
  ...activity,
  summary: tell(activity.action, details),
});

// Who declined is known by the name that was typed alone.
const actor = `coalesce(u.name, case when a.action = 'invitation.decline' then a.details ->> 'name' end)`;

const fields = `a.id, a.at, a.user_id, ${actor} as user_name, c.name as client_name, a.deal_id, d.title as deal_title, a.action,
  a.outcome, a.details, a.at::text as place`;

const people = `left join users u on u.id = a.user_id
  left join connected_clients c on c.id = a.client_id
  left join deals d on d.id = a.deal_id`;

const ofDeal = rows<Found>(
  'activity_of_deal',
  `select ${fields} from (
     select a.* from audit_records a
     where a.deal_id = $1 and ${isActivity} and ($2::text is null or (a.at, a.id) < ($2::timestamptz, $3::uuid))
     order by a.at desc, a.id desc limit $4) a
   ${people}
   order by a.at desc, a.id desc`,
);

/** Where a page of activity begins: the time of the record before it, as text, and its id. */
export interface ActivityPlace {
  readonly key: string;
  readonly id: string;
}

/** What was done on a deal, as far as the caller may see, the latest first; the place of the last when there is more. */
export function activityOfDeal(
  dealId: string,
  after: ActivityPlace | null,
  limit: number,
): Statement<{ items: Activity[]; next: ActivityPlace | null }> {
  return mapped(ofDeal(dealId, after?.key, after?.id, limit + 1), (found) => {
    const last = found.length > limit ? found[limit - 1] : undefined;
    return { items: found.slice(0, limit).map(told), next: last ? { key: last.place, id: last.id } : null };
  });
}

const latest = (column: string) =>
  `select a.* from audit_records a where a.${column} = place.id and ${isActivity} order by a.at desc, a.id desc limit 8`;

const lately = rows<Found, []>(
  'activity_lately',
  `select ${fields} from (
     select found.* from unnest(app.deals_as('broker', 'seller', 'buyer', 'viewer')) place (id)
       cross join lateral (${latest('deal_id')}) found
     union
     select found.* from unnest(app.brokerages_as('admin')) place (id)
       cross join lateral (${latest('brokerage_id')}) found) a
   ${people}
   where d.id is not null
   order by a.at desc, a.id desc limit 8`,
);

/** What was done lately on any deal that the caller sees, as far as they may see it. */
export const latestActivity = (): Statement<Activity[]> => mapped(lately(), (found) => found.map(told));
