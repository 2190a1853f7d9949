#!/usr/bin/env python3
"""Small servers that behave in one way, for the tests of doctor. Prints the port, then serves until it is ended.

  stubs.py tls CERTIFICATE KEY PORT   TLS with this certificate, and everything is passed on to PORT on loopback
  stubs.py say TEXT                   answers every connection with TEXT, once something has come
  stubs.py silent                     accepts and never says a word
"""
import socket
import ssl
import sys
import threading


def pipe(source, target):
    try:
        while data := source.recv(65536):
            target.sendall(data)
    except OSError:
        pass
    finally:
        try:
            target.shutdown(socket.SHUT_WR)
        except OSError:
            pass


def tls(client, context, port):
    try:
        client = context.wrap_socket(client, server_side=True)
    except (ssl.SSLError, OSError):
        return  # The client did not like what it saw, which is what most tests are about.
    with socket.create_connection(("127.0.0.1", port)) as target:
        threading.Thread(target=pipe, args=(client, target), daemon=True).start()
        pipe(target, client)


def say(client, text):
    with client:
        client.recv(65536)
        client.sendall(text)


def main():
    mode = sys.argv[1]
    if mode == "tls":
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(sys.argv[2], sys.argv[3])
        port = int(sys.argv[4])
        serve = lambda client: tls(client, context, port)
    elif mode == "say":
        text = sys.argv[2].encode().decode("unicode_escape").encode()
        serve = lambda client: say(client, text)
    else:
        held = []
        serve = held.append
    listener = socket.create_server(("127.0.0.1", 0))
    print(listener.getsockname()[1], flush=True)
    while True:
        client, _ = listener.accept()
        threading.Thread(target=serve, args=(client,), daemon=True).start()


main()
