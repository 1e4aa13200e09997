/** An invitation reveals nothing about the account behind its address, until the invited person has accepted. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { anyId } from '../ids.ts';
import { addToken, caller as toolCaller } from '../tools/scene.ts';
import { signInAs, type SignedIn } from '../web/person.ts';
import { openScene, type WebScene } from '../web/scene.ts';
import { lookUp, mailedToken, openAccount } from './scene.ts';

let web: WebScene;
let broker: SignedIn;
let admin: SignedIn;
let count = 0;

beforeAll(async () => {
  web = await openScene({ config: { smtpUrl: 'smtp://mail.example.com' } });
  broker = await web.as('broker');
  admin = await web.as('admin');
});
afterAll(() => web?.close());

/** The people, or nobody, to whom an address may belong. */
const behind = {
  nobody: async () => null,
  'somebody with an account': (email: string) => openAccount(web.service, { email, name: 'Real Name' }),
  'somebody who is suspended': async (email: string) => {
    const account = await openAccount(web.service, { email, name: 'Real Name' });
    await web.service.sql('update users set suspended_at = app.now() where id = $1', [account.id]);
    return account;
  },
  'somebody invited elsewhere': async (email: string) => {
    const [user] = await web.service.sql<{ id: string }>(
      `insert into users (email, name) values ($1, 'Real Name') returning id`,
      [email],
    );
    return { id: user?.id ?? '', email, name: 'Real Name', password: '' };
  },
};

/** The value as text, without the parts that differ from one invitation to the next. */
function alike(value: unknown, email: string): string {
  return JSON.stringify(value)
    .replaceAll(email, 'EMAIL')
    .replaceAll(encodeURIComponent(email), 'EMAIL')
    .replaceAll(anyId, 'ID')
    .replaceAll(/token(=|%3D|" value="|\\" value=\\")[A-Za-z0-9_-]{43}/g, 'TOKEN')
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'TIME');
}

const tokenOf = (url: string) => new URLSearchParams(new URL(url).hash.slice(1)).get('token') ?? '';

/** What the link shows to its holder, signed out and as the broker who created it. */
async function linkAsSeen(token: string) {
  const look = async (headers: Record<string, string>) => {
    const { headers: type, ...init } = lookUp(token);
    const response = await fetch(`${web.service.origin}/api/auth/invitation`, {
      ...init,
      headers: { ...(type as Record<string, string>), ...headers },
    });
    return [response.status, await response.text()];
  };
  return [await look({}), await look({ cookie: broker.headers['cookie']! })];
}

const mailTo = async (email: string) => {
  const found = (await web.service.deliver()).filter(({ to }) => to === email);
  expect(found).not.toEqual([]);
  return found;
};

async function toADeal(email: string) {
  const path = `/deals/${web.scene.deal}/participants`;
  const input = { email, name: 'Typed Name', role: 'buyer', advises: null, deliver: 'link' };
  const made = await broker.ask(path, input);
  const { id } = made.body.participant;
  const { participants } = (await broker.ask(`/deals/${web.scene.deal}`)).body;
  const nda = await broker.ask(`/deals/${web.scene.deal}/ndas`, { participant_id: id, terms: 'Keep it.' });
  const tool = toolCaller(web.service, await addToken(web.service, web.scene.people['broker']!));
  const people = (await tool('svc_deals_get', { deal_id: web.scene.deal })).structuredContent['participants'];
  const ids = [made.body.participant.user_id, (people as { user_id: string }[]).at(-1)?.user_id];
  const renewed = await broker.ask(`${path}/${id}/invitation`, { deliver: 'mail' });
  const mails = await mailTo(email);
  const last = await broker.ask(`${path}/${id}/invitation`, { deliver: 'link' });
  const seen = await linkAsSeen(tokenOf(last.body.invitation_url));
  const removed = await broker.ask(`${path}/${id}`, undefined, 'DELETE');
  const gone = removed.body.participants.filter((one: { id: string }) => one.id === id);
  const responses = [
    made,
    participants.filter((one: { id: string }) => one.id === id),
    nda,
    (people as unknown[]).at(-1),
    renewed,
    last,
    seen,
    gone,
    mails,
  ];
  return { responses, ids, known: id };
}

async function toABrokerage(email: string) {
  const path = `/brokerages/${web.scene.brokerage}/members`;
  const made = await admin.ask(path, { email, name: 'Typed Name', role: 'staff', deliver: 'link' });
  const id: string = made.body.member.user_id;
  const ofIt = (items: { email: string }[]) => items.filter((one) => one.email === email);
  const listed = [ofIt((await admin.ask(path)).body.items), ofIt((await broker.ask(path)).body.items)];
  const renewed = await admin.ask(`${path}/${id}/invitation`, { deliver: 'mail' });
  const mails = await mailTo(email);
  const last = await admin.ask(`${path}/${id}/invitation`, { deliver: 'link' });
  const seen = await linkAsSeen(tokenOf(last.body.invitation_url));
  const role = await admin.ask(`${path}/${id}`, { role: 'broker' }, 'PATCH');
  const removed = await admin.ask(`${path}/${id}`, undefined, 'DELETE');
  const records = (await admin.ask(`/audit?brokerage_id=${web.scene.brokerage}&action=member.&limit=4`)).body.items.map(
    ({ action, subject_id, details }: Record<string, unknown>) => ({ action, subject_id, details }),
  );
  expect(new Set(records.map((one: { subject_id: string }) => one.subject_id))).toEqual(new Set([id]));
  return { responses: [made, listed, renewed, last, seen, role, removed, mails, records], ids: [id], known: id };
}

describe.each([
  ['to a deal', toADeal],
  ['to a brokerage', toABrokerage],
])('an invitation %s', (_, invite) => {
  it('shows the entered name and no account data, whether or not the address has an account', async () => {
    const responses: Record<string, string> = {};
    for (const [who, arrange] of Object.entries(behind)) {
      const email = `somebody.${(count += 1)}@people.example`;
      const account = await arrange(email);
      const { responses: answers, ids } = await invite(email);
      const [user] = await web.service.sql<{ id: string }>('select id from users where email = $1', [email]);
      const text = JSON.stringify(answers);
      expect(text).not.toContain('Real Name');
      expect(text).not.toContain(user?.id);
      expect(ids).not.toContain(user?.id);
      expect(account === null || account.id === user?.id).toBe(true);
      responses[who] = alike(answers, email);
    }
    for (const who of Object.keys(behind)) expect([who, responses[who]]).toEqual([who, responses['nobody']]);
  });
});

it('a participant is shown with the account’s own id and name after acceptance', async () => {
  const email = `somebody.${(count += 1)}@people.example`;
  const account = await openAccount(web.service, { email, name: 'Real Name' });
  const path = `/deals/${web.scene.deal}/participants`;
  const input = { email, name: 'Typed Name', role: 'viewer', advises: null };
  const { participant } = (await broker.ask(path, input)).body;
  await (await signInAs(web.service, account.id)).ask(`/invitations/${participant.id}/accept`, {});
  const { participants } = (await broker.ask(`/deals/${web.scene.deal}`)).body;
  expect(participants.find((one: { id: string }) => one.id === participant.id)).toMatchObject({
    user_id: account.id,
    name: 'Real Name',
    status: 'active',
  });
});

it('a declined invitation reveals nothing about the invitee’s account', async () => {
  const email = `somebody.${(count += 1)}@people.example`;
  const account = await openAccount(web.service, { email, name: 'Real Name' });
  const input = { email, name: 'Typed Name', role: 'viewer', advises: null };
  const { participant } = (await broker.ask(`/deals/${web.scene.deal}/participants`, input)).body;
  const invited = await signInAs(web.service, account.id);
  expect((await invited.ask(`/invitations/${participant.id}/decline`, {})).status).toBe(204);
  const activity = (await broker.ask(`/deals/${web.scene.deal}/activity`)).body.items;
  expect(activity[0]).toMatchObject({ user_id: null, user_name: 'Typed Name', summary: 'declined an invitation' });
  for (const seen of [activity, (await broker.ask(`/deals/${web.scene.deal}`)).body, (await admin.ask('/audit')).body])
    expect(JSON.stringify(seen)).not.toContain(account.id);
  expect((await invited.ask('/audit')).body.items[0]).toMatchObject({ action: 'invitation.decline', deal_id: null });
});

it('an invitation link sent by e-mail shows whether the address has a password', async () => {
  for (const has of [true, false]) {
    const email = `somebody.${(count += 1)}@people.example`;
    if (has) await openAccount(web.service, { email });
    const input = { email, name: 'Typed Name', role: 'viewer', advises: null, deliver: 'mail' };
    await broker.ask(`/deals/${web.scene.deal}/participants`, input);
    await mailTo(email);
    const token = await mailedToken(web.service, 'invites you');
    const response = await fetch(`${web.service.origin}/api/auth/invitation`, lookUp(token));
    expect(await response.json()).toMatchObject({ has_password: has });
  }
});
