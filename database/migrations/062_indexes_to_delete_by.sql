-- compatible: indexes are added.
-- no transaction

-- Deleting a deal asks each table for what is left of it; without these that is a look at the whole table, once for each deal.
create index concurrently if not exists documents_of_deal on public.documents (deal_id);
create index concurrently if not exists production_documents_of_deal on public.production_documents (deal_id);
create index concurrently if not exists exclusivities_of_deal on public.exclusivities (deal_id);
create index concurrently if not exists own_activity_by_deal on vault.own_activity (deal_id);
create index concurrently if not exists reminders_by_deal on vault.reminders (deal_id);
create index concurrently if not exists invitations_by_participant on vault.invitations (participant_id) where participant_id is not null;
