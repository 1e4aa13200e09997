-- compatible: the same rows are kept.
--
-- Whoever writes on a deal has locked it for share, so that it is not closed meanwhile. Two who distributed answers at once, or one who did and one who put an exclusivity off,
-- then asked for more than that and waited for each other: PostgreSQL ended one of them. Who joins takes a lock that waits for both, so that theirs is enough. And who joins, or
-- takes part as something else, locks the deal before the rows that lists are read from, as everybody does who changes the deal.

create or replace function app.keep_deals_of_people() returns trigger
language plpgsql volatile security definer set search_path = '' as $$
begin
  if tg_op <> 'DELETE' and new.status = 'active' then
    -- Whoever changes the deal meanwhile is waited for, or waits and finds the row.
    perform from public.deals d where d.id = new.deal_id for no key update;
  end if;
  if tg_op <> 'INSERT' then
    delete from vault.deals_of_people o where o.user_id = old.user_id and o.deal_id = old.deal_id;
  end if;
  if tg_op <> 'DELETE' and new.status = 'active' then
    insert into vault.deals_of_people select p.* from vault.deals_of_parts p where p.user_id = new.user_id and p.deal_id = new.deal_id;
  end if;
  return null;
end
$$;

create or replace function app.change_deals_of_people() returns trigger
language plpgsql volatile security definer set search_path = '' as $$
declare
  deal uuid;
begin
  if tg_argv[0] = 'id' then
    deal := new.id;
  elsif tg_op = 'DELETE' then
    deal := old.deal_id;
  else
    deal := new.deal_id;
  end if;
  if tg_argv[0] = 'lock' then
    perform from public.deals d where d.id = deal for share;
  end if;
  update vault.deals_of_people o
    set title = p.title, industry = p.industry, location = p.location, asking_price = p.asking_price, state = p.state, closed_at = p.closed_at,
      created_at = p.created_at, updated_at = p.updated_at, stage = p.stage, stage_updated_at = p.stage_updated_at,
      holder_id = p.holder_id, buyer_user_id = p.buyer_user_id, granted_at = p.granted_at, expires_at = p.expires_at
    from vault.deals_of_parts p
    where p.deal_id = deal and o.user_id = p.user_id and o.deal_id = deal and o.* is distinct from p.*;
  return null;
end
$$;

create or replace function app.keep_answers_of_people() returns trigger
language plpgsql volatile security definer set search_path = '' as $$
begin
  if tg_op <> 'DELETE' and new.status = 'active' then
    -- Whoever distributes an answer meanwhile is waited for, or waits and finds the part.
    perform from public.deals d where d.id = new.deal_id for no key update;
  end if;
  if tg_op <> 'INSERT' then
    delete from vault.answers_of_people o where o.user_id = old.user_id and o.deal_id = old.deal_id;
  end if;
  if tg_op <> 'DELETE' and new.status = 'active' then
    insert into vault.answers_of_people
      select p.* from vault.answers_of_parts p where p.user_id = new.user_id and p.deal_id = new.deal_id;
  end if;
  return null;
end
$$;

create or replace function app.note_answer() returns trigger
language plpgsql volatile security definer set search_path = '' as $$
begin
  perform from public.deals d where d.id = new.deal_id for share;
  insert into vault.answers_of_people as known (user_id, deal_id, at)
    select p.user_id, p.deal_id, coalesce(new.distributed_at, '-infinity') from public.participants p
    where p.deal_id = new.deal_id and p.status = 'active' and coalesce(p.advises, p.id) = new.participant_id
    order by p.user_id
    on conflict (user_id, deal_id) do update set at = excluded.at where known.at < excluded.at;
  return null;
end
$$;
