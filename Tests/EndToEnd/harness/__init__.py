"""The harness of the end-to-end tests: starts the release binary, asks it, stands in for what it talks to, compares, counts.

A test is an executable file `Tests/EndToEnd/NN-name` of cases. script/test runs each by its first line, with CALLGATE (the
binary), LOGS (a folder that keeps every server's output) and SKIPPED (a file for what could not be run):

    #!/usr/bin/env python3
    '''What this file shows, in a sentence or two.'''
    from harness import *

    @case("a stranger is refused where a caller is configured")
    def strangers():
        with Server("--sandbox", DEFAULT_USERNAME="app", DEFAULT_PASSWORD="canary-pass") as server:
            answer = server.get("/access")
            check("it says so", answer.says(401, "unauthenticated"), answer)
            equal("the caller is let in", server.get("/access", user="app:canary-pass").status, 200)

    run()

To run one, or those of its cases whose sentence contains a text:

    LOGS=$(mktemp -d) CALLGATE=.build/debug/callgate Tests/EndToEnd/NN-name ['text']

- Checks: `check(NAME, IS_RIGHT, TOLD)`, `equal`, `matches`, `until(CONDITION)` for what comes a moment later, `skip(NAME, REASON)`,
  and `raise Skipped(REASON)` for a whole case. A name is a sentence that says what is right.
- The program: `Server`, `Emulator`, `command(…)`, `talkdesk(token, api)` for the environment of a server before stubs. `config` is
  YAML, other keywords are environment variables; None removes one. State is in memory unless a test sets CALLGATE_STATE. Controls of
  the sandbox: `fault`, `clear`, `accepts`, `exchanges`, `arrivals`, `rings`.
- Requests: `server.get`, `.post`, `.ask`, `.callback`, `.record`, `.operate` (admin token), `.connect()` for raw octets on a kept
  connection. `begin` sends one and goes on, `at_once` and `paced` send many; `statuses` counts their answers; `steady` is a load of
  kept connections.
- What was written: `server.audited(answer)`, `.logged(text)`, `.lines`, `.metric(name, label=…)`, `.memory`, `.peak`, `.cpu`,
  `.count(pattern)` of lines.
- Stand-ins: `TalkdeskID`, `CallbackAPI`, `Bao`, `KeySet`, `Policy`, `Evaluator`, `Stub` with `Reply`, `Say`, `Silent`, `Hole`, `Link`, `Through`, `Postgres`,
  `Nginx`, `gatekeeper` (an authenticating one), and `Proxy` for the files in deploy/. Each records what arrived and answers as it is told.
- Terminals: `Terminal(ARGUMENT…, cwd=FOLDER)` runs a command at a pseudo-terminal, `Shell(cwd=FOLDER)` a bash: `type`, `expect`,
  `wait`, `status`, `echoes`.
- Keys: `Key(kid).sign(subject=…)`, `RSAKey(kid).sign(claims)`, `hs256`, `sha256`, `certificate()`, `Authority().issue()`.
- Files: `scratch(name, content)`, `replace(path, content)` in one step, `read(path)` of the repository or anywhere, `library(source)`
  compiles C for LD_PRELOAD.

Everything that a test starts ends with it. Passwords and keys of tests carry the word `canary`, so that script/scan-logs finds
them in the logs. A condition is waited for with `until` or a stub's `wait`, never with a sleep.

Only Python's own library is used. A check that needs a tool adds its package to `script/bootstrap` (a Debian package in the list of
its part) or to `script/tools.txt` (PyPI, found in `.build/tools/bin`), and calls `skip` where it is missing. What is too slow for
each run (a browser, generated clients) has a part of script/bootstrap and a step of `script/test --all` of its own.
"""
from .bao import Bao
from .callback_api import CallbackAPI
from .checks import Skipped, case, check, equal, matches, run, skip, until
from .asking import (
    Answer, Client, Connection, at_once, begin, new_number, paced, request, retry_after, statuses)
from .keys import Authority, Key, RSAKey, certificate, claims_of, hello, hs256, openssl, sha256
from .nginx import Nginx, gatekeeper
from .postgres import Postgres
from .processes import (
    CALLGATE, LOGS, ROOT, SCRATCH, SHARED, end, environment, free_port, library, log_path, read, replace, scratch, spawn, tool)
from .proxies import PROXIES, Proxy
from .servers import Emulator, NotStarted, Outcome, Server, command, configuration, metric, program, steady, talkdesk
from .stubs import Arrival, Evaluator, Hole, KeySet, Link, Policy, Reply, Say, Silent, Stub, TalkdeskID, Through
from .terminal import Shell, Terminal
