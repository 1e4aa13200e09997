-- compatible: answers the same.
-- The audit trail of a brokerage is read in its order, until there are enough. Of a large brokerage all records were read by several processes, with a look
-- at those of the whole platform, and sorted for each page: 76 ms of PostgreSQL and more in its workers for a broker of 10,000 deals among 100,000, now 10.
alter function app.audit_of_brokerage(uuid, uuid, text, boolean, timestamptz, timestamptz, timestamptz, uuid, integer)
  set enable_sort to off set enable_seqscan to off;
