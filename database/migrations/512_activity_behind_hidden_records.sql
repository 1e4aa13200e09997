-- compatible: an old node shows the row without an action as something that was done, where 2,000 records in a row are hidden.
--
-- The activity of a deal ended where a reader may open nothing of the latest 2,000 records: a buyer without an NDA, beside whom as many documents under NDA were uploaded, saw nothing from
-- before. If there is more behind these, the function ends with a row that has only its place, behind which the next page begins, as notifications do.

create or replace function app.deal_activity_in_sight(deal uuid, after_at timestamp with time zone, after_id uuid, most integer)
returns table(id uuid, at timestamp with time zone, user_id uuid, client_id uuid, deal_id uuid, action text, subject_id text, outcome text, details jsonb)
language plpgsql
stable security definer
set search_path to ''
as $function$
#variable_conflict use_column
declare
  me constant uuid := app.user_id();
  one public.audit_records;
  looked int := 0;
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
    looked := looked + 1;
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
  -- Hidden as far as was looked: where to go on from.
  if looked = 2000 and shown < least(most, 200) then
    return query select one.id, one.at, null::uuid, null::uuid, null::uuid, null::text, null::text, null::text, null::jsonb;
  end if;
end
$function$;
