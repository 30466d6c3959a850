"""The client: one audit's requests, each ending in a recorded Exchange whatever happens."""

import json
import logging
import re
import threading
import time
import zlib
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, Final, Self
from urllib.parse import urlsplit

from parley.evidence import Exchange, Failure, FailureCode, Redirect, Request
from parley.fetch import tls
from parley.fetch.answer import Answer
from parley.fetch.budget import END_SECONDS, Budget, Meter, Stop, spent
from parley.fetch.policy import Limits, Policy, named_place
from parley.fetch.resolve import Resolver
from parley.fetch.transport import Call, Transport
from parley.target import shown
from parley.wire.address import IPAddress, Place, place
from parley.wire.media_type import EVENT_STREAM, essence
from parley.wire.text import clean
from parley.wire.url import Url, UrlError

METHODS: Final = frozenset({"GET", "OPTIONS", "POST", "DELETE"})
"""What may be sent at all."""

CALLS: Final = frozenset(
    {
        "server/discover",
        "initialize",
        "notifications/initialized",
        "ping",
        "tools/list",
        "prompts/list",
        "resources/list",
        "resources/templates/list",
        "x-parley/no-such-method",  # made up, to see how an unknown one is refused
        "GetExtendedAgentCard",
        "agent/getAuthenticatedExtendedCard",  # the same in A2A 0.3
    }
)
"""The JSON-RPC methods that a POST may call: they read what is public, and change nothing."""

REPEATABLE: Final = frozenset({"GET", "OPTIONS"})
"""What is sent once more when a kept connection turns out to be closed."""

REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})

__all__ = ["Fetcher", "Request"]

_log = logging.getLogger("parley.fetch")
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_HEADER_VALUE = re.compile(r"[\t\x20-\x7e\x80-\xff]*")
_LOCATION = re.compile(r"[\x21-\x7e]*")


class Fetcher:
    """All requests of one audit go through one of these. Several threads may call it at once.

    ``own_headers`` are the user's own, sent to the target's origin and nowhere else. The authorities in ``ca_file``
    (PEM) are trusted besides the usual ones. ``proxy`` is the URL of the user's own proxy; names are then looked up
    there. Raises ValueError for a ``ca_file``, a proxy or a header that cannot be used. The audit's clock starts here.
    """

    def __init__(
        self,
        target: Url,
        policy: Policy,
        *,
        limits: Limits = Limits(),  # noqa: B008  # it is frozen
        own_headers: Mapping[str, str] = {},
        ca_file: str | None = None,
        proxy: str | None = None,
    ) -> None:
        self._target: Final = target
        self._policy: Final = policy
        self._limits: Final = limits
        self._own_headers: Final = _sendable(own_headers)
        self._proxy: Final = None if proxy is None else _proxy(proxy)
        _trusted(ca_file)
        self._budget: Final = Budget(limits, target.host)
        self._resolver: Final = Resolver(limits.dns_seconds)
        # By way of a proxy, all hosts asked by plain HTTP share one pool.
        kept = limits.connections_per_host * (limits.hosts if proxy else 1)
        self._transport: Final = Transport(ca_file=ca_file, proxy=proxy, kept=kept)
        self._lock: Final = threading.Lock()
        self._slots: dict[str, threading.BoundedSemaphore] = {}
        self._mute: dict[str, str] = {}  # hosts that did not answer, and how that was put
        self._unkept: set[str] = set()  # origins that close kept connections without a word

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections."""
        self._transport.close()

    def admit(self) -> Failure | None:
        """Whether the target may be audited, before anything is sent: its URL judged, its name looked up and judged.

        A failure with the code REFUSED is the asker's fault, any other the target's. Never raises.
        """
        try:
            self._admit(self._target, Meter(self._budget, self._limits))
        except Stop as stop:
            return Failure(code=stop.code, reason=stop.reason)
        except Exception as error:
            return _internal(error)
        return None

    @property
    def target_addresses(self) -> list[IPAddress]:
        """What the target's name resolved to, once :meth:`admit` found nothing against it; empty behind a proxy."""
        if self._proxy is not None:
            return []
        return self._addresses(self._target.host, Meter(self._budget, self._limits))

    def __call__(self, request: Request) -> Exchange:
        """Make a request and record what came of it. Never raises."""
        started = time.monotonic()
        trail = _Trail(shown(str(request.url)))
        failure = None
        try:
            self._fetch(request, trail)
        except Stop as stop:
            failure = Failure(code=stop.code, reason=trail.told(stop))
        except Exception as error:
            failure = _internal(error)
        answer = trail.answer
        return Exchange(
            purpose=request.purpose,
            method=request.method,
            url=trail.asked,
            final_url=trail.final_url,
            status=answer.status if answer else None,
            headers=answer.fields if answer else (),
            body=bytes(trail.body) if failure is None or _is_cut(request, answer, failure) else b"",
            failure=failure,
            redirects=tuple(trail.redirects),
            duration_ms=round((time.monotonic() - started) * 1000),
        )

    def _fetch(self, request: Request, trail: "_Trail") -> None:
        _check_request(request)
        try:
            url = Url.parse(str(request.url))
        except UrlError as error:
            raise Stop(FailureCode.REFUSED, str(error)) from error
        trail.asked = trail.final_url = str(url)
        host = url.host
        ends = request.method == "DELETE"
        more = END_SECONDS if ends else 0.0
        seconds = END_SECONDS if ends and host in self._mute else request.seconds
        slot = self._slot(host, self._budget.seconds_left(more))
        if slot is None:
            raise spent("time")
        try:
            # The clock of the fetch starts when it is its turn: waiting for one of our own connections is no
            # slowness of the target.
            meter = Meter(self._budget, _patience(self._limits, seconds), more=more)
            addresses = self._admit(url, meter)
            while (to := self._hop(url, addresses, request, meter, trail)) is not None:
                if len(trail.redirects) >= self._limits.redirects:
                    raise Stop(FailureCode.REDIRECTS, f"redirects more than {self._limits.redirects} times")
                try:
                    if reason := self._policy.refuse_redirect(url, to):
                        raise Stop(FailureCode.REFUSED, reason)
                    addresses = self._admit(to, meter)
                except Stop as stop:
                    if stop.code is FailureCode.REFUSED:
                        raise Stop(stop.code, f"redirects to {clean(to)}, which {stop.reason}") from stop
                    trail.follow(url, to)
                    raise
                trail.follow(url, to)
                if to.host != host:
                    slot.release()
                    slot = None
                    if (slot := self._slot(to.host, meter.seconds_left())) is None:
                        raise meter.expired()
                    host = to.host
                url = to
        finally:
            if slot is not None:
                slot.release()

    def _hop(self, url: Url, addresses: list[IPAddress], request: Request, meter: Meter, trail: "_Trail") -> Url | None:
        """One request and its answer, into the trail; the value is where it redirects to, if it does."""
        ends = request.method == "DELETE"  # whoever opened a session ends it, also where what came between was silence
        if (how := self._mute.get(url.host)) is not None and not ends:
            raise Stop(FailureCode.TIMEOUT, f"was not asked again, since it had not answered ({how})")
        self._budget.spend_request(url.host, ends_session=ends)
        fresh = request.fresh or url.origin in self._unkept
        while True:
            call = self._call(url, addresses, meter, fresh=fresh)
            try:
                return self._ask(call, request, trail)
            except Stop as stop:
                if stop.code is FailureCode.CONNECT and call.is_on_kept and not call.is_answered:
                    self._unkept.add(url.origin)
                    if request.method in REPEATABLE:
                        fresh = True
                        continue
                # A host that had only the rest of a time that others had used up is not called mute.
                patience = min(self._limits.connect_seconds, self._limits.fetch_seconds / 2)
                if (
                    stop.code is FailureCode.TIMEOUT
                    and not call.is_answered
                    and time.monotonic() - call.started >= patience
                ):
                    self._mute[url.host] = stop.reason
                raise

    def _ask(self, call: Call, request: Request, trail: "_Trail") -> Url | None:
        url = call.url
        headers = self._headers(url, request)
        try:
            with self._transport.ask(call, request.method, url, headers, request.body) as raw:
                answer = trail.answer = call.answer
                assert answer is not None  # noqa: S101  # the connection says so as soon as it returns one
                locations = answer.values("location")
                if request.method == "GET" and answer.status in REDIRECTS and locations:
                    return _redirect(url, locations)
                if request.skips_stream and essence(", ".join(answer.values("content-type"))) == EVENT_STREAM:
                    return None
                trail.body = bytearray()
                _read(trail.body, raw, answer, call.meter, request.enough)
        finally:
            trail.answer = call.answer
        return None

    def _headers(self, url: Url, request: Request) -> dict[str, str]:
        own = self._own_headers if url.origin == self._target.origin else {}
        wanted = {"Accept": "*/*", **own, **request.headers}
        fixed = {"User-Agent": self._policy.user_agent, "Accept-Encoding": "identity"}
        merged = {name.lower(): (name, value) for name, value in (wanted | fixed).items()}
        return dict(merged.values())

    def _call(self, url: Url, addresses: list[IPAddress], meter: Meter, *, fresh: bool) -> Call:
        if self._proxy is None:
            return Call(url, meter, addresses, url.port, fresh=fresh)
        host, port = self._proxy
        try:
            found = self._resolver.addresses(host, host, meter)
        except Stop as stop:
            if stop.code.is_ours:
                raise
            raise Stop(FailureCode.CONNECT, f"could not be reached (proxy {host}:{port}: {stop.reason})") from stop
        return Call(url, meter, found, port, proxy=f"{host}:{port}", fresh=fresh)

    def _admit(self, url: Url, meter: Meter) -> list[IPAddress]:
        """Judge a URL and what its name resolves to; the value is what may be dialled for it. Raises :class:`Stop`."""
        if reason := self._policy.refuse_url(url):
            raise Stop(FailureCode.REFUSED, reason)
        self._budget.spend_host(url.host)
        led_from = None if url.host == self._target.host else self._place_of_target(meter)
        if self._proxy is not None:
            addresses = []
            reasons = [self._policy.refuse_unresolved(url, led_from=led_from)]
        else:
            addresses = self._addresses(url.host, meter)
            literal = url.address is not None
            reasons = [
                self._policy.refuse_address(address, literal=literal, led_from=led_from) for address in addresses
            ]
        for reason in filter(None, reasons):
            raise Stop(FailureCode.REFUSED, reason)
        return addresses

    def _place_of_target(self, meter: Meter) -> Place:
        """Where the target is: at the least private of its addresses, and on the internet if that is not known."""
        if self._proxy is not None:
            return named_place(self._target)
        try:
            places = [place(address)[0] for address in self._addresses(self._target.host, meter)]
        except Stop:
            return Place.PUBLIC
        return Place.PUBLIC if Place.NOWHERE in places else min(places)

    def _addresses(self, host: str, meter: Meter) -> list[IPAddress]:
        return self._resolver.addresses(host, self._policy.looked_up(host), meter)

    def _slot(self, host: str, seconds: float) -> threading.BoundedSemaphore | None:
        """Leave to have one more connection with a host, to be released; None if there is none in time."""
        with self._lock:
            slot = self._slots.setdefault(host, threading.BoundedSemaphore(self._limits.connections_per_host))
        return slot if slot.acquire(timeout=seconds) else None


class _Trail:
    """How far a fetch has come."""

    def __init__(self, asked: str) -> None:
        self.asked = asked
        self.final_url = asked
        self.redirects: list[Redirect] = []
        self.answer: Answer | None = None
        self.body = bytearray()

    def follow(self, url: Url, to: Url) -> None:
        """Go where an answer redirects to."""
        status = self.answer.status if self.answer else 0
        self.redirects.append(Redirect(status=status, url=str(url), location=str(to)))
        self.final_url = str(to)
        self.answer = None

    def told(self, stop: Stop) -> str:
        """The reason, as it continues a sentence about the URL that was asked for: what failed may be another."""
        if not self.redirects or stop.code.is_ours or stop.code in (FailureCode.REFUSED, FailureCode.REDIRECTS):
            return stop.reason
        return f"redirects to {clean(self.final_url)}: {stop.reason}"


def _check_request(request: Request) -> None:
    """Hold what this client may send at all, whoever asks for it; raises ValueError.

    That a DELETE names a session of this very audit is its sender's business; that it names one is held here.
    """
    if request.method not in METHODS:
        raise ValueError(f"{request.method} is not among the methods that may be sent")
    if request.method == "POST":
        for method in _called(request.body or b""):
            if method not in CALLS:
                raise ValueError(f"a call of {clean(method, 40)} may not be sent")
    elif request.body:
        raise ValueError(f"a {request.method} has no body")
    elif request.method == "DELETE" and not request.headers.get("Mcp-Session-Id"):
        raise ValueError("a DELETE may only end an MCP session")


def _called(body: bytes) -> list[object]:
    """The methods that a JSON-RPC body calls, one or a batch; None for what is no call."""
    try:
        message = json.loads(body)
    except ValueError:
        return [None]
    calls = message if isinstance(message, list) else [message]
    return [call.get("method") if isinstance(call, dict) else None for call in calls] or [None]


def _patience(limits: Limits, seconds: float | None) -> Limits:
    return limits if seconds is None else limits._replace(fetch_seconds=min(seconds, limits.fetch_seconds))


_CUT: Final = (FailureCode.TOO_LARGE, FailureCode.BUDGET, FailureCode.CONNECT, FailureCode.BAD_HTTP)


def _is_cut(request: Request, answer: Answer | None, failure: Failure) -> bool:
    """Whether what has come is worth keeping: of a stream that was waited for in vain, or cut off, all that it said."""
    if request.enough is None or answer is None:
        return False
    is_stream = essence(", ".join(answer.values("content-type"))) == EVENT_STREAM
    return failure.code is FailureCode.TIMEOUT or (is_stream and failure.code in _CUT)


def _redirect(url: Url, locations: list[str]) -> Url:
    """Where an answer redirects to; raises :class:`Stop`."""
    location, *others = locations
    if others or not _LOCATION.fullmatch(location):
        raise Stop(FailureCode.REFUSED, "redirects to something that is no URL")
    try:
        return url.join(location)
    except UrlError as error:
        raise Stop(FailureCode.REFUSED, f"redirects to {shown(location)}, which {error}") from error


def _read(body: bytearray, raw: Any, answer: Answer, meter: Meter, enough: Callable[[bytes], bool] | None) -> None:
    """Read the decoded body, or as much of it as was ``enough``; raises :class:`Stop`."""
    limit = meter.limits.body_bytes
    coding = ", ".join(answer.values("content-encoding")).strip().lower()
    gunzip = _Gunzip() if coding in ("gzip", "x-gzip") else None
    sent = seen = 0
    while piece := raw.read1(65_536, decode_content=False):
        if gunzip is None and coding not in ("", "identity"):
            raise Stop(FailureCode.BAD_ENCODING, f"uses an encoding we did not ask for ({clean(coding, 40)})")
        sent += len(piece)
        body += gunzip.decode(piece, limit + 1 - len(body)) if gunzip else piece
        if sent > limit or len(body) > limit:
            raise meter.too_much_body()
        # Asked before every wait, and else only when there is much more to look at, since looking costs time too.
        if enough is not None and (not answer.has_more or len(body) >= 2 * seen):
            seen = len(body)
            if enough(bytes(body)):
                return
    if gunzip is not None and sent:
        gunzip.end()


class _Gunzip:
    """gzip (RFC 1952) of one member, decoded without ever making more than is asked for."""

    def __init__(self) -> None:
        self._inflate: Final = zlib.decompressobj(16 + zlib.MAX_WBITS)

    def decode(self, piece: bytes, limit: int) -> bytes:
        """At most ``limit`` bytes more; raises :class:`Stop` for what is no gzip."""
        try:
            decoded = b"" if self._inflate.eof else self._inflate.decompress(piece, limit)
        except zlib.error as error:
            raise Stop(FailureCode.BAD_ENCODING, "is not the gzip that it says it is") from error
        if self._inflate.eof and (self._inflate.unused_data or not decoded):
            raise Stop(FailureCode.BAD_ENCODING, "sends something behind its gzip")
        return decoded

    def end(self) -> None:
        """Raise :class:`Stop` unless all of it has come."""
        if not self._inflate.eof:
            raise Stop(FailureCode.BAD_ENCODING, "ends in the middle of its gzip")


def _internal(error: Exception) -> Failure:
    _log.exception("a fetch failed by a fault of ours")
    return Failure(
        code=FailureCode.INTERNAL, reason=f"could not be checked, by a fault of ours ({type(error).__name__})"
    )


def _sendable(headers: Mapping[str, str]) -> dict[str, str]:
    for name, value in headers.items():
        if not _HEADER_NAME.fullmatch(name) or not _HEADER_VALUE.fullmatch(value):
            raise ValueError(f"the header {clean(name, 40)} cannot be sent: its name or value is not valid in HTTP")
    return dict(headers)


def _proxy(url: str) -> tuple[str, int]:
    """The host and port of a proxy, whose URL may hold a user name and a password; raises ValueError."""
    try:
        split = urlsplit(url)
        parsed = Url.parse(f"{split.scheme}://{split.netloc.rpartition('@')[2]}/")
    except ValueError:
        raise ValueError("the proxy is not given as http://host:port or https://host:port") from None
    return parsed.host, parsed.port


def _trusted(ca_file: str | None) -> None:
    """Load the authorities now, so that a file that cannot be read is said at once; raises ValueError."""
    if ca_file is None:
        return
    try:
        tls.context(ca_file)
    except OSError as error:
        raise ValueError(
            f"no certificates (PEM) can be read from {clean(ca_file)}: {error.strerror or error}"
        ) from error
