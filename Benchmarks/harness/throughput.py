"""Processor time per request, requests per second and latency, under the same load in turns."""

from collections.abc import Callable
from dataclasses import dataclass

from harness import load, process
from harness.errors import Unmeasured
from harness.load import Load
from harness.report import Pairs, Row
from harness.servers import Server
from harness.stand import Stand, in_turns, settle
from harness.progress import say

WARM_UP_SECONDS = 1


@dataclass(frozen=True)
class Run:
    """One server under load once."""

    load: Load
    cpu_microseconds: float
    resident_mebibytes: float
    lines_per_request: float


def measure(stand: Stand, pairs: int, seconds: float) -> list[Row]:
    """Runs both servers side by side, loads them one after the other, `pairs` times each."""
    with stand.ours() as ours, stand.peer() as peer:
        servers = (ours, peer)
        for server in servers:
            _under_load(server, WARM_UP_SECONDS)
        runs: tuple[list[Run], list[Run]] = ([], [])
        for number in range(pairs):
            for index in in_turns(number):
                runs[index].append(_under_load(servers[index], seconds))
            say(_line(number + 1, pairs, runs[0][-1], runs[1][-1]))
    return _rows(*runs)


def _under_load(server: Server, seconds: float) -> Run:
    server.take_lines()
    before = process.cpu_seconds(server.pid)
    counted = load.run(server.port, seconds)
    settle()
    used = process.cpu_seconds(server.pid) - before
    lines = server.take_lines() / counted.requests
    # wrk does not count the answers still on their way when it stops: at most one per connection.
    if not 1 <= lines < 1 + 2 * load.CONNECTIONS / counted.requests:
        raise Unmeasured(f"{server.name} wrote {lines:.4f} lines per request: audit lines were lost or doubled")
    return Run(counted, used / counted.requests * 1e6, process.resident_bytes(server.pid) / 2**20, lines)


def _line(number: int, pairs: int, ours: Run, peer: Run) -> str:
    return (
        f"throughput {number}/{pairs}: CPU {ours.cpu_microseconds:.2f} : {peer.cpu_microseconds:.2f} µs/request, "
        f"{ours.load.rate:,.0f} : {peer.load.rate:,.0f} requests/s, p99 {ours.load.p99:.2f} : {peer.load.p99:.2f} ms"
    )


def _rows(ours: list[Run], peer: list[Run]) -> list[Row]:
    def pairs(of: Callable[[Run], float]) -> Pairs:
        return Pairs([of(run) for run in ours], [of(run) for run in peer])

    cpu = pairs(lambda run: run.cpu_microseconds)
    rate = pairs(lambda run: run.load.rate)
    p50 = pairs(lambda run: run.load.p50)
    p99 = pairs(lambda run: run.load.p99)
    memory = pairs(lambda run: run.resident_mebibytes)
    return [
        cpu.row("server CPU per request", ".2f", "µs", "ratio ≤ 1.0", cpu.ratio() <= 1.0),
        rate.row("requests per second, 64 connections", ",.0f", ""),
        p50.row("latency, median", ".2f", "ms"),
        p99.row("latency, p99", ".2f", "ms", "≤ nginx", p99.ratio() <= 1.0),
        memory.row("resident memory under load", ".1f", "MiB"),
    ]
