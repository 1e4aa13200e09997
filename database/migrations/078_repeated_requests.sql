-- compatible: a column may be empty, a column and three functions more.

-- The first answer to a request with an Idempotency-Key, as it was given: of every operation but the first, POST /contacts, whose
-- answer is made again of what was sent and the contact's id (app.create_contact). Both share the keys; the digest names the operation.
alter table vault.idempotency_keys alter column contact_id drop not null;
alter table vault.idempotency_keys add column answer text;

-- Before the change, in its transaction: refused when the key was used in the last 24 hours. Of two requests at once with one key, the
-- second waits here for the first.
create function app.claim_idempotency_key(idempotency_key text, body_digest bytea) returns void
language plpgsql security definer set search_path = '' as $$
declare
  caller constant uuid := app.key_id();
  now constant timestamptz(3) := app.now();
begin
  if caller is null then
    return;
  end if;
  insert into vault.idempotency_keys as kept (key_id, idempotency_key, body_digest, made_at)
  values (caller, claim_idempotency_key.idempotency_key, claim_idempotency_key.body_digest, now)
  on conflict on constraint idempotency_keys_pkey do update
    set body_digest = excluded.body_digest, contact_id = null, answer = null, made_at = excluded.made_at
    where kept.made_at <= now - interval '24 hours';
  if not found then
    perform app.refuse('idempotency_key_used', 'This Idempotency-Key was used within the last 24 hours.');
  end if;
  delete from vault.idempotency_keys k using (
    select o.key_id, o.idempotency_key from vault.idempotency_keys o
    where o.made_at <= now - interval '24 hours' order by o.made_at limit 5 for update skip locked) o
  where k.key_id = o.key_id and k.idempotency_key = o.idempotency_key;
end
$$;
grant execute on function app.claim_idempotency_key(text, bytea) to dealkeep_server;

-- After the change, in its transaction.
create function app.remember_answer(idempotency_key text, answer text) returns void
language sql security definer set search_path = ''
begin atomic
  update vault.idempotency_keys k set answer = remember_answer.answer
  where k.key_id = app.key_id() and k.idempotency_key = remember_answer.idempotency_key and k.answer is null and k.contact_id is null;
end;
grant execute on function app.remember_answer(text, text) to dealkeep_server;

-- The answer that a request with the same key and body was given, with a record of the repetition; null when there is none (any more).
create function app.first_answer(idempotency_key text, body_digest bytea, action text, address inet, request_id text) returns text
language plpgsql security definer set search_path = '' as $$
declare
  earlier vault.idempotency_keys;
begin
  select k.* into earlier from vault.idempotency_keys k
  where k.key_id = app.key_id() and k.idempotency_key = first_answer.idempotency_key and k.made_at > app.now() - interval '24 hours';
  if not found then
    return null;
  end if;
  if earlier.body_digest <> first_answer.body_digest then
    perform app.refuse('idempotency_key_reused',
      'This Idempotency-Key was used with another body within the last 24 hours: send the same body, or use a new key.');
  end if;
  perform app.audit(action, null, 'repeated', null, null, address, request_id, '{}');
  return earlier.answer;
end
$$;
grant execute on function app.first_answer(text, bytea, text, inet, text) to dealkeep_server;
