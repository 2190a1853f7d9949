#!/usr/bin/env python3
"""Kills a server with SIGKILL at every step of a callback, and at random under load, and starts it again on the same SQLite file.

  killed.py LOG CONTROLS SANDBOX KILLER KILLS    where its output goes, the stub's controls, the sandbox, the library that kills
                                                 within a call, and how many kills there are to be in all
"""
import os
import random
import socket
import sys
import tempfile
import time

from client import Sandbox, Upstream, check, finish, until
from victim import Crowd, Customer, Victim, judge

server = Victim(sys.argv[1], "app:canary-pass")
upstream, sandbox = Upstream(sys.argv[2]), Sandbox(sys.argv[3])
killer, wanted = sys.argv[4], int(sys.argv[5])


def at_the_upstream():
    """While the upstream holds a callback at a step of its own."""
    for step, rang, words in (
        ("accept", 1, ["unknown"]), ("head", 1, ["unknown"]), ("request", 1, ["unknown"]), ("rung", 1, ["unknown"]),
        ("half", 1, ["unknown"]), ("content", 1, ["unknown"]), ("answered", 1, ["unknown", "accepted"]),
    ):
        upstream.next(hold=step)
        customer = Customer([server]).begin()
        check(f"{step}: reached", upstream.has_reached(step))
        identifier = customer.record_by_number()
        state = identifier and server.record(identifier).json["status"]
        check(f"{step}: it is kept before", state == "pending" or (step == "answered" and state == "accepted"), state)
        server.kill()
        server.start()
        after = server.record(identifier).json["status"]
        check(f"{step}: and after", after in words, after)
        customer.end()
        word = customer.answer.json.get("code", customer.answer.json.get("status"))
        check(f"{step}: the client is told", word == ("accepted" if after == "accepted" else "outcome_unknown"), word)
        check(f"{step}: the connection broke", customer.breaks >= 1 or step == "answered", customer.breaks)
        # The request was on its way when its sender died, so it may have arrived.
        check(f"{step}: rang", until(lambda: upstream.rings.get(customer.number, 0) == rang, 5), upstream.rings.get(customer.number))
    upstream.say(forget=True)


def before_the_upstream():
    """While a token is on its way nothing is kept; while nobody accepts the connection something is."""
    exchanges = sandbox.exchanges
    server.kill()
    server.start()
    sandbox.fault(endpoint="token", delay_ms=30000)
    customer = Customer([server]).begin()
    check("token: reached", until(lambda: sandbox.exchanges > exchanges))
    server.kill()
    sandbox.clear()
    server.start()
    customer.end()
    check("token: nothing was lost and it is made", customer.answer.status == 201
          and upstream.rings.get(customer.number) == 1, customer.answer)

    with socket.socket() as hole:
        hole.bind(("127.0.0.1", 0))
        hole.listen(0)
        crowd = []
        for _ in range(4):
            one = socket.socket()
            one.setblocking(False)
            one.connect_ex(hole.getsockname())
            crowd.append(one)
        server.kill()
        server.start(TD_API_URL=f"http://127.0.0.1:{hole.getsockname()[1]}")
        customer = Customer([server]).begin()
        check("connect: it is kept before", until(lambda: customer.record_by_number() is not None))
        identifier = customer.record_by_number()
        check("connect: as pending", server.record(identifier).json["status"] == "pending")
        server.kill()
        server.start()
        check("connect: as unknown afterwards", server.record(identifier).json["status"] == "unknown")
        customer.end()
        check("connect: the client is told", customer.answer.says(504, "outcome_unknown"), customer.answer)
        check("connect: nobody was called", customer.number not in upstream.rings)
        for one in crowd:
            one.close()


def within_calls():
    """Right before and right after each system call of a callback that writes, connects, sends or receives."""
    order = os.path.join(tempfile.mkdtemp(), "order")
    environment = {"LD_PRELOAD": killer, "KILLER_FILE": order}
    kills, server_kills = {}, Victim.kills
    server.kill()
    server.start(**environment)
    for function in ("pwrite", "sync", "connect", "send", "recv"):
        for number in range(1, 40):
            hits = 0
            for moment in ("before", "after"):
                # With a token at hand, so that each call is the callback's own.
                check("a callback beforehand", Customer([server]).ask().answer.status == 201)
                with open(order + ".new", "w") as file:
                    file.write(f"{function} {moment} {number}\n")
                os.rename(order + ".new", order)
                customer = Customer([server]).begin()
                while server.is_alive and customer.thread.is_alive():
                    time.sleep(0.002)
                # An answer may come just before the server dies of having sent it.
                until(lambda: not server.is_alive, 0.1)
                os.unlink(order)
                if server.is_alive:
                    server.stop()
                else:
                    hits += 1
                    Victim.kills += 1
                server.start(**environment)
                customer.end()
                word = customer.answer.json.get("code", customer.answer.json.get("status"))
                check(f"{function} {moment} {number}: an answer", word in ("accepted", "outcome_unknown"), word)
                check(f"{function} {moment} {number}: one ring at most", upstream.rings.get(customer.number, 0) <= 1)
            kills[function] = kills.get(function, 0) + hits
            if hits == 0:
                break
    check("calls were hit: " + ", ".join(f"{count} {name}" for name, count in kills.items()),
          all(kills[name] >= least for name, least in
              (("pwrite", 4), ("sync", 4), ("connect", 2), ("send", 4), ("recv", 2))), kills)
    print(f"within calls: {Victim.kills - server_kills} kills: {kills}")
    server.kill()
    server.start()


def at_random():
    """Under load, with an upstream that answers, refuses, fails and breaks off."""
    upstream.say(set={"mixed": True, "delay": 0.002})
    crowd = Crowd([server], 12)
    for _ in range(max(30, wanted - Victim.kills)):
        time.sleep(random.uniform(0.01, 0.3))
        server.kill()
        server.start()
    crowd.end()


server.start()
at_the_upstream()
before_the_upstream()
within_calls()
at_random()
check("enough was killed", Victim.kills >= wanted, Victim.kills)
judge([server], upstream)
check("it ends with 0", server.stop() == 0)
finish()
