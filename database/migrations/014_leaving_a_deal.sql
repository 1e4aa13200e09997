-- What somebody was let into on a deal ends when they leave it: who comes back, perhaps in another role, comes back to
-- what that role sees.

-- Whoever is taken out has no place in the QoE workspace any more.
create function app.leave_workspace() returns trigger
language plpgsql security definer set search_path = '' as $$
begin
  delete from public.qoe_workspace_members w where w.participant_id = new.id;
  return null;
end
$$;
create trigger leave_workspace after update of status on participants for each row
  when (new.status = 'removed') execute function app.leave_workspace();
delete from qoe_workspace_members w using participants p where p.id = w.participant_id and p.status = 'removed';

-- Deals that the caller's side holds exclusively at this moment: as buyers, which they may not be any more.
create or replace function app.deals_held_exclusively() returns uuid[]
language plpgsql stable security definer set search_path = '' as $$
begin
  return (
    select coalesce(array_agg(p.deal_id), '{}')
    from app.participations() p
    join public.exclusivities x on x.participant_id = p.principal_id
    where p.principal_role = 'buyer' and x.ended_at is null and x.expires_at > app.now());
end
$$;

-- Deals on which the caller's side is the selected buyer, also after the exclusivity's date has passed unreleased.
create or replace function app.deals_as_selected_buyer() returns uuid[]
language plpgsql stable security definer set search_path = '' as $$
begin
  return (
    select coalesce(array_agg(p.deal_id), '{}')
    from app.participations() p
    join public.exclusivities x on x.participant_id = p.principal_id
    join public.deals d on d.id = x.deal_id
    where p.principal_role = 'buyer' and x.ended_at is null and (x.expires_at > app.now() or d.state <> 'exclusivity'));
end
$$;
