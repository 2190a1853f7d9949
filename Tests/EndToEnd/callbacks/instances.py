#!/usr/bin/env python3
"""Two instances on one PostgreSQL are one to their clients: the same key or number at both at once rings once, and what a killed
one left behind becomes unknown in the other.

  instances.py LOGS CONTROLS KILLS
"""
import random
import sys
import threading
import time

from client import Upstream, check, finish, new_number, until
from victim import Crowd, Customer, Victim, judge

servers = [Victim(f"{sys.argv[1]}.{name}.out", "app:canary-pass") for name in ("one", "two")]
upstream, kills = Upstream(sys.argv[2]), int(sys.argv[3])
# Ten seconds after its last sign of life an instance is gone (docs/callbacks.md); the others look each second.
GONE_AT_LEAST, GONE_AT_MOST = 7, 20


def at_once(*asks):
    """The answers of several requests that are sent together."""
    barrier, answers = threading.Barrier(len(asks)), [None] * len(asks)

    def run(place):
        barrier.wait()
        answers[place] = asks[place]()

    threads = [threading.Thread(target=run, args=(place,)) for place in range(len(asks))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return answers


# Numbers that `together` has looked at.
seen = set()


def together():
    upstream.say(set={"delay": 0.03})
    for turn in range(30):
        number = new_number()
        seen.add(number)
        content, key = {"contact_phone_number": number}, f"both-{turn}-{number[-4:]}"
        answers = at_once(*(lambda server=server: server.callback(content, key=key) for server in servers * 2))
        made = [answer for answer in answers if answer.status == 201]
        others = [answer for answer in answers if answer.status != 201]
        check("one key at both: made", len({answer.content for answer in made}) == 1, answers)
        check("one key at both: the others", all(answer.says(409, "in_progress") for answer in others), others)
        check("one key at both: one ring", upstream.rings.get(number) == 1, upstream.rings.get(number))
        for server in servers:
            again = server.callback(content, key=key)
            check("one key at both: each tells the same", (again.status, again.content) == (201, made[0].content), again)
            other = server.callback(key=key)
            check("one key at both: each knows another body", other.says(422, "idempotency_mismatch"), other)
        number = new_number()
        seen.add(number)
        content = {"contact_phone_number": number}
        answers = at_once(*(lambda server=server, place=place: server.callback(content, key=f"{number}-{place}")
                            for place, server in enumerate(servers * 2)))
        made = [answer for answer in answers if answer.status == 201]
        check("one number at both: made once", len(made) == 1, answers)
        check("one number at both: the others name it", all(
            answer.says(409, "duplicate") and answer.json["id"] == made[0].json["id"]
            for answer in answers if answer.status != 201), answers)
        check("one number at both: one ring", upstream.rings.get(number) == 1, upstream.rings.get(number))
        for server in servers:
            record = server.record(made[0].json["id"])
            check("one number at both: one record", record.json["status"] == "accepted", record)
    upstream.say(set={"delay": 0.0})


def one_is_killed():
    first, second = servers
    upstream.next(hold="rung")
    customer = Customer([first, second])
    customer.thread = threading.Thread(target=lambda: asked(customer, first))
    customer.thread.start()
    check("held", upstream.has_reached("rung"))
    identifier = customer.record_by_number()
    check("it is pending for the other one", second.record(identifier).json["status"] == "pending")
    check("and running", second.callback(customer.content, key=customer.key).says(409, "in_progress"))
    first.kill()
    killed = time.monotonic()
    customer.thread.join()
    check("still running, as far as is known", second.callback(customer.content, key=customer.key).says(409, "in_progress"))
    check("then unknown", until(lambda: second.record(identifier).json["status"] == "unknown", 40))
    took = time.monotonic() - killed
    check("in the time that is documented", GONE_AT_LEAST <= took <= GONE_AT_MOST, took)
    customer.ask()
    check("which its key says", customer.answer.says(504, "outcome_unknown") and customer.answer.json["id"] == identifier,
          customer.answer)
    first.start()
    again = first.callback(customer.content, key=customer.key)
    check("and the one that was killed, too", again.says(504, "outcome_unknown") and again.json["id"] == identifier, again)
    other = first.callback({"contact_phone_number": customer.number})
    check("its number is not called again", other.says(409, "duplicate") and other.json["id"] == identifier, other)
    check("it rang once", upstream.rings.get(customer.number) == 1)


def asked(customer, server):
    try:
        answer = server.callback(customer.content, key=customer.key)
        check("the killed one does not answer", False, answer)
    except OSError:
        customer.breaks += 1


def at_random():
    """Either of them under load; clients go to the other one with the same key."""
    upstream.say(set={"mixed": True, "delay": 0.002})
    crowd = Crowd(servers, 10)
    for _ in range(kills):
        time.sleep(random.uniform(0.05, 0.4))
        victim = random.choice(servers)
        victim.kill()
        time.sleep(random.uniform(0, 0.2))
        victim.start()
    crowd.end()


for one in servers:
    one.start()
together()
one_is_killed()
at_random()
judge(servers, upstream, seen)
for one in servers:
    check("it ends with 0", one.stop() == 0)
finish()
