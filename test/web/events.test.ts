/** What the stream of changes tells to whom. */

import { afterAll, beforeAll, expect, test } from 'vitest';
import { openHouse, type TestHouse } from '../harness.ts';
import { connect, setScene, type Scene } from '../policies/scene.ts';
import { signInAs } from './person.ts';

let house: TestHouse;
let scene: Scene;

beforeAll(async () => {
  house = await openHouse();
  const owner = await connect(house.connections.owner);
  scene = await setScene(owner);
  await owner.end();
});
afterAll(() => house?.close());

/** Follows the stream as the person; what came so far, and how to stop. */
async function follow(
  caller: string,
): Promise<{ heard: { topic: string; deal_id: string | null }[]; stop: () => void }> {
  const person = await signInAs(house, scene.people[caller]!);
  const stopped = new AbortController();
  const response = await fetch(`${house.origin}/api/web/events`, { headers: person.headers, signal: stopped.signal });
  expect(response.headers.get('content-type')).toMatch(/^text\/event-stream/);
  const heard: { topic: string; deal_id: string | null }[] = [];
  void (async () => {
    for await (const part of response.body!.pipeThrough(new TextDecoderStream()))
      for (const line of part.split('\n')) if (line.startsWith('data: ')) heard.push(JSON.parse(line.slice(6)));
  })().catch(() => {});
  return { heard, stop: () => stopped.abort() };
}

// The first, so that no other stream is still open.
test('who asks for its head alone is not followed up', async () => {
  const person = await signInAs(house, scene.people['broker']!);
  const head = await fetch(`${house.origin}/api/web/events`, { method: 'HEAD', headers: person.headers });
  expect([head.status, head.headers.get('content-type')]).toEqual([200, 'text/event-stream']);
  const { database } = house.nodes[0]!.house;
  const { together } = database;
  let looked = 0;
  database.together = (...statements) => {
    if (statements.some(({ name }) => name === 'seen_changes')) looked += 1;
    return together(...statements);
  };
  try {
    const stream = await follow('broker');
    await house.sql(`update deals set industry = 'Bread' where id = $1`, [scene.deal]);
    await expect.poll(() => stream.heard.length, { timeout: 5000 }).toBeGreaterThan(0);
    expect(looked).toBe(1);
    stream.stop();
  } finally {
    database.together = together;
  }
});

test('a change is told to those who see the record, and to nobody else', async () => {
  const callers = ['broker', 'seller', 'exclusive buyer', 'other buyer', 'viewer', 'outsider'];
  const streams = await Promise.all(callers.map(follow));
  await house.sql(
    `insert into offers (deal_id, participant_id, buyer_user_id, revision_number, is_current, payload)
     values ($1, $2, $3, 2, false, '{}')`,
    [scene.deal, scene.participants['other buyer'], scene.people['other buyer']],
  );
  await expect.poll(() => streams[0]!.heard.length, { timeout: 5000 }).toBeGreaterThan(0);
  await expect.poll(() => streams[3]!.heard.length).toBeGreaterThan(0);
  const offer = [{ topic: 'offers', deal_id: scene.deal }];
  expect(Object.fromEntries(callers.map((caller, index) => [caller, streams[index]!.heard]))).toEqual({
    broker: offer,
    seller: offer,
    'exclusive buyer': [],
    'other buyer': offer,
    viewer: [],
    outsider: [],
  });
  for (const stream of streams) stream.stop();
});

test('a move that another buyer may not know of is told to those who see it', async () => {
  const callers = [
    'broker',
    'seller',
    'exclusive buyer',
    'viewer',
    'other buyer',
    "other buyer's advisor",
    'new buyer',
  ];
  const streams = await Promise.all(callers.map(follow));
  await house.sql(`update deals set state = 'closing' where id = $1`, [scene.deal]);
  // The next change is one that everybody hears of: whoever hears it has heard all that came before.
  await expect.poll(() => streams.slice(0, 4).map(({ heard }) => heard.length)).toEqual([1, 1, 1, 1]);
  await house.sql(`update deals set industry = 'Baking' where id = $1`, [scene.deal]);
  await expect.poll(() => streams.every(({ heard }) => heard.length > 0)).toBe(true);
  const deal = { topic: 'deal', deal_id: scene.deal };
  await expect
    .poll(() => streams.map(({ heard }) => heard))
    .toEqual([[deal, deal], [deal, deal], [deal, deal], [deal, deal], [deal], [deal], [deal]]);
  for (const stream of streams) stream.stop();
});

test('without a session there is no stream', async () => {
  const response = await fetch(`${house.origin}/api/web/events`);
  expect(response.status).toBe(401);
  expect(await response.json()).toMatchObject({ error: { code: 'signed_out' } });
});
