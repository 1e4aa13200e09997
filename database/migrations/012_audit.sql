-- The audit trail: who did what, through which client or key, on what, when, and how it ended. Never a token, a question's
-- text or an amount. Written through the functions here alone, so that nobody can write a record in another's name; never
-- changed.

create table audit_records (
  id uuid primary key default app.uuid_v7(),
  at timestamptz not null default app.now(),
  brokerage_id uuid,
  deal_id uuid,
  user_id uuid,
  client_id uuid,
  key_id uuid,
  address inet,
  request_id text,
  action text not null,
  subject_id text,
  outcome text not null,
  details jsonb not null default '{}'
);
create index audit_by_brokerage on audit_records (brokerage_id, at desc, id desc);
create index audit_by_user on audit_records (user_id, at desc, id desc);
create index audit_by_deal on audit_records (deal_id, at desc, id desc);
select app.protect('audit_records');
create policy own_and_admins on audit_records for select to dealkeep_server
  using (user_id = (select app.user_id()) or brokerage_id = any ((select app.brokerages_as('admin'))::uuid[]));
grant select on audit_records to dealkeep_server;

-- Leaves a record of what the caller did: who that is comes from the credential that entered, never from the writer. The
-- brokerage is the deal's, the key's or the one named; an unknown deal is kept as it was asked for, without a brokerage.
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

-- Leaves a record in the name of somebody who has not entered, as when they sign in: for the owner's functions alone.
create function app.record(user_id uuid, action text, outcome text, details jsonb, address inet, request_id text) returns void
language sql volatile security definer set search_path = '' as $$
  insert into public.audit_records (user_id, action, outcome, details, address, request_id)
  values (record.user_id, record.action, record.outcome, coalesce(record.details, '{}'), record.address, record.request_id)
$$;

-- Who runs a sale sees what was done on it.
create policy brokers_of_the_deal on audit_records for select to dealkeep_server
  using (deal_id = any ((select app.deals_acting_as('broker'))::uuid[]));

-- What counts as activity: what was done. A call of a tool is no activity; what it changes has a record of its own.
create index activity_by_deal on audit_records (deal_id, at desc, id desc)
  where outcome = 'done' and action not like 'tool:%';
create index activity_by_brokerage on audit_records (brokerage_id, at desc, id desc)
  where outcome = 'done' and action not like 'tool:%';
