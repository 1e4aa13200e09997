import { z } from 'zod';
import {
  findingCategories,
  findings,
  findingStatuses,
  mostListedFindings,
  severities,
} from '../../domain/diligence/findings.ts';
import { sharing } from '../compact-rows.ts';
import { defineTool, reads } from '../define.ts';
import { cutHint } from '../filters.ts';
import { anyText, dealId, oneOf } from '../inputs.ts';
import { listedFindings } from '../records.ts';

export const svcFindingsList = defineTool({
  name: 'svc_findings_list',
  title: 'List diligence findings',
  description:
    'What diligence on a deal has turned up: findings (issues, risks, red flags), newest first, at most 200, with severity, status and number of comments.',
  scope: 'mcp:read',
  feature: 'findings',
  annotations: reads,
  input: z.strictObject({
    deal_id: dealId(),
    category: anyText('Any category of the findings.').optional(),
    severity: oneOf(severities, 'One').optional(),
    status: oneOf(findingStatuses, 'One').optional(),
  }),
  output: listedFindings,
  filters: ({ deal_id, category = null }) => [
    { input: 'category', given: category, known: findingCategories(deal_id, category ?? '') },
  ],
  work: ({ deal_id, category = null, severity = null, status = null }) => [
    findings(deal_id, category, severity, status),
  ],
  answer: ({ rows: found }) => sharing('findings', found, ['deal_id']),
  hint: ({ status, severity, category }, { more }) =>
    cutHint(more, `the newest ${mostListedFindings}`, { status, severity, category }),
  unseen: { things: 'findings', by: ['viewer', 'admin'] },
  page: 'findings',
});
