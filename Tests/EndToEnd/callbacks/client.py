"""What the tests of callbacks stand on: asks a server, steers the sandbox and the stub upstream, compares and counts."""
import base64
import http.client
import itertools
import json
import re
import socket
import sys
import threading
import time

# How many failures are shown; the others are only counted.
SHOWN = 40
checks = {"passed": 0, "failed": 0}
# Other numbers each time: parts of one test ask the same server.
numbers = itertools.count(14152000000 + int(time.time() * 1000) % 7_000_000)
guard = threading.Lock()


def check(name, is_right, told=""):
    """Counts one comparison; says what was there instead where it failed, without whole numbers."""
    with guard:
        checks["passed" if is_right else "failed"] += 1
        if not is_right and checks["failed"] <= SHOWN:
            told = re.sub(r"\+1415\d{5}", "+*********", str(told)[:700])
            print(f"FAIL {name}\n  got {told}", flush=True)
    return bool(is_right)


def finish():
    """Ends the program; its last line is what the shell adds up."""
    print(f"{checks['passed']} {checks['failed']}")
    sys.exit(0)


def new_number():
    """A number nobody was called at before."""
    with guard:
        return f"+{next(numbers)}"


class Answer:
    """One answer: status, fields with lower-case names, content, and the content as JSON if it is."""

    def __init__(self, status, fields, content):
        self.status, self.content = status, content
        self.fields = {name.lower(): value for name, value in fields}
        try:
            self.json = json.loads(content)
        except ValueError:
            self.json = None

    def __repr__(self):
        return f"{self.status} {self.fields} {self.content[:400]!r}"

    def says(self, status, code):
        """Whether it is a whole problem document with this status and code, in both shapes (RFC 9457 and Talkdesk's)."""
        document = self.json
        return (
            self.status == status and isinstance(document, dict)
            and self.fields.get("content-type", "").startswith("application/problem+json")
            and self.fields.get("cache-control") == "no-store" and self.fields.get("x-request-id")
            and document.get("status") == status and document.get("code") == code
            and document.get("type") == f"urn:callgate:problem:{code}"
            and document.get("message") == document.get("title") and document.get("title")
            and document.get("instance") and isinstance(document.get("detail"), str))

    def names(self):
        """The names in `fields`."""
        return {field["name"] for field in (self.json or {}).get("fields", [])}


class Server:
    """A server on loopback, asked on a connection of its own each time."""

    def __init__(self, base, user=None):
        self.base, self.user = base.removeprefix("http://"), user

    def ask(self, method, path, content=None, user=None, fields=None, kind="application/json", patience=40):
        connection = http.client.HTTPConnection(self.base, timeout=patience)
        try:
            user = self.user if user is None else user
            lines = dict(fields or {})
            if user:
                lines["Authorization"] = "Basic " + base64.b64encode(user.encode()).decode()
            if isinstance(content, (dict, list)):
                content = json.dumps(content)
            if content is not None and kind:
                lines["Content-Type"] = kind
            connection.connect()
            connection.putrequest(method, path, skip_accept_encoding=True)
            if content is not None:
                content = content.encode() if isinstance(content, str) else content
                connection.putheader("Content-Length", str(len(content)))
            for name, value in lines.items():
                connection.putheader(name, value)
            try:
                connection.endheaders(content)
            except (BrokenPipeError, ConnectionResetError):
                pass  # A refusal may come before all of the content has gone.
            reply = connection.getresponse()
            return Answer(reply.status, reply.getheaders(), reply.read())
        finally:
            connection.close()

    def get(self, path, **more):
        return self.ask("GET", path, **more)

    def callback(self, content=None, query="", key=None, path="/calls/callback", fields=None, **more):
        """Asks for a callback: of a new number where no content is given."""
        fields = dict(fields or {})
        if key is not None:
            fields["Idempotency-Key"] = key
        content = {"contact_phone_number": new_number()} if content is None else content
        return self.ask("POST", path + query, content, fields=fields, **more)

    def record(self, identifier, **more):
        return self.get(f"/callbacks/{identifier}", **more)


class Sandbox(Server):
    """The sandbox's own controls."""

    def fault(self, **members):
        answer = self.ask("POST", "/_sandbox/faults", members)
        assert answer.status == 201, answer

    def clear(self):
        self.ask("DELETE", "/_sandbox/faults")

    def journal(self):
        return self.get("/_sandbox/callbacks").json

    @property
    def arrivals(self):
        return self.journal()["arrivals"]

    def rings(self, number):
        return self.journal()["rings"].get(number, 0)

    @property
    def exchanges(self):
        return self.get("/_sandbox/exchanges").json["count"]


def until(condition, seconds=20.0):
    """Waits until something holds; whether it came to hold."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.02)
    return bool(condition())


class Upstream:
    """The controls of the stub upstream (upstream.py)."""

    def __init__(self, port):
        self.connection = socket.create_connection(("127.0.0.1", int(port)))
        self.lines = self.connection.makefile("rw")
        self.guard = threading.Lock()

    def say(self, **wish):
        with self.guard:
            self.lines.write(json.dumps(wish) + "\n")
            self.lines.flush()
            return json.loads(self.lines.readline())

    def next(self, reply=None, **plan):
        """What the next connection does; `reply` as octets."""
        if reply is not None:
            plan["reply"] = base64.b64encode(reply).decode()
        self.say(next=plan)

    def has_reached(self, step):
        """Waits until a connection holds at this step."""
        return self.say(**{"await": step})["reached"]

    @property
    def counts(self):
        return self.say()

    @property
    def rings(self):
        return self.counts["rings"]

    @property
    def arrivals(self):
        return self.counts["arrivals"]
