-- Writing to the audit trail: the identity comes from the credential that entered, never from the writer.

-- Leaves a record of what the caller did. The brokerage is the deal's, the key's or the one named; an unknown deal is
-- kept as it was asked for, without a brokerage.
create function app.audit(action text, subject_id text, outcome text, brokerage_id uuid, deal_id uuid, address inet,
  request_id text, details jsonb) returns void
language plpgsql volatile security definer set search_path = '' as $$
declare
  -- A person calls through a client or none, everything else through a key or none.
  person constant uuid := app.user_id();
begin
  insert into public.audit_records
    (brokerage_id, deal_id, user_id, client_id, key_id, address, request_id, action, subject_id, outcome, details)
  values (
    coalesce((select d.organization_id from public.deals d where d.id = audit.deal_id), audit.brokerage_id,
      case when person is null then app.identity_part(4)::uuid end),
    audit.deal_id, person, case when person is not null then app.client_id() end,
    case when person is null then app.key_id() end, audit.address, audit.request_id, audit.action, audit.subject_id,
    audit.outcome, coalesce(audit.details, '{}'));
end
$$;
grant execute on function app.audit(text, text, text, uuid, uuid, inet, text, jsonb) to dealkeep_server;
