-- compatible: columns may be read, and an index takes another's place.
-- Deliveries are listed in the order in which they were written, also those of the same millisecond; when a webhook last took something can be read.

create index webhook_deliveries_in_log on webhook_deliveries (endpoint_id, created_at desc, nr desc);
drop index webhook_deliveries_by_endpoint;
grant select (nr) on webhook_deliveries to dealkeep_server;
grant select (succeeded_at) on webhook_endpoints to dealkeep_server;
