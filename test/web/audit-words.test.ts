/** The audit trail in words. */

import { expect, test } from 'vitest';
import { activitySentence, auditTitle, isKnownAction } from '../../server/domain/audit/actions.ts';
import { toolFacts } from '../../server/tools/catalog/index.ts';
import { detailWords, outcomeWords } from '../../web/src/lib/audit-words.ts';

const facts = toolFacts({ findings: true, financing: true });
const titles = new Map(facts.map(({ name, title }) => [name, title]));
const title = (action: string, details = {}) => auditTitle(action, details, titles);

test('says what a record tells besides', () => {
  expect(title('deal.move', { to: 'under_offer' })).toBe('Move the deal to under offer');
  expect(title('deal.move')).toBe('Move the deal');
  expect(title('member.role', { role: 'staff' })).toBe('Change a member’s role to staff');
  expect(title('offer.submit', { revision: 2 })).toBe('Revise an offer');
  expect(activitySentence('participant.invite', { role: 'advisor' })).toBe('invited an advisor');
  expect(detailWords('scopes', ['contacts:read', 'contacts:write'], null)).toBe(
    'Read contacts, Add and change contacts',
  );
  expect(detailWords('name', 'live', null)).toBe('live');
  expect(detailWords('expires_at', null, null)).toBe('None');
  expect(detailWords('ceiling', null, null)).toBe('The default');
  expect(outcomeWords('rls_denied')).toBe('Not allowed');
});

test('calls each tool by its title', () => {
  for (const { name, title: called } of facts)
    expect(title(`tool:${name}`).toLowerCase()).toBe(`tool: ${called.toLowerCase()}`);
  expect(title('tool:svc_deals_list')).toBe('Tool: list deals');
  expect(detailWords('tool', 'svc_deals_list', 'List deals')).toBe('List deals');
  expect(detailWords('tool', 'svc_gone', null)).toBe('svc_gone');
});

test('makes readable what it has no words for, and nothing of what every object inherits', () => {
  expect(title('deal.turned_around')).toBe('Deal turned around');
  expect(title('tool:svc_maps_list')).toBe('Tool: maps list');
  expect(title('constructor')).toBe('Constructor');
  expect(activitySentence('toString', {})).toBe('did: toString');
  expect(isKnownAction('constructor')).toBe(false);
  expect(outcomeWords('too_late')).toBe('Too late');
});
