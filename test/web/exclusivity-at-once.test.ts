/** Concurrent actions of people on one deal, around its exclusivity: no transaction deadlocks with another. */

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { erasePerson } from '../../server/domain/accounts/erasure.ts';
import { mintToken, tokenDigest } from '../../server/domain/accounts/secret-tokens.ts';
import { openService, type TestService } from '../harness.ts';
import { atOnce } from '../locks.ts';
import { connect } from '../policies/scene.ts';
import { addBrokerage, addPerson, insert } from '../tools/scene.ts';
import { signInAs, type Answer } from './person.ts';

let service: TestService;
beforeAll(async () => {
  // A single caller, and requests like one that has waited, get at most half of the connections.
  service = await openService({ config: { poolSize: 4 } });
});
afterAll(() => service?.close());

async function erase(person: string) {
  const eraser = await connect(service.connections.owner);
  return erasePerson(eraser, person, async () => {}).finally(() => eraser.end());
}

async function addSale() {
  const brokerage = await addBrokerage(service);
  const deal = await insert(service, 'deals', { organization_id: brokerage, title: 'Corner bakery', state: 'listed' });
  const takePart = async (name: string, role: string, values: Record<string, unknown> = {}) => {
    const user = await addPerson(service, name);
    const part = await insert(service, 'participants', {
      deal_id: deal,
      user_id: user,
      role,
      status: 'active',
      ...values,
    });
    return { user, part, ...(await signInAs(service, user)) };
  };
  const broker = await takePart('Bo', 'broker');
  const colleague = await takePart('Cy', 'broker');
  for (const { user } of [broker, colleague])
    await insert(service, 'members', { brokerage_id: brokerage, user_id: user, role: 'broker' });
  const buyer = await takePart('Di', 'buyer');
  const rival = await takePart('Ed', 'buyer');
  const advisor = await takePart('Fi', 'advisor', { advises: buyer.part });
  const invited = await takePart('Gus', 'buyer', { status: 'invited' });
  const offer = await insert(service, 'offers', {
    deal_id: deal,
    participant_id: buyer.part,
    buyer_user_id: buyer.user,
    revision_number: 1,
    payload: { currency: 'USD', purchase_price: '100' },
  });
  return {
    brokerage,
    deal,
    broker,
    colleague,
    buyer,
    rival,
    advisor,
    invited,
    grant: (to = buyer, by = broker) =>
      by.ask(`/deals/${deal}/exclusivity`, { participant_id: to.part, expires_at: service.clock.inDays(30) }),
    accept: () => broker.ask(`/offers/${offer}/accept`, { expires_at: service.clock.inDays(30) }),
    revise: (by = buyer) => by.ask(`/deals/${deal}/offers`, { payload: { currency: 'USD', purchase_price: '110' } }),
    extend: () => broker.ask(`/deals/${deal}/exclusivity`, { expires_at: service.clock.inDays(60) }, 'PATCH'),
    release: () => colleague.ask(`/deals/${deal}/exclusivity`, undefined, 'DELETE'),
    move: (to: string) => colleague.ask(`/deals/${deal}/moves`, { to, confirm: true }),
    edit: () => colleague.ask(`/deals/${deal}`, { title: 'The bakery' }, 'PATCH'),
    remove: ({ part }: { part: string }) => colleague.ask(`/deals/${deal}/participants/${part}`, undefined, 'DELETE'),
    /** Returns the buyer with the exclusivity, and the state of the deal. */
    async stands() {
      const [found] = await service.sql(
        `select app.actual_state($1) as state,
           (select u.name from exclusivities x join users u on u.id = x.buyer_user_id where x.deal_id = $1 and x.ended_at is null) as holder`,
        [deal],
      );
      return found;
    },
  };
}

type Sale = Awaited<ReturnType<typeof addSale>>;

const grantIt = async (sale: Sale) => {
  expect((await sale.grant()).status).toBe(200);
  return sale;
};

async function letItLapse(sale: Sale) {
  await service.sql(
    `update exclusivities set granted_at = app.now() - interval '2 days', expires_at = app.now() - interval '1 day' where deal_id = $1`,
    [sale.deal],
  );
  return sale;
}

const outcomeOf = ({ status, body }: Answer) => (status < 300 ? status : [status, body.error.code]);

describe('concurrently', () => {
  interface AtOnce {
    readonly begin?: (sale: Sale) => Promise<Sale>;
    readonly held?: (sale: Sale) => readonly [table: string, column: string, value: string];
    readonly first: (sale: Sale) => Promise<Answer>;
    readonly second: (sale: Sale) => Promise<Answer>;
    readonly answers: readonly unknown[];
    readonly stands: Record<string, unknown>;
  }
  const listed = { state: 'listed', holder: null };
  const granted = { state: 'exclusivity', holder: 'Di' };
  const cases: Record<string, AtOnce> = {
    'two buyers are granted exclusivity: one is': {
      first: (sale) => sale.grant(),
      second: (sale) => sale.grant(sale.rival, sale.colleague),
      answers: [200, [409, 'exclusivity_runs']],
      stands: granted,
    },
    'an offer is accepted while its buyer revises it: what was offered when the broker accepted is agreed': {
      first: (sale) => sale.accept(),
      second: (sale) => sale.revise(),
      answers: [200, 201],
      stands: granted,
    },
    'an offer is accepted that its buyer has just revised: it is not the latest': {
      held: ({ deal }) => ['offers', 'deal_id', deal],
      first: (sale) => sale.revise(),
      second: (sale) => sale.accept(),
      answers: [201, [409, 'offer_superseded']],
      stands: listed,
    },
    'an offer is accepted while another buyer offers': {
      first: (sale) => sale.accept(),
      second: (sale) => sale.revise(sale.rival),
      answers: [200, 201],
      stands: granted,
    },
    'an offer is accepted of a buyer who is removed: accepted first': {
      first: (sale) => sale.accept(),
      second: (sale) => sale.remove(sale.buyer),
      answers: [200, 200],
      stands: granted,
    },
    'an offer is accepted of a buyer who is removed: removed first': {
      held: ({ buyer }) => ['vault.deals_of_people', 'user_id', buyer.user],
      first: (sale) => sale.remove(sale.buyer),
      second: (sale) => sale.accept(),
      answers: [200, [409, 'not_an_active_buyer']],
      stands: listed,
    },
    'exclusivity is granted while somebody else is removed': {
      first: (sale) => sale.grant(),
      second: (sale) => sale.remove(sale.rival),
      answers: [200, 200],
      stands: granted,
    },
    'a deal is edited while somebody is removed': {
      first: (sale) => sale.edit(),
      second: (sale) => sale.remove(sale.rival),
      answers: [200, 200],
      stands: listed,
    },
    'exclusivity is granted while the deal is withdrawn': {
      first: (sale) => sale.grant(),
      second: (sale) => sale.move('withdrawn'),
      answers: [200, 200],
      stands: { state: 'withdrawn', holder: null },
    },
    'exclusivity is granted while an NDA is sent': {
      first: (sale) => sale.grant(),
      second: ({ colleague, deal, rival }) =>
        colleague.ask(`/deals/${deal}/ndas`, { participant_id: rival.part, terms: 'Secret.', expires_at: null }),
      answers: [200, 201],
      stands: granted,
    },
    'exclusivity is released while the deal is withdrawn: withdrawn first': {
      begin: grantIt,
      held: ({ deal }) => ['deal_stages', 'deal_id', deal],
      first: (sale) => sale.move('withdrawn'),
      second: (sale) => sale.release(),
      answers: [200, [403, 'denied']],
      stands: { state: 'withdrawn', holder: null },
    },
    'exclusivity is released while it is extended': {
      begin: grantIt,
      first: (sale) => sale.extend(),
      second: (sale) => sale.release(),
      answers: [200, 200],
      stands: listed,
    },
    'exclusivity is extended while the deal goes on': {
      begin: grantIt,
      held: ({ deal }) => ['deal_stages', 'deal_id', deal],
      first: (sale) => sale.move('diligence'),
      second: (sale) => sale.extend(),
      answers: [200, 200],
      stands: { state: 'diligence', holder: 'Di' },
    },
    'exclusivity is extended while the deal is withdrawn': {
      begin: grantIt,
      held: ({ deal }) => ['deal_stages', 'deal_id', deal],
      first: (sale) => sale.move('withdrawn'),
      second: (sale) => sale.extend(),
      answers: [200, [403, 'denied']],
      stands: { state: 'withdrawn', holder: null },
    },
    'exclusivity is extended while the buyer’s advisor is removed': {
      begin: grantIt,
      first: (sale) => sale.extend(),
      second: (sale) => sale.remove(sale.advisor),
      answers: [200, 200],
      stands: granted,
    },
    'an exclusivity is granted in place of one that has lapsed by two': {
      begin: async (sale) => letItLapse(await grantIt(sale)),
      first: (sale) => sale.grant(sale.rival, sale.colleague),
      second: (sale) => sale.grant(),
      answers: [200, [409, 'exclusivity_runs']],
      stands: { state: 'exclusivity', holder: 'Ed' },
    },
    'an NDA is sent to whoever accepts the invitation to the deal': {
      held: ({ invited }) => ['participants', 'id', invited.part],
      first: ({ invited }) => invited.ask(`/invitations/${invited.part}/accept`, {}),
      second: ({ broker, deal, invited }) =>
        broker.ask(`/deals/${deal}/ndas`, { participant_id: invited.part, terms: 'Secret.', expires_at: null }),
      answers: [200, 201],
      stands: listed,
    },
    'somebody is invited again who accepts': {
      first: ({ invited }) => invited.ask(`/invitations/${invited.part}/accept`, {}),
      second: ({ broker, deal, invited }) =>
        broker.ask(`/deals/${deal}/participants/${invited.part}/invitation`, { deliver: 'link' }),
      answers: [200, [409, 'already_participant']],
      stands: listed,
    },
    'an NDA that is in force is revoked while the deal is edited': {
      begin: async (sale) => {
        await insert(service, 'ndas', {
          id: sale.rival.part,
          deal_id: sale.deal,
          participant_id: sale.rival.part,
          terms: 'Secret.',
          status: 'active',
          signed_at: service.clock.now(),
          signed_name: 'Ed',
        });
        return sale;
      },
      first: (sale) => sale.edit(),
      second: ({ broker, rival }) => broker.ask(`/ndas/${rival.part}/revoke`, {}),
      answers: [200, 200],
      stands: listed,
    },
  };

  test.each(Object.entries(cases))('%s', async (_, { begin, held, first, second, answers, stands }) => {
    const sale = await addSale();
    await begin?.(sale);
    const row = held?.(sale) ?? (['deals', 'id', sale.deal] as const);
    const given = await atOnce(
      service,
      row,
      () => first(sale),
      () => second(sale),
    );
    expect(given.map(outcomeOf)).toEqual(answers);
    expect(await sale.stands()).toEqual(stands);
  });
});

describe('a proposed change of the agreed terms, decided by two brokers concurrently,', () => {
  async function addProposal() {
    const sale = await addSale();
    expect((await sale.accept()).status).toBe(200);
    const proposed = await sale.revise();
    expect(proposed.status).toBe(201);
    const { id } = proposed.body as unknown as { readonly id: string };
    const decide = (by: Sale['broker'], decision: 'accepted' | 'declined') => () =>
      by.ask(`/offers/${id}/decision`, { decision });
    const decided = async () =>
      (
        await service.sql(
          `select c.decision, c.decided_by,
             (select count(*)::int from audit_records a where a.subject_id = c.offer_id::text and a.action like 'offer.%_change') as records
           from offer_decisions c where c.offer_id = $1`,
          [id],
        )
      )[0];
    return { ...sale, decide, decided };
  }

  test.each(['declined', 'accepted'] as const)('is accepted if accepted first and %s second', async (second) => {
    const { deal, broker, colleague, decide, decided } = await addProposal();
    const given = await atOnce(service, ['deals', 'id', deal], decide(broker, 'accepted'), decide(colleague, second));
    expect(given.map(outcomeOf)).toEqual([200, [409, 'offer_accepted']]);
    expect(await decided()).toEqual({ decision: 'accepted', decided_by: broker.user, records: 1 });
  });

  test('cannot be accepted once the exclusivity is released', async () => {
    const { deal, broker, release, decide, decided } = await addProposal();
    const given = await atOnce(service, ['deals', 'id', deal], release, decide(broker, 'accepted'));
    expect(given.map(outcomeOf)).toEqual([200, [409, 'no_exclusivity']]);
    expect(await decided()).toBeUndefined();
  });
});

test('the scheduled job skips a lapsed exclusivity on a deal that is being withdrawn', async () => {
  const sale = await letItLapse(await grantIt(await addSale()));
  const [withdrawn] = await atOnce(
    service,
    ['deal_stages', 'deal_id', sale.deal],
    () => sale.move('withdrawn'),
    () => service.sql('select app.sweep()'),
  );
  expect(withdrawn.status).toBe(200);
  expect(await sale.stands()).toEqual({ state: 'withdrawn', holder: null });
});

test('the scheduled job skips a lapsed exclusivity on a locked deal, and ends it in the next run', async () => {
  const sale = await letItLapse(await grantIt(await addSale()));
  const holder = await connect(service.connections.owner);
  try {
    await holder.query('begin');
    await holder.query('select from deals where id = $1 for share', [sale.deal]);
    await service.sql('select app.sweep()');
    const ended = () =>
      service.sql('select deal_id from exclusivities where deal_id = $1 and ended_at is not null', [sale.deal]);
    expect(await ended()).toEqual([]);
    await holder.query('commit');
    await service.sql('select app.sweep()');
    expect(await ended()).toHaveLength(1);
  } finally {
    await holder.end();
  }
});

test.each<[string, (sale: Sale) => { user: string }, (sale: Sale) => Promise<Answer>, unknown]>([
  ['the buyer whose offer is accepted', ({ buyer }) => buyer, (sale) => sale.accept(), 200],
  ['a buyer who revises their offer', ({ buyer }) => buyer, (sale) => sale.revise(), 201],
  ['the broker who accepts the offer', ({ broker }) => broker, (sale) => sale.accept(), 200],
  ['the advisor of the buyer whose offer is accepted', ({ advisor }) => advisor, (sale) => sale.accept(), 200],
])('%s is erased concurrently', async (_, who, change, status) => {
  const sale = await addSale();
  const [answer, { pseudonym }] = await atOnce(
    service,
    ['offers', 'deal_id', sale.deal],
    () => change(sale),
    () => erase(who(sale).user),
  );
  expect([outcomeOf(answer), pseudonym]).toEqual([status, expect.stringMatching(/^Former participant /)]);
});

test.each(['again', 'by their address'])(
  'a person accepts by link while invited %s: the second invitation is refused',
  async (how) => {
    const { deal, broker, invited } = await addSale();
    const link = mintToken();
    await service.sql(
      'insert into vault.invitations (digest, user_id, participant_id, mailed) values ($1, $2, $3, false)',
      [tokenDigest(link), invited.user, invited.part],
    );
    const [{ email }] = (await service.sql<{ email: string }>('select email from users where id = $1', [
      invited.user,
    ])) as [{ email: string }];
    const [used, again] = await atOnce(
      service,
      ['deals', 'id', deal],
      () =>
        fetch(`${service.origin}/api/auth/invitation/join`, {
          method: 'POST',
          headers: { ...invited.headers, 'content-type': 'application/json' },
          body: JSON.stringify({ token: link }),
        }),
      () =>
        how === 'again'
          ? broker.ask(`/deals/${deal}/participants/${invited.part}/invitation`, { deliver: 'link' })
          : broker.ask(`/deals/${deal}/participants`, { email, name: 'Gus', role: 'buyer', deliver: 'link' }),
    );
    expect([used.status, outcomeOf(again)]).toEqual([200, [409, 'already_participant']]);
    expect(await service.sql('select status from participants where id = $1', [invited.part])).toEqual([
      { status: 'active' },
    ]);
  },
);
