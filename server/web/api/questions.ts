/** The questions of a deal: asked by buyers, reviewed by the broker, answered by the seller, distributed by the broker. */

import { Hono, type Context } from 'hono';
import { z } from 'zod';
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
import { optional, pathId, readBody, text } from './input.ts';
import { notAllowed, withDeal, withRecord } from './visible-record.ts';
import { originOf } from './person.ts';

const New = z.strictObject({
  category: z.enum(questionCategories, { error: 'Choose what the question is about.' }),
  question_text: text(4000),
});
const Rejection = z.strictObject({ rejection_reason: optional(text(2000)) });
const Answer = z.strictObject({ answer_text: text(8000) });
const Distribution = z.strictObject({ distributed_response: text(8000) });

export function questionRoutes(services: Services): Hono {
  const app = new Hono();

  /** Makes the change, which tells whether it took place, and answers the question as it is then. */
  const change = async (c: Context, ...steps: [...Statement<unknown>[], Statement<boolean>]) => {
    const id = pathId(c);
    const answers = await withRecord(services, c, 'questions', id, ...steps, questionOnPage(id));
    if (answers.at(-2) !== true) throw notAllowed();
    return c.json(answers.at(-1));
  };

  app.get('/deals/:id/questions', async (c) => {
    const dealId = pathId(c);
    const [items] = await withDeal(services, c, dealId, questionsOnPage(dealId));
    return c.json({ items });
  });

  app.post('/deals/:id/questions', async (c) => {
    const dealId = pathId(c);
    const { category, question_text } = await readBody(c, New);
    const [id] = await withDeal(services, c, dealId, askQuestion(dealId, category, question_text, originOf(c)));
    const [asked] = await withRecord(services, c, 'questions', id, questionOnPage(id));
    return c.json(asked, 201);
  });

  app.post('/deals/:id/questions/read', async (c) => {
    const dealId = pathId(c);
    await withDeal(services, c, dealId, readAnswers(dealId));
    return c.body(null, 204);
  });

  app.post('/questions/:id/release', (c) => change(c, releaseQuestion(pathId(c), originOf(c))));
  app.post('/questions/:id/withdraw', (c) => change(c, withdrawQuestion(pathId(c), originOf(c))));
  app.post('/questions/:id/reject', async (c) => {
    const { rejection_reason } = await readBody(c, Rejection);
    return change(c, rejectQuestion(pathId(c), rejection_reason, originOf(c)));
  });
  app.post('/questions/:id/answer', async (c) => {
    const { answer_text } = await readBody(c, Answer);
    return change(c, ...answerQuestion(pathId(c), answer_text, originOf(c)));
  });
  app.post('/questions/:id/distribute', async (c) => {
    const { distributed_response } = await readBody(c, Distribution);
    return change(c, distributeQuestion(pathId(c), distributed_response, originOf(c)));
  });
  return app;
}
