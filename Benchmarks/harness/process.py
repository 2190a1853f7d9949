"""Processes this harness started: their processor time and memory from the kernel's own books, and their end."""

import os
import signal
import subprocess
import time
from pathlib import Path

from harness.errors import Unmeasured

# Linux: a clock id that reads the processor time of another process (clock_getcpuclockid(3)): all its threads,
# the ended ones too, in nanoseconds, where /proc/PID/stat rounds to a hundredth of a second.
_CPUCLOCK_SCHED = 2


def _clock_of(pid: int) -> int:
    return (~pid << 3) | _CPUCLOCK_SCHED


def _children_of(pid: int) -> list[int]:
    children: list[int] = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        try:
            children += [int(child) for child in (task / "children").read_text().split()]
        except FileNotFoundError:
            continue  # A thread that ended while we were looking; its children moved to another one.
    return children


def family(pid: int) -> list[int]:
    """The process and all its descendants."""
    try:
        found = [pid]
        for member in found:
            found += _children_of(member)
        return found
    except OSError as error:
        raise Unmeasured(f"process {pid} is gone: {error}") from error


def cpu_seconds(pid: int) -> float:
    """Processor time, user and kernel, that the process and its descendants have used, in seconds."""
    try:
        return sum(time.clock_gettime(_clock_of(member)) for member in family(pid))
    except OSError as error:
        raise Unmeasured(f"process {pid} is gone: {error}") from error


def resident_bytes(pid: int) -> int:
    """Resident memory of the process and its descendants, in bytes; pages they share count for each of them."""
    total = 0
    for member in family(pid):
        try:
            status = Path(f"/proc/{member}/status").read_text()
        except OSError as error:
            raise Unmeasured(f"process {member} is gone: {error}") from error
        total += next((int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS:")), 0)
    return total * 1024


def settled_resident_bytes(pid: int, within: float = 5.0) -> int:
    """Resident memory once it has not changed for half a second, or what it is after `within` seconds."""
    deadline = time.monotonic() + within
    last, since = resident_bytes(pid), time.monotonic()
    while time.monotonic() < deadline and time.monotonic() - since < 0.5:
        time.sleep(0.05)
        now = resident_bytes(pid)
        if now != last:
            last, since = now, time.monotonic()
    return last


def private_bytes(pid: int) -> int:
    """Resident memory that was written and that no other process shares: not the unchanged pages of files."""
    total = 0
    for member in family(pid):
        try:
            rollup = Path(f"/proc/{member}/smaps_rollup").read_text()
        except OSError as error:
            raise Unmeasured(f"process {member} is gone: {error}") from error
        total += sum(int(line.split()[1]) for line in rollup.splitlines() if line.startswith("Private_Dirty:"))
    return total * 1024


def stop(process: "subprocess.Popen[bytes]", within: float = 10.0) -> None:
    """Ends a process of ours: politely, then by force. Returns when it is gone."""
    if process.poll() is not None:
        return
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(timeout=within)
    except subprocess.TimeoutExpired:
        for member in reversed(family(process.pid)):
            os.kill(member, signal.SIGKILL)
        process.wait(timeout=within)
