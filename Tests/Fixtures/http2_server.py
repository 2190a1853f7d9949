"""An HTTP/2 server over TLS that answers as a test tells it, and reports what arrives. HTTP2Server.swift starts it.

Each line of standard input is a JSON object. The first has `certificate` and `key` (PEM) and `streams`, how many a client may open.
Each later one is either the answer to the next request that has none, or an order:

    {"status": 400, "fields": {"apns-id": "…"}, "body": "…"}    a response; without such a line each request gets 200
    {"refuse": true}           REFUSED_STREAM
    {"reset": 2}               RST_STREAM with this error
    {"goaway": true}           GOAWAY that excludes this stream; the connection closes once it is idle
    {"close": true}            the connection closes without a word
    {"hold": true}             no answer before the order "release"
    {"order": "ping"}          each connection gets a PING
    {"order": "goaway"}        each connection gets a GOAWAY and closes at once
    {"order": "release"}       whatever is held gets 200

Each line of standard output is an event: `listening`, `told` (a line was obeyed), `connection`, `request`, `excess` (a stream too many, refused), `ping` (of the client), `acknowledged` (its answer
to our PING), `reset` (by the client) and `closed`. The others name the connection, counted from 1."""
import asyncio
import collections
import json
import os
import ssl
import sys
import tempfile

import h2.config
import h2.connection
import h2.errors
import h2.events
from hyperframe.frame import GoAwayFrame, SettingsFrame

answers, held, connections = collections.deque(), [], []


def tell(event, **members):
    print(json.dumps({"event": event, **members}), flush=True)


class Connection(asyncio.Protocol):
    count = 0

    def connection_made(self, transport):
        Connection.count += 1
        self.number, self.transport, self.requests, self.open, self.is_ending = Connection.count, transport, {}, set(), False
        self.h2 = h2.connection.H2Connection(h2.config.H2Configuration(client_side=False, header_encoding="utf-8"))
        # Behind the library's back: it would end the connection where a client has sent more before it knew.
        self.transport.write(SettingsFrame(0, {SettingsFrame.MAX_CONCURRENT_STREAMS: STREAMS}).serialize())
        self.h2.initiate_connection()
        self.flush()
        connections.append(self)
        tell("connection", connection=self.number, protocol=transport.get_extra_info("ssl_object").selected_alpn_protocol())

    def connection_lost(self, error):
        connections.remove(self)
        tell("closed", connection=self.number)

    def flush(self):
        self.transport.write(self.h2.data_to_send())

    def data_received(self, data):
        for event in self.h2.receive_data(data):
            if isinstance(event, h2.events.RequestReceived):
                if len(self.requests) + len(self.open) >= STREAMS:
                    tell("excess", connection=self.number, stream=event.stream_id)
                    self.h2.reset_stream(event.stream_id, h2.errors.ErrorCodes.REFUSED_STREAM)
                else:
                    self.requests[event.stream_id] = (dict(event.headers), bytearray())
            elif isinstance(event, h2.events.DataReceived):
                if event.stream_id in self.requests:
                    self.requests[event.stream_id][1].extend(event.data)
                self.h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
            elif isinstance(event, h2.events.StreamEnded):
                if event.stream_id in self.requests:
                    self.answer(event.stream_id)
            elif isinstance(event, h2.events.StreamReset):
                self.open.discard(event.stream_id)
                tell("reset", connection=self.number, stream=event.stream_id)
            elif isinstance(event, h2.events.PingReceived):
                tell("ping", connection=self.number)
            elif isinstance(event, h2.events.PingAckReceived):
                tell("acknowledged", connection=self.number)
        if not self.transport.is_closing():
            self.flush()

    def answer(self, stream):
        fields, body = self.requests.pop(stream)
        answer = answers.popleft() if answers else {}
        tell("request", connection=self.number, stream=stream, path=fields.get(":path"), fields=fields,
             body=body.decode("utf-8", "replace"))
        if answer.get("refuse"):
            self.h2.reset_stream(stream, h2.errors.ErrorCodes.REFUSED_STREAM)
        elif "reset" in answer:
            self.h2.reset_stream(stream, answer["reset"])
        elif answer.get("goaway"):
            # Written by hand: the library ends every stream with it.
            self.transport.write(GoAwayFrame(0, last_stream_id=stream - 2).serialize())
            self.is_ending = True
            self.end_if_idle()
        elif answer.get("close"):
            self.transport.abort()
        elif answer.get("hold"):
            self.open.add(stream)
            held.append((self, stream))
        else:
            self.respond(stream, answer)

    def respond(self, stream, answer):
        body = answer.get("body", "").encode()
        fields = [(":status", str(answer.get("status", 200))), *answer.get("fields", {}).items()]
        self.h2.send_headers(stream, fields, end_stream=not body)
        if body:
            self.h2.send_data(stream, body, end_stream=True)

    def end_if_idle(self):
        if self.is_ending and not self.open:
            self.transport.close()


def obey(order):
    if order == "release":
        for connection, stream in held:
            if stream in connection.open and not connection.transport.is_closing():
                connection.open.discard(stream)
                connection.respond(stream, {})
                connection.flush()
                connection.end_if_idle()
        held.clear()
    for connection in list(connections):
        if order == "ping":
            connection.h2.ping(b"callgate")
            connection.flush()
        elif order == "goaway":
            connection.h2.close_connection()
            connection.flush()
            connection.transport.close()


async def main():
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.set_alpn_protocols(["h2"])
    with tempfile.NamedTemporaryFile("w") as file:
        file.write(SETTINGS["key"] + SETTINGS["certificate"])
        file.flush()
        context.load_cert_chain(file.name)
    loop = asyncio.get_running_loop()
    # A client that is idle does not read, so it does not answer the end of TLS.
    server = await loop.create_server(Connection, "127.0.0.1", 0, ssl=context, ssl_shutdown_timeout=0.1)
    tell("listening", port=server.sockets[0].getsockname()[1])
    lines = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    while line := await lines.readline():
        message = json.loads(line)
        if "order" in message:
            obey(message["order"])
        else:
            answers.append(message)
        tell("told")
    # The test has ended.
    os._exit(0)


SETTINGS = json.loads(sys.stdin.buffer.raw.readline())
STREAMS = SETTINGS["streams"]
asyncio.run(main())
