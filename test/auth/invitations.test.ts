import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { lifetimes } from '../../server/domain/lifetimes.ts';
import { createNotifications } from '../../server/domain/notifications/events.ts';
import { acceptFirstInvitation } from '../../server/domain/people/invitations.ts';
import { hashPassword } from '../../server/domain/accounts/password-hashes.ts';
import { mintToken, tokenDigest } from '../../server/domain/accounts/secret-tokens.ts';
import { openService, type TestService } from '../harness.ts';
import { atOnce } from '../locks.ts';
import { signInAs, type SignedIn } from '../web/person.ts';
import {
  mailedToken,
  newPassword,
  openAccount,
  openBrokerage,
  signedInVisitor,
  Visitor,
  type Account,
} from './scene.ts';

let service: TestService;
let admin: Account;
let asAdmin: SignedIn;
let brokerageId: string;
const minute = 60_000;
const day = 24 * 60 * minute;
let count = 0;

beforeAll(async () => {
  service = await openService({ config: { smtpUrl: 'smtp://mail.example.com' } });
  ({ id: brokerageId, admin } = await openBrokerage(service));
});
beforeEach(async () => {
  service.clock.advance(minute);
  asAdmin = await signInAs(service, admin.id);
});
afterAll(() => service.close());

const newAddress = () => `guest${(count += 1)}@example.com`;

const members = () => `/brokerages/${brokerageId}/members`;
const tokenOf = (body: { invitation_url: string }) =>
  new URLSearchParams(new URL(body.invitation_url).hash.slice(1)).get('token') ?? '';

/** Invites a person and returns the token of their link. */
async function invite(email: string, role = 'broker'): Promise<string> {
  const { status, body } = await asAdmin.ask(members(), { email, name: 'Guest', role, deliver: 'link' });
  if (status !== 201) throw new Error(JSON.stringify(body));
  return tokenOf(body);
}

/** What the holder of the link may read of the invitation. */
const look = (token: string, by = new Visitor(service.origin)) => by.json('/api/auth/invitation', { token });

async function membership(email: string): Promise<{ role: string; status: string } | undefined> {
  const [member] = await service.sql<{ role: string; status: string }>(
    'select m.role, m.status from members m join users u on u.id = m.user_id where u.email = $1 and m.brokerage_id = $2',
    [email, brokerageId],
  );
  return member;
}

describe('an invitation to a brokerage', () => {
  it('opens an account with its link, only once', async () => {
    const email = newAddress();
    const token = await invite(email);
    expect(await membership(email)).toEqual({ role: 'broker', status: 'invited' });
    const guest = new Visitor(service.origin);
    expect(await look(token, guest)).toMatchObject({
      status: 200,
      body: { email, role: 'broker', kind: 'brokerage', brokerage_name: 'Harbor Brokers', deal_title: null },
    });
    const password = newPassword();
    const fields = { token, name: 'Gina Guest', password };
    const opened = await guest.json('/api/auth/invitation/accept', fields);
    expect([opened.status, opened.body]).toMatchObject([200, { outcome: 'signed_in', deal_id: null }]);
    expect((await guest.session())?.user).toMatchObject({ email, name: 'Gina Guest' });
    expect(await membership(email)).toEqual({ role: 'broker', status: 'active' });
    expect((await new Visitor(service.origin).signIn({ email, password })).status).toBe(200);
    const again = new Visitor(service.origin);
    expect((await again.json('/api/auth/invitation/accept', fields)).status).toBe(410);
    expect((await look(token, again)).status).toBe(410);
  });

  it('is mailed to the invitee without showing the link to the admin', async () => {
    const email = newAddress();
    const { body } = await asAdmin.ask(members(), { email, name: 'Guest', role: 'staff' });
    expect(body).toEqual({ member: expect.objectContaining({ email }), invitation_url: null, mailed: true });
    await expect.poll(async () => (await service.deliver()).at(-1)?.to).toBe(email);
    expect(service.mails.at(-1)?.text).toContain('Ada Admin invites you to Harbor Brokers');
    const token = await mailedToken(service, 'Ada Admin invites you');
    const guest = new Visitor(service.origin);
    const known = (await guest.json('/api/auth/invitation', { token })).body;
    expect(known).toMatchObject({
      email,
      kind: 'brokerage',
      brokerage_name: 'Harbor Brokers',
      role: 'staff',
      has_password: false,
    });
    const done = await guest.json('/api/auth/invitation/accept', { token, name: 'Guest', password: newPassword() });
    expect(done.body).toMatchObject({ outcome: 'signed_in', user: { email } });
  });

  it('requires the invitee’s own sign-in if the address has an account', async () => {
    const account = await openAccount(service);
    const token = await invite(account.email, 'staff');
    const stranger = new Visitor(service.origin);
    // The link does not tell somebody to whom it was forwarded whether there is an account.
    expect((await look(token, stranger)).body).toMatchObject({ email: account.email, has_password: null });
    const taken = await stranger.json('/api/auth/invitation/accept', { token, name: 'X', password: newPassword() });
    expect([taken.status, taken.body]).toMatchObject([409, { error: { code: 'has_account' } }]);
    expect(await stranger.session()).toBeNull();
    // The database does not open one either, when two links of one person are used at the same time.
    const session = { token: tokenDigest(mintToken()), earlier: null };
    const from = { address: null, agent: null, requestId: null };
    const phc = await hashPassword(newPassword(), service.config.passwordParameters);
    const [opened] = await service.asServer(acceptFirstInvitation(tokenDigest(token), 'X', phc, session, from));
    expect(opened).toBe(false);

    const other = await signedInVisitor(service, await openAccount(service));
    expect((await look(token, other)).body).toMatchObject({ yours: false });
    expect(await other.change('/api/auth/invitation/join', { token })).toMatchObject({
      status: 409,
      body: { error: { code: 'other_account' } },
    });
    expect(await membership(account.email)).toMatchObject({ status: 'invited' });

    const guest = await signedInVisitor(service, account);
    const done = await guest.change('/api/auth/invitation/join', { token });
    expect([done.status, done.body]).toEqual([200, { accepted: true, deal_id: null }]);
    expect(await membership(account.email)).toEqual({ role: 'staff', status: 'active' });
  });

  it('is accepted by the invited account after it moved to another address, and by nobody who has the old one', async () => {
    const account = await openAccount(service);
    const { email } = account;
    await asAdmin.ask(members(), { email, name: 'Guest', role: 'staff' });
    await expect.poll(async () => (await service.deliver()).at(-1)?.to).toBe(email);
    const token = await mailedToken(service, 'Ada Admin invites you');
    await service.sql('update users set email = $2 where id = $1', [account.id, `moved-${email}`]);
    const stranger = await openAccount(service, { email });
    const owner = await signedInVisitor(service, stranger);
    const moved = { email, has_password: true, moved: true };
    expect((await look(token)).body).toMatchObject({ ...moved, yours: null });
    expect((await look(token, owner)).body).toMatchObject({ ...moved, yours: false });
    for (const refused of [
      await owner.change('/api/auth/invitation/join', { token }),
      await owner.json('/api/auth/invitation/accept', { token, name: 'X', password: newPassword() }),
    ]) {
      expect(refused).toMatchObject({ status: 409, body: { error: { code: 'other_account' } } });
      expect(JSON.stringify(refused.body)).not.toContain('moved');
    }

    const guest = await signedInVisitor(service, { ...account, email: `moved-${email}` });
    expect((await look(token, guest)).body).toMatchObject({ ...moved, yours: true });
    expect((await guest.change('/api/auth/invitation/join', { token })).status).toBe(200);
    expect(await membership(`moved-${email}`)).toEqual({ role: 'staff', status: 'active' });
    expect(await membership(email)).toBeUndefined();
    expect((await guest.change('/api/auth/invitation/join', { token })).status).toBe(410);
  });

  it('is accepted only once when several requests arrive at the same time', async () => {
    const token = await invite(newAddress());
    const answers = await Promise.all(
      Array.from({ length: 5 }, () =>
        new Visitor(service.origin).json('/api/auth/invitation/accept', { token, name: 'G', password: newPassword() }),
      ),
    );
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(answers.every(({ status }) => [200, 409, 410].includes(status))).toBe(true);
  });

  it('ends after 14 days, on renewal, and on removal of the member', async () => {
    const first = newAddress();
    const expired = await invite(first);
    service.clock.advance(Number.parseInt(lifetimes.invitation, 10) * day - minute);
    const guest = new Visitor(service.origin);
    expect((await look(expired, guest)).status).toBe(200);
    service.clock.advance(minute + 1000);
    asAdmin = await signInAs(service, admin.id);
    expect((await look(expired, guest)).status).toBe(410);

    const [user] = await service.sql<{ id: string }>('select person_id as id from members where invited_email = $1', [
      first,
    ]);
    const again = async () =>
      tokenOf((await asAdmin.ask(`${members()}/${user?.id}/invitation`, { deliver: 'link' })).body);
    const replaced = await again();
    const renewed = await again();
    expect((await look(replaced, guest)).status).toBe(410);
    expect((await look(renewed, guest)).status).toBe(200);

    await asAdmin.ask(`${members()}/${user?.id}`, undefined, 'DELETE');
    expect((await look(renewed, guest)).status).toBe(410);
    const input = { token: renewed, name: 'G', password: newPassword() };
    expect((await guest.json('/api/auth/invitation/accept', input)).status).toBe(410);
  });

  it('stays usable after a weak password is rejected', async () => {
    const token = await invite(newAddress());
    const guest = new Visitor(service.origin);
    const accept = (password: string) => guest.json('/api/auth/invitation/accept', { token, name: 'Guest', password });
    const weak = await accept('password1');
    expect([weak.status, weak.body]).toMatchObject([
      400,
      { error: { code: 'password_refused', message: expect.stringContaining('easy to guess') } },
    ]);
    expect((await accept(newPassword())).status).toBe(200);
  });

  it('is created and removed only by admins of the brokerage', async () => {
    const broker = await openAccount(service);
    await service.sql(`insert into members (brokerage_id, user_id, role) values ($1, $2, 'broker')`, [
      brokerageId,
      broker.id,
    ]);
    const stranger = await openAccount(service);
    for (const [account, refused] of [
      [broker, 403],
      [stranger, 404],
    ] as const) {
      const person = await signInAs(service, account.id);
      const email = newAddress();
      const input = { email, name: 'G', role: 'admin', deliver: 'link' };
      expect((await person.ask(members(), input)).status).toBe(refused);
      expect((await person.ask(`${members()}/${admin.id}`, undefined, 'DELETE')).status).toBe(refused);
      expect(await service.sql('select from users where email = $1', [email])).toHaveLength(0);
    }
  });

  it('waits on the home page of an account until its link expires, and is accepted or declined there', async () => {
    const account = await openAccount(service);
    const guest = await signInAs(service, account.id);
    const waiting = async () => (await guest.ask('/home')).body.memberships;
    const answer = async (how: string, who = guest) =>
      (await who.ask(`/brokerages/${brokerageId}/invitation/${how}`, {})).status;
    const listed = async () =>
      (await asAdmin.ask(members())).body.items.find((one: { email: string }) => one.email === account.email);
    expect([await waiting(), await answer('accept')]).toEqual([[], 404]);

    const token = await invite(account.email, 'staff');
    const { status, link_until: until } = await listed();
    const left = Date.parse(until) - service.clock.now().getTime();
    expect([status, Math.round(left / day)]).toEqual(['invited', 14]);
    expect(await waiting()).toEqual([
      { brokerage_id: brokerageId, brokerage_name: 'Harbor Brokers', role: 'staff', expires_at: until },
    ]);
    expect(await answer('accept', asAdmin)).toBe(404);
    expect(await answer('decline')).toBe(204);
    expect([await waiting(), await listed(), (await look(token)).status]).toEqual([[], undefined, 410]);
    // The brokerage sees the name that it typed, and not whose account it was.
    const trail = (await asAdmin.ask(`/audit?brokerage_id=${brokerageId}&action=invitation.decline`)).body.items;
    expect(trail).toMatchObject([{ user_id: null, user_name: 'Guest', address: null, details: {} }]);

    await invite(account.email, 'staff');
    await service.sql('update vault.passwords set address_proven_at = null where user_id = $1', [account.id]);
    expect([await waiting(), await answer('accept')]).toEqual([[], 404]);
    await service.sql('update vault.passwords set address_proven_at = app.now() where user_id = $1', [account.id]);
    service.clock.advance(14 * day);
    const late = await signInAs(service, account.id);
    asAdmin = await signInAs(service, admin.id);
    expect([(await late.ask('/home')).body.memberships, await answer('accept', late)]).toEqual([[], 404]);
    expect(Date.parse((await listed()).link_until)).toBeLessThanOrEqual(service.clock.now().getTime());

    const renewed = await invite(account.email, 'broker');
    expect(await answer('accept', late)).toBe(204);
    expect([await membership(account.email), (await look(renewed)).status, await answer('decline', late)]).toEqual([
      { role: 'broker', status: 'active' },
      410,
      404,
    ]);
    expect(await listed()).toMatchObject({ user_id: account.id, link_until: null });
  });

  it('proves the invitee’s mailbox if the link was mailed, but not if it was passed on by hand', async () => {
    for (const deliver of ['link', 'mail']) {
      const account = await openAccount(service);
      await service.sql('update vault.passwords set address_proven_at = null where user_id = $1', [account.id]);
      const guest = await signedInVisitor(service, account);
      let token: string;
      if (deliver === 'link') token = await invite(account.email);
      else {
        await asAdmin.ask(members(), { email: account.email, name: 'Guest', role: 'staff' });
        await expect.poll(async () => (await service.deliver()).at(-1)?.to).toBe(account.email);
        token = await mailedToken(service, 'invites you');
      }
      expect((await guest.change('/api/auth/invitation/join', { token })).body).toMatchObject({ accepted: true });
      const [known] = await service.sql(
        'select address_proven_at is not null as proven from vault.passwords where user_id = $1',
        [account.id],
      );
      expect([deliver, known]).toEqual([deliver, { proven: deliver === 'mail' }]);
    }
  });

  it('is rejected for an existing member, and does not rename an existing user', async () => {
    const account = await openAccount(service);
    await invite(account.email);
    const [{ name } = { name: '' }] = await service.sql<{ name: string }>('select name from users where id = $1', [
      account.id,
    ]);
    expect(name).toBe(account.name);
    const again = { email: admin.email, name: 'X', role: 'staff', deliver: 'link' };
    const { status, body } = await asAdmin.ask(members(), again);
    expect([status, body]).toMatchObject([409, { error: { code: 'already_member' } }]);
  });

  it('that waits is sent again or withdrawn: inviting its address anew changes nothing of it', async () => {
    for (const email of [newAddress(), (await openAccount(service)).email]) {
      const ask = (name: string, role: string) => asAdmin.ask(members(), { email, name, role, deliver: 'link' });
      const [one, other] = await Promise.all([ask('Guest', 'broker'), ask('Guest', 'broker')]);
      expect([one.status, other.status].toSorted()).toEqual([201, 409]);
      const { body } = one.status === 201 ? one : other;
      expect(await ask('Somebody', 'admin')).toMatchObject({
        status: 409,
        body: { error: { code: 'already_invited' } },
      });
      expect((await look(tokenOf(body))).body).toMatchObject({ role: 'broker', name: 'Guest' });
      const path = `${members()}/${body.member.user_id}`;
      expect((await asAdmin.ask(`${path}/invitation`, { deliver: 'link' })).status).toBe(200);
      expect((await asAdmin.ask(path, undefined, 'DELETE')).status).toBe(200);
      expect((await ask('Somebody', 'staff')).status).toBe(201);
    }
  });

  it('the last admin cannot be removed', async () => {
    const { status, body } = await asAdmin.ask(`${members()}/${admin.id}`, undefined, 'DELETE');
    expect([status, body]).toMatchObject([409, { error: { code: 'last_admin' } }]);
  });
});

describe('an invitation to a deal', () => {
  const linkOf = (deal: string, participant: string) => `/deals/${deal}/participants/${participant}/invitation`;

  async function inviteToDeal(email: string) {
    const [deal] = await service.sql<{ id: string }>(
      `insert into deals (organization_id, title) values ($1, 'Bakery with three shops') returning id`,
      [brokerageId],
    );
    const [user] = await service.sql<{ id: string }>(
      `insert into users (email, name) values ($1, 'Guest') on conflict (email) do update set name = users.name returning id`,
      [email],
    );
    const [participant] = await service.sql<{ id: string }>(
      `insert into participants (deal_id, user_id, role) values ($1, $2, 'buyer') returning id`,
      [deal?.id, user?.id],
    );
    return { dealId: deal?.id ?? '', participantId: participant?.id ?? '' };
  }

  it('activates the participant and leads to the deal', async () => {
    const { dealId, participantId } = await inviteToDeal(newAddress());
    const { body } = await asAdmin.ask(linkOf(dealId, participantId), { deliver: 'link' });
    const token = tokenOf(body);
    const guest = new Visitor(service.origin);
    expect((await look(token, guest)).body).toMatchObject({
      kind: 'deal',
      deal_title: 'Bakery with three shops',
      role: 'buyer',
    });
    const done = await guest.json('/api/auth/invitation/accept', { token, name: 'Guest', password: newPassword() });
    expect(done.body).toMatchObject({ outcome: 'signed_in', deal_id: dealId });
    const [participant] = await service.sql('select status from participants where id = $1', [participantId]);
    expect(participant).toEqual({ status: 'active' });
  });

  it.each(['link', 'mail'])('is accepted by an invitee with an account (%s)', async (deliver) => {
    const account = await openAccount(service);
    const { dealId, participantId } = await inviteToDeal(account.email);
    const { body } = await asAdmin.ask(linkOf(dealId, participantId), { deliver });
    if (deliver === 'mail') await expect.poll(async () => (await service.deliver()).at(-1)?.to).toBe(account.email);
    const token = deliver === 'link' ? tokenOf(body) : await mailedToken(service, 'invites you');
    // Only a link that was mailed shows its holder whether the address has an account.
    expect((await look(token)).body).toMatchObject({ has_password: deliver === 'link' ? null : true });
    const guest = await signedInVisitor(service, account);
    const joined = await guest.change('/api/auth/invitation/join', { token });
    expect(joined.body).toMatchObject({ accepted: true, deal_id: dealId });
    const [participant] = await service.sql('select status from participants where id = $1', [participantId]);
    expect(participant).toEqual({ status: 'active' });
  });

  it('is recorded on acceptance in the audit trail and the deal’s activity, by link or on the home page', async () => {
    const { dealId, participantId } = await inviteToDeal(newAddress());
    const seller = await openAccount(service);
    await service.sql(`insert into participants (deal_id, user_id, role, status) values ($1, $2, 'seller', 'active')`, [
      dealId,
      seller.id,
    ]);
    const { body } = await asAdmin.ask(linkOf(dealId, participantId), { deliver: 'link' });
    const guest = new Visitor(service.origin);
    const fields = { token: tokenOf(body), name: 'Linda Link', password: newPassword() };
    expect((await guest.json('/api/auth/invitation/accept', fields)).status).toBe(200);
    service.clock.advance(1000);
    const account = await openAccount(service);
    const [other] = await service.sql<{ id: string }>(
      `insert into participants (deal_id, user_id, role) values ($1, $2, 'buyer') returning id`,
      [dealId, account.id],
    );
    expect((await (await signInAs(service, account.id)).ask(`/invitations/${other?.id}/accept`, {})).status).toBe(200);

    const trail = (await asAdmin.ask(`/audit?brokerage_id=${brokerageId}&action=invitation.accept&limit=50`)).body
      .items as { deal_id: string | null; subject_id: string | null; user_name: string }[];
    const joined = trail.filter(({ deal_id }) => deal_id === dealId);
    expect(joined.map(({ subject_id, user_name }) => [subject_id, user_name])).toEqual([
      [other?.id, account.name],
      [participantId, 'Linda Link'],
    ]);
    const activity = (await (await signInAs(service, seller.id)).ask(`/deals/${dealId}/activity`)).body.items;
    expect(activity.map(({ summary }: { summary: string }) => summary)).toEqual([
      'joined',
      'joined',
      'invited a buyer',
    ]);
  });

  it('cannot be created by an outsider', async () => {
    const { dealId, participantId } = await inviteToDeal(newAddress());
    const stranger = await signInAs(service, (await openAccount(service)).id);
    expect((await stranger.ask(linkOf(dealId, participantId), { deliver: 'link' })).status).toBe(404);
  });
});

describe('an address that was invited before its owner gave it to their account', () => {
  const changeMail = 'Confirm your new e-mail address';

  /** The person's browser, and the change of their address to one that they have invitations at, still to be confirmed. */
  async function about(invited: string) {
    const account = await openAccount(service);
    const here = await signedInVisitor(service, account);
    await here.change('/api/auth/address', { email: invited });
    await expect.poll(async () => (await service.deliver()).at(-1)).toMatchObject({ to: invited, subject: changeMail });
    const token = await mailedToken(service, changeMail);
    return { account, here, confirm: () => here.change('/api/auth/address/confirm', { token }) };
  }
  const addDeal = async () => {
    const [deal] = await service.sql<{ id: string }>(
      `insert into deals (organization_id, title) values ($1, 'A deal') returning id`,
      [brokerageId],
    );
    return `/deals/${deal!.id}/participants`;
  };
  const guest = (email: string, role: string) => ({ email, name: 'Guest', role, advises: null });

  it('becomes theirs, with the invitations that wait there', async () => {
    const email = newAddress();
    const deal = await addDeal();
    const { body } = await asAdmin.ask(deal, guest(email, 'viewer'));
    const member = await asAdmin.ask(members(), { email, name: 'Guest', role: 'staff' });
    await expect.poll(async () => (await service.deliver()).filter(({ to }) => to === email)).toHaveLength(2);
    const links = service.mails
      .filter(({ to }) => to === email)
      .map(({ text }) => /token=([A-Za-z0-9_-]{43})/.exec(text)?.[1]);
    const listed = async () =>
      [
        ...(await asAdmin.ask(`/deals/${deal.split('/')[2]}`)).body.participants,
        ...(await asAdmin.ask(members())).body.items,
      ]
        .filter((one: { email: string }) => one.email === email)
        .map((one: object) => ({ ...one, updated_at: null }));
    const before = await listed();
    const { here, confirm, account } = await about(email);
    expect(await confirm()).toMatchObject({ status: 200, body: { email } });
    expect((await here.session())?.user).toMatchObject({ id: account.id, email });
    // Those who invited see no change.
    expect(await listed()).toEqual(before);
    const home = (await (await here.send('/api/web/home')).json()) as { invitations: object[] };
    expect(home.invitations).toMatchObject([{ participant_id: body.participant.id, deal_title: 'A deal' }]);

    expect(member.body.member).toMatchObject({ email, status: 'invited' });
    for (const token of links)
      expect((await here.change('/api/auth/invitation/join', { token })).body).toMatchObject({ accepted: true });
    expect(await membership(email)).toEqual({ role: 'staff', status: 'active' });
    expect(await service.sql(`select from users where email = $1`, [email])).toHaveLength(1);
  });

  it('becomes theirs without the invitation to where they have a place already', async () => {
    const email = newAddress();
    const deal = await addDeal();
    const { body } = await asAdmin.ask(deal, { ...guest(email, 'buyer'), deliver: 'link' });
    const { account, here, confirm } = await about(email);
    await service.sql(`insert into participants (deal_id, user_id, role, status) values ($1, $2, 'seller', 'active')`, [
      deal.split('/')[2],
      account.id,
    ]);
    expect((await confirm()).status).toBe(200);
    const { participants } = (await asAdmin.ask(`/deals/${deal.split('/')[2]}`)).body;
    expect(participants).toMatchObject([
      { user_id: account.id, email, role: 'seller', status: 'active' },
      { id: body.participant.id, email, role: 'buyer', status: 'removed' },
    ]);
    expect((await look(tokenOf(body), here)).status).toBe(410);
  });

  it('becomes theirs without the invitation of the buyer whom they advise, and all who leave by it are told', async () => {
    const email = newAddress();
    const deal = await addDeal();
    const dealId = deal.split('/')[2]!;
    const { body } = await asAdmin.ask(deal, { ...guest(email, 'buyer'), deliver: 'link' });
    const { account, here, confirm } = await about(email);
    const [broker, colleague] = [await openAccount(service), await openAccount(service)];
    for (const [{ id }, role, advises] of [
      [broker, 'broker', null],
      [account, 'advisor', body.participant.id],
      [colleague, 'advisor', body.participant.id],
    ] as const)
      await service.sql(
        `insert into participants (deal_id, user_id, role, status, advises) values ($1, $2, $3, 'active', $4)`,
        [dealId, id, role, advises],
      );
    const waiting = { ...guest(newAddress(), 'advisor'), advises: body.participant.id, deliver: 'link' };
    const invited = (await asAdmin.ask(deal, waiting)).body;
    expect((await confirm()).status).toBe(200);

    // Nobody gets more by it: neither the place of the buyer, nor one that returns with them.
    const { participants } = (await asAdmin.ask(`/deals/${dealId}`)).body;
    const shown = participants.map((one: Record<string, string>) => [one['name'], one['role'], one['status']]);
    expect(shown).toEqual([
      [broker.name, 'broker', 'active'],
      ['Guest', 'buyer', 'removed'],
      [account.name, 'advisor', 'removed'],
      [colleague.name, 'advisor', 'removed'],
      ['Guest', 'advisor', 'removed'],
    ]);
    for (const link of [body, invited]) expect((await look(tokenOf(link), here)).status).toBe(410);
    expect((await here.send(`/api/web/deals/${dealId}`)).status).toBe(404);

    // Nobody loses a place without being told, and nobody reads that the person has removed anybody.
    const latest = async (id: string) => {
      while ((await service.database.run(createNotifications(100))) > 0);
      const { items } = (await (await signInAs(service, id)).ask('/notifications')).body;
      return items.map((one: Record<string, unknown>) => [one['kind'], one['deal_id'], one['summary']]);
    };
    const told = ['removed', null, 'You no longer take part in a deal.'];
    for (const { id } of [account, colleague]) expect(await latest(id)).toEqual([told]);
    const heard = (await latest(broker.id)).filter(([kind]: [string]) => kind === 'removed');
    const said = ['removed', dealId, 'Someone was removed.'];
    expect(heard).toEqual([said, said, said, said]);
    const { items } = (await (await signInAs(service, broker.id)).ask(`/deals/${dealId}/activity`)).body;
    const done = items.map((one: Record<string, unknown>) => [one['user_name'], one['actor'], one['summary']]);
    expect(done.slice(0, 4).toSorted()).toEqual([
      [null, null, 'removed someone'],
      [null, null, 'removed someone'],
      [null, null, 'withdrew an invitation'],
      [null, null, 'withdrew an invitation'],
    ]);
  });

  it('stays with an account that is suspended or held, or has joined something', async () => {
    for (const [text, of] of [
      [`update users set suspended_at = app.now() where email = $1`, 'suspended'],
      [`insert into vault.legal_holds (kind, subject_id) select 'person', id from users where email = $1`, 'held'],
      [
        `update members set status = 'active' where user_id = (select id from users where email = $1)`,
        'joined by an admin of before',
      ],
    ] as const) {
      const email = newAddress();
      await invite(email);
      const { here, confirm, account } = await about(email);
      await service.sql(text, [email]);
      const answer = await confirm();
      expect([of, answer.status, answer.body]).toMatchObject([of, 409, { error: { code: 'address_taken' } }]);
      expect((await here.session())?.user.email).toBe(account.email);
    }
  });

  it.each(['opening the account', 'changing the address'])(
    'belongs to whoever is first, of both at once: %s',
    async (first) => {
      const email = newAddress();
      const token = await invite(email);
      const { confirm } = await about(email);
      const opened = new Visitor(service.origin);
      const open = () => opened.json('/api/auth/invitation/accept', { token, name: 'G', password: newPassword() });
      const [one, other] = first === 'opening the account' ? [open, confirm] : [confirm, open];
      const answers = await atOnce(service, ['users', 'email', email], one, other);
      expect(answers.map(({ status }) => status)).toEqual([200, 409]);
      expect(await service.sql(`select from users where email = $1`, [email])).toHaveLength(1);
    },
  );
});
