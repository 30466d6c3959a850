"""What is an Agent Card, of which shape, and what it names."""

import json

import pytest

from agents import CURRENT, EARLY, HYBRID, LEGACY, V0_2, V0_3, V1, AgentSite, changed, interface, served
from parley.documents.agent_card import (
    PLAN,
    AgentCard,
    Document,
    Purpose,
    Shape,
    View,
    absolute,
    binding,
    discovery,
    instead,
    is_same_site,
    live,
    references,
    shape,
    snake,
    speaks_1,
)
from parley.wire.strict_json import Parsed
from parley.wire.url import Url
from sites import HOST, catalog


def card(members: dict[str, object], url: str = CURRENT) -> AgentCard:
    content = Parsed(members, frozenset())
    document = Document(
        url=url, purpose=Purpose.CURRENT, exchange=None, content=content, is_html=False, is_claimed=False
    )
    return AgentCard(document, members)


SHAPES: list[tuple[str, dict[str, object], str]] = [
    ("1.0", V1, "1.0"),
    ("1.0 with a claim of its own", changed(V1, protocolVersion="1.0"), "1.0"),
    ("1.0 with a blank url", changed(V1, url=""), "1.0"),
    ("1.0 with a null url", changed(V1, url=None), "1.0"),
    ("1.0 that lists no interface", changed(V1, supportedInterfaces=...), "1.0"),
    ("1.0 with an empty list", changed(V1, supportedInterfaces=[]), "1.0"),
    ("1.0 in snake_case", changed(V1, supportedInterfaces=..., supported_interfaces=[interface()]), "1.0"),
    ("both", HYBRID, "hybrid"),
    ("both without a claim", changed(HYBRID, protocolVersion=...), "hybrid"),
    ("0.3", V0_3, "0.3"),
    ("0.3 without a transport", changed(V0_3, preferredTransport=...), "0.3"),
    ("0.3 without a claim", changed(V0_3, protocolVersion=...), "0.3"),
    ("0.3 by a signature", changed(EARLY, signatures=[{}]), "0.3"),
    ("0.3 without a url", changed(V0_3, url=...), "0.3"),
    ("0.3 that claims 1.0", changed(V0_3, protocolVersion="1.0"), "0.3"),
    ("0.2", V0_2, "0.2"),
    ("0.2.9", changed(V0_2, protocolVersion="0.2.9"), "0.2"),
    ("early", EARLY, "0.2"),
    ("0.20 is not 0.2", changed(V0_2, protocolVersion="0.20.0"), "0.3"),
]


@pytest.mark.parametrize(("members", "expected"), [case[1:] for case in SHAPES], ids=[case[0] for case in SHAPES])
def test_shape(members: dict[str, object], expected: str) -> None:
    assert instead(members) is None
    assert shape(members) == expected


def test_views() -> None:
    assert card(V1).views == (View.V1,)
    assert card(V0_3).views == card(V0_2).views == (View.V0,)
    assert card(HYBRID).views == (View.V0, View.V1)


NO_CARDS: list[tuple[str, dict[str, object], str]] = [
    ("nothing", {}, "an empty object"),
    ("an ERC-8004 registration", {"type": "https://eips.ethereum.org/EIPS/eip-8004#registration-v1", "name": "x", "services": []}, "an ERC-8004 registration"),
    ("one with the members of an early card", changed(EARLY, type="https://eips.ethereum.org/EIPS/eip-8004#registration-v1"), "an ERC-8004 registration"),
    ("a Server Card", {"$schema": "https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json", "name": "a/b", "version": "1", "description": "x"}, "a description of an MCP server"),
    ("an older one", {"protocolVersion": "2025-06-18", "serverInfo": {"name": "x"}, "capabilities": {"tools": {}}}, "a description of an MCP server"),
    ("an MCP manifest", {"name": "x", "type": "mcp-server", "mcp": "https://weather.example/mcp"}, "a description of an MCP server"),
    ("a configuration", {"mcpServers": {}}, "a configuration of MCP clients"),
    ("a person in JSON-LD", {"@context": "https://schema.org", "@type": "Person", "name": "Ann"}, "a page about a person (JSON-LD)"),
    ("a person", {"name": "Ann", "jobTitle": "Engineer", "bio": "Writes."}, "a page about a person"),
    ("a shop in JSON-LD", {"@type": "Store", "name": "x"}, 'JSON-LD about "Store"'),
    ("a product", {"name": "x", "description": "y", "url": "https://weather.example", "pricing": {}, "category": "z"}, "a product manifest"),
    ("a price", {"name": "x", "url": "https://weather.example", "price_per_call": "1"}, "a product manifest"),
    ("a directory", {"name": "x", "url": "https://weather.example", "version": "1", "agents": []}, "a directory of agents"),
    ("an error", {"error": "not found"}, "an error message"),
    ("another error", {"statusCode": 404, "message": "Cannot GET", "error": "Not Found"}, "an error message"),
    ("an AI Catalog", {"specVersion": "1.0", "entries": []}, "an AI Catalog"),
    ("an OpenAPI description", {"openapi": "3.1.0", "info": {}}, "an OpenAPI description"),
    ("a key set", {"keys": []}, "a key set"),
    ("OAuth metadata", {"issuer": "https://weather.example", "token_endpoint": "https://weather.example/t"}, "OAuth metadata"),
    ("a type of its own", {"type": "robot", "id": 1}, 'a document of type "robot"'),
    ("an agent of another kind", {"name": "x", "version": "1", "skills": [], "model": "y", "z": 1}, "a description of an agent in another format (its members: name, version, skills, model, ...)"),
    ("who knows", {"a": 1, "b": 2}, "an object with the members a, b"),
    ("a name alone", {"name": "x"}, "an object with the members name"),
    ("a date is no version of A2A", {"protocolVersion": "2025-06-18", "skills": []}, "a description of an MCP server"),
    ("a manifest of MCP", {"name": "x", "version": "1", "protocolVersion": "2025-06-18", "url": "https://weather.example/mcp", "capabilities": {"tools": {}, "streaming": True}, "skills": []}, "a description of an MCP server"),
    ("a manifest of AG-UI", {"name": "x", "protocol": "ag-ui", "version": "1", "url": "https://weather.example/agui", "capabilities": {"streaming": True}, "skills": [{"name": "x"}]}, "a description of an agent that speaks AG-UI"),
    ("capabilities of another kind", {"url": "https://weather.example", "capabilities": {"languages": []}, "skills": []}, "a description of an agent in another format (its members: url, capabilities, skills)"),
]  # fmt: skip


@pytest.mark.parametrize(("members", "what"), [case[1:] for case in NO_CARDS], ids=[case[0] for case in NO_CARDS])
def test_what_it_is_instead(members: dict[str, object], what: str) -> None:
    assert instead(members) == what


STILL_CARDS: list[tuple[str, dict[str, object]]] = [
    ("a version of MCP, and a transport", {"protocolVersion": "2025-06-18", "url": "https://weather.example/mcp", "preferredTransport": "JSONRPC"}),
    ("a version of MCP, and modes", {"protocolVersion": "2025-06-18", "url": "https://weather.example/mcp", "skills": [], "defaultInputModes": []}),
    ("a protocol that is A2A's", {"protocol": "jsonrpc-2.0", "url": "https://weather.example/a2a", "capabilities": {"streaming": True}, "skills": []}),
    ("an interface and nothing else", {"supportedInterfaces": [{"url": "https://weather.example/api/mcp", "transport": "mcp"}]}),
    ("a version and skills", {"protocolVersion": "0.3.0", "skills": []}),
    ("a transport and a url", {"preferredTransport": "JSONRPC", "url": "https://weather.example"}),
    ("three marks of 0.2", {"url": "https://weather.example", "capabilities": {}, "skills": []}),
    ("all in snake_case", {"protocol_version": "0.3.0", "default_input_modes": [], "skills": []}),
    ("an agent on a chain that claims A2A", changed(V0_3, type="https://eips.ethereum.org/EIPS/eip-8004#registration-v1")),
    ("an SDK's card with nothing in it", {"name": "x", "supportedInterfaces": [interface()], "version": "1"}),
    ("a card with a price", changed(V1, pricing={"model": "free"})),
    ("a card with a JSON-LD context", changed(V1, **{"@context": "https://schema.org", "@type": "Person"})),
]  # fmt: skip


@pytest.mark.parametrize("members", [case[1] for case in STILL_CARDS], ids=[case[0] for case in STILL_CARDS])
def test_a_card_all_the_same(members: dict[str, object]) -> None:
    assert instead(members) is None


def test_interfaces_of_both_views() -> None:
    members = changed(
        HYBRID,
        supportedInterfaces=[interface(), 7, interface(url=f"{HOST}/grpc", protocolBinding="GRPC", protocolVersion=1)],
        additionalInterfaces=[{"url": f"{HOST}/rest", "transport": "HTTP+JSON"}, None],
    )
    assert [one[:5] for one in card(members).interfaces] == [
        ("supportedInterfaces[0]", View.V1, f"{HOST}/a2a", "JSONRPC", "1.0"),
        ("supportedInterfaces[2]", View.V1, f"{HOST}/grpc", "GRPC", 1),
        ("url", View.V0, f"{HOST}/a2a", "JSONRPC", "0.3.0"),
        ("additionalInterfaces[0]", View.V0, f"{HOST}/rest", "HTTP+JSON", "0.3.0"),
    ]
    assert [one.path for one in card(V1).interfaces] == ["supportedInterfaces[0]"]
    assert [one.path for one in card(changed(V0_2, url=...)).interfaces] == ["url"]


def test_parts_of_another_type_are_none() -> None:
    odd = changed(
        HYBRID, supportedInterfaces={}, additionalInterfaces=7, skills="x", securitySchemes=[], capabilities=1
    )
    one = card(odd)
    assert [part.path for part in one.interfaces] == ["url"]
    assert (one.skills, one.schemes, one.capabilities, one.declares_extended) == ([], [], {}, False)


def test_names() -> None:
    assert card(V1).name_or_url == "Weather"
    for name in (..., None, "", " ", 7, ["x"]):
        assert card(changed(V1, name=name)).name_or_url == CURRENT
    assert snake("defaultInputModes") == "default_input_modes"
    assert snake("name") == "name"


@pytest.mark.parametrize(
    ("members", "declares"),
    [
        (V1, False),
        (changed(V1, capabilities={"extendedAgentCard": True}), True),
        (changed(V1, capabilities={"extendedAgentCard": "true"}), False),
        (changed(V1, supportsAuthenticatedExtendedCard=True), False),
        (changed(V0_3, supportsAuthenticatedExtendedCard=True), True),
        (changed(V0_3, supportsExtendedAgentCard=True), True),
        (changed(V0_3, capabilities={"extendedAgentCard": True}), False),
        (changed(HYBRID, supportsAuthenticatedExtendedCard=True), True),
    ],
)
def test_an_extended_card_is_declared(members: dict[str, object], declares: bool) -> None:
    assert card(members).declares_extended is declares


LIVE: list[tuple[dict[str, object], str | None, bool]] = [
    (V1, "supportedInterfaces[0]", True),
    (HYBRID, "supportedInterfaces[0]", True),
    (V0_3, "url", False),
    (V0_2, "url", False),
    (changed(V1, supportedInterfaces=[interface(protocolVersion="0.3")]), "supportedInterfaces[0]", False),
    (changed(V1, supportedInterfaces=[interface(protocolBinding="GRPC"), interface(protocolBinding="HTTP+JSON")]), "supportedInterfaces[1]", True),
    (changed(V1, supportedInterfaces=[interface(protocolVersion="2025-06-18"), interface()]), "supportedInterfaces[1]", True),
    (changed(V1, supportedInterfaces=[interface(protocolVersion=...)]), "supportedInterfaces[0]", True),
    (changed(V1, supportedInterfaces=[interface(url="weather.example:443")]), None, False),
    (changed(V1, supportedInterfaces=[interface(url=7)]), None, False),
    (changed(V0_3, preferredTransport="GRPC"), None, False),
    (changed(V0_3, preferredTransport="GRPC", additionalInterfaces=[{"url": HOST, "transport": "jsonrpc"}]), "additionalInterfaces[0]", False),
]  # fmt: skip


@pytest.mark.parametrize(("members", "path", "is_1"), LIVE)
def test_the_interface_that_is_asked(members: dict[str, object], path: str | None, is_1: bool) -> None:
    found = live(card(members))
    assert (found.path if found else None) == path
    assert found is None or speaks_1(found) is is_1


def test_a_main_interface_has_a_default_binding() -> None:
    assert [binding(one) for one in card(changed(V0_2, additionalInterfaces=[{"url": HOST}])).interfaces] == [
        "JSONRPC",
        "",
    ]


def test_references_in_every_dialect() -> None:
    url = "https://login.example/.well-known/openid-configuration"
    oauth = "https://login.example/.well-known/oauth-authorization-server"
    schemes: dict[str, object] = {
        "old": {"type": "openIdConnect", "openIdConnectUrl": url},
        "new": {"openIdConnectSecurityScheme": {"openIdConnectUrl": url}},
        "both": {
            "openIdConnectSecurityScheme": {"openIdConnectUrl": url},
            "type": "openIdConnect",
            "openIdConnectUrl": url,
        },
        "leaked": {"scheme": {"$case": "openIdConnectSecurityScheme", "value": {"openIdConnectUrl": url}}},
        "oauth": {"oauth2SecurityScheme": {"oauth2MetadataUrl": oauth, "flows": {}}},
        "relative": {"openIdConnectUrl": "/openid"},
        "number": {"openIdConnectUrl": 7},
        "null": {"openIdConnectUrl": None},
        "text": "bearer",
    }
    found = [(one.purpose, one.path, one.url) for one in references(card(changed(V1, securitySchemes=schemes)))]
    assert found == [
        (Purpose.OPENID, "securitySchemes.old.openIdConnectUrl", url),
        (Purpose.OPENID, "securitySchemes.new.openIdConnectSecurityScheme.openIdConnectUrl", url),
        (Purpose.OPENID, "securitySchemes.both.openIdConnectUrl", url),
        (Purpose.OPENID, "securitySchemes.leaked.scheme.value.openIdConnectUrl", url),
        (Purpose.OAUTH, "securitySchemes.oauth.oauth2SecurityScheme.oauth2MetadataUrl", oauth),
        (Purpose.OPENID, "securitySchemes.relative.openIdConnectUrl", None),
        (Purpose.OPENID, "securitySchemes.number.openIdConnectUrl", None),
    ]


@pytest.mark.parametrize(
    ("url", "site", "same"),
    [
        ("https://weather.example/keys", "https://weather.example/c", True),
        ("https://weather.example:8443/keys", "https://weather.example/c", True),
        ("https://keys.weather.example/", "https://weather.example/", True),
        ("https://weather.example/", "https://agents.weather.example/", True),
        ("http://weather.example/keys", "https://weather.example/c", False),
        ("https://weather.example.evil.example/", "https://weather.example/", False),
        ("https://notweather.example/", "https://weather.example/", False),
        ("https://a.weather.example/", "https://b.weather.example/", False),
        ("https://example/", "https://weather.example/", False),
        ("https://127.0.0.1:9/keys", "https://127.0.0.1:8/c", True),
        ("http://127.0.0.1:9/keys", "http://127.0.0.1:8/c", True),
        ("http://localhost/keys", "http://127.0.0.1/c", False),
        ("https://10.0.0.1/", "https://1.10.0.0.1.example/", False),
    ],
)
def test_same_site(url: str, site: str, same: bool) -> None:
    assert is_same_site(Url.parse(url), Url.parse(site)) is same


def test_absolute() -> None:
    assert absolute(" HTTPS://Weather.Example:443/a ") == "https://weather.example/a"
    for other in ("/a", "weather.example", "ftp://weather.example", "https://user:pw@weather.example", "", None, 7, []):
        assert absolute(other) is None


def test_raw_is_what_was_served() -> None:
    text = json.dumps(V1, indent=3).encode()
    found = discovery(AgentSite({CURRENT: served(text)}).gather())
    assert found.cards[0].raw == text
    inline = changed(V1, name="Wetter \ud800", type=...)
    entry = {"identifier": "x", "type": "application/a2a-agent-card+json", "data": inline}
    found = discovery(AgentSite({f"{HOST}/.well-known/ai-catalog.json": catalog(entry)}).gather())
    assert json.loads(found.cards[0].raw) == changed(inline, name="Wetter ?")


def test_the_primary_card_comes_first() -> None:
    entry = {"identifier": "x", "type": "application/a2a-agent-card+json", "data": changed(V1, name="Inline")}
    answers = {
        f"{HOST}/.well-known/ai-catalog.json": catalog(entry),
        CURRENT: served(V1),
        LEGACY: served(V0_2),
        f"{HOST}/x/agent-card.json": served(changed(V1, name="Asked")),
    }
    found = discovery(AgentSite(answers).gather(f"{HOST}/x/agent-card.json"))
    assert [one.members["name"] for one in found.cards] == ["Asked", "Weather", "Inline", "Weather"]
    assert [one.shape for one in found.cards] == [Shape.V1, Shape.V1, Shape.V1, Shape.V0_2]


def test_one_card_at_several_places_is_one() -> None:
    entry = {"identifier": "x", "type": "application/a2a-agent-card+json", "url": CURRENT}
    answers = {f"{HOST}/.well-known/ai-catalog.json": catalog(entry), CURRENT: served(V1), LEGACY: served(V1)}
    found = discovery(AgentSite(answers).gather())
    assert [(one.url, one.document.also_at, one.document.is_claimed) for one in found.cards] == [
        (CURRENT, (LEGACY,), True)
    ]


def test_the_plan_has_every_purpose() -> None:
    assert sorted(step.purpose for step in PLAN) == sorted(Purpose)
