"""The OAuth discovery chain behind a gated MCP endpoint, hop by hop, as the recorded exchanges show it.

Protected resource metadata (RFC 9728) by the challenge, at the endpoint's path and at the root; the first issuer that
it names; and that issuer's documents by RFC 8414 and OpenID Connect Discovery, each on its own.
"""

import ipaddress
import re
from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import Final, NamedTuple

from parley.documents.bot_wall import bot_wall
from parley.documents.mcp_gate import Gate, Refusal, is_called_mcp
from parley.evidence import Exchange, FailureCode
from parley.wire import strict_json
from parley.wire.media_type import is_html
from parley.wire.strict_json import NotJson
from parley.wire.text import clean, kind, quoted
from parley.wire.url import Url, UrlError

PRM: Final = "/.well-known/oauth-protected-resource"
"""RFC 9728, section 3."""

OAUTH: Final = "/.well-known/oauth-authorization-server"
"""RFC 8414, section 3."""

OPENID: Final = "/.well-known/openid-configuration"
"""OpenID Connect Discovery 1.0, section 4."""

METADATA_URL: Final = "resource_metadata"

# Whatever has none of these is no such document: some sites answer anything with a JSON object.
_MEMBERS: Final = frozenset({"resource", "authorization_servers", "scopes_supported", "bearer_methods_supported"})
_SERVER_MEMBERS: Final = frozenset(
    {"issuer", "authorization_endpoint", "token_endpoint", "jwks_uri", "response_types_supported"}
)

# What a server answers when it is too busy or out of order, whatever it has at the place.
_PASSING: Final = {
    429: "too many requests",
    500: "an error of the server, which may pass",
    502: "an error of what stands before the server",
    503: "out of service for now",
    504: "an error of what stands before the server",
}

# Last labels of names that mean something else in every network (RFC 6761, RFC 6762, RFC 8375, ICANN's .internal).
_INSIDE: Final = frozenset(
    {"localhost", "localdomain", "local", "internal", "intranet", "lan", "home", "corp", "private"}
)


class Purpose(StrEnum):
    """What a request of the OAuth probe is for, as the report's attempts show it."""

    METADATA = "Protected resource metadata"
    SERVER = "Authorization server metadata"
    ORIGIN = "Authorization server metadata at the endpoint's origin"
    PREFLIGHT = "CORS preflight of the MCP endpoint"
    TOKEN = "MCP endpoint with a made-up token"  # noqa: S105  # it is no token, but says that there is one


class Step(NamedTuple):
    """One kind of request of the chain, ``most`` of it, the rules that judge by it, and what must have come before."""

    purpose: Purpose
    most: int
    serves: tuple[int, ...]
    when: str


PLAN: Final = (
    Step(
        purpose=Purpose.METADATA,
        most=3,
        serves=(101, 103, 109, 110, *range(301, 307), 310, 313, 315, *range(402, 409), 416, 417),
        when="an MCP endpoint asks for authorization",
    ),
    Step(
        purpose=Purpose.SERVER,
        most=3,
        serves=(*range(104, 108), 111, 302, *range(307, 311), *range(314, 317), *range(409, 418)),
        when="the metadata names an issuer",
    ),
    Step(purpose=Purpose.ORIGIN, most=1, serves=(108,), when="there is no metadata"),
    Step(purpose=Purpose.PREFLIGHT, most=1, serves=(311,), when="the refusal is no redirect to a login"),
    Step(purpose=Purpose.TOKEN, most=1, serves=(311, 312), when="the refusal is no redirect to a login"),
)
"""All requests of the chain, in their order: where this audit's means run out, what stands last is what is dropped.

The metadata is asked for in one step, all else side by side in a second one.
"""


class How(StrEnum):
    """What leads a client to protected resource metadata, in the order of its trying (MCP, PRM Discovery)."""

    CHALLENGE = "challenge"
    PATH = "path"
    ROOT = "root"


class Form(StrEnum):
    """The places of an issuer's metadata, in the order of a client's trying (MCP, AS Metadata Discovery)."""

    OAUTH = "oauth"
    OPENID_INSERTED = "openid inserted"
    OPENID_APPENDED = "openid appended"
    ORIGIN = "origin"

    @property
    def is_oauth(self) -> bool:
        """Whether it is that of RFC 8414."""
        return self in (Form.OAUTH, Form.ORIGIN)


class Outcome(StrEnum):
    """What came of asking for a metadata document."""

    DOCUMENT = "a JSON object"
    BROKEN = "200, but no JSON object"
    OTHER = "200, but something else"
    LOGIN = "a redirect to a web page"
    CLOSED = "401 or 403"
    ABSENT = "another status"
    FAILED = "no usable answer"
    INSIDE = "a private place"
    OPEN_QUESTION = "inconclusive"


class Fetched(NamedTuple):
    """A place where a metadata document is due, and what came. ``reason`` continues a sentence about the URL."""

    url: str
    exchange: Exchange | None
    outcome: Outcome
    reason: str
    members: dict[str, object] | None = None

    @property
    def final_url(self) -> str:
        """What answered in the end."""
        return self.exchange.final_url if self.exchange else self.url

    @property
    def told(self) -> str:
        """The place and the reason, for people."""
        return f"{clean(self.url)} {self.reason}"


class Location(NamedTuple):
    """A place of protected resource metadata, and what leads there."""

    how: How
    fetched: Fetched


class Pointer(NamedTuple):
    """What the challenge says of the metadata's place. ``fault`` says why it cannot be used; ``name`` may be wrong."""

    name: str
    written: str
    url: Url | None
    fault: str | None


class Issuer(NamedTuple):
    """The first of ``authorization_servers``, as written. ``url`` is None if it is none that could be asked."""

    written: object
    url: Url | None
    fault: str | None


class ServerDocument(NamedTuple):
    """An authorization server's metadata, and the issuer that it should name."""

    form: Form
    fetched: Fetched
    members: dict[str, object]
    issuer: str

    @property
    def url(self) -> str:
        """What served it."""
        return self.fetched.final_url


class Chain(NamedTuple):
    """All that was seen of the way from the refusal to the authorization server.

    ``locations`` are in a client's order, ``metadata`` the first of them that holds a document. ``places`` are where
    the issuer's documents are due, ``origin`` where the 2025-03-26 revision has them.
    """

    gate: Gate
    pointer: Pointer | None
    locations: tuple[Location, ...]
    metadata: Location | None
    issuer: Issuer | None
    places: tuple[tuple[Form, Fetched], ...]
    origin: Fetched | None
    preflight: Exchange | None
    token: Exchange | None

    @property
    def members(self) -> dict[str, object]:
        """The protected resource metadata; empty if there is none."""
        return (self.metadata.fetched.members if self.metadata else None) or {}

    @property
    def listed(self) -> list[object]:
        """The entries of ``authorization_servers``, of whatever type; none if it is no array."""
        servers = self.members.get("authorization_servers")
        return servers if isinstance(servers, list) else []

    @property
    def consulted(self) -> tuple[Location, ...]:
        """The places that a client comes by until it has a document."""
        if self.metadata is None:
            return self.locations
        return self.locations[: self.locations.index(self.metadata) + 1]

    @property
    def documents(self) -> tuple[ServerDocument, ...]:
        """The issuer's documents, each once: two OpenID places may hold the same."""
        found: list[ServerDocument] = []
        for form, fetched in self.places:
            if fetched.members is None or self.issuer is None:
                continue
            if any(not one.form.is_oauth and not form.is_oauth and one.members == fetched.members for one in found):
                continue
            issuer = self.issuer.written if isinstance(self.issuer.written, str) else ""
            found.append(ServerDocument(form=form, fetched=fetched, members=fetched.members, issuer=issuer))
        return tuple(found)

    @property
    def is_loopback(self) -> bool:
        """Whether all this is on the asker's own machine, where http does no harm."""
        return self.gate.endpoint.is_loopback

    @property
    def names_endpoint(self) -> bool:
        """Whether the metadata's ``resource`` is this very endpoint."""
        return self.metadata is not None and is_resource(self.members.get("resource"), str(self.gate.endpoint))

    @property
    def doubt(self) -> str | None:
        """Why it stays open whether this is an MCP endpoint that asks for authorization; None where it is one.

        A site that is closed as a whole answers our guesses as it answers anything.
        """
        gate = self.gate
        if gate.refusal is Refusal.WALL:
            return gate.told
        if self._is_of_another():
            return f"{gate.told}, as does the rest of the site, whose metadata names another resource"
        if any(METADATA_URL in one.parameters for one in gate.challenges.challenges):
            return None
        is_by_path = self.metadata is not None and self.metadata.how is How.PATH
        is_named = gate.is_named or self.names_endpoint or is_by_path
        if gate.refusal is Refusal.LOGIN and not is_named:
            return f"{gate.told}, and nothing says that it is an MCP endpoint"
        if gate.refusal is Refusal.FORBIDDEN and not gate.challenges.challenges and self.metadata is None:
            return f"{gate.told} without a challenge, which may be a guard that no authorization would open"
        if is_named or self.metadata is not None:
            return None
        is_closed = all(one.fetched.outcome in (Outcome.CLOSED, Outcome.LOGIN) for one in self.locations)
        if is_closed or gate.is_everywhere:
            return f"{gate.told}, as does the rest of the site, and nothing says that it is an MCP endpoint"
        return None if gate.is_called_mcp else f"{gate.told}, and nothing says that it is an MCP endpoint"

    def _is_of_another(self) -> bool:
        """Whether a closed site's metadata is of something that nothing calls MCP, and the endpoint a guess."""
        if self.metadata is None or self.names_endpoint or self.gate.is_named or not self.gate.is_everywhere:
            return False
        try:
            return not is_called_mcp(Url.parse(str(self.members.get("resource"))))
        except UrlError:
            return False


def pointer(gate: Gate) -> Pointer | None:
    """Where the challenge says that the metadata is (RFC 9728, section 5.1); any scheme may say it."""
    in_order = sorted(gate.challenges.challenges, key=lambda one: one.scheme != "bearer")
    for one in in_order:
        if METADATA_URL in one.parameters:
            return _pointer(METADATA_URL, one.parameters[METADATA_URL])
    for one in in_order:
        for name, value in one.parameters.items():
            if PRM in value:
                return _pointer(name, value)
    return None


def _pointer(name: str, written: str) -> Pointer:
    try:
        url = Url.parse(written)
    except UrlError as error:
        return Pointer(name=name, written=written, url=None, fault=f"{error}")
    return Pointer(name=name, written=written, url=url, fault=None)


def metadata_urls(gate: Gate) -> dict[str, How]:
    """Where protected resource metadata may be, in a client's order, and what leads there.

    The well-known path is inserted behind the host (RFC 9728, section 3.1), never appended.
    """
    endpoint = gate.endpoint
    inserted = Url(endpoint.scheme, endpoint.host, endpoint.port, PRM + _rest(endpoint.path), endpoint.query)
    urls: dict[str, How] = {}
    named = pointer(gate)
    if named is not None and named.name == METADATA_URL and named.url is not None:
        urls[str(named.url)] = How.CHALLENGE
    if inserted != endpoint.at(PRM):
        urls.setdefault(str(inserted), How.PATH)
    urls.setdefault(str(endpoint.at(PRM)), How.ROOT)
    return urls


def server_urls(issuer: Url) -> dict[str, Form]:
    """Where an issuer's documents may be. The slash at a path's end is left out (RFC 8414, 3.1; OpenID, 4.1)."""
    path = _rest(issuer.path).rstrip("/")
    urls = {str(issuer.at(OAUTH + path)): Form.OAUTH, str(issuer.at(OPENID + path)): Form.OPENID_INSERTED}
    return urls | ({str(issuer.at(path + OPENID)): Form.OPENID_APPENDED} if path else {})


def _rest(path: str) -> str:
    return "" if path == "/" else path


def read(gate: Gate, exchanges: Iterable[Exchange]) -> Chain:
    """Read what was recorded of a gate's chain, while it is being walked or afterwards."""
    asked = {(exchange.purpose, exchange.url): exchange for exchange in exchanges}
    locations = tuple(
        Location(how=how, fetched=_fetched(url, asked.get((Purpose.METADATA, url)), gate))
        for url, how in metadata_urls(gate).items()
    )
    metadata = next((one for one in locations if one.fetched.outcome is Outcome.DOCUMENT), None)
    issuer = _issuer(metadata)
    places: tuple[tuple[Form, Fetched], ...] = ()
    if issuer is not None and issuer.url is not None:
        places = tuple(
            (form, _fetched(url, asked.get((Purpose.SERVER, url)), gate))
            for url, form in server_urls(issuer.url).items()
        )
    endpoint = str(gate.endpoint)
    at_origin = asked.get((Purpose.ORIGIN, str(gate.endpoint.at(OAUTH))))
    return Chain(
        gate=gate,
        pointer=pointer(gate),
        locations=locations,
        metadata=metadata,
        issuer=issuer,
        places=places,
        origin=None if at_origin is None else _fetched(at_origin.url, at_origin, gate),
        preflight=asked.get((Purpose.PREFLIGHT, endpoint)),
        token=asked.get((Purpose.TOKEN, endpoint)),
    )


def _issuer(metadata: Location | None) -> Issuer | None:
    match metadata and metadata.fetched.members:
        case {"authorization_servers": [first, *_]}:
            pass
        case _:
            return None
    if not isinstance(first, str):
        return Issuer(written=first, url=None, fault=f"is {kind(first)}, not a URL")
    try:
        url = Url.parse(first)
    except UrlError as error:
        return Issuer(written=first, url=None, fault=f"{error}")
    if "#" in first or "?" in first:
        return Issuer(written=first, url=None, fault="has a query or a fragment, which an issuer may not have")
    if "/.well-known/" in first:
        return Issuer(written=first, url=None, fault="is the URL of a metadata document, not of an issuer")
    return Issuer(written=first, url=url, fault=None)


def _fetched(url: str, exchange: Exchange | None, gate: Gate) -> Fetched:
    outcome, reason, members = _what(exchange, gate)
    return Fetched(url=url, exchange=exchange, outcome=outcome, reason=reason, members=members)


def _what(exchange: Exchange | None, gate: Gate) -> tuple[Outcome, str, dict[str, object] | None]:
    if exchange is None:
        return Outcome.OPEN_QUESTION, "was not asked for", None
    if exchange.failure is not None:
        return _failed(exchange, gate), clean(exchange.failure.reason, 400), None
    if wall := bot_wall(exchange):
        return Outcome.OPEN_QUESTION, f"answered {exchange.status} from behind a bot wall ({wall})", None
    if exchange.status in _PASSING:
        return Outcome.OPEN_QUESTION, f"answered {exchange.status}, {_PASSING[exchange.status]}", None
    if exchange.status in (401, 403):
        return Outcome.CLOSED, f"answered {exchange.status}, though metadata is for everybody", None
    if exchange.status != 200:
        return Outcome.ABSENT, f"answered {exchange.status}", None
    parsed = strict_json.parse(exchange.body)
    if isinstance(parsed, NotJson):
        if not is_html(exchange.header("content-type"), exchange.body):
            return Outcome.BROKEN, f"is no JSON object: {parsed.reason}", None
        if exchange.redirects or exchange.final_url != exchange.url:
            return Outcome.LOGIN, f"redirects to {clean(exchange.final_url)}, a web page", None
        return Outcome.OTHER, "is a web page", None
    if not isinstance(parsed.value, dict):
        return Outcome.BROKEN, f"is {kind(parsed.value)}, not a JSON object", None
    if not parsed.value.keys() & (_MEMBERS if exchange.purpose == Purpose.METADATA else _SERVER_MEMBERS):
        return Outcome.OTHER, "is a JSON object that holds nothing of such metadata", None
    return Outcome.DOCUMENT, "holds a JSON object", parsed.value


def _failed(exchange: Exchange, gate: Gate) -> Outcome:
    assert exchange.failure is not None  # noqa: S101  # the caller has seen it
    code = exchange.failure.code
    if code.is_ours or code is FailureCode.TIMEOUT:
        return Outcome.OPEN_QUESTION
    if code is not FailureCode.REFUSED:
        return Outcome.FAILED
    if "no longer encrypted" in exchange.failure.reason:
        return Outcome.FAILED
    # The client's refusals of a place name it so; its other refusals are this auditor's manners.
    named = any(words in exchange.failure.reason for words in (" address (", "only makes sense inside a network"))
    to_private = named or is_inside(exchange.url)
    return Outcome.INSIDE if to_private and not is_inside(str(gate.endpoint)) else Outcome.OPEN_QUESTION


def is_inside(url: str) -> bool:
    """Whether a URL's host, by its text, is this machine's or makes sense in one network only."""
    try:
        parsed = Url.parse(url)
    except UrlError:
        return False
    address = parsed.address
    if address is None:
        labels = parsed.host.split(".")
        return len(labels) < 2 or labels[-1] in _INSIDE
    return address.is_private or (address.version == 4 and address in _CGNAT)


_CGNAT: Final = ipaddress.IPv4Network("100.64.0.0/10")
"""Shared between a provider's customers (RFC 6598), and not private to Python."""


def same_resource(written: object, requested: str) -> bool:
    """Whether a ``resource`` is the URL that was requested, letter for letter; only an empty path equals ``/``."""
    return isinstance(written, str) and _with_path(written) == requested


def is_resource(written: object, requested: str) -> bool:
    """Whether a ``resource`` is the URL that was requested, however scheme, host and port are spelled."""
    return isinstance(written, str) and (same_resource(written, requested) or difference(written, requested) is None)


def _with_path(written: str) -> str:
    _, separator, rest = written.partition("://")
    return f"{written}/" if separator and rest and "/" not in rest and "?" not in rest else written


def difference(written: str, wanted: str) -> str | None:
    """In what two identifiers differ, as the end of a sentence; None if it is the spelling of scheme, host or port."""
    try:
        one, other = Url.parse(written), Url.parse(wanted)
    except UrlError:
        return "it is no http(s) URL"
    if one == other:
        if "#" in written:
            return "it has a fragment"
        return None if _path(written) == _path(wanted) else "they differ in how the path is written"
    if one.origin == other.origin and one.query == other.query and one.path.rstrip("/") == other.path.rstrip("/"):
        return "they differ in a slash at the end"
    # Another scheme has another port by itself.
    parts = ("scheme", "host", *(["port"] if one.scheme == other.scheme else []), "path", "query")
    return "they differ in the " + " and the ".join(
        part for part in parts if getattr(one, part) != getattr(other, part)
    )


def _path(written: str) -> str:
    """Path and query of an absolute URL, letter for letter: clients compare them so."""
    authority = re.match(r"[^:]*://[^/?]*", written)
    rest = written[authority.end() :] if authority else written
    return rest if rest.startswith("/") else f"/{rest}"


def hops(chain: Chain) -> Iterator[tuple[str, str, str]]:
    """The chain for people: each step, its URL, and what it said."""
    gate = chain.gate
    header = gate.exchange.header("www-authenticate")
    said = f"{gate.exchange.status} " + (f"with WWW-Authenticate {quoted(header)}" if header else "without a challenge")
    yield "refusal", gate.place, said
    for location in chain.locations:
        used = " (used)" if location is chain.metadata else ""
        yield f"protected resource metadata by the {location.how}{used}", location.fetched.url, _said(location.fetched)
    if chain.issuer is not None:
        yield "issuer", clean(chain.issuer.written), chain.issuer.fault or "named by the metadata"
    for form, fetched in chain.places:
        yield f"authorization server metadata, {form}", fetched.url, _said(fetched)
    if chain.origin is not None:
        yield "authorization server metadata at the endpoint's origin", chain.origin.url, _said(chain.origin)


def _said(fetched: Fetched) -> str:
    if fetched.members is None:
        return fetched.reason
    for name in ("resource", "issuer"):
        if name in fetched.members:
            return f"200, {name} {quoted(fetched.members[name])}"
    return "200, a JSON object"
