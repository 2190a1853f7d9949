"""nginx with a site of the test's own."""
import os
import socket

from .checks import Skipped, until
from .processes import end, free_port, scratch, spawn

PROGRAM = "/usr/sbin/nginx"


class Front:
    """A process in front of a server, with a port of loopback. It ends with the block that it is used in."""

    def listens(self):
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self):
        end(self.process)


class Nginx(Front):
    """Runs a site: what stands within `http {}`, with {port} where its own port belongs and {folder} where it may write."""

    def __init__(self, site):
        if not os.access(PROGRAM, os.X_OK):
            raise Skipped("no nginx: install nginx-light")
        self.port = free_port()
        folder = scratch(f"nginx-{self.port}")
        os.mkdir(folder)
        paths = " ".join(f"{name}_temp_path {folder}/{name};" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        configuration = scratch(f"nginx-{self.port}.conf", f"""daemon off; master_process off; pid {folder}/pid;
error_log {folder}/error.log; events {{}}
http {{ access_log off; {paths}
{site.replace("{port}", str(self.port)).replace("{folder}", folder)}
}}
""")
        self.errors = f"{folder}/error.log"
        self.process = spawn([PROGRAM, "-e", self.errors, "-c", configuration])
        if not until(lambda: self.listens() or self.process.poll() is not None) or self.process.poll() is not None:
            with open(self.errors, encoding="utf-8") as file:
                raise RuntimeError(f"nginx did not start: {file.read()}")


def gatekeeper(upstream, people):
    """An authenticating proxy: it knows people by HTTP Basic (the password is x), and sends on whose JWT they have."""
    names = scratch("people", "".join(f"{name}:{{PLAIN}}x\n" for name in people))
    tokens = " ".join(f'{name} "{token}";' for name, token in people.items())
    return Nginx(f"""map $remote_user $token {{ {tokens} }}
server {{ listen 127.0.0.1:{{port}}; auth_basic operators; auth_basic_user_file {names};
    location / {{ proxy_pass http://127.0.0.1:{upstream}; proxy_set_header Host $http_host;
        proxy_set_header Authorization "Bearer $token"; }} }}""")
