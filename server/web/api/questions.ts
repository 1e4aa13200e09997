/**
 * The questions of a deal: buyers ask them, the broker reviews them, the seller answers, and the broker distributes the
 * answers.
 */

import { Hono, type Context } from 'hono';
import { z } from 'zod';
import { lengths } from '../../domain/lengths.ts';
import type { Services } from '../../services.ts';
import type { Statement } from '../../database/statement.ts';
import {
  answerQuestion,
  askQuestion,
  distributeQuestion,
  questionCategories,
  questionOnPage,
  questionsOnPage,
  readAnswers,
  rejectQuestion,
  releaseQuestion,
  withdrawQuestion,
} from '../../domain/diligence/questions.ts';
import { originOf } from '../../http/origin.ts';
import { notAllowed } from '../../http/problem.ts';
import { body, optional, pathId, text } from './input.ts';
import { withDeal, withRecord } from './visible-record.ts';
import { changedMeanwhile, orNotFound } from './problems.ts';

const New = z.strictObject({
  category: z.enum(questionCategories, { error: 'Choose what the question is about.' }),
  question_text: text(lengths.questions.question_text),
});
const Rejection = z.strictObject({ rejection_reason: optional(text(lengths.questions.rejection_reason)) });
const Answer = z.strictObject({
  answer_text: text(lengths.question_answers.answer_text),
  /**
   * The answer that the person has read, null when there was none; a different answer is not overwritten. When omitted,
   * any answer is overwritten.
   */
  read_answer: text(lengths.question_answers.answer_text).nullable().optional(),
});
const Distribution = z.strictObject({
  distributed_response: text(lengths.questions.distributed_response),
  /** The seller's answer that the broker has read; pages loaded from an earlier release do not send it. */
  answer_text: optional(text(lengths.question_answers.answer_text)),
});

/** The question routes, below /api/web. */
export function questionRoutes(services: Services) {
  /** Makes the change and responds with the question after it. Throws 403 when the change returns false. */
  const change = async (c: Context, step: Statement<boolean>) => {
    const id = pathId(c);
    const [changed, question] = await withRecord(services, c, 'questions', id, step, questionOnPage(id));
    if (!changed) throw notAllowed();
    return c.json(orNotFound(question));
  };

  return new Hono()
    .get('/deals/:id/questions', async (c) => {
      const dealId = pathId(c);
      const [items] = await withDeal(services, c, dealId, questionsOnPage(dealId));
      return c.json({ items });
    })

    .post('/deals/:id/questions', body(New), async (c) => {
      const dealId = pathId(c);
      const { category, question_text } = c.req.valid('json');
      const [id] = await withDeal(services, c, dealId, askQuestion(dealId, category, question_text, originOf(c)));
      const [asked] = await withRecord(services, c, 'questions', id, questionOnPage(id));
      return c.json(orNotFound(asked), 201);
    })

    .post('/deals/:id/questions/read', async (c) => {
      const dealId = pathId(c);
      await withDeal(services, c, dealId, readAnswers(dealId));
      return c.body(null, 204);
    })

    .post('/questions/:id/release', (c) => change(c, releaseQuestion(pathId(c), originOf(c))))

    .post('/questions/:id/withdraw', (c) => change(c, withdrawQuestion(pathId(c), originOf(c))))

    .post('/questions/:id/reject', body(Rejection), async (c) => {
      const { rejection_reason } = c.req.valid('json');
      return change(c, rejectQuestion(pathId(c), rejection_reason, originOf(c)));
    })

    .post('/questions/:id/answer', body(Answer), async (c) => {
      const id = pathId(c);
      const { answer_text, read_answer } = c.req.valid('json');
      const steps = answerQuestion(id, answer_text, read_answer, originOf(c));
      const [, answered, question] = await withRecord(services, c, 'questions', id, ...steps, questionOnPage(id));
      if (!answered)
        throw read_answer !== undefined && read_answer !== question?.answer_text
          ? changedMeanwhile('The answer was changed')
          : notAllowed();
      return c.json(orNotFound(question));
    })

    .post('/questions/:id/distribute', body(Distribution), async (c) => {
      const id = pathId(c);
      const { distributed_response, answer_text } = c.req.valid('json');
      const steps = distributeQuestion(id, distributed_response, answer_text, originOf(c));
      const [, distributed, question] = await withRecord(services, c, 'questions', id, ...steps, questionOnPage(id));
      if (!distributed)
        throw answer_text !== null && answer_text !== question?.answer_text
          ? changedMeanwhile('The answer was changed')
          : notAllowed();
      return c.json(orNotFound(question));
    });
}
