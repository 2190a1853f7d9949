#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Runs everything that a client does with Callgate, and prints the results. It approves its own enrollment in the sandbox.
#   demo.sh [URL [STEP [PHONE_NUMBER]]]   STEP: token, callback, availability, appointment, enrolment, push, renewal or again
set -uo pipefail
# shellcheck source=Examples/clients/curl/callgate.sh
. "${BASH_SOURCE[0]%/*}/callgate.sh"

CALLGATE_URL=${1:-http://localhost:8080}
number=${3:-+1415555$((RANDOM % 9000 + 1000))}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
CALLGATE_CACHE=$folder/cache
tomorrow=$(($(date +%s) + 86400))

at() { date -u -d "@$1" +%Y-%m-%dT%H:%M:%SZ; }

token() {
  # Fifty processes ask at once, and the server is asked once.
  local tokens
  for _ in {1..50}; do callgate_token & done >"$folder/tokens"
  wait
  tokens=$(sort -u "$folder/tokens")
  case "$tokens" in *:*) echo "refused, $tokens" && exit 1 ;; esac
  echo "token: 50 requests, $(wc -l <<<"$tokens") token of ${#tokens} characters"
}

renewal() {
  # A program that stays, until its token is another one.
  local first
  first=$(callgate_token) || { echo "refused, $first"; exit 1; }
  while [ "$(callgate_token)" = "$first" ]; do sleep 0.1; done
  echo "renewal: another token"
}

callback() {
  local context='{"issue":"My flight was canceled"}'
  echo "callback: $(callgate_call "$(callgate_uuid)" "{\"contact_phone_number\":\"$number\",\"context\":$context}")"
}

again() {
  # A script that sends its key again until the outcome is known, also after a restart.
  local key
  key=$(callgate_uuid)
  for _ in {1..4}; do echo "again: $(callgate_call "$key" "{\"contact_phone_number\":\"$number\"}")"; done
}

availability() {
  local found
  found=$(callgate_availability "$(at $tomorrow)" "$(at $((tomorrow + 3600)))") || { echo "refused, $found"; exit 1; }
  case "$found" in *'"open":true'*) found="open $found" ;; *) found="closed $found" ;; esac
  echo "availability: ${found%% *}, $(grep -o '"free":' <<<"$found" | wc -l) times tomorrow"
}

appointment() {
  local booked
  booked=$(callgate_call "$(callgate_uuid)" "{\"contact_phone_number\":\"$number\",\"at\":\"$(at $tomorrow)\"}")
  echo "appointment: $booked"
  case "$booked" in
    scheduled*)
      echo "appointment: moved to $(callgate_move "${booked#* }" "$(at $((tomorrow + 3600)))")"
      echo "appointment: $(callgate_cancel "${booked#* }")"
      ;;
  esac
}

# Approves an enrollment, as an operator would.
approve() {
  curl -sS --json "{\"user_code\":\"$1\"}" "$CALLGATE_URL/_sandbox/installations/approve"
}

show_code() {
  echo "enrolment: tell an operator the code $1"
  approve "$1"
}

enrolment() {
  local token
  callgate_enrol "curl example" "$folder/credential" show_code || exit 1
  export CALLGATE_CREDENTIAL=$folder/credential CALLGATE_CACHE=$folder/enrolled
  token=$(callgate_token)
  echo "enrolment: this machine has a credential, and its own token of ${#token} characters"
  callgate_unenrol
  CALLGATE_CACHE=$folder/again
  echo "enrolment: afterwards $(callgate_token)"
}

# The message of a device's first push, as the system passes it to the program.
pushed() {
  local journal
  for _ in {1..100}; do
    journal=$(curl -sS "$CALLGATE_URL/_sandbox/notices")
    if [[ $journal =~ \"device\":\"[^\"]*${1: -4}\",\"message\":\"(\{[^}]*\}) ]]; then
      echo "${BASH_REMATCH[1]//\\\"/\"}"
      return 0
    fi
    sleep 0.1
  done
  return 1
}

push() {
  local device token
  device=curl-$(callgate_uuid)
  unset CALLGATE_CREDENTIAL # of the step before
  callgate_enrol "curl example" "$folder/phone" approve example-app-push || exit 1
  export CALLGATE_CREDENTIAL=$folder/phone CALLGATE_CACHE=$folder/pushed
  callgate_register "$device" fcm || exit 1
  # What the system calls when a push arrives.
  { pushed "$device" >"$folder/message" && callgate_receive "$(<"$folder/message")" >"$folder/received"; } &
  token=$(callgate_token) || { echo "refused, $token"; kill $!; exit 1; }
  echo "push: a notice came, and a token of ${#token} characters"
  wait
  echo "push: the same notice once more: $(callgate_receive "$(<"$folder/message")")"
}

if [ $# -gt 1 ]; then "$2"; else for step in token callback availability appointment enrolment push; do $step; done; fi
