"""Many requests at a server that has no token yet: how often does it ask Talkdesk for one?"""

import json
import selectors
import socket
import time
from contextlib import ExitStack

from harness import client
from harness.client import Answer
from harness.errors import Unmeasured
from harness.progress import say
from harness.report import Row
from harness.servers import START_LIMIT, TARGET, Server
from harness.stand import Stand

REQUESTS = 200
# The exchange takes this long, so that all requests arrive while it runs.
EXCHANGE_MILLISECONDS = 300
WITHIN_SECONDS = 15.0


def measure(stand: Stand, rounds: int) -> list[Row]:
    """Sends REQUESTS at once to a cold server, `rounds` times, each to a fresh one."""
    if stand.binary is None:
        return []
    exchanges, milliseconds = [], []
    for _ in range(rounds):
        count, took = _once(stand)
        exchanges.append(count)
        milliseconds.append(took)
    say(f"herd: {exchanges} exchanges, all answered within {max(milliseconds):.0f} ms")
    return [
        Row(
            f"exchanges for {REQUESTS} cold requests (all answered {max(milliseconds):.0f} ms after sending, "
            f"{EXCHANGE_MILLISECONDS} of them the exchange)",
            ", ".join(map(str, exchanges)),
            target="1",
            met=set(exchanges) == {1},
        )
    ]


def _once(stand: Stand) -> tuple[int, float]:
    server = stand.ours()
    server.lines.unlink(missing_ok=True)
    try:
        server.spawn()
        server.await_port()
        fault = {"endpoint": "token", "delay_ms": EXCHANGE_MILLISECONDS, "times": 1}
        client.ask(server.port, "/_sandbox/faults", "POST", json.dumps(fault).encode(), expect=None)
        if _exchanges(server) != 0:
            raise Unmeasured("the server had a token before anybody asked for one")
        took = _herd(server)
        return _exchanges(server), took
    finally:
        server.stop()


def _exchanges(server: Server) -> int:
    answer = json.loads(client.ask(server.port, "/_sandbox/exchanges").content)
    return int(answer["count"])


def _herd(server: Server) -> float:
    """Milliseconds from the first byte sent to the last answer. All answers must be good and hold the same token."""
    with ExitStack() as stack, selectors.DefaultSelector() as waiting:
        crowd = [stack.enter_context(client.connect(server.port, START_LIMIT)) for _ in range(REQUESTS)]
        for connection in crowd:
            waiting.register(connection, selectors.EVENT_READ)
        before = time.monotonic()
        for connection in crowd:
            connection.sendall(client.request(TARGET))
        answers = _collect(waiting, before + WITHIN_SECONDS)
        took = (time.monotonic() - before) * 1000
    bad = [answer.status for answer in answers if answer.status != 200]
    if bad or len({answer.content for answer in answers}) != 1:
        raise Unmeasured(f"{len(bad)} of {len(answers)} cold requests failed ({bad[:3]}), or tokens differ")
    return took


def _collect(waiting: selectors.BaseSelector, give_up: float) -> list[Answer]:
    answers: list[Answer] = []
    while waiting.get_map():
        ready = waiting.select(timeout=max(0.0, give_up - time.monotonic()))
        if not ready:
            raise Unmeasured(f"{len(waiting.get_map())} cold requests had no answer in {WITHIN_SECONDS:g} s")
        for key, _ in ready:
            connection = key.fileobj
            assert isinstance(connection, socket.socket)
            waiting.unregister(connection)
            answers.append(client.read_answer(connection))
    return answers
