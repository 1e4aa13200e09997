import { z } from 'zod';
import { addFinding, severities } from '../../domain/diligence/findings.ts';
import { passDealGate } from '../../domain/clients/tool-gate.ts';
import { lengths } from '../../domain/lengths.ts';
import { adds, defineTool } from '../define.ts';
import { dealId, line, oneOf, personId, text } from '../inputs.ts';
import { added } from '../records.ts';
import { notInDiligence } from '../refusals.ts';

export const svcFindingsCreate = defineTool({
  name: 'svc_findings_create',
  title: 'Record a diligence finding',
  description: 'Records (logs) a new finding of diligence, a risk or issue, as open, for the user’s side of a deal.',
  scope: 'mcp:write',
  feature: 'findings',
  annotations: adds,
  input: z.strictObject({
    deal_id: dealId(),
    category: line(lengths.findings.category, 'Any text, such as tax.'),
    title: line(lengths.findings.title, 'In a line.'),
    description: text(0, lengths.findings.description, 'In full.').optional(),
    severity: oneOf(severities, 'One'),
    owner_user_id: personId('user_id of an active participant.').optional(),
  }),
  output: added,
  gate: (tool, { deal_id }) => passDealGate(tool, deal_id),
  denied: notInDiligence,
  work: ({ deal_id, category, title, description = null, severity, owner_user_id = null }, origin) => [
    addFinding(deal_id, { category, title, description, severity, owner_user_id }, origin),
  ],
  answer: (made) => ({ id: made }),
  page: 'findings',
});
