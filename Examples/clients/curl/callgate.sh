# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# A Callgate server from a shell: tokens, also by push, callbacks, appointments, and enrolment. Source this file; it needs bash,
# curl and flock. Version 0.2.0.
#
#   CALLGATE_URL         the server, http://localhost:8080 by default
#   CALLGATE_CREDENTIAL  a file of mode 0600 with one line for curl: user = "NAME:PASSWORD", or oauth2-bearer = "JWT". Other users of
#                        the machine see the arguments of a command, and not such a file.
#   CALLGATE_CACHE       a folder of mode 0700 that keeps tokens, and the keys of callbacks whose outcome is not known
#
# Each function prints its result, or the problem: its code, what a customer should read, and what to do (see callgate_meaning).

# What a code means: what to do, and what a customer should read.
#   later       try again later: after retry_after seconds, if given
#   authorize   sign in again, or enrol again if there is an installation
#   enrol       begin the enrolment again; after taken, with a new UUID
#   correct     let the customer correct the number or what `fields` names
#   choose_time offer other times: `alternatives`, or from `next_open` on
#   look        ask for the record, and show what it says
#   maybe       the phone may ring: do not repeat the request with a new key
#   show        show the text; there is nothing to repeat
#   report      a mistake of the program or of its configuration
callgate_meaning() {
  case "$1" in
    malformed_request) echo report "Something is wrong with this app. Please update it." ;;
    invalid_json) echo report "Something is wrong with this app. Please update it." ;;
    unauthenticated) echo authorize "Please sign in again." ;;
    invalid_token) echo authorize "Please sign in again." ;;
    invalid_client) echo authorize "This phone is no longer registered. Please register it again." ;;
    invalid_proof) echo report "Please update this app." ;;
    attestation_required) echo report "Please update this app." ;;
    attestation_failed) echo show "Please install this app from its store." ;;
    closed) echo choose_time "We are closed at this time. Please choose another." ;;
    denied) echo show "We cannot offer you this. Please contact us." ;;
    number_not_allowed) echo correct "We cannot call this number. Please enter another." ;;
    no_agents) echo later "All our agents are busy. Please try again in a minute." ;;
    stopped) echo later "We are not taking requests right now." ;;
    not_found) echo show "We no longer know this call." ;;
    unknown_app) echo report "Something is wrong with this app. Please update it." ;;
    method_not_allowed) echo report "Something is wrong with this app. Please update it." ;;
    request_timeout) echo later "Your connection is slow. Please try again." ;;
    too_many) echo show "You have registered too many phones. Please remove one first." ;;
    taken) echo enrol "This phone is registered for another user. Please try again." ;;
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
    upstream_rate_limited) echo later "We have many calls at the moment. Please try again shortly." ;;
    fields_too_large) echo report "Something is wrong with this app. Please update it." ;;
    internal) echo later "Something went wrong on our side. Please try again later." ;;
    upstream_refused) echo show "We cannot call you at the moment." ;;
    upstream_failed) echo look "Something went wrong on our side." ;;
    upstream_unavailable) echo later "We cannot call you at the moment. Please try again shortly." ;;
    audit_unavailable) echo later "We cannot call you at the moment. Please try again shortly." ;;
    store_unavailable) echo later "We cannot call you at the moment. Please try again shortly." ;;
    attestation_unavailable) echo later "We cannot call you at the moment. Please try again shortly." ;;
    overloaded) echo later "We have many requests at the moment. Please try again shortly." ;;
    upstream_timeout) echo later "We cannot call you at the moment. Please try again shortly." ;;
    outcome_unknown) echo maybe "We may be calling you. Please keep your phone at hand." ;;
    no_answer) echo later "We could not reach our server. Check your connection and try again." ;;
    # A later server may have more codes. Their status says enough.
    *) case "${2:-0}" in
      401) echo authorize "Please sign in again." ;;
      403 | 404 | 409 | 410) echo show "We cannot do this right now." ;;
      0 | 429 | 5*) echo later "We cannot do this at the moment. Please try again later." ;;
      *) echo report "Something is wrong with this app. Please update it." ;;
    esac ;;
  esac
}

# A member of the last response: a text without escapes, a number or a word.
callgate_member() { sed -nE "s/.*\"$1\": *(\"([^\"]*)\"|([^\",}]*)).*/\2\3/p" <<<"$callgate_answer" | head -n 1; }

# The first of some texts that is a whole number of at most nine digits. bash would run commands in any other text within $((…)).
callgate_whole() {
  local text
  for text in "$@"; do
    ! [[ $text =~ ^(0|[1-9][0-9]{0,8})$ ]] || { echo "$text" && return; }
  done
}

# callgate_seconds TEXT... OTHERWISE: a pause that the server asks for, at least one second.
callgate_seconds() {
  local seconds
  seconds=$(callgate_whole "$@")
  echo "$((seconds < 1 ? 1 : seconds))"
}

# A UUID, and a key for one tap.
callgate_uuid() { cat /proc/sys/kernel/random/uuid 2>/dev/null || uuidgen; }

# callgate_send PATIENCE MEMBERS METHOD PATH [BODY [KEY]]: the response is in callgate_answer, callgate_status (000: none),
# callgate_code and callgate_wait. A success without one of MEMBERS (a|b) is none of Callgate's. callgate_asked is when the last try
# began, and callgate_lost whether a try got no response. It sends again only where that is safe: without a response, after 409
# in_progress, 429 and 503, and after an error of a proxy. It waits as long as the server says, and starts no try that PATIENCE
# (seconds) has no room for.
callgate_send() {
  local end=$((SECONDS + $1)) members="\"($2)\": *(\"[^\"]|[^\" ])" pause=1 left head more=()
  [ -n "$2" ] || members='.*'
  shift
  [ -z "${CALLGATE_CREDENTIAL:-}" ] || more+=(--config "$CALLGATE_CREDENTIAL")
  # The body goes by standard input: it may hold a secret, too.
  [ -z "${4:-}" ] || more+=(-H 'Content-Type: application/json' --data-binary @-)
  [ -z "${5:-}" ] || more+=(-H "Idempotency-Key: $5")
  callgate_lost=false
  while :; do
    callgate_asked=$(date +%s)
    left=$((end - SECONDS))
    left=$((left < 5 ? 5 : left > 25 ? 25 : left))
    # A response that broke off is none, whatever its status.
    callgate_answer=$(curl -gsS --max-time $left -X "$2" -H 'Accept: application/json' "${more[@]}" -w '\n%{http_code} %header{retry-after}' \
      "${CALLGATE_URL:-http://localhost:8080}$3" 2>/dev/null <<<"${4:-}") || callgate_answer=$'\n000'
    head=${callgate_answer##*$'\n'}
    callgate_answer=${callgate_answer%$'\n'*}
    read -r callgate_status callgate_wait <<<"$head"
    callgate_code=
    case "$callgate_status" in
      2*)
        [[ $callgate_answer =~ $members ]] && return 0
        # Such as a page of a network that wants a login.
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

# Names what is missing on this machine, such as the credential's file. Exit status: 1 where the caller must send nothing.
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

# What names the files of this server and this user.
callgate_id() { { echo "${CALLGATE_URL:-}" && cat "${CALLGATE_CREDENTIAL:-/dev/null}"; } | sha256sum | cut -c 1-32; }

# Keeps the token of the last response. Another process may read the file meanwhile.
callgate_keep() {
  local id token life
  id=$(callgate_id) token=$(callgate_member access_token) life=$(callgate_whole "$(callgate_member expires_in)")
  if [ -z "$token" ] || [ "${life:-0}" -le 0 ]; then
    callgate_status=000 callgate_code=no_answer callgate_wait=1
    return 1
  fi
  # Counted from when it was asked for: after a slow response a token is older than it looks.
  (umask 077 && mkdir -p "$CALLGATE_CACHE" \
    && echo "$((callgate_asked + life * 80 / 100)) $((callgate_asked + life * 95 / 100)) $token" >"$CALLGATE_CACHE/new-$id.$BASHPID" \
    && mv "$CALLGATE_CACHE/new-$id.$BASHPID" "$CALLGATE_CACHE/token-$id" && rm -f "$CALLGATE_CACHE/pause-$id")
}

# Keeps for how long not to ask, and why.
callgate_pause() {
  (umask 077 && mkdir -p "$CALLGATE_CACHE" \
    && echo "$(($(date +%s) + callgate_wait)) $callgate_status $callgate_code" >"$CALLGATE_CACHE/pause-$(callgate_id)")
}

# callgate_register DEVICE PLATFORM: registers the device of an installation whose tokens come by push: fcm, apns or http.
callgate_register() {
  callgate_ready || return 64
  callgate_send 20 '' PUT /installations/self/push "{\"platform\":\"$2\",\"token\":\"$1\"}" || { callgate_problem; return 1; }
}

# callgate_receive MESSAGE: claims the token of a notice, the text `message` of a push. A callgate_token that waits gets the token. Exit
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

# A token for Talkdesk's SDK. Parallel calls share one request. A token is renewed at 80 % of its life. Exit status: 0, or 1 with the
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
    # The server asked for a pause: asking earlier would only be refused again.
    pause=0
    [ ! -f "$CALLGATE_CACHE/pause-$id" ] || read -r pause callgate_status callgate_code <"$CALLGATE_CACHE/pause-$id"
    [[ $pause =~ ^[0-9]{10}$ ]] || pause=0
    if [ "$now" -ge "$pause" ]; then
      # With a token that is still good there is no need to wait.
      rm -f "$CALLGATE_CACHE/pause-$id"
      if callgate_send "$([ "$now" -lt "$end" ] && echo 0 || echo 20)" 'access_token|delivery' GET /access; then
        if [ "$callgate_status" != 202 ] && callgate_keep; then
          callgate_member access_token
          exit 0
        fi
        if [ "$callgate_status" = 202 ]; then
          # The notice may come before the response that announces it. A token that is still good will do until the next minute.
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
        # The claim was refused.
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

# callgate_call KEY BODY: requests a callback, with `at` in the body at that time. KEY is the name of this one tap, a UUID: keep it until
# the exit status is another than 75, as it is what keeps the phone from ringing twice. Discard it after an hour: the server keeps a key
# for 24 hours, and then the phone would ring again. Exit status:
#   0   accepted: it rings
#   65  refused: no call was requested
#   73  maybe: it may ring; use a new key only when the customer asks for another call
#   75  not known yet: send the same again later
#   64  a mistake of this script: the line on stderr names it
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
    # Saved before it is sent: if this process ends now, the key may have been sent.
    (umask 077 && mkdir -p "$CALLGATE_CACHE" && touch "$file") || return 75
  fi
  # The server itself takes up to 20 seconds for a response.
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
      # Talkdesk responded with a failure. Only the record says whether it may have taken the call all the same.
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
    # After a try without a response, a refusal proves nothing: the server may have accepted that try.
    *) if $lost; then set -- 75 unanswered; else set -- 65 refused; fi ;;
  esac
  [ "$1" = 75 ] || rm -f "$file"
  # Only the text of a refusal may lead the customer to tap again.
  case "$2 $callgate_code" in
    maybe*) set -- "$1" "$2" outcome_unknown ;;
    "unanswered no_answer" | refused*) ;;
    *) set -- "$1" "$2" in_progress ;;
  esac
  echo "$2, $(callgate_problem "${3:-}")"
  return "$1"
}

# callgate_availability [FROM TO]: whether to show the button now, and the times that can be booked (RFC 3339, at most 31 days).
callgate_availability() {
  callgate_ready || return 64
  callgate_send 20 open GET "/availability${1:+?from=$1&to=$2}" || { callgate_problem; return 1; }
  echo "$callgate_answer"
}

# callgate_move ID TIME: moves an appointment to another time (RFC 3339), and prints the new time.
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

# callgate_enrol APP FILE SHOW [SERVER_APP]: gets a credential for this machine and writes it to FILE. The command SHOW gets the code that
# an operator needs. With a user's JWT as the credential there is no code to show. SERVER_APP is the app in the server's configuration,
# if more than one has installations.
callgate_enrol() {
  local id request="" shown=false body
  id=$(callgate_uuid)
  while :; do
    # All values stay the same in each request, byte for byte: the server compares them.
    body="{\"client_id\":\"$id\",\"client_app\":\"$1\"${request:+,\"request_id\":\"$request\"}}"
    if ! callgate_send 60 'client_secret|request_id' POST "/fetch-code${4:+?app=$4}" "$body"; then
      callgate_problem
      return 1
    fi
    if [ -n "$(callgate_member client_secret)" ]; then
      (umask 077 && printf 'user = "%s:%s"\n' "$id" "$(callgate_member client_secret)" >"$2")
      return 0
    fi
    # It is worth a secret until the secret is delivered: keep it in memory, and out of logs.
    request=$(callgate_member request_id)
    $shown || "$3" "$(callgate_member user_code)"
    shown=true
    sleep "$(callgate_seconds "$(callgate_member interval)" 5)"
  done
}

# Ends the installation whose credential is CALLGATE_CREDENTIAL. Delete the file afterwards.
callgate_unenrol() { callgate_ready || return 64; callgate_send 20 '' DELETE /installations/self || { callgate_problem; return 1; }; }
