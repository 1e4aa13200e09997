-- compatible: indexes are added.
-- no transaction

-- Whose answers somebody has read, with until when: asked of all of a buyer's deals by their first page, and of each person of a sandbox that is reset, for whom the table was read from one end to the other.
create index concurrently if not exists answer_readings_by_person on public.answer_readings (user_id, deal_id) include (read_until);
-- Of the mails that wait as many as are counted, the oldest first; those that were given up.
create index concurrently if not exists outbox_waiting_since on vault.outbox (created_at) where sent_at is null and given_up_at is null;
create index concurrently if not exists outbox_given_up on vault.outbox (given_up_at) where given_up_at is not null;
-- Devices and links to invitations that are to be deleted.
create index concurrently if not exists known_devices_by_use on vault.known_devices (used_at);
create index concurrently if not exists invitations_by_expiry on vault.invitations (expires_at);
-- Grants that were revoked, until they are deleted.
create index concurrently if not exists token_families_revoked on vault.token_families (revoked_at) where revoked_at is not null;
-- The deals of a brokerage that have changed since, for keys that ask for these alone.
create index concurrently if not exists deals_changed_for_keys on public.deals (organization_id, updated_at) where keys_admitted;
create index concurrently if not exists deal_stages_changed on public.deal_stages (brokerage_id, updated_at);
-- Whose keys and grants refer to the people of a sandbox, too, live or not.
create index concurrently if not exists api_keys_by_creator on public.api_keys (created_by);
create index concurrently if not exists api_keys_by_revoker on public.api_keys (revoked_by) where revoked_by is not null;
create index concurrently if not exists api_key_digests_by_issuer on vault.api_key_digests (issued_by);
create index concurrently if not exists token_families_of_people on vault.token_families (user_id);
