/** Values sent to PostgreSQL and read back. */

import { expect, test, vi } from 'vitest';
import { row, rows } from '../../server/database/statement.ts';
import { decoderOf, encode, timestamp, type Value } from '../../server/database/types.ts';
import { uuidV7 } from '../../server/database/uuid.ts';
import { open, useSetting } from './setting.ts';

useSetting();

test('each PostgreSQL type is decoded to its JavaScript value', async () => {
  const every = row(
    't_every_type',
    `select '018f0000-0000-7000-8000-00000000000a'::uuid as uuid, 'é'::text as text, 12345678901234567890.10::numeric as numeric,
      9007199254740993::int8 as int8, -7::int4 as int4, 3::int2 as int2, 0.5::float8 as float8, true as yes, false as no,
      '2026-01-31T12:00:00.123456+02'::timestamptz as at, '2026-01-31'::date as date, '{"a": [1, null]}'::jsonb as jsonb,
      '"x"'::json as json, '\\x00ff'::bytea as bytea, null::int4 as nothing, '2001:db8::1'::inet as inet,
      array['a', null, '', 'NULL', '{"b", c\\}', 'NULL '] as texts, '{}'::text[] as none, array[[1, 2], [3, 4]] as grid,
      '[5:6]={7,8}'::int4[] as elsewhere, array['018f0000-0000-7000-8000-00000000000a'::uuid] as uuids,
      array['2026-01-31T12:00:00Z'::timestamptz] as times, array['{"a": "\\"}"}'::jsonb] as objects,
      array['\\x01'::bytea] as blobs, array[true, false] as answers, array[1.50] as decimals, array['2026-01-31'::date] as dates,
      pg_notify('t', '') as nobody`,
  );
  expect(await open().run(every())).toEqual({
    uuid: '018f0000-0000-7000-8000-00000000000a',
    text: 'é',
    numeric: '12345678901234567890.10',
    int8: '9007199254740993',
    int4: -7,
    int2: 3,
    float8: 0.5,
    yes: true,
    no: false,
    at: '2026-01-31T10:00:00.123Z',
    date: '2026-01-31',
    jsonb: { a: [1, null] },
    json: 'x',
    bytea: Buffer.from([0, 255]),
    nothing: null,
    inet: '2001:db8::1',
    texts: ['a', null, '', 'NULL', '{"b", c\\}', 'NULL '],
    none: [],
    grid: [
      [1, 2],
      [3, 4],
    ],
    elsewhere: [7, 8],
    uuids: ['018f0000-0000-7000-8000-00000000000a'],
    times: ['2026-01-31T12:00:00.000Z'],
    objects: [{ a: '"}' }],
    blobs: [Buffer.from([1])],
    answers: [true, false],
    decimals: ['1.50'],
    dates: ['2026-01-31'],
    nobody: null,
  });
});

test('values that are sent come back unchanged', async () => {
  const database = open();
  const sent: [type: string, value: Value, back?: unknown][] = [
    ['text', 'line\n"quoted" \\ {braces}, ü 🏠'],
    ['text', ''],
    ['text', null],
    ['text', undefined, null],
    ['text[]', ['a,b', '"', '\\', '', 'NULL', null, ' x ', '🏠']],
    ['text[]', []],
    ['int4', 42],
    ['int8', 9007199254740993n, '9007199254740993'],
    ['numeric', '0.10'],
    ['bool', false],
    ['jsonb', { list: [1, { two: null }], text: 'it\'s "\\"' }],
    ['bytea', Buffer.from([0, 1, 92, 255])],
    ['bytea', new Uint8Array([9, 8, 7]).subarray(1), Buffer.from([8, 7])],
    ['bytea[]', [Buffer.from([0, 92]), null]],
    ['jsonb[]', [{ a: '"\\' }]],
    ['int4[]', [[1], [2]]],
    ['timestamptz', new Date('2026-03-29T01:30:00.250Z'), '2026-03-29T01:30:00.250Z'],
    ['timestamptz[]', [new Date(0)], ['1970-01-01T00:00:00.000Z']],
  ];
  for (const [index, [type, value, back = value]] of sent.entries()) {
    const there = row<{ back: unknown }>(`t_there_${index}`, `select $1::${type} as back`);
    expect(await database.run(there(value)), type).toEqual({ back });
  }
});

test.each([
  ['2026-01-31 12:00:00+00', '2026-01-31T12:00:00.000Z'],
  ['2026-01-31 12:00:00.5+00', '2026-01-31T12:00:00.500Z'],
  ['2026-01-31 12:00:00.999999+00', '2026-01-31T12:00:00.999Z'],
  ['2026-01-31 12:00:00.25+05:30', '2026-01-31T06:30:00.250Z'],
  ['2026-01-31 20:00:00-08', '2026-02-01T04:00:00.000Z'],
  ['1850-01-01 00:19:32+00:19:32', '1850-01-01T00:00:00.000Z'],
  ['0044-03-15 00:00:00+00 BC', '-000043-03-15T00:00:00.000Z'],
  ['0099-01-01 00:00:00+01', '0098-12-31T23:00:00.000Z'],
  ['12026-01-01 00:00:00+00', '+012026-01-01T00:00:00.000Z'],
  ['infinity', 'infinity'],
  ['-infinity', '-infinity'],
])('the timestamp %s is decoded as %s', (text, expected) => {
  expect(timestamp(text)).toBe(expected);
});

test('timestamps are correct in any time zone of the session', async () => {
  const at = row<{ at: string }>('t_at', `select '2026-07-01T00:00:00Z'::timestamptz as at`);
  const zone = row('t_zone', `select set_config('TimeZone', $1, true)`);
  for (const name of ['Asia/Kolkata', 'America/St_Johns', 'UTC', 'Europe/Berlin']) {
    const [, found] = await open().together(zone(name), at());
    expect(found, name).toEqual({ at: '2026-07-01T00:00:00.000Z' });
  }
});

test('an array of 200,000 elements is decoded', () => {
  const literal = encode(Array.from({ length: 200_000 }, (_, index) => `"${index}\\`)) as string;
  expect(decoderOf(1009)?.(literal)).toHaveLength(200_000);
});

test('values that cannot be encoded are rejected', () => {
  expect(() => encode(new Date('never'))).toThrow();
  const circular: { self?: unknown } = {};
  circular.self = circular;
  expect(() => encode(circular)).toThrow();
});

test('ids sort in order of creation, even within a millisecond', async () => {
  const made = rows<{ id: string }>('t_ids', 'select app.uuid_v7() as id from generate_series(1, 2000)');
  for (const make of [
    async () => (await open().run(made())).map(({ id }) => id),
    () => Promise.resolve(Array.from({ length: 2000 }, () => uuidV7())),
  ]) {
    const before = Date.now();
    const ids = await make();
    const [times, after] = [ids.map((id) => parseInt(id.replace('-', '').slice(0, 12), 16)), Date.now()];
    // Of two ids made by PostgreSQL in the same microsecond, either may sort first.
    const firsts = ids.map((id) => id.slice(0, 18));
    expect(firsts).toEqual(firsts.toSorted());
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids.filter((id) => !/^.{14}7.{3}-[89ab]/.test(id))).toEqual([]);
    expect(times.filter((at) => at < before || at > after)).toEqual([]);
  }
});

test('ids sort in order of creation, even if more are created than fit in a millisecond', () => {
  const now = Date.now();
  const madeAt = (at: number) => {
    vi.setSystemTime(at);
    return Array.from({ length: 10_000 }, () => uuidV7().slice(0, 18));
  };
  vi.useFakeTimers({ toFake: ['Date'] });
  try {
    const ids = [0, 1, 2, 3].flatMap((passed) => madeAt(now + passed));
    expect(ids).toEqual(ids.toSorted());
    expect(new Set(ids).size).toBe(ids.length);
  } finally {
    vi.useRealTimers();
  }
});
