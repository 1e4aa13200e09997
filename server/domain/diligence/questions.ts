/** Buyers' questions, which a broker reviews and the seller answers (specification, sections 2.2 and 4.3). */

import { mapped, row, rows, type Statement } from '../../database/statement.ts';
import type { DealAction } from '../audit/actions.ts';
import { addedId, audited, from, tookPlace, type Origin } from '../audit/audited.ts';
import { cut } from '../cut.ts';
import { onOpenDeal, seenDeal } from '../deals/deals.ts';
import { isBuyerStill, knownName, knownPerson, personOnDeal, type Mentioned } from '../deals/participants.ts';
import { listOfDeal, recordsByIds } from '../visibility/list-of-deal.ts';

export const questionCategories = [
  'financials',
  'operations',
  'customers',
  'employees',
  'legal',
  'tax',
  'real_estate',
  'technology',
  'transaction',
  'other',
] as const;
export const questionStatuses = [
  'pending_broker_review',
  'with_seller',
  'answered',
  'distributed',
  'rejected',
  'withdrawn',
] as const;
export type QuestionCategory = (typeof questionCategories)[number];

export interface Question {
  id: string;
  category: QuestionCategory;
  status: (typeof questionStatuses)[number];
  asked_at: string;
  question_text: string;
  /** The answer sent to the asker; null until the broker distributes it. */
  distributed_response: string | null;
  distributed_at: string | null;
  /** The seller's answer, visible to the seller's side and the brokers. */
  answer_text: string | null;
  answered_at: string | null;
  /** Why a broker rejected the question, for the asker. */
  rejection_reason: string | null;
}

/** The maximum number of questions in one list of a tool. */
export const mostListedQuestions = 200;

const newest = rows<
  Question & { asked_by: string | null; asker_person: Mentioned | null },
  [dealId: string, status: string | null]
>(
  'questions',
  `select q.id, q.category, q.status, q.asked_at, q.question_text, q.distributed_response, q.distributed_at, a.answer_text,
     coalesce(a.corrected_at, a.answered_at) as answered_at, q.rejection_reason, q.asker_person ->> 0 as asked_by, q.asker_person
   from (select q.*, ${personOnDeal('$1', 'q.asked_by')} as asker_person from questions q
     where q.deal_id = ${seenDeal('$1')} and ($2::text is null or q.status = $2)
     order by q.asked_at desc, q.id desc limit ${mostListedQuestions + 1}) q
   left join question_answers a on a.question_id = q.id
   order by q.asked_at desc, q.id desc`,
);

/**
 * The questions on a deal that the caller may read, newest first, at most {@link mostListedQuestions}; `status` is
 * optional. Answers have the time since when they stand as they are.
 */
export const questions = (dealId: string, status: string | null) =>
  mapped(newest(dealId, status), (found) => cut(found, mostListedQuestions));

type QuestionAction = 'release' | 'reject' | 'answer' | 'distribute' | 'withdraw';

interface QuestionOnPage extends Question {
  deal_id: string;
  asked_by_name: string | null;
  /** When the seller's answer was last corrected; null if it stands as it was first given. */
  corrected_at: string | null;
  /** Whether somebody would read an answer: the side that asked is still on the deal. */
  is_awaited: boolean;
  mine: boolean;
  actions: QuestionAction[];
}

// The trigger in 006_questions.sql decides who may make which change of status; this query predicts it with the same
// functions.
const select = `
  select q.id, q.deal_id, q.category, q.status, q.asked_at, q.question_text, ${knownName('asker')} as asked_by_name, a.answer_text,
    a.answered_at, a.corrected_at, q.distributed_response, q.distributed_at, q.rejection_reason,
    ${isBuyerStill('q')} as is_awaited, q.asked_by = (select app.user_id()) as mine,
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

/** The maximum number of questions on a deal's page. */
export const mostQuestions = 500;

const latest = (waits: boolean) =>
  `(select id, asked_at, ${waits} as waits from questions
    where deal_id = $1 and status ${waits ? 'in' : 'not in'} ('pending_broker_review', 'with_seller', 'answered')
    order by asked_at desc, id desc limit ${mostQuestions})`;

/**
 * The questions of a deal that the caller may read, newest first, at most {@link mostQuestions}; questions in progress
 * take precedence over completed ones.
 */
export const questionsOnPage = rows<QuestionOnPage, [dealId: string]>(
  'questions_on_page',
  `${select} where q.id = any (array(
     select c.id from (${latest(true)} union all ${latest(false)}) c
     order by c.waits desc, c.asked_at desc, c.id desc limit ${mostQuestions}))
   order by q.asked_at desc, q.id desc`,
);

/** The question with this id if the caller may see it, otherwise null. */
export const questionOnPage = row<QuestionOnPage, [id: string]>('question_on_page', `${select} where q.id = $1`);

const ask = row<{ id: string }>(
  'ask_question',
  `with changed as (
     insert into questions (deal_id, category, question_text) values ($3, $4, $5) returning id, deal_id)
   select changed.id from changed ${audited('question.ask')}`,
);

/**
 * Asks a question for the caller's side, which a broker then reviews; returns its id. Refused with `not_a_buyer`,
 * `no_active_nda`, `no_broker_review`, `deal_over` or `deal_closed`; rejects with Denied when the caller takes no part
 * in such a deal.
 */
export const askQuestion = (
  dealId: string,
  category: QuestionCategory,
  text: string,
  origin: Origin,
): Statement<string> => addedId(ask(...from(origin), dealId, category, text));

const move = (name: string, action: DealAction, set: string, where = 'true') =>
  row<{ id: string }>(
    name,
    `with changed as (update questions set ${set} where id = $3 and ${where} returning id, deal_id)
     select changed.id from changed ${audited(action)}`,
  );

const release = row<{ id: string }>(
  'release_question',
  // The row is locked before it is compared, so that of two requests at once one finds the question released. On a closed
  // deal it is updated in any case, so that the trigger refuses it.
  `with held as (
     select q.id, q.deal_id, q.status, ${onOpenDeal('q')} as is_open from questions q where q.id = $3 for no key update of q),
   changed as (
     update questions q set status = 'with_seller' from held
     where q.id = held.id and (held.status <> 'with_seller' or not held.is_open) returning q.id, q.deal_id)
   select changed.id from changed ${audited('question.release')}
   union all select id from held
     where status = 'with_seller' and is_open and deal_id = any ((select app.deals_acting_as('broker'))::uuid[])`,
);
const reject = move('reject_question', 'question.reject', `status = 'rejected', rejection_reason = $4`);
const distribute = move(
  'distribute_question',
  'question.distribute',
  `status = 'distributed', distributed_response = $4`,
  '($5::text is null or $5 = (select answer_text from question_answers where question_id = questions.id))',
);
const hold = row<unknown, [id: string]>('hold_question', 'select from questions where id = $1 for no key update');
const withdraw = move('withdraw_question', 'question.withdraw', `status = 'withdrawn'`);
const answered = move(
  'answered_question',
  'question.answer',
  `status = 'answered'`,
  '(not $5 or $4 = (select answer_text from question_answers where question_id = questions.id))',
);

/**
 * Releases a question to the seller, and writes nothing if it is released already; false when the caller may change no
 * such question. Refused with the reason of the trigger, or with `no_seller`.
 */
export const releaseQuestion = (id: string, origin: Origin) => tookPlace(release(...from(origin), id));

/** Rejects a question; the asker sees the reason. */
export const rejectQuestion = (id: string, reason: string | null, origin: Origin) =>
  tookPlace(reject(...from(origin), id, reason));

/**
 * Sends the answer to the asker, in the broker's words: two statements for one transaction. False also when the
 * seller's answer is no longer the one that was `read`; null skips the comparison.
 */
export const distributeQuestion = (
  id: string,
  response: string,
  read: string | null,
  origin: Origin,
): [Statement<unknown>, Statement<boolean>] => [
  // Locks the question, and so waits for a concurrent correction, which updates it too: the next statement sees only
  // what was committed before it began.
  hold(id),
  tookPlace(distribute(...from(origin), id, response, read)),
];

/** Withdraws one of the caller's own questions. */
export const withdrawQuestion = (id: string, origin: Origin) => tookPlace(withdraw(...from(origin), id));

const write = row<unknown, [id: string, text: string, compared: boolean, read: string | null]>(
  'write_answer',
  `insert into question_answers (question_id, deal_id, answer_text)
   select q.id, q.deal_id, $2 from questions q
   where q.id = $1 and q.deal_id = any ((select app.deals_acting_as('seller'))::uuid[])
   on conflict (question_id) do update set answer_text = excluded.answer_text
     where not $3 or question_answers.answer_text = $4`,
);

/**
 * Writes the seller's answer and passes it to the broker, or corrects it while the broker has it: two statements for
 * one transaction. False also when the current answer is not the one that was `read` (null for none; undefined skips
 * the comparison).
 */
export const answerQuestion = (
  id: string,
  text: string,
  read: string | null | undefined,
  origin: Origin,
): [Statement<unknown>, Statement<boolean>] => [
  write(id, text, read !== undefined, read ?? null),
  tookPlace(answered(...from(origin), id, text, read !== undefined)),
];

/**
 * Records that the caller has read the answers that their side of a deal has received. Denied to all but buyers' sides.
 */
export const readAnswers = row<unknown, [dealId: string]>(
  'read_answers',
  `insert into answer_readings (deal_id) values ($1)
   on conflict (deal_id, user_id) do update set read_until = app.now()`,
);

/** A question as the REST API and webhooks return it. */
type QuestionResource = Omit<QuestionOnPage, 'corrected_at' | 'is_awaited' | 'mine' | 'actions'>;

const inOrder = {
  columns: `q.id, q.deal_id, q.category, q.status, q.asked_at, q.question_text, ${knownName('asker')} as asked_by_name, a.answer_text,
    a.answered_at, q.distributed_response, q.distributed_at, q.rejection_reason`,
  tables: `questions q ${knownPerson('asker', 'q.asked_by', 'q.deal_id')}
    left join question_answers a on a.question_id = q.id`,
  deal: 'q.deal_id',
  where: '($5::text is null or q.status = $5)',
  key: 'q.asked_at',
  type: 'timestamptz',
  id: 'q.id',
  direction: 'desc',
} as const;

/** The questions of a deal that the caller may read, newest first, in pages; `status` is optional. */
export const questionsOfDeal = listOfDeal<QuestionResource, [status: string | null]>('questions_of_deal', inOrder);

/** The questions with these ids that the caller may read. */
export const questionsByIds = recordsByIds<QuestionResource>('questions_by_ids', inOrder);
