"""Clients that mean no good, for test_abuse.py: each kind is a process of its own.

    abusers.py slow PORT COUNT        COUNT connections at a time that send a byte now and then, and come back when they are closed
    abusers.py greedy PORT CA TOKEN JOB COUNT     tries to hold COUNT connections with a waiting request on each,
                                                  from an address of its own
    abusers.py fast PORT TOKEN RATE   RATE requests a second, as far as it goes
    abusers.py deaf PORT TOKEN PATH COUNT     asks for COUNT endless answers, reads none of them, and asks again when it is cut
    abusers.py inside PORT TOKEN RATE         asks for what looks at much of the state, RATE times a second
    abusers.py churn PORT CA TOKEN COUNT      a new TLS connection for each request, COUNT at a time, from an address of its own
    abusers.py hello PORT RATE                begins RATE TLS handshakes a second and ends none, from an address of its own

Each writes a line of JSON with its counts to standard output every second, until its standard input ends.
"""

import asyncio
import collections
import contextlib
import http.client
import itertools
import json
import os
import random
import resource
import select
import socket
import ssl
import struct
import sys
import time

# The beginning of a TLS client hello that never ends; and of a header.
HELLO = bytes([0x16, 3, 1, 2, 0, 1, 0, 1, 0xFC, 3, 3]) + bytes(500)
HEADER = b"GET /v1/status HTTP/1.1\r\nHost: x\r\nX-Slow: " + b"a" * 500

HELD_SECONDS = 2  # a request that has had no answer for so long is let wait, not about to be refused

counts = collections.Counter()
tasks = []  # the loop itself does not hold them
asked_at = {}  # of the requests that have had no answer yet


def tell():
    if asked_at:
        counts["held"] = sum(time.monotonic() - begun > HELD_SECONDS for begun in asked_at.values())
    print(json.dumps({**counts, "at": time.monotonic()}), flush=True)


class Stranger:
    """One that sends a byte now and then, from an address of its own among 127.0.0.0/8."""

    def __init__(self, port, number):
        self.port = port
        self.source = f"127.{1 + number % 250}.{number // 250 % 250}.{1 + number % 7}"
        self.text = HELLO if number % 2 else HEADER
        self.sent = 0
        self.due = time.monotonic() + number / 1000  # the first ones do not come all at once
        self.socket = None

    def step(self, poller, by_descriptor):
        """Comes, or says the next byte."""
        now = time.monotonic()
        if now < self.due:
            return
        self.due = now + 1 + random.random()
        try:
            if self.socket is None:
                self.socket = socket.socket()
                self.socket.bind((self.source, 0))
                self.socket.setblocking(False)
                self.sent = 0
                self.socket.connect_ex(("127.0.0.1", self.port))
                by_descriptor[self.socket.fileno()] = self
                poller.register(self.socket, select.EPOLLIN | select.EPOLLRDHUP)
                counts["opened"] += 1
            else:
                self.socket.send(self.text[self.sent:self.sent + 1])
                self.sent += 1
        except BlockingIOError:
            pass
        except OSError:
            self.leave(by_descriptor)

    def leave(self, by_descriptor):
        counts["closed"] += 1
        by_descriptor.pop(self.socket.fileno(), None)
        self.socket.close()
        self.socket = None
        self.due = time.monotonic() + 2 + 2 * random.random()


def slow(port, count):
    poller = select.epoll()
    by_descriptor = {}
    strangers = [Stranger(int(port), number) for number in range(int(count))]
    told = time.monotonic()
    while not select.select([sys.stdin], [], [], 0)[0]:
        for stranger in strangers:
            stranger.step(poller, by_descriptor)
        for descriptor, _ in poller.poll(0.05, 1000):
            if descriptor in by_descriptor:
                by_descriptor[descriptor].leave(by_descriptor)
        if time.monotonic() - told > 1:
            told = time.monotonic()
            counts["open"] = len(by_descriptor)
            tell()


async def greedy_one(port, context, token, job):
    while True:
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context, server_hostname="localhost",
                                                           local_addr=("127.72.0.1", 0))
            writer.write(f"GET /v1/jobs/{job}/wait?timeout=60s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n\r\n"
                         .encode())
            asked_at[writer] = time.monotonic()
            try:
                line = await reader.readline()
            finally:
                del asked_at[writer]
            counts[line.decode().strip()[9:12] or "closed"] += 1
            writer.close()
        except (OSError, ssl.SSLError):
            counts["broken"] += 1
        await asyncio.sleep(1)


async def greedy(port, ca, token, job, count):
    context = ssl.create_default_context(cafile=ca)
    for _ in range(int(count)):
        tasks.append(asyncio.ensure_future(greedy_one(int(port), context, token, job)))
        await asyncio.sleep(0.01)


async def fast(port, token, rate):
    """Many requests in one piece: a client's own cost must not be what slows it."""
    at_once, unanswered_max = 100, 2_000
    request = f"GET /v1/jobs?limit=1 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n\r\n".encode() * at_once
    pause = at_once / float(rate)
    loop = asyncio.get_event_loop()
    reader, writer = await asyncio.open_connection("127.0.0.1", int(port))
    tasks.append(asyncio.ensure_future(count_answers(reader)))
    asked = 0
    due = loop.time()
    while True:
        if asked - sum(counts[status] for status in STATUSES) < unanswered_max:
            writer.write(request)
            asked += at_once
        due = max(due + pause, loop.time() - 1)
        await asyncio.sleep(max(0, due - loop.time()))


STATUSES = ("200", "429", "503")


async def count_answers(reader):
    rest = b""
    while piece := await reader.read(1 << 18):
        text = rest + piece
        for status in STATUSES:
            counts[status] += text.count(b"HTTP/1.1 " + status.encode())
        rest = text[-len("HTTP/1.1 20"):]  # the beginning of a line, but no whole one
    counts["cut"] += 1


def inside(port, token, rate):
    connection = http.client.HTTPConnection("127.0.0.1", int(port), timeout=60)
    pause = 1 / float(rate)
    due = told = time.monotonic()
    for path in itertools.cycle(("/v1/status", "/v1/slices", "/v1/tenants", "/v1/jobs")):
        if select.select([sys.stdin], [], [], 0)[0]:
            return
        connection.request("GET", path, headers={"Authorization": f"Bearer {token}"})
        response = connection.getresponse()
        response.read()
        counts[str(response.status)] += 1
        now = time.monotonic()
        if now - told > 1:
            told = now
            tell()
        due = max(due + pause, now - 1)
        time.sleep(max(0, due - now))


def hang_up(connection):
    """Without the minute in which the kernel would keep the port."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


async def churn_one(port, context, token):
    while True:
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context, server_hostname="localhost",
                                                           local_addr=("127.70.0.1", 0))
            hang_up(writer.get_extra_info("socket"))
            writer.write(f"GET /v1/status HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n\r\n".encode())
            line = await reader.readline()
            counts[line.decode().strip()[9:12] or "closed"] += 1
            writer.transport.abort()
        except (OSError, ssl.SSLError):
            counts["broken"] += 1
            await asyncio.sleep(0.01)


async def churn(port, ca, token, count):
    context = ssl.create_default_context(cafile=ca)
    for _ in range(int(count)):
        tasks.append(asyncio.ensure_future(churn_one(int(port), context, token)))


def client_hello():
    """The whole first message of a client, good for any number of connections."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    with contextlib.suppress(ssl.SSLWantReadError):
        context.wrap_bio(incoming, outgoing, server_hostname="localhost").do_handshake()
    return outgoing.read()


def hello(port, rate):
    first, pause = client_hello(), 1 / float(rate)
    poller = select.epoll()
    clients = {}
    due = told = time.monotonic()
    while not select.select([sys.stdin], [], [], 0)[0]:
        now = time.monotonic()
        due = max(due, now - 0.1)
        while due < now:
            due += pause
            client = socket.socket()
            try:
                client.bind(("127.71.0.1", 0))
                hang_up(client)
                client.connect(("127.0.0.1", int(port)))
                client.send(first)
            except OSError:
                counts["broken"] += 1
                client.close()
                continue
            clients[client.fileno()] = client
            poller.register(client, select.EPOLLIN | select.EPOLLRDHUP)
            counts["begun"] += 1
        for descriptor, _ in poller.poll(pause):
            with contextlib.closing(clients.pop(descriptor)) as client:
                try:
                    counts["answered" if client.recv(1) else "closed"] += 1
                except OSError:
                    counts["closed"] += 1
        if now - told > 1:
            told = now
            counts["open"] = len(clients)
            tell()


class Deaf:
    """One that asks and never listens."""

    def __init__(self, port, request):
        self.socket = socket.socket()
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        self.socket.connect(("127.0.0.1", port))
        self.socket.send(request)
        self.began = time.monotonic()
        counts["asked"] += 1


def deaf(port, token, path, count):
    request = f"GET {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n\r\n".encode()
    poller = select.poll()
    clients = {}

    def come():
        time.sleep(0.02)  # in a crowd it would be pushed out as a stranger before its token is read
        client = Deaf(int(port), request)
        clients[client.socket.fileno()] = client
        poller.register(client.socket, select.POLLRDHUP)

    for _ in range(int(count)):
        come()
    while not select.select([sys.stdin], [], [], 0)[0]:
        for descriptor, _ in poller.poll(1000):
            poller.unregister(descriptor)
            client = clients.pop(descriptor)
            client.socket.close()
            counts["cut" if time.monotonic() - client.began > 20 else "refused"] += 1
            come()
        counts["open"] = len(clients)
        tell()


async def main(kind, arguments):
    tasks.append(asyncio.ensure_future({"greedy": greedy, "fast": fast, "churn": churn}[kind](*arguments)))
    end = asyncio.get_event_loop().run_in_executor(None, sys.stdin.read)
    while not end.done():
        await asyncio.sleep(1)
        tell()
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(most, 20_000), most))
    blocking = {"slow": slow, "deaf": deaf, "inside": inside, "hello": hello}
    if sys.argv[1] in blocking:
        blocking[sys.argv[1]](*sys.argv[2:])
    else:
        asyncio.run(main(sys.argv[1], sys.argv[2:]))
