"""TCP on loopback in front of the daemon's Unix socket, for clients that know no other: each connection reaches the
daemon as one of the test's own user, which makes it the operator."""

import contextlib
import socket
import threading


class Bridge:
    """    with Bridge(machine.socket) as bridge: get(bridge.url)"""

    def __init__(self, path):
        self.path = str(path)
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.port = self.listener.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        # close() alone leaves the thread in accept().
        with contextlib.suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()

    def _accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            daemon = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            try:
                daemon.connect(self.path)
            except OSError:
                daemon.close()
                client.close()
                continue
            for source, target in ((client, daemon), (daemon, client)):
                threading.Thread(target=self._copy, args=(source, target), daemon=True).start()

    @staticmethod
    def _copy(source, target):
        with contextlib.suppress(OSError):
            while chunk := source.recv(65536):
                target.sendall(chunk)
        # The other direction ends by itself when its peer has answered.
        with contextlib.suppress(OSError):
            target.shutdown(socket.SHUT_WR)
