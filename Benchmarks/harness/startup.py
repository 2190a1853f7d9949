"""From starting the program to its first good answer."""

import time

from harness import client
from harness.errors import Unmeasured
from harness.progress import say
from harness.report import Pairs, Row
from harness.servers import START_LIMIT, TARGET
from harness.stand import Maker, Stand, in_turns

TARGET_MILLISECONDS = 50


def measure(stand: Stand, rounds: int) -> list[Row]:
    makers: tuple[Maker, Maker] = (stand.ours, stand.peer)
    times: tuple[list[float], list[float]] = ([], [])
    for number in range(rounds):
        for index in in_turns(number):
            times[index].append(_once(makers[index]))
    pairs = Pairs(*times)
    first = pairs.row("start to first answer", ".1f", "ms", f"≤ {TARGET_MILLISECONDS} ms")
    say(f"startup: {first.ours}, peer {first.peer}")
    worst = max(pairs.ours) <= TARGET_MILLISECONDS
    return [
        Row(f"{first.measure} (slowest {max(pairs.ours):.1f} of {rounds})", *first.cells()[1:5], met=worst)
    ]


def _once(make: Maker) -> float:
    """Milliseconds from before fork and exec to the first 200, which for ours holds a token just exchanged."""
    port = client.free_port()
    server = make(port)
    server.lines.unlink(missing_ok=True)
    try:
        before = server.spawn()
        answer = client.first_answer(port, TARGET, time.monotonic() + START_LIMIT)
        after = time.monotonic()
        if answer is None:
            raise Unmeasured(f"{server.name} gave no answer within {START_LIMIT:g} s: {server.complaint()}")
        return (after - before) * 1000
    finally:
        server.stop()
