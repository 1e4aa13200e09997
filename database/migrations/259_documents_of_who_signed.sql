-- compatible: more is shown to whom the policies show it.
--
-- An NDA stays in force when its buyer is removed, and it opens documents to them again as whatever they come back. The list of documents over all deals asked for
-- it on the side of buyers alone, so that it left out what the pages of the deal show to a viewer who has signed.

create or replace function app.documents_in_sight(deal_place timestamptz, deal uuid, place timestamptz, document uuid, at_most integer)
returns table(id uuid, filename text, category text, confidentiality text, size_bytes double precision, uploaded_at timestamptz, source text, media_type text, deal_id uuid, deal_title text, deal_created_at timestamptz)
language plpgsql stable security definer set search_path = '' set enable_nestloop = off set plan_cache_mode = force_generic_plan as $$
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
          array['public'] || case when exists (select from vault.active_ndas n where n.participant_id = k.principal_id) then array['nda_gated'] end
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
$$;
