-- compatible: the release before asks the same of tokens that have ended.
-- Tokens of API keys that somebody was shown end for good when they leave the brokerage, as everything else does. They worked again when that person came back, in any role.

CREATE OR REPLACE FUNCTION app.end_parts_of_member()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
declare
  leaves constant boolean := new.status <> 'active';
  client uuid;
  left_deal record;
begin
  if old.role = 'admin' then
    perform from public.brokerages b where b.id = new.brokerage_id for no key update;
  end if;
  perform app.lock_parts(new.user_id, new.brokerage_id);
  for left_deal in
    update public.participants p set status = 'removed'
      from public.deals d
      where d.organization_id = new.brokerage_id and p.deal_id = d.id and p.user_id = new.user_id and p.status <> 'removed'
        and ((leaves and p.role in ('broker', 'advisor', 'viewer')) or (new.role = 'staff' and p.role = 'broker'))
      returning p.id, p.deal_id
  loop
    perform app.audit('participant.remove', left_deal.id::text, 'done', null, left_deal.deal_id, null, null, '{}');
  end loop;
  if leaves then
    for client in select c.id from public.connected_clients c where c.brokerage_id = new.brokerage_id loop
      perform app.revoke_families(new.user_id, client);
      delete from public.tool_grants g where g.user_id = new.user_id and g.client_id = client;
    end loop;
    -- Keys before webhooks and digests, as whoever rotates one locks them.
    perform from public.api_keys k
      where k.brokerage_id = new.brokerage_id and k.id in (select d.key_id from vault.api_key_digests d where d.issued_by = new.user_id)
      order by k.id for no key update;
  end if;
  if leaves or old.role = 'admin' then
    perform app.turn_off_webhooks(new.user_id, new.brokerage_id, null);
  end if;
  if leaves then
    -- After the webhooks that may have been added with them. Whoever comes back is not given them again.
    update vault.api_key_digests d set valid_until = app.now()
      from public.api_keys k
      where d.issued_by = new.user_id and (d.valid_until is null or d.valid_until > app.now()) and k.id = d.key_id and k.brokerage_id = new.brokerage_id;
    update public.api_keys k set previous_last_four = null, previous_valid_until = null
      where k.brokerage_id = new.brokerage_id and k.previous_valid_until > app.now()
        and exists (select from vault.api_key_digests d where d.key_id = k.id and d.issued_by = new.user_id)
        and not exists (select from vault.api_key_digests d where d.key_id = k.id and d.valid_until > app.now());
  end if;
  delete from public.deal_opt_ins o using public.deals d
    where d.id = o.deal_id and d.organization_id = new.brokerage_id and o.user_id = new.user_id
      and not exists (select from public.participants p
        where p.deal_id = d.id and p.user_id = new.user_id and p.status = 'active');
  return null;
end
$function$;

-- Tokens of people who have left and not come back.
update vault.api_key_digests d set valid_until = app.now()
  from public.api_keys k
  where (d.valid_until is null or d.valid_until > app.now()) and k.id = d.key_id and d.issued_by is not null
    and exists (select from public.members m where m.brokerage_id = k.brokerage_id and m.user_id = d.issued_by and m.status <> 'active');
update public.api_keys k set previous_last_four = null, previous_valid_until = null
  where k.previous_valid_until > app.now()
    and not exists (select from vault.api_key_digests d where d.key_id = k.id and d.valid_until > app.now());
