"""What the figures were measured on and with, asked at run time."""

import os
import platform
import re
import subprocess
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
