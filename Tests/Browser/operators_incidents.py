#!/usr/bin/env python3
"""Makes each incident for real, and reads it on the operator's page: its first line names it within five seconds, and goes when it is over.

    operators_incidents.py URL TOKEN PID CONFIG
    operators_incidents.py URL TOKEN PID STATE store
    operators_incidents.py URL TOKEN PID DATABASE read-only
    operators_incidents.py URL TOKEN PID DATABASE clock

URL is a server with the admin token TOKEN and the process PID: a sandbox with the configuration file CONFIG, whose token is in the file
CONFIG.token; a server with its state in the SQLite file STATE; or one with its state in PostgreSQL, whose database has the URL
DATABASE. The clock of the last one is a minute ahead.
Screenshots of each incident, on a desktop and on a phone, go to $SCREENSHOTS, if set.
"""
import base64
import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
import uuid

from chromium import *
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

URL, TOKEN, PID, FILE = sys.argv[1:5]
# What a list of problems may take.
PROMPT = 5
numbers = iter(range(300, 999))


def told(method, path, content=None, fields=None):
    """The status and the content of a response."""
    headers = {"Content-Type": "application/json"} if content is not None else {}
    if path.startswith("/admin/"):
        headers["Authorization"] = f"Bearer {TOKEN}"
    data = None if content is None else json.dumps(content).encode()
    try:
        with urllib.request.urlopen(urllib.request.Request(URL + path, data, headers | (fields or {}), method=method), timeout=20) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()


def send(*request):
    return told(*request)[0]


def fault(endpoint, **members):
    send("POST", "/_sandbox/faults", {"endpoint": endpoint, **members})


def forget():
    """Forgets access tokens, so that the next request asks for one."""
    for seconds in (1, 0):
        send("POST", "/_sandbox/clock", {"offset_seconds": seconds, "everything": True})


def call():
    return send("POST", "/calls/callback", {"contact_phone_number": f"+14155550{next(numbers)}", "talkdesk_phone_number": "+18005550199"})


def write(path, text):
    with open(path + ".new", "w", encoding="utf-8", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
        file.write(text)
    os.rename(path + ".new", path)


def configure(text):
    write(FILE, f"admin: {{ token_file: {FILE}.token }}\n{text}")


def first_line(driver):
    return driver.execute_script("return document.querySelector('#attention-list li strong')?.textContent ?? ''")


def callbacks(driver):
    return driver.execute_script("return document.querySelector('#tiles .state').firstChild.textContent")


def within(driver, what, seconds, condition, told):
    try:
        WebDriverWait(driver, seconds, 0.1).until(condition)
        check(what, "")
    except Exception:
        check(what, told(driver) or "nothing")


def shoot(driver, name):
    """The first screen on a desktop and on a phone, where nothing is cut."""
    for device, size in (("desktop", (1280, 900)), ("phone", (390, 844))):
        driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
            "width": size[0], "height": size[1], "deviceScaleFactor": 1, "mobile": False})
        wide = driver.execute_script("return document.documentElement.scrollWidth") - size[0]
        check(f"{name}: nothing is cut at {size[0]} px", f"{wide} pixels too wide" if wide > 0 else "")
        top = driver.execute_script("scrollTo(0, 0); return document.querySelector('#attention-list li')?.getBoundingClientRect().top ?? 0")
        # A lost server stands above the problems.
        if name != "server gone":
            check(f"{name}: it begins in the upper third at {size[0]} px", f"after {top:.0f} px" if top > size[1] / 3 else "")
        if os.environ.get("SCREENSHOTS"):
            os.makedirs(os.environ["SCREENSHOTS"], exist_ok=True)
            driver.save_screenshot(os.path.join(os.environ["SCREENSHOTS"], f"incident-{name.replace(' ', '-')}-{device}.png"))
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {"width": 1280, "height": 900, "deviceScaleFactor": 1, "mobile": False})


def named(driver, name, words, state):
    within(driver, f"{name}: the first line names it within {PROMPT} s", PROMPT, lambda d: words in first_line(d), first_line)
    within(driver, f"{name}: callbacks are {state}", PROMPT, lambda d: callbacks(d).lower() == state, callbacks)
    shoot(driver, name)


def over(driver, name, words, seconds=PROMPT):
    within(driver, f"{name}: it goes when it is over", seconds,
           lambda d: words not in d.execute_script("return document.getElementById('attention-list').textContent"), first_line)


def calm(driver):
    within(driver, "a calm server says so", PROMPT, lambda d: "Nothing needs attention" in text(d, "attention"), lambda d: text(d, "attention"))
    shoot(driver, "calm")


def callback_api(driver):
    fault("callback", status=503, times=3)
    for _ in range(3):
        call()
    named(driver, "callback API down", "Callback API is unavailable", "failing")
    item = driver.find_element(By.CSS_SELECTOR, "#attention-list li").text
    check("it says since when, how many, what to do and where to read", "" if all(
        re.search(word, item) for word in (r"since [\d:]{8}, \d+ s", "3 requests affected", "callgate doctor", "Runbook")) else item)
    call()
    over(driver, "callback API down", "Callback API")


def talkdesk_id(driver):
    forget()
    fault("token", status=503, times=30)
    send("GET", "/access")
    named(driver, "Talkdesk ID down", "Talkdesk ID is unavailable", "failing")
    send("DELETE", "/_sandbox/faults")
    within(driver, "Talkdesk ID down: tokens come again", 40, lambda _: send("GET", "/access") == 200, first_line)
    over(driver, "Talkdesk ID down", "Talkdesk ID")


def credential(driver):
    forget()
    fault("token", status=401, body={"error": "invalid_client"}, times=30)
    send("GET", "/access")
    named(driver, "credential refused", "Talkdesk ID refused the credential", "failing")
    check("it counts down", "" if "next try" in text(driver, "attention-list") else text(driver, "attention-list"))
    send("DELETE", "/_sandbox/faults")
    within(driver, "credential refused: tokens come again", 45, lambda _: send("GET", "/access") == 200, first_line)
    over(driver, "credential refused", "Talkdesk ID")


def brake(driver):
    configure("callbacks: { brakes: { per_5m: 1 } }\n")
    time.sleep(2)
    while call() == 201:
        pass
    named(driver, "brake used up", "Callbacks are refused: brake-burst, a limit on all callbacks (1 in 5 minutes)", "held")
    configure("callbacks: { brakes: { per_5m: 0 } }\n")
    over(driver, "brake used up", "brake-burst")


def stop(driver):
    send("POST", "/admin/stop", {"scope": "all", "action": "callback", "reason": "agents have no phones <b>", "for": "30m"})
    call()
    within(driver, "stop: the button offers more", PROMPT, lambda d: text(d, "stop-open") == "Pause more…", lambda d: text(d, "stop-open"))
    named(driver, "stop", "Callbacks of everyone are stopped by an operator: “agents have no phones <b>”", "held")
    driver.find_element(By.XPATH, "//ul[@id='attention-list']//button[normalize-space()='Resume']").click()
    driver.find_element(By.ID, "confirm-act").click()
    over(driver, "stop", "stopped by an operator")


def configuration(driver):
    configure("log: { level: loud }\n")
    named(driver, "configuration rejected", "The new configuration was rejected", "open")
    configure("callbacks: { brakes: { per_5m: 0 } }\n")
    over(driver, "configuration rejected", "configuration")


def unknown(driver):
    fault("callback", drop="after", times=2)
    call()
    call()
    call()
    named(driver, "unknown callbacks", "The outcome of 2 callbacks in the last 24 hours is unknown", "open")
    driver.find_element(By.XPATH, "//button[normalize-space()='List them']").click()
    waits_for(driver, "the unknown ones are listed", lambda d: "2 records" in text(d, "list-status"))
    rows = driver.find_elements(By.CSS_SELECTOR, "#list-rows li")
    check("each with its masked number", "" if len(rows) == 2 and all("+" in row.text and "*" in row.text for row in rows) else [row.text for row in rows])


def desk(driver):
    bearer = {"Authorization": "Bearer " + json.loads(told("POST", "/_sandbox/jwt", {"sub": "ann"})[1])["jwt"]}

    def access():
        return send("GET", "/access?app=example-chat", None, bearer)

    fault("sendbird", status=401, body={"error": True, "code": 400401, "message": "Invalid API-Token"}, times=30)
    access()
    named(driver, "desk stopped", "The chat desk", "open")
    send("DELETE", "/_sandbox/faults")
    send("DELETE", "/_sandbox/pauses")
    within(driver, "desk stopped: tokens come again", 40, lambda _: access() == 200, first_line)
    over(driver, "desk stopped", "chat desk")


def push(driver):
    phone = {"client_id": str(uuid.uuid4()), "client_app": "Shop"}
    asked = json.loads(told("POST", "/fetch-code?app=example-app-push", phone)[1])
    send("POST", "/_sandbox/installations/approve", {"user_code": asked["user_code"]})
    secret = json.loads(told("POST", "/fetch-code?app=example-app-push", phone | {"request_id": asked["request_id"]})[1])["client_secret"]
    basic = {"Authorization": "Basic " + base64.b64encode(f"{phone['client_id']}:{secret}".encode()).decode()}
    check("a device is registered", "" if send("PUT", "/installations/self/push", {"platform": "http", "token": "device"}, basic) == 204 else "no")
    fault("hook", status=410, times=1)
    send("GET", "/access", None, basic)
    named(driver, "push provider stopped", "the webhook (http) rejected this server", "open")
    configure("callbacks: { brakes: { per_5m: 0, per_hour: 0 } }\n")
    over(driver, "push provider stopped", "push notices")


def token_changed(driver):
    write(FILE + ".token", "canary-new-token")
    os.kill(int(PID), signal.SIGHUP)
    within(driver, "token changed: the page says so", PROMPT, lambda d: "not the admin token" in text(d, "login-status"), lambda d: text(d, "login-status"))
    check("token changed: nothing is shown", "something" if driver.find_element(By.ID, "board").is_displayed() else "")
    driver.find_element(By.ID, "token").send_keys("canary-new-token", Keys.ENTER)
    waits_for(driver, "token changed: the new one opens the page", lambda d: d.find_element(By.ID, "board").is_displayed())


def store(driver):
    os.rename(FILE, FILE + ".away")
    named(driver, "store gone", "The server refuses callbacks and requests with a limit: the store (sqlite) has lost its file", "failing")
    check("the page goes on", "" if send("GET", "/admin/") == 200 else "it does not")


def read_only(driver):
    def allow(writing):
        name = FILE.rpartition("/")[2]
        for statement in (f"ALTER DATABASE {name} SET default_transaction_read_only = {'off' if writing else 'on'}",
                          f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}' AND pid <> pg_backend_pid()"):
            subprocess.run(["psql", "-XAtq", "-d", FILE, "-c", "SET default_transaction_read_only = off", "-c", statement],
                           check=True, stdout=subprocess.DEVNULL)

    allow(writing=False)
    named(driver, "store read-only", "The server refuses callbacks and requests with a limit: the store (postgres) is read-only", "failing")
    allow(writing=True)
    over(driver, "store read-only", "the store")


def clock(driver):
    named(driver, "clock", "The server makes no calls: its clock is", "failing")
    # The database's: the server knows that its own clock is wrong.
    check("clock: the page shows right times", "" if "your browser's clock" not in text(driver, "identity") else text(driver, "identity"))
    ages = [re.search(r"since [\d:]{8}, (\d+) s", item) for item in text(driver, "attention-list").splitlines() if "since" in item]
    check("clock: its beginning is in the past", "" if ages and all(age and int(age[1]) < 60 for age in ages) else text(driver, "attention-list"))


def gone(driver):
    os.kill(int(PID), signal.SIGSTOP)
    within(driver, "server gone: the page says so", 25, lambda d: "out of date" in text(d, "connection"), lambda d: text(d, "connection"))
    check("server gone: it is not called live", "" if text(driver, "heard").startswith("not live since") else text(driver, "heard"))
    grey = driver.execute_script("return getComputedStyle(document.getElementById('board')).filter")
    check("server gone: everything is grey", "" if "grayscale(1)" in grey else grey)
    shoot(driver, "server gone")
    os.kill(int(PID), signal.SIGCONT)
    within(driver, "server gone: it is live again", 25, lambda d: text(d, "heard").startswith("live"), lambda d: text(d, "heard"))


with browser(DESKTOP) as page:
    page.get(URL + "/admin/")
    waits_for(page, "the field has the focus", lambda d: d.switch_to.active_element.get_attribute("id") == "token")
    page.switch_to.active_element.send_keys(TOKEN, Keys.ENTER)
    waits_for(page, "the page opens", lambda d: d.find_element(By.ID, "board").is_displayed())
    kept = {"store": store, "read-only": read_only, "clock": clock}
    incidents = (calm, callback_api, talkdesk_id, credential, brake, stop, configuration, desk, push, unknown, gone, token_changed)
    for incident in [kept[kind] for kind in sys.argv[5:]] or incidents:
        attempt(incident.__name__, incident, page)
