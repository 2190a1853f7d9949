"""Keys, JWTs and certificates of the tests, made with the openssl command."""
import base64
import contextlib
import hashlib
import hmac
import itertools
import json
import ssl
import subprocess
import time

from .processes import scratch

_serial = itertools.count(1)


def encode(data):
    """Base64url without padding (RFC 7515 §2)."""
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def sha256(text):
    """A digest as `password_sha256` and `sha256` want it."""
    return hashlib.sha256(text.encode()).hexdigest()


def claims_of(issuer="https://id.example", audience="callgate", subject="ann", life=300, **more):
    """Claims of an app's user; None removes one."""
    claims = {"iss": issuer, "aud": audience, "sub": subject, "exp": int(time.time()) + life, **more}
    return {name: value for name, value in claims.items() if value is not None}


class Key:
    """A P-256 key of an issuer: `public` is its JWK, `sign` makes JWTs."""

    def __init__(self, kid="k1"):
        self.kid = kid
        self.path = scratch(f"key-{next(_serial)}.pem")
        openssl("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", self.path)
        point = openssl("pkey", "-in", self.path, "-pubout", "-outform", "DER")
        self.public = {"kty": "EC", "crv": "P-256", "kid": kid, "use": "sig", "alg": "ES256", "x": encode(point[-64:-32]),
                       "y": encode(point[-32:])}

    def sign(self, header={}, **claims):
        """A JWT with the claims of claims_of; `header` changes its header."""
        header = {"alg": "ES256", "kid": self.kid, "typ": "JWT", **header}
        return self.signed(".".join(encode(json.dumps(part).encode()) for part in (header, claims_of(**claims))))

    def signed(self, text):
        """The signing input and its signature."""
        der = openssl("dgst", "-sha256", "-sign", self.path, content=text.encode())
        numbers, at = [], 2
        for _ in range(2):
            length = der[at + 1]
            numbers.append(int.from_bytes(der[at + 2:at + 2 + length], "big").to_bytes(32, "big"))
            at += 2 + length
        return f"{text}.{encode(b''.join(numbers))}"


class RSAKey:
    """An RSA key of an issuer: `public` is its JWK, `sign` makes JWTs by RS256 with just the claims that are given.
    None removes a member of the header."""

    def __init__(self, kid="k1"):
        self.kid = kid
        self.path = scratch(f"key-{next(_serial)}.pem")
        openssl("genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048", "-out", self.path)
        modulus = openssl("rsa", "-in", self.path, "-noout", "-modulus").decode().strip().partition("=")[2]
        self.public = {"kty": "RSA", "kid": kid, "use": "sig", "alg": "RS256", "n": encode(bytes.fromhex(modulus)), "e": "AQAB"}

    def sign(self, claims, header={}):
        header = {name: value for name, value in {"alg": "RS256", "kid": self.kid, "typ": "JWT", **header}.items() if value is not None}
        text = ".".join(encode(json.dumps(part).encode()) for part in (header, claims))
        return f"{text}.{encode(openssl('dgst', '-sha256', '-sign', self.path, content=text.encode()))}"


def hs256(secret, header={}, **claims):
    """A JWT under a shared secret (octets), which costs no process: for many."""
    text = ".".join(encode(json.dumps(part).encode()) for part in ({"alg": "HS256", "typ": "JWT", **header}, claims_of(**claims)))
    return f"{text}.{encode(hmac.digest(secret, text.encode(), 'sha256'))}"


def certificate(names="DNS:localhost,IP:127.0.0.1", days=1):
    """A self-signed certificate: the paths of certificate and key, both PEM."""
    number = next(_serial)
    pem, key = scratch(f"certificate-{number}.pem"), scratch(f"certificate-{number}.key")
    openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", str(days), "-subj",
            "/CN=localhost", "-addext", f"subjectAltName={names}", "-keyout", key, "-out", pem)
    return pem, key


def openssl(*arguments, content=None):
    """What an openssl command prints, as octets."""
    return subprocess.run(["openssl", *arguments], input=content, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True).stdout


class Authority:
    """An authority of the tests' own, by itself or by another one. `path` is its certificate, `root` that of the first one."""

    def __init__(self, name="Test authority", issuer=None):
        self.issuer = issuer
        self.path, self.key = _issued(f"/CN={name}", "basicConstraints=critical,CA:TRUE\nkeyUsage=critical,keyCertSign", 90, issuer)

    @property
    def root(self):
        return self.issuer.root if self.issuer else self.path

    def issue(self, names="DNS:localhost,IP:127.0.0.1", days=90, subject="/CN=localhost"):
        """A server's certificate: the paths of certificate and key, both PEM."""
        return _issued(subject, f"basicConstraints=critical,CA:FALSE\nsubjectAltName={names}", days, self)


def _issued(subject, extensions, days, issuer):
    number = next(_serial)
    pem, key, request = (scratch(f"issued-{number}.{kind}") for kind in ("pem", "key", "csr"))
    openssl("req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", key, "-out", request,
            "-subj", subject)
    signer = ("-CA", issuer.path, "-CAkey", issuer.key, "-CAcreateserial") if issuer else ("-signkey", key)
    openssl("x509", "-req", "-in", request, *signer, "-days", str(days), "-sha256", "-extfile",
            scratch(f"issued-{number}.ext", extensions + "\n"), "-out", pem)
    return pem, key


def hello():
    """The octets of a TLS client's greeting."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    with contextlib.suppress(ssl.SSLWantReadError):
        ssl.create_default_context().wrap_bio(incoming, outgoing, server_hostname="localhost").do_handshake()
    return outgoing.read()
