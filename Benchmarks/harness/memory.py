"""Memory: per idle keep-alive connection, and its growth over many requests."""

import socket
import ssl
from contextlib import ExitStack

from harness import client, load, process
from harness.errors import Unmeasured
from harness.progress import say
from harness.report import Row
from harness.servers import TARGET, Server
from harness.stand import Stand

MIB = 2**20
IDLE_TARGET = 2048
RESIDENT_TARGET_MIB = 32
GROWTH_TARGET_MIB = 5
STEP_SECONDS = 2
MOST_STEPS = 200


def measure_idle(stand: Stand, connections: int, descriptors: int) -> list[Row]:
    """Memory that idle connections cost, each having had one answer."""
    connections = min(connections, descriptors - 512)
    per_connection = []
    for make in (stand.ours, stand.peer):
        with make() as server:
            per_connection.append(per_idle_connection(server, connections))
    ours, peer = per_connection
    say(f"idle: {ours:,.0f} : {peer:,.0f} bytes per connection")
    return [
        Row(
            f"resident memory per idle connection ({connections:,})",
            f"{ours:,.0f} B",
            f"{peer:,.0f} B",
            f"{ours / peer:.2f}" if peer > 0 else "–",
            f"≤ {IDLE_TARGET:,} B",
            ours <= IDLE_TARGET,
        )
    ]


def per_idle_connection(server: Server, connections: int) -> float:
    """Bytes of resident memory by which the server grows for each of so many connections."""
    load.run(server.port, 1, scheme=server.scheme)  # What a busy server holds anyway is not the idle connections' cost.
    server.await_lines()
    server.take_lines()
    before = process.settled_resident_bytes(server.pid)
    request = client.request(TARGET)
    with ExitStack() as open_connections:
        crowd: list[socket.socket] = []
        for _ in range(connections):
            connection = open_connections.enter_context(client.connect(server.port, trust=server.trust))
            connection.sendall(request)
            answer = client.read_answer(connection)
            if answer.status != 200 or answer.field("connection") == "close":
                raise Unmeasured(f"{server.name} answered {answer.status} to connection {len(crowd) + 1}")
            crowd.append(connection)
        server.await_lines()
        after = process.settled_resident_bytes(server.pid)
        _still_open(server, crowd)
    return (after - before) / connections


def _still_open(server: Server, crowd: list[socket.socket]) -> None:
    """Every connection must have lived through the measurement, or its memory was not in the figure."""
    for number, connection in enumerate(crowd):
        connection.setblocking(False)
        try:
            connection.recv(1)
        except (BlockingIOError, ssl.SSLWantReadError):
            continue
        raise Unmeasured(f"{server.name} closed idle connection {number + 1} of {len(crowd)}")


def measure_growth(stand: Stand, small: int, large: int) -> list[Row]:
    """Resident memory after `small` and after `large` requests, and how much of it is private."""
    figures, private = [], []
    for make in (stand.ours, stand.peer):
        with make() as server:
            figures.append(_grown(server, small, large))
            private.append(process.private_bytes(server.pid) / MIB)
    (ours_small, ours_large), (peer_small, peer_large) = figures
    ours_growth, peer_growth = ours_large - ours_small, peer_large - peer_small
    say(f"growth: {ours_small:.1f} → {ours_large:.1f} MiB, peer {peer_small:.1f} → {peer_large:.1f} MiB")
    return [
        Row(
            f"resident memory after {large:,} requests",
            f"{ours_large:.1f} MiB",
            f"{peer_large:.1f} MiB",
            f"{ours_large / peer_large:.2f}",
            f"≤ {RESIDENT_TARGET_MIB} MiB",
            ours_large <= RESIDENT_TARGET_MIB,
        ),
        Row("of which private", f"{private[0]:.1f} MiB", f"{private[1]:.1f} MiB"),
        Row(
            f"its growth since {small:,} requests",
            f"{ours_growth:+.1f} MiB",
            f"{peer_growth:+.1f} MiB",
            target=f"≤ {GROWTH_TARGET_MIB} MiB",
            met=ours_growth <= GROWTH_TARGET_MIB,
        ),
    ]


def _grown(server: Server, small: int, large: int) -> tuple[float, float]:
    """Resident mebibytes once at least `small`, then at least `large` requests have been answered."""
    done, at_small = 0, 0.0
    for _ in range(MOST_STEPS):
        done += load.run(server.port, 1 if done < small else STEP_SECONDS).requests
        server.await_lines()
        server.take_lines()
        if not at_small and done >= small:
            at_small = process.settled_resident_bytes(server.pid) / MIB
        if done >= large:
            return at_small, process.settled_resident_bytes(server.pid) / MIB
    raise Unmeasured(f"{server.name} answered only {done:,} of {large:,} requests in {MOST_STEPS} runs")
