#!/bin/bash
# The entry point of the stand-in for the image of Postgres: makes the database at the first start.
set -eu
export PATH=/usr/lib/postgresql/17/bin:$PATH PGDATA=/var/lib/postgresql/data
[ "$1" = postgres ] || exec "$@"
if [ ! -s "$PGDATA/PG_VERSION" ]; then
  mkdir -p "$PGDATA"
  # shellcheck disable=SC2086  # several options
  initdb --encoding=UTF8 --locale=C.UTF-8 -U "$POSTGRES_USER" --pwfile=<(echo "$POSTGRES_PASSWORD") \
    ${POSTGRES_INITDB_ARGS:-} -D "$PGDATA" >/dev/null
  echo "host all all all scram-sha-256" >>"$PGDATA/pg_hba.conf"
  pg_ctl -D "$PGDATA" -o "-c listen_addresses=''" -w start >/dev/null
  PGPASSWORD=$POSTGRES_PASSWORD createdb -h /var/run/postgresql -U "$POSTGRES_USER" "$POSTGRES_DB"
  pg_ctl -D "$PGDATA" -w stop >/dev/null
fi
shift
exec postgres -D "$PGDATA" -c listen_addresses='*' "$@"
