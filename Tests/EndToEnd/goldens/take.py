"""Takes the goldens: starts servers, asks each for its outcomes, and returns the content of each file."""
import concurrent.futures
import contextlib
import json
import os
import re
import shutil
import signal

from harness import *
from harness import processes
from goldens import outcomes, shape
from goldens.world import *

# Where a server of `check` finds each outside service.
NOWHERE = {"client_id": "client-1", "key_id": "key-1", **{
    name: f"https://{name.replace('_', '-')}.example" for name in (
        "google", "apns", "hook", "talkdesk", "vault", "app_check", "proofs")}}


class Issuer:
    """An issuer whose keys are fetched, and a remote policy."""

    def __init__(self):
        self.key, self.keys, self.policy = RSAKey("partners"), KeySet(), Policy()
        self.keys.keys.append(self.key.public)

    def serve(self, name, *arguments, services=None, deadline="10s", **more):
        text = configuration(self.keys.url, self.policy.url, services, f"{name}/", deadline)
        return Server(*arguments, config=text, name=name, CALLGATE_ADMIN_TOKEN=ADMIN, CALLGATE_STORE_KEY=STORE_KEY, **more)


def sandbox(issuer):
    """A server in front of the sandbox: nearly every outcome."""
    with issuer.serve("sandbox", "--sandbox") as server:
        recorder = outcomes.Recorder(server)
        slow = outcomes.begin_slow(recorder)
        description = server.get("/openapi.json").json
        description["info"]["version"] = "<version>"
        outcomes.access(recorder)
        outcomes.policies(recorder, issuer.policy)
        outcomes.partner(recorder, "access.partner", issuer.key)
        outcomes.bad_requests(recorder)
        outcomes.callbacks(recorder)
        outcomes.proofs(recorder)
        outcomes.outcomes(recorder)
        outcomes.installations(recorder)
        outcomes.keys(recorder)
        outcomes.attestations(recorder)
        outcomes.push(recorder)
        outcomes.gms(recorder)
        outcomes.agents(recorder)
        outcomes.operators(recorder)
        outcomes.pages(recorder)
        # After the outcomes: a refused number may be of any call.
        outcomes.test_numbers(recorder)
        outcomes.end_slow(recorder, slow)
        outcomes.appointments(recorder)
        return {"openapi.json": shape.public(description), "outcomes": recorder.results(), "metrics": metrics(server)}


def unwell(issuer):
    """A server whose Talkdesk and Sendbird fail."""
    with issuer.serve("unwell", "--sandbox") as server:
        recorder = outcomes.Recorder(server)
        outcomes.talkdesk(recorder)
        outcomes.desks(recorder)
        return {"outcomes": recorder.results(), "metrics": metrics(server)}


def hasty(issuer):
    """A server with short time limits, whose Talkdesk is slow."""
    with issuer.serve("hasty", "--sandbox", deadline="1s") as server:
        recorder = outcomes.Recorder(server)
        outcomes.talkdesk(recorder, outcomes.SLOW, outcomes.SLOW)
        return {"outcomes": recorder.results()}


BASIC = f"""callers: [{{ id: app, basic: {{ username: app, password_sha256: {sha256("canary-app")} }} }}]
callbacks: {{ talkdesk_phone_numbers: ["{OWN}"] }}
"""


def away(_):
    """A server whose database does not respond."""
    with Emulator() as emulator, Server(config=BASIC, name="away", CALLGATE_ADMIN_TOKEN=ADMIN, CALLGATE_STATE=None,
                                        DATABASE_URL=f"postgres://callgate@127.0.0.1:{free_port()}/callgate", **emulator.variables) as server:
        recorder = outcomes.Recorder(server)
        outcomes.asks_away(recorder)
        return {"outcomes": recorder.results()}


def strict(_):
    """A server that hands out nothing before the audit line is on the disk."""
    path = scratch("strict/audit.log")
    os.makedirs(os.path.dirname(path))
    config = BASIC + f"log: {{ audit: {{ chain: true, file: {path}, required: true }} }}\n"
    lines = []

    def written():
        with open(path, encoding="utf-8") as file:
            return [json.loads(line) for line in file if line.endswith("\n")]

    def has_line(name):
        if not until(lambda: any(line.get("request_id") == name and line["log"] == "audit" for line in written())):
            raise AssertionError(f"no audit line for {name}")

    def remove():
        lines.extend(line for line in written() if not line.get("request_id", "audit_unavailable").endswith("audit_unavailable"))
        os.remove(path)

    with Emulator() as emulator, Server(config=config, name="strict", CALLGATE_STORE_KEY=STORE_KEY,
                                        CALLGATE_STATE=scratch("strict/callgate.sqlite3", ""), **emulator.variables) as server:
        recorder = outcomes.Recorder(server)
        outcomes.asks_strict(recorder, has_line, remove)
        return {"outcomes": recorder.results(lines)}


def served(issuer):
    """A server with every outside service, each of which it asks."""
    with contextlib.ExitStack() as stack:
        bao, google, hook = (stack.enter_context(kind()) for kind in (Bao, Google, lambda: Stub(lambda arrival: Reply(204))))
        proofs_key, check_key = Key("proofs"), RSAKey("checks")
        proofs, checks = (stack.enter_context(KeySet(key.public)) for key in (proofs_key, check_key))
        emulator = stack.enter_context(Emulator("--client-key", bao.keys[1]))
        services = {
            "client_id": emulator.variables["TD_CLIENT_ID"], "key_id": emulator.variables["TD_KEY_ID"], "talkdesk": emulator.url,
            "vault": bao.base, "google": google.base, "apns": f"https://127.0.0.1:{free_port()}", "hook": hook.base,
            "app_check": checks.url, "proofs": proofs.url}
        state = scratch("served/callgate.sqlite3", "")
        server = stack.enter_context(issuer.serve("served", services=services, CALLGATE_STATE=state))
        recorder = outcomes.Recorder(server)
        until(lambda: server.metric("callgate_agents_available") == 3, 10)
        outcomes.asks_all(recorder, issuer, google, proofs_key, check_key)
        taken = {"well": status(server)}
        examined = command("doctor", "--config", server.config, CALLGATE_STORE_KEY=STORE_KEY, CALLGATE_ADMIN_TOKEN=ADMIN, CALLGATE_STATE=state)
        google.always = lambda arrival: Reply(503)
        hook.always = lambda arrival: Reply(503)
        issuer.policy.always = lambda arrival: Reply(503)
        outcomes.asks_failing(recorder, google, emulator)
        taken["failing"] = status(server)
        return {"outcomes": recorder.results(), "status.json": taken, "doctor.txt": printed(examined), "metrics": metrics(server)}


def metrics(server):
    return server.operate("GET", "/metrics").text


def status(server):
    """The state for operators and for monitoring."""
    state = server.operate("GET", "/admin/status").json
    # Each is an audit line, which another file has.
    state["decisions"] = sorted({name for line in state["decisions"] for name in line})
    # Of whole minutes, of which there may be none.
    state["latency"], state["last_hour"]["decisions"] = [], []
    state["server"]["instance"] = "<instance>"
    return {"/admin/status": shape.typed(state), "/readyz": shape.typed(server.get("/readyz").json)}


def places(text):
    """What `check` prints. A new section of the full configuration would change all places after it."""
    return re.sub(r"\bfull\.yaml:\d+:\d+", "full.yaml:<place>", text)


def printed(ended):
    """What a command printed."""
    return shape.text(f"exit status {ended.status}\n== standard output\n{ended.out}== standard error\n{ended.err}")


def commands():
    """What `check` and `reference` print."""
    full = configuration("https://partners.example/jwks.json", "https://policy.example/v1/data/callgate/allow", NOWHERE)
    authority, (pem, key) = Authority(), certificate("DNS:calls.example.com")
    for path, name in (authority.path, "authorities.pem"), (pem, "certificate.pem"), (key, "certificate.key"):
        shutil.copy(path, name)
    os.chmod("certificate.key", 0o600)
    full = full.replace("listen: {", "outbound: { ca_file: authorities.pem }\nlisten: { port: 8443, tls: { certificate_file: certificate.pem, "
                        "key_file: certificate.key },", 1).replace("chain: true", "chain: true, file: audit.log, required: true", 1)
    variables = {"CALLGATE_STORE_KEY": STORE_KEY, "CALLGATE_ADMIN_TOKEN": ADMIN, "CALLGATE_STATE": "callgate.sqlite3"}
    files = {}
    for name, text in (("full", full), ("mistakes", read("Tests/EndToEnd/goldens/mistakes.yaml"))):
        scratch(f"{name}.yaml", text)
        ended = command("check", f"{name}.yaml", **variables)
        files[f"check-{name}.txt"] = places(printed(ended))
    for name, *words in (("reference.md",), ("reference-variables.txt", "--variables"), ("app.json", "--heroku"),
                         ("callgate.schema.json", "--schema", "callgate"), ("tests.schema.json", "--schema", "tests")):
        files[name] = command("reference", *words).out
    return files


def stop(*_):
    """Ends the servers and this program. An exit alone would wait for the threads."""
    processes._end()
    os._exit(143)


def take():
    """The content of each golden file by its name."""
    signal.signal(signal.SIGTERM, stop)
    os.chdir(SCRATCH)
    servers = (sandbox, unwell, served, hasty, away, strict)
    with concurrent.futures.ThreadPoolExecutor(len(servers)) as pool:
        running = [pool.submit(server, Issuer()) for server in servers]
        files = commands()
        parts = [one.result() for one in running]
    found, pages = {}, []
    for part in parts:
        found.update(part.pop("outcomes"))
        pages.append(part.pop("metrics", ""))
        files.update({name: value if isinstance(value, str) else shape.pretty(value) for name, value in part.items()})
    files["outcomes.json"] = shape.entries(found)
    files["metrics.txt"] = shape.metrics(*pages)
    return files
