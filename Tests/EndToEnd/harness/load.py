#!/usr/bin/env python3
"""Asks at a steady rate over keep-alive connections, as a careful client does.

  load.py HOST PORT PATH RATE SECONDS CONNECTIONS [AUTHORITY]

With the file of an authority it speaks TLS and trusts that alone.
A GET is sent once more, on a new connection, where the connection it was sent on had been answered before and was closed
without a word: the server closed it while it was idle (RFC 9112 §9.6). Everything else that is not 200 is a failure.
Prints one JSON object.
"""
import collections
import json
import select
import socket
import ssl
import sys
import time

HOST, PORT, PATH = sys.argv[1], int(sys.argv[2]), sys.argv[3]
RATE, SECONDS, CONNECTIONS = float(sys.argv[4]), float(sys.argv[5]), int(sys.argv[6])
REQUEST = f"GET {PATH} HTTP/1.1\r\nHost: {HOST}:{PORT}\r\n\r\n".encode()
PATIENCE = 10.0
TRUST = ssl.create_default_context(cafile=sys.argv[7]) if len(sys.argv) > 7 else None

poll = select.epoll()
connections = {}
idle = collections.deque()
counts = collections.Counter()
reasons = collections.Counter()
slowest = 0.0


class Connection:
    def __init__(self):
        self.socket = socket.socket()
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket.settimeout(PATIENCE)
        self.socket.connect((HOST, PORT))
        if TRUST:
            self.socket = TRUST.wrap_socket(self.socket, server_hostname=HOST)
        self.socket.setblocking(False)
        self.buffer = b""
        self.answered = 0
        self.sent_at = None
        self.first_at = None
        self.is_retry = False
        counts["connections"] += 1
        connections[self.socket.fileno()] = self
        poll.register(self.socket.fileno(), select.EPOLLIN)

    def close(self):
        connections.pop(self.socket.fileno(), None)
        poll.unregister(self.socket.fileno())
        self.socket.close()


def fail(reason):
    counts["failed"] += 1
    reasons[reason] += 1


def connect():
    try:
        return Connection()
    except OSError as error:
        fail(f"connect: {error.__class__.__name__}")
        return None


def send(connection, first_at, is_retry=False):
    connection.sent_at, connection.first_at, connection.is_retry = time.monotonic(), first_at, is_retry
    try:
        connection.socket.send(REQUEST)
    except OSError as error:
        broken(connection, error.__class__.__name__)


def broken(connection, reason):
    """The connection ended with a request on it."""
    first_at, answered, is_retry, begun = (
        connection.first_at, connection.answered, connection.is_retry, bool(connection.buffer))
    connection.close()
    if begun or is_retry or answered == 0:
        fail(("cut off: " if begun else "unanswered retry: " if is_retry else "unanswered: ") + reason)
        return
    counts["retried"] += 1
    fresh = connect()
    if fresh:
        send(fresh, first_at, is_retry=True)


def readable(connection):
    global slowest
    try:
        data = connection.socket.recv(65536)
        while TRUST and connection.socket.pending():
            data += connection.socket.recv(65536)
    except (BlockingIOError, ssl.SSLWantReadError):
        return
    except OSError as error:
        data, reason = b"", error.__class__.__name__
    else:
        reason = "closed"
    if not data:
        if connection.sent_at is None:
            connection.close()  # Closed while idle, and nothing was lost.
        else:
            broken(connection, reason)
        return
    connection.buffer += data
    head, mark, rest = connection.buffer.partition(b"\r\n\r\n")
    if not mark:
        return
    lines = head.lower().split(b"\r\n")
    length = next((int(line[15:]) for line in lines if line.startswith(b"content-length:")), 0)
    if len(rest) < length:
        return
    status = int(head[9:12])
    slowest = max(slowest, time.monotonic() - connection.first_at)
    if status == 200:
        counts["ok"] += 1
    else:
        fail(f"status {status}")
    connection.buffer, connection.sent_at = b"", None
    connection.answered += 1
    if b"connection: close" in lines:
        connection.close()
    else:
        idle.append(connection)


start = time.monotonic()
sent = 0
while True:
    now = time.monotonic()
    elapsed = now - start
    if elapsed < SECONDS:
        due = int(elapsed * RATE) - sent
        for _ in range(due):
            connection = None
            while idle and connection is None:
                connection = idle.popleft()
                if connection.socket.fileno() < 0:
                    connection = None
            if connection is None:
                if len(connections) >= CONNECTIONS:
                    break  # All are busy: sent as soon as one is not.
                connection = connect()
                if connection is None:
                    sent += 1
                    continue
            sent += 1
            send(connection, now)
    elif not any(c.sent_at is not None for c in connections.values()):
        break
    for connection in [c for c in connections.values() if c.sent_at is not None and now - c.sent_at > PATIENCE]:
        connection.close()
        fail("no answer in time")
    for descriptor, _ in poll.poll(0.002):
        if descriptor in connections:
            readable(connections[descriptor])

print(json.dumps({
    "sent": sent, "ok": counts["ok"], "failed": counts["failed"], "retried": counts["retried"],
    "connections": counts["connections"], "slowest_ms": round(slowest * 1000, 1), "reasons": dict(reasons)}))
