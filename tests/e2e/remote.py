"""A daemon that is reached over the network, and HTTPS calls to it with tokens."""

import http.client
import json
import pathlib
import re
import ssl
import tempfile

import certificates
import harness
import raw_http


class Remote(harness.Machine):
    """A Machine that also listens on 127.0.0.1: with TLS, and plainly. The ports are chosen by the system."""

    def __init__(self, config=None, **options):
        # Beside the machine's root, which goes with it; named so that its janitor finds nothing of it alive.
        self.files = tempfile.TemporaryDirectory(prefix="tg-remote-", dir="/tmp")
        self.keys = pathlib.Path(self.files.name)
        self.ca = certificates.make_authority(self.keys)
        self.certificate, self.key = certificates.make_server(self.keys, self.ca)
        listen = [{"address": "127.0.0.1", "port": 0, "tls": {"certificate": str(self.certificate), "key": str(self.key)}},
                  {"address": "127.0.0.1", "port": 0}]
        super().__init__(config=harness.merged({"listen": listen}, config or {}), **options)

    def stop(self):
        super().stop()
        self.files.cleanup()

    @property
    def port(self):
        """Of TLS, as the present daemon told its log."""
        return int(re.findall(r"listening on https://127\.0\.0\.1:(\d+)", self.log())[-1])

    @property
    def plain_port(self):
        return int(re.findall(r"listening on http://127\.0\.0\.1:(\d+)", self.log())[-1])

    def token(self, name, role, *options):
        """Creates a token and returns its secret."""
        return self.ok("token", "create", name, "--role", role, *options).strip()

    def token_file(self, name, secret):
        path = self.keys / f"{name}.token"
        path.write_text(secret + "\n")
        path.chmod(0o600)
        return path

    def connection(self, plain=False, timeout=60):
        if plain:
            return http.client.HTTPConnection("127.0.0.1", self.plain_port, timeout=timeout)
        return http.client.HTTPSConnection("localhost", self.port, timeout=timeout,
                                           context=ssl.create_default_context(cafile=str(self.ca)))

    def call(self, method, path, token=None, body=None, headers=None, plain=False):
        """One request on a connection of its own: raw_http.Answer."""
        connection = self.connection(plain)
        try:
            return ask(connection, method, path, token, body, headers)
        finally:
            connection.close()

    def remote_environment(self, secret):
        """What `tangram` needs to be this bearer over the network."""
        return {"TANGRAM_SERVER": f"https://localhost:{self.port}", "TANGRAM_CA_FILE": str(self.ca), "TANGRAM_TOKEN": secret}

    def remote_cli(self, secret, *arguments, **options):
        """`tangram` over the network, with the token in the environment."""
        return self.cli(*arguments, env={**self.remote_environment(secret), **options.pop("env", {})}, **options)

    def audit(self):
        return [json.loads(line) for line in (self.state / "log/audit.log").read_text().splitlines()]


def ask(connection, method, path, token=None, body=None, headers=None):
    """A request on a connection that is there."""
    headers = dict(headers or {})
    if token:
        headers["Authorization"] = f"Bearer {token}"
    if body is not None:
        headers.setdefault("Content-Type", "application/json")
        body = body if isinstance(body, (bytes, str)) else json.dumps(body)
    connection.request(method, path, body, headers)
    response = connection.getresponse()
    return raw_http.Answer.of(response)
