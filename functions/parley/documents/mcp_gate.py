"""Gates: MCP endpoints that refuse anonymous callers, as their answers show them. The one reading of a refusal.

What is no gate is told apart here: a bot wall, a Host guard's 403, a redirect to where the endpoint has moved.
"""

import re
from collections.abc import Iterable
from enum import StrEnum
from typing import Final, NamedTuple

from parley.documents.bot_wall import bot_wall
from parley.documents.mcp_reply import REDIRECTS, Reply
from parley.evidence import Exchange
from parley.wire import challenge
from parley.wire.challenge import Challenges
from parley.wire.text import clean
from parley.wire.url import LONGEST, Url, UrlError

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


class Refusal(StrEnum):
    """How an endpoint turns anonymous callers away."""

    UNAUTHORIZED = "401"
    FORBIDDEN = "403"
    LOGIN = "a redirect to a login"
    MISSTATED = "another status"
    WALL = "a bot wall"


NO_PLACE: Final = (400, 404, 405)
"""What a place answers that takes no such POST: what HTTP+SSE clients go on with GET after (2025-03-26, Transports)."""

_ORDER: Final = (Refusal.UNAUTHORIZED, Refusal.MISSTATED, Refusal.FORBIDDEN, Refusal.LOGIN, Refusal.WALL)


class Gate(NamedTuple):
    """An endpoint that asks for authorization, or may.

    ``reply`` is the refusal to judge by, ``challenges`` what it held. ``revision`` is the revision that the endpoint
    speaks, None where the refusal hides it. ``named_by`` says what there, or of it, only an MCP server would have, None
    if nothing; ``is_asked`` tells that it is the URL given, and called MCP. ``is_everywhere`` tells that every place of
    its origin that was asked asks for authorization.
    """

    endpoint: Url
    reply: Reply
    refusal: Refusal
    challenges: Challenges
    named_by: str | None
    is_asked: bool
    revision: str | None = None
    is_everywhere: bool = False

    @property
    def exchange(self) -> Exchange:
        """The exchange that holds the refusal."""
        return self.reply.exchange

    @property
    def place(self) -> str:
        """Where the refusal was met: an HTTP+SSE server takes its messages elsewhere."""
        return clean(self.exchange.final_url, LONGEST) if self.exchange.method == "POST" else str(self.endpoint)

    @property
    def is_named(self) -> bool:
        """Whether something besides our own guess says that an MCP endpoint is here."""
        return self.named_by is not None or self.is_asked

    @property
    def preference(self) -> tuple[bool, int, bool]:
        """The less, the rather it is the gate to judge by, of several."""
        return not self.has_bearer, _ORDER.index(self.refusal), not self.is_named

    @property
    def has_bearer(self) -> bool:
        """Whether it names the scheme by which MCP clients authenticate."""
        return any(one.scheme == "bearer" for one in self.challenges.challenges)

    @property
    def is_called_mcp(self) -> bool:
        """Whether the endpoint's URL says so, in a segment of its path or a label of its host."""
        return is_called_mcp(self.endpoint)

    @property
    def told(self) -> str:
        """The refusal, for people: ``POST https://x.example/mcp answered 401``."""
        location = self.exchange.header("location")
        what = f"{self.exchange.status}"
        if self.refusal is Refusal.LOGIN and location:
            what += f", a redirect to {clean(location)}"
        elif self.refusal is Refusal.WALL:
            what += f" from behind a bot wall ({bot_wall(self.exchange)})"
        return f"{self.exchange.method} {self.place} answered {what}"


def gate_of(
    url: str, replies: Iterable[Reply], *, is_carded: bool = False, is_target: bool = False, is_spoken: bool = False
) -> Gate | None:
    """The gate that an endpoint's answers show; None if none of them refuses anonymous callers.

    ``is_carded`` tells that a Server Card names the endpoint, ``is_target`` that it is the URL given, and
    ``is_spoken`` that it spoke MCP before it refused.
    """
    try:
        endpoint = Url.parse(url)
    except UrlError:
        return None
    known = [(refusal_of(reply), reply) for reply in replies]
    refused = [(refusal, reply) for refusal, reply in known if refusal is not None]
    posted = [reply for refusal, reply in known if refusal is None and reply.exchange.method == "POST"]
    is_answered = any(reply.untold is None and reply.status not in NO_PLACE for reply in posted)
    if is_answered:  # what was served to a POST is what stands there; GET may be another's
        refused = [pair for pair in refused if pair[1].exchange.method != "GET"]
    if not refused:
        return None
    # One refusal may say more than another: an SDK's middleware challenges where a framework's does not.
    refusal, reply = min(
        refused,
        key=lambda pair: (
            pair[1].exchange.method == "GET",
            _ORDER.index(pair[0]),
            pair[1].exchange.header("www-authenticate") is None,
        ),
    )
    return Gate(
        endpoint=endpoint,
        reply=reply,
        refusal=refusal,
        challenges=_challenges(reply.exchange),
        named_by=_named_by([one for _, one in refused], is_carded=is_carded, is_spoken=is_spoken),
        # Any page or API may ask for a login; one that somebody calls MCP, and asks about, is an endpoint.
        is_asked=is_target and is_called_mcp(endpoint),
    )


def refusal_of(reply: Reply) -> Refusal | None:
    """How an answer turns an anonymous caller away; None if it does not."""
    exchange = reply.exchange
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
    if exchange.status in REDIRECTS:
        return Refusal.LOGIN if _is_login(exchange.header("location"), exchange.url) else None
    told = (reply.error or {}).get("message") if _is_json_rpc(reply) else None
    return Refusal.MISSTATED if isinstance(told, str) and _UNAUTHORIZED.search(told[:2000]) else None


def _named_by(refused: list[Reply], *, is_carded: bool, is_spoken: bool) -> str | None:
    if is_carded:
        return "a Server Card names it"
    if is_spoken:
        return "it speaks MCP before it refuses"
    if any(_is_json_rpc(reply) for reply in refused):
        return "its refusal is JSON-RPC"
    names = (name for reply in refused for name, _ in reply.exchange.headers)
    header = next((name for name in names if name.startswith("mcp-")), None)
    return None if header is None else f"its refusal has the header {clean(header)}"


def _is_json_rpc(reply: Reply) -> bool:
    return reply.message is not None and reply.message.get("jsonrpc") == "2.0"


def _is_login(location: str | None, url: str) -> bool:
    """Whether a redirect leads to a login; to a place that ends in the same name it only moves."""
    if not location:
        return False
    try:
        endpoint = Url.parse(url)
        to = endpoint.join(location)
    except UrlError:
        return False
    if _last(to) == _last(endpoint) != "":
        return False
    return bool(_LOGIN_HOST.search(to.host) or _LOGIN_PATH.search(to.path) or _LOGIN_QUERY.search(to.query or ""))


def _last(url: Url) -> str:
    return url.path.rstrip("/").rpartition("/")[2]


def is_called_mcp(endpoint: Url) -> bool:
    """Whether a URL says MCP, in a segment of its path or a label of its host."""
    segments = endpoint.path.lower().split("/")
    return "sse" in segments or any("mcp" in name for name in (*segments, *endpoint.host.split(".")))


def _challenges(exchange: Exchange) -> Challenges:
    return challenge.parse(*(value for name, value in exchange.headers if name == "www-authenticate"))
