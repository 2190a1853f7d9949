"""Times, a configuration, and Talkdesk in front of one server on SQLite or two on PostgreSQL: what the tests of appointments share."""
import base64
import contextlib
import datetime
import functools
import glob
import hmac
import itertools
import json
import os
import sqlite3
import time
import urllib.parse

from harness import *

ADMIN = "canary-operators-token"
SECRET = b"canary-secret-of-an-issuer-and-this-server"
SECRET_FILE = scratch("issuer-secret", SECRET)
os.chmod(SECRET_FILE, 0o600)
HOOK_SECRET = base64.b64encode(b"canary-of-a-web-hook-12345678901").decode()
HOOK_FILE = scratch("hook-secret", f"whsec_{HOOK_SECRET}\n")
KINDS = ("SQLite", "PostgreSQL")
_databases = itertools.count(1)
_postgres = []


def moment(at, hours=0):
    """Seconds since the epoch as RFC 3339 with an offset of whole hours."""
    zone = datetime.timezone(datetime.timedelta(hours=hours))
    return datetime.datetime.fromtimestamp(at, zone).isoformat().replace("+00:00", "Z")


def seconds(text):
    """The seconds since the epoch of an RFC 3339 time."""
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def soon(after):
    """The first whole second that is at least some seconds away."""
    return int(time.time()) + after + 1


def day(after, hour=0):
    """An hour of a day in UTC, some days after today."""
    return (int(time.time()) // 86400 + after) * 86400 + hour * 3600


def reach(at):
    """Waits for a time."""
    until(lambda: time.time() >= at, at - time.time() + 1)


def masked(number):
    return "+" + "*" * (len(number) - 3) + number[-2:]


def flow(values):
    """A YAML mapping of some keys on one line."""
    return "{ " + ", ".join(f"{name}: {value}" for name, value in values.items() if value is not None) + " }"


def settings(appointments={}, callbacks={}, rules="", more="", others=True):
    """A configuration. `appointments` and `callbacks` change single keys; None removes one. Without `others` the caller `other` is
    missing."""
    section = {"slot": "15m", "per_slot": 20, "horizon": "30d", "earliest": "0s", "late": "5s", "per_number": 1}
    calls = {"talkdesk_phone_numbers": '["+18500000000"]', "timeout": "4s", "brakes": "off"}
    other = f"""
  - {{ id: other, basic: {{ username: other, password_sha256: {sha256("canary-other")} }} }}""" if others else ""
    return f"""
callers:
  - {{ id: app, basic: {{ username: app, password_sha256: {sha256("canary-app")} }} }}{other}
  - {{ id: users, jwt: {{ issuer: "https://id.example", audience: callgate, hs256_secret_file: "{SECRET_FILE}" }} }}
callbacks: {flow({**calls, **callbacks})}
{f"appointments: {flow({**section, **appointments})}" if appointments is not None else ""}
{"rules:" if rules else ""}{rules}
{more}
"""


def user(subject="ann", **more):
    """A JWT of a user."""
    return hs256(SECRET, subject=subject, iat=int(time.time()), **more)


def postgres():
    """One server for all databases of a file."""
    if not _postgres:
        _postgres.append(Postgres())
    return _postgres[0]


class Hook(Stub):
    """A receiver of webhooks, which keeps the notices of each device."""

    def __init__(self, **more):
        self.notices, self.status = [], 204
        super().__init__(**more)

    def answer(self, arrival):
        signed = f"{arrival.fields.get('webhook-id')}.{arrival.fields.get('webhook-timestamp')}.".encode() + arrival.content
        wanted = "v1," + base64.b64encode(hmac.digest(base64.b64decode(HOOK_SECRET), signed, "sha256")).decode()
        check("it is signed", wanted in arrival.fields.get("webhook-signature", ""))
        if self.status == 204:
            self.notices.append((arrival.json["deviceId"], json.loads(arrival.json["message"])))
        return Reply(self.status)

    def of(self, device, *actions):
        return [message for name, message in list(self.notices) if name == device and message["_action"] in actions]


class Rows:
    """What a store holds, read past the server."""

    def __init__(self, kind, name):
        self.kind, self.path, self.database = kind, scratch(f"{name}.sqlite3"), name
        self.url = postgres().database(name) if kind == "PostgreSQL" else None

    @property
    def variables(self):
        return {"DATABASE_URL": self.url, "CALLGATE_STATE": None} if self.url else {"CALLGATE_STATE": self.path}

    def one(self, sql):
        """The one value that a statement gives, as text; "" for NULL."""
        if self.url:
            return postgres().query(self.database, sql)
        with contextlib.closing(sqlite3.connect(self.path)) as rows:
            value = rows.execute(sql).fetchone()[0]
        return "" if value is None else str(value)

    @property
    def octets(self):
        """Everything that is kept: a dump, or the files."""
        if self.url:
            return postgres().run("pg_dump", "-h", "127.0.0.1", "-p", str(postgres().port), "-U", "callgate", self.database).encode()
        return b"".join(open(path, "rb").read() for path in glob.glob(f"{self.path}*"))


class World:
    """An emulated Talkdesk ID, a Callback API that counts, a store, and one server on SQLite or two on PostgreSQL. `server` is the
    first and `other` the last; members of `variables` are environment variables of the servers."""

    def __init__(self, kind, variables={}, instances=None, **given):
        self.instances = instances or (2 if kind == "PostgreSQL" else 1)
        self.emulator, self.upstream = Emulator(), CallbackAPI()
        self.text = settings(**given)
        self.key = command("key", "generate", "--store").out.strip()
        self.rows = Rows(kind, f"appointments{next(_databases)}")
        self.variables = {
            **self.emulator.variables, **self.rows.variables, "TD_API_URL": self.upstream.url, "CALLGATE_ADMIN_TOKEN": ADMIN,
            "CALLGATE_STORE_KEY": self.key, **variables}
        self.servers = []
        self.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for server in self.servers:
            server.stop()
        self.emulator.stop()
        self.upstream.close()

    def serve(self, **more):
        return Server(config=self.text, user="app:canary-app", **{**self.variables, **more})

    def start(self, **more):
        self.servers = [self.serve(**more) for _ in range(self.instances)]

    def stop(self):
        for server in self.servers:
            equal("it ends with 0", server.stop(), 0)

    @property
    def server(self):
        return self.servers[0]

    @property
    def other(self):
        return self.servers[-1]

    def reload(self, **given):
        """Another configuration, of which only what is named differs from the usual one."""
        self.text = settings(**given)
        for server in self.servers:
            before = server.count("configuration reloaded")
            server.reload(self.text)
            check("it is reloaded", until(lambda: server.count("configuration reloaded") > before))

    def book(self, at, number=None, key=None, server=None, **more):
        """Asks for a callback at a time: seconds since the epoch, or anything to be sent as `at`."""
        content = {"contact_phone_number": number or new_number(), "at": moment(at) if isinstance(at, int) else at}
        return (server or self.server).callback(content, key=key, **more)

    def booked(self, at, number=None, **more):
        """The id of an appointment that certainly is booked."""
        answer = self.book(at, number, **more)
        if not check("it is booked", answer.status == 201, answer):
            raise AssertionError(answer)
        return answer.json["id"]

    def cancel(self, identifier, server=None, **more):
        return (server or self.server).ask("DELETE", f"/callbacks/{identifier}", **more)

    def move(self, identifier, at, server=None, **more):
        content = {"at": moment(at) if isinstance(at, int) else at}
        return (server or self.server).ask("PATCH", f"/callbacks/{identifier}", content, **{"kind": "application/merge-patch+json", **more})

    def state(self, identifier, **more):
        record = self.other.record(identifier, **more)
        return record.json["status"] if record.status == 200 else record.status

    def becomes(self, identifier, *states, within=15, **more):
        """Waits until a record has one of these states, and returns the record."""
        until(lambda: self.state(identifier, **more) in states, within)
        record = self.other.record(identifier, **more)
        check(f"it becomes {' or '.join(states)}", record.json.get("status") in states, record)
        return record.json

    def rang(self, number):
        """The times at which a number rang."""
        return list(self.upstream.rung[number])

    def availability(self, start, end, **more):
        query = urllib.parse.urlencode({"from": moment(start), "to": moment(end)})
        return self.server.get(f"/availability?{query}", **more)

    def slots(self, start, end, **more):
        return self.availability(start, end, **more).json["slots"]

    def audits(self, identifier):
        """The audit lines about a callback, of all servers."""
        return [line for server in self.servers for line in server.audits if line.get("callback") == identifier]


def both(sentence):
    """Registers a case that takes a kind of store, once for each kind."""
    def register(function):
        for kind in KINDS:
            case(f"{sentence}, on {kind}")(functools.partial(function, kind))
        return function

    return register
