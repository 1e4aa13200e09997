/** The files in deploy/ match the product: its variables, its files and its secrets. */

import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { parse } from 'yaml';
import { secretNames, variableNames } from '../../server/config/variables.ts';
import { readConfig } from '../../server/config/config.ts';

const root = path.join(import.meta.dirname, '../..');
const read = (name: string): string => readFileSync(path.join(root, 'deploy', name), 'utf8');
const known = new Set([...variableNames, ...secretNames.map((name) => `${name}_FILE`), 'NODE_ENV']);

const directory = mkdtempSync(path.join(os.tmpdir(), 'dealkeep-test-'));
afterAll(() => rmSync(directory, { recursive: true }));

interface Compose {
  readonly services: Readonly<
    Record<
      string,
      {
        readonly image: string;
        readonly environment?: Readonly<Record<string, string>>;
        readonly secrets?: readonly string[];
        readonly volumes?: readonly string[];
        readonly depends_on?: Readonly<Record<string, unknown>> | readonly string[];
      }
    >
  >;
  readonly secrets: Readonly<Record<string, { readonly file: string }>>;
  readonly volumes: Readonly<Record<string, unknown>>;
}

const compose = parse(read('compose.yaml'), { merge: true }) as Compose;

test('every variable set by the unit, the image or a container is a known one', () => {
  const inUnit = [...read('dealkeep.service').matchAll(/^Environment=([A-Z0-9_]+)=/gm)].map((match) => match[1]);
  const inImage = [...read('Containerfile').matchAll(/^ENV (.*)$/gm)].flatMap(([, line = '']) =>
    line.split(' ').map((pair) => pair.split('=')[0]),
  );
  const inContainers = Object.values(compose.services)
    .filter(({ image }) => image === 'dealkeep')
    .flatMap(({ environment = {} }) => Object.keys(environment));
  expect(inUnit).toContain('DATABASE_URL_FILE');
  expect(inImage).toContain('DATA_DIR');
  expect(inContainers).toContain('REDIS_URL_FILE');
  expect([...inUnit, ...inImage, ...inContainers].filter((name) => !known.has(name ?? ''))).toEqual([]);
});

test('every source of the image is in a checkout', () => {
  const sources = [...read('Containerfile').matchAll(/^COPY (?!--from)(.*) \S+$/gm)].flatMap(([, names = '']) =>
    names.split(' '),
  );
  expect(sources).toContain('pack.config.ts');
  expect(sources.filter((name) => !existsSync(path.join(root, name)))).toEqual([]);
});

test('compose.yaml refers only to existing things, and its secrets form a valid configuration', () => {
  cpSync(path.join(root, 'deploy/compose-secrets.sh'), path.join(directory, 'compose-secrets.sh'));
  const make = () => spawnSync('sh', [path.join(directory, 'compose-secrets.sh')], { encoding: 'utf8' });
  expect(make()).toMatchObject({ status: 0, stderr: '' });
  const first = readFileSync(path.join(directory, 'secrets/database_url'), 'utf8');
  expect(make().status).toBe(0);
  expect(readFileSync(path.join(directory, 'secrets/database_url'), 'utf8')).toBe(first);

  for (const { file } of Object.values(compose.secrets))
    expect(existsSync(path.join(directory, file)), file).toBe(true);
  for (const service of Object.values(compose.services)) {
    for (const name of service.secrets ?? []) expect(compose.secrets).toHaveProperty([name]);
    for (const name of Array.isArray(service.depends_on) ? service.depends_on : Object.keys(service.depends_on ?? {}))
      expect(compose.services).toHaveProperty([name]);
    for (const [from = ''] of (service.volumes ?? []).map((volume) => volume.split(':')))
      if (from.startsWith('.')) expect(existsSync(path.join(root, 'deploy', from)), from).toBe(true);
      else expect(compose.volumes).toHaveProperty([from]);
  }
  const configOf = (service: string) => {
    const env = Object.entries(compose.services[service]?.environment ?? {}).map(([name, value]) => [
      name,
      value.replace('/run/secrets', path.join(directory, 'secrets')),
    ]);
    return readConfig(Object.fromEntries(env) as Record<string, string>);
  };
  const config = configOf('dealkeep');
  expect(config).toMatchObject({
    databaseUrl: first.trim(),
    rateLimitStore: 'redis',
    s3: { bucket: 'dealkeep', forcePathStyle: true },
  });
  expect(config.migrateDatabaseUrl).toBeUndefined();
  // Commands have the configuration of the service, and the owner's login as well.
  expect(configOf('operator')).toEqual({ ...config, migrateDatabaseUrl: configOf('migrate').migrateDatabaseUrl });
  // The store accepts the credentials that the service has.
  const identities = readFileSync(path.join(directory, 'secrets/s3.json'), 'utf8');
  expect(JSON.parse(identities)).toMatchObject({
    identities: [{ credentials: [{ accessKey: config.s3?.accessKeyId, secretKey: config.s3?.secretAccessKey }] }],
  });
});

test('the systemd-run command has the settings and variables of the service', () => {
  const [head = '', ...settings] = read('dealkeep.service').split('[Unit]');
  const unit = settings.join('').split('\n');
  const properties = [...head.matchAll(/ -p (\w+=\S+)/g)].map((match) => match[1] ?? '');
  // The service needs no User=: its user has the name of the unit.
  expect(properties.filter((property) => !unit.includes(property))).toEqual(['User=dealkeep']);
  const specifiers = { '%S': '/var/lib', '%d': '/run/credentials/dealkeep-command.service' };
  const variables = unit.filter((line) => /^Environment=.*%/.test(line));
  expect([...head.matchAll(/ -E (\S+)/g)].map((match) => match[1])).toEqual(
    variables.map((line) =>
      Object.entries(specifiers).reduce(
        (text, [specifier, value]) => text.replace(specifier, value),
        line.replace('Environment=', ''),
      ),
    ),
  );
});

const systemd = spawnSync('systemd-analyze', ['--version']).status === 0 && existsSync('/usr/bin/node');
if (!systemd) console.warn('There is no systemd or no /usr/bin/node here: the check of dealkeep.service is left out.');

test.skipIf(!systemd)('systemd-analyze verifies the unit without messages', () => {
  const unit = path.join(root, 'deploy/dealkeep.service');
  const { status, stdout, stderr } = spawnSync('systemd-analyze', ['verify', '--man=no', unit], { encoding: 'utf8' });
  // Other units of the machine, after which ours is started, may cause messages of their own.
  const said = `${stdout}${stderr}`.split('\n').filter((line) => line.includes('dealkeep'));
  expect([status, said]).toEqual([0, []]);
});
