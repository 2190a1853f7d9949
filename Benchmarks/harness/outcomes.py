"""Events of Talkdesk's: how many a second become outcomes of durable callbacks, and what one costs in processor time."""

import base64
import hmac
import json
import os
import statistics
import tempfile
import time
import uuid
from contextlib import ExitStack
from pathlib import Path

from harness import callbacks, client, load, process
from harness.callbacks import Caller, Emulator, Numbers, QuickUpstream
from harness.errors import Unmeasured
from harness.progress import say
from harness.report import Row
from harness.servers import Server
from harness.stand import Stand

SECRET = b"benchmark-hook-secret-of-more-than-32-octets"
MOST_EVENTS = 5_000
CONNECTIONS = 32
TARGET = 1_000.0
WITHIN_SECONDS = 60.0
TOLD = b'"action":"outcome"'


class Learner(Caller):
    """`callgate serve` with callbacks and a hook for their outcomes."""

    name = "outcomes"

    def settings_text(self) -> str:
        secret = self.scratch / "hook.secret"
        secret.write_bytes(SECRET)
        secret.chmod(0o600)
        return super().settings_text() + f"outcomes: {{ hook: {{ secret_file: {secret} }} }}\n"


def measure(stand: Stand, rounds: int, seconds: float) -> list[Row]:
    """The rate at which events become outcomes, and the processor time of one."""
    if stand.binary is None:
        raise Unmeasured("nginx has no hook")
    rates, costs = [], []
    numbers = Numbers()
    disk = tempfile.TemporaryDirectory(prefix="callgate-bench.", dir=os.environ.get("TMPDIR", "/var/tmp"))
    with disk as folder, Emulator(stand.scratch, stand.binary) as emulator, QuickUpstream(stand.scratch) as upstream:
        for number in range(rounds):
            path = str(Path(folder) / f"{number}.sqlite3")
            with Learner(stand.scratch, stand.binary, emulator.variables, upstream.port, path) as server:
                rate, cost = _round(server, numbers, seconds)
            rates.append(rate)
            costs.append(cost)
            say(f"outcomes {number + 1}/{rounds}: {rate:,.0f} events/s, {cost:.0f} µs")
    rate = statistics.median(rates)
    return [
        Row(
            "events per second that become outcomes of durable callbacks, SQLite",
            f"{rate:,.0f} /s",
            target=f"≥ {TARGET:,.0f} /s",
            met=rate >= TARGET,
        ),
        Row("server CPU per outcome, SQLite", f"{statistics.median(costs):.0f} µs"),
    ]


def _round(server: Server, numbers: Numbers, seconds: float) -> tuple[float, float]:
    """Outcomes per second, and microseconds of processor time for each."""
    first = numbers.next
    made = callbacks.run(server.port, seconds, numbers, load.CONNECTIONS, 0).requests
    # Those of the last moment may have no record.
    count = min(MOST_EVENTS, made - 2 * load.CONNECTIONS)
    if count < 100:
        raise Unmeasured(f"only {made} callbacks were made")
    server.await_lines()
    server.take_lines()
    # wrk makes one request before the first that it sends.
    events = [_event(first + 2 + index) for index in range(count)]
    used, began = process.cpu_seconds(server.pid), time.monotonic()
    _send(server.port, events)
    while (told := server.lines.read_bytes().count(TOLD)) < count:
        if time.monotonic() > began + WITHIN_SECONDS:
            raise Unmeasured(f"{told} of {count} events became outcomes within {WITHIN_SECONDS:g} s")
        time.sleep(0.01)
    took = time.monotonic() - began
    return count / took, (process.cpu_seconds(server.pid) - used) / count * 1e6


def _send(port: int, events: list[bytes]) -> None:
    """Posts each event until it is taken: the queue has an end."""
    waiting = events[::-1]
    with ExitStack() as stack:
        connections = [stack.enter_context(client.connect(port)) for _ in range(CONNECTIONS)]
        while waiting:
            asked = [(connection, waiting.pop()) for connection in connections[: len(waiting)]]
            for connection, event in asked:
                connection.sendall(event)
            refused = []
            for connection, event in asked:
                status = client.read_answer(connection).status
                if status == 503:
                    refused.append(event)
                elif status != 204:
                    raise Unmeasured(f"an event was answered {status}")
            waiting += refused[::-1]
            if refused:
                time.sleep(0.02)


def _event(number: int) -> bytes:
    """The request that tells of a call to a number of callbacks.lua, as the template asks for it."""
    now = int(time.time())
    told = {
        "token": _derived(b"event"), "trigger": "outboundCallEnds", "event": "call ended", "call_id": str(uuid.uuid4()),
        "type": "outbound", "contact_phone_number": f"+1415{number:07}", "talkdesk_phone_number": "+18005550199",
        "start_time": str(now), "timestamp": str(now + 52), "total_duration": "52", "duration": "40",
        "waiting_time": "12", "hold_time": "0",
    }
    return client.request("/hooks/talkdesk/" + _derived(b"path"), "POST", json.dumps(told).encode())


def _derived(purpose: bytes) -> str:
    """HKDF (RFC 5869) with one block, as base64url."""
    key = hmac.digest(b"callgate outcomes", SECRET, "sha256")
    return base64.urlsafe_b64encode(hmac.digest(key, purpose + b"\x01", "sha256")).rstrip(b"=").decode()
