-- compatible: indexes are added.
-- no transaction

-- Whose rows refer to the people of a sandbox, which are deleted when it is reset: these tables were read from one end to the other for each of them.
-- Not so answer_readings: with such an index the first page of a buyer of ten thousand deals took PostgreSQL four times as long.
create index concurrently if not exists contacts_by_author on public.contacts (created_by) where created_by is not null;
create index concurrently if not exists ndas_by_sender on public.ndas (sent_by) where sent_by is not null;
create index concurrently if not exists notifications_by_actor on vault.notifications (actor_id) where actor_id is not null;
create index concurrently if not exists findings_by_owner on public.findings (owner_user_id) where owner_user_id is not null;
create index concurrently if not exists closing_conditions_by_owner on public.closing_conditions (owner_user_id) where owner_user_id is not null;
create index concurrently if not exists qoe_members_by_adder on public.qoe_workspace_members (added_by) where added_by is not null;
create index concurrently if not exists exclusivities_by_granter on public.exclusivities (granted_by) where granted_by is not null;
create index concurrently if not exists exclusivities_by_buyer on public.exclusivities (buyer_user_id);
create index concurrently if not exists outbox_of_brokerage on vault.outbox (brokerage_id) where brokerage_id is not null;
