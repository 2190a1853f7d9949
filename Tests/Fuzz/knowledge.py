"""What no document can say: which values pass, and which records a request can name."""
import collections
import json
import string
import threading
import time
import urllib.parse

from callers import *
from description import FORMATS, later
from harness import *
from harness.asking import request


class Pool:
    """The newest records of a kind. Each thread may add, pick and take."""

    def __init__(self, most=400):
        self.guard, self.records = threading.Lock(), collections.deque(maxlen=most)

    def add(self, record):
        with self.guard:
            self.records.append(record)

    def pick(self, rng):
        """One of them; None where there is none."""
        with self.guard:
            return self.records[rng.randrange(len(self.records))] if self.records else None

    def take(self, rng):
        """One of them, which no other request gets."""
        with self.guard:
            return self.records.popleft() if self.records else None

    def drop(self, record):
        with self.guard:
            if record in self.records:
                self.records.remove(record)


class Ask:
    """A request in the making. `values` are those of the path, `content` is what becomes JSON or a form.

    `learn` takes the answer of a good request that succeeded, `forget` follows one that did not, `undo` any request that did not."""

    def __init__(self, world, operation, rng):
        self.world, self.operation, self.rng, self.method = world, operation, rng, operation.method
        self.values, self.query, self.fields, self.credential = {}, {}, [], []
        self.content = self.kind = self.octets = self.chunks = self.caller = None
        self.learn, self.undo, self.forget = lambda answer: None, lambda: None, lambda: None
        self.more, self.segment = "", ""

    def is_by(self, caller, app=True):
        """Sends it as a caller, naming the app or leaving that out."""
        self.caller = caller
        if app and caller.app and any(one["name"] == "app" and one["in"] == "query" for one in self.operation.parameters):
            self.query["app"] = caller.app
        return caller

    def target(self):
        path = self.operation.path
        for name, value in self.values.items():
            path = path.replace(f"{{{name}}}", self.segment if value is None else urllib.parse.quote(value, safe=""))
        query = urllib.parse.urlencode(self.query)
        return path + ("?" if query or self.more else "") + query + ("&" if query and self.more else "") + self.more

    def body(self):
        if self.octets is not None or self.content is None:
            return self.octets
        if self.kind == "application/x-www-form-urlencoded" and isinstance(self.content, dict):
            return urllib.parse.urlencode({name: value for name, value in self.content.items() if value is not None}, errors="replace").encode()
        return json.dumps(self.content).encode()

    def octets_to_send(self, authority):
        fields = [("X-Forwarded-For", f"198.18.{self.rng.randrange(256)}.{self.rng.randrange(256)}")] if self.rng.random() < 0.98 else []
        fields += self.credential + self.fields + ([("Content-Type", self.kind)] if self.kind else [])
        body = self.body()
        if self.chunks:
            size, extension = self.chunks
            parts = [body[start:start + size] for start in range(0, len(body or b""), size)]
            body = b"".join(b"%x%s\r\n%s\r\n" % (len(part), extension, part) for part in parts) + b"0\r\n\r\n"
        return request(self.method, self.target(), authority, body, fields)


class Knowledge:
    """The server's world as its callers know it, for a fuzzer: `run(ID, rng, …)` sends a good request of an operation, and returns its
    answer where it is 2xx.

    A function with the id of an operation completes a request of it: `is_by` says who sends it, `learn` takes a successful answer."""

    # By the names of members whose schemas say too little.
    KNOWN = {
        "contact_phone_number": lambda rng: new_number(),
        "talkdesk_phone_number": lambda rng: rng.choice(OWN),
        "_customer_number": lambda rng: new_number(),
        "_desired_time": lambda rng: rng.choice([None, later(rng.randrange(3600, 300 * 86400))]),
        "_new_desired_time": lambda rng: later(rng.randrange(3600, 300 * 86400)),
        "_media_type": lambda rng: "voice",
        "at": lambda rng: rng.choice([None, later(rng.randrange(15, 60)), later(rng.randrange(3600, 300 * 86400))]),
        "client_detail": lambda rng: None,
        "caller": lambda rng: rng.choice(["office", "kiosk", "users", "anonymous", "parked"]),
        "owner": lambda rng: None,
        "user_code": lambda rng: "BCDF-GHJK",
        "installation": lambda rng: None,
        "app": lambda rng: rng.choice(["shop", "parked"]),
        "id": lambda rng: "parked",
        "counts": lambda rng: {"daily": rng.randrange(9)},
        "for": lambda rng: rng.choice(["1s", "10m", "365d"]),
    }

    def __init__(self, server):
        self.server, self.nonce, self.local = server, "none", threading.local()
        self.keys, self.phones = Pool(), collections.defaultdict(Pool)
        # Each record is beside its owner: (id, caller), of GMS (service, id, caller) or (service, id, number, caller).
        self.callbacks, self.appointments, self.tickets, self.gms, self.booked = (Pool() for _ in range(5))
        # User codes with their phones and request ids, and the ids of notices with their phones.
        self.pending, self.notices, self.questions, self.requests = (Pool() for _ in range(4))
        self.claims = collections.defaultdict(lambda: Pool(8))
        self.devices, self.mailbox = {}, threading.Lock()
        self.path, self.event = hook_parts()
        for _ in range(40):
            self.keys.add(QuickKey())
        self.bound = QuickKey()

    @property
    def last_credential(self):
        return getattr(self.local, "credential", [])

    # Callers

    def somebody(self, rng, *apps):
        """A caller of one of these apps."""
        app = rng.choice(apps or ("shop", "shop", "keyed", "checked"))
        if app == "checked":
            return Caller(app, basic("mobile", "canary-mobile") + [("X-Firebase-AppCheck", self.app_check)])
        if app != "shop":
            return self.phone(rng, app)
        return rng.choice([
            lambda: Caller(app, basic("office", OFFICE)), lambda: Caller(app, basic("studio", "canary-studio")), lambda: Kiosk(app), lambda: Caller(app),
            lambda: self.user(rng), lambda: User(app, "bound", self.bound), lambda: Caller(app, bearer(self.partner)), lambda: self.phone(rng)])()

    def user(self, rng, app="shop"):
        return User(app, rng.choice(SUBJECTS))

    def phone(self, rng, app="shop"):
        """A phone of an app, whose device is registered where its tokens come by push."""
        phone = self.phones[app].pick(rng) if rng.random() < 0.98 else None
        way = "attestation" if app == "attested" else "user"
        # Another thread may just stop enrolments.
        phone = phone or until(lambda: self.run("postFetchCode", rng, way=way, app=app) and self.phones[app].pick(rng))
        if not phone:
            raise AssertionError(f"no phone of the app {app} can enrol")
        if app == "push" and not phone.device:
            self.run("putDevice", rng, phone=phone)
        return phone

    def prepare(self, issuer):
        """Makes the credentials that live for an hour, longer than a run."""
        now = int(time.time())
        self.partner = issuer.sign({"iss": "https://partners.example", "aud": "callgate", "sub": "partner", "tier": "gold", "exp": now + 3600, "iat": now})
        self.app_check = self.mint("app_check", app="checked")["token"]

    def mint(self, kind, **more):
        """What the sandbox's phones attest."""
        answer = self.server.post("/_sandbox/attest", {"type": kind, "app": "attested", **more})
        if answer.status != 200:
            raise AssertionError(f"the sandbox does not attest: {answer}")
        return answer.json

    def misbehave(self, rng):
        """Lets the next request to an upstream fail, and ends the pauses that earlier failures have caused."""
        fault = rng.choice([{"status": rng.choice([302, 400, 401, 403, 404, 429, 500, 503])}, {"drop": rng.choice(["before", "during", "after"])}])
        self.server.fault(rng.choice(["token", "callback", "fcm", "hook", "sendbird", "desk"]), **fault)
        for what in "pauses", "token":
            self.server.ask("DELETE", f"/_sandbox/{what}")

    def read_mail(self):
        """Takes what the providers delivered: claims by the device, questions and other notices."""
        with self.mailbox:
            found = self.server.get("/_sandbox/notices").json["notices"]
            self.server.ask("DELETE", "/_sandbox/notices")
            for notice in found:
                phone = self.devices.get((notice.get("device") or "")[-4:])
                if not phone or not notice.get("message"):
                    continue
                message = json.loads(notice["message"])
                self.notices.add((message["_id"], phone))
                if message["_action"] == "access":
                    self.claims[phone].add(message["_id"])
                elif message["_action"].startswith("get-dialog"):
                    self.questions.add((message["_id"], message["_action"]))

    # Tokens

    def getAccess(self, ask, rng, caller=None):
        if caller:
            ask.query.pop("probe", None)
        ask.is_by(caller or self.somebody(rng, "shop", "shop", "keyed", "checked", "push", "chat", "attested"), app=rng.random() < 0.7)

    def postToken(self, ask, rng):
        ask.values["app"] = ask.is_by(self.somebody(rng, "shop", "shop", "keyed", "checked", "push", "chat", "attested")).app

    def postClaim(self, ask, rng):
        phone = ask.is_by(self.phone(rng, "push"))
        if not (claim := self.claims[phone].take(rng)):
            self.run("getAccess", rng, caller=phone)
            until(lambda: self.read_mail() or self.claims[phone].records, 2)
            claim = self.claims[phone].take(rng)
        ask.content = {"claim": claim or "A" * 32}

    # Callbacks

    def postCallback(self, ask, rng, at=None):
        if at:
            ask.content["at"] = at
            ask.query.pop("validate", None)
        caller = ask.is_by(self.somebody(rng, "shop", "shop", "keyed", "checked", "push"), app=rng.random() < 0.7)
        ask.fields = [(name, value if name != "Idempotency-Key" else FORMATS["uuid"](rng)) for name, value in ask.fields]

        def learn(answer):
            if isinstance(answer.json, dict) and "id" in answer.json:
                self.callbacks.add((answer.json["id"], caller))
                if answer.json["status"] == "scheduled" and answer.json["at"] > later(1800):
                    self.appointments.add((answer.json["id"], caller))
        ask.learn = learn

    postCallbackAlias = postCallback

    def listOwnCallbacks(self, ask, rng):
        ask.is_by(rng.choice([self.user, self.phone])(rng))

    def record(self, ask, rng, pool, maker, take=False, **more):
        """Names a record as its owner; makes one where none is known."""
        def get():
            return pool.take(rng) if take else pool.pick(rng)
        found = get() or (self.run(maker, rng, **more) and get())
        ask.forget = lambda: pool.drop(found)
        ask.values["id"], caller = found or ("0198c5a2-7d10-7a3b-9c55-0f6e2d1b4a87", self.user(rng))
        return ask.is_by(caller)

    def getCallback(self, ask, rng):
        self.record(ask, rng, self.callbacks, "postCallback")
        if "wait" in ask.query:
            ask.query["wait"] = rng.choice([0, 0, 0, 1])

    def deleteCallback(self, ask, rng):
        self.record(ask, rng, self.appointments, "postCallback", take=True, at=later(rng.randrange(7200, 99999)))

    def patchCallback(self, ask, rng):
        self.record(ask, rng, self.appointments, "postCallback", at=later(rng.randrange(7200, 99999)))
        ask.content = {"at": later(rng.randrange(3600, 300 * 86400))}

    def getAvailability(self, ask, rng):
        ask.is_by(self.somebody(rng))
        start = rng.randrange(300 * 86400)
        span = {"from": later(start), "to": later(start + rng.randrange(60, 86400))} if rng.random() < 0.7 else {}
        ask.query = {**{name: value for name, value in ask.query.items() if name == "app"}, **span}

    def postTicket(self, ask, rng):
        caller = ask.is_by(rng.choice([self.phone, self.user])(rng, "chat"))
        ask.content["title"] = f"{rng.getrandbits(64):x}"
        ask.fields = [(name, value if name != "Idempotency-Key" else FORMATS["uuid"](rng)) for name, value in ask.fields]
        ask.learn = lambda answer: self.tickets.add((answer.json["id"], caller))

    def getTicket(self, ask, rng):
        self.record(ask, rng, self.tickets, "postTicket")

    def postTalkdeskEvent(self, ask, rng):
        ask.values["secret"] = self.path
        now, talked = int(time.time()), rng.randrange(100)
        ask.content = {
            **ask.content, "token": self.event, "trigger": "outboundCallEnds", "event": "call ended", "call_id": f"call-{rng.getrandbits(48):x}", "type": "outbound",
            "contact_phone_number": new_number(), "talkdesk_phone_number": OWN[0], "start_time": later(-talked), "timestamp": str(now), "duration": str(talked)}

    # Installations

    def postFetchCode(self, ask, rng, way=None, app=None, phone=None):
        """A first request that a user, an operator or an attestation authorizes, a poll of one that waits, or a request for a code."""
        way = way or rng.choice(["user", "user", "operator", "poll", "code", "code", "attestation"])
        ask.content, ask.fields = None, []
        if way == "poll" and (pending := self.pending.pick(rng)):
            phone = pending[1]
            ask.content = {**phone.values, "request_id": pending[2]}
        elif way == "code":
            phone = self.phone(rng, app or rng.choice(["shop", "keyed", "chat"]))
            ask.content = {**phone.values, "client_secret": phone.secret}
            ask.credential = phone.proof(ask)
            ask.learn = lambda answer: setattr(phone, "code", answer.json["code"])
        else:
            self.enrols(ask, rng, way, app, phone)
            phone = ask.phone
        ask.query["app"] = phone.app

    def enrols(self, ask, rng, way, app, phone):
        """A first request, of a phone that is not known yet."""
        apps = {"user": ["shop", "push", "keyed", "chat"], "attestation": ["attested"]}.get(way, ["shop", "chat"])
        is_known = phone is not None
        phone = ask.phone = phone or Phone(app or rng.choice(apps), rng, rng.choice(SUBJECTS) if way == "user" else None)
        if phone.app == "keyed":
            phone.key = self.keys.take(rng) or QuickKey()
            phone.values["jkt"] = phone.key.thumbprint
            ask.undo = lambda: self.keys.add(phone.key)
        ask.content = dict(phone.values)
        ask.credential = (User(phone.app, phone.subject).credential(ask) if phone.subject else []) + phone.proof(ask)
        if way == "attestation":
            ask.kind, ask.content["attestation"] = "application/json", self.attestation(phone, rng)

        def learn(answer):
            if "user_code" in answer.json:
                self.pending.add((answer.json["user_code"], phone, answer.json["request_id"]))
                return
            phone.secret, phone.code = answer.json["client_secret"], answer.json["code"]
            if not is_known:
                self.phones[phone.app].add(phone)
        ask.learn = learn

    def attestation(self, phone, rng):
        kind = rng.choice(["app_check", "app_attest", "play_integrity"])
        if kind == "app_check":
            return self.mint(kind)
        challenge = self.run("postAttestationChallenge", rng).json["challenge"]
        data = "\n".join(["callgate-enrol-1", phone.values["client_id"], phone.values["client_app"], "", challenge, ""])
        return self.mint(kind, client_data=data)

    def postAttestationChallenge(self, ask, rng):
        ask.query["app"] = "attested"

    def doomed(self, rng):
        """A phone that no other request needs."""
        phone = Phone("shop", rng, f"gone-{rng.getrandbits(40):x}")
        self.run("postFetchCode", rng, way="user", phone=phone)
        return phone

    def deleteInstallation(self, ask, rng):
        phone = rng.random() < 0.2 and self.phones["keyed"].take(rng) or self.doomed(rng)
        ask.is_by(phone)
        if phone.key:
            ask.learn = lambda answer: self.keys.add(phone.key)

    def putDevice(self, ask, rng, phone=None):
        phone = ask.is_by(phone or self.phone(rng, rng.choice(["shop", "push", "keyed", "chat"])))
        token = "canary-" + "".join(rng.choices(string.ascii_letters + string.digits, k=16))
        ask.content = {"platform": rng.choice(["fcm", "http"]), "token": token}

        def learn(answer):
            phone.device = token
            self.devices[token[-4:]] = phone
        ask.learn = learn

    def deleteDevice(self, ask, rng):
        ask.is_by(self.phone(rng, rng.choice(["shop", "keyed", "chat"])))

    def getNotice(self, ask, rng):
        if not self.notices.records:
            self.run("getAccess", rng, caller=self.phone(rng, "push"))
            until(lambda: self.read_mail() or self.notices.records, 2)
        ask.values["id"], phone = self.notices.pick(rng) or ("A" * 32, self.phone(rng))
        ask.is_by(phone)

    def postVerifyCode(self, ask, rng):
        ask.is_by(Caller("shop", basic("office", OFFICE)))
        if rng.random() < 0.5:
            phone = self.phone(rng)
            ask.content = {"client_id": phone.values["client_id"], "code": phone.code}

    # GMS

    def getGMSCallbacks(self, ask, rng):
        if not self.gms.records:
            self.run("postGMSCallback", rng)
        name, identifier, number, caller = self.gms.pick(rng) or ("support", "A" * 32, new_number(), self.user(rng))
        ask.is_by(caller)
        ask.values = {"name": name} if ask.values else {}
        ask.query = {"_id": identifier} if rng.random() < 0.6 else {"_customer_number": number}
        if rng.random() < 0.3:
            ask.query["_callback_state"] = rng.choice(["SCHEDULED", "!COMPLETED"])

    getAllGMSCallbacks = getGMSCallbacks

    def postGMSCallback(self, ask, rng, at=None):
        caller = ask.is_by(self.somebody(rng, "shop"))
        name = ask.values["name"] = rng.choice(["support", "sales"])
        if at:
            ask.content["_desired_time"] = at
        if ask.kind != "application/json":
            ask.content = {member: value for member, value in ask.content.items() if value is not None}
        number = ask.content.get("_customer_number")

        def learn(answer):
            self.gms.add((name, answer.json["_id"], number, caller))
            if answer.json["_callback_state"] == "SCHEDULED":
                self.booked.add((name, answer.json["_id"], caller))
        ask.learn = learn

    def booking(self, ask, rng, take=False):
        def get():
            return self.booked.take(rng) if take else self.booked.pick(rng)
        return get() or (self.run("postGMSCallback", rng, at=later(rng.randrange(7200, 99999))) and get()) or ("support", "A" * 32, self.user(rng))

    def putGMSCallback(self, ask, rng, take=False):
        name, identifier, caller = self.booking(ask, rng, take)
        ask.is_by(caller)
        ask.values = {"name": name, "id": identifier}

    def deleteGMSCallback(self, ask, rng):
        self.putGMSCallback(ask, rng, take=True)

    def getGMSAvailability(self, ask, rng):
        ask.is_by(self.somebody(rng, "shop"))
        start = rng.randrange(300 * 86400)
        ask.values["name"] = rng.choice(["support", "sales"])
        ask.query = {"start": later(start), **rng.choice([{}, {"end": later(start + rng.randrange(60, 30 * 86400))}, {"number-of-days": rng.randrange(1, 31)}]),
                     **({"timezone": "Europe/Berlin"} if "timezone" in ask.query else {})}

    getGMSAvailability2 = getGMSAvailability

    def postDialog(self, ask, rng):
        if rng.random() < 0.05:
            self.read_mail()
        spends = ask.values["action"] in ("connect", "connect-outbound", "snooze", "cancel", "connect-inbound")
        question = self.questions.take(rng) if spends else self.questions.pick(rng)
        ask.values["id"] = question[0] if question and rng.random() < 0.5 else self.booking(ask, rng, take=spends)[1]

    getDialog = postDialog

    # Operators

    def findDecisions(self, ask, rng):
        ask.query["request_id"] = self.requests.pick(rng) or "x"

    def resume(self, stops):
        """Ends each stop that another request could meet."""
        for stop in stops:
            if stop.get("id") != "parked":
                self.server.operate("POST", "/admin/resume", {name: stop[name] for name in ("scope", "id", "action") if name in stop})

    def waiting(self, ask, rng, take=False):
        get = self.pending.take if take else self.pending.pick
        found = get(rng) or (self.run("postFetchCode", rng, way="operator") and get(rng)) or ("BCDF-GHJK", None, None)
        ask.content = {"user_code": found[0]}

    postFindInstallation = waiting

    def postApproveInstallation(self, ask, rng):
        self.waiting(ask, rng, take=True)

    postDenyInstallation = postApproveInstallation

    def postRevokeInstallation(self, ask, rng):
        phone = self.doomed(rng)
        ask.content = rng.choice([{"subject": phone.subject}, {"client_id": phone.values["client_id"]}])

    def getDocsPage(self, ask, rng):
        ask.values["tag"] = rng.choice(self.description.tags)
