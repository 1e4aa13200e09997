-- compatible: functions answer as before.
-- People are asked for far more often than keys: of a person the two below look at no more of the identity than before there were keys on deals.

create or replace function app.deals_as(variadic roles text[]) returns uuid[]
language plpgsql stable security definer set search_path = '' as $$
declare
  identity constant text := app.identity();
  deal constant text := split_part(identity, ',', 8);
begin
  if deal <> '' and split_part(identity, ',', 12) = any (roles) then
    return array[deal::uuid];
  elsif split_part(identity, ',', 1) = '' then
    return app.deals_of_key(identity, roles);
  elsif deal <> '' then
    return '{}';
  end if;
  return (select coalesce(array_agg(p.deal_id), '{}') from app.participations() p where p.principal_role = any (roles));
end
$$;

create or replace function app.deals_acting_as(variadic roles text[]) returns uuid[]
language plpgsql stable security definer set search_path = '' as $$
declare
  identity constant text := app.identity();
  deal constant text := split_part(identity, ',', 8);
begin
  if deal <> '' and split_part(identity, ',', 10) = any (roles) then
    return array[deal::uuid];
  elsif split_part(identity, ',', 1) = '' then
    return app.deals_of_key(identity, roles);
  elsif deal <> '' then
    return '{}';
  end if;
  return (select coalesce(array_agg(p.deal_id), '{}') from app.participations() p where p.role = any (roles));
end
$$;
