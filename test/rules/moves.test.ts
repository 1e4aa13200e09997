/**
 * The states of deals, questions, NDAs and other records: each pair of states checked against the database, for whether
 * a record may move from one to the other.
 */

import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openService, type TestService } from '../harness.ts';
import { withoutTriggers } from '../triggers.ts';
import { connect, type Scene } from '../policies/scene.ts';

let service: TestService;
let scene: Scene;
let owner: pg.Client;

beforeAll(async () => {
  service = await openService({ scene: true });
  owner = await connect(service.connections.owner);
  scene = service.scene;
});
afterAll(async () => {
  await owner?.end();
  await service?.close();
});

interface Subject {
  states: string[];
  /** By state, all states that it may change to. */
  moves: Record<string, string[]>;
  /** Makes a row in that state; returns its id. */
  make: (state: string) => Promise<string>;
  move: string;
}

async function insert(table: string, values: Record<string, unknown>): Promise<string> {
  const columns = Object.keys(values);
  const marks = columns.map((_, index) => `$${index + 1}`);
  const { rows } = await owner.query(
    `insert into ${table} (${columns.join(', ')}) values (${marks.join(', ')}) returning id`,
    Object.values(values),
  );
  return rows[0].id as string;
}

const subjects: Record<string, Subject> = {
  deal: {
    states: ['draft', 'listed', 'under_offer', 'exclusivity', 'diligence', 'closing', 'closed', 'withdrawn'],
    moves: {
      draft: ['listed', 'withdrawn'],
      listed: ['under_offer', 'exclusivity', 'withdrawn'],
      under_offer: ['exclusivity', 'withdrawn'],
      exclusivity: ['diligence', 'withdrawn'],
      diligence: ['closing', 'withdrawn'],
      closing: ['closed', 'withdrawn'],
      closed: [],
      withdrawn: [],
    },
    async make(state) {
      const id = await insert('deals', { organization_id: scene.brokerage, title: 'T', state });
      const buyer = await insert('participants', {
        deal_id: id,
        user_id: scene.people['exclusive buyer'],
        role: 'buyer',
        status: 'active',
      });
      // Granting exclusivity moves a deal to that state; here the exclusivity exists already, whatever the state.
      await withoutTriggers(owner, ['exclusivities']);
      await insert('exclusivities', {
        deal_id: id,
        participant_id: buyer,
        buyer_user_id: scene.people['exclusive buyer'],
        expires_at: new Date(Date.now() + 86_400_000),
      });
      await owner.query('alter table exclusivities enable trigger user');
      return id;
    },
    move: 'update deals set state = $2 where id = $1',
  },
  question: {
    states: ['pending_broker_review', 'with_seller', 'answered', 'distributed', 'rejected', 'withdrawn'],
    moves: {
      pending_broker_review: ['with_seller', 'rejected', 'withdrawn'],
      with_seller: ['answered', 'pending_broker_review'],
      answered: ['distributed'],
      distributed: [],
      rejected: [],
      withdrawn: [],
    },
    make: (state) =>
      insert('questions', {
        deal_id: scene.deal,
        category: 'tax',
        question_text: 'Why?',
        asked_by: scene.people['other buyer'],
        participant_id: scene.participants['other buyer'],
        status: state,
        distributed_response: state === 'distributed' ? 'So.' : null,
      }),
    move: `update questions set status = $2, distributed_response = case when $2 = 'distributed' then 'So.' end where id = $1`,
  },
  nda: {
    states: ['sent', 'active', 'expired', 'revoked'],
    moves: { sent: ['active', 'expired', 'revoked'], active: ['expired', 'revoked'], expired: [], revoked: [] },
    make: (state) =>
      insert('ndas', {
        deal_id: scene.deal,
        participant_id: scene.participants['new buyer'],
        terms: 'T',
        status: state,
        signed_at: new Date(),
        signed_name: 'N',
      }),
    move: 'update ndas set status = $2 where id = $1',
  },
  'financing source': {
    states: ['identified', 'applied', 'term_sheet', 'committed', 'funded', 'expired', 'withdrawn'],
    moves: {
      identified: ['applied', 'term_sheet', 'committed', 'funded', 'expired', 'withdrawn'],
      applied: ['term_sheet', 'committed', 'funded', 'expired', 'withdrawn'],
      term_sheet: ['committed', 'funded', 'expired', 'withdrawn'],
      committed: ['funded', 'expired', 'withdrawn'],
      funded: [],
      expired: [],
      withdrawn: [],
    },
    make: (state) =>
      insert('financing_sources', {
        deal_id: scene.deal,
        participant_id: scene.participants['broker'],
        source_type: 'other',
        source_name: 'B',
        commitment_amount: '1',
        currency: 'USD',
        commitment_status: state,
      }),
    move: 'update financing_sources set commitment_status = $2 where id = $1',
  },
  finding: {
    states: ['open', 'mitigated', 'accepted', 'resolved'],
    moves: {
      open: ['mitigated', 'accepted', 'resolved'],
      mitigated: ['open', 'accepted', 'resolved'],
      accepted: ['open', 'mitigated', 'resolved'],
      resolved: ['open', 'mitigated', 'accepted'],
    },
    make: (state) =>
      insert('findings', {
        deal_id: scene.deal,
        participant_id: scene.participants['broker'],
        category: 'tax',
        title: 'T',
        severity: 'minor',
        status: state,
      }),
    move: 'update findings set status = $2 where id = $1',
  },
  snapshot: {
    states: ['requested', 'processing', 'completed', 'failed'],
    moves: { requested: ['processing', 'failed'], processing: ['completed', 'failed'], completed: [], failed: [] },
    make: (state) => insert('accounting_snapshots', { deal_id: scene.deal, snapshot_type: 'full', status: state }),
    move: 'update accounting_snapshots set status = $2 where id = $1',
  },
  'closing condition': {
    states: ['open', 'in_progress', 'satisfied', 'waived'],
    moves: {
      open: ['in_progress', 'satisfied', 'waived'],
      in_progress: ['open', 'satisfied', 'waived'],
      satisfied: ['open'],
      waived: ['open'],
    },
    make: (state) => insert('closing_conditions', { deal_id: scene.deal, name: 'C', status: state }),
    move: 'update closing_conditions set status = $2 where id = $1',
  },
  participant: {
    states: ['invited', 'active', 'removed'],
    moves: { invited: ['active', 'removed'], active: ['removed'], removed: ['invited'] },
    make: async (state) => {
      const user = await insert('users', { email: `${crypto.randomUUID()}@example.test`, name: 'P' });
      return insert('participants', { deal_id: scene.deal, user_id: user, role: 'viewer', status: state });
    },
    move: 'update participants set status = $2 where id = $1',
  },
};

describe.each(Object.entries(subjects))('%s', (_name, subject) => {
  test.each(subject.states)('has exactly the permitted moves from %s', async (from) => {
    const passed: string[] = [];
    for (const to of subject.states) {
      if (to === from) continue;
      const id = await subject.make(from);
      try {
        await owner.query(subject.move, [id, to]);
        passed.push(to);
      } catch (error) {
        expect(error).toMatchObject({ code: 'DK001' });
        expect((error as pg.DatabaseError).hint).toMatch(/^(move_not_allowed|exclusivity_runs|answer_missing)$/);
      }
    }
    expect(passed.toSorted()).toEqual((subject.moves[from] ?? []).toSorted());
  });
});

test('completed_at is set on completion and cleared on reopening', async () => {
  const stamped = async (table: string, id: string) =>
    (await owner.query(`select completed_at from ${table} where id = $1`, [id])).rows[0].completed_at !== null;
  const row = await insert('qoe_checklist', { deal_id: scene.deal, category: 'tax', title: 'T' });
  for (const [status, expected] of [
    ['in_progress', false],
    ['completed', true],
    ['not_applicable', false],
    ['completed', true],
  ] as const) {
    await owner.query('update qoe_checklist set status = $2 where id = $1', [row, status]);
    expect(await stamped('qoe_checklist', row)).toBe(expected);
  }
  for (const status of ['satisfied', 'waived'])
    expect(
      await stamped(
        'closing_conditions',
        await insert('closing_conditions', { deal_id: scene.deal, name: 'C', status }),
      ),
    ).toBe(true);
  for (const status of ['completed', 'failed'])
    expect(
      await stamped(
        'accounting_snapshots',
        await insert('accounting_snapshots', { deal_id: scene.deal, snapshot_type: 'full', status }),
      ),
    ).toBe(true);
});
