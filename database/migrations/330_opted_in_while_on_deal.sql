-- compatible: the same is answered but while people are removed from deals.
--
-- Whoever is removed from a deal loses what lets their assistants write on it. What they let them at that moment was not there yet, stayed, and held again once they came back. Now an opt-in waits
-- for the removal and is refused; a removal that comes later waits for the opt-in and takes it away (app.opt_out_with_part).

create function app.opt_in_with_part() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  if app.user_id() is null then
    return new;
  end if;
  perform from public.participants p
    where p.deal_id = new.deal_id and p.user_id = new.user_id and p.status <> 'removed' for share;
  -- Admins see the deal without a part in it.
  if not found and not exists (select from public.deals d
    where d.id = new.deal_id and d.organization_id = any (app.brokerages_as('admin')))
  then
    raise insufficient_privilege using message = 'not on this deal';
  end if;
  return new;
end
$$;
create trigger a_in_order before insert on public.deal_opt_ins for each row execute function app.opt_in_with_part();
