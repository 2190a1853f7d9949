"""Notices over one HTTP/2 connection, ours in turns with h2load, to an nghttpd of this run."""

import json
import os
import re
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from harness import client
from harness.errors import Unmeasured
from harness.identity import Identity
from harness.progress import say
from harness.report import Pairs, Row
from harness.stand import in_turns

TARGET = 0.5
DEVICE = "a1" * 32
STREAMS = 100
# As long as a notice's content, with the fields of one.
CONTENT = '{"aps":{"alert":"May we call you now?"},"message":"{\\"_id\\":\\"%s\\",\\"_action\\":\\"changed\\"}"}' % ("N" * 32)
FIELDS = {
    "authorization": "bearer " + "t" * 200,
    "content-type": "application/json",
    "apns-topic": "com.example.shop",
    "apns-push-type": "alert",
    "apns-priority": "10",
    "apns-expiration": "1800000000",
    "apns-collapse-id": "N" * 32,
    "apns-id": "00000000-0000-8000-8000-000000000000",
}


def measure(microbench: Path | None, scratch: Path, pairs: int, seconds: int) -> list[Row]:
    """Notices per second over one connection with 100 streams."""
    if microbench is None:
        raise Unmeasured("the Swift benchmark program was not built")
    rates: tuple[list[float], list[float]] = ([], [])
    with _server(scratch) as (base, identity):
        runners = (lambda: _ours(microbench, base, identity, seconds), lambda: _h2load(scratch, base, seconds))
        for number in range(pairs):
            for index in in_turns(number):
                rates[index].append(runners[index]())
            say(f"notices {number + 1}/{pairs}: {rates[0][-1]:,.0f} : {rates[1][-1]:,.0f} per second")
    both = Pairs(*rates)
    label = "notices over one HTTP/2 connection (peer: h2load)"
    return [both.row(label, ",.0f", "/s", f"ratio ≥ {TARGET}", both.ratio() >= TARGET)]


@contextmanager
def _server(scratch: Path) -> Iterator[tuple[str, Identity]]:
    """An nghttpd that answers 200 for the one device."""
    identity = Identity.make(scratch, "P-256")
    device = scratch / "apns" / "3" / "device" / DEVICE
    device.parent.mkdir(parents=True, exist_ok=True)
    # With a `content-length: 0`, libcurl 7.88 resets each stream before its end, and nghttpd closes the connection for that.
    device.write_text("{}")
    port = client.free_port()
    command = ["nghttpd", "--address=127.0.0.1", "-d", str(scratch / "apns"), str(port)]
    command += [str(identity.key), str(identity.certificate)]
    try:
        server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    except OSError as error:
        raise Unmeasured(f"nghttpd does not start: {error}") from error
    try:
        limit = time.monotonic() + 10
        while not _listens(port):
            if server.poll() is not None or time.monotonic() > limit:
                raise Unmeasured("nghttpd does not listen")
            time.sleep(0.02)
        yield f"https://127.0.0.1:{port}", identity
    finally:
        server.kill()
        server.wait()


def _listens(port: int) -> bool:
    try:
        client.connect(port).close()
    except OSError:
        return False
    return True


def _ours(microbench: Path, base: str, identity: Identity, seconds: int) -> float:
    variables = {**os.environ, "NOTICES_URL": base, "NOTICES_AUTHORITY": str(identity.certificate)}
    return json.loads(_run([str(microbench), "notices", str(seconds)], seconds, variables))["rate"]


def _h2load(scratch: Path, base: str, seconds: int) -> float:
    content = scratch / "notice.json"
    content.write_text(CONTENT)
    command = ["h2load", "-c", "1", "-m", str(STREAMS), "-D", str(seconds), "-d", str(content)]
    for name, value in FIELDS.items():
        command += ["-H", f"{name}: {value}"]
    output = _run([*command, f"{base}/3/device/{DEVICE}"], seconds, dict(os.environ))
    found = re.search(r"finished in .*?, ([0-9.]+) req/s", output)
    failed = re.search(r"(\d+) failed, (\d+) errored", output)
    if not found or not failed or failed.groups() != ("0", "0"):
        raise Unmeasured(f"h2load printed: {output[-300:]}")
    return float(found.group(1))


def _run(command: list[str], seconds: int, variables: dict[str, str]) -> str:
    try:
        return subprocess.run(
            command, env=variables, capture_output=True, text=True, timeout=30 + 3 * seconds, check=True
        ).stdout
    except subprocess.CalledProcessError as error:
        raise Unmeasured(f"{command[0]} failed: {error.stderr[-300:]}") from error
    except (OSError, subprocess.SubprocessError) as error:
        raise Unmeasured(f"{command[0]} failed: {error}") from error
