-- compatible: indexes are added.
-- no transaction

-- What ends on the deals of somebody who subscribes to their deadlines.
create index concurrently if not exists ndas_ending on public.ndas (deal_id) include (expires_at, participant_id, signed_at, id)
  where status = 'active' and expires_at is not null;
create index concurrently if not exists offers_ending on public.offers (deal_id) where is_current and payload ->> 'expires_at' is not null;
