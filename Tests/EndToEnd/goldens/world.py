"""One configuration with every feature: for a server whose outside services are the sandbox, and for one with its own stand-ins."""
import base64
import hashlib
import hmac
import json
import os
import time
import uuid

from harness import *
from harness.keys import encode
from harness.proofs import Prover

ADMIN, READER = "canary-operators-token", "canary-reader-token"
EXTERNAL = "https://calls.example.com"
OWN = "+18500000000"
USERS = b"canary-secret-of-an-issuer-and-this-server"
OPERATORS = b"canary-secret-of-an-issuer-of-operators"
HOOK = b"canary-hook-secret-of-more-than-32-octets"
WEBHOOK = "whsec_" + base64.b64encode(b"canary-of-a-webhook-123456789012").decode()
STORE_KEY = base64.b64encode(b"canary-canary-canary-canary-cana").decode()
PROJECT, NAME = "123456789012", "shop-prod"
IOS = f"1:{PROJECT}:ios:0123456789abcdef"
BUNDLE, PACKAGE = "ABCDE12345.com.example.shop", "com.example.shop"
CERTIFICATE = "3q2-796tvu_erb7v3q2-796tvu_erb7v3q2-796tvu8"
SDK = "visual-sessions:execute"
SCOPES = {"stopped": "callback:read"}
TEXT = "canary words that the app shows"
# A day that is neither today nor tomorrow.
WEEKDAY = time.strftime("%a", time.gmtime(time.time() + 3 * 86_400)).lower()


def configuration(jwks, policy, services=None, folder="", deadline="10s"):
    """Every section. `services` are the URLs of outside services by name; without them, the sandbox plays them. The files with secrets are
    in a folder of the working folder, since a server reloads when one of its files changes."""
    given = services or {}

    def secret(name, content):
        os.chmod(scratch(folder + name, content), 0o600)
        return folder + name

    def service_account(name, token_uri):
        return secret(f"{name}.json", json.dumps({
            "type": "service_account", "project_id": "shop-1", "private_key_id": "k1", "client_email": f"{name}@shop-1.example",
            "private_key": openssl("genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048").decode(), "token_uri": token_uri}))

    def url(name, key="url"):
        return f', {key}: "{given[name]}"' if services else ""

    def account(name):
        return f'service_account_file: {service_account(name, given["google"] + "/token")}, url: "{given["google"]}"' if services else ""

    fcm = f"fcm: {{ {account('fcm')} }}" if services else ""
    push_key = openssl("genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256")
    apns = f"""apns: {{ key_file: {secret("apns.p8", push_key)}, key_id: ABC123DEFG, team_id: DEF123GHIJ,
    topic: com.example.shop, url: "{given['apns']}" }}""" if services else ""
    http = f"""http: {{ url: "{given['hook']}/notices", secret_file: {secret("webhook", WEBHOOK)} }}""" if services else ""
    outcomes = f"outcomes: {{ hook: {{ secret_file: {secret('hook', HOOK)} }}, report: {{ at: '03:30' }} }}" if services else ""
    talkdesk = f"""talkdesk:
  account: acme
  client_id: {given['client_id']}
  key_id: {given['key_id']}
  token_url: {given['talkdesk']}/oauth/token
  api_url: {given['talkdesk']}
  audience: {given['talkdesk']}/oauth/token
  signer: {{ vault: "{given['vault']}", key: talkdesk, auth: {{ token_file: {secret("vault-token", "canary-bao-token")} }} }}
""" if services else ""
    return f"""{talkdesk}
external_urls: ["{EXTERNAL}"]
allow_anonymous: false
listen: {{ trusted_proxies: [127.0.0.1/32], forwarded_hops: 1 }}
log: {{ level: debug, audit: {{ chain: true }} }}
limits: {{ header_timeout: 3s, request_timeout: 3s, content_bytes: 32768 }}
cors: {{ origins: ["https://shop.example"] }}
tokens: {{ deadline: {deadline} }}
admin:
  operators: [{{ name: grafana, token_sha256: {sha256(READER)}, role: read }}]
  jwt: {{ issuer: "https://id.example", audience: callgate-admin, hs256_secret_file: {secret("operators", OPERATORS)},
    role: {{ claim: groups, operate: [oncall] }} }}
callbacks: {{ talkdesk_phone_numbers: ["{OWN}"], timeout: {deadline} }}
appointments: {{ earliest: 0s, per_slot: 1, confirm: {{ before: 10s }}, calling: true }}
notices:
  {fcm}
  {apns}
  {http}
  texts: {{ access: Your token is ready. }}
{outcomes}
availability: {{ live: {{ query: agents-available }} }}
attestation:
  app_check: {{ project_number: "{PROJECT}", project_id: {NAME}{url("app_check", "keys_url")}{', consume: true, ' + account("check") if services else ""} }}
  app_attest: {{}}
  play_integrity: {{ {account("play")} }}
desks:
  chat:
    kind: sendbird
    application_id: APP-1
    user_id: "{{caller}}:{{subject}}"
    api_token_file: {secret("sendbird", "canary-master-token")}
    desk_api_token_file: {secret("desk", "canary-desk-token")}
    {f'url: "{given["talkdesk"]}"' if services else ""}
    {f'desk_url: "{given["talkdesk"]}"' if services else ""}
gms: {{ services: {{ support: {{ app: shop, query_by_number: true }} }} }}
mcp: {{ callers: [office, kiosk], app: shop }}
numbers:
  proofs:
    claim: {{}}
    firebase: {{ project_number: "{PROJECT}", project_id: {NAME}{url("proofs", "keys_url")} }}
  consent: {{ texts: {{ v3: {sha256(TEXT)} }} }}
  screening:
    validation: {{ refuse: {{ status: [high_risk], tcpa_blacklist: true, fraud_score: 85 }} }}
    do_not_call: {{ lists: [sandbox] }}
callers:
  - {{ id: office, basic: {{ username: office, password_file: {secret("office", "canary-office-with-many-characters")} }} }}
  - {{ id: mobile, basic: {{ username: mobile, password_sha256: {sha256("canary-mobile")} }} }}
  - {{ id: outsider, basic: {{ username: outsider, password_sha256: {sha256("canary-outsider")} }} }}
  - {{ id: kiosk, api_key: {{ sha256: {sha256("canary-kiosk")} }} }}
  - {{ id: users, jwt: {{ issuer: "https://id.example", audience: callgate, hs256_secret_file: {secret("users", USERS)} }} }}
  - {{ id: partners, jwt: {{ issuer: "https://partners.example", audience: callgate, jwks_url: "{jwks}" }} }}
apps:
  shop:
    callers: [office, kiosk, users, partners]
    installations: {{ authorize: [user, operator], per_subject: 2, verifiers: [office] }}
    callbacks: {{ verification_code: true }}
    context_schema: {{ fields: {{ issue: {{ max_length: 20 }}, reason: {{}} }}, add: {{ source: app }} }}
  push: {{ callers: [users], delivery: push, installations: {{ authorize: [user] }} }}
  keyed: {{ callers: [users], installations: {{ authorize: [user], key: required }} }}
  chat: {{ callers: [users], desk: chat }}
  checked: {{ callers: [mobile], app_check: enforce, attested: {{ app_check: ["{IOS}"] }} }}
  attested:
    callers: [users]
    installations: {{ authorize: [attestation] }}
    attested:
      mode: enforce
      app_check: ["{IOS}"]
      app_attest: {{ app_id: {BUNDLE} }}
      play: {{ package: {PACKAGE}, certificates: ["{CERTIFICATE}"] }}
""" + "".join(f"  {name}: {{ callers: [office, users, partners, outsider], scope: \"{SCOPES.get(name, SDK)}\" }}\n" for name in RULED) + f"""rules:
  - {{ name: closed, kind: hours, on: callback, apps: [closed], timezone: UTC, weekly: {{ {WEEKDAY}: "03:00-03:01" }} }}
  - {{ name: fast, kind: rate, apps: [rated], key: caller, limit: 1, per: 1h }}
  - {{ name: daily, kind: quota, apps: [counted], key: caller, limit: 1, per: week }}
  - {{ name: countries, kind: numbers, apps: [abroad], allow: ["+351"] }}
  - {{ name: networks, kind: addresses, apps: [networks], deny: [203.0.113.0/24] }}
  - {{ name: gold, kind: claims, apps: [gold], require: {{ tier: [gold] }} }}
  - {{ name: recent, kind: field, field: X-App-Version, at_least: "1.0", mode: audit }}
  - {{ name: old, kind: field, apps: [old], field: X-App-Version, at_least: "2.0" }}
  - {{ name: agents, kind: agents, on: callback, apps: [agents], at_least: 1 }}
  - {{ name: policy, kind: remote, apps: [asked], url: "{policy}", timeout: 5s }}
  - {{ name: own-number, kind: own_number, apps: [own] }}
  - {{ name: agreed, kind: consent, apps: [agreed] }}
  - {{ name: screened, kind: screened, apps: [screened] }}
"""


# An app for each kind of rule.
RULED = ["closed", "rated", "counted", "abroad", "networks", "gold", "old", "agents", "asked", "own", "agreed", "screened", "stopped"]


def user(subject="ann", **claims):
    """A JWT of a user."""
    return hs256(USERS, subject=subject, iat=int(time.time()), **claims)


def operator(**claims):
    """A JWT of an operator."""
    return hs256(OPERATORS, audience="callgate-admin", subject="olga", iat=int(time.time()), **claims)


def hook_part(purpose):
    """The last segment of the hook's path (`path`), or the token of its events (`event`): HKDF (RFC 5869) with one block."""
    return encode(hmac.digest(hmac.digest(b"callgate outcomes", HOOK, "sha256"), purpose + b"\x01", "sha256"))


def number_proof(key, phone):
    """A proof of a number in Google's form, which works once."""
    base, now = "https://fpnv.googleapis.com/projects/", int(time.time())
    claims = {"iss": base + PROJECT, "aud": [base + PROJECT, base + NAME], "sub": phone, "iat": now, "exp": now + 3600, "jti": str(uuid.uuid4())}
    return key.signed(".".join(encode(json.dumps(part).encode()) for part in ({"alg": "ES256", "kid": key.kid, "typ": "JWT"}, claims)))


def app_check(key, app=IOS):
    """A token of App Check by a key of the tests."""
    base, now = "https://firebaseappcheck.googleapis.com/", int(time.time())
    return key.sign({"iss": base + PROJECT, "aud": [f"projects/{PROJECT}", f"projects/{NAME}"], "sub": app, "iat": now, "exp": now + 3600,
                     "jti": str(uuid.uuid4())})


class Phone(Prover):
    """An installation of an app, with its secret, and with a key where the app wants one."""

    def __init__(self, app, subject=None, is_keyed=False):
        super().__init__(base=EXTERNAL)
        self.app, self.subject, self.is_keyed, self.secret = app, subject, is_keyed, None
        self.values = {"client_id": str(uuid.uuid4()), "client_app": "Shop"}
        if is_keyed:
            self.values["jkt"] = self.key.thumbprint

    @property
    def user(self):
        return f"{self.values['client_id']}:{self.secret}"


class Google(Stub):
    """Google's token endpoint, Firebase Cloud Messaging, Play Integrity, and the check of App Check tokens. `statement` is what the last
    phone attested."""

    statement = ""

    def answer(self, arrival):
        if arrival.path == "/token":
            return Reply(200, {"access_token": "ya29.canary", "token_type": "Bearer", "expires_in": 3600})
        if arrival.path.endswith("messages:send"):
            return Reply(200, {"name": "projects/shop-1/messages/1"})
        if "verifyAppCheckToken" in arrival.path:
            return Reply(200, {})
        return Reply(200, {"tokenPayloadExternal": {
            "requestDetails": {"requestPackageName": PACKAGE, "timestampMillis": f"{int(time.time())}000",
                               "requestHash": encode(hashlib.sha256(self.statement.encode()).digest())},
            "appIntegrity": {"appRecognitionVerdict": "PLAY_RECOGNIZED", "packageName": PACKAGE, "certificateSha256Digest": [CERTIFICATE],
                             "versionCode": "42"},
            "deviceIntegrity": {"deviceRecognitionVerdict": ["MEETS_BASIC_INTEGRITY", "MEETS_DEVICE_INTEGRITY"]},
            "accountDetails": {"appLicensingVerdict": "LICENSED"}}})
