"""From starting the program to its first good answer."""

import time
from statistics import median

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
    for make in makers:
        _once(make)  # Reading the program from the disk is not what is measured.
    for number in range(rounds):
        for index in in_turns(number):
            times[index].append(_once(makers[index]))
    pairs = Pairs(*times)
    say(f"startup: {median(pairs.ours):.1f} : {median(pairs.peer):.1f} ms")
    label = f"start to first answer (slowest of {rounds}: {max(pairs.ours):.1f} : {max(pairs.peer):.1f} ms)"
    met = median(pairs.ours) <= TARGET_MILLISECONDS
    return [pairs.row(label, ".1f", "ms", f"≤ {TARGET_MILLISECONDS} ms", met)]


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
