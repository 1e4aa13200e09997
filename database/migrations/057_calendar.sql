-- compatible: a table, a column that nobody has to know, and functions are added.
--
-- Deadlines as a calendar that people subscribe to by a secret link.

-- When the end of an exclusivity was changed last.
alter table exclusivities add column changed_at timestamptz;
create function app.note_change_of_end() returns trigger
language plpgsql volatile set search_path = '' as $$
begin
  new.changed_at := app.now();
  return new;
end
$$;
create trigger note_change_of_end before update of expires_at on exclusivities for each row
  when (new.expires_at is distinct from old.expires_at) execute function app.note_change_of_end();

-- One link a person; of its token the digest is all that is kept.
create table vault.calendar_links (
  user_id uuid primary key references users,
  digest bytea not null unique,
  created_at timestamptz not null default app.now()
);
select app.protect('vault.calendar_links');

-- Whoever is suspended, or erased, has none any more.
create function app.end_calendar_link_of() returns trigger
language plpgsql volatile security definer set search_path = '' as $$
begin
  delete from vault.calendar_links l where l.user_id = new.id;
  return null;
end
$$;
create trigger end_calendar_link after update of suspended_at on users for each row
  when (new.suspended_at is not null) execute function app.end_calendar_link_of();

-- When the caller made their link, or null.
create function app.calendar_link() returns timestamptz
language sql stable security definer set search_path = '' as $$
  select l.created_at from vault.calendar_links l where l.user_id = app.user_id() and app.client_id() is null
$$;

-- Gives the caller a link with a token of this digest; the one before leads nowhere from now on.
create function app.make_calendar_link(token bytea, address inet, request_id text) returns void
language plpgsql volatile security definer set search_path = '' as $$
begin
  if app.user_id() is null or app.client_id() is not null then
    perform app.refuse('not_a_person', 'Sign in to make a link to your calendar.');
  end if;
  insert into vault.calendar_links as l (user_id, digest) values (app.user_id(), token)
    on conflict (user_id) do update set digest = excluded.digest, created_at = excluded.created_at;
  perform app.record(app.user_id(), 'calendar_link.make', 'done', null, address, request_id);
end
$$;

-- Takes the caller's link away; false when they had none.
create function app.end_calendar_link(address inet, request_id text) returns boolean
language plpgsql volatile security definer set search_path = '' as $$
begin
  delete from vault.calendar_links l where l.user_id = app.user_id() and app.client_id() is null;
  if not found then
    return false;
  end if;
  perform app.record(app.user_id(), 'calendar_link.remove', 'done', null, address, request_id);
  return true;
end
$$;

-- Enters as the person whose link has a token of this digest, for reading alone: the transaction takes no write from here on. As for a
-- connected client, it is enough where a brokerage asks for a second factor that the person has one.
create function app.enter_with_calendar_link(token bytea) returns table (user_id uuid)
language plpgsql volatile security definer set search_path = '' as $$
#variable_conflict use_column
declare
  person uuid;
  member record;
begin
  select l.user_id into person from vault.calendar_links l
    join public.users u on u.id = l.user_id and u.suspended_at is null where l.digest = token;
  if not found then
    return;
  end if;
  select m.asking, m.administered into member from app.memberships_of(person) m;
  perform app.enter_as_person(person, null, null, null, true, member.asking, member.administered, null, null);
  perform set_config('transaction_read_only', 'on', true);
  return query select person;
end
$$;

-- What ends or is due on the open deals in which the caller takes part, as far as the policies of its tables show it to them: within two years,
-- and closing conditions that should have been met within the last 60 days; the soonest first, 1,000 at most. `own`: theirs to see to.
create function app.deadlines()
returns table (subject text, subject_id uuid, deal_id uuid, deal_title text, due_at timestamptz, due_on date, own boolean,
  begun_at timestamptz, changed_at timestamptz)
language plpgsql stable security definer set search_path = '' set enable_nestloop = off set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
  me constant uuid := app.user_id();
  now constant timestamptz := app.now();
  until constant timestamptz := now + interval '2 years';
  deals uuid[];
  principals uuid[];
  sides text[];
begin
  if app.client_id() is not null then
    return;
  end if;
  select array_agg(p.deal_id), array_agg(p.principal_id), array_agg(p.principal_role) into deals, principals, sides
    from app.participations() p
    join (select d.id from public.deals d where d.state not in ('closed', 'withdrawn')) d on d.id = p.deal_id;
  return query
    with own as materialized (
      select o.deal_id, o.principal_id, o.side from unnest(deals, principals, sides) o (deal_id, principal_id, side)
    ), due (subject, subject_id, deal_id, due_at, due_on, own, begun_at, changed_at) as (
      select 'offers', t.id, t.deal_id, t.expires_at, null::date, t.participant_id = o.principal_id, t.submitted_at, t.submitted_at
        from (select c.id, c.deal_id, c.participant_id, c.submitted_at, app.time_in(c.payload ->> 'expires_at') as expires_at
          from public.offers c where c.deal_id = any (deals) and c.is_current) t
        join own o on o.deal_id = t.deal_id and (o.side in ('broker', 'seller') or o.principal_id = t.participant_id)
        where t.expires_at > now and t.expires_at <= until
          and t.id <> all (array(select x.offer_id from public.offer_decisions x where x.deal_id = any (deals)))
      union all
      select 'exclusivities', t.id, t.deal_id, t.expires_at, null, t.participant_id = o.principal_id, t.granted_at,
          coalesce(t.changed_at, t.granted_at)
        from (select x.* from public.exclusivities x where x.deal_id = any (deals) and x.ended_at is null) t
        join own o on o.deal_id = t.deal_id and (o.side in ('broker', 'seller', 'viewer') or o.principal_id = t.participant_id)
        where t.expires_at > now and t.expires_at <= until
      union all
      select 'ndas', t.id, t.deal_id, t.expires_at, null, t.participant_id = o.principal_id, t.signed_at, t.signed_at
        from (select n.* from public.ndas n where n.deal_id = any (deals) and n.status = 'active') t
        join own o on o.deal_id = t.deal_id and (o.side in ('broker', 'seller') or o.principal_id = t.participant_id)
        where t.expires_at > now and t.expires_at <= until
      union all
      select 'closing_conditions', t.id, t.deal_id, app.end_of(t.deadline), t.deadline, t.owner_user_id is not distinct from me,
          t.created_at, t.updated_at
        from (select c.* from public.closing_conditions c
          where c.deal_id = any (deals) and c.status in ('open', 'in_progress')
            and c.deadline between (now - interval '60 days')::date and until::date) t
        join own o on o.deal_id = t.deal_id
        left join (select s.* from vault.selected_buyers s where s.deal_id = any (deals)) b on b.deal_id = t.deal_id
        where o.side in ('broker', 'seller', 'viewer') or o.principal_id = b.participant_id),
    first as (select w.* from due w order by w.due_at, w.subject_id limit 1000)
    select f.subject, f.subject_id, f.deal_id, d.title, f.due_at, f.due_on, f.own, f.begun_at, f.changed_at
    from first f join (select d.id, d.title from public.deals d where d.id = any (array(select first.deal_id from first))) d on d.id = f.deal_id
    order by f.due_at, f.subject_id;
end
$$;
grant execute on function app.calendar_link(), app.make_calendar_link(bytea, inet, text), app.end_calendar_link(inet, text),
  app.enter_with_calendar_link(bytea), app.deadlines() to dealkeep_server;

-- What is about a person and how they hear of things, beside what they hold and did.
create function app.notification_data(person uuid) returns jsonb
language sql stable security definer set search_path = '' as $$
  select jsonb_build_object('calendar_link', (select jsonb_build_object('created_at', l.created_at)
    from vault.calendar_links l where l.user_id = person))
$$;
alter function app.person_data(uuid, boolean) rename to person_records;
create function app.person_data(person uuid, whole boolean) returns jsonb
language sql stable security definer set search_path = '' as $$
  select app.person_records(person, whole) || app.notification_data(person)
$$;
