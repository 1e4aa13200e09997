import { z } from 'zod';
import { askQuestion, questionCategories } from '../../domain/diligence/questions.ts';
import { passDealGate } from '../../domain/clients/tool-gate.ts';
import { lengths } from '../../domain/lengths.ts';
import { adds, defineTool } from '../define.ts';
import { dealId, oneOf, text } from '../inputs.ts';
import { added } from '../records.ts';
import { notAsker } from '../refusals.ts';

export const svcQuestionsCreate = defineTool({
  name: 'svc_questions_create',
  title: 'Ask a question on a deal',
  description:
    'Asks the seller a question for a buyer’s side: sends it to the broker, who reviews it first (pending_broker_review). Needs an active NDA. svc_questions_list has the response later.',
  scope: 'mcp:write',
  annotations: adds,
  input: z.strictObject({
    deal_id: dealId(),
    category: oneOf(questionCategories, 'One'),
    question_text: text(1, lengths.questions.question_text, 'As the seller reads it.'),
  }),
  output: added,
  gate: (tool, { deal_id }) => passDealGate(tool, deal_id),
  denied: notAsker,
  work: ({ deal_id, category, question_text }, origin) => [askQuestion(deal_id, category, question_text, origin)],
  answer: (made) => ({ id: made }),
  page: 'questions',
});
