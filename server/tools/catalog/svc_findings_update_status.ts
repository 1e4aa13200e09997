import { z } from 'zod';
import { findingStatuses, setFindingStatus } from '../../domain/diligence/findings.ts';
import { passFindingGate } from '../../domain/clients/tool-gate.ts';
import { lengths } from '../../domain/lengths.ts';
import { defineTool, replaces } from '../define.ts';
import { id, oneOf, text } from '../inputs.ts';
import { notInDiligence } from '../refusals.ts';

export const svcFindingsUpdateStatus = defineTool({
  name: 'svc_findings_update_status',
  title: 'Change the status of a finding',
  description:
    'Marks a diligence finding as open, mitigated, accepted or resolved, with a note on why; its history keeps earlier notes. Any status may follow any other.',
  scope: 'mcp:write',
  feature: 'findings',
  annotations: replaces,
  input: z.strictObject({
    finding_id: id('svc_findings_list'),
    status: oneOf(findingStatuses, 'New'),
    status_notes: text(0, lengths.findings.status_notes, 'Why.').optional(),
  }),
  output: z.strictObject({ id: z.guid(), status: z.string(), updated_at: z.iso.datetime() }),
  gate: (tool, { finding_id }) => passFindingGate(tool, finding_id),
  denied: notInDiligence,
  work: ({ finding_id, status, status_notes = null }, origin) => [
    setFindingStatus(finding_id, status, status_notes, origin),
  ],
  answer: (changed) => changed && { id: changed.id, status: changed.status, updated_at: changed.updated_at },
  dealOf: (changed) => changed?.deal_id,
  page: 'findings',
});
