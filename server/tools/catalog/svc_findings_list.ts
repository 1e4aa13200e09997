import { z } from 'zod';
import { findings, findingStatuses, severities } from '../../domain/diligence/findings.ts';
import { defineTool, reads } from '../define.ts';
import { anyText, id, oneOf } from '../inputs.ts';
import { listedFinding } from '../records.ts';

export const svcFindingsList = defineTool({
  name: 'svc_findings_list',
  title: 'List diligence findings',
  description:
    'The issues that diligence on a deal has brought up, newest first, at most 200, with severity, status and number of comments; filtered by category, severity or status if given. Empty: there are none that the user may see.',
  scope: 'mcp:read',
  feature: 'findings',
  annotations: reads,
  input: z.strictObject({
    deal_id: id(),
    category: anyText().optional(),
    severity: oneOf(severities).optional(),
    status: oneOf(findingStatuses).optional(),
  }),
  output: z.strictObject({ findings: z.array(listedFinding) }),
  work: ({ deal_id, category = null, severity = null, status = null }) => [
    findings(deal_id, category, severity, status),
  ],
  answer: (found) => ({ findings: found }),
});
