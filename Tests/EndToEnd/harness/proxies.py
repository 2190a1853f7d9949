"""The proxies of deploy/, each with its shipped file before a port of loopback: only addresses and paths of files are changed."""
import glob
import itertools
import os
import shutil

from .asking import Client
from .checks import Skipped, check, until
from .keys import certificate
from .nginx import Front
from .processes import free_port, read, scratch, spawn

_numbers = itertools.count(1)
_MODULES = "mpm_event authz_core alias headers http2 proxy proxy_http setenvif ssl"


class Proxy(Front, Client):
    """A proxy before the server at a port: a client of it, and everything that it wrote. `kind` is a key of `PROXIES`."""

    def __init__(self, kind, upstream):
        program, package, file, settle = PROXIES[kind]
        if not shutil.which(program, path="/usr/sbin:/usr/bin"):
            raise Skipped(f"no {kind}: install {package}")
        port = self.port = free_port()
        # A port may be free again for the next one.
        self.folder = scratch(f"{kind}-{next(_numbers)}")
        os.mkdir(self.folder)
        pem, key = certificate()
        self.path = f"{self.folder}/configuration"
        with open(self.path, "w", encoding="utf-8") as out:
            out.write(settle(Text(read(f"deploy/{file}")).put("127.0.0.1:8080", f"127.0.0.1:{upstream}"), self.folder, port, pem, key))
        arguments = {
            "nginx": ["-e", f"{self.folder}/error.log", "-c"], "HAProxy": ["-db", "-f"],
            "Apache": ["-D", "FOREGROUND", "-f"], "Caddy": ["run", "--adapter", "caddyfile", "--config"],
        }[kind]
        self.printed = f"{self.folder}/printed.log"
        with open(self.printed, "wb") as out:
            self.process = spawn([program, *arguments, self.path], out, out, cwd=self.folder, changes={
                "PATH": "/usr/sbin:/usr/bin", "HOME": self.folder, "APACHE_LOG_DIR": self.folder})
        listens = until(lambda: self.listens() or self.process.poll() is not None)
        if not listens or self.process.poll() is not None:
            raise RuntimeError(f"{kind} did not start: {self.written}")
        super().__init__(f"https://127.0.0.1:{port}", authority=pem)

    @property
    def written(self):
        """Every log, and what it printed."""
        return "".join(read(path) for path in sorted(glob.glob(f"{self.folder}/*.log")))


class Text(str):
    """A file whose parts are replaced; each has to be there."""

    def put(self, old, new):
        check(f"the file has {old}", old in self)
        return Text(self.replace(old, new))


def _nginx(text, folder, port, pem, key):
    site = (text.put("    listen [::]:443 ssl http2;\n", "").put("listen 443", f"listen 127.0.0.1:{port}")
            .put("/etc/nginx/tls/calls.example.com.pem", pem).put("/etc/nginx/tls/calls.example.com.key", key))
    paths = " ".join(f"{name}_temp_path {folder}/{name};" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    return (f"daemon off; master_process off; pid {folder}/pid; error_log {folder}/error.log; events {{}}\n"
            f"http {{ access_log {folder}/access.log; {paths}\n{site}}}\n")


def _haproxy(text, folder, port, pem, key):
    both = scratch(f"{folder}/both.pem", read(pem) + read(key))
    return (text.put("/etc/haproxy/tls/calls.example.com.pem", both).put("bind :443", f"bind 127.0.0.1:{port}")
            .put("/dev/log local0", "stdout format raw local0").put("    user haproxy\n    group haproxy\n", ""))


def _apache(text, folder, port, pem, key):
    site = (text.put("*:443", f"127.0.0.1:{port}").put("/etc/apache2/tls/calls.example.com.pem", pem)
            .put("/etc/apache2/tls/calls.example.com.key", key))
    modules = "".join(f"LoadModule {name}_module /usr/lib/apache2/modules/mod_{name}.so\n" for name in _MODULES.split())
    # The formats and the other log are those of Debian's apache2.conf and other-vhosts-access-log.conf.
    return (f"{modules}Listen 127.0.0.1:{port}\nPidFile {folder}/pid\nMutex file:{folder}\nServerName localhost\n"
            f"DocumentRoot {folder}\nErrorLog {folder}/error.log\n"
            'LogFormat "%h %l %u %t \\"%r\\" %>s %O \\"%{Referer}i\\" \\"%{User-Agent}i\\"" combined\n'
            f"CustomLog {folder}/other.log combined\n{site}")


def _caddy(text, folder, port, pem, key):
    # The site logs its requests here, in the format that the file has for that.
    start, end_ = text.index("\t\tformat filter"), text.index("\n\t}\n}")
    return (text.put("{\n\tlog {", "{\n\tadmin off\n\tauto_https disable_redirects\n\tlog {")
            .put("calls.example.com {", f"https://127.0.0.1:{port} {{\n\tbind 127.0.0.1\n\ttls {pem} {key}\n\tlog {{\n{text[start:end_]}\n\t}}"))


# The program, Debian's package, the file below deploy/, and what makes it fit a port of loopback.
PROXIES = {
    "nginx": ("nginx", "nginx-light", "nginx/callgate.conf", _nginx),
    "HAProxy": ("haproxy", "haproxy", "haproxy/haproxy.cfg", _haproxy),
    "Apache": ("apache2", "apache2", "apache/callgate.conf", _apache),
    "Caddy": ("caddy", "caddy", "caddy/Caddyfile", _caddy),
}
