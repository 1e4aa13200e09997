-- no transaction
-- compatible: indexes more.
--
-- Whoever is deleted with a sandbox is looked for in each table that names people: in these row by row.

set lock_timeout = '5s';
create index concurrently if not exists deal_tool_stops_by_user on public.deal_tool_stops (stopped_by);
create index concurrently if not exists authorization_codes_by_user on vault.authorization_codes (user_id);
create index concurrently if not exists challenges_by_user on vault.challenges (user_id) where user_id is not null;
create index concurrently if not exists sign_in_steps_by_user on vault.sign_in_steps (user_id);
