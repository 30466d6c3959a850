"""MCP Server Cards: where the recorded exchanges found some, and why not where they did not.

Discovery is that of MCP Server Card v1 (docs/discovery.md): the AI Catalog's entries first, the reserved locations
only if those gave no document.
"""

from enum import StrEnum
from typing import Final, NamedTuple

from parley.documents.ai_catalog import LINKS, Inline, Link, entries, links, why_none
from parley.documents.location import Cause, Location, location, overtaxed
from parley.evidence import Evidence, Exchange
from parley.wire import strict_json
from parley.wire.media_type import SERVER_CARD, is_html
from parley.wire.strict_json import NotJson, Parsed

RESERVED: Final = ("/.well-known/mcp/server-card.json", "/mcp/server-card")


class Purpose(StrEnum):
    """What a request of the Server Card probe is for, as the report's attempts show it."""

    CATALOG = "AI Catalog"
    LINK = "Server Card from an AI Catalog entry"
    ASKED = "Server Card at the URL given"
    RESERVED = "Server Card at a reserved location"


class Document(NamedTuple):
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


class Discovery(NamedTuple):
    """What looking for Server Cards came to.

    ``unfollowed`` counts the catalog links beyond the limit, ``unread`` the cards in catalogs themselves.
    """

    documents: tuple[Document, ...]
    locations: tuple[Location, ...]
    unfollowed: int
    unread: int


def discovery(evidence: Evidence) -> Discovery:
    """Read an audit's exchanges."""
    asked = {
        purpose: [exchange for exchange in evidence.exchanges if exchange.purpose == purpose] for purpose in Purpose
    }
    by_target = overtaxed(evidence.exchanges)
    documents: dict[str, Document] = {}
    locations: list[Location] = []
    listed: list[Link | Inline] = []
    unread = 0
    for catalog in asked[Purpose.CATALOG]:
        found = entries(catalog, SERVER_CARD)
        if not found:
            locations.append(_location(catalog, Purpose.CATALOG, by_target))
        inline = [entry for entry in found if isinstance(entry, Inline)]
        documents |= {entry.url: _inline(entry) for entry in inline[:LINKS]}
        unread += len(inline[LINKS:])
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
                locations.append(_location(exchange, purpose, by_target))
                continue
            link = linked.get(exchange.url)
            document = _served(exchange, purpose, by_http=link is not None and link.is_http)
            known = documents.get(document.url)
            if known is not None:  # two links, or a link and what was asked for, may end at one card
                documents[document.url] = known._replace(link_is_http=known.link_is_http or document.link_is_http)
            elif document.is_html and purpose is Purpose.RESERVED and documents:
                locations.append(_location(exchange, purpose, by_target))  # single-page apps answer so to all
            else:
                documents[document.url] = document
    return Discovery(
        documents=tuple(documents.values()),
        locations=tuple(locations),
        unfollowed=max(0, sum(link.problem is None for link in linked.values()) - LINKS),
        unread=unread,
    )


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


def _location(exchange: Exchange, purpose: Purpose, by_target: bool) -> Location:
    absent = why_none(exchange, "Server Card") if purpose is Purpose.CATALOG else "is a web page"
    return location(exchange, absent, linked=purpose is Purpose.LINK, by_target=by_target)
