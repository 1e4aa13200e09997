-- Writing through tools -------------------------------------------------------------------------------------------------------
--
-- A tool that writes works only while the person has turned it on for the client that calls it, and, on a deal, while
-- they have opted that deal in and no broker has shut it off there. A row is the switch turned on; turning it off deletes it.

create table tool_grants (
  user_id uuid not null references users,
  client_id uuid not null references connected_clients,
  tool text not null check (tool ~ '^svc_[a-z_]{1,60}$'),
  expires_at timestamptz,
  granted_at timestamptz not null default app.now(),
  primary key (user_id, client_id, tool)
);
create index tool_grants_by_client on tool_grants (client_id);
select app.protect('tool_grants');
create policy own on tool_grants for select to dealkeep_server using (user_id = (select app.user_id()));
grant select on tool_grants to dealkeep_server;

create table deal_opt_ins (
  user_id uuid not null references users,
  deal_id uuid not null references deals,
  expires_at timestamptz,
  opted_in_at timestamptz not null default app.now(),
  primary key (user_id, deal_id)
);
create index deal_opt_ins_by_deal on deal_opt_ins (deal_id);
select app.protect('deal_opt_ins');
create policy own_on_visible_deals on deal_opt_ins for select to dealkeep_server
  using (user_id = (select app.user_id()) and exists (select from deals d where d.id = deal_id));
grant select on deal_opt_ins to dealkeep_server;

-- A row shuts writing through tools off for everybody on the deal.
create table deal_tool_stops (
  deal_id uuid primary key references deals,
  stopped_by uuid not null references users,
  stopped_at timestamptz not null default app.now()
);
select app.protect('deal_tool_stops');
create policy with_the_deal on deal_tool_stops for select to dealkeep_server
  using (exists (select from deals d where d.id = deal_id));
grant select on deal_tool_stops to dealkeep_server;

-- Whether the caller has turned a tool on for the client through which they call.
create function app.tool_granted(tool text) returns boolean
language plpgsql stable security definer set search_path = '' as $$
begin
  return exists (select from public.tool_grants g
    where g.user_id = app.user_id() and g.client_id = app.client_id() and g.tool = tool_granted.tool
      and (g.expires_at is null or g.expires_at > app.now()));
end
$$;

-- Whether the caller may write through tools on a deal: they see it, have opted it in, and no broker has shut it off.
create function app.deal_opted_in(deal_id uuid) returns boolean
language plpgsql stable security definer set search_path = '' as $$
begin
  return app.seen_deal(deal_opted_in.deal_id) is not null
    and exists (select from public.deal_opt_ins o
      where o.user_id = app.user_id() and o.deal_id = deal_opted_in.deal_id
        and (o.expires_at is null or o.expires_at > app.now()))
    and not exists (select from public.deal_tool_stops s where s.deal_id = deal_opted_in.deal_id);
end
$$;

-- Switches are turned by people in the web application, never through a client.
create function app.check_until(until timestamptz) returns void
language plpgsql stable set search_path = '' as $$
begin
  if until <= app.now() then
    perform app.refuse('ends_in_the_past', 'Choose an end in the future, or none.');
  end if;
end
$$;

-- Turns a tool on for one of the caller's clients, until a time or (null) until further notice; turning it on again
-- changes the end. False: the client is not theirs to use.
create function app.grant_tool(client_id uuid, tool text, expires_at timestamptz, address inet, request_id text) returns boolean
language plpgsql security definer set search_path = '' as $$
declare
  person constant uuid := app.user_id();
begin
  if person is null or app.client_id() is not null or not app.client_works_for(grant_tool.client_id, person) then
    return false;
  end if;
  perform app.check_until(grant_tool.expires_at);
  insert into public.tool_grants as g (user_id, client_id, tool, expires_at)
    values (person, grant_tool.client_id, grant_tool.tool, grant_tool.expires_at)
    on conflict on constraint tool_grants_pkey do update set expires_at = excluded.expires_at, granted_at = excluded.granted_at;
  perform app.audit('tool_grant.on', grant_tool.client_id::text, 'done', app.brokerage_of_grant(person, grant_tool.client_id),
    null, address, request_id, jsonb_build_object('tool', tool, 'expires_at', expires_at));
  return true;
end
$$;

-- Turns a tool off for a client. False: it was not on.
create function app.withdraw_tool(client_id uuid, tool text, address inet, request_id text) returns boolean
language plpgsql security definer set search_path = '' as $$
declare
  person constant uuid := app.user_id();
begin
  if app.client_id() is not null then
    return false;
  end if;
  delete from public.tool_grants g
    where g.user_id = person and g.client_id = withdraw_tool.client_id and g.tool = withdraw_tool.tool;
  if not found then
    return false;
  end if;
  perform app.audit('tool_grant.off', withdraw_tool.client_id::text, 'done',
    app.brokerage_of_grant(person, withdraw_tool.client_id), null, address, request_id, jsonb_build_object('tool', tool));
  return true;
end
$$;

-- Turns writing through tools on for a deal that the caller sees, in their own name. False: there is no such deal.
create function app.opt_in_deal(deal_id uuid, expires_at timestamptz, address inet, request_id text) returns boolean
language plpgsql security definer set search_path = '' as $$
begin
  if app.user_id() is null or app.client_id() is not null or app.seen_deal(opt_in_deal.deal_id) is null then
    return false;
  end if;
  perform app.check_until(opt_in_deal.expires_at);
  insert into public.deal_opt_ins (user_id, deal_id, expires_at)
    values (app.user_id(), opt_in_deal.deal_id, opt_in_deal.expires_at)
    on conflict on constraint deal_opt_ins_pkey do update set expires_at = excluded.expires_at, opted_in_at = excluded.opted_in_at;
  perform app.audit('deal_opt_in.on', opt_in_deal.deal_id::text, 'done', null, opt_in_deal.deal_id, address, request_id,
    jsonb_build_object('expires_at', expires_at));
  return true;
end
$$;

-- Turns the caller's opt-in off. False: there was none.
create function app.opt_out_deal(deal_id uuid, address inet, request_id text) returns boolean
language plpgsql security definer set search_path = '' as $$
begin
  if app.client_id() is not null then
    return false;
  end if;
  delete from public.deal_opt_ins o where o.user_id = app.user_id() and o.deal_id = opt_out_deal.deal_id;
  if not found then
    return false;
  end if;
  perform app.audit('deal_opt_in.off', opt_out_deal.deal_id::text, 'done', null, opt_out_deal.deal_id, address, request_id, '{}');
  return true;
end
$$;

-- A broker of the deal shuts writing through tools off for everybody on it, or allows it again. False: the caller is not
-- a broker of such a deal.
create function app.stop_deal_tools(deal_id uuid, stopped boolean, address inet, request_id text) returns boolean
language plpgsql security definer set search_path = '' as $$
begin
  if app.client_id() is not null or not stop_deal_tools.deal_id = any (app.deals_acting_as('broker')) then
    return false;
  end if;
  if stopped then
    insert into public.deal_tool_stops (deal_id, stopped_by) values (stop_deal_tools.deal_id, app.user_id())
      on conflict do nothing;
  else
    delete from public.deal_tool_stops s where s.deal_id = stop_deal_tools.deal_id;
  end if;
  if found then
    perform app.audit(case when stopped then 'deal_tools.stop' else 'deal_tools.allow' end, stop_deal_tools.deal_id::text, 'done',
      null, stop_deal_tools.deal_id, address, request_id, '{}');
  end if;
  return true;
end
$$;

-- A reset by mail turns writing through tools off. The first that shows whose mailbox it is also takes away what a stranger
-- may have made in the account: its clients, with whatever anybody gave them, and the tokens of API keys shown to it.
create function app.on_reset(user_id uuid, first_proof boolean) returns jsonb
language plpgsql security definer set search_path = '' as $$
declare
  client uuid;
  clients int := 0;
  grants int;
  opt_ins int;
  keys int := 0;
begin
  delete from public.tool_grants g where g.user_id = on_reset.user_id;
  get diagnostics grants = row_count;
  delete from public.deal_opt_ins o where o.user_id = on_reset.user_id;
  get diagnostics opt_ins = row_count;
  if first_proof then
    for client in
      update public.connected_clients c set deleted_at = app.now()
        where c.created_by = on_reset.user_id and c.deleted_at is null returning c.id
    loop
      perform app.end_grants_of_client(client, null);
      clients := clients + 1;
    end loop;
    update vault.api_key_digests d set valid_until = app.now()
      where d.issued_by = on_reset.user_id and (d.valid_until is null or d.valid_until > app.now());
    update public.api_keys k set revoked_at = app.now(), revoked_by = on_reset.user_id
      where k.revoked_at is null
        and exists (select from vault.api_key_digests d where d.key_id = k.id and d.issued_by = on_reset.user_id)
        and not exists (select from vault.api_key_digests d
          where d.key_id = k.id and (d.valid_until is null or d.valid_until > app.now()));
    get diagnostics keys = row_count;
  end if;
  return jsonb_build_object('tool_grants', grants, 'deal_opt_ins', opt_ins, 'clients', clients, 'keys', keys);
end
$$;
grant execute on function app.tool_granted(text), app.deal_opted_in(uuid),
  app.grant_tool(uuid, text, timestamptz, inet, text), app.withdraw_tool(uuid, text, inet, text),
  app.opt_in_deal(uuid, timestamptz, inet, text), app.opt_out_deal(uuid, inet, text),
  app.stop_deal_tools(uuid, boolean, inet, text) to dealkeep_server;

-- Who leaves a deal opts in anew when they come back.
create function app.opt_out_with_part() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  delete from public.deal_opt_ins o where o.deal_id = new.deal_id and o.user_id = new.user_id;
  return null;
end
$$;
create trigger opt_out after update of status on participants for each row
  when (new.status = 'removed' and old.status <> 'removed') execute function app.opt_out_with_part();

-- Whether the access token that entered carries `scope`.
create function app.token_carries(scope text) returns boolean
language plpgsql stable security definer set search_path = '' as $$
begin
  return coalesce(scope = any (string_to_array(app.identity_part(5), ' ')), false);
end
$$;

-- Lets a writing tool through, or refuses it with the first of what it lacks (specification, section 5.4): the scope,
-- the grant for the tool, the opt-in for the deal. It stands in front of the work, in the same transaction, so that
-- nothing can be withdrawn in between. A deal that the caller cannot see, and null, are like one without an opt-in.
create function app.pass_tool_gate(tool text, deal_id uuid) returns void
language plpgsql stable security definer set search_path = '' as $$
begin
  if not app.token_carries('mcp:write') then
    perform app.refuse('missing_scope', 'This client was not given permission to write: connect it again and leave writing ticked.');
  elsif not app.tool_granted(tool) then
    perform app.refuse('missing_tool_grant', format('%s is not turned on for this client: turn it on in the settings.', tool));
  elsif deal_id is null or not app.deal_opted_in(deal_id) then
    perform app.refuse('missing_deal_opt_in',
      'Writing through tools is not turned on for this deal, or a broker of it has shut it off: turn it on, on the deal''s page.');
  end if;
end
$$;

-- The brokerage that has this id or slug, or null. It tells no more than the deals that the caller sees already do.
create function app.brokerage_named(named text) returns uuid
language plpgsql stable security definer set search_path = '' as $$
begin
  if named ~* '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' then
    return (select b.id from public.brokerages b where b.id = named::uuid);
  end if;
  return (select b.id from public.brokerages b where b.slug = named);
end
$$;
grant execute on function app.pass_tool_gate(text, uuid), app.brokerage_named(text) to dealkeep_server;
