import { afterAll, beforeAll, expect, test } from 'vitest';
import { addressGroup } from '../../server/http/client-address.ts';
import { openService, type TestService } from '../harness.ts';

let open: TestService;
let behindProxies: TestService;
beforeAll(async () => {
  open = await openService();
  behindProxies = await openService({ config: { trustedProxies: ['127.0.0.1', '10.0.0.0/8', 'fd00::/8'] } });
});
afterAll(async () => {
  await open.close();
  await behindProxies.close();
});

/** Returns the address that is logged for a request with these headers. */
async function seenBy(service: TestService, headers: Record<string, string>): Promise<unknown> {
  const answer = await fetch(`${service.origin}/nowhere`, { headers });
  const id = answer.headers.get('x-request-id');
  await expect.poll(() => service.log.some((line) => line.includes(`"${id}"`))).toBe(true);
  const line = service.log.find((candidate) => candidate.includes(`"${id}"`)) ?? '{}';
  return (JSON.parse(line) as { address?: unknown }).address;
}

test("137. without trusted proxies, forwarding headers do not change the client's address", async () => {
  expect(await seenBy(open, {})).toBe('127.0.0.1');
  expect(await seenBy(open, { 'X-Forwarded-For': '203.0.113.9' })).toBe('127.0.0.1');
  expect(await seenBy(open, { Forwarded: 'for=203.0.113.9', 'X-Real-IP': '203.0.113.9' })).toBe('127.0.0.1');
});

test.for([
  ['203.0.113.9', '203.0.113.9'],
  // What the client itself wrote is on the left, and is not reached.
  ['198.51.100.1, 203.0.113.9', '203.0.113.9'],
  ['198.51.100.1, 203.0.113.9, 10.1.2.3', '203.0.113.9'],
  ['203.0.113.9, fd12::7', '203.0.113.9'],
  ['::ffff:203.0.113.9', '203.0.113.9'],
  ['2001:db8::5', '2001:db8::5'],
  // The zone is the proxy's, and does not identify the client.
  ['fe80::5%eth0', 'fe80::5'],
  ['rubbish', '127.0.0.1'],
  ['203.0.113.9, rubbish', '127.0.0.1'],
  ['', '127.0.0.1'],
])('137. through trusted proxies, X-Forwarded-For "%s" gives the address %s', async ([forwarded = '', expected]) => {
  expect(await seenBy(behindProxies, { 'X-Forwarded-For': forwarded })).toBe(expected);
});

test.for([
  ['203.0.113.9', '203.0.113.9'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:db8:1:2::', '2001:db8:1:2::/64'],
  ['2001:DB8::1', '2001:db8:0:0::/64'],
  ['::1', '0:0:0:0::/64'],
  ['64:ff9b::192.0.2.1', '64:ff9b:0:0::/64'],
])('137. the rate limit counts %s as %s', ([address = '', group]) => {
  expect(addressGroup(address)).toBe(group);
});

test("a client's request id is kept if it is short and plain, and otherwise replaced", async () => {
  const idFor = async (given: string) =>
    (await fetch(`${open.origin}/healthz`, { headers: { 'X-Request-Id': given } })).headers.get('x-request-id');
  expect(await idFor('trace_42-a')).toBe('trace_42-a');
  for (const bad of ['a'.repeat(65), 'a b', 'a"b', '<x>']) expect(await idFor(bad)).toMatch(/^[0-9a-f-]{36}$/);
});
