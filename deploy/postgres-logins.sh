#!/bin/sh
# The PostgreSQL image runs this script once, when it initializes the data directory. It creates the database, the login that owns it,
# and the login of the server, which owns nothing.
set -eu
psql --username "${POSTGRES_USER:-postgres}" --dbname postgres --no-psqlrc --set ON_ERROR_STOP=1 \
  --set owner="$(cat "$OWNER_PASSWORD_FILE")" --set app="$(cat "$APP_PASSWORD_FILE")" <<'SQL'
create role dealkeep_owner login createrole password :'owner';
create role dealkeep_app login password :'app';
create database dealkeep owner dealkeep_owner;
SQL
