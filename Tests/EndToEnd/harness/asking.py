"""A small HTTP client: single requests, raw octets, kept connections, many requests at once and at a rate."""
import base64
import collections
import concurrent.futures
import contextlib
import itertools
import json
import re
import select
import socket
import ssl
import struct
import threading
import time

_numbers = itertools.count(14152000000 + int(time.time() * 1000) % 7_000_000)
_guard = threading.Lock()


def new_number():
    """A telephone number that no test asked for before."""
    with _guard:
        return f"+{next(_numbers)}"


class Answer:
    """One response: status, fields with lower-case names (several lines joined by commas), content, and the content as JSON where
    it is JSON. A request that got no response has the status 0 and an error."""

    def __init__(self, status, fields, content, seconds=0.0, error=None):
        self.status, self.content, self.seconds, self.error = status, content, seconds, error
        self.fields = {}
        for name, value in fields:
            name = name.lower()
            self.fields[name] = f"{self.fields[name]}, {value}" if name in self.fields else value
        try:
            self.json = json.loads(content)
        except ValueError:
            self.json = None

    def __repr__(self):
        return f"no answer: {self.error!r}" if self.error else f"{self.status} {self.fields} {self.content[:400]!r}"

    @property
    def text(self):
        return self.content.decode("utf-8", "replace")

    @property
    def code(self):
        """The code of a problem document."""
        return self.json.get("code") if isinstance(self.json, dict) else None

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
        """The names in `fields` of a problem document."""
        return {field["name"] for field in (self.json or {}).get("fields", [])}


class Connection:
    """One connection to HOST:PORT for raw octets and for requests one after the other. `source` is the address it comes from;
    `trust` an ssl.SSLContext where it speaks TLS."""

    def __init__(self, port, host="127.0.0.1", trust=None, source=None, patience=30.0):
        self.authority = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        self.socket = socket.create_connection((host, port), patience, (source, 0) if source else None)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if trust:
            self.socket = trust.wrap_socket(self.socket, server_hostname=host)
        self.buffer = b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def send(self, octets):
        self.socket.sendall(octets)

    def _more(self):
        data = self.socket.recv(65536)
        if not data:
            raise ConnectionResetError("closed within an answer" if self.buffer else "closed without an answer")
        self.buffer += data

    def _take(self, count):
        while len(self.buffer) < count:
            self._more()
        taken, self.buffer = self.buffer[:count], self.buffer[count:]
        return taken

    def _line(self, end=b"\r\n"):
        while end not in self.buffer:
            self._more()
        line, _, self.buffer = self.buffer.partition(end)
        return line

    def read(self, method="GET"):
        """Reads one final response; `method` is what was asked for, since responses to HEAD have no content."""
        while True:
            lines = self._line(b"\r\n\r\n").decode("latin-1").split("\r\n")
            version, status, *_ = lines[0].split(" ")
            if not version.startswith("HTTP/1."):
                raise ValueError(f"no HTTP response: {lines[0]!r}")
            if not 100 <= int(status) < 200:
                break
        fields = [(name, value.strip()) for name, _, value in (line.partition(":") for line in lines[1:])]
        known = {name.lower(): value for name, value in fields}
        if method == "HEAD" or int(status) in (204, 304):
            content = b""
        elif known.get("transfer-encoding", "").lower() == "chunked":
            content = b""
            while size := int(self._line().split(b";")[0], 16):
                content += self._take(size)
                self._line()
            while self._line():
                pass
        elif "content-length" in known:
            content = self._take(int(known["content-length"]))
        else:
            content = self.rest()
        return Answer(int(status), fields, content)

    def rest(self):
        """Everything that comes until the other side closes."""
        with contextlib.suppress(ConnectionError):
            while data := self.socket.recv(65536):
                self.buffer += data
        taken, self.buffer = self.buffer, b""
        return taken

    def read_line(self):
        """The first line of what comes, as text."""
        return self._line().decode("latin-1")

    def ends(self, seconds=1.0):
        """Whether the other side closes within some seconds, whatever it sends before."""
        end = time.monotonic() + seconds
        try:
            while (left := end - time.monotonic()) > 0:
                self.socket.settimeout(left)
                if not self.socket.recv(65536):
                    return True
        except TimeoutError:
            pass
        except ConnectionError:
            return True
        return False

    def is_closed(self, seconds=10.0):
        """Waits for the other side to close; False where it does not, or sends something instead."""
        self.socket.settimeout(seconds)
        try:
            return not self.buffer and self.socket.recv(1) == b""
        except TimeoutError:
            return False
        except ConnectionError:
            return True

    def ask(self, method, path, content=None, fields=(), close=False):
        """Sends one request and reads its response."""
        began = time.monotonic()
        # A refusal may come before all of the content has gone; what it means for TLS has a type of its own.
        with contextlib.suppress(ConnectionError, ssl.SSLError):
            self.send(request(method, path, self.authority, content, fields, close))
        answer = self.read(method)
        answer.seconds = time.monotonic() - began
        return answer

    def reset(self):
        """Closes with a reset (RST), as a client that has died does."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close()

    def close(self):
        self.socket.close()


def request(method, path, authority, content=None, fields=(), close=False):
    """The octets of a request. `fields` is a dict, or pairs where a name comes more than once. Text of fields is sent as UTF-8."""
    pairs = list(fields.items() if isinstance(fields, dict) else fields)
    names = {name.lower() for name, _ in pairs}
    if "host" not in names:
        pairs.insert(0, ("Host", authority))
    if content is not None and not names & {"content-length", "transfer-encoding"}:
        pairs.append(("Content-Length", str(len(content))))
    if close:
        pairs.append(("Connection", "close"))
    lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in pairs)]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + (content or b"")


class Client:
    """Asks the server at `base` (http://HOST:PORT), on a new connection each time. `user` is USER:PASSWORD and goes with every
    request that has no credential of its own; `authority` a PEM file that certificates are checked with."""

    def __init__(self, base, user=None, authority=None):
        scheme, mark, rest = base.rpartition("://")
        self.base, self.user = rest, user
        self.host, _, port = rest.rpartition(":")
        self.port = int(port)
        self.url = f"{scheme or 'http'}://{rest}"
        self.trust = ssl.create_default_context(cafile=authority) if scheme == "https" else None

    def connect(self, source=None, patience=30.0):
        """A connection that stays, for raw octets or several requests."""
        return Connection(self.port, self.host, self.trust, source, patience)

    def ask(self, method, path, content=None, user=None, fields=None, kind="application/json", patience=40.0, *,
            bearer=None, api_key=None, source=None, app=None):
        """Sends one request. `content` is octets, text, or what becomes JSON; `kind` its Content-Type. Credentials: `user`
        (USER:PASSWORD, "" for none), `bearer`, or `api_key` (X-API-Key). `source` is the address of loopback it comes from."""
        lines = list((fields or {}).items() if not isinstance(fields, list) else fields)
        user = self.user if user is None and bearer is None and api_key is None else user
        if user:
            lines.append(("Authorization", "Basic " + base64.b64encode(user.encode()).decode()))
        if bearer:
            lines.append(("Authorization", f"Bearer {bearer}"))
        if api_key:
            lines.append(("X-API-Key", api_key))
        if isinstance(content, (dict, list)):
            content = json.dumps(content)
        if isinstance(content, str):
            content = content.encode()
        if content is not None and kind:
            lines.append(("Content-Type", kind))
        if app:
            path += f"{'&' if '?' in path else '?'}app={app}"
        with self.connect(source, patience) as connection:
            return connection.ask(method, path, content, lines, close=True)

    def get(self, path, **more):
        return self.ask("GET", path, **more)

    def post(self, path, content=None, **more):
        return self.ask("POST", path, content, **more)

    def callback(self, content=None, query="", key=None, path="/calls/callback", fields=None, **more):
        """Asks for a callback: of a new number where no content is given. `key` is its Idempotency-Key."""
        fields = dict(fields or {})
        if key is not None:
            fields["Idempotency-Key"] = key
        content = {"contact_phone_number": new_number()} if content is None else content
        return self.ask("POST", path + query, content, fields=fields, **more)

    def record(self, identifier, **more):
        return self.get(f"/callbacks/{identifier}", **more)


def _answered(ask, index):
    began = time.monotonic()
    try:
        answer = ask(index)
    except (OSError, ValueError) as error:
        answer = Answer(0, (), b"", error=error)
    if isinstance(answer, Answer):
        answer.seconds = time.monotonic() - began
    return answer


def at_once(ask, count, workers=None):
    """The answers of `count` requests, in order: ask(0), ask(1) … on at most `workers` threads at a time (by default all at once,
    which begin together). A request without a response has status 0; `seconds` says how long each took."""
    workers = min(count, workers or count)
    barrier = threading.Barrier(workers)

    def go(index):
        if index < workers:
            barrier.wait(30)
        return _answered(ask, index)

    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        return list(pool.map(go, range(count)))


def begin(ask):
    """A request on its way, on a thread of its own: `result()` of what is returned waits for its answer."""
    pool = concurrent.futures.ThreadPoolExecutor(1)
    future = pool.submit(_answered, lambda _: ask(), 0)
    pool.shutdown(wait=False)
    return future


def paced(ask, rate, seconds, workers=200):
    """The answers of requests that begin at a steady rate a second, whether earlier ones are answered or not, as those of many
    clients do. More than `workers` are never on their way: then the rate falls."""
    began = time.monotonic()

    def go(index):
        time.sleep(max(0.0, began + index / rate - time.monotonic()))
        return _answered(ask, index)

    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        return list(pool.map(go, range(int(rate * seconds))))


def statuses(answers):
    """How many answers have each status, or each `STATUS CODE` of a problem: {"200": 12, "503 overloaded": 3}."""
    return dict(sorted(collections.Counter(
        f"{answer.status} {answer.code}" if answer.code else str(answer.status) for answer in answers).items()))


def retry_after(answer):
    """The seconds of an answer's Retry-After; None without one."""
    value = answer.fields.get("retry-after", "")
    return int(value) if re.fullmatch(r"\d+", value) else None


def gone(connection):
    """Waits until the other side of a socket has closed it (at most 30 s)."""
    poll = select.poll()
    poll.register(connection, select.POLLRDHUP | select.POLLHUP | select.POLLERR)
    poll.poll(30_000)
