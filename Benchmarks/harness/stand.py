"""The test stand: makes fresh pairs of servers, ours and the peer that imitates it."""

from collections.abc import Callable
from pathlib import Path

from harness import client, nginx
from harness.identity import Identity
from harness.servers import TARGET, Callgate, Server

Maker = Callable[[int], Server]


class Stand:
    """Makes servers in one scratch folder. Without a binary, nginx stands in for ours: the control."""

    def __init__(self, scratch: Path, binary: Path | None) -> None:
        self.scratch = scratch
        self.binary = binary
        self.likeness = nginx.Likeness.default() if binary is None else self._observe()
        self.trim = nginx.matched(scratch, self.likeness)
        with self.peer() as peer:
            nginx.verify(peer)

    def _observe(self) -> nginx.Likeness:
        """What our server answers to the request that is measured, and how long a line it writes for it."""
        with self.ours() as ours:
            answer = client.ask(ours.port, TARGET)  # The second request: a token from the cache, as in every run.
            return nginx.Likeness.of(answer, ours.last_audit_line())

    def ours(self, port: int = 0, identity: Identity | None = None, settings: Path | None = None) -> Server:
        """`settings` is a configuration file, which the control does not know."""
        if self.binary is None:
            return nginx.Nginx(self.scratch, self.likeness, self.trim, port, "control", identity)
        return Callgate(self.scratch, self.binary, port, identity, settings)

    def peer(self, port: int = 0, identity: Identity | None = None) -> nginx.Nginx:
        return nginx.Nginx(self.scratch, self.likeness, self.trim, port, identity=identity)


def in_turns(round_number: int) -> tuple[int, int]:
    """Who goes first this time: 0 is ours, 1 the peer. A B, B A, A B, …"""
    return (0, 1) if round_number % 2 == 0 else (1, 0)
