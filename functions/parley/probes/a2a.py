"""Looks for A2A Agent Cards, and asks what a found one says can be asked: read-only, and never a message or a task."""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Final
from urllib.parse import quote

from parley.documents import allowance, server_card
from parley.documents.agent_card import (
    CURRENT,
    KEYS,
    LEGACY,
    NAMED,
    NO_VERSION,
    SIBLING,
    VERSION,
    AgentCard,
    Interface,
    Purpose,
    View,
    absolute,
    binding,
    discover,
    live,
    references,
    speaks_1,
)
from parley.documents.ai_catalog import LINKS, entries, links
from parley.documents.card_signature import key_set_urls
from parley.evidence import Exchange, Request
from parley.probes import Fetch, side_by_side
from parley.target import Target
from parley.wire.media_type import A2A, AGENT_CARD, JSON, is_html

_CARD_NAMES: Final = ("/agent-card.json", "/agent.json")

_ACCEPT: Final = f"{JSON}, {A2A};q=0.9"
_ACCEPT_LINKED: Final = f"{AGENT_CARD}, {JSON};q=0.9"


def gather(target: Target, fetch: Fetch, origin: str, catalogs: Callable[[], Sequence[Exchange]]) -> list[Exchange]:
    """Ask for cards, and for what they name; the value is all that was said.

    ``catalogs`` waits for the exchanges of the Server Card probe, which asks for AI Catalogs. ``origin`` is sent as
    ``Origin``: several servers send their CORS headers only to a request that has one.
    """

    def get(purpose: Purpose, url: str, accept: str = _ACCEPT, **headers: str) -> Request:
        sent = {"Accept": accept, "Origin": origin} | {name.replace("_", "-"): value for name, value in headers.items()}
        return Request(purpose=purpose, url=url, headers=sent)

    given = str(target.url)
    current, legacy = str(target.url.at(CURRENT)), str(target.url.at(LEGACY))
    first = [get(Purpose.CURRENT, current, A2A_Version=VERSION), get(Purpose.LEGACY, legacy)]
    if target.url.path.endswith(_CARD_NAMES) and given not in (current, legacy):
        first.insert(0, get(Purpose.ASKED, given, A2A_Version=VERSION))
    said = side_by_side(fetch, first)

    listed = [one for one in catalogs() if one.purpose == server_card.Purpose.CATALOG]
    linked = links(entry for one in listed for entry in entries(one, AGENT_CARD))
    known = {request.url for request in first}
    followed = [link.url for link in linked.values() if link.problem is None and link.url not in known][:LINKS]
    said += side_by_side(fetch, [get(Purpose.LINK, url, _ACCEPT_LINKED, A2A_Version=VERSION) for url in followed])

    found = discover(allowance.within([*listed, *said]), given)
    if found.cards:
        further = [get(purpose, url, JSON) for purpose, url in _named(found.cards)]
        card = next((card for card in found.cards if live(card) is not None), None)
        if card is not None and (interface := live(card)) is not None:
            further += _live(interface, origin)
        said += side_by_side(fetch, further)
    elif {Purpose.CURRENT, Purpose.LEGACY} <= {one.purpose for one in said if _is_some_document(one)}:
        said.append(fetch(get(Purpose.SIBLING, str(target.url.at(SIBLING)))))
    return said


def _is_some_document(exchange: Exchange) -> bool:
    return exchange.answered == 200 and not is_html(exchange.header("content-type"), exchange.body)


def _named(cards: Sequence[AgentCard]) -> Iterator[tuple[Purpose, str]]:
    """The documents that cards name, each once, and no more than are fetched."""
    distinct = {(one.purpose, one.url): None for card in cards for one in references(card) if one.url is not None}
    yield from list(distinct)[:NAMED]
    keys = dict.fromkeys(url for card in cards for url in key_set_urls(card.members, card.url))
    yield from [(Purpose.KEYS, url) for url in list(keys)[:KEYS]]


def _live(interface: Interface, origin: str) -> list[Request]:
    """What an interface is asked: for the extended card, without credentials, and once in no version that there is."""
    requests = [_extended(Purpose.EXTENDED, interface, _version(interface), origin)]
    if speaks_1(interface):
        requests.append(_extended(Purpose.NO_VERSION, interface, NO_VERSION, origin))
    return requests


def _extended(purpose: Purpose, interface: Interface, version: str | None, origin: str) -> Request:
    url = absolute(interface.url) or ""
    headers = {"Accept": JSON, "Origin": origin} | ({} if version is None else {"A2A-Version": version})
    is_1 = speaks_1(interface)
    tenant = interface.value.get("tenant") if is_1 else None
    if binding(interface) == "JSONRPC":
        call: dict[str, object] = {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "GetExtendedAgentCard" if is_1 else "agent/getAuthenticatedExtendedCard",
        }
        if isinstance(tenant, str) and tenant:
            call["params"] = {"tenant": tenant}
        return Request(
            purpose=purpose,
            method="POST",
            url=url,
            headers=headers | {"Content-Type": JSON},
            body=json.dumps(call).encode(),
            skips_stream=True,
        )
    path = "/extendedAgentCard" if is_1 else "/v1/card"
    if isinstance(tenant, str) and tenant:
        path = f"/{quote(tenant, safe='')}{path}"
    base = url.partition("?")[0].rstrip("/")
    return Request(purpose=purpose, url=base + path, headers=headers, skips_stream=True)


def _version(interface: Interface) -> str | None:
    """What A2A-Version is to say, as Major.Minor; nothing to a server of 0.x, whose clients know no such header."""
    if interface.view is View.V0:
        return None
    named = re.match(r"v?([01]\.\d+)", interface.version.strip()) if isinstance(interface.version, str) else None
    return named[1] if named else VERSION
