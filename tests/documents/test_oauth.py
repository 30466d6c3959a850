"""The chain's places and texts: which URLs, and what is the same as what."""

import ipaddress

import pytest

from gated import ENDPOINT, ISSUER, PATH_PRM, PRM, gated, metadata, refused
from parley.documents.mcp import gate
from parley.documents.mcp_gate import Gate, gate_of
from parley.documents.mcp_plan import Purpose
from parley.documents.mcp_reply import read as read_reply
from parley.documents.oauth import (
    How,
    difference,
    is_inside,
    is_resource,
    metadata_urls,
    pointer,
    read,
    same_resource,
    server_urls,
)
from parley.evidence import FailureCode, Request
from parley.fetch.policy import DEPLOYED, LOCAL, Policy
from parley.wire.address import Place
from parley.wire.url import Url
from sites import HOST, Answer, Site, fails

SAME: list[tuple[object, str, bool]] = [
    ("https://a.example", "https://a.example/", True),
    ("https://a.example/", "https://a.example/", True),
    ("https://a.example:8443", "https://a.example:8443/", True),
    ("https://a.example/mcp", "https://a.example/mcp", True),
    ("https://a.example/mcp/", "https://a.example/mcp", False),
    ("https://a.example/mcp", "https://a.example/mcp/", False),
    ("https://A.example/mcp", "https://a.example/mcp", False),
    ("https://a.example?x", "https://a.example/?x", False),
    ("https://a.example//", "https://a.example/", False),
    ("https://", "https:///", False),
    ("", "", True),
    (None, "https://a.example/", False),
    (["https://a.example/"], "https://a.example/", False),
]


RESOURCES: list[tuple[object, str, bool]] = [
    ("https://a.example", "https://a.example/", True),
    ("https://A.example:443/mcp", "https://a.example/mcp", True),
    ("https://a.example/mcp/", "https://a.example/mcp", False),
    ("https://a.example/mcp#x", "https://a.example/mcp", False),
    ("http://a.example/mcp", "https://a.example/mcp", False),
    ("https://a.example/%6dcp", "https://a.example/mcp", False),
    ("https://a.example/./mcp", "https://a.example/mcp", False),
    ("urn:x", "https://a.example/mcp", False),
    (None, "https://a.example/", False),
]


@pytest.mark.parametrize(("written", "requested", "same"), RESOURCES)
def test_is_resource(written: object, requested: str, same: bool) -> None:
    assert is_resource(written, requested) == same


@pytest.mark.parametrize(("written", "requested", "same"), SAME)
def test_same_resource(written: object, requested: str, same: bool) -> None:
    assert same_resource(written, requested) == same


DIFFERENCES = [
    ("https://a.example/mcp", "https://A.EXAMPLE:443/mcp", None),
    ("https://bücher.example/mcp", "https://xn--bcher-kva.example/mcp", None),
    ("https://a.example", "https://a.example/", None),
    ("https://a.example?x", "https://a.example/?x", None),
    ("https://a.example/%7emcp", "https://a.example/~mcp", "they differ in how the path is written"),
    ("https://a.example/a/../mcp", "https://a.example/mcp", "they differ in how the path is written"),
    ("https://a.example/mcp/", "https://a.example/mcp", "they differ in a slash at the end"),
    ("http://a.example/mcp", "https://a.example/mcp", "they differ in the scheme"),
    ("https://b.example/mcp", "https://a.example/mcp", "they differ in the host"),
    ("https://a.example:8443/mcp", "https://a.example/mcp", "they differ in the port"),
    ("https://a.example/sse", "https://a.example/mcp", "they differ in the path"),
    ("https://a.example/mcp?x", "https://a.example/mcp", "they differ in the query"),
    ("https://a.example/mcp#x", "https://a.example/mcp", "it has a fragment"),
    ("http://b.example/", "https://a.example/mcp", "they differ in the scheme and the host and the path"),
    ("urn:x", "https://a.example/mcp", "it is no http(s) URL"),
]


@pytest.mark.parametrize(("written", "wanted", "told"), DIFFERENCES)
def test_difference(written: str, wanted: str, told: str | None) -> None:
    assert difference(written, wanted) == told


ISSUERS = [
    ("https://a.example", ["/.well-known/oauth-authorization-server", "/.well-known/openid-configuration"]),
    ("https://a.example/", ["/.well-known/oauth-authorization-server", "/.well-known/openid-configuration"]),
    ("https://a.example/t", ["/.well-known/oauth-authorization-server/t", "/.well-known/openid-configuration/t", "/t/.well-known/openid-configuration"]),
    ("https://a.example/t/", ["/.well-known/oauth-authorization-server/t", "/.well-known/openid-configuration/t", "/t/.well-known/openid-configuration"]),
    ("https://a.example/a/b/c", ["/.well-known/oauth-authorization-server/a/b/c", "/.well-known/openid-configuration/a/b/c", "/a/b/c/.well-known/openid-configuration"]),
]  # fmt: skip


@pytest.mark.parametrize(("issuer", "paths"), ISSUERS)
def test_server_urls(issuer: str, paths: list[str]) -> None:
    """I35: a multi-segment issuer keeps all its segments."""
    assert list(server_urls(Url.parse(issuer))) == [f"https://a.example{path}" for path in paths]


def gate_at(endpoint: str, refusal: Answer) -> Gate:
    exchange = Site({endpoint: refusal})(Request(purpose=Purpose.DISCOVER, url=endpoint, method="POST"))
    found = gate_of(endpoint, [read_reply(exchange, None)])
    assert found is not None
    return found


ENDPOINTS = [
    ("https://a.example/mcp", [("path", f"{PRM}/mcp"), ("root", PRM)]),
    ("https://a.example/", [("root", PRM)]),
    ("https://a.example/api/mcp/sse", [("path", f"{PRM}/api/mcp/sse"), ("root", PRM)]),
    ("https://a.example/mcp/", [("path", f"{PRM}/mcp/"), ("root", PRM)]),
    ("https://a.example/mcp?tenant=1", [("path", f"{PRM}/mcp?tenant=1"), ("root", PRM)]),
]


@pytest.mark.parametrize(("endpoint", "places"), ENDPOINTS)
def test_metadata_urls(endpoint: str, places: list[tuple[str, str]]) -> None:
    """I136: inserted behind the host, never appended to the endpoint."""
    found = metadata_urls(gate_at(endpoint, refused(None)))
    assert [(how.value, url.removeprefix("https://a.example")) for url, how in found.items()] == places
    named = metadata_urls(gate_at(endpoint, refused(f'Bearer resource_metadata="https://b.example{PRM}"')))
    assert next(iter(named.values())) is How.CHALLENGE
    assert len(named) == len(places) + 1


def test_a_place_that_is_named_twice_is_asked_once() -> None:
    found = gate(gated().gather(ENDPOINT))
    assert found is not None
    assert {url: how.value for url, how in metadata_urls(found).items()} == {
        PATH_PRM: "challenge",
        f"{HOST}{PRM}": "root",
    }


@pytest.mark.parametrize(
    ("challenge", "name", "fault"),
    [
        (f'Bearer resource_metadata="{PATH_PRM}"', "resource_metadata", None),
        (f'Basic realm="x", DPoP resource_metadata="{PATH_PRM}"', "resource_metadata", None),
        (f'Gate resource_metadata="https://gate.example/x", Bearer resource_metadata="{PATH_PRM}"', "resource_metadata", None),
        (f'Bearer metadata_url="{PATH_PRM}"', "metadata_url", None),
        ('Bearer resource_metadata="file:///proc/self/environ"', "resource_metadata", "is not an http(s) URL"),
        ('Bearer resource_metadata="/relative"', "resource_metadata", "is not an http(s) URL"),
        ('Bearer resource_metadata="https://user:pw@a.example/"', "resource_metadata", "carries a user name or a password"),
    ],
)  # fmt: skip
def test_pointer(challenge: str, name: str, fault: str | None) -> None:
    found = gate(gated(refusal=refused(challenge)).gather(ENDPOINT))
    assert found is not None
    seen = pointer(found)
    assert seen is not None
    assert (seen.name, seen.fault) == (name, fault)
    assert fault or seen.written == PATH_PRM


def test_no_pointer() -> None:
    found = gate(gated(refusal=refused('Bearer realm="x", resource="https://weather.example/mcp"')).gather(ENDPOINT))
    assert found is not None
    assert pointer(found) is None


@pytest.mark.parametrize(
    ("url", "inside"),
    [
        ("http://localhost:3000/x", True),
        ("http://127.0.0.1/", True),
        ("https://10.1.2.3/", True),
        ("https://100.64.0.1/", True),
        ("https://[::1]/", True),
        ("https://[fd00::1]/", True),
        ("https://server/", True),
        ("https://auth.internal/", True),
        ("https://nas.local/", True),
        ("https://auth.example/", False),
        ("https://8.8.8.8/", False),
        ("no url", False),
    ],
)
def test_inside(url: str, inside: bool) -> None:
    assert is_inside(url) == inside


@pytest.mark.parametrize("policy", [DEPLOYED, LOCAL])
@pytest.mark.parametrize("address", ["10.0.0.7", "127.0.0.1", "169.254.169.254", "fd00::1"])
def test_the_clients_words_for_a_private_address_are_known(policy: Policy, address: str) -> None:
    """The outcome is read from the reason that the client gives, so the two must agree."""
    reason = policy.refuse_address(ipaddress.ip_address(address), literal=False, led_from=Place.PUBLIC)
    assert reason is not None
    place = f"https://meta.example{PRM}"
    site = gated(
        {place: fails(FailureCode.REFUSED, reason), PATH_PRM: None},
        refusal=refused(f'Bearer resource_metadata="{place}"'),
    )
    evidence = site.gather(ENDPOINT)
    found = gate(evidence)
    assert found is not None
    assert read(found, evidence.exchanges).locations[0].fetched.outcome.name == "INSIDE"


@pytest.mark.parametrize(
    "reason",
    [
        DEPLOYED.refuse_url(Url.parse("https://meta.example.com:81/")),
        "is on a host whose operator asked not to be visited",
        "is this service's own address",
    ],
)
def test_the_clients_other_refusals_are_its_own_manners(reason: str) -> None:
    place = f"https://meta.example{PRM}"
    site = gated({place: fails(FailureCode.REFUSED, reason)}, refusal=refused(f'Bearer resource_metadata="{place}"'))
    evidence = site.gather(ENDPOINT)
    found = gate(evidence)
    assert found is not None
    assert read(found, evidence.exchanges).locations[0].fetched.outcome.name == "OPEN_QUESTION"


def test_what_is_used_is_the_first_that_holds_a_document() -> None:
    evidence = gated({PATH_PRM: Answer(status=404), f"{HOST}{PRM}": metadata(resource=HOST)}).gather(ENDPOINT)
    found = gate(evidence)
    assert found is not None
    chain = read(found, evidence.exchanges)
    assert chain.metadata is not None
    assert chain.metadata.how is How.ROOT
    assert [one.how for one in chain.consulted] == [How.CHALLENGE, How.ROOT]
    assert chain.issuer is not None
    assert chain.issuer.written == ISSUER
    assert not chain.names_endpoint
