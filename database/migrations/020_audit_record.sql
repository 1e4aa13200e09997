-- Leaving a record looks at the seal of the identity once, not for each thing that it says of the caller.
create or replace function app.audit(action text, subject_id text, outcome text, brokerage_id uuid, deal_id uuid, address inet,
  request_id text, details jsonb) returns void
language plpgsql volatile security definer set search_path = '' as $$
declare
  identity constant text := app.identity();
  -- A person calls through a client or none, everything else through a key or none.
  person constant uuid := nullif(split_part(identity, ',', 1), '');
begin
  insert into public.audit_records
    (brokerage_id, deal_id, user_id, client_id, key_id, address, request_id, action, subject_id, outcome, details)
  values (
    coalesce((select d.organization_id from public.deals d where d.id = audit.deal_id), audit.brokerage_id,
      case when person is null then nullif(split_part(identity, ',', 4), '')::uuid end),
    audit.deal_id, person, case when person is not null then nullif(split_part(identity, ',', 2), '')::uuid end,
    case when person is null then nullif(split_part(identity, ',', 3), '')::uuid end, audit.address, audit.request_id, audit.action,
    audit.subject_id, audit.outcome, coalesce(audit.details, '{}'));
end
$$;
