#!/usr/bin/env python3
"""Sends every bad body there is a record of (Tests/Fixtures/callbacks) to a running server; each gets its documented status and
code, and nothing is sent on.

  bodies.py SERVER SANDBOX FILE
"""
import base64
import sys

from client import Sandbox, Server, check, finish

STATUSES = {"invalid_json": 400, "content_too_large": 413, "invalid_request": 422}
server, sandbox = Server(sys.argv[1], "u1:p1"), Sandbox(sys.argv[2])

bodies = []
with open(sys.argv[3], encoding="utf-8") as lines:
    for line in lines:
        code, path, content, name = line.rstrip("\n").split("\t")
        bodies.append((name, base64.b64decode(content), code, None if path == "-" else path))
check("there are at least two hundred", len(bodies) >= 200, len(bodies))

# More than a file should hold.
LARGE = 1 << 20
good = '"contact_phone_number":"+14155550100"'
for name, text in (
    ("1 MB string", f'{{{good},"context":{{"issue":"{"x" * LARGE}"}}}}'), ("1 MB name", f'{{"{"x" * LARGE}":1}}'),
    ("1 MB of blanks", f"{{{good}}}" + " " * LARGE), ("1 MB of brackets", "[" * LARGE),
    ("1 MB of digits", f'{{"contact_phone_number":{"9" * LARGE}}}'), ("1 MB that is not JSON", "x" * LARGE),
):
    bodies.append((name, text.encode(), "content_too_large", None))

arrivals = sandbox.arrivals
for name, content, code, path in bodies:
    try:
        answer = server.callback(content)
    except OSError as error:
        check(name, False, error)
        continue
    check(name, answer.says(STATUSES[code], code), answer)
    names = answer.names()
    if path is not None:
        check(f"{name}: named", path in names, names)
    if code != "invalid_request":
        check(f"{name}: no field", not names, names)
    check(f"{name}: repeats no value", not any(word in answer.content for word in (b"4155550100", b"alert", b"passwd")))
check("nothing was sent on", sandbox.arrivals == arrivals)
finish()
