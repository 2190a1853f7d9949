#!/usr/bin/env python3
"""What the operator's page offers to each role, with a headless Chromium.

    operators_roles.py URL READ APPROVE OPERATE CONFIG PID

URL is an admin listener whose operators have these tokens, in the file CONFIG of the process PID. Prints `ok WHAT` or
`WHAT: what is wrong`, one line each.
"""
import os
import re
import signal
import sys

from chromium import *
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

URL, READ, APPROVE, OPERATE, CONFIG, PID = sys.argv[1:7]
# What each role may press, beside what only changes what is shown.
APPROVES, OPERATES = {"find-form"}, {"stop-open", "reload"}
ROLES = {"read": (READ, set()), "approve": (APPROVE, APPROVES), "operate": (OPERATE, APPROVES | OPERATES)}


def open_as(driver, token):
    driver.get(URL + "/admin/")
    asks_for_token(driver).send_keys(token, Keys.ENTER)
    waits_for(driver, "the token opens the page", lambda d: d.find_element(By.ID, "board").is_displayed())


def offered(driver):
    return {button.text for button in driver.find_elements(By.TAG_NAME, "button") if button.is_displayed()}


def roles():
    for role, (token, expected) in ROLES.items():
        with browser(DESKTOP) as driver:
            open_as(driver, token)
            name = f"{role[0]}n, {role}"
            check(f"the page says {name}", "" if text(driver, "operator") == name else text(driver, "operator"))
            shown = {part for part in APPROVES | OPERATES if driver.find_element(By.ID, part).is_displayed()}
            check(f"{role} is offered its buttons, and no more", shown ^ expected)
            if role == "operate":
                use(driver, "Reload", "reload-status", "200: now using configuration number")
                driver.find_element(By.ID, "stop-open").click()
                driver.find_element(By.ID, "stop-act").click()
                waits_for(driver, "the pause is shown with its operator", lambda d: f"by {role[0]}n" in text(d, "attention-list"))
                check("and can be ended", "" if "Resume" in offered(driver) else offered(driver))
    with browser(DESKTOP) as driver:
        open_as(driver, READ)
        waits_for(driver, "a reader sees who paused", lambda d: "by on" in text(d, "attention-list"))
        check("and is offered no Resume", "it is" if "Resume" in offered(driver) else "")


def removed():
    """A reload takes the operator away whose page is open."""
    with browser(DESKTOP) as driver:
        open_as(driver, READ)
        with open(CONFIG, encoding="utf-8") as file:
            settings = file.read()
        with open(CONFIG, "w", encoding="utf-8") as file:
            file.write(re.sub(r'\{ name: "rn".*?\}, ', "", settings))
        os.kill(int(PID), signal.SIGHUP)
        waits_for(driver, "the page asks for a token again", lambda d: d.find_element(By.ID, "login").is_displayed())
        check("and shows nothing", "something" if driver.find_element(By.ID, "board").is_displayed() else "")


attempt("roles", roles)
attempt("removed", removed)
