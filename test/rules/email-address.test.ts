/** E-mail addresses: one rule in TypeScript, in SQL and through every interface (RFC 5321, sections 2.3.5, 4.1.2 and 4.1.3). */

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { row } from '../../server/database/statement.ts';
import { isEmailAddress } from '../../server/lib/email-address.ts';
import { openService, type TestService } from '../harness.ts';
import { as, brokerage } from '../rest/scene.ts';

const label = 'l'.repeat(63);
const taken = [
  'ann@example.com',
  'Ann.Bell@Example.COM',
  'jane&john@example.com',
  "o'neil+x@example.com",
  "!#$%&'*+-/=?^_`{|}~@example.com",
  'info@example.xn--p1ai',
  '1@2.3',
  'a@b.co',
  'a@b--c.example',
  `${'a'.repeat(64)}@example.com`,
  `a@${label}.example`,
  `${'a'.repeat(60)}@${label}.${label}.${label}.x`,
  '"ann bell"@example.com',
  '"ann..bell"@example.com',
  '"ann@bell"@example.com',
  String.raw`"ann\"bell\\"@example.com`,
  '""@example.com',
  'ann@[192.0.2.1]',
  'ann@[255.255.255.255]',
  'ann@[001.002.003.004]',
  'ann@[IPv6:2001:db8::1]',
  'ann@[ipv6:::]',
  'ann@[IPv6:::1]',
  'ann@[IPv6:1::]',
  'ann@[IPv6:1:2:3:4:5:6:7:8]',
  'ann@[IPv6:1:2:3:4:5:6:192.0.2.1]',
  'ann@[IPv6:::ffff:192.0.2.1]',
  'ann@[IPv6:1:2:3::4:5:6]',
];
const refused = [
  '',
  '@',
  'ann',
  'ann@',
  '@example.com',
  'a@b',
  'ann@localhost',
  'a@b-.com',
  'a@-b.com',
  'a@b.com-',
  'a@b..com',
  'a@.b.com',
  'a@b.com.',
  'a@b_c.com',
  'a@b c.com',
  'a b@example.com',
  '.a@example.com',
  'a.@example.com',
  'a..b@example.com',
  'a@b@example.com',
  'a,b@example.com',
  'a<b>@example.com',
  'Ann <ann@example.com>',
  ' ann@example.com',
  'ann@example.com ',
  'ann@example.com\n',
  'a\tb@example.com',
  'änn@example.com',
  'ann@exämple.com',
  'ann@example.com\u0000',
  'ann\u2028@example.com',
  `${'a'.repeat(65)}@example.com`,
  `a@${label}l.example`,
  `${'a'.repeat(60)}@${label}.${label}.${label}.xy`,
  '"ann@example.com',
  '"ann"bell@example.com',
  '"ann""bell"@example.com',
  String.raw`"ann\"@example.com`,
  '"änn"@example.com',
  'ann@[192.0.2]',
  'ann@[192.0.2.256]',
  'ann@[192.0.2.1',
  'ann@192.0.2.1]',
  'ann@[2001:db8::1]',
  'ann@[IPv6:1:2:3:4:5:6:7]',
  'ann@[IPv6:1:2:3:4:5:6:7:8:9]',
  'ann@[IPv6:1::2::3]',
  'ann@[IPv6:1:2:3:4:5:6:7::]',
  'ann@[IPv6:1:2:3:4::5:6:7]',
  'ann@[IPv6:12345::1]',
  'ann@[IPv6:fe80::1%eth0]',
  'ann@[IPv6:::ffff:192.0.2.256]',
  'ann@[x:y]',
];

let service: TestService;
beforeAll(async () => {
  service = await openService();
});
afterAll(() => service?.close());

const inSql = row<{ is: boolean }, [string]>('email_test', 'select app.is_email_address($1) as is');

test.each([...taken.map((text) => [text, true] as const), ...refused.map((text) => [text, false] as const)])(
  '%j: %s',
  async (text, is) => {
    expect(isEmailAddress(text)).toBe(is);
    // PostgreSQL accepts no null characters.
    if (!text.includes('\0')) expect(await service.database.run(inSql(text))).toEqual({ is });
  },
);

test('generated addresses get the same verdict in TypeScript and in SQL', async () => {
  const pieces = [
    'a',
    'Z',
    '0',
    '.',
    '-',
    '@',
    '"',
    '\\',
    ' ',
    '[',
    ']',
    ':',
    '::',
    'IPv6:',
    '1.2.3.4',
    'b.co',
    '%',
    'é',
  ];
  // A generator with a fixed seed, so that every run checks the same addresses.
  let seed = 7;
  const next = (below: number) => (seed = (seed * 48_271) % 2_147_483_647) % below;
  const made = Array.from({ length: 20_000 }, () =>
    Array.from({ length: 1 + next(9) }, () => pieces[next(pieces.length)]).join(''),
  );
  const likely = made.flatMap((text) => [text, `a@${text}`, `${text}@b.co`, `a@[IPv6:${text}]`]);
  const [{ judged } = { judged: [] as boolean[] }] = await service.sql<{ judged: boolean[] }>(
    `select array_agg(app.is_email_address(text) order by place) as judged
     from unnest($1::text[]) with ordinality as given (text, place)`,
    [likely],
  );
  const apart = likely.filter((text, place) => isEmailAddress(text) !== judged[place]);
  expect(apart).toEqual([]);
  expect(judged.filter(Boolean).length).toBeGreaterThan(1_000);
});

describe('through the interfaces', () => {
  test('REST accepts exactly the valid addresses, and returns them unchanged', async () => {
    const call = as(await (await brokerage(service)).key(), service.restUrl);
    for (const email of taken) {
      const { status, body } = await call('POST', '/contacts', { type: 'person', displayName: 'x', email });
      expect([email, status, body?.email]).toEqual([email, 201, email]);
    }
    for (const email of refused) {
      const { status } = await call('POST', '/contacts', { type: 'person', displayName: 'x', email });
      expect([email, status]).toEqual([email, 400]);
    }
  });

  test('the tables of users and contacts reject invalid addresses', async () => {
    for (const email of ['a@b-.com', 'ann@localhost', 'ann']) {
      await expect(service.sql('insert into users (email, name) values ($1, $1)', [email])).rejects.toThrow(/check/);
      await expect(
        service.sql(
          `insert into contacts (brokerage_id, type, display_name, email) select id, 'person', 'x', $1 from brokerages limit 1`,
          [email],
        ),
      ).rejects.toThrow(/check/);
    }
    await service.sql('insert into users (email, name) values ($1, $1)', ['jane&john@example.xn--p1ai']);
  });
});
