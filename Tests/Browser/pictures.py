#!/usr/bin/env python3
"""Makes the pictures of README and the documents with a headless Chromium, each light and dark, cropped to cards.

    pictures.py URL TOKEN FOLDER

URL is a sandbox with the admin token TOKEN. Prints `ok WHAT` or `WHAT: what is wrong`, one line each.
"""
import base64
import json
import os
import re
import sys
import time
import urllib.error
import urllib.request

from chromium import *
from selenium.webdriver.common.by import By

URL, TOKEN, FOLDER = sys.argv[1:4]
# Points around the cards.
MARGIN = 16


def send(method, path, content=None, token=None):
    headers = {"Content-Type": "application/json"} if content is not None else {}
    if token:
        headers["Authorization"] = f"Bearer {token}"
    data = None if content is None else json.dumps(content).encode()
    try:
        urllib.request.urlopen(urllib.request.Request(URL + path, data, headers, method=method), timeout=20).read()
    except urllib.error.HTTPError:
        pass


def crop(driver, name, *elements):
    """Saves the part of the page that has these elements."""
    # The picture has no scroll bar, so the cards are measured without one.
    driver.execute_script("document.documentElement.style.scrollbarWidth = 'none'")
    boxes = [driver.execute_script("const b = arguments[0].getBoundingClientRect(); return [b.left, b.top, b.right, b.bottom]",
                                   driver.find_element(By.CSS_SELECTOR, element)) for element in elements]
    left, top = (min(box[side] for box in boxes) - MARGIN for side in (0, 1))
    right, bottom = (max(box[side] for box in boxes) + MARGIN for side in (2, 3))
    clip = {"x": left, "y": top, "width": right - left, "height": bottom - top, "scale": 2}
    picture = driver.execute_cdp_cmd("Page.captureScreenshot", {"clip": clip, "captureBeyondViewport": True})
    with open(os.path.join(FOLDER, name), "wb") as file:
        file.write(base64.b64decode(picture["data"]))
    check(name, "" if os.path.getsize(os.path.join(FOLDER, name)) < 400_000 else "more than 400 KB")


def demo(dark, number):
    """A call was requested, and the phone beside it rang once."""
    with browser((1000, 900), dark) as driver:
        driver.get(URL + "/")
        phone = driver.find_element(By.ID, "phone")
        phone.clear()
        phone.send_keys(number)
        use(driver, "Call me", "call-status", "201: accepted")
        waits_for(driver, "the phone of the picture rang", lambda d: f"{number} rang once" in text(d, "rings"))
        driver.execute_script("document.querySelector('.ringing')?.classList.remove('ringing'); document.activeElement.blur();"
                              "document.querySelector('aside').style.position = 'static';"
                              "document.querySelector('[aria-labelledby=token-title]').hidden = true; scrollTo(0, 0)")
        crop(driver, f"demo-page{'-dark' if dark else ''}.png", "[aria-labelledby=call-title]", "aside")


def hour():
    """An hour of requests by the sandbox's clock."""
    for minutes in range(60, 0, -1):
        send("POST", "/_sandbox/clock", {"offset_seconds": -60 * minutes, "everything": True})
        send("GET", "/admin/status?after=0", token=TOKEN)
        for _ in range(30 - abs(minutes - 25) // 2 + (minutes * 37) % 9):
            send("GET", "/access")
        for _ in range((minutes * 13) % 5):
            send("GET", "/access?app=none")
        time.sleep(1.1)
    send("POST", "/_sandbox/clock", {"offset_seconds": 0, "everything": True})


def operator(dark):
    """What needs attention, the state now, and the last hour."""
    with browser((1000, 900), dark) as driver:
        driver.get(URL + "/admin/")
        asks_for_token(driver).send_keys(TOKEN)
        driver.find_element(By.CSS_SELECTOR, "#login-form button").click()
        waits_for(driver, "the board is shown", lambda d: d.find_element(By.ID, "plot").is_displayed())
        crop(driver, f"operators-page{'-dark' if dark else ''}.png", "header", "#attention", "[aria-labelledby=hour-title]")


def diagram():
    """The dark form of a drawing has the same lines in the dark colors of the design."""
    with open(os.path.join(FOLDER, "rings-once.svg"), encoding="utf-8") as file:
        drawing = file.read()
    with open(os.path.join(os.path.dirname(__file__), "../../Sources/Pages/Files/design.css"), encoding="utf-8") as file:
        style = file.read()
    light, dark = (dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6})\b", part)) for part in style.split("prefers-color-scheme: dark")[:2])
    for name, color in light.items():
        drawing = re.sub(f"{color}(?![0-9a-f])", f"@{name}@", drawing)
    for name, color in dark.items():
        drawing = drawing.replace(f"@{name}@", color)
    with open(os.path.join(FOLDER, "rings-once-dark.svg"), "w", encoding="utf-8") as file:
        file.write(drawing)
    check("rings-once-dark.svg", "a color is not in the design" if "@" in drawing else "")


attempt("the diagram", diagram)
for dark, number in ((False, "+14155550142"), (True, "+14155550143")):
    attempt("the sandbox's page", demo, dark, number)
attempt("an hour of requests", hour)
for dark in (False, True):
    attempt("the operator's page", operator, dark)
