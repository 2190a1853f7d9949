"""Plays raw HTTP/1.1 exchanges of the tables in Tests/Fixtures/vectors/http1 and judges the answers.

A case sends strings (bytes as latin-1) and steps, and names alternatives, of which one has to hold:

  {"rep": S, "n": N}   S, N times; `{i}` in it counts       {"pause": SECONDS}   {"shutdown": 1}   ends the client's side
  status  what the first response may have; `n` responses, 1 without it; `each` in its place lists what each may have
  close   true: the server closes; false: it answers another request on this connection
  interim the statuses of interim responses                  closed  the server closes without a word
  wait    it says nothing and waits                          check   what the first response has

In strings `{{G}}` and `{{P}}` are the targets of GET and POST, `{{HOST}}` the authority, `{{H}}` and `{{PH}}` further field lines,
`{{B}}` the content of a POST, `{{BL}}` and `{{BX}}` its length in decimal and hexadecimal digits (also +1, -1), `{{B1}}` and `{{B2}}`
its halves. Among statuses `get` and `post` are what a plain request gets, `handled` any answer of the application, `app` the same or a
refusal of the message.
"""
import base64
import contextlib
import json
import os
import re
import select
import socket
import ssl
import time

from .asking import Connection
from .processes import ROOT

TOKEN = re.compile(rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
STATUS_LINE = re.compile(rb"HTTP/1\.[01] ([1-5]\d\d) [\t\x20-\x7e\x80-\xff]*")
IMF_DATE = re.compile(
    r"(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d (Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) \d{4} \d\d:\d\d:\d\d GMT")
APPLICATION = {*range(200, 400), 400, 401, 403, 404, 405, 406, 409, 410, 411, 415, 416, 422, 426, 429}
# How long an answer may take, how long silence counts as waiting, how long after the last answer another one would show, and how
# long a promised close may take, in seconds.
PATIENCE, WAITING, QUIET, CLOSING = 10.0, 0.5, 0.1, 5.0


class Malformed(Exception):
    """What the server sent is not a sequence of HTTP/1.1 responses."""


class Response:
    def __init__(self, status, fields, content, framing):
        self.status, self.fields, self.content, self.framing = status, fields, content, framing

    def all(self, name):
        return [value for known, value in self.fields if known == name]


def table(name):
    """The lines of a table of vectors, as dicts; the ditto mark is not used in those of HTTP."""
    with open(os.path.join(ROOT, "Tests", "Fixtures", "vectors", "http1", f"{name}.tsv"), encoding="utf-8") as file:
        columns, *lines = (line.rstrip("\n").split("\t") for line in file)
    return [dict(zip(columns, line, strict=True)) for line in lines]


def cases():
    """The cases of the table, read."""
    return [{"id": line["id"], "methods": line["methods"].split(), "is_whole": line["delivery"] == "whole",
             "timeout": float(line["timeout"] or 0), "send": json.loads(line["send"]), "want": json.loads(line["want"])}
            for line in table("cases")]


def corpus():
    """The inputs of the fuzz corpus: pairs of name and octets."""
    return [(line["id"], base64.b64decode(line["octets"])) for line in table("h2o-corpus")]


def responses(data, methods, is_over):
    """Reads responses strictly. Returns final ones, the statuses of interim ones, and whether the last one is whole; an error where
    what is there can be no response."""
    finals, interims, place = [], [], 0
    while place < len(data):
        end = data.find(b"\r\n\r\n", place)
        if end < 0:
            if is_over or not (b"HTTP/1.1 ".startswith(data[place:place + 9]) or data.startswith(b"HTTP/1.1 ", place)):
                raise Malformed(f"no response: {data[place:place + 60]!r}")
            return finals, interims, False
        first, *lines = data[place:end].split(b"\r\n")
        place = end + 4
        if not (found := STATUS_LINE.fullmatch(first)):
            raise Malformed(f"a status line: {first[:80]!r}")
        fields = []
        for line in lines:
            name, colon, value = line.partition(b":")
            if not colon or not TOKEN.fullmatch(name) or re.search(rb"[\x00-\x08\x0a-\x1f\x7f]", value):
                raise Malformed(f"a field line: {line[:80]!r}")
            fields.append((name.decode().lower(), value.strip(b" \t").decode("latin-1")))
        status = int(found[1])
        if status < 200:
            interims.append(status)
            continue
        method = methods[min(len(finals), len(methods) - 1)]
        response = Response(status, fields, b"", "none")
        lengths, codings = set(response.all("content-length")), response.all("transfer-encoding")
        if len(lengths) > 1 or (lengths and codings):
            raise Malformed(f"framed twice: {fields}")
        if method != "HEAD" and status not in (204, 304):
            if codings:
                response.framing = "chunked"
                whole = re.compile(rb"(?:[0-9A-Fa-f]+)").match(data, place)
                parts = []
                while whole:
                    size, line_end = int(whole[0], 16), data.find(b"\r\n", place)
                    if line_end < 0 or len(data) < line_end + 4 + size:
                        whole = None
                        break
                    parts.append(data[line_end + 2:line_end + 2 + size])
                    place = line_end + 4 + size
                    if size == 0:
                        break
                    whole = re.compile(rb"[0-9A-Fa-f]+").match(data, place)
                if not whole:
                    if is_over:
                        raise Malformed("a chunked response that is cut off")
                    return finals, interims, False
                response.content = b"".join(parts)
            elif lengths:
                response.framing, length = "length", int(lengths.pop())
                if len(data) < place + length:
                    if is_over:
                        raise Malformed("content that is cut off")
                    return finals, interims, False
                response.content = data[place:place + length]
                place += length
            elif not is_over:
                return finals, interims, False
            else:
                response.framing, response.content, place = "close", data[place:], len(data)
        finals.append(response)
    return finals, interims, True


class Exchange:
    """One connection: sends as it is told and keeps what comes."""

    def __init__(self, client):
        self.connection = client.connect()
        self.socket = self.connection.socket
        self.socket.setblocking(False)
        self.data, self.is_over, self.was_reset = b"", False, False

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.connection.close()

    def read(self):
        try:
            while data := self.socket.recv(1 << 20):
                self.data += data
            self.is_over = True
        except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
            pass
        except OSError:
            self.is_over = self.was_reset = True

    def go_on(self, is_enough, seconds, octets=b""):
        """Sends octets and reads, until all is sent and enough has come, the other side has closed, or the time is over. Returns
        whether enough has come."""
        end, left = time.monotonic() + seconds, memoryview(octets)
        while True:
            self.read()
            if not left and is_enough():
                return True
            if self.is_over or time.monotonic() > end:
                return False
            if left:
                try:
                    left = left[self.socket.send(left[:65536]):]
                    continue
                except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
                    pass
                except OSError:
                    # The other side takes no more; what it said may still be on its way.
                    left = memoryview(b"")
                    end = min(end, time.monotonic() + 1)
                    continue
            select.select([self.socket], [self.socket] if left else [], [], max(0.0, min(end - time.monotonic(), 0.5)))

    def shutdown(self):
        # Also under TLS: a bare FIN.
        with contextlib.suppress(OSError):
            socket.socket.shutdown(self.socket, socket.SHUT_WR)


class Player:
    """Plays cases against a server. `get` and `post` are targets that answer; a POST has this content."""

    def __init__(self, client, get, post, content=b"hello"):
        self.client, authority, text = client, f"{client.host}:{client.port}", content.decode("latin-1")
        half = len(content) // 2
        self.words = {
            "G": get, "P": post, "HOST": authority, "NAME": client.host, "H": "", "PH": "Content-Type: application/json\r\n",
            "B": text, "BL": str(len(content)), "BX": f"{len(content):x}", "BXU": f"{len(content):X}",
            "BL+1": str(len(content) + 1), "BL-1": str(len(content) - 1), "BX+1": f"{len(content) + 1:x}",
            "BX-1": f"{len(content) - 1:x}", "BL*2": str(2 * len(content)),
            "B1": text[:half], "B1X": f"{half:x}", "B2": text[half:], "B2X": f"{len(content) - half:x}",
            "LENSMUG": str(len(f"GET /smuggled HTTP/1.1\r\nHost: {authority}\r\n\r\n"))}
        self.plain = {}
        for name, octets in (("get", self.octets("GET {{G}} HTTP/1.1\r\nHost: {{HOST}}\r\n\r\n")), ("post", self.octets(
                "POST {{P}} HTTP/1.1\r\nHost: {{HOST}}\r\n{{PH}}Content-Length: {{BL}}\r\n\r\n{{B}}"))):
            with Connection(client.port, client.host, client.trust) as connection:
                connection.send(octets)
                self.plain[name] = connection.read().status

    def octets(self, text):
        return re.sub(r"\{\{([A-Z0-9+*-]+)\}\}", lambda found: self.words[found[1]], text).encode("latin-1")

    def steps(self, case, delivery):
        """What to do: octets, seconds to wait, or None to end the client's side. `delivery` is `whole`, `lines` (cut between CR and
        LF, as the worst proxy does) or `octets` (one by one)."""
        steps = []
        for part in case["send"]:
            if isinstance(part, str):
                octets = self.octets(part)
            elif "rep" in part and "{i}" in part["rep"]:
                octets = b"".join(self.octets(part["rep"].replace("{i}", str(index))) for index in range(part["n"]))
            elif "rep" in part:
                octets = self.octets(part["rep"]) * part["n"]
            else:
                steps.append(part.get("pause"))
                continue
            if steps and isinstance(steps[-1], bytes):
                steps[-1] += octets
            else:
                steps.append(octets)
        if delivery == "whole" or sum(len(step) for step in steps if isinstance(step, bytes)) > 3000:
            return steps
        cut = []
        for step in steps:
            if not isinstance(step, bytes):
                cut.append(step)
                continue
            pieces = re.split(rb"(?<=\r)|(?<=\n)", step) if delivery == "lines" else [
                step[place:place + 1] for place in range(len(step))]
            for piece in filter(None, pieces):
                cut += [piece, 0.002 if delivery == "lines" else 0.0004]
        return cut

    def play(self, case, delivery="whole"):
        """Plays a case. Returns None where one of its alternatives holds, else what came."""
        steps, want = self.steps(case, delivery), case["want"]
        sent = b"".join(step for step in steps[:64] if isinstance(step, bytes))
        methods = case["methods"] or [sent.lstrip(b"\r\n").split(b" ")[0].decode("latin-1")]
        patience = max(PATIENCE, case["timeout"])
        with Exchange(self.client) as exchange:
            for step in steps:
                if step is None:
                    exchange.shutdown()
                elif isinstance(step, float):
                    exchange.go_on(lambda: False, step)
                else:
                    exchange.go_on(lambda: True, patience, step)
            count = max([len(one.get("each", [])) or one.get("n", 1) for one in want if not (one.get("wait") or one.get("closed"))] or [0])
            waits = any(one.get("wait") for one in want)
            exchange.go_on(lambda: self.has(exchange, methods, max(count, 1)), WAITING if waits else patience)
            exchange.go_on(lambda: False, QUIET)
            if any(one.get("close") is True for one in want) and exchange.data:
                exchange.go_on(lambda: False, CLOSING)
            finals, interims, error = self.read(exchange, methods)
            again = None
            if finals and not error and not exchange.is_over and any(one.get("close") is False for one in want):
                more = [*methods, *[methods[-1]] * len(finals)][:len(finals)] + ["GET"]
                request = self.octets("GET {{G}} HTTP/1.1\r\nHost: {{HOST}}\r\n{{H}}\r\n")
                exchange.go_on(lambda: self.has(exchange, more, len(finals) + 1), PATIENCE, request)
                answers, _, error = self.read(exchange, more)
                again = answers[-1].status if len(answers) == len(finals) + 1 else None
            if not error and any(self.holds(one, exchange, finals, interims, again) for one in want):
                return None
            statuses = ",".join(str(status) for status in [*interims, *(one.status for one in finals)]) or "nothing"
            end = "reset" if exchange.was_reset else "closed" if exchange.is_over else "open"
            return f"{statuses}, {end}{f', then {again}' if again else ''}{f', {error}' if error else ''}"

    def read(self, exchange, methods):
        """Final responses, the statuses of interim ones, and what is wrong with what came. A method A|B is either of the two."""
        error = None
        for index in (0, -1):
            try:
                finals, interims, is_whole = responses(exchange.data, [method.split("|")[index] for method in methods],
                                                       exchange.is_over)
                return finals, interims, None if is_whole else "a response that is not whole"
            except Malformed as malformed:
                error = str(malformed)
        return [], [], error

    def has(self, exchange, methods, count):
        finals, _, error = self.read(exchange, methods)
        return len(finals) >= count and not error or (error and "not whole" not in error)

    def is_among(self, status, words):
        known = set(self.plain.values())
        return any(
            self.plain.get(word) == status or word == str(status) or word == f"{status // 100}xx"
            or (word == "handled" and (status in known or status in APPLICATION - {400, 411}))
            or (word == "app" and status in APPLICATION) for word in words)

    def holds(self, one, exchange, finals, interims, again):
        if one.get("closed"):
            return exchange.is_over and not finals and not exchange.data
        if one.get("wait"):
            return not exchange.is_over and not finals
        each = one.get("each") or [one["status"]] + [None] * (one.get("n", 1) - 1) if one.get("n", 1) else []
        return (
            len(finals) == len(each)
            and all(words is None or self.is_among(final.status, words) for words, final in zip(each, finals))
            and (one.get("close") is not True or exchange.is_over)
            and (one.get("close") is not False or not finals or again == self.plain["get"])
            and ("interim" not in one or interims == one["interim"])
            and all(self.shows(finals[0], exchange.data, check) for check in one.get("check", [])))

    @staticmethod
    def shows(response, data, check):
        name, _, value = check.partition("=")
        if name in ("has", "lacks"):
            return bool(response.all(value)) == (name == "has")
        if name == "header":
            field, _, part = value.partition(":")
            return any(part in known.lower() for known in response.all(field))
        if name == "nobody":
            return not response.content
        if name == "notin":
            return value.encode() not in data.lower()
        if name == "imfdate":
            return len(response.all("date")) == 1 and IMF_DATE.fullmatch(response.all("date")[0])
        raise ValueError(f"an unknown check: {check}")

    def survives(self, octets):
        """Sends any octets and ends the client's side. Returns what is wrong: a connection that stays open, or a fault (5xx but 501
        and 505)."""
        with Exchange(self.client) as exchange:
            exchange.go_on(lambda: True, PATIENCE, octets)
            exchange.shutdown()
            exchange.go_on(lambda: False, PATIENCE)
            if not exchange.is_over:
                return "the connection stays open"
            statuses = re.findall(rb"(?:^|\n)HTTP/1\.1 (5\d\d)", exchange.data)
            return next((f"status {status.decode()}" for status in statuses if status not in (b"501", b"505")), None)
