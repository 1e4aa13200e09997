-- A change is told by one query of each node, however many streams are open there: the database starts from the people
-- of the changed deals, enters as each of them who has a stream open on the node, and lets row-level security answer.

-- As before, and a comment names the deal of its finding.
create or replace function app.announce() returns trigger
language plpgsql security definer set search_path = '' as $$
declare
  changed jsonb := to_jsonb(case when tg_op = 'DELETE' then old else new end);
  deal text := changed ->> case when tg_table_name = 'deals' then 'id' else 'deal_id' end;
begin
  if tg_table_name = 'finding_comments' then
    select f.deal_id into deal from public.findings f where f.id = (changed ->> 'finding_id')::uuid;
  end if;
  perform pg_notify('dealkeep_changes', json_build_object(
    'topic', tg_argv[0], 'table', tg_table_name, 'record', changed ->> tg_argv[1], 'deal_id', deal,
    'gone', tg_op = 'DELETE' or changed ->> 'removed_at' is not null)::text);
  return null;
end
$$;

-- Whether the caller could open one of these documents of a deal before they were taken out.
create function app.saw_any_document(deal uuid, ids uuid[]) returns boolean
language plpgsql stable security definer set search_path = '' as $$
declare
  sees_deal constant boolean := app.seen_deal(deal) is not null;
  deal_side constant uuid[] := app.deals_as('broker', 'seller');
  under_nda constant uuid[] := app.deals_under_nda();
  held constant uuid[] := app.deals_held_exclusively();
begin
  return exists (select from public.documents d where d.id = any (ids) and d.deal_id = deal
      and app.document_is_visible(d.deal_id, d.confidentiality, sees_deal, deal_side, under_nda, held))
    or exists (select from public.production_documents d where d.id = any (ids) and d.deal_id = deal
      and app.document_is_visible(d.deal_id, d.confidentiality, sees_deal, deal_side, under_nda, held));
end
$$;
grant execute on function app.saw_any_document(uuid, uuid[]) to dealkeep_server;

-- Whether the caller may learn that these records of one table and one deal have changed: they see one of them; of those
-- that are gone, they saw their kind on the deal. Runs as the caller, so that row-level security answers. What is not
-- listed is told to nobody.
create function app.sees_any(of_table text, records uuid[], deal uuid, gone boolean) returns boolean
language plpgsql stable set search_path = '' as $$
begin
  if gone then
    case of_table
      when 'documents', 'production_documents' then return app.saw_any_document(deal, records);
      when 'qoe_checklist', 'normalizations' then return deal = any (app.qoe_deals(false));
      when 'qoe_workspace_members' then
        return deal = any (app.deals_as('broker', 'seller')) or records && app.principals();
      when 'closing_conditions' then
        return deal = any (app.deals_as('broker', 'seller', 'viewer') || app.deals_as_selected_buyer())
          or exists (select from public.deals d where d.id = deal and d.organization_id = any (app.brokerages_as('admin')));
      when 'deal_opt_ins' then return app.user_id() = any (records);
      when 'deal_tool_stops' then return exists (select from public.deals d where d.id = deal);
      else return false;
    end case;
  end if;
  case of_table
    when 'deals' then return exists (select from public.deals r where r.id = any (records));
    when 'deal_stages' then return exists (select from public.deal_stages r where r.deal_id = any (records));
    when 'exclusivities' then return exists (select from public.exclusivities r where r.id = any (records));
    when 'participants' then return exists (select from public.participants r where r.id = any (records));
    when 'ndas' then return exists (select from public.ndas r where r.id = any (records));
    when 'documents' then return exists (select from public.documents r where r.id = any (records));
    when 'production_documents' then return exists (select from public.production_documents r where r.id = any (records));
    when 'document_openings' then return exists (select from public.document_openings r where r.id = any (records));
    when 'questions' then return exists (select from public.questions r where r.id = any (records));
    when 'question_answers' then return exists (select from public.question_answers r where r.question_id = any (records));
    when 'qoe_checklist' then return exists (select from public.qoe_checklist r where r.id = any (records));
    when 'accounting_snapshots' then return exists (select from public.accounting_snapshots r where r.id = any (records));
    when 'normalizations' then return exists (select from public.normalizations r where r.id = any (records));
    when 'qoe_workspace_members' then return exists (select from public.qoe_workspace_members r
      where r.participant_id = any (records) and r.deal_id = deal);
    when 'offers', 'offer_decisions' then return exists (select from public.offers r where r.id = any (records));
    when 'closing_conditions' then return exists (select from public.closing_conditions r where r.id = any (records));
    when 'findings', 'finding_comments' then return exists (select from public.findings r where r.id = any (records));
    when 'financing_sources' then return exists (select from public.financing_sources r where r.id = any (records));
    when 'deal_opt_ins' then return app.user_id() = any (records);
    when 'deal_tool_stops' then return exists (select from public.deals r where r.id = any (records));
    else return false;
  end case;
end
$$;
grant execute on function app.sees_any(text, uuid[], uuid, boolean) to dealkeep_server;

-- For nodes of the version before, which ask for each change and stream, until they are replaced.
create or replace function app.sees_change(of_table text, record uuid, deal_id uuid, gone boolean) returns boolean
language plpgsql stable set search_path = '' as $$
begin
  return app.sees_any(of_table, array[record], deal_id, gone);
end
$$;
drop function app.saw_document(uuid);

-- Whether `digest` is among those of which `presented` holds the first 16 bytes each, in ascending order.
create function app.is_presented(digest bytea, presented bytea) returns boolean
language plpgsql immutable set search_path = '' as $$
declare
  wanted constant bytea := substring(digest for 16);
  low int := 0;
  high int := length(presented) / 16;
  middle int;
  found bytea;
begin
  while low < high loop
    middle := (low + high) / 2;
    found := substring(presented from middle * 16 + 1 for 16);
    if found = wanted then
      return true;
    elsif found < wanted then
      low := middle + 1;
    else
      high := middle;
    end if;
  end loop;
  return false;
end
$$;

-- The live sessions whose tokens the caller presents, of people who could have a part in one of the deals, with those
-- deals, and of `people`. They are found from the deals on; who sees what is not decided here. Whoever presents a
-- digest can enter with it anyway.
create function app.sessions_concerned(deals uuid[], people uuid[], presented bytea)
returns table (session_id uuid, digest bytea, of_deals uuid[])
language plpgsql stable security definer set search_path = '' as $$
begin
  return query
    with concerned as (
      select p.user_id, p.deal_id from public.participants p where p.deal_id = any (deals)
      union all
      select m.user_id, d.id from public.deals d
        join public.members m on m.brokerage_id = d.organization_id and m.role = 'admin' and m.status = 'active'
        where d.id = any (deals)
      union all
      select person, null from unnest(people) person
    ), persons as (
      select c.user_id, array_agg(c.deal_id) as of_deals from concerned c group by c.user_id
    )
    select l.id, l.digest, p.of_deals from persons p
    join vault.live_sessions l on l.user_id = p.user_id
    where app.is_presented(l.digest, presented);
end
$$;
grant execute on function app.sessions_concerned(uuid[], uuid[], bytea) to dealkeep_server;

-- Who of those that listen may learn of which changes. `changes` is an array of {topic, table, records, deal_id, gone},
-- `presented` what app.is_presented takes: the caller enters with each session in turn, and ends as nobody. Whoever listens
-- is asked about one deal at a time: what they are to all of their other deals costs a change nothing.
create function app.listeners_told(changes jsonb, presented bytea)
returns table (session_id uuid, topic text, deal_id uuid)
language plpgsql volatile set search_path = '' as $$
#variable_conflict use_column
declare
  deals constant uuid[] := (select coalesce(array_agg(distinct c.deal_id), '{}')
    from jsonb_to_recordset(changes) as c (deal_id uuid, "table" text) where c."table" <> 'deal_opt_ins');
  people constant uuid[] := (select coalesce(array_agg(distinct person), '{}')
    from jsonb_to_recordset(changes) as c (records uuid[], "table" text), unnest(c.records) person
    where c."table" = 'deal_opt_ins');
  listener record;
begin
  for listener in
    -- An opt-in is its owner's, whatever the deal: it stands under no deal here.
    with of_deal as (
      select case when c ->> 'table' <> 'deal_opt_ins' then (c ->> 'deal_id')::uuid end as deal, jsonb_agg(c) as changes
      from jsonb_array_elements(changes) c group by 1
    )
    select s.session_id, s.digest, one.deal, o.changes
    from app.sessions_concerned(deals, people, presented) s
    cross join lateral (select distinct unnest(s.of_deals) as deal) one
    join of_deal o on o.deal is not distinct from one.deal
  loop
    perform from app.enter_with_session(listener.digest, false, case when listener.deal is not null then 'deals' end, listener.deal);
    continue when not found;
    return query
      select listener.session_id, c.topic, c.deal_id
      from jsonb_to_recordset(listener.changes) as c (topic text, "table" text, records uuid[], deal_id uuid, gone boolean)
      where app.sees_any(c."table", c.records, c.deal_id, c.gone);
  end loop;
  perform set_config('dealkeep.identity', '', true), set_config('dealkeep.seal', '', true);
end
$$;
grant execute on function app.listeners_told(jsonb, bytea) to dealkeep_server;
