"""HTTP on the daemon's Unix socket, for what the command line would never send."""

import http.client
import json
import socket


class Connection(http.client.HTTPConnection):
    def __init__(self, path, timeout=60):
        super().__init__("localhost", timeout=timeout)
        self.path = str(path)

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


class Answer:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body
        self.type = headers.get("Content-Type", "")

    @classmethod
    def of(cls, response):
        """Of a stream, which goes on as long as its connection, the first event."""
        if response.headers.get("Content-Type") != "text/event-stream":
            return cls(response.status, response.headers, response.read())
        lines = []
        while (line := response.readline()) not in (b"", b"\n"):
            lines.append(line)
        return cls(response.status, response.headers, b"".join(lines))

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def event(self):
        """The data of a stream's event."""
        [data] = [line.partition(b":")[2] for line in self.body.splitlines() if line.startswith(b"data:")]
        return json.loads(data)

    def __repr__(self):
        return f"{self.status} {self.type}\n{self.body[:2000].decode(errors='replace')}"


def call(machine, method, path, body=None, headers=None):
    """One request. `body`: bytes or text as they are, anything else as JSON."""
    headers = dict(headers or {})
    if body is not None:
        headers.setdefault("Content-Type", "application/json")
        if not isinstance(body, (bytes, str)):
            body = json.dumps(body)
        if isinstance(body, str):
            body = body.encode("utf-8", "surrogateescape")
    connection = Connection(machine.socket)
    try:
        try:
            connection.request(method, path, body, headers)
        except (BrokenPipeError, ConnectionResetError):
            pass  # refused before all was sent: the answer says why
        response = connection.getresponse()
        return Answer.of(response)
    finally:
        connection.close()
