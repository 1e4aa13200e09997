/** Questions as the web application works on them: with the seller's answer, and what the caller can do now. */

import { mapped, row, rows, type Statement } from '../../database/statement.ts';
import { onOpenDeal } from '../deals/deals.ts';
import type { Origin } from '../audit/origin.ts';
import { knownPerson } from '../deals/participants.ts';
import type { Question, QuestionCategory } from './questions.ts';
import { from, recorded } from '../audit/audited.ts';

export type QuestionAction = 'release' | 'reject' | 'answer' | 'distribute' | 'withdraw';

export interface QuestionOnPage extends Question {
  deal_id: string;
  asked_by_name: string | null;
  /** The seller's words, to the seller's side and the brokers. */
  answer_text: string | null;
  answered_at: string | null;
  distributed_at: string | null;
  rejection_reason: string | null;
  mine: boolean;
  actions: QuestionAction[];
}

// Who makes which move is the trigger's rule in 004; this says it beforehand, with the same functions.
const select = `
  select q.id, q.deal_id, q.category, q.status, q.asked_at, q.question_text, asker.name as asked_by_name, a.answer_text,
    a.answered_at, q.distributed_response, q.distributed_at, q.rejection_reason, q.asked_by = (select app.user_id()) as mine,
    array_remove(array[
      case when open and broker and q.status = 'pending_broker_review' then 'release' end,
      case when open and broker and q.status = 'pending_broker_review' then 'reject' end,
      case when open and seller and q.status in ('with_seller', 'answered') then 'answer' end,
      case when open and broker and q.status = 'answered' then 'distribute' end,
      case when open and q.asked_by = (select app.user_id()) and q.status = 'pending_broker_review' then 'withdraw' end], null) as actions
  from questions q
  cross join lateral (select ${onOpenDeal('q')} as open,
    q.deal_id = any ((select app.deals_acting_as('broker'))::uuid[]) as broker,
    q.deal_id = any ((select app.deals_acting_as('seller'))::uuid[]) as seller) caller
  ${knownPerson('asker', 'q.asked_by', 'q.deal_id')}
  left join question_answers a on a.question_id = q.id`;

/** The questions of a deal that the caller may read, the latest first, at most 500. */
export const questionsOnPage = rows<QuestionOnPage, [dealId: string]>(
  'questions_on_page',
  `${select} where q.deal_id = $1 order by q.asked_at desc, q.id desc limit 500`,
);

/** One question, or null when there is none that the caller sees. */
export const questionOnPage = row<QuestionOnPage, [id: string]>('question_on_page', `${select} where q.id = $1`);

const kept = { subject: 'changed.id', deal: 'changed.deal_id' };

const ask = row<{ id: string }>(
  'ask_question',
  `with changed as (
     insert into questions (deal_id, category, question_text) values ($3, $4, $5) returning id, deal_id)
   select changed.id from changed ${recorded('question.ask', kept)}`,
);

/** Asks for the caller's side, under broker review; its id. Refused as `createQuestion` is. */
export const askQuestion = (
  dealId: string,
  category: QuestionCategory,
  text: string,
  origin: Origin,
): Statement<string> => mapped(ask(...from(origin), dealId, category, text), (made) => made?.id ?? '');

const move = (name: string, action: string, set: string) =>
  row<{ id: string }>(
    name,
    `with changed as (update questions set ${set} where id = $3 returning id, deal_id)
     select changed.id from changed ${recorded(action, kept)}`,
  );

const release = move('release_question', 'question.release', `status = 'with_seller'`);
const reject = move('reject_question', 'question.reject', `status = 'rejected', rejection_reason = $4`);
const distribute = move(
  'distribute_question',
  'question.distribute',
  `status = 'distributed', distributed_response = $4`,
);
const withdraw = move('withdraw_question', 'question.withdraw', `status = 'withdrawn'`);
const answered = move('answered_question', 'question.answer', `status = 'answered'`);

const found = (statement: Statement<unknown>): Statement<boolean> => mapped(statement, (changed) => changed !== null);

/** Lets the seller see a question. False: the caller may change none such. Refused with the reason of the move. */
export const releaseQuestion = (id: string, origin: Origin) => found(release(...from(origin), id));
export const rejectQuestion = (id: string, reason: string | null, origin: Origin) =>
  found(reject(...from(origin), id, reason));
export const distributeQuestion = (id: string, response: string, origin: Origin) =>
  found(distribute(...from(origin), id, response));
export const withdrawQuestion = (id: string, origin: Origin) => found(withdraw(...from(origin), id));

const write = row<unknown, [id: string, text: string]>(
  'write_answer',
  `insert into question_answers (question_id, deal_id, answer_text)
   select q.id, q.deal_id, $2 from questions q
   where q.id = $1 and q.deal_id = any ((select app.deals_acting_as('seller'))::uuid[])
   on conflict (question_id) do update set answer_text = excluded.answer_text`,
);

/** The seller's answer, written and handed to the broker, or corrected while it is there: two statements for one transaction. */
export const answerQuestion = (id: string, text: string, origin: Origin): [Statement<unknown>, Statement<boolean>] => [
  write(id, text),
  found(answered(...from(origin), id)),
];

/** Notes that the caller has read the answers that have come to their side of a deal. Denied to all but buyers' sides. */
export const readAnswers = row<unknown, [dealId: string]>(
  'read_answers',
  `insert into answer_readings (deal_id) values ($1)
   on conflict (deal_id, user_id) do update set read_until = app.now()`,
);
