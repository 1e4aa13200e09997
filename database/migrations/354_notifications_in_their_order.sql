-- compatible: answers the same.
--
-- The latest notifications are found by the index that has them in their order. Planned for somebody with a few, they were sorted instead, which looked up
-- the deals of all ten thousand of somebody else.

alter function app.notifications_in_sight(timestamptz, uuid, integer) set enable_sort = off;
alter function app.unread_notifications() set enable_sort = off;
