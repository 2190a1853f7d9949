"""Programs at a terminal of 80 columns: what a person types, and what is shown."""
import fcntl
import os
import pty
import re
import select
import signal
import struct
import termios
import time

from .checks import until
from .processes import CALLGATE, at_end, environment


class Terminal:
    """`callgate ARGUMENT…` at a pseudo-terminal:

        with Terminal("init", cwd=folder) as terminal:
            terminal.expect(": $")
            terminal.type("acme")
            equal("it ends well", terminal.wait(), 0)
    """

    def __init__(self, *arguments, cwd, changes={}, program=None):
        command = program or [CALLGATE, *arguments]
        self.pid, self.descriptor = pty.fork()
        if self.pid == 0:
            try:
                os.chdir(cwd)
                os.execvpe(command[0], command, environment({"TERM": "xterm", **changes}))
            finally:
                os._exit(127)
        fcntl.ioctl(self.descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        self._octets = b""
        self._seen = 0
        self._ended = None
        at_end(self.close)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    @property
    def everything(self):
        """All that was shown so far."""
        return self._octets.decode(errors="replace").replace("\r\n", "\n")

    @property
    def shown(self):
        """What was shown since something was last typed."""
        return self._octets[self._seen:].decode(errors="replace")

    @property
    def echoes(self):
        """Whether the terminal shows what is typed."""
        return bool(termios.tcgetattr(self.descriptor)[3] & termios.ECHO)

    def type(self, text, end="\n"):
        """Types a line."""
        self._seen = len(self._octets)
        os.write(self.descriptor, (text + end).encode())

    def expect(self, pattern, seconds=30, since=None):
        """Waits until what is shown since the last line was typed matches."""
        limit = time.monotonic() + seconds
        while True:
            text = self.shown if since is None else self.everything[since:]
            if found := re.search(pattern, text):
                return found
            if time.monotonic() > limit or not self._read(limit - time.monotonic()):
                raise AssertionError(f"/{pattern}/ was not shown:\n{self.everything[-1500:]}")

    def wait(self, seconds=30):
        """Its exit status, when it has ended and all is shown."""
        limit = time.monotonic() + seconds
        while time.monotonic() < limit and self._read(limit - time.monotonic()):
            pass
        if self._ended is None:
            _, status = os.waitpid(self.pid, 0 if time.monotonic() < limit else os.WNOHANG)
            self._ended = os.waitstatus_to_exitcode(status)
        return self._ended

    def close(self):
        if self.descriptor is None:
            return
        if self._ended is None:
            # As when a window is closed.
            os.kill(self.pid, signal.SIGHUP)
            self._ended = until(lambda: os.waitpid(self.pid, os.WNOHANG)[0] and -signal.SIGHUP, 5) or None
        if self._ended is None:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        os.close(self.descriptor)
        self.descriptor = None

    def _read(self, seconds):
        """Takes in what comes next; false at the end."""
        ready, _, _ = select.select([self.descriptor], [], [], max(0, min(seconds, 1)))
        if not ready:
            return seconds > 0
        try:
            octets = os.read(self.descriptor, 65536)
        except OSError:  # The last program at the terminal has ended.
            return False
        self._octets += octets
        return bool(octets)


class Shell(Terminal):
    """bash at a pseudo-terminal, for commands as a document has them."""

    def __init__(self, cwd, changes={}):
        self._number = 0
        super().__init__(cwd=cwd, changes={"PS1": "", "PS2": "", "HISTFILE": "", **changes},
                         program=["bash", "--norc", "--noprofile", "--noediting"])
        self.type("bind 'set enable-bracketed-paste off' 2>/dev/null; set +o history; trap 'kill $(jobs -p)' EXIT")
        self.status()

    def status(self, seconds=60):
        """The exit status of the command that was typed last, when it has ended; `shown` stays what it showed."""
        self._number += 1
        mark = f"status-{self._number}"
        os.write(self.descriptor, f"echo \"{mark[:3]}\"\"{mark[3:]} $?\"\n".encode())
        return int(self.expect(rf"{mark} (\d+)\r", seconds)[1])
