/**
 * Requests to URLs that others enter: the addresses that are allowed, how much of the response is read, and how long it
 * may take.
 */

import { once } from 'node:events';
import http from 'node:http';
import https from 'node:https';
import net, { type AddressInfo } from 'node:net';
import type tls from 'node:tls';
import { afterAll, describe, expect, test, vi } from 'vitest';
import {
  faultOfUrl,
  guardedFetch,
  isPublicAddress,
  KeptConnections,
  NotFetched,
  type Guard,
} from '../../server/http/guarded-fetch.ts';
import { openReceivers } from '../../server/webhooks/connections.ts';
import { canCertify, certificateFor } from '../certificate.ts';

const closers: (() => void)[] = [];
afterAll(() => closers.forEach((close) => close()));

async function listening(server: net.Server, host = '127.0.0.1'): Promise<number> {
  server.listen(0, host);
  await once(server, 'listening');
  closers.push(() => {
    if (server instanceof http.Server || server instanceof https.Server) server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

const local: Guard = { allowLoopback: true };
const strict: Guard = { allowLoopback: false };
const post = { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: '{"a":"ä"}' } as const;
const refused = (target: string, guard: Guard) =>
  guardedFetch(target, post, guard).then(
    () => 'it was sent',
    (error: unknown) => (error instanceof NotFetched ? error.message : `another error: ${error as string}`),
  );

describe('the target of a guarded request', () => {
  test.each([
    'http://hooks.example.com/',
    'ftp://hooks.example.com/',
    'https://user@hooks.example.com/',
    'https://user:secret@hooks.example.com/',
    'https://hooks.example.com/#part',
    'https://hooks.example.com:80/',
    'https://hooks.example.com:25/',
    'https://hooks.example.com:22/',
    'https://93.184.216.34/',
    'https://127.0.0.1/',
    'https://2130706433/',
    'https://0x7f.1/',
    'https://[::1]/',
    'https://[::ffff:10.0.0.1]/',
    'https://localhost/',
    'https://db/',
    'https://service.internal/',
    'https://printer.local/',
    'https://a.localhost./',
    'not a URL',
    'https://hooks.exam\nple.com/x',
    ' https://hooks.example.com/x',
    'https://hooks.example.com/a b',
    'https://hööks.example.com/',
    'https://hooks.example.com/{id}',
    'https:hooks.example.com/',
    'HTTPS://hooks.example.com/',
    '//hooks.example.com/',
    `https://hooks.example.com/${'a'.repeat(2_000)}`,
  ])('cannot be %s', (target) => expect(faultOfUrl(target, strict)).toEqual(expect.any(String)));

  test.each(['https://hooks.example.com/', 'https://hooks.example.com:8443/in?x=1', 'https://hooks.example.com:443'])(
    'can be %s',
    (target) => expect(faultOfUrl(target, strict)).toBeNull(),
  );

  test.each([
    '0.0.0.0',
    '10.1.2.3',
    '100.64.0.1',
    '100.127.255.255',
    '127.0.0.1',
    '127.255.255.254',
    '169.254.169.254',
    '172.16.0.1',
    '172.31.255.255',
    '192.0.0.8',
    '192.168.1.1',
    '198.18.0.1',
    '224.0.0.1',
    '239.255.255.255',
    '255.255.255.255',
    '::',
    '::1',
    '::ffff:127.0.0.1',
    '::ffff:8.8.8.8',
    '::7f00:1',
    '64:ff9b::a00:1',
    '64:ff9b:1::1',
    '100::1',
    'fc00::1',
    'fd12:3456::1',
    'fe80::1',
    'fec0::1',
    'ff02::1',
    '2001::1',
    '2001:db8::1',
    '2002:7f00:1::1',
    '3fff::1',
    'example.com',
    '',
  ])('is not public at the address %s', (address) => {
    expect(isPublicAddress(address)).toBe(false);
  });
  test.each([
    '8.8.8.8',
    '93.184.216.34',
    '100.128.0.1',
    '172.32.0.1',
    '192.169.0.1',
    '2606:4700::1111',
    '2a00:1450::1',
  ])('is public at the address %s', (address) => {
    expect(isPublicAddress(address)).toBe(true);
  });

  test('is rejected if any address of the host name is private, or if it has none', async () => {
    for (const addresses of [
      ['10.0.0.1'],
      ['169.254.169.254'],
      ['8.8.8.8', '127.0.0.1'],
      ['::ffff:192.168.0.1'],
      ['fd00::1'],
    ])
      expect(await refused('https://hooks.example.com/', { ...strict, resolve: async () => addresses })).toBe(
        'The host is not on the public Internet.',
      );
    expect(await refused('https://hooks.example.com/', { ...strict, resolve: async () => [] })).toMatch(/no address/);
    const unknown = async () => Promise.reject(new Error('ENOTFOUND'));
    expect(await refused('https://hooks.example.com/', { ...strict, resolve: unknown })).toMatch(
      /could not be resolved/,
    );
  });

  test('is neither resolved nor contacted if the URL is rejected', async () => {
    let asked = 0;
    const resolve = async () => {
      asked += 1;
      return ['127.0.0.1'];
    };
    const server = http.createServer(() => (asked += 1));
    const port = await listening(server);
    expect(await refused(`http://127.0.0.1:${port}/`, { ...strict, resolve })).toMatch(/https/);
    expect(await refused(`http://hooks.example.com:${port}/`, { ...local, resolve })).toMatch(/https/);
    expect(asked).toBe(0);
  });
});

describe('a guarded request', () => {
  test.runIf(canCertify)(
    'goes to the address resolved once, with the host name in SNI and Host, and checks the certificate',
    async () => {
      const { key, cert } = certificateFor('hooks.example.com');
      const seen: unknown[] = [];
      const server = https.createServer({ key, cert }, (request, response) => {
        let body = '';
        request.setEncoding('utf8').on('data', (part: string) => (body += part));
        request.on('end', () => {
          const { servername } = request.socket as tls.TLSSocket;
          seen.push([
            servername,
            request.headers.host,
            request.method,
            request.url,
            request.headers['content-type'],
            body,
          ]);
          response.end('ok');
        });
      });
      const port = await listening(server, '127.0.0.2');
      // A name that resolves to another address at each lookup.
      const addresses = ['127.0.0.2', '127.0.0.1', '10.0.0.1'];
      let looks = 0;
      const resolve = async () => [addresses[Math.min((looks += 1), 3) - 1]!];
      const guard = { ...local, resolve, ca: cert };
      const answer = await guardedFetch(`https://hooks.example.com:${port}/in?x=1`, post, guard);
      expect([answer.status, answer.body.toString(), answer.isCut]).toEqual([200, 'ok', false]);
      expect(looks).toBe(1);
      const host = `hooks.example.com:${port}`;
      expect(seen).toEqual([['hooks.example.com', host, 'POST', '/in?x=1', 'application/json', '{"a":"ä"}']]);

      const other = async () => ['127.0.0.2'];
      expect(await refused(`https://other.example.com:${port}/`, { ...guard, resolve: other })).toMatch(/certificate/);
      expect(await refused(`https://hooks.example.com:${port}/`, { ...local, resolve: other })).toMatch(/certificate/);
      expect(seen).toHaveLength(1);
    },
  );

  test('does not follow redirects', async () => {
    let asked = 0;
    const server = http.createServer((_request, response) => {
      asked += 1;
      response.writeHead(302, { Location: '/elsewhere' }).end();
    });
    const port = await listening(server);
    const answer = await guardedFetch(`http://127.0.0.1:${port}/`, post, local);
    expect([answer.status, answer.headers.location, asked]).toEqual([302, '/elsewhere', 1]);
  });
});

describe('kept-alive connections', () => {
  test('are reused for the next request, and replaced when the host has closed them', async () => {
    const taken: net.Socket[] = [];
    const server = net.createServer((socket) => {
      taken.push(socket.on('error', () => {}));
      let requests = 0;
      socket.on('data', (part: Buffer) => {
        if (!part.toString().includes('POST /')) return;
        requests += 1;
        // The first connection ends just when it is used for the sixth time.
        if (requests === 6 && taken.length === 1) socket.resetAndDestroy();
        else socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
      });
    });
    const port = await listening(server);
    const kept = new KeptConnections();
    closers.push(() => kept.close());
    const ask = async () => (await guardedFetch(`http://127.0.0.1:${port}/`, post, { ...local, kept })).status;
    for (let nth = 0; nth < 5; nth += 1) expect(await ask()).toBe(200);
    expect(taken).toHaveLength(1);
    for (let nth = 0; nth < 5; nth += 1) expect(await ask()).toBe(200);
    // One connection for the request that was retried, and another that is kept.
    expect(taken.length).toBeLessThanOrEqual(3);
    kept.close();
    await expect.poll(() => taken.every(({ destroyed }) => destroyed)).toBe(true);
  });

  test('go to the address found for their host within the last five seconds, which is then resolved again', async () => {
    const port = await listening(http.createServer((_request, response) => response.end('ok')));
    const kept = new KeptConnections();
    closers.push(() => kept.close());
    let looks = 0;
    const resolve = async () => {
      looks += 1;
      return ['127.0.0.1'];
    };
    const ask = () => guardedFetch(`http://localhost:${port}/`, post, { ...local, kept, resolve });
    await ask();
    await ask();
    expect(looks).toBe(1);
    const later = performance.now() + 5_000;
    const clock = vi.spyOn(performance, 'now').mockReturnValue(later);
    try {
      await ask();
    } finally {
      clock.mockRestore();
    }
    expect(looks).toBe(2);
  });

  test('are not reused for another host or for a forbidden address', async () => {
    const asked: string[] = [];
    const answer: http.RequestListener = (request, response) => {
      asked.push(request.socket.localAddress!);
      response.end('ok');
    };
    const port = await listening(http.createServer(answer), '0.0.0.0');
    // Two hosts, whose connections are told apart by the host name.
    const kept = new KeptConnections();
    closers.push(() => kept.close());
    for (const host of ['127.0.0.2', '127.0.0.3', '127.0.0.2'])
      await guardedFetch(`http://${host}:${port}/`, post, { ...local, kept });
    expect(asked).toEqual(['127.0.0.2', '127.0.0.3', '127.0.0.2']);
    expect(
      await refused(`https://hooks.example.com:${port}/`, { ...strict, kept, resolve: async () => ['127.0.0.2'] }),
    ).toBe('The host is not on the public Internet.');
    expect(asked).toHaveLength(3);
  });
});

test('connections are kept for the 64 webhooks that were used last, and for those in use', () => {
  const receivers = openReceivers();
  const use = (webhook: string): KeptConnections => {
    const { kept, giveBack } = receivers.of(webhook);
    giveBack();
    return kept;
  };
  const inUse = receivers.of('in use');
  const [first, second] = [use('0'), use('1')];
  for (let nth = 2; nth < 63; nth += 1) use(`${nth}`);
  expect(use('0')).toBe(first);
  use('63');
  expect(use('0')).toBe(first);
  expect(use('in use')).toBe(inUse.kept);
  expect(use('1')).not.toBe(second);

  // More in use than are kept.
  for (let nth = 0; nth < 65; nth += 1) receivers.of(`busy ${nth}`);
  expect(use('in use')).toBe(inUse.kept);
  inUse.giveBack();
  expect(use('in use')).not.toBe(inUse.kept);
  receivers.close();
});

describe('the response to a guarded request', () => {
  test('is cut after 64 kB, and its connection closed', async () => {
    let sent = 0;
    const closed = Promise.withResolvers<void>();
    const server = http.createServer((_request, response) => {
      response.on('close', () => closed.resolve());
      const part = Buffer.alloc(65_536, 'a');
      const more = () => {
        while (!response.destroyed && sent < 100_000_000) {
          sent += part.length;
          if (!response.write(part)) return void response.once('drain', more);
        }
      };
      more();
    });
    const port = await listening(server);
    const answer = await guardedFetch(`http://127.0.0.1:${port}/`, post, local);
    expect([answer.status, answer.body.length, answer.isCut]).toEqual([200, 65_536, true]);
    await closed.promise;
    expect(sent).toBeLessThan(100_000_000);
  });

  test('is not decompressed', async () => {
    const server = http.createServer((request, response) => {
      expect(request.headers['accept-encoding']).toBe('identity');
      response.writeHead(200, { 'Content-Encoding': 'gzip' }).end('not gzip at all');
    });
    const port = await listening(server);
    expect((await guardedFetch(`http://127.0.0.1:${port}/`, post, local)).body.toString()).toBe('not gzip at all');
  });

  const talks: Readonly<Record<string, (socket: net.Socket) => void>> = {
    'never answers': () => {},
    'sends headers without end': (socket) => {
      socket.write('HTTP/1.1 200 OK\r\n');
      const timer = setInterval(() => socket.write(`X-${Date.now()}: a\r\n`), 20);
      socket.on('close', () => clearInterval(timer));
    },
    'has large headers': (socket) => void socket.write(`HTTP/1.1 200 OK\r\nX: ${'a'.repeat(100_000)}\r\n\r\n`),
    'does not speak HTTP': (socket) => void socket.end('220 mail.example.com ESMTP\r\n'),
    'changes the protocol': (socket) =>
      void socket.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n'),
    'closes at once': (socket) => void socket.destroy(),
  };
  /** Listens with a host that talks like this; `left` is how many of its connections are open. */
  async function talking(talk: (socket: net.Socket) => void): Promise<{ url: string; left: () => number }> {
    const sockets = new Set<net.Socket>();
    const server = net.createServer((socket) => {
      sockets.add(socket.on('close', () => sockets.delete(socket)).on('error', () => {}));
      socket.once('data', () => talk(socket));
    });
    const port = await listening(server);
    return { url: `http://127.0.0.1:${port}/`, left: () => sockets.size };
  }
  test.each(Object.keys(talks))('is abandoned when the host %s', async (name) => {
    const { url, left } = await talking(talks[name]!);
    await expect(guardedFetch(url, post, { ...local, millis: 500 })).rejects.toThrow(NotFetched);
    await expect.poll(left).toBe(0);
  });

  const untidy: Readonly<Record<string, (socket: net.Socket) => void>> = {
    'comes a byte at a time': (socket) => {
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n');
      const timer = setInterval(() => socket.write('a'), 20);
      socket.on('close', () => clearInterval(timer));
    },
    'breaks off': (socket) => void socket.end('HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc'),
    'has a chunk of no length': (socket) =>
      void socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nzz\r\n'),
  };
  test.each(Object.keys(untidy))('has its status, and the fault, when its body %s', async (name) => {
    const { url, left } = await talking(untidy[name]!);
    const answer = await guardedFetch(url, post, { ...local, millis: 500 });
    expect(answer).toMatchObject({ status: 200, isCut: false, fault: expect.any(NotFetched) });
    await expect.poll(left).toBe(0);
  });

  test('is abandoned when the host name is never resolved', async () => {
    const resolve = () => new Promise<never>(() => {});
    expect(await refused('https://hooks.example.com/', { ...strict, resolve, millis: 100 })).toMatch(/within 0.1/);
  });

  test('is not asked for when the host name is resolved too late', async () => {
    let connections = 0;
    const server = http.createServer((_request, response) => response.end('ok'));
    const port = await listening(server.on('connection', () => (connections += 1)));
    const found = Promise.withResolvers<string[]>();
    const late = refused(`http://localhost:${port}/`, { ...local, resolve: () => found.promise, millis: 100 });
    expect(await late).toMatch(/within 0.1/);
    found.resolve(['127.0.0.1']);
    await guardedFetch(`http://127.0.0.1:${port}/`, post, local);
    expect(connections).toBe(1);
  });
});
