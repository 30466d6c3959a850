"""Gates: MCP endpoints that refuse anonymous callers, as the recorded exchanges of the MCP probe show them.

What is no gate is told apart here: an open server, a bot wall, a Host guard's 403, a redirect to where the endpoint
has moved, a site that is closed as a whole.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from typing import Final, NamedTuple

from parley.documents.bot_wall import bot_wall
from parley.documents.mcp_plan import Purpose
from parley.documents.server_card import discovery
from parley.evidence import Evidence, Exchange, FailureCode
from parley.target import Target
from parley.wire import challenge, sse, strict_json
from parley.wire.challenge import Challenges
from parley.wire.media_type import EVENT_STREAM, essence
from parley.wire.strict_json import Parsed
from parley.wire.text import clean
from parley.wire.url import Url, UrlError

_REDIRECTS: Final = (301, 302, 303, 307, 308)

# What login pages and identity providers are called.
_LOGIN_HOST: Final = re.compile(
    r"(?:^|[.-])(?:log-?in|sign-?in|log-?on|sso|auth|oauth2?|accounts?|idp|identity)[.-]", re.I
)
_LOGIN_PATH: Final = re.compile(
    r"/(?:log[-_]?in|sign[-_]?in|log[-_]?on|sso|saml\d?|auth|oauth2?|authorize|oidc)(?:[/.]|$)", re.IGNORECASE
)
_LOGIN_QUERY: Final = re.compile(r"redirect_uri=|return_?(?:to|url)=|SAMLRequest=", re.IGNORECASE)

_UNAUTHORIZED: Final = re.compile(
    r"unauthori[sz]ed|unauthenticated|not authenticated|auth(?:entication|orization) (?:is )?required|no token provided"
    r"|(?:missing|no|invalid) (?:access|bearer|auth(?:entication|orization)) (?:token|header|credentials)",
    re.IGNORECASE,
)

_LISTINGS: Final = frozenset(
    {
        Purpose.TOOLS,
        Purpose.PROMPTS,
        Purpose.RESOURCES,
        Purpose.LEGACY_TOOLS,
        Purpose.LEGACY_PROMPTS,
        Purpose.LEGACY_RESOURCES,
    }
)
_PLAIN: Final = _LISTINGS | {
    Purpose.DISCOVER,
    Purpose.SUPPORTED,
    Purpose.INITIALIZE,
    Purpose.OLDER,
    Purpose.STREAM,
    Purpose.ENDPOINT_EVENT,
}
"""Requests as any client makes them; those that are wrong on purpose are refused for that."""


class Refusal(StrEnum):
    """How an endpoint turns anonymous callers away."""

    UNAUTHORIZED = "401"
    FORBIDDEN = "403"
    LOGIN = "a redirect to a login"
    MISSTATED = "another status"
    WALL = "a bot wall"


class Gate(NamedTuple):
    """An endpoint that asks for authorization, or may.

    ``exchange`` is the refusal to judge by, ``challenges`` what it held. ``revision`` is the revision that the
    endpoint speaks, None where the refusal hides it. ``is_named`` tells that something besides our own guess says
    that an MCP endpoint is here: the asker's path, a Server Card, a JSON-RPC body, an ``Mcp-*`` header.
    ``is_everywhere`` tells that every place of its origin that was asked asks for authorization.
    """

    endpoint: Url
    exchange: Exchange
    refusal: Refusal
    challenges: Challenges
    revision: str | None
    is_named: bool
    is_everywhere: bool = False

    @property
    def has_bearer(self) -> bool:
        """Whether it names the scheme by which MCP clients authenticate."""
        return any(one.scheme == "bearer" for one in self.challenges.challenges)

    @property
    def is_called_mcp(self) -> bool:
        """Whether the endpoint's URL says so, in a segment of its path or a label of its host."""
        return _is_called_mcp(self.endpoint)

    @property
    def told(self) -> str:
        """The refusal, for people: ``POST https://x.example/mcp answered 401``."""
        location = self.exchange.header("location")
        what = f"{self.exchange.status}"
        if self.refusal is Refusal.LOGIN and location:
            what += f", a redirect to {clean(location)}"
        elif self.refusal is Refusal.WALL:
            what += f" from behind a bot wall ({bot_wall(self.exchange)})"
        return f"{self.exchange.method} {self.endpoint} answered {what}"


def gate(evidence: Evidence) -> Gate | None:
    """The gate of an audit's MCP endpoint; None if nothing asks for authorization, or an endpoint is open."""
    return gate_among(evidence.exchanges, evidence.target)


def gate_among(exchanges: Sequence[Exchange], target: Target | None) -> Gate | None:
    """As :func:`gate`, while an audit is still under way."""
    by_endpoint: dict[str, list[Exchange]] = {}
    for exchange in exchanges:
        if exchange.purpose in _PLAIN:
            by_endpoint.setdefault(exchange.url, []).append(exchange)
    remotes = _remotes(exchanges, target)
    found: list[Gate] = []
    for url, asked in by_endpoint.items():
        results = [result for exchange in asked if (result := _result(exchange))]
        if any(_LISTS & result.keys() for result in results):
            return None
        # Who lets anybody shake hands may still gate what comes behind it; who refuses one of the greetings only
        # does not know that one.
        told = [exchange for exchange in asked if not results or exchange.purpose in _LISTINGS]
        one = _gate(url, told, target, remotes)
        if one is not None:
            found.append(_of_revision(one, results) if results else one)
        elif results:
            return None
    best = min(found, key=_preference, default=None)
    if best is None:
        return None
    near = [url for url in by_endpoint if url.startswith(f"{best.endpoint.origin}/")]
    refused = {str(one.endpoint) for one in found}
    return best._replace(is_everywhere=len(near) > 1 and refused.issuperset(near))


def unseen(evidence: Evidence) -> str | None:
    """What kept an endpoint's answers from being had, so that it stays open whether it is gated; None if nothing did.

    Asked where there is no gate.
    """
    by_endpoint: dict[str, list[Exchange]] = {}
    for exchange in evidence.exchanges:
        if exchange.purpose in _PLAIN and exchange.method == "POST":
            by_endpoint.setdefault(exchange.url, []).append(exchange)
    if any(_result(exchange) for asked in by_endpoint.values() for exchange in asked):
        return None
    for asked in by_endpoint.values():
        if all(_is_open_question(exchange) for exchange in asked):
            first = asked[0]
            what = f"answered {first.status}" if first.failure is None else clean(first.failure.reason, 400)
            return f"POST {clean(first.url)} {what}"
    return None


def _is_open_question(exchange: Exchange) -> bool:
    failure = exchange.failure
    if failure is None:
        return exchange.status in (429, 502, 503, 504)
    return failure.code is FailureCode.TIMEOUT or failure.code.is_ours


_LISTS: Final = frozenset({"tools", "prompts", "resources", "resourceTemplates"})
"""Members of results that are lists: who gives those to anonymous callers is open."""

_ORDER: Final = (Refusal.UNAUTHORIZED, Refusal.MISSTATED, Refusal.FORBIDDEN, Refusal.LOGIN, Refusal.WALL)


def _preference(one: Gate) -> tuple[bool, int, bool]:
    return not one.has_bearer, _ORDER.index(one.refusal), not one.is_named


def _gate(url: str, asked: Iterable[Exchange], target: Target | None, remotes: frozenset[str]) -> Gate | None:
    try:
        endpoint = Url.parse(url)
    except UrlError:
        return None
    refused = [(refusal, exchange) for exchange in asked if (refusal := _refusal(exchange, endpoint)) is not None]
    if not refused:
        return None
    # One refusal may say more than another: an SDK's middleware challenges where a framework's does not.
    refusal, exchange = min(
        refused,
        key=lambda pair: (
            pair[1].method == "GET",
            _ORDER.index(pair[0]),
            pair[1].header("www-authenticate") is None,
        ),
    )
    return Gate(
        endpoint=endpoint,
        exchange=exchange,
        refusal=refusal,
        challenges=_challenges(exchange),
        revision=None,
        is_named=_is_named(endpoint, [one for _, one in refused], target, remotes),
    )


def _refusal(exchange: Exchange, endpoint: Url) -> Refusal | None:
    if exchange.status is None:
        return None
    challenges = _challenges(exchange).challenges
    if exchange.method == "GET":  # a page that asks for a login is no endpoint yet; one that challenges is
        return Refusal.UNAUTHORIZED if exchange.status == 401 and challenges else None
    if exchange.status == 401:
        return Refusal.UNAUTHORIZED
    if bot_wall(exchange):
        return Refusal.WALL
    if exchange.status == 403:
        return Refusal.FORBIDDEN
    if any(one.scheme == "bearer" or "resource_metadata" in one.parameters for one in challenges):
        return Refusal.MISSTATED
    if exchange.status in _REDIRECTS:
        return Refusal.LOGIN if _is_login(exchange.header("location"), endpoint) else None
    return Refusal.MISSTATED if any(_UNAUTHORIZED.search(text) for text in _errors(exchange)) else None


def _is_login(location: str | None, endpoint: Url) -> bool:
    """Whether a redirect leads to a login; to a place that ends in the same name it only moves."""
    if not location:
        return False
    try:
        to = endpoint.join(location)
    except UrlError:
        return False
    if _last(to) == _last(endpoint) != "":
        return False
    return bool(_LOGIN_HOST.search(to.host) or _LOGIN_PATH.search(to.path) or _LOGIN_QUERY.search(to.query or ""))


def _last(url: Url) -> str:
    return url.path.rstrip("/").rpartition("/")[2]


def _is_named(endpoint: Url, refused: list[Exchange], target: Target | None, remotes: frozenset[str]) -> bool:
    if str(endpoint) in remotes or any(_is_mcp(exchange) for exchange in refused):
        return True
    # Any page or API may ask for a login; one that somebody calls MCP, and asks about, is an endpoint.
    return target is not None and target.url == endpoint and _is_called_mcp(endpoint)


def _is_called_mcp(endpoint: Url) -> bool:
    segments = endpoint.path.lower().split("/")
    return "sse" in segments or any("mcp" in name for name in (*segments, *endpoint.host.split(".")))


def _is_mcp(exchange: Exchange) -> bool:
    return any(name.startswith("mcp-") for name, _ in exchange.headers) or any(True for _ in _messages(exchange))


def _remotes(exchanges: Sequence[Exchange], target: Target | None) -> frozenset[str]:
    """Where the Server Cards of this audit say that the server is."""
    found = discovery(
        Evidence(asked="", target=target, refusal=None, started_at="", duration_ms=0, exchanges=tuple(exchanges))
    )
    urls: set[str] = set()
    for document in found.documents:
        match document.members:
            case {"remotes": list(remotes)}:
                urls.update(_normal(one["url"]) for one in remotes if isinstance(one, dict) and "url" in one)
    return frozenset(urls)


def _normal(url: object) -> str:
    try:
        return str(Url.parse(url)) if isinstance(url, str) else ""
    except UrlError:
        return ""


def _challenges(exchange: Exchange) -> Challenges:
    return challenge.parse(*(value for name, value in exchange.headers if name == "www-authenticate"))


def _messages(exchange: Exchange) -> Iterator[dict[str, object]]:
    """The JSON-RPC messages of an answer."""
    if essence(exchange.header("content-type")) == EVENT_STREAM:
        texts = [event.data for event in sse.events(exchange.body)]
    else:
        texts = [exchange.body]
    for text in texts:
        parsed = strict_json.parse(text)
        if isinstance(parsed, Parsed) and isinstance(parsed.value, dict) and parsed.value.get("jsonrpc") == "2.0":
            yield parsed.value


def _errors(exchange: Exchange) -> Iterator[str]:
    for message in _messages(exchange):
        match message:
            case {"error": {"message": str(text)}}:
                yield text


def _result(exchange: Exchange) -> dict[str, object]:
    for message in _messages(exchange):
        match message:
            case {"result": dict(result)} if exchange.status == 200:
                return result
    return {}


def _of_revision(one: Gate, results: list[dict[str, object]]) -> Gate:
    spoken: list[str] = []
    for result in results:
        match result:
            case {"protocolVersion": str(version)}:
                spoken.append(version)
            case {"supportedVersions": list(versions)}:
                spoken.extend(version for version in versions if isinstance(version, str))
    return one._replace(revision=max(spoken, default=None), is_named=True)
