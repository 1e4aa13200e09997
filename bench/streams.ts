/** Open event streams: the memory they take, and what a change costs the node and the database. */

import { setTimeout as wait } from 'node:timers/promises';
import { readFileSync } from 'node:fs';
import net from 'node:net';
import pg from 'pg';
import type { Bench } from './bench.ts';
import { mintToken, tokenDigest } from '../server/domain/accounts/secret-tokens.ts';
import { startDealkeep, type Service } from './processes.ts';
import { millis, table, whole } from './table.ts';

/** Number of people on each deal, each with one stream. */
const peoplePerDeal = 10;
/** Number of streams that are opened concurrently. */
const opening = 100;

/** The head of a browser's request. */
const head = [
  'GET /api/web/events HTTP/1.1',
  'Host: localhost',
  'Connection: keep-alive',
  'Cache-Control: no-cache',
  'Accept: text/event-stream',
  'Accept-Encoding: gzip, deflate, br, zstd',
  'Accept-Language: en-GB,en;q=0.9,de;q=0.8',
  'Referer: http://localhost/deals/0197a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b/questions',
  'Sec-Ch-Ua: "Chromium";v="147", "Not A(Brand";v="24"',
  'Sec-Ch-Ua-Mobile: ?0',
  'Sec-Ch-Ua-Platform: "Linux"',
  'Sec-Fetch-Dest: empty',
  'Sec-Fetch-Mode: cors',
  'Sec-Fetch-Site: same-origin',
  'User-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/147.0.0.0 Safari/537.36',
  '',
].join('\r\n');

interface Scene {
  /** Session tokens, by the number of the person. */
  readonly tokens: readonly string[];
  /** The deals, each of ten consecutive people. */
  readonly deals: readonly string[];
  /** A deal whose people have no open stream. */
  readonly unfollowed: string;
}

async function setScene(client: pg.Client, people: number): Promise<Scene> {
  const tokens = Array.from({ length: people }, mintToken);
  await client.query(`insert into brokerages (id, slug, name) select bench.brokerage_of(1000 + b), 'live-' || b, 'Live ' || b
    from generate_series(0, ${Math.ceil(people / 100)}) b`);
  await client.query(
    `insert into users (email, name) select 'live-' || n || '@example.com', 'Person ' || n from generate_series(0, $1::int + 9) n`,
    [people],
  );
  await client.query(
    `insert into deals (organization_id, title, state) select bench.brokerage_of(1000 + n / 10), 'Live ' || lpad(n::text, 6, '0'), 'listed'
     from generate_series(0, $1::int) n`,
    [people / peoplePerDeal],
  );
  await client.query(`insert into participants (deal_id, user_id, role, status)
    select d.id, u.id, case n % 10 when 0 then 'broker' when 1 then 'seller' else 'buyer' end, 'active'
    from users u, lateral (select substring(u.email from 'live-(\\d+)@')::int as n) one
    join deals d on d.title = 'Live ' || lpad((n / 10)::text, 6, '0')
    where u.email like 'live-%@example.com'`);
  await client.query(
    `insert into vault.sessions (user_id, digest, method) select u.id, s.digest, 'password'
     from unnest($1::bytea[]) with ordinality as s (digest, n) join users u on u.email = 'live-' || n - 1 || '@example.com'`,
    [tokens.map(tokenDigest)],
  );
  await client.query('vacuum analyze');
  const { rows } = await client.query<{ id: string }>(`select id from deals where title like 'Live %' order by title`);
  const deals = rows.map(({ id }) => id);
  return { tokens, deals, unfollowed: deals.pop() ?? '' };
}

interface Stream {
  readonly socket: net.Socket;
  /** Time of the last received event, by performance.now(). */
  receivedAt: number;
  /** Number of received events. */
  received: number;
  ended: boolean;
}

/** Opens a stream from one of several loopback addresses; resolves after its first bytes. */
function openStream({ origin }: Service, token: string, number: number): Promise<Stream> {
  const port = Number(new URL(origin).port);
  const socket = net.connect({ port, host: '127.0.0.1', localAddress: `127.0.0.${(number % 8) + 1}` });
  const stream: Stream = { socket, receivedAt: 0, received: 0, ended: false };
  socket.write(`${head}Cookie: dealkeep=${token}\r\n\r\n`);
  socket.on('close', () => (stream.ended = true));
  return new Promise((resolve, reject) => {
    socket.on('error', reject);
    socket.once('data', (first) => {
      const status = first.toString('latin1', 9, 12);
      if (status !== '200') return reject(new Error(`A stream was answered with ${status}.`));
      socket.on('data', (more) => {
        const events = more.toString('latin1').split('data: ').length - 1;
        if (events === 0) return;
        stream.received += events;
        stream.receivedAt = performance.now();
      });
      resolve(stream);
    });
  });
}

async function openAll(service: Service, tokens: readonly string[]): Promise<Stream[]> {
  const streams: Stream[] = [];
  for (let at = 0; at < tokens.length; at += opening)
    streams.push(
      ...(await Promise.all(
        tokens.slice(at, at + opening).map((token, more) => openStream(service, token, at + more)),
      )),
    );
  return streams;
}

/** Returns the processor time of the server's backends, in seconds, by process id. */
async function processorTimes(client: pg.Client): Promise<Map<number, number>> {
  const { rows } = await client.query<{ pid: number }>(
    `select pid from pg_stat_activity where datname = current_database() and application_name like 'dealkeep%'`,
  );
  return new Map(
    rows.map(({ pid }) => {
      const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? [];
      const [user, system] = fields.slice(11, 13);
      return [pid, (Number(user) + Number(system)) / 100];
    }),
  );
}

/** Returns the number of transactions so far. */
async function commits(client: pg.Client): Promise<number> {
  // Idle connections report their transactions within ten seconds.
  await wait(11_000);
  const { rows } = await client.query<{ commits: string }>(
    'select xact_commit as commits from pg_stat_database where datname = current_database()',
  );
  return Number(rows[0]?.commits);
}

/** Prints what open streams cost. Requires as many open files as streams: `ulimit -n`. */
export async function benchStreams({ cluster, databaseUrl, rows, say }: Bench): Promise<void> {
  const people = rows < 1_000_000 ? 1_000 : 10_000;
  const client = new pg.Client(cluster.owner);
  client.on('error', () => {});
  await client.connect();
  const scene = await setScene(client, people);
  const service = await startDealkeep(databaseUrl, { STREAM_HEARTBEAT_SECONDS: '60' });
  try {
    // The memory of the process after warm-up.
    const [warm] = await openAll(service, scene.tokens.slice(0, 1));
    await wait(2_000);
    const before = service.memory();
    warm?.socket.destroy();
    const began = performance.now();
    const streams = await openAll(service, scene.tokens);
    const took = performance.now() - began;
    await wait(5_000);
    say(
      `${whole(people)} streams opened in ${millis(took / 1000)} s. Memory: ${whole(before)} MB before, ` +
        `${whole(service.memory())} MB with them, ${whole(service.peakMemory())} MB at most.\n`,
    );

    const lines: string[][] = [];
    const cycle = async (
      name: string,
      changes: number,
      change: (n: number) => Promise<unknown>,
      listening: (n: number) => Stream[],
    ) => {
      const receivedBefore = streams.reduce((sum, { received }) => sum + received, 0);
      const earlier = await commits(client);
      const timesBefore = await processorTimes(client);
      const processor = service.processorTime() ?? 0;
      const delays: number[] = [];
      for (let n = 0; n < changes; n += 1) {
        const at = performance.now();
        await change(n);
        const theirs = listening(n);
        for (let waited = 0; theirs.some(({ receivedAt }) => receivedAt < at) && waited < 20_000; waited += 5)
          await wait(5);
        delays.push(Math.max(...theirs.map(({ receivedAt }) => receivedAt - at), 0));
        await wait(200);
      }
      await wait(500);
      const spent = (service.processorTime() ?? 0) - processor;
      // A connection that has ended by now had nothing to do.
      let work = 0;
      for (const [pid, time] of await processorTimes(client)) work += time - (timesBefore.get(pid) ?? 0);
      // Excludes the changes themselves, and the three queries of the measurement.
      const transactions = (await commits(client)) - earlier - changes - 3;
      const sorted = delays.toSorted((a, b) => a - b);
      lines.push([
        name,
        whole(changes),
        whole(streams.reduce((sum, { received }) => sum + received, 0) - receivedBefore),
        (transactions / changes).toFixed(2),
        millis((work / changes) * 1000),
        millis((spent / changes) * 1000),
        theirsOf(sorted),
      ]);
    };
    const theirsOf = (sorted: readonly number[]) =>
      sorted.at(-1) === 0 ? '–' : `${millis(sorted[sorted.length >> 1] ?? 0)} / ${millis(sorted.at(-1) ?? 0)}`;
    const touch = (deal: string | undefined, n: number) =>
      client.query(`update deals set industry = $2 where id = $1`, [deal, `Trade ${n}`]);
    const ofDeal = (n: number) => streams.slice(n * peoplePerDeal, (n + 1) * peoplePerDeal);
    const rounds = people >= 5_000 ? 50 : 30;
    await cycle(
      'nobody listens',
      rounds,
      (n) => touch(scene.unfollowed, n),
      () => [],
    );
    await cycle('ten listen', rounds, (n) => touch(scene.deals[n], n), ofDeal);
    await cycle(
      `${scene.deals.length} deals at once`,
      1,
      () => client.query(`update deals set industry = 'All' where id = any ($1)`, [scene.deals]),
      () => streams,
    );
    const at = performance.now();
    await client.query(`update vault.sessions set ended_at = now() where digest = $1`, [
      tokenDigest(scene.tokens[0] ?? ''),
    ]);
    while (!streams[0]?.ended) await wait(1);
    say(
      table(
        [
          'a change of a deal',
          'changes',
          'events told',
          'transactions',
          'PostgreSQL ms',
          'node ms',
          'until all heard, p50 / max ms',
        ],
        lines,
      ),
    );
    say(
      `\nAmong the transactions are those that look once a minute whether the sessions live, a thousand at a time, and the scheduled jobs.`,
    );
    say(`Memory at the end: ${whole(service.memory())} MB.`);
    say(`A session that ended: its stream was closed after ${millis(performance.now() - at)} ms.\n`);
    for (const { socket } of streams) socket.destroy();
  } finally {
    await service.stop();
    await client.end();
  }
}
