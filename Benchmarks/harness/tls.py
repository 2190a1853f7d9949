"""What TLS costs beside nginx: handshakes, requests on connections that are kept, idle connections."""

import re
import subprocess

from harness import memory, process, throughput
from harness.client import HOST
from harness.errors import Unmeasured
from harness.identity import KINDS, Identity
from harness.progress import say
from harness.report import Pairs, Row
from harness.servers import Server
from harness.stand import Stand, in_turns

HANDSHAKES_TARGET = 0.8
REQUESTS_TARGET = 1.1
VERSIONS = ("1.3", "1.2")


def measure(stand: Stand, pairs: int, seconds: float, connections: int, descriptors: int) -> list[Row]:
    """Both servers with the same certificate, in turns."""
    rows = []
    for kind in KINDS:
        identity = Identity.make(stand.scratch, kind)
        with stand.ours(identity=identity) as ours, stand.peer(identity=identity) as peer:
            rows += [_handshakes((ours, peer), kind, version, pairs, seconds) for version in VERSIONS]
    # The key plays no part from here on.
    identity = Identity.make(stand.scratch, "P-256")
    with stand.ours(identity=identity) as ours, stand.peer(identity=identity) as peer:
        calm, _ = throughput.calm_pairs(ours, peer, pairs, seconds)
    cpu = Pairs([pair.ours.cpu_microseconds for pair in calm], [pair.peer.cpu_microseconds for pair in calm])
    rate = Pairs([pair.ours.load.rate for pair in calm], [pair.peer.load.rate for pair in calm])
    rows += [
        cpu.row(
            "TLS: server CPU per request", ".2f", "µs", f"ratio ≤ {REQUESTS_TARGET}", cpu.ratio() <= REQUESTS_TARGET
        ),
        rate.row("TLS: requests per second, 64 connections", ",.0f", ""),
        _idle(stand, identity, min(connections, descriptors - 512)),
    ]
    return rows


def _handshakes(servers: tuple[Server, Server], kind: str, version: str, pairs: int, seconds: float) -> Row:
    """Full handshakes per second of the server's processor time."""
    rates: tuple[list[float], list[float]] = ([], [])
    for number in range(pairs):
        for index in in_turns(number):
            rates[index].append(_rate(servers[index], version, seconds))
        say(f"handshakes {kind}, {version} {number + 1}/{pairs}: {rates[0][-1]:,.0f} : {rates[1][-1]:,.0f} per CPU second")
    both = Pairs(*rates)
    met = both.ratio() >= HANDSHAKES_TARGET
    return both.row(
        f"TLS {version}, {kind}: full handshakes per CPU second", ",.0f", "/s", f"ratio ≥ {HANDSHAKES_TARGET}", met
    )


def _rate(server: Server, version: str, seconds: float) -> float:
    command = ["openssl", "s_time", "-new", "-connect", f"{HOST}:{server.port}", "-time", str(max(1, round(seconds)))]
    command.append("-tls" + version.replace(".", "_"))
    before = process.cpu_seconds(server.pid)
    try:
        output = subprocess.run(command, capture_output=True, text=True, timeout=seconds + 30, check=True).stdout
    except (OSError, subprocess.SubprocessError) as error:
        raise Unmeasured(f"openssl s_time failed: {error}") from error
    server.await_lines()
    used = process.cpu_seconds(server.pid) - before
    found = re.search(r"^(\d+) connections in [\d.]+ real seconds", output, re.M)
    if not found or not int(found.group(1)):
        raise Unmeasured(f"openssl s_time made no connection: {output[-300:]}")
    return int(found.group(1)) / used


def _idle(stand: Stand, identity: Identity, connections: int) -> Row:
    ours, peer = 0.0, 0.0
    with stand.ours(identity=identity) as server:
        ours = memory.per_idle_connection(server, connections)
    with stand.peer(identity=identity) as server:
        peer = memory.per_idle_connection(server, connections)
    say(f"idle over TLS: {ours:,.0f} : {peer:,.0f} bytes per connection")
    return Row(
        f"TLS: resident memory per idle connection ({connections:,})",
        f"{ours:,.0f} B",
        f"{peer:,.0f} B",
        f"{ours / peer:.2f}" if peer > 0 else "–",
    )
