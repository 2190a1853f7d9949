"""Processor time per request, requests per second and latency, under the same load in turns."""

from collections.abc import Callable
from dataclasses import dataclass

from harness import load, process
from harness.errors import Unmeasured
from harness.load import Load
from harness.machine import Activity
from harness.progress import say
from harness.report import Pairs, Row
from harness.servers import TARGET, Server
from harness.stand import Stand, in_turns

WARM_UP_SECONDS = 1
# A pair during which others used more of the processors than this is measured again, while there is time.
CALM = 0.05


@dataclass(frozen=True)
class Run:
    """One server under load once. `others`: the share of the machine that neither it nor wrk used; `lost`: requests
    without a line."""

    load: Load
    cpu_microseconds: float
    resident_mebibytes: float
    others: float
    lost: int


@dataclass(frozen=True)
class Pair:
    """Both servers, one after the other."""

    ours: Run
    peer: Run

    @property
    def is_calm(self) -> bool:
        return all(run.others <= CALM and run.lost == 0 for run in (self.ours, self.peer))


def measure(stand: Stand, pairs: int, seconds: float) -> list[Row]:
    """Both servers under load in the clear."""
    with stand.ours() as ours, stand.peer() as peer:
        calm, done = calm_pairs(ours, peer, pairs, seconds)
    return [*_rows(calm), _lost(done)]


def calm_pairs(ours: Server, peer: Server, pairs: int, seconds: float) -> tuple[list[Pair], list[Pair]]:
    """Loads two running servers one after the other, until `pairs` pairs were calm or twice as many were measured; which
    pairs to take, and all there were."""
    done: list[Pair] = []
    calm: list[Pair] = []
    servers = (ours, peer)
    for server in servers:
        under_load(server, WARM_UP_SECONDS)
    while len(calm) < pairs and len(done) < 2 * pairs:
        runs: dict[int, Run] = {}
        for index in in_turns(len(done)):
            runs[index] = under_load(servers[index], seconds)
        done.append(Pair(runs[0], runs[1]))
        calm = [pair for pair in done if pair.is_calm]
        say(_line(len(done), done[-1]))
    if len(calm) < pairs:
        say(f"throughput: others were busy during {len(done) - len(calm)} of {len(done)} pairs: taking all of them")
        calm = done
    return calm, done


def under_load(server: Server, seconds: float, fields: tuple[str, ...] = (), target: str = TARGET) -> Run:
    """One run, with fields that each request has, in turns of name and value."""
    server.take_lines()
    before, activity = process.cpu_seconds(server.pid), Activity()
    counted = load.run(server.port, seconds, target, scheme=server.scheme, arguments=fields)
    server.await_lines()
    used = process.cpu_seconds(server.pid) - before
    others = activity.others(used)
    lines = server.take_lines()
    # wrk does not count the answers still on their way when it stops: at most one per connection.
    if lines > counted.requests + 2 * load.CONNECTIONS:
        raise Unmeasured(f"{server.name} wrote {lines} lines for {counted.requests} requests")
    return Run(
        counted,
        used / counted.requests * 1e6,
        process.resident_bytes(server.pid) / 2**20,
        others,
        max(0, counted.requests - lines),
    )


def _line(number: int, pair: Pair) -> str:
    ours, peer = pair.ours, pair.peer
    return (
        f"throughput {number}: CPU {ours.cpu_microseconds:.2f} : {peer.cpu_microseconds:.2f} µs/request, "
        f"{ours.load.rate:,.0f} : {peer.load.rate:,.0f} requests/s, p99 {ours.load.p99:.2f} : {peer.load.p99:.2f} ms, "
        f"others {ours.others:.0%} : {peer.others:.0%}" + (f", {ours.lost:,} lines lost" if ours.lost else "")
    )


def _rows(measured: list[Pair]) -> list[Row]:
    def pairs(of: Callable[[Run], float]) -> Pairs:
        return Pairs([of(pair.ours) for pair in measured], [of(pair.peer) for pair in measured])

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


def _lost(measured: list[Pair]) -> Row:
    """Over all runs, the disturbed ones too."""
    ours, peer = (sum(run.lost for run in runs) for runs in zip(*((pair.ours, pair.peer) for pair in measured)))
    requests = sum(pair.ours.load.requests for pair in measured)
    return Row(f"audit lines lost, of {requests:,}", f"{ours:,}", f"{peer:,}", target="0", met=ours == 0)
