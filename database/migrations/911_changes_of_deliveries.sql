-- compatible: one more column can be read.
--
-- By the number of its change it is decided whether a caller may see what a receiver answered to a delivery.

grant select (seq) on public.webhook_deliveries to dealkeep_server;
