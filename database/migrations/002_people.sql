-- The tenants and the people: brokerages, accounts, and who is a member of what.

create table brokerages (
  id uuid primary key default app.uuid_v7(),
  slug text not null unique check (slug ~ '^[a-z0-9](-?[a-z0-9])*$' and length(slug) <= 64),
  name text not null check (length(name) between 1 and 200),
  requires_second_factor boolean not null default false,
  created_at timestamptz not null default app.now(),
  updated_at timestamptz not null default app.now()
);
select app.protect('brokerages');
create trigger touch before update on brokerages for each row execute function app.touch();

-- Whether a text is an e-mail address: a Mailbox of RFC 5321 in ASCII whose domain has a dot in it or is an address in
-- brackets. The same rule as in server/domain/people/email-address.ts.
create function app.is_email_address(email text) returns boolean
language plpgsql immutable strict parallel safe set search_path = '' as $$
declare
  parts constant text[] := regexp_match(email, '^(.*)@([^@]*)$');
  host constant text := parts[2];
  byte constant text := '(25[0-5]|2[0-4][0-9]|[01]?[0-9]?[0-9])';
  ipv4 constant text := byte || '(\.' || byte || '){3}';
  address text;
begin
  if length(email) > 254 or email ~ '[^ -~]' or parts is null or length(parts[1]) > 64
    or parts[1] !~ '^[A-Za-z0-9!#$%&''*+/=?^_`{|}~-]+(\.[A-Za-z0-9!#$%&''*+/=?^_`{|}~-]+)*$'
      and parts[1] !~ '^"([^"\\]|\\.)*"$'
  then
    return false;
  end if;
  if host ~ '^[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?)+$'
    or host ~ ('^\[' || ipv4 || '\]$')
  then
    return true;
  end if;
  if host !~* '^\[ipv6:.*\]$' then
    return false;
  end if;
  -- An IPv4 address at the end stands for two groups.
  address := regexp_replace(substr(host, 7, length(host) - 7), ':' || ipv4 || '$', ':0:0');
  return address ~ '^[0-9A-Fa-f]{1,4}(:[0-9A-Fa-f]{1,4}){7}$'
    or address ~ '^([0-9A-Fa-f]{1,4}(:[0-9A-Fa-f]{1,4}){0,5})?::([0-9A-Fa-f]{1,4}(:[0-9A-Fa-f]{1,4}){0,5})?$'
      and cardinality(array_remove(regexp_split_to_array(address, ':+'), '')) <= 6;
end
$$;
-- A check runs with the rights of whoever inserts.
grant execute on function app.is_email_address(text) to dealkeep_server;

create table users (
  id uuid primary key default app.uuid_v7(),
  email text not null check (email = lower(email) and app.is_email_address(email)),
  name text not null check (length(name) between 1 and 200),
  suspended_at timestamptz,
  created_at timestamptz not null default app.now(),
  updated_at timestamptz not null default app.now()
);
create unique index users_by_email on users (email);
select app.protect('users');
create trigger touch before update on users for each row execute function app.touch();

-- Until somebody has accepted, an invitation tells nothing of the account behind its address: it shows the name and address
-- that were typed and, as `person_id`, an id of its own.
create table members (
  brokerage_id uuid not null references brokerages,
  user_id uuid not null references users,
  role text not null check (role in ('admin', 'broker', 'staff')),
  status text not null default 'active' check (status in ('invited', 'active', 'removed')),
  invited_name text check (length(invited_name) between 1 and 200),
  invited_email text check (length(invited_email) between 3 and 254),
  joined_at timestamptz,
  invitation_id uuid not null unique default app.uuid_v7(),
  person_id uuid generated always as (case when joined_at is null then invitation_id else user_id end) stored,
  created_at timestamptz not null default app.now(),
  updated_at timestamptz not null default app.now(),
  primary key (brokerage_id, user_id)
);
create index members_by_user on members (user_id);
select app.protect('members');
create trigger touch before update on members for each row execute function app.touch();

-- Keeps since when somebody has taken part: from their acceptance on, or from the insertion of who is not only invited.
-- An invitation without typed name and address, which the owner alone can insert, takes the account's.
create function app.note_joining() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  if new.status = 'active' or (tg_op = 'INSERT' and new.status = 'removed') then
    new.joined_at := coalesce(new.joined_at, app.now());
  elsif new.joined_at is null and new.invited_email is null then
    select u.name, u.email into new.invited_name, new.invited_email from public.users u where u.id = new.user_id;
  end if;
  return new;
end
$$;
create trigger note_joining before insert or update of status on members for each row execute function app.note_joining();

-- Only the person invited can accept; who invites can do no more than take it back.
create function app.check_acceptance() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  if new.user_id is distinct from app.user_id() and app.user_id() is not null then
    perform app.refuse('not_yours_to_accept', 'Only the person invited can accept an invitation.');
  end if;
  return new;
end
$$;
create trigger check_acceptance before update of status on members for each row
  when (old.status <> 'active' and new.status = 'active') execute function app.check_acceptance();

-- The brokerages in which the caller is an active member with one of these roles; {} for nobody and for keys.
create function app.brokerages_as(variadic roles text[]) returns uuid[]
language plpgsql stable security definer set search_path = '' as $$
declare
  identity constant text := app.identity();
  caller constant uuid := nullif(split_part(identity, ',', 1), '');
  barred constant uuid[] := app.barred_in(identity);
begin
  return (
    select coalesce(array_agg(m.brokerage_id), '{}') from public.members m
    where m.user_id = caller and m.status = 'active' and m.role = any (roles) and not m.brokerage_id = any (barred));
end
$$;
grant execute on function app.brokerages_as(text[]) to dealkeep_server;

create policy members_see_it on brokerages for select to dealkeep_server
  using (id = any ((select app.brokerages_as('admin', 'broker', 'staff'))::uuid[]));
create policy admins_change_it on brokerages for update to dealkeep_server
  using (id = any ((select app.brokerages_as('admin'))::uuid[]));
grant select, update (name) on brokerages to dealkeep_server;

create policy members_see_each_other on members for select to dealkeep_server
  using (brokerage_id = any ((select app.brokerages_as('admin', 'broker', 'staff'))::uuid[]));
create policy admins_change_members on members for update to dealkeep_server
  using (brokerage_id = any ((select app.brokerages_as('admin'))::uuid[]));
grant select, update (role, status) on members to dealkeep_server;

-- A brokerage keeps at least one active admin.
create function app.keep_an_admin() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  perform from public.brokerages b where b.id = old.brokerage_id for update;
  if not exists (
    select from public.members m
    where m.brokerage_id = old.brokerage_id and m.role = 'admin' and m.status = 'active')
  then
    perform app.refuse('last_admin', 'A brokerage keeps at least one admin: make somebody else admin first.');
  end if;
  return null;
end
$$;
create trigger keep_an_admin after update of role, status on members for each row
  when (old.role = 'admin' and old.status = 'active') execute function app.keep_an_admin();

-- Whom one sees by name: oneself and colleagues here; the people of one's deals where deals are defined.
create policy oneself on users for select to dealkeep_server using (id = (select app.user_id()));
create policy colleagues on users for select to dealkeep_server
  using (exists (select from members m where m.user_id = users.id and m.joined_at is not null));
create policy change_oneself on users for update to dealkeep_server using (id = (select app.user_id()));
grant select, update (name) on users to dealkeep_server;
