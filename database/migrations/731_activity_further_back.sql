-- compatible: a function that reads further for the same kind of answer.
--
-- The home page showed what others did among the latest 200 records of each deal: whoever may see little of a busy deal saw nothing, although there was
-- something further back. Now each deal is read, the one with the latest activity first, until eight records are found that the caller may see: at most 5,000
-- records of a deal and 10,000 of all, then 200 of each further deal, and none that is older than the eighth of those found so far. Ids are told by LIKE: the
-- regular expression took most of the time, so that 20,000 records, the most that are read now, take half as long as the 10,000 that were read before.

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
  since timestamptz := app.now() - interval '30 days';
  remaining int := 10000;
  found_at timestamptz[] := '{}';
  part record;
  one record;
  looked int;
  shown int;
begin
  if me is null or app.narrowed_to() is not null then
    return;
  end if;
  for part in
    -- What the caller is to each of these deals, and what follows from it whatever the record.
    select o.*, k.at as last_at,
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
        and exists (select from vault.deals_of_people k where k.user_id = me and k.deal_id = p.deal_id) order by p.id desc limit 50) o
    -- Deal by deal: PostgreSQL would read the activity of the platform for fifty of them.
    cross join lateral (select d.at, d.record_id from vault.deal_activity d where d.deal_id = o.deal_id and d.at > since offset 0) k
    order by k.at desc, k.record_id desc
  loop
    exit when part.last_at < since;
    looked := 0;
    shown := 0;
    -- Read in the order of the index, and no further than the loop goes.
    for one in
      select l.id, l.at, l.user_id, l.client_id, l.action, l.subject_id, l.outcome, l.details,
        case when l.user_id is not distinct from me or l.subject is null or l.subject_id not like '________-____-____-____-____________' then false
          else case l.subject
            when 'questions' then (select true from public.questions q
              where q.id = l.subject_id::uuid and q.deal_id = part.deal_id and (part.side = 'broker' or q.participant_id = part.principal_id
                or (part.side = 'seller' and q.status in ('with_seller', 'answered', 'distributed'))))
            when 'question_answers' then part.sells and (select true from public.question_answers q
              where q.question_id = l.subject_id::uuid and q.deal_id = part.deal_id limit 1)
            when 'ndas' then (select true from public.ndas n
              where n.id = l.subject_id::uuid and n.deal_id = part.deal_id and (part.sells or n.participant_id = part.principal_id))
            when 'documents' then (select true from public.documents d
              where d.id = l.subject_id::uuid and d.deal_id = part.deal_id and d.removed_at is null
                and (part.sells or d.confidentiality = 'public' or (d.confidentiality = 'nda_gated' and part.signed)
                  or (d.confidentiality = 'selected_buyer_only' and part.holds)))
            when 'production_documents' then (select true from public.production_documents d
              where d.id = l.subject_id::uuid and d.deal_id = part.deal_id and d.removed_at is null
                and (part.sells or d.confidentiality = 'public' or (d.confidentiality = 'nda_gated' and part.signed)
                  or (d.confidentiality = 'selected_buyer_only' and part.holds)))
            when 'offers' then (select true from public.offers o
              where o.id = l.subject_id::uuid and o.deal_id = part.deal_id and (part.sells or o.participant_id = part.principal_id))
            when 'closing_conditions' then (part.sees_all or part.selected) and (select true from public.closing_conditions c
              where c.id = l.subject_id::uuid and c.deal_id = part.deal_id)
            when 'findings' then (select true from public.findings f
              where f.id = l.subject_id::uuid and f.deal_id = part.deal_id and (part.sells or f.participant_id = part.principal_id))
            when 'participants' then (select true from public.participants p
              where p.id = l.subject_id::uuid and p.deal_id = part.deal_id and (part.sees_all or (
                not exists (select from vault.role_changes c where c.participant_id = p.id and c.at > l.at)
                and (coalesce(p.advises, p.id) = part.principal_id
                  or (part.side = 'buyer' and p.status = 'active'
                    and (p.role = 'broker' or (p.role = 'seller' and (part.signed or not part.needs_nda))))))))
            else false end
        end as visible
      from (
        select r.id, r.at, r.user_id, r.client_id, r.action, r.subject_id, r.outcome, r.details, app.subject_of(r.action, r.details) as subject
        from public.audit_records r
        where r.deal_id = part.deal_id and r.noted and r.at >= since
        order by r.at desc, r.id desc limit 5000) l
      order by l.at desc, l.id desc
    loop
      looked := looked + 1;
      if one.visible then
        id := one.id; at := one.at; user_id := one.user_id; client_id := one.client_id; deal_id := part.deal_id;
        action := one.action; subject_id := one.subject_id; outcome := one.outcome; details := one.details;
        return next;
        shown := shown + 1;
        found_at := found_at || one.at;
      end if;
      exit when shown = 8 or looked >= greatest(remaining, 200);
    end loop;
    remaining := remaining - looked;
    if cardinality(found_at) >= 8 then
      found_at := array(select f from unnest(found_at) f order by f desc limit 8);
      since := found_at[8];
    end if;
  end loop;
end
$function$;
