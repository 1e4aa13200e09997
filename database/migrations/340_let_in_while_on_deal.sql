-- compatible: the same is answered but while people are removed from deals.
--
-- Whoever is removed from a deal loses their place in its QoE workspace (app.leave_workspace). A place that a broker gave them at that moment was not there yet, stayed, and held again once they
-- came back, also in another role. Now a broker waits for the removal and is refused; a removal that comes later waits for the broker and takes the place away.

create trigger a_in_order before insert on public.qoe_workspace_members for each row execute function app.lock_part_first();
