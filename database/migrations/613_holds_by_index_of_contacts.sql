-- compatible: the same function, by other indexes.
--
-- With a legal hold on a person, each part of the deletion of a brokerage read all its contacts several times, and from the sixth on all who take part in its deals. The contacts of an address are found by two
-- indexes, of which either has a condition.

CREATE OR REPLACE FUNCTION app.hold_on_brokerage(brokerage uuid)
 RETURNS TABLE(kind text, subject_id uuid)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO ''
AS $function$
#variable_conflict use_column
begin
  lock table vault.legal_holds in row share mode;
  -- Fenced by offsets: or all who take part in deals of the brokerage are read, to look the few of a hold up among them.
  return query
    select h.kind, h.subject_id from vault.legal_holds h
    where not app.is_sandbox(brokerage) and case h.kind
      when 'brokerage' then h.subject_id = brokerage
      when 'deal' then exists (select from public.deals d where d.id = h.subject_id and d.organization_id = brokerage offset 0)
      else exists (select from public.members m where m.user_id = h.subject_id and m.brokerage_id = brokerage)
        or exists (select from public.participants p join public.deals d on d.id = p.deal_id
          where p.user_id = h.subject_id and d.organization_id = brokerage offset 0)
        or exists (select from public.users u
          cross join lateral (
            select from public.contacts c
              where c.brokerage_id = brokerage and lower(c.email) = u.email and c.email is not null and c.archived_at is null
            union all
            select from public.contacts c
              where c.brokerage_id = brokerage and lower(c.email) = u.email and c.email is not null and c.archived_at is not null
            offset 0) c
          where u.id = h.subject_id)
      end
    order by h.kind, h.subject_id limit 1;
end
$function$;
