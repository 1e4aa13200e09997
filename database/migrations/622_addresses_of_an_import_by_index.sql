-- compatible: a function that reads less for the same answer.
-- For a file of contacts PostgreSQL took it that half of the brokerage's have one of its addresses, and read them all. Each address is looked up by itself.

create or replace function app.contacts_with_emails(brokerage uuid, emails text[]) returns table (email text, id uuid)
  language plpgsql stable security definer set search_path = '' as $$
#variable_conflict use_column
begin
  if not brokerage = any (app.brokerages_for('contacts:read')) then
    return;
  end if;
  return query
    select e.email, k.id from (select distinct u.email from unnest(emails) u (email)) e
    cross join lateral (
      select c.id from public.contacts c
      where c.brokerage_id = brokerage and c.archived_at is null and c.email is not null and lower(c.email) = e.email
      order by c.id limit 1) k;
end
$$;
