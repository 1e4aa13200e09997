-- no transaction
-- compatible: an index more.
--
-- The exclusivities in force of a brokerage's deals, for the list of deals of its admins.

set lock_timeout = '5s';
create index concurrently if not exists exclusivities_in_force on public.exclusivities (brokerage_id) where ended_at is null;
