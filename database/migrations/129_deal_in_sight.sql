-- compatible: a function more, and one that answers as before.
--
-- What a tool tells of one deal: the deal, how it stands, and who is on it. Read row by row, five policies were looked at, of which each cost more
-- than the row.

-- The deal that this transaction is narrowed to, as far as the person who reads may know how it stands, with those of its people whom they may know of
-- (each with the id that they go by, role, status and name), in the order in which they were added. Nothing of any other deal, and nothing for API keys.
create function app.deal_in_sight(deal uuid)
returns table (id uuid, title text, state text, organization_id uuid, exclusive_buyer_user_id uuid, exclusivity_granted_at timestamptz,
  exclusivity_expires_at timestamptz, closed_at timestamptz, created_at timestamptz, updated_at timestamptz, people jsonb)
language plpgsql stable security definer set search_path = '' set enable_seqscan = off as $$
#variable_conflict use_column
declare
  part constant text[] := string_to_array(app.identity(), ',');
  side constant text := part[12];
  principal constant uuid := nullif(part[11], '')::uuid;
  -- All but a buyer's side know of everybody and how it stands; without a side the reader is an admin of its brokerage.
  knows_all boolean := side in ('', 'broker', 'seller', 'viewer');
  knows_seller boolean;
  knows_stage boolean;
  is_selected boolean;
  runs boolean;
  stage text;
  staged_at timestamptz;
  selected uuid;
begin
  if coalesce(part[1], '') = '' or part[8] is distinct from deal::text or not (knows_all or side = 'buyer') then
    return;
  end if;
  select d.id, d.title, d.state, d.organization_id, d.closed_at, d.created_at, d.updated_at, not d.needs_nda,
    g.state, g.updated_at, x.participant_id, x.buyer_user_id, x.granted_at, x.expires_at
  into id, title, state, organization_id, closed_at, created_at, updated_at, knows_seller,
    stage, staged_at, selected, exclusive_buyer_user_id, exclusivity_granted_at, exclusivity_expires_at
  from public.deals d
  left join public.deal_stages g on g.deal_id = d.id
  left join public.exclusivities x on x.deal_id = d.id and x.ended_at is null
  where d.id = deal;
  if not found then
    return;
  end if;
  if not knows_all then
    knows_all := organization_id = any (app.brokerages_as('admin'));
    knows_seller := knows_seller or exists (select from vault.active_ndas n where n.participant_id = principal);
  end if;
  is_selected := coalesce(selected = principal, false);
  runs := coalesce(exclusivity_expires_at > app.now(), false);
  knows_stage := knows_all or is_selected and (runs or stage is distinct from 'exclusivity');
  if not ((knows_all or is_selected) and (runs or state = 'closed' or coalesce(knows_stage and stage <> 'exclusivity', false))) then
    exclusive_buyer_user_id := null;
    exclusivity_granted_at := null;
    exclusivity_expires_at := null;
  end if;
  if knows_stage then
    state := coalesce(stage, state);
    updated_at := greatest(updated_at, staged_at);
  end if;
  if stage = 'exclusivity' and not runs and state in ('under_offer', 'exclusivity') then
    state := 'listed';
  end if;
  -- One table after the other, each by its index, however few rows there are.
  people := (
    select jsonb_agg(jsonb_build_array(p.person_id, p.role, p.status, case when p.joined_at is null then p.invited_name else u.name end)
      order by p.created_at, p.id)
    from public.participants p
    cross join lateral (select k.name from public.users k where k.id = p.user_id offset 0) u
    where p.deal_id = deal and (knows_all or coalesce(p.advises, p.id) = principal
      or p.status = 'active' and (p.role = 'broker' or p.role = 'seller' and knows_seller)));
  return next;
end
$$;
grant execute on function app.deal_in_sight(uuid) to dealkeep_server;

-- As before; what the reader is on the deal is asked once, not for each of its people.
create or replace function app.people_on_deal(deal uuid) returns jsonb
language plpgsql stable security definer set search_path = '' set enable_seqscan = off as $$
declare
  identity constant text := app.identity();
  -- In a request about this deal alone, what the reader is on it has been found already.
  knows_all boolean := split_part(identity, ',', 8) = deal::text and split_part(identity, ',', 12) in ('broker', 'seller', 'viewer');
  principals uuid[];
  is_buyer boolean := false;
  knows_seller boolean := false;
begin
  if coalesce(split_part(identity, ',', 1), '') = '' then
    return null;
  end if;
  if not knows_all then
    knows_all := deal = any (app.deals_as('broker', 'seller', 'viewer'))
      or coalesce((select d.organization_id from public.deals d where d.id = deal) = any (app.brokerages_as('admin')), false);
  end if;
  if not knows_all then
    principals := app.principals();
    is_buyer := deal = any (app.deals_as('buyer'));
    knows_seller := is_buyer and deal = any (app.deals_with_known_seller());
  end if;
  -- One table after the other, each by its index, however few rows there are.
  return (
    select jsonb_object_agg(u.id, jsonb_build_array(u.id, u.name, p.role))
    from (select k.user_id, k.role from public.participants k
      where k.deal_id = deal and k.joined_at is not null
        and (knows_all or coalesce(k.advises, k.id) = any (principals)
          or k.status = 'active' and (k.role = 'broker' and is_buyer or k.role = 'seller' and knows_seller)) offset 0) p
    cross join lateral (select k.id, k.name from public.users k where k.id = p.user_id offset 0) u);
end
$$;
