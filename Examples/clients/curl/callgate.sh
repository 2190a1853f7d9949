# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# A client for Callgate in bash: tokens, also by push, callbacks, appointments, and a credential for this machine. Source this file. It
# needs bash, curl and flock. Version 0.2.0.
#
#   CALLGATE_URL         the server, http://localhost:8080 by default
#   CALLGATE_CREDENTIAL  a file of mode 0600 with one line for curl: user = "NAME:PASSWORD", or oauth2-bearer = "JWT". Other users of
#                        the machine can see a command's arguments, but not this file.
#   CALLGATE_CACHE       a folder of mode 0700 for tokens, and for the keys of callbacks whose outcome is unknown
#
# Each function prints its result, or the problem: its code, a text for the customer, and what to do (see callgate_meaning).

# callgate_meaning CODE: what to do, and a text for the customer.
#   later       try again: after retry_after seconds, if given
#   authorize   sign in again, or enroll again if the machine has its own credential
#   enrol       start the enrollment again; after taken, use a new UUID
#   correct     let the customer correct the number, or what `fields` names
#   choose_time offer other times: `alternatives`, or from `next_open` on
#   look        request the record, and show its status
#   maybe       the phone may ring: do not repeat the request with a new key
#   show        show the text; repeating the request does not help
#   report      the program or its configuration has a bug
callgate_meaning() {
  case "$1" in
    malformed_request) echo report "Something is wrong with this app. Please update it." ;;
    invalid_json) echo report "Something is wrong with this app. Please update it." ;;
    unauthenticated) echo authorize "Please sign in again." ;;
    invalid_token) echo authorize "Please sign in again." ;;
    invalid_client) echo authorize "This phone is no longer registered. Please register it again." ;;
    invalid_proof) echo report "Please update this app." ;;
    attestation_required) echo report "Please update this app." ;;
    attestation_failed) echo show "Please install this app from the official app store." ;;
    closed) echo choose_time "We are closed at this time. Please choose another." ;;
    denied) echo show "This is not available to you. Please contact us." ;;
    number_not_proven) echo correct "Please confirm that this phone number is yours." ;;
    consent_required) echo correct "Please agree to be called first." ;;
    number_not_allowed) echo correct "We cannot call this number. Please enter another." ;;
    no_agents) echo later "All our agents are busy. Please try again in a minute." ;;
    stopped) echo later "We are not taking requests right now." ;;
    not_found) echo show "We can no longer find this call." ;;
    unknown_app) echo report "Something is wrong with this app. Please update it." ;;
    method_not_allowed) echo report "Something is wrong with this app. Please update it." ;;
    request_timeout) echo later "Your connection is slow. Please try again." ;;
    too_many) echo show "You have registered too many phones. Please remove one first." ;;
    taken) echo enrol "This phone is registered to another user. Please try again." ;;
    request_expired) echo enrol "Your code is no longer valid. Please ask for a new one." ;;
    already_delivered) echo enrol "Your code is no longer valid. Please ask for a new one." ;;
    claim_expired) echo later "This is no longer valid. Please try again." ;;
    challenge_expired) echo later "This is no longer valid. Please try again." ;;
    duplicate) echo look "You have already asked us to call this number." ;;
    in_progress) echo later "We are still working on your call." ;;
    slot_full) echo choose_time "This time is taken. Please choose another." ;;
    too_late) echo look "This call can no longer be changed." ;;
    no_device) echo report "Please allow notifications for this app." ;;
    content_too_large) echo correct "Your text is too long. Please shorten it." ;;
    target_too_long) echo report "Something is wrong with this app. Please update it." ;;
    unsupported_media_type) echo report "Something is wrong with this app. Please update it." ;;
    invalid_request) echo correct "Please check what you entered." ;;
    idempotency_mismatch) echo report "Something is wrong with this app. Please update it." ;;
    slow_down) echo later "Please wait a moment." ;;
    rate_limited) echo later "Too many requests. Please try again in a moment." ;;
    quota_exhausted) echo later "You have asked for too many calls. Please try again later." ;;
    upstream_rate_limited) echo later "We are getting a lot of calls right now. Please try again shortly." ;;
    fields_too_large) echo report "Something is wrong with this app. Please update it." ;;
    internal) echo later "Something went wrong on our side. Please try again later." ;;
    upstream_refused) echo show "We cannot call you at the moment." ;;
    upstream_failed) echo look "Something went wrong on our side." ;;
    upstream_unavailable) echo later "We cannot call you at the moment. Please try again shortly." ;;
    audit_unavailable) echo later "We cannot call you at the moment. Please try again shortly." ;;
    store_unavailable) echo later "We cannot call you at the moment. Please try again shortly." ;;
    attestation_unavailable) echo later "We cannot call you at the moment. Please try again shortly." ;;
    overloaded) echo later "We are getting a lot of requests right now. Please try again shortly." ;;
    upstream_timeout) echo later "We cannot call you at the moment. Please try again shortly." ;;
    outcome_unknown) echo maybe "We may be calling you. Please keep your phone nearby." ;;
    no_answer) echo later "We could not reach our server. Check your connection and try again." ;;
    # A newer server may have more codes. For those, decide by the status.
    *) case "${2:-0}" in
      401) echo authorize "Please sign in again." ;;
      403 | 404 | 409 | 410) echo show "We cannot do this right now." ;;
      0 | 429 | 5*) echo later "We cannot do this at the moment. Please try again later." ;;
      *) echo report "Something is wrong with this app. Please update it." ;;
    esac ;;
  esac
}

# A member of the last response: a string without escapes, a number or a word.
callgate_member() { sed -nE "s/.*\"$1\": *(\"([^\"]*)\"|([^\",}]*)).*/\2\3/p" <<<"$callgate_answer" | head -n 1; }

# The first argument that is a whole number of at most nine digits. In any other string, bash would run commands within $((…)).
callgate_whole() {
  local text
  for text in "$@"; do
    ! [[ $text =~ ^(0|[1-9][0-9]{0,8})$ ]] || { echo "$text" && return; }
  done
}

# callgate_seconds TEXT... OTHERWISE: the pause that the server requests, at least one second.
callgate_seconds() {
  local seconds
  seconds=$(callgate_whole "$@")
  echo "$((seconds < 1 ? 1 : seconds))"
}

# A UUID, and a key for one tap.
callgate_uuid() { cat /proc/sys/kernel/random/uuid 2>/dev/null || uuidgen; }

# callgate_send PATIENCE MEMBERS METHOD PATH [BODY [KEY]]: the response is in callgate_answer, callgate_status (000: none),
# callgate_code and callgate_wait. A success without one of MEMBERS (a|b) is not from Callgate. callgate_asked is when the last try
# began, and callgate_lost whether a try got no response. It retries only when that is safe: without a response, after 409 in_progress, 429
# and 503, and after a proxy's error. It waits as long as the server says, and starts no try that would exceed PATIENCE (seconds).
callgate_send() {
  local end=$((SECONDS + $1)) members="\"($2)\": *(\"[^\"]|[^\" ])" pause=1 left head more=()
  [ -n "$2" ] || members='.*'
  shift
  [ -z "${CALLGATE_CREDENTIAL:-}" ] || more+=(--config "$CALLGATE_CREDENTIAL")
  # The body comes from standard input, because it may contain a secret.
  [ -z "${4:-}" ] || more+=(-H 'Content-Type: application/json' --data-binary @-)
  [ -z "${5:-}" ] || more+=(-H "Idempotency-Key: $5")
  callgate_lost=false
  while :; do
    callgate_asked=$(date +%s)
    left=$((end - SECONDS))
    left=$((left < 5 ? 5 : left > 25 ? 25 : left))
    # An incomplete response counts as no response, whatever its status.
    callgate_answer=$(curl -gsS --max-time $left -X "$2" -H 'Accept: application/json' "${more[@]}" -w '\n%{http_code} %header{retry-after}' \
      "${CALLGATE_URL:-http://localhost:8080}$3" 2>/dev/null <<<"${4:-}") || callgate_answer=$'\n000'
    head=${callgate_answer##*$'\n'}
    callgate_answer=${callgate_answer%$'\n'*}
    read -r callgate_status callgate_wait <<<"$head"
    callgate_code=
    case "$callgate_status" in
      2*)
        [[ $callgate_answer =~ $members ]] && return 0
        # For example a network's login page.
        callgate_status=000 callgate_code=no_answer callgate_lost=true callgate_wait=$pause
        return 1
        ;;
      000) callgate_code=no_answer callgate_lost=true ;;
      *)
        callgate_code=$(callgate_member code)
        [ -n "$callgate_code" ] || callgate_lost=true
        ;;
    esac
    callgate_wait=$(callgate_seconds "$callgate_wait" "$(callgate_member retry_after)" $pause)
    case "$callgate_status $callgate_code" in
      000* | 429* | 503* | "409 in_progress" | "5"??" ") ;;
      *) return 1 ;;
    esac
    [ $((SECONDS + callgate_wait)) -lt "$end" ] || return 1
    sleep "$callgate_wait"
    pause=$((pause < 8 ? 2 * pause : 8))
  done
}

# callgate_problem [CODE]: prints the problem of the last response, with the meaning of CODE in place of its own.
callgate_problem() {
  local action text
  read -r action text <<<"$(callgate_meaning "${1:-$callgate_code}" "$callgate_status")"
  echo "$callgate_code: $text ($action)"
}

# Prints what is missing on this machine, such as the credential file. Exit status 1 if the caller must not send anything.
callgate_ready() {
  if [ -n "${CALLGATE_CREDENTIAL:-}" ] && [ ! -r "$CALLGATE_CREDENTIAL" ]; then
    echo "callgate: there is no file $CALLGATE_CREDENTIAL that can be read: set CALLGATE_CREDENTIAL" >&2
  elif [ "${1:-}" = cache ] && [ -z "${CALLGATE_CACHE:-}" ]; then
    echo "callgate: set CALLGATE_CACHE to a folder of your own" >&2
  else
    return 0
  fi
  return 1
}

# The name of the cache files of this server and user.
callgate_id() { { echo "${CALLGATE_URL:-}" && cat "${CALLGATE_CREDENTIAL:-/dev/null}"; } | sha256sum | cut -c 1-32; }

# Stores the token of the last response. Another process may read the file meanwhile.
callgate_keep() {
  local id token life
  id=$(callgate_id) token=$(callgate_member access_token) life=$(callgate_whole "$(callgate_member expires_in)")
  if [ -z "$token" ] || [ "${life:-0}" -le 0 ]; then
    callgate_status=000 callgate_code=no_answer callgate_wait=1
    return 1
  fi
  # A token's lifetime counts from its request: after a slow response, less of it is left.
  (umask 077 && mkdir -p "$CALLGATE_CACHE" \
    && echo "$((callgate_asked + life * 80 / 100)) $((callgate_asked + life * 95 / 100)) $token" >"$CALLGATE_CACHE/new-$id.$BASHPID" \
    && mv "$CALLGATE_CACHE/new-$id.$BASHPID" "$CALLGATE_CACHE/token-$id" && rm -f "$CALLGATE_CACHE/pause-$id")
}

# Stores how long to wait before the next request, and why.
callgate_pause() {
  (umask 077 && mkdir -p "$CALLGATE_CACHE" \
    && echo "$(($(date +%s) + callgate_wait)) $callgate_status $callgate_code" >"$CALLGATE_CACHE/pause-$(callgate_id)")
}

# callgate_register DEVICE PLATFORM: registers the device of an installation whose tokens arrive by push: fcm, apns or http.
callgate_register() {
  callgate_ready || return 64
  callgate_send 20 '' PUT /installations/self/push "{\"platform\":\"$2\",\"token\":\"$1\"}" || { callgate_problem; return 1; }
}

# callgate_receive MESSAGE: claims the token that a push announces, by its string `message`. A waiting callgate_token gets the token. Exit
# status: 0, 1 with the problem, or 2 for a push about something else.
callgate_receive() {
  callgate_ready cache || return 64
  local claim
  [[ $1 =~ \"_action\":\ *\"access\" && $1 =~ \"_id\":\ *\"([A-Z0-9]{32})\" ]] || return 2
  claim=${BASH_REMATCH[1]}
  if callgate_send 20 access_token POST /access/claim "{\"claim\":\"$claim\"}" && callgate_keep; then return 0; fi
  callgate_pause
  callgate_problem
  return 1
}

# A token for Talkdesk's SDK. Parallel calls share one request. A token is renewed at 80% of its lifetime. Exit status: 0, or 1 with the
# problem.
# shellcheck disable=SC2030,SC2031,SC2094 # The subshell holds the lock, and what it knows ends with it.
callgate_token() {
  callgate_ready cache || return 64
  local id token="" renew end now pause pushed
  id=$(callgate_id)
  (
    umask 077
    mkdir -p "$CALLGATE_CACHE" || exit 1
    exec 9>"$CALLGATE_CACHE/lock-$id"
    flock 9
    now=$(date +%s)
    [ ! -f "$CALLGATE_CACHE/token-$id" ] || read -r renew end token <"$CALLGATE_CACHE/token-$id"
    # Times have ten digits.
    [[ ${renew:-} =~ ^[0-9]{10}$ && ${end:-} =~ ^[0-9]{10}$ ]] || renew=0 end=0
    if [ "$now" -lt "$renew" ]; then
      echo "$token"
      exit 0
    fi
    # The server asked for a pause: an earlier request would only be refused again.
    pause=0
    [ ! -f "$CALLGATE_CACHE/pause-$id" ] || read -r pause callgate_status callgate_code <"$CALLGATE_CACHE/pause-$id"
    [[ $pause =~ ^[0-9]{10}$ ]] || pause=0
    if [ "$now" -ge "$pause" ]; then
      # While the current token is valid, do not wait.
      rm -f "$CALLGATE_CACHE/pause-$id"
      if callgate_send "$([ "$now" -lt "$end" ] && echo 0 || echo 20)" 'access_token|delivery' GET /access; then
        if [ "$callgate_status" != 202 ] && callgate_keep; then
          callgate_member access_token
          exit 0
        fi
        if [ "$callgate_status" = 202 ]; then
          # The push may arrive before the response that announces it. While the current token is valid, wait a minute for the next try.
          for _ in {1..250}; do
            [ "$now" -ge "$end" ] || break
            [ ! -f "$CALLGATE_CACHE/token-$id" ] || read -r _ _ pushed <"$CALLGATE_CACHE/token-$id"
            if [ "${pushed:-$token}" != "$token" ]; then
              echo "$pushed"
              exit 0
            fi
            if [ -f "$CALLGATE_CACHE/pause-$id" ]; then break; fi
            sleep 0.1
          done
          callgate_status=410 callgate_code=claim_expired callgate_wait=60
        fi
      fi
      if [ -f "$CALLGATE_CACHE/pause-$id" ]; then
        # The server refused the claim.
        read -r pause callgate_status callgate_code <"$CALLGATE_CACHE/pause-$id"
      else
        callgate_pause
      fi
    fi
    if [ "$now" -lt "$end" ]; then
      echo "$token"
      exit 0
    fi
    callgate_problem
    exit 1
  )
}

# callgate_call KEY BODY: requests a callback; with `at` in the body, at that time. KEY is a UUID for this tap. It keeps the phone from
# ringing twice: save it, and delete it once the exit status is not 75. Discard it after an hour: the server remembers a key for 24 hours,
# and after that, the phone would ring again. Exit status:
#   0   accepted: the phone rings
#   65  refused: no call was requested
#   73  maybe: the phone may ring; use a new key only when the customer requests another call
#   75  the outcome is unknown: send the same key and body again later
#   64  this script has a bug: the line on stderr names it
callgate_call() {
  callgate_ready cache || return 64
  local id lost=false file=$CALLGATE_CACHE/sent-$1
  if [ -f "$file" ]; then
    lost=true
    # shellcheck disable=SC2031 # Those of this shell.
    if [ -n "$(find "$file" -mmin +60)" ]; then
      callgate_status=000 callgate_code=no_answer
      echo "maybe, $(callgate_problem outcome_unknown)"
      return 73
    fi
  else
    # Saved before the request: if this process ends now, the key may have been sent.
    (umask 077 && mkdir -p "$CALLGATE_CACHE" && touch "$file") || return 75
  fi
  # The server can take up to 20 seconds to respond.
  callgate_send 60 id POST /calls/callback "$2" "$1"
  ! $callgate_lost || lost=true
  id=$(callgate_member id)
  # shellcheck disable=SC2031 # Those of this shell.
  case "$callgate_status $callgate_code" in
    2*)
      rm -f "$file"
      echo "$(callgate_member status) $id"
      return 0
      ;;
    "504 outcome_unknown") set -- 73 maybe ;;
    "502 upstream_failed")
      # Talkdesk returned an error. Only the record says whether Talkdesk may have accepted the call anyway.
      if [ -n "$id" ]; then
        callgate_send 20 status GET "/callbacks/$id"
        if [ "$(callgate_member status)" = failed ]; then set -- 65 refused; else set -- 73 maybe; fi
        callgate_status=502 callgate_code=upstream_failed
      elif $lost; then
        set -- 75 unanswered
      else
        set -- 65 refused
      fi
      ;;
    "409 in_progress") set -- 75 unanswered ;;
    # After a try without a response, a refusal proves nothing: the server may have accepted the earlier try.
    *) if $lost; then set -- 75 unanswered; else set -- 65 refused; fi ;;
  esac
  [ "$1" = 75 ] || rm -f "$file"
  # Only the text of a refusal may prompt the customer to tap again.
  case "$2 $callgate_code" in
    maybe*) set -- "$1" "$2" outcome_unknown ;;
    "unanswered no_answer" | refused*) ;;
    *) set -- "$1" "$2" in_progress ;;
  esac
  echo "$2, $(callgate_problem "${3:-}")"
  return "$1"
}

# callgate_availability [FROM TO]: whether to show the button now, and the times to book (RFC 3339, at most 31 days).
callgate_availability() {
  callgate_ready || return 64
  callgate_send 20 open GET "/availability${1:+?from=$1&to=$2}" || { callgate_problem; return 1; }
  echo "$callgate_answer"
}

# callgate_move ID TIME: moves an appointment to a time (RFC 3339), and prints the new time.
callgate_move() {
  callgate_ready || return 64
  callgate_send 20 status PATCH "/callbacks/$1" "{\"at\":\"$2\"}" || { callgate_problem; return 1; }
  callgate_member at
}

# callgate_cancel ID: cancels an appointment. If it succeeds, the phone never rings.
callgate_cancel() {
  callgate_ready || return 64
  callgate_send 20 status DELETE "/callbacks/$1" || { callgate_problem; return 1; }
  callgate_member status
}

# callgate_enrol APP FILE SHOW [SERVER_APP]: gets a credential for this machine and writes it to FILE. The command SHOW receives the code that
# an operator needs. With a user's JWT as the credential, no code is needed. SERVER_APP is the app in the server's configuration,
# if more than one has installations.
callgate_enrol() {
  local id request="" shown=false body
  id=$(callgate_uuid)
  while :; do
    # Send the same values in each request, byte for byte: the server compares them.
    body="{\"client_id\":\"$id\",\"client_app\":\"$1\"${request:+,\"request_id\":\"$request\"}}"
    if ! callgate_send 60 'client_secret|request_id' POST "/fetch-code${4:+?app=$4}" "$body"; then
      callgate_problem
      return 1
    fi
    if [ -n "$(callgate_member client_secret)" ]; then
      (umask 077 && printf 'user = "%s:%s"\n' "$id" "$(callgate_member client_secret)" >"$2")
      return 0
    fi
    # Until the secret is delivered, anyone with this value can get it: hold it in memory only, and do not log it.
    request=$(callgate_member request_id)
    $shown || "$3" "$(callgate_member user_code)"
    shown=true
    sleep "$(callgate_seconds "$(callgate_member interval)" 5)"
  done
}

# Revokes the credential in CALLGATE_CREDENTIAL. Delete the file afterwards.
callgate_unenrol() { callgate_ready || return 64; callgate_send 20 '' DELETE /installations/self || { callgate_problem; return 1; }; }
