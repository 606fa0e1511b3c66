"""Answers at once, by way of a second thread as the daemon does: what a round trip costs on this machine at this moment.

    echo.py DIRECTORY    prints its port on 127.0.0.1, and serves one client until it goes

A byte `r` comes back as it is; a `w` once a page more is on the disk, in a file in DIRECTORY.
"""

import os
import pathlib
import queue
import socket
import sys
import threading

PAGE = bytes(4096)


def answer(requests, answers, file):
    while (byte := requests.get()) is not None:
        if byte == b"w":
            os.write(file, PAGE)
            os.fdatasync(file)
        answers.put(byte)


def main(directory):
    requests, answers = queue.SimpleQueue(), queue.SimpleQueue()
    file = os.open(pathlib.Path(directory) / "echo", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    threading.Thread(target=answer, args=(requests, answers, file), daemon=True).start()
    listener = socket.create_server(("127.0.0.1", 0))
    print(listener.getsockname()[1], flush=True)
    client, _ = listener.accept()
    client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    while byte := client.recv(1):
        requests.put(byte)
        client.sendall(answers.get())


if __name__ == "__main__":
    main(*sys.argv[1:])
