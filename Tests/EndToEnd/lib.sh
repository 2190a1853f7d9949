# shellcheck shell=bash
# shellcheck disable=SC2034  # what is set here is read by the tests
# What the end-to-end tests in bash stand on (new ones are Python, on the harness): starts the release binary, asks it with curl, compares, counts.
# A test is a bash file that sources this one, calls `check` and ends with `finish`: with 0 where all passed, 1 where something
# failed, 77 where nothing could be run. What could not be run is told by `skip`, also in the closing lines of the script that
# runs the tests, which names a file for them in SKIPPED.
set -uo pipefail

: "${CALLGATE:?the path of the callgate binary under test}"
: "${LOGS:?a folder that keeps every server output of this run}"
scratch=$(mktemp -d)
passed=0
failed=0
skipped=0
pids=()

# Nothing of the caller's environment may change what is tested.
for name in $(compgen -e); do
  case "$name" in
    # For the tests alone: the server would note a variable that it does not know.
    CALLGATE_SHARED) export -n CALLGATE_SHARED ;;
    TD_* | CALLGATE_* | DEFAULT_USER* | DEFAULT_PASSWORD* | DATABASE_URL* | HOST | PORT | DYNO | *_proxy | *_PROXY) unset "$name" ;;
  esac
done
# A test that wants a file or a database says so.
export CALLGATE_STATE=memory

cleanup() {
  local pid
  for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null; done
  for pid in "${pids[@]}"; do wait "$pid" 2>/dev/null; done
  rm -rf "$scratch"
}
trap cleanup EXIT

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
  local name=$1 line='' again=1
  shift
  log="$LOGS/$(basename "$0").$name.$$.out"
  # A file of its own also under a name that was used before: nothing is lost, and no earlier server's line is taken for its.
  while [ -e "$log" ]; do log="$LOGS/$(basename "$0").$name.$$.$((++again)).out"; done
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

# stop [SIGNAL]: ends the last started server and sets exit_status.
stop() {
  kill "-${1:-TERM}" "$pid"
  wait "$pid"
  # shellcheck disable=SC2034  # for the tests
  exit_status=$?
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

# run ARGUMENT…: runs `callgate ARGUMENT…` to its end. Sets status, out and err.
run() {
  "$CALLGATE" "$@" >"$scratch/out" 2>"$scratch/err" </dev/null
  status=$?
  out=$(cat "$scratch/out")
  err=$(cat "$scratch/err")
}

# audit_lines: how many audit lines the last started server wrote so far; the log is a moment behind the answers.
audit_lines() {
  sleep 0.2
  grep -c '^{"log":"audit"' "$log"
}

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
