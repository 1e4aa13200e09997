-- compatible: the same kind of id.
--
-- Twelve of the random bits of an id are the part of the millisecond, as RFC 9562 (section 6.2, method 3) has it: what one
-- transaction makes is listed in the order in which it was made, also within a millisecond.

CREATE OR REPLACE FUNCTION app.uuid_v7()
 RETURNS uuid
 LANGUAGE sql
 PARALLEL SAFE
RETURN (overlay(lpad(to_hex(trunc(extract(epoch from clock_timestamp()) * 4096000)::bigint), 15, '0') placing '7' from 13 for 0)
  || substr(gen_random_uuid()::text, 20))::uuid;
