/** Events and mails that a caller receives while changes that they may not see happen in two worlds. */

import { expect } from 'vitest';
import type { TestService } from '../harness.ts';
import { idOf, randomFrom, secretsOf } from './names.ts';
import type { Pair } from './pair.ts';
import { addressesOfOne } from './questions.ts';
import type { World } from './world.ts';

/** For each table, a change that any of its rows accepts, and the column by which rows are selected. */
const touches: Readonly<Record<string, readonly [set: string, key: string]>> = {
  deals: ['industry = industry', 'id'],
  deal_stages: ['updated_at = updated_at', 'deal_id'],
  exclusivities: ['granted_by = granted_by', 'id'],
  participants: ['created_at = created_at', 'id'],
  ndas: ['terms = terms', 'id'],
  documents: ['category = category', 'id'],
  production_documents: ['category = category', 'id'],
  document_openings: ['opened_at = opened_at', 'id'],
  questions: ['category = category', 'id'],
  question_answers: ['answer_text = answer_text', 'question_id'],
  qoe_checklist: ['title = title', 'id'],
  accounting_snapshots: ['source_name = source_name', 'id'],
  normalizations: ['rationale = rationale', 'id'],
  contradiction_answers: ['why = why', 'id'],
  qoe_workspace_members: ['added_at = added_at', 'participant_id'],
  offers: ['submitted_at = submitted_at', 'id'],
  closing_conditions: ['deadline = deadline', 'id'],
  findings: ['title = title', 'id'],
  finding_comments: ['body = body', 'id'],
  financing_sources: ['source_name = source_name', 'id'],
  deal_tool_stops: ['stopped_at = stopped_at', 'deal_id'],
};
/** Tables whose rows can be deleted from a deal. */
const removable = [
  'qoe_checklist',
  'normalizations',
  'contradiction_answers',
  'qoe_workspace_members',
  'closing_conditions',
  'deal_tool_stops',
];

interface Stream {
  /** Each event once, sorted by text. */
  received(): string[];
  stop(): void;
}

/** Opens an event stream, of a page that was loaded at `since` (Unix time in milliseconds) unless that is null. */
async function follow(service: TestService, session: string, since: number | null = null): Promise<Stream> {
  const stopped = new AbortController();
  const response = await fetch(`${service.origin}/api/web/events${since === null ? '' : `?since=${since}`}`, {
    headers: { cookie: `dealkeep=${session}` },
    signal: stopped.signal,
  });
  let text = '';
  void (async () => {
    for await (const part of response.body!.pipeThrough(new TextDecoderStream())) text += part;
  })().catch(() => {});
  await expect.poll(() => text).toContain(': ');
  return {
    received: () => [...new Set(text.split('\n').filter((line) => line.startsWith('data: ')))].toSorted(),
    stop: () => stopped.abort(),
  };
}

/** Causes an event on every stream of a user by opting them in to a new deal; returns the deal's id. */
async function optIn(pair: Pair, userId: string, name: string): Promise<string> {
  const [brokerage, deal] = [idOf('last brokerage'), idOf(`${name} deal ${pair.caller} ${pair.compared}`)];
  await pair.sql(`insert into brokerages (id, slug, name) values ($1, 'last', 'Last') on conflict do nothing`, [
    brokerage,
  ]);
  await pair.sql(`insert into deals (id, organization_id, title) values ($1, $2, 'Last') on conflict do nothing`, [
    deal,
    brokerage,
  ]);
  await pair.sql('insert into deal_opt_ins (user_id, deal_id) values ($1, $2)', [userId, deal]);
  return deal;
}

/** Waits until each stream has received an event that contains one of these texts. */
async function untilReceived(streams: readonly Stream[], ...texts: readonly string[]): Promise<void> {
  for (const { received } of streams)
    await expect.poll(() => received().some((line) => texts.some((text) => line.includes(text)))).toBe(true);
}

/** Compares the events that the streams have received, and closes the streams. */
function compareReceived(pair: Pair, streams: readonly Stream[], what: string): void {
  const [first, second] = streams.map(({ received }) => received().join('\n'));
  for (const { stop } of streams) stop();
  pair.compare(`${pair.caller}: ${what}`, first!, second!);
}

/**
 * Makes different changes in the two worlds, all hidden from the caller, and compares the events on the caller's
 * streams.
 */
export async function compareEvents(pair: Pair, worlds: readonly [World, World], userId: string): Promise<void> {
  const { session } = secretsOf(pair.caller);
  const since = Date.now();
  const streams = await Promise.all(pair.services.map((service) => follow(service, session)));
  for (const [at, service] of pair.services.entries()) {
    const random = randomFrom(`happens ${pair.caller} ${at}`);
    const idsOf = (table: string, share: number) => {
      const key = touches[table]![1];
      const shown = new Set(
        worlds[at]!.rows.filter((row) => row.table === table && !row.hidden).map(({ values }) => values[key]),
      );
      return worlds[at]!.rows.filter((row) => row.table === table && row.hidden && !shown.has(row.values[key]))
        .map(({ values }) => values[key])
        .filter(() => random() < share);
    };
    for (const [table, [set, key]] of Object.entries(touches)) {
      const ids = idsOf(table, 0.4);
      if (ids.length > 0) await service.sql(`update ${table} set ${set} where ${key} = any ($1::uuid[])`, [ids]);
    }
    for (const table of removable) {
      const ids = idsOf(table, 0.3);
      if (ids.length > 0)
        await service.sql(`delete from ${table} where ${touches[table]![1]} = any ($1::uuid[])`, [ids]);
    }
    const taken = idsOf('documents', 0.3);
    if (taken.length > 0)
      await service.sql('update documents set removed_at = app.now() where id = any ($1::uuid[])', [taken]);
  }
  const last = await optIn(pair, userId, 'last');
  await untilReceived(streams, last);
  compareReceived(pair, streams, 'the stream of changes');

  const later = await Promise.all(pair.services.map((service) => follow(service, session, since)));
  const anything = '"deal","deal_id":null';
  await untilReceived(later, last, anything);
  // Changes from before the stream arrive together; a later change arrives after them.
  await untilReceived(later, await optIn(pair, userId, 'later'));
  // On a slow machine `since` may be too long ago for one of the nodes, and the streams are not comparable.
  if (later.some(({ received }) => received().some((line) => line.includes(anything))))
    for (const { stop } of later) stop();
  else compareReceived(pair, later, 'the stream of a page that was loaded before');
}

/**
 * Invites people to a deal that the caller runs and, where they may, to the brokerage: an unknown person, and people
 * who exist in only one of the worlds. Compares the responses, the lists afterwards and the mails.
 */
export async function compareInvitations(pair: Pair, first: World, second: World): Promise<void> {
  const { caller } = pair;
  const seen = (table: string) => first.rows.find((row) => row.table === table && !row.hidden)!.values['id'] as string;
  const [deal, brokerage] = [seen('deals'), seen('brokerages')];
  const earlier = await Promise.all(pair.services.map(async (service) => (await service.deliver()).length));
  let sent = 0;
  for (const email of [`somebody-${pair.compared}@nowhere.test`, ...addressesOfOne(first, second)]) {
    const places = [`deals/${deal}/participants`, ...(caller === 'admin' ? [`brokerages/${brokerage}/members`] : [])];
    for (const place of places) {
      const role = place.startsWith('deals') ? 'buyer' : 'staff';
      const invite = { method: 'POST', path: `/api/web/${place}`, as: 'session' } as const;
      const answers = await pair.ask({ ...invite, body: { email, name: 'As invited', role } });
      if (answers.some(({ status }) => status === 201)) sent += 1;
    }
  }
  for (const path of [`deals/${deal}`, `deals/${deal}/activity`, `brokerages/${brokerage}/members`, 'audit'])
    await pair.ask({ method: 'GET', path: `/api/web/${path}`, as: 'session' });
  expect(sent).toBeGreaterThan(0);
  const mailed = await Promise.all(
    pair.services.map(async (service, at) => {
      const mails = await service.deliver();
      expect(mails.length).toBeGreaterThanOrEqual(earlier[at]! + sent);
      return mails.map(({ to, subject, text }) => [to, subject, text].join('\n')).join('\n\n');
    }),
  );
  pair.compare(`${caller}: mails`, mailed[0]!, mailed[1]!);
}
