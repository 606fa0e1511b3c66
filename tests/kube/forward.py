"""Passes connections on, so that a shell of the host reaches the API server in its machine.

A socket belongs to the network in which it was made: one that was bound before its process moved into the machine still
listens on the host, while connections that are made afterwards lead into the machine.
"""

import asyncio
import contextlib
import os
import signal

CHUNK_BYTES_MAX = 65536


def serve_until_ended(listener, target, pid):
    """Passes what comes to `listener` on to `target`, (address, port), until the process has ended. SIGTERM and SIGINT
    are for that process."""
    asyncio.run(serve(listener, target, pid))


async def serve(listener, target, pid):
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()
    handle = os.pidfd_open(pid)
    loop.add_reader(handle, ended.set)
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, signal.pidfd_send_signal, handle, number)

    async def serve_one(reader, writer):
        # A number needs no name service, and hence no thread: there are none after the move into the machine.
        with contextlib.suppress(OSError):
            far_reader, far_writer = await asyncio.open_connection(*target)
            await asyncio.gather(copy(reader, far_writer), copy(far_reader, writer))
        writer.close()

    server = await asyncio.start_server(serve_one, sock=listener)
    async with server:
        await ended.wait()
    os.close(handle)


async def copy(reader, writer):
    with contextlib.suppress(OSError):
        while data := await reader.read(CHUNK_BYTES_MAX):
            writer.write(data)
            await writer.drain()
    writer.close()
