/** Clients that add contacts by REST for the duration of a drill, and what became of what was acknowledged. */

import { randomUUID } from 'node:crypto';
import http from 'node:http';
import https from 'node:https';
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { mintApiKey } from '../server/domain/clients/api-keys.ts';

/** One request. The outcome is a status, or the code of the error instead; times are of performance.now(). */
export interface Attempt {
  readonly name: string;
  readonly began: number;
  readonly ended: number;
  readonly outcome: number | string;
  /** Whether the response was that of an earlier attempt, replayed. */
  readonly replayed: boolean;
  /** The beginning of a response other than 201. */
  readonly said?: string;
}

export interface Writers {
  readonly attempts: readonly Attempt[];
  /** Resolves when the requests in progress are answered. */
  stop(): Promise<void>;
}

interface WritersOptions {
  readonly key: string;
  readonly count: number;
  /** The certificate to trust. */
  readonly ca?: string;
  /** Whether each contact has an Idempotency-Key and is sent again, 0.1 s later, until it is acknowledged. */
  readonly insist?: boolean;
}

/** Makes a brokerage and an API key of it; returns the key. */
export async function newKey(owner: pg.Client, scopes = ['contacts:read', 'contacts:write']): Promise<string> {
  const { rows } = await owner.query<{ brokerage: string; admin: string }>(
    `with b as (insert into brokerages (slug, name) values ('drill', 'Drill') returning id),
       u as (insert into users (email, name) values ('ann@drill.example', 'Ann') returning id)
     insert into members (brokerage_id, user_id, role) select b.id, u.id, 'admin' from b, u
     returning brokerage_id as brokerage, user_id as admin`,
  );
  const { token, digest, lastFour } = mintApiKey('live');
  await owner.query(`select app.issue_api_key($1, $2, 'drill', 'live', $6, $3, null, $4, $5)`, [
    rows[0]?.brokerage,
    rows[0]?.admin,
    100_000,
    digest,
    lastFour,
    scopes,
  ]);
  return token;
}

/**
 * Starts the clients, spread over `origins` in turn. Before that, one contact is sent to each origin until it answers
 * with 201.
 */
export async function startWriters(
  origins: readonly string[],
  { key, count, ca, insist = false }: WritersOptions,
): Promise<Writers> {
  const agents = { http: new http.Agent({ keepAlive: true }), https: new https.Agent({ keepAlive: true, ca }) };
  const attempts: Attempt[] = [];
  const over = new AbortController();
  // No two runs on the same database write the same names.
  const run = randomUUID().slice(0, 8);

  function send(origin: string, name: string, idempotencyKey?: string): Promise<Attempt> {
    const began = performance.now();
    const headers = {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      ...(idempotencyKey ? { 'idempotency-key': idempotencyKey } : {}),
    };
    return new Promise((resolve) => {
      const done = (outcome: number | string, replayed = false, said = '') =>
        resolve({ name, began, ended: performance.now(), outcome, replayed, said });
      const url = `${origin}/api/v1/contacts`;
      const request = url.startsWith('https:')
        ? https.request(url, { method: 'POST', agent: agents.https, headers })
        : http.request(url, { method: 'POST', agent: agents.http, headers });
      const failed = (error: NodeJS.ErrnoException) => done(error.code ?? error.message);
      request.once('error', failed);
      request.once('response', (answer) => {
        answer.once('error', failed);
        let said = '';
        answer.on('data', (part: Buffer) => (said = said.length < 200 ? `${said}${part}` : said));
        answer.once('end', () => {
          const isMade = answer.statusCode === 201;
          done(answer.statusCode ?? 0, 'idempotent-replayed' in answer.headers, isMade ? '' : said);
        });
      });
      request.end(JSON.stringify({ type: 'person', displayName: name }));
    });
  }

  for (const origin of origins)
    for (const giveUp = Date.now() + 20_000; (await send(origin, 'Warming up')).outcome !== 201; await pause(200))
      if (Date.now() > giveUp) throw new Error(`${origin} did not become ready.`);

  async function write(writer: number): Promise<void> {
    const origin = origins[writer % origins.length] ?? '';
    for (let nth = 0; !over.signal.aborted; nth += 1) {
      const name = `Writer ${writer} of ${run}, contact ${nth}`;
      const idempotencyKey = insist ? randomUUID() : undefined;
      for (;;) {
        const attempt = await send(origin, name, idempotencyKey);
        attempts.push(attempt);
        if (attempt.outcome === 201 || !insist || over.signal.aborted) break;
        await pause(100);
      }
    }
  }
  const writing = Array.from({ length: count }, (_, writer) => write(writer));
  let stopped: Promise<void> | undefined;
  return {
    attempts,
    stop() {
      over.abort();
      return (stopped ??= Promise.all(writing).then(() => {
        agents.http.destroy();
        agents.https.destroy();
      }));
    },
  };
}

export interface Tally {
  readonly acknowledged: number;
  /** Attempts not answered with 201. */
  readonly failed: readonly Attempt[];
  /** Contacts acknowledged, but missing in the database. */
  readonly lost: number;
  /** Contacts found more than once, acknowledged or not. */
  readonly duplicated: number;
}

/** Compares what was acknowledged with the rows in the database. */
export async function tally({ attempts }: Writers, owner: pg.ClientConfig): Promise<Tally> {
  const client = new pg.Client(owner);
  await client.connect();
  const { rows } = await client.query<{ display_name: string; times: number }>(
    `select display_name, count(*)::int as times from contacts where display_name <> 'Warming up' group by 1`,
  );
  await client.end();
  const kept = new Set(rows.map(({ display_name }) => display_name));
  const acknowledged = attempts.filter(({ outcome }) => outcome === 201);
  return {
    acknowledged: acknowledged.length,
    failed: attempts.filter(({ outcome }) => outcome !== 201),
    lost: acknowledged.filter(({ name }) => !kept.has(name)).length,
    duplicated: rows.filter(({ times }) => times > 1).length,
  };
}

/** The attempts counted by outcome: "503: 12, ECONNRESET: 1". */
export function outcomes(attempts: readonly Attempt[]): string {
  const counts = new Map<number | string, number>();
  for (const { outcome } of attempts) counts.set(outcome, (counts.get(outcome) ?? 0) + 1);
  return [...counts].map(([outcome, count]) => `${outcome}: ${count}`).join(', ') || 'none';
}

/** The distinct beginnings of the responses. */
export const saidBy = (attempts: readonly Attempt[]): string[] => [
  ...new Set(attempts.map(({ said = '' }) => said.replaceAll(/\s+/g, ' ').slice(0, 160)).filter(Boolean)),
];

/** Seconds that the longest attempt took. */
export const longest = (attempts: readonly Attempt[]): number =>
  attempts.reduce((most, { began, ended }) => Math.max(most, ended - began), 0) / 1000;
