"""What people reported of real servers, each as a small case of our own making, with the verdict that is right."""

import gzip
import json as json_text
from collections.abc import Mapping

import pytest

from gated import (  # fmt: skip
    AUDITOR,
    CHALLENGE,
    ENDPOINT,
    ISSUER,
    JSON,
    OAUTH,
    OPENID,
    PATH_PRM,
    PRM,
    ROOT_PRM,
    GatedSite,
    auditor,
    faults,
    gated,
    json,
    judged,
    metadata,
    of_revision,
    refused,
    server,
)
from parley.audit import audit
from parley.fetch.client import Fetcher
from parley.fetch.policy import LOCAL
from parley.report import Status
from servers import real_site
from sites import HOST, Answer, Site, html

ORIGIN_METADATA = metadata(resource=f"{HOST}/")
RPC_401 = {"jsonrpc": "2.0", "error": {"code": -32001, "message": "Authorization required", "id": 1}}

# (report, what was seen, answers, refusal, endpoint, the codes of warnings and faults)
REPORTS: list[tuple[str, str, Mapping[str, Answer | None], Answer | None, list[int]]] = [
    ("I01", "no mechanism at all", {PATH_PRM: None}, refused(None), [402]),
    ("I02", "no metadata URL in the challenge, metadata at the path", {}, refused('Bearer error="invalid_token", error_description="no token"'), [301]),
    ("I04", "a plain JSON 401", {PATH_PRM: None}, refused(None, body=RPC_401), [402]),
    ("I05", "a bare 401, and metadata of another endpoint", {PATH_PRM: metadata(resource=f"{HOST}/sse")}, refused(None), [301, 407]),
    ("I07", "metadata by the header only", {PATH_PRM: None, "/oauth/resource": metadata()}, refused(f'Bearer resource_metadata="{HOST}/oauth/resource"'), []),
    ("I08", "the URL under resource=", {}, refused(f'Bearer resource="{PATH_PRM}"'), [403]),
    ("I10", "https: without slashes", {}, refused(f'Bearer resource_metadata="https:weather.example{PRM}/mcp"'), [403]),
    ("I10", "a host that was eaten", {}, refused(f'Bearer resource_metadata="https://er.example{PRM}/mcp"'), [403]),
    ("I11", "http in metadata, TLS ends upstream", {PATH_PRM: metadata(resource=ENDPOINT.replace("https", "http"))}, refused(CHALLENGE.replace("https", "http")), [403, 406]),
    ("I13", "an internal host in public metadata", {PATH_PRM: metadata(resource="http://localhost:3000/mcp")}, refused(CHALLENGE.replace(HOST, "http://localhost:3000")), [403, 406]),
    ("I14", "the well-known path appended to the endpoint", {PATH_PRM: None, ROOT_PRM: metadata()}, refused(f'Bearer resource_metadata="{ENDPOINT}{PRM}"'), [403]),
    ("I16", "an access gateway: 302 and a scheme of its own", {PATH_PRM: None, "/cdn/access/resource": metadata()}, refused(f'Gateway-Access resource_metadata="{HOST}/cdn/access/resource"', status=302, location="https://team.gateway.example/login"), [400, 418]),
    ("I17", "an SSO gateway's redirect", {PATH_PRM: None, f"{HOST}/.well-known/oauth-authorization-server": server()}, refused(None, status=302, location="https://sso.example/oauth2/authorize?client_id=1"), [400, 402]),
    ("I20", "root metadata for a path, the path's protected", {PATH_PRM: Answer(status=401), ROOT_PRM: ORIGIN_METADATA}, refused(None), [301, 305, 416]),
    ("I23", "a serialiser adds a slash to the origin", {ROOT_PRM: metadata(resource=HOST)}, None, []),
    ("I25", "one fixed resource for every path", {PATH_PRM: metadata(resource=f"{HOST}/fhir")}, None, [407]),
    ("I26", "root and path disagree", {ROOT_PRM: metadata(resource=HOST, authorization_servers=[f"{ISSUER}/root"])}, None, [306]),
    ("I31", "discovery behind a login", {PATH_PRM: Answer(status=401), ROOT_PRM: Answer(status=401)}, refused(), [416, 416]),
    ("I32", "no OpenID document", {OPENID: None}, None, []),
    ("I35", "an issuer with many segments", {PATH_PRM: metadata(authorization_servers=[f"{ISSUER}/a/b/c"]), f"{ISSUER}/a/b/c/.well-known/openid-configuration": server(issuer=f"{ISSUER}/a/b/c")}, None, []),
    ("I37", "no slash in the metadata, one at the server", {OAUTH: server(issuer=f"{ISSUER}/")}, None, [411]),
    ("I38", "the other way round", {PATH_PRM: metadata(authorization_servers=[f"{ISSUER}/"])}, None, [411]),
    ("I40", "a slash on an issuer without a path", {PATH_PRM: metadata(authorization_servers=[f"{ISSUER}/"]), OPENID: server()}, None, [411, 411]),
    ("I41", "a document of another issuer", {PATH_PRM: metadata(authorization_servers=[f"{ISSUER}/v1/abc"]), f"{ISSUER}/.well-known/oauth-authorization-server/v1/abc": server(issuer="https://platform.example")}, None, [410]),
    ("I43", "PKCE not advertised by OpenID", {OAUTH: None, OPENID: server(code_challenge_methods_supported=...)}, None, [413]),
    ("I50", "a redirect to the home page", {PATH_PRM: Answer(body=b"<!DOCTYPE html><p>Home", headers={"content-type": "text/html"}, final_url=f"{HOST}/home")}, refused(None), [416]),
    ("I52", "no CORS on discovery", {PATH_PRM: Answer(body=metadata().body, headers={"content-type": "application/json"}), OAUTH: Answer(body=server().body, headers={"content-type": "application/json"}), f"OPTIONS {ENDPOINT}": Answer(status=404)}, None, [310, 310, 311]),
    ("I53", "the challenge hidden from browsers, and offline_access", {f"TOKEN {ENDPOINT}": Answer(status=401, headers={"www-authenticate": 'Bearer error="invalid_token"', "access-control-allow-origin": "*"}), PATH_PRM: metadata(scopes_supported=["a", "offline_access"])}, None, [303, 311]),
    ("I121", "metadata typed as text", {PATH_PRM: json(metadata().body, content_type="text/plain")}, None, [405]),
    ("I131", "metadata of another host", {f"https://platform.example{PRM}": metadata(resource="https://platform.example")}, refused(f'Bearer resource_metadata="https://platform.example{PRM}"'), [407]),
    ("I134", "the challenge leads to the origin's", {PATH_PRM: None, ROOT_PRM: metadata(resource=HOST)}, refused(f'Bearer resource_metadata="{ROOT_PRM}"'), [407]),
    ("I136", "nothing at appended places", {}, refused(None), [301]),
    ("I137", "nothing at the well-known places, the server elsewhere", {PATH_PRM: None}, refused("Bearer"), [402]),
    ("I151", "a host in its own script", {PATH_PRM: metadata(authorization_servers=["https://bücher.example"]), "https://xn--bcher-kva.example/.well-known/oauth-authorization-server": server(issuer="https://bücher.example")}, None, [315, 315]),
    ("I161", "CIMD with an allow-list", {OAUTH: server(client_id_metadata_document_supported=True)}, None, []),
    ("I163", "a bad token without an error", {f"TOKEN {ENDPOINT}": refused('Bearer realm="mcp"')}, None, [312]),
    ("I163", "an anonymous 401 needs no error", {}, refused(CHALLENGE), []),
    ("I164", "a 403 with scopes only, which no anonymous caller sees", {}, None, []),
]  # fmt: skip


@pytest.mark.parametrize(
    ("answers", "refusal", "expected"), [one[2:] for one in REPORTS], ids=[f"{one[0]}: {one[1]}" for one in REPORTS]
)
def test_report(answers: Mapping[str, Answer | None], refusal: Answer | None, expected: list[int]) -> None:
    assert faults(judged(gated(answers, refusal=refusal))) == expected


def test_i02_by_revision() -> None:
    challenge = refused('Bearer error="invalid_token"')
    assert faults(of_revision("2025-06-18", {}, challenge)) == [401]
    for revision in ("2025-11-25", "2026-07-28"):
        assert faults(of_revision(revision, {}, challenge)) == [301]


def test_i43_by_revision() -> None:
    without = {OAUTH: None, OPENID: server(code_challenge_methods_supported=...)}
    assert faults(of_revision("2025-06-18", without, refused())) == [314, 409]
    assert faults(of_revision("2025-11-25", without, refused())) == [413]


def test_i19_loopback_may_use_http_but_not_another_resource() -> None:
    local = "http://localhost:8000"
    site = GatedSite(
        {
            f"{local}/mcp": refused(None),
            f"{local}{PRM}/mcp": metadata(resource=f"{local}/", authorization_servers=[local]),
            f"{local}/.well-known/oauth-authorization-server": server(
                issuer=local, authorization_endpoint=f"{local}/authorize", token_endpoint=f"{local}/token"
            ),
        }
    )
    assert [one for one in faults(judged(site, f"{local}/mcp")) if one >= 400] == [407]


@pytest.mark.parametrize(
    ("answers", "refusal", "expected"),
    [
        pytest.param({ROOT_PRM: metadata(resource=HOST)}, refused(None), [305], id="by the root"),
        pytest.param({ROOT_PRM: metadata(resource=HOST)}, refused(f'Bearer resource_metadata="{ROOT_PRM}"'), [407], id="by the challenge"),
        pytest.param({f"{PRM}/api/mcp/sse": metadata(resource=HOST)}, refused(None), [407], id="by the path"),
    ],
)  # fmt: skip
def test_i133_origin_resource_by_route(answers: dict[str, Answer], refusal: Answer, expected: list[int]) -> None:
    endpoint = f"{HOST}/api/mcp/sse"
    site = gated({PATH_PRM: None} | answers, refusal=refusal, endpoint=endpoint)
    assert [one for one in faults(judged(site, endpoint)) if one not in (301,)] == expected


def test_i28_metadata_of_an_open_endpoint_is_not_looked_for() -> None:
    """A-28 judged otherwise: an open server owes no OAuth, and gets no finding for it.

    Servers that let anybody list their tools and gate the calls publish metadata, and are right to; an audit makes no
    call, and cannot tell them from those that have it for nothing.
    """
    tools = json({"jsonrpc": "2.0", "id": "parley:tools/0", "result": {"tools": []}})
    site = GatedSite({f"POST {ENDPOINT}": tools, PATH_PRM: metadata(), ROOT_PRM: metadata()})
    assert faults(judged(site)) == []
    assert judged(site).status is Status.INFORMATION


def test_i55_a_redirect_to_the_slash_form_is_no_gate() -> None:
    assert faults(judged(GatedSite({ENDPOINT: Answer(status=307, headers={"location": "/mcp/"})}))) == []


def test_i29_a_banner_on_get_is_no_metadata() -> None:
    banner = Answer(body={"name": "CRM", "version": "1"}, headers=JSON)
    site = gated({f"GET {ENDPOINT}": banner, f"TOKEN {ENDPOINT}": banner})
    assert faults(judged(site)) == []


def test_i116_compressed_documents_are_read() -> None:
    with real_site() as site:
        endpoint = f"{site.url}/mcp"
        prm = {"resource": endpoint, "authorization_servers": [site.url]}
        asm = dict(server(issuer=site.url, authorization_endpoint=f"{site.url}/a", token_endpoint=f"{site.url}/t").body)  # type: ignore[call-overload]
        for path, document in ((f"{PRM}/mcp", prm), ("/.well-known/oauth-authorization-server", asm)):
            packed = gzip.compress(json_text.dumps(document).encode())
            site.answers[path] = Answer(body=packed, headers=JSON | {"content-encoding": "gzip"})
        site.answers["/mcp"] = refused(f'Bearer resource_metadata="{site.url}{PRM}/mcp", scope="x"')
        report = auditor(audit(endpoint, lambda target: Fetcher(target.url, LOCAL)))
    assert [one for one in faults(report) if one >= 400] == []
    assert not any("encoding" in one.reason for one in report.untested)


# The other traps (spec-drift.md) that must stay green.
TRAPS: list[tuple[str, Mapping[str, Answer | None], Answer | None]] = [
    ("a realm behind pages at the inserted forms", {PATH_PRM: metadata(authorization_servers=[f"{ISSUER}/realms/x"]), f"{ISSUER}/.well-known/oauth-authorization-server/realms/x": html(), f"{ISSUER}/.well-known/openid-configuration/realms/x": html(), f"{ISSUER}/realms/x/.well-known/openid-configuration": server(issuer=f"{ISSUER}/realms/x")}, None),
    ("an issuer that ends in a slash everywhere", {PATH_PRM: metadata(authorization_servers=[f"{ISSUER}/"]), OAUTH: server(issuer=f"{ISSUER}/")}, None),
    ("only RFC 8414", {OPENID: None}, None),
    ("only OpenID", {OAUTH: None, OPENID: server()}, None),
    ("a realm that is reachable by the appended form only", {PATH_PRM: metadata(authorization_servers=[f"{ISSUER}/realms/x"]), f"{ISSUER}/realms/x/.well-known/openid-configuration": server(issuer=f"{ISSUER}/realms/x")}, None),
    ("no charset", {PATH_PRM: json(metadata().body)}, None),
    ("no CIMD allow-list is seen", {OAUTH: server(registration_endpoint=f"{ISSUER}/r")}, None),
    ("metadata republished at the endpoint's origin with another issuer", {f"{HOST}/.well-known/oauth-authorization-server": server(issuer=HOST)}, None),
    ("scope before resource_metadata", {}, refused(f'Bearer scope="a b", error="invalid_token", resource_metadata="{PATH_PRM}"')),
]  # fmt: skip


@pytest.mark.parametrize(("answers", "refusal"), [one[1:] for one in TRAPS], ids=[one[0] for one in TRAPS])
def test_trap(answers: Mapping[str, Answer | None], refusal: Answer | None) -> None:
    assert faults(judged(gated(answers, refusal=refusal))) == []


@pytest.mark.parametrize("site", [Site({}), Site({}, default=html()), Site({f"{HOST}/": html()})])
def test_sites_that_are_no_servers_get_no_verdict(site: Site) -> None:
    assert faults(judged(site)) == []
    assert AUDITOR in {one.name for one in site.audit(ENDPOINT).auditors}
