-- compatible: a trigger more, whose changes the pages of the release before follow as well.
--
-- Whoever was removed from a deal or invited to one saw nothing of it in an open page: only those who see the person on the deal are told of the change, and they no
-- longer or do not yet. They are told that anything may have changed, without a deal; however many deals it is at once, once.

create function app.announce_own_place() returns trigger language plpgsql security definer set search_path = '' as $$
begin
  perform pg_notify('dealkeep_changes', json_build_object('topic', 'deal', 'table', 'notifications',
    'record', new.user_id, 'deal_id', null, 'gone', false)::text);
  return null;
end
$$;

create trigger announce_invitation after insert on public.participants for each row when (new.status = 'invited') execute function app.announce_own_place();
create trigger announce_own_place after update of status on public.participants for each row
  when (old.status <> new.status and new.status in ('invited', 'removed')) execute function app.announce_own_place();
