"""A Callback API that counts rings by number and does what it is told, octet for octet. It outlives the server under test.

A request rings once its last octet was read, unless it is told not to. What the next connection does:

  hold   where to wait until the other side has gone: accept, head, request, rung, half, content, answered
  reply  the whole answer, instead of 201 and {}
  ring   whether the request rings; true
  close  where to close: accept (with a reset), request, rung, half (of the answer)
  pause  seconds between two octets of the answer

Without any, numbers say what becomes of them by their last digit once `mixed` is on: 6 a slow success, 7 a refusal (422),
8 a failure after the ring, 9 an outage (503), 0 a close after the ring, everything else a success.
"""
import collections
import json
import select
import socket
import time

from .stubs import Listener, reset

HOLD_LIMIT = 30
SUCCESS = b"HTTP/1.1 201 Created\r\nContent-Type: application/json\r\nContent-Length: 2\r\nplatform-tid: stub\r\n\r\n{}"
MIXED = {
    "6": dict(pause=0.0005),
    "7": dict(ring=False, reply=b"HTTP/1.1 422 No\r\nContent-Length: 2\r\n\r\n{}"),
    "8": dict(reply=b"HTTP/1.1 500 Broken\r\nContent-Length: 0\r\n\r\n"),
    "9": dict(ring=False, reply=b"HTTP/1.1 503 Later\r\nContent-Length: 0\r\n\r\n"),
    "0": dict(close="rung"),
}


class CallbackAPI(Listener):
    """The stub: `url` is TD_API_URL; `rings` counts by number, `rung` has their times in seconds since the epoch, `arrivals` counts all
    requests; `delay` is seconds before each answer."""

    def __init__(self, delay=0.0, mixed=False, port=0):
        self.rings, self.arrivals = collections.Counter(), 0
        self.rung = collections.defaultdict(list)
        self.bodies = []
        self.plans, self.reached = collections.deque(), collections.deque()
        self.delay, self.mixed = delay, mixed
        self.in_flight = self.most_in_flight = 0
        super().__init__(port)

    @property
    def url(self):
        return self.base

    def next(self, reply=None, **plan):
        """What the next connection does; `reply` as octets."""
        if reply is not None:
            plan["reply"] = reply
        with self.changed:
            self.plans.append(plan)

    def has_reached(self, step):
        """Waits until a connection holds at this step."""
        with self.changed:
            is_there = self.changed.wait_for(lambda: step in self.reached, HOLD_LIMIT)
            self.reached.clear()
            return is_there

    def forget(self):
        """Forgets plans that no connection has taken."""
        with self.changed:
            self.plans.clear()
            self.reached.clear()

    def hold(self, plan, step, connection):
        """Says that this step is reached and waits there until the other side has closed."""
        if plan.get("hold") != step:
            return
        with self.changed:
            self.reached.append(step)
            self.changed.notify_all()
        poll = select.poll()
        poll.register(connection, select.POLLRDHUP | select.POLLHUP | select.POLLERR)
        poll.poll(HOLD_LIMIT * 1000)

    @staticmethod
    def send(connection, octets, pause):
        if not pause:
            return connection.sendall(octets)
        for place in range(len(octets)):
            connection.sendall(octets[place:place + 1])
            time.sleep(pause)

    def handle(self, connection):
        with self.changed:
            plan = self.plans.popleft() if self.plans else {}
        if plan.get("close") == "unread":
            # A reset before the client has sent anything may reach it before it is connected, which is another case.
            connection.recv(1, socket.MSG_PEEK)
            return reset(connection)
        self.hold(plan, "accept", connection)
        request = b""
        while (end := request.find(b"\r\n\r\n")) < 0:
            if not (more := connection.recv(1 if plan.get("hold") == "head" and not request else 65536)):
                return
            if not request:
                self.hold(plan, "head", connection)
            request += more
        lines = request[:end].lower().split(b"\r\n")
        length = next((int(line.split(b":")[1]) for line in lines if line.startswith(b"content-length:")), 0)
        while len(request) < end + 4 + length:
            if not (more := connection.recv(65536)):
                return
            request += more
        body = json.loads(request[end + 4:])
        number = body["contact_phone_number"]
        with self.changed:
            self.arrivals += 1
            self.bodies.append(body)
            self.in_flight += 1
            self.most_in_flight = max(self.most_in_flight, self.in_flight)
            delay = self.delay
            if self.mixed and not plan:
                plan = MIXED.get(number[-1], {})
            self.changed.notify_all()
        try:
            self.answer(connection, plan, number, delay)
        finally:
            with self.changed:
                self.in_flight -= 1
                self.changed.notify_all()

    def answer(self, connection, plan, number, delay):
        self.hold(plan, "request", connection)
        if plan.get("close") == "request":
            return
        if plan.get("ring", True):
            with self.changed:
                self.rings[number] += 1
                self.rung[number].append(time.time())
                self.changed.notify_all()
        self.hold(plan, "rung", connection)
        if plan.get("close") == "rung":
            return
        time.sleep(delay)
        reply, pause = plan.get("reply", SUCCESS), plan.get("pause", 0)
        half = len(reply) // 2
        self.send(connection, reply[:half], pause)
        self.hold(plan, "half", connection)
        if plan.get("close") == "half":
            return
        self.send(connection, reply[half:-1], pause)
        self.hold(plan, "content", connection)
        self.send(connection, reply[-1:], pause)
        self.hold(plan, "answered", connection)
