-- compatible: answers the same, but for when somebody joined who was there before.
--
-- Who was removed from a brokerage or a deal and joins again joined when they did so, not when they joined the first time: the file of somebody's own data says it. That
-- they have joined once stays known when they are removed.

create or replace function app.note_joining()
returns trigger
language plpgsql
security definer
set search_path = ''
as $$
begin
  if new.status = 'active' and old.status <> 'active' then
    new.joined_at := app.now();
  elsif new.status = 'active' or (tg_op = 'INSERT' and new.status = 'removed') then
    new.joined_at := coalesce(new.joined_at, app.now());
  elsif new.joined_at is null and new.invited_email is null then
    select u.name, u.email into new.invited_name, new.invited_email from public.users u where u.id = new.user_id;
  end if;
  return new;
end
$$;
