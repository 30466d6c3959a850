"""Every code of ``PARLEY-McpAuthAuditor``, where it fires and where it must not."""

from collections.abc import Mapping

import pytest

from gated import (
    AUDITOR,
    CHALLENGE,
    ENDPOINT,
    ISSUER,
    JSON,
    METADATA,
    OAUTH,
    OPENID,
    PATH_PRM,
    PRM,
    ROOT_PRM,
    SERVER,
    GatedSite,
    auditor,
    carded,
    changed,
    gated,
    json,
    judged,
    metadata,
    of_revision,
    refused,
    server,
    urls,
)
from parley.audit import judge
from parley.documents.oauth import PLAN, Purpose
from parley.evidence import Evidence, FailureCode
from parley.render.catalogue import checks_markdown
from parley.report import AuditorReport, Status
from parley.rules.oauth import McpAuthRules
from sites import HOST, Answer, Site, fails, html, numbers, served

WHOLE = [100, 104, 105, 200]
"""What a chain without a fault gives."""

WITHOUT = "Bearer"
LATER = "judged by 2026-07-28, since the refusal hides the revision that the server speaks"


def codes(site: Site, asked: str = ENDPOINT) -> list[int]:
    return numbers(site.audit(asked), AUDITOR)


def untested(site: Site, asked: str = ENDPOINT) -> dict[int, str]:
    return {int(one.code[-3:]): one.reason for one in judged(site, asked).untested}


def passed(report: AuditorReport) -> set[int]:
    return {int(code[-3:]) for code in report.passed}


# Parts of the chain that are other than in the whole one, and the codes beside 100: (name, answers, refusal, codes).
Case = tuple[str, Mapping[str, Answer | None], Answer | None, list[int]]

REFUSALS: list[Case] = [
    ("the whole chain", {}, None, [104, 105, 200]),
    ("the challenge names no scope", {}, refused(f'Bearer resource_metadata="{PATH_PRM}"'), [102, 104, 105, 200]),
    ("a JSON-RPC error as body", {}, refused(body={"jsonrpc": "2.0", "id": None, "error": {"code": -32001, "message": "no token"}}), [104, 105, 200]),
    ("a 403 with a challenge", {}, refused(status=403), [104, 105, 200, 300]),
    ("a 403 without one, and metadata", {}, refused(None, status=403), [104, 105, 200, 300, 301]),
    ("a 403 for want of scopes", {}, refused('Bearer error="insufficient_scope"', status=403), [102, 104, 105, 200, 301, 318]),
    ("a 403 for want of scopes, as it should be", {}, refused(f'{CHALLENGE}, error="insufficient_scope"', status=403), [104, 105, 200]),
    ("a redirect to a login", {}, refused(None, status=302, location="https://idp.example/authorize?client_id=x"), [104, 105, 301, 400]),
    ("a challenge under 400", {}, refused(status=400), [104, 105, 400]),
    ("an error that says unauthorized under 200", {}, json({"jsonrpc": "2.0", "id": 1, "error": {"code": -32001, "message": "Unauthorized"}}), [104, 105, 301, 400]),
    ("a challenge under 500", {}, refused(status=500), [104, 105, 400]),
    ("no challenge", {}, refused(None), [104, 105, 200, 301]),
    ("a challenge without the metadata's URL", {}, refused('Bearer scope="forecasts"'), [104, 105, 200, 301]),
    ("Basic before Bearer", {}, refused(f'Basic realm="a, b", {CHALLENGE}'), [104, 105, 200]),
    ("Basic only", {}, refused('Basic realm="mcp"'), [104, 105, 301, 418]),
    ("another scheme with the metadata's URL", {}, refused(f'Gate resource_metadata="{PATH_PRM}"'), [104, 105, 418]),
    ("no comma in the challenge", {}, refused(CHALLENGE.replace(",", "")), [104, 105, 200, 317]),
    ("offline_access in the challenge", {}, refused(CHALLENGE.replace("forecasts", "forecasts offline_access")), [104, 105, 200, 303]),
    ("nothing leads anywhere", {PATH_PRM: None}, refused(None), [402]),
    ("nothing but a Bearer", {PATH_PRM: None}, refused(WITHOUT), [102, 402]),
    (
        "a JSON banner for anything",
        {PATH_PRM: json({"name": "api", "version": 1}), ROOT_PRM: json({"name": "api"})},
        refused(None),
        [402],
    ),
    ("catch-all pages for metadata", {PATH_PRM: html(), ROOT_PRM: html()}, refused(None), [402]),
    ("authorization server metadata at the origin only", {PATH_PRM: None, f"{PRM[:13]}oauth-authorization-server": server()}, refused(None), [108, 402]),
]  # fmt: skip

POINTERS: list[Case] = [
    ("at another place than the well-known ones", {"/meta": metadata(), PATH_PRM: None}, refused(CHALLENGE.replace(f"{PRM}/mcp", "/meta")), [101, 104, 105, 200]),
    ("at another place, and at the path too", {"/meta": metadata()}, refused(CHALLENGE.replace(f"{PRM}/mcp", "/meta")), [104, 105, 200]),
    ("relative", {}, refused(f'Bearer scope="x", resource_metadata="{PRM}/mcp"'), [104, 105, 403]),
    ("empty host", {}, refused(f'Bearer scope="x", resource_metadata="https:/weather.example{PRM}/mcp"'), [104, 105, 403]),
    ("by http", {PATH_PRM.replace("https", "http"): metadata()}, refused(CHALLENGE.replace("https", "http")), [104, 105, 403]),
    ("at localhost", {}, refused(CHALLENGE.replace(HOST, "https://localhost:3000")), [104, 105, 403]),
    ("at a private address", {PATH_PRM: None}, refused(CHALLENGE.replace(HOST, "https://10.0.0.7")), [403]),
    ("at a name that resolves to a private address", {f"https://meta.example{PRM}": fails(FailureCode.REFUSED, "resolves to a private address (10.0.0.7), which this service does not visit")}, refused(f'Bearer scope="x", resource_metadata="https://meta.example{PRM}"'), [104, 105, 403]),
    ("where there is nothing", {f"/mcp{PRM}": None}, refused(CHALLENGE.replace(f"{PRM}/mcp", f"/mcp{PRM}")), [104, 105, 403]),
    ("where there is nothing, nor elsewhere", {PATH_PRM: None}, refused(CHALLENGE.replace(f"{PRM}/mcp", f"/mcp{PRM}")), [403]),
    ("on a host that does not exist", {}, refused(CHALLENGE.replace(HOST, "https://meta.example")), [104, 105, 403]),
    ("at a web page", {"/docs": html()}, refused(CHALLENGE.replace(f"{PRM}/mcp", "/docs")), [104, 105, 403]),
    ("under another name", {}, refused(f'Bearer resource="{PATH_PRM}", scope="x"'), [104, 105, 403]),
    ("at what is no JSON", {"/meta": Answer(body=b"resource: x", headers=JSON)}, refused(CHALLENGE.replace(f"{PRM}/mcp", "/meta")), [104, 105, 404]),
    ("behind a login", {"/meta": Answer(status=401)}, refused(CHALLENGE.replace(f"{PRM}/mcp", "/meta")), [104, 105, 416]),
]  # fmt: skip

DOCUMENTS: list[Case] = [
    ("an array", {PATH_PRM: json([])}, None, [404]),
    ("JSON that breaks off", {PATH_PRM: json(b'{"resource": ')}, refused(None), [404]),
    ("typed as text", {PATH_PRM: json(METADATA, content_type="text/plain")}, None, [104, 105, 200, 405]),
    ("typed with a charset", {PATH_PRM: json(METADATA, content_type="application/json;charset=utf-8")}, None, [104, 105, 200]),
    ("no type", {PATH_PRM: Answer(body=METADATA, headers={"access-control-allow-origin": "*"})}, None, [104, 105, 200, 405]),
    ("not for pages", {PATH_PRM: Answer(body=METADATA, headers={"content-type": "application/json"})}, None, [104, 105, 200, 310]),
    ("closed at its path, open at the root", {PATH_PRM: Answer(status=401), ROOT_PRM: metadata()}, refused(None), [104, 105, 301, 416]),
    ("a 403 for what is not there", {PATH_PRM: Answer(status=403), ROOT_PRM: metadata()}, refused(None), [104, 105, 200, 301]),
    ("closed everywhere", {PATH_PRM: Answer(status=401), ROOT_PRM: Answer(status=401)}, refused(None), [416, 416]),
    ("a redirect to the home page", {PATH_PRM: Answer(body=b"<!doctype html>", headers={"content-type": "text/html"}, final_url=f"{HOST}/")}, refused(None), [416]),
    ("a page in the way", {PATH_PRM: html(), ROOT_PRM: metadata()}, refused(None), [104, 105, 200, 301, 313]),
    ("a page where nobody looks", {ROOT_PRM: html()}, None, [104, 105, 200]),
    ("no resource", {PATH_PRM: metadata(resource=...)}, None, [104, 105, 406]),
    ("null resource", {PATH_PRM: metadata(resource=None)}, None, [104, 105, 302, 406]),
    ("resource is a list", {PATH_PRM: metadata(resource=[ENDPOINT])}, None, [104, 105, 406]),
    ("resource by http", {PATH_PRM: metadata(resource=ENDPOINT.replace("https", "http"))}, None, [104, 105, 406]),
    ("resource with a fragment", {PATH_PRM: metadata(resource=f"{ENDPOINT}#x")}, None, [104, 105, 406]),
    ("resource at localhost", {PATH_PRM: metadata(resource="https://localhost/mcp")}, None, [104, 105, 406]),
    ("resource without a scheme", {PATH_PRM: metadata(resource="weather.example/mcp")}, None, [104, 105, 406]),
    ("resource is another path", {PATH_PRM: metadata(resource=f"{HOST}/sse")}, None, [104, 105, 407]),
    ("resource is another host", {PATH_PRM: metadata(resource="https://platform.example/mcp")}, None, [104, 105, 407]),
    ("resource has a slash more", {PATH_PRM: metadata(resource=f"{ENDPOINT}/")}, None, [104, 105, 407]),
    ("resource is the origin", {PATH_PRM: metadata(resource=HOST)}, None, [104, 105, 407]),
    ("resource has a query", {PATH_PRM: metadata(resource=f"{ENDPOINT}?a=b")}, None, [104, 105, 407]),
    ("resource in capitals", {PATH_PRM: metadata(resource="https://Weather.Example/mcp")}, None, [103, 104, 105, 200]),
    ("resource with its default port", {PATH_PRM: metadata(resource="https://weather.example:443/mcp")}, None, [103, 104, 105, 200]),
    ("the root's, which is the origin's", {PATH_PRM: None, ROOT_PRM: metadata(resource=HOST)}, refused(None), [104, 105, 200, 301, 305]),
    ("the root's, which is the origin's with a slash", {PATH_PRM: None, ROOT_PRM: metadata(resource=f"{HOST}/")}, refused(None), [104, 105, 200, 301, 305]),
    ("the root's, which is the endpoint's", {PATH_PRM: None, ROOT_PRM: metadata()}, refused(None), [104, 105, 200, 301]),
    ("the root's, which is another path's", {PATH_PRM: None, ROOT_PRM: metadata(resource=f"{HOST}/api")}, refused(None), [104, 105, 301, 407]),
    ("the root's by the challenge", {PATH_PRM: None, ROOT_PRM: metadata(resource=HOST)}, refused(CHALLENGE.replace("/mcp", "")), [104, 105, 407]),
    ("no authorization servers", {PATH_PRM: metadata(authorization_servers=...)}, None, [408]),
    ("null authorization servers", {PATH_PRM: metadata(authorization_servers=None)}, None, [302, 408]),
    ("an empty array of them", {PATH_PRM: metadata(authorization_servers=[])}, None, [302, 408]),
    ("a string for an array", {PATH_PRM: metadata(authorization_servers=ISSUER)}, None, [408]),
    ("an object for an issuer", {PATH_PRM: metadata(authorization_servers=[{"issuer": ISSUER}])}, None, [408]),
    ("a metadata URL for an issuer", {PATH_PRM: metadata(authorization_servers=[OAUTH])}, None, [408]),
    ("an issuer with a query", {PATH_PRM: metadata(authorization_servers=[f"{ISSUER}?t=1"])}, None, [408]),
    ("an issuer by http", {PATH_PRM: metadata(authorization_servers=[ISSUER.replace("https", "http")]), OAUTH.replace("https", "http"): server(issuer="http://auth.example")}, None, [104, 105, 408]),
    ("an issuer at localhost", {PATH_PRM: metadata(authorization_servers=["https://localhost"]), "https://localhost/.well-known/oauth-authorization-server": fails(FailureCode.REFUSED, "has a name that only makes sense inside a network (localhost)"), "https://localhost/.well-known/openid-configuration": fails(FailureCode.REFUSED, "has a name that only makes sense inside a network (localhost)")}, None, [408]),
    ("two authorization servers", {PATH_PRM: metadata(authorization_servers=[ISSUER, "https://other.example"])}, None, [104, 105, 110, 200]),
    ("null and empty members", {PATH_PRM: metadata(scopes_supported=[], jwks_uri=None)}, None, [104, 105, 200, 302]),
    ("offline_access", {PATH_PRM: metadata(scopes_supported=["x", "offline_access"])}, None, [104, 105, 200, 303]),
    ("tokens in queries", {PATH_PRM: metadata(bearer_methods_supported=["header", "query"])}, None, [104, 105, 200, 304]),
    ("tokens in bodies only", {PATH_PRM: metadata(bearer_methods_supported=["body"])}, None, [104, 105, 200, 304]),
    ("no word on how tokens are sent", {PATH_PRM: metadata(bearer_methods_supported=...)}, None, [104, 105, 200]),
    ("scopes in one string", {PATH_PRM: metadata(scopes_supported="a b")}, None, [104, 105, 417]),
    ("root and path name other servers", {ROOT_PRM: metadata(authorization_servers=["https://old.example"])}, None, [104, 105, 200, 306]),
    ("root and path describe other resources", {ROOT_PRM: metadata(resource=HOST)}, None, [104, 105, 109, 200]),
    ("root and path are the same", {ROOT_PRM: metadata()}, None, [104, 105, 200]),
    ("letters outside ASCII", {PATH_PRM: metadata(authorization_servers=["https://bücher.example"]), "https://xn--bcher-kva.example/.well-known/oauth-authorization-server": server(issuer="https://bücher.example")}, None, [104, 105, 200, 315, 315]),
    ("members that nobody knows", {PATH_PRM: metadata(x_note="hello", resource_name="Weather")}, None, [104, 105, 200]),
]  # fmt: skip

SERVERS: list[Case] = [
    ("OpenID too", {OPENID: server()}, None, [104, 105, 200]),
    ("OpenID only", {OAUTH: None, OPENID: server()}, None, [104, 105, 200]),
    ("a page in the way", {OAUTH: html(), OPENID: server()}, None, [104, 105, 111, 200]),
    ("a page behind it", {OPENID: html()}, None, [104, 105, 200]),
    ("closed, but not the other", {OAUTH: Answer(status=403), OPENID: server()}, None, [104, 105, 200]),
    ("none", {OAUTH: None}, None, [409]),
    ("pages only", {OAUTH: html(), OPENID: html()}, None, [409]),
    ("no JSON", {OAUTH: json(b"{")}, None, [409]),
    ("JSON of something else", {OAUTH: json({"error": "not found"}), OPENID: json({})}, None, [409]),
    ("JSON of something else in the way", {OAUTH: json({"error": "x"}), OPENID: server()}, None, [104, 105, 111, 200]),
    ("a host that does not exist", {OAUTH: fails(FailureCode.DNS, "does not resolve"), OPENID: fails(FailureCode.DNS, "does not resolve")}, None, [409]),
    ("closed", {OAUTH: Answer(status=401), OPENID: Answer(status=401)}, None, [416, 416]),
    ("another issuer's", {OAUTH: server(issuer="https://honest.example")}, None, [104, 105, 410]),
    ("another scheme", {OAUTH: server(issuer="http://auth.example")}, None, [104, 105, 410]),
    ("another path", {OAUTH: server(issuer=f"{ISSUER}/t1")}, None, [104, 105, 410]),
    ("in capitals", {OAUTH: server(issuer="https://AUTH.example")}, None, [104, 105, 410]),
    ("a slash more", {OAUTH: server(issuer=f"{ISSUER}/")}, None, [104, 105, 411]),
    ("a slash less", {PATH_PRM: metadata(authorization_servers=[f"{ISSUER}/"])}, None, [104, 105, 411]),
    ("a slash everywhere", {PATH_PRM: metadata(authorization_servers=[f"{ISSUER}/"]), OAUTH: server(issuer=f"{ISSUER}/")}, None, [104, 105, 200]),
    ("one right and one wrong", {OPENID: server(issuer=f"{ISSUER}/")}, None, [104, 105, 411]),
    ("no issuer", {OAUTH: server(issuer=...)}, None, [104, 105, 412]),
    ("no response types", {OAUTH: server(response_types_supported=...)}, None, [104, 105, 412]),
    ("no authorization endpoint", {OAUTH: server(authorization_endpoint=...)}, None, [104, 105, 412]),
    ("null token endpoint", {OAUTH: server(token_endpoint=None)}, None, [104, 105, 302, 412]),
    ("no authorization endpoint, for machines only", {OAUTH: server(authorization_endpoint=..., grant_types_supported=["client_credentials"])}, None, [104, 105, 200]),
    ("no PKCE", {OAUTH: server(code_challenge_methods_supported=...)}, None, [104, 105, 413]),
    ("plain PKCE", {OAUTH: server(code_challenge_methods_supported=["plain"])}, None, [104, 105, 413]),
    ("no PKCE in OpenID's", {OPENID: server(code_challenge_methods_supported=...)}, None, [104, 105, 413]),
    ("PKCE with plain too", {OAUTH: server(code_challenge_methods_supported=["plain", "S256"])}, None, [104, 105, 200]),
    ("an endpoint by http", {OAUTH: server(token_endpoint="http://auth.example/token")}, None, [104, 105, 414]),
    ("an endpoint without a host", {OAUTH: server(jwks_uri="/keys")}, None, [104, 105, 414]),
    ("an endpoint at localhost", {OAUTH: server(revocation_endpoint="https://localhost/revoke")}, None, [104, 105, 414]),
    ("a page by http", {OAUTH: server(service_documentation="http://auth.example/docs")}, None, [104, 105, 200]),
    ("DCR only", {OAUTH: server(client_id_metadata_document_supported=..., registration_endpoint=f"{ISSUER}/reg")}, None, [104, 200, 307]),
    ("CIMD turned off, and DCR", {OAUTH: server(client_id_metadata_document_supported=False, registration_endpoint=f"{ISSUER}/reg")}, None, [104, 200, 307]),
    ("DCR and CIMD", {OAUTH: server(registration_endpoint=f"{ISSUER}/reg")}, None, [104, 105, 200]),
    ("neither", {OAUTH: server(client_id_metadata_document_supported=...)}, None, [104, 200, 308]),
    ("CIMD in a string", {OAUTH: server(client_id_metadata_document_supported="true")}, None, [104, 308, 417]),
    ("an endpoint that is a list", {OAUTH: server(revocation_endpoint=[f"{ISSUER}/r"])}, None, [104, 105, 417]),
    ("no iss", {OAUTH: server(authorization_response_iss_parameter_supported=...)}, None, [104, 105, 106, 200]),
    ("no public clients", {OAUTH: server(token_endpoint_auth_methods_supported=["private_key_jwt"])}, None, [104, 105, 107, 200]),
    ("no word on public clients", {OAUTH: server(token_endpoint_auth_methods_supported=...)}, None, [104, 105, 107, 200]),
    ("the implicit grant", {OAUTH: server(grant_types_supported=["authorization_code", "implicit"])}, None, [104, 105, 200, 309]),
    ("the password grant", {OAUTH: server(grant_types_supported=["authorization_code", "password"])}, None, [104, 105, 200, 309]),
    ("tokens as response", {OAUTH: server(response_types_supported=["code", "id_token token"])}, None, [104, 105, 200, 309]),
    ("id tokens as response", {OAUTH: server(response_types_supported=["code", "code id_token"])}, None, [104, 105, 200]),
    ("no grants named", {OAUTH: server(grant_types_supported=...)}, None, [104, 105, 200]),
    ("one URL for two endpoints", {OAUTH: server(token_endpoint=f"{ISSUER}/authorize")}, None, [104, 105, 200, 316]),
    ("typed as bytes", {OAUTH: json(SERVER, content_type="application/octet-stream")}, None, [104, 105, 200, 415]),
    ("not for pages", {OAUTH: Answer(body=SERVER, headers={"content-type": "application/json"})}, None, [104, 105, 200, 310]),
    ("empty members", {OAUTH: server(scopes_supported=[])}, None, [104, 105, 200, 302]),
    ("no response types in the array", {OAUTH: server(response_types_supported=[])}, None, [104, 105, 200, 302]),
]  # fmt: skip

BROWSERS: list[Case] = [
    ("no preflight", {f"OPTIONS {ENDPOINT}": Answer(status=405)}, None, [104, 105, 200, 311]),
    ("a preflight without an origin", {f"OPTIONS {ENDPOINT}": Answer(status=204)}, None, [104, 105, 200, 311]),
    ("a preflight that lacks a header", {f"OPTIONS {ENDPOINT}": Answer(status=200, headers={"access-control-allow-origin": "*", "access-control-allow-headers": "Authorization, Mcp-Method, Mcp-Name"})}, None, [104, 105, 200, 311]),
    ("a preflight with a star and Authorization", {f"OPTIONS {ENDPOINT}": Answer(status=200, headers={"access-control-allow-origin": "*", "access-control-allow-headers": "*, authorization"})}, None, [104, 105, 200]),
    ("a star does not cover Authorization", {f"OPTIONS {ENDPOINT}": Answer(status=200, headers={"access-control-allow-origin": "*", "access-control-allow-headers": "*"})}, None, [104, 105, 200, 311]),
    ("a challenge that is not exposed", {f"TOKEN {ENDPOINT}": Answer(status=401, headers={"www-authenticate": 'Bearer error="invalid_token"', "access-control-allow-origin": "*"})}, None, [104, 105, 200, 311]),
    ("a refusal that pages cannot read", {f"TOKEN {ENDPOINT}": Answer(status=401, headers={"www-authenticate": 'Bearer error="invalid_token"'})}, None, [104, 105, 200, 311]),
    ("a bad token without an error", {f"TOKEN {ENDPOINT}": refused()}, None, [104, 105, 200, 312]),
    ("a bad token breaks the server", {f"TOKEN {ENDPOINT}": Answer(status=500)}, None, [104, 105, 200, 312]),
]  # fmt: skip

CASES = REFUSALS + POINTERS + DOCUMENTS + SERVERS + BROWSERS


@pytest.mark.parametrize(("answers", "refusal", "expected"), [one[1:] for one in CASES], ids=[one[0] for one in CASES])
def test_case(answers: Mapping[str, Answer | None], refusal: Answer | None, expected: list[int]) -> None:
    assert codes(gated(answers, refusal=refusal)) == [100, *expected]


TIMEOUT = fails(FailureCode.TIMEOUT, "timed out after 8 s")
NO_PKCE = server(code_challenge_methods_supported=...)

# By the revision that the server speaks: (revision, answers, challenge, codes beside 100).
REVISIONS: list[tuple[str, Mapping[str, Answer | None], str | None, list[int]]] = [
    ("2025-06-18", {}, CHALLENGE, [104, 105, 200]),
    ("2025-06-18", {}, WITHOUT, [104, 105, 401]),
    ("2025-06-18", {}, None, [104, 105, 401]),
    ("2025-11-25", {}, None, [104, 105, 200, 301]),
    ("2026-07-28", {}, None, [104, 105, 200, 301]),
    ("2025-06-18", {OAUTH: NO_PKCE}, CHALLENGE, [104, 105, 200, 314]),
    ("2025-11-25", {OAUTH: NO_PKCE}, CHALLENGE, [104, 105, 413]),
    ("2025-06-18", {OAUTH: None, OPENID: server()}, CHALLENGE, [104, 105, 409]),
    ("2025-11-25", {OAUTH: None, OPENID: server()}, CHALLENGE, [104, 105, 200]),
    ("2025-11-25", {PATH_PRM: metadata(scopes_supported=["offline_access"])}, CHALLENGE, [104, 105, 200]),
    ("2026-07-28", {PATH_PRM: metadata(scopes_supported=["offline_access"])}, CHALLENGE, [104, 105, 200, 303]),
    ("2025-06-18", {}, f'Bearer resource_metadata="{PATH_PRM}"', [104, 105, 200]),
    ("2025-03-26", {PATH_PRM: None}, WITHOUT, []),
    ("2025-03-26", {PATH_PRM: None, f"{HOST}/.well-known/oauth-authorization-server": server()}, WITHOUT, [108]),
    ("2024-11-05", {OAUTH: server(client_id_metadata_document_supported=..., registration_endpoint=f"{ISSUER}/r")}, CHALLENGE, [104, 200, 307]),
]  # fmt: skip


@pytest.mark.parametrize(("revision", "answers", "challenge", "expected"), REVISIONS)
def test_revision(
    revision: str, answers: Mapping[str, Answer | None], challenge: str | None, expected: list[int]
) -> None:
    report = of_revision(revision, answers, refused(challenge))
    assert [int(one.code[-3:]) for one in report.checks] == [100, *expected]
    assert f"judged by MCP authorization {revision}." in report.checks[0].message


def test_a_document_that_only_one_revision_needs_may_be_unseen() -> None:
    unseen = {OAUTH: TIMEOUT, OPENID: server()}
    old = of_revision("2025-06-18", unseen, refused())
    assert f"{AUDITOR}-409" in {one.code for one in old.untested}
    assert f"{AUDITOR}-409" in of_revision("2025-11-25", unseen, refused()).passed


def test_hidden_revision_is_said() -> None:
    report = judged(gated({OAUTH: NO_PKCE}, refusal=refused(None)))
    messages = {int(one.code[-3:]): one.message for one in report.checks}
    assert "as the refusal hides the revision that the server speaks" in messages[100]
    assert LATER in messages[301]
    assert LATER in messages[413]
    known = of_revision("2025-11-25", {}, refused(None))
    assert "judged by 2025-11-25, which the server speaks" in next(
        one.message for one in known.checks if one.code[-3:] == "301"
    )


# Loopback: http is no fault anywhere in the chain.
LOCAL = "http://127.0.0.1:8000"


def local(**changes: Answer) -> GatedSite:
    issuer = "http://localhost:9000"
    answers = {
        f"{LOCAL}/mcp": refused(f'Bearer resource_metadata="{LOCAL}{PRM}/mcp", scope="x"'),
        f"OPTIONS {LOCAL}/mcp": gated().answers[f"OPTIONS {ENDPOINT}"],
        f"TOKEN {LOCAL}/mcp": refused('Bearer error="invalid_token"'),
        f"{LOCAL}{PRM}/mcp": metadata(resource=f"{LOCAL}/mcp", authorization_servers=[issuer]),
        f"{issuer}/.well-known/oauth-authorization-server": server(
            issuer=issuer, authorization_endpoint=f"{issuer}/a", token_endpoint=f"{issuer}/t"
        ),
    }
    return GatedSite(answers | changes)


def test_loopback_by_http_is_whole() -> None:
    assert codes(local(), f"{LOCAL}/mcp") == WHOLE


def test_loopback_mismatch_is_a_fault_all_the_same() -> None:
    wrong = metadata(resource=f"{LOCAL}/", authorization_servers=["http://localhost:9000"])
    assert 407 in codes(local(**{f"{LOCAL}{PRM}/mcp": wrong}), f"{LOCAL}/mcp")


def test_private_network_by_http_is_a_fault() -> None:
    site = gated({"http://10.0.0.1/mcp": refused(f'Bearer resource_metadata="http://10.0.0.1{PRM}/mcp"'), f"http://10.0.0.1{PRM}/mcp": metadata(resource="http://10.0.0.1/mcp")})  # fmt: skip
    assert {403, 406} <= set(codes(site, "http://10.0.0.1/mcp"))


# Issuers with a path: (issuer, where the document is).
PATHS = [
    (f"{ISSUER}/t1", "/.well-known/oauth-authorization-server/t1"),
    (f"{ISSUER}/t1", "/.well-known/openid-configuration/t1"),
    (f"{ISSUER}/t1", "/t1/.well-known/openid-configuration"),
    (f"{ISSUER}/t1/", "/t1/.well-known/openid-configuration"),
    (f"{ISSUER}/a/b/c", "/.well-known/oauth-authorization-server/a/b/c"),
    (f"{ISSUER}/realms/x", "/realms/x/.well-known/openid-configuration"),
]


@pytest.mark.parametrize(("issuer", "path"), PATHS)
def test_issuer_with_a_path(issuer: str, path: str) -> None:
    site = gated(
        {PATH_PRM: metadata(authorization_servers=[issuer]), OAUTH: None, ISSUER + path: server(issuer=issuer)}
    )
    assert codes(site) == WHOLE


def test_one_openid_document_at_two_places_is_judged_once() -> None:
    wrong = server(issuer="https://other.example")
    places = (f"{ISSUER}/.well-known/openid-configuration/t1", f"{ISSUER}/t1/.well-known/openid-configuration")
    site = gated({PATH_PRM: metadata(authorization_servers=[f"{ISSUER}/t1"])} | dict.fromkeys(places, wrong))
    assert codes(site).count(410) == 1


# Where there is nothing to judge, there is no finding.


def test_open_server_owes_nothing() -> None:
    tools = json({"jsonrpc": "2.0", "id": "parley:tools/0", "result": {"tools": []}})
    site = GatedSite({f"POST {ENDPOINT}": tools, PATH_PRM: metadata()})
    report = judged(site)
    assert (report.checks, report.passed, report.untested) == ((), (), ())
    assert len(report.not_applicable) == len(McpAuthRules.rules())
    assert report.status is Status.INFORMATION
    assert not any("oauth" in url for url in urls(site))


@pytest.mark.parametrize("site", [Site({}), Site({}, default=html()), Site({}, default=Answer(status=405))])
def test_no_server_owes_nothing(site: Site) -> None:
    report = judged(site)
    assert (report.checks, report.passed, report.untested) == ((), (), ())


WALL = Answer(status=403, headers={"cf-mitigated": "challenge"})

# What is no gate to judge: (name, answers, asked, reason).
DOUBTS: list[tuple[str, Mapping[str, Answer], str, str]] = [
    ("a bot wall", {ENDPOINT: WALL}, ENDPOINT, "from behind a bot wall (cf-mitigated"),
    ("a guard of hosts", {ENDPOINT: Answer(status=403, body=b"Invalid Host header")}, ENDPOINT, "which may be a guard that no authorization would open"),
    ("a login, at our own guess", {ENDPOINT: Answer(status=302, headers={"location": "/login?next=/mcp"})}, HOST, "nothing says that it is an MCP endpoint"),
    ("a login, at some page", {f"{HOST}/app": Answer(status=302, headers={"location": "/login"})}, f"{HOST}/app", "nothing says that it is an MCP endpoint"),
    ("a site that is closed as a whole", {ENDPOINT: Answer(status=401), PATH_PRM: Answer(status=401), ROOT_PRM: Answer(status=401)}, HOST, "as does the rest of the site"),
    ("an API that the asker names", {f"{HOST}/v1/things": refused("Bearer")}, f"{HOST}/v1/things", "nothing says that it is an MCP endpoint"),
    ("an API that refuses everything else too", {ENDPOINT: refused("Bearer"), f"{HOST}/": refused("Bearer")}, HOST, "as does the rest of the site"),
    ("out of service", {ENDPOINT: Answer(status=503)}, ENDPOINT, "answered 503"),
    ("silence", {ENDPOINT: fails(FailureCode.TIMEOUT, "timed out after 8 s")}, ENDPOINT, "timed out after 8 s"),
    ("too many requests", {ENDPOINT: Answer(status=429)}, ENDPOINT, "answered 429"),
    ("our own limits", {ENDPOINT: fails(FailureCode.BUDGET, "was not asked: this audit's time was spent")}, ENDPOINT, "this audit's time was spent"),
    ("an API at its root", {f"{HOST}/": Answer(status=401)}, HOST, "nothing says that it is an MCP endpoint"),
]  # fmt: skip


@pytest.mark.parametrize(("answers", "asked", "reason"), [one[1:] for one in DOUBTS], ids=[one[0] for one in DOUBTS])
def test_what_is_in_doubt_is_untested(answers: Mapping[str, Answer], asked: str, reason: str) -> None:
    site = GatedSite(answers)
    report = judged(site, asked)
    assert report.checks == ()
    assert report.passed == ()
    assert {reason in one.reason for one in report.untested} == {True}
    assert len(report.untested) + len(report.not_applicable) == len(McpAuthRules.rules())
    assert report.status is Status.INFORMATION
    assert McpAuthRules(site.gather(asked)).auth is None


def test_a_bot_wall_is_asked_nothing() -> None:
    site = GatedSite({ENDPOINT: WALL})
    site.audit(ENDPOINT)
    assert not any("oauth" in url for url in urls(site))


@pytest.mark.parametrize(
    ("answers", "asked", "expected"),
    [
        pytest.param({PATH_PRM: metadata()}, HOST, [300, 301], id="a 403 with metadata for it"),
        pytest.param(
            {f"{HOST}/.well-known/mcp/server-card.json": served(carded())}, HOST, [], id="a 403 that a card names"
        ),
    ],
)
def test_a_bare_403_is_a_gate_only_with_metadata(answers: dict[str, Answer], asked: str, expected: list[int]) -> None:
    found = codes(GatedSite({ENDPOINT: Answer(status=403), OAUTH: server()} | answers), asked)
    assert [one for one in found if one in (300, 301)] == expected


def test_a_login_that_a_card_or_the_asker_names_is_a_fault() -> None:
    login = {ENDPOINT: Answer(status=302, headers={"location": "https://sso.example/authorize"})}
    assert codes(GatedSite(login)) == [100, 400, 402]
    with_card = login | {f"{HOST}/.well-known/mcp/server-card.json": served(carded())}
    assert codes(GatedSite(with_card), HOST) == [100, 400, 402]


@pytest.mark.parametrize("location", ["/mcp/", "https://www.weather.example/mcp", "/api/v2/mcp", None])
def test_a_redirect_elsewhere_is_no_login(location: str | None) -> None:
    headers = {} if location is None else {"location": location}
    report = judged(GatedSite({ENDPOINT: Answer(status=307, headers=headers)}))
    assert (report.checks, report.untested) == ((), ())


# Evidence that could not be had.
BUDGET = fails(FailureCode.BUDGET, "this audit's requests were spent")

MISSING: list[tuple[str, Mapping[str, Answer | None], Answer | None, set[int], list[int]]] = [
    ("metadata", {PATH_PRM: TIMEOUT}, None, {402, 403, 404, 405, 406, 407, 408, 409, 410, 413, 416}, [100]),
    ("metadata, by our limits", {PATH_PRM: BUDGET, ROOT_PRM: BUDGET}, refused(None), {402, 404, 406, 409, 416}, [100]),
    ("metadata, behind a wall", {PATH_PRM: WALL}, refused(None), {402, 404, 406, 409, 416}, [100]),
    ("metadata, asked too often", {PATH_PRM: Answer(status=429)}, refused(None), {402, 404, 406, 409, 416}, [100]),
    ("metadata, out of service", {PATH_PRM: Answer(status=503), ROOT_PRM: Answer(status=502)}, None, {402, 403, 404, 406, 409, 416}, [100]),
    ("the server's documents, out of order", {OAUTH: Answer(status=500), OPENID: Answer(status=504)}, None, {105, 106, 307, 308, 409, 410, 412, 413, 416}, [100]),
    ("metadata, on a port that is not visited", {"https://weather.example:81/x": fails(FailureCode.REFUSED, "is on port 81, which this service does not visit (443 is)")}, refused('Bearer scope="x", resource_metadata="https://weather.example:81/x"'), {403}, [100, 104, 105, 200]),
    ("the server's documents", {OAUTH: TIMEOUT, OPENID: TIMEOUT}, None, {105, 106, 307, 308, 409, 410, 412, 413, 416}, [100]),
    ("one of the server's documents", {OPENID: TIMEOUT}, None, {106, 309, 410, 412, 413}, WHOLE),
    ("the root's metadata", {ROOT_PRM: TIMEOUT}, None, {109, 306}, WHOLE),
    ("the preflight", {f"OPTIONS {ENDPOINT}": TIMEOUT}, None, {311}, WHOLE),
    ("the made-up token", {f"TOKEN {ENDPOINT}": TIMEOUT}, None, {312}, WHOLE),
    ("GET is not allowed", {f"TOKEN {ENDPOINT}": Answer(status=405)}, None, {312}, WHOLE),
]  # fmt: skip


@pytest.mark.parametrize(("answers", "refusal", "missing", "expected"), [one[1:] for one in MISSING], ids=[one[0] for one in MISSING])  # fmt: skip
def test_missing_is_never_green(
    answers: Mapping[str, Answer | None], refusal: Answer | None, missing: set[int], expected: list[int]
) -> None:
    site = gated(answers, refusal=refusal)
    report = judged(site)
    found = [int(one.code[-3:]) for one in report.checks]
    assert [one for one in found if one not in (301,)] == expected
    assert missing <= {int(one.code[-3:]) for one in report.untested}
    assert not missing & passed(report)


def test_a_broken_hop_leaves_what_is_behind_it_untested() -> None:
    reasons = untested(gated({PATH_PRM: None}, refusal=refused(None)))
    assert reasons[407] == reasons[408] == "there is no protected resource metadata to judge"
    assert reasons[413] == "there is no protected resource metadata to judge"
    reasons = untested(gated({PATH_PRM: metadata(authorization_servers=[])}))
    assert reasons[409] == reasons[413] == "the metadata names no authorization server that could be asked"
    assert untested(gated({OAUTH: None}))[413] == "there is no authorization server metadata to judge"


# What the other auditor and the report get.


def rules_of(site: Site, asked: str = ENDPOINT) -> McpAuthRules:
    rules = McpAuthRules(site.gather(asked))
    rules.judge()
    return rules


def test_chain_validates() -> None:
    assert rules_of(gated()).chain_validates
    for name, answers, refusal, expected in CASES:
        blocking = {row.number for row, _ in McpAuthRules.rules() if row.blocks}
        valid = 200 in expected
        assert rules_of(gated(answers, refusal=refusal)).chain_validates == valid, name
        if valid:
            assert not blocking & set(expected), name
    assert not rules_of(Site({})).chain_validates
    assert not rules_of(gated({PATH_PRM: TIMEOUT})).chain_validates
    assert not rules_of(gated({OAUTH: TIMEOUT})).chain_validates


def test_auth_of_the_whole_chain() -> None:
    auth = rules_of(gated({OPENID: server(), ROOT_PRM: metadata(resource=HOST)})).auth
    assert auth is not None
    hops = auth["hops"]
    assert isinstance(hops, list)
    assert {name: value for name, value in auth.items() if name != "hops"} == {
        "endpoint": ENDPOINT,
        "httpStatus": 401,
        "revision": "2026-07-28",
        "revisionKnown": False,
        "challenge": [{"scheme": "bearer", "parameters": {"resource_metadata": PATH_PRM, "scope": "forecasts"}}],
        "metadataUrl": PATH_PRM,
        "reachedBy": "challenge",
        "resource": ENDPOINT,
        "issuers": [ISSUER],
        "documents": "both",
        "registration": "cimd",
        "codeChallengeMethods": ["S256"],
        "issParameter": True,
        "validates": True,
    }
    assert [(hop["hop"], hop["url"], hop["said"]) for hop in hops] == [
        ("refusal", ENDPOINT, f'401 with WWW-Authenticate "{CHALLENGE}"'),
        ("protected resource metadata by the challenge (used)", PATH_PRM, f'200, resource "{ENDPOINT}"'),
        ("protected resource metadata by the root", ROOT_PRM, f'200, resource "{HOST}"'),
        ("issuer", ISSUER, "named by the metadata"),
        ("authorization server metadata, oauth", OAUTH, f'200, issuer "{ISSUER}"'),
        ("authorization server metadata, openid inserted", OPENID, f'200, issuer "{ISSUER}"'),
    ]


@pytest.mark.parametrize(
    ("answers", "refusal", "expected"),
    [
        ({PATH_PRM: None, ROOT_PRM: metadata(resource=HOST)}, refused(None), {"reachedBy": "root", "challenge": []}),
        ({}, refused(None), {"reachedBy": "path"}),
        ({PATH_PRM: None}, refused(None), {"reachedBy": None, "metadataUrl": None, "issuers": [], "documents": None, "registration": None, "validates": False}),
        ({OAUTH: None}, None, {"documents": "none", "registration": None, "issParameter": None}),
        ({OAUTH: None, OPENID: server()}, None, {"documents": "oidc only"}),
        ({}, None, {"documents": "oauth only"}),
        ({OAUTH: server(registration_endpoint=f"{ISSUER}/r")}, None, {"registration": "both"}),
        ({OAUTH: server(registration_endpoint=f"{ISSUER}/r", client_id_metadata_document_supported=...)}, None, {"registration": "dcr"}),
        ({OAUTH: server(client_id_metadata_document_supported=...)}, None, {"registration": "neither"}),
        ({OAUTH: server(authorization_response_iss_parameter_supported="true")}, None, {"issParameter": False}),
    ],
)  # fmt: skip
def test_auth(answers: dict[str, Answer | None], refusal: Answer | None, expected: dict[str, object]) -> None:
    auth = rules_of(gated(answers, refusal=refusal)).auth
    assert auth is not None
    assert {name: auth[name] for name in expected} == expected


def test_no_auth_of_an_open_server() -> None:
    assert rules_of(Site({})).auth is None


def test_what_a_stranger_says_is_cleaned() -> None:
    nasty = "https://auth.example/\x1b[31m\u202e" + "A" * 5_000
    site = gated(
        {PATH_PRM: metadata(authorization_servers=[nasty], resource=nasty, scopes_supported=["\x00"] * 5_000)},
        refusal=refused('Bearer realm="\x1b[2J", nonce="\x9b"'),
    )
    rules = rules_of(site)
    text = repr((rules.auth, judged(site)))
    assert not any(mark in text for mark in ("\x1b", "\\x1b", "\u202e", "\\u202e", "\x9b", "\\x9b"))
    assert len(text) < 60_000


# What each fault says of itself.


@pytest.mark.parametrize(
    ("answers", "refusal", "number", "words"),
    [
        ({PATH_PRM: metadata(resource=f"{ENDPOINT}/")}, None, 407, "they differ in a slash at the end"),
        ({PATH_PRM: metadata(resource=f"{HOST}/sse")}, None, 407, "they differ in the path"),
        ({PATH_PRM: metadata(resource="https://x.example/mcp")}, None, 407, "they differ in the host"),
        ({PATH_PRM: metadata(resource=HOST)}, None, 407, "(some clients accept a beginning of it; others do not)"),
        ({OAUTH: server(issuer="http://auth.example")}, None, 410, "they differ in the scheme"),
        ({OAUTH: server(issuer=f"{ISSUER}/t")}, None, 410, "they differ in the path"),
        ({OAUTH: server(issuer="https://AUTH.example")}, None, 410, "they differ in their spelling"),
        ({OAUTH: server(issuer=f"{ISSUER}/")}, None, 411, "lenient clients let this pass"),
        ({}, refused(f'Bearer resource_metadata="{ENDPOINT}{PRM}"'), 403, f"there is metadata at {PATH_PRM}"),
        ({}, refused(f'Bearer resource="{PATH_PRM}"'), 403, "under a name that no client looks for"),
        ({}, refused('Bearer resource_metadata="http://localhost:3000/x"'), 403, "named by a public server"),
        ({OAUTH: server(client_id_metadata_document_supported=..., registration_endpoint=f"{ISSUER}/r")}, None, 307, "deprecated since 2026-07-28"),
        ({OAUTH: server(client_id_metadata_document_supported=..., registration_endpoint=f"{ISSUER}/r")}, None, 307, "2027-07-28"),
        ({OAUTH: server(client_id_metadata_document_supported=..., registration_endpoint=f"{ISSUER}/r")}, None, 307, "Client ID Metadata Documents"),
        ({OAUTH: html()}, None, 409, "is a web page"),
        ({OAUTH: fails(FailureCode.TLS, "has a certificate for another name")}, None, 409, "has a certificate for another name"),
    ],
)  # fmt: skip
def test_words(answers: dict[str, Answer | None], refusal: Answer | None, number: int, words: str) -> None:
    row = next(row for row, _ in McpAuthRules.rules() if row.number == number)
    found = next(one for one in judged(gated(answers, refusal=refusal)).checks if one.code.endswith(f"-{number}"))
    assert words in f"{found.message} {found.recommendation} {row.why}"


# The rules as a whole.


def test_no_advice_leads_into_another_fault() -> None:
    site = gated({OAUTH: server(response_types_supported=[], scopes_supported=[], jwks_uri=None)})
    (check,) = (one for one in judged(site).checks if one.code == f"{AUDITOR}-302")
    assert check.recommendation == (
        f"In {OAUTH}, leave out scopes_supported, jwks_uri, and give a value to response_types_supported."
    )


def test_every_rule_fires_and_does_not() -> None:
    fired: set[int] = set()
    quiet: set[int] = set()
    reports = [judged(gated(answers, refusal=refusal)) for _, answers, refusal, _ in CASES]
    reports += [of_revision(revision, answers, refused(challenge)) for revision, answers, challenge, _ in REVISIONS]
    reports.append(judged(Site({})))
    for report in reports:
        fired |= {int(one.code[-3:]) for one in report.checks}
        quiet |= passed(report) | {int(code[-3:]) for code in report.not_applicable}
    every = {row.number for row, _ in McpAuthRules.rules()}
    assert fired == every
    assert quiet == every


def test_every_code_is_in_exactly_one_list() -> None:
    every = {McpAuthRules.code(row) for row, _ in McpAuthRules.rules()}
    for _, answers, refusal, _ in CASES:
        report = judged(gated(answers, refusal=refusal))
        lists = [
            {one.code for one in report.checks},
            set(report.passed),
            set(report.not_applicable),
            {one.code for one in report.untested},
        ]
        assert set().union(*lists) == every
        assert sum(map(len, lists)) == len(every)


def test_no_rule_crashes_on_any_json() -> None:
    values: list[object] = [
        None,
        True,
        0,
        1.5,
        "",
        " ",
        "x",
        "https://",
        "https://x",
        [],
        [None],
        ["x", 1],
        {},
        {"a": 1},
    ]
    for value in values:
        documents = [
            changed(METADATA, **dict.fromkeys(METADATA, value)),
            *(changed(METADATA, **{name: value}) for name in METADATA),
        ]
        for document in documents:
            assert all(one.reason != "internal error" for one in judged(gated({PATH_PRM: json(document)})).untested)
        documents = [
            changed(SERVER, **dict.fromkeys(SERVER, value)),
            *(changed(SERVER, **{name: value}) for name in SERVER),
        ]
        for document in documents:
            assert all(one.reason != "internal error" for one in judged(gated({OAUTH: json(document)})).untested)


def test_the_plan_names_every_rule_that_judges_by_its_requests() -> None:
    by_the_refusal = {100, 102, 200, 300, 317, 318, 400, 401, 418}
    served = {number for step in PLAN for number in step.serves}
    assert served | by_the_refusal == {row.number for row, _ in McpAuthRules.rules()}
    assert not served & by_the_refusal
    assert [step.purpose for step in PLAN] == list(Purpose)
    assert sum(step.most for step in PLAN) <= 9
    assert all(f"| {step.purpose} | {step.most} |" in checks_markdown() for step in PLAN)


def test_replay_gives_the_same() -> None:
    site = gated({OPENID: server(issuer=f"{ISSUER}/")})
    evidence = site.gather(ENDPOINT)
    assert auditor(judge(Evidence.from_json(evidence.to_json()))) == auditor(judge(evidence))
