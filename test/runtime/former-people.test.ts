/** What people are called where they once took part, when they have another name or address since. */

import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { keyScopes } from '../../server/domain/clients/key-scopes.ts';
import { openAccount, signedInVisitor, type Account } from '../auth/scene.ts';
import { openService, type TestService } from '../harness.ts';
import { as, brokerage, type Brokerage } from '../rest/scene.ts';
import { signInAs } from '../web/person.ts';

let service: TestService;
beforeAll(async () => {
  service = await openService({ config: { smtpUrl: 'smtp://127.0.0.1:1' } });
});
afterAll(() => service?.close());

let nr = 0;
let tenant: Brokerage;
let deal: string;
/** A broker of the brokerage and of its deal. */
let bo: Account;
let seller: string;
beforeEach(async () => {
  nr += 1;
  tenant = await brokerage(service);
  bo = await openAccount(service, { email: `bo-${nr}@old-brokerage.example`, name: `Bo Before ${nr}` });
  await service.sql(`insert into members (brokerage_id, user_id, role) values ($1, $2, 'broker')`, [tenant.id, bo.id]);
  seller = (await openAccount(service, { email: `sal-${nr}@seller.example`, name: 'Sal Seller' })).id;
  const [made] = await service.sql<{ id: string }>(
    `insert into deals (organization_id, title, keys_admitted) values ($1, 'The bakery', true) returning id`,
    [tenant.id],
  );
  deal = made!.id;
  await service.sql(
    `insert into participants (deal_id, user_id, role, status)
     select $1, p, case when p = $2 then 'seller' else 'broker' end, 'active' from unnest($3::uuid[]) p`,
    [deal, seller, [bo.id, tenant.admin, seller]],
  );
  await service.sql(
    `insert into documents (deal_id, uploaded_by, filename, category, confidentiality, size_bytes, storage_key, media_type, sha256)
     values ($1, $2, 'Lease.pdf', 'Lease', 'public', 1, 'lease-' || gen_random_uuid(), 'application/pdf', sha256(''))`,
    [deal, bo.id],
  );
});

async function remove() {
  const admin = await signInAs(service, tenant.admin);
  const { status } = await admin.ask(`/brokerages/${tenant.id}/members/${bo.id}`, undefined, 'DELETE');
  expect(status).toBe(200);
}

const newName = () => `Bo Afterwards ${nr}`;
const newEmail = () => `bo-${nr}@competitor.example`;

/** The account gets another name and address, as the person does it. */
async function change() {
  const browser = await signedInVisitor(service, bo);
  expect((await browser.change('/api/auth/profile', { name: newName() })).status).toBe(200);
  expect((await browser.change('/api/auth/address', { email: newEmail() })).status).toBe(200);
  const mail = (await service.deliver()).findLast((sent) => sent.to === newEmail());
  const token = /[#&]token=([A-Za-z0-9_-]{43})/.exec(mail?.text ?? '')?.[1] ?? '';
  expect((await browser.change('/api/auth/address/confirm', { token })).status).toBe(200);
}

/** Everything that others are told about the deal, its brokerage and its people, as text. */
async function told(): Promise<string> {
  const admin = await signInAs(service, tenant.admin);
  const asSeller = await signInAs(service, seller);
  const rest = as(await tenant.key({ scopes: keyScopes }), service.restUrl);
  const pages = await Promise.all([
    admin.ask(`/deals/${deal}`),
    asSeller.ask(`/deals/${deal}`),
    admin.ask(`/deals/${deal}/documents`),
    admin.ask(`/deals/${deal}/activity`),
    admin.ask(`/audit?brokerage_id=${tenant.id}`),
    rest('GET', `/deals/${deal}/participants`),
    rest('GET', `/deals/${deal}/documents`),
    service.sql('select content from app.export_people($1, array[$2::uuid])', [tenant.id, deal]),
  ]);
  for (const page of pages) if ('status' in page) expect(page.status).toBe(200);
  return JSON.stringify(pages);
}

const updates = () =>
  service.sql(
    `select from change_events e join participants p on p.id = e.object_id
     where p.user_id = $1 and e.object_type = 'participant' and e.change = 'updated'`,
    [bo.id],
  );

test('whoever has left a deal and its brokerage keeps the name and address of that day there', async () => {
  const before = await told();
  for (const known of [bo.name, bo.email]) expect(before.split(known).length).toBeGreaterThan(3);
  await remove();
  const events = (await updates()).length;
  await change();
  const after = await told();
  expect(after).not.toMatch(/Afterwards|competitor/);
  for (const known of [bo.name, bo.email]) expect(after.split(known).length).toBeGreaterThan(3);
  // Nor are receivers of changes told that anything of it has changed.
  expect(await updates()).toHaveLength(events);
});

test('whoever left before names were written down is called there as before their next change', async () => {
  await remove();
  for (const table of ['participants', 'members'])
    await service.sql(`update ${table} set left_name = null, left_email = null where user_id = $1`, [bo.id]);
  expect(await told()).toContain(bo.name);
  await change();
  const after = await told();
  expect(after).not.toMatch(/Afterwards|competitor/);
  expect(after).toContain(bo.email);
});

test('whoever is there again, or has never left, is called as they are now', async () => {
  await change();
  expect(await told()).not.toContain(bo.name);
  await remove();
  await service.sql(`update users set name = 'Bo Again' where id = $1`, [bo.id]);
  expect(await told()).not.toContain('Bo Again');
  await service.sql(`update participants set status = 'invited' where user_id = $1`, [bo.id]);
  await service.sql(`update participants set status = 'active' where user_id = $1`, [bo.id]);
  await service.sql(`update members set status = 'active' where user_id = $1`, [bo.id]);
  const after = await told();
  expect(after).toContain('Bo Again');
  expect(after).not.toContain(newName());
});

test('whoever is invited back is called as when they left until they accept', async () => {
  const lists = async () => {
    const admin = await signInAs(service, tenant.admin);
    const { status, body } = await admin.ask(`/brokerages/${tenant.id}/members`);
    expect(status).toBe(200);
    return (await told()) + JSON.stringify(body);
  };
  const all = async (status: string) => {
    for (const table of ['participants', 'members'])
      await service.sql(`update ${table} set status = $2 where user_id = $1`, [bo.id, status]);
  };
  await remove();
  await all('invited');
  const events = (await updates()).length;
  await change();
  const invited = await lists();
  expect(invited).not.toMatch(/Afterwards|competitor/);
  for (const known of [bo.name, bo.email]) expect(invited.split(known).length).toBeGreaterThan(4);
  expect(await updates()).toHaveLength(events);
  // Nor does withdrawing the invitation, or declining it.
  await all('removed');
  expect(await lists()).not.toMatch(/Afterwards|competitor/);
  await all('invited');
  await all('active');
  const after = await lists();
  expect(after).toContain(newName());
  expect(after).not.toContain(bo.name);
});

test('whoever left before names were written down and is invited back is called as before their next change', async () => {
  await remove();
  for (const table of ['participants', 'members'])
    await service.sql(
      `update ${table} set status = 'invited', left_name = null, left_email = null where user_id = $1`,
      [bo.id],
    );
  await change();
  expect(await told()).not.toMatch(/Afterwards|competitor/);
});

test('whoever is erased after leaving has lost the name and address of that day, too', async () => {
  await remove();
  await change();
  const browser = await signedInVisitor(service, { ...bo, email: newEmail() });
  const { status, body } = await browser.change('/api/auth/erase', { confirmation: newEmail() });
  expect(status).toBe(200);
  const after = await told();
  expect(after).toContain(body['pseudonym']);
  expect(after).not.toMatch(new RegExp(`${bo.name}|${bo.email}|Afterwards|competitor`));
});
