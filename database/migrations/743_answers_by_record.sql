-- no transaction
-- compatible: an index more.
--
-- A receiver may answer with what it was sent. An erasure finds these answers by what the deliveries were about; of a delivery that was accepted no answer is kept any more, so there are few.

create index concurrently if not exists answers_by_record on public.webhook_deliveries (object_id) where answer is not null;
