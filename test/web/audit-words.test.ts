/** The audit trail in words. */

import { expect, test } from 'vitest';
import { activitySentence, auditTitle, isKnownAction } from '../../server/domain/audit/actions.ts';
import { conditionStatuses } from '../../server/domain/deals/conditions.ts';
import { checklistStatuses } from '../../server/domain/diligence/checklist.ts';
import { answerStatuses } from '../../server/domain/diligence/contradiction-answers.ts';
import { findingStatuses } from '../../server/domain/diligence/findings.ts';
import { snapshotTypes } from '../../server/domain/diligence/snapshots.ts';
import { confidentialities, documentSources } from '../../server/domain/documents/documents.ts';
import { commitmentStatuses } from '../../server/domain/offers/financing.ts';
import { toolFacts } from '../../server/tools/catalog/index.ts';
import { detailWords, outcomeWords } from '../../web/src/lib/audit-words.ts';

const facts = toolFacts({ findings: true, financing: true });
const titles = new Map(facts.map(({ name, title }) => [name, title]));
const title = (action: string, details = {}) => auditTitle(action, details, titles);

test('the words of a record include its details', () => {
  expect(title('deal.move', { to: 'under_offer' })).toBe('Move the deal to under offer');
  expect(title('deal.move')).toBe('Move the deal');
  expect(title('member.role', { role: 'staff' })).toBe('Change a member’s role to staff');
  expect(title('offer.submit', { revision: 2 })).toBe('Revise an offer');
  expect(activitySentence('participant.invite', { role: 'advisor' })).toBe('invited an advisor');
  expect(activitySentence('participant.remove', { left: true })).toBe('left the deal');
  expect(title('member.remove', { left: true })).toBe('Leave the brokerage');
  expect(title('member.remove', { withdrawn: true })).toBe('Withdraw an invitation to the brokerage');
  expect(title('participant.remove', { withdrawn: true })).toBe('Withdraw an invitation to the deal');
  expect(activitySentence('participant.remove', { withdrawn: true })).toBe('withdrew an invitation');
  expect(detailWords('scopes', ['contacts:read', 'contacts:write'], null)).toBe(
    'Read contacts, Add and change contacts',
  );
  expect(detailWords('name', 'live', null)).toBe('live');
  expect(detailWords('expires_at', null, null)).toBe('None');
  expect(detailWords('ceiling', null, null)).toBe('The default');
  expect(outcomeWords('rls_denied')).toBe('Not allowed');
});

test('each detail of a record on a deal has words', () => {
  const words = [
    ...conditionStatuses,
    ...checklistStatuses,
    ...findingStatuses,
    ...commitmentStatuses,
    ...answerStatuses,
    ...snapshotTypes,
    ...confidentialities,
    ...documentSources,
    'reader',
    'editor',
    'pdf',
    'xlsx',
  ];
  for (const word of words) expect(detailWords('status', word, null)).toMatch(/^[A-Z][^_]+$/);
  expect(detailWords('status', 'to_correct', null)).toBe('To be corrected');
  expect(detailWords('type', 'profit_and_loss', null)).toBe('Profit and loss');
  expect(detailWords('confidentiality', 'nda_gated', null)).toBe('Under NDA');
  expect(detailWords('source', 'simple', null)).toBe('Data room');
  expect(detailWords('format', 'xlsx', null)).toBe('Excel workbook');
  expect(detailWords('about', 'ndas', null)).toBe('NDA');
  expect(detailWords('changed', ['displayName', 'phone'], null)).toBe('Name, Phone');
  // A value without words of its own, such as the code of a refusal, is at least readable.
  expect(detailWords('code', 'closing_unconfirmed', null)).toBe('Closing unconfirmed');
  expect(detailWords('document', 'https://app.example.com/client.json', null)).toBe(
    'https://app.example.com/client.json',
  );
  expect(title('qoe.contradiction.answer', { status: 'to_correct' })).toBe(
    'Answer a contradiction of the financials: to be corrected',
  );
  expect(title('qoe.contradiction.answer', { status: 'explained' })).toBe('Explain a contradiction of the financials');
  expect(title('report.download', { format: 'pdf' })).toBe('Download a report as PDF');
  expect(activitySentence('report.download', { format: 'xlsx' })).toBe('downloaded a report as XLSX');
});

test('a tool call has the title of its tool', () => {
  for (const { name, title: called } of facts)
    expect(title(`tool:${name}`).toLowerCase()).toBe(`tool: ${called.toLowerCase()}`);
  expect(title('tool:svc_deals_list')).toBe('Tool: list deals');
  expect(detailWords('tool', 'svc_deals_list', 'List deals')).toBe('List deals');
  expect(detailWords('tool', 'svc_gone', null)).toBe('svc_gone');
});

test('unknown actions are made readable, and names that every object inherits are unknown', () => {
  expect(title('deal.turned_around')).toBe('Deal turned around');
  expect(title('tool:svc_maps_list')).toBe('Tool: maps list');
  expect(title('constructor')).toBe('Constructor');
  expect(activitySentence('toString', {})).toBe('did: toString');
  expect(isKnownAction('constructor')).toBe(false);
  expect(outcomeWords('too_late')).toBe('Too late');
});
