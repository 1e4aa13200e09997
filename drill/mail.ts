/**
 * Two nodes send mails through a real SMTP server and are killed in turns with SIGKILL meanwhile: between an event and
 * its mail, or between handing a mail over and recording it. Every event is mailed to its reader once; a mail that is
 * handed over again has the same Message-ID.
 */

import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { openCluster, urlOf } from '../bench/cluster.ts';
import { freePort } from '../bench/free-port.ts';
import { startDealkeep, type Service } from '../bench/processes.ts';
import { csrfToken } from '../server/http/csrf.ts';
import { mintToken, tokenDigest } from '../server/domain/accounts/secret-tokens.ts';
import { openMailServer } from '../test/mail/mail-server.ts';
import type { Drill } from './drill.ts';

const events = 60;
const kills = 6;
/**
 * Milliseconds that the mail server takes to accept a mail: more than the steps before, so that most kills happen
 * meanwhile.
 */
const mailMillis = 150;

interface Asker {
  readonly deal: string;
  readonly session: string;
}

/** Makes a deal for each event, each with a broker of its own and a buyer under an NDA who asks questions. */
async function arrange(owner: pg.Client): Promise<Asker[]> {
  await owner.query(`insert into brokerages (slug, name) values ('drill', 'Drill')`);
  const askers: Asker[] = [];
  for (let n = 0; n < events; n += 1) {
    const { rows } = await owner.query<{ deal: string; buyer: string }>(
      `with b as (insert into users (email, name) values ($1, 'Ann') returning id),
         u as (insert into users (email, name) values ($2, 'Ben') returning id),
         d as (insert into deals (organization_id, title, state) select id, $3, 'listed' from brokerages where slug = 'drill' returning id),
         r as (insert into participants (deal_id, user_id, role, status) select d.id, b.id, 'broker', 'active' from d, b),
         p as (insert into participants (deal_id, user_id, role, status) select d.id, u.id, 'buyer', 'active' from d, u returning id, deal_id)
       select p.deal_id as deal, p.id as participant, u.id as buyer from p, u`,
      [`broker${n}@drill.example`, `buyer${n}@drill.example`, `Deal ${n}`],
    );
    const [made] = rows;
    if (!made) throw new Error('There is no buyer.');
    await owner.query(
      `insert into ndas (deal_id, participant_id, terms, status, signed_name, signed_at)
       select deal_id, id, 'Keep it to yourself.', 'active', 'Ben', app.now() from participants where deal_id = $1 and role = 'buyer'`,
      [made.deal],
    );
    const session = mintToken();
    await owner.query(`insert into vault.sessions (user_id, digest, method) values ($1, $2, 'password')`, [
      made.buyer,
      tokenDigest(session),
    ]);
    askers.push({ deal: made.deal, session });
  }
  return askers;
}

async function ask(at: string, origin: string, { deal, session }: Asker): Promise<number> {
  const answer = await fetch(`${at}/api/web/deals/${deal}/questions`, {
    method: 'POST',
    headers: {
      cookie: `dealkeep=${session}`,
      'x-csrf-token': csrfToken(session),
      origin,
      'content-type': 'application/json',
    },
    body: JSON.stringify({ category: 'legal', question_text: 'Is the lease assignable?' }),
  }).catch(() => null);
  await answer?.text();
  return answer?.status ?? 0;
}

async function run(directory: string, say: (line: string) => void): Promise<boolean> {
  const cluster = await openCluster();
  const mails = await openMailServer();
  mails.onMail = () => pause(mailMillis);
  const owner = new pg.Client(cluster.owner);
  const nodes: Service[] = [];
  const ports = [await freePort(), await freePort()] as const;
  const origin = `http://127.0.0.1:${ports[0]}`;
  const start = (place: number) =>
    startDealkeep(urlOf(cluster.server), {
      PORT: String(ports[place]),
      BASE_URL: origin,
      SMTP_URL: mails.url,
      MAIL_FROM: 'Drill <drill@deals.example>',
      DATA_DIR: path.join(directory, 'data'),
      DRAIN_SECONDS: '0',
      LOG_LEVEL: 'fatal',
    });
  const one = async (text: string): Promise<number> =>
    Number((await owner.query<{ count: string }>(`select count(*) from ${text}`)).rows[0]?.count);
  try {
    await owner.connect();
    const askers = await arrange(owner);
    nodes.push(await start(0), await start(1));
    let acknowledged = 0;
    let killed = 0;
    for (const [n, asker] of askers.entries()) {
      // An asker who is not answered with 201 asks the other node; the effect of the first attempt is counted below.
      const first = await ask(nodes[n % 2]?.origin ?? '', origin, asker);
      if (first === 201 || (await ask(nodes[(n + 1) % 2]?.origin ?? '', origin, asker)) === 201) acknowledged += 1;
      if ((n + 1) % (events / kills) !== 0) continue;
      // Waits until a mail is being sent.
      await pause(mailMillis * (0.5 + (killed % 3) / 2));
      const place = killed % 2;
      await nodes[place]?.kill();
      killed += 1;
      nodes[place] = await start(place);
    }
    const left = () => one(`vault.outbox where sent_at is null and given_up_at is null`);
    for (const giveUp = Date.now() + 120_000; Date.now() < giveUp; await pause(500)) {
      if ((await one('vault.events')) > 0 || (await one('vault.notifications where mail_due_at <= now()')) > 0)
        continue;
      if ((await left()) === 0) break;
      // Mails claimed by running nodes are sent soon. The mails left after that were claimed by killed nodes for five
      // minutes, which end now.
      await pause(30 * mailMillis);
      if ((await left()) > 0)
        await owner.query(
          `update vault.outbox set claimed_until = now(), next_attempt_at = now() where sent_at is null and given_up_at is null`,
        );
    }
    const asked = await one('(select distinct deal_id from questions) q');
    const ids = new Map<string, Set<string>>();
    for (const { to, messageId } of mails.received)
      for (const address of to) ids.set(address, (ids.get(address) ?? new Set()).add(messageId));
    const delivered = [...ids.values()];
    const lost = asked - delivered.length;
    const twice = delivered.filter((set) => set.size > 1).length;
    const again = mails.received.length - new Set(mails.received.map(({ messageId }) => messageId)).size;
    say(`${killed} kills; ${acknowledged} questions acknowledged, ${asked} asked, ${delivered.length} brokers told`);
    say(`lost ${lost}, told twice ${twice}; handed over again under the same Message-ID: ${again}`);
    return killed === kills && acknowledged === events && asked === events && lost === 0 && twice === 0;
  } finally {
    await owner.end().catch(() => {});
    for (const node of nodes) await node.stop();
    await mails.close();
    await cluster.close();
  }
}

export const mail: Drill = {
  title: `two nodes are killed in turns while they tell of ${events} events by mail, with a real SMTP server`,
  needs: [],
  run,
};
