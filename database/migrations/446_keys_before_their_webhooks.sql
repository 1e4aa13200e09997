-- compatible: functions do the same, in another order, and sooner.
--
-- The reset of an account that somebody else may have opened locked webhooks before their keys since 444, and digests before keys before that; a rotation goes the other way, and one of
-- both could fail. Nobody is reminded of a condition that nobody owns, which was asked of nobody's identity since 436. A run that purged as many changes as it may begins anew the next
-- time: those brokerages which had more waited for ten minutes.

create or replace function app.on_reset(user_id uuid, first_proof boolean)
returns jsonb
language plpgsql
security definer
set search_path = ''
as $$
declare
  client uuid;
  clients int := 0;
  grants int;
  opt_ins int;
  keys int := 0;
  webhooks int := 0;
begin
  delete from public.tool_grants g where g.user_id = on_reset.user_id;
  get diagnostics grants = row_count;
  delete from public.deal_opt_ins o where o.user_id = on_reset.user_id;
  get diagnostics opt_ins = row_count;
  if first_proof then
    for client in
      update public.connected_clients c set deleted_at = app.now()
        where c.created_by = on_reset.user_id and c.deleted_at is null returning c.id
    loop
      perform app.end_grants_of_client(client, null);
      clients := clients + 1;
    end loop;
    -- Keys before webhooks and digests, as whoever rotates one locks them.
    perform from public.api_keys k where k.id in (select d.key_id from vault.api_key_digests d where d.issued_by = on_reset.user_id)
      order by k.id for no key update;
    -- While their tokens are in force, which webhooks may have been added with. Also those of keys that others were shown.
    webhooks := app.turn_off_webhooks(on_reset.user_id, null, null);
    update vault.api_key_digests d set valid_until = app.now()
      where d.issued_by = on_reset.user_id and (d.valid_until is null or d.valid_until > app.now());
    update public.api_keys k set revoked_at = app.now(), revoked_by = on_reset.user_id
      where k.revoked_at is null
        and exists (select from vault.api_key_digests d where d.key_id = k.id and d.issued_by = on_reset.user_id)
        and not exists (select from vault.api_key_digests d
          where d.key_id = k.id and (d.valid_until is null or d.valid_until > app.now()));
    get diagnostics keys = row_count;
  end if;
  return jsonb_build_object('tool_grants', grants, 'deal_opt_ins', opt_ins, 'clients', clients, 'keys', keys, 'webhooks', webhooks);
end
$$;

create or replace function app.awaited(of_table text, record uuid)
returns SETOF uuid
language plpgsql
stable
set search_path = ''
as $$
begin
  case of_table
    when 'ndas' then
      return query
        select p.user_id from public.ndas n join public.participants p on p.id = n.participant_id and p.status = 'active'
        where n.id = record and n.status = 'sent' and (n.expires_at is null or n.expires_at > app.now());
    when 'questions' then
      return query
        select p.user_id from public.questions q
        join public.participants p on p.deal_id = q.deal_id and p.role = 'seller' and p.status = 'active'
        where q.id = record and q.status = 'with_seller' and p.user_id is distinct from app.user_id();
    when 'closing_conditions' then
      return query
        select c.owner_user_id from public.closing_conditions c
        where c.id = record and c.status in ('open', 'in_progress') and c.owner_user_id is not null and c.owner_user_id is distinct from app.user_id();
  end case;
end
$$;

create or replace function app.purge_changes()
returns integer
language plpgsql
security definer
set search_path = ''
as $$
declare
  before constant timestamptz := app.now() - interval '31 days';
  of_brokerage uuid;
  reached uuid;
  seen int := 0;
  purged int := 0;
  part int;
begin
  select p.place into reached from vault.job_places p where p.job = 'purge_changes' for update skip locked;
  if not found then
    return 0;
  end if;
  for of_brokerage in
    select b.id from public.brokerages b where b.id > coalesce(reached, '00000000-0000-0000-0000-000000000000') order by b.id limit 1000
  loop
    seen := seen + 1;
    if (select f.at from public.change_events f where f.brokerage_id = of_brokerage order by f.seq limit 1) < before then
      with gone as (
        delete from public.change_events e
          where e.brokerage_id = of_brokerage and e.at < before
            and e.seq <= (select max(o.seq) from (
              select f.seq from public.change_events f where f.brokerage_id = of_brokerage order by f.seq limit 100000) o)
          returning e.seq),
      noted as (
        insert into vault.purged_changes as p (brokerage_id, seq) select of_brokerage, max(g.seq) from gone g having count(*) > 0
          on conflict (brokerage_id) do update set seq = greatest(p.seq, excluded.seq))
      select count(*) into part from gone;
      purged := purged + part;
    end if;
    reached := of_brokerage;
    exit when purged >= 200000;
  end loop;
  update vault.job_places p set place = case when seen = 1000 and purged < 200000 then reached end where p.job = 'purge_changes';
  return purged;
end
$$;
