/** /metrics: what is counted, and that nothing sent by a client creates a new series. */

import { spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { createApp } from '../../server/app.ts';
import { listen } from '../../server/cli/listen.ts';
import { scheduledJobs, startScheduledJobs } from '../../server/scheduled-jobs.ts';
import type { Statement } from '../../server/database/statement.ts';
import { brokerage } from '../rest/scene.ts';
import { openService, type TestService } from '../harness.ts';
import { addPerson, addToken } from '../tools/scene.ts';

let service: TestService;
let token: string;
beforeAll(async () => {
  service = await openService();
  const userId = await addPerson(service, 'Pat Kern');
  token = (await addToken(service, userId)).token;
});
afterAll(() => service.close());

interface Series {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

const text = async (): Promise<string> => (await fetch(`${service.origin}/metrics`)).text();

async function read(): Promise<Series[]> {
  return (await text())
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => {
      const [, name = '', labels = '', value = ''] = /^([a-z_]+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? [];
      const pairs = [...labels.matchAll(/([a-z_]+)="((?:[^"\\]|\\.)*)"/g)].map(([, key = '', given = '']) => [
        key,
        given,
      ]);
      return { name, labels: Object.fromEntries(pairs) as Record<string, string>, value: Number(value) };
    });
}
const valuesOf = (series: readonly Series[], label: string): string[] => [
  ...new Set(series.flatMap(({ labels }) => labels[label] ?? [])),
];
const shown = ({ name, labels }: Series): string => `${name} ${JSON.stringify(labels)}`;

const call = async (name: string, args: object) => {
  const answer = await fetch(`${service.mcpUrl}/api/mcp`, {
    method: 'POST',
    headers: {
      'Content-Type': 'application/json',
      Accept: 'application/json, text/event-stream',
      Authorization: `Bearer ${token}`,
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } }),
  });
  await answer.text();
};

/** Sends requests to every interface, with paths, methods, tools and headers chosen by a stranger. */
async function hostile(): Promise<void> {
  const word = randomUUID();
  const targets = [
    `/${word}`,
    `/deals/${word}`,
    `/assets/${word}.js`,
    `/api/v1/contacts/${word}`,
    `/api/v1/${word}`,
    `/api/web/deals/${word}`,
    `/api/web/deals/${word}/documents`,
    `/api/web/${word}/${word}`,
    `/api/auth/${word}`,
    `/api/mcp/${word}`,
    `/.well-known/${word}`,
    `/%2e%2e/${word}`,
    `/api/web/%22%7D%0A${word}`,
  ];
  for (const target of targets)
    for (const method of ['GET', 'POST', 'DELETE', 'PROPFIND'])
      await fetch(service.origin + target, { method, headers: { 'X-Request-Id': word } });
  await call(word, {});
  await call('svc_deals_get', { [word]: word });
}

test('hostile paths, methods and tool names create no new series', async () => {
  await hostile();
  // Reading the metrics is counted too.
  await read();
  const before = await read();
  for (let round = 0; round < 3; round += 1) await hostile();
  const after = await read();
  const known = new Set(before.map(shown));
  expect(after.map(shown).filter((series) => !known.has(series))).toEqual([]);

  const routes = new Set(createApp(service.services).routes.map((route) => route.path));
  expect(valuesOf(after, 'route').filter((route) => route !== 'none' && !routes.has(route))).toEqual([]);
  expect(valuesOf(after, 'route')).toEqual(
    expect.arrayContaining(['none', '/api/web/deals/:id', '/api/v1/contacts/:contactId']),
  );
  expect(valuesOf(after, 'status').toSorted()).toEqual(['2xx', '4xx']);
  expect(valuesOf(after, 'statement').filter((name) => !/^[a-z][a-z0-9_]{0,62}$/.test(name))).toEqual([]);
});

const sum = async (name: string, labels: Readonly<Record<string, string>> = {}): Promise<number> => {
  const found = (await read()).filter((series) => series.name === name);
  const wanted = found.filter((series) => Object.entries(labels).every(([key, value]) => series.labels[key] === value));
  return wanted.reduce((total, { value }) => total + value, 0);
};

test('tool calls, statements and exceeded rate limits are counted', async () => {
  const tool = { tool: 'svc_deals_get', outcome: 'refused' };
  const [calls, runs] = [await sum('dealkeep_tool_calls_total', tool), await sum('dealkeep_statements_total')];
  await call('svc_deals_get', {});
  expect(await sum('dealkeep_tool_calls_total', tool)).toBe(calls + 1);
  expect(await sum('dealkeep_statements_total')).toBeGreaterThan(runs);
  expect(await sum('dealkeep_statement_seconds_total')).toBeGreaterThan(0);

  const key = randomUUID();
  for (let count = 0; count < 3; count += 1) await service.services.limits.take('tools', key, 2);
  expect(await sum('dealkeep_limits_exceeded_total', { limit: 'tools' })).toBe(1);
});

test('runs of scheduled jobs are counted, failures separately', async () => {
  await service.sql('alter function app.purge_mails() rename to purge_mails_away');
  const stop = startScheduledJobs(service.services);
  await expect.poll(() => sum('dealkeep_job_runs_total')).toBe(scheduledJobs.length + 3);
  stop();
  await service.sql('alter function app.purge_mails_away() rename to purge_mails');
  expect(await sum('dealkeep_job_failures_total')).toBe(1);
  expect(await sum('dealkeep_job_failures_total', { scheduled_job: 'purge_mails' })).toBe(1);
  expect(await sum('dealkeep_job_last_success_timestamp_seconds', { scheduled_job: 'purge_mails' })).toBe(0);
  expect(await sum('dealkeep_job_last_success_timestamp_seconds', { scheduled_job: 'sweep' })).toBeGreaterThan(0);
  // Stored in the database, where all nodes see it.
  const noted = () =>
    service.sql<{ job: string }>(
      'select job from app.job_runs where last_failure_at is not null and last_success_at is null',
    );
  await expect.poll(noted).toEqual([{ job: 'purge_mails' }]);
  expect(await service.sql('select from app.job_runs')).toHaveLength(scheduledJobs.length + 3);
});

test('a scheduled job does not start again while its last run is in progress', async () => {
  const other = await openService();
  const began: string[] = [];
  const { promise: held, resolve: letGo } = Promise.withResolvers<void>();
  const { services } = other;
  // A store and a database that keep these jobs waiting, as a large backlog would.
  const storage = {
    ...services.storage,
    async tidy() {
      began.push('clear_store');
      await held;
    },
  };
  const database = {
    ...services.database,
    async run<T>(statement: Statement<T>): Promise<T> {
      if (statement.name === 'brokerage_to_delete' || statement.name === 'purge_changes') {
        began.push(statement.name);
        await held;
      }
      return services.database.run(statement);
    },
  };
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  onTestFinished(() => void vi.useRealTimers());
  const stop = startScheduledJobs({ ...services, storage, database });
  const all = ['brokerage_to_delete', 'clear_store', 'purge_changes'];
  await expect.poll(() => began.toSorted()).toEqual(all);
  vi.advanceTimersByTime(3 * 3_600_000);
  await expect.poll(() => began.toSorted()).toEqual(all);
  letGo();
  // A run that was skipped is not queued either.
  await expect
    .poll(async () => (await other.sql('select job from app.job_runs')).length)
    .toBe(scheduledJobs.length + 3);
  expect(began.toSorted()).toEqual(all);
  vi.advanceTimersByTime(3_600_000);
  await expect.poll(() => [...new Set(began)].every((job) => began.indexOf(job) < began.lastIndexOf(job))).toBe(true);
  stop();
  vi.useRealTimers();
  await other.close();
});

test('waiting and given-up mails and the age of the oldest are reported', async () => {
  const backup = { to: undefined, everyMillis: 21_600_000, keep: 1, key: null };
  const other = await openService({ config: { backup } });
  await other.sql(
    `select app.queue_mail('invitation', 'a@example.test', null, null, null, true, '{}', null, null),
      app.queue_mail('invitation', 'b@example.test', null, null, null, true, '{}', null, null)`,
  );
  await other.sql(`update vault.outbox set given_up_at = app.now() where recipient = 'b@example.test'`);
  await other.sql(
    `insert into vault.events (kind, at, last_error) values ('new_device', app.now() - interval '1 hour', null), ('new_device', app.now(), 'x')`,
  );
  await other.sql(`select app.note_job_run('backup', true)`);
  // On a busy machine, /metrics does not wait for the database until it answers.
  const told = async () => (await fetch(`${other.origin}/metrics`)).text();
  await expect.poll(told).toContain('dealkeep_mails{state="waiting"} 1\n');
  expect(await told()).toContain('dealkeep_mails{state="given_up"} 1\n');
  expect(await told()).toMatch(/^dealkeep_mail_oldest_seconds /m);
  await other.close();
});

test('a scheduled job that deletes rows in batches continues until none are left', async () => {
  const other = await openService();
  onTestFinished(() => other.close());
  const tenant = await brokerage(other);
  const [endpoint] = await other.sql<{ id: string }>(
    `insert into webhook_endpoints (brokerage_id, key_id, url, place, history, state)
     values ($1, $2, 'https://hooks.example.com/', 0, gen_random_uuid(), 'on') returning id`,
    [tenant.id, (await tenant.key()).id],
  );
  await other.sql(
    `insert into webhook_deliveries (endpoint_id, event_id, type, object_type, object_id, occurred_at, created_at, state, ended_at)
     select $1, gen_random_uuid(), 'contact.created', 'contact', gen_random_uuid(), app.now(), app.now() - interval '40 days', 'delivered', app.now()
     from generate_series(1, 10050)`,
    [endpoint!.id],
  );
  const stop = startScheduledJobs(other.services);
  onTestFinished(stop);
  await expect.poll(() => other.sql('select from webhook_deliveries limit 1')).toEqual([]);
});

/**
 * Opens a node whose database answers when `letGo` is called, or never; `told` reads the metrics that come from the
 * database.
 */
async function slowNode() {
  const { services } = service;
  const held: (() => void)[] = [];
  const database = {
    ...services.database,
    together: async (...statements: Parameters<typeof services.database.together>) => {
      await new Promise<void>((resolve) => held.push(resolve));
      return services.database.together(...statements);
    },
  } as typeof services.database;
  const listener = await listen('127.0.0.1', 0);
  onTestFinished(() => listener.close(1));
  const slow = { ...services, database };
  listener.answerWith(createApp(slow), slow);
  const told = async () => {
    const answer = await fetch(`http://127.0.0.1:${listener.port}/metrics`);
    const lines = (await answer.text()).split('\n');
    return lines.filter(
      (line) =>
        /^dealkeep_(mails|mail_oldest|event|changes_waiting|webhook|backup_last)/.test(line) &&
        !line.startsWith('dealkeep_event_loop'),
    );
  };
  return { told, letGo: () => held.splice(0).forEach((resolve) => resolve()) };
}

test('database metrics are omitted, not 0, when the database does not respond', async () => {
  const { told } = await slowNode();
  expect(await told()).toEqual([]);
});

test('database metrics that arrive late are reported by the next scrape, until they are too old', async () => {
  const now = performance.now.bind(performance);
  let later = 0;
  const moved = vi.spyOn(performance, 'now').mockImplementation(() => now() + later);
  onTestFinished(() => moved.mockRestore());
  const { told, letGo } = await slowNode();
  expect(await told()).toEqual([]);
  letGo();
  await expect.poll(told).toContain('dealkeep_mail_oldest_seconds 0');
  later += 15_000;
  expect(await told()).toContain('dealkeep_mail_oldest_seconds 0');
  later += 90_000;
  expect(await told()).toEqual([]);
});

test('held-back changes and webhook deliveries are reported', async () => {
  const other = await openService();
  const tenant = await brokerage(other);
  const key = await tenant.key();
  const endpoint = `insert into webhook_endpoints (brokerage_id, key_id, url, place, history, state, off_reason, off_since)
    values ($1, $2, 'https://hooks.example.com/', 0, gen_random_uuid(), $3, $4, case when $4::text is not null then app.now() end) returning id`;
  const [on] = await other.sql<{ id: string }>(endpoint, [tenant.id, key.id, 'on', null]);
  const [off] = await other.sql<{ id: string }>(endpoint, [tenant.id, key.id, 'off', 'failing']);
  for (const [webhook, attempts] of [
    [on!.id, 0],
    [on!.id, 2],
    [off!.id, 1],
  ])
    await other.sql(
      `insert into webhook_deliveries (endpoint_id, event_id, type, object_type, object_id, occurred_at, attempts, created_at)
       values ($1, gen_random_uuid(), 'contact.created', 'contact', gen_random_uuid(), app.now(), $2, app.now() - interval '2 hours')`,
      [webhook, attempts],
    );
  // The state that the publisher leaves while a transaction is in progress.
  await other.sql(`select nextval('vault.change_order')`);
  await other.sql(
    `update vault.change_stream set origin = 'held', mark = published + 1, mark_xid = '9999999999'::xid8, mark_at = app.now() - interval '1 hour'`,
  );
  const told = async () => (await fetch(`${other.origin}/metrics`)).text();
  await expect.poll(told).toContain('dealkeep_webhook_deliveries{state="waiting"} 2\n');
  const found = await told();
  for (const line of [
    'dealkeep_webhook_deliveries{state="failing"} 1',
    'dealkeep_webhooks{state="on"} 1',
    'dealkeep_webhooks{state="failed"} 1',
  ])
    expect(found).toContain(`${line}\n`);
  const valueOf = (name: string) => Number(new RegExp(`^${name} (.*)$`, 'm').exec(found)?.[1]);
  expect(valueOf('dealkeep_changes_waiting')).toBeGreaterThanOrEqual(1);
  expect(valueOf('dealkeep_changes_waiting_seconds')).toBeGreaterThanOrEqual(3_600);
  expect(valueOf('dealkeep_webhook_delivery_oldest_seconds')).toBeGreaterThanOrEqual(7_200);
  await other.close();
});

test('event loop, memory, connections and the running release are reported', async () => {
  const series = await read();
  const names = new Set(series.map(({ name }) => name));
  for (const name of [
    'dealkeep_event_loop_delay_seconds',
    'dealkeep_event_loop_active_seconds_total',
    'dealkeep_memory_bytes',
  ])
    expect(names).toContain(name);
  for (const name of ['dealkeep_streams', 'dealkeep_mail_attempts_total', 'dealkeep_database_wait_seconds_total'])
    expect(names).toContain(name);
  expect(series.find(({ name }) => name === 'dealkeep_build_info')?.labels['node']).toBe(process.versions.node);
});

describe('deploy/', () => {
  const folder = path.join(import.meta.dirname, '../../deploy');
  const alerts = readFileSync(path.join(folder, 'alerts.yml'), 'utf8');
  const dashboard = readFileSync(path.join(folder, 'grafana-dashboard.json'), 'utf8');
  const hasPromtool = spawnSync('promtool', ['--version']).error === undefined;
  const note = 'promtool is not installed (Debian: prometheus)';

  test('alerts and dashboard use only existing metrics, and every metric is used by one of them', async () => {
    const given = new Set((await text()).matchAll(/^# TYPE (\w+) /gm).map(([, name = '']) => name));
    // Reported by the process that manages the workers: test/runtime/workers.test.ts.
    given.add('dealkeep_workers');
    const named = [...`${alerts}\n${dashboard}`.matchAll(/\bdealkeep_\w+/g)].map(([name]) =>
      name.replace(/_bucket$/, ''),
    );
    expect([...new Set(named)].filter((name) => !given.has(name))).toEqual([]);
    expect([...given].filter((name) => !named.includes(name))).toEqual([]);
  });

  test.skipIf(!hasPromtool)(
    `backups by cron that end, and mails that stand, are told of; one mailbox that takes nothing is not${hasPromtool ? '' : ` (skipped: ${note})`}`,
    () => {
      const day = 86_400;
      const cases = [
        { backup: day, every: 0, late: false, sent: '0+1x1000', oldest: 7200, stands: false, waits: false },
        { backup: 4 * day, every: 0, late: true, sent: '5x1000', oldest: 7200, stands: true, waits: false },
        { backup: 2 * day, every: 3 * day, late: false, sent: '5x1000', oldest: 600, stands: false, waits: false },
        { backup: 4 * day, every: 3 * day, late: true, sent: '0+1x1000', oldest: 20_000, stands: false, waits: true },
        // No backup was ever made, and none is expected.
        { backup: 5 * day, every: 0, late: false, sent: '0+1x1000', oldest: 0, stands: false, waits: false },
      ].map(({ backup, every, late, sent, oldest, stands, waits }) => ({
        interval: '10m',
        input_series: [
          { series: 'dealkeep_backup_last_success_timestamp_seconds', values: `${5 * day - backup}x1000` },
          { series: 'dealkeep_backup_interval_seconds', values: `${every}x1000` },
          { series: 'dealkeep_mail_oldest_seconds', values: `${oldest}x1000` },
          { series: 'dealkeep_mail_attempts_total{outcome="sent"}', values: sent },
        ],
        promql_expr_test: [
          { expr: 'count(ALERTS{alertname="DealkeepBackupLate",alertstate="firing"})', on: late },
          { expr: 'count(ALERTS{alertname="DealkeepMailStands",alertstate="firing"})', on: stands },
          { expr: 'count(ALERTS{alertname="DealkeepMailWaits",alertstate="firing"})', on: waits },
        ].map(({ expr, on }) => ({
          expr,
          eval_time: '5d',
          exp_samples: on ? [{ labels: '{}', value: 1 }] : [],
        })),
      }));
      const directory = mkdtempSync(path.join(os.tmpdir(), 'dealkeep-test-'));
      const file = path.join(directory, 'cases.yml');
      // JSON is valid YAML.
      writeFileSync(
        file,
        JSON.stringify({ rule_files: [path.join(folder, 'alerts.yml')], evaluation_interval: '1h', tests: cases }),
      );
      const told = spawnSync('promtool', ['test', 'rules', file], { encoding: 'utf8' });
      rmSync(directory, { recursive: true });
      expect([told.status, told.stderr]).toEqual([0, '']);
    },
  );

  test.skipIf(!hasPromtool)(
    `promtool takes the rules and the metrics${hasPromtool ? '' : ` (skipped: ${note})`}`,
    async () => {
      const rules = spawnSync('promtool', ['check', 'rules', path.join(folder, 'alerts.yml')], { encoding: 'utf8' });
      expect([rules.status, rules.stderr]).toEqual([0, '']);
      const metrics = spawnSync('promtool', ['check', 'metrics'], { encoding: 'utf8', input: await text() });
      expect([metrics.status, metrics.stderr]).toEqual([0, '']);
      // The same check accepts each expression of the dashboard, with values in place of Grafana's variables.
      const { panels } = JSON.parse(dashboard) as { panels: readonly { targets?: readonly { expr: string }[] }[] };
      const expressions = panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));
      expect(expressions.length).toBeGreaterThan(20);
      const asRules = expressions.map((expr, index) => ({
        record: `panel:${index}`,
        expr: expr.replaceAll('$__rate_interval', '5m').replaceAll('$instance', '.*'),
      }));
      const directory = mkdtempSync(path.join(os.tmpdir(), 'dealkeep-test-'));
      const file = path.join(directory, 'panels.yml');
      writeFileSync(file, JSON.stringify({ groups: [{ name: 'panels', rules: asRules }] }));
      const panelsChecked = spawnSync('promtool', ['check', 'rules', file], { encoding: 'utf8' });
      rmSync(directory, { recursive: true });
      expect([panelsChecked.status, panelsChecked.stderr]).toEqual([0, '']);
    },
  );
});
