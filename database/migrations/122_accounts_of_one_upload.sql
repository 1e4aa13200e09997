-- compatible: keeps with an upload only what its own accounts were counted to; what was kept before is forgotten, and chosen anew with the next upload.
-- An upload held what earlier uploads had chosen as well, and so the names of accounts that others had written. Dropping the column rather than
-- emptying it announces no change of every upload.
alter table accounting_snapshots drop column account_lines;
alter table accounting_snapshots
  add column account_lines jsonb
  constraint accounting_snapshots_account_lines_check check (jsonb_typeof(account_lines) = 'object' and length(account_lines::text) <= 262144);
grant insert (account_lines) on accounting_snapshots to dealkeep_server;

-- What the accounts of the last exports of a deal were counted to, the latest first and at most 20: for those who may upload there, and only of
-- uploads by their own side: broker and seller with their advisors, each buyer with their advisors, each viewer alone. Somebody whose place on the
-- deal has changed since may have uploaded for another side: that counts no longer.
create function app.remembered_account_lines(deal uuid, most integer) returns table (account_lines jsonb)
  language plpgsql stable security definer set search_path = '' as $$
declare
  own record;
begin
  if (deal = any (app.qoe_deals(true))) is not true then
    return;
  end if;
  select p.principal_id, p.principal_role into own from app.participations() p where p.deal_id = deal;
  return query
    select s.account_lines from public.accounting_snapshots s
    join vault.parts u on u.deal_id = s.deal_id and u.user_id = s.requested_by
    where s.deal_id = deal and s.status = 'completed' and s.account_lines is not null
      and (u.principal_id = own.principal_id
        or (u.principal_role in ('broker', 'seller') and own.principal_role in ('broker', 'seller')))
      and not exists (select from public.participants c
        where c.id in (u.participant_id, u.principal_id) and c.updated_at > s.requested_at)
    order by s.completed_at desc, s.id desc limit least(greatest(most, 0), 20);
end $$;
revoke execute on function app.remembered_account_lines(uuid, integer) from public;
grant execute on function app.remembered_account_lines(uuid, integer) to dealkeep_server;
