/**
 * OpenTelemetry traces: which parts of a request, a tool call, a job and a mail reach a collector, and which never do.
 */

import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ConfigError, readConfig } from '../../server/config/config.ts';
import { startScheduledJobs } from '../../server/scheduled-jobs.ts';
import { openTracing, type Tracing } from '../../server/telemetry/tracing.ts';
import { openService, type TestService } from '../harness.ts';
import { addPerson, addToken } from '../tools/scene.ts';
import { signInAs, type SignedIn } from '../web/person.ts';
import { aPdf, upload } from '../web/uploads.ts';
import { cleanUp, migratedDataDir, serve } from './program.ts';

interface Span {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly status: { readonly code?: number };
  readonly attributes: Readonly<Record<string, string | number>>;
}

interface Attribute {
  readonly key: string;
  readonly value: { readonly stringValue?: string; readonly intValue?: number };
}
const attributesOf = (given: readonly Attribute[]) =>
  Object.fromEntries(given.map(({ key, value }) => [key, value.stringValue ?? value.intValue ?? '']));

/** Starts a collector that accepts posts by OTLP over HTTP. */
async function openCollector() {
  const posts: { url: string; headers: IncomingHttpHeaders; body: string }[] = [];
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      const body = Buffer.concat(parts).toString('latin1');
      posts.push({ url: request.url ?? '', headers: request.headers, body });
      response.writeHead(200, { 'Content-Type': 'application/json' }).end('{}');
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  interface Sent {
    readonly resource: { readonly attributes: Attribute[] };
    readonly scopeSpans: readonly { readonly spans: (Omit<Span, 'attributes'> & { attributes: Attribute[] })[] }[];
  }
  const sent = () =>
    posts.flatMap(
      ({ body }) => (JSON.parse(Buffer.from(body, 'latin1').toString()) as { resourceSpans: Sent[] }).resourceSpans,
    );
  return {
    url: `http://127.0.0.1:${port}`,
    posts,
    spans: (): Span[] =>
      sent().flatMap(({ scopeSpans }) =>
        scopeSpans.flatMap(({ spans }) =>
          spans.map((span) => ({ ...span, attributes: attributesOf(span.attributes) })),
        ),
      ),
    resource: () => attributesOf(sent()[0]?.resource.attributes ?? []),
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}
type Collector = Awaited<ReturnType<typeof openCollector>>;

const environment = (collector: Collector, more: Record<string, string> = {}) => ({
  OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
  OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
  OTEL_BSP_SCHEDULE_DELAY: '50',
  ...more,
});

let collector: Collector;
let tracing: Tracing | null;
let service: TestService;
let ada: SignedIn;
let adaId: string;
let dealId: string;
let token: string;
beforeAll(async () => {
  collector = await openCollector();
  tracing = await openTracing(readConfig(environment(collector)));
  service = await openService({ demo: true, ...(tracing && { tracing }) });
  adaId = service.demo.people.broker.user_id;
  dealId = service.demo.deals.with_everything;
  ada = await signInAs(service, adaId);
  token = (await addToken(service, await addPerson(service, 'Pat Kern'))).token;
});
afterAll(async () => {
  await service?.close();
  collector?.close();
  await cleanUp();
});

const ids = { trace: '4bf92f3577b34da6a3ce929d0e0e4736', parent: '00f067aa0ba902b7' };
let made = 0;
/** Makes a trace id, and the traceparent header of a caller that is traced itself. */
function caller(flags = '01') {
  made += 1;
  const trace = `${ids.trace.slice(0, 28)}${String(made).padStart(4, '0')}`;
  return { trace, headers: { traceparent: `00-${trace}-${ids.parent}-${flags}` } };
}

/** Returns the spans of a trace, once the span of the request, which ends last, has arrived. */
async function spansOf(trace: string): Promise<Span[]> {
  const found = () => collector.spans().filter(({ traceId }) => traceId === trace);
  await expect.poll(() => found().some(({ kind }) => kind === 2), { timeout: 60_000 }).toBe(true);
  return found();
}

const callTool = (name: string, args: object, headers: Record<string, string>) =>
  fetch(`${service.mcpUrl}/api/mcp`, {
    method: 'POST',
    headers: {
      'Content-Type': 'application/json',
      Accept: 'application/json, text/event-stream',
      Authorization: `Bearer ${token}`,
      ...headers,
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } }),
  });

test("a page request is a span below its caller's, with a span for each statement below it", async () => {
  const { trace, headers } = caller();
  const answer = await fetch(`${service.origin}/api/web/deals/${dealId}?search=needle-of-somebody`, {
    headers: { ...ada.headers, ...headers, 'X-Request-Id': 'asked-by-a-test' },
  });
  expect(answer.status).toBe(200);
  await answer.text();
  const spans = await spansOf(trace);
  const request = spans.find(({ kind }) => kind === 2);
  expect(request).toMatchObject({
    name: 'GET /api/web/deals/:id',
    parentSpanId: ids.parent,
    attributes: {
      'http.request.method': 'GET',
      'http.route': '/api/web/deals/:id',
      'http.response.status_code': 200,
      'dealkeep.request_id': 'asked-by-a-test',
    },
  });
  const trips = spans.filter(({ parentSpanId }) => parentSpanId === request?.spanId);
  const trip = trips.find(({ attributes }) => Number(attributes['db.operation.batch.size']) > 1);
  expect(trip?.attributes['db.system.name']).toBe('postgresql');
  const statements = spans.filter(({ parentSpanId }) => parentSpanId === trip?.spanId);
  expect(statements).toHaveLength(Number(trip?.attributes['db.operation.batch.size']));
  // In order, within the round trip, and with the text as in the source.
  let before = BigInt(trip?.startTimeUnixNano ?? 0);
  for (const { name, attributes, startTimeUnixNano, endTimeUnixNano } of statements) {
    expect(attributes).toMatchObject({ 'db.query.summary': name, 'db.query.text': expect.stringMatching(/select/) });
    expect(BigInt(startTimeUnixNano) >= before && BigInt(endTimeUnixNano) <= BigInt(trip?.endTimeUnixNano ?? 0)).toBe(
      true,
    );
    before = BigInt(startTimeUnixNano);
  }
  expect(statements.map(({ attributes }) => attributes['db.query.text']).join(' ')).toContain('$1');

  // The log line of the request leads to the trace, and the other way round.
  const line = service.log.find((written) => written.includes('"requestId":"asked-by-a-test"')) ?? '{}';
  expect(JSON.parse(line)).toMatchObject({ msg: 'request', trace_id: trace, span_id: request?.spanId });
});

test('a tool call is a span of its request', async () => {
  const { trace, headers } = caller();
  await (await callTool('svc_deals_get', { deal_id: dealId }, headers)).text();
  const spans = await spansOf(trace);
  const call = spans.find(({ name }) => name === 'tools/call svc_deals_get');
  expect(call).toMatchObject({
    parentSpanId: spans.find(({ kind }) => kind === 2)?.spanId,
    attributes: { 'gen_ai.tool.name': 'svc_deals_get', 'dealkeep.outcome': expect.stringMatching(/^[a-z_]+$/) },
  });
  expect(spans.filter(({ parentSpanId }) => parentSpanId === call?.spanId).length).toBeGreaterThan(0);
});

test('storing an uploaded document is a span of its request', async () => {
  expect(await upload(service, ada, dealId, aPdf(), { filename: 'Secret name.pdf' })).toMatchObject({ status: 201 });
  const store = () => collector.spans().filter(({ name }) => name === 'store write');
  await expect.poll(() => store().length, { timeout: 60_000 }).toBe(1);
  expect(store()[0]).toMatchObject({ kind: 3, parentSpanId: expect.stringMatching(/^[0-9a-f]{16}$/), attributes: {} });
});

test('a scheduled job and a mail are traces of their own; the span of a failed statement has its error code', async () => {
  await service.sql('alter function app.purge_mails() rename to purge_mails_away');
  await service.sql(
    `select app.queue_mail('invitation', 'gus@example.test', null, null, null, true, '{}', null, null)`,
  );
  const stop = startScheduledJobs(service.services);
  const named = (name: string) => collector.spans().find((span) => span.name === name);
  await expect.poll(() => named('job purge_mails')?.attributes, { timeout: 60_000 }).toEqual({ 'error.type': '42883' });
  stop();
  await service.sql('alter function app.purge_mails_away() rename to purge_mails');
  const job = named('job purge_mails');
  expect(job?.parentSpanId).toBeUndefined();
  const trip = collector.spans().find(({ parentSpanId }) => parentSpanId === job?.spanId);
  expect(trip).toMatchObject({
    name: 'purge_mails',
    status: { code: 2 },
    attributes: { 'error.type': '42883', 'db.response.status_code': '42883' },
  });
  await service.deliver();
  await expect
    .poll(() => named('mail deliver')?.attributes, { timeout: 60_000 })
    .toMatchObject({
      'dealkeep.mail.kind': 'invitation',
      'dealkeep.mail.attempt': 1,
    });
});

test('spans contain no person, deal, request content or secret', async () => {
  const { trace, headers } = caller();
  await (await callTool('svc_deals_get', { deal_id: dealId }, headers)).text();
  await spansOf(trace);
  const told = collector.posts.map(({ body }) => body).join('\n');
  const [{ email, name } = { email: '?', name: '?' }] = await service.sql<{ email: string; name: string }>(
    'select email, name from users where id = $1',
    [adaId],
  );
  const hidden = [token, ada.cookie.value, ada.headers['x-csrf-token'], adaId, dealId, email, name, '127.0.0.1'];
  hidden.push('needle-of-somebody', 'Secret name', 'gus@example.test');
  expect(hidden.filter((one) => one !== undefined && told.includes(one))).toEqual([]);
});

test('a trace that the caller does not sample is not sent; a malformed traceparent begins a new trace', async () => {
  const unsampled = caller('00');
  await (await fetch(`${service.origin}/api/web/me`, { headers: { ...ada.headers, ...unsampled.headers } })).text();
  const malformed = { traceparent: `00-${'0'.repeat(32)}-${ids.parent}-01`, 'X-Request-Id': 'malformed-parent' };
  await (await fetch(`${service.origin}/api/web/me`, { headers: { ...ada.headers, ...malformed } })).text();
  const own = () =>
    collector.spans().find(({ attributes }) => attributes['dealkeep.request_id'] === 'malformed-parent');
  await expect.poll(own, { timeout: 60_000 }).toBeDefined();
  expect(own()?.parentSpanId).toBeUndefined();
  expect(own()?.traceId).not.toMatch(/^0+$/);
  expect(collector.spans().filter(({ traceId }) => traceId === unsampled.trace)).toEqual([]);
});

test('serve sends spans to the configured collector with the configured headers, and flushes on stop', async () => {
  const other = await openCollector();
  const headers = { OTEL_EXPORTER_OTLP_HEADERS: 'x-api-key=the%20key,x-tenant=one' };
  const program = serve({
    ...environment(other, { ...headers, OTEL_BSP_SCHEDULE_DELAY: '600000' }),
    OTEL_SERVICE_NAME: 'deals',
    OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=a%20test,service.name=other',
    DATA_DIR: await migratedDataDir(),
  });
  const { url } = await program.ready;
  await (await fetch(`${url}api/web/me`, { headers: { 'X-Request-Id': 'asked-the-program' } })).text();
  program.child.kill('SIGTERM');
  const { code, stdout } = await program.ended;
  expect(code).toBe(0);
  expect(other.posts[0]).toMatchObject({
    url: '/v1/traces',
    headers: { 'content-type': 'application/json', 'x-api-key': 'the key', 'x-tenant': 'one' },
  });
  expect(other.resource()).toMatchObject({ 'service.name': 'deals', 'deployment.environment.name': 'a test' });
  const request = other.spans().find(({ attributes }) => attributes['dealkeep.request_id'] === 'asked-the-program');
  expect(request).toMatchObject({ name: 'GET /api/web/me', attributes: { 'http.response.status_code': 401 } });
  const line = stdout.split('\n').find((written) => written.includes('asked-the-program')) ?? '{}';
  expect(JSON.parse(line)).toMatchObject({ trace_id: request?.traceId, span_id: request?.spanId });
  other.close();
});

test('an unreachable collector blocks no request, and is logged at most once a minute', async () => {
  const gone = await openCollector();
  gone.close();
  const began = performance.now();
  const program = serve({
    ...environment(gone, { OTEL_EXPORTER_OTLP_PROTOCOL: 'http/protobuf', OTEL_EXPORTER_OTLP_TIMEOUT: '200' }),
    DATA_DIR: await migratedDataDir(),
  });
  const { url } = await program.ready;
  for (let nth = 0; nth < 5; nth += 1) expect((await fetch(`${url}api/web/me`)).status).toBe(401);
  program.child.kill('SIGTERM');
  const { code, stdout } = await program.ended;
  expect(code).toBe(0);
  const said = stdout.split('traces could not be sent').length - 1;
  expect(said).toBeGreaterThan(0);
  // At most once a minute, however slow this machine is.
  expect(said).toBeLessThanOrEqual(1 + Math.floor((performance.now() - began) / 60_000));
});

const tracingOf = (env: Record<string, string>) => {
  try {
    return readConfig(env).tracing;
  } catch (error) {
    return (error as ConfigError).faults;
  }
};
const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318/' };

test('without an endpoint or exporter, or with tracing disabled, there are no traces', async () => {
  const without: Record<string, string>[] = [
    {},
    { OTEL_SERVICE_NAME: 'deals', OTEL_TRACES_SAMPLER: 'always_on' },
    { ...endpoint, OTEL_SDK_DISABLED: 'true' },
    { ...endpoint, OTEL_TRACES_EXPORTER: 'none', OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' },
  ];
  for (const env of without) {
    expect(tracingOf(env)).toBeUndefined();
    expect(await openTracing(readConfig(env))).toBeNull();
  }
});

test('the OTEL variables are read as the OpenTelemetry specification defines them', () => {
  expect(tracingOf({ OTEL_TRACES_EXPORTER: 'otlp' })).toEqual({
    url: 'http://localhost:4318/v1/traces',
    asJson: false,
    headers: {},
    timeoutMillis: 10_000,
    delayMillis: 5_000,
    queueSize: 2_048,
    batchSize: 512,
    sampler: { followsParent: true, ratio: 1 },
    resource: { 'service.name': 'dealkeep' },
  });
  expect(tracingOf(endpoint)).toMatchObject({ url: 'http://collector:4318/v1/traces' });
  expect(
    tracingOf({
      ...endpoint,
      OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'https://other/traces',
      OTEL_EXPORTER_OTLP_HEADERS: 'a=1',
      OTEL_EXPORTER_OTLP_TRACES_HEADERS: 'b=2',
      OTEL_TRACES_SAMPLER: 'traceidratio',
      OTEL_TRACES_SAMPLER_ARG: '0.25',
      OTEL_BSP_MAX_QUEUE_SIZE: '100',
    }),
  ).toMatchObject({
    url: 'https://other/traces',
    headers: { b: '2' },
    sampler: { followsParent: false, ratio: 0.25 },
    queueSize: 100,
    batchSize: 100,
  });
  for (const [name, ratio] of [
    ['parentbased_always_on', 1],
    ['parentbased_always_off', 0],
    ['parentbased_traceidratio', 0.5],
  ] as const) {
    const sampled = tracingOf({ ...endpoint, OTEL_TRACES_SAMPLER: name, OTEL_TRACES_SAMPLER_ARG: '.5' });
    expect(sampled).toMatchObject({ sampler: { followsParent: true, ratio } });
  }
});

test.for([
  ['OTEL_EXPORTER_OTLP_PROTOCOL', 'grpc'],
  ['OTEL_EXPORTER_OTLP_ENDPOINT', 'collector:4318'],
  ['OTEL_TRACES_EXPORTER', 'zipkin'],
  ['OTEL_TRACES_SAMPLER', 'sometimes'],
  ['OTEL_TRACES_SAMPLER_ARG', '2'],
])('%s rejects %s', ([name = '', value = '']) => {
  expect(tracingOf({ ...endpoint, [name]: value })).toEqual([expect.stringMatching(`^${name} `)]);
});

test('OpenTelemetry is imported by one module only, which is loaded dynamically', () => {
  const root = path.join(import.meta.dirname, '../../server');
  const files = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'));
  const texts = files.map((file) => [file, readFileSync(path.join(root, file), 'utf8')] as const);
  const that = (pattern: RegExp) => texts.filter(([, text]) => pattern.test(text)).map(([file]) => file);
  expect(that(/['"]@opentelemetry\//)).toEqual(['telemetry/opentelemetry.ts']);
  expect(that(/from '[./]+opentelemetry\.ts'/)).toEqual([]);
  expect(that(/import\('[./]+opentelemetry\.ts'\)/)).toEqual(['telemetry/tracing.ts']);
});
