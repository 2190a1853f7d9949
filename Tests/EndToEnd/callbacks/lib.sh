# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154  # what is set here is read by the tests; what is read is lib.sh's
# What the tests of callbacks share. Sourced after lib.sh; `here` is the folder of the tests.

# emulator: starts the sandbox alone, makes what follows its client, and keeps its key out of the kept output.
emulator() {
  start emulator sandbox --port 0
  grep '^TD_' "$log" >"$scratch/settings"
  grep -v '^TD_PRIVATE_KEY=' "$log" >"$scratch/rest" && cp "$scratch/rest" "$log"
  set -a
  # shellcheck disable=SC1091
  . "$scratch/settings"
  set +a
}

# upstream: starts the stub upstream. Sets upstream, its base URL, and upstream_controls, a port.
upstream() {
  : >"$scratch/upstream"
  python3 "$here/harness/callback_api.py" >"$scratch/upstream" &
  pids+=($!)
  local ports
  for _ in $(seq 200); do
    read -r -a ports <"$scratch/upstream" && break
    sleep 0.05
  done
  upstream=http://127.0.0.1:${ports[0]}
  upstream_controls=${ports[1]}
}

# python FILE ARGUMENT…: runs a part that is written in Python; its last line says how many of its checks passed and failed.
python() {
  local told last
  told=$(PYTHONDONTWRITEBYTECODE=1 python3 "$@" 2>&1)
  last=$(tail -n 1 <<<"$told")
  sed '$d' <<<"$told" | grep -v '^$'
  if [[ $last =~ ^([0-9]+)\ ([0-9]+)$ ]]; then
    passed=$((passed + BASH_REMATCH[1]))
    failed=$((failed + BASH_REMATCH[2]))
  else
    check "$(basename "$1") ends well" "$last" "its counts"
  fi
}
