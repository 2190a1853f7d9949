"""What an installation costs: a request with a known credential and with one that the store has to be asked for, memory and disk."""

import base64
import hashlib
import json
import os
import sqlite3
import uuid
from pathlib import Path
from statistics import median

from harness import client, load, process
from harness.callbacks import Emulator
from harness.errors import Unmeasured
from harness.progress import say
from harness.report import Row
from harness.servers import Callgate
from harness.stand import Stand
from harness.throughput import Run, under_load

COLD = Path(__file__).resolve().parent.parent / "installations.lua"
# Made up, and good for the stores of this harness alone.
KEY = base64.b64encode(b"a store key of the benchmark own").decode()
SECRET = "a-secret-of-the-benchmarks-installations"
APP = "Shop for everyone, 1"  # 20 characters.
SECOND = 1_000_000_000

WARM_MICROSECONDS = 1.0
COLD_MICROSECONDS = 50.0
MEMORY_MEBIBYTES = 8 * 10**6 / 2**20
ROW_BYTES = 250


class Kept(Callgate):
    """`callgate serve` with installations and its state in a file."""

    name = "installations"

    def __init__(self, scratch: Path, binary: Path, variables: dict[str, str], state: Path) -> None:
        super().__init__(scratch, binary, settings=scratch / "installations.yaml")
        self.variables = {**variables, "CALLGATE_STATE": str(state), "CALLGATE_STORE_KEY": KEY}

    def command(self) -> list[str]:
        # JSON is YAML.
        self.settings.write_text(json.dumps({"allow_anonymous": True, "apps": {"shop": {"installations": {}}}}))
        return [str(self.binary), "serve", "--config", str(self.settings), "--host", client.HOST, "--port", "0"]

    def environment(self) -> dict[str, str]:
        return super().environment() | self.variables


def measure(stand: Stand, rounds: int, seconds: float, count: int) -> list[Row]:
    """A server with an empty store, and one with `count` installations, in turns."""
    if stand.binary is None:
        raise Unmeasured("nginx has no installations")
    with Emulator(stand.scratch, stand.binary) as emulator:
        return _measure(stand.scratch, stand.binary, emulator.variables, rounds, seconds, count)


def _measure(scratch: Path, binary: Path, variables: dict[str, str], rounds: int, seconds: float, count: int) -> list[Row]:
    empty, full = (scratch / f"{name}.sqlite3" for name in ("empty", "full"))
    for state in (empty, full):
        with Kept(scratch, binary, variables, state):
            pass
    say(f"installations: writing {count:,} rows …")
    credentials = fill(full, count)
    row_bytes = _row_bytes(full, scratch / "rows.sqlite3", count)
    cold_file = scratch / "credentials.txt"
    cold_file.write_text("\n".join(credentials) + "\n")

    with Kept(scratch, binary, variables, empty) as server:
        under_load(server, 1)
        before = process.settled_resident_bytes(server.pid)
    with Kept(scratch, binary, variables, full) as server:
        under_load(server, 1)
        grown = (process.settled_resident_bytes(server.pid) - before) / 2**20
        runs: dict[str, list[Run]] = {"anonymous": [], "warm": [], "cold": []}
        for number in range(rounds):
            order = list(runs)[number % 3 :] + list(runs)[: number % 3]
            for kind in order:
                runs[kind].append(_run(server, kind, seconds, credentials[0], cold_file))
            say(f"installations {number + 1}: CPU " + ", ".join(f"{kind} {taken[-1].cpu_microseconds:.2f} µs" for kind, taken in runs.items()))
        after = (process.settled_resident_bytes(server.pid) - before) / 2**20
    say(f"installations: {grown:+.1f} MiB, after the load {after:+.1f} MiB, {row_bytes:.0f} bytes a row")

    def over(kind: str) -> float:
        return median(one.cpu_microseconds - bare.cpu_microseconds for one, bare in zip(runs[kind], runs["anonymous"], strict=True))

    cpu = {kind: median(run.cpu_microseconds for run in taken) for kind, taken in runs.items()}
    return [
        Row("server CPU per request, an installation, again", f"{cpu['warm']:.2f} µs ({over('warm'):+.2f})", target=f"≤ anonymous + {WARM_MICROSECONDS:g} µs",
            met=over("warm") <= WARM_MICROSECONDS),
        Row(f"the same, another of {len(credentials):,} each time", f"{cpu['cold']:.2f} µs ({over('cold'):+.2f})", target=f"≤ anonymous + {COLD_MICROSECONDS:g} µs",
            met=over("cold") <= COLD_MICROSECONDS),
        Row(f"resident memory with {count:,} installations", f"{grown:+.1f} MiB", target=f"≤ {MEMORY_MEBIBYTES:.1f} MiB", met=grown <= MEMORY_MEBIBYTES),
        Row("an installation in SQLite, indexes apart", f"{row_bytes:.0f} B", target=f"≤ {ROW_BYTES} B", met=row_bytes <= ROW_BYTES),
    ]


def _run(server: Kept, kind: str, seconds: float, credential: str, cold: Path) -> Run:
    if kind != "cold":
        return under_load(server, seconds, ("Authorization", f"Basic {credential}") if kind == "warm" else ())
    server.take_lines()
    before = process.cpu_seconds(server.pid)
    counted = load.run(server.port, seconds, script=COLD, arguments=(str(cold),))
    server.await_lines()
    used = process.cpu_seconds(server.pid) - before
    server.take_lines()
    return Run(counted, used / counted.requests * 1e6, process.resident_bytes(server.pid) / 2**20, 0, 0)


def fill(state: Path, count: int) -> list[str]:
    """Writes installations of made-up phones; the credentials of some, as HTTP Basic has them."""
    digest = hashlib.sha256(SECRET.encode()).digest()
    now = int(os.stat(state).st_mtime) * SECOND
    names = [uuid.uuid4() for _ in range(count)]
    columns = "id, client_app, app, address, secret, generation, created, used, last_step, counter, failures"
    with sqlite3.connect(state) as store:
        store.execute("PRAGMA journal_mode = WAL")
        store.executemany(
            f"INSERT INTO callgate_installation ({columns}) VALUES (?, ?, 'shop', '203.0.113.7', ?, 1, ?, ?, -1, 0, 0)",
            ((name.bytes, APP, digest, now, now) for name in sorted(names)),
        )
    store.close()
    return [base64.b64encode(f"{name}:{SECRET}".encode()).decode() for name in names[:100_000]]


def _row_bytes(state: Path, copy: Path, count: int) -> float:
    """The size of the table alone, by row."""
    with sqlite3.connect(copy) as alone:
        alone.execute("ATTACH ? AS full", (str(state),))
        [[sql]] = alone.execute("SELECT sql FROM full.sqlite_schema WHERE name = 'callgate_installation'").fetchall()
        alone.execute(sql)
        empty = copy.stat().st_size
        alone.execute("INSERT INTO main.callgate_installation SELECT * FROM full.callgate_installation ORDER BY id")
    alone.close()
    return (copy.stat().st_size - empty) / count
