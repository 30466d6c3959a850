"""A small server on loopback that a test scripts, and names that lead to it without any name server."""

import contextlib
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from ipaddress import ip_address

import pytest

from parley.fetch import resolve, transport

OK = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"


def answer(body: bytes = b"{}", *lines: str, status: str = "200 OK") -> bytes:
    head = "".join(f"{line}\r\n" for line in (f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *lines))
    return head.encode("latin-1") + b"\r\n" + body


def redirect(to: str, status: str = "302 Found") -> bytes:
    return answer(b"", f"Location: {to}", status=status)


@dataclass
class Asked:
    """One request as it came in. ``connection`` counts from 1, ``turn`` within the connection from 1."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes
    connection: int
    turn: int
    socket: socket.socket


@dataclass
class Site:
    """What a server saw."""

    port: int
    scheme: str = "http"
    connections: int = 0
    asked: list[Asked] = field(default_factory=list)
    open_now: int = 0
    open_most: int = 0
    server_names: list[str | None] = field(default_factory=list)

    def url(self, path: str = "/", host: str = "127.0.0.1") -> str:
        return f"{self.scheme}://{host}:{self.port}{path}"


Reply = Callable[[Asked], bytes | None]


@contextlib.contextmanager
def site(reply: Reply, tls: ssl.SSLContext | None = None) -> Iterator[Site]:
    """Serve ``reply``: its bytes are sent as they are; None closes the connection. Connections are kept."""
    listener = socket.create_server(("127.0.0.1", 0), backlog=64)
    seen = Site(listener.getsockname()[1], "https" if tls else "http")
    lock = threading.Lock()
    stopping = threading.Event()
    threads: list[threading.Thread] = []
    if tls is not None:
        tls.sni_callback = lambda _, name, __: seen.server_names.append(name)

    def serve_one(connection: socket.socket, number: int) -> None:
        with contextlib.suppress(OSError):
            connection.settimeout(10)
            if tls is not None:
                connection = tls.wrap_socket(connection, server_side=True)
            reader = connection.makefile("rb")
            with connection, reader:
                turn = 0
                while line := reader.readline():
                    turn += 1
                    method, path, _ = line.decode("latin-1").split(" ")
                    headers = {}
                    while (line := reader.readline()).strip():
                        name, _, value = line.decode("latin-1").partition(":")
                        headers[name.lower()] = value.strip()
                    body = reader.read(int(headers.get("content-length", 0)))
                    asked = Asked(method, path, headers, body, number, turn, connection)
                    with lock:
                        seen.asked.append(asked)
                        seen.open_now += 1
                        seen.open_most = max(seen.open_most, seen.open_now)
                    try:
                        sent = reply(asked)
                    finally:
                        with lock:
                            seen.open_now -= 1
                    if sent is None:
                        break
                    connection.sendall(sent)
        connection.close()

    def accept() -> None:
        while not stopping.is_set():
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            seen.connections += 1
            thread = threading.Thread(target=serve_one, args=(connection, seen.connections), daemon=True)
            threads.append(thread)
            thread.start()

    accepting = threading.Thread(target=accept, daemon=True)
    accepting.start()
    try:
        yield seen
    finally:
        stopping.set()
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        accepting.join(5)


@contextlib.contextmanager
def raw_site(sent: bytes) -> Iterator[int]:
    """A server that reads something, sends ``sent`` and closes; the value is its port."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = listener.accept()
                with connection:
                    connection.settimeout(5)
                    connection.recv(65_536)
                    connection.sendall(sent)
                    connection.shutdown(socket.SHUT_WR)
                    while connection.recv(65_536):
                        pass

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield listener.getsockname()[1]
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join(5)


class Names:
    """A name system of our own: ``names["a.com"] = "93.184.216.34"``. What is not in it does not resolve."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.known: dict[str, list[str] | Exception | Callable[[], list[str]]] = {}
        self.looked_up: list[str] = []
        monkeypatch.setattr(resolve, "look_up", self._look_up)

    def __setitem__(self, name: str, value: str | Exception | Callable[[], list[str]]) -> None:
        self.known[name] = value.split() if isinstance(value, str) else value

    def _look_up(self, name: str) -> list[object]:
        self.looked_up.append(name)
        found = self.known.get(name.removesuffix("."), socket.gaierror(socket.EAI_NONAME, "no such name"))
        if isinstance(found, Exception):
            raise found
        return [ip_address(text) for text in (found() if callable(found) else found)]


class Dials:
    """Every address that was dialled. Public ones lead to a loopback port; nothing ever leaves the machine."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.dialled: list[tuple[str, int]] = []
        self.leads: dict[str, int] = {}
        self._dial = transport.dial
        monkeypatch.setattr(transport, "dial", self._lead)

    def _lead(self, address: object, port: int, seconds: float) -> socket.socket:
        self.dialled.append((str(address), port))
        if str(address) in self.leads:
            return self._dial(ip_address("127.0.0.1"), self.leads[str(address)], seconds)
        if str(address) in ("127.0.0.1", "::1"):
            return self._dial(ip_address(str(address)), port, seconds)
        raise ConnectionRefusedError
