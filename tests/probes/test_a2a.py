"""What is asked about Agent Cards: which places, with which words, and nothing else."""

import base64
import json
import threading

import pytest

from agents import (
    CARD_TYPE,
    CATALOG,
    CURRENT,
    ENDPOINT,
    HYBRID,
    LEGACY,
    V0_2,
    V0_3,
    V1,
    AgentSite,
    changed,
    interface,
    served,
)
from parley.documents.agent_card import KEYS, NAMED, SIBLING, Purpose
from parley.documents.ai_catalog import LINKS
from parley.evidence import Exchange, Request
from parley.fetch.client import CALLS
from parley.probes import a2a
from parley.target import Target
from sites import HOST, Answer, catalog, html

PATHS = [CURRENT, LEGACY]
LIVE = [ENDPOINT, ENDPOINT]


def entry(url: object) -> dict[str, object]:
    return {"identifier": "x", "type": CARD_TYPE, "url": url}


def asked(answers: dict[str, Answer], url: str = HOST) -> list[str]:
    site = AgentSite(answers)
    site.gather(url)
    return [one.url for one in site.agents]


WALKS: list[tuple[str, dict[str, Answer], str, list[str]]] = [
    ("nothing", {}, HOST, PATHS),
    ("web pages", {CURRENT: html(), LEGACY: html()}, HOST, PATHS),
    ("another format", {CURRENT: served({"a": 1})}, HOST, PATHS),
    ("another format at both", {CURRENT: served({"a": 1}), LEGACY: served({"a": 1})}, HOST, [*PATHS, HOST + SIBLING]),
    ("a card of 1.0", {CURRENT: served(V1)}, HOST, [*PATHS, *LIVE]),
    ("a card of 0.3", {CURRENT: served(V0_3)}, HOST, [*PATHS, ENDPOINT]),
    ("a card of both", {CURRENT: served(HYBRID)}, HOST, [*PATHS, *LIVE]),
    ("a card of 0.2", {LEGACY: served(V0_2)}, HOST, [*PATHS, ENDPOINT]),
    ("gRPC only", {CURRENT: served(changed(V1, supportedInterfaces=[interface(protocolBinding="GRPC")]))}, HOST, PATHS),
    ("REST", {CURRENT: served(changed(V1, supportedInterfaces=[interface(protocolBinding="HTTP+JSON")]))}, HOST, [*PATHS, f"{ENDPOINT}/extendedAgentCard", f"{ENDPOINT}/extendedAgentCard"]),
    ("REST for a tenant", {CURRENT: served(changed(V1, supportedInterfaces=[interface(protocolBinding="HTTP+JSON", url=f"{ENDPOINT}/", tenant="a/b")]))}, HOST, [*PATHS, f"{ENDPOINT}/a%2Fb/extendedAgentCard", f"{ENDPOINT}/a%2Fb/extendedAgentCard"]),
    ("REST of 0.3", {CURRENT: served(changed(V0_3, preferredTransport="HTTP+JSON", supportsAuthenticatedExtendedCard=True))}, HOST, [*PATHS, f"{ENDPOINT}/v1/card"]),
    ("the URL of the current path", {}, CURRENT, PATHS),
    ("the URL of the older path", {}, LEGACY, PATHS),
    ("another card's URL", {}, f"{HOST}/x/agent-card.json", [f"{HOST}/x/agent-card.json", *PATHS]),
    ("another older card's URL", {}, f"{HOST}/x/agent.json", [f"{HOST}/x/agent.json", *PATHS]),
    ("no card's URL", {}, f"{HOST}/x/my-agent.json", PATHS),
    ("links", {CATALOG: catalog(entry("/a"), entry(f"{HOST}/b"), entry("/a"))}, HOST, [*PATHS, f"{HOST}/a", f"{HOST}/b"]),
    ("a link to the current path", {CATALOG: catalog(entry(CURRENT))}, HOST, PATHS),
    ("links that name nothing", {CATALOG: catalog(entry(7), entry("/.well-known/ai-catalog.json"))}, HOST, PATHS),
    ("a linked card", {CATALOG: catalog(entry("/a")), f"{HOST}/a": served(V1)}, HOST, [*PATHS, f"{HOST}/a", *LIVE]),
    ("a card in the catalog", {CATALOG: catalog({"identifier": "x", "type": CARD_TYPE, "data": V1})}, HOST, [*PATHS, *LIVE]),
    ("many links, and one to what is asked anyway", {CATALOG: catalog(entry(CURRENT), *(entry(f"/{index}") for index in range(LINKS)))}, HOST, [*PATHS, *(f"{HOST}/{index}" for index in range(LINKS))]),
    ("many links", {CATALOG: catalog(*(entry(f"/{index}") for index in range(LINKS + 5)))}, HOST, [*PATHS, *(f"{HOST}/{index}" for index in range(LINKS))]),
]  # fmt: skip


@pytest.mark.parametrize(("answers", "url", "urls"), [case[1:] for case in WALKS], ids=[case[0] for case in WALKS])
def test_walk(answers: dict[str, Answer], url: str, urls: list[str]) -> None:
    assert sorted(asked(answers, url)) == sorted(urls)


def test_metadata_and_keys_are_asked_for_once_each_and_no_more_than_some() -> None:
    schemes = {f"s{index}": {"openIdConnectUrl": f"https://login.example/{index // 2}"} for index in range(20)}
    header = [
        json.dumps({"alg": "ES256", "kid": "k", "jku": f"{HOST}/keys/{index // 2}"}).encode() for index in range(20)
    ]
    signatures = [
        {"protected": base64.urlsafe_b64encode(text).decode().rstrip("="), "signature": "eA"} for text in header
    ]
    urls = asked({CURRENT: served(changed(V1, securitySchemes=schemes, signatures=signatures))})
    assert sorted(urls) == sorted(
        [
            *PATHS,
            *LIVE,
            *(f"https://login.example/{index}" for index in range(NAMED)),
            *(f"{HOST}/keys/{index}" for index in range(KEYS)),
        ]
    )
    assert len(urls) <= 12


def test_requests_as_they_are_written() -> None:
    site = AgentSite({CURRENT: served(V1)})
    site.gather()
    sent = {one.purpose: one for one in site.agents}
    current, legacy = sent[Purpose.CURRENT], sent[Purpose.LEGACY]
    assert current.headers == {
        "Accept": "application/json, application/a2a+json;q=0.9",
        "Origin": "https://parley.example",
        "A2A-Version": "1.0",
    }
    assert "A2A-Version" not in legacy.headers  # clients of A2A 0.2 send none
    assert (current.method, legacy.method) == ("GET", "GET")
    extended, none = sent[Purpose.EXTENDED], sent[Purpose.NO_VERSION]
    for one in (extended, none):
        assert (one.method, one.url, one.headers["Content-Type"]) == ("POST", ENDPOINT, "application/json")
        assert json.loads(one.body or b"") == {"jsonrpc": "2.0", "id": 1, "method": "GetExtendedAgentCard"}
        assert "Authorization" not in one.headers
    assert (extended.headers["A2A-Version"], none.headers["A2A-Version"]) == ("1.0", "99.0")


@pytest.mark.parametrize(
    ("card", "version", "method"),
    [
        (changed(V1, supportedInterfaces=[interface(protocolVersion="1.2.3")]), "1.2", "GetExtendedAgentCard"),
        (changed(V1, supportedInterfaces=[interface(protocolVersion=...)]), "1.0", "GetExtendedAgentCard"),
        (changed(V0_3, supportsAuthenticatedExtendedCard=True), None, "agent/getAuthenticatedExtendedCard"),
        (
            changed(
                HYBRID,
                supportsAuthenticatedExtendedCard=True,
                supportedInterfaces=[interface(protocolVersion="0.3")],
            ),
            "0.3",
            "agent/getAuthenticatedExtendedCard",
        ),
    ],
)
def test_the_extended_card_in_the_interface_s_words(card: dict[str, object], version: str | None, method: str) -> None:
    site = AgentSite({CURRENT: served(card)})
    site.gather()
    extended = next(one for one in site.agents if one.purpose == Purpose.EXTENDED)
    assert extended.headers.get("A2A-Version") == version
    assert json.loads(extended.body or b"")["method"] == method
    assert method in CALLS


def test_a_tenant_is_named() -> None:
    site = AgentSite({CURRENT: served(changed(V1, supportedInterfaces=[interface(tenant="north")]))})
    site.gather()
    extended = next(one for one in site.agents if one.purpose == Purpose.EXTENDED)
    assert json.loads(extended.body or b"")["params"] == {"tenant": "north"}


def test_both_paths_are_asked_side_by_side_and_before_the_catalogs_have_come() -> None:
    met = threading.Barrier(2, timeout=10)
    site = AgentSite({})

    def fetch(request: Request) -> Exchange:
        met.wait()
        return site(request)

    def catalogs() -> list[Exchange]:
        assert len(site.requests) == 2
        return []

    said = a2a.gather(Target.parse(HOST), fetch, "https://parley.example", catalogs)
    assert [one.purpose for one in said] == [Purpose.CURRENT, Purpose.LEGACY]


def test_nothing_is_ever_sent_to_an_agent_but_these() -> None:
    cards = [
        V1,
        V0_2,
        changed(V0_3, supportsAuthenticatedExtendedCard=True),
        changed(HYBRID, capabilities={"extendedAgentCard": True}),
    ]
    for card in cards:
        site = AgentSite({CURRENT: served(card), LEGACY: served(V0_2)})
        site.gather()
        for one in site.agents:
            assert one.method in ("GET", "POST")
            if one.method == "POST":
                assert json.loads(one.body or b"")["method"] in (
                    "GetExtendedAgentCard",
                    "agent/getAuthenticatedExtendedCard",
                )
        assert len(site.agents) <= 12
