-- compatible: a table and three functions more; one function clears it with the other keys.

-- What keys of repeated tool calls stand for: the first answer, for 24 hours, to one person through one client and one tool. The
-- same as vault.idempotency_keys is to API keys. Nobody is named here: an answer holds the id of what was written, and its status.
create table vault.tool_call_keys (
  user_id uuid not null,
  client_id uuid not null,
  tool text not null check (length(tool) between 1 and 64),
  idempotency_key text not null check (length(idempotency_key) between 1 and 255),
  input_digest bytea not null check (length(input_digest) = 32),
  answer text,
  made_at timestamptz(3) not null,
  primary key (user_id, client_id, tool, idempotency_key)
);
create index tool_call_keys_by_age on vault.tool_call_keys (made_at);
alter table vault.tool_call_keys enable row level security;
alter table vault.tool_call_keys force row level security;
create policy as_owner on vault.tool_call_keys to current_user using (true) with check (true);

-- Before the work, in its transaction: refused when the key was used in the last 24 hours. Of two calls at once with one key, the
-- second waits here for the first.
create function app.claim_tool_call_key(tool text, idempotency_key text, input_digest bytea) returns void
language plpgsql security definer set search_path = '' as $$
declare
  now constant timestamptz(3) := app.now();
begin
  if app.user_id() is null or app.client_id() is null then
    return;
  end if;
  insert into vault.tool_call_keys as kept (user_id, client_id, tool, idempotency_key, input_digest, made_at)
  values (app.user_id(), app.client_id(), claim_tool_call_key.tool, claim_tool_call_key.idempotency_key,
    claim_tool_call_key.input_digest, now)
  on conflict on constraint tool_call_keys_pkey do update
    set input_digest = excluded.input_digest, answer = null, made_at = excluded.made_at
    where kept.made_at <= now - interval '24 hours';
  if not found then
    perform app.refuse('idempotency_key_used', 'This key was used for this tool within the last 24 hours.');
  end if;
end
$$;
grant execute on function app.claim_tool_call_key(text, text, bytea) to dealkeep_server;

-- After the work, in its transaction.
create function app.remember_tool_answer(tool text, idempotency_key text, answer text) returns void
language sql security definer set search_path = ''
begin atomic
  update vault.tool_call_keys k set answer = remember_tool_answer.answer
  where k.user_id = app.user_id() and k.client_id = app.client_id() and k.tool = remember_tool_answer.tool
    and k.idempotency_key = remember_tool_answer.idempotency_key and k.answer is null;
end;
grant execute on function app.remember_tool_answer(text, text, text) to dealkeep_server;

-- The answer that a call with the same key and input was given; null when there is none (any more).
create function app.first_tool_answer(tool text, idempotency_key text, input_digest bytea) returns text
language plpgsql security definer set search_path = '' as $$
declare
  earlier vault.tool_call_keys;
begin
  select k.* into earlier from vault.tool_call_keys k
  where k.user_id = app.user_id() and k.client_id = app.client_id() and k.tool = first_tool_answer.tool
    and k.idempotency_key = first_tool_answer.idempotency_key and k.made_at > app.now() - interval '24 hours';
  if not found then
    return null;
  end if;
  if earlier.input_digest <> first_tool_answer.input_digest then
    perform app.refuse('idempotency_key_reused',
      'This key was used for this tool with other input within the last 24 hours: send the same input, or use a new key.');
  end if;
  return earlier.answer;
end
$$;
grant execute on function app.first_tool_answer(text, text, bytea) to dealkeep_server;

create or replace function app.purge_idempotency_keys() returns int
language plpgsql security definer set search_path = '' as $$
declare
  purged int;
  purged_of_tools int;
begin
  delete from vault.idempotency_keys k using (
    select o.key_id, o.idempotency_key from vault.idempotency_keys o
    where o.made_at <= app.now() - interval '24 hours' order by o.made_at limit 10000 for update skip locked) o
  where k.key_id = o.key_id and k.idempotency_key = o.idempotency_key;
  get diagnostics purged = row_count;
  delete from vault.tool_call_keys k using (
    select o.user_id, o.client_id, o.tool, o.idempotency_key from vault.tool_call_keys o
    where o.made_at <= app.now() - interval '24 hours' order by o.made_at limit 10000 for update skip locked) o
  where k.user_id = o.user_id and k.client_id = o.client_id and k.tool = o.tool and k.idempotency_key = o.idempotency_key;
  get diagnostics purged_of_tools = row_count;
  return purged + purged_of_tools;
end
$$;
