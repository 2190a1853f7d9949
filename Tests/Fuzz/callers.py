"""Who sends requests: a configuration with every section, and its callers and phones with their credentials."""
import base64
import hashlib
import hmac
import json
import os
import time

from description import FORMATS
from harness import *
from harness.keys import encode
from harness.proofs import PhoneKey

EXTERNAL = "https://calls.example.com"
ADMIN = "canary-operators-token-of-the-fuzzer"
USERS = b"canary-secret-of-an-issuer-and-this-server"
HOOK = b"canary-hook-secret-of-more-than-32-octets"
OWN = ["+18500000000", "+18500000001"]
IOS = "1:123456789012:ios:0123456789abcdef"
BUNDLE, PACKAGE = "ABCDE12345.com.example.shop", "com.example.shop"
SUBJECTS = [f"ann-{number}" for number in range(50)]
KEY = "canary-key-of-a-kiosk-with-many-characters"
OFFICE = "canary-office-with-many-characters"


def file_of(name, content):
    """The path of a file with a secret."""
    path = scratch(name, content)
    os.chmod(path, 0o600)
    return path


def configuration(partner, policy):
    """Every section. No request here reaches its limits."""
    jwks = scratch("partners.json", json.dumps({"keys": [partner.public]}))
    return f"""
listen: {{ trusted_proxies: [127.0.0.1/32], forwarded_hops: 1 }}
external_urls: ["{EXTERNAL}"]
allow_anonymous: true
log: {{ level: debug, audit: {{ chain: true }} }}
limits: {{ header_timeout: 20s }}
cors: {{ origins: ["https://shop.example"] }}
tokens: {{ deadline: 8s }}
callbacks: {{ talkdesk_phone_numbers: ["{OWN[0]}", "{OWN[1]}"], dedupe_window: 10s, brakes: off }}
appointments: {{ earliest: 0s, horizon: 400d, per_slot: 10000, per_number: 100, confirm: {{ before: 10s }}, calling: true }}
notices: {{ texts: {{ access: Your token is ready. }} }}
outcomes: {{ hook: {{ secret_file: {file_of("hook", HOOK)} }}, report: {{ at: "03:30" }} }}
availability: {{ live: {{ query: agents-available }} }}
attestation:
  app_check: {{ project_number: "123456789012", project_id: shop-prod }}
  app_attest: {{}}
  play_integrity: {{}}
desks:
  chat:
    kind: sendbird
    application_id: APP-1
    user_id: "{{caller}}:{{subject}}"
    api_token_file: {file_of("sendbird", "canary-master-token")}
    desk_api_token_file: {file_of("desk", "canary-desk-token")}
gms: {{ services: {{ support: {{ app: shop, query_by_number: true }}, sales: {{ app: shop }} }} }}
mcp: {{ callers: [office, kiosk, users, anonymous], app: shop }}
callers:
  - {{ id: office, basic: {{ username: office, password_file: {file_of("office", OFFICE)} }} }}
  - {{ id: studio, basic: {{ username: studio, password_sha256: {sha256("canary-studio")} }} }}
  - {{ id: mobile, basic: {{ username: mobile, password_sha256: {sha256("canary-mobile")} }} }}
  - {{ id: kiosk, api_key: {{ sha256: {sha256(KEY)} }} }}
  - {{ id: parked, api_key: {{ sha256: {sha256(KEY + "-parked")} }} }}
  - {{ id: users, jwt: {{ issuer: "https://id.example", audience: callgate, hs256_secret_file: {file_of("users", USERS)} }} }}
  - {{ id: partners, jwt: {{ issuer: "https://partners.example", audience: callgate, jwks_file: {jwks} }} }}
apps:
  shop:
    callers: [office, studio, kiosk, users, partners, anonymous]
    installations: {{ authorize: [user, operator], pending: 1d, per_subject: 1000, verifiers: [office, studio] }}
    callbacks: {{ verification_code: true }}
    context_schema: {{ fields: {{ issue: {{ max_length: 300 }} }}, add: {{ source: app }}, other: allow }}
  push: {{ callers: [users], delivery: push, installations: {{ authorize: [user], per_subject: 1000 }} }}
  keyed: {{ callers: [users], installations: {{ authorize: [user], per_subject: 1000, key: required }} }}
  chat: {{ callers: [users, partners], desk: chat, installations: {{ authorize: [user, operator], pending: 1d, per_subject: 1000 }} }}
  checked: {{ callers: [mobile], app_check: enforce, attested: {{ app_check: ["{IOS}"] }} }}
  attested:
    callers: [users]
    installations: {{ authorize: [attestation], per_subject: 1000 }}
    attested:
      mode: enforce
      per_day: 1000000
      app_check: ["{IOS}"]
      app_attest: {{ app_id: {BUNDLE} }}
      play: {{ package: {PACKAGE}, certificates: ["3q2-796tvu_erb7v3q2-796tvu_erb7v3q2-796tvu8"] }}
  parked: {{ callers: [parked] }}
rules:
  - {{ name: open, kind: hours, on: callback, timezone: Europe/Berlin, weekly: {{ mon-sun: "00:00-24:00" }} }}
  - {{ name: fast, kind: rate, key: caller, limit: 1000000, per: 1m }}
  - {{ name: daily, kind: quota, key: subject, limit: 1000000, per: day }}
  - {{ name: countries, kind: numbers, allow: ["+1", "+351"] }}
  - {{ name: networks, kind: addresses, deny: [203.0.113.0/24] }}
  - {{ name: gold, kind: claims, callers: [partners], require: {{ tier: [gold] }} }}
  - {{ name: recent, kind: field, field: X-App-Version, at_least: "1.0", mode: audit }}
  - {{ name: agents, kind: agents, on: callback, at_least: 1 }}
  - {{ name: policy, kind: remote, on: enrol, url: "{policy.url}", timeout: 5s, on_failure: allow }}
"""


class QuickKey(PhoneKey):
    """A phone's key that signs without a process. Every signature uses the nonce 1, so anyone can compute this private key from one."""

    ORDER = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551
    R = 0x6b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296

    def __init__(self):
        super().__init__()
        self.number = int.from_bytes(openssl("ec", "-in", self.path, "-outform", "DER")[7:39], "big")

    def signed(self, text):
        digest = int.from_bytes(hashlib.sha256(text.encode()).digest(), "big")
        parts = self.R, (digest + self.R * self.number) % self.ORDER
        return f"{text}.{encode(b''.join(part.to_bytes(32, 'big') for part in parts))}"


def basic(user, password):
    return [("Authorization", "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode())]


def bearer(token):
    return [("Authorization", f"Bearer {token}")]


class Caller:
    """Who sends a request, for one app: with a fixed credential, which may be none."""

    def __init__(self, app, fields=()):
        self.app, self.fields = app, list(fields)

    def credential(self, ask):
        """The fields of a request that say who sends it."""
        return self.fields


class Kiosk(Caller):
    """A caller with an API key, in any of the fields that take it."""

    def credential(self, ask):
        names = ["X-API-Key", "Authorization"] + (["apikey"] if ask.operation.path.startswith("/genesys/") else [])
        name = ask.rng.choice(names)
        return [(name, f"Bearer {KEY}" if name == "Authorization" else KEY)]


class User(Caller):
    """A user with a JWT, which is bound to a phone's key where there is one (RFC 9449 §6.1)."""

    def __init__(self, app, subject, key=None):
        super().__init__(app)
        self.subject, self.key = subject, key

    def credential(self, ask):
        bound = {"cnf": {"jkt": self.key.thumbprint}} if self.key else {}
        token = hs256(USERS, subject=self.subject, iat=int(time.time()), **bound)
        if not self.key:
            return bearer(token)
        return [("Authorization", f"{ask.rng.choice(['DPoP', 'Bearer'])} {token}"), ("DPoP", proof(self.key, ask, token=token))]


class Phone(Caller):
    """An installation: what it says of itself, its secret, its last code, its key and its push token."""

    def __init__(self, app, rng, subject=None):
        super().__init__(app)
        self.values = {"client_id": FORMATS["uuid"](rng), "client_app": "Shop"}
        self.subject, self.secret, self.code, self.key, self.device = subject, None, None, None, None

    def proof(self, ask):
        return [("DPoP", proof(self.key, ask))] if self.key else []

    def credential(self, ask):
        # A proof is enough where each phone has a key.
        secret = basic(self.values["client_id"], self.secret) if not self.key or ask.rng.random() < 0.5 else []
        return secret + self.proof(ask)


def proof(key, ask, **more):
    return key.proof(ask.method, EXTERNAL + ask.target(), ask.world.nonce, **more)


def hook_parts():
    """The last segment of the hook's path and the token of its events: HKDF (RFC 5869) with one block, as base64url."""
    key = hmac.digest(b"callgate outcomes", HOOK, "sha256")
    return [encode(hmac.digest(key, purpose + b"\x01", "sha256")) for purpose in (b"path", b"event")]
