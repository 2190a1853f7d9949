"""One request for each outcome of a server, with its response and its audit lines. A request's id is the name of its outcome."""
import json
import re
import time
import zlib

from harness import *
from agents.client import Agent
from goldens import shape
from goldens.world import *

PLACE = "/genesys/1/service/<id>"
UNSEEN = {"date", "content-length", "x-request-id", "connection"}
OFFICE = {"user": "office:canary-office-with-many-characters"}


def statement(phone, challenge):
    """What a phone attests."""
    return "\n".join(["callgate-enrol-1", phone.values["client_id"], "Shop", "", challenge, ""])


class Recorder:
    """Sends requests to a server, and saves the outcome of each under a name, which is the request's id."""

    def __init__(self, server):
        self.server, self.found, self.expected = server, {}, []

    def send(self, name, method, path, content=None, audited=True, fields=None, shown=None, **more):
        """One request. `audited` says whether an audit line follows; `shown` is written in place of its path."""
        answer = self.server.ask(method, path, content, fields={"X-Request-Id": name, **(fields or {})}, **more)
        self.save(name, f"{method} {shown or path}", answer, audited)
        return answer

    def save(self, name, request, answer, audited=True):
        if name in self.found:
            raise AssertionError(f"two outcomes have the name {name}")
        kind = answer.fields.get("content-type", "")
        body = answer.json if "json" in kind else answer.text if kind.startswith("text/plain") else f"<{kind}>" if kind else None
        fields = {field: value for field, value in sorted(answer.fields.items()) if field not in UNSEEN}
        self.found[name] = {"request": request, "response": {"status": answer.status, "fields": fields, "body": body}}
        self.expected += [name] * audited

    def paused(self, name):
        """Which endpoints the server leaves alone after a request."""
        self.found[name]["paused"] = [pause["of"] for pause in self.server.get("/_sandbox/pauses").json]

    def later(self, name, condition):
        """Audit lines without a request: those that meet a condition, once there is one."""
        lines = until(lambda: [line for line in self.server.audits if condition(line)], 20)
        if not lines:
            raise AssertionError(f"{name}: no audit line came")
        self.found[name] = {"audit": lines}

    def results(self, lines=None):
        """Every outcome with placeholders. `lines` are the audit lines, if they are not on standard output."""
        if lines is None:
            until(lambda: {line["request_id"] for line in self.server.audits} >= set(self.expected), 10)
            lines = self.server.audits
        missing = set(self.expected) - {line["request_id"] for line in lines}
        if missing:
            raise AssertionError(f"no audit line for {sorted(missing)}")
        shown = {}
        for name, found in self.found.items():
            for field, value in found.get("response", {}).get("fields", {}).items():
                found["response"]["fields"][field] = field_value(field, value)
            audit = found.get("audit") or [line for line in lines if line["request_id"] == name]
            shown[name] = shape.masked({**found, "audit": audit})
        return shown


def number_of(name):
    """A number for an outcome, the same in each run."""
    seed = zlib.crc32(name.encode())
    return f"+1415{230 + seed % 80}{seed // 80 % 10_000:04}"


def address_of(name):
    """The address of the client of an enrollment, the same in each run. Each may send only a few a minute."""
    seed = zlib.crc32(name.encode())
    return f"198.18.{seed % 250}.{seed // 250 % 250 + 1}"


def field_value(name, value):
    """The value of a response's header, without what counts, measures or is random."""
    if name in ("etag", "dpop-nonce"):
        return f"<{name}>"
    if name.startswith(("retry", "ratelimit")):
        return re.sub(r"\b(?:[3-9]|\d{2,})\b", "<number>", str(value))
    return value


def call(recorder, name, app="shop", number=None, query="", credential=None, fields=None, key=None, **members):
    """A request of a callback."""
    fields = {**(fields or {}), **({"Idempotency-Key": key} if key else {})}
    return recorder.send(name, "POST", f"/calls/callback?app={app}{query}", {"contact_phone_number": number or number_of(name), **members},
                         fields=fields, **(credential or OFFICE))


def ahead(seconds):
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + seconds))


def access(recorder):
    send = recorder.send
    send("access", "GET", "/access?app=shop", **OFFICE)
    send("access.again", "GET", "/access?app=shop", fields={"Accept": "application/json"}, **OFFICE)
    send("access.head", "HEAD", "/access?app=shop", **OFFICE)
    send("access.probe", "GET", "/access?app=shop&probe", **OFFICE)
    send("access.token", "POST", "/token/shop", **OFFICE)
    send("access.api-key", "GET", "/access?app=shop", api_key="canary-kiosk")
    send("access.user", "GET", "/access?app=shop", bearer=user())
    send("access.traced", "GET", "/access?app=shop", fields={"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}, **OFFICE)
    send("access.unauthenticated", "GET", "/access?app=shop", user="")
    send("access.wrong-password", "GET", "/access?app=shop", user="office:canary-wrong")
    send("access.invalid_token", "GET", "/access?app=shop", bearer=user(exp=int(time.time()) - 900))
    send("access.malformed", "GET", "/access?app=shop", fields={"Authorization": "Basic ?"}, user="")
    send("access.unknown_app", "GET", "/access?app=nothing", **OFFICE)
    send("access.not-its-app", "GET", "/access?app=shop", user="outsider:canary-outsider")
    send("access.method", "BREW", "/access", **OFFICE)
    send("access.options", "OPTIONS", "/access", user="", fields={"Origin": "https://shop.example", "Access-Control-Request-Method": "GET"})
    send("access.other-origin", "GET", "/access?app=shop", fields={"Origin": "https://evil.example"}, **OFFICE)
    send("nothing", "GET", "/nothing", user="", audited=False)
    send("access.denied.addresses", "GET", "/access?app=networks", fields={"X-Forwarded-For": "203.0.113.9"}, **OFFICE)
    send("access.denied.claims", "GET", "/access?app=gold", bearer=user(tier="lead"))
    send("access.claims", "GET", "/access?app=gold", bearer=user(tier="gold"))
    send("access.denied.field", "GET", "/access?app=old", fields={"X-App-Version": "1.9"}, **OFFICE)
    send("access.field", "GET", "/access?app=old", fields={"X-App-Version": "2.0"}, **OFFICE)
    send("access.rated", "GET", "/access?app=rated", **OFFICE)
    send("access.rate_limited", "GET", "/access?app=rated", **OFFICE)
    send("access.counted", "GET", "/access?app=counted", **OFFICE)
    send("access.quota_exhausted", "GET", "/access?app=counted", **OFFICE)


def policies(recorder, policy):
    send = recorder.send
    for name, verdict in (("access.policy", True), ("access.denied.policy", {"allow": False, "reason": "too many accounts"})):
        policy.verdict = verdict
        send(name, "GET", "/access?app=asked", **OFFICE)
    policy.then(Reply(500))
    send("access.policy-failed", "GET", "/access?app=asked", **OFFICE)


def partner(recorder, name, key):
    """A user of an issuer whose keys are fetched."""
    now = int(time.time())
    claims = {"iss": "https://partners.example", "aud": "callgate", "sub": "pat", "iat": now, "exp": now + 300}
    recorder.send(name, "GET", "/access?app=shop", bearer=key.sign(claims))


def bad_requests(recorder):
    send = recorder.send
    send("callback.invalid_json", "POST", "/calls/callback?app=shop", "{", **OFFICE)
    send("callback.invalid_request", "POST", "/calls/callback?app=shop", {"contact_phone_number": "0", "unknown": 1}, **OFFICE)
    send("callback.unsupported_media_type", "POST", "/calls/callback?app=shop", "x", kind="text/csv", **OFFICE)
    send("callback.content_too_large", "POST", "/calls/callback?app=shop", "x" * 40_000, **OFFICE)
    send("target_too_long", "GET", "/access?" + "x" * 20_000, audited=False, shown="/access?…", **OFFICE)
    send("fields_too_large", "GET", "/access", fields={"X-Long": "x" * 20_000}, audited=False, **OFFICE)
    call(recorder, "callback.context", context={"fields": [{"name": "unknown", "value": "x"}]})
    call(recorder, "callback.no-number", talkdesk_phone_number="+18500000009")
    with recorder.server.connect(patience=20) as connection:
        connection.send(b"GET /access HTTP/1.1\r\nHost: x\r\nX-Request-Id: malformed_request\r\nA field: x\r\n\r\n")
        recorder.save("malformed_request", "GET /access", connection.read("GET"), audited=False)
    recorder.later("malformed_request.audit", lambda line: line.get("code") == "malformed_request")


def begin_slow(recorder):
    """A request whose body does not come. `end_slow` reads the response."""
    connection = recorder.server.connect(patience=30)
    connection.send(request("POST", "/calls/callback?app=shop", connection.authority, fields={
        "X-Request-Id": "request_timeout", "Content-Type": "application/json", "Content-Length": "9", "X-API-Key": "canary-kiosk"}) + b"{")
    return connection


def end_slow(recorder, connection):
    recorder.save("request_timeout", "POST /calls/callback?app=shop", connection.read("POST"))
    connection.close()


def callbacks(recorder):
    send = recorder.send
    number = number_of("callback")
    made = call(recorder, "callback", number=number, context={"fields": [{"name": "issue", "value": "Late"}]}).json["id"]
    call(recorder, "callback.duplicate", number=number)
    call(recorder, "callback.validate", query="&validate")
    call(recorder, "callback.key", key="key-1", number="+14155559901")
    call(recorder, "callback.replay", key="key-1", number="+14155559901")
    call(recorder, "callback.idempotency_mismatch", key="key-1", number="+14155559902")
    call(recorder, "callback.user", credential={"bearer": user()})
    send("callback.record", "GET", f"/callbacks/{made}", audited=False, **OFFICE)
    send("callback.not_found", "GET", f"/callbacks/{made}", audited=False, bearer=user())
    send("callbacks", "GET", "/callbacks?app=shop&status=scheduled", audited=False, bearer=user())
    send("availability", "GET", "/availability?app=shop", audited=False, **OFFICE)
    call(recorder, "callback.closed", "closed")
    call(recorder, "callback.number_not_allowed", "abroad")
    call(recorder, "callback.default-numbers", number="+19005550100")
    call(recorder, "callback.number_not_proven", "own")
    call(recorder, "callback.proven", "own", number="+14155559903", credential={"bearer": user(phone_number="+14155559903", phone_number_verified=True)})
    call(recorder, "callback.consent_required", "agreed")
    call(recorder, "callback.agreed", "agreed", consent={"text": "v3", "at": ahead(-60)})
    for ending, name in ((11, "high-risk"), (12, "blacklist"), (13, "not-found"), (14, "error"), (17, "listed"), (18, "expired")):
        call(recorder, f"callback.screened.{name}", "screened", number=f"+120255501{ending}")
    recorder.server.post("/_sandbox/agents", {"available": 0})
    if not until(lambda: recorder.server.metric("callgate_agents_available") == 0, 10):
        raise AssertionError("the number of agents did not change")
    call(recorder, "callback.no_agents", "agents")
    recorder.server.post("/_sandbox/agents", {"available": 3})
    until(lambda: recorder.server.metric("callgate_agents_available") == 3, 10)
    call(recorder, "callback.agents", "agents")


def test_numbers(recorder):
    """The sandbox's numbers that are always refused."""
    for number, status, code in re.findall(r"^- `(\+\d+)`: (\d+) `(\w+)`$", read("docs/build/sandbox.md"), re.M):
        call(recorder, f"test-number.{code}", number=number)


def proofs(recorder):
    server = recorder.server
    for name, fault in (("callback.proof", None), ("callback.proof.expired", "expired"), ("callback.proof.number", "wrong_number"),
                        ("callback.proof.project", "wrong_project"), ("callback.proof.signature", "bad_signature"),
                        ("callback.proof.replayed", "replayed")):
        number = number_of(name)
        made = server.post("/_sandbox/number-proof", {"phone": number, **({"fault": fault} if fault else {})}).json["number_proof"]
        call(recorder, name, "own", number=number, number_proof=made)


TOKEN_FAULTS = {
    "refused": {"status": 401}, "unavailable": {"status": 503, "retry_after": 90}, "limited": {"status": 429, "retry_after": 90},
    "nonsense": {"body": "x"}, "dropped": {"drop": "before", "times": 9}}
CALLBACK_FAULTS = {
    "refused": {"status": 403}, "unauthorized": {"status": 401, "times": 2}, "rejected": {"status": 422},
    "limited": {"status": 429, "retry_after": 90}, "unavailable": {"status": 503, "retry_after": 90}, "error": {"status": 500}, "redirect": {"status": 302}, "lost": {"drop": "after"}}
SLOW = {"slow": {"delay_ms": 60_000, "times": 3}}


def recover(server):
    """Ends what an earlier fault has caused."""
    for path in "token", "pauses", "faults":
        server.ask("DELETE", f"/_sandbox/{path}")


def talkdesk(recorder, of_token=TOKEN_FAULTS, of_callback=CALLBACK_FAULTS):
    """Failures of Talkdesk."""
    server = recorder.server
    # The token that the server requests at its start is not one of those that fail.
    server.get("/access?app=shop", **OFFICE)
    for name, fault in of_token.items():
        recover(server)
        server.fault("token", **fault)
        recorder.send(f"access.talkdesk-{name}", "GET", "/access?app=shop", **OFFICE)
        recorder.paused(f"access.talkdesk-{name}")
    for name, fault in of_callback.items():
        recover(server)
        server.get("/access?app=shop", **OFFICE)
        server.fault("callback", **fault)
        call(recorder, f"callback.talkdesk-{name}")
        recorder.paused(f"callback.talkdesk-{name}")
    recover(server)


def appointments(recorder):
    send, server = recorder.send, recorder.server
    number, at = number_of("appointment"), ahead(86_400)
    one = call(recorder, "appointment", number=number, at=at, credential={"bearer": user("bea")}).json["id"]
    call(recorder, "appointment.duplicate", number=number, at=ahead(172_800), credential={"bearer": user("bea")})
    call(recorder, "appointment.slot_full", at=at)
    call(recorder, "appointment.horizon", at=ahead(400 * 86_400))
    call(recorder, "appointment.past", at=ahead(-86_400))
    patch = {"kind": "application/merge-patch+json", "bearer": user("bea")}
    send("change", "PATCH", f"/callbacks/{one}", {"at": ahead(93_600)}, **patch)
    send("change.invalid_request", "PATCH", f"/callbacks/{one}", {"at": "soon"}, **patch)
    send("change.not_found", "PATCH", f"/callbacks/{one}", {"at": ahead(93_600)}, kind="application/merge-patch+json", bearer=user("eve"))
    send("cancel", "DELETE", f"/callbacks/{one}", bearer=user("bea"))
    send("cancel.again", "DELETE", f"/callbacks/{one}", bearer=user("bea"))
    send("change.too_late", "PATCH", f"/callbacks/{one}", {"at": ahead(93_600)}, **patch)
    send("cancel.not_found", "DELETE", f"/callbacks/{one}", bearer=user("eve"))
    phones = {}
    # The clock does not move after the last one, so that it is not called.
    for action in "connect", "cancel", "snooze":
        phones[action] = Phone("shop")
        enrol(recorder, f"dialog.{action}.enrol", phones[action], bearer=user(f"dan-{action}"))

    # The clock makes it due.
    def ahead_by(seconds):
        server.ask("POST", "/_sandbox/clock", {"offset_seconds": int(seconds), "everything": True})

    made = call(recorder, "appointment.due", at=ahead(3600)).json["id"]
    late = call(recorder, "appointment.expires", at=ahead(7200)).json["id"]
    phone = Phone("shop")
    asked = enrol(recorder, "enrol.expires", phone).json
    ahead_by(3601)
    recorder.later("appointment.called", lambda line: line.get("callback") == made and line.get("trigger"))
    enrol(recorder, "enrol.request_expired", phone, request_id=asked["request_id"])
    ahead_by(4 * 3600)
    recorder.later("appointment.expired", lambda line: line.get("callback") == late and line.get("trigger"))
    dialogs(recorder, phones, ahead_by)
    server.ask("DELETE", "/_sandbox/clock")


def dialogs(recorder, phones, ahead_by):
    """A phone is asked before its appointment, and answers in each way."""
    server, began = recorder.server, time.time()
    for index, (action, phone) in enumerate(phones.items()):
        after = 20_000 + 4_000 * index
        server.ask("PUT", "/installations/self/push", {"platform": "http", "token": f"canary-{action}"}, user=phone.user)
        at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(began + after))
        made = call(recorder, f"dialog.{action}.appointment", at=at, credential={"user": phone.user}).json["id"]
        server.ask("DELETE", "/_sandbox/notices")
        ahead_by(began + after - time.time() - 6)

        def asked():
            messages = (json.loads(one["message"]) for one in server.get("/_sandbox/notices").json["notices"] if one.get("message"))
            return next((one for one in messages if one["_action"].startswith("get-dialog")), None)

        message = until(asked)
        path = f"/genesys/1/service/{message['_id']}"
        recorder.send(f"dialog.{action}.menu", "POST", f"{path}/{message['_action']}", user="", audited=False, shown=f"{PLACE}/{message['_action']}")
        recorder.send(f"dialog.{action}", "POST", f"{path}/{action}", user="", shown=f"{PLACE}/{action}")
        recorder.send(f"dialog.{action}.again", "POST", f"{path}/{action}", user="", audited=False, shown=f"{PLACE}/{action}")
        recorder.send(f"dialog.{action}.notice", "GET", f"/notices/{message['_id']}", user=phone.user, audited=False, shown="/notices/<id>")
        if action == "connect":
            recorder.later("dialog.connect.called", lambda line: line.get("callback") == made and line.get("trigger") and line["action"] == "callback")


def outcomes(recorder):
    server = recorder.server
    for state in ("reached", "not_reached", "cancelled"):
        made = call(recorder, f"outcome.{state}.callback").json["id"]
        server.post("/_sandbox/outcome", {"id": made, "state": state})
        recorder.later(f"outcome.{state}", lambda line: line.get("callback") == made and line["action"] == "outcome")
    recorder.send("event.unknown", "POST", "/hooks/talkdesk/unknown", {}, user="", audited=False)


def enrol(recorder, name, phone, bearer=None, attestation=None, audited=True, kind="application/json", **members):
    """A request of an enrollment. The phone learns its secret."""
    fields = {"X-Forwarded-For": address_of(name)}
    if phone.is_keyed:
        fields["DPoP"] = phone.proof(recorder.server, "POST", f"/fetch-code?app={phone.app}")
    content = {**phone.values, **({"attestation": attestation} if attestation else {}), **members}
    answer = recorder.send(name, "POST", f"/fetch-code?app={phone.app}", content, fields=fields, bearer=bearer, user=None if bearer else "", kind=kind,
                           audited=audited)
    phone.nonce = answer.fields.get("dpop-nonce", phone.nonce)
    phone.secret = (answer.json or {}).get("client_secret", phone.secret)
    return answer


def installations(recorder):
    send, server = recorder.send, recorder.server
    phone = Phone("shop")
    enrol(recorder, "enrol.user", phone, bearer=user("carl"))
    enrol(recorder, "enrol.code", phone, client_secret=phone.secret)
    enrol(recorder, "enrol.invalid_client", phone, client_secret="canary-wrong")
    enrol(recorder, "enrol.taken", phone, bearer=user("eve"))
    enrol(recorder, "enrol.second", Phone("shop"), bearer=user("carl"))
    enrol(recorder, "enrol.too_many", Phone("shop"), bearer=user("carl"))
    enrol(recorder, "enrol.form", Phone("shop"), bearer=user("carl"), kind="text/plain")
    enrol(recorder, "enrol.invalid_request", Phone("shop"), client_app="")
    code = server.post("/fetch-code?app=shop", {**phone.values, "client_secret": phone.secret}, user="").json["code"]
    for name in ("verify", "verify.again"):
        send(name, "POST", "/codes/verify", {"client_id": phone.values["client_id"], "code": code}, **OFFICE)
    send("verify.denied", "POST", "/codes/verify", {"client_id": phone.values["client_id"], "code": "123456"}, api_key="canary-kiosk")
    send("access.installation", "GET", "/access?app=shop", user=phone.user)
    call(recorder, "callback.installation", credential={"user": phone.user})
    call(recorder, "appointment.installation", at=ahead(180_000), credential={"user": phone.user})
    waiting, denied = Phone("shop"), Phone("shop")
    asked = enrol(recorder, "enrol.pending", waiting).json
    enrol(recorder, "enrol.slow_down", waiting, request_id=asked["request_id"])
    enrol(recorder, "enrol.unknown-request", Phone("shop"), request_id="A" * 32)
    operate(recorder, "find", "POST", "installations/find", {"user_code": asked["user_code"]}, audited=False)
    operate(recorder, "approve.read", "POST", "installations/approve", {"user_code": asked["user_code"]}, bearer=READER)
    operate(recorder, "approve", "POST", "installations/approve", {"user_code": asked["user_code"]})
    operate(recorder, "approve.not_found", "POST", "installations/approve", {"user_code": "BCDF-GHJK"})
    until(lambda: server.post("/fetch-code?app=shop", {**waiting.values, "request_id": asked["request_id"]}, user="").status == 200, 15)
    enrol(recorder, "enrol.already_delivered", waiting, request_id=asked["request_id"])
    other = enrol(recorder, "enrol.other", denied).json
    operate(recorder, "deny", "POST", "installations/deny", {"user_code": other["user_code"]})
    until(lambda: server.post("/fetch-code?app=shop", {**denied.values, "request_id": other["request_id"]}, user="").status != 429, 15)
    enrol(recorder, "enrol.denied", denied, request_id=other["request_id"])
    operate(recorder, "installations", "GET", "installations?app=shop", audited=False)
    operate(recorder, "revoke", "POST", "installations/revoke", {"client_id": phone.values["client_id"]})
    operate(recorder, "revoke.not_found", "POST", "installations/revoke", {"client_id": str(uuid.uuid4())})
    send("access.revoked", "GET", "/access?app=shop", user=phone.user)
    own = Phone("shop")
    enrol(recorder, "enrol.own", own, bearer=user("dora"))
    send("revoke.own", "DELETE", "/installations/self", user=own.user)


def keys(recorder):
    """Phones that prove each request with a key."""
    phone = Phone("keyed", is_keyed=True)
    server = recorder.server
    enrol(recorder, "enrol.nonce", phone, bearer=user("kim"))
    enrol(recorder, "enrol.keyed", phone, bearer=user("kim"))
    token = phone.proof(server, "GET", "/access?app=keyed")
    recorder.send("access.keyed", "GET", "/access?app=keyed", fields={"DPoP": token}, user=phone.user)
    recorder.send("access.proof-replayed", "GET", "/access?app=keyed", fields={"DPoP": token}, user=phone.user)
    recorder.send("access.invalid_proof", "GET", "/access?app=keyed", fields={"DPoP": "x"}, user=phone.user)
    recorder.send("access.no-proof", "GET", "/access?app=keyed", user=phone.user)


def attestations(recorder):
    send, server = recorder.send, recorder.server

    def mint(kind, **more):
        return server.post("/_sandbox/attest", {"type": kind, "app": "attested", **more}).json

    def attest(name, kind, fault=None, phone=None, challenge=None):
        phone = phone or Phone("attested")
        challenge = challenge or server.post("/attestation/challenge?app=attested", user="").json["challenge"]
        data = statement(phone, challenge)
        more = {"fault": fault} if fault else {}
        made = mint(kind, **more, **({} if kind == "app_check" else {"client_data": data}))
        enrol(recorder, name, phone, attestation=made)
        return phone, made

    good = {"X-Firebase-AppCheck": server.post("/_sandbox/attest", {"type": "app_check", "app": "checked"}).json["token"]}
    send("access.checked", "GET", "/access?app=checked", fields=good, user="mobile:canary-mobile")
    send("access.attestation_required", "GET", "/access?app=checked", user="mobile:canary-mobile")
    send("access.attestation_failed", "GET", "/access?app=checked", fields={"X-Firebase-AppCheck": "x"}, user="mobile:canary-mobile")
    send("challenge", "POST", "/attestation/challenge?app=attested", user="", audited=False)
    enrol(recorder, "enrol.attestation_required", Phone("attested"))
    for kind, faults in (("app_check", ["bad_signature", "wrong_app", "old"]), ("app_attest", ["bad_signature", "wrong_app", "old", "development"]),
                         ("play_integrity", ["bad_signature", "wrong_app", "old", "development", "jailbroken"])):
        attest(f"enrol.{kind}", kind)
        for fault in faults:
            attest(f"enrol.{kind}.{fault}", kind, fault)
    phone, made = attest("enrol.app_attest.spent", "app_attest")
    enrol(recorder, "enrol.challenge_expired", Phone("attested"), attestation=made)


def push(recorder):
    send, server = recorder.send, recorder.server
    phone = Phone("push")
    enrol(recorder, "enrol.push", phone, bearer=user("pia"))

    def newest():
        return json.loads(next(one["message"] for one in server.get("/_sandbox/notices").json["notices"] if one.get("message")))

    send("access.no_device", "GET", "/access?app=push", user=phone.user)
    send("access.push-denied", "GET", "/access?app=push", bearer=user("pia"))
    for platform in ("fcm", "http"):
        send(f"device.{platform}", "PUT", "/installations/self/push", {"platform": platform, "token": f"canary-device-{platform}"}, user=phone.user)
        send(f"access.push.{platform}", "GET", "/access?app=push", user=phone.user)
    claim = newest()["_id"]
    send("claim", "POST", "/access/claim", {"claim": claim}, user=phone.user)
    send("claim.claim_expired", "POST", "/access/claim", {"claim": claim}, user=phone.user)
    send("device.invalid_request", "PUT", "/installations/self/push", {"platform": "sms", "token": "x"}, user=phone.user)
    other = Phone("push")
    enrol(recorder, "enrol.push.other", other, bearer=user("quin"))
    send("device.taken", "PUT", "/installations/self/push", {"platform": "http", "token": "canary-device-http"}, user=other.user)
    send("notice.not_found", "GET", "/notices/" + "A" * 32, user=phone.user, audited=False)
    for endpoint, platform, fault in (("hook", "http", {"status": 503, "retry_after": 90}), ("fcm", "fcm", {"status": 429, "retry_after": 90}),
                                      ("fcm", "fcm", {"status": 404})):
        server.ask("PUT", "/installations/self/push", {"platform": platform, "token": f"canary-device-{platform}"}, user=phone.user)
        server.fault(endpoint, **fault)
        send(f"access.push.{endpoint}-{fault['status']}", "GET", "/access?app=push", user=phone.user)
        recorder.paused(f"access.push.{endpoint}-{fault['status']}")
        server.ask("DELETE", "/_sandbox/pauses")
    send("device.delete", "DELETE", "/installations/self/push", user=phone.user)


def desks(recorder):
    send, server = recorder.send, recorder.server
    send("access.desk", "GET", "/access?app=chat", fields={"Accept": "application/json"}, bearer=user("rob"))
    send("access.desk-cached", "GET", "/access?app=chat", bearer=user("rob"))
    send("access.desk-denied", "GET", "/access?app=chat", **OFFICE)
    made = send("ticket", "POST", "/tickets?app=chat", {"title": "One"}, bearer=user("rob"), fields={"Idempotency-Key": "ticket-1"})
    send("ticket.replay", "POST", "/tickets?app=chat", {"title": "One"}, bearer=user("rob"), fields={"Idempotency-Key": "ticket-1"})
    send("ticket.duplicate", "POST", "/tickets?app=chat", {"title": "One"}, bearer=user("rob"))
    send("ticket.invalid_request", "POST", "/tickets?app=chat", {}, bearer=user("rob"))
    send("ticket.unknown_app", "POST", "/tickets?app=shop", {"title": "One"}, bearer=user("rob"))
    send("ticket.record", "GET", f"/tickets/{made.json['id']}", bearer=user("rob"), audited=False)
    limited = {"status": 400, "body": {"error": True, "code": 500910}, "retry_after": 90}
    for endpoint, name, fault in (
            ("sendbird", "access.desk", {"status": 503, "times": 9}), ("sendbird", "access.desk", limited), ("desk", "ticket", {"status": 503, "times": 9}),
            ("desk", "ticket", {"status": 403}), ("desk", "ticket", {"status": 400}), ("desk", "ticket", {"drop": "after"})):
        server.ask("DELETE", "/_sandbox/pauses")
        server.clear()
        server.fault(endpoint, **fault)
        name += f".{fault.get('status', 'lost')}"
        if endpoint == "desk":
            send(name, "POST", "/tickets?app=chat", {"title": name}, bearer=user("rob"))
        else:
            send(name, "GET", "/access?app=chat", bearer=user(f"sue-{fault['status']}"))
        recorder.paused(name)
    server.ask("DELETE", "/_sandbox/pauses")
    server.clear()


def gms(recorder):
    send = recorder.send
    path, number = "/genesys/1/service/callback/support", number_of("gms.appointment")
    made = send("gms.callback", "POST", path, {"_customer_number": number_of("gms.callback")}, **OFFICE)
    name = send("gms.appointment", "POST", path, {"_customer_number": number, "_desired_time": ahead(260_000)}, **OFFICE).json["_id"]
    send("gms.duplicate", "POST", path, {"_customer_number": number, "_desired_time": ahead(270_000)}, **OFFICE)
    send("gms.invalid_request", "POST", path, {"_customer_number": "x"}, **OFFICE)
    send("gms.number_not_allowed", "POST", path, {"_customer_number": "+19005550100"}, **OFFICE)
    send("gms.unauthenticated", "POST", path, {"_customer_number": number}, user="")
    send("gms.unknown-service", "POST", "/genesys/1/service/callback/sales", {"_customer_number": number}, audited=False, **OFFICE)
    send("gms.find", "GET", f"{path}?_id={name}", audited=False, **OFFICE)
    send("gms.change", "PUT", f"{path}/{name}", {"_new_desired_time": ahead(280_000)}, **OFFICE)
    send("gms.cancel", "DELETE", f"{path}/{name}", **OFFICE)
    send("gms.not_found", "PUT", f"{path}/{'A' * 32}", {"_new_desired_time": ahead(280_000)}, **OFFICE)
    recorder.send("gms.dialog", "POST", f"/genesys/1/service/{'A' * 32}/get-dialog-user-confirmation", user="", audited=False)
    return made


def agents(recorder):
    """Tools of AI agents."""
    def tool(name, audited=True, key="canary-kiosk", **arguments):
        agent = Agent(recorder.server, key=key)
        answer = agent.send("tools/call", {"name": arguments.pop("tool", "request_callback"), "arguments": arguments}, X_Request_Id=name)
        recorder.save(name, "POST /mcp", answer, audited)
        return answer.json

    number = number_of("mcp.callback")
    made = tool("mcp.callback", phone_number=number, conversation_id="c-1", reason="Late")["result"]["structuredContent"]["id"]
    tool("mcp.repeated", phone_number=number, conversation_id="c-1", reason="Late")
    tool("mcp.appointment", phone_number=number_of("mcp.appointment"), conversation_id="c-2", at=ahead(360_000))
    tool("mcp.number_not_allowed", phone_number="+19005550100", conversation_id="c-1")
    tool("mcp.invalid_request", phone_number="x", conversation_id="c-1")
    tool("mcp.availability", tool="availability", audited=False)
    tool("mcp.status", tool="callback_status", id=made, conversation_id="c-1", audited=False)
    tool("mcp.cancel", tool="cancel_callback", id=made, conversation_id="c-1")
    tool("mcp.unauthenticated", key=None, phone_number=number, conversation_id="c-1")
    agent = Agent(recorder.server, key="canary-kiosk")
    recorder.save("mcp.tools", "POST /mcp", agent.send("tools/list"), audited=False)


def operate(recorder, name, method, path, content=None, bearer=ADMIN, audited=True, **more):
    return recorder.send(name, method, f"/admin/{path}", content, bearer=bearer, audited=audited, **more)


def operators(recorder):
    number = number_of("block")
    operate(recorder, "status.unauthenticated", "GET", "status", bearer="canary-wrong", audited=False)
    operate(recorder, "read.denied", "GET", "status", bearer=operator(groups=["sales"]))
    operate(recorder, "stop.read", "POST", "stop", {"scope": "all", "action": "all"}, bearer=READER)
    operate(recorder, "stop.jwt", "POST", "stop", {"scope": "app", "id": "stopped", "action": "ticket"}, bearer=operator(groups=["oncall"]))
    operate(recorder, "stop", "POST", "stop", {"scope": "app", "id": "stopped", "action": "all", "reason": "a leak", "for": "1h"})
    recorder.send("access.stopped", "GET", "/access?app=stopped", **OFFICE)
    call(recorder, "callback.stopped", "stopped")
    operate(recorder, "stop.invalid_request", "POST", "stop", {"scope": "region", "action": "all"}, audited=False)
    operate(recorder, "stop.unknown", "POST", "stop", {"scope": "app", "id": "stoped", "action": "all"}, audited=False)
    operate(recorder, "resume", "POST", "resume", {"scope": "app", "id": "stopped", "action": "all"})
    operate(recorder, "block", "POST", "numbers/block", {"phone": number, "reason": "a complaint"})
    call(recorder, "callback.blocked", number=number)
    operate(recorder, "numbers", "GET", "numbers", audited=False)
    operate(recorder, "unblock", "POST", "numbers/unblock", {"phone": number})
    operate(recorder, "block.invalid_request", "POST", "numbers/block", {"phone": "x"}, audited=False)
    operate(recorder, "explain", "POST", "explain", {"action": "callback", "caller": "office", "app": "closed", "phone": "+14155550100"}, audited=False)
    operate(recorder, "decisions", "GET", "decisions?request_id=stop", audited=False)
    operate(recorder, "callbacks.admin", "GET", f"callbacks?phone=%2B{number_of('callback')[1:]}", audited=False)
    operate(recorder, "reload", "POST", "reload")


def pages(recorder):
    for name in "livez", "healthz", "docs", "docs/runbook", ".well-known/oauth-protected-resource/mcp":
        recorder.send(name, "GET", f"/{name}", audited=False, user="")


# A server with its own outside services


def asks_all(recorder, issuer, google, proofs_key, check_key):
    """Each outside service is asked, and answers."""
    send = recorder.send
    send("served.access", "GET", "/access?app=shop", **OFFICE)
    call(recorder, "served.callback")
    partner(recorder, "served.partner", issuer.key)
    issuer.policy.verdict = True
    send("served.policy", "GET", "/access?app=asked", **OFFICE)
    number = number_of("served.proof")
    call(recorder, "served.proof", "own", number=number, number_proof=number_proof(proofs_key, number))
    call(recorder, "served.screened", "screened", number="+12025550119")
    send("served.desk", "GET", "/access?app=chat", bearer=user("rob"))
    send("served.ticket", "POST", "/tickets?app=chat", {"title": "One"}, bearer=user("rob"))
    enrol(recorder, "served.enrol.app_check", Phone("attested"), attestation={"type": "app_check", "token": app_check(check_key)})
    play(recorder, "served.enrol.play_integrity", google)
    phone = Phone("push")
    enrol(recorder, "served.enrol.push", phone, bearer=user("pia"))
    for platform in ("fcm", "http"):
        recorder.server.ask("PUT", "/installations/self/push", {"platform": platform, "token": "canary-device"}, user=phone.user)
        send(f"served.push.{platform}", "GET", "/access?app=push", user=phone.user)
    event = {"token": hook_part(b"event"), "trigger": "outboundCallEnds", "event": "call ended", "call_id": "call-1", "type": "outbound",
             "contact_phone_number": "+14155559999", "talkdesk_phone_number": OWN, "start_time": ahead(-60), "timestamp": ahead(0), "duration": "40",
             "total_duration": "52", "waiting_time": "12", "hold_time": "0"}
    path = f"/hooks/talkdesk/{hook_part(b'path')}"
    send("served.event", "POST", path, event, user="", audited=False, shown="/hooks/talkdesk/…")
    send("served.event.wrong", "POST", path, {**event, "token": "canary"}, user="", audited=False, shown="/hooks/talkdesk/…")


def play(recorder, name, google):
    """An enrollment with Play Integrity, on which Google decides."""
    phone = Phone("attested")
    challenge = recorder.server.post("/attestation/challenge?app=attested", user="").json["challenge"]
    google.statement = statement(phone, challenge)
    enrol(recorder, name, phone, attestation={"type": "play_integrity", "token": "x", "challenge": challenge})


def asks_failing(recorder, google, emulator):
    """Each outside service is asked once more, and fails."""
    send = recorder.send
    send("failing.policy", "GET", "/access?app=asked", **OFFICE)
    play(recorder, "failing.enrol.play_integrity", google)
    phone = Phone("push")
    enrol(recorder, "failing.enrol.push", phone, bearer=user("quin"))
    for platform, token in (("http", "canary-other"), ("fcm", "canary-other"), ("apns", "ab" * 32)):
        recorder.server.ask("PUT", "/installations/self/push", {"platform": platform, "token": token}, user=phone.user)
        send(f"failing.push.{platform}", "GET", "/access?app=push", user=phone.user)
    emulator.fault("sendbird", status=400, body={"error": True, "code": 500910}, retry_after=90)
    send("failing.desk", "GET", "/access?app=chat", bearer=user("sue"))
    emulator.fault("desk", status=403)
    send("failing.ticket", "POST", "/tickets?app=chat", {"title": "Two"}, bearer=user("rob"))
    emulator.fault("callback", status=429, retry_after=90)
    call(recorder, "failing.callback")
    emulator.fault("token", status=401)
    emulator.ask("DELETE", "/_sandbox/token")
    send("failing.access", "GET", "/access?app=stopped", **OFFICE)


# Servers that cannot save


def asks_away(recorder):
    """The database does not respond."""
    send = recorder.send
    app = {"user": "app:canary-app"}
    send("away.access", "GET", "/access", **app)
    send("away.callback", "POST", "/calls/callback", {"contact_phone_number": number_of("away.callback")}, **app)
    send("away.record", "GET", "/callbacks/0198c5a2-7d10-7a3b-9c55-0f6e2d1b4a87", audited=False, **app)
    operate(recorder, "away.stop", "POST", "stop", {"scope": "all", "action": "all"})
    operate(recorder, "away.block", "POST", "numbers/block", {"phone": number_of("away.block")})
    send("away.readyz", "GET", "/readyz", audited=False, user="")


def asks_strict(recorder, has_line, remove):
    """Audit lines go to a file. The line after its removal cannot be written."""
    def ask(name, method="GET", path="/access", content=None, audited=True):
        recorder.send(name, method, path, content, audited=audited, user="app:canary-app")

    called = lambda name, **more: ask(name, "POST", "/calls/callback", {"contact_phone_number": number_of(name)}, **more)
    called("strict.callback")
    has_line("strict.callback")
    # Once it has its token, all earlier lines are on the disk.
    ask("strict.access")
    remove()
    # The line of a refused request may be written later, or not.
    ask("strict.access.audit_unavailable", audited=False)
    ask("strict.access.again")
    remove()
    called("strict.callback.audit_unavailable", audited=False)
