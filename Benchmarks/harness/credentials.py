"""What a credential costs: requests with each kind beside requests without one, of the same server, and beside nginx."""

import base64
import hashlib
import hmac
import json
import time
from pathlib import Path
from statistics import median

from harness.progress import say
from harness.report import Row
from harness.servers import Server
from harness.stand import Stand
from harness.throughput import CALM, Run, under_load

CALLERS = 1_000
# Made up, and good for the servers of this harness alone.
SECRET = b"a shared secret of the benchmark's own"
Fields = tuple[str, ...]

OVER_ANONYMOUS_MICROSECONDS = 0.5
OF_NGINX = 1.0


def measure(stand: Stand, pairs: int, seconds: float) -> list[Row]:
    """One server with a thousand callers that takes anonymous requests too, and nginx, all in turns."""
    configuration = _configuration(stand.scratch)
    kinds: dict[str, Fields] = {
        "anonymous": (),
        "HTTP Basic": ("Authorization", "Basic " + base64.b64encode(b"user-0700:password-0700").decode()),
        "API key": ("X-API-Key", "key-0700"),
        "a JWT, again": ("Authorization", f"Bearer {jwt()}"),
    }
    runs: dict[str, list[Run]] = {kind: [] for kind in ("nginx", *kinds)}
    with stand.ours(settings=configuration) as ours, stand.peer() as peer:
        loads: list[tuple[str, Server, Fields]] = [("nginx", peer, ())]
        loads += [(kind, ours, fields) for kind, fields in kinds.items()]
        for _, server, fields in loads:
            under_load(server, 1, fields)
        rounds = calm = 0
        while calm < pairs and rounds < 2 * pairs:
            # A different one goes first each time.
            order = loads[rounds % len(loads) :] + loads[: rounds % len(loads)]
            done = {name: under_load(server, seconds, fields) for name, server, fields in order}
            rounds += 1
            calm += all(run.others <= CALM for run in done.values())
            for name, run in done.items():
                runs[name].append(run)
            say(f"credentials {rounds}: CPU " + ", ".join(f"{name} {run.cpu_microseconds:.2f}" for name, run in done.items()))
    cpu = {name: [run.cpu_microseconds for run in taken] for name, taken in runs.items()}
    return [_row(kind, cpu) for kind in kinds]


def _row(kind: str, cpu: dict[str, list[float]]) -> Row:
    ratios = [ours / peer for ours, peer in zip(cpu[kind], cpu["nginx"], strict=True)]
    over = median(ours - bare for ours, bare in zip(cpu[kind], cpu["anonymous"], strict=True))
    measure = f"server CPU per request, {kind}, of {CALLERS:,} callers"
    target = "ratio ≤ 0.9" if kind == "anonymous" else f"≤ anonymous + {OVER_ANONYMOUS_MICROSECONDS} µs, ratio ≤ {OF_NGINX}"
    met = (
        median(ratios) <= 0.9
        if kind == "anonymous"
        else over <= OVER_ANONYMOUS_MICROSECONDS and median(ratios) <= OF_NGINX
    )
    more = "" if kind == "anonymous" else f" ({over:+.2f})"
    return Row(
        measure,
        f"{median(cpu[kind]):.2f} µs{more}",
        f"{median(cpu['nginx']):.2f} µs",
        f"{median(ratios):.2f} ({min(ratios):.2f}–{max(ratios):.2f})",
        target,
        met,
    )


def _configuration(scratch: Path) -> Path:
    """A thousand callers: one issuer, and of the others half with a password and half with a key."""
    secret = scratch / "callers.secret"
    secret.write_bytes(SECRET)
    callers = [
        {
            "id": "users",
            "jwt": {"issuer": "https://id.example", "audience": "callgate", "hs256_secret_file": str(secret)},
        }
    ]
    for number in range(1, CALLERS // 2):
        name = f"{number + 450:04}"
        callers.append({"id": f"basic-{name}", "basic": {"username": f"user-{name}", "password_sha256": _sha256(f"password-{name}")}})
        callers.append({"id": f"key-{name}", "api_key": {"sha256": _sha256(f"key-{name}")}})
    path = scratch / "callers.yaml"
    # JSON is YAML.
    path.write_text(json.dumps({"allow_anonymous": True, "callers": callers}))
    return path


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def jwt(subject: str = "ann") -> str:
    """For an hour, which no run takes."""
    claims = {"iss": "https://id.example", "aud": "callgate", "sub": subject, "exp": int(time.time()) + 3600}
    parts = ({"alg": "HS256", "typ": "JWT"}, claims)
    text = b".".join(_base64url(json.dumps(part).encode()) for part in parts)
    return (text + b"." + _base64url(hmac.digest(SECRET, text, "sha256"))).decode()


def _base64url(octets: bytes) -> bytes:
    return base64.urlsafe_b64encode(octets).rstrip(b"=")
