#!/usr/bin/env python3
"""What the operator's page offers to each operator, with a headless Chromium.

    operators_roles.py SETTING

SETTING is JSON: `one` and `two` are admin listeners of two instances with one database; the operators ann (operate), eve (approve)
and grafana (read) have `tokens`. `proxy` leads to `one` for the users bob (operate) and dora (no role), whose JWTs it adds; their
password is x. An active installation, the pending one of `code` and a callback are there. `config` is the file of `one`, the process
`pid`. Prints `ok WHAT` or `WHAT: what is wrong`, one line each.
"""
import json
import os
import re
import signal
import sys

from chromium import *
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

SETTING = json.loads(sys.argv[1])
ONE, TWO = SETTING["one"], SETTING["two"]
BY_PROXY = SETTING["proxy"]

# Every button that is seen, by its id, its form or its words. A button that is in no list below is one too many.
OFFERED = r"""
const seen = [...document.querySelectorAll("button")].filter((button) => button.checkVisibility());
return [...new Set(seen.map((button) => button.id || button.form?.id || button.textContent))];
"""
READS = {"zone", "pause", "list-form", "list-csv", "list-json", "find-decision", "decisions-csv", "decisions-json", "Why…"}
APPROVES = {"find-form", "approve", "deny", "Revoke…", "Block this number…"}
OPERATES = {"stop-open", "reload", "Resume"}


def open_as(driver, base, name):
    driver.get(base + "/admin/")
    asks_for_token(driver).send_keys(SETTING["tokens"][name], Keys.ENTER)
    waits_for(driver, f"{name}'s token opens the page", lambda d: d.find_element(By.ID, "board").is_displayed())


def open_by_proxy(driver, name):
    """As a browser that its user has logged in at the proxy."""
    driver.get(BY_PROXY.replace("//", f"//{name}:x@") + "/livez")
    driver.get(BY_PROXY + "/admin/")


def is_offered(driver, who, role, expected):
    """The page names the operator and shows the buttons of the role, each, and no other."""
    waits_for(driver, f"the page says {who}, {role}", lambda d: text(d, "operator") == f"{who}, {role}")
    waits_for(driver, f"{who} sees the installation", lambda d: "A phone" in text(d, "active"))
    waits_for(driver, f"{who} sees the callback", lambda d: d.find_elements(By.CSS_SELECTOR, "#decision-rows summary"))
    if driver.find_element(By.ID, "find-code").is_displayed():
        driver.find_element(By.ID, "find-code").send_keys(SETTING["code"])
        use(driver, driver.find_element(By.CSS_SELECTOR, "#find-form button"), "find-status", "200: compare this")
    unfold(driver)
    waits_for(driver, f"{who} may read why", lambda d: "Why…" in d.execute_script(OFFERED))
    check(f"{who} is offered what the role {role} may press, and no more", sorted(set(driver.execute_script(OFFERED)) ^ expected))


def sees_pause(driver, who, name):
    waits_for(driver, f"{who} sees that {name} paused", lambda d: f"by {name}" in text(d, "attention-list"))


def roles():
    with browser(DESKTOP) as driver:
        open_as(driver, TWO, "ann")
        use(driver, "Reload", "reload-status", "200: now using configuration number 2")
        driver.find_element(By.ID, "stop-open").click()
        driver.find_element(By.ID, "stop-act").click()
        sees_pause(driver, "ann", "ann")
        is_offered(driver, "ann", "operate", READS | APPROVES | OPERATES | {"lock"})
    with browser(DESKTOP) as driver:
        open_as(driver, ONE, "eve")
        sees_pause(driver, "eve", "ann")
        is_offered(driver, "eve", "approve", READS | APPROVES | {"lock"})
    with browser(DESKTOP) as driver:
        open_as(driver, ONE, "grafana")
        sees_pause(driver, "grafana", "ann")
        is_offered(driver, "grafana", "read", READS | {"lock"})


def proxied():
    """Who comes through the proxy needs no token, and has the role of the JWT's groups."""
    with browser(DESKTOP) as driver:
        open_by_proxy(driver, "bob")
        waits_for(driver, "the proxy opens the page for bob", lambda d: d.find_element(By.ID, "board").is_displayed())
        check("which asks him for no token", "it does" if driver.find_element(By.ID, "login").is_displayed() else "")
        sees_pause(driver, "bob", "ann")
        is_offered(driver, "bob@example.com", "operate", READS | APPROVES | OPERATES)
        driver.find_element(By.XPATH, "//ul[@id='attention-list']//button[normalize-space()='Resume']").click()
        waits_for(driver, "he is asked first", lambda d: d.find_element(By.ID, "confirm").is_displayed())
        driver.find_element(By.ID, "confirm-act").click()
        waits_for(driver, "he resumes what ann paused", lambda d: "by ann" not in text(d, "attention"))
        choose_resume = "return [...document.querySelectorAll('#decision-rows details')].find((row) => row.innerText.includes('resume'))"
        waits_for(driver, "the page has the decision", lambda d: d.execute_script(choose_resume))
        row = driver.execute_script(choose_resume)
        driver.execute_script("arguments[0].open = true", row)
        waits_for(driver, "with his name", lambda d: "bob@example.com, jwt" in row.text)
        check("the browser has no complaint", faults(driver))
    with browser(DESKTOP) as driver:
        open_by_proxy(driver, "dora")
        waits_for(driver, "dora, who has no role, learns it", lambda d: "403 denied" in text(d, "connection-cause"))
        check("and is offered nothing", driver.execute_script(OFFERED))


def removed():
    """A reload takes the operator away whose page is open."""
    with browser(DESKTOP) as driver:
        open_as(driver, ONE, "eve")
        with open(SETTING["config"], encoding="utf-8") as file:
            settings = file.read()
        with open(SETTING["config"], "w", encoding="utf-8") as file:
            file.write(re.sub(r'\{ name: "?eve.*?\}, ', "", settings))
        os.kill(SETTING["pid"], signal.SIGHUP)
        waits_for(driver, "the page asks for a token again", lambda d: d.find_element(By.ID, "login").is_displayed())
        check("and offers only the field for it", sorted(set(driver.execute_script(OFFERED)) ^ {"login-form"}))


attempt("roles", roles)
attempt("proxied", proxied)
attempt("removed", removed)
