#!/usr/bin/env python3
"""A Callback API that counts rings by number and does what it is told, octet for octet, in a process of its own: it outlives
the server under test. Prints two ports: the API's, and that of its controls; serves until it is ended.

A request rings once its last octet was read, unless it is told not to. What the next connection does is posted to the
controls as JSON:

  hold   where to wait until the other side has gone: accept, head, request, rung, half, content, answered
  reply  the whole answer in Base64, instead of 201 and {}
  ring   whether the request rings; true
  close  where to close: accept (with a reset), request, rung, half (of the answer)
  pause  seconds between two octets of the answer

Without any, numbers say what becomes of them by their last digit once `mixed` is on: 6 a slow success, 7 a refusal (422),
8 a failure after the ring, 9 an outage (503), 0 a close after the ring, everything else a success.
"""
import base64
import collections
import json
import select
import socket
import struct
import sys
import threading
import time

HOLD_LIMIT = 30
SUCCESS = b"HTTP/1.1 201 Created\r\nContent-Type: application/json\r\nContent-Length: 2\r\nplatform-tid: stub\r\n\r\n{}"
MIXED = {
    "6": dict(pause=0.0005),
    "7": dict(ring=False, reply=b"HTTP/1.1 422 No\r\nContent-Length: 2\r\n\r\n{}"),
    "8": dict(reply=b"HTTP/1.1 500 Broken\r\nContent-Length: 0\r\n\r\n"),
    "9": dict(ring=False, reply=b"HTTP/1.1 503 Later\r\nContent-Length: 0\r\n\r\n"),
    "0": dict(close="rung"),
}

state = threading.Condition()
rings = collections.Counter()
plans = collections.deque()
reached = collections.deque()
totals = {"arrivals": 0, "connections": 0}
settings = {"mixed": False, "delay": 0.0}


def reset(connection):
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


def hold(plan, step, connection):
    """Says that this step is reached and waits there until the other side has closed."""
    if plan.get("hold") != step:
        return
    with state:
        reached.append(step)
        state.notify_all()
    poll = select.poll()
    poll.register(connection, select.POLLRDHUP | select.POLLHUP | select.POLLERR)
    poll.poll(HOLD_LIMIT * 1000)


def send(connection, octets, pause):
    if not pause:
        return connection.sendall(octets)
    for place in range(len(octets)):
        connection.sendall(octets[place:place + 1])
        time.sleep(pause)


def serve(connection):
    with state:
        totals["connections"] += 1
        plan = plans.popleft() if plans else {}
    try:
        if plan.get("close") == "accept":
            return reset(connection)
        hold(plan, "accept", connection)
        request = b""
        while (end := request.find(b"\r\n\r\n")) < 0:
            if not (more := connection.recv(1 if plan.get("hold") == "head" and not request else 65536)):
                return
            if not request:
                hold(plan, "head", connection)
            request += more
        lines = request[:end].lower().split(b"\r\n")
        length = next((int(line.split(b":")[1]) for line in lines if line.startswith(b"content-length:")), 0)
        while len(request) < end + 4 + length:
            if not (more := connection.recv(65536)):
                return
            request += more
        number = json.loads(request[end + 4:])["contact_phone_number"]
        with state:
            totals["arrivals"] += 1
            delay = settings["delay"]
            if settings["mixed"] and not plan:
                plan = MIXED.get(number[-1], {})
        hold(plan, "request", connection)
        if plan.get("close") == "request":
            return
        if plan.get("ring", True):
            with state:
                rings[number] += 1
        hold(plan, "rung", connection)
        if plan.get("close") == "rung":
            return
        time.sleep(delay)
        reply = plan.get("reply", SUCCESS)
        pause = plan.get("pause", 0)
        half = len(reply) // 2
        send(connection, reply[:half], pause)
        hold(plan, "half", connection)
        if plan.get("close") == "half":
            return
        send(connection, reply[half:-1], pause)
        hold(plan, "content", connection)
        send(connection, reply[-1:], pause)
        hold(plan, "answered", connection)
    except OSError:
        pass  # The other side is gone; what rang has rung.
    finally:
        connection.close()


def control(connection):
    """One line of JSON in, one out: {"next": plan}, {"set": settings}, {"await": step}, or {} for what was counted."""
    with connection, connection.makefile("rw") as lines:
        for line in lines:
            wish = json.loads(line)
            answer = {}
            with state:
                if "next" in wish:
                    plan = wish["next"]
                    if "reply" in plan:
                        plan["reply"] = base64.b64decode(plan["reply"])
                    plans.append(plan)
                elif "set" in wish:
                    settings.update(wish["set"])
                elif "await" in wish:
                    is_there = state.wait_for(lambda: wish["await"] in reached, HOLD_LIMIT)
                    answer = {"reached": is_there}
                    reached.clear()
                elif "forget" in wish:
                    plans.clear()
                    reached.clear()
                else:
                    answer = {"rings": dict(rings), **totals}
            lines.write(json.dumps(answer) + "\n")
            lines.flush()


def listen(handler):
    listener = socket.create_server(("127.0.0.1", 0), backlog=1024)

    def run():
        while True:
            connection, _ = listener.accept()
            threading.Thread(target=handler, args=(connection,), daemon=True).start()

    threading.Thread(target=run, daemon=True).start()
    return listener.getsockname()[1]


if __name__ == "__main__":
    threading.stack_size(256 * 1024)
    print(listen(serve), listen(control), flush=True)
    threading.Event().wait()
    sys.exit(0)
