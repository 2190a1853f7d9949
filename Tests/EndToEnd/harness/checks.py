"""Cases and checks: counts them, tells what failed, and ends the file with the status that script/test expects."""
import atexit
import os
import re
import sys
import threading
import time
import traceback

FILE = os.path.basename(sys.argv[0])
# How many failures of a file are shown; the others are only counted.
SHOWN = 40
counts = {"passed": 0, "failed": 0, "skipped": 0}
guard = threading.Lock()
cases = []
# The case that runs, as failures name it.
current = ""
is_over = False


class Skipped(Exception):
    """Ends a case that cannot be run on this machine."""


def masked(told):
    """What a failure shows: shortened, and no number of seven or more digits whole."""
    return re.sub(r"\+(\d{5,13})(?=\d\d)", lambda number: "+" + "*" * len(number[1]), str(told)[:1500])


def check(name, is_right, told=""):
    """Counts one comparison, named by a sentence that says what is right. `told` is shown where it is not. Any thread may call it."""
    with guard:
        counts["passed" if is_right else "failed"] += 1
        if not is_right and counts["failed"] <= SHOWN:
            print(f"FAIL {FILE}: {current}{name}\n  got      {masked(told)}", flush=True)
    return bool(is_right)


def equal(name, actual, expected):
    """Checks that two values are equal."""
    return check(name, actual == expected, f"{actual!r}\n  expected {expected!r}")


def matches(name, text, pattern):
    """Checks that a regular expression is found in a text."""
    return check(name, re.search(pattern, str(text)), f"{text!r}\n  expected /{pattern}/")


def until(condition, seconds=20.0):
    """Waits until a function gives something true, and returns that; what it gives at the end where the time is over."""
    end, pause = time.monotonic() + seconds, 0.002
    while time.monotonic() < end:
        if result := condition():
            return result
        time.sleep(pause)
        pause = min(2 * pause, 0.02)
    return condition()


def skip(name, reason):
    """Counts one check that cannot be run here. script/test tells it again at its end."""
    with guard:
        counts["skipped"] += 1
        line = f"SKIP {FILE}: {name}: {reason}"
        print(line, flush=True)
        with open(os.environ.get("SKIPPED") or os.devnull, "a", encoding="utf-8") as skipped:
            print(line, file=skipped)


def case(sentence):
    """Registers a function as a case of this file. Cases run in their order, each also where one before it broke."""
    def register(function):
        cases.append((sentence, function))
        return function

    return register


def run():
    """Runs the cases, or those whose sentence contains the first argument of the file, and ends the program: 0 where every
    check passed, 1 where one failed, 77 where nothing could be run."""
    global current, is_over
    wanted = sys.argv[1] if len(sys.argv) > 1 else ""
    for sentence, function in cases:
        if wanted not in sentence:
            continue
        before, current = dict(counts), f"{sentence}: "
        try:
            function()
        except Skipped as error:
            skip(sentence, str(error))
            continue
        except Exception:
            check("it runs to its end", False, "an error:\n" + traceback.format_exc()[-1400:])
            continue
        if counts == before:
            check("a case has a check", False, "none")
    current = ""
    is_over = True
    told = f", {counts['skipped']} skipped" if counts["skipped"] else ""
    if sum(counts.values()) == 0:
        check("a file has a case", False, "none")
    print(f"{FILE}: {counts['passed']} passed, {counts['failed']} failed{told}", flush=True)
    sys.exit(1 if counts["failed"] else 77 if counts["passed"] == 0 else 0)


@atexit.register
def _require_run():
    if cases and not is_over:
        print(f"FAIL {FILE}: it ended before run() had run its cases", flush=True)
        sys.stdout.flush()
        os._exit(1)
