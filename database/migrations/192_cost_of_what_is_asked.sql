-- compatible: a table and a view are added; functions answer the same, but for counts of mails and events, which end at 10,000.
--
-- What grew with the platform and not with what is asked for: jobs that looked at every brokerage, session and grant, counts of all mails that wait,
-- a key's deals that have changed since, words in the contacts of an ordinary brokerage among those of all, and notifications.

-- How far a job has come that looks at a part each time, and begins anew when it is through.
create table vault.job_places (
  job text primary key,
  place uuid
);
select app.protect('vault.job_places');
insert into vault.job_places (job) values ('purge_changes'), ('purge_sign_in');

-- A thousand brokerages each time.
create or replace function app.purge_changes() returns integer
language plpgsql security definer set search_path = '' as $$
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
      delete from public.change_events e
        where e.brokerage_id = of_brokerage and e.at < before
          and e.seq <= (select max(o.seq) from (
            select f.seq from public.change_events f where f.brokerage_id = of_brokerage order by f.seq limit 100000) o);
      get diagnostics part = row_count;
      purged := purged + part;
    end if;
    reached := of_brokerage;
    exit when purged >= 200000;
  end loop;
  update vault.job_places p set place = case when seen = 1000 or purged >= 200000 then reached end where p.job = 'purge_changes';
  return purged;
end
$$;

-- Five thousand sessions each time: an index on when they were last seen would be written with each request.
create or replace function app.purge_sign_in() returns integer
language plpgsql security definer set search_path = '' as $$
declare
  purged int := 0;
  part int;
  place uuid;
  reach uuid;
begin
  select p.place into place from vault.job_places p where p.job = 'purge_sign_in' for update skip locked;
  if found then
    place := coalesce(place, '00000000-0000-0000-0000-000000000000');
    reach := (select s.id from vault.sessions s where s.id > place order by s.id offset 4999 limit 1);
    delete from vault.sessions s
      where s.id > place and s.id <= coalesce(reach, 'ffffffff-ffff-ffff-ffff-ffffffffffff')
        and (s.ended_at < app.now() - interval '1 day' or s.created_at < app.now() - interval '31 days' or s.last_seen_at < app.now() - interval '2 days');
    get diagnostics part = row_count;
    purged := purged + part;
    update vault.job_places p set place = reach where p.job = 'purge_sign_in';
  end if;
  delete from vault.sign_in_steps s where s.expires_at <= app.now();
  get diagnostics part = row_count;
  purged := purged + part;
  delete from vault.known_devices k where k.used_at <= app.now() - interval '180 days';
  get diagnostics part = row_count;
  purged := purged + part;
  delete from vault.challenges c where c.expires_at <= app.now();
  get diagnostics part = row_count;
  purged := purged + part;
  delete from vault.password_resets r where r.expires_at <= app.now();
  get diagnostics part = row_count;
  purged := purged + part;
  delete from vault.address_changes a where a.expires_at <= app.now();
  get diagnostics part = row_count;
  purged := purged + part;
  delete from vault.set_up_links l where l.expires_at <= app.now();
  get diagnostics part = row_count;
  purged := purged + part;
  delete from vault.mail_counts m where m.since < app.now() - interval '2 days';
  get diagnostics part = row_count;
  purged := purged + part;
  delete from vault.invitations i where i.expires_at < app.now() - interval '30 days';
  get diagnostics part = row_count;
  return purged + part;
end
$$;

create or replace function app.purge_authorization() returns integer
language plpgsql security definer set search_path = '' as $$
declare
  now constant timestamptz := app.now();
  gone int;
  total int := 0;
begin
  delete from vault.authorization_codes c
    where c.expires_at <= now and (c.used_at is null or c.expires_at <= now - interval '1 day');
  get diagnostics gone = row_count;
  total := total + gone;
  delete from vault.access_tokens t where t.expires_at <= now;
  get diagnostics gone = row_count;
  total := total + gone;
  -- What a node was about to forget when it was stopped.
  perform app.forget_answers(60000);
  -- Each by its index.
  delete from vault.token_families f where f.ends_at <= now;
  get diagnostics gone = row_count;
  total := total + gone;
  delete from vault.token_families f where f.revoked_at <= now - interval '1 day';
  get diagnostics gone = row_count;
  return total + gone;
end
$$;

-- Of each the 10,000 oldest are counted.
create or replace function app.mail_counts() returns table (waiting bigint, given_up bigint, oldest_seconds double precision)
language sql stable security definer set search_path = '' as $$
  select w.waiting, (select count(*) from (select from vault.outbox o where o.given_up_at is not null limit 10000) u),
    coalesce(extract(epoch from app.now() - w.oldest), 0)::float8
  from (
    select count(*) as waiting, min(o.created_at) as oldest
    from (select o.created_at from vault.outbox o where o.sent_at is null and o.given_up_at is null order by o.created_at limit 10000) o) w
$$;

create or replace function app.service_state()
returns table (events_waiting bigint, events_failing bigint, oldest_event_at timestamptz, last_backup_at timestamptz, last_backup_failure_at timestamptz)
language sql stable security definer set search_path = '' as $$
  select e.waiting, e.failing, e.oldest, b.last_success_at, b.last_failure_at
  from (
    select count(*) as waiting, count(*) filter (where e.last_error is not null) as failing, min(e.at) as oldest
    from (select e.at, e.last_error from vault.events e order by e.id limit 10000) e) e
  left join app.job_runs b on b.job = 'backup'
$$;

-- A deal as it is told: a lapsed exclusivity leaves it listed, as app.state_now has it.
create view vault.deals_told as
  select d.id, d.title, s.state, d.organization_id, d.industry, d.location, d.summary, d.asking_price, d.currency, d.needs_nda,
    x.buyer_user_id as exclusive_buyer_user_id, x.granted_at as exclusivity_granted_at, x.expires_at as exclusivity_expires_at,
    d.closed_at, d.created_at, s.updated_at, d.keys_admitted
  from public.deals d
  left join lateral (select g.state, g.updated_at from public.deal_stages g where g.deal_id = d.id limit 1) g on true
  left join lateral (
    select e.buyer_user_id, e.granted_at, e.expires_at from public.exclusivities e
    where e.deal_id = d.id and e.ended_at is null and (e.expires_at > app.now() or g.state <> 'exclusivity' or d.state = 'closed')
    limit 1) x on true
  cross join lateral (select
    case when g.state = 'exclusivity' and x.buyer_user_id is null then 'listed' else coalesce(g.state, d.state) end as state,
    greatest(d.updated_at, g.updated_at) as updated_at) s;

create or replace function app.deals_for_key(patterns text[], in_state text, updated_since timestamptz, after_at timestamptz, after_id uuid, most integer)
returns table (id uuid, title text, state text, organization_id uuid, industry text, location text, summary text, asking_price numeric, currency text,
  needs_nda boolean, exclusive_buyer_user_id uuid, exclusivity_granted_at timestamptz, exclusivity_expires_at timestamptz, closed_at timestamptz,
  created_at timestamptz, updated_at timestamptz)
language plpgsql stable security definer set search_path = '' set plan_cache_mode = 'force_generic_plan' set enable_sort = 'off' as $$
#variable_conflict use_column
declare
  brokerage constant uuid := app.key_brokerage('deals:read');
  last_at constant timestamptz := coalesce(after_at, 'infinity');
  last_id constant uuid := coalesce(after_id, 'ffffffff-ffff-ffff-ffff-ffffffffffff');
  changed uuid[];
begin
  if updated_since is not null then
    changed := array(
      (select d.id from public.deals d where d.organization_id = brokerage and d.keys_admitted and d.updated_at >= updated_since limit 1001)
      union
      (select g.deal_id from public.deal_stages g where g.brokerage_id = brokerage and g.updated_at >= updated_since limit 1001));
  end if;
  if cardinality(changed) <= 1000 then
    return query
      select d.id, d.title, d.state, d.organization_id, d.industry, d.location, d.summary, d.asking_price, d.currency, d.needs_nda,
        d.exclusive_buyer_user_id, d.exclusivity_granted_at, d.exclusivity_expires_at, d.closed_at, d.created_at, d.updated_at
      from unnest(changed) one cross join lateral (select t.* from vault.deals_told t where t.id = one limit 1) d
      where d.organization_id = brokerage and d.keys_admitted
        and (d.created_at, d.id) < (last_at, last_id)
        and (patterns is null or lower(concat_ws(' ', d.title, d.industry, d.location)) like all (patterns))
        and (in_state is null or d.state = in_state)
        and d.updated_at >= updated_since
      order by d.created_at desc, d.id desc
      limit most;
    return;
  end if;
  -- Of many that have changed some are found soon in the order of the list.
  return query
    select d.id, d.title, d.state, d.organization_id, d.industry, d.location, d.summary, d.asking_price, d.currency, d.needs_nda,
      d.exclusive_buyer_user_id, d.exclusivity_granted_at, d.exclusivity_expires_at, d.closed_at, d.created_at, d.updated_at
    from vault.deals_told d
    where d.organization_id = brokerage and d.keys_admitted
      and (d.created_at, d.id) < (last_at, last_id)
      and (patterns is null or lower(concat_ws(' ', d.title, d.industry, d.location)) like all (patterns))
      and (in_state is null or d.state = in_state)
      and (updated_since is null or d.updated_at >= updated_since)
    order by d.created_at desc, d.id desc
    limit most;
end
$$;

create or replace function app.contacts_that_fit(archived text, of_type text, of_email text, patterns text[], since timestamptz, sort text, after_key text, after_id uuid, most integer)
returns table (id uuid, type text, display_name text, email text, phone text, external_id text, archived_at timestamptz, merged_into uuid, created_at timestamptz, updated_at timestamptz, place text)
language plpgsql stable security definer set search_path = '' as $$
declare
  brokerage constant uuid := case when app.key_id() is not null then (app.brokerages_for('contacts:read'))[1] end;
  key constant text := case sort when 'displayName' then '"left"(lower(c.display_name), 100)' when 'updatedAt' then 'c.updated_at' else 'c.created_at' end;
  direction constant text := case when starts_with(sort, '-') then 'desc' else 'asc' end;
  picked constant text := concat_ws(' and ',
    case when of_email is not null then 'c.email is not null and lower(c.email) = lower($2)' end,
    (select string_agg(format('app.contact_text(c.display_name, c.email, c.phone) like %L', pattern), ' and ') from unnest(patterns) pattern));
  narrowed constant text := concat(case when since is not null then ' and c.updated_at >= $3' end,
    case when after_key is not null then format(' and (%s, c.id) %s ($5::%s, $6)', key, case direction when 'desc' then '<' else '>' end,
      case when sort = 'displayName' then 'text' else 'timestamptz' end) end);
  in_order constant text := format('order by %1$s %2$s, c.id %2$s', key, direction);
  -- Of what is picked out by address or words, few are left: they are sorted.
  ordered constant text := format('select c.*, (%s)::text as place from %s c where c.brokerage_id = $1 and %%s %s %s limit $7',
    key, case when picked = '' then 'public.contacts' else 'picked' end, narrowed, in_order);
  fields constant text := 'c.id, c.type, c.display_name, c.email, c.phone, c.external_id, c.archived_at::timestamptz, c.merged_into, c.created_at::timestamptz, c.updated_at::timestamptz, c.place';
  -- Words are looked for in the contacts of all brokerages at once, by index. Where a brokerage has few, they are read instead.
  few constant boolean := cardinality(patterns) > 0
    and (select count(*) from (select from public.contacts c where c.brokerage_id = brokerage and c.archived_at is null limit 5001) c) <= 5000
    and (select count(*) from (select from public.contacts c where c.brokerage_id = brokerage and c.archived_at is not null limit 5001) c) <= 5000;
  parts text;
begin
  if brokerage is null then
    return;
  end if;
  select string_agg('(' || format(ordered, concat_ws(' and ', a.condition, t.condition)) || ')', ' union all ') into parts
  from (values ('c.archived_at is null', '{false,true}'::text[]), ('c.archived_at is not null', '{only,true}')) a (condition, of),
    -- Where the index begins with the type, each type is a scan of its own.
    (select 'c.type = $4' as condition where of_type is not null
     union all select null where of_type is null and (sort <> 'updatedAt' or picked <> '')
     union all select format('c.type = %L', one) from unnest('{company,person}'::text[]) one where of_type is null and sort = 'updatedAt' and picked = '') t
  where archived = any (a.of);
  -- What is frequent is found among the first.
  if cardinality(patterns) > 0 and not few and archived <> 'true' then
    return query execute format(
      'with first as materialized (
         select c.*, (%s)::text as place from public.contacts c where c.brokerage_id = $1 and %s %s %s limit 1000),
       near as materialized (select c.* from first c where %s %s limit $7)
       select %s from near c where (select count(*) from near) >= $7 %s',
      key, concat_ws(' and ', case archived when 'only' then 'c.archived_at is not null' else 'c.archived_at is null' end, case when of_type is not null then 'c.type = $4' end),
      narrowed, in_order, picked, in_order, fields, in_order)
      using brokerage, of_email, since, of_type, after_key, after_id, most;
    if found then
      return;
    end if;
  end if;
  return query execute format(
    '%s select %s from (%s) c %s limit $7',
    case when picked <> '' then format('with picked as materialized (%s)', (
      select string_agg(format('select c.* from (select c.* from public.contacts c where c.brokerage_id = $1 and c.archived_at is %s null %s) c where %s',
        a.is_not, case when few then 'offset 0' end, picked), ' union all ')
      from (values ('', '{false,true}'::text[]), ('not', '{only,true}')) a (is_not, of) where archived = any (a.of))) end,
    fields, parts, in_order)
    using brokerage, of_email, since, of_type, after_key, after_id, most;
end
$$;

-- Each notification is looked at by itself: PostgreSQL answered `exists` from a list of all deals of the person, once it planned for anybody.
create or replace function app.notifications_in_sight(after_at timestamptz, after_id uuid, most integer)
returns table (id uuid, kind text, deal_id uuid, deal_title text, subject_id uuid, at timestamptz, read_at timestamptz, subject_name text, actor_name text)
language plpgsql security definer set search_path = '' as $$
#variable_conflict use_column
declare
  me constant uuid := app.user_id();
  whole constant text := app.whole_identity();
  barred constant uuid[] := app.barred_in(whole);
  administered constant uuid[] := app.brokerages_as('admin');
  identity constant text := current_setting('dealkeep.identity', true);
  seal constant text := current_setting('dealkeep.seal', true);
  entered uuid;
  one record;
  part uuid;
  told int := 0;
begin
  if me is null or app.client_id() is not null or app.narrowed_to() is not null then
    return;
  end if;
  for one in
    select n.id, n.kind, n.deal_id, n.subject, n.subject_id, n.actor_id, n.at, n.read_at from vault.notifications n
    where n.user_id = me and (after_at is null or (n.at, n.id) < (after_at, after_id)) and (n.deal_id is null or (
      select d.organization_id <> all (barred) from vault.parts p join public.deals d on d.id = p.deal_id
      where p.user_id = me and p.deal_id = n.deal_id and p.principal_role in ('broker', 'seller', 'buyer', 'viewer') limit 1))
    order by n.at desc, n.id desc limit 200
  loop
    exit when told >= most;
    if one.deal_id is not null and one.deal_id is distinct from entered then
      entered := one.deal_id;
      perform app.seal(whole || ',' || app.standing(me, barred, administered, entered));
    end if;
    continue when not (one.subject is null or one.subject = 'deals' or app.could_open(one.subject, one.subject_id, one.deal_id));
    id := one.id;
    kind := one.kind;
    deal_id := one.deal_id;
    deal_title := (select d.title from public.deals d where d.id = one.deal_id);
    subject_id := one.subject_id;
    at := one.at;
    read_at := one.read_at;
    part := case one.subject when 'participants' then one.subject_id
      when 'ndas' then (select n.participant_id from public.ndas n where n.id = one.subject_id) end;
    subject_name := case one.subject
      when 'documents' then (select d.filename from public.documents d where d.id = one.subject_id)
      when 'production_documents' then (select d.filename from public.production_documents d where d.id = one.subject_id)
      when 'closing_conditions' then (select c.name from public.closing_conditions c where c.id = one.subject_id)
      when 'findings' then (select f.title from public.findings f where f.id = one.subject_id)
      when 'api_keys' then (select k.name from public.api_keys k where k.id = one.subject_id) end;
    if part is not null and app.could_open('participants', part, one.deal_id) then
      subject_name := (select case when p.joined_at is null then p.invited_name else u.name end
        from public.participants p left join public.users u on u.id = p.user_id where p.id = part);
    end if;
    actor_name := (select u.name from public.participants p join public.users u on u.id = p.user_id
      where p.deal_id = one.deal_id and p.user_id = one.actor_id and p.joined_at is not null and app.could_open('participants', p.id, one.deal_id));
    told := told + 1;
    return next;
  end loop;
  perform set_config('dealkeep.identity', identity, true), set_config('dealkeep.seal', seal, true);
end
$$;

create or replace function app.unread_notifications()
returns integer
language plpgsql security definer set search_path = '' as $$
declare
  me constant uuid := app.user_id();
  whole constant text := app.whole_identity();
  barred constant uuid[] := app.barred_in(whole);
  administered constant uuid[] := app.brokerages_as('admin');
  identity constant text := current_setting('dealkeep.identity', true);
  seal constant text := current_setting('dealkeep.seal', true);
  entered uuid;
  one record;
  unread int := 0;
begin
  if me is null or app.client_id() is not null or app.narrowed_to() is not null then
    return 0;
  end if;
  for one in
    select l.* from (
      select n.deal_id, n.subject, n.subject_id from vault.notifications n
      where n.user_id = me and n.read_at is null and (n.deal_id is null or (
        select d.organization_id <> all (barred) from vault.parts p join public.deals d on d.id = p.deal_id
        where p.user_id = me and p.deal_id = n.deal_id and p.principal_role in ('broker', 'seller', 'buyer', 'viewer') limit 1))
      order by n.at desc, n.id desc limit 100) l
    order by l.deal_id nulls first
  loop
    if one.deal_id is not null and one.deal_id is distinct from entered then
      entered := one.deal_id;
      perform app.seal(whole || ',' || app.standing(me, barred, administered, entered));
    end if;
    if one.subject is null or one.subject = 'deals' or app.could_open(one.subject, one.subject_id, one.deal_id) then
      unread := unread + 1;
    end if;
  end loop;
  perform set_config('dealkeep.identity', identity, true), set_config('dealkeep.seal', seal, true);
  return unread;
end
$$;
