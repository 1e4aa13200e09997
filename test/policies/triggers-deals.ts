/** The triggers on deals: exclusivity, states and stages, and what a closed deal still accepts. */

import assert from 'node:assert/strict';
import type { Check } from './scene.ts';
import { checkInto, dealOf, granting, literal, moving, nda, stateOf } from './trial.ts';

export const dealsChecks: Check[] = [];
const check = checkInto(dealsChecks);

check('exclusivity is granted to an active buyer of the deal, for the time to come, by a broker', async (trial) => {
  const { as, past } = trial;
  const on = await dealOf(trial);
  const other = await dealOf(trial);
  for (const part of [other.buyer, on.seller, on.gone])
    assert.equal(await as('broker', granting(on.deal, part, 9)), 'not_an_active_buyer');
  // A participant who may not grant exclusivity learns nothing about whom it could be granted to.
  assert.equal(await as('seller', granting(on.deal, on.gone, 9)), '42501');
  assert.equal(await as('broker', granting(on.deal, on.buyer, -1)), 'expires_in_the_past');
  assert.equal(await as('broker', granting(on.deal, on.buyer, 9)), 'done');
  assert.equal(await as('broker', granting(on.deal, on.otherBuyer, 9)), 'exclusivity_runs');
  // The same rules hold for the owner who loads data, but the owner need not name the person.
  assert.equal(await past(null, granting(other.deal, other.buyer, 9)), 'done');
});

check('exclusivity that has lapsed or was released makes room for another, and stays as it ended', async (trial) => {
  const { as, at, value } = trial;
  const on = await dealOf(trial);
  const ends = `select array_agg(x.ended_at order by x.granted_at) from exclusivities x where x.deal_id = '${on.deal}'`;
  assert.equal(await as('broker', granting(on.deal, on.buyer, 5)), 'done');
  await at(1);
  assert.equal(
    await as('broker', `update exclusivities set ended_at = '2999-01-01' where deal_id = $1`, on.deal),
    'done',
  );
  assert.equal(await stateOf(trial, on.deal), 'listed');
  assert.equal(await value(`select ended_at = app.now() from exclusivities where deal_id = '${on.deal}'`), true);
  await at(8);
  assert.equal(await as('broker', granting(on.deal, on.otherBuyer, 5)), 'done');
  await at(14);
  assert.equal(await as('broker', granting(on.deal, on.buyer, 5)), 'done');
  assert.equal(
    await value(`select every(x.ended_at = x.expires_at) from exclusivities x
      where x.deal_id = '${on.deal}' and x.participant_id = '${on.otherBuyer}'`),
    true,
  );
  assert.equal(((await value(ends)) as unknown[]).filter((ended) => ended === null).length, 1);
  assert.equal(
    await as(
      'broker',
      `update exclusivities set expires_at = '2999-01-01' where deal_id = $1 and ended_at is not null`,
      on.deal,
    ),
    'exclusivity_over',
  );
});

check('the end of an exclusivity is moved while it runs, or while the deal goes on with the buyer', async (trial) => {
  const { as, past, at } = trial;
  const on = await dealOf(trial);
  const until = (when: string) => `update exclusivities set expires_at = ${when} where deal_id = '${on.deal}'`;
  assert.equal(await as('broker', granting(on.deal, on.buyer, 5)), 'done');
  assert.equal(await as('broker', `update exclusivities set ended_at = null where deal_id = $1`, on.deal), 'done');
  assert.equal(await stateOf(trial, on.deal), 'exclusivity');
  await at(2);
  assert.equal(await as('broker', until(`app.now() - interval '1 hour'`)), 'expires_in_the_past');
  assert.equal(await as('broker', until(`app.now() + interval '2 days'`)), 'done');
  await at(6);
  assert.equal(await as('broker', until('expires_at')), 'done');
  assert.equal(await as('broker', until(`app.now() + interval '9 days'`)), 'exclusivity_over');
  assert.equal(await past(null, until(`app.now() - interval '1 day'`)), 'done');
  const further = await dealOf(trial);
  assert.equal(await as('broker', granting(further.deal, further.buyer, 5)), 'done');
  assert.equal(await as('broker', moving(further.deal, 'diligence')), 'done');
  await at(20);
  assert.equal(
    await as(
      'broker',
      `update exclusivities set expires_at = app.now() + interval '9 days' where deal_id = $1`,
      further.deal,
    ),
    'done',
  );
  // An exclusivity that ends or begins in diligence does not change the deal's state.
  assert.equal(
    await as('broker', 'update exclusivities set ended_at = app.now() where deal_id = $1', further.deal),
    'done',
  );
  assert.equal(await stateOf(trial, further.deal), 'diligence');
  assert.equal(await as('broker', granting(further.deal, further.buyer, 5)), 'done');
  assert.equal(await stateOf(trial, further.deal), 'diligence');
});

check('a deal goes from state to state as the decisions say, and its stage with it', async (trial) => {
  const { as, past, at, value } = trial;
  const kept = await dealOf(trial, { state: 'diligence' });
  const on = await dealOf(trial, { state: 'draft' });
  for (const state of ['closing', 'closed', 'under_offer'])
    assert.equal(await as('broker', moving(on.deal, state)), 'move_not_allowed');
  assert.equal(await as('broker', moving(on.deal, 'listed')), 'done');
  assert.equal(await as('broker', moving(on.deal, 'exclusivity')), 'exclusivity_missing');
  assert.equal(await as('broker', granting(on.deal, on.buyer, 5)), 'done');
  assert.equal(await as('broker', moving(on.deal, 'listed')), 'exclusivity_runs');
  assert.equal(await as('broker', 'update exclusivities set ended_at = app.now() where deal_id = $1', on.deal), 'done');
  assert.equal(await as('broker', granting(on.deal, on.buyer, 5)), 'done');
  assert.equal(await value(`select state from deals where id = '${on.deal}'`), 'under_offer');
  assert.equal(await as('broker', moving(on.deal, 'diligence')), 'done');
  assert.equal(await as('broker', moving(on.deal, 'withdrawn')), 'done');
  assert.equal(await stateOf(trial, on.deal), 'withdrawn');
  assert.equal(await value(`select count(*) from exclusivities where deal_id = '${on.deal}' and ended_at is null`), 0);
  assert.equal(await stateOf(trial, kept.deal), 'diligence');
  // When the exclusivity has lapsed, the deal is listed again, from then on.
  const lapsed = await dealOf(trial);
  assert.equal(await as('broker', granting(lapsed.deal, lapsed.buyer, 5)), 'done');
  await at(6);
  assert.equal(await as('broker', moving(lapsed.deal, 'exclusivity')), 'done');
  assert.equal(await as('broker', moving(lapsed.deal, 'listed')), 'done');
  assert.equal(await stateOf(trial, lapsed.deal), 'listed');
  assert.equal(await as('broker', granting(lapsed.deal, lapsed.buyer, 5)), 'done');
  await at(12);
  assert.equal(await as('broker', moving(lapsed.deal, 'under_offer')), 'done');
  const closing = await dealOf(trial, { state: 'closing' });
  assert.equal(await as('broker', moving(closing.deal, 'closed')), 'done');
  const closedAt = `select closed_at from deals where id = '${closing.deal}'`;
  const closed = await value(closedAt);
  assert.ok(closed !== null);
  await at(13);
  assert.equal(await past(null, moving(closing.deal, 'closed')), 'done');
  assert.equal(await value(closedAt), closed);
  assert.equal(await as('broker', `update deals set title = 'X' where id = $1`, closing.deal), 'deal_closed');
});

check('a closed deal takes no more records, and another one does', async (trial) => {
  const { as, put } = trial;
  const add = `insert into findings (deal_id, category, title, severity) values ($1, 'tax', 'T', 'minor')`;
  const remark = `insert into finding_comments (finding_id, body) values ($1, 'B')`;
  for (const [state, becomes] of [
    ['closed', 'deal_closed'],
    ['listed', 'done'],
  ] as const) {
    const on = await dealOf(trial, { state });
    const finding = { deal_id: on.deal, participant_id: on.broker, category: 'tax', title: 'T', severity: 'minor' };
    assert.equal(await as('broker', add, on.deal), becomes);
    assert.equal(await as('broker', remark, await put('findings', finding)), becomes);
  }
});

check('a closed deal takes no change of the rows of its books, also among many rows of another one', async (trial) => {
  const { as, past, put } = trial;
  const tables = {
    pl_periods: { period_label: 'January', revenue: '1' },
    customer_revenues: { customer_name: 'A customer', revenue_total: '1' },
  };
  for (const [table, its] of Object.entries(tables)) {
    const books = async (state: string) => {
      const { deal } = await dealOf(trial, { state });
      const snapshot = await put('accounting_snapshots', { deal_id: deal, snapshot_type: 'full' });
      const dates = { period_start_date: '2026-01-01', period_end_date: '2026-01-31', currency: 'USD' };
      const row = { deal_id: deal, snapshot_id: snapshot, ...dates, ...its };
      return { deal, row, id: await put(table, row) };
    };
    const [open, closed] = [await books('diligence'), await books('closed')];
    const adding = (...rows: Record<string, string>[]) =>
      `insert into ${table} (${Object.keys(open.row).join(', ')})
       values ${rows.map((row) => `(${Object.values(row).map(literal).join(', ')})`).join(', ')}`;
    // Other dates, as an upload has each period once.
    const more = ({ row }: { row: Record<string, string> }) =>
      ['2025', '2024'].map((year) => ({
        ...row,
        period_start_date: `${year}-01-01`,
        period_end_date: `${year}-01-31`,
      }));
    const of = (...those: { id: string }[]) => `where id in (${those.map(({ id }) => literal(id)).join(', ')})`;
    const statements: [of: typeof as | typeof past, text: string, becomes: string][] = [
      [as, adding(...more(open)), 'done'],
      [as, adding({ ...more(open)[0]!, period_start_date: '2025-01-02' }, more(closed)[0]!), 'deal_closed'],
      [as, adding(...more(closed)), 'deal_closed'],
      [past, `update ${table} set currency = 'EUR' ${of(open)}`, 'done'],
      [past, `update ${table} set currency = 'EUR' ${of(open, closed)}`, 'deal_closed'],
      [past, `update ${table} set currency = 'EUR' ${of(closed)}`, 'deal_closed'],
      [past, `delete from ${table} ${of(open, closed)}`, 'deal_closed'],
      [past, `delete from ${table} ${of(closed)}`, 'deal_closed'],
      [past, `delete from ${table} ${of(open)}`, 'done'],
    ];
    for (const [by, text, becomes] of statements) assert.deepEqual([text, await by('broker', text)], [text, becomes]);
    // The service's own erasing and deleting works on closed deals, too.
    assert.equal(await past(null, `delete from ${table} ${of(closed)}`), 'done');
  }
});

check('other states go where the table of moves says, and the refusal says where', async (trial) => {
  const { past, put, value } = trial;
  const on = await dealOf(trial);
  const id = await put('ndas', nda(on, on.buyer));
  const to = (status: string) => past(null, `update ndas set status = '${status}' where id = '${id}'`);
  assert.equal(await to('sent'), 'move_not_allowed');
  assert.equal(await to('revoked'), 'done');
  assert.equal(await to('active'), 'move_not_allowed');
  const condition = await put('closing_conditions', { deal_id: on.deal, name: 'N', status: 'satisfied' });
  await trial.past(
    null,
    `create function pg_temp.said(statement text) returns text language plpgsql as $$
    begin execute statement; return ''; exception when others then return sqlerrm; end $$`,
  );
  assert.equal(
    await value(`select pg_temp.said('update closing_conditions set status = ''waived'' where id = ''${condition}''')`),
    'A closing condition cannot go from satisfied to waived. From satisfied it can go to: open.',
  );
  assert.equal(
    await value(`select pg_temp.said('update ndas set status = ''active'' where id = ''${id}''')`),
    'An NDA cannot go from revoked to active. From revoked it can go to: nothing.',
  );
});

check('when the end of an exclusivity was changed last is kept', async (trial) => {
  const { past, value } = trial;
  const on = await dealOf(trial, { state: 'listed' });
  const grant = `insert into exclusivities (deal_id, participant_id, expires_at) values ('${on.deal}', '${on.buyer}', app.now() + interval '9 days')`;
  assert.equal(await past('broker', grant), 'done');
  const changed = () => value(`select changed_at from exclusivities where deal_id = '${on.deal}'`);
  const move = (expires: string) =>
    past('broker', `update exclusivities set expires_at = ${expires} where deal_id = '${on.deal}'`);
  assert.equal(await move('expires_at'), 'done');
  assert.equal(await changed(), null);
  assert.equal(await move(`app.now() + interval '8 days'`), 'done');
  assert.ok((await changed()) !== null);
});
