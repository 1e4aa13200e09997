import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { row } from '../../server/database/statement.ts';
import { mintToken, tokenDigest } from '../../server/domain/accounts/secret-tokens.ts';
import { openService, type TestService } from '../harness.ts';
import { newPassword, Visitor } from './scene.ts';

let service: TestService;
beforeAll(async () => {
  service = await openService();
});
afterAll(() => service.close());

const offer = row<{ kept: boolean }>('test_offer_set_up', 'select app.offer_set_up($1) as kept');

async function offerLink(): Promise<string | null> {
  const token = mintToken();
  const [answer] = await service.asServer(offer(tokenDigest(token)));
  return answer?.kept ? token : null;
}

const fieldsOf = (token: string, name = 'Harbor Brokers Großmann, Łasisz & Sønnesön') => ({
  token,
  brokerage_name: name,
  name: 'Ada Admin',
  email: `ada-${Math.random()}@example.com`,
  password: newPassword(),
});

describe('an empty service', () => {
  it('is set up by one of several links, once, and its creator is signed in as the admin', async () => {
    expect(await (await fetch(`${service.origin}/api/auth/ways`)).json()).toEqual({ set_up_open: true });
    const [first, second, late] = [await offerLink(), await offerLink(), await offerLink()];
    if (!first || !second || !late) throw new Error('no links');
    service.clock.advance(60_000);
    const visitor = new Visitor(service.origin);
    const setUp = (input: object, by = visitor) => by.json('/api/auth/set-up', input);
    expect(await setUp({ ...fieldsOf('x'), name: ' ', email: 'ada' })).toMatchObject({
      status: 400,
      body: {
        error: {
          code: 'validation_error',
          message: 'The link is incomplete: open it again from where you got it.',
          details: [
            { path: 'token', message: 'The link is incomplete: open it again from where you got it.' },
            { path: 'name', message: 'Enter a name.' },
            { path: 'email', message: 'Enter an e-mail address, such as ann@example.com.' },
          ],
        },
      },
    });
    expect((await setUp(fieldsOf(mintToken()))).status).toBe(410);

    const weak = await setUp({ ...fieldsOf(first), password: 'harborbrokers' });
    expect([weak.status, weak.body]).toMatchObject([400, { error: { code: 'password_refused' } }]);

    const both = await Promise.all([first, second].map((token) => setUp(fieldsOf(token), new Visitor(service.origin))));
    expect(both.map(({ status }) => status).toSorted()).toEqual([200, 410]);
    expect(both.find(({ status }) => status === 200)?.body).toMatchObject({
      outcome: 'signed_in',
      user: { name: 'Ada Admin' },
    });
    const found = await service.sql(
      `select b.name, b.slug, m.role, m.status from brokerages b join members m on m.brokerage_id = b.id`,
    );
    expect(found).toEqual([
      {
        name: 'Harbor Brokers Großmann, Łasisz & Sønnesön',
        slug: 'harbor-brokers-grossmann-lasisz-sonneson',
        role: 'admin',
        status: 'active',
      },
    ]);

    expect((await setUp(fieldsOf(late))).status).toBe(410);
    expect(await offerLink()).toBeNull();
    expect(await (await fetch(`${service.origin}/api/auth/ways`)).json()).toMatchObject({ set_up_open: false });
  });

  it('rejects a set-up link after 24 hours', async () => {
    const empty = await openService();
    try {
      const token = mintToken();
      await empty.asServer(offer(tokenDigest(token)));
      empty.clock.advance(24 * 60 * 60_000 + 1000);
      expect((await new Visitor(empty.origin).json('/api/auth/set-up', fieldsOf(token))).status).toBe(410);
      expect(await empty.sql('select from users')).toHaveLength(0);
    } finally {
      await empty.close();
    }
  });
});
