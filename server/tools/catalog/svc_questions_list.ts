import { z } from 'zod';
import { questions } from '../../domain/diligence/questions.ts';
import { defineTool, reads } from '../define.ts';
import { id, text } from '../inputs.ts';
import { question } from '../records.ts';

export const svcQuestionsList = defineTool({
  name: 'svc_questions_list',
  title: 'List questions on a deal',
  description:
    "Buyers' questions on a deal and the responses distributed to them, the latest first, at most 200. A buyer sees those of their own side, a broker all, a seller those that were released. status filters: pending_broker_review, with_seller, answered, distributed, rejected or withdrawn. distributed_response is null until the broker distributes it. Empty: there are none that the user may see.",
  scope: 'mcp:read',
  annotations: reads,
  input: z.strictObject({ deal_id: id(), status: text(1, 64).optional() }),
  output: z.strictObject({ questions: z.array(question) }),
  work: ({ deal_id, status = null }) => [questions(deal_id, status)],
  answer: (found) => ({ questions: found }),
});
