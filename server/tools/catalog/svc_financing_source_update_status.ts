import { z } from 'zod';
import { commitmentStatuses, moveSource } from '../../domain/offers/financing.ts';
import { passFinancingGate } from '../../domain/clients/tool-gate.ts';
import { defineTool, replaces } from '../define.ts';
import { id, oneOf } from '../inputs.ts';
import { notInDiligence } from '../refusals.ts';

export const svcFinancingSourceUpdateStatus = defineTool({
  name: 'svc_financing_source_update_status',
  title: 'Change the status of a financing source',
  description:
    'Moves a source of financing, such as a bank loan, forward (steps may be skipped), or ends one not yet funded as expired or withdrawn. Nothing moves back.',
  scope: 'mcp:write',
  feature: 'financing',
  annotations: replaces,
  input: z.strictObject({
    source_id: id('svc_financing_stack_get'),
    commitment_status: oneOf(commitmentStatuses, 'New'),
  }),
  output: z.strictObject({ id: z.guid(), commitment_status: z.string(), updated_at: z.iso.datetime() }),
  gate: (tool, { source_id }) => passFinancingGate(tool, source_id),
  denied: notInDiligence,
  work: ({ source_id, commitment_status }, origin) => [moveSource(source_id, commitment_status, origin)],
  answer: (changed) =>
    changed && { id: changed.id, commitment_status: changed.commitment_status, updated_at: changed.updated_at },
  dealOf: (changed) => changed?.deal_id,
  page: 'financing',
});
