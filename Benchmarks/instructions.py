#!/usr/bin/env python3
"""Counts the instructions of one cached GET /access by valgrind's callgrind. Run it through script/bench --instructions. Without
--check it also counts those of an installation, of a rule that counts and of a callback, and those of nginx, which returns a fixed
response and logs JSON.

Each kind of request has two runs of a fresh server, with few requests and with many, from 64 connections. What the second takes more,
divided by the number of requests more, is the figure: the start and the first exchange of a token are in both. Counts depend on the
machine's libraries and on the processor's features, and a little on its load, since the work of clocks is in them. So a check counts a
figure that is beyond its limit again, and takes the least. The kernel's part is not in them."""

import argparse
import concurrent.futures
import contextlib
import itertools
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))

from harness import callbacks, client, credentials, identity, installations, nginx, servers  # noqa: E402
from harness.errors import Unmeasured  # noqa: E402

CONNECTIONS = 64
FEW, MANY = 8, 40
RULES = 10
# A figure may exceed its limit by this factor, because libraries and processors differ by that much.
TOLERANCE = 1.06
# How often a check counts a figure that is beyond its limit.
TRIES = 5
# In seconds. Under callgrind a server takes long to start, above all on a busy machine.
servers.START_LIMIT = 120.0
LIMITS = Path(__file__).resolve().parent / "instructions.json"
# A tool call of an AI agent may take this many times the instructions of the same request over HTTP.
AGENT_SHARE = 1.25
OVER_HTTP, BY_AGENT = "a callback with key and reason, in memory", "the same by an AI agent"
# A rule about a number that its caller has proven may take this many instructions more than a rate rule alone.
OF_REMEMBERED = 10_000
RATED, REMEMBERED = "a callback of a user, one rate rule, SQLite, one at a time", "the same to a number that is remembered"


class Counting(servers.Server):
    """A server under callgrind."""

    def command(self) -> list[str]:
        return ["valgrind", "--quiet", "--tool=callgrind", f"--callgrind-out-file={self.counts}", *super().command()]

    @property
    def counts(self) -> Path:
        return self.scratch / "counts"

    def total(self) -> int:
        """All instructions, once the server has ended."""
        assert self.child is not None
        self.child.send_signal(signal.SIGTERM)
        if self.child.wait(timeout=60) != 0:
            raise Unmeasured(f"the server ended with {self.child.returncode}: {self.complaint()}")
        found = re.search(r"^(?:totals|summary): (\d+)", self.counts.read_text(), re.M)
        if found is None:
            raise Unmeasured(f"callgrind wrote no total: {self.complaint()}")
        return int(found[1])


class Counted(Counting, servers.Callgate):
    """The server with the sandbox, which gives it its token."""


class CountedCaller(Counting, callbacks.Caller):
    """The server without the sandbox, with nginx as the Callback API."""


class CountedAgents(CountedCaller):
    """The same server with tools for AI agents."""

    def settings_text(self) -> str:
        return super().settings_text() + "mcp: { callers: [anonymous] }\n"


class CountedUsers(CountedCaller):
    """The server for users with a JWT, with a rule that counts, and without safety limits: all calls are to one number."""

    rules = [{"name": "many", "kind": "rate", "key": "global", "limit": 100_000, "per": "1m"}]
    # The URL of the keys that verify proofs.
    keys = ""

    def settings_text(self) -> str:
        secret = self.scratch / "secret"
        secret.write_bytes(credentials.SECRET)
        secret.chmod(0o600)
        jwt = {"issuer": "https://id.example", "audience": "callgate", "hs256_secret_file": str(secret)}
        firebase = {"project_number": "123456789012", "project_id": "callgate-sandbox", "keys_url": self.keys}
        settings = {
            # The harness waits for an answer to a request without a credential.
            "allow_anonymous": True,
            "callers": [{"id": "users", "jwt": jwt}],
            "callbacks": {"timeout": "120s", "dedupe_window": "0s", "brakes": "off"},
            "numbers": {"proofs": {"firebase": firebase}},
            "rules": self.rules,
        }
        # JSON is YAML.
        return json.dumps(settings)


class CountedOwners(CountedUsers):
    """The same server, which calls only proven numbers."""

    rules = [*CountedUsers.rules, {"name": "own-number", "kind": "own_number"}]


class CountedInstallations(Counting, installations.Kept):
    """The server with installations in a file."""


class CountedNginx(Counting, nginx.Nginx):
    """nginx in one process, with `$request_id` in its answer and its log, or without."""

    def __init__(self, scratch: Path, has_id: bool) -> None:
        super().__init__(scratch, nginx.Likeness.default())
        self.has_id = has_id

    def configuration(self) -> str:
        text = super().configuration().replace("daemon off;", "daemon off; master_process off;")
        # The sockets of further workers would have no process that accepts.
        text = text.replace(f"worker_processes {nginx.WORKERS};", "worker_processes 1;")
        if self.has_id:
            return text
        return text.replace("      add_header X-Request-Id $request_id;\n", "").replace('"request_id":"$request_id",', "")


def run(server: Counting, requests: Iterator[bytes], rounds: int, at_once: int = CONNECTIONS) -> int:
    """Instructions of a server that answers one request of each connection in each round, `at_once` of them at a time."""
    with server, contextlib.ExitStack() as stack:
        # Requests one at a time share a connection: other connections would be idle for so long that the server closes them.
        count = 1 if at_once == 1 else CONNECTIONS
        connections = [stack.enter_context(client.connect(server.port, timeout=60)) for _ in range(count)] * (CONNECTIONS // count)
        for first in [*range(0, CONNECTIONS, at_once)] * rounds:
            group = connections[first : first + at_once]
            for connection in group:
                connection.sendall(next(requests))
            for connection in group:
                answer = client.read_answer(connection)
                if answer.status // 100 != 2:
                    raise Unmeasured(f"status {answer.status}: {answer.content[:200]!r}")
        for connection in connections:
            connection.close()
        return server.total()


def counted(binary: Path, settings: dict[str, object], request: bytes, rounds: int, parent: Path) -> int:
    """Requests for the cached token."""
    scratch = Path(tempfile.mkdtemp(dir=parent))
    path = scratch / "callgate.yaml"
    # JSON is YAML.
    path.write_text(json.dumps(settings))
    return run(Counted(scratch, binary, settings=path), itertools.repeat(request), rounds)


def counted_callbacks(binary: Path, is_saved: bool, protocols: str | None, rounds: int, parent: Path) -> int:
    """Callbacks, each for another number, over http or over https with these protocols."""
    scratch = Path(tempfile.mkdtemp(dir=parent))
    contents = ({"contact_phone_number": f"+1415{number}"} for number in itertools.count(2_000_000))
    requests = (client.request("/calls/callback", "POST", json.dumps(content).encode()) for content in contents)
    state = str(scratch / "state.sqlite3") if is_saved else "memory"
    trusted = identity.Identity.make(scratch, "P-256") if protocols else None
    api = callbacks.QuickUpstream(scratch, identity=trusted)
    api.protocols = protocols or api.protocols
    # Under callgrind, the handshakes of all connections together would take longer than the server waits for one.
    at_once = 4 if protocols else CONNECTIONS
    with callbacks.Emulator(scratch, binary) as emulator, api as upstream:
        server = CountedCaller(scratch, binary, emulator.variables, upstream.port, state, trusted)
        return run(server, requests, rounds, at_once)


def over_http(number: int) -> bytes:
    """A request for a callback with everything that an agent's has."""
    context = {"fields": [{"name": "reason", "value": "order 17 is late"}]}
    content = json.dumps({"contact_phone_number": f"+1415{number}", "context": context}).encode()
    return client.request("/calls/callback", "POST", content).replace(b"\r\n", f"\r\nIdempotency-Key: {number}\r\n".encode(), 1)


def by_agent(number: int) -> bytes:
    """The same as a tool call of the newest version of the protocol."""
    meta = {f"io.modelcontextprotocol/{name}": value for name, value in (("protocolVersion", "2026-07-28"), ("clientCapabilities", {}))}
    arguments = {"phone_number": f"+1415{number}", "conversation_id": str(number), "reason": "order 17 is late"}
    params = {"name": "request_callback", "arguments": arguments, "_meta": meta}
    content = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode()
    fields = b"MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: request_callback\r\n"
    return client.request("/mcp", "POST", content).replace(b"\r\n", b"\r\n" + fields, 1)


def counted_agents(binary: Path, make: Callable[[int], bytes], rounds: int, parent: Path) -> int:
    """Callbacks of a server with tools for agents, in memory."""
    scratch = Path(tempfile.mkdtemp(dir=parent))
    with callbacks.Emulator(scratch, binary) as emulator, callbacks.QuickUpstream(scratch) as upstream:
        server = CountedAgents(scratch, binary, emulator.variables, upstream.port, "memory")
        return run(server, map(make, itertools.count(2_000_000)), rounds)


def counted_users(binary: Path, kind: type[CountedUsers], rounds: int, parent: Path) -> int:
    """Callbacks of one user to one number, which the first one proves. They run one after the other, so that none share a transaction."""
    scratch = Path(tempfile.mkdtemp(dir=parent))
    state = str(scratch / "state.sqlite3")
    with callbacks.Emulator(scratch, binary) as emulator, callbacks.QuickUpstream(scratch) as upstream:
        server = kind(scratch, binary, emulator.variables, upstream.port, state)
        server.keys = f"http://{client.HOST}:{emulator.port}/fpnv/v1beta/jwks"
        return run(server, of_user(emulator.port), rounds, at_once=1)


def of_user(emulator: int) -> Iterator[bytes]:
    """A callback with a proof of its number, and others without."""
    number = {"phone": "+14152000000"}
    with client.connect(emulator) as connection:
        connection.sendall(client.request("/_sandbox/number-proof", "POST", json.dumps(number).encode()))
        proof = json.loads(client.read_answer(connection).content)
    field = f"\r\nAuthorization: Bearer {credentials.jwt()}\r\n".encode()
    for more in itertools.chain([proof], itertools.repeat({})):
        content = json.dumps({"contact_phone_number": number["phone"], **more}).encode()
        yield client.request("/calls/callback", "POST", content).replace(b"\r\n", field, 1)


def counted_installation(binary: Path, rounds: int, parent: Path) -> int:
    """Requests for the cached token by one installation with a valid credential."""
    scratch = Path(tempfile.mkdtemp(dir=parent))
    state = scratch / "state.sqlite3"
    with callbacks.Emulator(scratch, binary) as emulator:
        # The first start creates the tables.
        with installations.Kept(scratch, binary, emulator.variables, state):
            pass
        [credential] = installations.fill(state, 1)
        request = access(field=f"Authorization: Basic {credential}\r\n")
        return run(CountedInstallations(scratch, binary, emulator.variables, state), itertools.repeat(request), rounds)


def counted_nginx(has_id: bool, rounds: int, parent: Path) -> int:
    """The fixed response of nginx."""
    requests = itertools.repeat(client.request(servers.TARGET))
    return run(CountedNginx(Path(tempfile.mkdtemp(dir=parent)), has_id), requests, rounds)


def access(target: str = "/access", field: str = "") -> bytes:
    """A request for the token, with one more header field or none."""
    return f"GET {target} HTTP/1.1\r\nHost: {client.HOST}\r\n{field}\r\n".encode()


def rate() -> dict[str, object]:
    """Settings with one rule that counts each request, in memory."""
    rule = {"name": "many", "kind": "rate", "key": "global", "limit": 100_000, "per": "1m"}
    return {"allow_anonymous": True, "rules": [rule]}


def kinds(scratch: Path) -> dict[str, tuple[dict[str, object], bytes]]:
    """Configuration and request by name."""
    secret = scratch / "secret"
    secret.write_bytes(credentials.SECRET)
    secret.chmod(0o600)
    callers = [
        {"id": "users", "jwt": {"issuer": "https://id.example", "audience": "callgate", "hs256_secret_file": str(secret)}},
        {"id": "basic", "basic": {"username": "user", "password_sha256": credentials._sha256("password")}},
        {"id": "key", "api_key": {"sha256": credentials._sha256("key")}},
    ]
    settings: dict[str, object] = {"allow_anonymous": True, "callers": callers}
    rules = [{"name": f"rule-{number}", "kind": "addresses", "on": ["callback"], "allow": ["192.0.2.0/24"]} for number in range(RULES)]

    return {
        "anonymous": (settings, access()),
        "API key": (settings, access(field="X-API-Key: key\r\n")),
        "HTTP Basic": (settings, access(field="Authorization: Basic dXNlcjpwYXNzd29yZA==\r\n")),
        "JWT, again": (settings, access(field=f"Authorization: Bearer {credentials.jwt()}\r\n")),
        "?app=NAME": (settings, access("/access?app=example-app-android")),
        f"{RULES} rules that do not apply": ({**settings, "rules": rules}, access()),
    }


def figures_of(counts: dict[str, Callable[[int], int]], between: dict[str, tuple[int, int]]) -> dict[str, float]:
    """Instructions of one request, by the kind of request."""
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        totals = {(name, rounds): pool.submit(count, rounds) for name, count in counts.items() for rounds in between[name]}
        return {
            name: (totals[name, many].result() - totals[name, few].result()) / ((many - few) * CONNECTIONS)
            for name, (few, many) in between.items()
            if name in counts
        }


def beyond_limit(figures: dict[str, float], limits: dict[str, int]) -> list[str]:
    """The names of the figures that exceed their limit and the tolerance."""
    return [name for name, limit in limits.items() if figures[name] > limit * TOLERANCE]


def main() -> int:
    parser = argparse.ArgumentParser(prog="script/bench --instructions", description=__doc__)
    parser.add_argument("--server", type=Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--check", action="store_true", help=f"fail where a figure is beyond its limit by more than {TOLERANCE - 1:.0%}")
    chosen = parser.parse_args()
    limits = json.loads(LIMITS.read_text())
    parent = Path(tempfile.mkdtemp(prefix="callgate-instructions."))
    try:
        # valgrind does not read this compiler's DWARF.
        binary = parent / "callgate"
        subprocess.run(["strip", "--strip-debug", "-o", str(binary), str(chosen.server)], check=True)
        counts: dict[str, Callable[[int], int]] = {
            name: lambda rounds, settings=settings, request=request: counted(binary, settings, request, rounds, parent)
            for name, (settings, request) in kinds(parent).items()
        }
        between = dict.fromkeys(counts, (FEW, MANY))
        if not chosen.check:
            counts["an installation, again"] = lambda rounds: counted_installation(binary, rounds, parent)
            counts["one rate rule, in memory"] = lambda rounds: counted(binary, rate(), access(), rounds, parent)
            between |= dict.fromkeys(("an installation, again", "one rate rule, in memory"), (FEW, MANY))
            for name, is_saved, protocols in (
                ("a callback, in memory", False, None),
                ("a callback, SQLite", True, None),
                ("a callback in memory, https, TLS 1.3", False, "TLSv1.3"),
                ("a callback in memory, https, TLS 1.2", False, "TLSv1.2"),
            ):
                counts[name] = lambda rounds, is_saved=is_saved, protocols=protocols: counted_callbacks(
                    binary, is_saved, protocols, rounds, parent
                )
                between[name] = (2, 6)
            for name, make in {OVER_HTTP: over_http, BY_AGENT: by_agent}.items():
                counts[name] = lambda rounds, make=make: counted_agents(binary, make, rounds, parent)
                between[name] = (2, 6)
            for name, kind in {RATED: CountedUsers, REMEMBERED: CountedOwners}.items():
                counts[name] = lambda rounds, kind=kind: counted_users(binary, kind, rounds, parent)
                between[name] = (2, 6)
            for name, has_id in {"nginx": True, "nginx without $request_id": False}.items():
                counts[name] = lambda rounds, has_id=has_id: counted_nginx(has_id, rounds, parent)
                between[name] = (FEW, MANY)
        figures = figures_of(counts, between)
        for _ in range(TRIES - 1 if chosen.check else 0):
            again = beyond_limit(figures, limits)
            least = figures_of({name: counts[name] for name in again}, between)
            figures |= {name: min(figures[name], figure) for name, figure in least.items()}
    except (Unmeasured, OSError) as error:
        print(f"instructions could not be counted: {error}", file=sys.stderr)
        return 1
    finally:
        shutil.rmtree(parent, ignore_errors=True)
    if not chosen.check:
        limits = {BY_AGENT: round(AGENT_SHARE * figures[OVER_HTTP]), REMEMBERED: round(figures[RATED]) + OF_REMEMBERED, **limits}
    print("| request | instructions | limit |\n| --- | --- | --- |")
    for name, figure in figures.items():
        print(f"| {name} | {round(figure, -2):,.0f} | {f'{limits[name]:,}' if name in limits else '–'} |")
    if chosen.check:
        beyond = beyond_limit(figures, limits)
        if beyond:
            print(f"more instructions than the limit of Benchmarks/instructions.json + {TOLERANCE - 1:.0%}: {', '.join(beyond)}", file=sys.stderr)
    else:
        beyond = [name for name in (BY_AGENT, REMEMBERED) if figures[name] > limits[name]]
        if beyond:
            print(f"more instructions than the limit: {', '.join(beyond)}", file=sys.stderr)
    return 1 if beyond else 0


if __name__ == "__main__":
    sys.exit(main())
