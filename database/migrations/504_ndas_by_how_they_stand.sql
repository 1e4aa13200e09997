-- no transaction
-- compatible: an index more.
--
-- The NDAs of a deal in pages: those that wait for a signature, those that are active, and the others. The list was cut at 500 of all, though a deal has up to 2,000 people, and one NDA that was
-- cut could not be revoked.

set lock_timeout = '5s';
create index concurrently if not exists ndas_by_standing on public.ndas
  (deal_id, (case status when 'sent' then 2 when 'active' then 1 else 0 end) desc, sent_at desc, id desc);
