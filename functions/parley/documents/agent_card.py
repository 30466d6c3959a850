"""A2A Agent Cards: where the recorded exchanges found some, why not where they did not, and what a card holds.

A document is judged by the shape that its members give it, never by what it claims: the well-known path is shared
with other formats, and version members are often wrong. Shapes are those of A2A 0.2, 0.3 and 1.0, and cards for
clients of both (Appendix A.2 of A2A 1.0 has servers serve such).
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from functools import cached_property, lru_cache
from typing import Final, NamedTuple

from parley.documents import server_card
from parley.documents.ai_catalog import LINKS, Inline, entries, links, why_none
from parley.documents.location import Cause, Location, location, overtaxed
from parley.evidence import Evidence, Exchange
from parley.wire import strict_json
from parley.wire.media_type import AGENT_CARD, is_html
from parley.wire.strict_json import NotJson, Parsed
from parley.wire.text import clean, quoted
from parley.wire.url import Url, UrlError

CURRENT: Final = "/.well-known/agent-card.json"
"""Where a card is since A2A 0.3.0."""

LEGACY: Final = "/.well-known/agent.json"
"""Where it was up to A2A 0.2.6."""

SIBLING: Final = "/.well-known/parley-no-such-agent-card.json"
"""Made up: who answers here with 200 answers so to everything."""

NAMED: Final = 3
"""Documents of OpenID and OAuth providers that are fetched, of those that cards name."""

KEYS: Final = 2
"""Key sets that are fetched, of those that signatures name."""

VERSION: Final = "1.0"
"""The A2A version that requests name; ``Major.Minor`` (A2A 1.0, section 3.6)."""

NO_VERSION: Final = "99.0"
"""An A2A version that does not exist, to see how it is refused."""


class Purpose(StrEnum):
    """What a request of the A2A probe is for, as the report's attempts show it."""

    ASKED = "Agent Card at the URL given"
    CURRENT = "Agent Card at its well-known path"
    LEGACY = "Agent Card at the path of A2A 0.2"
    LINK = "Agent Card from an AI Catalog entry"
    SIBLING = "a path beside the Agent Card's that does not exist"
    OPENID = "OpenID configuration that an Agent Card names"
    OAUTH = "OAuth metadata that an Agent Card names"
    KEYS = "key set that an Agent Card's signature names"
    EXTENDED = "A2A extended Agent Card without credentials"
    NO_VERSION = "A2A extended Agent Card in a version that does not exist"


class Step(NamedTuple):
    """One kind of request of the A2A probe: at most ``most`` of it, and when it is made."""

    purpose: Purpose
    call: str
    most: int
    when: str


PLAN: Final = (
    Step(Purpose.ASKED, "GET", 1, "the URL given ends in agent-card.json or agent.json"),
    Step(Purpose.CURRENT, "GET", 1, "always"),
    Step(Purpose.LEGACY, "GET", 1, "always"),
    Step(Purpose.LINK, "GET", LINKS, "an AI Catalog lists Agent Cards"),
    Step(Purpose.SIBLING, "GET", 1, "both paths answer with JSON that is no Agent Card"),
    Step(Purpose.OPENID, "GET", NAMED, "a card names an openIdConnectUrl"),
    Step(Purpose.OAUTH, "GET", NAMED, "a card names an oauth2MetadataUrl (both kinds together, at most as many)"),
    Step(Purpose.KEYS, "GET", KEYS, "a signature's header names a jku of the card's own site"),
    Step(
        Purpose.EXTENDED,
        "GetExtendedAgentCard or agent/getAuthenticatedExtendedCard",
        1,
        "a card names a JSON-RPC or HTTP+JSON interface",
    ),
    Step(Purpose.NO_VERSION, "GetExtendedAgentCard", 1, "that interface is one of A2A 1.0"),
)
"""All requests of the probe, in the order in which they are begun. No message is ever sent, and no task is named."""


class Shape(StrEnum):
    """What a card's members make it, as the report's ``shape`` has it."""

    V0_2 = "0.2"
    V0_3 = "0.3"
    V1 = "1.0"
    HYBRID = "hybrid"


class View(StrEnum):
    """The clients that read a card: those of A2A 1.0, and those before it."""

    V0 = "0.x"
    V1 = "1.0"


class Document(NamedTuple):
    """What was found where an Agent Card is due. ``exchange`` is None for a card that stands in the catalog itself.

    ``is_claimed`` tells that somebody said that there is a card: an entry of the catalog, or who gave the URL.
    ``also_at`` are further URLs that served the same.
    """

    url: str
    purpose: Purpose
    exchange: Exchange | None
    content: Parsed | NotJson
    is_html: bool
    is_claimed: bool
    link_is_http: bool = False
    also_at: tuple[str, ...] = ()

    @property
    def members(self) -> dict[str, object] | None:
        """The document's members, if it is a JSON object."""
        value = self.content.value if isinstance(self.content, Parsed) else None
        return value if isinstance(value, dict) else None

    @property
    def raw(self) -> bytes:
        """The JSON text as it was served; what a card that stands in the catalog would be served as."""
        if self.exchange is not None:
            return self.exchange.body
        value = self.content.value if isinstance(self.content, Parsed) else None
        return json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")


class Interface(NamedTuple):
    """A place where an agent is to be spoken to, in the words of either version; values are as written, of any type.

    ``path`` is its place in the card: ``supportedInterfaces[0]``, ``additionalInterfaces[1]``, or ``url`` for the main
    one of a 0.x card, whose ``value`` is the card's members. ``binding`` is protocolBinding or transport, ``version``
    the entry's protocolVersion, or the card's in a 0.x view. None where there is no such member.
    """

    path: str
    view: View
    url: object
    binding: object
    version: object
    value: Mapping[str, object]


class Scheme(NamedTuple):
    """An entry of ``securitySchemes``, in whichever dialect: ``path`` is ``securitySchemes.bearer``."""

    path: str
    name: str
    value: object


class Skill(NamedTuple):
    """An entry of ``skills`` that is an object: ``path`` is ``skills[0]``."""

    path: str
    value: Mapping[str, object]

    @property
    def shown(self) -> str:
        """Its id or name, or its place if it has neither."""
        for name in ("id", "name"):
            if isinstance(value := self.value.get(name), str) and value.strip():
                return clean(value, 80)
        return self.path


class Reference(NamedTuple):
    """A URL of another document that a card names. ``url`` is None if it is none that can be asked for."""

    purpose: Purpose
    path: str
    written: object
    url: str | None


class AgentCard:
    """A document that is an A2A card, whatever is wrong with it. Its parts are read once."""

    def __init__(self, document: Document, members: Mapping[str, object]) -> None:
        self.document = document
        self.members = members
        self.shape = shape(members)

    @property
    def url(self) -> str:
        """``{cardUrl}``: what served it, or its place in the catalog."""
        return self.document.url

    @property
    def exchange(self) -> Exchange | None:
        """What served it; None for one in the catalog itself."""
        return self.document.exchange

    @cached_property
    def name_or_url(self) -> str:
        """``{nameOrUrl}``: how the card's owner will know it."""
        name = self.members.get("name")
        return clean(name) if isinstance(name, str) and name.strip() else self.url

    @property
    def claim(self) -> object:
        """The version that the card as a whole claims; None if it claims none."""
        return self.members.get("protocolVersion")

    @cached_property
    def views(self) -> tuple[View, ...]:
        """Who can read it: a hybrid card is judged as both."""
        match self.shape:
            case Shape.HYBRID:
                return (View.V0, View.V1)
            case Shape.V1:
                return (View.V1,)
            case _:
                return (View.V0,)

    @property
    def is_early(self) -> bool:
        """Whether nothing in it is later than A2A 0.2.3, so that it owes no protocolVersion.

        In a card for clients of both, signatures may be there for those of A2A 1.0.
        """
        later = [name for name in _SINCE_0_2_4 if not (name == "signatures" and View.V1 in self.views)]
        return View.V0 in self.views and not any(has(self.members, name) for name in later)

    @cached_property
    def raw(self) -> bytes:
        """Its JSON text, as served."""
        return self.document.raw

    @cached_property
    def interfaces(self) -> list[Interface]:
        """Its interfaces of both views; those of A2A 1.0 first, as far as they are objects."""
        found: list[Interface] = []
        if View.V1 in self.views:
            found += [
                Interface(path, View.V1, one.get("url"), one.get("protocolBinding"), one.get("protocolVersion"), one)
                for path, one in objects(self.members, "supportedInterfaces")
            ]
        if View.V0 in self.views:
            transport = self.members.get("preferredTransport")
            found.append(Interface("url", View.V0, self.members.get("url"), transport, self.claim, self.members))
            found += [
                Interface(path, View.V0, one.get("url"), one.get("transport"), self.claim, one)
                for path, one in objects(self.members, "additionalInterfaces")
            ]
        return found

    @cached_property
    def live(self) -> Interface | None:
        """The interface that :func:`live` gives."""
        able = (
            one
            for one in self.interfaces
            if binding(one) in ("JSONRPC", "HTTP+JSON") and _speaks_a2a(one.version) and absolute(one.url) is not None
        )
        first = next(able, None)
        if first is None or speaks_1(first):
            return first
        return next((one for one in able if speaks_1(one)), first)

    @cached_property
    def schemes(self) -> list[Scheme]:
        """Its security schemes; both views of a hybrid card read the same member."""
        declared = self.members.get("securitySchemes")
        if not isinstance(declared, dict):
            return []
        return [Scheme(f"securitySchemes.{clean(name, 80)}", name, value) for name, value in declared.items()]

    @cached_property
    def skills(self) -> list[Skill]:
        """Its skills, as far as they are objects."""
        return [Skill(path, one) for path, one in objects(self.members, "skills")]

    @property
    def capabilities(self) -> Mapping[str, object]:
        """Its capabilities; none if they are no object."""
        value = self.members.get("capabilities")
        return value if isinstance(value, dict) else {}

    @property
    def declares_extended(self) -> bool:
        """Whether it says that there is a larger card for who is known, in the words of any of its views.

        The appendix of A2A 1.0 calls the older member supportsExtendedAgentCard, but no published version had it.
        """
        older = ("supportsAuthenticatedExtendedCard", "supportsExtendedAgentCard")
        in_1 = View.V1 in self.views and self.capabilities.get("extendedAgentCard") is True
        return in_1 or (View.V0 in self.views and any(self.members.get(name) is True for name in older))


class Discovery(NamedTuple):
    """What looking for Agent Cards came to.

    ``documents`` are what was found, cards or not, the primary one first; ``cards`` those of them that are A2A cards.
    ``locations`` gave no document, and ``claims`` are those of them where somebody said that there is one;
    ``refused`` are answers 401 and 403, and ``broken`` those of 5xx, at places where a card is due. ``is_catch_all``
    tells that the site answers with 200 whatever it is asked for. ``unfollowed`` counts the catalog links beyond the
    limit, and ``unread`` the cards in catalogs themselves.
    """

    documents: tuple[Document, ...]
    cards: tuple[AgentCard, ...]
    locations: tuple[Location, ...]
    claims: tuple[Location, ...]
    refused: tuple[Exchange, ...]
    broken: tuple[Exchange, ...]
    is_catch_all: bool
    unfollowed: int
    unread: int


def discovery(evidence: Evidence) -> Discovery:
    """Read an audit's exchanges."""
    return discover(evidence.exchanges, None if evidence.target is None else str(evidence.target.url))


def discover(exchanges: Sequence[Exchange], given: str | None) -> Discovery:
    """Read the exchanges there are so far; ``given`` is the URL that the audit is about."""
    asked = {purpose: [one for one in exchanges if one.purpose == purpose] for purpose in Purpose}
    by_target = overtaxed(exchanges)
    catalogs = [one for one in exchanges if one.purpose == server_card.Purpose.CATALOG]
    listed = [entry for catalog in catalogs for entry in entries(catalog, AGENT_CARD)]
    linked = links(listed)
    inline = [entry for entry in listed if isinstance(entry, Inline)]
    found: list[Document] = []
    claims = [
        Location(url=link.url, reason=link.problem, cause=Cause.ABSENT, linked=True)
        for link in linked.values()
        if link.problem is not None
    ]
    locations = claims + [
        location(one, why_none(one, "Agent Card"), linked=False, by_target=by_target)
        for one in catalogs
        if not entries(one, AGENT_CARD)
    ]
    refused: list[Exchange] = []
    broken: list[Exchange] = []
    for purpose in (Purpose.ASKED, Purpose.CURRENT, Purpose.LINK, Purpose.LEGACY):
        if purpose is Purpose.LEGACY:
            _add_inline(found, inline[:LINKS])
        for exchange in asked[purpose]:
            is_claimed = purpose in (Purpose.ASKED, Purpose.LINK) or exchange.url in (given, *linked)
            place = location(exchange, "is a web page", linked=exchange.url in linked, by_target=by_target)
            if exchange.answered != 200:
                locations.append(place)
                claims += [place] if is_claimed else []
                if place.cause is Cause.ABSENT and exchange.status is not None:
                    refused += [exchange] if exchange.status in (401, 403) else []
                    broken += [exchange] if exchange.status >= 500 else []
                continue
            link = linked.get(exchange.url)
            document = _served(exchange, purpose, is_claimed=is_claimed, by_http=link is not None and link.is_http)
            if document.is_html and not is_claimed:
                locations.append(place)  # single-page apps answer so to all
            else:
                _add(found, document)
    well_known = {one.url for one in exchanges if one.purpose in (Purpose.ASKED, Purpose.CURRENT, Purpose.LEGACY)}
    is_catch_all = any(one.answered == 200 and _is_alike(one, found) for one in asked[Purpose.SIBLING])
    return Discovery(
        documents=tuple(found),
        cards=tuple(
            AgentCard(one, one.members) for one in found if one.members is not None and instead(one.members) is None
        ),
        locations=tuple(locations),
        claims=tuple(claims),
        refused=tuple(refused),
        broken=tuple(broken),
        is_catch_all=is_catch_all,
        unfollowed=max(0, sum(one.problem is None and one.url not in well_known for one in linked.values()) - LINKS),
        unread=max(0, len(inline) - LINKS),
    )


def _is_alike(sibling: Exchange, found: Iterable[Document]) -> bool:
    """Whether what came for a path that does not exist is like what was found: of the same members, or no JSON too."""
    other = _served(sibling, Purpose.SIBLING, is_claimed=False, by_http=False)
    if other.members is None:
        return not other.is_html and any(one.members is None for one in found)
    return any(one.members is not None and one.members.keys() == other.members.keys() for one in found)


def _add_inline(found: list[Document], inline: Iterable[Inline]) -> None:
    for entry in inline:
        content = Parsed(entry.value, frozenset())
        one = Document(
            url=entry.url,
            purpose=Purpose.LINK,
            exchange=None,
            content=content,
            is_html=False,
            is_claimed=True,
        )
        _add(found, one)


def _served(exchange: Exchange, purpose: Purpose, *, is_claimed: bool, by_http: bool) -> Document:
    content = strict_json.parse(exchange.body)
    return Document(
        url=exchange.final_url,
        purpose=purpose,
        exchange=exchange,
        content=content,
        is_html=isinstance(content, NotJson) and is_html(exchange.header("content-type"), exchange.body),
        is_claimed=is_claimed,
        link_is_http=by_http,
    )


def _add(found: list[Document], document: Document) -> None:
    """Add what was not found before; the same card is often served at both paths, and listed in a catalog too."""
    is_read = isinstance(document.content, Parsed)
    for index, known in enumerate(found):
        is_same = known.content == document.content if is_read else known.raw == document.raw
        if known.url == document.url or is_same:
            also = () if known.url == document.url else (document.url,)
            found[index] = known._replace(
                is_claimed=known.is_claimed or document.is_claimed,
                link_is_http=known.link_is_http or document.link_is_http,
                also_at=(*known.also_at, *also),
            )
            return
    found.append(document)


# What a document is.

_SINCE_0_2_4: Final = ("protocolVersion", "preferredTransport", "additionalInterfaces", "signatures")
_CAPABILITIES: Final = (
    "streaming",
    "pushNotifications",
    "stateTransitionHistory",
    "extendedAgentCard",
    "extensions",
)
_A2A_VERSION = r"v?[01]\.\d+(\.\d+)*"
_SNAKE = r"(?<=[a-z0-9])([A-Z])"


@lru_cache(maxsize=256)
def snake(name: str) -> str:
    """A member's name as Protocol Buffers have it: ``default_input_modes``."""
    return re.sub(_SNAKE, r"_\1", name).lower()


def has(members: Mapping[str, object], name: str) -> bool:
    """Whether a member is there, and not null; also if its name is spelled as Protocol Buffers have it."""
    return members.get(name) is not None or members.get(snake(name)) is not None


def objects(members: Mapping[str, object], name: str) -> list[tuple[str, Mapping[str, object]]]:
    """The objects in a member that is an array, each with its place: ``skills[0]``."""
    listed = members.get(name)
    if not isinstance(listed, list):
        return []
    return [(f"{name}[{index}]", one) for index, one in enumerate(listed) if isinstance(one, dict)]


def shape(members: Mapping[str, object]) -> Shape:
    """Which version's members a card has."""
    url = members.get("url")
    has_url = isinstance(url, str) and bool(url.strip())
    claim = members.get("protocolVersion")
    claims_0 = isinstance(claim, str) and claim.lstrip("v").startswith("0.")
    if has(members, "supportedInterfaces"):
        return Shape.HYBRID if has_url else Shape.V1
    claims_1 = isinstance(claim, str) and claim.lstrip("v").startswith("1.")
    is_of_0 = any(has(members, name) for name in _OF_0) or (_has_schemes_of_0(members) and not claims_1)
    if not (has_url or claims_0 or is_of_0):
        return Shape.V1  # an SDK leaves out an empty supportedInterfaces; nothing else says 0.x
    if isinstance(claim, str) and re.match(r"v?0\.[0-2](\.|$)", claim):
        return Shape.V0_2
    return Shape.V0_3 if any(has(members, name) for name in _SINCE_0_2_4) else Shape.V0_2


def _has_schemes_of_0(members: Mapping[str, object]) -> bool:
    """Whether a security scheme is written as A2A 0.x has it; one with a name of 1.0 beside its type is for both."""
    declared = _get(members, "securitySchemes")
    schemes = [one for one in declared.values() if isinstance(one, dict)] if isinstance(declared, dict) else []
    return any(isinstance(one.get("type"), str) for one in schemes) and not any(
        name.endswith("SecurityScheme") for one in schemes for name in one
    )


_OF_0: Final = ("url", "preferredTransport", "additionalInterfaces", "supportsAuthenticatedExtendedCard")


def instead(members: Mapping[str, object]) -> str | None:
    """What a JSON object is if it is no A2A card, in a short phrase: ``an ERC-8004 registration``; None if it is one.

    Nothing but a card has ``supportedInterfaces``, or a version of A2A beside another of its members. Of the members
    that other formats have as well, a card has three: a product's manifest may well have a ``url`` and ``skills``. One
    that says of itself that it is of another protocol is a card only with a member that is typical of cards.
    """
    if not members:
        return "an empty object"
    claims = isinstance(version := _get(members, "protocolVersion"), str) and bool(
        re.fullmatch(_A2A_VERSION, version.strip())
    )
    interfaces = _get(members, "supportedInterfaces")
    has_interfaces = isinstance(interfaces, list) and any(isinstance(one, dict) for one in interfaces)
    has_transport = has(members, "preferredTransport") or has(members, "additionalInterfaces")
    if "eip-8004" in _text(members.get("type")).lower() and not (claims or has_interfaces or has_transport):
        return "an ERC-8004 registration"
    capabilities = members.get("capabilities")
    has_modes = any(isinstance(_get(members, name), list) for name in ("defaultInputModes", "defaultOutputModes"))
    has_flag = has(members, "supportsAuthenticatedExtendedCard")
    marks = [
        has_interfaces,
        has_transport,
        isinstance(capabilities, dict)
        and (not capabilities or any(name in capabilities or snake(name) in capabilities for name in _CAPABILITIES)),
        has_modes,
        isinstance(members.get("skills"), list),
        has_flag,
    ]
    url = isinstance(members.get("url"), str)
    if has_interfaces or (claims and any(marks)) or (has_transport and url):
        return None
    is_typical = has_modes or has_flag or _other_protocol(members) is None
    if sum(marks) + url >= 3 and is_typical:
        return None
    return _format(members)


def _get(members: Mapping[str, object], name: str) -> object:
    value = members.get(name)
    return members.get(snake(name)) if value is None else value


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _other_protocol(members: Mapping[str, object]) -> str | None:
    """The protocol that an object says it is of, if that is not A2A: versions of MCP are days."""
    if re.fullmatch(r"\d{4}-\d\d-\d\d", _text(_get(members, "protocolVersion")).strip()):
        return "MCP"
    return _PROTOCOLS.get(_text(members.get("protocol"))[:40].strip().lower().replace("-", "").replace("_", ""))


_PROTOCOLS: Final = {"agui": "AG-UI", "acp": "ACP", "anp": "ANP", "mcp": "MCP", "modelcontextprotocol": "MCP"}


def _format(members: Mapping[str, object]) -> str:
    """The best name for a format that is not A2A's, by the members that are typical of it."""
    kind = _text(members.get("type"))
    linked_data = members.get("@type")
    schema = _text(members.get("$schema"))
    protocol = _other_protocol(members)
    if (
        protocol == "MCP"
        or "mcp" in kind.lower()
        or "server-card" in schema
        or has(members, "serverInfo")
        or "remotes" in members
    ):
        return "a description of an MCP server"
    if protocol is not None:
        return f"a description of an agent that speaks {protocol}"
    if "mcpServers" in members:
        return "a configuration of MCP clients"
    if linked_data is not None or "@context" in members:
        if "Person" in (linked_data if isinstance(linked_data, list) else [linked_data]):
            return "a page about a person (JSON-LD)"
        return f"JSON-LD about {quoted(linked_data)}" if isinstance(linked_data, str) else "JSON-LD"
    for name, phrase in _FORMATS:
        if name in members:
            return phrase
    if sum(name in members for name in _OF_A_PERSON) >= 2:
        return "a page about a person"
    if isinstance(members.get("agents"), list):
        return "a directory of agents"
    if any(name in members for name in _OF_AN_ERROR) and len(members) <= 6 and "name" not in members:
        return "an error message"
    if any(name in members for name in _OF_A_PRODUCT) or any("price" in name or "payment" in name for name in members):
        return "a product manifest"
    if kind:
        return f"a document of type {quoted(kind)}"
    shown = ", ".join(clean(name, 30) for name in list(members)[:4])
    more = ", ..." if len(members) > 4 else ""
    if has(members, "capabilities") or has(members, "skills"):
        return f"a description of an agent in another format (its members: {shown}{more})"
    return f"an object with the members {shown}{more}"


_FORMATS: Final = (
    ("openapi", "an OpenAPI description"),
    ("swagger", "an OpenAPI description"),
    ("name_for_model", "a ChatGPT plugin manifest"),
    ("authorization_endpoint", "OAuth metadata"),
    ("token_endpoint", "OAuth metadata"),
    ("authorization_servers", "OAuth protected resource metadata"),
    ("keys", "a key set"),
    ("entries", "an AI Catalog"),
    ("specVersion", "an AI Catalog"),
    ("start_url", "a web app manifest"),
    ("jsonrpc", "a JSON-RPC message"),
)
_OF_A_PERSON: Final = (
    "firstName",
    "first_name",
    "lastName",
    "last_name",
    "jobTitle",
    "job_title",
    "bio",
    "headline",
    "experience",
    "education",
    "person",
    "owner",
    "resume",
    "socials",
    "social",
)
_OF_AN_ERROR: Final = ("error", "errors", "message", "detail", "status", "statusCode", "code")
_OF_A_PRODUCT: Final = (
    "audience",
    "categories",
    "category",
    "license",
    "package_name",
    "plans",
    "pricing",
    "product",
    "products",
    "target_audience",
    "tools",
)


# What a card names beyond itself.


def references(card: AgentCard) -> Iterator[Reference]:
    """The OpenID configurations and OAuth metadata that a card's security schemes name, in any dialect."""
    for scheme in card.schemes:
        written: list[object] = []  # a card for clients of both versions has it twice
        for path, value in _dialects(scheme):
            for name, purpose in (("openIdConnectUrl", Purpose.OPENID), ("oauth2MetadataUrl", Purpose.OAUTH)):
                if value.get(name) is not None and value[name] not in written:
                    written.append(value[name])
                    yield Reference(purpose, f"{path}.{name}", value[name], absolute(value[name]))


def _dialects(scheme: Scheme) -> Iterator[tuple[str, Mapping[str, object]]]:
    """The scheme itself (0.x), what its wrapper holds (1.0), and what a leaked union of the JavaScript SDK holds."""
    if not isinstance(scheme.value, dict):
        return
    yield scheme.path, scheme.value
    for name in ("openIdConnectSecurityScheme", "oauth2SecurityScheme"):
        if isinstance(wrapped := scheme.value.get(name), dict):
            yield f"{scheme.path}.{name}", wrapped
    match scheme.value:
        case {"scheme": {"$case": str(), "value": dict(leaked)}}:
            yield f"{scheme.path}.scheme.value", leaked


def is_same_site(url: Url, site: Url) -> bool:
    """Whether a key set is of the same site as a card: over https, on its host, or one above or below another.

    One host being a part of the other is more careful than a shared registrable domain, and needs no list of those.
    """
    if url.host == site.host:
        return url.scheme == "https" or url.is_loopback
    if url.scheme != "https" or url.address is not None or site.address is not None:
        return False
    shorter, longer = sorted((url.host, site.host), key=len)
    return "." in shorter and longer.endswith("." + shorter)


def absolute(written: object) -> str | None:
    """The normal form of an absolute http(s) URL, as requests and exchanges have it; None for anything else."""
    if not isinstance(written, str):
        return None
    try:
        return str(Url.parse(written.strip()))
    except UrlError:
        return None


def live(card: AgentCard) -> Interface | None:
    """The interface that the live requests go to: the first one that speaks JSON-RPC or HTTP+JSON at a URL.

    One of A2A 1.0 goes first: the others answer fewer questions.
    """
    return card.live


def binding(interface: Interface) -> str:
    """A binding by its right name however it is spelled, or as written; the default of a 0.x card's main interface."""
    if interface.binding is None and interface.path == "url":
        return "JSONRPC"  # the schema's default since A2A 0.3.0; before 0.2.4 there was no other
    written = _text(interface.binding).strip()
    return BINDINGS.get(word(written), clean(written, 80))


def word(text: str) -> str:
    """A name as it is spelled by anybody: its small letters and digits."""
    return re.sub(r"[^a-z0-9]", "", text[:80].lower())


BINDINGS: Final[Mapping[str, str]] = {
    "jsonrpc": "JSONRPC",
    "jsonrpc20": "JSONRPC",
    "jsonrpc2": "JSONRPC",
    "jsonrpchttp": "JSONRPC",
    "jsonrpcoverhttp": "JSONRPC",
    "jsonrpcoverhttps": "JSONRPC",
    "httpjsonrpc": "JSONRPC",
    "grpc": "GRPC",
    "rest": "HTTP+JSON",
    "http": "HTTP+JSON",
    "https": "HTTP+JSON",
    "httpjson": "HTTP+JSON",
    "httpsjson": "HTTP+JSON",
    "httprest": "HTTP+JSON",
    "resthttp": "HTTP+JSON",
    "restapi": "HTTP+JSON",
    "restjson": "HTTP+JSON",
    "jsonrest": "HTTP+JSON",
}
"""What is meant by the names that bindings have in the field, as :func:`word` has them."""


def speaks_1(interface: Interface) -> bool:
    """Whether an interface is to be spoken to in the words of A2A 1.0: its own version counts, if it has one."""
    version = _text(interface.version).strip().lstrip("v")
    return interface.view is View.V1 and not version.startswith("0.")


def _speaks_a2a(version: object) -> bool:
    return version is None or bool(re.match(r"v?[01](\.|$)", _text(version).strip()))


def answer(exchanges: Iterable[Exchange], purpose: Purpose, url: str | None = None) -> Exchange | None:
    """What came of the request for this purpose, and of this URL where one is given; None if it was not made."""
    for exchange in exchanges:
        if exchange.purpose == purpose and url in (None, exchange.url):
            return exchange
    return None
