"""Readers of a daemon's event stream, as clients write them: a cursor, and coming back when the daemon was away.

As a program it is a client that never reads: it opens streams, asks, and waits to be ended. On a socket it is that user, on
a port of this machine the bearer of that token.

    event_reader.py SOCKET COUNT PATH UID
    event_reader.py PORT COUNT PATH TOKEN
"""

import contextlib
import http.client
import json
import os
import select
import socket
import sys
import threading
import time

RETRY_SECONDS = 0.02


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path, timeout):
        super().__init__("tangram", timeout=timeout)
        self.path = str(path)

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


class Stream:
    """One connection. Iterating gives (id, data) of each event, and (id, None) of each sign of life, until it breaks.

    `where`: the path of a socket, or a function that makes a connection of http.client."""

    def __init__(self, where, query="", last_id=None, timeout=30, token=None):
        self.connection = where() if callable(where) else UnixConnection(where, timeout)
        headers = {"Accept": "text/event-stream", **({"Last-Event-ID": last_id} if last_id else {}),
                   **({"Authorization": f"Bearer {token}"} if token else {})}
        try:
            self.connection.request("GET", "/v1/events" + query, headers=headers)
            self.answer = self.connection.getresponse()
        except BaseException:
            self.connection.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.answer.close()
        self.connection.close()

    def __iter__(self):
        last_id, kind, data = None, "", None
        for line in self.answer:
            name, _, value = line.decode().rstrip("\n").partition(":")
            value = value.removeprefix(" ")
            if name == "id":
                last_id = value
            elif name == "event":
                kind = value
            elif name == "data":
                data = value
            elif not line.strip():
                if kind:
                    raise AssertionError(f"the stream ended with {kind}: {data}")
                yield last_id, None if data is None else json.loads(data)
                kind, data = "", None


class Reader(threading.Thread):
    """Follows the events from `after` on, through any number of lost connections."""

    def __init__(self, where, after="oldest", query="", pause=0, token=None):
        super().__init__(daemon=True)
        self.where, self.query, self.pause, self.token = where, query, pause, token
        self.cursor, self.first = None, after
        self.events, self.connections, self.error = [], 0, None
        self.stopping = False
        self.start()

    def run(self):
        try:
            while not self.stopping:
                with contextlib.suppress(OSError, http.client.HTTPException):
                    self.follow()
                time.sleep(RETRY_SECONDS)
        except BaseException as error:  # told by caught_up() in the thread of the test
            self.error = error

    def follow(self):
        query = f"?after={self.first}{self.query}" if self.cursor is None else f"?{self.query.lstrip('&')}"
        with Stream(self.where, query, self.cursor, token=self.token) as stream:
            if stream.answer.status != 200:
                raise AssertionError(f"{stream.answer.status}: {stream.answer.read().decode()}")
            self.connections += 1
            for cursor, event in stream:
                if event is not None:
                    self.events.append(event)
                self.cursor = cursor
                if self.pause:
                    time.sleep(self.pause)
                if self.stopping:
                    return

    def caught_up(self, cursor):
        """Whether everything up to that cursor was read."""
        if self.error:
            raise self.error
        return self.cursor is not None and place(self.cursor) >= place(cursor)


def place(cursor):
    """A cursor as something that compares."""
    sequence, _, item = cursor.partition(".")
    return int(sequence), int(item) if item else float("inf")


def never_read(where, count, path, who):
    held = []
    authorization = ""
    if where.isdigit():
        authorization = f"Authorization: Bearer {who}\r\n"
    else:
        os.setresuid(int(who), int(who), int(who))
    for _ in range(count):
        if where.isdigit():
            client = socket.socket()
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)  # the kernel reads as little for it as can be
            client.connect(("127.0.0.1", int(where)))
        else:
            client = socket.socket(socket.AF_UNIX)
            client.connect(where)
        client.sendall(f"GET {path} HTTP/1.1\r\nHost: tangram\r\n{authorization}\r\n".encode())
        # One after the other: of strangers at the door few are kept at a time.
        select.select([client], [], [], 10)
        held.append(client)
    print("asked", flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    never_read(sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4])
