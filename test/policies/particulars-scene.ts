/**
 * People between two roles, and records between two states, which the checks of particulars.ts need in addition to the
 * scene.
 */

import type pg from 'pg';
import { withoutTriggers } from '../triggers.ts';
import type { Scene } from './scene.ts';

/** Adds these people and records to the scene, as its owner; returns their ids by name. */
export async function setParticulars(owner: pg.ClientBase, scene: Scene): Promise<Record<string, string>> {
  const ids: Record<string, string> = {};
  const add = async (name: string, table: string, values: Record<string, unknown>): Promise<string> => {
    const columns = Object.keys(values);
    const { rows } = await owner.query(
      `insert into ${table} (${columns.join(', ')}) values (${columns.map((_, index) => `$${index + 1}`).join(', ')}) returning *`,
      Object.values(values),
    );
    return (ids[name] = (rows[0].id ?? '') as string);
  };
  const { brokerage, deal, people, participants, records } = scene;

  // A brokerage whose members take part in no deal, with one member of each role, a client shared with it, and a
  // contact.
  await add('quiet', 'brokerages', { slug: 'quiet', name: 'Quiet Brokers' });
  for (const role of ['admin', 'broker', 'staff']) {
    await add(`quiet ${role}`, 'users', { email: `quiet-${role}@example.test`, name: `The quiet ${role}` });
    await add('', 'members', { brokerage_id: ids['quiet'], user_id: ids[`quiet ${role}`], role });
  }
  await add('shared client', 'connected_clients', {
    created_by: ids['quiet admin'],
    brokerage_id: ids['quiet'],
    name: 'Shared',
    redirect_uris: ['https://client.example/callback'],
  });
  await add('deleted client', 'connected_clients', {
    created_by: ids['quiet admin'],
    name: 'Deleted',
    redirect_uris: ['https://client.example/callback'],
    deleted_at: new Date(),
  });
  await add('quiet contact', 'contacts', { brokerage_id: ids['quiet'], type: 'person', display_name: 'Quiet' });
  await add('archived', 'contacts', {
    brokerage_id: brokerage,
    type: 'person',
    display_name: 'Gone',
    archived_at: new Date(),
  });

  // A member of the brokerage who is a buyer on the deal.
  await add('buying member', 'users', { email: 'buying-member@example.test', name: 'A buying member' });
  await add('', 'members', { brokerage_id: brokerage, user_id: ids['buying member'], role: 'staff' });
  await add("the buying member's part", 'participants', {
    deal_id: deal,
    user_id: ids['buying member'],
    role: 'buyer',
    status: 'active',
  });

  // A deal whose selected buyer has no NDA, with an advisor of a person who has left it.
  const bare = await add('bare', 'deals', { organization_id: brokerage, title: 'Chandlery', state: 'diligence' });
  await add('', 'participants', { deal_id: bare, user_id: people['colleague'], role: 'broker', status: 'active' });
  await add('bare buyer', 'participants', {
    deal_id: bare,
    user_id: people['new buyer'],
    role: 'buyer',
    status: 'active',
  });
  await add('', 'exclusivities', {
    deal_id: bare,
    participant_id: ids['bare buyer'],
    buyer_user_id: people['new buyer'],
    expires_at: new Date(Date.now() + 86_400_000),
  });
  await add('departed', 'participants', {
    deal_id: bare,
    user_id: people['removed'],
    role: 'broker',
    status: 'removed',
  });
  await add('', 'participants', {
    deal_id: bare,
    user_id: people["broker's advisor"],
    role: 'advisor',
    status: 'active',
    advises: ids['departed'],
  });
  const body = { size_bytes: 1, media_type: 'application/pdf', category: 'tax' };
  for (const table of ['documents', 'production_documents']) {
    const more = table === 'documents' ? {} : { diligence_request: 'Returns' };
    for (const confidentiality of ['nda_gated', 'selected_buyer_only'])
      await add(`bare ${table} ${confidentiality}`, table, {
        deal_id: bare,
        filename: 'a.pdf',
        confidentiality,
        storage_key: `bare-${table}-${confidentiality}`,
        ...body,
        ...more,
      });
    await add(`removed ${table}`, table, {
      deal_id: deal,
      filename: 'a.pdf',
      confidentiality: 'public',
      storage_key: `removed-${table}`,
      removed_at: new Date(),
      ...body,
      ...more,
    });
  }

  // Records of people about a deal in which they no longer take part.
  await add('', 'deal_opt_ins', { user_id: people['colleague'], deal_id: deal });
  await add('', 'answer_readings', { user_id: people['removed'], deal_id: bare, read_until: new Date(0) });
  const finding = records["findings/the broker's"];
  await add('comment', 'finding_comments', { finding_id: finding, body: 'Between us.' });
  ids['change'] = (await owner.query('select id from finding_changes where finding_id = $1', [finding])).rows[0].id;

  const distributed = records["questions/the other buyer's, distributed"];
  await add('', 'question_answers', { question_id: distributed, deal_id: deal, answer_text: 'Because.' });
  await add('rejected', 'questions', {
    deal_id: deal,
    category: 'tax',
    question_text: 'Why?',
    asked_by: people['other buyer'],
    participant_id: participants['other buyer'],
    status: 'rejected',
  });
  await setCoast(owner, scene, ids, add);
  ids['stranger'] = (await owner.query(`select id from users where name = 'a stranger'`)).rows[0].id;
  return ids;
}

type Add = (name: string, table: string, values: Record<string, unknown>) => Promise<string>;

/**
 * A brokerage whose deals are between states: NDAs that lapsed, were revoked or end one day, exclusivities that ended
 * or expired, people who have left, and conditions assigned to each of them.
 */
async function setCoast(owner: pg.ClientBase, { people }: Scene, ids: Record<string, string>, add: Add): Promise<void> {
  const past = new Date('2020-01-01');
  const future = new Date('2999-01-01');
  const coast = await add('coast', 'brokerages', { slug: 'coast', name: 'Coast Brokers' });
  const person = (name: string) =>
    add(name, 'users', {
      email: `${name.toLowerCase().replace(/[^a-z0-9]+/g, '-')}@example.test`,
      name: `The ${name}`,
    });
  for (const [name, role, status] of [
    ['coast admin', 'admin', 'active'],
    ['coast broker', 'broker', 'active'],
    ['coast second', 'broker', 'active'],
    ['coast invited', 'broker', 'invited'],
  ] as const)
    await add('', 'members', { brokerage_id: coast, user_id: await person(name), role, status });
  // Sessions that stay recent however long the checks take.
  for (const [name, user] of [
    ['broker', people['broker']],
    ['coast admin', ids['coast admin']],
  ] as const)
    await add(`session of ${name}`, 'vault.sessions', {
      user_id: user,
      digest: Buffer.alloc(32, name),
      method: 'password',
      authenticated_at: 'infinity',
    });
  const client = { redirect_uris: ['https://client.example/callback'] };
  await add("the coast admin's client", 'connected_clients', {
    created_by: ids['coast admin'],
    name: 'Own',
    ...client,
  });
  for (const creator of ['coast admin', 'coast broker', 'coast left'])
    await add(`shared by the ${creator}`, 'connected_clients', {
      created_by: ids[creator] ?? (await person(creator)),
      brokerage_id: coast,
      name: 'Shared',
      ...client,
    });

  // A brokerage that asks for a second factor.
  await add('strict', 'brokerages', { slug: 'strict', name: 'Strict Brokers', requires_second_factor: true });
  for (const [name, status] of [
    ['strict member', 'active'],
    ['strict member without', 'active'],
    ['strict former', 'removed'],
  ] as const)
    await add('', 'members', { brokerage_id: ids['strict'], user_id: await person(name), role: 'staff', status });
  await add('', 'vault.totp', { user_id: ids['strict member'], secret: 'none', confirmed_at: past });

  const deal = await add('coast deal', 'deals', { organization_id: coast, title: 'Boatyard', state: 'diligence' });
  const joins = async (name: string, role: string, more: Record<string, unknown> = {}, on = deal) =>
    add(on === deal ? `part of ${name}` : '', 'participants', {
      deal_id: on,
      user_id: ids[name] ?? (await person(name)),
      role,
      status: 'active',
      ...more,
    });
  await joins('coast broker', 'broker');
  const seller = await joins('coast seller', 'seller');
  await joins("coast seller's advisor", 'advisor', { advises: seller });
  await joins('coast viewer', 'viewer');
  await joins('former seller', 'seller', { status: 'removed' });
  for (const name of ['buyer until 2999', 'buyer whose NDA lapsed', 'buyer whose NDA was revoked'])
    await joins(name, 'buyer');
  const gone = await joins('buyer who left', 'buyer', { status: 'removed' });
  await joins('advisor of who left', 'advisor', { advises: gone });
  const buyer = ids['part of buyer until 2999']!;
  await joins("buyer's advisor", 'advisor', { advises: buyer });
  await joins("buyer's former advisor", 'advisor', { advises: buyer, status: 'removed' });

  // Rows that only the passing of time produces are inserted with the triggers disabled.
  const untriggered = ['ndas', 'exclusivities', 'closing_conditions', 'qoe_workspace_members'];
  await withoutTriggers(owner, untriggered);
  for (const [name, status, expires_at] of [
    ['buyer until 2999', 'active', future],
    ['buyer whose NDA lapsed', 'active', past],
    ['buyer whose NDA was revoked', 'revoked', null],
    ['buyer who left', 'active', null],
  ] as const)
    await add(`NDA of ${name}`, 'ndas', {
      deal_id: deal,
      participant_id: ids[`part of ${name}`],
      status,
      terms: 'Keep it to yourself.',
      signed_at: past,
      signed_name: name,
      expires_at,
    });
  for (const [name, role] of [
    ['buyer until 2999', 'reader'],
    ["buyer's advisor", 'editor'],
    ['buyer whose NDA lapsed', 'editor'],
    ['buyer whose NDA was revoked', 'editor'],
    ['coast viewer', 'editor'],
  ] as const)
    await add('', 'qoe_workspace_members', { deal_id: deal, participant_id: ids[`part of ${name}`], role });
  const exclusivity = (deal_id: string, part: string, buyer_user_id: string, more: Record<string, unknown>) =>
    add('', 'exclusivities', { deal_id, participant_id: part, buyer_user_id, granted_at: '2019-01-01', ...more });
  // In diligence an expired exclusivity still names the buyer, and one that was ended names nobody.
  await exclusivity(deal, buyer, ids['buyer until 2999']!, { expires_at: past });
  await exclusivity(deal, ids['part of buyer whose NDA lapsed']!, ids['buyer whose NDA lapsed']!, {
    expires_at: future,
    ended_at: past,
  });
  for (const [name, expires_at] of [
    ['held deal', future],
    ['lapsed deal', past],
  ] as const) {
    const other = await add(name, 'deals', { organization_id: coast, title: name, state: 'exclusivity' });
    const part = await joins('buyer until 2999', 'buyer', {}, other);
    await exclusivity(other, part, ids['buyer until 2999']!, { expires_at });
    for (const role of ['broker', 'seller', 'viewer']) await joins(`coast ${role}`, role, {}, other);
  }
  for (const name of [
    'coast admin',
    'coast seller',
    "coast seller's advisor",
    'coast viewer',
    'buyer who left',
    'advisor of who left',
  ])
    await add(`condition of ${name}`, 'closing_conditions', { deal_id: deal, name, owner_user_id: ids[name] });
  for (const table of untriggered) await owner.query(`alter table ${table} enable trigger user`);

  for (const confidentiality of ['nda_gated', 'selected_buyer_only'])
    await add(`coast ${confidentiality}`, 'documents', {
      deal_id: deal,
      filename: 'a.pdf',
      category: 'tax',
      confidentiality,
      size_bytes: 1,
      media_type: 'application/pdf',
      storage_key: `coast-${confidentiality}`,
    });
  await add('coast checklist', 'qoe_checklist', { deal_id: deal, category: 'tax', title: 'Returns' });
  for (const [name, digest, released_at] of [
    ['kept answer', 'a', null],
    ['released answer', 'b', past],
  ] as const)
    await add(name, 'contradiction_answers', {
      deal_id: deal,
      contradiction: digest.repeat(32),
      figures: digest.repeat(32),
      status: 'to_correct',
      why: 'Another upload follows.',
      released_at,
    });
  const question = { deal_id: deal, participant_id: buyer, category: 'tax', question_text: 'Why?' };
  await add("the advisor's question", 'questions', { ...question, asked_by: ids["buyer's advisor"] });
  await add('distributed question', 'questions', {
    ...question,
    asked_by: ids['buyer until 2999'],
    status: 'distributed',
    distributed_response: 'So.',
    distributed_at: past,
  });
  await add('', 'answer_readings', { user_id: ids['coast viewer'], deal_id: deal, read_until: past });

  // An admin of this brokerage who takes part in a deal of another.
  await joins('coast admin', 'viewer', {}, ids['bare']!);

  // Deals of a second broker of the brokerage, to find out which of them would be left without a broker.
  await add('distant', 'brokerages', { slug: 'distant', name: 'Distant Brokers' });
  const second = ids['coast second']!;
  await person('suspended broker');
  await owner.query('update users set suspended_at = now() where id = $1', [ids['suspended broker']]);
  for (const [title, others, more] of [
    ['alone', [['coast seller', 'seller', 'active']], {}],
    ['with a suspended one', [['suspended broker', 'broker', 'active']], {}],
    ['with one who left', [['coast left', 'broker', 'removed']], {}],
    ['with one from elsewhere', [['coast seller', 'broker', 'active']], {}],
    ['with another', [['coast broker', 'broker', 'active']], {}],
    ['over', [], { state: 'withdrawn' }],
    ['elsewhere', [], { organization_id: ids['distant'] }],
  ] as const) {
    const run = await add(title, 'deals', { organization_id: coast, title, state: 'listed', ...more });
    await joins('coast second', 'broker', {}, run);
    for (const [name, role, status] of others) await joins(name, role, { status }, run);
  }
  for (const [title, role, status] of [
    ['as viewer', 'viewer', 'active'],
    ['as former broker', 'broker', 'removed'],
  ] as const) {
    const run = await add(title, 'deals', { organization_id: coast, title, state: 'listed' });
    await add('', 'participants', { deal_id: run, user_id: second, role, status });
  }
  const suspended = await add('of a suspended one', 'deals', { organization_id: coast, title: 'of a suspended one' });
  await joins('suspended broker', 'broker', {}, suspended);
}
