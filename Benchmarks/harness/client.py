"""A small HTTP/1.1 client over blocking sockets: enough to ask for an answer and read exactly that answer."""

import resource
import socket
import ssl
import time
from dataclasses import dataclass

from harness.errors import Unmeasured

HOST = "127.0.0.1"
ANSWER_LIMIT = 1 << 20


@dataclass(frozen=True)
class Answer:
    """One final answer: status, fields with lower-case names in their order, content, and its size on the wire."""

    status: int
    fields: list[tuple[str, str]]
    content: bytes
    wire_bytes: int

    def field(self, name: str) -> str | None:
        return next((value for key, value in self.fields if key == name), None)


def request(target: str, method: str = "GET", content: bytes = b"") -> bytes:
    """The bytes of one request."""
    head = f"{method} {target} HTTP/1.1\r\nHost: {HOST}\r\n"
    if content:
        head += f"Content-Type: application/json\r\nContent-Length: {len(content)}\r\n"
    return head.encode() + b"\r\n" + content


def connect(port: int, timeout: float = 10.0, trust: ssl.SSLContext | None = None) -> socket.socket:
    """A connection, through TLS where `trust` says how to verify the server."""
    connection = socket.create_connection((HOST, port), timeout=timeout)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return trust.wrap_socket(connection, server_hostname=HOST) if trust else connection


def read_answer(connection: socket.socket) -> Answer:
    """Reads one answer that states its length. Raises Unmeasured for anything else."""
    received = b""
    while (end := received.find(b"\r\n\r\n")) < 0:
        received += _more(connection, len(received))
    status_line, *lines = received[:end].decode("latin-1").split("\r\n")
    pairs = [line.partition(":") for line in lines]
    fields = [(name.lower(), value.strip()) for name, _, value in pairs]
    status = int(status_line.split()[1])
    length = 0 if status == 204 else int(dict(fields).get("content-length", "-1"))
    if length < 0:
        raise Unmeasured(f"an answer without Content-Length: {status_line}")
    size = end + 4 + length
    while len(received) < size:
        received += _more(connection, len(received))
    return Answer(status, fields, received[end + 4 : size], size)


def _more(connection: socket.socket, so_far: int) -> bytes:
    if so_far > ANSWER_LIMIT:
        raise Unmeasured("an answer beyond any sensible size")
    chunk = connection.recv(65536)
    if not chunk:
        raise Unmeasured(f"the connection closed after {so_far} bytes of an answer")
    return chunk


def ask(
    port: int,
    target: str,
    method: str = "GET",
    content: bytes = b"",
    expect: int | None = 200,
    trust: ssl.SSLContext | None = None,
) -> Answer:
    """One request on a connection of its own. Raises Unmeasured unless the status is `expect`."""
    with connect(port, trust=trust) as connection:
        connection.sendall(request(target, method, content))
        answer = read_answer(connection)
    if expect is not None and answer.status != expect:
        raise Unmeasured(f"{method} {target} answered {answer.status}: {answer.content[:200]!r}")
    return answer


def first_answer(port: int, target: str, give_up: float, trust: ssl.SSLContext | None = None) -> Answer | None:
    """The first 200 from a server that is just starting: None once time.monotonic() has passed `give_up`."""
    while time.monotonic() < give_up:
        try:
            answer = ask(port, target, expect=None, trust=trust)
            if answer.status == 200:
                return answer
        except (ConnectionError, Unmeasured):
            pass  # Not listening yet: this is what is being waited for.
        time.sleep(0.0002)
    return None


def free_port() -> int:
    """A port without a listener at this moment."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


def raise_descriptor_limit() -> int:
    """Raises this process's soft limit of open files, which the servers inherit, to the hard one; returns it."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 65536 if hard == resource.RLIM_INFINITY else hard
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    return wanted
