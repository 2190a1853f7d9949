#!/usr/bin/env python3
"""Watches the operator's page for a minute under load: it must not grow, and must not complain.

    operators_load.py URL TOKEN

URL is a sandbox with the admin token TOKEN. Prints `ok WHAT` or `WHAT: what is wrong`, one line each, and figures as `# WHAT: FIGURE`.
"""
import http.client
import itertools
import json
import sys
import threading
import time

from chromium import *
from selenium.webdriver.common.keys import Keys

URL, TOKEN = sys.argv[1:3]
# Requests per second that the load attempts, and fewer than which are no load.
RATE, LEAST = 400, 200
# Seconds after which the page is measured first and last.
FIRST, LAST = 10, 70
# The table of minutes gains a row in each minute, and the browser keeps more of code that runs often.
MORE_NODES, MORE_HEAP = 60, 300_000

# Tokens, errors of many codes, and callbacks to the numbers that the sandbox refuses.
NUMBERS = [f"+120255501{last}" for last in (31, 32, 33, 34, 41, 42, 51, 61, 62, 63, 71, 72, 81, 82, 83, 91, 92)]
REQUESTS = list(itertools.chain.from_iterable(
    [("GET", "/access", None), ("GET", "/access?app=none", None),
     ("POST", "/calls/callback", json.dumps({"contact_phone_number": number}))] for number in NUMBERS))


class Load:
    """Mixed requests at a steady rate, from threads with a connection each."""

    def __init__(self, threads=4):
        self.answered = [0] * threads
        self.ended = threading.Event()
        self.threads = [threading.Thread(target=self._drive, args=(number,), daemon=True) for number in range(threads)]

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.ended.set()
        for thread in self.threads:
            thread.join()

    def _drive(self, number):
        host, _, port = URL.rpartition("/")[2].rpartition(":")
        connection = http.client.HTTPConnection(host, int(port), timeout=20)
        step = len(self.threads) / RATE
        due = time.monotonic()
        for method, path, content in itertools.islice(itertools.cycle(REQUESTS), number, None):
            if self.ended.is_set():
                return connection.close()
            connection.request(method, path, content, {"Content-Type": "application/json"} if content else {})
            connection.getresponse().read()
            self.answered[number] += 1
            # A machine that was busy for a while does not catch up in a burst.
            due = max(due + step, time.monotonic() - 0.1)
            time.sleep(max(0, due - time.monotonic()))


def measured(driver):
    """What the page holds once everything that it dropped is collected."""
    for _ in range(3):
        driver.execute_cdp_cmd("HeapProfiler.collectGarbage", {})
    counters = driver.execute_cdp_cmd("Memory.getDOMCounters", {})
    heap = driver.execute_cdp_cmd("Runtime.getHeapUsage", {})["usedSize"]
    return {"nodes": counters["nodes"], "listeners": counters["jsEventListeners"], "heap": heap}


def growth():
    with browser(DESKTOP) as driver:
        driver.get(URL + "/admin/")
        asks_for_token(driver).send_keys(TOKEN, Keys.ENTER)
        waits_for(driver, "the right token opens the page", lambda d: "ready" in text(d, "health"))
        driver.execute_cdp_cmd("HeapProfiler.enable", {})
        began = time.monotonic()
        with Load() as load:
            time.sleep(FIRST)
            first = measured(driver)
            shown = text(driver, "tiles")
            time.sleep(max(0, began + LAST - time.monotonic()))
            last = measured(driver)
            took = time.monotonic() - began
        rate = sum(load.answered) / took
        figure("requests per second", f"{rate:.0f}")
        check("the page was under load", "" if rate >= LEAST else f"{rate:.0f} requests per second")
        check("it was live until the end", "" if text(driver, "tiles") != shown else shown)
        rows = len(driver.find_elements(By.CSS_SELECTOR, "#decision-rows > li"))
        check("it shows the last 500 decisions", "" if rows == 500 else rows)
        for name, most in (("nodes", first["nodes"] + MORE_NODES), ("listeners", first["listeners"]),
                           ("heap", first["heap"] + MORE_HEAP)):
            figure(f"{name} after {FIRST} and {LAST} seconds", f"{first[name]:,} and {last[name]:,}")
            check(f"its {name} do not grow in a minute", "" if last[name] <= most else f"from {first[name]:,} to {last[name]:,}")
        check("the browser has no complaint", faults(driver))


attempt("growth", growth)
