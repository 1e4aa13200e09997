/**
 * SQL for the rows of a platform of a given size, by range of deals. Every value is computed from the number of the
 * deal, so that the same size always gives the same rows, except for the load time from which all times are counted.
 */

import { keyScopes } from '../server/domain/clients/key-scopes.ts';
import { writingTools } from '../server/tools/catalog/index.ts';

/** A person whose calls are measured, and the number of their deals. */
export interface Person {
  /** Starts at 1. */
  readonly number: number;
  readonly name: string;
  readonly role: 'broker' | 'buyer' | 'seller' | 'advisor' | 'admin' | 'outsider';
  readonly deals: number;
}

/** Number of deals of the large brokerage, in addition to those that the size counts. */
export const dealsOfLarge = 12_000;
/** Numbers of deals that a person may be on. */
const personSizes: readonly number[] = [1, 10, 100, 1_000, 10_000];
/** Size of the smallest platform, in which everybody's deals exist. */
export const fewestDeals = Math.max(...personSizes);

const takingPart = (['broker', 'buyer', 'seller', 'advisor'] as const).flatMap((role) =>
  personSizes.map((deals) => ({ name: `${role} of ${deals}`, role, deals })),
);

/**
 * All measured people: four roles in five sizes, the admins of a large and of an ordinary brokerage, and a person on no
 * deal.
 */
export const people: readonly Person[] = [
  ...takingPart,
  { name: `admin of ${dealsOfLarge}`, role: 'admin' as const, deals: dealsOfLarge },
  { name: 'admin of an ordinary brokerage', role: 'admin' as const, deals: 50 },
  { name: 'outsider', role: 'outsider' as const, deals: 0 },
].map((person, index) => ({ number: index + 1, ...person }));

const numberOf = (name: string): number => people.find((person) => person.name === name)?.number ?? 0;
const largeAdmin = numberOf(`admin of ${dealsOfLarge}`);
const ordinaryAdmin = numberOf('admin of an ordinary brokerage');

/** Row counts of a platform of `deals` deals. */
export interface Size {
  /** Deals of the ordinary brokerages; those of the large brokerage are added. */
  readonly deals: number;
  readonly brokerages: number;
  readonly buyers: number;
  readonly advisors: number;
}

/** Returns the counts for this number of deals: fifty deals per brokerage, ten per buyer, ten per advisor. */
export const sizeOf = (deals: number): Size => ({
  deals,
  brokerages: Math.max(20, Math.round(deals / 50)),
  buyers: Math.max(100, Math.round(deals / 5)),
  advisors: Math.max(50, Math.round(deals / 10)),
});

// Three hexadecimal digits per kind of record, so that no two records have the same id.
const kinds = {
  brokerage: '001',
  person: '010',
  staff: '011',
  seller: '012',
  buyer: '013',
  advisor: '014',
  deal: '020',
  part: '021',
  nda: '022',
  question: '023',
  document: '024',
  production: '025',
  opening: '026',
  offer: '027',
  exclusivity: '028',
  snapshot: '029',
  period: '02a',
  revenue: '02b',
  check: '02c',
  normalization: '02d',
  finding: '02e',
  findingChange: '02f',
  comment: '030',
  source: '031',
  condition: '032',
  record: '033',
  contact: '034',
  client: '035',
  session: '036',
  family: '037',
  key: '038',
  invitation: '039',
  event: '03a',
  notification: '03b',
  mail: '03c',
  change: '03d',
  webhook: '03e',
  delivery: '03f',
  answer: '040',
  passkey: '041',
  secret: '042',
} as const;

/** SQL for the id of the record with this number. */
export const id = (kind: keyof typeof kinds, number: string): string => `bench.id('${kinds[kind]}', ${number})`;

/** SQL that creates functions which compute values from a number; secrets are derived from `seed`. */
export const functions = ({ brokerages, buyers, advisors }: Size, seed: string): string => `
  create schema bench;
  grant usage on schema bench to dealkeep_server;
  create function bench.id(kind text, n bigint) returns uuid language sql immutable parallel safe as
    $$ select ('0' || to_hex(1704067200000 + n) || '7' || kind || '8' || lpad(to_hex(n), 15, '0'))::uuid $$;
  create function bench.pick(n bigint, salt int, of_so_many int) returns int language sql immutable parallel safe as
    $$ select ((hashint8extended(n, salt) & 1073741823) % of_so_many)::int $$;
  create function bench.secret(prefix text, n bigint) returns text language sql immutable parallel safe as
    $$ select prefix || md5('${seed}' || prefix || n) || substr(md5(n || '${seed}'), 1, 11) $$;
  create function bench.api_token(brokerage bigint) returns text language sql immutable parallel safe as
    $$ select 'dk_live_' || md5('${seed}' || 'key' || brokerage) $$;
  create function bench.brokerage_of(n bigint) returns bigint language sql immutable parallel safe as
    $$ select case when n <= ${dealsOfLarge} then 1 else 2 + n % ${brokerages} end $$;
  create function bench.broker_of(n bigint) returns uuid language sql immutable parallel safe as
    $$ select ${id(
      'staff',
      `case when n <= ${dealsOfLarge} then 1001 + n % 60
      else (2 + n % ${brokerages}) * 1000 + 1 + bench.pick(n, 1, 3) end`,
    )} $$;
  create function bench.buyer_of(n bigint, which int) returns uuid language sql immutable parallel safe as
    $$ select ${id('buyer', `(bench.pick(n, 2, ${buyers}) + case when which = 2 then 1 + bench.pick(n, 3, ${buyers - 1}) else 0 end) % ${buyers}`)} $$;
  create function bench.advisor_of(n bigint) returns uuid language sql immutable parallel safe as
    $$ select ${id('advisor', `bench.pick(n, 4, ${advisors})`)} $$;
  create function bench.invited_to(n bigint) returns uuid language sql immutable parallel safe as
    $$ select ${id('advisor', `(bench.pick(n, 4, ${advisors}) + 1) % ${advisors}`)} $$;
  create function bench.state_of(n bigint) returns text language sql immutable parallel safe as
    $$ select (array['draft', 'draft', 'listed', 'listed', 'listed', 'listed', 'listed', 'listed', 'listed', 'under_offer', 'under_offer',
      'exclusivity', 'diligence', 'diligence', 'closing', 'closed', 'closed', 'closed', 'withdrawn', 'withdrawn'])[1 + bench.pick(n, 5, 20)] $$;
  create table bench.facts (loaded_at timestamptz not null, deals bigint not null, base_url text not null, complete boolean not null);
  create table bench.people (number int primary key, name text not null unique, role text not null, deals int not null,
    user_id uuid not null, email text not null, brokerage_id uuid, client_id uuid not null, session_token text not null,
    access_token text not null);
  create table bench.parts (number int, n bigint, primary key (n, number));
  create table bench.api_keys (brokerage_id uuid primary key, token text not null);`;

/**
 * SQL that records when this platform was loaded, and creates functions that count times from it. The load time is a
 * constant in them, so that PostgreSQL inlines them into the statements, which call them millions of times.
 */
export const beginning = ({ deals }: Size, baseUrl: string): readonly string[] => [
  `insert into bench.facts values (now(), ${deals}, '${baseUrl}', false)`,
  `do $do$ begin
    execute format('create function bench.start() returns timestamptz language sql immutable parallel safe as $$ select timestamptz %L $$',
      (select loaded_at - interval '700 days' from bench.facts));
  end $do$`,
  `create function bench.made(n bigint, hours int) returns timestamptz language sql stable parallel safe as
    $$ select bench.start() + n * (interval '680 days' / ${deals + dealsOfLarge}) + hours * interval '1 hour' $$`,
];

/** SQL for the brokerages whose receiver does not answer; no measured brokerage is among them. */
const silent = (brokerages: number): string => `generate_series(100, ${brokerages + 1}, 100) b`;
/** First number of the deliveries of these brokerages, far above the numbers of the deals' deliveries. */
const silentDeliveries = '10000000000';

/**
 * SQL for the rows that belong to no deal: brokerages and their staff, buyers, advisors, the measured people and their
 * credentials.
 */
export const firstRows = ({ deals, brokerages, buyers, advisors }: Size, baseUrl: string): readonly string[] => [
  `insert into brokerages (id, slug, name, created_at, updated_at)
     select ${id('brokerage', 'b')}, 'brokerage-' || b, 'Brokerage ' || b, bench.start(), bench.start()
     from generate_series(1, ${brokerages + 1}) b`,
  ...people.map(
    ({ number, name, role, deals: count }) => `
    insert into bench.people select ${number}, '${name}', '${role}', ${count}, ${id('person', String(number))}, 'person-${number}@example.com',
      ${
        number === ordinaryAdmin
          ? id('brokerage', '2')
          : role === 'broker' || number === largeAdmin
            ? id('brokerage', '1')
            : 'null'
      }, ${id('client', String(number))}, bench.secret('', ${number}), bench.secret('dka_', ${number})`,
  ),
  `insert into users (id, email, name, created_at, updated_at)
     select user_id, email, initcap(name), bench.start(), bench.start() from bench.people`,
  `create temporary table staff as
     select b, m, case m when 0 then 'admin' when 4 then 'staff' else 'broker' end as role
       from generate_series(2, ${brokerages + 1}) b, generate_series(0, 4) m
     union all select 1, m, case when m = 0 then 'admin' when m > 60 then 'staff' else 'broker' end from generate_series(0, 100) m`,
  `insert into users (id, email, name, created_at, updated_at)
     select ${id('staff', 'b * 1000 + m')}, 'staff-' || b || '-' || m || '@example.com', initcap(role) || ' ' || b || '-' || m, bench.start(), bench.start()
     from staff`,
  `insert into members (brokerage_id, user_id, role, status, joined_at, invitation_id, created_at, updated_at)
     select ${id('brokerage', 'b')}, ${id('staff', 'b * 1000 + m')}, role, 'active', bench.start(), ${id('invitation', 'b * 1000 + m')}, bench.start(), bench.start()
     from staff`,
  `insert into members (brokerage_id, user_id, role, status, joined_at, invitation_id, created_at, updated_at)
     select brokerage_id, user_id, role, 'active', bench.start(), ${id('invitation', 'number')}, bench.start(), bench.start()
     from bench.people where brokerage_id is not null`,
  ...(
    [
      ['buyer', buyers],
      ['advisor', advisors],
    ] as const
  ).map(
    ([kind, count]) => `insert into users (id, email, name, created_at, updated_at)
     select ${id(kind, 'u')}, '${kind}-' || u || '@example.com', initcap('${kind}') || ' ' || u, bench.start(), bench.start()
     from generate_series(0, ${count - 1}) u`,
  ),
  // Brokers are on the first deals of the large brokerage; other people are on deals spread evenly over the platform.
  `insert into bench.parts select p.number, case when p.role = 'broker' then i + 1 else ${dealsOfLarge} + 1 + i * (${deals} / p.deals) end
     from bench.people p, generate_series(0, p.deals - 1) i where p.role not in ('admin', 'outsider')`,
  `insert into connected_clients (id, created_by, name, redirect_uris, created_at, updated_at)
     select client_id, user_id, 'Assistant', '{https://client.example/callback}', bench.start(), bench.start() from bench.people`,
  `insert into vault.token_families (id, user_id, client_id, scopes, resource, consented_at, ends_at)
     select ${id('family', 'number')}, user_id, client_id, '{mcp:read,mcp:write}', '${baseUrl}/api/mcp', bench.start(), now() + interval '10 years'
     from bench.people`,
  `insert into vault.access_tokens (digest, family_id, scopes, expires_at)
     select sha256(access_token::bytea), ${id('family', 'number')}, '{mcp:read,mcp:write}', now() + interval '10 years' from bench.people`,
  `insert into vault.sessions (id, user_id, digest, method, created_at, authenticated_at, last_seen_at, address, user_agent)
     select ${id('session', 'number')}, user_id, sha256(session_token::bytea), 'password', now(), now(), now(), '203.0.113.7', 'bench' from bench.people`,
  `insert into vault.calendar_links (user_id, digest, created_at) select user_id, sha256(session_token::bytea), bench.start() from bench.people`,
  `insert into vault.passwords (user_id, phc, address_proven_at)
     select u.id, '$argon2id$v=19$m=19456,t=2,p=1$' || md5(u.id::text) || '$' || md5(u.email), bench.start() from users u`,
  // Other people's records: ended sessions, clients and their tokens.
  `insert into vault.sessions (id, user_id, digest, method, created_at, authenticated_at, last_seen_at, ended_at, address, user_agent)
     select ${id('session', '1000 + u')}, ${id('buyer', `u % ${buyers}`)}, sha256(('session' || u)::bytea), 'password', now() - interval '9 days',
       now() - interval '9 days', now() - interval '9 days', now() - interval '8 days', '203.0.113.8', 'bench'
     from generate_series(0, ${buyers * 2 - 1}) u`,
  `insert into connected_clients (id, created_by, name, redirect_uris, created_at, updated_at)
     select ${id('client', '1000 + u')}, ${id('buyer', 'u')}, 'Assistant', '{https://client.example/callback}', bench.start(), bench.start()
     from generate_series(0, ${buyers / 2 - 1}) u`,
  `insert into vault.token_families (id, user_id, client_id, scopes, resource, consented_at, ends_at)
     select ${id('family', '1000 + u')}, ${id('buyer', 'u')}, ${id('client', '1000 + u')}, '{mcp:read}', '${baseUrl}/api/mcp', now(), now() + interval '180 days'
     from generate_series(0, ${buyers / 2 - 1}) u`,
  `insert into vault.access_tokens (digest, family_id, scopes, expires_at)
     select sha256(('access' || u)::bytea), ${id('family', '1000 + u')}, '{mcp:read}', now() + interval '1 hour' from generate_series(0, ${buyers / 2 - 1}) u`,
  `insert into vault.refresh_tokens (digest, family_id, expires_at)
     select sha256(('refresh' || u)::bytea), ${id('family', '1000 + u')}, now() + interval '30 days' from generate_series(0, ${buyers / 2 - 1}) u`,
  `insert into api_keys (id, brokerage_id, name, environment, scopes, ceiling, last_four, created_by, created_at)
     select ${id('key', 'b')}, ${id('brokerage', 'b')}, 'Website', 'live', '{${keyScopes.join(',')}}', 100000, right(bench.api_token(b), 4),
       ${id('staff', 'b * 1000')}, bench.start() from generate_series(1, ${brokerages + 1}) b`,
  `insert into vault.api_key_digests (digest, key_id, issued_by, issued_at)
     select sha256(bench.api_token(b)::bytea), ${id('key', 'b')}, ${id('staff', 'b * 1000')}, bench.start() from generate_series(1, ${brokerages + 1}) b`,
  `insert into bench.api_keys select ${id('brokerage', 'b')}, bench.api_token(b) from generate_series(1, 2) b`,
  // A webhook for each key, up to date with all changes; one in a hundred has a receiver that has not answered for a
  // day.
  `insert into webhook_endpoints (id, brokerage_id, key_id, url, place, history, created_at, updated_at, queue_at, send_at)
     select ${id('webhook', 'b')}, ${id('brokerage', 'b')}, ${id('key', 'b')}, 'https://crm.example.com/dealkeep', ${changesOf(`${deals} + ${dealsOfLarge} + 1`)}, s.history,
       bench.start(), bench.start(), null, null from generate_series(1, ${brokerages + 1}) b, vault.change_stream s`,
  `update webhook_endpoints set place = 0, failures = 100, rests_until = now() + interval '1 year', queue_at = now() + interval '1 hour', freed = 0,
     send_at = now() + interval '1 year' where id = any (array(select ${id('webhook', 'b')} from ${silent(brokerages)}))`,
  `insert into webhook_deliveries (id, endpoint_id, event_id, type, object_type, object_id, occurred_at, created_at, next_attempt_at)
     select ${id('delivery', `${silentDeliveries} + b * 10000 + k`)}, ${id('webhook', 'b')}, ${id('change', `${silentDeliveries} + b * 10000 + k`)}, 'contact.updated', 'contact',
       ${id('contact', `${silentDeliveries} + b * 10000 + k`)}, now() - interval '1 day', now() - interval '1 day', now() from ${silent(brokerages)}, generate_series(0, 9999) k`,
  `update vault.change_stream set published = ${changesOf(`${deals} + ${dealsOfLarge} + 1`)}, webhooks_marked = ${changesOf(`${deals} + ${dealsOfLarge} + 1`)}`,
  `select setval('vault.change_order', ${changesOf(`${deals} + ${dealsOfLarge} + 1`)})`,
  // For each measured person, everything that writing through tools requires on the first of their deals.
  `insert into tool_grants (user_id, client_id, tool)
     select user_id, client_id, tool from bench.people, unnest('{${writingTools.join()}}'::text[]) tool`,
  // The brokerage is given: the trigger would look it up in the deals, which are loaded later.
  `insert into deal_opt_ins (user_id, deal_id, brokerage_id)
     select p.user_id, ${id('deal', 'first.n')}, ${id('brokerage', 'bench.brokerage_of(first.n)')} from bench.people p, lateral (select min(n) as n from bench.parts x where x.number = p.number) first
     where first.n is not null`,
];

const state = 'bench.state_of(n)';
/**
 * SQL for the id of a participant of deal `n`, by slot: the broker is 0, the seller 1, the buyers 2 and 3, the advisor
 * 4, the invited person 5.
 */
export const part = (slot: string) => id('part', `n * 100 + ${slot}`);
const broker = 'bench.broker_of(n)';
const seller = id('seller', 'n');
const made = (hours: number | string) => `bench.made(n, ${hours})`;
/** SQL for a time within the last 29 days, later for higher deal numbers. */
export const lately = (n: string) =>
  `now() - interval '29 days' * (1 - ${n}::float8 / (select deals + ${dealsOfLarge} + 1 from bench.facts))`;
/** SQL for whether a number belongs to a sample of `percent` percent; each `salt` gives a different sample. */
export const someOf = (salt: number, percent: number, number = 'n') =>
  `bench.pick(${number}, ${salt}, 100) < ${percent}`;
const exclusive = `${state} in ('exclusivity', 'diligence', 'closing', 'closed')`;
const offered = `(${state} in ('under_offer', 'exclusivity', 'diligence', 'closing', 'closed') or (${state} = 'listed' and ${someOf(20, 40)}))`;
const withBooks = `(${state} in ('diligence', 'closing', 'closed') or ${someOf(21, 30)})`;

/** SQL for the number of a deal's first change: each deal has twenty published changes of the last month. */
const changesOf = (n: string): string => `(${n}) * 20::bigint`;

/** SQL for the rows of the deals $1 to $2; `n` is the number of a deal. */
export const dealRows: readonly string[] = [
  `insert into deals (id, organization_id, title, state, industry, location, summary, asking_price, currency, closed_at, created_by, created_at, updated_at,
     keys_admitted)
     select ${id('deal', 'n')}, ${id('brokerage', 'bench.brokerage_of(n)')},
       (array['Bakery', 'Dental practice', 'Garage', 'Print shop', 'Plumbing business', 'Software house', 'Brewery', 'Nursery'])[1 + bench.pick(n, 6, 8)] || ' number ' || n,
       case when ${state} in ('exclusivity', 'diligence', 'closing') then 'under_offer' else ${state} end,
       (array['Food', 'Health', 'Vehicles', 'Print', 'Construction', 'Software'])[1 + bench.pick(n, 7, 6)],
       (array['Austin', 'Boise', 'Chicago', 'Denver', 'El Paso'])[1 + bench.pick(n, 8, 5)], 'A business with regular customers and a lease that runs for years.',
       100000 + bench.pick(n, 9, 5000) * 1000, 'USD', case when ${state} = 'closed' then ${made(400)} end, ${broker}, ${made(0)}, ${made(300)}, true
     from generate_series($1::bigint, $2::bigint) n`,
  `insert into deal_stages (deal_id, state, updated_at)
     select ${id('deal', 'n')}, ${state}, ${made(300)} from generate_series($1::bigint, $2::bigint) n
     where ${state} in ('exclusivity', 'diligence', 'closing')`,
  `insert into users (id, email, name, created_at, updated_at)
     select ${seller}, 'seller-' || n || '@example.com', 'Seller ' || n, ${made(0)}, ${made(0)} from generate_series($1::bigint, $2::bigint) n`,
  `insert into participants (id, deal_id, user_id, role, status, advises, joined_at, created_at, updated_at)
     select ${part('slot')}, ${id('deal', 'n')}, case slot when 0 then ${broker} when 1 then ${seller} when 4 then bench.advisor_of(n) else bench.buyer_of(n, slot - 1) end,
       (array['broker', 'seller', 'buyer', 'buyer', 'advisor'])[slot + 1], 'active', case when slot = 4 then ${part('2')} end, ${made('slot')}, ${made('slot')}, ${made('slot')}
     from generate_series($1::bigint, $2::bigint) n, generate_series(0, 4) slot`,
  // An invited person who has not joined, and is on other deals.
  `insert into participants (id, deal_id, user_id, role, status, invited_name, invited_email, created_at, updated_at)
     select ${part('5')}, ${id('deal', 'n')}, bench.invited_to(n), 'viewer', 'invited', 'Guest ' || n, 'guest-' || n || '@example.com', ${made(6)}, ${made(6)}
     from generate_series($1::bigint, $2::bigint) n`,
  `insert into participants (id, deal_id, user_id, role, status, advises, joined_at, created_at, updated_at)
     select ${part('10 + x.number')}, ${id('deal', 'n')}, p.user_id, p.role, 'active', case when p.role = 'advisor' then ${part('2')} end, ${made(5)}, ${made(5)}, ${made(5)}
     from bench.parts x join bench.people p using (number) where n between $1::bigint and $2::bigint`,
  `insert into ndas (id, deal_id, participant_id, status, terms, sent_by, sent_at, signed_at, signed_name, signed_address, expires_at)
     select ${id('nda', 'n * 100 + slot')}, ${id('deal', 'n')}, ${part('slot')}, status, repeat('The parties keep to themselves what they learn. ', 4), ${broker}, ${made(10)},
       case when status <> 'sent' then ${made(20)} end, case when status <> 'sent' then 'Buyer' end, case when status <> 'sent' then '203.0.113.9'::inet end,
       case status when 'expired' then ${made(200)} else now() + interval '2 years' end
     from (select n, slot, case when bench.pick(n * 100 + slot, 10, 100) < 85 then 'active' when bench.pick(n * 100 + slot, 10, 100) < 95 then 'sent' else 'expired' end as status
       from (select n, slot from generate_series($1::bigint, $2::bigint) n, generate_series(2, 3) slot
         union all select n, 10 + number from bench.parts join bench.people p using (number) where n between $1::bigint and $2::bigint and p.role = 'buyer') x) y`,
  `insert into qoe_workspace_members (deal_id, participant_id, role, added_by, added_at)
     select ${id('deal', 'n')}, ${part('slot')}, case when slot = 2 then 'editor' else 'reader' end, ${broker}, ${made(50)}
     from (select n, 2 as slot from generate_series($1::bigint, $2::bigint) n where ${exclusive}
       union all select n, 10 + number from bench.parts join bench.people p using (number) where n between $1::bigint and $2::bigint and p.role = 'buyer' and ${withBooks}) x`,
  `insert into questions (id, deal_id, category, status, question_text, asked_by, participant_id, asked_at, rejection_reason, distributed_response, distributed_at, updated_at)
     select ${id('question', 'n * 100 + k')}, ${id('deal', 'n')}, (array['financials', 'operations', 'customers', 'employees', 'legal'])[1 + k % 5], status,
       'How have the last three years been, and what is expected of the next one? (' || k || ')', asker, participant, ${made('24 + k')},
       case when status = 'rejected' then 'It has been asked before.' end, case when status = 'distributed' then 'As the books of the last three years show.' end,
       case when status = 'distributed' then ${made('72 + k')} end, ${made('72 + k')}
     from (select n, k, asker, participant, case when r < 55 then 'distributed' when r < 62 then 'answered' when r < 75 then 'with_seller'
         when r < 88 then 'pending_broker_review' when r < 94 then 'rejected' else 'withdrawn' end as status
       from (select n, k, bench.buyer_of(n, 1 + k % 2) as asker, ${part('2 + k % 2')} as participant, bench.pick(n * 100 + k, 11, 100) as r
           from generate_series($1::bigint, $2::bigint) n, generate_series(0, 4) k
         union all select n, 10 + number, p.user_id, ${part('10 + number')}, bench.pick(n * 100 + 10 + number, 11, 100)
           from bench.parts join bench.people p using (number) where n between $1::bigint and $2::bigint and p.role = 'buyer') x) y`,
  `insert into question_answers (question_id, deal_id, answer_text, answered_by, answered_at)
     select ${id('question', 'n * 100 + k')}, ${id('deal', 'n')}, 'Steady: the books of the last three years show it.', ${seller}, ${made('60 + k')}
     from generate_series($1::bigint, $2::bigint) n, generate_series(0, 4) k where bench.pick(n * 100 + k, 11, 100) < 62`,
  `insert into answer_readings (deal_id, user_id, read_until)
     select ${id('deal', 'n')}, bench.buyer_of(n, 1), ${made(100)} from generate_series($1::bigint, $2::bigint) n where ${someOf(12, 50)}
     union all select ${id('deal', 'n')}, p.user_id, ${made(100)} from bench.parts join bench.people p using (number)
       where n between $1::bigint and $2::bigint and p.role = 'buyer' and ${someOf(12, 70)}`,
  `insert into documents (id, deal_id, filename, category, confidentiality, size_bytes, media_type, sha256, storage_key, uploaded_by, uploaded_at, removed_at, body_cleared_at)
     select ${id('document', 'n * 100 + k')}, ${id('deal', 'n')}, 'Document ' || k || '.pdf', (array['financial', 'legal', 'operations', 'tax'])[1 + k % 4],
       (array['public', 'nda_gated', 'nda_gated', 'selected_buyer_only'])[1 + k % 4], 20000 + k, 'application/pdf', sha256('bench'), 'scale-simple-' || n || '-' || k, ${broker}, ${made('30 + k')},
       case when gone then ${made(200)} end, case when gone then ${made(201)} end
     from (select n, k, ${someOf(13, 5, 'n * 100 + k')} as gone from generate_series($1::bigint, $2::bigint) n, generate_series(0, 4) k) x`,
  `insert into production_documents (id, deal_id, filename, category, confidentiality, size_bytes, media_type, sha256, storage_key, uploaded_by, uploaded_at, diligence_request)
     select ${id('production', 'n * 100 + k')}, ${id('deal', 'n')}, 'Produced ' || k || '.pdf', 'financial', 'nda_gated', 30000 + k, 'application/pdf', sha256('bench'),
       'scale-produced-' || n || '-' || k, ${seller}, ${made('90 + k')}, 'Request ' || k
     from generate_series($1::bigint, $2::bigint) n, generate_series(0, 1) k where ${withBooks}`,
  `insert into document_openings (id, deal_id, document_id, source, user_id, opened_at)
     select ${id('opening', 'n * 100 + k')}, ${id('deal', 'n')}, ${id('document', 'n * 100 + k')}, 'simple', bench.buyer_of(n, 1 + k % 2), ${made('110 + k')}
     from generate_series($1::bigint, $2::bigint) n, generate_series(0, 2) k`,
  `insert into offers (id, deal_id, participant_id, buyer_user_id, revision_number, is_current, submitted_at, payload)
     select ${id('offer', 'n * 100 + k')}, ${id('deal', 'n')}, participant, buyer, revision, current, ${made('120 + k')},
       jsonb_build_object('currency', 'USD', 'purchase_price', (900000 + k * 1000) || '.00', 'cash_at_close', '600000.00', 'seller_note', '200000.00',
         'financing_contingency', true, 'terms', 'Assets only, working capital at the usual level.')
     from (select n, k, ${part('2')} as participant, bench.buyer_of(n, 1) as buyer, k as revision, k = 2 as current
         from generate_series($1::bigint, $2::bigint) n, generate_series(1, 2) k where ${offered}
       union all select n, 10 + number, ${part('10 + number')}, p.user_id, 1, true from bench.parts join bench.people p using (number)
         where n between $1::bigint and $2::bigint and p.role = 'buyer' and ${offered}) x`,
  `insert into exclusivities (id, deal_id, participant_id, buyer_user_id, granted_by, granted_at, expires_at, offer_id)
     select ${id('exclusivity', 'n')}, ${id('deal', 'n')}, ${part('2')}, bench.buyer_of(n, 1), ${broker}, ${made(150)},
       case when ${state} = 'exclusivity' then now() + (10 + bench.pick(n, 14, 90)) * interval '1 day' else ${made(150 + 24 * 60)} end, ${id('offer', 'n * 100 + 1')}
     from generate_series($1::bigint, $2::bigint) n where ${exclusive}`,
  `insert into offer_decisions (offer_id, deal_id, participant_id, decision, decided_by, decided_at)
     select ${id('offer', 'n * 100 + 1')}, ${id('deal', 'n')}, ${part('2')}, 'accepted', ${broker}, ${made(150)}
     from generate_series($1::bigint, $2::bigint) n where ${exclusive}`,
  `insert into accounting_snapshots (id, deal_id, snapshot_type, status, source_name, requested_by, requested_at, completed_at)
     select ${id('snapshot', 'n')}, ${id('deal', 'n')}, 'full', 'completed', 'books.xlsx', ${seller}, ${made(130)}, ${made(131)}
     from generate_series($1::bigint, $2::bigint) n where ${withBooks}`,
  `insert into pl_periods (id, deal_id, snapshot_id, period_label, period_start_date, period_end_date, currency, revenue, cost_of_goods_sold, gross_profit, operating_expenses,
       owner_compensation, depreciation_amortization, interest_expense, tax_expense, net_income, ebitda)
     select ${id('period', 'n * 100 + k')}, ${id('deal', 'n')}, ${id('snapshot', 'n')}, 'FY' || (2022 + k), make_date(2022 + k, 1, 1), make_date(2022 + k, 12, 31), 'USD',
       1800000 + k, 700000.5, 1099999.5, 620000.25, 125000, 41000.1, 18000.75, 61000, 234980.4, 354990.25
     from generate_series($1::bigint, $2::bigint) n, generate_series(0, 3) k where ${withBooks}`,
  `insert into customer_revenues (id, deal_id, snapshot_id, customer_name, period_start_date, period_end_date, currency, revenue_total)
     select ${id('revenue', 'n * 100 + k')}, ${id('deal', 'n')}, ${id('snapshot', 'n')}, 'Customer ' || k, date '2025-01-01', date '2025-12-31', 'USD', 100000 + k * 1000
     from generate_series($1::bigint, $2::bigint) n, generate_series(0, 5) k where ${withBooks}`,
  `insert into qoe_checklist (id, deal_id, category, title, status, completed_at, "position", created_at, updated_at)
     select ${id('check', 'n * 100 + k')}, ${id('deal', 'n')}, 'Revenue', 'Check ' || k, case when k < 2 then 'completed' else 'in_progress' end,
       case when k < 2 then ${made(140)} end, k, ${made(130)}, ${made(140)}
     from generate_series($1::bigint, $2::bigint) n, generate_series(0, 3) k where ${withBooks}`,
  `insert into normalizations (id, deal_id, period_label, adjustment_category, adjustment_amount, rationale, created_by, created_at)
     select ${id('normalization', 'n * 100 + k')}, ${id('deal', 'n')}, 'FY2025', (array['owner_comp', 'one_time'])[1 + k], 25000 + k, 'Not needed by a new owner.', ${seller}, ${made(135)}
     from generate_series($1::bigint, $2::bigint) n, generate_series(0, 1) k where ${withBooks}`,
  `insert into contradiction_answers (id, deal_id, contradiction, figures, status, why, answered_by, answered_at, released_by, released_at)
     select ${id('answer', 'n * 100 + k')}, ${id('deal', 'n')}, md5('a' || k), md5('b' || k), 'explained', 'The rent was prepaid.', ${seller}, ${made(136)},
       case k when 1 then ${seller} end, case k when 1 then ${made(137)} end
     from generate_series($1::bigint, $2::bigint) n, generate_series(0, 1) k where ${withBooks}`,
  `insert into findings (id, deal_id, participant_id, category, title, description, severity, status, owner_user_id, created_by, created_at, updated_at)
     select ${id('finding', 'n * 100 + k')}, ${id('deal', 'n')}, participant, 'financial', 'Finding ' || k, 'Two customers make half of the revenue.',
       (array['critical', 'major', 'minor', 'informational'])[1 + bench.pick(n, 15, 4)], case when ${someOf(16, 60)} then 'open' else 'resolved' end, finder, finder, ${made(160)}, ${made(161)}
     from (select n, k, ${part('2')} as participant, bench.buyer_of(n, 1) as finder from generate_series($1::bigint, $2::bigint) n, generate_series(0, 1) k where ${exclusive}
       union all select n, 10 + number, ${part('10 + number')}, p.user_id from bench.parts join bench.people p using (number)
         where n between $1::bigint and $2::bigint and p.role = 'buyer' and ${someOf(17, 30)}) x`,
  `insert into finding_changes (id, finding_id, to_status, changed_by, changed_at)
     select ${id('findingChange', 'n * 100 + k')}, ${id('finding', 'n * 100 + k')}, 'open', bench.buyer_of(n, 1), ${made(160)}
     from generate_series($1::bigint, $2::bigint) n, generate_series(0, 1) k where ${exclusive}`,
  `insert into finding_comments (id, finding_id, body, created_by, created_at)
     select ${id('comment', 'n * 100 + k')}, ${id('finding', 'n * 100 + k')}, 'We ask for the contracts.', bench.buyer_of(n, 1), ${made(165)}
     from generate_series($1::bigint, $2::bigint) n, generate_series(0, 1) k where ${exclusive}`,
  `insert into financing_sources (id, deal_id, participant_id, source_type, source_name, commitment_amount, currency, commitment_status, created_by, created_at, updated_at)
     select ${id('source', 'n * 100 + k')}, ${id('deal', 'n')}, participant, 'sba_7a', 'Bank ' || k, 500000, 'USD', 'applied', buyer, ${made(155)}, ${made(155)}
     from (select n, k, ${part('2')} as participant, bench.buyer_of(n, 1) as buyer from generate_series($1::bigint, $2::bigint) n, generate_series(0, 1) k where ${exclusive}
       union all select n, 10 + number, ${part('10 + number')}, p.user_id from bench.parts join bench.people p using (number)
         where n between $1::bigint and $2::bigint and p.role = 'buyer' and ${someOf(18, 30)}) x`,
  `insert into closing_conditions (id, deal_id, name, status, owner_user_id, deadline, completed_at, created_at, updated_at)
     select ${id('condition', 'n * 100 + k')}, ${id('deal', 'n')}, 'Condition ' || k, case when k = 0 then 'satisfied' else 'open' end,
       case k when 1 then ${seller} when 2 then null else ${broker} end, (now() + (bench.pick(n, 19, 120) - 20) * interval '1 day')::date,
       case when k = 0 then ${made(260)} end, ${made(250)}, ${made(260)}
     from generate_series($1::bigint, $2::bigint) n, generate_series(0, 3) k where ${state} in ('diligence', 'closing')`,
  `insert into audit_records (id, at, brokerage_id, deal_id, user_id, address, request_id, action, subject_id, outcome, details, noted)
     select ${id('record', 'n * 100 + k')}, ${made('k * 24')}, ${id('brokerage', 'bench.brokerage_of(n)')}, ${id('deal', 'n')},
       case k % 3 when 0 then ${broker} when 1 then ${seller} else bench.buyer_of(n, 1) end, '203.0.113.24', 'bench-' || n,
       (array['deal.open', 'tool:svc_deals_get', 'question.ask', 'document.upload', 'tool:svc_offers_list', 'nda.send', 'deal.update', 'tool:svc_questions_list', 'offer.submit', 'question.answer'])[1 + k],
       (case k when 2 then ${id('question', 'n * 100 + 2')} when 3 then ${id('document', 'n * 100 + 3')} when 5 then ${id('nda', 'n * 100 + 2')}
         when 8 then ${id('offer', 'n * 100 + 1')} when 9 then ${id('question', 'n * 100')} else ${id('deal', 'n')} end)::text,
       case when k in (1, 4, 7) then 'ok' else 'done' end, '{}', k not in (1, 4, 7)
     from generate_series($1::bigint, $2::bigint) n, generate_series(0, 9) k`,
  `insert into audit_records (id, at, brokerage_id, deal_id, user_id, client_id, address, request_id, action, outcome, details, noted)
     select ${id('record', 'n * 100 + 10 + number')}, ${made('number * 5')}, ${id('brokerage', 'bench.brokerage_of(n)')}, ${id('deal', 'n')}, p.user_id, p.client_id,
       '203.0.113.24', 'bench-' || n, 'tool:svc_deals_get', 'ok', '{}', false
     from bench.parts join bench.people p using (number) where n between $1::bigint and $2::bigint`,
  // Rows that triggers would add: of the ten audit records the ninth is the buyer's last that counts as activity, the
  // tenth the broker's.
  `insert into vault.deal_activity (deal_id, at, record_id, brokerage_id)
     select ${id('deal', 'n')}, ${made(9 * 24)}, ${id('record', 'n * 100 + 9')}, ${id('brokerage', 'bench.brokerage_of(n)')} from generate_series($1::bigint, $2::bigint) n`,
  `insert into vault.own_activity (user_id, deal_id, at, record_id)
     select case k when 9 then ${broker} else bench.buyer_of(n, 1) end, ${id('deal', 'n')}, ${made('k * 24')}, ${id('record', 'n * 100 + k')}
     from generate_series($1::bigint, $2::bigint) n, generate_series(8, 9) k`,
  // Notifications of the last half year, for the broker, the seller, both buyers and the measured people.
  `insert into vault.notifications (id, event_id, user_id, kind, deal_id, subject, subject_id, actor_id, at, read_at, mail, mail_due_at, mailed_at)
     select ${id('notification', 'n * 100 + slot')}, ${id('event', 'n * 100 + slot')}, person, kind, ${id('deal', 'n')}, 'questions',
       ${id('question', 'n * 100 + slot % 5')}, bench.buyer_of(n, 1), at, case when ${someOf(40, 70, 'n * 100 + slot')} then at + interval '3 hours' end,
       case when slot % 3 = 0 then 'daily' end, case when slot = 3 and ${someOf(41, 2)} then now() + interval '1 day' end,
       case when slot % 3 = 0 and not (slot = 3 and ${someOf(41, 2)}) then at + interval '8 hours' end
     from (select n, slot, kind, person, now() - bench.pick(n * 100 + slot, 42, 175 * 24) * interval '1 hour' as at
       from (select n, slot, case slot % 2 when 0 then 'question_asked' else 'document_added' end as kind, ${broker} as person
           from generate_series($1::bigint, $2::bigint) n, generate_series(0, 2) slot
         union all select n, slot, 'question_released', ${seller} from generate_series($1::bigint, $2::bigint) n, generate_series(3, 4) slot
         union all select n, 4 + which, 'document_added', bench.buyer_of(n, which) from generate_series($1::bigint, $2::bigint) n, generate_series(1, 2) which
         union all select n, 10 + number, 'document_added', p.user_id from bench.parts join bench.people p using (number)
           where n between $1::bigint and $2::bigint) x) y`,
  // Mails of the last month: nearly all sent, some given up, and a few not accepted so far (rank 11) and due tomorrow.
  `insert into vault.outbox (id, kind, recipient, recipient_id, brokerage_id, deal_id, urgent, rank, created_at, next_attempt_at, turn_at, attempts, last_error,
       give_up_at, sent_at, given_up_at)
     select ${id('mail', 'n')}, 'notifications', 'seller-' || n || '@example.com', ${seller}, ${id('brokerage', 'bench.brokerage_of(n)')}, ${id('deal', 'n')}, false,
       case outcome when 'waits' then 11 else 1 end, at, due, due, 1, case when outcome <> 'sent' then 'The mail server does not answer.' end,
       case outcome when 'waits' then now() + interval '2 days' else at + interval '1 day' end, case outcome when 'sent' then at end,
       case outcome when 'given up' then at + interval '1 day' end
     from (select w.*, case outcome when 'waits' then now() + interval '1 day' else at end as due
       from (select n, now() - bench.pick(n, 43, 28 * 24) * interval '1 hour' as at,
           case when bench.pick(n, 44, 100) < 97 then 'sent' when bench.pick(n, 44, 100) < 99 then 'given up' else 'waits' end as outcome
         from generate_series($1::bigint, $2::bigint) n) w) x`,
  // Changes of one record of each kind that the deal has, otherwise of the deal itself.
  `insert into change_events (seq, id, brokerage_id, about_deal, object_type, object_id, change, at)
     select ${changesOf('n')} + k, ${id('change', 'n * 100 + k')}, ${id('brokerage', 'bench.brokerage_of(n)')}, case when k < 12 then ${id('deal', 'n')} end,
       coalesce(o.kind, case when k < 12 then 'deal' else 'contact' end), coalesce(o.object, case when k < 12 then ${id('deal', 'n')} else ${id('contact', 'n * 100 + k - 12')} end),
       case when o.kind is not null or k = 0 then 'created' else 'updated' end, ${lately('n')}
     from generate_series($1::bigint, $2::bigint) n
     cross join generate_series(0, 19) k
     left join lateral (select v.kind, v.object from (values
         (1, true, 'participant', ${part('2')}), (2, true, 'nda', ${id('nda', 'n * 100 + 2')}), (3, true, 'question', ${id('question', 'n * 100')}),
         (4, true, 'document', ${id('document', 'n * 100')}), (5, ${offered}, 'offer', ${id('offer', 'n * 100 + 1')}),
         (6, ${withBooks}, 'production_document', ${id('production', 'n * 100')}), (7, ${withBooks}, 'qoe_checklist_item', ${id('check', 'n * 100')}),
         (8, ${withBooks}, 'accounting_snapshot', ${id('snapshot', 'n')}), (9, ${withBooks}, 'normalization', ${id('normalization', 'n * 100')}),
         (10, ${state} in ('diligence', 'closing'), 'closing_condition', ${id('condition', 'n * 100')}),
         (11, ${exclusive} and n % 2 = 0, 'finding', ${id('finding', 'n * 100')}), (11, ${exclusive} and n % 2 = 1, 'financing_source', ${id('source', 'n * 100')})) v (place, is_there, kind, object) where v.place = k and v.is_there) o on true`,
  `insert into webhook_deliveries (id, nr, endpoint_id, seq, event_id, type, object_type, object_id, occurred_at, state, attempts, created_at, first_attempt_at,
       last_attempt_at, ended_at, sent_to, sent_bytes, sent_digest, status, millis)
     select ${id('delivery', 'n * 100 + k')}, ${changesOf('n')} + k, ${id('webhook', 'bench.brokerage_of(n)')}, ${changesOf('n')} + k, ${id('change', 'n * 100 + k')},
       'contact.updated', 'contact', ${id('contact', 'n * 100 + k - 12')}, at, case when ${someOf(50, 3, 'n * 100 + k')} then 'failed' else 'delivered' end, 1, at, at, at, at,
       'https://crm.example.com/dealkeep', 512, repeat('0', 64), 204, 80
     from (select n, k, ${lately('n')} as at from generate_series($1::bigint, $2::bigint) n, generate_series(12, 19) k where bench.brokerage_of(n) in (1, 2)) x`,
  `insert into vault.lapsing_exclusivities (exclusivity_id, expires_at)
     select ${id('exclusivity', 'n')}, now() + (10 + bench.pick(n, 14, 90)) * interval '1 day' from generate_series($1::bigint, $2::bigint) n
     where ${state} = 'exclusivity'`,
  `insert into contacts (id, brokerage_id, type, display_name, email, phone, created_by, created_by_key, created_at, updated_at, archived_at)
     select ${id('contact', 'n * 100 + k')}, ${id('brokerage', 'bench.brokerage_of(n)')}, case when k % 3 = 0 then 'company' else 'person' end,
       (array['Maria', 'James', 'Ines', 'Robert', 'Yuki', 'Amara', 'Peter', 'Lena', 'Omar', 'Grace'])[1 + bench.pick(n * 100 + k, 30, 10)] || ' '
         || initcap(substr(md5((n * 100 + k)::text), 1, 6)) || ' '
         || (array['Miller', 'Garcia', 'Chen', 'Okafor', 'Novak', 'Haddad', 'Jones', 'Silva', 'Kowalski', 'Larsen'])[1 + bench.pick(n * 100 + k, 31, 10)],
       case when k < 8 then 'contact-' || (case when k = 7 and ${someOf(32, 20)} then n * 100 else n * 100 + k end) || '@example.com' end,
       '+1 555 ' || lpad(((n * 100 + k) % 10000000)::text, 7, '0'), null, null, ${made('k')}, ${made('k')}, case when k = 9 and ${someOf(33, 50)} then ${made(500)} end
     from generate_series($1::bigint, $2::bigint) n, generate_series(0, 9) k`,
];

/**
 * SQL for the rows that triggers would derive from the rows above, for all deals at once. It runs when the tables have
 * been analyzed: PostgreSQL's plans for a table without statistics scan the whole table once for each row.
 */
export const keptRows: readonly string[] = [
  ...(['deals', 'answers', 'ndas'] as const).map(
    (kept) =>
      `insert into vault.${kept}_of_people select p.* from vault.${kept}_of_parts p order by p.deal_id, p.user_id`,
  ),
  ...(['closing_conditions', 'exclusivities', 'ndas', 'offers'] as const).map(
    (table) => `insert into vault.reminders (subject, subject_id, deal_id, kind, remind_at, due_at)
     select '${table}', t.id, t.deal_id, r.kind, r.remind_at, r.due_at
     from ${table} t cross join lateral app.reminders_of('${table}', to_jsonb(t)) r where r.remind_at > now()`,
  ),
];
