#!/usr/bin/env python3
"""Looks at the server's pages with a headless Chromium and uses them as a person would.

    pages.py sandbox URL PORT   the demo client and the documentation; pages of another origin are served on PORT
    pages.py proofs URL         the demo client of a sandbox with the rule own_number
    pages.py strangers URL      the demo client with strangers' texts, which use up what an address may ask for
    pages.py server URL         the landing page and the documentation of a server that is no sandbox

Prints `ok WHAT` or `WHAT: what is wrong`, one line each.
"""
import http.server
import json
import os
import sys
import threading

from chromium import *
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait


def opened(driver, base):
    """The demo client with nothing folded."""
    driver.get(base + "/")
    unfold(driver)


def fault(driver, group, name):
    """The button of a fault."""
    return driver.find_element(By.ID, group).find_element(By.XPATH, f'.//button[normalize-space()="{name}"]')


def hidden(element):
    return lambda driver: not driver.find_element(By.ID, element).is_displayed()


def demo(base):
    """The demo client, pressed through."""
    with browser(DESKTOP) as driver:
        opened(driver, base)
        use(driver, "Get a token", "token-status", "200: authorized")
        check("the claims are shown", "" if "callback:write" in text(driver, "claims") else text(driver, "claims"))
        check("the time runs", "" if ":" in text(driver, "left") else text(driver, "left"))
        use(driver, "Check without a token", "token-status", "204")
        waits_for(driver, "one token request was seen", lambda d: "accepted" in text(d, "exchanges"))

        check("it is open for callbacks", "" if "Open" in text(driver, "open-now") else text(driver, "open-now"))
        check("nothing is to be repeated yet", driver.find_element(By.ID, "repeat").is_enabled() and "enabled")
        use(driver, "Validate without calling", "call-status", "200: valid")
        check("nothing rang", "" if text(driver, "handset-state") == "has not rung" else text(driver, "handset-state"))
        use(driver, "Call me", "call-status", "201: accepted")
        waits_for(driver, "the phone rang once", lambda d: text(d, "handset-state") == "rang once")
        use(driver, "Answer", "end-status", "Talkdesk reports: reached")
        waits_for(driver, "the outcome stands beside the phone", lambda d: text(d, "handset-state") == "rang once, was answered, 40 s")
        check("a call ends once", driver.find_element(By.CSS_SELECTOR, "[data-end=not_reached]").is_enabled() and "enabled")
        check("it is the number's", "" if text(driver, "handset-number") == "+14155550100" else text(driver, "handset-number"))
        seen = "const box = document.getElementById('handset').getBoundingClientRect(); return box.top >= 0 && box.bottom <= innerHeight"
        check("where one looks", "" if driver.execute_script(seen) else "not in view")
        check("the record is shown", "" if "accepted" in text(driver, "call-record") else text(driver, "call-record"))
        check("the answer is masked", "" if "+*********00" in text(driver, "call-answer") else text(driver, "call-answer"))
        use(driver, "Repeat the same tap", "twice-status", "201: accepted, the same response as before; no second call")
        use(driver, "Tap a second time", "twice-status", "409 duplicate")
        check("beside its body", "" if "duplicate" in text(driver, "twice-answer") else text(driver, "twice-answer"))
        check("the first one's record is shown", "" if "accepted" in text(driver, "call-record") else text(driver, "call-record"))
        waits_for(driver, "it still rang once", lambda d: "+14155550100 rang once" in text(d, "rings"))

        phone = driver.find_element(By.ID, "phone")
        phone.clear()
        phone.send_keys("415 555")
        use(driver, "Call me", "call-status", "422 invalid_request: contact_phone_number: ")
        check("the field is marked", "" if phone.get_attribute("aria-invalid") == "true" else phone.get_attribute("aria-invalid"))
        for number, button, state, words in (("+14155550107", "Don't answer", "not_reached", "the customer did not answer"),
                                             ("+14155550108", "Hang up early", "cancelled", "the customer hung up")):
            phone.clear()
            phone.send_keys(number)
            use(driver, "Call me", "call-status", "201: accepted")
            use(driver, button, "end-status", f"Talkdesk reports: {state}")
            waits_for(driver, f"the story ends: {words}", lambda d: text(d, "handset-state") == f"rang once, {words}")
        phone.clear()
        phone.send_keys("+14155550100")

        use(driver, fault(driver, "callback-faults", "Rings, no response"), "fault-status", "504 outcome_unknown")
        waits_for(driver, "it rang, and the answer was honest", lambda d: text(d, "handset-state") == "rang once" and "0100" not in text(d, "handset-number"))
        use(driver, fault(driver, "callback-faults", "500"), "fault-status", "502 upstream_failed")
        use(driver, fault(driver, "token-faults", "Refused"), "fault-status", "502 upstream_refused")
        waits_for(driver, "the pause is shown with its countdown", lambda d: "tries Talkdesk ID again in" in text(d, "pauses"))
        first = text(driver, "pauses")
        waits_for(driver, "which runs", lambda d: text(d, "pauses") not in ("", first))
        use(driver, fault(driver, "token-faults", "503"), "fault-status", "503 upstream_unavailable")
        waits_for(driver, "a fault that was not met is shown", lambda d: "token: status 503" in text(d, "waiting"))
        driver.find_element(By.ID, "end-pauses").click()
        waits_for(driver, "the pause is ended", hidden("paused"))
        use(driver, "Clear all faults", "fault-status", "cleared")
        waits_for(driver, "no fault waits", hidden("unmet"))
        use(driver, "Get a token", "token-status", "200: authorized")
        use(driver, "+12025550131", "fault-status", "403 closed")

        name = driver.find_element(By.ID, "app-name")
        name.clear()
        name.send_keys("<b>A phone</b>")
        use(driver, "Enroll this phone", "enrol-status", "202: pending")
        use(driver, "Approve as operator", "approve-status", "204: approved")
        waits_for(driver, "the secret is delivered", lambda d: "200: installed" in text(d, "enrol-status"))
        check("a stranger's words are text", "" if "<b>A phone</b>" in text(driver, "phone-facts") else text(driver, "phone-facts"))
        check("the secret is masked", "" if "…" in text(driver, "phone-facts") else text(driver, "phone-facts"))
        use(driver, "Get a code", "phone-status", "200: a code")
        check("the code's time runs", "" if "for " in text(driver, "code-left") else text(driver, "code-left"))
        use(driver, "Verify the code", "verify-status", "200: valid")
        use(driver, "Verify the code", "verify-status", "200: not valid")
        use(driver, "Get a token as this phone", "phone-status", "200: authorized")

        driver.refresh()
        unfold(driver)
        waits_for(driver, "a reload keeps the phone", lambda d: "<b>A phone</b>" in text(d, "phone-facts"))
        check("and the last tap", "" if driver.find_element(By.ID, "repeat").is_enabled() else "nothing to repeat")
        use(driver, "Get a token as this phone", "phone-status", "200: authorized")
        use(driver, driver.find_element(By.ID, "revoke"), "enrol-status", "204: revoked. Its secret now gets 401.")
        check("nothing of the phone is left", driver.find_element(By.ID, "installed").is_displayed() and "shown")
        check("nor what needs it", driver.find_element(By.ID, "register-device").is_enabled() and "enabled")
        screenshot(driver, "demo-used")
        driver.find_element(By.ID, "operator").click()
        waits_for(driver, "the operator's page opens with the sandbox's own token",
                  lambda d: d.find_element(By.ID, "board").is_displayed())
        driver.back()
        # The browser reports answers of 4xx and 5xx, which were asked for.
        check("no other complaint", faults(driver))


# Marks of direction without their ends, markup, and words that fit no line: one that is taken, and one that is too long.
STRANGE = ["\u202e\u2067evil\u200f", "<img src=x onerror=document.title='run'>", "W" * 250, "W" * 300]


def strangers(base):
    """Strangers' texts in every place of the demo client: nothing runs, nothing overflows."""
    for device, size in SIZES.items():
        for dark in (False, True):
            kind = f"strangers' texts on {device}, {'dark' if dark else 'light'}"
            with browser(size, dark) as driver:
                opened(driver, base)
                for odd in STRANGE:
                    for field in ("issue", "ticket-name", "ticket-message", "app-name", "phone"):
                        # Keys would take longer, and an emulated phone has none for marks of direction.
                        driver.execute_script("document.getElementById(arguments[0]).value = arguments[1]", field, odd)
                    driver.execute_script("document.getElementById('phone').value = '+1415555' + String(1000 + Math.floor(Math.random() * 8999))")
                    driver.execute_script("document.getElementById('call').requestSubmit()")
                    waits_for(driver, f"{kind}: a callback has a result", lambda d: ":" in text(d, "call-status"))
                    driver.execute_script("document.getElementById('enrol').requestSubmit()")
                    waits_for(driver, f"{kind}: so has an enrolment", lambda d: ":" in text(d, "enrol-status"))
                    check(f"{kind}: nothing ran", driver.title if "run" in driver.title else "")
                # The journals have all of them now.
                usable(driver, kind, size[0])
                screenshot(driver, kind.replace(", ", "-").replace("'", "").replace(" ", "-"))


def reference(base):
    """The API reference: it has this server's address, is searched, copied from, and read without scripts."""
    with browser(DESKTOP) as driver:
        driver.get(base + "/docs/callbacks")
        check("commands have this server's address", "" if f'"{base}/calls/callback"' in driver.find_element(By.CSS_SELECTOR, "article pre").text
              else driver.find_element(By.CSS_SELECTOR, "article pre").text)
        check("and no placeholder", [line for line in driver.find_elements(By.CSS_SELECTOR, ".no-script") if line.is_displayed()])
        field = driver.find_element(By.ID, "find")
        field.send_keys("cancel")
        shown = [link.text for link in driver.find_elements(By.CSS_SELECTOR, "#contents li") if link.is_displayed()]
        check("a search finds operations", "" if shown and all("ancel" in link for link in shown) else shown)
        field.clear()
        field.send_keys("quota_exhausted")
        driver.find_element(By.XPATH, "//nav//li[not(@hidden)]/a").click()
        waits_for(driver, "and codes, which are open then", lambda d: d.find_element(By.CSS_SELECTOR, "#code-quota_exhausted pre").is_displayed())
        driver.get(base + "/docs/tokens")
        driver.find_element(By.XPATH, "//article//button[normalize-space()='Copy']").click()
        waits_for(driver, "a command is copied", lambda d: d.find_elements(By.XPATH, "//button[.='Copied' or .='Selected']"))
        driver.get(base + "/docs#getAccess")
        waits_for(driver, "an operation's old link leads to its page", lambda d: "/docs/tokens" in d.current_url)
        check("no complaint", complaints(driver))
        driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
        driver.get(base + "/docs/callbacks")
        body = driver.find_element(By.TAG_NAME, "main").text
        check("without scripts the placeholder stands", "" if '"$CALLGATE/calls/callback"' in body and "the address of this server" in body else body[:200])
        check("and no button does nothing", [button.text for button in driver.find_elements(By.TAG_NAME, "button")])


def choose(driver, element, value):
    driver.find_element(By.CSS_SELECTOR, f"#{element} option[value='{value}']").click()


def pushed(base):
    """The card of tokens by push: a phone's device gets notices by both providers, and claims each token once."""
    with browser(DESKTOP) as driver:
        opened(driver, base)
        check("nothing can be asked before a phone is enrolled", driver.find_element(By.ID, "ask-push").is_enabled() and "enabled")
        choose(driver, "app-kind", "example-app-push")
        use(driver, "Enroll this phone", "enrol-status", "202: pending")
        use(driver, "Approve as operator", "approve-status", "204: approved")
        waits_for(driver, "the phone is enrolled", lambda d: "200: installed" in text(d, "enrol-status"))
        use(driver, "Request a token", "push-status", "409 no_device")
        for seen, provider in enumerate(("fcm", "http"), 1):
            choose(driver, "push-platform", provider)
            use(driver, "Register the device", "push-status", f"204: registered with {provider}")
            use(driver, "Request a token", "push-status", "202: a push notification is on its way")
            # The newest notice is the first.
            buttons = "#notices button"
            waits_for(driver, f"a notice by {provider} arrives", lambda d: len(d.find_elements(By.CSS_SELECTOR, buttons)) == seen)
            first = text(driver, "notices").splitlines()[0]
            check(f"it came by {provider}", "" if f" {provider} " in first and '"_action":"access"' in first else first)
            use(driver, driver.find_elements(By.CSS_SELECTOR, buttons)[0], "claim-status", "200: authorized")
            use(driver, driver.find_elements(By.CSS_SELECTOR, buttons)[0], "claim-status", "410 claim_expired")
        use(driver, "Get a token as this phone", "phone-status", "202: the token comes by push")
        groups = {name: driver.find_element(By.ID, f"{name}-faults") for name in ("fcm", "hook")}
        use(driver, groups["hook"].find_element(By.XPATH, ".//button[normalize-space()='503']"), "push-fault-status", "waiting")
        use(driver, "Request a token", "push-status", "503 upstream_unavailable")
        choose(driver, "push-platform", "fcm")
        use(driver, "Register the device", "push-status", "204: registered with fcm")
        use(driver, groups["fcm"].find_element(By.XPATH, ".//button[normalize-space()='Device unknown']"), "push-fault-status", "waiting")
        use(driver, "Request a token", "push-status", "409 no_device")
        use(driver, "Request a token", "push-status", "409 no_device")
        screenshot(driver, "push-used")
        check("no other complaint", faults(driver))


def enrol(driver, kind):
    choose(driver, "app-kind", kind)
    use(driver, "Enroll this phone", "enrol-status", "202: pending")
    use(driver, "Approve as operator", "approve-status", "204: approved")
    waits_for(driver, "the phone is enrolled", lambda d: "200: installed" in text(d, "enrol-status"))


def attested(base):
    """The card of attested phones: the genuine app enrols by each way, each other phone by none, and its key is needed."""
    with browser(DESKTOP) as driver:
        opened(driver, base)
        for way in ("app_check", "app_attest", "play_integrity"):
            choose(driver, "trust-way", way)
            for kind, result in (("genuine", "200: installed"), ("resigned", "403 attestation_failed"), ("old", "403 attestation_failed"),
                                 ("emulator", "401 attestation_required" if way == "app_check" else "403 attestation_failed")):
                choose(driver, "trust-kind", kind)
                use(driver, "Enroll with attestation", "trust-status", result)
                check(f"{way}, {kind}: on the page", "" if driver.find_element(By.ID, "trusted").is_displayed() == (kind == "genuine") else "the other")
                if kind != "genuine":
                    continue
                use(driver, "Get a token with a proof", "trust-token-status", "200: authorized")
                use(driver, "Send the last proof again", "trust-token-status", "401 invalid_proof")
                use(driver, "Use the secret without the key", "trust-token-status", "401 invalid_proof")
                use(driver, "Get a token with a proof", "trust-token-status", "200: authorized")
        choose(driver, "trust-kind", "genuine")
        choose(driver, "trust-key", "")
        use(driver, "Enroll with attestation", "trust-status", "200: installed")
        check("no proof without a key", driver.find_element(By.ID, "trust-copied").is_enabled() and "enabled")
        use(driver, "Get a token with a proof", "trust-token-status", "200: authorized")
        use(driver, "Get a token", "token-status", "200: authorized")
        screenshot(driver, "trust-used")
        check("no other complaint", faults(driver))


def ticketed(base):
    """The card of tickets: one is opened for the phone's user, with its first message, and one is refused."""
    with browser(DESKTOP) as driver:
        opened(driver, base)
        check("no ticket before a phone is enrolled", driver.find_element(By.ID, "open-ticket").is_enabled() and "enabled")
        enrol(driver, "example-chat")
        use(driver, "Open the ticket", "ticket-status", "201: ticket ")
        waits_for(driver, "the desk shows it", lambda d: "I cannot change the date." in text(d, "tickets"))
        group = driver.find_element(By.ID, "desk-faults")
        use(driver, group.find_element(By.XPATH, ".//button[normalize-space()='Token refused']"), "ticket-fault-status", "waiting")
        name = driver.find_element(By.ID, "ticket-name")
        name.clear()
        name.send_keys("Another one")
        use(driver, "Open the ticket", "ticket-status", "502 upstream_refused")
        screenshot(driver, "ticket-used")
        check("no other complaint", faults(driver))


def asked(base):
    """The card of dialogs: a phone is asked before its call, takes it later, and then at its time."""
    with browser(DESKTOP) as driver:
        opened(driver, base)
        enrol(driver, "example-app-push")
        choose(driver, "push-platform", "fcm")
        use(driver, "Register the device", "push-status", "204: registered with fcm")
        use(driver, "Book a call in ten minutes", "dialog-status", "201: booked for")
        use(driver, "Jump to the question", "dialog-status", "200")
        item = "#dialog-screen button"
        waits_for(driver, "the question is shown", lambda d: len(d.find_elements(By.CSS_SELECTOR, item)) == 4)
        buttons = driver.find_elements(By.CSS_SELECTOR, item)
        later = next(button for button in buttons if "5" in button.text)
        use(driver, later, "dialog-status", "200: answered")
        waits_for(driver, "the call is later", lambda d: "scheduled" in text(d, "dialog-record"))
        use(driver, "Jump to the call", "dialog-status", "200")
        waits_for(driver, "the phone rings", lambda d: "accepted" in text(d, "dialog-record"))
        screenshot(driver, "dialog-used")
        check("no other complaint", faults(driver))


def agent(base):
    """The card of the AI agent: it lists its tools, has a phone rung once however often it asks, books, and cancels."""
    with browser(DESKTOP) as driver:
        opened(driver, base)
        check("nothing is to be cancelled yet", driver.find_element(By.ID, "agent-cancel").is_enabled() and "enabled")
        use(driver, "List the tools", "agent-status", "availability, request_callback, callback_status, cancel_callback")

        def answer():
            return json.loads(text(driver, "agent-answer"))["result"]["structuredContent"]

        use(driver, "Request a callback", "agent-status", "A callback to the number ending in 24 was requested.")
        waits_for(driver, "its phone rings", lambda d: (text(d, "handset-number"), text(d, "handset-state")) == ("+14155550124", "rang once"))
        first = answer()
        check("the agent sees no full number", "it does" if "+14155550124" in text(driver, "agent-answer") else "")
        use(driver, "Request a callback", "agent-status", "This callback was already requested, so nothing new was done.")
        again = answer()
        check("it is the same callback", "" if (again["id"], again["repeated"]) == (first["id"], True) else again)
        driver.refresh()
        unfold(driver)
        use(driver, "Request a callback", "agent-status", "A callback to this number has already been requested.")
        check("another conversation does not learn which", "" if "id" not in answer() else answer())
        waits_for(driver, "the phone rang once", lambda d: "+14155550124 rang once" in text(d, "rings"))
        book = driver.find_element(By.ID, "agent-book")
        number = driver.find_element(By.ID, "agent-number")
        number.clear()
        number.send_keys("+14155550125")
        use(driver, book, "agent-status", "A callback to the number ending in 25 is booked for ")
        booked = answer()
        use(driver, book, "agent-status", "This callback was already requested, so nothing new was done.")
        check("the booking is the same", "" if answer()["id"] == booked["id"] else answer())
        cancel = driver.find_element(By.ID, "agent-cancel")
        use(driver, cancel, "agent-status", "canceled")
        check("and is cancelled", "" if (answer()["id"], answer()["status"]) == (booked["id"], "cancelled") else answer())
        screenshot(driver, "agent-used")
        check("no other complaint", faults(driver))


# A phone has proven its number, and asks for a call to another one.
LENT = r"""
const done = arguments[arguments.length - 1];
const [proven, called] = arguments;
const post = (path, body) => fetch(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) })
  .then(async (answer) => [answer.status, await answer.json()]);
post("/_sandbox/number-proof", { phone: proven })
  .then(([, { number_proof }]) => post("/calls/callback", { contact_phone_number: called, number_proof }))
  .then(([status, { code }]) => done([status, code]));
"""


def proofs(base):
    """The switch of the phone that proves its number: only the proven number rings, once for each proof."""
    number, other = "+14155550141", "+14155550142"
    with browser(DESKTOP) as driver:
        opened(driver, base)
        phone, switch = driver.find_element(By.ID, "phone"), driver.find_element(By.ID, "proves")

        def dial(digits):
            phone.clear()
            phone.send_keys(digits)

        dial(number)
        use(driver, "Call me", "call-status", "403 number_not_proven")
        accepts = json.loads(text(driver, "call-answer"))["accepts"]
        check("the app learns what would do", "" if accepts == ["proof"] else accepts)
        driver.execute_script("arguments[0].scrollIntoView({ block: 'center', behavior: 'instant' })", switch)
        switch.click()
        use(driver, "Call me", "call-status", "201: accepted")
        waits_for(driver, "the proven number rings", lambda d: (text(d, "handset-number"), text(d, "handset-state")) == (number, "rang once"))
        use(driver, "Repeat the same tap", "twice-status", "201: accepted, the same response as before; no second call")
        lent = driver.execute_async_script(LENT, number, other)
        check("its proof calls no other number", "" if lent == [403, "number_not_proven"] else lent)
        switch.click()
        dial(other)
        use(driver, "Call me", "call-status", "403 number_not_proven")
        check("which has not rung", "" if text(driver, "handset-state") == "has not rung" else text(driver, "handset-state"))
        switch.click()
        use(driver, "Call me", "call-status", "201: accepted")
        waits_for(driver, "until its own phone proves it", lambda d: (text(d, "handset-number"), text(d, "handset-state")) == (other, "rang once"))
        waits_for(driver, "each rang once", lambda d: all(f"{one} rang once" in text(d, "rings") for one in (number, other)))
        check("no other complaint", faults(driver))


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
        opened(driver, base)
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
        use(driver, "Move", "later-status", "Choose a new time")
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
        check("on the phone beside it", "" if text(driver, "handset-number") == "+14155550121" else text(driver, "handset-number"))
        waits_for(driver, "and the page learned of it", lambda d: "accepted" in text(d, "booked"))
        check("the moved clock is shown", "" if text(driver, "sandbox-clock") else "nothing")
        use(driver, "Get a token", "token-status", "200: authorized")
        left = text(driver, "left")
        check("a token after a jump is fresh", "" if left.startswith(("9:", "10:")) else left)
        phone = driver.find_element(By.ID, "phone")
        phone.clear()
        phone.send_keys("+14155550131")
        use(driver, "Call me", "call-status", "201: accepted")
        driver.find_element(By.ID, "reset-clock").click()
        waits_for(driver, "a reset clock is no longer shown", hidden("moved-clock"))
        # What brakes counted a day ahead does not refuse a callback of today.
        phone.clear()
        phone.send_keys("+14155550132")
        use(driver, "Call me", "call-status", "201: accepted")
        use(driver, "Get a token", "token-status", "200: authorized")
        screenshot(driver, "appointments-used")
        shown = text(driver, "booked")
        driver.refresh()
        waits_for(driver, "a reload keeps what was booked", lambda d: text(d, "booked").count("+*") == shown.count("+*"))
        check("no other complaint", faults(driver))
    narrow = SIZES["a narrow phone"]
    for dark in (False, True):
        with browser(narrow, dark) as driver:
            # Folded parts have boxes that lie over each other, which axe takes for what is seen.
            opened(driver, base)
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


kind, base = sys.argv[1:3]
if kind in ("strangers", "proofs"):
    attempt(kind, {"strangers": strangers, "proofs": proofs}[kind], base)
    sys.exit()
attempt("the first page", looks, base, "/", "the demo" if kind == "sandbox" else "the landing page")
for page in ("", "/callbacks", "/errors", "/schemas", "/runbook"):
    attempt("the documentation", looks, base, "/docs" + page, f"the documentation{page.replace('/', ' of ')}")
attempt("the documentation's use", reference, base)
attempt("the first paint", paints, base, "/", "the demo" if kind == "sandbox" else "the landing page", 120)
for page in ("", "/tokens", "/callbacks", "/operators", "/schemas"):
    attempt("the documentation's first paint", paints, base, "/docs" + page, f"the documentation{page.replace('/', ' of ')}", 300)
if kind == "sandbox":
    attempt("the demo", demo, base)
    attempt("tokens by push", pushed, base)
    attempt("attested phones", attested, base)
    attempt("tickets", ticketed, base)
    attempt("dialogs", asked, base)
    attempt("the AI agent", agent, base)
    attempt("appointments", appointments, base)
    attempt("other origins", origins, base, int(sys.argv[3]))
