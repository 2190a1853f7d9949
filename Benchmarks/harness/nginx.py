"""The peer: nginx giving the very answer and writing lines of the very length of the server it stands beside."""

import os
import time
from dataclasses import dataclass
from pathlib import Path

from harness import client
from harness.client import Answer
from harness.errors import Unmeasured
from harness.identity import Identity
from harness.servers import TARGET, Server

WORKERS = 2
SUITES = (
    "ECDHE-ECDSA-AES128-GCM-SHA256",
    "ECDHE-RSA-AES128-GCM-SHA256",
    "ECDHE-ECDSA-AES256-GCM-SHA384",
    "ECDHE-RSA-AES256-GCM-SHA384",
    "ECDHE-ECDSA-CHACHA20-POLY1305",
    "ECDHE-RSA-CHACHA20-POLY1305",
)
# Fields nginx writes by itself, and the one whose value differs from answer to answer.
OWN_FIELDS = {"date", "server", "connection", "content-length", "content-type", "x-request-id", "keep-alive"}


@dataclass(frozen=True)
class Likeness:
    """What the peer imitates: one answer and the length of the line written for it."""

    fields: list[tuple[str, str]]
    content_type: str
    content: str
    wire_bytes: int
    line_bytes: int

    @staticmethod
    def of(answer: Answer, line: bytes) -> "Likeness":
        kept = [(name, value) for name, value in answer.fields if name not in OWN_FIELDS]
        return Likeness(
            kept, answer.field("content-type") or "text/plain", answer.content.decode(), answer.wire_bytes, len(line)
        )

    @staticmethod
    def default() -> "Likeness":
        """An answer of the usual shape, for measuring nginx against itself."""
        content = "e" * 640
        return Likeness([("cache-control", "no-store")], "text/plain; charset=utf-8", content, 840, 380)


@dataclass(frozen=True)
class Trim:
    """How many bytes to take off the content and to add to the line, so that both match the likeness.

    The content gives way because nginx writes `Server` and `Connection` fields of its own.
    """

    content: int = 0
    line: int = 0


def quoted(text: str) -> str:
    """A string of nginx's configuration language, which knows variables: refuses what would need more than quotes."""
    if any(character in text for character in "\\\"$\n\r"):
        raise Unmeasured(f"nginx cannot be told to answer {text!r}")
    return f'"{text}"'


class Nginx(Server):
    """nginx with two workers and a buffered JSON access log."""

    def __init__(
        self,
        scratch: Path,
        likeness: Likeness,
        trim: Trim = Trim(),
        port: int = 0,
        name: str = "nginx",
        identity: Identity | None = None,
    ) -> None:
        self.name = name
        self.fixed_port = port
        super().__init__(scratch, port, identity)
        self.likeness = likeness
        self.trim = trim

    def command(self) -> list[str]:
        self.port = self.fixed_port or client.free_port()
        configuration = self.scratch / f"{self.name}.conf"
        configuration.write_text(self.configuration())
        return ["nginx", "-p", str(self.scratch), "-c", str(configuration), "-e", str(self.errors)]

    def configuration(self) -> str:
        like = self.likeness
        fields = "\n".join(f"      add_header {name} {quoted(value)};" for name, value in like.fields)
        length = max(0, len(like.content) - self.trim.content)
        content = like.content.ljust(length, ".")[:length]
        temporary = "\n".join(
            f"  {kind}_temp_path {self.scratch}/{self.name}.{kind};"
            for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        )
        return f"""\
daemon off;
worker_processes {WORKERS};
{"user root;" if os.geteuid() == 0 else ""}
pid {self.scratch}/{self.name}.pid;
events {{ worker_connections 8192; }}
http {{
{temporary}
  log_format audit escape=json '{self.line_format()}';
  access_log {self.lines} audit buffer=64k flush=100ms;
  keepalive_timeout 95s;
  keepalive_requests 1000000000;
  server_tokens off;
  default_type {quoted(like.content_type)};
  server {{
    listen {client.HOST}:{self.port}{" ssl" if self.identity else ""} reuseport backlog=4096;
{self.security()}
    location = {TARGET} {{
{fields}
      add_header X-Request-Id $request_id;
      return 200 {quoted(content)};
    }}
  }}
}}
"""

    def security(self) -> str:
        """The same protocols, suites and groups in the same order as ours, and nginx's own choice in everything else."""
        if self.identity is None:
            return ""
        return f"""\
    ssl_certificate {self.identity.certificate};
    ssl_certificate_key {self.identity.key};
    ssl_protocols TLSv1.2 TLSv1.3;
    ssl_ciphers {":".join(SUITES)};
    ssl_conf_command Ciphersuites TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256;
    ssl_prefer_server_ciphers on;
    ssl_ecdh_curve X25519:P-256:P-384;"""

    def line_format(self) -> str:
        return (
            '{"log":"audit","time":"$time_iso8601","request_id":"$request_id","action":"access",'
            '"address":"$remote_addr","status":$status,"duration_ms":$request_time,'
            f'"padding":"{"." * self.trim.line}"}}'
        )


def matched(scratch: Path, likeness: Likeness) -> Trim:
    """Asks an untrimmed nginx once and returns the trim that makes its answer and its line as long as the likeness's."""
    with Nginx(scratch, likeness) as plain:
        answer = client.ask(plain.port, TARGET)
        line = plain.last_audit_line()
    return Trim(content=answer.wire_bytes - likeness.wire_bytes, line=max(0, likeness.line_bytes - len(line)))


def verify(server: Nginx) -> None:
    """Raises Unmeasured when answers or lines of the peer are not as long as those they stand beside."""
    answer = client.ask(server.port, TARGET)
    line = server.last_audit_line()
    like = server.likeness
    if answer.wire_bytes != like.wire_bytes or abs(len(line) - like.line_bytes) > 8:
        raise Unmeasured(
            f"the peer's answer has {answer.wire_bytes} bytes and its line {len(line)}, "
            f"not {like.wire_bytes} and {like.line_bytes}"
        )
