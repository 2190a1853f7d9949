"""A stand-in for Vault or OpenBao: the Transit secrets engine with real keys, and its logins."""
import base64
import itertools

from .keys import encode, openssl
from .processes import scratch
from .stubs import Reply, Stub

_serial = itertools.count(1)
CURVES = {"ecdsa-p256": ("prime256v1", 32), "ecdsa-p384": ("secp384r1", 48), "ecdsa-p521": ("secp521r1", 66)}


class Bao(Stub):
    """A server of one key `talkdesk`. `tokens` are good, `lease` is the life of those that it gives, in seconds. `sealed`, `lying`
    (signatures of another key), `standby` are states, `redirect` is the URL to which a standby redirects; `rotate()` makes a new version,
    `minimum` is `min_encryption_version`. `signed` counts signatures by version."""

    def __init__(self, kind="ecdsa-p256"):
        self.kind, self.keys, self.signed = kind, {}, []
        self.tokens, self.lease, self.renewable = {"canary-bao-token"}, 1200, True
        self.sealed = self.lying = self.standby = False
        self.redirect, self.minimum = None, 0
        self.logins, self.renewals = [], 0
        self.rotate()
        super().__init__()

    def rotate(self):
        version = len(self.keys) + 1
        self.keys[version] = self._make()
        return version

    def _make(self):
        path = scratch(f"bao-{next(_serial)}.pem")
        if self.kind in CURVES:
            openssl("ecparam", "-name", CURVES[self.kind][0], "-genkey", "-noout", "-out", path)
        else:
            openssl("genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048", "-out", path)
        return path

    def public(self, version=1):
        """The public key of a version, as PEM."""
        return openssl("pkey", "-in", self.keys[version], "-pubout").decode()

    def answer(self, arrival):
        if self.sealed:
            return Reply(503, {"errors": ["Vault is sealed"]})
        if self.standby:
            return Reply(412, {"errors": ["required index state not present"]})
        if self.redirect:
            return Reply(307, fields={"Location": self.redirect + arrival.path})
        path = arrival.path
        if path.startswith("/v1/auth/") and path.endswith("/login"):
            return self._login(arrival)
        token = arrival.fields.get("x-vault-token")
        if token not in self.tokens:
            return Reply(403, {"errors": [f"permission denied for {token}"]})
        if path == "/v1/auth/token/renew-self":
            self.renewals += 1
            return self._auth(token) if self.renewable else Reply(400, {"errors": ["lease is not renewable"]})
        if path == "/v1/transit/keys/talkdesk" and arrival.method == "GET":
            keys = {str(version): {"public_key": self.public(version), "creation_time": "2026-01-01T00:00:00Z"} for version in self.keys}
            return Reply(200, {"data": {"type": self.kind, "latest_version": len(self.keys), "keys": keys, "supports_signing": True,
                                        "min_encryption_version": self.minimum}})
        if path == "/v1/transit/sign/talkdesk" and arrival.method == "POST":
            return self.answer_to(arrival.json)
        return Reply(404, {"errors": ["no handler for route"]})

    def _login(self, arrival):
        given = arrival.json
        self.logins.append(arrival.path)
        right = {"/v1/auth/approle/login": {"role_id": "callgate-role", "secret_id": "canary-secret-id"},
                 "/v1/auth/kubernetes/login": {"role": "callgate", "jwt": "canary-service-jwt"}}
        if right.get(arrival.path) != given:
            return Reply(400, {"errors": ["invalid role or secret ID"]})
        token = f"canary-login-{len(self.logins)}"
        self.tokens.add(token)
        return self._auth(token)

    def _auth(self, token):
        return Reply(200, {"auth": {"client_token": token, "lease_duration": self.lease, "renewable": self.renewable}})

    def answer_to(self, given):
        """The answer to a request for a signature."""
        version = given["key_version"] or len(self.keys)
        if version not in self.keys:
            return Reply(400, {"errors": ["requested version for signing is higher than the latest key version"]})
        if version < self.minimum:
            # OpenBao 2.7.2 answers so.
            return Reply(500, {"errors": ["1 error occurred:\n\t* requested version for signing is less than the minimum encryption key version\n\n"]})
        message = base64.b64decode(given["input"], validate=True)
        path = self._make() if self.lying else self.keys[version]
        digest = "-" + given["hash_algorithm"].replace("sha2-", "sha")
        if self.kind in CURVES:
            der, size = openssl("dgst", digest, "-sign", path, content=message), CURVES[self.kind][1]
            signature = encode(_joined(der, size)) if given["marshaling_algorithm"] == "jws" else base64.b64encode(der).decode()
        else:
            options = ["-sigopt", "rsa_padding_mode:pss", "-sigopt", "rsa_pss_saltlen:" + (
                "digest" if given.get("salt_length") == "hash" else "max")] if given["signature_algorithm"] == "pss" else []
            signature = base64.b64encode(openssl("dgst", digest, *options, "-sign", path, content=message)).decode()
        self.signed.append(version)
        return Reply(200, {"data": {"signature": f"vault:v{version}:{signature}", "key_version": version}})


def _joined(der, size):
    """R ‖ S of a DER signature."""
    at = 3 if der[1] & 0x80 else 2
    numbers = []
    for _ in range(2):
        length = der[at + 1]
        numbers.append(int.from_bytes(der[at + 2:at + 2 + length], "big").to_bytes(size, "big"))
        at += 2 + length
    return b"".join(numbers)
