-- What the tool server asks: whether a writing tool may run, and which brokerage a caller means.

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

-- An update that finds no row says nothing; behind this, it is denied like an insertion that a policy turns away.
create function app.or_denied(changed uuid) returns uuid
language plpgsql immutable set search_path = '' as $$
begin
  if changed is null then
    raise insufficient_privilege using message = 'there is no such record that the caller may change';
  end if;
  return changed;
end
$$;
grant execute on function app.pass_tool_gate(text, uuid), app.brokerage_named(text), app.or_denied(uuid)
  to dealkeep_server;

-- Amounts cross the tools as JSON integers, which are exact up to here.
alter table financing_sources add check (commitment_amount <= 9007199254740991);
