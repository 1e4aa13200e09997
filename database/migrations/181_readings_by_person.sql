-- compatible: an index is added.
-- no transaction

-- What somebody has read of the answers is found without reading each of their deals; so is what of it goes with a person or a sandbox.
create index concurrently if not exists answer_readings_by_user on public.answer_readings (user_id, deal_id) include (read_until);
