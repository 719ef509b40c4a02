#!/bin/sh
# What the image of PostgreSQL promises of an empty volume: a cluster with the superuser's password,
# and every file of docker-entrypoint-initdb.d run by a server that listens at its socket alone.
set -eu
data=/var/lib/postgresql/data
if [ ! -s $data/PG_VERSION ]; then
  echo "$POSTGRES_PASSWORD" >/tmp/password
  initdb --no-sync --pgdata $data --username postgres --pwfile /tmp/password \
    --auth-local trust --auth-host scram-sha-256
  rm /tmp/password
  echo "host all all all scram-sha-256" >>$data/pg_hba.conf
  pg_ctl --pgdata $data --wait --options "-c listen_addresses=" start
  for file in /docker-entrypoint-initdb.d/*.sql; do
    /usr/lib/postgresql/15/bin/psql --host /var/run/postgresql --username postgres \
      --set ON_ERROR_STOP=1 --file "$file"
  done
  pg_ctl --pgdata $data --wait --mode fast stop
fi
exec postgres -D $data -c listen_addresses='*'
