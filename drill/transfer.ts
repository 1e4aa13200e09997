/**
 * A document of 500 MB is uploaded and downloaded through nginx and HAProxy, configured by the files of deploy/, in
 * front of two nodes.
 */

import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import https from 'node:https';
import type { IncomingMessage } from 'node:http';
import path from 'node:path';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import pg from 'pg';
import { openCluster, urlOf } from '../bench/cluster.ts';
import { startDealkeep, type Service } from '../bench/processes.ts';
import { pdf } from '../database/demo/bodies.ts';
import { mintToken, tokenDigest } from '../server/domain/accounts/secret-tokens.ts';
import { csrfToken } from '../server/http/csrf.ts';
import type { Drill } from './drill.ts';
import { freePort } from '../bench/free-port.ts';
import { certificate, isInstalled, startProxy, type ProxyKind } from './proxies.ts';

const megabyte = 1_000_000;
const megabytes = 500;

/** A PDF of that size in parts that all differ; adds the bytes sent to `hash`. */
function* document(hash: ReturnType<typeof createHash>): Generator<Buffer> {
  const part = (bytes: Buffer) => {
    hash.update(bytes);
    return bytes;
  };
  yield part(pdf('Lease', 'The shop is let from year to year.').bytes);
  // Each part is a buffer of its own: the previous one may still be in transit.
  for (let n = 0; n < megabytes; n += 1) yield part(Buffer.alloc(megabyte, `part ${n} of the document\n`));
}

/** Makes a deal with a broker; returns the session of the broker. */
async function newBroker(owner: pg.Client): Promise<{ session: string; deal: string }> {
  const { rows } = await owner.query<{ user_id: string; deal_id: string }>(
    `with b as (insert into brokerages (slug, name) values ('drill', 'Drill') returning id),
       u as (insert into users (email, name) values ('ann@drill.example', 'Ann') returning id),
       m as (insert into members (brokerage_id, user_id, role) select b.id, u.id, 'admin' from b, u),
       d as (insert into deals (organization_id, title, state) select id, 'Drill', 'listed' from b returning id)
     insert into participants (deal_id, user_id, role, status) select d.id, u.id, 'broker', 'active' from d, u
     returning user_id, deal_id`,
  );
  const [broker] = rows;
  if (!broker) throw new Error('There is no broker.');
  const session = mintToken();
  const add = `insert into vault.sessions (user_id, digest, method) values ($1, $2, 'password')`;
  await owner.query(add, [broker.user_id, tokenDigest(session)]);
  return { session, deal: broker.deal_id };
}

async function behind(kind: ProxyKind, directory: string, say: (line: string) => void): Promise<boolean> {
  mkdirSync(directory);
  const { cert: ca } = certificate(directory);
  const port = await freePort();
  const origin = `https://localhost:${port}`;
  const cluster = await openCluster();
  const nodes: Service[] = [];
  let stopProxy: (() => Promise<void>) | undefined;
  try {
    const owner = new pg.Client(cluster.owner);
    await owner.connect();
    const { session, deal } = await newBroker(owner).finally(() => owner.end());
    const [a, b] = [await freePort(), await freePort()];
    for (const own of [a, b])
      nodes.push(
        await startDealkeep(urlOf(cluster.server), {
          PORT: String(own),
          BASE_URL: origin,
          TRUSTED_PROXIES: '127.0.0.1',
          DATA_DIR: path.join(directory, 'data'),
          DRAIN_SECONDS: '0',
        }),
      );
    stopProxy = await startProxy(kind, { directory, port, nodes: [a, b] });

    const headers = { cookie: `__Host-dealkeep=${session}`, 'x-csrf-token': csrfToken(session), origin };
    async function open(where: string, body?: Readable): Promise<IncomingMessage> {
      const method = body ? 'POST' : 'GET';
      const type = body ? { 'content-type': 'application/octet-stream' } : {};
      const request = https.request(`${origin}/api/web${where}`, {
        ca,
        method,
        agent: false,
        headers: { ...headers, ...type },
      });
      // A client that is answered before it has sent everything need not send the rest; without an answer, `once` below
      // rejects.
      request.on('error', () => body?.destroy());
      if (body) body.pipe(request);
      else request.end();
      const [answer] = (await once(request, 'response')) as [IncomingMessage];
      return answer;
    }
    const rate = (bytes: number, since: number) =>
      `${Math.round(bytes / megabyte / ((performance.now() - since) / 1000))} MB/s`;

    const atRest = Math.max(...nodes.map((node) => node.peakMemory()));
    const sent = createHash('sha256');
    const query = new URLSearchParams({ filename: 'Large.pdf', category: 'other', confidentiality: 'nda_gated' });
    let began = performance.now();
    const up = await open(`/deals/${deal}/documents?${query}`, Readable.from(document(sent)));
    const said = await text(up);
    if (up.statusCode !== 201) {
      say(`${kind}: the upload was answered with ${up.statusCode}: ${said.slice(0, 300)}`);
      return false;
    }
    const uploaded = rate(megabytes * megabyte, began);
    const afterUp = Math.max(...nodes.map((node) => node.peakMemory()));

    began = performance.now();
    const down = await open(`/documents/simple/${(JSON.parse(said) as { id: string }).id}/content`);
    const received = createHash('sha256');
    let size = 0;
    for await (const part of down) {
      received.update(part as Buffer);
      size += (part as Buffer).length;
    }
    const downloaded = rate(size, began);
    const equal = down.statusCode === 200 && received.digest('hex') === sent.digest('hex');
    const most = Math.max(...nodes.map((node) => node.peakMemory()));
    say(
      `${kind}: up ${uploaded}, down ${downloaded}, ${(size / megabyte).toFixed(1)} MB with ${equal ? 'the same digest' : 'ANOTHER digest'}`,
    );
    say(
      `${kind}: most memory of a node: ${atRest} MB before, ${afterUp} MB after the upload, ${most} MB after the download`,
    );
    return equal;
  } finally {
    await stopProxy?.();
    for (const node of nodes) await node.stop();
    await cluster.close();
  }
}

/** The drill: the downloaded bytes equal the uploaded ones. */
export const transfer: Drill = {
  title: `a document of ${megabytes} MB up and down behind nginx and HAProxy, two nodes`,
  needs: ['openssl'],
  missing: () => (['nginx', 'haproxy'].some(isInstalled) ? null : 'There is neither nginx nor HAProxy here'),
  async run(directory, say) {
    let held = true;
    for (const kind of ['nginx', 'haproxy'] as const)
      if (isInstalled(kind)) held = (await behind(kind, path.join(directory, kind), say)) && held;
      else say(`There is no ${kind} here: it is left out.`);
    return held;
  },
};
