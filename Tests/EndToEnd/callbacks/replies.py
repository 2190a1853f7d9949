#!/usr/bin/env python3
"""What becomes of callbacks when the upstream breaks HTTP, is slow or has no room: asked of a running server in front of the
stub upstream.

  replies.py SERVER CONTROLS    the server's base URL, and the port of callback_api.py's controls
"""
import sys
import threading
import time

from client import Server, Upstream, check, finish, new_number, until

server = Server(sys.argv[1], "u1:p1")
upstream = Upstream(sys.argv[2])
ACCEPTED, UNKNOWN = (201, None, "accepted"), (504, "outcome_unknown", "unknown")
FAILED, LOST = (502, "upstream_failed", "failed"), (502, "upstream_failed", "unknown")


def head(status, *lines):
    return ("\r\n".join([f"HTTP/1.1 {status} X", *lines]) + "\r\n\r\n").encode()


def replies():
    big = b"x" * 200_000
    html = b"<html><body>It works</body></html>"
    table = [
        # While the request goes out: one connection each, whatever happens to it.
        ("reset on accept", None, dict(close="accept", ring=False), UNKNOWN),
        ("closed after the request", None, dict(close="request", ring=False), UNKNOWN),
        ("closed after the ring", None, dict(close="rung"), UNKNOWN),
        ("closed within the status line", head(201)[:10], {}, UNKNOWN),
        ("closed within the fields", head(201)[:-2], {}, UNKNOWN),
        ("closed within the content", head(201, "Content-Length: 10") + b"{", {}, ACCEPTED),
        ("a refusal, closed within the content", head(403, "Content-Length: 10") + b"{", dict(ring=False),
         (502, "upstream_refused", "failed")),
        ("an interim answer and nothing more", head(102), {}, UNKNOWN),
        ("an interim answer before", head(102) + head(201, "Content-Length: 0"), {}, ACCEPTED),
        # Octets that are no answer, or a strange one.
        ("nothing that is HTTP", b"220 mail.example ESMTP\r\n", {}, UNKNOWN),
        ("NUL", b"\x00" * 64, {}, UNKNOWN),
        ("200 with a page", head(200, "Content-Type: text/html", f"Content-Length: {len(html)}") + html, {}, ACCEPTED),
        ("200 without a length", head(200) + html, {}, ACCEPTED),
        ("204", head(204), {}, ACCEPTED),
        ("more than is read", head(200, f"Content-Length: {len(big)}") + big, {}, ACCEPTED),
        ("more than is read, without a length", head(200) + big, {}, ACCEPTED),
        ("a broken chunk", head(200, "Transfer-Encoding: chunked") + b"zz\r\n", {}, ACCEPTED),
        ("compressed nonsense", head(200, "Content-Encoding: gzip", "Content-Length: 4") + b"nope", {}, ACCEPTED),
        ("400 with a page", head(400, f"Content-Length: {len(html)}") + html, dict(ring=False),
         (422, "invalid_request", "failed")),
        ("422, nested deeply", head(422) + b'{"fields":' + b"[" * 20000, dict(ring=False),
         (422, "invalid_request", "failed")),
        ("422, not UTF-8", head(422) + b'{"fields":[{"name":"\xff","description":"x"}]}', dict(ring=False),
         (422, "invalid_request", "failed")),
        ("404 with a page", head(404, f"Content-Length: {len(html)}") + html, dict(ring=False), FAILED),
        ("418", head(418, "Content-Length: 0"), dict(ring=False), FAILED),
        ("500, too large", head(500) + big, {}, LOST),
        ("599", head(599, "Content-Length: 0"), {}, LOST),
        ("304", head(304), {}, LOST),
        ("307 to itself", head(307, "Location: /calls/callback", "Content-Length: 0"), {}, LOST),
        ("408", head(408, "Content-Length: 0"), {}, LOST),
        ("503, a page", head(503, f"Content-Length: {len(html)}") + html, dict(ring=False),
         (503, "upstream_unavailable", "failed")),
        ("a slow one", head(201, "Content-Length: 2") + b"{}", dict(pause=0.01), ACCEPTED),
        ("one that drips beyond the deadline", head(201, "Content-Length: 2") + b"{}", dict(pause=0.3), UNKNOWN),
    ]
    for name, reply, plan, (status, code, state) in table:
        upstream.next(reply, **plan)
        number, before = new_number(), upstream.counts
        answer = server.callback({"contact_phone_number": number}, key=f"reply-{name}".replace(" ", "-").replace(",", ""))
        check(f"{name}: the answer", answer.says(status, code) if code else answer.status == status, answer)
        check(f"{name}: nothing of upstream's", b"html" not in answer.content and b"xxx" not in answer.content, answer)
        after = upstream.counts
        check(f"{name}: one connection", after["connections"] == before["connections"] + 1, (before, after))
        check(f"{name}: rang", after["rings"].get(number, 0) == (1 if plan.get("ring", True) else 0), after["rings"].get(number))
        if check(f"{name}: names its record", answer.json and answer.json.get("id"), answer):
            record = server.record(answer.json["id"])
            check(f"{name}: the record", record.json["status"] == state, record)
    upstream.next(head(422) + b'{"code":"x","message":"secretword","fields":[{"name":"context.fields[0].value",'
                  b'"description":"secretword"},{"name":"a b<c>","description":"d"}]}', ring=False)
    answer = server.callback()
    check("Talkdesk's fields, not its words", answer.names() == {"context.fields[0].value", "a_b_c_"}
          and b"secretword" not in answer.content, answer)


def second_is_closed():
    """A library that keeps connections would find the second one dead and send its request once more."""
    upstream.next()
    check("a first callback", server.callback().status == 201)
    for _ in range(5):
        number, arrivals = new_number(), upstream.arrivals
        upstream.next(close="request", ring=True)
        answer = server.callback({"contact_phone_number": number})
        check("a second one that is closed unanswered arrives once",
              answer.says(504, "outcome_unknown") and upstream.arrivals == arrivals + 1, (answer, upstream.arrivals - arrivals))


def overload():
    """One place and one second for each: who would come too late is told so early, not late."""
    upstream.say(set={"delay": 0.8})
    check("one at a time", server.callback(query="?app=plain").status == 201)
    answers, guard = [], threading.Lock()

    def ask(user):
        began = time.monotonic()
        answer = server.callback(user=user)
        with guard:
            answers.append((answer, time.monotonic() - began, user))

    crowd = [threading.Thread(target=ask, args=("u1:p1",)) for _ in range(20)]
    for one in crowd:
        one.start()
    time.sleep(0.3)
    other = threading.Thread(target=ask, args=("u2:p2",))
    other.start()
    for one in [*crowd, other]:
        one.join()
    late = [(answer, took) for answer, took, _ in answers if answer.status != 201]
    made = [took for answer, took, user in answers if answer.status == 201 and user == "u1:p1"]
    check("some are made", len(made) >= 2, len(made))
    check("many are not", len(late) >= 10, len(late))
    check("and are told so", all(answer.says(503, "overloaded") and int(answer.fields["retry-after"]) >= 1
                                 for answer, _ in late), late[:2])
    check("at once", sorted(took for _, took in late)[len(late) // 2] < 0.7, sorted(took for _, took in late))
    check("nobody beyond the deadline", max(took for _, took, _ in answers) < 6, max(took for _, took, _ in answers))
    mine = [answer for answer, _, user in answers if user == "u2:p2"]
    check("another caller has its turn", mine[0].status == 201, mine)
    upstream.say(set={"delay": 0.0})
    # The place is free again as soon as what was begun is over.
    check("and then it goes on", until(lambda: server.callback().status == 201, 10))
    check("what was refused spent nothing", server.get("/availability").json["remaining"]["q"]
          == 100 - len(made) - 2, (server.get("/availability").json, len(made)))


upstream.say(forget=True)
{"replies": replies, "second": second_is_closed, "overload": overload}[sys.argv[3]]()
finish()
