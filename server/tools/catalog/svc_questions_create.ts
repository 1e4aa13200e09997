import { z } from 'zod';
import { askQuestion, questionCategories } from '../../domain/diligence/questions.ts';
import { passDealGate } from '../../domain/clients/tool-gate.ts';
import { adds, defineTool } from '../define.ts';
import { id, oneOf, text } from '../inputs.ts';
import { added } from '../records.ts';
import { notAsker } from '../refusals.ts';

export const svcQuestionsCreate = defineTool({
  name: 'svc_questions_create',
  title: 'Ask a question on a deal',
  description:
    "Submits a question of the user's side, a buyer's, to the broker of a deal, who reviews it before the seller sees it. Needs an active NDA of that side on the deal. Comes back with the id of the question, which starts in status pending_broker_review; the response appears later in svc_questions_list.",
  scope: 'mcp:write',
  annotations: adds,
  input: z.strictObject({ deal_id: id(), category: oneOf(questionCategories), question_text: text(1, 4000) }),
  output: added,
  gate: (tool, { deal_id }) => passDealGate(tool, deal_id),
  denied: notAsker,
  work: ({ deal_id, category, question_text }, origin) => [askQuestion(deal_id, category, question_text, origin)],
  answer: (made) => ({ id: made }),
});
