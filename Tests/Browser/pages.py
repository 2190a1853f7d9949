#!/usr/bin/env python3
"""Looks at the server's pages with a headless Chromium and uses them as a person would.

    pages.py sandbox URL PORT   the demo client and the documentation; pages of another origin are served on PORT
    pages.py server URL         the landing page and the documentation of a server that is no sandbox

Prints `ok WHAT` or `WHAT: what is wrong`, one line each.
"""
import contextlib
import http.server
import json
import os
import shutil
import sys
import threading

from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

SIZES = {"a desktop": (1280, 900), "a phone": (390, 844), "a narrow phone": (320, 640)}
DESKTOP = SIZES["a desktop"]
WAIT = 20

# The ratio of WCAG 2.2 §1.4.3 for every text that is seen, and what is lower.
CONTRAST = r"""
const rgb = (text) => (text.match(/[\d.]+/g) ?? []).map(Number);
const light = ([r, g, b]) => [r, g, b].map((v) => v / 255)
  .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
  .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
function ground(element) {
  for (let at = element; at; at = at.parentElement) {
    const colour = rgb(getComputedStyle(at).backgroundColor);
    if (colour.length === 3 || colour[3] > 0) return colour;
  }
  return [255, 255, 255];
}
const low = [];
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (walker.nextNode()) {
  const element = walker.currentNode.parentElement;
  if (!walker.currentNode.data.trim() || !element.checkVisibility()) continue;
  const [a, b] = [light(rgb(getComputedStyle(element).color)), light(ground(element))].sort((x, y) => y - x);
  const ratio = (a + 0.05) / (b + 0.05);
  if (ratio < 4.5) low.push(`${element.tagName} ${walker.currentNode.data.trim().slice(0, 20)} ${ratio.toFixed(1)}`);
}
return low;
"""

# Controls without a name, and targets that a finger misses (WCAG 2.2 §2.5.8).
CONTROLS = r"""
const wrong = [];
for (const control of document.querySelectorAll("button, input, summary")) {
  if (!control.checkVisibility()) continue;
  const name = control.getAttribute("aria-label") || control.textContent.trim() || control.labels?.[0]?.textContent;
  if (!name) wrong.push(`${control.tagName} without a name`);
  const box = control.getBoundingClientRect();
  if (box.height < 24 || box.width < 24) wrong.push(`${name}: ${box.width}x${box.height}`);
}
if (document.querySelectorAll("h1").length !== 1) wrong.push("not one h1");
if (!document.documentElement.lang) wrong.push("no language");
return wrong;
"""


def check(what, wrong):
    print(f"{what}: {wrong}" if wrong else f"ok {what}", flush=True)


@contextlib.contextmanager
def browser(size, dark=False):
    options = webdriver.ChromeOptions()
    for flag in ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-proxy-server"]:
        options.add_argument(flag)
    options.binary_location = shutil.which("chromium") or ""
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
    try:
        width, height = size
        driver.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600})
        scheme = "dark" if dark else "light"
        driver.execute_cdp_cmd(
            "Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]})
        yield driver
    finally:
        driver.quit()


def complaints(driver):
    return [entry["message"] for entry in driver.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")]


def screenshot(driver, name):
    folder = os.environ.get("SCREENSHOTS")
    if not folder:
        return
    os.makedirs(folder, exist_ok=True)
    size = driver.execute_script("return [innerWidth, document.documentElement.scrollHeight, innerHeight]")
    metrics = {"width": size[0], "height": min(size[1], 4000), "deviceScaleFactor": 1, "mobile": size[0] < 600}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    driver.save_screenshot(os.path.join(folder, f"{name}.png"))
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {**metrics, "height": size[2]})


def usable(driver, kind, width):
    """Nothing overflows, everything can be read, and a finger meets every control."""
    # Not innerWidth: a phone zooms out until everything fits.
    wide = driver.execute_script("return document.documentElement.scrollWidth") - width
    check(f"{kind}: fits", f"{wide} pixels too wide" if wide > 0 else "")
    check(f"{kind}: can be read", driver.execute_script(CONTRAST))
    check(f"{kind}: can be used", driver.execute_script(CONTROLS))


def looks(base, path, name):
    """A page at every size and in both schemes: nothing overflows, everything can be read, nothing is complained of."""
    for device, size in SIZES.items():
        for dark in (False, True):
            kind = f"{name} on {device}, {'dark' if dark else 'light'}"
            with browser(size, dark) as driver:
                driver.get(base + path)
                WebDriverWait(driver, WAIT).until(
                    lambda d: d.execute_script("return document.readyState") == "complete")
                driver.execute_script("for (const part of document.querySelectorAll('details')) part.open = true")
                usable(driver, kind, size[0])
                driver.execute_script("for (const part of document.querySelectorAll('details')) part.open = false")
                screenshot(driver, kind.replace(": ", "-").replace(", ", "-").replace(" ", "-"))
                check(f"{kind}: the browser has no complaint", complaints(driver))


def text(driver, element):
    return driver.find_element(By.ID, element).text


def use(driver, button, place, expected):
    """Presses a button and waits for its words."""
    control = driver.find_element(By.XPATH, f"//button[normalize-space()='{button}']") if isinstance(button, str) else button
    # Read before the click, which may replace the button.
    what = f"{' '.join(control.text.split())} says {expected}"
    control.click()
    try:
        WebDriverWait(driver, WAIT).until(lambda d: expected in text(d, place))
        check(what, "")
    except Exception:  # What is there instead says more than what timed out.
        check(what, text(driver, place) or "nothing")


def waits_for(driver, what, condition):
    try:
        WebDriverWait(driver, WAIT).until(condition)
        check(what, "")
    except Exception:
        check(what, "not within the time")


def demo(base):
    """The demo client, pressed through."""
    with browser(DESKTOP) as driver:
        driver.get(base + "/")
        use(driver, "Fetch a token", "token-status", "200: authorized")
        check("the claims are shown", "" if "callback:write" in text(driver, "claims") else text(driver, "claims"))
        check("the time runs", "" if ":" in text(driver, "left") else text(driver, "left"))
        use(driver, "Probe only", "token-status", "204")
        waits_for(driver, "one token request was seen", lambda d: "accepted" in text(d, "exchanges"))

        check("it is open for callbacks", "" if "Open" in text(driver, "open-now") else text(driver, "open-now"))
        use(driver, "Validate only", "call-status", "200: valid")
        check("nothing rang", "" if text(driver, "rings") == "none yet" else text(driver, "rings"))
        use(driver, "Call me", "call-status", "201: accepted")
        waits_for(driver, "the phone rang once", lambda d: "+14155550100 rang once" in text(d, "rings"))
        check("the record is shown", "" if "accepted" in text(driver, "call-record") else text(driver, "call-record"))
        check("the answer is masked", "" if "+*********00" in text(driver, "call-answer") else text(driver, "call-answer"))
        use(driver, "Repeat, same key", "call-status", "201: accepted")
        use(driver, "Call me", "call-status", "409 duplicate")
        waits_for(driver, "it still rang once", lambda d: "+14155550100 rang once" in text(d, "rings"))

        faults = driver.find_element(By.ID, "callback-faults")
        use(driver, faults.find_element(By.XPATH, ".//button[normalize-space()='Rings, no response']"), "fault-status", "waiting")
        phone = driver.find_element(By.ID, "phone")
        phone.clear()
        phone.send_keys("+14155550111")
        use(driver, "Call me", "call-status", "504 outcome_unknown")
        waits_for(driver, "it rang, and the answer was honest", lambda d: "+14155550111 rang once" in text(d, "rings"))
        use(driver, "Forget all faults", "fault-status", "forgotten")

        name = driver.find_element(By.ID, "app-name")
        name.clear()
        name.send_keys("<b>A phone</b>")
        use(driver, "Enrol this phone", "enrol-status", "202: pending")
        use(driver, "Approve as operator", "approve-status", "204: approved")
        waits_for(driver, "the secret is delivered", lambda d: "200: installed" in text(d, "enrol-status"))
        check("a stranger's words are text", "" if "<b>A phone</b>" in text(driver, "phone-facts") else text(driver, "phone-facts"))
        check("the secret is masked", "" if "…" in text(driver, "phone-facts") else text(driver, "phone-facts"))
        use(driver, "Fetch a code", "phone-status", "200: a code")
        check("the code's time runs", "" if "for " in text(driver, "code-left") else text(driver, "code-left"))
        use(driver, "Verify the code", "verify-status", "200: valid")
        use(driver, "Verify the code", "verify-status", "200: not valid")
        use(driver, "Fetch a token as this phone", "phone-status", "200: authorized")
        use(driver, "Revoke this phone", "phone-status", "204: revoked")
        use(driver, "Fetch a token as this phone", "phone-status", "401 unauthenticated")
        screenshot(driver, "demo-used")
        # The browser reports answers of 4xx and 5xx, which were asked for.
        check("no other complaint", [line for line in complaints(driver) if "the server responded with a status of" not in line])


def times(driver):
    """The buttons of free times, once they are there."""
    return WebDriverWait(driver, WAIT).until(lambda d: d.find_elements(By.CSS_SELECTOR, "#times button"))


def free(driver, index):
    """How many places a time has."""
    return int(times(driver)[index].find_element(By.TAG_NAME, "small").text.removesuffix(" free"))


def show_tomorrow(driver):
    # Today may be nearly over. The field takes a date in the words of the browser's language, so a script sets it.
    driver.execute_script("document.getElementById('day').stepUp(1)")
    use(driver, "Show free times", "later-status", "200: choose a time")


def appointments(base):
    """The card of appointments: booked, moved, cancelled, and rung after a jump of all clocks."""
    with browser(DESKTOP) as driver:
        driver.get(base + "/")
        show_tomorrow(driver)
        check("a day has its times", "" if 92 <= len(times(driver)) <= 100 else len(times(driver)))

        stops = "return [...document.querySelectorAll('#times button')].filter((time) => time.tabIndex === 0).map((time) => time.dataset.start)"
        focused = "return document.activeElement.dataset.start"
        first, last = (times(driver)[index].get_attribute("data-start") for index in (0, -1))
        check("the tab key stops at one time", "" if driver.execute_script(stops) == [first] else driver.execute_script(stops))
        driver.execute_script("arguments[0].focus()", times(driver)[0])
        for keys, wanted in [(Keys.END, last), (Keys.ARROW_RIGHT, last), (Keys.HOME, first)]:
            driver.switch_to.active_element.send_keys(keys)
            check("arrow keys move between times", "" if driver.execute_script(focused) == wanted else driver.execute_script(focused))
        driver.switch_to.active_element.send_keys(Keys.ARROW_DOWN)
        second = times(driver)[1].get_attribute("data-start")
        check("and the stop moves along", "" if driver.execute_script(stops) == [second] else driver.execute_script(stops))

        places = free(driver, 40)
        use(driver, times(driver)[40], "later-status", "201: booked for")
        check("the appointment is shown", "" if "scheduled" in text(driver, "booked") else text(driver, "booked"))
        check("its number is masked", "" if "+*********20" in text(driver, "booked") else text(driver, "booked"))
        check("its place is taken", "" if free(driver, 40) == places - 1 else free(driver, 40))
        use(driver, times(driver)[48], "later-status", "409 duplicate")
        before = text(driver, "booked")
        use(driver, "Move", "later-status", "Choose its new time")
        use(driver, times(driver)[44], "later-status", "200: moved to")
        check("the new time is shown", "" if text(driver, "booked") not in ("", before) else before)
        check("the place moves along", "" if (free(driver, 40), free(driver, 44)) == (places, places - 1) else free(driver, 40))
        use(driver, "Cancel", "later-status", "200: cancelled")
        check("it is cancelled, for good", "" if text(driver, "booked").endswith("cancelled") else text(driver, "booked"))
        check("its place is free", "" if free(driver, 44) == places else free(driver, 44))

        phone = driver.find_element(By.ID, "later-phone")
        phone.clear()
        phone.send_keys("+14155550121")
        use(driver, times(driver)[50], "later-status", "201: booked for")
        use(driver, "Jump to its time", "later-status", "200: two seconds before")
        waits_for(driver, "the phone rang at its time", lambda d: "+14155550121 rang once" in text(d, "rings"))
        waits_for(driver, "and the page learned of it", lambda d: "accepted" in text(d, "booked"))
        check("the moved clock is shown", "" if text(driver, "sandbox-clock") else "nothing")
        use(driver, "Fetch a token", "token-status", "200: authorized")
        left = text(driver, "left")
        check("a token after a jump is fresh", "" if left.startswith(("9:", "10:")) else left)
        phone = driver.find_element(By.ID, "phone")
        phone.clear()
        phone.send_keys("+14155550131")
        use(driver, "Call me", "call-status", "201: accepted")
        use(driver, "Reset the clock", "later-status", "204: the clock is right")
        waits_for(driver, "the clock is no longer shown", lambda d: not d.find_element(By.ID, "moved-clock").is_displayed())
        # What brakes counted a day ahead does not refuse a callback of today.
        phone.clear()
        phone.send_keys("+14155550132")
        use(driver, "Call me", "call-status", "201: accepted")
        use(driver, "Fetch a token", "token-status", "200: authorized")
        screenshot(driver, "appointments-used")
        check("no other complaint", [line for line in complaints(driver) if "the server responded with a status of" not in line])
    narrow = SIZES["a narrow phone"]
    for dark in (False, True):
        with browser(narrow, dark) as driver:
            driver.get(base + "/")
            show_tomorrow(driver)
            usable(driver, f"times on a narrow phone, {'dark' if dark else 'light'}", narrow[0])
            screenshot(driver, f"times-{'dark' if dark else 'light'}")


class Blank(http.server.BaseHTTPRequestHandler):
    """A page of another origin, with nothing on it."""

    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<!doctype html><title>another origin</title><link rel=icon href=data:,>")

    def log_message(self, *_):
        pass


# Asks as a page would and says what it could read.
ASK = r"""
const done = arguments[arguments.length - 1];
const [url, options, field] = arguments;
fetch(url, options)
  .then(async (answer) => done([answer.status, answer.headers.get(field), (await answer.text()).slice(0, 3)]))
  .catch((error) => done([error.name]));
"""


def origins(base, port):
    """What pages of a listed origin may do, and what those of another may not."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Blank)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    callback = {
        "method": "POST", "body": json.dumps({"contact_phone_number": "+14155550122", "talkdesk_phone_number": "+18005550199"}),
        "headers": {"Content-Type": "application/json", "Idempotency-Key": "from-another-origin"},
    }
    with browser(DESKTOP) as driver:
        driver.get(f"http://127.0.0.1:{port}/")

        def ask(url, options, field="X-Request-Id"):
            return driver.execute_async_script(ASK, base + url, options, field)

        answer = ask("/access", {"headers": {"X-Request-Id": "from-a-page"}})
        check("a listed origin gets a token, behind a preflight", "" if answer == [200, "from-a-page", "eyJ"] else answer)
        answer = ask("/calls/callback", callback, "Location")
        check("and a callback", "" if answer[0] == 201 and answer[1].startswith("/callbacks/") else answer)
        answer = ask("/token/none", {"method": "POST"})
        check("and can read a refusal", "" if answer[0] == 404 else answer)
        answer = ask("/availability", {})
        check("and whether it is open", "" if answer[0] == 200 else answer)
        answer = ask("/readyz", {})
        check("but nothing of operators", "" if answer == ["TypeError"] else answer)
        driver.get(f"http://localhost:{port}/")
        for url, options in [("/access", {}), ("/access", {"headers": {"X-Request-Id": "a"}}), ("/calls/callback", callback)]:
            answer = ask(url, options)
            check(f"another origin gets nothing of {url}", "" if answer == ["TypeError"] else answer)
    server.shutdown()


def attempt(what, work, *arguments):
    """A failure that no check foresaw is one, too."""
    try:
        work(*arguments)
    except Exception as error:
        check(what, str(error).splitlines()[0] or type(error).__name__)


kind, base = sys.argv[1:3]
attempt("the first page", looks, base, "/", "the demo" if kind == "sandbox" else "the landing page")
attempt("the documentation", looks, base, "/docs", "the documentation")
if kind == "sandbox":
    attempt("the demo", demo, base)
    attempt("appointments", appointments, base)
    attempt("other origins", origins, base, int(sys.argv[3]))
