import { z } from 'zod';
import { finding, findingChanges, findingComments } from '../../domain/diligence/findings.ts';
import { defineTool, reads } from '../define.ts';
import { id } from '../inputs.ts';
import { findingWithHistory, people } from '../records.ts';

export const svcFindingsGet = defineTool({
  name: 'svc_findings_get',
  title: 'Get a diligence finding',
  description:
    'One diligence finding: details, its latest 200 comments and changes of status, the earliest first. finding is null when there is none that the user may see.',
  scope: 'mcp:read',
  feature: 'findings',
  annotations: reads,
  input: z.strictObject({ finding_id: id('svc_findings_list') }),
  output: z.strictObject({ finding: findingWithHistory.nullable(), people }),
  work: ({ finding_id }) => [finding(finding_id), findingComments(finding_id), findingChanges(finding_id)],
  answer: (found, comments, history) => ({ finding: found && { ...found, comments, history } }),
  dealOf: (found) => found?.deal_id,
  page: 'findings',
});
