"""Certificates for a test: an authority, and a server that it vouches for. Made by the program openssl."""

import pathlib
import subprocess


def make_authority(directory, name="authority"):
    """Writes NAME.pem and NAME.key; returns the path of the certificate: what a client trusts."""
    certificate = pathlib.Path(directory) / f"{name}.pem"
    openssl("req", "-x509", *new_key(certificate.with_suffix(".key")), "-days", "2", "-subj", f"/CN=test {name}",
            "-out", certificate)
    return certificate


def make_server(directory, authority, name="server", names="DNS:localhost,IP:127.0.0.1"):
    """A certificate for these names; returns the paths of certificate and key."""
    certificate = pathlib.Path(directory) / f"{name}.pem"
    key = certificate.with_suffix(".key")
    request = certificate.with_suffix(".csr")
    extensions = certificate.with_suffix(".ext")
    extensions.write_text(f"subjectAltName={names}\n")
    openssl("req", *new_key(key), "-subj", f"/CN=test {name}", "-out", request)
    openssl("x509", "-req", "-in", request, "-CA", authority, "-CAkey", authority.with_suffix(".key"), "-CAcreateserial",
            "-days", "2", "-extfile", extensions, "-out", certificate)
    return certificate, key


def new_key(path):
    return ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", path)


def openssl(*words):
    run = subprocess.run(["openssl", *map(str, words)], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
