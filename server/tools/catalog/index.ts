/** Every tool, in the order of the specification (section 4.3). Clients keep the list, so the order must not change. */

import type { Config } from '../../config/config.ts';
import type { ToolFacts } from '../../domain/clients/tool-grants.ts';
import type { Tool } from '../define.ts';
import { svcClosingConditionsList } from './svc_closing_conditions_list.ts';
import { svcDealsGet } from './svc_deals_get.ts';
import { svcDealsList } from './svc_deals_list.ts';
import { svcDocumentsList } from './svc_documents_list.ts';
import { svcFinancingSourceCreate } from './svc_financing_source_create.ts';
import { svcFinancingSourceUpdateStatus } from './svc_financing_source_update_status.ts';
import { svcFinancingStackGet } from './svc_financing_stack_get.ts';
import { svcFindingsComment } from './svc_findings_comment.ts';
import { svcFindingsCreate } from './svc_findings_create.ts';
import { svcFindingsGet } from './svc_findings_get.ts';
import { svcFindingsList } from './svc_findings_list.ts';
import { svcFindingsUpdateStatus } from './svc_findings_update_status.ts';
import { svcOffersList } from './svc_offers_list.ts';
import { svcQoeCustomerConcentration } from './svc_qoe_customer_concentration.ts';
import { svcQoeGet } from './svc_qoe_get.ts';
import { svcQoeNormalizationCreate } from './svc_qoe_normalization_create.ts';
import { svcQoePlPeriods } from './svc_qoe_pl_periods.ts';
import { svcQuestionsCreate } from './svc_questions_create.ts';
import { svcQuestionsList } from './svc_questions_list.ts';

export const catalog: readonly Tool[] = [
  svcDealsList,
  svcDealsGet,
  svcQoeGet,
  svcQoePlPeriods,
  svcQoeCustomerConcentration,
  svcFindingsList,
  svcFindingsGet,
  svcQuestionsList,
  svcDocumentsList,
  svcOffersList,
  svcFinancingStackGet,
  svcClosingConditionsList,
  svcFindingsCreate,
  svcFindingsUpdateStatus,
  svcFindingsComment,
  svcQuestionsCreate,
  svcQoeNormalizationCreate,
  svcFinancingSourceCreate,
  svcFinancingSourceUpdateStatus,
];

const byName = new Map(catalog.map((tool) => [tool.name, tool]));

/** The tool with this name. */
export const toolNamed = (name: string): Tool | undefined => byName.get(name);

/** The names of tools that write, in the order of the catalog. */
export const writingTools: readonly string[] = catalog
  .filter(({ scope }) => scope === 'mcp:write')
  .map(({ name }) => name);

/** A tool as listed by tools/list with these features: if its own feature is off, the description says so first. */
export const listedWith = ({ feature, listed }: Tool, features: Config['features']): Tool['listed'] =>
  feature === undefined || features[feature]
    ? listed
    : { ...listed, description: `Turned off on this server. ${listed.description}` };

/** The facts about tools that other interfaces show, given these features. */
export const toolFacts = (features: Config['features']): readonly ToolFacts[] =>
  catalog.map(({ name, scope, feature, listed }) => ({
    name,
    title: listed.title ?? name,
    writes: scope === 'mcp:write',
    available: feature === undefined || features[feature],
  }));
