"""What a server with many rows in its database takes: its start, the longest callback beside its regular work, and an idle second."""

import json
import os
import sqlite3
import tempfile
import time
from itertools import count
from pathlib import Path
from statistics import median

from harness import client, process
from harness.callbacks import Caller, Emulator, QuickUpstream
from harness.errors import Unmeasured
from harness.installations import KEY, SECOND
from harness.progress import say
from harness.report import Row
from harness.stand import Stand

FEW = 1_000
STARTS = 5
# The slowest regular work comes every 20 s, so it comes twice.
CALL_SECONDS, CALLS_A_SECOND, IDLE_SECONDS = 45, 20, 20
STALL_MILLISECONDS, START_MILLISECONDS, IDLE_RATIO = 20, 60, 1.5


class Full(Caller):
    """`callgate serve` with callbacks, appointments and installations, and its state in a file."""

    name = "rows"

    def settings_text(self) -> str:
        # JSON is YAML.
        return json.dumps({
            "allow_anonymous": True, "apps": {"shop": {"installations": {}}}, "appointments": {},
            "callbacks": {"brakes": {"per_5m": 1_000_000_000, "per_hour": 1_000_000_000}}})

    def environment(self) -> dict[str, str]:
        return super().environment() | {"CALLGATE_STORE_KEY": KEY}


def measure(stand: Stand, many: int) -> list[Row]:
    """A server with 1,000 rows of each kind, then one with `many`."""
    if stand.binary is None:
        raise Unmeasured("nginx has no rows")
    disk = tempfile.TemporaryDirectory(prefix="callgate-bench.", dir=os.environ.get("TMPDIR", "/var/tmp"))
    with disk as folder, Emulator(stand.scratch, stand.binary) as emulator, QuickUpstream(stand.scratch) as upstream:
        figures = []
        for rows in (FEW, many):
            state = Path(folder) / f"{rows}.sqlite3"
            server = Full(stand.scratch, stand.binary, emulator.variables, upstream.port, str(state))
            with server:
                pass
            fill(state, rows)
            figures.append(_figures(server))
            say("rows: {:,}: start {:.0f} ms, longest callback {:.1f} ms (p99 {:.1f}), idle {:.1f} ms/s, {:.1f} MiB".format(rows, *figures[-1]))
    (few_start, few_longest, few_p99, few_idle, few_memory), (start, longest, p99, idle, memory) = figures
    title = f"{FEW:,}; {many:,} rows of each kind"
    return [
        Row(f"start to first answer, {title}", f"{few_start:.0f}; {start:.0f} ms", target=f"≤ +{START_MILLISECONDS} ms",
            met=start - few_start <= START_MILLISECONDS),
        Row(f"longest of {CALL_SECONDS * CALLS_A_SECOND} callbacks (p99)", f"{few_longest:.1f} ({few_p99:.1f}); {longest:.1f} ({p99:.1f}) ms",
            target=f"≤ {STALL_MILLISECONDS} ms", met=longest <= STALL_MILLISECONDS),
        Row("CPU of an idle second", f"{few_idle:.1f}; {idle:.1f} ms", ratio=f"{idle / few_idle:.2f}", target=f"≤ {IDLE_RATIO}",
            met=idle <= few_idle * IDLE_RATIO),
        Row("resident memory", f"{few_memory:.1f}; {memory:.1f} MiB"),
    ]


def _figures(server: Full) -> tuple[float, float, float, float, float]:
    starts = []
    for _ in range(STARTS):
        began = time.monotonic()
        with server:
            starts.append((time.monotonic() - began) * 1000)
    with server:
        # The first look and the first count are over then.
        time.sleep(3)
        before = process.cpu_seconds(server.pid)
        time.sleep(IDLE_SECONDS)
        idle = (process.cpu_seconds(server.pid) - before) * 1000 / IDLE_SECONDS
        times = sorted(_calls(server.port))
        memory = process.settled_resident_bytes(server.pid) / 2**20
    return median(starts), times[-1], times[len(times) * 99 // 100], idle, memory


def _calls(port: int) -> list[float]:
    """Milliseconds of callbacks that begin evenly, each for another number."""
    times = []
    start = time.monotonic()
    with client.connect(port) as connection:
        for number in count():
            due = start + number / CALLS_A_SECOND
            if due >= start + CALL_SECONDS:
                return times
            time.sleep(max(0, due - time.monotonic()))
            content = json.dumps({"contact_phone_number": f"+1415{2_000_000 + number}"}).encode()
            began = time.monotonic()
            connection.sendall(client.request("/calls/callback", "POST", content))
            answer = client.read_answer(connection)
            if answer.status != 201:
                raise Unmeasured(f"a callback was answered {answer.status}: {answer.content[:200]!r}")
            times.append((time.monotonic() - began) * 1000)
    return times


def fill(state: Path, rows: int) -> None:
    """Finished callbacks, appointments from tomorrow on, installations and allowances, as many of each."""
    now = time.time_ns() // SECOND * SECOND
    due = now + 86_400 * SECOND
    later = f"{due} + n * {SECOND}"
    with sqlite3.connect(state) as store:
        [(key,)] = store.execute("SELECT id FROM callgate_store_key")
        numbers = f"FROM (WITH RECURSIVE c (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < {rows}) SELECT n FROM c)"
        for table, values in {
            "callback (id, caller, contact, created, settled, status, instance, abandoned, expires, generation, numbers)":
                f"CAST(printf('1%015d', n) AS BLOB), 'app', '+*********00', {now}, {now}, 'accepted', 1, {now}, {due} + n, 0, zeroblob(16)",
            "callback (id, caller, contact, created, status, instance, abandoned, expires, due, at, slot, generation, content, content_key, content_until)":
                f"CAST(printf('2%015d', n) AS BLOB), 'app' || n % 1000, '+*********00', {now}, 'scheduled', 1, {later}, {later} + 1, {later},"
                f" {later}, {due // SECOND} + n / 100, 0, zeroblob(200), ?, {later}",
            "installation (id, client_app, app, address, secret, generation, created, used, last_step, counter, failures)":
                f"CAST(printf('3%015d', n) AS BLOB), 'Shop', 'shop', '203.0.113.7', zeroblob(32), 1, {now}, {now}, -1, 0, 0",
            "allowance (id, mark, used, expires)": f"CAST(printf('4%015d', n) AS BLOB), 0, 1, {due // SECOND} + n % 1000 * 600",
        }.items():
            store.execute(f"INSERT INTO callgate_{table} SELECT {values} {numbers}", (key,) if "?" in values else ())
    store.close()
