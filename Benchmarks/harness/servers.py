"""The server under test and its peer, each as a process of ours with its lines going to a file in the scratch folder."""

import os
import re
import subprocess
import time
from pathlib import Path
from types import TracebackType
from typing import Self

from harness import client, process
from harness.errors import Unmeasured
from harness.identity import Identity

START_LIMIT = 15.0
TARGET = "/access"


class Server:
    """One server process. A subclass says how to start it; `with` starts it and ends it."""

    name = "server"

    def __init__(self, scratch: Path, port: int = 0, identity: Identity | None = None) -> None:
        self.scratch = scratch
        self.port = port
        self.identity = identity
        self.trust = identity.trust() if identity else None
        self.scheme = "https" if identity else "http"
        self.lines = scratch / f"{self.name}.lines"
        self.errors = scratch / f"{self.name}.errors"
        self.child: subprocess.Popen[bytes] | None = None

    def command(self) -> list[str]:
        raise NotImplementedError

    def environment(self) -> dict[str, str]:
        return {"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "LANG": "C.UTF-8"}

    def spawn(self) -> float:
        """Starts the process and returns the moment just before; does not wait for it to listen."""
        with open(self.lines, "ab") as lines, open(self.errors, "ab") as errors:
            command, environment = self.command(), self.environment()
            before = time.monotonic()
            self.child = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=lines, stderr=errors, env=environment, cwd=self.scratch
            )
        return before

    def await_port(self) -> None:
        """Waits until `port` is known and answers. Overridden where the server picks its own port."""

    def start(self) -> None:
        self.lines.unlink(missing_ok=True)
        self.spawn()
        self.await_port()
        if client.first_answer(self.port, TARGET, time.monotonic() + START_LIMIT, self.trust) is None:
            raise Unmeasured(f"{self.name} gave no answer within {START_LIMIT:g} s: {self.complaint()}")

    def stop(self) -> None:
        if self.child is not None:
            process.stop(self.child)
            self.child = None

    @property
    def pid(self) -> int:
        if self.child is None or self.child.poll() is not None:
            raise Unmeasured(f"{self.name} has ended: {self.complaint()}")
        return self.child.pid

    def complaint(self) -> str:
        """The last words on stderr."""
        return self.errors.read_text(errors="replace")[-500:].strip() if self.errors.exists() else ""

    def take_lines(self) -> int:
        """How many lines the server has written since the last call; empties the file, which is opened for append."""
        count = 0
        with open(self.lines, "rb") as lines:
            while chunk := lines.read(1 << 20):
                count += chunk.count(b"\n")
        os.truncate(self.lines, 0)
        return count

    def await_lines(self, calm: float = 0.25, within: float = 5.0) -> None:
        """Returns once the file of lines has not grown for `calm` seconds: what is buffered has arrived by then, and its
        cost has fallen to the run that made it."""
        deadline = time.monotonic() + within
        size, since = self.lines.stat().st_size, time.monotonic()
        while time.monotonic() < min(since + calm, deadline):
            time.sleep(0.02)
            if (now := self.lines.stat().st_size) != size:
                size, since = now, time.monotonic()

    def last_audit_line(self, within: float = 2.0) -> bytes:
        """The last audit line written, once there is one: what an answered request leaves behind."""
        deadline = time.monotonic() + within
        while time.monotonic() < deadline:
            whole, _, _ = self.lines.read_bytes().rpartition(b"\n")
            audit = [line for line in whole.splitlines() if line.startswith(b'{"log":"audit"')]
            if audit:
                return audit[-1]
            time.sleep(0.02)
        raise Unmeasured(f"{self.name} wrote no audit line for a request within {within:g} s")

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


class Callgate(Server):
    """`callgate serve --sandbox`: the release build, its audit lines on stdout, its state in memory."""

    name = "callgate"

    def __init__(
        self,
        scratch: Path,
        binary: Path,
        port: int = 0,
        identity: Identity | None = None,
        settings: Path | None = None,
    ) -> None:
        super().__init__(scratch, port, identity)
        self.binary = binary
        self.settings = settings
        self.wanted_port = port

    def command(self) -> list[str]:
        command = [str(self.binary), "serve", "--sandbox", "--port", str(self.wanted_port)]
        settings = self.settings
        if self.identity:
            settings = self.scratch / "tls.yaml"
            files = f"certificate_file: {self.identity.certificate}, key_file: {self.identity.key}"
            settings.write_text(f"listen: {{ tls: {{ {files} }} }}\n")
        if settings:
            command += ["--config", str(settings)]
        return command

    def await_port(self) -> None:
        deadline = time.monotonic() + START_LIMIT
        while time.monotonic() < deadline:
            said = re.search(rb"^callgate: listening on https?://[^\n]*:(\d+)\n", self.lines.read_bytes(), re.M)
            if said:
                self.port = int(said.group(1))
                return
            _ = self.pid  # Raises when the process has ended.
            time.sleep(0.002)
        raise Unmeasured(f"{self.name} did not say where it listens: {self.complaint()}")
