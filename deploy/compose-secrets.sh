#!/bin/sh
# Generates the secrets that compose.yaml passes to the containers, each as a file in deploy/secrets. Run this script once, before
# the first `docker compose up`. Running it again is harmless, because it never overwrites an existing secret.
set -eu
umask 077
cd "$(dirname "$0")"
mkdir -p secrets
cd secrets

random() { head -c 24 /dev/urandom | od -An -v -tx1 | tr -d ' \n'; }
# The files are readable by everyone because each container reads them as a different user. Other users of this machine are kept
# out by the permissions of the directory.
keep() { [ -e "$1" ] || { printf '%s\n' "$2" >"$1" && chmod 0644 "$1"; }; }
read_from() { tr -d '\n' <"$1"; }

keep postgres_password "$(random)"
keep owner_password "$(random)"
keep app_password "$(random)"
keep redis_password "$(random)"
keep s3_access_key_id "$(random)"
keep s3_secret_access_key "$(random)"
keep metrics_token "$(random)"
# Keep a copy of this key separate from the database: without it, nobody can sign in with an authenticator app.
keep secrets_key "$(random)"

keep migrate_database_url "postgres://dealkeep_owner:$(read_from owner_password)@postgres:5432/dealkeep"
keep database_url "postgres://dealkeep_app:$(read_from app_password)@postgres:5432/dealkeep"
keep redis_url "redis://:$(read_from redis_password)@redis:6379"
keep redis.conf "requirepass $(read_from redis_password)"
keep s3.json "{\"identities\":[{\"name\":\"dealkeep\",\"credentials\":[{\"accessKey\":\"$(read_from s3_access_key_id)\",\"secretKey\":\"$(read_from s3_secret_access_key)\"}],\"actions\":[\"Admin\",\"Read\",\"Write\",\"List\"]}]}"
keep s3_credentials "[default]
aws_access_key_id = $(read_from s3_access_key_id)
aws_secret_access_key = $(read_from s3_secret_access_key)"
