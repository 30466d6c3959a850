"""MCP Server Cards: where the recorded exchanges found some, and why not where they did not.

Discovery is that of MCP Server Card v1 (docs/discovery.md): the AI Catalog's entries first, the reserved locations
only if those gave no document.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from parley.documents.bot_wall import bot_wall
from parley.evidence import Evidence, Exchange, FailureCode
from parley.wire import strict_json
from parley.wire.media_type import SERVER_CARD, essence, is_html
from parley.wire.strict_json import NotJson, Parsed
from parley.wire.text import clean, quoted
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
class Entry:
    """A catalog entry for a Server Card.

    ``link`` is where it says the card is, absolute where it could be resolved, and ``link_is_http`` whether the
    entry itself writes ``http:``. Without a link, ``inline`` is the card, and ``pointer_url`` says where it stands.
    """

    link: str | None
    link_is_http: bool
    inline: object
    pointer_url: str


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Location:
    """A place where no card was obtained, and why: ``answered 404``.

    ``failed`` tells that no whole answer came, and ``ours`` that this was this auditor's doing; ``wall`` is a bot
    wall's mark.
    """

    url: str
    reason: str
    failed: bool
    ours: bool
    wall: str | None
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


def entries(catalog: Exchange) -> list[Entry]:
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


def linked(found: Iterable[Entry]) -> dict[str, Entry]:
    """The entries that have a link, by it."""
    links: dict[str, Entry] = {}
    for entry in found:
        if entry.link is not None:
            links.setdefault(entry.link, entry)
    return links


def discovery(evidence: Evidence) -> Discovery:
    """Read an audit's exchanges."""
    asked = {
        purpose: [exchange for exchange in evidence.exchanges if exchange.purpose == purpose] for purpose in Purpose
    }
    kept_waiting = any(
        exchange.failure is not None and exchange.failure.code is FailureCode.TIMEOUT for exchange in evidence.exchanges
    )
    documents: list[Document] = []
    locations: list[Location] = []
    listed: list[Entry] = []
    for catalog in asked[Purpose.CATALOG]:
        found = entries(catalog)
        if not found:
            locations.append(_location(catalog, Purpose.CATALOG, kept_waiting))
        documents.extend(_inline(entry) for entry in found if entry.link is None)
        listed.extend(found)
    links = linked(listed)
    seen: set[str] = set()
    for purpose in (Purpose.ASKED, Purpose.LINK, Purpose.RESERVED):
        for exchange in asked[purpose]:
            if exchange.answered != 200:
                locations.append(_location(exchange, purpose, kept_waiting))
            elif exchange.final_url not in seen:  # two links may end at one card
                seen.add(exchange.final_url)
                documents.append(_served(exchange, purpose, links.get(exchange.url)))
    return Discovery(
        documents=tuple(documents),
        locations=tuple(locations),
        unfollowed=max(0, len(links) - LINKS),
    )


def _is_server_card(item: dict[str, object]) -> bool:
    return any(
        isinstance(value := item.get(name), str) and essence(value) == SERVER_CARD for name in ("type", "mediaType")
    )


def _entry(item: dict[str, object], pointer: str, base: Url) -> Entry | None:
    match item:
        case {"url": str(written)}:
            try:
                link = str(base.join(written.strip()))
            except UrlError:
                link = clean(written)  # asked for all the same, so that the attempt says what is wrong with it
            is_http = written.strip().lower().startswith("http://")
            return Entry(link=link, link_is_http=is_http, inline=None, pointer_url=f"{pointer}/url")
        case {"url": value} if value is not None:
            return Entry(link=quoted(value), link_is_http=False, inline=None, pointer_url=f"{pointer}/url")
        case {"data": value} if value is not None:
            return Entry(link=None, link_is_http=False, inline=value, pointer_url=f"{pointer}/data")
    return None


def _inline(entry: Entry) -> Document:
    return Document(
        url=entry.pointer_url,
        purpose=Purpose.CATALOG,
        exchange=None,
        link_is_http=False,
        content=Parsed(entry.inline, frozenset()),
        is_html=False,
    )


def _served(exchange: Exchange, purpose: Purpose, entry: Entry | None) -> Document:
    content = strict_json.parse(exchange.body)
    return Document(
        url=exchange.final_url,
        purpose=purpose,
        exchange=exchange,
        link_is_http=entry is not None and entry.link_is_http,
        content=content,
        is_html=isinstance(content, NotJson) and is_html(exchange.header("content-type"), exchange.body),
    )


def _location(exchange: Exchange, purpose: Purpose, kept_waiting: bool) -> Location:
    wall = bot_wall(exchange)
    code = exchange.failure.code if exchange.failure else None
    if exchange.failure is not None:
        reason = clean(exchange.failure.reason, 400)
    elif wall:
        reason = f"answered {exchange.status} from behind a bot wall ({wall})"
    elif exchange.status != 200:
        reason = f"answered {exchange.status}"
    else:
        reason = _no_catalog(exchange)
    return Location(
        url=exchange.url,
        reason=reason,
        failed=exchange.failure is not None,
        # Time that went to waiting for the target is no limit of ours.
        ours=code is FailureCode.INTERNAL or (code is FailureCode.BUDGET and not kept_waiting),
        wall=wall if exchange.failure is None else None,
        linked=purpose is Purpose.LINK,
    )


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
