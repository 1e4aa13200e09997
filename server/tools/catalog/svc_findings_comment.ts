import { z } from 'zod';
import { addFindingComment } from '../../domain/diligence/findings.ts';
import { passFindingGate } from '../../domain/clients/tool-gate.ts';
import { adds, defineTool } from '../define.ts';
import { id, text } from '../inputs.ts';
import { added } from '../records.ts';
import { notInDiligence } from '../refusals.ts';

export const svcFindingsComment = defineTool({
  name: 'svc_findings_comment',
  title: 'Comment on a finding',
  description:
    'Adds a comment to a diligence finding, for everybody who sees the finding. Comes back with the id of the comment.',
  scope: 'mcp:write',
  feature: 'findings',
  annotations: adds,
  input: z.strictObject({ finding_id: id(), body: text(1, 8000) }),
  output: added,
  gate: (tool, { finding_id }) => passFindingGate(tool, finding_id),
  denied: notInDiligence,
  work: ({ finding_id, body }, origin) => [addFindingComment(finding_id, body, origin)],
  answer: (made) => ({ id: made }),
});
