#!/usr/bin/env python3
"""Uses the operator's page with a headless Chromium as an operator would.

    operators_page.py URL OTHER TOKEN OPEN

URL and OTHER are two sandboxes with the admin token TOKEN; OPEN is an admin listener that needs none. Prints `ok WHAT` or
`WHAT: what is wrong`, one line each.
"""
import contextlib
import json
import os
import socket
import sys
import threading
import time
import urllib.error
import urllib.request
import uuid

from chromium import *
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

URL, OTHER, TOKEN, OPEN = sys.argv[1:5]
NASTY = "<img src=x onerror=alert(1)>"


def send(method, path, content=None, token=None, base=URL):
    """The status and JSON of a response to a program."""
    headers = {"Content-Type": "application/json"} if content is not None else {}
    if token:
        headers["Authorization"] = f"Bearer {token}"
    data = None if content is None else json.dumps(content).encode()
    try:
        with urllib.request.urlopen(urllib.request.Request(base + path, data, headers, method=method), timeout=20) as answer:
            status, body = answer.status, answer.read()
    except urllib.error.HTTPError as error:
        status, body = error.code, error.read()
    try:
        return status, json.loads(body)
    except ValueError:
        return status, None


class Door:
    """A port that leads to a server, until it is shut or leads to another one."""

    def __init__(self, target):
        self.target = target
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        self.open = set()
        threading.Thread(target=self._accept, daemon=True).start()

    def lead(self, target):
        """Leads to another server, or to none. Connections that are open end."""
        self.target = target
        for end in list(self.open):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def _accept(self):
        while True:
            client, _ = self.listener.accept()
            if self.target is None:
                client.close()
                continue
            host, _, port = self.target.rpartition("/")[2].rpartition(":")
            server = socket.create_connection((host, int(port)))
            self.open |= {client, server}
            for ends in ((client, server), (server, client)):
                threading.Thread(target=self._carry, args=ends, daemon=True).start()

    def _carry(self, source, sink):
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                sink.sendall(data)
        self.open -= {source, sink}
        for end in (source, sink):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)


def shows(driver, element, words):
    return lambda d: words in d.find_element(By.ID, element).text


def log_in(driver, base=URL):
    driver.get(base + "/admin/")
    asks_for_token(driver).send_keys(TOKEN, Keys.ENTER)
    waits_for(driver, "the right token opens the page", lambda d: "ready" in text(d, "health"))


def foreign(driver, base):
    names = driver.execute_script("return performance.getEntriesByType('resource').map((entry) => entry.name)")
    return [name for name in names if not name.startswith((base + "/", "data:"))]


def choose(driver, element, value):
    driver.find_element(By.CSS_SELECTOR, f"#{element} option[value='{value}']").click()


def confirm(driver, act):
    """The dialog says what happens. Its button is named after the act."""
    waits_for(driver, f"{act} is confirmed first", lambda d: d.find_element(By.ID, "confirm").is_displayed())
    button = driver.find_element(By.ID, "confirm-act")
    check(f"the button says {act}", "" if button.text == act else button.text)
    button.click()


def token():
    with browser(DESKTOP) as driver:
        driver.get(URL + "/admin/")
        asks_for_token(driver)
        own = {f"{URL}/admin/operator.css", f"{URL}/admin/operator.js", f"{URL}/admin/status?after=0"}
        check("nothing but its files and the state is asked before the token", set(foreign(driver, "none")) ^ own)
        check("and the console is empty", faults(driver))
        driver.find_element(By.ID, "token").send_keys("canary-wrong-token")
        use(driver, "Open", "login-status", "This is not the admin token.")
        check("nothing is shown", "something" if driver.find_element(By.ID, "board").is_displayed() else "")
        driver.find_element(By.ID, "token").clear()
        log_in(driver)
        check("the token is in no URL", TOKEN if TOKEN in driver.current_url else "")
        check("nor in a cookie", driver.get_cookies())
        driver.refresh()
        waits_for(driver, "the tab keeps it", lambda d: "ready" in text(d, "health"))
        waits_for(driver, "decisions are shown", lambda d: "access" in text(d, "decision-rows"))
        waits_for(driver, "the chat desk is shown", shows(driver, "desk-rows", "chat"))
        check("nothing came from elsewhere", foreign(driver, URL))
        use(driver, "Forget token", "login-title", "Log in")
        kept = driver.execute_script("return sessionStorage.length")
        check("it is forgotten", kept or "")
        driver.refresh()
        waits_for(driver, "and asked for again", lambda d: d.find_element(By.ID, "login").is_displayed())
        check("no other complaint", faults(driver))
    with browser(DESKTOP) as driver:
        driver.get(OPEN + "/admin/")
        waits_for(driver, "a listener on loopback needs none", lambda d: "ready" in text(d, "health"))
        check("a server without chat desks shows none", "a card" if driver.find_element(By.ID, "desks").is_displayed() else "")
        check("and its page asks for none", "it does" if driver.find_element(By.ID, "login").is_displayed() else "")
        use(driver, "Reload", "reload-status", "200: now using configuration number 2")
        check("the console stays empty", complaints(driver))


def kill_switch():
    with browser(DESKTOP) as driver:
        log_in(driver)
        check("the kill switch is in the first screen", driver.execute_script(
            "const box = document.getElementById('stop-open').getBoundingClientRect(); return box.bottom > innerHeight ? box.bottom : ''"))
        use(driver, "Pause callbacks…", "stop-title", "Pause")
        preset = driver.execute_script("return ['action', 'target', 'end'].map((name) => document.getElementById('stop-' + name).value)")
        check("it is preset", "" if preset == ["callback", '{"scope":"all"}', "30m"] else preset)
        check("it says what waits", "" if "0 callbacks are waiting to be sent now" in text(driver, "stop-waits") else text(driver, "stop-waits"))
        driver.switch_to.active_element.send_keys(Keys.ESCAPE)
        waits_for(driver, "Escape cancels", shows(driver, "act-status", "nothing was paused"))
        check("nothing is stopped", "" if send("GET", "/access")[0] == 200 else "it is")
        driver.find_element(By.ID, "stop-open").click()
        choose(driver, "stop-action", "access")
        driver.find_element(By.ID, "stop-reason").send_keys(NASTY)
        button = driver.find_element(By.ID, "stop-act")
        check("the button is named after the act", "" if button.text == "Pause tokens for everyone" else button.text)
        button.click()
        waits_for(driver, "the stop is told", shows(driver, "act-status", "Paused tokens for everyone"))
        check("requests are refused", "" if send("GET", "/access")[0] == 403 else "they are not")
        waits_for(driver, "the stop stands at the top, its reason as text", shows(driver, "attention-list", NASTY))
        screenshot(driver, "operators-page-stopped")
        driver.find_element(By.XPATH, "//ul[@id='attention-list']//button[normalize-space()='Resume']").click()
        confirm(driver, "Resume")
        waits_for(driver, "the stop is over", lambda d: "stopped by an operator" not in text(d, "attention"))
        check("requests pass", "" if send("GET", "/access")[0] == 200 else "they do not")
        waits_for(driver, "refusals are counted by code", shows(driver, "shares", "stopped"))
        check("no other complaint", faults(driver))


def decisions():
    """Filters, look-up, verdicts, why, and downloads."""
    send("GET", "/access")
    send("GET", "/access?app=none")
    with browser(DESKTOP) as driver:
        log_in(driver)
        waits_for(driver, "decisions are shown", lambda d: d.find_elements(By.CSS_SELECTOR, "#decision-rows li"))

        def seen():
            return driver.execute_script(
                "return [...document.querySelectorAll('#decision-rows > li')].filter((row) => row.checkVisibility()).map((row) => row.dataset.decision)")
        choose(driver, "filter-decision", "refused")
        check("allowed ones can be hidden", "" if seen() and "allow" not in seen() else seen())
        choose(driver, "filter-code", "unknown_app")
        check("by code", "" if set(seen()) == {"deny"} else seen())
        driver.find_element(By.ID, "filter-text").send_keys("no such text")
        check("by text", seen())
        driver.find_element(By.ID, "filter-text").clear()
        driver.execute_script("for (const name of ['text', 'decision', 'code']) { const one = document.getElementById('filter-' + name); one.value = ''; one.dispatchEvent(new Event('input')) }")
        check("and shown again", "" if "allow" in seen() else seen())
        request = urllib.request.urlopen(URL + "/access", timeout=20).headers["X-Request-ID"]
        driver.find_element(By.ID, "request-id").send_keys(request, Keys.ENTER)
        waits_for(driver, "one is found by its request id", shows(driver, "find-decision-status", "1 decision"))
        waits_for(driver, "and is open", shows(driver, "found-decisions", request))
        driver.find_element(By.XPATH, "//ul[@id='found-decisions']//button[normalize-space()='Why…']").click()
        waits_for(driver, "why is answered", shows(driver, "found-decisions", "Today's rules, applied to"))
        driver.find_element(By.ID, "request-id").clear()
        driver.find_element(By.ID, "request-id").send_keys("none", Keys.ENTER)
        waits_for(driver, "another is not found", shows(driver, "find-decision-status", "Not among the last 10,000"))
        waits_for(driver, "it is among the others", lambda d: d.execute_script("return seenDecisions().map((one) => one.request_id)").count(request) == 1)
        texts = ["=1+1", "+1", "-1", "@x", 'a,"b"', "c", "Shop;=1;x", "a\t+1", "a\r\n-1", 'a;"@1', "a; =1", "a;b", "a\tb"]
        cells = driver.execute_script("return arguments[0].map(csvCell)", texts)
        safe = ["'=1+1", "'+1", "'-1", "'@x", '"a,""b"""', "c", "\"Shop;'=1;x\"", "\"a\t'+1\"", "\"a\r\n'-1\"", "\"a;'\"\"@1\"", "\"a;' =1\"", '"a;b"', '"a\tb"']
        check("no cell is run by a spreadsheet", "" if cells == safe else cells)
        saved = driver.execute_script(
            "const urls = []; const real = URL.createObjectURL; URL.createObjectURL = (blob) => { urls.push(blob); return real(blob) };"
            "document.getElementById('decisions-csv').click(); URL.createObjectURL = real; return urls[0].text()")
        check("decisions are downloaded", "" if saved.startswith("sequence,") and request in saved else saved[:200])
        use(driver, driver.find_element(By.XPATH, "//form[@id='list-form']//button[normalize-space()='Show']"), "list-status", "record")
        before = driver.execute_script("return document.querySelector('#decision-rows time').textContent")
        driver.find_element(By.ID, "zone").click()
        check("the zone is named", "" if text(driver, "zone") == "Zone: UTC" else text(driver, "zone"))
        after = driver.execute_script("return document.querySelector('#decision-rows time').textContent")
        check("times have one form", "" if len(before) == len(after) == 8 else (before, after))
        check("no other complaint", faults(driver))


def keyboard():
    """The kill switch without a pointer."""
    with browser(DESKTOP) as driver:
        driver.get(URL + "/admin/")

        def tab_to(what, matches):
            for _ in range(60):
                if matches(driver.switch_to.active_element):
                    return check(f"the tab key reaches {what}", "")
                driver.switch_to.active_element.send_keys(Keys.TAB)
            check(f"the tab key reaches {what}", "never")

        waits_for(driver, "the token's field has the focus", lambda d: d.switch_to.active_element.get_attribute("id") == "token")
        driver.switch_to.active_element.send_keys(TOKEN, Keys.ENTER)
        waits_for(driver, "Enter opens", lambda d: "ready" in text(d, "health"))
        tab_to("the kill switch", lambda element: element.get_attribute("id") == "stop-open")
        driver.switch_to.active_element.send_keys(Keys.ENTER)
        waits_for(driver, "the dialog has the focus", lambda d: d.execute_script("return document.getElementById('stop-dialog').contains(document.activeElement)"))
        tab_to("the act", lambda element: element.get_attribute("id") == "stop-act")
        driver.switch_to.active_element.send_keys(Keys.ENTER)
        waits_for(driver, "callbacks are stopped by the keyboard", shows(driver, "act-status", "Paused callbacks"))
        send("POST", "/admin/resume", {"scope": "all", "action": "all"}, TOKEN)
        check("no other complaint", faults(driver))


def installations():
    phone = {"client_id": str(uuid.uuid4()), "client_app": NASTY, "client_detail": "of <b>Ann</b>"}
    _, asked = send("POST", "/fetch-code", phone)
    with browser(DESKTOP) as driver:
        log_in(driver)
        field = driver.find_element(By.ID, "find-code")
        field.send_keys("BBBB-BBBB")
        use(driver, "Find", "find-status", "404 not_found")
        field.clear()
        field.send_keys(asked["user_code"].lower())
        use(driver, "Find", "find-status", "200: compare")
        facts = text(driver, "found-facts")
        check("what strangers wrote is shown as text", "" if NASTY in facts and "<b>Ann</b>" in facts else facts)
        screenshot(driver, "operators-page-found")
        use(driver, "Approve", "find-status", "204: approved")
        status, given = send("POST", "/fetch-code", {**phone, "request_id": asked["request_id"]})
        check("the phone gets its secret", "" if status == 200 and given["client_secret"] else status)
        waits_for(driver, "it is listed as active", shows(driver, "active", NASTY))
        driver.find_element(By.XPATH, "//ul[@id='active']//button").click()
        confirm(driver, "Revoke")
        waits_for(driver, "it is revoked", shows(driver, "active-status", "204: revoked"))
        waits_for(driver, "and listed no more", lambda d: phone["client_id"] not in text(d, "active"))
        other = {"client_id": str(uuid.uuid4()), "client_app": "Another phone"}
        _, asked = send("POST", "/fetch-code", other)
        field.send_keys(asked["user_code"])
        use(driver, "Find", "find-status", "200: compare")
        driver.find_element(By.ID, "deny").click()
        confirm(driver, "Deny")
        waits_for(driver, "a request is denied", shows(driver, "find-status", "204: denied"))
        status, _ = send("POST", "/fetch-code", {**other, "request_id": asked["request_id"]})
        check("and its app is told so", "" if status == 403 else status)
        use(driver, "Reload", "reload-status", "200: now using configuration number")
        check("no other complaint", faults(driver))


def absence():
    """A server that goes, comes back, and is followed by another process."""
    door = Door(URL)
    _, asked = send("POST", "/fetch-code", {"client_id": str(uuid.uuid4()), "client_app": "A phone that waits"})
    with browser(DESKTOP) as driver:
        log_in(driver, door.url)
        driver.find_element(By.ID, "find-code").send_keys(asked["user_code"])
        use(driver, "Find", "find-status", "200: compare")
        before = len(driver.find_elements(By.CSS_SELECTOR, "#decision-rows > li"))
        check("its decisions are shown", "" if before else "none")
        door.lead(None)
        waits_for(driver, "a lost server is said to be so", shows(driver, "connection", "out of date"))
        check("the last state stays", "" if driver.find_element(By.ID, "board").is_displayed() else "it is gone")
        usable(driver, "the page without its server", DESKTOP[0])
        door.lead(URL)
        waits_for(driver, "it is heard again", lambda d: not d.find_element(By.ID, "connection").is_displayed())
        door.lead(OTHER)
        send("GET", "/access", base=OTHER)
        waits_for(driver, "decisions of another process are shown with the others",
                  lambda d: len(d.find_elements(By.CSS_SELECTOR, "#decision-rows > li")) == min(before + 1, 500))
        check("what was found stays", "" if driver.find_element(By.ID, "found").is_displayed() else "it is gone")
        door.lead(URL)
        time.sleep(5)
        rows = len(driver.find_elements(By.CSS_SELECTOR, "#decision-rows > li"))
        check("and none is shown twice", "" if rows == min(before + 1, 500) else rows)
        door.lead(OTHER)
        driver.find_element(By.ID, "pause").click()
        driver.execute_script("performance.clearResourceTimings()")
        time.sleep(3)
        check("a paused page asks for nothing", foreign(driver, "none"))
        wrong = [line for line in faults(driver) if "net::ERR_" not in line]
        check("no other complaint", wrong)


def growth():
    """The page under load keeps what it shows bounded."""
    with browser(DESKTOP) as driver:
        log_in(driver)
        for _ in range(5):
            for _ in range(150):
                send("GET", "/access?app=none")
            time.sleep(2.1)
        rows = len(driver.find_elements(By.CSS_SELECTOR, "#decision-rows > li"))
        check("500 decisions are shown", "" if rows == 500 else rows)
        elements = driver.execute_script("return document.querySelectorAll('*').length")
        check("and the page stays small", "" if elements < 9000 else elements)


def decide():
    """One decision of each kind: allowed, refused, and an error."""
    send("GET", "/access")
    send("GET", "/access?app=none")
    send("POST", "/_sandbox/faults", {"endpoint": "callback", "status": 500})
    send("POST", "/calls/callback", {"contact_phone_number": "+14155550177", "talkdesk_phone_number": "+18005550199"})


def looks_of_page():
    """The page with a row for each kind of decision, at every size and in both schemes."""
    decide()
    for device, size in SIZES.items():
        for dark in (False, True):
            kind = f"the operator's page on {device}, {'dark' if dark else 'light'}"
            with browser(size, dark) as driver:
                driver.get(URL + "/admin/")
                asks_for_token(driver)
                usable(driver, f"{kind}, asking", size[0])
                log_in(driver)
                waits_for(driver, f"{kind}: each kind of decision has a row", lambda d: all(
                    d.find_elements(By.CSS_SELECTOR, f"#decision-rows [data-decision={name}]") for name in ("allow", "deny", "error")))
                driver.execute_script("for (const part of document.querySelectorAll('details')) part.open = true")
                usable(driver, kind, size[0])
                driver.execute_script("for (const part of document.querySelectorAll('details')) part.open = false")
                screenshot(driver, kind.replace("'", "").replace(", ", "-").replace(" ", "-"))
                check(f"{kind}: the browser has no complaint", faults(driver))


send("GET", "/access")
attempt("its looks", looks_of_page)
attempt("its first paint", paints, URL, "/admin/", "the operator's page", 120)
attempt("the token", token)
attempt("the kill switch", kill_switch)
attempt("decisions", decisions)
attempt("the keyboard", keyboard)
attempt("installations", installations)
attempt("absence", absence)
attempt("growth", growth)
