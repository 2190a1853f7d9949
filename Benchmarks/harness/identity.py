"""A certificate for the servers of one run, made when it is needed and gone with the scratch folder."""

import ssl
import subprocess
from dataclasses import dataclass
from pathlib import Path

from harness.client import HOST
from harness.errors import Unmeasured


# Each kind of key as openssl req(1) is told to make it.
KINDS = {
    "P-256": ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"),
    "RSA-2048": ("-newkey", "rsa:2048"),
}


@dataclass(frozen=True)
class Identity:
    """Where certificate and key lie."""

    certificate: Path
    key: Path

    @staticmethod
    def make(folder: Path, kind: str) -> "Identity":
        """A key of a kind named in KINDS, and a certificate it signs itself."""
        identity = Identity(folder / f"tls-{kind}.pem", folder / f"tls-{kind}.key")
        command = ["openssl", "req", "-x509", "-nodes", *KINDS[kind], "-days", "30"]
        command += ["-keyout", str(identity.key), "-out", str(identity.certificate)]
        command += ["-subj", "/CN=callgate benchmark", "-addext", f"subjectAltName=IP:{HOST}"]
        try:
            subprocess.run(command, capture_output=True, timeout=30, check=True)
        except (OSError, subprocess.SubprocessError) as error:
            raise Unmeasured(f"openssl made no certificate: {error}") from error
        return identity

    def trust(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=str(self.certificate))
