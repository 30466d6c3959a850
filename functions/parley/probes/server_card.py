"""Looks for MCP Server Cards as MCP Server Card v1 says, from the audited URL's origin."""

from collections.abc import Iterator
from typing import Final

from parley.documents.ai_catalog import CATALOG, LINKS, Inline, Link, entries, links
from parley.documents.server_card import RESERVED, Purpose
from parley.evidence import Exchange, Request
from parley.probes import Fetch
from parley.target import Target
from parley.wire.media_type import AI_CATALOG, JSON, SERVER_CARD

_CARD_NAMES: Final = ("/server-card", "server-card.json")
_CATALOG_NAME: Final = "ai-catalog.json"

_ACCEPT_CARD: Final = f"{SERVER_CARD}, {JSON};q=0.9"
_ACCEPT_CATALOG: Final = f"{AI_CATALOG}, {JSON};q=0.9"


def gather(target: Target, fetch: Fetch, origin: str) -> Iterator[Exchange]:
    """Ask for catalogs and cards, and yield what came.

    ``origin`` is sent as ``Origin``: several servers send their CORS headers only to a request that has one.
    """

    def get(purpose: Purpose, url: str, accept: str) -> Exchange:
        return fetch(Request(purpose=purpose, url=url, headers={"Accept": accept, "Origin": origin}))

    asked: Exchange | None = None
    path = target.url.path
    if path.endswith(_CARD_NAMES):
        asked = get(Purpose.ASKED, str(target.url), _ACCEPT_CARD)
        yield asked

    listed: list[Link | Inline] = []
    catalogs = [target.url.at(CATALOG)]
    if path.endswith(_CATALOG_NAME) and path != CATALOG:
        catalogs.append(target.url)
    for url in catalogs:
        exchange = get(Purpose.CATALOG, str(url), _ACCEPT_CATALOG)
        listed.extend(entries(exchange, SERVER_CARD))
        yield exchange
    found = any(isinstance(entry, Inline) for entry in listed)
    followed = [link.url for link in links(listed).values() if link.problem is None]
    for link in followed[:LINKS]:
        exchange = get(Purpose.LINK, link, SERVER_CARD)
        found |= exchange.answered == 200
        yield exchange

    for reserved in RESERVED:
        if found:
            return
        if asked and reserved == path:
            found = asked.answered == 200
        else:
            exchange = get(Purpose.RESERVED, str(target.url.at(reserved)), _ACCEPT_CARD)
            found = exchange.answered == 200
            yield exchange
