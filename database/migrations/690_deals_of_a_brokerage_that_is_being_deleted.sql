-- compatible: the release before asks the same of the same functions.
-- From when the deletion of a brokerage begins nobody has a part in its deals. Its members were taken off them only as each deal was deleted, and whom a required
-- second factor had kept out came back in meanwhile, because the brokerage that required it was no longer theirs.

create view vault.deletions_begun as
  select d.brokerage_id from vault.brokerage_deletions d where d.begun_at is not null;

CREATE OR REPLACE VIEW vault.parts AS
 SELECT user_id,
    deal_id,
    id AS participant_id,
    role,
    COALESCE(advises, id) AS principal_id,
        CASE
            WHEN advises IS NULL THEN role
            ELSE ( SELECT principal.role
               FROM public.participants principal
              WHERE principal.id = own.advises)
        END AS principal_role
   FROM public.participants own
  WHERE status = 'active'::text AND (advises IS NULL OR (( SELECT principal.status
           FROM public.participants principal
          WHERE principal.id = own.advises)) = 'active'::text)
    AND NOT EXISTS (SELECT FROM public.deals d JOIN vault.deletions_begun b ON b.brokerage_id = d.organization_id WHERE d.id = own.deal_id);

CREATE OR REPLACE VIEW vault.deals_of_parts AS
 SELECT p.user_id,
    p.deal_id,
    d.organization_id,
    d.title,
    d.industry,
    d.location,
    d.asking_price,
    d.state,
    d.closed_at,
    d.created_at,
    d.updated_at,
    g.state AS stage,
    g.updated_at AS stage_updated_at,
    x.participant_id AS holder_id,
    x.buyer_user_id,
    x.granted_at,
    x.expires_at,
    p.id AS participant_id,
    p.role,
    COALESCE(p.advises, p.id) AS principal_id,
        CASE
            WHEN p.advises IS NULL THEN p.role
            ELSE a.role
        END AS side
   FROM public.participants p
     JOIN public.deals d ON d.id = p.deal_id
     LEFT JOIN public.deal_stages g ON g.deal_id = d.id
     LEFT JOIN public.exclusivities x ON x.deal_id = d.id AND x.ended_at IS NULL
     LEFT JOIN public.participants a ON a.id = p.advises AND a.status = 'active'::text
  WHERE p.status = 'active'::text AND (p.advises IS NULL OR a.id IS NOT NULL) AND NOT EXISTS (SELECT FROM vault.deletions_begun b WHERE b.brokerage_id = d.organization_id);

CREATE OR REPLACE FUNCTION app.keep_deals_of_people()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
 SET plan_cache_mode TO 'force_generic_plan'
AS $function$
declare
  people uuid[];
begin
  if tg_op <> 'DELETE' and new.status = 'active' then
    -- Whoever changes the deal meanwhile is waited for, or waits and finds the row.
    perform from public.deals d where d.id = new.deal_id for no key update;
    -- The deletion of its brokerage waits for this, or has begun, and there is no row to write.
    perform from public.brokerages b where b.id = (select d.organization_id from public.deals d where d.id = new.deal_id) for key share;
  elsif tg_op <> 'INSERT' and old.status = 'active' then
    -- Whoever writes the rows of those whom they advise, or of their advisors, meanwhile is waited for, or waits and finds that they have left.
    perform from public.deals d where d.id = old.deal_id for share;
  end if;
  if tg_op <> 'INSERT' then
    delete from vault.deals_of_people o where o.user_id = old.user_id and o.deal_id = old.deal_id;
  end if;
  if tg_op <> 'DELETE' then
    people := array[new.user_id];
    if tg_op = 'UPDATE' and new.advises is null then
      people := people || array(select a.user_id from public.participants a where a.advises = new.id);
    end if;
    delete from vault.deals_of_people o where o.user_id = any (people) and o.deal_id = new.deal_id;
    insert into vault.deals_of_people select p.* from vault.deals_of_parts p where p.user_id = any (people) and p.deal_id = new.deal_id;
  end if;
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION app.delete_brokerage_part(of_brokerage uuid, most integer)
 RETURNS TABLE(brokerage uuid, name text, finished boolean)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
#variable_conflict use_variable
declare
  this vault.brokerage_deletions;
  chosen uuid[];
  people uuid[];
  part record;
  bodies text[];
  counted int;
  room int := most;
  parent uuid;
begin
  select d.* into this from vault.brokerage_deletions d
    where d.brokerage_id = of_brokerage and d.due_at <= app.now() and not exists (select from app.hold_on_brokerage(d.brokerage_id))
    for update skip locked;
  if not found then
    return;
  end if;
  brokerage := this.brokerage_id;
  finished := false;
  select b.name into name from public.brokerages b where b.id = brokerage;
  -- Nobody is told of each row: app.announce.
  perform set_config('dealkeep.deleting', 'on', true);

  -- First nobody gets at it any more, by a key, as a member or as somebody on a deal: its deals are there for minutes yet, or for as long as a legal hold lasts.
  if this.begun_at is null then
    select coalesce(array_agg(m.user_id), '{}') into people from public.members m where m.brokerage_id = brokerage;
    perform from public.users u where u.id = any (people) order by u.id for no key update;
    perform from public.members m where m.brokerage_id = brokerage order by m.user_id for update;
    -- Before the brokerage, as whoever takes up an invitation has its link before they are on the deal (app.keep_deals_of_people).
    perform from vault.invitations i join public.participants p on p.id = i.participant_id join public.deals l on l.id = p.deal_id
      where l.organization_id = brokerage order by i.digest for update of i;
    perform from public.brokerages b where b.id = brokerage for update;
    update vault.brokerage_deletions d set begun_at = app.now(), asked_by = null where d.brokerage_id = brokerage;
    update public.api_keys k set revoked_at = app.now() where k.brokerage_id = brokerage and k.revoked_at is null;
    delete from public.members m where m.brokerage_id = brokerage;
    delete from vault.deals_of_people o using public.participants p, public.deals l
      where l.organization_id = brokerage and p.deal_id = l.id and o.user_id = p.user_id and o.deal_id = p.deal_id;
    delete from vault.invitations i using public.participants p, public.deals l
      where l.organization_id = brokerage and p.deal_id = l.id and i.participant_id = p.id;
    insert into vault.brokerage_deletions (brokerage_id, due_at) select s.id, app.now() from public.brokerages s where s.sandbox_of = brokerage;
    counted := app.forget_unattached(people);
    update vault.brokerage_deletions d set people = d.people + counted where d.brokerage_id = brokerage;
    return next;
    return;
  end if;

  -- Then its deals, the first twenty at once, and when there are none any more what the brokerage itself has.
  select coalesce(array_agg(d.id), '{}') into chosen
    from (select l.id from public.deals l where l.organization_id = brokerage order by l.id limit 20) d;
  select coalesce(array_agg(distinct p.user_id), '{}') into people from public.participants p join public.users u on u.id = p.user_id and u.sandbox_id is null
    where p.deal_id = any (chosen);
  perform from public.users u where u.id = any (people) order by u.id for no key update;
  for part in
    select r.name, r.condition,
      exists (select from pg_catalog.pg_attribute a where a.attrelid = r.name::regclass and a.attname = 'storage_key') as has_bodies,
      exists (select from pg_catalog.pg_constraint k where k.conrelid = r.name::regclass and k.confrelid = k.conrelid) as refers_to_itself
    from app.rows_of_brokerage('any ($2)', true) r where r.name <> 'public.brokerages'
  loop
    if part.has_bodies then
      -- The bodies are cleared out of the store like those of uploads that failed.
      execute format('with gone as (delete from %1$s t where t.ctid = any (array(select t.ctid from %1$s t where %2$s limit $3))
          returning t.storage_key, t.body_cleared_at)
        select coalesce(array_agg(g.storage_key) filter (where g.body_cleared_at is null), ''{}''), count(*) from gone g', part.name, part.condition)
        into bodies, counted using case when chosen = '{}' then brokerage end, chosen, room;
      insert into vault.uploads (storage_key, begun_at) select b.key, app.now() - interval '3 days' from unnest(bodies) b (key)
        on conflict (storage_key) do update set begun_at = excluded.begun_at;
      update vault.brokerage_deletions d set documents = d.documents + counted where d.brokerage_id = brokerage;
    else
      execute format('delete from %1$s t where t.ctid = any (array(select t.ctid from %1$s t where %2$s limit $3))', part.name, part.condition)
        using case when chosen = '{}' then brokerage end, chosen, case when not part.refers_to_itself then room end;
      get diagnostics counted = row_count;
    end if;
    room := room - counted;
    exit when room <= 0;
  end loop;
  if room > 0 and chosen <> '{}' then
    delete from public.deals l where l.id = any (chosen);
    get diagnostics counted = row_count;
    update vault.brokerage_deletions d set deals = d.deals + counted where d.brokerage_id = brokerage;
  end if;
  if room <= 0 or chosen <> '{}' then
    counted := app.forget_unattached(people);
    update vault.brokerage_deletions d set people = d.people + counted where d.brokerage_id = brokerage;
    return next;
    return;
  end if;

  -- Webhooks of test keys are the sandbox's, while their keys are its brokerage's.
  delete from public.webhook_deliveries w where w.ctid = any (array(
    select d.ctid from public.webhook_deliveries d join public.webhook_endpoints e on e.id = d.endpoint_id where e.brokerage_id = brokerage limit room));
  get diagnostics counted = row_count;
  if counted >= room then
    return next;
    return;
  end if;
  delete from public.webhook_endpoints e where e.brokerage_id = brokerage;

  delete from vault.mail_counts m
    where app.counted_of(m.subject) @> array[brokerage::text] and (m.subject like '% for ' || brokerage or m.subject like '% from ' || brokerage || ' to %');
  delete from vault.brokerage_deletions d where d.brokerage_id = brokerage returning d.* into this;
  delete from public.users u where u.sandbox_id = brokerage;
  delete from public.brokerages b where b.id = brokerage returning b.sandbox_of into parent;
  if parent is not null then
    return next;
    return;
  end if;
  insert into public.audit_records (action, subject_id, outcome, details) values ('brokerage.delete', brokerage::text, 'done',
    jsonb_build_object('deals', this.deals, 'documents', this.documents, 'people', this.people, 'asked_at', this.asked_at));
  finished := true;
  return next;
end
$function$;

CREATE OR REPLACE FUNCTION app.deal_invitations()
 RETURNS TABLE(participant_id uuid, role text, brokerage_name text, deal_title text, invited_at timestamp with time zone)
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
  select i.id, i.role, i.name, i.title, i.updated_at
  from (
    select p.id, p.role, b.name, d.title, p.updated_at, row_number() over (partition by d.organization_id order by p.updated_at desc, p.id desc) as nth
    from public.participants p
    join public.deals d on d.id = p.deal_id
    join public.brokerages b on b.id = d.organization_id
    where p.user_id = app.user_id() and p.status = 'invited' and not app.address_in_doubt(d.organization_id)
      and not exists (select from vault.deletions_begun g where g.brokerage_id = d.organization_id)) i
  where i.nth <= 20
  order by i.updated_at desc, i.id desc limit 200
$function$;

CREATE OR REPLACE FUNCTION app.answer_deal_invitation(participation uuid, accepts boolean, address inet, request_id text)
 RETURNS uuid
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  answered uuid;
  had_joined boolean;
  known_as text;
begin
  if app.client_id() is not null then
    return null;
  end if;
  select p.joined_at is not null, p.invited_name into had_joined, known_as from public.participants p where p.id = participation;
  update public.participants p set status = case when accepts then 'active' else 'removed' end
    from public.deals d
    where p.id = participation and p.user_id = app.user_id() and p.status = 'invited'
      and d.id = p.deal_id and not app.address_in_doubt(d.organization_id)
      and not exists (select from vault.deletions_begun g where g.brokerage_id = d.organization_id)
    returning p.deal_id into answered;
  if found then
    delete from vault.invitations i where i.participant_id = participation and i.used_at is null;
    if accepts or had_joined then
      perform app.audit(case when accepts then 'invitation.accept' else 'invitation.decline' end, participation::text, 'done',
        null, answered, address, request_id, '{}');
    else
      -- The person's own record, and another for the deal's people, who do not learn whose account it was.
      perform app.record(app.user_id(), 'invitation.decline', 'done', null, address, request_id);
      insert into public.audit_records (brokerage_id, deal_id, action, subject_id, outcome, details)
        select d.organization_id, d.id, 'invitation.decline', participation, 'done', jsonb_build_object('name', known_as)
        from public.deals d where d.id = answered;
    end if;
  end if;
  return answered;
end
$function$;

CREATE OR REPLACE FUNCTION app.activity_in_sight()
 RETURNS TABLE(id uuid, at timestamp with time zone, user_id uuid, client_id uuid, deal_id uuid, action text, subject_id text, outcome text, details jsonb)
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
 SET plan_cache_mode TO 'force_generic_plan'
AS $function$
#variable_conflict use_column
declare
  me constant uuid := app.user_id();
  barred constant uuid[] := app.barred_in(app.identity());
  administered constant uuid[] := app.brokerages_as('admin');
  since constant timestamptz := app.now() - interval '30 days';
begin
  if me is null or app.narrowed_to() is not null then
    return;
  end if;
  return query
    -- What the caller is to each of these deals, and what follows from it whatever the record.
    with own as materialized (
      select o.*,
        o.side in ('broker', 'seller') as sells,
        exists (select from vault.active_ndas n where n.participant_id = o.principal_id) as signed,
        o.side = 'buyer' and exists (select from public.exclusivities x
          where x.deal_id = o.deal_id and x.participant_id = o.principal_id and x.ended_at is null and x.expires_at > app.now()) as holds,
        o.side = 'buyer' and exists (select from vault.selected_buyers x
          where x.deal_id = o.deal_id and x.participant_id = o.principal_id) as selected,
        (select d.needs_nda from public.deals d where d.id = o.deal_id) as needs_nda,
        o.side in ('broker', 'seller', 'viewer')
          or (select d.organization_id from public.deals d where d.id = o.deal_id) = any (administered) as sees_all
      from (
        select p.deal_id, p.principal_id, s.side from (
          select o.deal_id, o.id, o.role, o.advises, coalesce(o.advises, o.id) as principal_id from public.participants o
          where o.user_id = me and o.status = 'active' and o.role <> 'broker'
            and (barred = '{}' or (select d.organization_id from public.deals d where d.id = o.deal_id) <> all (barred))
          order by o.id desc offset 0) p
        cross join lateral (select case when p.advises is null then p.role
          else (select a.role from public.participants a where a.id = p.advises and a.status = 'active') end as side offset 0) s
        where s.side is not null
          and exists (select from vault.deals_of_people k where k.user_id = me and k.deal_id = p.deal_id) order by p.id desc limit 50) o)
    select s.id, s.at, s.user_id, s.client_id, own.deal_id, s.action, s.subject_id, s.outcome, s.details
    from own
    cross join lateral (
      select a.id, a.at, a.user_id, a.client_id, a.action, a.subject_id, a.outcome, a.details
      from (
        select l.*, app.subject_of(l.action, l.details) as subject from public.audit_records l
        where l.deal_id = own.deal_id and l.noted and l.at > since
          and l.user_id is distinct from me and app.subject_of(l.action, l.details) is not null
          and l.subject_id ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'
        order by l.at desc, l.id desc limit 200) a
      where case a.subject
        when 'questions' then (select true from public.questions q
          where q.id = a.subject_id::uuid and q.deal_id = own.deal_id and (own.side = 'broker' or q.participant_id = own.principal_id
            or (own.side = 'seller' and q.status in ('with_seller', 'answered', 'distributed'))))
        when 'question_answers' then own.sells and (select true from public.question_answers q
          where q.question_id = a.subject_id::uuid and q.deal_id = own.deal_id limit 1)
        when 'ndas' then (select true from public.ndas n
          where n.id = a.subject_id::uuid and n.deal_id = own.deal_id and (own.sells or n.participant_id = own.principal_id))
        when 'documents' then (select true from public.documents d
          where d.id = a.subject_id::uuid and d.deal_id = own.deal_id and d.removed_at is null
            and (own.sells or d.confidentiality = 'public' or (d.confidentiality = 'nda_gated' and own.signed)
              or (d.confidentiality = 'selected_buyer_only' and own.holds)))
        when 'production_documents' then (select true from public.production_documents d
          where d.id = a.subject_id::uuid and d.deal_id = own.deal_id and d.removed_at is null
            and (own.sells or d.confidentiality = 'public' or (d.confidentiality = 'nda_gated' and own.signed)
              or (d.confidentiality = 'selected_buyer_only' and own.holds)))
        when 'offers' then (select true from public.offers o
          where o.id = a.subject_id::uuid and o.deal_id = own.deal_id and (own.sells or o.participant_id = own.principal_id))
        when 'closing_conditions' then (own.sees_all or own.selected) and (select true from public.closing_conditions c
          where c.id = a.subject_id::uuid and c.deal_id = own.deal_id)
        when 'findings' then (select true from public.findings f
          where f.id = a.subject_id::uuid and f.deal_id = own.deal_id and (own.sells or f.participant_id = own.principal_id))
        when 'participants' then (select true from public.participants p
          where p.id = a.subject_id::uuid and p.deal_id = own.deal_id and (own.sees_all or (
            not exists (select from vault.role_changes c where c.participant_id = p.id and c.at > a.at)
            and (coalesce(p.advises, p.id) = own.principal_id
              or (own.side = 'buyer' and p.status = 'active'
                and (p.role = 'broker' or (p.role = 'seller' and (own.signed or not own.needs_nda))))))))
        else false end
      order by a.at desc, a.id desc limit 8) s;
end
$function$;

-- Deletions that have begun.
delete from vault.deals_of_people o using public.participants p, public.deals l, vault.deletions_begun b
  where l.organization_id = b.brokerage_id and p.deal_id = l.id and o.user_id = p.user_id and o.deal_id = p.deal_id;
delete from vault.invitations i using public.participants p, public.deals l, vault.deletions_begun b
  where l.organization_id = b.brokerage_id and p.deal_id = l.id and i.participant_id = p.id;
