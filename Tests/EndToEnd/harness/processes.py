"""The scratch folder, a clean environment, and processes that end with the test."""
import atexit
import contextlib
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile

from .checks import FILE, Skipped

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
SCRATCH = tempfile.mkdtemp(prefix="callgate-test-")
_ending = []


def at_end(action):
    """Runs an action when the test ends, the last one first."""
    _ending.append(action)


@atexit.register
def _end():
    while _ending:
        try:
            _ending.pop()()
        except Exception as error:  # The others still have to be ended.
            print(f"{FILE}: at the end: {error!r}", file=sys.stderr)


at_end(lambda: shutil.rmtree(SCRATCH, ignore_errors=True))
# What is ended from outside ends its servers, too.
signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))


def required(name, meaning):
    """The value of a variable without which no test runs."""
    if not os.environ.get(name):
        sys.exit(f"{FILE}: {name} is not set: {meaning}")
    return os.environ[name]


CALLGATE = os.path.abspath(required("CALLGATE", "the path of the callgate binary under test"))
LOGS = os.path.abspath(required("LOGS", "a folder that keeps every server output of this run"))
# For the tests alone: the server would note a variable that it does not know.
SHARED = os.environ.get("CALLGATE_SHARED") or os.path.join(ROOT, "..", "shared")

# Nothing of the caller's environment may change what is tested.
for _name in list(os.environ):
    if re.fullmatch(r"(TD_|CALLGATE_|DEFAULT_USER|DEFAULT_PASSWORD|DATABASE_URL).*|HOST|PORT|DYNO|.*_(proxy|PROXY)", _name):
        del os.environ[_name]
# A test that wants a file or a database says so.
os.environ["CALLGATE_STATE"] = "memory"


def environment(changes):
    """The environment of a new process: this one's with changes; None removes a variable."""
    return {name: str(value) for name, value in {**os.environ, **changes}.items() if value is not None}


def scratch(name, content=None):
    """The path of a file in the scratch folder, written where content is given."""
    path = os.path.join(SCRATCH, name)
    if content is not None:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
    return path


def read(path):
    """The text of a file; a relative path is one of the repository."""
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def replace(path, content, mode=0o644):
    """Puts a file in the place of another in one step, as a tool that is careful with its readers does."""
    with open(os.open(path + ".new", os.O_CREAT | os.O_TRUNC | os.O_WRONLY, mode), "w", encoding="utf-8") as file:
        file.write(content)
    os.rename(path + ".new", path)


def library(source):
    """Compiles a C file of Tests/EndToEnd to a library for LD_PRELOAD and returns its path."""
    compiler = shutil.which("cc") or shutil.which("clang")
    if not compiler:
        raise Skipped("no C compiler")
    path = scratch(os.path.basename(source) + ".so")
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", path, os.path.join(ROOT, "Tests/EndToEnd", source), "-ldl"], check=True)
    return path


def tool(name):
    """The path of one of Python's tools (script/tools.txt)."""
    path = os.path.join(ROOT, ".build/tools/bin", name)
    if not os.access(path, os.X_OK):
        raise RuntimeError(f"no {name}: run script/bootstrap test first")
    return path


def log_path(name):
    """A new file in LOGS for the output of a process. Each process has a file of its own, also under a name used before, and where
    several threads start them."""
    path = os.path.join(LOGS, f"{FILE}.{name}.{os.getpid()}.out")
    number = 1
    while True:
        try:
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644))
            return path
        except FileExistsError:
            number += 1
            path = os.path.join(LOGS, f"{FILE}.{name}.{os.getpid()}.{number}.out")


def spawn(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, changes={}, **more):
    """Starts a process that is killed at the end of the test where it still runs."""
    process = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=stdout, stderr=stderr, env=environment(changes), **more)
    at_end(lambda: end(process))
    return process


def end(process, sent=signal.SIGTERM, seconds=10):
    """Ends a process of ours: with a signal, then with SIGKILL. Returns its exit status."""
    if process.poll() is None:
        process.send_signal(sent)
    try:
        return process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()


def free_port():
    """A port of loopback that nothing listens on, and that the kernel gives to no connection and no port 0 meanwhile."""
    end = int(read("/proc/sys/net/ipv4/ip_local_port_range").split()[0])
    while True:
        port = random.randrange(10_000, max(end, 20_000))
        with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port
