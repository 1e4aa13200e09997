-- compatible: a function more, and the content of others.
--
-- A mail that waited was sent whatever had happened meanwhile: that a brokerage will be deleted, after it was said that it will not; to admins who were removed
-- or suspended; that a webhook was turned off, after it was turned on again; links for suspended accounts.

create or replace function app.is_live_link(link bytea)
  returns boolean
  language sql stable security definer set search_path = '' as $$
  select exists (
      select from vault.invitations i
      left join public.members m on m.brokerage_id = i.brokerage_id and m.user_id = i.user_id
      left join public.participants p on p.id = i.participant_id
      where i.digest = link and i.used_at is null and i.expires_at > app.now() and coalesce(m.status, p.status) = 'invited')
    or exists (select from vault.password_resets r join public.users u on u.id = r.user_id
      where r.digest = link and r.expires_at > app.now() and u.suspended_at is null)
    or exists (select from vault.address_changes a join public.users u on u.id = a.user_id
      where a.digest = link and a.expires_at > app.now() and u.suspended_at is null)
$$;

-- Whether a mail still says what is the case, to somebody whom it concerns.
create function app.is_needed(mail vault.outbox) returns boolean
  language plpgsql stable security definer set search_path = '' as $$
begin
  if mail.link is not null and not app.is_live_link(mail.link) then
    return false;
  end if;
  if mail.kind not in ('brokerage_deletion', 'webhook_off') then
    return true;
  end if;
  if not exists (select from public.members m join public.users u on u.id = m.user_id
    where m.brokerage_id = mail.brokerage_id and m.user_id = mail.recipient_id and m.role = 'admin' and m.status = 'active' and u.suspended_at is null)
  then
    return false;
  end if;
  if mail.kind = 'brokerage_deletion' then
    return case when (mail.facts ->> 'cancelled')::boolean
      then not exists (select from vault.brokerage_deletions d where d.brokerage_id = mail.brokerage_id)
      else exists (select from vault.brokerage_deletions d
        where d.brokerage_id = mail.brokerage_id and d.due_at = (mail.facts ->> 'due_at')::timestamptz) end;
  end if;
  -- Mails of the release before do not name the webhook. One that was turned off again since has a mail of its own.
  return mail.facts ->> 'webhook' is null or exists (select from public.webhook_endpoints e
    where e.id = (mail.facts ->> 'webhook')::uuid and e.state = 'off' and e.off_reason = 'failing' and e.off_since <= mail.created_at);
end
$$;

create or replace function app.switch_webhook_off(endpoint public.webhook_endpoints, error text)
  returns void
  language plpgsql set search_path = '' as $$
declare
  of_brokerage constant uuid := (select k.brokerage_id from public.api_keys k where k.id = endpoint.key_id);
begin
  update public.webhook_endpoints e set state = 'off', off_reason = 'failing', off_since = app.now(), updated_at = app.now() where e.id = endpoint.id;
  insert into public.audit_records (brokerage_id, action, subject_id, outcome) values (of_brokerage, 'webhook.off', endpoint.id::text, 'done');
  perform app.queue_mail('webhook_off', u.email, u.id, of_brokerage, null, false, jsonb_build_object('name', u.name,
      'brokerage', b.name || case when endpoint.brokerage_id <> of_brokerage then ' (sandbox)' else '' end,
      'host', app.host_of(endpoint.url), 'error', left(error, 200), 'webhook', endpoint.id), null, null)
    from public.members m join public.users u on u.id = m.user_id join public.brokerages b on b.id = m.brokerage_id
    where m.brokerage_id = of_brokerage and m.role = 'admin' and m.status = 'active' and u.suspended_at is null order by u.id;
end
$$;
