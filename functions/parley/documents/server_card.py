"""MCP Server Cards: where the recorded exchanges found some, and why not where they did not.

Discovery is that of MCP Server Card v1 (docs/discovery.md): the AI Catalog's entries first, the reserved locations
only if those gave no document.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import Enum, StrEnum, auto
from typing import Final

from parley.documents.bot_wall import bot_wall
from parley.evidence import Evidence, Exchange, FailureCode
from parley.wire import strict_json
from parley.wire.media_type import SERVER_CARD, essence, is_html
from parley.wire.strict_json import NotJson, Parsed
from parley.wire.text import clean, kind
from parley.wire.url import Url, UrlError

CATALOG: Final = "/.well-known/ai-catalog.json"
RESERVED: Final = ("/.well-known/mcp/server-card.json", "/mcp/server-card")

LINKS: Final = 20
"""Catalog links to cards that are followed."""


class Purpose(StrEnum):
    """What a request of the Server Card probe is for, as the report's attempts show it."""

    CATALOG = "AI Catalog"
    LINK = "Server Card from an AI Catalog entry"
    ASKED = "Server Card at the URL given"
    RESERVED = "Server Card at a reserved location"


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """A catalog entry's link to a Server Card.

    ``url`` is absolute where it could be resolved; ``is_http`` tells that an entry itself writes ``http:``. Where
    there is nothing to ask for, ``problem`` says why: ``links to the catalog itself``.
    """

    url: str
    is_http: bool
    problem: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Inline:
    """A Server Card that stands in the catalog itself; ``url`` is its place there, with a JSON Pointer (RFC 6901)."""

    url: str
    value: object


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """What was found where a Server Card is due. ``exchange`` is None for an inline card."""

    url: str
    purpose: Purpose
    exchange: Exchange | None
    link_is_http: bool
    content: Parsed | NotJson
    is_html: bool

    @property
    def members(self) -> dict[str, object] | None:
        """The document's members, if it is a JSON object."""
        value = self.content.value if isinstance(self.content, Parsed) else None
        return value if isinstance(value, dict) else None


class Cause(Enum):
    """Why a location gave no card: there is none, no whole answer came, a bot wall stood before it, or we could not."""

    ABSENT = auto()
    FAILED = auto()
    WALL = auto()
    OURS = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class Location:
    """A place where no card was obtained, and why: ``answered 404``. ``linked`` tells that a catalog pointed there."""

    url: str
    reason: str
    cause: Cause
    linked: bool

    @property
    def told(self) -> str:
        """The location and the reason, for people."""
        return f"{clean(self.url)}: {self.reason}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Discovery:
    """What looking for Server Cards came to. ``unfollowed`` counts the catalog links beyond the limit."""

    documents: tuple[Document, ...]
    locations: tuple[Location, ...]
    unfollowed: int


def entries(catalog: Exchange) -> list[Link | Inline]:
    """The entries for Server Cards of a fetched AI Catalog; none if it is no catalog.

    Older catalogs write ``mediaType`` for ``type``. Of an entry with both ``url`` and ``data``, the ``url`` counts.
    """
    if catalog.answered != 200:
        return []
    parsed = strict_json.parse(catalog.body)
    match parsed:
        case Parsed(value={"entries": list(listed)}):
            pass
        case _:
            return []
    base = Url.parse(catalog.final_url)
    return [
        entry
        for index, item in enumerate(listed)
        if isinstance(item, dict) and _is_server_card(item)
        if (entry := _entry(item, f"{base}#/entries/{index}", base))
    ]


def links(found: Iterable[Link | Inline]) -> dict[str, Link]:
    """The links among entries, each once: by http if any of its entries writes it so."""
    by_url: dict[str, Link] = {}
    for entry in found:
        if isinstance(entry, Link):
            known = by_url.get(entry.url, entry)
            by_url[entry.url] = replace(known, is_http=known.is_http or entry.is_http)
    return by_url


def discovery(evidence: Evidence) -> Discovery:
    """Read an audit's exchanges."""
    asked = {
        purpose: [exchange for exchange in evidence.exchanges if exchange.purpose == purpose] for purpose in Purpose
    }
    kept_waiting = any(
        exchange.failure is not None and exchange.failure.code is FailureCode.TIMEOUT for exchange in evidence.exchanges
    )
    documents: dict[str, Document] = {}
    locations: list[Location] = []
    listed: list[Link | Inline] = []
    for catalog in asked[Purpose.CATALOG]:
        found = entries(catalog)
        if not found:
            locations.append(_location(catalog, Purpose.CATALOG, kept_waiting))
        documents |= {entry.url: _inline(entry) for entry in found if isinstance(entry, Inline)}
        listed.extend(found)
    linked = links(listed)
    locations += [
        Location(url=link.url, reason=link.problem, cause=Cause.ABSENT, linked=True)
        for link in linked.values()
        if link.problem is not None
    ]
    for purpose in (Purpose.ASKED, Purpose.LINK, Purpose.RESERVED):
        for exchange in asked[purpose]:
            if exchange.answered != 200:
                locations.append(_location(exchange, purpose, kept_waiting))
                continue
            link = linked.get(exchange.url)
            document = _served(exchange, purpose, by_http=link is not None and link.is_http)
            known = documents.get(document.url)
            if known is not None:  # two links, or a link and what was asked for, may end at one card
                documents[document.url] = replace(known, link_is_http=known.link_is_http or document.link_is_http)
            elif document.is_html and purpose is Purpose.RESERVED and documents:
                locations.append(_location(exchange, purpose, kept_waiting))  # single-page apps answer so to all
            else:
                documents[document.url] = document
    return Discovery(
        documents=tuple(documents.values()),
        locations=tuple(locations),
        unfollowed=max(0, sum(link.problem is None for link in linked.values()) - LINKS),
    )


def _is_server_card(item: dict[str, object]) -> bool:
    return any(
        isinstance(value := item.get(name), str) and essence(value) == SERVER_CARD for name in ("type", "mediaType")
    )


def _entry(item: dict[str, object], place: str, base: Url) -> Link | Inline | None:
    match item:
        case {"url": str(written)} if written.strip():
            return _link(written.strip(), base)
        case {"url": value} if value is not None and not isinstance(value, str):
            return Link(url=f"{place}/url", is_http=False, problem=f"is {kind(value)}, not a URL")
        case {"data": value} if value is not None:
            return Inline(url=f"{place}/data", value=value)
    return None


def _link(written: str, base: Url) -> Link:
    is_http = written.lower().startswith("http://")
    try:
        url = base.join(written)
    except UrlError:
        return Link(url=clean(written), is_http=is_http)  # asked for all the same: the attempt says what is wrong
    if url == base:
        return Link(url=str(url), is_http=is_http, problem="is the catalog itself")
    return Link(url=str(url), is_http=is_http)


def _inline(entry: Inline) -> Document:
    return Document(
        url=entry.url,
        purpose=Purpose.CATALOG,
        exchange=None,
        link_is_http=False,
        content=Parsed(entry.value, frozenset()),
        is_html=False,
    )


def _served(exchange: Exchange, purpose: Purpose, *, by_http: bool) -> Document:
    content = strict_json.parse(exchange.body)
    return Document(
        url=exchange.final_url,
        purpose=purpose,
        exchange=exchange,
        link_is_http=by_http,
        content=content,
        is_html=isinstance(content, NotJson) and is_html(exchange.header("content-type"), exchange.body),
    )


def _location(exchange: Exchange, purpose: Purpose, kept_waiting: bool) -> Location:
    wall = bot_wall(exchange)
    if exchange.failure is not None:
        reason = clean(exchange.failure.reason, 400)
        cause = Cause.OURS if _is_ours(exchange, exchange.failure.code, kept_waiting) else Cause.FAILED
    elif wall:
        reason, cause = f"answered {exchange.status} from behind a bot wall ({wall})", Cause.WALL
    elif exchange.status != 200:
        reason, cause = f"answered {exchange.status}", Cause.ABSENT
    elif purpose is Purpose.CATALOG:
        reason, cause = _no_catalog(exchange), Cause.ABSENT
    else:
        reason, cause = "is a web page", Cause.ABSENT
    return Location(url=exchange.url, reason=reason, cause=cause, linked=purpose is Purpose.LINK)


def _is_ours(exchange: Exchange, code: FailureCode, kept_waiting: bool) -> bool:
    """Whether it was this auditor that could not look, so that nothing follows about the site."""
    if code is FailureCode.BUDGET:
        return not kept_waiting  # time that went to waiting for the target is no limit of ours
    if code is FailureCode.BAD_ENCODING:  # others may read an encoding that this client neither asks for nor knows
        return (exchange.header("content-encoding") or "").strip().lower() not in ("gzip", "x-gzip")
    return code is FailureCode.INTERNAL


def _no_catalog(exchange: Exchange) -> str:
    match strict_json.parse(exchange.body):
        case NotJson() if is_html(exchange.header("content-type"), exchange.body):
            return "is a web page, not an AI Catalog"
        case NotJson(reason=reason):
            return f"is no AI Catalog: {reason}"
        case Parsed(value={"entries": list()}):
            return "is an AI Catalog that lists no Server Card"
        case _:
            return "is no AI Catalog: it has no array of entries"
