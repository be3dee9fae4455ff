#!/usr/bin/env bash
# Containers for real: an engine, the image of the reference, the tests that need both, and the reference judged in it.
# Where no engine answers, Debian's is installed and runs in the background until this script ends, in a folder of its own.
set -euo pipefail
cd "$(dirname "$0")/.."

start_engine() {
    if ! command -v dockerd >/dev/null 2>&1 || ! command -v docker >/dev/null 2>&1; then
        apt-get update -qq
        apt-get install -y -qq docker.io tini
    fi
    engine=$(mktemp -d)
    export DOCKER_HOST="unix://$engine/docker.sock"
    dockerd --host="$DOCKER_HOST" --data-root="$engine/data" --exec-root="$engine/exec" --pidfile="$engine/pid" \
        >"$engine/log" 2>&1 &
    daemon=$!
    trap stop_engine EXIT
    for _ in $(seq 60); do
        if docker info >/dev/null 2>&1; then return; fi
        kill -0 "$daemon" || break
        sleep 1
    done
    tail -n 50 "$engine/log" >&2
    echo "dockerd does not come up; its last lines are above." >&2
    exit 1
}

stop_engine() {
    kill "$daemon" 2>/dev/null || true
    wait "$daemon" || true
    rm -rf "$engine"
}

docker info >/dev/null 2>&1 || start_engine
.ci/reference-image.sh
make test-container

# Every vector once, and one crash sweep: each kill starts a container again. All sweeps run on the same program as a process.
.venv/bin/pytest conformance -n auto -q --adapter=reference-container --results=reports/container.json \
    -k 'not killed or SEND-001'
.venv/bin/python - <<'COMPARE'
import json

one, other = (
    {case["id"]: case["outcome"] for case in json.load(open(f"reports/{name}.json", encoding="utf-8"))["cases"]}
    for name in ("in-process", "container")
)
unswept = {case for case in one if not case.endswith("+killed")}
different = {case for case in other.keys() | unswept if one.get(case) != other.get(case)}
assert not different, f"in process and in a container differ in {sorted(different)}"
print(f"{len(other)} cases have the same verdict in process and in a container.")
COMPARE

# The reference relay as an image, over its sockets: the verdicts of the same relay as a command.
.venv/bin/pytest conformance -n 4 -q --adapter=reference-relay-image --results=reports/relay-image.json
.venv/bin/python - <<'COMPARE'
import json

one, other = (
    {case["id"]: case["outcome"] for case in json.load(open(f"reports/{name}.json", encoding="utf-8"))["cases"]}
    for name in ("tcp", "relay-image")
)
different = {case for case in one.keys() | other.keys() if one.get(case) != other.get(case)}
assert not different, f"as a command and as an image differ in {sorted(different)}"
print(f"{len(other)} cases have the same verdict by command and by image.")
COMPARE

left=$(docker ps --all --quiet --filter label=org.trueseal.conformance.run)
if [ -n "$left" ]; then
    echo "Containers stayed behind: $left" >&2
    exit 1
fi
