"""A PostgreSQL server in a folder of its own on a loopback port."""
import contextlib
import glob
import os
import pwd
import re
import shutil
import signal
import subprocess
import tempfile

from .checks import Skipped
from .processes import at_end, free_port

SETTINGS = """listen_addresses = '127.0.0.1'
port = {port}
unix_socket_directories = '{folder}'
fsync = off
max_connections = 80
shared_buffers = 16MB
"""


class Postgres:
    """Starts with an empty cluster whose user is callgate, its password `secret`. Ends with the test, or with `with`. `settings` are
    further lines of postgresql.conf. What is tested is this project's part, so `fsync` is off where no setting says otherwise."""

    def __init__(self, settings=""):
        found = sorted(glob.glob("/usr/lib/postgresql/*/bin"), key=lambda path: [int(n) for n in re.findall(r"\d+", path)])
        if not found or not os.access(f"{found[-1]}/initdb", os.X_OK):
            raise Skipped("no server under /usr/lib/postgresql: install postgresql")
        self.programs = found[-1]
        self.folder = tempfile.mkdtemp(prefix="callgate-postgres-", dir="/tmp")
        # The server refuses to be root.
        self.prefix = []
        if os.getuid() == 0:
            name = next(user for user in ("postgres", "nobody") if _exists(user))
            shutil.chown(self.folder, name)
            self.prefix = ["runuser", "-u", name, "--"]
        self.data, self.port = f"{self.folder}/data", free_port()
        with open(f"{self.folder}/password", "w", encoding="ascii") as file:
            file.write("secret\n")
        os.chmod(file.name, 0o644)
        at_end(self.end)
        self.run("initdb", "-D", self.data, "-U", "callgate", f"--pwfile={file.name}", "--auth=scram-sha-256", "--no-sync",
                 "-E", "UTF8", "--locale=C")
        with open(f"{self.data}/postgresql.conf", "a", encoding="ascii") as file:
            file.write(SETTINGS.format(port=self.port, folder=self.folder) + settings)
        self.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()

    def run(self, program, *arguments):
        """Runs one of the server's programs as who owns it, and returns what it prints."""
        # To a file: pg_ctl's child, the server, would keep a pipe open.
        with tempfile.TemporaryFile() as out:
            ended = subprocess.run(
                [*self.prefix, f"{self.programs}/{program}", *arguments], cwd=self.folder, stdin=subprocess.DEVNULL, stdout=out,
                stderr=subprocess.STDOUT, env={**os.environ, "PGPASSWORD": "secret"})
            out.seek(0)
            text = out.read().decode("utf-8", "replace")
        if ended.returncode != 0:
            raise RuntimeError(f"{program} ended with {ended.returncode}: {text}")
        return text

    def start(self):
        self.run("pg_ctl", "-D", self.data, "-l", f"{self.folder}/log", "-w", "-t", "60", "-s", "start")

    def stop(self, mode="fast"):
        """`fast` tells clients; `immediate` is a crash."""
        self.run("pg_ctl", "-D", self.data, "-m", mode, "-w", "-t", "60", "-s", "stop")

    def signal(self, number):
        """To the server and every process of it: SIGSTOP makes it hang, SIGCONT lets it go on."""
        with open(f"{self.data}/postmaster.pid", encoding="ascii") as file:
            main = int(file.readline())
        with open(f"/proc/{main}/task/{main}/children", encoding="ascii") as file:
            for process in (main, *map(int, file.read().split())):
                with contextlib.suppress(ProcessLookupError):  # One of the children may have ended.
                    os.kill(process, number)

    def query(self, database, sql):
        """What a statement gives, as text: a line for each row, columns parted by |."""
        return self.run("psql", "-h", "127.0.0.1", "-p", str(self.port), "-U", "callgate", "-d", database, "-v", "ON_ERROR_STOP=1",
                        "-XAtq", "-c", sql).rstrip("\n")

    def database(self, name):
        """Makes an empty database and returns its URL, for DATABASE_URL (with CALLGATE_STATE=None)."""
        self.query("postgres", f"CREATE DATABASE {name}")
        return self.url(name)

    def url(self, name):
        return f"postgres://callgate:secret@127.0.0.1:{self.port}/{name}"

    def end(self):
        if os.path.exists(f"{self.data}/postmaster.pid"):
            self.signal(signal.SIGCONT)
            self.stop("immediate")
        shutil.rmtree(self.folder, ignore_errors=True)


def _exists(name):
    try:
        return bool(pwd.getpwnam(name))
    except KeyError:
        return False
