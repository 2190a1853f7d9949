"""A server that is killed and started again on the same port, clients that repeat with their key until they are answered, and
what has to hold of all of them afterwards."""
import http.client
import random
import signal
import socket
import subprocess
import threading
import time

from harness import *
from harness.processes import at_end

START_LIMIT = 30
PATIENCE = 90


def kept_port():
    """A port nobody listens on, and below those that the system gives to clients: while the server is away, a client that asks
    its port could otherwise be given that very port, and be connected to itself."""
    while True:
        port = random.randrange(20000, 32000)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
                return port
            except OSError:
                continue


class Victim(Client):
    """`callgate serve` on a port of its own, with these variables; the output of all its processes is in one file of LOGS."""

    kills = 0

    def __init__(self, name, user, **variables):
        super().__init__(f"http://127.0.0.1:{kept_port()}", user)
        self.log, self.variables, self.process = log_path(name), variables, None
        at_end(lambda: self.process and end(self.process, signal.SIGKILL))

    def start(self, **more):
        with open(self.log, "ab") as output:
            begun = output.tell()
            self.process = subprocess.Popen(
                [CALLGATE, "serve", "--host", self.host, "--port", str(self.port)],
                env=environment({**self.variables, **more}), stdin=subprocess.DEVNULL, stdout=output, stderr=output)

        def listens():
            with open(self.log, "rb") as output:
                output.seek(begun)
                return b"callgate: listening on " in output.read()

        if not until(lambda: listens() or not self.is_alive, START_LIMIT) or not self.is_alive:
            raise NotStarted(f"see {self.log}")

    @property
    def is_alive(self):
        return self.process.poll() is None

    def kill(self):
        end(self.process, signal.SIGKILL)
        Victim.kills += 1

    def stop(self):
        return end(self.process, seconds=60)


class Customer:
    """One number and one key, and what came of asking for it."""

    everyone = []

    def __init__(self, servers, number=None, key=None):
        self.servers, self.number = servers, number or new_number()
        self.key = key or f"key-{self.number[1:]}-{random.getrandbits(64):x}"
        self.content = {"contact_phone_number": self.number, "context": {"issue": "x"}}
        self.answer, self.breaks, self.thread = None, 0, None
        Customer.everyone.append(self)

    def ask(self):
        """Repeats with the same key, at another server where there are several, until there is a last word."""
        end, place = time.monotonic() + PATIENCE, random.randrange(len(self.servers))
        while time.monotonic() < end:
            try:
                answer = self.servers[place].callback(self.content, key=self.key)
            except (OSError, http.client.HTTPException):
                self.breaks += 1
                place = (place + 1) % len(self.servers)
                time.sleep(0.02)
                continue
            if not answer.says(409, "in_progress"):
                self.answer = answer
                return self
            time.sleep(0.05)
        return self

    def begin(self):
        self.thread = threading.Thread(target=self.ask)
        self.thread.start()
        return self

    def end(self):
        self.thread.join()
        return self

    def record_by_number(self):
        """The id under which the number's callback is kept; None where there is none. Asking makes none."""
        answer = self.servers[0].callback(self.content, "?validate")
        return answer.json["id"] if answer.says(409, "duplicate") else None


class Crowd:
    """Customers one after the other, from many threads, until it is told to stop."""

    def __init__(self, servers, size):
        self.servers, self.is_over = servers, threading.Event()
        self.threads = [threading.Thread(target=self.run) for _ in range(size)]
        for thread in self.threads:
            thread.start()

    def run(self):
        while not self.is_over.is_set():
            Customer(self.servers).ask()

    def end(self):
        self.is_over.set()
        for thread in self.threads:
            thread.join()


def judge(servers, upstream, others=()):
    """What has to hold whatever was killed: asks for the record and repeats the request of everyone who ever asked. `others` are
    numbers that were looked at already."""
    server, arrivals, rings = servers[0], upstream.arrivals, dict(upstream.rings)
    said = {}
    for customer in Customer.everyone:
        answer, number = customer.answer, customer.number
        name = f"the callback of {customer.key[:8]}…{number[-2:]}"
        if not check(f"{name} has a last word", answer is not None, customer.breaks):
            continue
        count = rings.pop(number, 0)
        check(f"{name} rang once at most", count <= 1, count)
        code = answer.json.get("code", answer.json.get("status"))
        said[code] = said.get(code, 0) + 1
        if code == "upstream_unavailable":
            check(f"{name}: said not to be made, and was not", count == 0, count)
            continue
        if not check(f"{name} names its record", "id" in answer.json, answer):
            continue
        state = server.record(answer.json["id"]).json["status"]
        if code == "accepted":
            check(f"{name}: accepted, so it rang", count == 1, count)
            check(f"{name}: accepted, so its record says so", state == "accepted", state)
        elif code == "invalid_request":
            check(f"{name}: refused, so it did not ring", count == 0 and state == "failed", (count, state))
        else:
            check(f"{name}: nobody knows, and nobody says more", code in ("outcome_unknown", "upstream_failed")
                  and state == "unknown", (code, state))
        again = server.callback(customer.content, key=customer.key)
        same = again.content == answer.content if code == "accepted" else (
            again.json.get("code"), again.json.get("id")) == (code, answer.json["id"])
        check(f"{name}: a repetition is told the same", again.status == answer.status and same, (answer, again))
    strangers = set(rings) - set(others)
    check("every ring is somebody's", not strangers, strangers)
    check("asking again sent nothing", upstream.arrivals == arrivals, upstream.arrivals - arrivals)
    words = ", ".join(f"{count} {code}" for code, count in sorted(said.items()))
    print(f"{Victim.kills} kills, {len(Customer.everyone)} callbacks: {words}", flush=True)
    Customer.everyone.clear()
    Victim.kills = 0
