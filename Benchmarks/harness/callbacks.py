"""Callbacks: what one costs in processor time, how many are durable in a second, what is added to the upstream's own latency,
and what those that wait for a slow upstream take of memory."""

import os
import re
import selectors
import socket
import statistics
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from harness import client, load, process
from harness.errors import Unmeasured
from harness.identity import Identity
from harness.load import Load
from harness.progress import say
from harness.report import Row
from harness.servers import START_LIMIT, Callgate, Server
from harness.stand import Stand, in_turns

SCRIPT = load.SCRIPT.with_name("callbacks.lua")
RATE_TARGET = 1500.0
ADDED_TARGET = 10.0
ADDED_TARGET_SQLITE = 25.0
WAITING_TARGET_MB = 128
# Few connections that pause: a tenth of what the server can do, so that no client waits behind others.
PACED_CONNECTIONS, PAUSE_MILLISECONDS = 16, 60
REPLY = b"HTTP/1.1 201 Created\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"
# A piece as long as what SQLite writes for a few callbacks together.
SYNC_BYTES = 12 * 1024


class Emulator(Callgate):
    """`callgate sandbox`: only for tokens. Its variables make a server its client."""

    name = "emulator"

    def command(self) -> list[str]:
        return [str(self.binary), "sandbox", "--port", "0"]

    def start(self) -> None:
        self.lines.unlink(missing_ok=True)
        self.spawn()
        self.await_port()

    @property
    def variables(self) -> dict[str, str]:
        return dict(re.findall(r"^(TD_\w+)='?(.*?)'?$", self.lines.read_text(), re.M))


class QuickUpstream(Server):
    """nginx that takes every callback at once, on a new connection each as the API's. With an identity it speaks TLS."""

    name = "upstream"
    # What it answers beside callbacks.
    locations = ""
    # Of TLS, as nginx names them.
    protocols = "TLSv1.2 TLSv1.3"

    def command(self) -> list[str]:
        self.port = client.free_port()
        temporary = "\n".join(
            f"  {kind}_temp_path {self.scratch}/{self.name}.{kind};"
            for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        )
        configuration = self.scratch / f"{self.name}.conf"
        configuration.write_text(f"""\
daemon off;
worker_processes 1;
{"user root;" if os.geteuid() == 0 else ""}
pid {self.scratch}/{self.name}.pid;
events {{ worker_connections 8192; }}
http {{
{temporary}
  access_log off;
  keepalive_requests 1000000000;
  default_type application/json;
  server {{
    listen {client.HOST}:{self.port}{" ssl" if self.identity else ""} backlog=4096;
    {self.security()}
    location = /calls/callback {{ return 201 "{{}}"; }}
    location = /access {{ return 200; }}
    {self.locations}
  }}
}}
""")
        return ["nginx", "-p", str(self.scratch), "-c", str(configuration), "-e", str(self.errors)]

    def security(self) -> str:
        if self.identity is None:
            return ""
        files = f"ssl_certificate {self.identity.certificate}; ssl_certificate_key {self.identity.key};"
        return f"{files} ssl_protocols {self.protocols};"


class Caller(Callgate):
    """`callgate serve` with callbacks to an upstream of ours and its state where it is told."""

    name = "callbacks"

    def __init__(
        self,
        scratch: Path,
        binary: Path,
        variables: dict[str, str],
        upstream: int,
        state: str,
        trusted: Identity | None = None,
    ) -> None:
        super().__init__(scratch, binary)
        self.variables = variables | {
            "TD_API_URL": f"{'https' if trusted else 'http'}://{client.HOST}:{upstream}",
            "TD_PHONE_NUMBER": "+18005550199",
            "CALLGATE_STATE": state,
        }
        if trusted:
            self.variables["CALLGATE_CA_FILE"] = str(trusted.certificate)

    def command(self) -> list[str]:
        configuration = self.scratch / f"{self.name}.yaml"
        configuration.write_text(self.settings_text())
        arguments = ["serve", "--config", str(configuration), "--host", client.HOST, "--port", "0"]
        return [str(self.binary), *arguments]

    def settings_text(self) -> str:
        # Brakes count as always, and refuse nothing.
        brakes = "brakes: { per_5m: 1000000000, per_hour: 1000000000 }"
        return f"allow_anonymous: true\ncallbacks: {{ concurrency: 8000, timeout: 120s, {brakes} }}\n"

    def environment(self) -> dict[str, str]:
        return super().environment() | self.variables


class Numbers:
    """Hands out ranges of numbers that were not called yet."""

    def __init__(self) -> None:
        self.next = 2_000_000

    def take(self, count: int) -> int:
        first = self.next
        self.next += count
        if self.next > 9_999_999:
            raise Unmeasured("there are no more numbers to call")
        return first


@dataclass(frozen=True)
class Run:
    """One run under load. Processor time in microseconds for each callback."""

    load: Load
    cpu: float


def measure(stand: Stand, rounds: int, seconds: float, waiting: int, descriptors: int) -> list[Row]:
    """Every figure, on a fresh emulator and upstream."""
    if stand.binary is None:
        return []
    numbers = Numbers()
    disk = tempfile.TemporaryDirectory(prefix="callgate-bench.", dir=os.environ.get("TMPDIR", "/var/tmp"))
    with disk as folder, Emulator(stand.scratch, stand.binary) as emulator:
        variables = emulator.variables
        with QuickUpstream(stand.scratch) as upstream:

            def caller(state: str) -> Caller:
                return Caller(stand.scratch, stand.binary, variables, upstream.port, state)  # type: ignore[arg-type]

            rows = _costs(caller, numbers, rounds, seconds, Path(folder))
            rows += _latencies(caller, upstream, numbers, rounds, seconds, Path(folder))
        return rows + _waiting(stand, variables, numbers, min(waiting, descriptors // 2 - 512))


def _costs(
    caller: Callable[[str], Caller], numbers: Numbers, rounds: int, seconds: float, folder: Path
) -> list[Row]:
    runs: dict[str, list[Run]] = {"memory": [], "sqlite": []}
    syncs: list[float] = []
    for number in range(rounds):
        for state in ("memory", "sqlite"):
            path = "memory" if state == "memory" else str(folder / f"{number}.sqlite3")
            with caller(path) as server:
                _under_load(server, 1, numbers)
                if state == "sqlite":
                    syncs += _fdatasync(folder)
                runs[state].append(_under_load(server, seconds, numbers))
                if state == "sqlite":
                    syncs += _fdatasync(folder)
        last = [runs[state][-1] for state in runs]
        say(
            f"callbacks {number + 1}/{rounds}: memory {last[0].cpu:.0f} µs, {last[0].load.rate:,.0f}/s; "
            f"SQLite {last[1].cpu:.0f} µs, {last[1].load.rate:,.0f}/s; fdatasync {statistics.median(syncs):.2f} ms"
        )
    cpu = {state: statistics.median(run.cpu for run in taken) for state, taken in runs.items()}
    rate = {state: statistics.median(run.load.rate for run in taken) for state, taken in runs.items()}
    sync = f"fdatasync of {SYNC_BYTES // 1024} KiB here: {statistics.median(syncs):.2f} ms"
    return [
        Row(
            "server CPU per callback, state in memory",
            f"{cpu['memory']:.0f} µs",
            target="≤ SQLite's",
            met=cpu["memory"] <= cpu["sqlite"],
        ),
        Row("callbacks per second, state in memory, 64 connections", f"{rate['memory']:,.0f} /s"),
        Row(
            f"durable callbacks per second, SQLite, 64 connections ({sync})",
            f"{rate['sqlite']:,.0f} /s",
            target=f"≥ {RATE_TARGET:,.0f} /s",
            met=rate["sqlite"] >= RATE_TARGET,
        ),
        Row("server CPU per durable callback, SQLite", f"{cpu['sqlite']:.0f} µs"),
    ]


def _latencies(
    caller: Callable[[str], Caller], upstream: Server, numbers: Numbers, rounds: int, seconds: float, folder: Path
) -> list[Row]:
    rows = []
    for state, path, target in (
        ("in memory", "memory", ADDED_TARGET),
        ("in SQLite", str(folder / "latency.sqlite3"), ADDED_TARGET_SQLITE),
    ):
        through: list[Load] = []
        direct: list[Load] = []
        syncs: list[float] = []
        with caller(path) as server:
            _paced(server.port, 1, numbers)
            for number in range(rounds):
                syncs += _fdatasync(folder)
                for index in in_turns(number):
                    port, taken = ((server.port, through), (upstream.port, direct))[index]
                    taken.append(_paced(port, seconds, numbers))
        ours, own = (statistics.median(one.p99 for one in taken) for taken in (through, direct))
        rate = statistics.median(one.rate for one in through)
        say(f"callbacks, state {state}: p99 {ours:.1f} ms, the upstream's own {own:.1f} ms, at {rate:,.0f}/s")
        disk = "" if path == "memory" else f", three flushes each, one of which takes {_p99(syncs):.1f} ms at p99"
        rows.append(
            Row(
                f"callback latency, p99 at {rate:,.0f}/s, state {state}{disk} (peer: the upstream itself)",
                f"{ours:.1f} ms",
                f"{own:.1f} ms",
                f"{ours - own:+.1f} ms",
                f"≤ +{target:.0f} ms",
                ours - own <= target,
            )
        )
    return rows


def _under_load(server: Server, seconds: float, numbers: Numbers) -> Run:
    server.take_lines()
    before = process.cpu_seconds(server.pid)
    counted = run(server.port, seconds, numbers, load.CONNECTIONS, 0)
    server.await_lines()
    return Run(counted, (process.cpu_seconds(server.pid) - before) / counted.requests * 1e6)


def _paced(port: int, seconds: float, numbers: Numbers) -> Load:
    return run(port, seconds, numbers, PACED_CONNECTIONS, PAUSE_MILLISECONDS)


def run(port: int, seconds: float, numbers: Numbers, connections: int, pause: int) -> Load:
    # More than a second's worth on any machine that is near.
    first = numbers.take(int(15_000 * (seconds + 1)) if pause == 0 else int(1_000 * (seconds + 1)))
    return load.run(port, seconds, "/", connections, script=SCRIPT, arguments=[str(first), str(pause)])


def _fdatasync(folder: Path, count: int = 40) -> list[float]:
    """Milliseconds that a flush takes in this folder."""
    took = []
    path = folder / "sync"
    descriptor = os.open(path, os.O_CREAT | os.O_WRONLY, 0o600)
    try:
        for _ in range(count):
            os.write(descriptor, bytes(SYNC_BYTES))
            before = time.monotonic()
            os.fdatasync(descriptor)
            took.append((time.monotonic() - before) * 1000)
    finally:
        os.close(descriptor)
        path.unlink()
    return took


def _p99(values: list[float]) -> float:
    return sorted(values)[max(0, len(values) * 99 // 100 - 1)]


class Crowd:
    """Clients that each ask for one callback, and the upstream that takes them all, answered when it is told to."""

    def __init__(self, stack: ExitStack) -> None:
        self.stack = stack
        self.listener = stack.enter_context(socket.create_server((client.HOST, 0), backlog=4096))
        self.listener.setblocking(False)
        self.waiting = stack.enter_context(selectors.DefaultSelector())
        self.waiting.register(self.listener, selectors.EVENT_READ)
        self.clients: dict[socket.socket, bytes] = {}
        self.held: list[socket.socket] = []
        self.answered = 0
        self.holds = False

    @property
    def port(self) -> int:
        return int(self.listener.getsockname()[1])

    def ask(self, port: int, number: int) -> None:
        content = f'{{"contact_phone_number":"+1415{number:07}","context":{{"issue":"My flight was cancelled"}}}}'
        connection = self.stack.enter_context(client.connect(port))
        connection.sendall(client.request("/calls/callback", "POST", content.encode()))
        self.clients[connection] = b""
        self.waiting.register(connection, selectors.EVENT_READ)

    def until(self, done: Callable[[], bool], within: float) -> None:
        """Serves both sides until something holds."""
        deadline = time.monotonic() + within
        while not done():
            if time.monotonic() > deadline:
                raise Unmeasured(f"{len(self.held)} callbacks wait and {self.answered} were answered in {within:g} s")
            for key, _ in self.waiting.select(timeout=0.1):
                connection = key.fileobj
                assert isinstance(connection, socket.socket)
                if connection is self.listener:
                    self._accept()
                elif connection in self.clients:
                    self._read_answer(connection)
                else:
                    self._read_request(connection)

    def release(self) -> None:
        """Answers all held requests, and all later ones."""
        self.holds = False
        for connection in self.held:
            connection.sendall(REPLY)
            connection.close()
        self.held = []

    def _accept(self) -> None:
        try:
            while True:
                connection, _ = self.listener.accept()
                self.stack.enter_context(connection)
                self.waiting.register(connection, selectors.EVENT_READ, data=bytearray())
        except BlockingIOError:
            return

    def _read_request(self, connection: socket.socket) -> None:
        content = self.waiting.get_key(connection).data
        content += connection.recv(65536)
        if not content.endswith(b"}"):  # The end of the only kind of body there is.
            return
        self.waiting.unregister(connection)
        if self.holds:
            self.held.append(connection)
        else:
            connection.sendall(REPLY)
            connection.close()

    def _read_answer(self, connection: socket.socket) -> None:
        self.clients[connection] += connection.recv(65536)
        if b"\r\n\r\n{" not in self.clients[connection]:
            return
        if not self.clients[connection].startswith(b"HTTP/1.1 201 "):
            raise Unmeasured(f"a callback was answered {self.clients[connection][:200]!r}")
        self.waiting.unregister(connection)
        self.answered += 1


def _waiting(stand: Stand, variables: dict[str, str], numbers: Numbers, count: int) -> list[Row]:
    assert stand.binary is not None
    with ExitStack() as stack:
        crowd = Crowd(stack)
        server = stack.enter_context(Caller(stand.scratch, stand.binary, variables, crowd.port, "memory"))
        # What a server holds that has worked before is not those that wait.
        warm = min(500, count)
        for number in range(first := numbers.take(warm), first + warm):
            crowd.ask(server.port, number)
            crowd.until(lambda: len(crowd.clients) - crowd.answered < 32, START_LIMIT)
        crowd.until(lambda: crowd.answered == warm, START_LIMIT)
        before = process.settled_resident_bytes(server.pid)
        crowd.holds = True
        for asked, number in enumerate(range(first := numbers.take(count), first + count), 1):
            crowd.ask(server.port, number)
            crowd.until(lambda: asked - len(crowd.held) < 128, 30)
        crowd.until(lambda: len(crowd.held) == count, 30)
        grown = (process.settled_resident_bytes(server.pid) - before) / 1e6
        crowd.release()
        crowd.until(lambda: crowd.answered == warm + count, 60)
    say(f"callbacks: {count:,} waiting took {grown:.1f} MB")
    return [
        Row(
            f"memory of {count:,} callbacks that wait for the upstream",
            f"{grown:.1f} MB",
            target=f"≤ {WAITING_TARGET_MB:.0f} MB",
            met=grown <= WAITING_TARGET_MB,
        )
    ]
