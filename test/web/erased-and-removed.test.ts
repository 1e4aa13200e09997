/** Somebody is erased while they are removed from a deal: neither waits for the other for ever. */

import { afterAll, beforeAll, expect, test } from 'vitest';
import { erasePerson } from '../../server/domain/accounts/erasure.ts';
import { openService, type TestService } from '../harness.ts';
import { locksWaited } from '../locks.ts';
import { connect } from '../policies/scene.ts';
import { signInAs } from './person.ts';

let service: TestService;
beforeAll(async () => {
  service = await openService({ scene: true });
});
afterAll(() => service?.close());

test('a broker who is erased while another takes them out of a deal is erased, and out of it', async () => {
  const { deal, brokerage, people } = service.scene;
  const outsider = people['outsider']!;
  const [part] = await service.sql<{ id: string }>(
    `insert into participants (deal_id, user_id, role, status) values ($1, $2, 'broker', 'active') returning id`,
    [deal, outsider],
  );
  await service.sql(`insert into members (brokerage_id, user_id, role, status) values ($1, $2, 'broker', 'active')`, [
    brokerage,
    outsider,
  ]);
  const broker = await signInAs(service, people['broker']!);
  const [holder, eraser] = await Promise.all([connect(service.connections.owner), connect(service.connections.owner)]);
  try {
    // Between its locks and what it changes, the erasure comes to somebody's place in the brokerage.
    await holder.query('begin');
    await holder.query('select from members where user_id = $1 for update', [outsider]);
    const erasure = erasePerson(eraser, outsider, async () => {});
    await expect.poll(() => locksWaited(service)).toBe(1);
    const removal = broker.ask(`/deals/${deal}/participants/${part!.id}`, undefined, 'DELETE');
    await expect.poll(() => locksWaited(service)).toBe(2);
    await holder.query('commit');
    const [{ pseudonym }, { status, body }] = await Promise.all([erasure, removal]);
    expect(pseudonym).toMatch(/^Former participant /);
    expect([status, body.error.details]).toEqual([
      400,
      [{ path: '', message: `${pseudonym} has already been removed.` }],
    ]);
    expect(await service.sql('select status from participants where id = $1', [part!.id])).toEqual([
      { status: 'removed' },
    ]);
  } finally {
    await Promise.all([holder.end(), eraser.end()]);
  }
});
