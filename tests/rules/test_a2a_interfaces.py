"""Where an Agent Card sends its clients: where each rule fires, and where it must not."""

import json
from collections.abc import Mapping

import pytest

from agents import (
    CURRENT,
    HYBRID,
    NASTY,
    V0_2,
    V0_3,
    V1,
    AgentSite,
    assert_harmless,
    auditor,
    changed,
    error,
    fired_and_passed,
    interface,
    message,
    numbered,
    served,
)
from parley.documents.agent_card import Purpose
from parley.documents.mcp_plan import Purpose as McpPurpose
from parley.evidence import Exchange, Request
from parley.report import AuditorReport
from parley.rules.a2a_interfaces import A2aInterfaceRules
from sites import HOST, Answer, Site

OURS = {row.number for row, _ in A2aInterfaceRules.rules()}

GRPC = "GRPC"
CUSTOM = "https://weather.example/bindings/websocket/v1"


def at(url: object, binding: object = "JSONRPC", version: object = "1.0", **members: object) -> dict[str, object]:
    """A card of A2A 1.0 with one interface."""
    return changed(
        V1, supportedInterfaces=[interface(url=url, protocolBinding=binding, protocolVersion=version, **members)]
    )


def several(*interfaces: Mapping[str, object]) -> dict[str, object]:
    return changed(V1, supportedInterfaces=[interface(**one) for one in interfaces])


def at_0(url: object, transport: object = "JSONRPC", **members: object) -> dict[str, object]:
    return changed(V0_3, url=url, preferredTransport=transport, **members)


def also(*interfaces: tuple[object, object], **members: object) -> dict[str, object]:
    """A card of A2A 0.3 with additional interfaces."""
    listed = [changed({"url": url}, transport=transport) for url, transport in interfaces]
    return changed(V0_3, additionalInterfaces=listed, **members)


MAIN = f"{HOST}/a2a"
REST = f"{HOST}/rest"

# A card that is served from https://weather.example, and the numbers of what these rules tell of it.
CARDS: list[tuple[str, object, list[int]]] = [
    ("1.0", V1, []),
    ("0.3", V0_3, []),
    ("0.2", V0_2, []),
    ("both", HYBRID, []),
    ("all core bindings", several({}, {"protocolBinding": "HTTP+JSON"}, {"protocolBinding": GRPC}), []),
    ("two versions at one URL", several({}, {"protocolVersion": "0.3"}), []),
    ("two tenants at one URL", several({"tenant": "a"}, {"tenant": "b"}), []),
    # Bindings.
    ("a binding that is a URI", at("wss://weather.example/a2a", CUSTOM), []),
    ("a binding that is a URN", at(MAIN, "urn:example:binding"), []),
    ("REST", at(MAIN, "REST"), [360]),
    ("http in 1.0", at(MAIN, "http"), [360]),
    ("HTTP_JSON", at(MAIN, "HTTP_JSON"), [360]),
    ("jsonrpc in small letters", at(MAIN, "jsonrpc"), [360]),
    ("json-rpc-over-http", at(MAIN, "json-rpc-over-http"), [360]),
    ("grpc in small letters", at("https://weather.example", "grpc"), [360]),
    ("a binding with spaces around", at(MAIN, " JSONRPC "), [360]),
    ("mcp", at(MAIN, "mcp"), [360]),
    ("a word", at("wss://weather.example/a2a", "websocket"), [360]),
    ("no binding, which is told elsewhere", at(MAIN, ...), []),
    ("a blank binding, which is told elsewhere", at(MAIN, " "), []),
    ("REST in 0.3", at_0(MAIN, "REST"), [360]),
    ("a blank preferredTransport", at_0(MAIN, ""), [360]),
    ("a number for preferredTransport", at_0(MAIN, 7), [360]),
    ("REST in additionalInterfaces", also((MAIN, "JSONRPC"), (REST, "REST")), [360]),
    ("a URI in 0.3", at_0("wss://weather.example/a2a", CUSTOM), []),
    ("no preferredTransport", at_0(MAIN, ...), []),
    # Versions.
    ("a patch number", at(MAIN, version="1.0.0"), [361]),
    ("a version that is none yet", at(MAIN, version="1.0-rc1"), [361]),
    ("a version with a v", at(MAIN, version="v1.0"), [361]),
    ("a major version", at(MAIN, version="1"), [361]),
    ("a version that is none", at(MAIN, version="latest"), [361]),
    ("a version to come", at(MAIN, version="2.0"), [361]),
    ("a minor version to come", at(MAIN, version="1.1"), []),
    ("a day that is no version of MCP", at(MAIN, version="2026-01-01"), [361]),
    ("a number for a version", at(MAIN, version=1.0), []),
    ("a patch number in 0.3", changed(V0_3, protocolVersion="0.3.0"), []),
    ("a version of MCP", at(MAIN, version="2025-06-18"), [430]),
    ("a version of MCP in two of three", several({}, {"protocolVersion": "2025-06-18"}, {"protocolVersion": "2026-07-28"}), [430, 430]),
    ("a version of MCP in 0.x", changed(V0_3, protocolVersion="2024-11-05"), [430]),
    ("a version of MCP in 0.x, with more interfaces", also((MAIN, "JSONRPC"), protocolVersion="2024-11-05"), [430]),
    # MCP, by the entry's own words.
    ("protocol: mcp", at(f"{HOST}/mcp", ..., ..., protocol="mcp"), [431]),
    ("transport: streamable-http", at(f"{HOST}/mcp", "HTTP+JSON", transport="streamable-http"), [431]),
    ("transport: HTTP+JSON, as 0.3 would have it", at(REST, "HTTP+JSON", transport="HTTP+JSON"), []),
    ("a version of MCP and transport: streamable-http", at(f"{HOST}/mcp", "HTTP+JSON", "2025-06-18", transport="streamable-http"), [430]),
    # Absolute URLs.
    ("a path", at("/a2a"), [433]),
    ("a host without a scheme", at("weather.example/a2a"), [433]),
    ("a web socket for JSON-RPC", at("wss://weather.example/a2a"), [433]),
    ("a variable for the host", at_0("https://{host}/a2a"), [433]),
    ("a space at the end", at(MAIN + " "), [433]),
    ("a path in 0.2", changed(V0_2, url="/a2a"), [433]),
    ("a URL of REST without a host", at("https:///a2a", "HTTP+JSON"), [433]),
    ("a path in both views", changed(HYBRID, url="/a2a", supportedInterfaces=[interface(url="/a2a")]), [433]),
    ("a URL with a password", at("https://user:secret@weather.example/a2a"), [435]),
    ("a URL with a user name", at("https://user@weather.example/a2a", "HTTP+JSON"), [435]),
    ("a URL with a password in 0.2", changed(V0_2, url="https://user:secret@weather.example/a2a"), [435]),
    ("a URL of gRPC with a password", at("https://user:secret@weather.example/a2a", GRPC), [435]),
    ("a URL of a custom binding with a user name", at("nats://user@weather.example:4222", CUSTOM), []),
    ("an at sign in the path", at("https://weather.example/@user:secret"), []),
    ("an at sign in the query", at("https://weather.example/?to=user:secret@weather.example"), []),
    ("http with a user name", at("http://user@weather.example/a2a"), [432, 435]),
    ("a password for a private address", at("http://user:secret@10.0.0.7/a2a"), [434, 435]),
    ("the longest URL", at("https://weather.example/" + "a" * 2024), []),
    ("a long URL", at("https://weather.example/" + "a" * 2025), [436]),
    ("a long URL by http", at("http://weather.example/" + "a" * 9000), [432, 436]),
    ("a long URL on this machine", at("http://localhost/" + "a" * 9000, ...), [434, 436]),
    ("a long URL of gRPC", at("https://weather.example/" + "a" * 2025, GRPC), [436]),
    ("a number for a URL", at(7), []),
    ("a blank URL", at(" "), []),
    # https.
    ("http in production", at("http://weather.example/a2a"), [432]),
    ("http of 0.2 in production", changed(V0_2, url="http://weather.example/a2a"), [432]),
    ("http for REST by another name", at("http://weather.example/a2a", "rest"), [360, 432]),
    ("http without a binding", at("http://weather.example/a2a", ...), [432]),
    ("http to a public address", at("http://1.1.1.1/a2a"), [139, 432]),
    ("http to another host, in both views", changed(HYBRID, url="http://api.weather.example/", supportedInterfaces=[interface(url="http://api.weather.example/")]), [432]),
    # Where it can be reached.
    ("localhost", at("http://localhost:8000/a2a"), [434]),
    ("a name below localhost", at("http://agent.localhost:8000/a2a"), [434]),
    ("a loopback address", at("https://127.0.0.1/a2a"), [434]),
    ("another loopback address", at("https://127.8.0.1/a2a"), [434]),
    ("a loopback address of IPv6", at("http://[::1]:8000/a2a"), [434]),
    ("a loopback address of IPv4 in IPv6", at("http://[::ffff:127.0.0.1]/a2a"), [434]),
    ("0.0.0.0", at("http://0.0.0.0:8000/a2a"), [434]),
    ("[::], as I97 has it", at_0("http://[::]:8000/a2a"), [434]),
    ("10/8", at("https://10.1.2.3/a2a"), [434]),
    ("172.16/12, as I100 has it", at_0("http://172.20.0.3:8080/a2a"), [434]),
    ("172.32 is public", at("https://172.32.0.3/a2a"), [139]),
    ("192.168/16", at("http://192.168.1.5/a2a"), [434]),
    ("100.64/10", at("http://100.100.1.5/a2a"), [434]),
    ("169.254/16", at("http://169.254.1.5/a2a"), [434]),
    ("fc00::/7", at("http://[fd12:3456::1]/a2a"), [434]),
    ("an address for documentation", at("https://192.0.2.7/a2a"), [434]),
    ("an address for benchmarks", at("https://198.18.0.1/a2a"), [434]),
    ("an address of 6to4", at("https://[2002::1]/a2a"), [434]),
    ("an IPv4 address in one of IPv6 that is not public", at("https://[64:ff9b::7f00:1]/a2a"), [434]),
    ("a public address", at("https://93.184.216.34/a2a"), [139]),
    ("a public address of IPv6", at("https://[2606:2800:220:1::1]/a2a"), [139]),
    (".internal", at("https://agent.corp.internal/a2a"), [434]),
    (".local", at("http://printer.local/a2a"), [434]),
    ("a container, as I98 has it", at_0("http://agent:9999/"), [434]),
    ("a name that only looks like one of a network", at("https://internal.weather.example/a2a"), []),
    ("an additional interface on this machine", also((MAIN, "JSONRPC"), ("http://localhost:8000/", "JSONRPC")), [434]),
    ("both views on this machine", changed(HYBRID, url="http://localhost:8000/", supportedInterfaces=[interface(url="http://localhost:8000/")]), [434]),
    ("gRPC on this machine", at("localhost:50051", GRPC), [434]),
    ("a host and a port for JSON-RPC", at("localhost:8000"), [433, 434]),
    # Other bindings' URLs.
    ("gRPC by host and port", at("grpc.weather.example:443", GRPC), []),
    ("gRPC by a host", at("grpc.weather.example", GRPC), []),
    ("gRPC by https", at("https://grpc.weather.example/a2a", GRPC), []),
    ("gRPC by its name resolution", at("dns:///grpc.weather.example:443", GRPC), []),
    ("gRPC by http", at("http://grpc.weather.example", GRPC), [366]),
    ("gRPC by a path", at("/a2a.v1.A2AService", GRPC), [366]),
    ("a custom binding on this machine", at("ws://localhost:8000/a2a", CUSTOM), [366]),
    ("a custom binding in plain text", at("ws://weather.example/a2a", CUSTOM), [366]),
    ("a custom binding without a host", at("amqp:queue", CUSTOM), []),
    ("a custom binding of a scheme of its own", at("nats://weather.example:4222/a2a", CUSTOM), []),
    # Tunnels.
    ("ngrok", at("https://uncut-nearby.ngrok-free.dev/a2a"), [139, 367]),
    ("a tunnel of Cloudflare", at_0("https://calm-sea.trycloudflare.com/a2a"), [139, 367]),
    ("a name that ends like one", at("https://myngrok.io.weather.example/a2a"), []),
    # The main interface of 0.x among the additional ones.
    ("the main interface is among them", also((MAIN, "JSONRPC"), (REST, "HTTP+JSON")), []),
    ("the main interface is among them, with a slash", also((MAIN + "/", "JSONRPC"), (REST, "HTTP+JSON")), []),
    ("the main interface is not among them", also((REST, "HTTP+JSON")), [363]),
    ("no additional ones", also(), []),
    ("the main url has another transport there", also((MAIN, "HTTP+JSON")), [364]),
    ("the main url has another transport too", also((MAIN, "HTTP+JSON"), (MAIN, "JSONRPC")), []),
    ("the main url's transport in another spelling", also((MAIN, "jsonrpc")), [360]),
    ("the default transport is among them", also((MAIN, "JSONRPC"), preferredTransport=...), []),
    ("the default transport is not", also((MAIN, GRPC), preferredTransport=...), [364]),
    ("the main url without a transport there", also((MAIN, ...)), []),
    # Twice.
    ("an interface twice", several({}, {}), [365]),
    ("an interface three times", several({}, {}, {}), [365]),
    ("an additional interface twice", also((MAIN, "JSONRPC"), (REST, "HTTP+JSON"), (REST, "HTTP+JSON")), [365]),
    ("an interface twice, once with an empty tenant", several({"tenant": ""}, {}), [365]),
    # Other hosts.
    ("another host", at("https://agents.elsewhere.example/a2a"), [139]),
    ("a host below the card's", at("https://agent.weather.example/a2a"), []),
    ("a host above the card's", at("https://example/a2a"), [434]),
    ("a host that ends like the card's", at("https://bad-weather.example/a2a"), [139]),
]  # fmt: skip


def judged(card: object) -> AuditorReport:
    return auditor(AgentSite({CURRENT: served(card)}).audit())


def told(report: AuditorReport) -> list[int]:
    return [number for number in numbered(report) if number in OURS]


@pytest.mark.parametrize(("card", "numbers"), [case[1:] for case in CARDS], ids=[case[0] for case in CARDS])
def test_card(card: object, numbers: list[int]) -> None:
    assert told(judged(card)) == numbers


# Where a card is served, the interface that it names, and the numbers.
SET_UPS: list[tuple[str, str, list[int]]] = [
    ("http://localhost:8000", "http://localhost:8000/a2a", []),
    ("http://127.0.0.1:8000", "http://localhost:9000/a2a", []),
    ("http://localhost:8000", "http://agent:9000/a2a", []),
    ("http://localhost:8000", "http://192.168.1.5/a2a", []),
    ("http://localhost:8000", "http://0.0.0.0:8000/a2a", [434]),
    ("http://[::1]:8000", "http://[::]:8000/a2a", [434]),
    ("http://localhost:8000", "https://weather.example/a2a", [139]),
    ("http://localhost:8000", "http://weather.example/a2a", [139, 432]),
    ("http://localhost:8000", "/a2a", [433]),
    ("http://192.168.1.5:8000", "http://192.168.1.5:8000/a2a", []),
    ("http://192.168.1.5:8000", "http://10.0.0.7/a2a", []),
    ("http://192.168.1.5:8000", "http://localhost:8000/a2a", [434]),
    ("http://agents.corp.internal", "http://weather.corp.internal/a2a", []),
    ("http://server:8000", "http://server:8000/a2a", []),
    ("https://calm-sea.trycloudflare.com", "https://calm-sea.trycloudflare.com/a2a", []),
    ("https://calm-sea.trycloudflare.com", "http://localhost:8000/a2a", [434]),
]


@pytest.mark.parametrize(("origin", "url", "numbers"), SET_UPS)
def test_a_card_may_name_what_its_reader_can_reach(origin: str, url: str, numbers: list[int]) -> None:
    site = AgentSite({f"{origin}/.well-known/agent-card.json": served(at(url))})
    assert told(auditor(site.audit(origin))) == numbers


class McpSite(AgentSite):
    """An agent's site that speaks MCP at ``/mcp``, by the legacy handshake."""

    def __call__(self, request: Request) -> Exchange:
        if request.purpose == McpPurpose.INITIALIZE and request.url == f"{HOST}/mcp":
            result = {
                "protocolVersion": "2025-11-25",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "weather", "version": "1"},
            }
            answer = Answer(
                body={"jsonrpc": "2.0", "id": _id(request), "result": result},
                headers={"content-type": "application/json"},
            )
            return Site({str(request.url): answer})(request)
        return super().__call__(request)


def _id(request: Request) -> object:
    return json.loads(request.body or b"{}").get("id")


def test_an_mcp_server_is_no_interface_of_an_agent() -> None:
    card = several({}, {"url": f"{HOST}/mcp"})
    unknown = {
        Purpose.EXTENDED: error(-32601, "Method not found"),
        Purpose.NO_VERSION: error(-32601, "Method not found"),
    }
    report = auditor(McpSite({CURRENT: served(card)}, live=unknown).audit())
    assert told(report) == [431]
    assert "supportedInterfaces[1].url" in message(report, 431)
    assert "this audit found one there, of the legacy era" in message(report, 431)
    assert told(auditor(McpSite({CURRENT: served(V1)}, live=unknown).audit())) == []


def test_an_endpoint_that_speaks_both_is_one() -> None:
    card = at(f"{HOST}/mcp")
    assert told(auditor(McpSite({CURRENT: served(card)}).audit())) == []
    unknown = {
        Purpose.EXTENDED: error(-32601, "Method not found"),
        Purpose.NO_VERSION: error(-32601, "Method not found"),
    }
    assert told(auditor(McpSite({CURRENT: served(card)}, live=unknown).audit())) == [431]


WORDS: list[tuple[object, int, list[str]]] = [
    (at(MAIN, "REST"), 360, ['supportedInterfaces[0].protocolBinding of Weather', '"REST": A2A\'s name for it is HTTP+JSON']),
    (at(MAIN, "mcp"), 360, ['"mcp", which is MCP: another protocol than A2A']),
    (at(MAIN, "websocket"), 360, ['"websocket", which is no binding of A2A and no URI']),
    (at_0(MAIN, 7), 360, ["preferredTransport of Weather", "7, a number, not a string"]),
    (also((MAIN, "JSONRPC"), (REST, "rest")), 360, ["additionalInterfaces[1].transport"]),
    (at(MAIN, version="1.0.1"), 361, ['"1.0.1", with a patch number']),
    (at(MAIN, version="3.0"), 361, ["which there is no A2A of"]),
    (at(MAIN, version="2025-06-18"), 430, ["supportedInterfaces[0].protocolVersion", f'"{MAIN}" is declared as A2A']),
    (changed(V0_3, protocolVersion="2024-11-05"), 430, ["protocolVersion of Weather"]),
    (at(f"{HOST}/mcp", ..., ..., protocol="mcp"), 431, ['it says protocol: "mcp"']),
    (also((MAIN, GRPC)), 364, ["is one for JSONRPC, but additionalInterfaces list it for GRPC"]),
    (several({}, {}, {}), 365, ["supportedInterfaces[0] and supportedInterfaces[1] and 1 more"]),
    (at("https://user:secret@weather.example/a2a"), 435, ['"https://***@weather.example/a2a", which carries a user name']),
    (at("http://user:secret@10.0.0.7/"), 434, ['"http://***@10.0.0.7/"']),
    (at("https://weather.example/" + "a" * 9000), 436, ["which has 9024 characters"]),
    (at("http://agent:9999/"), 434, ["a name without a dot"]),
    (at("http://[::]:80/"), 434, ["the address that servers listen on"]),
    (changed(HYBRID, url="/a2a", supportedInterfaces=[interface(url="/a2a")]), 433, ["supportedInterfaces[0].url and url of", "is not an http(s) URL"]),
]  # fmt: skip


@pytest.mark.parametrize(("card", "number", "words"), WORDS)
def test_words(card: object, number: int, words: list[str]) -> None:
    for word in words:
        assert word in message(judged(card), number)


def test_every_rule_fires_and_passes_somewhere() -> None:
    fired, passed = fired_and_passed(judged(card) for _, card, _ in CARDS)
    assert fired >= OURS
    assert passed >= OURS


@pytest.mark.parametrize("card", [V1, V0_3, HYBRID], ids=["1.0", "0.3", "both"])
def test_any_value_anywhere(card: dict[str, object]) -> None:
    names = ("url", "protocolBinding", "transport", "protocolVersion", "tenant", "protocol", "type")
    for value in NASTY:
        changes: list[dict[str, object]] = [{name: value} for name in ("url", "preferredTransport", "protocolVersion")]
        changes += [
            {place: [interface(**{name: value}), {name: value}]}
            for place in ("supportedInterfaces", "additionalInterfaces")
            for name in names
        ]
        for change in changes:
            report = judged(changed(card, **change))
            assert_harmless(report, change)


def test_findings_are_bounded() -> None:
    card = several(
        *({"url": f"http://10.0.{index // 250}.{index % 250}/", "protocolBinding": "rest"} for index in range(5_000))
    )
    report = judged(card)
    for number in (360, 434):
        rows = [one for one in report.checks if one.code.endswith(f"-{number}")]
        assert len(rows) == 50
        assert rows[-1].data["more"] == 4_950
