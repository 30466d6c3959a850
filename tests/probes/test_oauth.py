"""What is asked along the chain: which places, in which order, side by side, and nothing else."""

import threading

import pytest

from gated import (
    ENDPOINT,
    ISSUER,
    OAUTH,
    OPENID,
    PATH_PRM,
    PRM,
    ROOT_PRM,
    GatedSite,
    gated,
    metadata,
    refused,
    server,
    urls,
)
from parley.documents.oauth import Purpose
from parley.evidence import Exchange, FailureCode, Request
from parley.probes import side_by_side
from parley.probes.oauth import MADE_UP_TOKEN
from sites import HOST, Answer, Site, fails, numbers

AUDITOR = "PARLEY-McpAuthAuditor"
ORIGIN_OAUTH = f"{HOST}/.well-known/oauth-authorization-server"
AT_ENDPOINT = [f"OPTIONS {ENDPOINT}", f"TOKEN {ENDPOINT}"]
TENANT = f"{ISSUER}/t/x"
OTHERS = ("MCP ", "Server Card", "AI Catalog", "Agent Card", "a path beside")
"""How the purposes of other probes' requests begin."""


def walked(site: Site, asked: str = ENDPOINT) -> list[str]:
    """What the chain's probe asked for, in the order in which it came to the site."""
    site.gather(asked)
    ours = [one for one in site.requests if not one.purpose.startswith(OTHERS) or "Authorization" in one.headers]
    return [f"{_kind(one)} {one.url}".strip() for one in ours]


def _kind(request: Request) -> str:
    if "Authorization" in request.headers:
        return "TOKEN"
    return "" if request.method == "GET" else request.method


WALKS: list[tuple[str, dict[str, Answer | None], Answer | None, list[str], list[str]]] = [
    ("the challenge names the path's place", {}, None, [PATH_PRM, ROOT_PRM], [OAUTH, OPENID]),
    ("no challenge", {}, refused(None), [PATH_PRM, ROOT_PRM], [OAUTH, OPENID]),
    ("another place", {}, refused(f'Bearer resource_metadata="{HOST}/meta"'), [f"{HOST}/meta", PATH_PRM, ROOT_PRM], [OAUTH, OPENID]),
    ("no URL in the challenge", {}, refused('Bearer resource_metadata="file:///proc/self/environ"'), [PATH_PRM, ROOT_PRM], [OAUTH, OPENID]),
    ("two challenges, the second of no scheme we know", {}, refused(f'Bearer, Gate resource_metadata="{HOST}/meta"'), [f"{HOST}/meta", PATH_PRM, ROOT_PRM], [OAUTH, OPENID]),
    ("an issuer with a path", {PATH_PRM: metadata(authorization_servers=[TENANT])}, None, [PATH_PRM, ROOT_PRM], [f"{ISSUER}/.well-known/oauth-authorization-server/t/x", f"{ISSUER}/.well-known/openid-configuration/t/x", f"{TENANT}/.well-known/openid-configuration"]),
    ("only the first of three issuers", {PATH_PRM: metadata(authorization_servers=[ISSUER, "https://b.example", "https://c.example"])}, None, [PATH_PRM, ROOT_PRM], [OAUTH, OPENID]),
    ("no metadata", {PATH_PRM: None}, None, [PATH_PRM, ROOT_PRM], [ORIGIN_OAUTH]),
    ("no issuer", {PATH_PRM: metadata(authorization_servers=[])}, None, [PATH_PRM, ROOT_PRM], []),
    ("an issuer that is a metadata URL", {PATH_PRM: metadata(authorization_servers=[OAUTH])}, None, [PATH_PRM, ROOT_PRM], []),
    ("an issuer that is none", {PATH_PRM: metadata(authorization_servers=["javascript:alert(1)"])}, None, [PATH_PRM, ROOT_PRM], []),
]  # fmt: skip


@pytest.mark.parametrize(("answers", "refusal", "first", "second"), [one[1:] for one in WALKS], ids=[one[0] for one in WALKS])  # fmt: skip
def test_walk(answers: dict[str, Answer | None], refusal: Answer | None, first: list[str], second: list[str]) -> None:
    asked = walked(gated(answers, refusal=refusal))
    assert sorted(asked[: len(first)]) == sorted(first)
    assert sorted(asked[len(first) :]) == sorted(second + AT_ENDPOINT)


def test_ten_thousand_issuers_are_two_requests() -> None:
    many = [f"https://victim{i}.example" for i in range(10_000)]
    asked = walked(gated({PATH_PRM: metadata(authorization_servers=many)}))
    assert len([url for url in asked if "victim" in url]) == 2


def test_what_is_sent() -> None:
    site = gated()
    site.gather(ENDPOINT)
    ours = [one for one in site.requests if one.purpose in set(Purpose)]
    assert len(ours) == 6
    assert {one.method for one in ours} == {"GET", "OPTIONS"}
    assert all(one.body is None for one in ours)
    assert all(one.headers["Origin"] == "https://parley.example" for one in ours)
    tokens = [one for one in site.requests if "Authorization" in one.headers]
    assert [(str(one.url), one.headers["Authorization"]) for one in tokens] == [(ENDPOINT, f"Bearer {MADE_UP_TOKEN}")]
    assert [one.method for one in ours].count("OPTIONS") == 1


def test_no_endpoint_of_the_authorization_server_is_asked() -> None:
    site = gated({OAUTH: server(registration_endpoint=f"{ISSUER}/register", jwks_uri=f"{ISSUER}/jwks")})
    site.gather(ENDPOINT)
    assert all("/.well-known/" in url for url in urls(site) if url.startswith(ISSUER))


def test_the_record_is_in_a_clients_order() -> None:
    evidence = gated().gather(ENDPOINT)
    asked = [one.url for one in evidence.exchanges if "metadata" in one.purpose]
    assert asked == [PATH_PRM, ROOT_PRM, OAUTH, OPENID]


@pytest.mark.parametrize(
    "answers",
    [{}, {ENDPOINT: Answer(status=404)}, {ENDPOINT: Answer(status=307, headers={"location": "/mcp/"})}],
)
def test_without_a_gate_nothing_is_asked(answers: dict[str, Answer]) -> None:
    site = GatedSite(answers)
    site.gather(ENDPOINT)
    assert not any("oauth" in url or "openid" in url for url in urls(site))


def test_in_doubt_nothing_more_is_asked() -> None:
    assert sorted(walked(GatedSite({ENDPOINT: Answer(status=403)}))) == sorted([PATH_PRM, ROOT_PRM])


def test_requests_of_a_step_are_under_way_together() -> None:
    first = threading.Barrier(3, timeout=10)
    second = threading.Barrier(4, timeout=10)

    class Together(GatedSite):
        def __call__(self, request: Request) -> Exchange:
            exchange = super().__call__(request)
            if request.purpose in set(Purpose):
                (first if request.purpose == Purpose.METADATA else second).wait()
            return exchange

    site = Together(gated(refusal=refused(f'Bearer resource_metadata="{HOST}/meta"')).answers)
    site.gather(ENDPOINT)
    assert not first.broken
    assert not second.broken


def test_a_login_is_not_followed() -> None:
    site = gated(refusal=Answer(status=302, headers={"location": "https://sso.example/authorize"}))
    assert sorted(walked(site)) == sorted([PATH_PRM, ROOT_PRM, OAUTH, OPENID])


def test_side_by_side_keeps_the_order_of_the_requests() -> None:
    turn = [threading.Event() for _ in range(4)]

    def fetch(request: Request) -> Exchange:
        index = int(str(request.url).rpartition("/")[2])
        if index < 3:
            assert turn[index].wait(10)
        turn[index - 1].set()
        return Site({})(request)

    requests = [Request(purpose="x", url=f"{HOST}/{index}") for index in range(4)]
    assert [one.url for one in side_by_side(fetch, requests)] == [f"{HOST}/{index}" for index in range(4)]
    assert side_by_side(fetch, []) == []


def test_a_metadata_loop_ends() -> None:
    """The metadata's URL is the endpoint, whose refusal names the endpoint again."""
    site = gated({PATH_PRM: None}, refusal=refused(f'Bearer resource_metadata="{ENDPOINT}"'))
    report = site.audit(ENDPOINT)
    assert len(site.requests) < 20
    assert 416 in numbers(report, AUDITOR)


def test_redirects_that_go_round_are_named() -> None:
    site = gated({PATH_PRM: fails(FailureCode.REDIRECTS, "redirects more than 3 times")})
    found = next(one for one in site.audit(ENDPOINT).auditors if one.name == AUDITOR)
    assert any("redirects more than 3 times" in one.message for one in found.checks if one.code.endswith("-403"))


def test_prm_url_of_the_endpoint_is_inserted() -> None:
    site = GatedSite({f"{HOST}/api/mcp/sse": refused(None)})
    assert f"{HOST}{PRM}/api/mcp/sse" in walked(site, f"{HOST}/api/mcp/sse")
    assert not any(url.startswith(f"{HOST}/api/mcp/sse/.well-known") for url in urls(site))
