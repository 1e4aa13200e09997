-- Counters of requests, shared by every node. Losing them in a crash costs nothing, so they are not written to the log
-- of changes (unlogged). The server itself counts here: the three columns, in this order, are what its library writes.

create schema limits;
grant usage on schema limits to dealkeep_server;

create unlogged table limits.counters (
  key varchar(255) primary key,
  points integer not null default 0,
  expire bigint
);
select app.protect('limits.counters');
create index counters_by_expiry on limits.counters (expire);
create policy the_server_counts on limits.counters to dealkeep_server using (true) with check (true);
grant select, insert, update, delete on limits.counters to dealkeep_server;
