-- compatible: an index instead of another.
-- What is queued at once is due at once: a claim of 50 sorted all of that, as the index told them by when they are due alone.
drop index public.webhook_deliveries_due;
create index webhook_deliveries_due on public.webhook_deliveries (endpoint_id, next_attempt_at, nr) where state = 'waiting' and next_attempt_at is not null;
