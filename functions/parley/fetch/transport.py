"""How requests and urllib3 connect, send and keep connections here: to judged addresses, by deadline, within budget.

An adapter of requests without its Session, which would add what must not happen: cookies, ~/.netrc, proxies from the
environment, and reading a redirect's body. The seams are urllib3's: ``_new_conn`` makes the socket (its SOCKS support
does the same), so that SNI, Host header and certificate check keep the name while the address is the pinned one.
"""

import errno
import logging
import socket
import ssl
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final, Self, cast
from urllib.parse import urlsplit

import requests
from requests.adapters import HTTPAdapter
from requests.structures import CaseInsensitiveDict
from urllib3 import HTTPConnectionPool, HTTPResponse, HTTPSConnectionPool
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.util.ssltransport import SSLTransport

from parley.evidence import FailureCode
from parley.fetch import tls
from parley.fetch.answer import Answer
from parley.fetch.budget import Meter, Stop
from parley.wire.address import IPAddress
from parley.wire.url import Url

RECEIVE: Final = 65_536
"""Bytes asked of a socket at once."""

# urllib3 would log text that a target chose.
logging.getLogger("urllib3").setLevel(logging.ERROR)


class Call:
    """One request on one connection: what the connection must know of it, and what came of it.

    ``addresses`` and ``port`` are what to dial, ``proxy`` how to name it if that is a proxy. A ``fresh`` call takes no
    kept connection.
    """

    def __init__(
        self,
        url: Url,
        meter: Meter,
        addresses: Sequence[IPAddress],
        port: int,
        *,
        proxy: str | None = None,
        fresh: bool = False,
    ) -> None:
        self.url: Final = url
        self.meter: Final = meter
        self.addresses: Final = addresses
        self.port: Final = port
        self.proxy: Final = proxy
        self.fresh: Final = fresh
        self.started: Final = time.monotonic()
        self.is_on_kept = False  # whether the connection had served another request
        self.is_answered = False  # whether a byte of the answer has come
        self.answer: Answer | None = None  # once its head is whole


_call: ContextVar[Call] = ContextVar("call")
"""The request that this thread is making. urllib3's pools take no word to a connection along with a request."""


_NO_WAY: Final = (
    errno.ENETUNREACH,
    errno.EHOSTUNREACH,
    errno.EADDRNOTAVAIL,
    errno.EAFNOSUPPORT,  # IPv6 where there is none
    errno.EACCES,
    errno.EPERM,
)
"""Errors of a connect that say that there is no way to the address; any other is our own trouble."""


def dial(address: IPAddress, port: int, seconds: float) -> socket.socket:
    """Connect to an address within a time; raises OSError."""
    sockaddr = (str(address), port)
    connection = socket.socket(socket.AF_INET if address.version == 4 else socket.AF_INET6, socket.SOCK_STREAM)
    try:
        connection.settimeout(seconds)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.connect(sockaddr)
        if connection.getpeername()[:2] != sockaddr:
            raise Stop(FailureCode.REFUSED, "led to another address than the one that was judged")
    except BaseException:
        connection.close()
        raise
    return connection


def connect(call: Call) -> socket.socket:
    """Connect to the first of the call's addresses that takes us; raises :class:`Stop`."""
    limits = call.meter.limits
    failures: list[Stop] = []
    for address in _by_turns(call.addresses)[: limits.addresses]:
        left = call.meter.seconds_left()
        try:
            return dial(address, call.port, min(left, limits.connect_seconds))
        except TimeoutError:
            if left <= limits.connect_seconds:
                raise call.meter.expired() from None
            failures.append(Stop(FailureCode.TIMEOUT, f"timed out after {limits.connect_seconds:g} s, connecting"))
        except ConnectionRefusedError:
            failures.append(Stop(FailureCode.CONNECT, "refused the connection"))
        except ConnectionError:
            failures.append(Stop(FailureCode.CONNECT, "closed the connection without an answer"))
        except OSError as error:
            if error.errno == errno.ENOTCONN:  # it was reset before we could ask who is there
                failures.append(Stop(FailureCode.CONNECT, "closed the connection without an answer"))
                continue
            if error.errno not in _NO_WAY:
                raise
            failures.append(Stop(FailureCode.CONNECT, f"cannot be reached from here ({error.strerror})"))
    raise next((stop for stop in failures if stop.code is FailureCode.TIMEOUT), failures[0])


def _by_turns(addresses: Sequence[IPAddress]) -> list[IPAddress]:
    """The addresses with the two families taking turns, so that the few that are tried are not all of one."""
    first = [address for address in addresses if address.version == addresses[0].version]
    other = [address for address in addresses if address.version != addresses[0].version]
    turns = [address for pair in zip(first, other, strict=False) for address in pair]
    return turns + first[len(other) :] + other[len(first) :]


class Wire:
    """A connected socket whose every byte is counted and whose every wait ends with the fetch it serves.

    To http.client and urllib3 it is the socket.
    """

    def __init__(self, connection: socket.socket | SSLTransport) -> None:
        self._socket: Final = connection
        self._data = b""
        self._at = 0
        self.answer: Answer | None = None

    @property
    def meter(self) -> Meter:
        """The meter of the request that is being made now: a kept connection serves one after the other."""
        return _call.get().meter

    @property
    def buffered(self) -> bool:
        """Whether something was read that nobody has taken yet."""
        return self._at < len(self._data)

    @property
    def is_clean(self) -> bool:
        """Whether another request may be sent: the last answer was read to its end, and no more than it has come."""
        answer = self.answer
        return (
            answer is not None
            and answer.may_keep
            and answer.is_whole
            and not self.buffered
            and isinstance(self._socket, socket.socket)  # else TLS within a proxy's TLS, which keeps bytes of its own
            and not (isinstance(self._socket, ssl.SSLSocket) and self._socket.pending())
        )

    def answered(self, answer: Answer) -> None:
        """The head of an answer is whole."""
        self.answer = _call.get().answer = answer

    def readline(self, limit: int) -> bytes:
        """Up to and including a line feed; less at the end of the stream, or at ``limit`` bytes."""
        while (end := self._data.find(b"\n", self._at, self._at + limit) + 1) == 0:
            if len(self._data) - self._at >= limit:
                return self._take(limit)
            more = self._receive()
            if not more:
                return self._take(limit)
            self._data = self._data[self._at :] + more
            self._at = 0
        return self._take(end - self._at)

    def read1(self, size: int) -> bytes:
        """What is there, waiting for at least one byte; nothing at the end of the stream."""
        if not self.buffered:
            self._data = self._receive()
            self._at = 0
        return self._take(size)

    def sendall(self, data: Any) -> None:
        """Send all of it before the deadline; raises :class:`Stop`, and OSError if the other side has closed."""
        call = _call.get()
        self.answer = None
        self._socket.settimeout(call.meter.seconds_left())
        try:
            self._socket.sendall(data)
        except TimeoutError:
            raise call.meter.expired() from None
        except ssl.SSLError as error:
            raise BrokenPipeError from error  # as without TLS, where urllib3 then looks for an answer all the same
        except (BrokenPipeError, ConnectionResetError):
            raise
        except OSError as error:
            raise Stop(FailureCode.CONNECT, "broke the connection off") from error

    def makefile(self, *_: object, **__: object) -> Self:
        """What answers are read from."""
        return self

    def settimeout(self, seconds: float | None) -> None:
        """Nothing: the deadline is the meter's."""

    def fileno(self) -> int:
        """The socket's own, by which urllib3 sees whether a kept connection was closed or has unasked bytes."""
        return self._socket.fileno()

    def close(self) -> None:
        """Close the connection."""
        self._socket.close()

    def _take(self, size: int) -> bytes:
        taken = self._data[self._at : self._at + size]
        self._at += len(taken)
        return taken

    def _receive(self) -> bytes:
        call = _call.get()
        self._socket.settimeout(call.meter.seconds_left())
        try:
            data = cast(bytes, self._socket.recv(RECEIVE))
        except TimeoutError:
            raise call.meter.expired() from None
        except ssl.SSLError as error:
            raise tls.failed(error, call.url) from error
        except OSError as error:
            what = "broke the connection off" if call.is_answered else "closed the connection without an answer"
            raise Stop(FailureCode.CONNECT, what) from error
        if data:
            call.is_answered = True
            call.meter.count(len(data))
        return data


class _Pinned:
    """What both kinds of connection do differently from urllib3."""

    response_class: Any = Answer

    def _new_conn(self) -> socket.socket:
        call = _call.get()
        try:
            connection = connect(call)
            connection.settimeout(call.meter.seconds_left())  # for all of a TLS handshake
        except Stop as stop:
            raise _of_proxy(stop, call.proxy) from stop
        return connection

    def _tunnel(self) -> None:
        """Ask the proxy for a connection to the target (RFC 9110, section 9.3.6); urllib3 copies http.client here."""
        call = _call.get()
        this = cast(Any, self)
        wire = Wire(this.sock)
        host = f"[{this._tunnel_host}]" if ":" in str(this._tunnel_host) else this._tunnel_host
        lines = [f"CONNECT {host}:{this._tunnel_port} HTTP/1.1", f"Host: {host}:{this._tunnel_port}"]
        lines += [f"{name}: {value}" for name, value in this._tunnel_headers.items() if name != "Host"]
        answer = Answer(wire, method="CONNECT")
        try:
            wire.sendall("".join(f"{line}\r\n" for line in [*lines, ""]).encode("latin-1"))
            answer.begin()
        except OSError:
            raise _of_proxy(Stop(FailureCode.CONNECT, "closed the connection without an answer"), call.proxy) from None
        except Stop as stop:
            raise _of_proxy(stop, call.proxy) from stop
        finally:  # that was the proxy; the target has yet to say a word
            call.is_answered, call.answer = False, None
        if answer.status >= 300 or wire.buffered:
            raise _of_proxy(Stop(FailureCode.CONNECT, f"answered {answer.status} to CONNECT"), call.proxy)
        this.sock.settimeout(call.meter.seconds_left())


def _of_proxy(stop: Stop, proxy: str | None) -> Stop:
    if proxy is None or stop.code.is_ours:
        return stop
    return Stop(stop.code, f"could not be reached (proxy {proxy}: {stop.reason})")


class _PlainConnection(_Pinned, HTTPConnection):
    def connect(self) -> None:
        super().connect()
        self.sock = Wire(self.sock)


class _TlsConnection(_Pinned, HTTPSConnection):
    def connect(self) -> None:
        call = _call.get()
        try:
            super().connect()
        except TimeoutError:
            raise call.meter.expired() from None
        except ssl.SSLError as error:
            raise tls.failed(error, call.url) from error
        except OSError as error:
            if not isinstance(error, ConnectionError) and error.errno not in _NO_WAY:
                raise
            raise Stop(FailureCode.TLS, "closed the connection in the middle of TLS") from error
        self.sock = Wire(self.sock)

    def _connect_tls_proxy(self, hostname: str, sock: socket.socket) -> ssl.SSLSocket:
        call = _call.get()
        try:
            return super()._connect_tls_proxy(hostname, sock)
        except ssl.SSLError as error:
            raise _of_proxy(tls.failed(error, Url("https", hostname, call.port, "/")), call.proxy) from error


class _Kept:
    """Which connections are used again: those that are clean, unless the call wants none of them."""

    def _get_conn(self, timeout: float | None = None) -> Any:
        connection = super()._get_conn(timeout)  # type: ignore[misc]
        if connection.sock is not None:
            if _call.get().fresh:
                connection.close()
            else:
                _call.get().is_on_kept = True
        return connection

    def _put_conn(self, connection: Any) -> None:
        if connection is not None and not (isinstance(connection.sock, Wire) and connection.sock.is_clean):
            connection.close()
        super()._put_conn(connection)  # type: ignore[misc]


class _PlainPool(_Kept, HTTPConnectionPool):
    ConnectionCls = _PlainConnection


class _TlsPool(_Kept, HTTPSConnectionPool):
    ConnectionCls = _TlsConnection


_POOLS: Final = {"http": _PlainPool, "https": _TlsPool}


class Transport(HTTPAdapter):
    """One audit's connections."""

    def __init__(self, *, ca_file: str | None, proxy: str | None, kept: int) -> None:
        self._ca_file: Final = ca_file
        self._proxies: Final = {"http": proxy, "https": proxy} if proxy else {}
        super().__init__(pool_maxsize=kept)

    def init_poolmanager(self, *args: Any, **kwargs: Any) -> None:
        """Make urllib3 use the connections of this module."""
        super().init_poolmanager(*args, **kwargs)
        self.poolmanager.pool_classes_by_scheme = _POOLS

    def proxy_manager_for(self, proxy: str, **kwargs: Any) -> Any:
        """The same for those by way of a proxy."""
        if urlsplit(proxy).scheme == "https":
            kwargs["proxy_ssl_context"] = tls.context(self._ca_file)
        manager = super().proxy_manager_for(proxy, **kwargs)
        manager.pool_classes_by_scheme = _POOLS
        return manager

    def build_connection_pool_key_attributes(self, request: Any, verify: Any, cert: Any = None) -> Any:
        """Give TLS the one shared context, made when it is first needed."""
        host, _ = super().build_connection_pool_key_attributes(request, verify, cert)
        return host, {"ssl_context": tls.context(self._ca_file)} if host["scheme"] == "https" else {}

    def cert_verify(self, *_: object) -> None:
        """Nothing: requests would load the authorities anew for every connection."""

    def request_url(self, request: requests.PreparedRequest, proxies: Any) -> str:
        """What stands in the request line: exactly the URL that was judged, not one that was parsed once more."""
        url = str(request.url)
        return url if proxies and url.startswith("http:") else "/" + url.split("/", 3)[3]

    @contextmanager
    def ask(self, call: Call, method: str, url: Url, headers: Mapping[str, str], body: bytes | None) -> Iterator[Any]:
        """Send a request; the value is urllib3's response, to be read while the context lasts. Raises :class:`Stop`."""
        prepared = requests.PreparedRequest()
        prepared.method, prepared.url, prepared.body = method, str(url), body
        prepared.headers = CaseInsensitiveDict(headers)
        if body is not None:
            prepared.headers["Content-Length"] = str(len(body))
        token = _call.set(call)
        try:
            raw = cast(HTTPResponse, self.send(prepared, stream=True, proxies=self._proxies).raw)
            try:
                yield raw
            finally:
                if call.answer is None or not call.answer.is_whole:
                    raw.close()
                raw.release_conn()
        finally:
            _call.reset(token)
