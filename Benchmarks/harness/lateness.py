"""How long after its time a notice reaches its provider, while 500 a second are due: the whole server, with SQLite and a receiver of web hooks."""

import asyncio
import json
import sqlite3
import threading
import time
import uuid
from pathlib import Path

from harness import client
from harness.callbacks import Emulator
from harness.errors import Unmeasured
from harness.installations import KEY, SECOND, Kept
from harness.progress import say
from harness.report import Row
from harness.stand import Stand

RATE = 500
TARGET_MILLISECONDS = 100.0
# Time for the first look at the store, so that it is not measured.
LEAD = 4
# Made up, and good for the receiver of this harness alone.
HOOK_SECRET = "whsec_YSBzZWNyZXQgb2YgdGhlIGJlbmNobWFya3Mgb3du"


class Receiver(asyncio.Protocol):
    """Takes web hooks, and notes when each had arrived. The device of a notice says when it was due."""

    late: list[float]

    def __init__(self, late: list[float]) -> None:
        self.late = late
        self.rest = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.rest += data
        while b"\r\n\r\n" in self.rest:
            head, _, content = self.rest.partition(b"\r\n\r\n")
            length = next(int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
            if len(content) < length:
                return
            now = time.time_ns()
            self.late.append((now - int(json.loads(content[:length])["deviceId"].removeprefix("due-"))) / 1e6)
            self.rest = content[length:]
            self.transport.write(b"HTTP/1.1 204 No Content\r\n\r\n")


class Noticing(Kept):
    """`callgate serve` with notices by web hook."""

    name = "lateness"
    url = ""

    def command(self) -> list[str]:
        self.settings.write_text(json.dumps({
            "allow_anonymous": True, "apps": {"shop": {"installations": {}}},
            "notices": {"http": {"url": self.url, "secret_variable": "HOOK_SECRET"}}}))
        return [str(self.binary), "serve", "--config", str(self.settings), "--host", client.HOST, "--port", "0"]

    def environment(self) -> dict[str, str]:
        return super().environment() | {"HOOK_SECRET": HOOK_SECRET}


def measure(stand: Stand, seconds: float) -> list[Row]:
    """The time from when a notice is due to when it has arrived, evenly due, in a file of SQLite."""
    if stand.binary is None:
        raise Unmeasured("nginx has no notices")
    late: list[float] = []
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, daemon=True).start()
    listener = asyncio.run_coroutine_threadsafe(loop.create_server(lambda: Receiver(late), client.HOST, 0), loop).result()
    url = f"http://{client.HOST}:{listener.sockets[0].getsockname()[1]}/notices"
    count = int(RATE * max(seconds, 5))
    state = stand.scratch / "lateness.sqlite3"
    try:
        with Emulator(stand.scratch, stand.binary) as emulator:
            Noticing.url = url
            with Noticing(stand.scratch, stand.binary, emulator.variables, state):
                pass
            _fill(state, count)
            with Noticing(stand.scratch, stand.binary, emulator.variables, state):
                limit = time.monotonic() + LEAD + count / RATE + 20
                while len(late) < count and time.monotonic() < limit:
                    time.sleep(0.1)
    finally:
        loop.call_soon_threadsafe(loop.stop)
    if len(late) < count:
        raise Unmeasured(f"{len(late):,} of {count:,} notices arrived")
    late.sort()
    middle, high, most = late[len(late) // 2], late[len(late) * 99 // 100], late[-1]
    say(f"notices: due to provider, median {middle:.1f} ms, p99 {high:.1f} ms, at most {most:.1f} ms")
    return [
        Row(f"notices due to arrived, {RATE} a second: p99", f"{high:.1f} ms (median {middle:.1f}, most {most:.1f})",
            target=f"≤ {TARGET_MILLISECONDS:g} ms", met=high <= TARGET_MILLISECONDS)
    ]


def _fill(state: Path, count: int) -> None:
    """Callbacks that have ended, each of an installation with a device of its own, whose notices are due one after the other."""
    start = time.time_ns() + LEAD * SECOND
    installation = "id, client_app, app, address, secret, generation, created, used, last_step, counter, failures"
    callback = (
        "id, caller, contact, created, settled, status, instance, abandoned, expires, notifies, notice_serial, notice_state, notice_next,"
        " notice_tries, snoozes"
    )
    day = 86_400 * SECOND
    with sqlite3.connect(state) as store:
        for number in range(count):
            due, name = start + number * SECOND // RATE, uuid.uuid4().bytes
            store.execute(
                f"INSERT INTO callgate_installation ({installation}) VALUES (?, 'Shop', 'shop', '203.0.113.7', ?, 1, ?, ?, -1, 0, 0)",
                (name, bytes(32), due, due))
            store.execute("INSERT INTO callgate_device VALUES (?, 'http', ?, ?, ?)", (name, f"due-{due}", name * 2, due))
            store.execute(
                f"INSERT INTO callgate_callback ({callback}) VALUES (?, 'installation', '+*********00', ?, ?, 'accepted', 0, ?, ?, ?, 1, 'waiting', ?, 0, 0)",
                (uuid.uuid4().bytes, due - SECOND, due - SECOND, due, due + day, name, due))
    store.close()
