/**
 * Requests generated from the OpenAPI document, some of them hostile: each response is one that the document announces,
 * and none has a status of 500 or above.
 */

import { afterAll, beforeAll, expect, test } from 'vitest';
import { readConfig } from '../../server/config/config.ts';
import { openService, type TestService } from '../harness.ts';
import { randomOf } from '../hostile/random.ts';
import { readDocument } from './document.ts';
import { drawer } from './fuzz.ts';

// `npm run fuzz` sends more requests, from other seeds.
const count = Number(process.env['FUZZ_REQUESTS'] ?? 250);
const seed = Number(process.env['FUZZ_SEED'] ?? 11);
const atOnce = 8;
const mostIds = 2_000;

let service: TestService;
beforeAll(async () => {
  const rateLimits = { ...readConfig({}).rateLimits, rest_ip: 1e9, rest_key: 1e9, rest_auth_failure_ip: 1e9 };
  service = await openService({ demo: true, config: { rateLimits, features: { findings: true, financing: true } } });
});
afterAll(() => service.close());

test(`${count} requests from seed ${seed} are answered as the document says`, async () => {
  const document = await readDocument(service.restUrl);
  const keys: Readonly<Record<string, string>> = service.demo.keys;
  const callers = [
    keys['full'],
    keys['full'],
    keys['full'],
    keys['sandbox'] ?? keys['full'],
    keys['read_only'],
    keys['other_brokerage'],
  ];
  const random = randomOf(seed);
  const ids: string[] = [];
  const draw = drawer(random, document.api, ids);
  const problems: string[] = [];
  const answered: Record<string, number> = {};

  /** Keeps the ids in a response for later requests. */
  function learn(body: unknown): void {
    for (const [, id = ''] of JSON.stringify(body ?? null).matchAll(/"id":"([0-9a-f-]{36})"/g))
      if (ids.length < mostIds) ids.push(id);
      else ids[Math.floor(random() * mostIds)] = id;
  }

  async function round(): Promise<void> {
    const { operation, method, path, headers, body } = draw();
    const token = random() < 0.04 ? 'dk_live_nobody' : callers[Math.floor(random() * callers.length)];
    const answer = await fetch(service.restUrl + path, {
      method,
      redirect: 'manual',
      headers: { Authorization: `Bearer ${token}`, ...headers },
      ...(body !== undefined && { body }),
    });
    const text = await answer.text();
    const { status } = answer;
    answered[status] = (answered[status] ?? 0) + 1;
    const said = `${method} ${path.slice(0, 300)} ${JSON.stringify(headers)} ${body?.slice(0, 500) ?? ''} → ${status} ${text.slice(0, 300)}`;
    try {
      const isJson = answer.headers.get('content-type')?.includes('json') ?? false;
      const parsed: unknown = isJson && text !== '' ? JSON.parse(text) : null;
      document.check(operation, { status, headers: answer.headers, body: parsed });
      if (status >= 500) problems.push(said);
      if (status < 300) learn(parsed);
    } catch (error) {
      problems.push(`${said}: ${(error as Error).message.slice(0, 500)}`);
    }
  }

  let left = count;
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      while ((left -= 1) >= 0) {
        if (left % 5_000 === 0 && count > 5_000) process.stdout.write(`${left} left, ${problems.length} problems\n`);
        await round();
      }
    }),
  );
  if (count > 5_000) process.stdout.write(`${JSON.stringify(answered)}\n`);
  expect(problems.slice(0, 20)).toEqual([]);
  // Many requests must succeed, or no id would be known for later requests.
  expect(Object.keys(answered)).toEqual(expect.arrayContaining(['200', '201', '400', '401', '403', '404']));
}, 3_600_000);
