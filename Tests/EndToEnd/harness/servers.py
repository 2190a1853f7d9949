"""The program under test: `callgate serve`, `callgate sandbox`, and its commands."""
import itertools
import json
import os
import re
import subprocess
from signal import SIGHUP, SIGKILL, SIGTERM

from .checks import until
from .asking import Client
from .processes import CALLGATE, end, environment, log_path, replace, scratch, spawn

START_LIMIT = 30
_configurations = itertools.count(1)


class NotStarted(Exception):
    """A server that ended, or did not listen in time, with what it wrote."""


class Controls:
    """The sandbox's controls: of `callgate sandbox`, and on the public port with --sandbox."""

    def fault(self, endpoint, **members):
        answer = self.post("/_sandbox/faults", {"endpoint": endpoint, **members}, user="")
        if answer.status != 201:
            raise AssertionError(f"the sandbox did not take a fault: {answer}")

    def clear(self):
        """Forgets faults that no request has met."""
        self.ask("DELETE", "/_sandbox/faults", user="")

    def accepts(self, key_id, accepted):
        """Whether Talkdesk knows a key."""
        self.post("/_sandbox/keys", {"key_id": key_id, "accepted": accepted}, user="")

    @property
    def exchanges(self):
        return self.get("/_sandbox/exchanges", user="").json["count"]

    @property
    def journal(self):
        """The callbacks that arrived: `callbacks`, `arrivals` and `rings`."""
        return self.get("/_sandbox/callbacks", user="").json

    @property
    def arrivals(self):
        return self.journal["arrivals"]

    def rings(self, number):
        return self.journal["rings"].get(number, 0)


class Process(Controls, Client):
    """A running callgate: waits for its listening line and keeps its output in LOGS (`log`, and stderr in `log`.err)."""

    def __init__(self, arguments, name, user=None, authority=None, changes={}, wrapper=(), binary=CALLGATE):
        self.log = log_path(name)
        with open(self.log, "wb") as out, open(self.log + ".err", "wb") as err:
            self.process = spawn([*wrapper, binary, *map(str, arguments)], out, err, changes)
        self.pid = self.process.pid
        found = until(lambda: self._listening() or (self.process.poll() is not None and "ended"), START_LIMIT)
        if not found or found == "ended":
            raise NotStarted(f"{name}: exit status {self.process.poll()}\n{self.output}{self.errors}")
        super().__init__(found, user, authority)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        end(self.process)

    def _listening(self):
        found = re.search(r"^callgate: listening on (\S+)\n", self.output, re.M)
        return found and found[1]

    @property
    def output(self):
        with open(self.log, encoding="utf-8", errors="replace") as file:
            return file.read()

    @property
    def errors(self):
        with open(self.log + ".err", encoding="utf-8", errors="replace") as file:
            return file.read()

    def count(self, pattern):
        """How many lines of the output so far a regular expression is found in."""
        return sum(bool(re.search(pattern, line)) for line in self.output.splitlines())

    @property
    def lines(self):
        """Every JSON line of the output so far: log and audit."""
        return [json.loads(line) for line in self.output.splitlines(keepends=True) if line[0] == "{" and line[-1] == "\n"]

    def logged(self, text, seconds=10.0, **members):
        """The first log line whose message contains a text and which has these members; waits for it. None where none comes."""
        return until(lambda: next((
            line for line in self.lines if line.get("log") != "audit" and text in json.dumps(line)
            and all(line.get(name) == value for name, value in members.items())), None), seconds)

    def audited(self, answer, seconds=10.0):
        """The audit line of an answer or a request id; waits for it, since logs are a moment behind. None where none comes."""
        wanted = answer if isinstance(answer, str) else answer.fields["x-request-id"]
        return until(lambda: next((line for line in self.audits if line["request_id"] == wanted), None), seconds)

    @property
    def audits(self):
        return [line for line in self.lines if line.get("log") == "audit"]

    @property
    def is_alive(self):
        return self.process.poll() is None

    def signal(self, number):
        self.process.send_signal(number)

    def stop(self, sent=SIGTERM, seconds=60):
        """Ends it with a signal and returns its exit status."""
        return end(self.process, sent, seconds)

    def kill(self):
        return end(self.process, SIGKILL)

    @property
    def memory(self):
        """Its resident memory in KiB."""
        return self._memory("VmRSS")

    @property
    def peak(self):
        """The most resident memory it has had, in KiB."""
        return self._memory("VmHWM")

    def _memory(self, name):
        with open(f"/proc/{self.pid}/status", encoding="ascii") as status:
            return int(re.search(rf"{name}:\s+(\d+)", status.read())[1])

    @property
    def cpu(self):
        """The processor time it has used, in seconds."""
        with open(f"/proc/{self.pid}/stat", encoding="ascii") as stat:
            fields = stat.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Server(Process):
    """`callgate serve ARGUMENT…` on a free port of loopback. `config` is YAML; other keywords are environment variables:

        with Server("--sandbox", config="callers: …", CALLGATE_ADMIN_TOKEN="canary-operators-token") as server:
            equal("a stranger is refused", server.get("/access").status, 401)

    `binary` is another release's program.
    """

    def __init__(self, *arguments, config=None, name="serve", user=None, authority=None, admin=None, wrapper=(), binary=CALLGATE,
                 **variables):
        given = list(arguments)
        self.config = None
        if config is not None:
            self.config = configuration(config)
            given += ["--config", self.config]
        for flag, value in (("--host", "127.0.0.1"), ("--port", "0")):
            if flag not in given:
                given += [flag, value]
        self.admin = admin or variables.get("CALLGATE_ADMIN_TOKEN")
        super().__init__(["serve", *given], name, user, authority, variables, wrapper, binary)

    def reload(self, config=None, sent=SIGHUP):
        """Writes a new configuration where one is given, and sends SIGHUP. Wait for what must follow with `logged` or `until`."""
        if config is not None:
            replace(self.config, config)
        self.signal(sent)

    def operate(self, method, path, content=None, **more):
        """Asks an operators' path with the admin token."""
        return self.ask(method, path, content, bearer=self.admin, **more)

    @property
    def admin_listener(self):
        """A client of the operators' own listener (`admin:` in the configuration)."""
        return Client("http://" + self.logged("admin listener started")["address"])

    def metric(self, name, **labels):
        """The sum of a metric's samples that have these labels; 0 where there is none."""
        return metric(self.operate("GET", "/metrics").text, name, **labels)


def metric(page, name, **labels):
    """The sum of the samples of a page of metrics that have this name and these labels."""
    total = 0.0
    for line in page.splitlines():
        found = re.fullmatch(r"([a-zA-Z0-9_:]+)(?:\{(.*)\})? (\S+)", line)
        if found and found[1] == name:
            has = dict(re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', found[2] or ""))
            if all(has.get(label) == value for label, value in labels.items()):
                total += float(found[3])
    return total


class Emulator(Process):
    """`callgate sandbox`: Talkdesk ID and the Callback API. `variables` is the environment of its client; its private key does
    not stay in the kept output."""

    def __init__(self, *arguments, name="emulator"):
        super().__init__(["sandbox", "--port", "0", *arguments], name)
        settings = re.findall(r"^(TD_\w+)=(.*)$", self.output, re.M)
        self.variables = {name: value.strip("'\"") for name, value in settings}
        # In place: the program still writes to this file.
        with open(self.log, "r+b") as file:
            text = file.read()
            key = self.variables.get("TD_PRIVATE_KEY", "").encode()
            file.seek(0)
            file.write(text.replace(key, b"*" * len(key)) if key else text)


def configuration(text):
    """Writes YAML to a file of its own and returns its path."""
    return scratch(f"config-{next(_configurations)}.yaml", text)


class Outcome:
    """How a command ended: `status`, `out` and `err`."""

    def __init__(self, status, out, err):
        self.status, self.out, self.err = status, out, err

    def __repr__(self):
        return f"exit status {self.status}\n{self.out}{self.err}"

    @property
    def json(self):
        return json.loads(self.out)


def command(*arguments, config=None, standard_input=None, seconds=60, **variables):
    """Runs `callgate ARGUMENT…` to its end. `config` is YAML, and becomes `--config FILE`."""
    given = [CALLGATE, *map(str, arguments)]
    if config is not None:
        given += ["--config", configuration(config)]
    ended = subprocess.run(
        given, input=standard_input, stdin=None if standard_input is not None else subprocess.DEVNULL, capture_output=True,
        env=environment(variables), timeout=seconds, text=True, errors="replace")
    return Outcome(ended.returncode, ended.stdout, ended.stderr)


def talkdesk(token=None, api=None, **more):
    """The environment of a server whose Talkdesk is a pair of stubs: `token` a TalkdeskID, `api` a CallbackAPI."""
    return {
        "TD_ACCOUNT_NAME": "acme", "TD_CLIENT_ID": "client", "TD_CLIENT_SECRET": "canary-client-secret",
        "TD_PHONE_NUMBER": "+18500000000", **({"TD_TOKEN_URL": token.url} if token else {}),
        **({"TD_API_URL": api.url} if api else {}), **more}


def program(name):
    """The command line of a Python program of the harness (load.py, supervisor.py)."""
    return ["python3", os.path.join(os.path.dirname(os.path.abspath(__file__)), name)]


def steady(server, path, rate, seconds, connections, authority=None):
    """What load.py says of a steady load of GET requests over kept connections, as JSON."""
    ended = subprocess.run(
        [*program("load.py"), server.host, str(server.port), path, str(rate), str(seconds), str(connections),
         *([authority] if authority else [])], capture_output=True, text=True, check=True)
    return json.loads(ended.stdout)
