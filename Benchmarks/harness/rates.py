"""What a rule that counts in the store gives: requests in a second and their latency, with and without callbacks beside them."""

import os
import tempfile
import threading
from pathlib import Path
from statistics import median

from harness import load
from harness.callbacks import SCRIPT, Caller, Emulator, Numbers, QuickUpstream
from harness.load import Load
from harness.progress import say
from harness.report import Row
from harness.stand import Stand, in_turns

# Callbacks in a second: as many connections, each of which pauses for a second on average.
BESIDE, PAUSE_MILLISECONDS = 100, 2_000
SQLITE_TARGET, POSTGRES_TARGET = 15_000, 6_000


class Counter(Caller):
    """A caller's server, whose tokens are counted by one rule in the store. It refuses nothing."""

    name = "rates"

    def environment(self) -> dict[str, str]:
        variables = super().environment()
        if "://" in variables["CALLGATE_STATE"]:
            variables["DATABASE_URL"] = variables.pop("CALLGATE_STATE")
        return variables

    def settings_text(self) -> str:
        rule = "{ name: many, kind: rate, key: global, limit: 1000000000, per: 1m, burst: 1000000000, on: access }"
        return super().settings_text() + f"rules:\n  - {rule}\n"


def measure(stand: Stand, rounds: int, seconds: float, database: str | None) -> list[Row]:
    """With the state in SQLite, and in PostgreSQL where `database` is a connection string."""
    if stand.binary is None:
        return []
    numbers, rows = Numbers(), []
    disk = tempfile.TemporaryDirectory(prefix="callgate-bench.", dir=os.environ.get("TMPDIR", "/var/tmp"))
    stores = [("SQLite", str(Path(disk.name) / "rates.sqlite3"), SQLITE_TARGET)]
    stores += [("PostgreSQL", database, POSTGRES_TARGET)] if database else []
    with disk, Emulator(stand.scratch, stand.binary) as emulator, QuickUpstream(stand.scratch) as upstream:
        for name, state, target in stores:
            with Counter(stand.scratch, stand.binary, emulator.variables, upstream.port, state) as server:
                rows += _store(server, name, target, numbers, rounds, seconds)
    return rows


def _store(server: Counter, name: str, target: int, numbers: Numbers, rounds: int, seconds: float) -> list[Row]:
    runs: tuple[list[Load], list[Load]] = ([], [])
    callbacks: list[float] = []
    load.run(server.port, 1)
    for number in range(rounds):
        for beside in in_turns(number):
            runs[beside].append(_run(server, numbers, seconds, callbacks if beside else None))
        server.take_lines()
        alone, both = (taken[-1] for taken in runs)
        say(f"rates {number + 1}/{rounds}, {name}: {alone.rate:,.0f}/s, beside callbacks {both.rate:,.0f}/s")

    def text(taken: list[Load]) -> str:
        rate, p50, p99 = (median(getattr(one, key) for one in taken) for key in ("rate", "p50", "p99"))
        return f"{rate:,.0f} /s, {p50:.1f} and {p99:.1f} ms"

    rate = median(one.rate for one in runs[0])
    return [
        Row(
            f"GET /access with one rate, {name}, 64 connections: rate, p50 and p99 "
            f"(peer: the same beside {median(callbacks):.0f} callbacks per second)",
            text(runs[0]),
            text(runs[1]),
            f"{median(both.rate for both in runs[1]) / rate:.2f}",
            f"≥ {target:,} /s",
            rate >= target,
        )
    ]


def _run(server: Counter, numbers: Numbers, seconds: float, callbacks: list[float] | None) -> Load:
    """One run under load, with callbacks beside it where their rates are asked for."""
    if callbacks is None:
        return load.run(server.port, seconds)
    first = str(numbers.take(int(BESIDE * 4 * (seconds + 3))))
    calling = threading.Thread(
        target=lambda: callbacks.append(
            load.run(server.port, seconds, "/", BESIDE, script=SCRIPT, arguments=[first, str(PAUSE_MILLISECONDS)]).rate
        )
    )
    calling.start()
    try:
        return load.run(server.port, seconds)
    finally:
        calling.join()
