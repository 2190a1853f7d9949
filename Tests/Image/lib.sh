# shellcheck shell=bash
# shellcheck disable=SC2034  # what is set here is read by the tests
# What every test of the container image stands on: checks, requests, the binary taken out of the image, and containers restricted
# as they are meant to run. Called by script/image, which sets ENGINE, IMAGE, BASE and SBOM. A test calls `check` and ends with
# `finish`: with 0 where all passed, 1 where something failed, 77 where nothing could be run.
set -uo pipefail

: "${ENGINE:?docker or podman}" "${IMAGE:?the image under test}" "${BASE:?the image it is built upon}"
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
export CALLGATE="$root/.build/image/callgate"
LOGS=$(mktemp -d)
scratch=$(mktemp -d)
passed=0
failed=0
skipped=0
pids=()

# Nothing of the caller's environment may change what is tested.
for name in $(compgen -e); do
  case "$name" in
    TD_* | CALLGATE_* | DEFAULT_USER* | DEFAULT_PASSWORD* | DATABASE_URL* | HOST | PORT | DYNO | *_proxy | *_PROXY) unset "$name" ;;
  esac
done
export CALLGATE_STATE=memory

containers=()
volumes=()
clean_up() {
  local name pid
  for name in ${containers[@]+"${containers[@]}"}; do "$ENGINE" rm --force --volumes "$name" >/dev/null 2>&1; done
  for name in ${volumes[@]+"${volumes[@]}"}; do "$ENGINE" volume rm --force "$name" >/dev/null 2>&1; done
  for pid in ${pids[@]+"${pids[@]}"}; do kill "$pid" 2>/dev/null; done
  for pid in ${pids[@]+"${pids[@]}"}; do wait "$pid" 2>/dev/null; done
  rm -rf "$LOGS" "$scratch"
}
trap clean_up EXIT

# check NAME ACTUAL EXPECTED: equal, or EXPECTED is a /regular expression/ found in ACTUAL.
check() {
  local name=$1 actual=$2 expected=$3 ok=1
  if [[ $expected == /*/ ]]; then
    [[ $actual =~ ${expected:1:-1} ]] || ok=0
  else
    [[ $actual == "$expected" ]] || ok=0
  fi
  if [ $ok = 1 ]; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    printf 'FAIL %s: %s\n  expected %s\n  got      %s\n' "$(basename "$0")" "$name" "$expected" "$actual"
  fi
}

# start NAME ARGUMENT…: runs `callgate ARGUMENT…` in the background with stdout and stderr kept as $log, and waits for
# its listening line. Sets pid, base and port.
start() {
  local name=$1 line=''
  shift
  log="$LOGS/$name.out"
  "$CALLGATE" "$@" >"$log" 2>"$log.err" &
  pid=$!
  pids+=("$pid")
  for _ in $(seq 200); do
    line=$(grep -s -m 1 '^callgate: listening on ' "$log") && break
    kill -0 "$pid" 2>/dev/null || break
    sleep 0.05
  done
  base=${line##* }
  port=${base##*:}
  if [ -z "$line" ]; then
    echo "FAIL $(basename "$0"): $name did not start:" && cat "$log" "$log.err"
    failed=$((failed + 1))
    finish
  fi
}

# ask ARGUMENT…: curl without its progress. Sets status, head and body. Without an answer the status is 000 and what curl says.
ask() {
  status=$(curl -sS -o "$scratch/body" -D "$scratch/head" -w '%{http_code}' --max-time 30 "$@" 2>"$scratch/curl") ||
    { [ "$status" != 000 ] || status="000 $(cat "$scratch/curl")"; }
  body=$(cat "$scratch/body" 2>/dev/null)
  head=$(tr -d '\r' <"$scratch/head" 2>/dev/null)
}

# field NAME: the value of a field of the last answer.
field() { awk -v name="$1" 'BEGIN { IGNORECASE = 1 } tolower($1) == tolower(name) ":" { sub(/^[^:]*: */, ""); print; exit }' <<<"$head"; }

# member NAME: a member of the last answer's JSON object, as JSON.
member() { python3 -c 'import json, sys; print(json.dumps(json.load(open(sys.argv[1])).get(sys.argv[2])))' "$scratch/body" "$1"; }

# skip NAME REASON: a check that cannot be run here.
skip() {
  skipped=$((skipped + 1))
  printf 'SKIP %s: %s: %s\n' "$(basename "$0")" "$1" "$2" | tee -a "${SKIPPED:-/dev/null}"
}

finish() {
  local without=
  [ "$skipped" -eq 0 ] || without=", $skipped skipped"
  echo "$(basename "$0"): $passed passed, $failed failed$without"
  [ "$failed" -eq 0 ] || exit 1
  if [ "$passed" -eq 0 ] && [ "$skipped" -gt 0 ]; then exit 77; fi
  exit 0
}

# As a container is meant to run: nothing writable but /data, no capability, no way to gain one, little memory.
restricted=(--network host --pull never --no-healthcheck --read-only --cap-drop ALL --security-opt no-new-privileges --memory 128m)

# launch OPTION… -- ARGUMENT…: runs the image in the background with further options of the engine, and waits for the
# listening line. Sets id, base and port.
launch() {
  local options=() line=
  while [ "$1" != -- ]; do options+=("$1") && shift; done
  shift
  id=$("$ENGINE" run --detach "${restricted[@]}" ${options[@]+"${options[@]}"} "$IMAGE" "$@")
  containers+=("$id")
  listening "$id"
}

# listening CONTAINER: waits for its listening line. Sets base and port.
listening() {
  local line=
  for _ in $(seq 200); do
    line=$("$ENGINE" logs "$1" 2>/dev/null | grep -s -m 1 '^callgate: listening on ') && break
    [ "$("$ENGINE" inspect --format '{{.State.Running}}' "$1")" = true ] || break
    sleep 0.05
  done
  base=${line##* }
  port=${base##*:}
  if [ -z "$line" ]; then
    echo "FAIL $(basename "$0"): the container did not start:" && "$ENGINE" logs "$1"
    failed=$((failed + 1))
    finish
  fi
}

# inside COMMAND…: runs a command in the last container and prints its output and its exit status.
inside() { "$ENGINE" exec "$id" "$@" 2>&1 && echo "exit 0" || echo "exit $?"; }

# inspect FORMAT OBJECT: a member of what the engine says of an image or container.
inspect() { "$ENGINE" inspect --format "$1" "$2"; }
