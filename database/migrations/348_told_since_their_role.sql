-- compatible: the release before tells more of who was somebody else on the deal before.
--
-- Somebody may be on a deal as a buyer, be removed, and be invited again as its seller, by the same row. Who sees them as the seller was told from the
-- audit trail that they had been invited as a buyer and been removed, and a buyer what became of their advisor while they advised another buyer. What people
-- see of others on a deal begins with the role that these have now. Who sees everybody on the deal sees what was before, too.
--
-- And until when somebody has read answers is kept by person and deal: an advisor who was invited again to advise another buyer was told of none of the answers that
-- this one had been given by then.

create table vault.role_changes (
  participant_id uuid primary key references public.participants (id) on delete cascade,
  deal_id uuid not null,
  brokerage_id uuid not null,
  at timestamptz not null
);
create index role_changes_by_deal on vault.role_changes (deal_id);
select app.protect('vault.role_changes');
create trigger set_tenant before insert or update of deal_id, brokerage_id on vault.role_changes for each row execute function app.set_tenant_by_deal();

-- Those who were invited more than once, or who were removed or declined before.
insert into vault.role_changes (participant_id, deal_id, at)
select p.id, p.deal_id, r.at
from public.brokerages b
cross join lateral (
  select case when a.subject_id ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' then a.subject_id::uuid end as participant_id,
    max(case a.action when 'participant.invite' then a.at else a.at + interval '1 microsecond' end) as at
  from public.audit_records a
  where a.brokerage_id = b.id and a.action not like 'tool:%'
    and a.action collate "C" in ('participant.invite', 'participant.remove', 'invitation.decline') and a.outcome = 'done'
  group by 1 having count(*) > 1 or bool_or(a.action <> 'participant.invite')) r
join public.participants p on p.id = r.participant_id and p.status <> 'removed';

create function app.note_role() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  insert into vault.role_changes (participant_id, deal_id, at) values (new.id, new.deal_id, app.now())
  on conflict (participant_id) do update set at = excluded.at;
  -- What was given to another side by then is unread.
  if coalesce(new.advises, new.id) <> coalesce(old.advises, old.id) then
    delete from public.answer_readings r where r.user_id = new.user_id and r.deal_id = new.deal_id;
  end if;
  return null;
end
$$;
revoke execute on function app.note_role() from public;

create trigger note_role after update of role, status, advises on public.participants for each row
when (old.role <> new.role or old.advises is distinct from new.advises or (old.status = 'removed' and new.status <> 'removed'))
execute function app.note_role();

create or replace function app.activity_in_sight() returns table (id uuid, at timestamp with time zone, user_id uuid, client_id uuid, deal_id uuid, action text, subject_id text, outcome text, details jsonb)
language plpgsql stable security definer set search_path = '' set plan_cache_mode = 'force_generic_plan' as $$
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
        where s.side is not null order by p.id desc limit 50) o)
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
$$;

create or replace function app.deal_activity_in_sight(deal uuid, after_at timestamp with time zone, after_id uuid, most integer) returns table (id uuid, at timestamp with time zone, user_id uuid, client_id uuid, deal_id uuid, action text, subject_id text, outcome text, details jsonb)
language plpgsql stable security definer set search_path = '' as $$
#variable_conflict use_column
declare
  me constant uuid := app.user_id();
  one public.audit_records;
  shown int := 0;
  sees_all boolean;
begin
  if me is null or app.narrowed_to() is distinct from deal or deal = any (app.deals_acting_as('broker'))
    or (select d.organization_id from public.deals d where d.id = deal) = any (app.brokerages_as('admin'))
  then
    return;
  end if;
  sees_all := deal = any (app.deals_as('broker', 'seller', 'viewer'));
  for one in
    select a.* from public.audit_records a
    where a.deal_id = deal and a.noted
      and (after_at is null or (a.at, a.id) < (after_at, after_id))
      and a.user_id is distinct from me and app.subject_of(a.action, a.details) is not null
      and a.subject_id ~ '^[0-9a-f-]{36}$'
    order by a.at desc, a.id desc limit 2000
  loop
    if app.could_open(app.subject_of(one.action, one.details), one.subject_id::uuid, deal)
      and (sees_all or app.subject_of(one.action, one.details) <> 'participants'
        or not exists (select from vault.role_changes c where c.participant_id = one.subject_id::uuid and c.at > one.at))
    then
      id := one.id; at := one.at; user_id := one.user_id; client_id := one.client_id; deal_id := one.deal_id;
      action := one.action; subject_id := one.subject_id; outcome := one.outcome; details := one.details;
      return next;
      shown := shown + 1;
      exit when shown >= least(most, 200);
    end if;
  end loop;
end
$$;
