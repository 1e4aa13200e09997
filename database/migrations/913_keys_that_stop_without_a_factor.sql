-- compatible: triggers whose events old nodes send on, with words of their own for the reason.
--
-- A key stops, too, when the person through whom it works lacks the second factor that the brokerage requires. Only that person was told, of the factor; the admins
-- learned of the key when nothing arrived any more.

set lock_timeout = '5s';

-- What stops because these people have no second factor, in the brokerage given, otherwise in all that require one. Once for each key, also when the passkeys and
-- the authenticator of a person go together.
create function app.queue_keys_without_factor(people uuid[], in_brokerage uuid) returns void
  language plpgsql set search_path = ''
as $$
begin
  perform app.queue_event('api_key_stopped', null, 'api_keys', k.id, null, null)
    from public.members m
    join public.brokerages b on b.id = m.brokerage_id and b.requires_second_factor
    join public.users u on u.id = m.user_id and u.suspended_at is null and u.erased_at is null
    cross join lateral app.keys_held_by(m.user_id, m.brokerage_id) k
    where m.user_id = any (people) and (in_brokerage is null or m.brokerage_id = in_brokerage) and m.status = 'active'
      and not app.has_second_factor(m.user_id)
      and not exists (select from vault.events e
        where e.rank = 0 and e.next_attempt_at = app.now() and e.kind = 'api_key_stopped' and e.subject_id = k.id);
end
$$;

create function app.note_factor_required() returns trigger
  language plpgsql security definer set search_path = ''
as $$
begin
  perform app.queue_keys_without_factor(array(
    select m.user_id from public.members m where m.brokerage_id = new.id and m.status = 'active'), new.id);
  return null;
end
$$;

create trigger note_factor_required after update of requires_second_factor on public.brokerages
  for each row when (new.requires_second_factor and not old.requires_second_factor) execute function app.note_factor_required();

create function app.note_factors_removed() returns trigger
  language plpgsql security definer set search_path = ''
as $$
begin
  -- An authenticator that was never confirmed was no factor.
  perform app.queue_keys_without_factor(array(
    select distinct (to_jsonb(r) ->> 'user_id')::uuid from removed r
    where tg_table_name = 'passkeys' or to_jsonb(r) ->> 'confirmed_at' is not null), null);
  return null;
end
$$;

create trigger note_factors_removed after delete on vault.passkeys
  referencing old table as removed for each statement execute function app.note_factors_removed();
create trigger note_factors_removed after delete on vault.totp
  referencing old table as removed for each statement execute function app.note_factors_removed();
