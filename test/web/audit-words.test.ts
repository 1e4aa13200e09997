/** The audit trail in words: every action that the service writes down has its own. */

import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { actionWords, detailWords, outcomeWords } from '../../web/src/lib/audit-words.ts';

const root = new URL('../../', import.meta.url);

function sourcesIn(folder: string, ending: string): string[] {
  const names = readdirSync(new URL(folder, root), { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith(ending),
  );
  return names.map((name) => readFileSync(new URL(folder + name, root), 'utf8'));
}

test('each action of the migrations, the domain and the tools has words of its own', () => {
  const migrations = sourcesIn('database/migrations/', '.sql').join('\n');
  const inDatabase = [
    ...migrations.matchAll(/app\.(?:record|audit|audit_family)\(([^;]*);/g),
    ...migrations.matchAll(/insert into public\.audit_records[^;]*values([^;]*);/g),
  ].flatMap(([, call = '']) => [...call.matchAll(/'([a-z_]+\.[a-z_]+)'/g)].map(([, action = '']) => action));
  const inDomain = sourcesIn('server/domain/', '.ts').flatMap((source) => [
    ...[...source.matchAll(/(?:audited|audit)\(\s*[`']([a-z_]+\.[a-z_.]+)[`']/g)].map(([, action = '']) => action),
    ...[...source.matchAll(/'((?:deal|question|document|client|contact)\.[a-z_]+)'/g)].map(([, action = '']) => action),
  ]);
  const tools = readdirSync(new URL('server/tools/catalog/', root))
    .filter((name) => name.startsWith('svc_'))
    .map((name) => `tool:${name.replace('.ts', '')}`);
  const found = [...new Set([...inDatabase, ...inDomain, ...tools])].filter(
    (action) => !action.startsWith('dealkeep.'),
  );
  expect(found.length).toBeGreaterThan(90);
  const spelled = (action: string) => action.replace('tool:svc_', 'tool: ').replaceAll(/[._]/g, ' ');
  const bare = found.filter((action) => actionWords({ action, details: {} }).toLowerCase() === spelled(action));
  expect(bare).toEqual([]);
});

test('says what a record tells besides', () => {
  expect(actionWords({ action: 'deal.move', details: { to: 'under_offer' } })).toBe('Move the deal to under offer');
  expect(actionWords({ action: 'member.role', details: { role: 'staff' } })).toBe('Change a member’s role to staff');
  expect(actionWords({ action: 'offer.submit', details: { revision: 2 } })).toBe('Revise an offer');
  expect(detailWords('scopes', ['contacts:read', 'contacts:write'])).toBe('Read contacts, Add contacts');
  expect(detailWords('name', 'live')).toBe('live');
  expect(detailWords('expires_at', null)).toBe('None');
  expect(outcomeWords('rls_denied')).toBe('Not allowed');
});

test('makes readable what it has no words for', () => {
  expect(actionWords({ action: 'deal.turned_around', details: {} })).toBe('Deal turned around');
  expect(actionWords({ action: 'tool:svc_maps_list', details: {} })).toBe('Tool: maps list');
  expect(outcomeWords('too_late')).toBe('Too late');
});
