"""Answers over TCP and UDP: to `who` with its own address and the caller's, to everything else with the same words.

    who.py PORT ADDRESS...

A connection that said `stream` is spoken to from then on, ten times a second, and is not listened to any more.
Needs nothing but the standard library.
"""

import selectors
import socket
import sys
import time

BEAT = 0.1

sockets = selectors.DefaultSelector()
streams: list[socket.socket] = []


def listen(address: str, port: int) -> None:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
        opened = socket.socket(family, kind)
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            opened.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        opened.bind((address, port))
        if kind == socket.SOCK_STREAM:
            opened.listen(512)
        sockets.register(
            opened, selectors.EVENT_READ, (accept, address) if kind == socket.SOCK_STREAM else (say, address)
        )


def accept(listener: socket.socket, address: str) -> None:
    connection, _ = listener.accept()
    sockets.register(connection, selectors.EVENT_READ, (say_on, address))


def say(opened: socket.socket, address: str) -> None:
    words, peer = opened.recvfrom(65536)
    opened.sendto(answer(words, address, peer[0]), peer)


def say_on(connection: socket.socket, address: str) -> None:
    try:
        words = connection.recv(16384)
        if words == b"stream\n":
            streams.append(connection)
            return
        if words:
            connection.sendall(answer(words, address, connection.getpeername()[0]))
            return
    except OSError:
        pass
    sockets.unregister(connection)
    connection.close()


def speak() -> None:
    """A word to each who asked for a stream. Nobody waits for one that does not take it."""
    for stream in tuple(streams):
        try:
            stream.send(b"tick\n", socket.MSG_DONTWAIT)
        except BlockingIOError:
            continue
        except OSError:
            streams.remove(stream)


def answer(words: bytes, address: str, peer: str) -> bytes:
    return f"{address} {peer}\n".encode() if words == b"who\n" else words


for each in sys.argv[2:]:
    listen(each, int(sys.argv[1]))
print("ready", flush=True)  # noqa: T201 - this is how it says so
beat = time.monotonic()
while True:
    for found, _ in sockets.select(BEAT):
        found.data[0](found.fileobj, found.data[1])
    if time.monotonic() - beat >= BEAT:
        beat = time.monotonic()
        speak()
