"""What viewers of the operator's page cost a server under a steady load: its processor time with and without them, in turns."""

import json
import threading
import time
from contextlib import ExitStack
from statistics import median

from harness import client, process
from harness.errors import Unmeasured
from harness.progress import say
from harness.report import Row
from harness.servers import TARGET, Server
from harness.stand import Stand

VIEWERS = 10
# As the page asks.
INTERVAL = 2.0
RATE = 1_000
TICK = 0.01
# Of one core.
TARGET_SHARE = 0.01


def measure(stand: Stand, rounds: int, seconds: float) -> list[Row]:
    """Runs of `seconds` in pairs, one with viewers and one without, under the same load of one server."""
    if stand.binary is None:
        return []
    # Each viewer asks equally often in each run.
    seconds = max(INTERVAL, seconds // INTERVAL * INTERVAL)
    shares: tuple[list[float], list[float]] = ([], [])
    sizes: list[int] = []
    with stand.ours() as server, _Load(server) as load:
        token = json.loads(client.ask(server.port, "/_sandbox/operator").content)["admin_token"]
        viewers = [_Viewer(server, token) for _ in range(VIEWERS)]
        _run(server, load, viewers, INTERVAL)
        for number in range(rounds):
            for watched in (True, False) if number % 2 == 0 else (False, True):
                shares[watched].append(_run(server, load, viewers if watched else [], seconds))
            say(f"viewers {number + 1}/{rounds}: {shares[1][-1]:.2%} with, {shares[0][-1]:.2%} without")
            server.take_lines()
        sizes = [viewer.size for viewer in viewers]
    costs = [with_them - without for without, with_them in zip(*shares, strict=True)]
    cost = median(costs)
    return [
        Row(
            f"{VIEWERS} viewers of the operator's page at {RATE:,} requests per second, of one core "
            f"(responses of {median(sizes) / 1000:.0f} kB)",
            f"{cost:.2%} ({min(costs):.2%}–{max(costs):.2%})",
            f"{median(shares[0]):.2%} without them",
            target=f"≤ {TARGET_SHARE:.0%}",
            met=cost <= TARGET_SHARE,
        )
    ]


def _run(server: Server, load: "_Load", viewers: list["_Viewer"], seconds: float) -> float:
    """The share of one core that the server uses. The viewers' requests are spread over the interval."""
    asked = load.count
    before, began = process.cpu_seconds(server.pid), time.monotonic()
    step = INTERVAL / max(1, len(viewers))
    for turn in range(round(seconds / step) if viewers else 0):
        time.sleep(max(0.0, began + turn * step - time.monotonic()))
        viewers[turn % len(viewers)].ask()
    time.sleep(max(0.0, began + seconds - time.monotonic()))
    took = time.monotonic() - began
    used = process.cpu_seconds(server.pid) - before
    rate = (load.count - asked) / took
    if not 0.9 * RATE <= rate <= 1.1 * RATE:
        raise Unmeasured(f"the load was {rate:.0f} requests per second")
    return used / took


class _Viewer:
    """Asks as an open page does: over a kept connection, for what is new since its last response."""

    def __init__(self, server: Server, token: str) -> None:
        self.connection = client.connect(server.port)
        self.token = token
        self.sequence = 0
        self.size = 0

    def ask(self) -> None:
        head = f"GET /admin/status?after={self.sequence} HTTP/1.1\r\nHost: {client.HOST}\r\n"
        self.connection.sendall(f"{head}Authorization: Bearer {self.token}\r\n\r\n".encode())
        answer = client.read_answer(self.connection)
        if answer.status != 200:
            raise Unmeasured(f"/admin/status answered {answer.status}")
        self.sequence, self.size = json.loads(answer.content)["sequence"], answer.wire_bytes


class _Load:
    """A steady load in a thread of its own: each tick one request on each of its connections."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.count = 0
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self._drive)

    def __enter__(self) -> "_Load":
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.ended.set()
        self.thread.join()

    def _drive(self) -> None:
        request = client.request(TARGET)
        with ExitStack() as stack:
            crowd = [stack.enter_context(client.connect(self.server.port)) for _ in range(round(RATE * TICK))]
            due = time.monotonic()
            while not self.ended.is_set():
                for connection in crowd:
                    connection.sendall(request)
                for connection in crowd:
                    client.read_answer(connection)
                self.count += len(crowd)
                due += TICK
                time.sleep(max(0.0, due - time.monotonic()))
