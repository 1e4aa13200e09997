import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, test } from 'vitest';
import { ConfigError, readConfig, variableNames } from '../../server/config.ts';

function faultsOf(env: Record<string, string>): string[] {
  try {
    readConfig(env);
  } catch (error) {
    if (error instanceof ConfigError)
      return error.message
        .split('\n')
        .slice(1)
        .map((line) => line.trim());
    throw error;
  }
  return [];
}

test('nothing set gives the service on this machine alone', () => {
  const config = readConfig({});
  expect(config).toMatchObject({
    host: '127.0.0.1',
    port: 3000,
    baseUrl: 'http://127.0.0.1:3000',
    rateLimitStore: 'memory',
  });
  expect(config.dataDir).toMatch(/^\/.*\.data$/);
  expect(config.rateLimits).toMatchObject({ rest_ip: 1200, rest_key: 600, tools: 300, sign_in_account: 10 });
});

test('an empty variable counts as not set', () => {
  expect(readConfig({ PORT: '', FEATURES: '', BASE_URL: '' })).toMatchObject({
    port: 3000,
    features: { findings: false },
  });
});

test('every fault is named at once: the variable, what it held, what is allowed', () => {
  const faults = faultsOf({ PORT: '80a', LOG_LEVEL: 'loud', FEATURES: 'findings,telepathy', RATE_LIMIT_TOOLS: '0' });
  expect(faults).toEqual([
    'PORT holds "80a"; it must be a port from 0 to 65535 (0 picks a free one).',
    'FEATURES holds "findings,telepathy"; it must be a list of: findings, financing.',
    'RATE_LIMIT_TOOLS holds "0"; it must be a whole number from 1 to 1000000 (a minute).',
    'LOG_LEVEL holds "loud"; it must be trace, debug, info, warn, error, fatal or silent.',
  ]);
});

test.for([
  ['PORT', '65536'],
  ['PORT', '1e3'],
  ['PORT', ' 80'],
  ['BASE_URL', 'deals.example.com'],
  ['BASE_URL', 'https://deals.example.com/app'],
  ['BASE_URL', 'https://somebody@deals.example.com'],
  ['BASE_URL', 'ftp://deals.example.com'],
  ['TRUSTED_PROXIES', '10.0.0.0/33'],
  ['TRUSTED_PROXIES', '10.0.0.0/8/8'],
  ['TRUSTED_PROXIES', 'proxy.example.com'],
  ['ALLOWED_ORIGINS', 'https://app.example.com/x'],
  ['REFRESH_OVERLAP', 'yes'],
  ['RATE_LIMIT_STORE', 'disk'],
  ['WORKERS', '0'],
  ['WORKERS', 'all'],
  ['HOST', 'a b'],
])('%s does not take %s', ([name = '', value = '']) => {
  expect(faultsOf({ [name]: value })).toEqual([expect.stringMatching(`^${name} holds "`)]);
});

test.for(['DATABASE_URL', 'MIGRATE_DATABASE_URL', 'DATABASE_LISTEN_URL', 'SMTP_URL', 'METRICS_TOKEN'])(
  'what %s holds is never repeated',
  (name) => {
    const [fault] = faultsOf({
      [name]: 'hunter2',
      ...(name.endsWith('_DATABASE_URL') || name === 'DATABASE_LISTEN_URL' ? { DATABASE_URL: 'postgres://a@b/c' } : {}),
    });
    expect(fault).toMatch(`${name} holds something else; it must be`);
    expect(fault).not.toContain('hunter2');
  },
);

test.for(['MIGRATE_DATABASE_URL', 'DATABASE_LISTEN_URL'])('%s makes no sense alone', (name) => {
  expect(faultsOf({ [name]: 'postgres://a@b/c' })).toEqual([expect.stringMatching('without DATABASE_URL')]);
});

test('with DATABASE_URL the nodes count requests together', () => {
  expect(readConfig({ DATABASE_URL: 'postgres://a@b/c' }).rateLimitStore).toBe('postgres');
});

test('with several workers requests are counted together, and not by each for itself', () => {
  expect(readConfig({ WORKERS: '2' })).toMatchObject({ workers: 2, rateLimitStore: 'postgres' });
  expect(readConfig({ WORKERS: 'auto' }).workers).toBeGreaterThan(0);
  expect(readConfig({ WORKERS: '1', RATE_LIMIT_STORE: 'memory' }).rateLimitStore).toBe('memory');
  expect(faultsOf({ WORKERS: '2', RATE_LIMIT_STORE: 'memory' })).toEqual([
    'RATE_LIMIT_STORE is memory with WORKERS=2: each of 2 processes would count for itself. Leave it out, or set postgres or redis.',
  ]);
});

test('lists and origins are tidied', () => {
  const config = readConfig({
    BASE_URL: 'https://Deals.example.com/',
    TRUSTED_PROXIES: '10.0.0.0/8, ::1',
    FEATURES: 'financing',
  });
  expect(config).toMatchObject({
    baseUrl: 'https://deals.example.com',
    trustedProxies: ['10.0.0.0/8', '::1'],
    features: { findings: false, financing: true },
  });
});

test('the README lists every variable, and no other', async () => {
  const readme = await readFile(path.join(import.meta.dirname, '../../README.md'), 'utf8');
  const table = readme.slice(readme.indexOf('## Configuration'), readme.indexOf('## On your own'));
  const first = table.split('\n').map((line) => line.split('|')[1] ?? '');
  const listed = first.flatMap((cell) => [...cell.matchAll(/`([A-Z0-9_]+)`/g)].map((match) => match[1]));
  expect(listed.toSorted()).toEqual(variableNames.toSorted());
});
