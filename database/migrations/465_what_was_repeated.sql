-- compatible: the function that nodes of the release before call is there, and records as much as it can.
--
-- The record of a request that got its first answer again said neither what it was about nor on which deal. Now it names what the first answer shows, or else what is in the path, and the deal
-- that was entered with, where the key still sees it: `app.audit` files under the brokerage of the deal that it is given.

create function app.first_answer(idempotency_key text, body_digest bytea, action text, subject text, address inet, request_id text) returns text
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
  -- The answer to a batch is of no single thing, and may repeat half of a surrogate pair that was sent, which no jsonb takes.
  if action <> 'contact.batch' then
    subject := coalesce(earlier.answer::jsonb #>> '{body,id}', subject);
  end if;
  perform app.audit(action, subject, 'repeated', null, (select app.seen_deal(d) from app.narrowed_to() d where d is not null), address, request_id, '{}');
  return earlier.answer;
end
$$;
grant execute on function app.first_answer(text, bytea, text, text, inet, text) to dealkeep_server;

create or replace function app.first_answer(idempotency_key text, body_digest bytea, action text, address inet, request_id text) returns text
language plpgsql security definer set search_path = '' as $$
begin
  return app.first_answer(idempotency_key, body_digest, action, null, address, request_id);
end
$$;
