"""What becomes of callbacks when the upstream breaks HTTP, is slow or has no room: asked by 12-callbacks of a running server, whose
default user is u1, in front of a CallbackAPI."""
from harness import *

ACCEPTED, UNKNOWN = (201, None, "accepted"), (504, "outcome_unknown", "unknown")
FAILED, LOST = (502, "upstream_failed", "failed"), (502, "upstream_failed", "unknown")


def head(status, *lines):
    return ("\r\n".join([f"HTTP/1.1 {status} X", *lines]) + "\r\n\r\n").encode()


def replies(server, upstream):
    big = b"x" * 200_000
    html = b"<html><body>It works</body></html>"
    table = [
        # While the request goes out: one connection each, whatever happens to it.
        ("reset, unread", None, dict(close="unread", ring=False), UNKNOWN),
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
        number, before = new_number(), upstream.connections
        answer = server.callback({"contact_phone_number": number}, key=f"reply-{name}".replace(" ", "-").replace(",", ""))
        check(f"{name}: the answer", answer.says(status, code) if code else answer.status == status, answer)
        check(f"{name}: nothing of upstream's", b"html" not in answer.content and b"xxx" not in answer.content, answer)
        equal(f"{name}: one connection", upstream.connections - before, 1)
        equal(f"{name}: rang", upstream.rings[number], 1 if plan.get("ring", True) else 0)
        if check(f"{name}: names its record", answer.json and answer.json.get("id"), answer):
            record = server.record(answer.json["id"])
            check(f"{name}: the record", record.json["status"] == state, record)
    upstream.next(head(422) + b'{"code":"x","message":"secretword","fields":[{"name":"context.fields[0].value",'
                  b'"description":"secretword"},{"name":"a b<c>","description":"d"}]}', ring=False)
    answer = server.callback()
    check("Talkdesk's fields, not its words", answer.names() == {"context.fields[0].value", "a_b_c_"}
          and b"secretword" not in answer.content, answer)


def second_is_closed(server, upstream):
    """A library that keeps connections would find the second one dead and send its request once more."""
    upstream.next()
    check("a first callback", server.callback().status == 201)
    for _ in range(5):
        number, arrivals = new_number(), upstream.arrivals
        upstream.next(close="request", ring=True)
        answer = server.callback({"contact_phone_number": number})
        check("a second one that is closed unanswered arrives once",
              answer.says(504, "outcome_unknown") and upstream.arrivals == arrivals + 1, (answer, upstream.arrivals - arrivals))


def overload(server, upstream):
    """One place and one second for each: who would come too late is told so early, not late."""
    upstream.delay = 0.8
    check("one at a time", server.callback(query="?app=plain").status == 201)
    crowd = [begin(server.callback) for _ in range(20)]
    # The other one comes when there is no more room for the crowd.
    check("the crowd has come", until(lambda: sum(one.done() for one in crowd) >= 10, 5))
    other = begin(lambda: server.callback(user="u2:p2")).result()
    answers = [one.result() for one in crowd]
    late = [answer for answer in answers if answer.status != 201]
    made = [answer for answer in answers if answer.status == 201]
    check("some are made", len(made) >= 2, len(made))
    check("many are not", len(late) >= 10, len(late))
    check("and are told so", all(answer.says(503, "overloaded") and retry_after(answer) >= 1 for answer in late), late[:2])
    seconds = sorted(answer.seconds for answer in late)
    check("at once", seconds[len(late) // 2] < 0.7, seconds)
    slowest = max(answer.seconds for answer in (*answers, other))
    check("none beyond the deadline", slowest < 6, slowest)
    check("another caller has its turn", other.status == 201, other)
    upstream.delay = 0.0
    # The place is free again as soon as what was begun is over.
    check("and then it goes on", until(lambda: server.callback().status == 201, 10))
    left = server.get("/availability").json["remaining"]["q"]
    equal("what was refused spent nothing", left, 100 - len(made) - 2)
