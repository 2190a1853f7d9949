"""What thin clients are promised about callbacks: asked by 12-callbacks of a running server, whose default user is u1, in front of
an emulator (`sandbox`)."""
import re
import time

from harness import *

PLAIN, SHOP = "?app=plain", "?app=shop"
TIME = r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$"


def ask(server, content=None, query=PLAIN, **more):
    return server.callback(content, query, **more)


def to(number, **context):
    content = {"contact_phone_number": number}
    if context:
        content["context"] = context
    return content


def meaning(answer):
    """All members but the request's own id and the words."""
    return {name: value for name, value in answer.json.items() if name not in ("instance", "detail")}


def last(sandbox):
    return sandbox.journal["callbacks"][-1]


def field(name, value, display=None, tooltip=None, kind="text"):
    return {"name": name, "display_name": display or name, "tooltip_text": tooltip or name, "data_type": kind,
            "value": value}


def success(server, sandbox):
    number = new_number()
    full = {"contact_phone_number": number, "talkdesk_phone_number": "+18500000009",
            "context": {"fields": [field("issue", "broken", "Issue", "What it is about"),
                                   field("page", "https://a.example/x?y=1", kind="url"),
                                   field("other", "+14155550999", kind="phone")]}}
    trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    answer = ask(server, full, fields={"traceparent": trace, "X-Request-Id": "a-request"})
    check("Talkdesk's own body is taken", answer.status == 201, answer)
    if answer.status != 201:
        return
    masked = "+" + "*" * (len(number) - 3) + number[-2:]
    identifier = answer.json["id"]
    check("the answer has four members",
          set(answer.json) == {"id", "status", "created_at", "contact_phone_number"}, answer)
    check("and says accepted", answer.json["status"] == "accepted" and re.match(TIME, answer.json["created_at"]), answer)
    check("with a masked number", answer.json["contact_phone_number"] == masked, answer)
    check("where the record is", answer.fields["location"] == f"/callbacks/{identifier}", answer)
    check("nobody keeps it", answer.fields["cache-control"] == "no-store", answer)
    check("with the request's id", answer.fields["x-request-id"] == "a-request", answer)
    check("and what is left", "ratelimit-policy" in answer.fields and "ratelimit" in answer.fields, answer)
    sent = last(sandbox)
    check("Talkdesk gets what was asked for", sent["contact_phone_number"] == number
          and sent["talkdesk_phone_number"] == "+18500000009" and sent["context"] == full["context"], sent)
    check("the client's trace goes on", sent["traceparent"].split("-")[1] == trace.split("-")[1]
          and sent["traceparent"] != trace, sent)
    check("Host is the target's", sent["host"] == sandbox.base, sent)
    check("the server's token has the scope", "callback:write" in sent["token_scope"].split(), sent)
    record = server.record(identifier)
    check("the record", record.status == 200 and record.json["status"] == "accepted"
          and record.json["id"] == identifier and record.json["contact_phone_number"] == masked
          and re.match(TIME, record.json["settled_at"]) and record.fields["cache-control"] == "no-store", record)
    check("is its caller's own", server.record(identifier, user="u2:p2").says(404, "not_found"))
    stranger = server.record(identifier, user="")
    check("and nobody else's", stranger.says(401, "unauthenticated") and "www-authenticate" in stranger.fields, stranger)
    again = ask(server, full)
    check("the same number again", again.says(409, "duplicate") and again.json["id"] == identifier, again)
    check("which ?validate knows too", ask(server, full, PLAIN + "&validate").says(409, "duplicate"))
    check("another caller's callback is another", ask(server, full, user="u2:p2").status == 201)
    return identifier


def forms(server, sandbox):
    number = new_number()
    answer = ask(server, to(number, issue="x", reservation_number="42"), path="/callbacks")
    check("the short form on the alias", answer.status == 201, answer)
    sent = last(sandbox)
    check("is made whole", sent["talkdesk_phone_number"] == "+18500000009"
          and sent["context"]["fields"] == [field("issue", "x"), field("reservation_number", "42")], sent)
    check("without context", ask(server, to(new_number())).status == 201 and "context" not in last(sandbox), last(sandbox))
    check("the app's number and fields", ask(server, to(new_number(), issue="ok"), SHOP).status == 201)
    sent = last(sandbox)
    check("are added", [f["name"] for f in sent["context"]["fields"]] == ["issue", "channel"]
          and sent["context"]["fields"][1]["value"] == "ios" and sent["talkdesk_phone_number"] == "+18500000000", sent)
    answer = ask(server, {**to(new_number(), issue="ok"), "talkdesk_phone_number": "+18500000001"}, SHOP)
    check("its other number may be named", answer.status == 201
          and last(sandbox)["talkdesk_phone_number"] == "+18500000001", answer)
    for name, content, names in (
        ("too long, and one too many", to(new_number(), issue="toolongtoolong", other="x"),
         {"context.issue", "context.other"}),
        ("one is required", to(new_number()), {"context.issue"}),
        ("one is the server's", to(new_number(), issue="a", channel="x"), {"context.channel"}),
        ("another number", {**to(new_number(), issue="a"), "talkdesk_phone_number": "+18500000005"},
         {"talkdesk_phone_number"}),
    ):
        answer = ask(server, content, SHOP)
        check(f"the app's schema: {name}", answer.says(422, "invalid_request") and names <= answer.names(), answer)
    check("an unknown app", ask(server, query="?app=nope").says(404, "unknown_app"))
    check("an app that does not list the caller", ask(server, query=SHOP, user="u2:p2").says(403, "denied"))


def refusals(server, sandbox):
    for kind, status in ((None, 415), ("text/plain", 415), ("application/x-www-form-urlencoded", 415),
                         ("application/json; charset=latin1", 415), ("application/json; charset=utf-8", 201),
                         ("APPLICATION/JSON", 201)):
        answer = ask(server, kind=kind)
        check(f"Content-Type {kind}", answer.status == status
              and (status == 201 or answer.says(415, "unsupported_media_type")), answer)
    answer = ask(server, {"contact_phone_number": "x", "talkdesk_phone_number": "y", "q": 1, "w": 2})
    check("every problem in one answer", answer.says(422, "invalid_request")
          and answer.names() == {"contact_phone_number", "talkdesk_phone_number", "q", "w"}, answer)
    for text, word in (("+1 415 555 0100", "space"), ("+1-415-555-0100", "dash"), ("0014155550100", "+")):
        answer = ask(server, {"contact_phone_number": text})
        told = answer.json["fields"][0]["description"]
        check(f"how to correct {text[:3]}", answer.says(422, "invalid_request") and word in told, told)
    check("a premium number", ask(server, to("+19005550100")).says(403, "number_not_allowed"))
    for method, path, allow in (("GET", "/calls/callback", "POST"), ("DELETE", "/callbacks", "POST"),
                                ("POST", "/callbacks/abc", "GET"), ("POST", "/availability", "GET")):
        answer = server.ask(method, path, {} if method == "POST" else None)
        check(f"{method} {path}", answer.says(405, "method_not_allowed") and allow in answer.fields["allow"], answer)
    check("an unknown id", server.record("doesnotexist").says(404, "not_found"))
    check("a wrong password", ask(server, user="u1:wrong").says(401, "unauthenticated"))
    arrivals = sandbox.arrivals
    answer = ask(server, query=PLAIN + "&validate")
    check("?validate", answer.status == 200 and answer.json == {"valid": True}, answer)
    check("says what is wrong", ask(server, {"contact_phone_number": "x"}, PLAIN + "&validate").says(422, "invalid_request"))
    check("and sends nothing", sandbox.arrivals == arrivals)


def keys(server, sandbox):
    number = new_number()
    first = ask(server, to(number, issue="x"), key="k1")
    for name, content, key in (
        ("quoted, other spacing", f'{{"context" : {{"issue":"x"}},"contact_phone_number" : "{number}"}}', '"k1"'),
        ("the long form", {"contact_phone_number": number, "context": {"fields": [{"name": "issue", "value": "x"}]}}, "k1"),
    ):
        again = ask(server, content, key=key)
        check(f"a repetition: {name}", (again.status, again.content, again.fields.get("location")) ==
              (201, first.content, first.fields.get("location")), (first, again))
    check("rings once", sandbox.rings(number) == 1)
    valid = ask(server, to(number, issue="x"), key="k1", query=PLAIN + "&validate")
    check("?validate of it would be a success", valid.status == 200 and valid.json == {"valid": True}, valid)
    check("another body", ask(server, key="k1").says(422, "idempotency_mismatch"))
    check("?validate of it", ask(server, key="k1", query=PLAIN + "&validate").says(422, "idempotency_mismatch"))
    check("another caller's key is another", ask(server, to(number), key="k1", user="u2:p2").status == 201)
    for key in ("x" * 256, "", "a b", '"open', "a,b", "é"):
        answer = ask(server, key=key.encode("utf-8").decode("latin-1"))
        check(f"the key {key[:8]!r}", answer.says(422, "invalid_request") and "Idempotency-Key" in answer.names(), answer)
    check("255 characters", ask(server, key="x" * 255).status == 201)
    number = new_number()
    sandbox.fault(endpoint="callback", delay_ms=1500)
    arrivals = sandbox.arrivals
    slow = begin(lambda: ask(server, to(number), key="k2"))
    until(lambda: sandbox.arrivals > arrivals)
    check("still running", ask(server, to(number), key="k2").says(409, "in_progress"))
    check("still running, another body", ask(server, key="k2").says(422, "idempotency_mismatch"))
    answer = ask(server, to(number))
    check("its number meanwhile", answer.says(409, "duplicate"), answer)
    record = server.record(answer.json["id"])
    check("its record meanwhile", record.json["status"] == "pending" and "settled_at" not in record.json, record)
    result = slow.result()
    check("and then it is there", result.status == 201 and result.json["id"] == answer.json["id"], result)


def outcomes(server, sandbox):
    words = {"code": "secretword", "message": "secretword",
             "fields": [{"name": "contact_phone_number", "description": "secretword"}]}
    # Fault, answer, what the record says, whether a repetition is answered the same.
    table = [
        *((f"{status}", dict(status=status, body=words), 422, "invalid_request", "failed", True)
          for status in (400, 415, 422)),
        ("403", dict(status=403, body=words), 502, "upstream_refused", "failed", False),
        ("401 twice", dict(status=401, times=2), 502, "upstream_refused", "failed", False),
        ("404", dict(status=404, body="<html>secretword"), 502, "upstream_failed", "failed", True),
        ("503", dict(status=503, body="secretword"), 503, "upstream_unavailable", "failed", False),
        ("500", dict(status=500, body="<html>secretword"), 502, "upstream_failed", "unknown", True),
        ("502", dict(status=502, body=""), 502, "upstream_failed", "unknown", True),
        ("302", dict(status=302), 502, "upstream_failed", "unknown", True),
        ("408", dict(status=408), 502, "upstream_failed", "unknown", True),
        ("drop before", dict(drop="before"), 504, "outcome_unknown", "unknown", True),
        ("drop after", dict(drop="after"), 504, "outcome_unknown", "unknown", True),
        ("drop during", dict(drop="during"), 201, None, "accepted", True),
        ("a hang", dict(delay_ms=9000), 504, "outcome_unknown", "unknown", True),
    ]
    for name, fault, status, code, state, is_stored in table:
        sandbox.clear()
        sandbox.fault(endpoint="callback", **fault)
        number, key, began, exchanges = new_number(), f"outcome {name}".replace(" ", "-"), time.monotonic(), sandbox.exchanges
        answer = ask(server, to(number), key=key)
        took = time.monotonic() - began
        check(f"{name}: the answer", answer.says(status, code) if code else answer.status == status, answer)
        check(f"{name}: not upstream's words", b"secretword" not in answer.content, answer)
        if name == "a hang":
            check("the deadline holds", 3.5 < took < 6, took)
        if name == "401 twice":
            check("one new token", sandbox.exchanges == exchanges + 1, sandbox.exchanges - exchanges)
        if status == 422:
            check(f"{name}: Talkdesk's fields", answer.names() == {"contact_phone_number"}, answer)
        if answer.json and answer.json.get("id"):
            record = server.record(answer.json["id"])
            check(f"{name}: the record", record.json["status"] == state
                  and record.json.get("reason") == code, record)
        else:
            check(f"{name}: the answer names the record", False, answer)
        sandbox.clear()
        arrivals = sandbox.arrivals
        again = ask(server, to(number), key=key)
        if is_stored:
            check(f"{name}: told again", again.status == answer.status and meaning(again) == meaning(answer)
                  and sandbox.arrivals == arrivals, again)
            other = ask(server, to(number))
            if state == "failed":
                check(f"{name}: its place is free", other.status == 201, other)
            else:
                check(f"{name}: its place is kept", other.says(409, "duplicate"), other)
                check(f"{name}: rang once at most", sandbox.rings(number) <= 1)
        else:
            check(f"{name}: the key is free", again.status == 201 and sandbox.rings(number) == 1, again)
    for body in ("", "<html>", "x" * 50000, "[" * 5000):
        sandbox.fault(endpoint="callback", body=body)
        check(f"success with {len(body)} octets of {body[:1]!r}", ask(server).status == 201)
    for status in (200, 202, 204):
        sandbox.fault(endpoint="callback", status=status)
        check(f"success as {status}", ask(server).status == 201)
    sandbox.fault(endpoint="callback", status=401)
    number, exchanges = new_number(), sandbox.exchanges
    check("one 401", ask(server, to(number)).status == 201)
    check("costs one exchange and rings once", sandbox.exchanges == exchanges + 1 and sandbox.rings(number) == 1)


def deadline(server, sandbox):
    """One deadline, four seconds, for both tries: a refused one that takes its time, and one that hangs."""
    sandbox.clear()
    sandbox.fault(endpoint="callback", status=401, delay_ms=2500)
    sandbox.fault(endpoint="callback", delay_ms=9000)
    number, arrivals, exchanges, began = new_number(), sandbox.arrivals, sandbox.exchanges, time.monotonic()
    answer = ask(server, to(number))
    took = time.monotonic() - began
    check("a hang after a 401", answer.says(504, "outcome_unknown"), answer)
    check("was two tries with two tokens", sandbox.arrivals == arrivals + 2 and sandbox.exchanges == exchanges + 1,
          (sandbox.arrivals - arrivals, sandbox.exchanges - exchanges))
    check("of one deadline", 3.5 < took < 5.5, took)
    record = server.record(answer.json.get("id"))
    check("and nobody knows", record.json["status"] == "unknown", record)


def limits(server, sandbox):
    sandbox.clear()
    sandbox.fault(endpoint="callback", status=429, retry_after=2)
    number = new_number()
    answer = ask(server, to(number))
    began = time.monotonic()
    check("a 429", answer.says(429, "upstream_rate_limited") and answer.fields["retry-after"] == "2", answer)
    arrivals = sandbox.arrivals
    answer = ask(server, to(number), user="u2:p2")
    check("pauses everyone", answer.says(429, "upstream_rate_limited") and sandbox.arrivals == arrivals
          and 1 <= int(answer.fields["retry-after"]) <= 2, answer)
    time.sleep(max(0, 2.05 - (time.monotonic() - began)))
    check("for as long as it says", ask(server, to(number)).status == 201)
    # The rule perphone allows three an hour: what Talkdesk did not take is given back.
    number = new_number()
    sandbox.fault(endpoint="callback", status=503, times=5)
    for _ in range(5):
        answer = ask(server, to(number))
        check("503 spends nothing", answer.says(503, "upstream_unavailable") and "retry-after" in answer.fields, answer)
    for turn in range(1, 4):
        answer = ask(server, to(number), user=f"u{turn}:p{turn}")
        check(f"number {turn} of three", answer.status == 201, answer)
    answer = ask(server, to(number), user="u4:p4")
    check("and no fourth", answer.says(429, "rate_limited") and answer.json["rule"] == "perphone"
          and int(answer.fields["retry-after"]) > 0, answer)


def switches(server, sandbox):
    def switch(name):
        return server.operate("POST", f"/admin/{name}", {"scope": "all", "action": "callback"})

    check("a stop", switch("stop").status == 200)
    check("of callbacks", ask(server).says(403, "stopped"))
    check("comes before their content", ask(server, "junk", kind="text/plain").says(403, "stopped"))
    check("and leaves tokens alone", server.get("/access" + PLAIN).status == 200)
    closed = server.get("/availability" + PLAIN)
    check("availability says so", closed.json["open"] is False, closed)
    switch("resume")
    check("is over", ask(server).status == 201)
    answer = server.get("/availability" + PLAIN)
    check("availability", answer.status == 200 and set(answer.json) == {"open", "next_change", "windows", "remaining"}
          and answer.json["open"] is True and answer.json["remaining"].get("q", -1) > 0
          and answer.json["next_change"] is None and answer.fields["cache-control"] == "private, max-age=300", answer)
    check("is for callers", server.get("/availability", user="").says(401, "unauthenticated"))
