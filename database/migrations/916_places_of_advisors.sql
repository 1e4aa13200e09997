-- compatible: people see more of what is of their own side.
--
-- An advisor with a place of their own in the QoE workspace did not see it, nor did whom they advise: an editor read that they could only view, and an open page showed
-- neither that they were admitted nor that they were removed (app.sees_any, in
-- 921_closed_documents_leave_open_pages.sql).

set lock_timeout = '5s';

alter policy deal_side_and_own_see_it on public.qoe_workspace_members
  using (deal_id = any ((select app.deals_as('broker', 'seller', 'qoe:read'))::uuid[])
    or exists (select from public.participants p
      where p.id = qoe_workspace_members.participant_id and coalesce(p.advises, p.id) = any ((select app.principals())::uuid[])));
