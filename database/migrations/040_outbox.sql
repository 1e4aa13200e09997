-- Mails wait in an outbox, written in the transaction of what causes them: a mail that is due is neither lost with a node
-- nor sent for something that did not take place. `server/mail` delivers them.

create table vault.outbox (
  id uuid primary key default app.uuid_v7(),
  -- What server/mail/contents.ts makes of the facts.
  kind text not null check (kind ~ '^[a-z][a-z_]{0,49}$'),
  recipient text not null check (app.is_email_address(recipient)),
  -- Whose address it was when the mail was written; null when it was nobody's.
  recipient_id uuid references users,
  brokerage_id uuid references brokerages,
  deal_id uuid references deals,
  -- Who caused it; null when nobody had entered.
  caused_by uuid references users,
  -- Before mails that can wait, such as those that tell of news.
  urgent boolean not null,
  -- What the mail says, and the token of its link, as the server sealed it. The token is emptied once the mail is sent or
  -- given up, the facts once it is sent.
  facts jsonb not null default '{}' check (length(facts::text) <= 200000),
  secret text check (length(secret) <= 2000),
  -- The digest of that token: a mail whose link is not good any more is not sent.
  link bytea check (length(link) = 32),
  created_at timestamptz not null default app.now(),
  next_attempt_at timestamptz not null default app.now(),
  attempts int not null default 0,
  last_error text check (length(last_error) <= 500),
  -- Until then the node that took it may be handing it over; no other one takes it meanwhile.
  claimed_until timestamptz,
  give_up_at timestamptz not null default app.now() + interval '1 day',
  sent_at timestamptz,
  given_up_at timestamptz,
  check (sent_at is null or given_up_at is null),
  check (sent_at is null or (facts = '{}' and secret is null)),
  check (given_up_at is null or secret is null)
);
create index outbox_waiting on vault.outbox (urgent desc, next_attempt_at) where sent_at is null and given_up_at is null;
create index outbox_by_brokerage on vault.outbox (brokerage_id, created_at desc) where sent_at is null;
create index outbox_by_link on vault.outbox (link) where link is not null;
create index outbox_by_end on vault.outbox (coalesce(sent_at, given_up_at)) where coalesce(sent_at, given_up_at) is not null;
create index outbox_by_recipient on vault.outbox (recipient_id);
create index outbox_by_cause on vault.outbox (caused_by);
create index outbox_by_deal on vault.outbox (deal_id);
select app.protect('vault.outbox');

-- Puts a mail into the outbox, in the name of whoever has entered, and wakes those who deliver; its id. Null, and no mail,
-- without an address. `secret` is the token of its link, sealed by the server, `link` the token's digest.
create function app.queue_mail(kind text, recipient text, recipient_id uuid, brokerage uuid, deal uuid, urgent boolean,
  facts jsonb, secret text, link bytea) returns uuid
language plpgsql security definer set search_path = '' as $$
declare
  queued uuid;
begin
  if recipient is null then
    return null;
  end if;
  insert into vault.outbox (kind, recipient, recipient_id, brokerage_id, deal_id, caused_by, urgent, facts, secret, link)
    values (queue_mail.kind, lower(queue_mail.recipient),
      coalesce(queue_mail.recipient_id, (select u.id from public.users u where u.email = lower(queue_mail.recipient))),
      coalesce(queue_mail.brokerage, (select d.organization_id from public.deals d where d.id = queue_mail.deal)),
      queue_mail.deal, app.user_id(), queue_mail.urgent, coalesce(queue_mail.facts, '{}'), queue_mail.secret, queue_mail.link)
    returning id into queued;
  perform pg_notify('dealkeep_mail', '');
  return queued;
end
$$;

-- Whether the link of a mail still leads somewhere: it was not used, taken back, replaced, and is not too old.
create function app.is_live_link(link bytea) returns boolean
language sql stable security definer set search_path = '' as $$
  select exists (select from vault.invitations i where i.digest = link and i.used_at is null and i.expires_at > app.now())
    or exists (select from vault.password_resets r where r.digest = link and r.expires_at > app.now())
    or exists (select from vault.address_changes a where a.digest = link and a.expires_at > app.now())
$$;

-- Takes up to `most` mails that are due, for five minutes, in which no other node takes them; those with links that are not
-- good any more are given up instead. Whoever takes one and dies over it leaves it to the next, when the time is over.
create function app.claim_mails(most int)
returns table (id uuid, kind text, recipient text, brokerage_name text, deal_id uuid, facts jsonb, secret text,
  attempts int, created_at timestamptz)
language plpgsql security definer set search_path = '' as $$
#variable_conflict use_column
begin
  update vault.outbox o set given_up_at = app.now(), secret = null, claimed_until = null,
      last_error = 'The link is used up, taken back or too old.'
    where o.sent_at is null and o.given_up_at is null and o.link is not null and o.next_attempt_at <= app.now()
      and (o.claimed_until is null or o.claimed_until <= app.now()) and not app.is_live_link(o.link);
  return query
    with due as (
      select o.id from vault.outbox o
      where o.sent_at is null and o.given_up_at is null and o.next_attempt_at <= app.now()
        and (o.claimed_until is null or o.claimed_until <= app.now())
      order by o.urgent desc, o.next_attempt_at limit least(most, 100)
      for update skip locked
    ), claimed as (
      update vault.outbox o set claimed_until = app.now() + interval '5 minutes', attempts = o.attempts + 1
      from due where o.id = due.id
      returning o.*
    )
    select c.id, c.kind, c.recipient, b.name, c.deal_id, c.facts, c.secret, c.attempts, c.created_at
    from claimed c left join public.brokerages b on b.id = c.brokerage_id
    order by c.urgent desc, c.next_attempt_at, c.id;
end
$$;

-- Notes that the mail server has taken a mail, at the attempt that the claim counted; false when another claim has followed.
create function app.mail_sent(mail uuid, attempt int) returns boolean
language plpgsql security definer set search_path = '' as $$
begin
  update vault.outbox o set sent_at = app.now(), claimed_until = null, facts = '{}', secret = null, last_error = null
    where o.id = mail and o.attempts = attempt and o.sent_at is null and o.given_up_at is null;
  return found;
end
$$;

-- Notes why a mail was not taken, and when to try again: after 1, 5 and 15 minutes, 1, 3 and then every 6 hours, the last
-- time a day after it was written. Given up when that has failed too, or the refusal is `final`.
create function app.mail_failed(mail uuid, attempt int, reason text, final boolean) returns boolean
language plpgsql security definer set search_path = '' as $$
begin
  update vault.outbox o set claimed_until = null, last_error = left(reason, 500),
      given_up_at = case when final or app.now() >= o.give_up_at then app.now() end,
      secret = case when final or app.now() >= o.give_up_at then null else o.secret end,
      next_attempt_at = least(o.give_up_at, app.now()
        + (array['1 min', '5 min', '15 min', '1 h', '3 h', '6 h']::interval[])[least(o.attempts, 6)])
    where o.id = mail and o.attempts = attempt and o.sent_at is null and o.given_up_at is null;
  return found;
end
$$;

-- Deletes mails 30 days after they were sent, and 90 days after they were given up; how many. For the scheduled jobs.
create function app.purge_mails() returns int
language plpgsql security definer set search_path = '' as $$
declare
  purged int;
begin
  delete from vault.outbox o
    where coalesce(o.sent_at, o.given_up_at) < app.now() - interval '30 days'
      and (o.sent_at is not null or o.given_up_at < app.now() - interval '90 days');
  get diagnostics purged = row_count;
  return purged;
end
$$;

grant execute on function
  app.queue_mail(text, text, uuid, uuid, uuid, boolean, jsonb, text, bytea), app.claim_mails(int), app.mail_sent(uuid, int),
  app.mail_failed(uuid, int, text, boolean), app.purge_mails() to dealkeep_server;

-- Tells somebody that a protection of their account was changed.
create function app.queue_security_mail(person uuid, what text) returns void
language plpgsql security definer set search_path = '' as $$
begin
  perform app.queue_mail('security_change', u.email, u.id, null, null, true,
      jsonb_build_object('name', u.name, 'what', what), null, null)
    from public.users u where u.id = person;
end
$$;

-- The same, counted: a change beyond the ceiling is refused, and none goes unnoticed.
create function app.notify_security_change(person uuid, what text) returns void
language plpgsql security definer set search_path = '' as $$
begin
  perform app.count_notice(person), app.queue_security_mail(person, what);
end
$$;

-- The changes that a mail tells of, as they were, with that mail ---------------------------------------------------------

create or replace function app.change_password(session bytea, old_phc text, new_phc text, token bytea, address inet, request_id text)
returns text
language plpgsql security definer set search_path = '' as $$
declare
  this vault.live_sessions;
begin
  select l.* into this from vault.live_sessions l where l.digest = session;
  if not found then
    return null;
  end if;
  update vault.passwords p set phc = new_phc, changed_at = app.now() where p.user_id = this.user_id and p.phc = old_phc;
  if not found then
    perform app.record(this.user_id, 'password.change', 'refused', null, address, request_id);
    return 'refused';
  end if;
  perform app.renew_session(this.id, token);
  update vault.sessions s set ended_at = app.now()
    where s.user_id = this.user_id and s.digest <> token and s.ended_at is null;
  delete from vault.sign_in_steps s where s.user_id = this.user_id;
  delete from vault.known_devices k where k.user_id = this.user_id;
  delete from vault.password_resets r where r.user_id = this.user_id;
  perform app.revoke_families(this.user_id, null);
  perform app.notify_security_change(this.user_id, 'password_changed');
  perform app.record(this.user_id, 'password.change', 'done', null, address, request_id);
  return 'done';
end
$$;

create or replace function app.reset_password(token bytea, new_phc text, address inet, request_id text) returns boolean
language plpgsql security definer set search_path = '' as $$
declare
  person uuid;
  first_proof boolean;
begin
  delete from vault.password_resets r using public.users u
    where r.digest = token and r.expires_at > app.now() and u.id = r.user_id and u.suspended_at is null
    returning r.user_id into person;
  if not found then
    return false;
  end if;
  first_proof := not exists (select from vault.passwords p where p.user_id = person and p.address_proven_at is not null);
  if first_proof then
    delete from vault.passkeys k where k.user_id = person;
    delete from vault.recovery_codes c where c.user_id = person;
    delete from vault.totp t where t.user_id = person;
  end if;
  insert into vault.passwords (user_id, phc, address_proven_at) values (person, new_phc, app.now())
    on conflict (user_id) do update set phc = excluded.phc, changed_at = app.now(),
      address_proven_at = coalesce(vault.passwords.address_proven_at, excluded.address_proven_at);
  delete from vault.password_resets r where r.user_id = person;
  delete from vault.address_changes a where a.user_id = person;
  perform app.end_sessions_of(person);
  perform app.record(person, 'password.reset', 'done', app.on_reset(person, first_proof), address, request_id);
  perform app.queue_security_mail(person, 'password_reset');
  return true;
end
$$;

create or replace function app.change_address(session bytea, token bytea, address inet, request_id text)
returns table (old_email text, new_email text)
language plpgsql security definer set search_path = '' as $$
#variable_conflict use_column
declare
  change vault.address_changes;
  old_address text;
begin
  delete from vault.address_changes a using vault.live_sessions l
    where l.digest = session and a.user_id = l.user_id and a.digest = token and a.expires_at > app.now()
    returning a.* into change;
  if not found then
    return;
  end if;
  if exists (select from public.users u where u.email = change.new_email) then
    perform app.refuse('address_taken', 'This address belongs to another account: choose another one.');
  end if;
  select u.email into old_address from public.users u where u.id = change.user_id for update;
  update public.users u set email = change.new_email where u.id = change.user_id;
  -- Invitations that wait were meant for whoever reads the old mailbox, which nobody here has shown to be theirs.
  if exists (select from vault.passwords p where p.user_id = change.user_id and p.address_proven_at is null) then
    update public.participants p set status = 'removed' where p.user_id = change.user_id and p.status = 'invited';
    update public.members m set status = 'removed' where m.user_id = change.user_id and m.status = 'invited';
  end if;
  update vault.passwords p set address_proven_at = app.now() where p.user_id = change.user_id;
  delete from vault.password_resets r where r.user_id = change.user_id;
  perform app.record(change.user_id, 'address.change', 'done', null, address, request_id);
  perform app.queue_mail('address_changed', old_address, null, null, null, true,
    (select jsonb_build_object('name', u.name, 'new_email', u.email) from public.users u where u.id = change.user_id), null, null);
  return query select old_address, change.new_email;
end
$$;

create or replace function app.confirm_second_factor(session bytea, code_step bigint, code_digests bytea[], token bytea, address inet,
  request_id text) returns boolean
language plpgsql security definer set search_path = '' as $$
declare
  this vault.live_sessions;
begin
  select r.* into this from app.recent_session(session) r;
  update vault.totp t set confirmed_at = app.now(), last_step = code_step, failures = 0, failed_at = null
    where t.user_id = this.user_id and t.confirmed_at is null;
  if not found then
    return false;
  end if;
  delete from vault.recovery_codes c where c.user_id = this.user_id;
  insert into vault.recovery_codes (user_id, digest) select this.user_id, unnest(code_digests);
  update vault.sessions s set second_factor_at = app.now() where s.id = this.id;
  perform app.renew_session(this.id, token);
  perform app.notify_security_change(this.user_id, 'authenticator_added');
  perform app.record(this.user_id, 'second_factor.on', 'done', null, address, request_id);
  return true;
end
$$;

create or replace function app.remove_second_factor(session bytea, address inet, request_id text) returns boolean
language plpgsql security definer set search_path = '' as $$
declare
  this vault.live_sessions;
begin
  select r.* into this from app.recent_session(session) r;
  delete from vault.recovery_codes c where c.user_id = this.user_id;
  delete from vault.totp t where t.user_id = this.user_id;
  if not found then
    return false;
  end if;
  perform app.notify_security_change(this.user_id, 'authenticator_removed');
  perform app.record(this.user_id, 'second_factor.off', 'done', null, address, request_id);
  return true;
end
$$;

create or replace function app.renew_recovery_codes(session bytea, code_digests bytea[], address inet, request_id text) returns boolean
language plpgsql security definer set search_path = '' as $$
declare
  this vault.live_sessions;
begin
  select r.* into this from app.recent_session(session) r
    join vault.totp t on t.user_id = r.user_id and t.confirmed_at is not null;
  if not found then
    return false;
  end if;
  delete from vault.recovery_codes c where c.user_id = this.user_id;
  insert into vault.recovery_codes (user_id, digest) select this.user_id, unnest(code_digests);
  perform app.notify_security_change(this.user_id, 'recovery_codes_renewed');
  perform app.record(this.user_id, 'recovery_codes.renew', 'done', null, address,
    request_id);
  return true;
end
$$;
