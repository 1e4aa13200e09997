-- compatible: a trigger is added.
-- Whoever is erased is forgotten by what the REST API keeps too: the id of their contact in another system, which may be their address, and first answers that
-- name them. Such an answer is given to nobody any more; its key stays taken for its 24 hours, so that nothing is done twice.
create function app.forget_in_requests() returns trigger
language plpgsql volatile security definer set search_path = '' as $$
begin
  update public.contacts c set external_id = null
    where lower(c.email) = old.email and c.type = 'person' and c.external_id is not null;
  update vault.idempotency_keys k set answer = null
    where k.answer is not null and (strpos(lower(k.answer), old.email) > 0 or strpos(k.answer, to_json(old.name)::text) > 0);
  return null;
end
$$;
create trigger forget_in_requests after update of erased_at on public.users
  for each row when (old.erased_at is null and new.erased_at is not null) execute function app.forget_in_requests();
