/** `dealkeep people export` has every row that names the person, and names nobody else. */

import { afterAll, beforeAll, expect, test } from 'vitest';
import { urlOf } from '../../bench/cluster.ts';
import { openService, type TestService } from '../harness.ts';
import { cleanUp, run } from './program.ts';

let service: TestService;
let env: Record<string, string>;
beforeAll(async () => {
  service = await openService({ scene: true });
  const { owner, server } = service.connections;
  env = { DATABASE_URL: urlOf(server), MIGRATE_DATABASE_URL: urlOf(owner), DATA_DIR: service.config.dataDir };
});
afterAll(async () => {
  await cleanUp();
  await service?.close();
});

/** For each column that refers to an account, the list of the export that has its rows. */
const lists: Readonly<Record<string, string>> = {
  'accounting_snapshots.requested_by': 'accounting_snapshots',
  'answer_readings.user_id': 'answers_read',
  'api_keys.created_by': 'api_keys',
  'api_keys.revoked_by': 'api_keys_revoked',
  'closing_conditions.owner_user_id': 'conditions_owned',
  'connected_clients.created_by': 'clients',
  'contacts.created_by': 'contacts_created',
  'contradiction_answers.answered_by': 'contradiction_answers',
  'contradiction_answers.released_by': 'contradictions_released',
  'deal_opt_ins.user_id': 'deals_for_assistants',
  'deal_tool_stops.stopped_by': 'tools_stopped',
  'deals.created_by': 'deals_opened',
  'document_openings.user_id': 'document_openings',
  'documents.uploaded_by': 'documents',
  'exclusivities.buyer_user_id': 'exclusivities',
  'exclusivities.granted_by': 'exclusivities_granted',
  'financing_sources.created_by': 'financing_sources',
  'finding_changes.changed_by': 'finding_changes',
  'finding_comments.created_by': 'finding_comments',
  'findings.created_by': 'findings',
  'findings.owner_user_id': 'findings_owned',
  'members.user_id': 'memberships',
  'ndas.sent_by': 'ndas_sent',
  'normalizations.created_by': 'normalizations',
  'offer_decisions.decided_by': 'decisions_on_offers',
  'offers.buyer_user_id': 'offers',
  'participants.user_id': 'participations',
  'production_documents.uploaded_by': 'documents',
  'qoe_workspace_members.added_by': 'qoe_places_given',
  'question_answers.answered_by': 'answers',
  'questions.asked_by': 'questions',
  'tool_grants.user_id': 'tool_grants',
  'webhook_endpoints.created_by': 'webhooks_added',
  'vault.address_changes.user_id': 'address_changes',
  'vault.api_key_digests.issued_by': 'api_keys_shown',
  'vault.brokerage_deletions.asked_by': 'brokerage_deletions_requested',
  'vault.calendar_links.user_id': 'calendar_link',
  'vault.deal_notification_choices.user_id': 'deal_notification_choices',
  'vault.known_devices.user_id': 'known_devices',
  'vault.notification_choices.user_id': 'notification_choices',
  'vault.notification_settings.user_id': 'notification_settings',
  'vault.notifications.user_id': 'notifications',
  'vault.outbox.recipient_id': 'mails',
  'vault.passkeys.user_id': 'passkeys',
  'vault.passwords.user_id': 'account',
  'vault.recovery_codes.user_id': 'account',
  'vault.sent_reminders.recipient_id': 'reminders',
  'vault.sent_reminders.sent_by': 'reminders',
  'vault.sessions.user_id': 'sessions',
  'vault.token_families.user_id': 'grants',
  'vault.totp.user_id': 'account',
  'vault.visits.user_id': 'visits',
};

/** Why rows that refer to an account are in no list. */
const reasons: Readonly<Record<string, string>> = {
  'vault.addresses_to_clear.user_id': 'only of erased people, until their addresses are cleared',
  'vault.authorization_codes.user_id': 'a secret, for a minute',
  'vault.challenges.user_id': 'a secret, for five minutes',
  'vault.invitations.user_id': 'the digest of a link; the invitation is in memberships or participations',
  'vault.notifications.actor_id': 'what others are told; what the person did is in audit_records',
  'vault.outbox.caused_by': 'mails to others; what the person did is in audit_records',
  'vault.password_resets.user_id': 'a secret, for half an hour',
  'vault.sign_in_steps.user_id': 'a secret, for ten minutes',
};

const exported = async (who: string) => {
  const { code, stdout } = await run(['people', 'export', who], env);
  expect(code).toBe(0);
  return { text: stdout, data: JSON.parse(stdout) as Record<string, unknown> };
};

test('every column that refers to an account is in a list of the export, or there is a reason why not', async () => {
  const columns = await service.sql<{ name: string }>(
    `select k.conrelid::regclass::text || '.' || a.attname as name from pg_constraint k
     join pg_attribute a on a.attrelid = k.conrelid and a.attnum = any (k.conkey)
     where k.contype = 'f' and k.confrelid = 'public.users'::regclass and k.conparentid = 0 order by 1`,
  );
  expect(columns.map(({ name }) => name)).toEqual([...Object.keys(lists), ...Object.keys(reasons)].toSorted());
  const { data } = await exported(service.scene.people['broker']!);
  for (const list of Object.values(lists)) expect(Object.keys(data)).toContain(list);
});

test('the export has the rows that name the person, contacts with their address, and no id of others', async () => {
  const { people, brokerage, key, deal } = service.scene;
  const buyer = people['exclusive buyer']!;
  await service.sql(
    `insert into contacts (brokerage_id, type, display_name, email, phone, created_by)
     select $1, 'person', 'As they are called', upper(u.email), '+1 555 0101', $3 from users u where u.id = $2`,
    [brokerage, buyer, people['broker']],
  );
  await service.sql('update api_keys set revoked_by = $1, revoked_at = app.now() where id = $2', [
    people['broker'],
    key,
  ]);
  await service.sql('update findings set owner_user_id = $1 where deal_id = $2', [people['broker'], deal]);
  await service.sql('update ndas set sent_by = $1 where deal_id = $2', [people['broker'], deal]);
  await service.sql(
    'insert into vault.brokerage_deletions (brokerage_id, asked_by, due_at) values ($1, $2, app.now())',
    [brokerage, people['admin']],
  );
  const everybody = await service.sql<{ id: string; email: string }>('select id, email from users');
  for (const who of ['exclusive buyer', 'broker', 'admin', 'seller']) {
    const { text, data } = await exported(people[who]!);
    for (const [column, list] of Object.entries(lists)) {
      const [, table = '', name = ''] = /^(.*)\.([^.]+)$/.exec(column)!;
      const rows = await service.sql<{ id: string | null }>(
        `select to_jsonb(t) ->> 'id' as id from ${table} t where t.${name} = $1`,
        [people[who]],
      );
      if (rows.length > 0) expect(data[list], `${who}: ${column}`).not.toEqual([]);
      if (column.startsWith('vault.')) continue;
      for (const { id } of rows) if (id !== null) expect(JSON.stringify(data[list]), `${who}: ${column}`).toContain(id);
    }
    const others = everybody.filter(
      ({ id, email }) => id !== people[who] && (text.includes(id) || text.includes(email)),
    );
    expect(others, who).toEqual([]);
  }
  const { data } = await exported(buyer);
  expect(data['contacts']).toEqual([
    expect.objectContaining({ brokerage_id: brokerage, display_name: 'As they are called', phone: '+1 555 0101' }),
  ]);
});
