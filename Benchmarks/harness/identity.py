"""A certificate for the servers of one run, made when it is needed and gone with the scratch folder."""

import ssl
import subprocess
from dataclasses import dataclass
from pathlib import Path

from harness.client import HOST
from harness.errors import Unmeasured


@dataclass(frozen=True)
class Identity:
    """Where certificate and key lie."""

    certificate: Path
    key: Path

    @staticmethod
    def make(folder: Path) -> "Identity":
        """A key on P-256 and a certificate it signs itself."""
        identity = Identity(folder / "tls.pem", folder / "tls.key")
        command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
        command += ["-keyout", str(identity.key), "-out", str(identity.certificate), "-days", "30"]
        command += ["-subj", "/CN=callgate benchmark", "-addext", f"subjectAltName=IP:{HOST}"]
        try:
            subprocess.run(command, capture_output=True, timeout=30, check=True)
        except (OSError, subprocess.SubprocessError) as error:
            raise Unmeasured(f"openssl made no certificate: {error}") from error
        return identity

    def trust(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=str(self.certificate))
