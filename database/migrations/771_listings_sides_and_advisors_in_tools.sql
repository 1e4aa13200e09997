-- compatible: what is told of a caller, of a deal and of a person only gets longer at its end, which the release before does not read, and it shows every
-- person that it is told of.
--
-- Tools say what is offered for sale, as the overview of the deal does, whom an advisor advises, and of more than 200 people those who take part. They learn in which
-- capacity the caller sees the deal of a call, to say of an empty list that people like them are never shown such records.

CREATE OR REPLACE FUNCTION app.enter_with_token(presented bytea, resource text, of_table text DEFAULT NULL::text, record uuid DEFAULT NULL::uuid, tool text DEFAULT NULL::text, subject text DEFAULT NULL::text, on_deal uuid DEFAULT NULL::uuid, address inet DEFAULT NULL::inet, request_id text DEFAULT NULL::text, record_id uuid DEFAULT NULL::uuid, tells text DEFAULT NULL::text, most_uploads integer DEFAULT NULL::integer, most_adjustments integer DEFAULT NULL::integer, held text[] DEFAULT NULL::text[])
 RETURNS json
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
 SET enable_seqscan TO 'off'
AS $function$
declare
  deal constant uuid := case when of_table = 'deals' then record when of_table is not null then app.deal_of(of_table, record) end;
  person uuid;
  user_name text;
  client_id uuid;
  client_name text;
  family_id uuid;
  scopes text[];
  expires_at timestamptz;
  asking uuid[];
  administered uuid[];
  secret bytea;
  identity text;
  participant uuid;
  deal_role text;
  principal uuid;
  principal_role text;
  side text;
  tenant uuid;
  title text;
  state text;
  closed_at timestamptz;
  created_at timestamptz;
  updated_at timestamptz;
  stage text;
  staged_at timestamptz;
  holder uuid;
  buyer uuid;
  granted_at timestamptz;
  ends_at timestamptz;
  knows_all boolean;
  knows_seller boolean;
  knows_stage boolean;
  is_selected boolean;
  runs boolean;
  settled text;
  is_unheld boolean;
  told json;
begin
  -- The client works for the person as vault.working_clients has it. An answer to a call that reads does not wait for the disk.
  select f.user_id, u.name, f.client_id, c.name, f.id, t.scopes, t.expires_at,
    array(select k.brokerage_id from public.members k where k.user_id = f.user_id and k.status = 'active'
      and (select b.requires_second_factor from public.brokerages b where b.id = k.brokerage_id)),
    d.participant_id, d.role, d.principal_id, d.side, case when tells is not null then d.side end, coalesce(d.side, '') <> 'buyer',
    d.organization_id, d.title, d.state, d.closed_at, d.created_at, d.updated_at, d.stage, d.stage_updated_at,
    d.holder_id, d.buyer_user_id, d.granted_at, d.expires_at,
    case when tool is not null then set_config('synchronous_commit', 'off', true) end
  into person, user_name, client_id, client_name, family_id, scopes, expires_at,
    asking, participant, deal_role, principal, principal_role, side, knows_all,
    tenant, title, state, closed_at, created_at, updated_at, stage, staged_at,
    holder, buyer, granted_at, ends_at,
    identity
  from (select k.family_id, k.scopes, k.expires_at from vault.access_tokens k
    where k.digest = presented and k.expires_at > app.now() and k.revoked_at is null offset 0) t
  cross join lateral (select y.id, y.user_id, y.client_id from vault.token_families y
    where y.id = t.family_id and y.revoked_at is null and y.ends_at > app.now() and y.resource = enter_with_token.resource offset 0) f
  cross join lateral (select k.name, k.brokerage_id, k.created_by from public.connected_clients k
    where k.id = f.client_id and k.deleted_at is null and not k.disabled offset 0) c
  cross join lateral (select k.name from public.users k where k.id = f.user_id and k.suspended_at is null offset 0) u
  left join lateral (select k.participant_id, k.role, k.principal_id, k.side, k.organization_id, k.title, k.state, k.closed_at, k.created_at, k.updated_at,
      k.stage, k.stage_updated_at, k.holder_id, k.buyer_user_id, k.granted_at, k.expires_at from vault.deals_of_people k
    where k.user_id = f.user_id and k.deal_id = deal offset 0) d on true
  where case when c.brokerage_id is null then c.created_by = f.user_id
    else exists (select from public.members k where k.brokerage_id = c.brokerage_id and k.user_id = f.user_id and k.status = 'active') end;
  if not found then
    return null;
  end if;
  if asking <> '{}' or side is null or side not in ('broker', 'seller') then
    if asking <> '{}' then
      -- A client shows no second factor: it is enough that the person has one.
      if app.has_second_factor(person) then
        asking := '{}';
      elsif tenant = any (asking) then
        side := null;
      end if;
    end if;
    -- Who has no part in it may be an admin of its brokerage.
    if tenant is null and deal is not null then
      select d.organization_id into tenant from public.deals d where d.id = deal;
    end if;
    if asking <> '{}' or side is null or side not in ('broker', 'seller') then
      if participant is null and of_table is not null then
        -- The same work whether there is such a deal or not.
        administered := array(select m.brokerage_id from public.members m where m.user_id = person
          and m.status = 'active' and m.role = 'admin' and m.brokerage_id <> all (asking));
      end if;
      select s.secret into secret from vault.seal s;
      identity := concat(person, ',', client_id, ',,,', array_to_string(scopes, ' '), ',,', array_to_string(asking, ' '),
        case when of_table is not null then ',' || app.standing_of(deal, tenant, asking, administered, participant, deal_role,
          principal, principal_role) end);
      identity := concat(set_config('dealkeep.identity', identity, true), set_config('dealkeep.seal', app.seal_of(identity, secret), true));
      if tool is not null and asking <> '{}' then
        perform app.check_second_factor();
      end if;
      if tells is not null then
        side := coalesce(side, case when tenant = any (administered) then '' end);
      end if;
    end if;
    if tells = 'deal' and side is not null and title is null then
      -- An admin has no row of their own.
      select d.title, d.state, d.closed_at, d.created_at, d.updated_at, g.state, g.updated_at, x.participant_id, x.buyer_user_id, x.granted_at, x.expires_at
      into title, state, closed_at, created_at, updated_at, stage, staged_at, holder, buyer, granted_at, ends_at
      from public.deals d
      left join public.deal_stages g on g.deal_id = d.id
      left join public.exclusivities x on x.deal_id = d.id and x.ended_at is null
      where d.id = deal;
    end if;
  end if;
  if tells = 'deal' and title is not null and side in ('', 'broker', 'seller', 'viewer', 'buyer') then
    -- All but a buyer's side know of everybody and how it stands.
    if not knows_all then
      knows_all := tenant = any (app.brokerages_as('admin'));
      if not knows_all then
        knows_seller := exists (select from public.deals d where d.id = deal and not d.needs_nda)
          or exists (select from vault.active_ndas n where n.participant_id = principal);
      end if;
    end if;
    if stage is not null or holder is not null then
      is_selected := coalesce(holder = principal, false);
      runs := coalesce(ends_at > app.now(), false);
      knows_stage := knows_all or is_selected and (runs or stage is distinct from 'exclusivity');
      if not ((knows_all or is_selected) and (runs or state = 'closed' or coalesce(knows_stage and stage <> 'exclusivity', false))) then
        buyer := null;
        granted_at := null;
        ends_at := null;
      end if;
      if knows_stage then
        state := coalesce(stage, state);
        updated_at := greatest(updated_at, staged_at);
      end if;
      if stage = 'exclusivity' and not runs and state in ('under_offer', 'exclusivity') then
        state := 'listed';
      end if;
    end if;
    -- One table after the other, each by its index, however few rows there are.
    told := json_build_array(deal, title, state, tenant, buyer, granted_at::text, ends_at::text, closed_at::text, created_at::text, updated_at::text, (
      select json_agg(json_build_array(k.person_id, k.role, k.status, k.name, k.side, k.nda_status, k.advises) order by k.created_at, k.id) from (
        select p.id, p.created_at, p.person_id, p.role, p.status, case when p.joined_at is null then p.invited_name else coalesce(p.left_name, u.name) end as name,
          a.role as side, a.person_id as advises,
          case when p.role = 'buyer' and (side in ('broker', 'seller') or p.id = principal) then coalesce((
            select case when n.status in ('sent', 'active') and n.expires_at <= app.now() then 'expired' else n.status end
            from public.ndas n where n.participant_id = p.id order by n.status = 'active' desc, n.sent_at desc, n.id desc limit 1), 'none') end as nda_status
        from public.participants p
        cross join lateral (select k.name from public.users k where k.id = p.user_id offset 0) u
        left join lateral (select k.role, k.person_id from public.participants k where p.role = 'advisor' and k.id = p.advises offset 0) a on true
        where p.deal_id = deal and (knows_all or coalesce(p.advises, p.id) = principal
          or p.status = 'active' and (p.role = 'broker' or p.role = 'seller' and knows_seller))
        order by p.status = 'removed', p.created_at, p.id limit 201) k),
      (select json_build_array(trim_scale(d.asking_price)::text, d.currency, d.industry, d.location, d.needs_nda, (
        select b.name from public.brokerages b where b.id = d.organization_id)) from public.deals d where d.id = deal));
  elsif tells = 'offers' and side is not null then
    settled := vault.digest_of_books(deal, side in ('broker', 'seller') or deal = any (app.qoe_deals(false)), most_uploads, most_adjustments);
    is_unheld := settled <> all (held);
    told := case when is_unheld then 'false'
      else json_build_array(vault.offers_told(deal, side, principal), settled, app.now()::text) end;
  end if;
  if tool is not null and is_unheld is not true then
    -- A record is filed under the brokerage of its deal: on a deal that the caller does not see it names the deal, and stays theirs alone.
    if participant is null and (tenant = any (administered)) is not true then
      subject := coalesce(subject, on_deal::text);
      on_deal := null;
    end if;
    insert into public.audit_records (id, at, brokerage_id, deal_id, user_id, client_id, address, request_id, action, subject_id, outcome, noted)
    values (record_id, app.now(), case when on_deal = deal then tenant end, on_deal, person, client_id, enter_with_token.address,
      enter_with_token.request_id, 'tool:' || tool, subject, 'ok', false);
  end if;
  return json_build_array(person, client_id, client_name, family_id, scopes, expires_at::text, user_name, deal_role, told,
    coalesce(principal_role, case when tenant = any (administered) then 'admin' end));
end
$function$;
