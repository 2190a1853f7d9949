"""What the tests of callbacks stand on beside the harness: the sandbox's controls and those of the stub upstream. They run below
a bash file, which sets the environment of the servers they start, so only parts of the harness that leave it alone are used."""
import base64
import json
import os
import socket
import sys
import threading

sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "harness"))
from asking import Answer, Client as Server, new_number  # noqa: E402,F401
from checks import check, counts, until  # noqa: E402,F401


def finish():
    """Ends the program; its last line is what the shell adds up."""
    print(f"{counts['passed']} {counts['failed']}")
    sys.exit(0)


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


class Upstream:
    """The controls of the stub upstream (callback_api.py)."""

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
