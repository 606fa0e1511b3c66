"""The cluster's certificate authority: certificates by which its components and users know each other, and kubeconfig files.

In Kubernetes a client certificate's common name is the user, and its organizations are the groups. Made by the program
openssl; valid for two days, because a cluster by hand may stay overnight.
"""

import base64
import json
import pathlib
import subprocess

DAYS = 2


class Authority:
    """Keeps its keys, and all that it signs, in one directory."""

    def __init__(self, directory):
        self.directory = pathlib.Path(directory)
        self.directory.mkdir(parents=True, exist_ok=True)
        self.directory.chmod(0o700)
        self.certificate, self.key = self.directory / "authority.pem", self.directory / "authority.key"
        if not self.key.exists():
            openssl("req", "-x509", *new_key(self.key), "-days", DAYS, "-subj", "/CN=cluster authority", "-out", self.certificate)

    def server(self, name, alternatives, user=None, groups=()):
        """A certificate for a server with these names ("DNS:…", "IP:…"), good for a client too: (certificate, key)."""
        return self._sign(name, user or name, groups, f"subjectAltName={','.join(alternatives)}\nextendedKeyUsage=serverAuth,clientAuth\n")

    def client(self, user, groups=()):
        """A client certificate of that user: (certificate, key)."""
        return self._sign(user.replace(":", "-"), user, groups, "extendedKeyUsage=clientAuth\n")

    def key_pair(self, name):
        """A pair of keys without a certificate, for the tokens of service accounts: (public, private)."""
        public, private = self.directory / f"{name}.pub", self.directory / f"{name}.key"
        openssl("genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", private)
        openssl("pkey", "-in", private, "-pubout", "-out", public)
        return public, private

    def kubeconfig(self, path, server, user, groups=()):
        """Writes a kubeconfig that holds all it needs, so that it may be copied elsewhere; returns its path."""
        certificate, key = self.client(user, groups)
        return write_kubeconfig(path, server, self.certificate,
                                {"client-certificate-data": encoded(certificate), "client-key-data": encoded(key)})

    def _sign(self, name, user, groups, extensions):
        certificate, key = self.directory / f"{name}.pem", self.directory / f"{name}.key"
        request, extension_file = certificate.with_suffix(".csr"), certificate.with_suffix(".ext")
        extension_file.write_text(extensions)
        subject = "".join(f"/O={group}" for group in groups) + f"/CN={user}"
        openssl("req", *new_key(key), "-subj", subject, "-out", request)
        openssl("x509", "-req", "-in", request, "-CA", self.certificate, "-CAkey", self.key, "-CAcreateserial", "-days", DAYS,
                "-extfile", extension_file, "-out", certificate)
        return certificate, key


def write_kubeconfig(path, server, authority, user):
    """`user`: the fields of a user in a kubeconfig, for example {"token": …}. JSON is YAML."""
    path = pathlib.Path(path)
    path.write_text(json.dumps({
        "apiVersion": "v1", "kind": "Config", "current-context": "test",
        "clusters": [{"name": "test", "cluster": {"server": server, "certificate-authority-data": encoded(authority)}}],
        "users": [{"name": "user", "user": user}],
        "contexts": [{"name": "test", "context": {"cluster": "test", "user": "user"}}],
    }, indent=2))
    path.chmod(0o600)
    return path


def encoded(path):
    return base64.b64encode(pathlib.Path(path).read_bytes()).decode()


def new_key(path):
    return ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", path)


def openssl(*words):
    run = subprocess.run(["openssl", *map(str, words)], capture_output=True, text=True, check=False)
    assert run.returncode == 0, f"openssl {words[0]}: {run.stderr}"
