"""What the figures were measured on and with, asked at run time."""

import os
import platform
import re
import resource
import subprocess
import time
from pathlib import Path


def _says(command: list[str], pattern: str) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=20)
    except (OSError, subprocess.SubprocessError):
        return "missing"
    found = re.search(pattern, done.stdout + done.stderr)
    return found.group(1) if found else "unknown"


def _processor() -> str:
    names = re.findall(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(), re.M)
    return str(names[0]).strip() if names else platform.machine()


def describe() -> str:
    """One line: cores, processor, kernel, and the versions of the tools."""
    tools = {
        "nginx": _says(["nginx", "-v"], r"nginx/(\S+)"),
        "wrk": _says(["wrk", "-v"], r"wrk (\S+)").removeprefix("debian/"),
        "OpenSSL": _says(["openssl", "version"], r"OpenSSL (\S+)"),
        "Swift": _says(["swift", "--version"], r"Swift version (\S+)"),
    }
    versions = ", ".join(f"{name} {version}" for name, version in tools.items())
    return f"{os.cpu_count()} cores ({_processor()}), Linux {platform.release()}; {versions}"


def unrest() -> str | None:
    """A warning when something else is busy on this machine: absolute figures then mean little."""
    load = os.getloadavg()[0]
    return f"load average {load:.1f} before starting: trust the ratios, not the figures" if load > 0.7 else None


class Activity:
    """What the processors do from now on."""

    def __init__(self) -> None:
        self.began = time.monotonic()
        self.busy = _busy_seconds()
        self.own = _own_seconds()

    def others(self, server_seconds: float) -> float:
        """The share of all processors since then that neither this program, the load it ran, nor the server used."""
        own = _own_seconds() - self.own + server_seconds
        available = (time.monotonic() - self.began) * (os.cpu_count() or 1)
        return max(0.0, _busy_seconds() - self.busy - own) / available


def _busy_seconds() -> float:
    """Time all processors together were not idle, or were withheld by the machine underneath (proc(5))."""
    user, nice, system, _, _, interrupts, soft_interrupts, stolen = map(
        int, Path("/proc/stat").read_text().split(maxsplit=9)[1:9]
    )
    return (user + nice + system + interrupts + soft_interrupts + stolen) / os.sysconf("SC_CLK_TCK")


def _own_seconds() -> float:
    """Processor time of this program and of the programs it has waited for: of wrk, not yet of the servers."""
    usages = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)
