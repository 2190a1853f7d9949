#!/usr/bin/env python3
"""Measures Callgate beside nginx and OpenSSL on this machine. Run it through script/bench; Benchmarks/README.md explains it."""

import argparse
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))

from harness import (  # noqa: E402
    callbacks,
    client,
    credentials,
    desks,
    filled,
    herd,
    installations,
    lateness,
    machine,
    memory,
    micro,
    notices,
    outcomes,
    rates,
    report,
    startup,
    throughput,
    tls,
    viewers,
)
from harness.errors import Unmeasured  # noqa: E402
from harness.progress import say  # noqa: E402
from harness.report import Row  # noqa: E402
from harness.stand import Stand  # noqa: E402

NAMES = ("throughput", "credentials", "startup", "idle", "growth", "rows", "tls", "herd", "callbacks", "rates", "outcomes", "desks", "installations", "signing", "callers", "notices", "lateness", "viewers", "gate", "micro")
# The measurements that nginx can undergo in place of the server.
CONTROLLED = ("throughput", "startup", "idle", "growth")
# In bytes: more than both servers' log lines of the longest run.
LINES_LIMIT = 2 << 30
NEED_A_STAND = {"throughput", "credentials", "startup", "idle", "growth", "rows", "tls", "herd", "callbacks", "rates", "outcomes", "desks", "installations", "lateness", "viewers"}


@dataclass(frozen=True)
class Scale:
    """How much is measured."""

    pairs: int
    seconds: float
    starts: int
    connections: int
    small: int
    large: int
    herds: int
    tls_pairs: int
    callback_rounds: int
    waiting: int
    installations: int
    desk_users: int
    signing_pairs: int
    signing_seconds: int


FULL = Scale(15, 4, 21, 5000, 100_000, 1_000_000, 5, 7, 5, 5000, 1_000_000, 100_000, 5, 3)
QUICK = Scale(3, 2, 7, 1000, 20_000, 200_000, 2, 2, 2, 5000, 100_000, 100_000, 3, 1)


class Parser(argparse.ArgumentParser):
    """Exits with EX_USAGE of sysexits, as Callgate's own commands do."""

    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        self.exit(64, f"{self.prog}: {message}\n")


def arguments() -> argparse.Namespace:
    parser = Parser(prog="script/bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="about a minute instead of five; rougher figures")
    parser.add_argument("--pairs", type=int, metavar="N", help="pairs of runs under load (15)")
    parser.add_argument("--seconds", type=float, metavar="S", help="seconds per run under load (4)")
    parser.add_argument("--only", nargs="+", choices=NAMES, metavar="NAME", help=f"of {', '.join(NAMES)}")
    parser.add_argument("--markdown", action="store_true", help="print the table of Benchmarks/README.md")
    parser.add_argument("--database", metavar="URL", help="an empty PostgreSQL database, for rates")
    parser.add_argument("--control", action="store_true", help="nginx against nginx: how far equals seem to differ")
    parser.add_argument("--server", type=program, help=argparse.SUPPRESS)
    parser.add_argument("--microbench", type=program, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if (chosen.pairs or 1) < 1 or not 0 < (chosen.seconds or 1) <= 600:
        parser.error("--pairs is at least 1, --seconds at most 600")
    if not chosen.control and chosen.server is None and NEED_A_STAND & set(chosen.only or NAMES):
        parser.error("no --server: run script/bench, which builds it")
    return chosen


def program(path: str) -> Path:
    """An absolute path, so that the program may start in any folder."""
    resolved = Path(path).resolve()
    if not resolved.is_file():
        raise argparse.ArgumentTypeError(f"{path} is not there")
    return resolved


def scale(chosen: argparse.Namespace) -> Scale:
    base = QUICK if chosen.quick else FULL
    values = {**vars(base)}
    values.update({name: getattr(chosen, name) for name in ("pairs", "seconds") if getattr(chosen, name)})
    return Scale(**values)


def measurements(
    stand: Callable[[], Stand], size: Scale, descriptors: int, microbench: Path | None, database: str | None, scratch: Path
) -> dict[str, Callable[[], list[Row]]]:
    return {
        "throughput": lambda: throughput.measure(stand(), size.pairs, size.seconds),
        "credentials": lambda: credentials.measure(stand(), max(1, size.pairs // 2), size.seconds),
        "startup": lambda: startup.measure(stand(), size.starts),
        "idle": lambda: memory.measure_idle(stand(), size.connections, descriptors),
        "growth": lambda: memory.measure_growth(stand(), size.small, size.large),
        "rows": lambda: filled.measure(stand(), size.installations),
        "tls": lambda: tls.measure(stand(), size.tls_pairs, size.seconds, 2 * size.connections, descriptors),
        "herd": lambda: herd.measure(stand(), size.herds),
        "callbacks": lambda: callbacks.measure(
            stand(), size.callback_rounds, size.seconds, size.waiting, descriptors
        ),
        "rates": lambda: rates.measure(stand(), size.callback_rounds, size.seconds, database),
        "outcomes": lambda: outcomes.measure(stand(), size.callback_rounds, size.seconds),
        "desks": lambda: desks.measure(stand(), size.callback_rounds, size.seconds, size.desk_users),
        "installations": lambda: installations.measure(
            stand(), size.callback_rounds, size.seconds, size.installations
        ),
        "signing": lambda: micro.measure_signing(microbench, size.signing_pairs, size.signing_seconds),
        "callers": lambda: micro.measure_callers(microbench, size.signing_pairs, size.signing_seconds),
        "notices": lambda: notices.measure(microbench, scratch, size.signing_pairs, size.signing_seconds),
        "viewers": lambda: viewers.measure(stand(), size.callback_rounds, 2 * size.seconds),
        "lateness": lambda: lateness.measure(stand(), size.seconds),
        "gate": lambda: micro.measure_gate(microbench, size.signing_seconds),
        "micro": lambda: micro.measure_parsers(microbench, size.signing_seconds),
    }


def run(chosen: argparse.Namespace, scratch: Path) -> tuple[list[Row], list[str]]:
    """Runs every chosen measurement. Returns the rows, and the reasons for measurements without a row."""
    made: list[Stand] = []

    def stand() -> Stand:
        if not made:
            made.append(Stand(scratch, None if chosen.control else chosen.server))
        return made[0]

    rows: list[Row] = []
    reasons: list[str] = []
    table = measurements(stand, scale(chosen), client.raise_descriptor_limit(), chosen.microbench, chosen.database, scratch)
    names = chosen.only or (CONTROLLED if chosen.control else NAMES)
    for name in (name for name in NAMES if name in names):
        say(f"{name} …")
        try:
            rows += table[name]()
        except (Unmeasured, OSError) as error:
            reasons.append(f"{name} could not be measured: {error}")
            say(reasons[-1])
    return rows, reasons


def scratch_parent() -> str | None:
    """The parent of the scratch folder: in memory if there is room for the servers' log lines, because a disk that stalls for
    a second would spoil the figures. TMPDIR overrides it."""
    memory_folder = Path("/dev/shm")
    if "TMPDIR" in os.environ or not os.access(memory_folder, os.W_OK):
        return None
    return str(memory_folder) if shutil.disk_usage(memory_folder).free >= LINES_LIMIT else None


def stop_on_signal(number: int, _: object) -> None:
    """Leaves through every `with` and `finally`, which end the servers and remove the scratch folder."""
    raise SystemExit(128 + number)


def main() -> int:
    chosen = arguments()
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, stop_on_signal)
    warning = machine.unrest()
    if warning:
        say(warning)
    scratch = Path(tempfile.mkdtemp(prefix="callgate-bench.", dir=scratch_parent()))
    try:
        rows, reasons = run(chosen, scratch)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    print(machine.describe(), end="\n\n")
    if rows:
        form = report.markdown if chosen.markdown else report.text
        print(form(rows, "nginx too" if chosen.control else "callgate"))
    if reasons:
        say(f"{len(reasons)} of the measurements could not be taken")
    return 1 if reasons else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
