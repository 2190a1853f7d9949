#!/usr/bin/env python3
"""How an operator blocks a number on the page, with a headless Chromium.

    operators_numbers.py URL TOKEN NUMBER

URL has decided about a callback to NUMBER; TOKEN is the admin token. Prints `ok WHAT` or `WHAT: what is wrong`, one line each.
"""
import sys

from chromium import *
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

URL, TOKEN, NUMBER = sys.argv[1:4]
MASKED = "+" + "*" * (len(NUMBER) - 3) + NUMBER[-2:]


def blocked():
    with browser(DESKTOP) as driver:
        driver.get(URL + "/admin/")
        asks_for_token(driver).send_keys(TOKEN, Keys.ENTER)
        waits_for(driver, "the decision is shown", lambda d: "callback" in text(d, "decision-rows"))
        driver.find_element(By.CSS_SELECTOR, "#decision-rows summary").click()
        block = [one for one in driver.find_elements(By.CSS_SELECTOR, "#decision-rows button") if one.text == "Block this number…"]
        check("an open decision offers to block its number", "" if block else text(driver, "decision-rows"))
        block[0].click()
        check("the dialog says what the server knows", "" if text(driver, "block-mask") == MASKED else text(driver, "block-mask"))
        phone = driver.find_element(By.ID, "block-phone")
        phone.send_keys(NUMBER[:-1] + str((int(NUMBER[-1]) + 1) % 10))
        act = driver.find_element(By.CSS_SELECTOR, "#block-dialog button[value=block]")
        act.click()
        check("another number is not sent", "" if driver.find_element(By.ID, "block-dialog").is_displayed() else "the dialog has closed")
        phone.clear()
        phone.send_keys(NUMBER)
        driver.find_element(By.ID, "block-reason").send_keys("she wrote to us")
        act.click()
        waits_for(driver, "the number is blocked", lambda d: text(d, "act-status") == f"Blocked {MASKED}")
        choose = driver.find_element(By.CSS_SELECTOR, "#list-kind option[value=blocked]")
        choose.click()
        driver.find_element(By.CSS_SELECTOR, "#list-form button[type=submit]").click()
        waits_for(driver, "the list has it", lambda d: MASKED in text(d, "list-rows"))
        driver.find_element(By.CSS_SELECTOR, "#list-rows summary").click()
        check("with its reason", "" if "she wrote to us" in text(driver, "list-rows") else text(driver, "list-rows"))
        check("the page has no full number", "it has" if NUMBER in driver.find_element(By.TAG_NAME, "body").text else "")


attempt("blocked", blocked)
