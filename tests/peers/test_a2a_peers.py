"""Agent Cards as the official SDKs really serve them: every generation of the Python one, and the JavaScript one.

The servers say how they are built; what is on the wire, and what the auditor must find, follows from that.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import pytest
import requests

from infra import tools
from parley.audit import gather, judge
from parley.evidence import Evidence
from parley.fetch.client import Fetcher
from parley.fetch.policy import LOCAL
from parley.report import Protocol, State
from peers.environments import HERE, node_modules, python, running
from sites import numbers

AUDITOR = "PARLEY-A2aAgentCardAuditor"

CARD = "/.well-known/agent-card.json"
LEGACY = "/.well-known/agent.json"

A2A1 = ("v1", "dual", "signed", "signed-dual", "secured", "extended", "rest", "bare")
A2A03 = ("plain", "secured", "extended", "bare")
A2A02 = ("plain", "extended")
A2AJS = (
    "v1", "dual", "signed", "signed-dual", "secured", "secured-dual", "signed-secured", "json", "signed-json",
    "extended", "extended-dual", "rest", "rest-dual", "bare",
)  # fmt: skip


@pytest.fixture(scope="module")
def a2a1() -> Iterator[Mapping[str, str]]:
    with running(python("a2a1"), HERE / "a2a1" / "servers.py", *A2A1) as listening:
        yield listening


@pytest.fixture(scope="module")
def a2a03() -> Iterator[Mapping[str, str]]:
    with running(python("a2a03"), HERE / "a2a03" / "servers.py", *A2A03) as listening:
        yield listening


@pytest.fixture(scope="module")
def a2a02() -> Iterator[Mapping[str, str]]:
    with running(python("a2a02"), HERE / "a2a03" / "servers.py", *A2A02) as listening:
        yield listening


@pytest.fixture(scope="module")
def a2ajs() -> Iterator[Mapping[str, str]]:
    with running(tools.node(), HERE / "a2ajs" / "servers.mjs", node_modules("a2ajs"), *A2AJS) as listening:
        yield listening


def get(url: str, version: str | None = "1.0") -> requests.Response:
    with requests.Session() as session:
        session.trust_env = False
        return session.get(url, headers={"A2A-Version": version} if version else {}, timeout=30)


def card(origin: str, version: str | None = "1.0", path: str = CARD) -> dict[str, Any]:
    answer = get(origin + path, version)
    assert answer.status_code == 200
    made = answer.json()
    assert isinstance(made, dict)
    return made


def ask(endpoint: str, method: str, version: str) -> dict[str, Any]:
    with requests.Session() as session:
        session.trust_env = False
        question = {"jsonrpc": "2.0", "id": 1, "method": method}
        answer = session.post(endpoint, json=question, headers={"A2A-Version": version}, timeout=30)
    assert answer.status_code == 200
    made = answer.json()
    assert isinstance(made, dict)
    return made


class TestPython1:
    """What it serves does not depend on the version that is asked for."""

    def test_the_1_0_form_has_no_member_of_0_3(self, a2a1: Mapping[str, str]) -> None:
        made = card(a2a1["v1"])
        assert [one["protocolVersion"] for one in made["supportedInterfaces"]] == ["1.0"]
        assert not made.keys() & {"url", "protocolVersion", "preferredTransport"}
        assert made == card(a2a1["v1"], "0.3") == card(a2a1["v1"], None)
        assert get(a2a1["v1"] + LEGACY).status_code == 404

    def test_an_interface_of_0_3_makes_a_hybrid(self, a2a1: Mapping[str, str]) -> None:
        made = card(a2a1["dual"])
        assert [one["protocolVersion"] for one in made["supportedInterfaces"]] == ["1.0", "0.3"]
        assert (made["protocolVersion"], made["url"]) == ("0.3", f"{a2a1['dual']}/a2a")

    def test_in_a_hybrid_each_scheme_is_of_both_forms(self, a2a1: Mapping[str, str]) -> None:
        made = card(a2a1["signed-dual"])
        assert made["securitySchemes"]["bearer"] == {
            "httpAuthSecurityScheme": {"scheme": "Bearer", "bearerFormat": "JWT"},
            "type": "http",
            "scheme": "Bearer",
            "bearerFormat": "JWT",
        }
        assert made["security"] == [{"bearer": []}]

    @pytest.mark.parametrize("mode", ["signed", "signed-dual"])
    def test_signed(self, a2a1: Mapping[str, str], mode: str) -> None:
        signatures = card(a2a1[mode])["signatures"]
        assert [sorted(one) for one in signatures] == [["protected", "signature"]]
        assert [one["kid"] for one in get(f"{a2a1[mode]}/jwks.json").json()["keys"]] == ["key-1"]

    def test_a_requirement_without_scopes_has_no_list(self, a2a1: Mapping[str, str]) -> None:
        made = card(a2a1["secured"])
        assert made["securityRequirements"] == [{"schemes": {"bearer": {}}}]
        assert sorted(made["securitySchemes"]) == ["bearer", "key", "oauth", "oidc"]

    def test_extended(self, a2a1: Mapping[str, str]) -> None:
        """Who asks is not looked at: that is for the author of a server."""
        assert card(a2a1["extended"])["capabilities"]["extendedAgentCard"] is True
        for method, version in (("GetExtendedAgentCard", "1.0"), ("agent/getAuthenticatedExtendedCard", "0.3")):
            more = ask(f"{a2a1['extended']}/a2a", method, version)
            assert [one["id"] for one in more["result"]["skills"]] == ["forecast", "warnings"]

    def test_an_unsupported_version(self, a2a1: Mapping[str, str]) -> None:
        assert ask(f"{a2a1['v1']}/a2a", "GetExtendedAgentCard", "99.0")["error"]["code"] == -32009

    def test_rest(self, a2a1: Mapping[str, str]) -> None:
        made = card(a2a1["rest"])
        assert [one["protocolBinding"] for one in made["supportedInterfaces"]] == ["JSONRPC", "HTTP+JSON"]
        assert get(f"{a2a1['rest']}/rest/extendedAgentCard").status_code == 400

    def test_required_members_are_left_out_where_empty(self, a2a1: Mapping[str, str]) -> None:
        assert sorted(card(a2a1["bare"])) == ["name", "supportedInterfaces", "version"]


class TestPython03:
    def test_the_same_card_at_both_locations(self, a2a03: Mapping[str, str]) -> None:
        made = card(a2a03["plain"])
        assert (made["protocolVersion"], made["url"]) == ("0.3.0", f"{a2a03['plain']}/")
        assert made == card(a2a03["plain"], path=LEGACY)

    def test_secured(self, a2a03: Mapping[str, str]) -> None:
        made = card(a2a03["secured"])
        assert {one["type"] for one in made["securitySchemes"].values()} == {
            "http",
            "apiKey",
            "oauth2",
            "openIdConnect",
        }
        assert [one["transport"] for one in made["additionalInterfaces"]] == ["JSONRPC", "HTTP+JSON"]

    def test_extended(self, a2a03: Mapping[str, str]) -> None:
        assert card(a2a03["extended"])["supportsAuthenticatedExtendedCard"] is True
        more = ask(f"{a2a03['extended']}/", "agent/getAuthenticatedExtendedCard", "0.3")
        assert [one["id"] for one in more["result"]["skills"]] == ["forecast", "warnings"]

    def test_empty_members_are_there(self, a2a03: Mapping[str, str]) -> None:
        made = card(a2a03["bare"])
        assert (made["description"], made["capabilities"], made["skills"]) == ("", {}, [])


class TestPython02:
    @pytest.mark.parametrize("mode", A2A02)
    def test_only_at_the_legacy_location(self, a2a02: Mapping[str, str], mode: str) -> None:
        assert get(a2a02[mode] + CARD).status_code == 404
        made = card(a2a02[mode], path=LEGACY)
        assert made["protocolVersion"] == "0.2.6"
        assert made.get("supportsAuthenticatedExtendedCard", False) == (mode == "extended")


class TestJavaScript:
    def test_every_member_is_there_empty_or_not(self, a2ajs: Mapping[str, str]) -> None:
        made = card(a2ajs["v1"])
        assert (made["securitySchemes"], made["securityRequirements"], made["signatures"]) == ({}, [], [])
        assert made["supportedInterfaces"][0]["tenant"] == ""
        assert "url" not in made
        assert made == card(a2ajs["v1"], "0.3") == card(a2ajs["v1"], None)
        assert (card(a2ajs["bare"])["description"], card(a2ajs["bare"])["skills"]) == ("", [])

    def test_the_form_follows_the_version_asked_for(self, a2ajs: Mapping[str, str]) -> None:
        new, old = card(a2ajs["dual"]), card(a2ajs["dual"], "0.3")
        assert "url" not in new
        assert (old["url"], old["protocolVersion"]) == (f"{a2ajs['dual']}/a2a", "0.3")
        assert old == card(a2ajs["dual"], None)
        # The old form holds the interfaces of both, and so is a hybrid.
        assert old["supportedInterfaces"] == new["supportedInterfaces"]
        assert get(a2ajs["dual"] + CARD).headers["Vary"] == "A2A-Version"

    @pytest.mark.parametrize("mode", ["signed", "signed-secured"])
    def test_signed_anew_for_each_request(self, a2ajs: Mapping[str, str], mode: str) -> None:
        first, second = card(a2ajs[mode])["signatures"], card(a2ajs[mode])["signatures"]
        assert [sorted(one) for one in first + second] == [["protected", "signature"]] * 2
        assert first != second
        assert [one["kid"] for one in get(f"{a2ajs[mode]}/jwks.json").json()["keys"]] == ["key-1"]

    @pytest.mark.parametrize("mode", ["secured", "secured-dual", "signed-secured"])
    def test_its_own_notation_leaks(self, a2ajs: Mapping[str, str], mode: str) -> None:
        schemes = card(a2ajs[mode])["securitySchemes"]
        assert {name: one["scheme"]["$case"] for name, one in schemes.items()} == {
            "bearer": "httpAuthSecurityScheme",
            "key": "apiKeySecurityScheme",
            "oauth": "oauth2SecurityScheme",
            "oidc": "openIdConnectSecurityScheme",
        }
        assert schemes["oauth"]["scheme"]["value"]["flows"]["flow"]["$case"] == "authorizationCode"

    def test_it_does_not_leak_into_the_old_form(self, a2ajs: Mapping[str, str]) -> None:
        made = card(a2ajs["secured-dual"], "0.3")
        assert made["securitySchemes"]["bearer"] == {"type": "http", "scheme": "Bearer", "bearerFormat": "JWT"}

    def test_nor_where_the_author_asked_for_json(self, a2ajs: Mapping[str, str]) -> None:
        made = card(a2ajs["json"])
        assert "$case" not in str(made)
        assert made["securitySchemes"]["key"] == {"apiKeySecurityScheme": {"location": "header", "name": "X-Key"}}
        assert made["securityRequirements"][0] == {"schemes": {"bearer": {}}}

    def test_extended(self, a2ajs: Mapping[str, str]) -> None:
        assert card(a2ajs["extended"])["capabilities"]["extendedAgentCard"] is True
        more = ask(f"{a2ajs['extended']}/a2a", "GetExtendedAgentCard", "1.0")
        assert [one["id"] for one in more["result"]["skills"]] == ["forecast"]  # the fuller one is for the known

    def test_rest(self, a2ajs: Mapping[str, str]) -> None:
        made = card(a2ajs["rest"])
        assert [one["protocolBinding"] for one in made["supportedInterfaces"]] == ["JSONRPC", "HTTP+JSON"]
        assert get(f"{a2ajs['rest']}/rest/extendedAgentCard").status_code == 400


def audited(origin: str) -> tuple[Evidence, State, str, list[int]]:
    """What was asked, the state, the shape, and all codes that are about the card."""
    evidence = gather(origin, lambda target: Fetcher(target.url, LOCAL))
    report = judge(evidence)
    a2a = report.protocols[Protocol.A2A]
    assert a2a.details["cardUrl"] in (origin + CARD, origin + LEGACY)
    return evidence, a2a.state, str(a2a.details["shape"]), numbers(report, AUDITOR)


# What its default form is, and what people add to it: nothing of that is a fault.
SOUND = [
    ("a2a1", "v1", "1.0"),
    ("a2a1", "dual", "hybrid"),
    ("a2a1", "signed", "1.0"),
    ("a2a1", "signed-dual", "hybrid"),
    ("a2a1", "secured", "1.0"),
    ("a2a1", "rest", "1.0"),
    ("a2a03", "plain", "0.3"),
    ("a2a03", "secured", "0.3"),
    ("a2a03", "bare", "0.3"),
    ("a2a02", "plain", "0.2"),
    ("a2ajs", "v1", "1.0"),
    ("a2ajs", "dual", "1.0"),
    ("a2ajs", "signed", "1.0"),
    ("a2ajs", "signed-dual", "1.0"),
    ("a2ajs", "json", "1.0"),
    ("a2ajs", "signed-json", "1.0"),
    ("a2ajs", "rest", "1.0"),
    ("a2ajs", "rest-dual", "1.0"),
]


@pytest.mark.parametrize(("peer", "mode", "shape"), SOUND)
def test_no_fault(request: pytest.FixtureRequest, peer: str, mode: str, shape: str) -> None:
    _, state, found, codes = audited(request.getfixturevalue(peer)[mode])
    assert (state, found) == (State.CONFIRMED, shape)
    assert [code for code in codes if code >= 400] == []


# An extended card for whoever asks, and a notation that leaks, are for other rules; the card is an Agent Card.
@pytest.mark.parametrize(
    ("peer", "mode", "shape"),
    [
        ("a2a1", "extended", "hybrid"),
        ("a2a03", "extended", "0.3"),
        ("a2a02", "extended", "0.2"),
        ("a2ajs", "extended", "1.0"),
        ("a2ajs", "extended-dual", "1.0"),
        ("a2ajs", "secured", "1.0"),
        ("a2ajs", "secured-dual", "1.0"),
        ("a2ajs", "signed-secured", "1.0"),
    ],
)
def test_confirmed_whatever_else_is_told(request: pytest.FixtureRequest, peer: str, mode: str, shape: str) -> None:
    _, state, found, _ = audited(request.getfixturevalue(peer)[mode])
    assert (state, found) == (State.CONFIRMED, shape)


@pytest.mark.parametrize(
    ("peer", "faults"),
    [
        ("a2a1", {411, 416, 417, 418}),  # description, capabilities, modes, skills: left out
        ("a2ajs", {411, 417, 418}),  # there, but empty; the capabilities are an object
    ],
)
def test_required_members_without_content(request: pytest.FixtureRequest, peer: str, faults: set[int]) -> None:
    _, state, shape, codes = audited(request.getfixturevalue(peer)["bare"])
    assert (state, shape) == (State.INDICATED, "1.0")
    assert {code for code in codes if code >= 400} == faults


def test_the_same_is_no_fault_in_0_3(a2a03: Mapping[str, str]) -> None:
    """Its schema asks only that they be there."""
    _, _, _, codes = audited(a2a03["bare"])
    assert {329, 330} <= set(codes)


def test_only_at_the_older_path(a2a02: Mapping[str, str], a2a03: Mapping[str, str]) -> None:
    assert 300 in audited(a2a02["plain"])[3]
    assert 300 not in audited(a2a03["plain"])[3]


@pytest.mark.parametrize(
    ("peer", "mode"),
    [
        ("a2a1", "signed"),  # over the card as it is served
        ("a2a1", "signed-dual"),  # over the 1.0 view of a hybrid, without what is empty
        ("a2ajs", "signed"),
        ("a2ajs", "signed-dual"),
        ("a2ajs", "signed-secured"),
    ],
)
def test_signatures_verify(request: pytest.FixtureRequest, peer: str, mode: str) -> None:
    _, _, _, codes = audited(request.getfixturevalue(peer)[mode])
    assert 140 in codes
    assert 373 not in codes


def test_a_signature_that_leaves_the_schemes_out(a2ajs: Mapping[str, str]) -> None:
    """The SDK signs the card in memory, whose schemes its own canonical form cannot read."""
    assert 378 in audited(a2ajs["signed-json"])[3]


def test_who_asks_for_the_current_form_gets_it(a2ajs: Mapping[str, str]) -> None:
    evidence, _, shape, _ = audited(a2ajs["dual"])
    asked = next(one for one in evidence.exchanges if one.url == a2ajs["dual"] + CARD)
    assert (asked.header("vary"), shape) == ("A2A-Version", "1.0")


def test_a_recording_gives_the_same(a2a1: Mapping[str, str]) -> None:
    evidence, state, _, codes = audited(a2a1["signed-dual"])
    again = judge(Evidence.from_json(evidence.to_json()))
    assert (again.protocols[Protocol.A2A].state, numbers(again, AUDITOR)) == (state, codes)
