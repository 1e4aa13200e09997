/** Host names that others enter are resolved by querying name servers, and a slow name server delays nobody else. */

import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { lookup } from 'node:dns/promises';
import { expect, onTestFinished, test } from 'vitest';
import { resolveBy } from '../../server/http/resolve-name.ts';

const types = { A: 1, AAAA: 28 } as const;
type Records = Readonly<Record<string, Readonly<Partial<Record<keyof typeof types, readonly number[]>>>>>;

/**
 * The response of a name server (RFC 1035, 4) to a query: the one record that it has, no record, or that the name does
 * not exist.
 */
function answerTo(question: Buffer, records: Records): Buffer {
  let end = 12;
  const labels: string[] = [];
  for (let length = question[end]!; length > 0; length = question[end]!) {
    labels.push(question.toString('latin1', end + 1, end + 1 + length));
    end += 1 + length;
  }
  const asked = question.readUInt16BE(end + 1);
  const known = records[labels.join('.').toLowerCase()];
  const address = Object.entries(types)
    .filter(([, type]) => type === asked)
    .map(([name]) => known?.[name as keyof typeof types])[0];
  const head = Buffer.from(question.subarray(0, 12));
  head.writeUInt16BE(known ? 0x8180 : 0x8183, 2);
  head.writeUInt16BE(address ? 1 : 0, 6);
  head.writeUInt32BE(0, 8);
  const record = address ? [0xc0, 12, 0, asked, 0, 1, 0, 0, 0, 60, 0, address.length, ...address] : [];
  return Buffer.concat([head, question.subarray(12, end + 5), Buffer.from(record)]);
}

/** Starts a name server for the test, which never responds if `records` is null; returns its address. */
async function nameServer(records: Records | null): Promise<string> {
  const socket: Socket = createSocket('udp4');
  onTestFinished(() => void socket.close());
  socket.on('message', (question, { port, address }) => {
    if (records) socket.send(answerTo(question, records), port, address);
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  return `127.0.0.1:${socket.address().port}`;
}

const ipv6 = [0x26, 0x06, ...Array.from({ length: 13 }, () => 0), 1];

test('a host name resolves to its IPv4 and IPv6 addresses, or to those of the one family that it has', async () => {
  const resolve = resolveBy([
    await nameServer({
      'both.example.com': { A: [93, 184, 216, 34], AAAA: ipv6 },
      'four.example.com': { A: [93, 184, 216, 35] },
      'six.example.com': { AAAA: ipv6 },
      'none.example.com': {},
    }),
  ]);
  expect((await resolve('both.example.com')).toSorted()).toEqual(['2606::1', '93.184.216.34']);
  expect(await resolve('four.example.com')).toEqual(['93.184.216.35']);
  expect(await resolve('six.example.com')).toEqual(['2606::1']);
  await expect(resolve('none.example.com')).rejects.toMatchObject({ code: 'ENODATA' });
  await expect(resolve('unknown.example.com')).rejects.toMatchObject({ code: 'ENOTFOUND' });
  expect((await resolveBy([await nameServer(null)])('localhost')).length).toBeGreaterThan(0);
});

test('a query to a silent name server times out, and does not delay lookups of the system meanwhile', async () => {
  const resolve = resolveBy([await nameServer(null)], 300);
  let waiting = 20;
  const asked = Array.from({ length: waiting }, (_, nth) =>
    resolve(`${nth}.example.com`).finally(() => (waiting -= 1)),
  );
  await lookup('localhost');
  expect(waiting).toBe(20);
  for (const one of await Promise.allSettled(asked))
    expect(one).toMatchObject({ status: 'rejected', reason: { code: 'ETIMEOUT' } });
});
