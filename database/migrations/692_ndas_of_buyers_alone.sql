-- compatible: the release before asks the same of the same functions.
-- An active NDA opens documents to a buyer's side alone. Who had been a buyer, left, and came back as a viewer or somebody's advisor, opened them still.

CREATE OR REPLACE FUNCTION app.deals_under_nda()
 RETURNS uuid[]
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
AS $function$
begin
  return (
    select coalesce(array_agg(distinct p.deal_id), '{}')
    from app.participations() p
    join vault.active_ndas n on n.participant_id = p.principal_id
    where p.principal_role = 'buyer');
end
$function$;

CREATE OR REPLACE FUNCTION app.document_opens_to(confidentiality text, deal uuid, side text, principal uuid)
 RETURNS boolean
 LANGUAGE sql
 STABLE
RETURN app.document_is_visible(deal, confidentiality, true, CASE WHEN (side = ANY (ARRAY['broker'::text, 'seller'::text])) THEN ARRAY[deal] ELSE NULL::uuid[] END, CASE WHEN ((side = 'buyer'::text) AND EXISTS (SELECT FROM vault.active_ndas n WHERE (n.participant_id = document_opens_to.principal))) THEN ARRAY[deal] ELSE NULL::uuid[] END, CASE WHEN ((side = 'buyer'::text) AND (EXISTS (SELECT FROM public.exclusivities x WHERE ((x.participant_id = document_opens_to.principal) AND (x.ended_at IS NULL) AND (x.expires_at > app.now()))))) THEN ARRAY[deal] ELSE NULL::uuid[] END);

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
        o.side = 'buyer' and exists (select from vault.active_ndas n where n.participant_id = o.principal_id) as signed,
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

CREATE OR REPLACE FUNCTION app.documents_in_sight(deal_place timestamp with time zone, deal uuid, place timestamp with time zone, document uuid, at_most integer)
 RETURNS TABLE(id uuid, filename text, category text, confidentiality text, size_bytes double precision, uploaded_at timestamp with time zone, source text, media_type text, deal_id uuid, deal_title text, deal_created_at timestamp with time zone)
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO ''
 SET enable_nestloop TO 'off'
 SET plan_cache_mode TO 'force_generic_plan'
AS $function$
#variable_conflict use_column
declare
  me constant uuid := app.user_id();
  barred constant uuid[] := app.barred_in(app.identity());
  narrowed constant uuid := app.narrowed_to();
  administered constant uuid[] := app.brokerages_as('admin');
  last_id constant uuid := 'ffffffff-ffff-ffff-ffff-ffffffffffff';
  candidates uuid[];
  begun int := 0;
  of_part int := at_most;
  told int := 0;
  more int;
begin
  candidates := array(
    select c.id from (
      select o.deal_id as id, o.created_at from vault.deals_of_people o
      where o.user_id = me and o.organization_id <> all (barred) and (narrowed is null or o.deal_id = narrowed)
      union
      select d.id, d.created_at from public.deals d where d.organization_id = any (administered)) c
    where (c.created_at, c.id) <= (coalesce(deal_place, 'infinity'), coalesce(deal, last_id))
    order by c.created_at desc, c.id desc);
  -- One part of them after the other, until there are enough.
  while told < at_most and begun < cardinality(candidates) loop
    return query
      select f.id, f.filename, f.category, f.confidentiality, f.size_bytes::float8, f.uploaded_at, f.source, f.media_type, s.id, s.title, s.created_at
      from (
        select k.id, k.title, k.created_at, k.side in ('broker', 'seller') as whole,
          array['public'] || case when k.side = 'buyer' and exists (select from vault.active_ndas n where n.participant_id = k.principal_id) then array['nda_gated'] end
            || case when k.holds then array['selected_buyer_only'] end as levels,
          case when k.id = deal then place else 'infinity' end as before, case when k.id = deal then document else last_id end as before_id
        from app.deals_as_known(me, administered, barred, narrowed, candidates[begun + 1 : begun + of_part]) k
        order by k.created_at desc, k.id desc offset 0) s
      cross join lateral (
        (select d.id, d.filename, d.category, d.confidentiality, d.size_bytes, d.uploaded_at, 'simple' as source, d.media_type from public.documents d
          where s.whole and d.deal_id = s.id and d.removed_at is null and (d.uploaded_at, d.id) < (s.before, s.before_id)
          order by d.uploaded_at desc, d.id desc limit at_most)
        union all
        select d.* from unnest(case when not s.whole then s.levels end) level cross join lateral (
          select d.id, d.filename, d.category, d.confidentiality, d.size_bytes, d.uploaded_at, 'simple', d.media_type from public.documents d
          where d.deal_id = s.id and d.confidentiality = level collate "C" and d.removed_at is null and (d.uploaded_at, d.id) < (s.before, s.before_id)
          order by d.uploaded_at desc, d.id desc limit at_most) d
        union all
        (select d.id, d.filename, d.category, d.confidentiality, d.size_bytes, d.uploaded_at, 'production', d.media_type from public.production_documents d
          where s.whole and d.deal_id = s.id and d.removed_at is null and (d.uploaded_at, d.id) < (s.before, s.before_id)
          order by d.uploaded_at desc, d.id desc limit at_most)
        union all
        select d.* from unnest(case when not s.whole then s.levels end) level cross join lateral (
          select d.id, d.filename, d.category, d.confidentiality, d.size_bytes, d.uploaded_at, 'production', d.media_type from public.production_documents d
          where d.deal_id = s.id and d.confidentiality = level collate "C" and d.removed_at is null and (d.uploaded_at, d.id) < (s.before, s.before_id)
          order by d.uploaded_at desc, d.id desc limit at_most) d
        order by uploaded_at desc, id desc limit at_most) f
      limit at_most - told;
    get diagnostics more = row_count;
    told := told + more;
    begun := begun + of_part;
    of_part := of_part * 8;
  end loop;
end
$function$;
