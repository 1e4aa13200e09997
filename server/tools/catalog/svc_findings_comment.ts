import { z } from 'zod';
import { addFindingComment } from '../../domain/diligence/findings.ts';
import { passFindingGate } from '../../domain/clients/tool-gate.ts';
import { lengths } from '../../domain/lengths.ts';
import { adds, defineTool } from '../define.ts';
import { id, text } from '../inputs.ts';
import { added } from '../records.ts';
import { notInDiligence } from '../refusals.ts';

export const svcFindingsComment = defineTool({
  name: 'svc_findings_comment',
  title: 'Comment on a finding',
  description: 'Adds a comment, note or reply to a finding of diligence, for everybody who sees it.',
  scope: 'mcp:write',
  feature: 'findings',
  annotations: adds,
  input: z.strictObject({
    finding_id: id('svc_findings_list'),
    body: text(1, lengths.finding_comments.body, 'The comment.'),
  }),
  output: added,
  gate: (tool, { finding_id }) => passFindingGate(tool, finding_id),
  denied: notInDiligence,
  work: ({ finding_id, body }, origin) => [addFindingComment(finding_id, body, origin)],
  answer: (made) => made && { id: made.id },
  dealOf: (made) => made?.deal_id,
  page: 'findings',
});
