# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154  # what is set here is read by the tests; scratch is lib.sh's
# A PostgreSQL server for one end-to-end test, in a folder of its own on a loopback port. Sourced after lib.sh; where no
# server is installed, the test says so and ends.

postgres_programs=$(printf '%s\n' /usr/lib/postgresql/*/bin | sort -V | tail -n 1)
if [ ! -x "$postgres_programs/initdb" ]; then
  skip "instances on PostgreSQL" "no server under /usr/lib/postgresql: install postgresql"
  finish
fi

postgres_folder=$(mktemp -d /tmp/callgate-postgres-XXXXXX)
# The server refuses to be root.
postgres_user=()
if [ "$(id -u)" = 0 ]; then
  name=postgres
  id postgres >/dev/null 2>&1 || name=nobody
  chown "$name" "$postgres_folder"
  postgres_user=(runuser -u "$name" --)
fi

# postgres COMMAND ARGUMENT…: runs one of the server's programs as who owns it.
postgres() {
  local program=$1
  shift
  (cd "$postgres_folder" && "${postgres_user[@]}" "$postgres_programs/$program" "$@")
}

postgres_start() { postgres pg_ctl -D "$postgres_folder/data" -l "$postgres_folder/log" -w -t 60 -s start; }

# postgres_stop [MODE]: `fast` tells clients; `immediate` is a crash.
postgres_stop() { postgres pg_ctl -D "$postgres_folder/data" -m "${1:-fast}" -w -t 60 -s stop; }

# postgres_signal SIGNAL: to the server and every process of it: STOP makes it hang, CONT lets it go on.
postgres_signal() {
  local main
  main=$(head -n 1 "$postgres_folder/data/postmaster.pid")
  # shellcheck disable=SC2046  # several ids
  kill "-$1" "$main" $(cat "/proc/$main/task/$main/children")
}

# query DATABASE SQL: what it gives, as text.
query() { PGPASSWORD=secret postgres psql -h 127.0.0.1 -p "$postgres_port" -U callgate -d "$1" -XAtq -c "$2"; }

# database NAME: makes an empty one and sets DATABASE_URL.
database() {
  query postgres "CREATE DATABASE $1"
  export DATABASE_URL="postgres://callgate:secret@127.0.0.1:$postgres_port/$1"
}

postgres_end() {
  if [ -s "$postgres_folder/data/postmaster.pid" ]; then
    postgres_signal CONT
    postgres_stop immediate
  fi
  rm -rf "$postgres_folder"
}
trap 'postgres_end; cleanup' EXIT

postgres_port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
printf 'secret\n' >"$postgres_folder/password"
[ ${#postgres_user[@]} -eq 0 ] || chmod 644 "$postgres_folder/password"
postgres initdb -D "$postgres_folder/data" -U callgate --pwfile="$postgres_folder/password" --auth=scram-sha-256 \
  --no-sync -E UTF8 --locale=C >/dev/null
# What is tested is this program's part; the kernel of this machine does not fail here.
postgres_settings="listen_addresses = '127.0.0.1'
port = $postgres_port
unix_socket_directories = '$postgres_folder'
fsync = off
max_connections = 80
shared_buffers = 16MB"
printf '%s\n' "$postgres_settings" >>"$postgres_folder/data/postgresql.conf"
postgres_start
