/** Brokers' answers to the contradictions in a deal's books, and which of them others may read (docs/books.md). */

import { mapped, row, type Statement } from '../../database/statement.ts';
import { audited, from, tookPlace, type Origin } from '../audit/audited.ts';
import { beginningOf } from '../characters.ts';
import type { Books } from './books.ts';
import { contradictions } from './contradictions.ts';
import type { Contradiction } from './contradictions/contradiction.ts';
import { quoted } from './contradictions/words.ts';

/**
 * `explained`: the figures are right and the broker says why they differ. `to_correct`: another upload will correct
 * them.
 */
export const answerStatuses = ['explained', 'to_correct'] as const;
type AnswerStatus = (typeof answerStatuses)[number];

interface StoredAnswer {
  readonly contradiction: string;
  readonly figures: string;
  readonly status: AnswerStatus;
  readonly why: string;
  /** Null, like `released_by_name`, when the caller may not see the person on the deal. */
  readonly answered_by_name: string | null;
  readonly answered_at: string;
  readonly released_by_name: string | null;
  readonly released_at: string | null;
}

/** The answers that the caller may read, and whether they may answer. */
export interface AnswersInSight {
  /**
   * Whether the caller sees every contradiction, as the brokers' and sellers' sides do. Others in the workspace see
   * those that a broker released.
   */
  readonly all: boolean;
  readonly may_answer: boolean;
  readonly answers: readonly StoredAnswer[];
}

const inSight = row<AnswersInSight, [dealId: string]>(
  'contradiction_answers',
  `select s.told_all as all, s.may_answer, s.answers from app.contradictions_in_sight($1) s`,
);

/** The answers of a deal without answers. */
export const noAnswers = (all: boolean): AnswersInSight => ({ all, may_answer: false, answers: [] });

/** The answers that the caller may read to the contradictions of the deal that the transaction is narrowed to. */
export const answersInSight = (dealId: string): Statement<AnswersInSight> =>
  mapped(inSight(dealId), (found) => found ?? noAnswers(false));

const closed = row<{ closed: boolean }, [dealId: string]>(
  'closed_to_answers',
  `select state = 'closed' as closed from deals where id = $1`,
);

/** Whether the deal is closed to answers. */
export const closedToAnswers = (dealId: string): Statement<boolean> =>
  mapped(closed(dealId), (found) => found?.closed ?? false);

interface AnswerSummary extends Omit<StoredAnswer, 'contradiction' | 'figures'> {
  /** Whether the contradiction's figures have changed since the answer. */
  readonly of_other_figures: boolean;
}

/** A contradiction as one reader may see it. */
export interface ContradictionSummary extends Contradiction {
  readonly answer: AnswerSummary | null;
}

interface ContradictionsSummary {
  readonly open: readonly ContradictionSummary[];
  readonly explained: readonly ContradictionSummary[];
}

/**
 * The contradictions of these books with their answers, as the caller may see them: all, or those that a broker
 * released with the current figures. A contradiction counts as explained if its current figures were explained;
 * otherwise it is open.
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

/** The contradiction with this key in these books, otherwise null. */
export const contradictionOf = (books: Books, key: string): Contradiction | null =>
  contradictions(books).find((one) => one.key === key) ?? null;

/** The heading of an answer. The pages use the same words. */
export const answerWords = {
  explained: 'Explained',
  to_correct: 'To be corrected',
} as const satisfies Record<AnswerStatus, string>;

/** An answer in a report: "Explained by Dana Reyes on 2026-11-22: the rent was prepaid." */
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

/** The first `most` characters of an answer, on one line: "Explained: “The rent was prepaid.”" */
export function answerInShort({ status, why, of_other_figures }: AnswerSummary, most: number): string {
  const text = beginningOf(why.replace(/\s+/g, ' ').trim(), most);
  return `${answerWords[status]}${of_other_figures ? ', before the figures changed' : ''}: ${quoted(text)}`;
}

const give = row<{ id: string }>(
  'answer_contradiction',
  // Existing answers are updated first, because the limit of answers per deal applies to every insert.
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
 * Answers a contradiction or replaces its answer, which withdraws its release; false when the current answer is not the
 * one that was `read`, identified by its time (null: there was none; undefined: not compared). Denied to all but the
 * deal's brokers; refused with `deal_full` or `deal_closed`.
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
 * Lets everybody in the workspace read a contradiction with the answer given at `answeredAt`; false when there is no
 * such answer to these figures, or the caller may not release it.
 */
export const releaseContradiction = (
  dealId: string,
  { key, figures }: Pick<Contradiction, 'key' | 'figures'>,
  answeredAt: string,
  origin: Origin,
) => tookPlace(release(...from(origin), dealId, key, answeredAt, figures));

/** Withdraws a release; false when nothing is released, or the caller may not withdraw it. */
export const withdrawContradiction = (dealId: string, key: string, origin: Origin) =>
  tookPlace(withdraw(...from(origin), dealId, key));

/**
 * Deletes an answer, and with it its release; false when there is none, the caller may not delete it, or it is not the
 * one that was `read`, identified by its time (null: not compared).
 */
export const unanswerContradiction = (dealId: string, key: string, read: string | null, origin: Origin) =>
  tookPlace(takeBack(...from(origin), dealId, key, read));
