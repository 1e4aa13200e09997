/** What brokers say to the contradictions of a deal's books, and which of them others may read (docs/books.md). */

import { mapped, row, type Statement } from '../../database/statement.ts';
import { audited, from, tookPlace, type Origin } from '../audit/audited.ts';
import { beginningOf } from '../characters.ts';
import type { Books } from './books.ts';
import { contradictions } from './contradictions.ts';
import type { Contradiction } from './contradictions/contradiction.ts';
import { quoted } from './contradictions/words.ts';

/** The figures are right and the broker says why they differ, or they will be corrected by another upload. */
export const answerStatuses = ['explained', 'to_correct'] as const;
type AnswerStatus = (typeof answerStatuses)[number];

/** An answer as it is kept. */
interface StoredAnswer {
  readonly contradiction: string;
  readonly figures: string;
  readonly status: AnswerStatus;
  readonly why: string;
  /** Null, like who released it, when the caller may not know of them. */
  readonly answered_by_name: string | null;
  readonly answered_at: string;
  readonly released_by_name: string | null;
  readonly released_at: string | null;
}

/** What the caller may read of contradictions, and whether they may answer. */
export interface AnswersInSight {
  /** Whether they see every contradiction: the brokers' and the sellers' side. Others in the workspace see those that a broker released. */
  readonly all: boolean;
  readonly may_answer: boolean;
  readonly answers: readonly StoredAnswer[];
}

const inSight = row<AnswersInSight, [dealId: string]>(
  'contradiction_answers',
  `select s.told_all as all, s.may_answer, s.answers from app.contradictions_in_sight($1) s`,
);

/** What is in sight where nobody has answered. */
export const noAnswers = (all: boolean): AnswersInSight => ({ all, may_answer: false, answers: [] });

/** What the caller may read of the answers to the contradictions of the deal that the transaction is narrowed to. */
export const answersInSight = (dealId: string): Statement<AnswersInSight> =>
  mapped(inSight(dealId), (found) => found ?? noAnswers(false));

const closed = row<{ closed: boolean }, [dealId: string]>(
  'closed_to_answers',
  `select state = 'closed' as closed from deals where id = $1`,
);

/** Whether nobody may answer any more. */
export const closedToAnswers = (dealId: string): Statement<boolean> =>
  mapped(closed(dealId), (found) => found?.closed ?? false);

/** An answer beside its contradiction. */
interface AnswerSummary extends Omit<StoredAnswer, 'contradiction' | 'figures'> {
  /** Whether it was given to other figures than the contradiction has now. */
  readonly of_other_figures: boolean;
}

/** A contradiction as one reader sees it. */
export interface ContradictionSummary extends Contradiction {
  readonly answer: AnswerSummary | null;
}

/** The open contradictions, and those that a broker has explained. */
interface ContradictionsSummary {
  readonly open: readonly ContradictionSummary[];
  readonly explained: readonly ContradictionSummary[];
}

/**
 * The contradictions of these books as the caller sees them, each with its answer: all of them, or those that a broker released with the figures that
 * they have now. Explained is what was explained with the figures that it has now; all else is open.
 */
export function contradictionsSummary(books: Books, { all, answers }: AnswersInSight): ContradictionsSummary {
  if (!all && answers.length === 0) return { open: [], explained: [] };
  const byKey = new Map(answers.map((one) => [one.contradiction, one]));
  const summaries = contradictions(books).flatMap((one): ContradictionSummary[] => {
    const answer = byKey.get(one.key);
    if (!all && answer?.figures !== one.figures) return [];
    if (!answer) return [{ ...one, answer: null }];
    const { contradiction: _, figures, ...rest } = answer;
    return [{ ...one, answer: { ...rest, of_other_figures: figures !== one.figures } }];
  });
  const isExplained = ({ answer }: ContradictionSummary) => answer?.status === 'explained' && !answer.of_other_figures;
  return { open: summaries.filter((one) => !isExplained(one)), explained: summaries.filter(isExplained) };
}

/** The contradiction of these books that has the key; null where none has it any more. */
export const contradictionOf = (books: Books, key: string): Contradiction | null =>
  contradictions(books).find((one) => one.key === key) ?? null;

/** What an answer says, at its head; the pages have these words, too. */
export const answerWords = {
  explained: 'Explained',
  to_correct: 'To be corrected',
} as const satisfies Record<AnswerStatus, string>;

/** An answer as a report has it: "Explained by Dana Reyes on 2026-11-22: the rent was prepaid." */
export function answerInWords({
  status,
  why,
  answered_by_name: by,
  answered_at,
  of_other_figures,
}: AnswerSummary): string {
  const who = by === null ? '' : ` by ${by}`;
  return `${answerWords[status]}${who} on ${answered_at.slice(0, 10)}${of_other_figures ? ', before the figures changed' : ''}: ${why}`;
}

/** The beginning of an answer, of so many characters, in one line: "Explained: “The rent was prepaid.”" */
export function answerInShort({ status, why, of_other_figures }: AnswerSummary, most: number): string {
  const text = beginningOf(why.replace(/\s+/g, ' ').trim(), most);
  return `${answerWords[status]}${of_other_figures ? ', before the figures changed' : ''}: ${quoted(text)}`;
}

const give = row<{ id: string }>(
  'answer_contradiction',
  // First those that are there: what limits how many a deal has looks at what is inserted.
  `with there as (
     update contradiction_answers set figures = $5, status = $6, why = $7
     where deal_id = $3 and contradiction = $4 and (not $8 or date_trunc('milliseconds', answered_at) = $9::timestamptz) returning id, deal_id
   ), added as (
     insert into contradiction_answers (deal_id, contradiction, figures, status, why)
     select $3, $4, $5, $6, $7 where $9::timestamptz is null and not exists (select from there)
     on conflict (deal_id, contradiction) do update set figures = excluded.figures, status = excluded.status, why = excluded.why where not $8
     returning id, deal_id
   ), changed as (select * from there union all select * from added)
   select changed.id from changed ${audited('qoe.contradiction.answer', { details: `jsonb_build_object('status', $6::text)` })}`,
);

/**
 * Answers a contradiction, or answers it anew, which takes back its release; false when its answer is no longer the one that was `read`, told by when it was
 * given, null where there was none; undefined does not compare it. Denied to all but the deal's brokers; refused with `deal_full` or `deal_closed`.
 */
export const answerContradiction = (
  dealId: string,
  { key, figures }: Pick<Contradiction, 'key' | 'figures'>,
  { status, why }: Pick<AnswerSummary, 'status' | 'why'>,
  read: string | null | undefined,
  origin: Origin,
): Statement<boolean> =>
  tookPlace(give(...from(origin), dealId, key, figures, status, why, read !== undefined, read ?? null));

const change = (name: string, action: Parameters<typeof audited>[0], sql: string) =>
  row<{ id: string }>(
    name,
    `with changed as (${sql} returning id, deal_id) select changed.id from changed ${audited(action)}`,
  );

const release = change(
  'release_contradiction',
  'qoe.contradiction.release',
  `update contradiction_answers set released_at = app.now()
   where deal_id = $3 and contradiction = $4 and date_trunc('milliseconds', answered_at) = $5::timestamptz and figures = $6`,
);
const withdraw = change(
  'withdraw_contradiction',
  'qoe.contradiction.withdraw',
  `update contradiction_answers set released_at = null where deal_id = $3 and contradiction = $4 and released_at is not null`,
);
const takeBack = change(
  'unanswer_contradiction',
  'qoe.contradiction.unanswer',
  `delete from contradiction_answers
   where deal_id = $3 and contradiction = $4 and ($5::timestamptz is null or date_trunc('milliseconds', answered_at) = $5::timestamptz)`,
);

/**
 * Lets everybody in the workspace read a contradiction with the answer that was given at that moment; false when there is no such answer to these figures,
 * or not for the caller to release.
 */
export const releaseContradiction = (
  dealId: string,
  { key, figures }: Pick<Contradiction, 'key' | 'figures'>,
  answeredAt: string,
  origin: Origin,
) => tookPlace(release(...from(origin), dealId, key, answeredAt, figures));

/** Takes a release back; false when nothing is released, or not by the caller. */
export const withdrawContradiction = (dealId: string, key: string, origin: Origin) =>
  tookPlace(withdraw(...from(origin), dealId, key));

/**
 * Takes an answer back, and with it its release; false when there is none, none of the caller's to take back, or another than the one that was `read`, told
 * by when it was given; null does not compare it.
 */
export const unanswerContradiction = (dealId: string, key: string, read: string | null, origin: Origin) =>
  tookPlace(takeBack(...from(origin), dealId, key, read));
