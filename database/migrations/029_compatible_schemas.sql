-- A release that does not know a migration goes on with it, unless the migration is marked as breaking in its first lines
-- (`-- breaking: why`). Those before this one were applied by releases that refuse what they do not know.
alter table app.migrations add column breaking boolean not null default false;
