"""Load from wrk: one bounded run, counted exactly, that fails on any answer but a good one."""

import json
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.client import HOST
from harness.errors import Unmeasured

SCRIPT = Path(__file__).resolve().parent.parent / "wrk.lua"
CONNECTIONS = 64
ERRORS = ("connect", "read", "write", "status", "timeout")


@dataclass(frozen=True)
class Load:
    """What one run counted. Latencies in milliseconds."""

    requests: int
    seconds: float
    p50: float
    p99: float

    @property
    def rate(self) -> float:
        return self.requests / self.seconds


def run(
    port: int,
    seconds: float,
    target: str = "/access",
    connections: int = CONNECTIONS,
    scheme: str = "http",
    script: Path = SCRIPT,
    arguments: Sequence[str] = (),
) -> Load:
    """Drives `connections` keep-alive connections for `seconds` (rounded up to whole ones) from one thread."""
    whole = max(1, int(seconds + 0.999))
    url = f"{scheme}://{HOST}:{port}{target}"
    command = ["wrk", "-t1", f"-c{connections}", f"-d{whole}s", "-s", str(script), url]
    command += ["--", *arguments] if arguments else []
    try:
        output = subprocess.run(command, capture_output=True, text=True, timeout=whole + 30, check=True).stdout
    except (OSError, subprocess.SubprocessError) as error:
        raise Unmeasured(f"wrk failed: {error}") from error
    return _parse(output)


def _parse(output: str) -> Load:
    line = next((line for line in output.splitlines() if line.startswith("{")), None)
    if line is None:
        raise Unmeasured(f"wrk printed no summary: {output[-300:]}")
    summary: dict[str, int] = json.loads(line)
    errors = {name: summary[name] for name in ERRORS if summary[name]}
    if errors or not summary["requests"]:
        raise Unmeasured(f"wrk saw {errors or 'no answer at all'} beside {summary['requests']} answers")
    return Load(
        requests=summary["requests"],
        seconds=summary["microseconds"] / 1e6,
        p50=summary["p50"] / 1000,
        p99=summary["p99"] / 1000,
    )
