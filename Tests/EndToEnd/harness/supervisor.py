#!/usr/bin/env python3
"""Holds a listening socket and replaces the server behind it, as systemd does with a .socket unit.

  supervisor.py TIMES PAUSE LOG COMMAND…

Binds a port on loopback, prints it, and starts COMMAND with the socket as descriptor 3 (LISTEN_PID, LISTEN_FDS). Then, TIMES
times: waits PAUSE seconds, starts a successor, waits until it listens, ends its predecessor with SIGTERM and checks that it
ends with 0. On its own SIGTERM it ends the last one, too, and prints "replaced TIMES".
"""
import os
import signal
import socket
import sys
import time

times, pause, log, command = int(sys.argv[1]), float(sys.argv[2]), sys.argv[3], sys.argv[4:]
listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
print(listener.getsockname()[1], flush=True)


def start(number):
    path = f"{log}.{number}"
    output = os.open(path, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600)
    child = os.fork()
    if child == 0:
        os.dup2(output, 1)
        os.dup2(output, 2)
        if listener.fileno() == 3:
            os.set_inheritable(3, True)
        else:
            os.dup2(listener.fileno(), 3)
        os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS="1", LISTEN_FDNAMES="http")
        os.execv(command[0], command)
    os.close(output)
    for _ in range(600):
        with open(path, "rb") as file:
            if b"callgate: listening on " in file.read():
                return child
        if os.waitpid(child, os.WNOHANG) != (0, 0):
            sys.exit(f"server {number} ended before it listened")
        time.sleep(0.05)
    sys.exit(f"server {number} does not listen")


def end(child):
    os.kill(child, signal.SIGTERM)
    _, status = os.waitpid(child, 0)
    if status != 0:
        sys.exit(f"a server ended with {os.waitstatus_to_exitcode(status)}")


told_to_end = []
# A handler, unlike a blocked signal, does not outlive exec.
signal.signal(signal.SIGTERM, lambda *_: told_to_end.append(True))
running = start(0)
for number in range(1, times + 1):
    time.sleep(pause)
    successor = start(number)
    end(running)
    running = successor
while not told_to_end:
    time.sleep(0.05)
end(running)
print(f"replaced {times}", flush=True)
