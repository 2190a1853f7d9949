"""A client of DPoP (RFC 9449) with a key of its own, which makes right proofs and wrong ones."""
import hashlib
import json
import os
import time

from .keys import Key, encode


class PhoneKey(Key):
    """A phone's key: `thumbprint` is its `jkt`."""

    def __init__(self):
        super().__init__()
        self.jwk = {name: self.public[name] for name in ("crv", "kty", "x", "y")}
        self.thumbprint = encode(hashlib.sha256(json.dumps(self.jwk, separators=(",", ":")).encode()).digest())

    def proof(self, method, url, nonce, header={}, token=None, **claims):
        """A proof of a request. `header` and further claims change it; None removes one."""
        header = {"typ": "dpop+jwt", "alg": "ES256", "jwk": self.jwk, **header}
        content = {"jti": encode(os.urandom(16)), "htm": method, "htu": url.partition("?")[0], "iat": int(time.time()), "nonce": nonce}
        if token:
            content["ath"] = encode(hashlib.sha256(token.encode()).digest())
        content.update(claims)
        parts = [{name: value for name, value in part.items() if value is not None} for part in (header, content)]
        return self.signed(".".join(encode(json.dumps(part).encode()) for part in parts))


class Prover:
    """Sends the requests of one phone to servers, each with a new proof and the nonce that the server gave last."""

    def __init__(self, key=None, base=None):
        self.key, self.base, self.nonce = key or PhoneKey(), base, None

    def url(self, server, path):
        return (self.base or server.url) + path

    def proof(self, server, method, path, **more):
        return self.key.proof(method, self.url(server, path), more.pop("nonce", self.nonce), **more)

    def learn(self, server, path="/access", **credentials):
        """Takes a nonce from the refusal of a request without a proof."""
        answer = server.get(path, **credentials)
        self.nonce = answer.fields.get("dpop-nonce", self.nonce)
        return answer

    def ask(self, server, method, path, content=None, proof={}, fields={}, scheme=None, token=None, **more):
        """One request with a right proof, or one with `proof` changed. Once more with the nonce that a refusal names."""
        answer = None
        for _ in range(2):
            lines = {**fields, "DPoP": self.proof(server, method, path, token=token, **proof)}
            if scheme:
                lines["Authorization"] = f"{scheme} {token}"
            answer = server.ask(method, path, content, fields=lines, **more)
            told = answer.fields.get("www-authenticate", "")
            self.nonce = answer.fields.get("dpop-nonce", self.nonce)
            if "use_dpop_nonce" not in str(told) or "nonce" in proof:
                break
        return answer
