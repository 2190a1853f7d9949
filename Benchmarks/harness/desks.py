"""A chat desk: tickets beside callbacks, cached session tokens beside Talkdesk's, and the memory of many users' tokens."""

import os
import tempfile
from contextlib import ExitStack
from pathlib import Path
from statistics import median

from harness import callbacks, client, credentials, load, process
from harness.callbacks import Caller, Emulator, Numbers, QuickUpstream
from harness.errors import Unmeasured
from harness.load import Load
from harness.progress import say
from harness.report import Pairs, Row
from harness.stand import Stand, in_turns
from harness.throughput import under_load

TICKETS = load.SCRIPT.with_name("tickets.lua")
MEMORY_MEGABYTES = 60


class DeskUpstream(QuickUpstream):
    """The upstream of callbacks, which is Sendbird and its desk, too."""

    locations = """
    location = /platform/v1/customers { return 200 '{"results":[{"id":7}]}'; }
    location = /platform/v1/tickets { return 200 '{"id":4711,"channelUrl":"sendbird_desk_ticket_4711"}'; }
    location /v3/users/ { return 200 '{"token":"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"}'; }
"""


class DeskCaller(Caller):
    """`callgate serve` with callbacks and a chat desk, both at one upstream."""

    name = "desks"

    def settings_text(self) -> str:
        secret = self.scratch / "desks.secret"
        secret.write_bytes(credentials.SECRET)
        token = self.scratch / "desks.token"
        token.write_text("a-token-of-the-benchmarks-desk")
        url = self.variables["TD_API_URL"]
        return super().settings_text() + f"""\
callers:
  - {{ id: users, jwt: {{ issuer: "https://id.example", audience: callgate, hs256_secret_file: {secret} }} }}
desks:
  chat:
    {{ kind: sendbird, application_id: A, api_token_file: {token}, url: "{url}", desk_api_token_file: {token}, desk_url: "{url}" }}
apps: {{ chat: {{ callers: [users], desk: chat }}, voice: {{}} }}
"""


def measure(stand: Stand, rounds: int, seconds: float, users: int) -> list[Row]:
    """Every figure, each beside its peer on the same server."""
    if stand.binary is None:
        raise Unmeasured("nginx has no chat desk")
    disk = tempfile.TemporaryDirectory(prefix="callgate-bench.", dir=os.environ.get("TMPDIR", "/var/tmp"))
    with disk as folder, Emulator(stand.scratch, stand.binary) as emulator, DeskUpstream(stand.scratch) as upstream:

        def server(state: str) -> DeskCaller:
            return DeskCaller(stand.scratch, stand.binary, emulator.variables, upstream.port, state)  # type: ignore[arg-type]

        with server(str(Path(folder) / "tickets.sqlite3")) as durable:
            rows = _tickets(durable, rounds, seconds)
        with server("memory") as light:
            rows.append(_cached(light, rounds, seconds))
        with server("memory") as fresh:
            rows.append(_memory(fresh, users))
    return rows


def _tickets(server: DeskCaller, rounds: int, seconds: float) -> list[Row]:
    numbers = Numbers()
    rates: tuple[list[float], list[float]] = ([], [])
    costs: tuple[list[float], list[float]] = ([], [])
    for number in range(-1, rounds):
        for kind in in_turns(number):
            server.take_lines()
            before = process.cpu_seconds(server.pid)
            counted = _open(server, seconds, numbers) if kind == 0 else callbacks.run(server.port, seconds, numbers, load.CONNECTIONS, 0)
            server.await_lines()
            used = process.cpu_seconds(server.pid) - before
            # The first pair warms the server.
            if number >= 0:
                rates[kind].append(counted.rate)
                costs[kind].append(used / counted.requests * 1e6)
        if number >= 0:
            say(f"desks {number + 1}/{rounds}: {rates[0][-1]:,.0f} tickets/s, {rates[1][-1]:,.0f} callbacks/s")
    return [
        Pairs(*rates).row("durable tickets per second, SQLite, 64 connections (peer: durable callbacks)", ",.0f", "/s"),
        Pairs(*costs).row("server CPU per durable ticket, SQLite (peer: a durable callback)", ".0f", "µs"),
    ]


def _open(server: DeskCaller, seconds: float, numbers: Numbers) -> Load:
    first = numbers.take(int(15_000 * (seconds + 1)))
    authorization = f"Bearer {credentials.jwt()}"
    return load.run(server.port, seconds, "/tickets?app=chat", script=TICKETS, arguments=[str(first), authorization])


def _cached(server: DeskCaller, rounds: int, seconds: float) -> Row:
    """The same user with the same credential, for each kind of token."""
    fields = ("Authorization", f"Bearer {credentials.jwt()}")
    costs: tuple[list[float], list[float]] = ([], [])
    for number in range(-1, rounds):
        for kind in in_turns(number):
            run = under_load(server, seconds, fields, target=("/access?app=chat", "/access?app=voice")[kind])
            if number >= 0:
                costs[kind].append(run.cpu_microseconds)
    pairs = Pairs(*costs)
    say(f"desks: a cached session token takes {median(costs[0]):.2f} µs, a Talkdesk token {median(costs[1]):.2f} µs")
    measure = "server CPU per request, a cached session token (peer: a cached Talkdesk token)"
    return pairs.row(measure, ".2f", "µs", "ratio ≤ 1.0", pairs.ratio() <= 1.0)


def _memory(server: DeskCaller, users: int) -> Row:
    # The table of verified credentials is full before.
    _ask_each(server, "/access?app=voice", range(-20_000, 0))
    before = process.settled_resident_bytes(server.pid)
    _ask_each(server, "/access?app=chat", range(users))
    grown = (process.settled_resident_bytes(server.pid) - before) / 1e6
    say(f"desks: {users:,} users took {grown:.1f} MB")
    return Row(
        f"resident memory of {users:,} users' session tokens of 64 octets",
        f"{grown:.1f} MB",
        target=f"≤ {MEMORY_MEGABYTES} MB for 100,000",
        met=grown <= MEMORY_MEGABYTES,
    )


def _ask_each(server: DeskCaller, target: str, users: range) -> None:
    """Asks once for each user, over a few connections at a time."""
    with ExitStack() as stack:
        connections = [stack.enter_context(client.connect(server.port, timeout=30)) for _ in range(load.CONNECTIONS)]
        for start in range(0, len(users), len(connections)):
            asked = list(zip(connections, users[start:], strict=False))
            for connection, number in asked:
                token = credentials.jwt(f"2f0c1f6a-1111-4222-8333-{number + 10**11:012}")
                field = f"\r\nAuthorization: Bearer {token}\r\n\r\n".encode()
                connection.sendall(client.request(target).replace(b"\r\n\r\n", field))
            for connection, _ in asked:
                answer = client.read_answer(connection)
                if answer.status != 200:
                    raise Unmeasured(f"a user was answered {answer.status}: {answer.content[:200]!r}")
    server.take_lines()
