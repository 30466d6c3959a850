"""The chain against real servers: authorization servers on oidc-provider, resource servers on the official SDKs.

The servers say how they are built; what the auditor must find follows from that.
"""

from collections.abc import Iterator, Mapping

import pytest

from gated import auditor, faults
from infra import tools
from parley.audit import gather, judge
from parley.evidence import Evidence
from parley.fetch.client import Fetcher
from parley.fetch.policy import LOCAL
from parley.report import Protocol, State, Status
from parley.rules.oauth import McpAuthRules
from peers.environments import HERE, node_modules, python, running

MODES = ("both", "dcr", "cimd", "dcrcimd", "path", "slash", "mismatch", "oauth", "openid")


@pytest.fixture(scope="module")
def issuers() -> Iterator[Mapping[str, str]]:
    provider = node_modules("oidc") / "oidc-provider" / "lib" / "index.js"
    with running(tools.node(), HERE / "oidc" / "server.mjs", provider, *MODES) as listening:
        yield listening


@pytest.fixture(scope="module")
def mcp2(issuers: Mapping[str, str]) -> Iterator[Mapping[str, str]]:
    resources = [f"{mode}={issuer}" for mode, issuer in issuers.items()]
    gone = "gone=http://127.0.0.1:9/nobody"
    with running(python("mcp2"), HERE / "mcp2" / "resources.py", *resources, "own=own", gone) as listening:
        yield listening


@pytest.fixture(scope="module")
def mcp1(issuers: Mapping[str, str]) -> Iterator[Mapping[str, str]]:
    resources = [f"{name}={issuers[mode]}" for name, mode in (("bare", "cimd"), ("path", "path"), ("sse", "path"))]
    with running(python("mcp1"), HERE / "mcp1" / "resources.py", *resources) as listening:
        yield listening


@pytest.fixture(scope="module")
def typescript(issuers: Mapping[str, str]) -> Iterator[Mapping[str, str]]:
    resources = [f"{name}={issuers['cimd']}" for name in ("plain", "browser", "lazy")]
    resources.append(f"dcr={issuers['dcr']}")
    with running(
        tools.node(), HERE / "typescript" / "resources.mjs", node_modules("typescript"), *resources
    ) as listening:
        yield listening


def seen(endpoint: str) -> tuple[Evidence, McpAuthRules, list[int]]:
    evidence = gather(endpoint, lambda target: Fetcher(target.url, LOCAL))
    rules = McpAuthRules(evidence)
    return evidence, rules, faults(rules.judge())


# The servers of the SDK allow no other origin, so a browser meets 311 at all of them.
# (authorization server, documents, registration, codes of warnings and faults, whether the chain validates)
CHAINS = [
    ("both", "both", "neither", [308, 311], True),
    ("dcr", "both", "dcr", [307, 311], True),
    ("cimd", "both", "cimd", [311], True),
    ("dcrcimd", "both", "both", [311], True),
    ("path", "oidc only", "neither", [308, 311], True),
    ("slash", "oidc only", "neither", [308, 311], True),
    ("oauth", "oauth only", "neither", [308, 311], True),
    ("openid", "oidc only", "neither", [308, 311], True),
    ("mismatch", "both", "neither", [308, 311, 410, 410], False),
    ("own", "oauth only", "dcr", [307, 311], True),
    ("gone", "none", None, [311, 409], False),
]


@pytest.mark.parametrize(("mode", "documents", "registration", "expected", "validates"), CHAINS)
def test_chain(
    mcp2: Mapping[str, str], mode: str, documents: str, registration: str | None, expected: list[int], validates: bool
) -> None:
    _, rules, found = seen(mcp2[mode])
    assert found == expected
    assert rules.chain_validates == validates
    auth = rules.auth
    assert auth is not None
    assert {name: auth[name] for name in ("documents", "registration", "reachedBy", "resource", "revisionKnown")} == {
        "documents": documents,
        "registration": registration,
        "reachedBy": "challenge",
        "resource": mcp2[mode],
        "revisionKnown": False,
    }


@pytest.mark.parametrize(
    ("mode", "state"), [("cimd", State.CONFIRMED), ("mismatch", State.INDICATED), ("gone", State.INDICATED)]
)
def test_state_of_the_protocol(mcp2: Mapping[str, str], mode: str, state: State) -> None:
    evidence, rules, _ = seen(mcp2[mode])
    stated = judge(evidence).protocols[Protocol.MCP]
    assert stated.state is state
    assert stated.details["auth"] == rules.auth


def test_details(mcp2: Mapping[str, str], issuers: Mapping[str, str]) -> None:
    _, rules, _ = seen(mcp2["cimd"])
    auth = rules.auth
    assert auth is not None
    assert auth["codeChallengeMethods"] == ["S256"]
    assert auth["issParameter"] is True
    assert auth["issuers"] == [issuers["cimd"]]
    hops = auth["hops"]
    assert isinstance(hops, list)
    assert [hop["hop"] for hop in hops] == [
        "refusal",
        "protected resource metadata by the challenge (used)",
        "protected resource metadata by the root",
        "issuer",
        "authorization server metadata, oauth",
        "authorization server metadata, openid inserted",
    ]


def test_an_issuer_with_a_path_is_found_by_the_appended_form(
    mcp2: Mapping[str, str], issuers: Mapping[str, str]
) -> None:
    evidence, _, _ = seen(mcp2["path"])
    issuer = issuers["path"]
    origin = issuer.removesuffix("/tenant")
    asked = [(one.url, one.status) for one in evidence.exchanges if one.purpose == "Authorization server metadata"]
    assert asked == [
        (f"{origin}/.well-known/oauth-authorization-server/tenant", 404),
        (f"{origin}/.well-known/openid-configuration/tenant", 404),
        (f"{issuer}/.well-known/openid-configuration", 200),
    ]


def test_the_legacy_sdk_adds_a_slash_to_a_bare_issuer(mcp1: Mapping[str, str], issuers: Mapping[str, str]) -> None:
    """Its settings hold a URL, not a text; strict clients refuse what comes of it."""
    _, rules, found = seen(mcp1["bare"])
    assert found == [311, 411, 411]
    assert rules.auth is not None
    assert rules.auth["issuers"] == [f"{issuers['cimd']}/"]
    assert not rules.chain_validates


def test_the_legacy_sdk_with_an_issuer_that_has_a_path(mcp1: Mapping[str, str]) -> None:
    _, rules, found = seen(mcp1["path"])
    assert found == [308, 311]
    assert rules.chain_validates


def test_http_with_sse_behind_a_gate(mcp1: Mapping[str, str]) -> None:
    """POST is not allowed there, so it is GET that asks for authorization."""
    evidence, rules, found = seen(mcp1["sse"])
    assert found == [308, 311]
    report = judge(evidence)
    stated = report.protocols[Protocol.MCP]
    assert (stated.state, stated.details["endpoint"]) == (State.INDICATED, mcp1["sse"])
    assert "PARLEY-McpServerAuditor-400" not in [one.code for one_of in report.auditors for one in one_of.checks]
    assert rules.auth is not None
    assert rules.auth["endpoint"] == mcp1["sse"]
    assert rules.auth["httpStatus"] == 401


def test_a_made_up_token_is_refused_as_it_should_be(mcp2: Mapping[str, str]) -> None:
    evidence, rules, _ = seen(mcp2["both"])
    report = rules.judge()
    assert f"{rules.auditor()}-312" in report.passed
    token = next(one for one in evidence.exchanges if one.purpose == "MCP endpoint with a made-up token")
    assert token.status == 401


def test_only_reading_requests_were_made(mcp2: Mapping[str, str]) -> None:
    evidence, _, _ = seen(mcp2["dcr"])
    others = [one for one in evidence.exchanges if not one.purpose.startswith("MCP ") or "token" in one.purpose]
    assert {one.method for one in others} == {"GET", "OPTIONS"}
    assert not any(name in one.url for one in others for name in ("/reg", "/auth", "/token"))


def test_a_recording_of_them_gives_the_same(mcp2: Mapping[str, str]) -> None:
    evidence, _, _ = seen(mcp2["mismatch"])
    assert auditor(judge(Evidence.from_json(evidence.to_json()))) == auditor(judge(evidence))


def test_typescript(typescript: Mapping[str, str]) -> None:
    _, rules, found = seen(typescript["plain"])
    assert found == [311]
    assert rules.chain_validates
    assert rules.auth is not None
    assert (rules.auth["registration"], rules.auth["revisionKnown"]) == ("cimd", False)


def test_typescript_for_browsers_is_whole(typescript: Mapping[str, str]) -> None:
    _, rules, found = seen(typescript["browser"])
    assert found == []
    assert rules.judge().status is Status.SUCCESS


def test_typescript_with_an_open_handshake_shows_its_revision(typescript: Mapping[str, str]) -> None:
    _, rules, found = seen(typescript["lazy"])
    assert found == [311]
    assert rules.auth is not None
    assert (rules.auth["revision"], rules.auth["revisionKnown"]) == ("2025-11-25", True)
    assert rules.chain_validates


def test_metadata_republished_at_the_resource_is_not_judged(
    typescript: Mapping[str, str], issuers: Mapping[str, str]
) -> None:
    """The SDK's router repeats a part of the authorization server's metadata, without PKCE."""
    evidence, _, found = seen(typescript["dcr"])
    assert found == [307, 311]
    origin = typescript["dcr"].removesuffix("/mcp")
    assert f"{origin}/.well-known/oauth-authorization-server" not in [one.url for one in evidence.exchanges]
    assert f"{issuers['dcr']}/.well-known/oauth-authorization-server" in [one.url for one in evidence.exchanges]
