-- compatible: answers the same to those whom versions ask it for.
--
-- Whether a deal has a broker is told to those who see its brokers, and whether an upload has ended to those who may add to it. Anybody could ask of any deal or upload whose id they had.

alter function app.has_broker(uuid) security invoker;

create or replace function app.upload_has_ended(snapshot uuid)
returns boolean
language sql
stable
security definer
set search_path = ''
as $$
  select exists (select from public.accounting_snapshots s where s.id = snapshot and s.status in ('completed', 'failed')
    -- As its rows are added; looked for only where it has ended.
    and (s.deal_id = any ((select app.qoe_deals(true))::uuid[]) or s.deal_id = any ((select app.deals_acting_as('qoe:write'))::uuid[])))
$$;
