"""Servers that behave as a test says: Talkdesk ID, an issuer's keys, a remote policy, and servers that are barely any."""
import base64
import collections
import contextlib
import itertools
import json
import select
import socket
import ssl
import struct
import threading
import time
import urllib.parse


class Listener:
    """A listening socket of loopback. `handle` serves each connection on a thread of its own."""

    def __init__(self, port=0, backlog=1024):
        self.socket = socket.create_server(("127.0.0.1", port), backlog=backlog)
        self.port = self.socket.getsockname()[1]
        self.base = f"http://127.0.0.1:{self.port}"
        self.changed = threading.Condition()
        self.connections = 0
        self.open = set()
        self.thread = threading.Thread(target=self._accept, daemon=True)
        self.thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def _accept(self):
        while True:
            try:
                connection, _ = self.socket.accept()
            except OSError:
                return
            with self.changed:
                self.connections += 1
                self.open.add(connection)
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection):
        try:
            self.handle(connection)
        except OSError:
            pass  # The other side has gone.
        finally:
            with self.changed:
                self.open.discard(connection)
            connection.close()

    def handle(self, connection):
        raise NotImplementedError

    def wait(self, condition, seconds=20.0):
        """Waits until a function of what was recorded gives something true; whether it did."""
        with self.changed:
            return self.changed.wait_for(condition, seconds)

    def close(self):
        """Ends it: nothing listens at its port any more, and open connections are closed. A new one may take the same port."""
        with contextlib.suppress(OSError):
            self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()
        self.thread.join(5)
        with self.changed:
            for connection in self.open:
                with contextlib.suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)


def reset(connection):
    """Closes with a reset (RST)."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


class Arrival:
    """A request as it arrived: method, path, query, fields with lower-case names, content, its JSON, when (monotonic seconds), and
    the number of its connection."""

    def __init__(self, head, content, connection):
        lines = head.decode("latin-1").split("\r\n")
        self.method, target, _ = lines[0].split(" ", 2)
        self.path, _, query = target.partition("?")
        self.query = dict(urllib.parse.parse_qsl(query, keep_blank_values=True))
        self.fields = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])}
        self.content, self.connection, self.at = content, connection, time.monotonic()
        self.form = None
        self.json = None
        with contextlib.suppress(ValueError):
            self.json = json.loads(content)
        if self.fields.get("content-type", "").startswith("application/x-www-form-urlencoded"):
            self.form = dict(urllib.parse.parse_qsl(content.decode()))

    def __repr__(self):
        return f"{self.method} {self.path} {self.content[:200]!r}"


class Reply:
    """What a stub answers. `content` is octets, text, or what becomes JSON; `delay` seconds before the answer; `hold` a
    threading.Event that it waits for (at most 60 s); `raw` octets in place of a whole answer; `drop` closes instead of answering:
    `close`, `reset`, or `half` of the answer and then closes; `pause` seconds between two octets; `close` ends the connection."""

    def __init__(self, status=200, content=b"", fields={}, delay=0.0, hold=None, raw=None, drop=None, pause=0.0, close=False):
        if isinstance(content, (dict, list, bool)):
            content, fields = json.dumps(content), {"Content-Type": "application/json", **fields}
        self.content = content.encode() if isinstance(content, str) else content
        self.status, self.fields, self.delay, self.hold = status, fields, delay, hold
        self.raw, self.drop, self.pause, self.close = raw, drop, pause, close

    def octets(self, method):
        if self.raw is not None:
            return self.raw
        length = {} if self.status in (204, 304) else {"Content-Length": len(self.content)}
        lines = [f"HTTP/1.1 {self.status} Status",
                 *(f"{name}: {value}" for name, value in {**length, **self.fields}.items())]
        if self.close:
            lines.append("Connection: close")
        return "\r\n".join(lines).encode() + b"\r\n\r\n" + (b"" if method == "HEAD" else self.content)


class Stub(Listener):
    """An HTTP/1.1 server that records what arrives and answers as it is told: `then` queues replies for the next requests, `always`
    replaces `answer`, a function of an Arrival that gives a Reply. Connections are kept."""

    def __init__(self, answer=None, port=0):
        self.always = answer
        self.arrivals = []
        self.replies = collections.deque()
        self.in_flight = self.most_in_flight = 0
        super().__init__(port)

    def answer(self, arrival):
        return Reply(404)

    def then(self, *replies, times=1):
        """Queues replies for the next requests."""
        with self.changed:
            self.replies.extend(itertools.chain.from_iterable(itertools.repeat(replies, times)))

    def forget(self):
        """Forgets arrivals and queued replies."""
        with self.changed:
            self.arrivals.clear()
            self.replies.clear()
            self.most_in_flight = 0

    @property
    def count(self):
        return len(self.arrivals)

    def handle(self, connection):
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        buffer, number = b"", self.connections
        while True:
            while (end := buffer.find(b"\r\n\r\n")) < 0:
                if not (more := connection.recv(65536)):
                    return
                buffer += more
            head, buffer = buffer[:end], buffer[end + 4:]
            length = next((int(line.split(b":")[1]) for line in head.lower().split(b"\r\n")
                           if line.startswith(b"content-length:")), 0)
            while len(buffer) < length:
                if not (more := connection.recv(65536)):
                    return
                buffer += more
            arrival, buffer = Arrival(head, buffer[:length], number), buffer[length:]
            with self.changed:
                self.arrivals.append(arrival)
                self.in_flight += 1
                self.most_in_flight = max(self.most_in_flight, self.in_flight)
                reply = self.replies.popleft() if self.replies else None
                self.changed.notify_all()
            try:
                reply = reply or (self.always or self.answer)(arrival)
                goes_on = self.give(connection, reply, arrival.method)
            finally:
                with self.changed:
                    self.in_flight -= 1
                    self.changed.notify_all()
            if not goes_on:
                return

    @staticmethod
    def give(connection, reply, method):
        if reply.hold:
            reply.hold.wait(60)
        time.sleep(reply.delay)
        if reply.drop == "reset":
            reset(connection)
            return False
        if reply.drop == "close":
            return False
        octets = reply.octets(method)
        if reply.drop == "half":
            connection.sendall(octets[:len(octets) // 2])
            return False
        if reply.pause:
            for place in range(len(octets)):
                connection.sendall(octets[place:place + 1])
                time.sleep(reply.pause)
        else:
            connection.sendall(octets)
        return not (reply.close or reply.raw is not None)


class TalkdeskID(Stub):
    """Talkdesk ID's token endpoint: another token each time, with the scope that was asked for. Set `expires_in` and `delay`."""

    def __init__(self, expires_in=600, delay=0.0, **more):
        self.expires_in, self.delay, self.serial = expires_in, delay, itertools.count(1)
        super().__init__(**more)

    @property
    def url(self):
        return f"{self.base}/oauth/token"

    def answer(self, arrival):
        if (arrival.method, arrival.path) != ("POST", "/oauth/token"):
            return Reply(404)
        number = str(next(self.serial)).encode()
        token = ".".join(base64.urlsafe_b64encode(part).rstrip(b"=").decode() for part in (b'{"alg":"none"}', number, b"stub"))
        return Reply(200, {"access_token": token, "token_type": "Bearer", "expires_in": self.expires_in,
                           "scope": (arrival.form or {}).get("scope", "callback:write")}, delay=self.delay)

    @staticmethod
    def refusal(error="invalid_client", status=401, **more):
        return Reply(status, {"error": error, "error_description": "a stub's words"}, **more)


class KeySet(Stub):
    """An issuer's keys at `url`: set `keys` to a list of JWKs (harness.keys.Key.public), or `set_to` to any Reply."""

    def __init__(self, *keys, fields={}, **more):
        self.keys, self.fields, self.set_to = list(keys), fields, None
        super().__init__(**more)

    @property
    def url(self):
        return f"{self.base}/jwks.json"

    def answer(self, arrival):
        return self.set_to or Reply(200, {"keys": self.keys}, self.fields)


class Policy(Stub):
    """A remote policy at `url`. `verdict` is its result: a boolean, an object, or a function of the rule's input."""

    def __init__(self, verdict=True, delay=0.0, **more):
        self.verdict, self.delay = verdict, delay
        super().__init__(**more)

    @property
    def url(self):
        return f"{self.base}/v1/data/callgate/allow"

    @property
    def inputs(self):
        return [arrival.json["input"] for arrival in self.arrivals]

    def answer(self, arrival):
        verdict = self.verdict(arrival.json["input"]) if callable(self.verdict) else self.verdict
        return Reply(200, {"result": verdict}, delay=self.delay)


class Evaluator(Policy):
    """A policy of OpenID AuthZEN at `url`. `verdict` is its whole answer."""

    @property
    def url(self):
        return f"{self.base}/access/v1/evaluation"

    def answer(self, arrival):
        return Reply(200, self.verdict, delay=self.delay)


class Through(Listener):
    """TLS with a certificate, at a port of its own or a given one; everything is passed on to a port of loopback."""

    def __init__(self, certificate, key, port, at=0):
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(certificate, key)
        self.target = port
        super().__init__(at)

    def handle(self, connection):
        try:
            connection = self.context.wrap_socket(connection, server_side=True)
        except ssl.SSLError:
            return  # The client did not like what it saw, which is what most tests are about.
        with connection, socket.create_connection(("127.0.0.1", self.target)) as target:
            threading.Thread(target=self.pipe, args=(connection, target), daemon=True).start()
            self.pipe(target, connection)

    @staticmethod
    def pipe(source, target):
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                target.sendall(data)
        with contextlib.suppress(OSError):
            target.shutdown(socket.SHUT_WR)


class Link(Listener):
    """The way to a port of loopback, which breaks when it is told: where a client sends certain octets, before the other side has them, or
    after the other side has answered them. From then on nobody gets through until `mend`."""

    def __init__(self, port):
        self.target, self.losses, self.is_broken, self.loss = port, 0, False, None
        super().__init__()

    def lose(self, *texts, arrives=True):
        """The next octets with all of these texts are the last. `arrives` says whether the other side gets them: then its answer is lost."""
        self.loss = (texts, arrives)

    def mend(self):
        self.is_broken = False

    def handle(self, connection):
        if self.is_broken:
            return
        with socket.create_connection(("127.0.0.1", self.target)) as target:
            for one in (connection, target):
                one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=self.answers, args=(target, connection), daemon=True).start()
            while octets := connection.recv(1 << 20):
                with self.changed:
                    is_lost = self.loss and all(text in octets for text in self.loss[0])
                    if is_lost:
                        arrives, self.loss, self.is_broken = self.loss[1], None, True
                if is_lost and arrives:
                    target.sendall(octets)
                    # Its answer stays here, and then everybody is cut off.
                    select.select([target], [], [], 5)
                if is_lost:
                    with self.changed:
                        self.losses += 1
                        everybody = list(self.open)
                        self.changed.notify_all()
                    # The other side, too: its socket stays open while the other thread waits for it.
                    for one in [*everybody, target]:
                        with contextlib.suppress(OSError):
                            one.shutdown(socket.SHUT_RDWR)
                    return
                target.sendall(octets)

    def answers(self, source, connection):
        # `select` raises ValueError for a socket that was closed meanwhile.
        with contextlib.suppress(OSError, ValueError):
            while not self.is_broken and select.select([source], [], [])[0] and not self.is_broken:
                octets = source.recv(1 << 20)
                if not octets:
                    break
                connection.sendall(octets)
        with contextlib.suppress(OSError):
            connection.shutdown(socket.SHUT_RDWR)


class Say(Listener):
    """Answers every connection with the same octets once something has come, and closes."""

    def __init__(self, octets):
        self.octets = octets
        super().__init__()

    def handle(self, connection):
        connection.recv(65536)
        connection.sendall(self.octets)


class Silent(Listener):
    """Accepts and never says a word, until the other side closes."""

    def handle(self, connection):
        poll = select.poll()
        poll.register(connection, select.POLLRDHUP | select.POLLHUP | select.POLLERR)
        poll.poll()


class Hole(contextlib.AbstractContextManager):
    """A port where connecting never ends: its queue is full and nobody accepts."""

    def __init__(self):
        self.socket = socket.socket()
        self.socket.bind(("127.0.0.1", 0))
        self.socket.listen(0)
        self.port = self.socket.getsockname()[1]
        self.base = f"http://127.0.0.1:{self.port}"
        self.crowd = []
        for _ in range(4):
            self.crowd.append(one := socket.socket())
            one.setblocking(False)
            one.connect_ex(self.socket.getsockname())

    def __exit__(self, *_):
        for one in (*self.crowd, self.socket):
            one.close()
