"""What an audit saw: plain values, to and from JSON, so that a recording can be judged again without a network."""

import base64
import re
from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Final, NamedTuple, Self

from parley.target import Target
from parley.wire.url import Url, UrlError

RECORDING_VERSION: Final = "1"

MASK: Final = "•"
"""What stands for each character of a secret that a target echoed."""

_TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?Z")
_SHORTEST_SECRET: Final = 4
_LONGEST_MS: Final = 86_400_000

OWN_HEADERS_NOTICE: Final = "This recording holds in clear what --header sent, and whatever the target answered to it."


class FailureCode(StrEnum):
    """Why there is no answer. The last two are about this auditor, all others about the target."""

    REFUSED = "refused"
    DNS = "dns"
    TIMEOUT = "timeout"
    CONNECT = "connect"
    TLS = "tls"
    BAD_HTTP = "bad-http"
    BAD_ENCODING = "bad-encoding"
    TOO_LARGE = "too-large"
    REDIRECTS = "redirects"
    BUDGET = "budget"
    INTERNAL = "internal"

    @property
    def is_ours(self) -> bool:
        """Whether the target is not to blame: such a failure never makes a verdict worse."""
        return self in (FailureCode.BUDGET, FailureCode.INTERNAL)


class Failure(NamedTuple):
    """No usable answer. ``reason`` is for people and continues a sentence about the URL: ``timed out after 8 s``."""

    code: FailureCode
    reason: str


class Redirect(NamedTuple):
    """One hop: ``url`` answered ``status`` and sent the client to ``location`` (as it was resolved)."""

    status: int
    url: str
    location: str


class Request(NamedTuple):
    """What to ask the network.

    ``purpose`` is shown among the report's attempts. ``url`` is fetched in its normal form; one that is none, or that
    may not be visited, makes a failed Exchange. ``enough``, given what has come of the body, may end the reading: an
    event stream need not ever end by itself. ``fresh`` asks over a new connection. ``seconds`` is the patience with
    this request where it is less than that with any, and ``skips_stream`` leaves an event stream unread.
    """

    purpose: str
    url: str
    method: str = "GET"
    headers: Mapping[str, str] = MappingProxyType({})
    body: bytes | None = None
    enough: Callable[[bytes], bool] | None = None
    fresh: bool = False
    seconds: float | None = None
    skips_stream: bool = False


class Exchange(NamedTuple):
    """One request and what came of it.

    ``url`` is what was asked for and ``final_url`` what answered after ``redirects``. ``status`` and ``headers``
    (names in lower case, in the order sent) are those of the last answer and may be there although ``failure`` says
    that its body could not be had; ``body`` is decoded content, and empty after a failure, but for a request that had
    an ``enough``: after a time-out it is what had come, and so it is of an event stream however that was cut off.
    ``duration_ms`` counts all hops. Header values and body are a stranger's bytes, unchanged.
    """

    purpose: str
    method: str
    url: str
    final_url: str
    status: int | None
    headers: tuple[tuple[str, str], ...]
    body: bytes
    failure: Failure | None
    redirects: tuple[Redirect, ...]
    duration_ms: int

    def header(self, name: str) -> str | None:
        """A header's value, several of one name joined by commas (RFC 9110, section 5.3); None if it was not sent."""
        values = [value for key, value in self.headers if key == name.lower()]
        return ", ".join(values) if values else None

    def with_texts(self, change: Callable[[str], str]) -> Self:
        """The exchange with all texts changed that are shown of it: URLs, header values, a failure's reason."""
        return self._replace(
            url=change(self.url),
            final_url=change(self.final_url),
            headers=tuple((name, change(value)) for name, value in self.headers),
            failure=self.failure and self.failure._replace(reason=change(self.failure.reason)),
            redirects=tuple(hop._replace(url=change(hop.url), location=change(hop.location)) for hop in self.redirects),
        )

    @property
    def answered(self) -> int | None:
        """The HTTP status of a whole answer; None where there was none."""
        return None if self.failure else self.status

    @property
    def outcome(self) -> str:
        """What came of it in a word: a failure's code, or ``ok`` for a whole answer of any status."""
        return self.failure.code.value if self.failure else "ok"

    def to_json(self) -> dict[str, object]:
        """The exchange as JSON values; a body that is not UTF-8 is kept as base64."""
        try:
            body = {"text": self.body.decode("utf-8")}
        except UnicodeDecodeError:
            body = {"base64": base64.b64encode(self.body).decode("ascii")}
        return {
            "purpose": self.purpose,
            "method": self.method,
            "url": self.url,
            "finalUrl": self.final_url,
            "status": self.status,
            "headers": [list(pair) for pair in self.headers],
            "body": body,
            "failure": None
            if self.failure is None
            else {"code": self.failure.code.value, "reason": self.failure.reason},
            "redirects": [{"status": hop.status, "url": hop.url, "location": hop.location} for hop in self.redirects],
            "durationMs": self.duration_ms,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, object]) -> Self:
        """The inverse of :meth:`to_json`; raises :class:`RecordingError`."""
        match data:
            case {
                "purpose": str() as purpose,
                "method": str() as method,
                "url": str() as url,
                "finalUrl": str() as final_url,
                "status": int() | None as status,
                "headers": list() as headers,
                "body": dict() as body,
                "failure": dict() | None as failure,
                "redirects": list() as redirects,
                "durationMs": int() as duration_ms,
            }:
                if status is not None and not (100 <= status <= 999 and _is_url(final_url)):
                    raise RecordingError("an exchange was answered by no URL, or with no status")
                if not method.isascii() or not method.isalpha() or not 0 <= duration_ms <= _LONGEST_MS:
                    raise RecordingError("an exchange has no method, or a duration out of range")
                return cls(
                    purpose=purpose,
                    method=method,
                    url=url,
                    final_url=final_url,
                    status=status,
                    headers=tuple(_pair(pair) for pair in headers),
                    body=_body(body),
                    failure=None if failure is None else _failure(failure),
                    redirects=tuple(_redirect(hop) for hop in redirects),
                    duration_ms=duration_ms,
                )
        raise RecordingError("an exchange lacks a member, or has one of another type")


class Evidence(NamedTuple):
    """All exchanges of one audit, in the order in which they ended.

    ``asked`` is the text that was asked about, harmless to show. Where it is not a URL that may be visited,
    ``refusal`` says why as the end of a sentence, and nothing was fetched; ``target`` is None if it could not even be
    read. ``started_at`` is RFC 3339 in UTC, ``duration_ms`` the whole gathering. ``own_headers`` are those that the
    asker had sent to the target, secrets among them. ``original`` is the evidence as it was received, where this is a
    copy in which is masked what the site itself gives away.
    """

    asked: str
    target: Target | None
    refusal: str | None
    started_at: str
    duration_ms: int
    exchanges: tuple[Exchange, ...] = ()
    own_headers: Mapping[str, str] = MappingProxyType({})
    original: "Evidence | None" = None

    def masked(self, secrets: Iterable[str]) -> Self:
        """The evidence without these texts, wherever a target may have echoed them; every length stays as it was.

        To be judged by instead of the evidence itself: what a report quotes is cut, and half a secret is one still.
        """
        worth = sorted({secret for secret in secrets if len(secret) >= _SHORTEST_SECRET}, key=len, reverse=True)

        def mask(text: str) -> str:
            for secret in worth:
                text = text.replace(secret, MASK * len(secret))
            return text

        def mask_bytes(body: bytes) -> bytes:
            for secret in worth:
                body = body.replace(secret.encode("utf-8"), (MASK * len(secret)).encode("utf-8"))
            return body

        return self._replace(
            exchanges=tuple(
                exchange.with_texts(mask)._replace(body=mask_bytes(exchange.body)) for exchange in self.exchanges
            ),
        )

    def to_json(self) -> dict[str, object]:
        """The recording: what ``--record`` writes and ``--replay`` reads."""
        return {
            "recordingVersion": RECORDING_VERSION,
            "notice": OWN_HEADERS_NOTICE if self.own_headers else None,
            "asked": self.asked,
            "target": None if self.target is None else str(self.target.url),
            "refusal": self.refusal,
            "startedAt": self.started_at,
            "durationMs": self.duration_ms,
            "ownHeaders": dict(self.own_headers),
            "exchanges": [exchange.to_json() for exchange in self.exchanges],
        }

    @classmethod
    def from_json(cls, data: object) -> Self:
        """The inverse of :meth:`to_json`; raises :class:`RecordingError`."""
        match data:
            case {"recordingVersion": version} if version != RECORDING_VERSION:
                raise RecordingError(f"it is of version {version!r}; this program reads version {RECORDING_VERSION!r}")
            case {"startedAt": str(started_at), "durationMs": int(duration)} if not (
                _TIME.fullmatch(started_at) and 0 <= duration <= _LONGEST_MS
            ):
                raise RecordingError("its time is not RFC 3339 in UTC, or its duration is out of range")
            case {
                "recordingVersion": _,
                "asked": str() as asked,
                "target": str() | None as target,
                "refusal": str() | None as refusal,
                "startedAt": str() as started_at,
                "durationMs": int() as duration_ms,
                "ownHeaders": dict() as own_headers,
                "exchanges": list() as exchanges,
            }:
                try:
                    parsed = None if target is None else Target.parse(target)
                except ValueError as error:
                    raise RecordingError("its target is no URL") from error
                return cls(
                    asked=asked,
                    target=parsed,
                    refusal=refusal,
                    started_at=started_at,
                    duration_ms=duration_ms,
                    exchanges=tuple(Exchange.from_json(_mapping(exchange)) for exchange in exchanges),
                    own_headers={name: value for name, value in own_headers.items() if isinstance(value, str)},
                )
        raise RecordingError("it lacks a member, or has one of another type")


class RecordingError(ValueError):
    """A recording that cannot be read; its text says what is wrong with it."""


def _is_url(text: str) -> bool:
    try:
        Url.parse(text)
    except UrlError:
        return False
    return True


def _mapping(data: object) -> Mapping[str, object]:
    if not isinstance(data, dict):
        raise RecordingError("an exchange is not an object")
    return data


def _pair(data: object) -> tuple[str, str]:
    match data:
        case [str() as name, str() as value]:
            return name.lower(), value
    raise RecordingError("a header is not a pair of texts")


def _body(data: Mapping[str, object]) -> bytes:
    match data:
        case {"text": str() as text}:
            try:
                return text.encode("utf-8")
            except UnicodeEncodeError as error:
                raise RecordingError("a body holds half a character") from error
        case {"base64": str() as text}:
            try:
                return base64.b64decode(text, validate=True)
            except ValueError as error:
                raise RecordingError("a body is not base64") from error
    raise RecordingError("a body is neither text nor base64")


def _failure(data: Mapping[str, object]) -> Failure:
    match data:
        case {"code": str() as code, "reason": str() as reason} if code in set(FailureCode):
            return Failure(code=FailureCode(code), reason=reason)
    raise RecordingError("a failure has no known code")


def _redirect(data: object) -> Redirect:
    match data:
        case {"status": int() as status, "url": str() as url, "location": str() as location}:
            return Redirect(status=status, url=url, location=location)
    raise RecordingError("a redirect lacks a member")
