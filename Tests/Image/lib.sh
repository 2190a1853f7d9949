# shellcheck shell=bash
# shellcheck disable=SC2034  # what is set here is read by the tests
# What every test of the container image stands on: the end-to-end tests' helpers, with the binary taken out of the image,
# and containers restricted as they are meant to run. Called by script/image, which sets ENGINE, IMAGE, BASE and SBOM.
: "${ENGINE:?docker or podman}" "${IMAGE:?the image under test}" "${BASE:?the image it is built upon}"
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
export CALLGATE="$root/.build/image/callgate"
LOGS=$(mktemp -d)
export LOGS
# shellcheck source=Tests/EndToEnd/lib.sh
. "$root/Tests/EndToEnd/lib.sh"

containers=()
volumes=()
clean_up() {
  local name
  for name in ${containers[@]+"${containers[@]}"}; do "$ENGINE" rm --force --volumes "$name" >/dev/null 2>&1; done
  for name in ${volumes[@]+"${volumes[@]}"}; do "$ENGINE" volume rm --force "$name" >/dev/null 2>&1; done
  cleanup
  rm -rf "$LOGS"
}
trap clean_up EXIT

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
