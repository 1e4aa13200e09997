import { z } from 'zod';
import { addFinding, severities } from '../../domain/diligence/findings.ts';
import { passDealGate } from '../../domain/clients/tool-gate.ts';
import { adds, defineTool } from '../define.ts';
import { id, oneOf, personId, text } from '../inputs.ts';
import { added } from '../records.ts';
import { notInDiligence } from '../refusals.ts';

export const svcFindingsCreate = defineTool({
  name: 'svc_findings_create',
  title: 'Record a diligence finding',
  description:
    "Records an issue found in diligence on a deal, with status open, for the user's side. owner_user_id is the id of an active participant who is to deal with it. Comes back with the id of the finding.",
  scope: 'mcp:write',
  feature: 'findings',
  annotations: adds,
  input: z.strictObject({
    deal_id: id(),
    category: text(1, 64),
    title: text(1, 120),
    description: text(0, 8000).optional(),
    severity: oneOf(severities),
    owner_user_id: personId().optional(),
  }),
  output: added,
  gate: (tool, { deal_id }) => passDealGate(tool, deal_id),
  denied: notInDiligence,
  work: ({ deal_id, category, title, description = null, severity, owner_user_id = null }, origin) => [
    addFinding(deal_id, { category, title, description, severity, owner_user_id }, origin),
  ],
  answer: (made) => ({ id: made }),
});
