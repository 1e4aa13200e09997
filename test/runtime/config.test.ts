import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { secretNames, variableNames } from '../../server/config/variables.ts';
import { ConfigError, readConfig } from '../../server/config/config.ts';

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

test('without variables, the service is reachable from this machine only', () => {
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

test('all errors are listed at once, with variable, value and permitted values', () => {
  const faults = faultsOf({ PORT: '80a', LOG_LEVEL: 'loud', FEATURES: 'findings,telepathy', RATE_LIMIT_TOOLS: '0' });
  expect(faults).toEqual([
    'PORT holds "80a"; it must be a port from 0 to 65535 (0 picks a free one).',
    'FEATURES holds "findings,telepathy"; it must be a list of: findings, financing.',
    'RATE_LIMIT_TOOLS holds "0"; it must be a whole number from 1 to 1000000 (per minute).',
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
  ['HOST', '127.0.0.1:80'],
  ['MAIL_FROM', '@'],
  ['MAIL_FROM', 'Dealkeep <deals@>'],
  ['MAIL_FROM', 'a@b.example, c@d.example'],
  ['MAIL_FROM', 'Dealkeep <deals@example.com>\nBcc: all@example.com'],
  ['MAIL_FROM', 'Deals\n <deals@example.com>'],
  ['S3_BUCKET', ' '],
  ['S3_BUCKET', 's3://deals'],
  ['BACKUP_TO', 's3:/bucket/folder'],
  ['BACKUP_TO', 's3:bucket'],
  ['BACKUP_TO', '/dev/null'],
  ['DATA_DIR', '/dev/null'],
])('%s rejects %s', ([name = '', value = '']) => {
  expect(faultsOf({ [name]: value })).toEqual([expect.stringMatching(`^${name} holds "`)]);
});

test.for(['DATABASE_URL', 'MIGRATE_DATABASE_URL', 'DATABASE_LISTEN_URL', 'SMTP_URL', 'METRICS_TOKEN'])(
  'an error does not repeat the value of %s',
  (name) => {
    const [fault] = faultsOf({
      [name]: 'hunter2',
      ...(name.endsWith('_DATABASE_URL') || name === 'DATABASE_LISTEN_URL' ? { DATABASE_URL: 'postgres://a@b/c' } : {}),
    });
    expect(fault).toMatch(`${name} is not valid; it must be`);
    expect(fault).not.toContain('hunter2');
  },
);

test.for([
  ['DATABASE_URL', 'postgres:a'],
  ['SMTP_URL', 'smtp:mail.example.com'],
  ['REDIS_URL', 'redis:cache.example.com'],
])('%s rejects %s, which has no host', ([name = '', value = '']) => {
  expect(faultsOf({ [name]: value })).toEqual([expect.stringMatching(`^${name} is not valid`)]);
});

test.for([
  ['HOST', '::1'],
  ['HOST', 'dealkeep.internal'],
  ['MAIL_FROM', 'deals@example.com'],
  ['MAIL_FROM', 'Kirsch & Söhne <deals@mailhost>'],
  ['MAIL_FROM', '"Kirsch, Sons" <deals@example.com>'],
  ['S3_BUCKET', 'deals.example_1'],
  ['BACKUP_TO', 's3://bucket/folder'],
  ['BACKUP_TO', 'C:\\backups'],
  ['DATABASE_URL', 'postgresql:///deals?host=/run/postgresql'],
])('%s accepts %s', ([name = '', value = '']) => {
  expect(() => readConfig({ [name]: value })).not.toThrow();
});

test.for([
  ['S3_ENDPOINT', 'htps://user:hunter2@s3.example.com'],
  ['S3_ENDPOINT', 'user:hunter2@s3.example.com'],
  ['OTEL_EXPORTER_OTLP_ENDPOINT', 'htps://user:hunter2@collector.example.com'],
  ['BASE_URL', 'https://user:hunt/er2@deals.example.com'],
])('an error in %s does not repeat the password', ([name = '', value = '']) => {
  const [fault] = faultsOf({ [name]: value });
  expect(fault).toMatch(new RegExp(`^${name} holds ".*@[a-z0-9.]+example.com"`));
  expect(fault).not.toMatch(/user|hunt|er2/);
});

test.for([
  ['S3_ACCESS_KEY_ID', 'S3_SECRET_ACCESS_KEY'],
  ['S3_SECRET_ACCESS_KEY', 'S3_ACCESS_KEY_ID'],
])('%s without %s is an error', ([name = '', other = '']) => {
  expect(faultsOf({ [name]: 'something' })).toEqual([
    `${name} is set without ${other}; set both, or neither to use the credentials of the machine.`,
  ]);
});

test('CLIENT_METADATA=pinned requires CLIENT_METADATA_FILE', () => {
  expect(faultsOf({ CLIENT_METADATA: 'pinned' })).toEqual([
    expect.stringMatching(/^CLIENT_METADATA is pinned without CLIENT_METADATA_FILE/),
  ]);
});

test.for(['OTEL_EXPORTER_OTLP_PROTOCOL', 'OTEL_EXPORTER_OTLP_TRACES_PROTOCOL'])(
  'the error names %s when that is grpc',
  (name) => {
    expect(faultsOf({ OTEL_TRACES_EXPORTER: 'otlp', [name]: 'grpc' })).toEqual([
      expect.stringMatching(`^${name} is grpc`),
    ]);
  },
);

test.for(['MIGRATE_DATABASE_URL', 'DATABASE_LISTEN_URL'])('%s without DATABASE_URL is an error', (name) => {
  expect(faultsOf({ [name]: 'postgres://a@b/c' })).toEqual([expect.stringMatching('without DATABASE_URL')]);
});

test('with DATABASE_URL, rate limits are counted in PostgreSQL', () => {
  expect(readConfig({ DATABASE_URL: 'postgres://a@b/c' }).rateLimitStore).toBe('postgres');
});

test('several workers count rate limits in PostgreSQL, and reject RATE_LIMIT_STORE=memory', () => {
  expect(readConfig({ WORKERS: '2' })).toMatchObject({ workers: 2, rateLimitStore: 'postgres' });
  expect(readConfig({ WORKERS: 'auto' }).workers).toBeGreaterThan(0);
  expect(readConfig({ WORKERS: '1', RATE_LIMIT_STORE: 'memory' }).rateLimitStore).toBe('memory');
  expect(faultsOf({ WORKERS: '2', RATE_LIMIT_STORE: 'memory' })).toEqual([
    'RATE_LIMIT_STORE is memory with WORKERS=2: each of 2 processes would count on its own. Leave it out, or set it to postgres or redis.',
  ]);
});

const directory = mkdtempSync(path.join(os.tmpdir(), 'dealkeep-test-'));
afterAll(() => rmSync(directory, { recursive: true }));
function file(name: string, content: string): string {
  const made = path.join(directory, name);
  writeFileSync(made, content);
  return made;
}

test('a secret can be read from a file, without its last line break', () => {
  const config = readConfig({
    DATABASE_URL_FILE: file('url', 'postgres://a:b@c/d\n'),
    METRICS_TOKEN_FILE: file('token', 'sixteen letters or more\r\n'),
    // Requires DATABASE_URL, which its file provides.
    MIGRATE_DATABASE_URL: 'postgres://o:p@c/d',
  });
  expect(config).toMatchObject({
    databaseUrl: 'postgres://a:b@c/d',
    metricsToken: 'sixteen letters or more',
    rateLimitStore: 'postgres',
  });
});

test('a secret set twice, or in a missing, empty or invalid file, is an error', () => {
  const wrong = file('wrong', 'hunter2\n');
  const faults = faultsOf({
    DATABASE_URL: 'postgres://a:b@c/d',
    DATABASE_URL_FILE: wrong,
    SMTP_URL_FILE: wrong,
    REDIS_URL_FILE: path.join(directory, 'missing'),
    METRICS_TOKEN_FILE: file('empty', '\n'),
    S3_SECRET_ACCESS_KEY_FILE: directory,
  });
  expect(faults.toSorted()).toEqual(
    [
      'DATABASE_URL and DATABASE_URL_FILE are both set; set one of them.',
      'SMTP_URL is not valid; it must be smtp://user:password@host:port (or smtps://).',
      `REDIS_URL_FILE names "${path.join(directory, 'missing')}", which cannot be read (ENOENT).`,
      `METRICS_TOKEN_FILE names "${path.join(directory, 'empty')}", which is empty.`,
      `S3_SECRET_ACCESS_KEY_FILE names "${directory}", which cannot be read (EISDIR).`,
    ].toSorted(),
  );
});

test.for([
  ['DATABSE_URL', 'DATABASE_URL'],
  ['DATABASE_UR', 'DATABASE_URL'],
  ['DATABASES_URI', 'DATABASE_URL'],
  ['DATABASE_URL_FIEL', 'DATABASE_URL_FILE'],
  ['SMPT_URL', 'SMTP_URL'],
  ['REDIS_URI', 'REDIS_URL'],
  ['RATE_LIMIT_TOOL', 'RATE_LIMIT_TOOLS'],
  ['BASEURL', 'BASE_URL'],
  ['PROT', 'PORT'],
])('%s is rejected as a misspelling of %s, without repeating its value', ([given = '', meant = '']) => {
  const [fault, ...more] = faultsOf({ [given]: 'hunter2' });
  expect(more).toEqual([]);
  expect(fault).toContain(`${given} is not a Dealkeep variable; ${meant} is probably meant.`);
  expect(fault).not.toContain('hunter2');
});

test('variables of other programs are ignored', () => {
  const names =
    'HOME HOSTNAME HOSTTYPE LOGNAME PATH PWD SHELL TERM USER LANG TZ DISPLAY EDITOR MAIL PGHOST PGPORT PGDATA PGDATABASE PGPASSWORD ' +
    'AWS_REGION AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY AWS_ENDPOINT_URL_S3 HTTP_PROXY HTTPS_PROXY NO_PROXY HTTP_URL SITE_URL NODE_ENV ' +
    'NODE_OPTIONS DATABASE_PORT DATABASE_HOST DATABASE_NAME REDIS_HOST REDIS_PORT SMTP_HOST SMTP_PORT MAIL_HOST LOG_FILE LOG_FORMAT ' +
    'TEST_DATABASE_URL DATA_URL BASE_DIR XDG_DATA_DIRS XDG_DATA_HOME HOST_URL POST PORTS KUBERNETES_PORT KUBERNETES_SERVICE_HOST ' +
    'NOTIFY_SOCKET INVOCATION_ID OTEL_METRICS_EXPORTER OTEL_LOGS_EXPORTER OTEL_BLRP_MAX_QUEUE_SIZE OTEL_EXPORTER_OTLP_METRICS_ENDPOINT CI COLORTERM SSH_AUTH_SOCK npm_config_port';
  expect(faultsOf(Object.fromEntries(names.split(' ').map((name) => [name, '1'])))).toEqual([]);
  // REDIS_URL is set, so a similar name is not meant for Dealkeep.
  expect(faultsOf({ REDIS_URI: 'x', REDIS_URL: 'redis://cache:6379' })).toEqual([]);
  expect(faultsOf({ REDIS_URI: 'x', REDIS_URL_FILE: file('redis', 'redis://cache:6379') })).toEqual([]);
  // CLIENT_METADATA_FILE is a variable of its own, and sets no other.
  expect(faultsOf({ CLIENT_METADTA: 'pinned', CLIENT_METADATA_FILE: file('clients', '[]') })).toEqual([
    expect.stringContaining('CLIENT_METADATA is probably meant'),
  ]);
  expect(faultsOf({ DATABSE_URL: '' })).toEqual([]);
});

test('the README lists the variables that can be read from a file', async () => {
  const readme = await readFile(path.join(import.meta.dirname, '../../README.md'), 'utf8');
  const sentence = /Each that holds a secret \(([^)]*)\)/.exec(readme)?.[1] ?? '';
  expect([...sentence.matchAll(/`([A-Z0-9_]+)`/g)].map((match) => match[1]).toSorted()).toEqual(secretNames.toSorted());
});

test('lists and origins are normalized', () => {
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
