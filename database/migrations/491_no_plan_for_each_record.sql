-- compatible: the function answers the same.
--
-- Most of what its queries ask depends on what the person is on the deal, so that PostgreSQL took a plan made for one call to be cheaper, and made one for each: three times as long for an
-- advisor's list of notifications.

alter function app.could_open_as(text, uuid, text, uuid[]) set plan_cache_mode = 'force_generic_plan';
