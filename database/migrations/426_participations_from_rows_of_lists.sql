-- compatible: a function answers the same, and reads it from another table.
--
-- Policies that go through all deals of somebody looked up for each deal of an advisor whom they advise, twice: 42 ms for 10,000 deals, where it was 3
-- for a broker. The rows of lists have it in their index, in the order of the deals, and triggers keep them in the same transaction as participants.
-- A request about one deal does not go this way: it reads participants (`app.standing`).

create or replace function app.participations()
  returns table (deal_id uuid, participant_id uuid, role text, principal_id uuid, principal_role text) language sql stable
begin atomic
  select o.deal_id, o.participant_id, o.role, o.principal_id, o.side from vault.deals_of_people o
  where o.user_id = (select me.user_id from vault.caller me)
    and o.deal_id between (select me.first_deal from vault.caller me) and (select me.last_deal from vault.caller me)
    and o.organization_id <> all ((select me.barred from vault.caller me)::uuid[]);
end;
