import { z } from 'zod';
import { mostListedQuestions, questions, questionStatuses } from '../../domain/diligence/questions.ts';
import { defineTool, reads } from '../define.ts';
import { cutHint } from '../filters.ts';
import { dealId, text } from '../inputs.ts';
import { sharing, withoutNulls } from '../compact-rows.ts';
import { listedQuestions } from '../records.ts';

export const svcQuestionsList = defineTool({
  name: 'svc_questions_list',
  title: 'List questions on a deal',
  description:
    "Q&A: buyers' questions on a deal and the answers, latest first, at most 200. A buyer sees their own side's, a broker all, a seller those released. distributed_response is null until the broker distributes what was answered (answer_text).",
  scope: 'mcp:read',
  annotations: reads,
  input: z.strictObject({
    deal_id: dealId(),
    status: text(1, 64, `One: ${questionStatuses.join(', ')}.`).optional(),
  }),
  output: listedQuestions,
  filters: ({ status = null }) => [{ input: 'status', given: status, known: questionStatuses }],
  work: ({ deal_id, status = null }) => [questions(deal_id, status?.toLowerCase() ?? null)],
  answer: ({ rows: found }) =>
    sharing(
      'questions',
      found.map(({ id, category, status, asked_at, question_text, distributed_response, ...held }) => ({
        id,
        category,
        status,
        asked_at,
        question_text,
        distributed_response,
        ...withoutNulls(held),
      })),
      ['asked_by'],
    ),
  hint: ({ status }, { more }) => cutHint(more, `the newest ${mostListedQuestions}`, { status }),
  unseen: { things: 'questions', by: ['viewer', 'admin'] },
  page: 'questions',
});
