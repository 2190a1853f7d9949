"""In-process figures from Benchmarks' own Swift program, one core each, signing beside OpenSSL's own measurement."""

import json
import os
import re
import subprocess
from pathlib import Path

from harness.errors import Unmeasured
from harness.progress import say
from harness.report import Pairs, Row
from harness.stand import in_turns

SIGNING_TARGET = 0.8
RULES_TARGET = 3.0
REPEATED_TARGET = 5.0
BRAKES_TARGET = 0.3
PROOF_TARGET = 150
KEYS_TARGET_MIB = 150
# What a figure may be at most, in its own unit.
LIMITS = {"metrics, all that one request counts": 300}


def measure_signing(microbench: Path | None, pairs: int, seconds: int) -> list[Row]:
    """ES256 client assertions per second of processor time, in turns with `openssl speed`."""
    rates: tuple[list[float], list[float]] = ([], [])
    runners = (lambda: _ours(microbench, "assertion", seconds)[0]["rate"], lambda: _openssl(seconds))
    for number in range(pairs):
        for index in in_turns(number):
            rates[index].append(runners[index]())
        say(f"signing {number + 1}/{pairs}: {rates[0][-1]:,.0f} : {rates[1][-1]:,.0f} per second")
    both = Pairs(*rates)
    met = both.ratio() >= SIGNING_TARGET
    return [
        both.row("ES256 client assertions (peer: openssl speed)", ",.0f", "/s", f"ratio ≥ {SIGNING_TARGET}", met)
    ]


def measure_callers(microbench: Path | None, pairs: int, seconds: int) -> list[Row]:
    """Callers' ES256 JWTs, from bytes to a caller, per second of processor time, in turns with `openssl speed`."""
    rates: tuple[list[float], list[float]] = ([], [])
    runners = (lambda: _ours(microbench, "caller", seconds)[0]["rate"], lambda: _openssl(seconds, "verify"))
    for number in range(pairs):
        for index in in_turns(number):
            rates[index].append(runners[index]())
        say(f"callers {number + 1}/{pairs}: {rates[0][-1]:,.0f} : {rates[1][-1]:,.0f} per second")
    both = Pairs(*rates)
    met = both.ratio() >= SIGNING_TARGET
    return [both.row("callers' ES256 JWTs verified (peer: openssl speed)", ",.0f", "/s", f"ratio ≥ {SIGNING_TARGET}", met)]


def measure_gate(microbench: Path | None, seconds: int) -> list[Row]:
    """What twenty rules, a repeated JWT and a phone's proof cost a request, brakes a callback, and a million keys the process."""
    rules, repeated = _ours(microbench, "rules", seconds)
    rows = [_within(rules, RULES_TARGET), _within(repeated, REPEATED_TARGET)]
    rows += [_within(figure, PROOF_TARGET) for figure in _ours(microbench, "proofs", seconds)]
    rows += [_within(figure, BRAKES_TARGET) for figure in _ours(microbench, "brakes", seconds)]
    return rows + [_within(figure, KEYS_TARGET_MIB) for figure in _ours(microbench, "keys", seconds)]


def _within(figure: dict, most: float) -> Row:  # type: ignore[type-arg]
    shown = f"{figure['value']:,.{figure['decimals']}f} {figure['unit']}"
    return Row(figure["label"], shown, target=f"≤ {most:g} {figure['unit']}", met=figure["value"] <= most)


def measure_parsers(microbench: Path | None, seconds: int) -> list[Row]:
    """What the pure parts cost: no peer, so these are for comparing one version with the next."""
    return [_row(figure) for figure in _ours(microbench, "all", seconds)]


def _row(figure: dict) -> Row:  # type: ignore[type-arg]
    shown = f"{figure['value']:,.{figure['decimals']}f} {figure['unit']}"
    limit = LIMITS.get(figure["label"])
    if limit is None:
        return Row(figure["label"], shown)
    return Row(figure["label"], shown, target=f"≤ {limit} {figure['unit']}", met=figure["value"] <= limit)


def _ours(microbench: Path | None, name: str, seconds: int) -> list[dict]:  # type: ignore[type-arg]
    if microbench is None:
        raise Unmeasured("the Swift benchmark program was not built")
    output = _on_one_core([str(microbench), name, str(seconds)], seconds)
    return [json.loads(line) for line in output.splitlines()]


def _openssl(seconds: int, operation: str = "sign") -> float:
    output = _on_one_core(["openssl", "speed", "-mr", "-seconds", str(seconds), "ecdsap256"], seconds)
    found = re.search(r"^\+F4:\d+:256:(?P<sign>[0-9.]+):(?P<verify>[0-9.]+)", output, re.M)
    if not found:
        raise Unmeasured(f"openssl speed printed no figure: {output[-300:]}")
    return float(found.group(operation))


def _on_one_core(command: list[str], seconds: int) -> str:
    core = max(os.sched_getaffinity(0))
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=30 + 30 * seconds,
            check=True,
            preexec_fn=lambda: os.sched_setaffinity(0, {core}),
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise Unmeasured(f"{command[0]} failed: {error}") from error
    return done.stdout
