"""How an Agent Card says that clients are to be authenticated: where each rule fires, and where it must not."""

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
    fired_and_passed,
    interface,
    message,
    numbered,
    served,
    site,
    skill,
)
from parley.evidence import FailureCode
from parley.report import AuditorReport
from parley.rules.a2a_security import A2aSecurityRules
from sites import Answer, fails, html

OURS = {row.number for row, _ in A2aSecurityRules.rules()}

ISSUER = "https://login.weather.example"
OPENID = f"{ISSUER}/.well-known/openid-configuration"
OAUTH = f"{ISSUER}/.well-known/oauth-authorization-server"
METADATA = {"issuer": ISSUER, "authorization_endpoint": f"{ISSUER}/authorize", "token_endpoint": f"{ISSUER}/token"}
DOCUMENTS = {OPENID: Answer(body=METADATA), OAUTH: Answer(body=METADATA)}

CODE: dict[str, object] = {
    "authorizationUrl": f"{ISSUER}/authorize",
    "tokenUrl": f"{ISSUER}/token",
    "scopes": {"read": "Read forecasts"},
}
MACHINE: dict[str, object] = {"tokenUrl": f"{ISSUER}/token", "scopes": {}}
DEVICE: dict[str, object] = {"deviceAuthorizationUrl": f"{ISSUER}/device", "tokenUrl": f"{ISSUER}/token", "scopes": {}}


def in_1(wrapper: str, **members: object) -> dict[str, object]:
    """A card of A2A 1.0 with one scheme, and a requirement that names it."""
    return one({wrapper: changed({}, **members)})


def one(scheme: object, card: Mapping[str, object] = V1) -> dict[str, object]:
    return changed(card, securitySchemes={"key": scheme})


def in_0(type_: str, **members: object) -> dict[str, object]:
    return one(changed({"type": type_}, **members), V0_3)


def oauth(flows: object, **members: object) -> dict[str, object]:
    return in_1("oauth2SecurityScheme", flows=flows, **members)


def oauth_0(flows: object, **members: object) -> dict[str, object]:
    return in_0("oauth2", flows=flows, **members)


def requires(*requirements: object) -> dict[str, object]:
    return changed(V1, securityRequirements=list(requirements))


def requires_0(*requirements: object) -> dict[str, object]:
    return changed(V0_3, security=list(requirements))


def open_(card: Mapping[str, object], **changes: object) -> dict[str, object]:
    """A card without any security."""
    without = changed(card, securitySchemes=..., securityRequirements=..., security=...)
    return changed(without, **changes)


LEAKED = {"scheme": {"$case": "httpAuthSecurityScheme", "value": {"scheme": "Bearer", "description": ""}}}
BOTH = {"httpAuthSecurityScheme": {"scheme": "Bearer"}, "type": "http", "scheme": "Bearer"}

# A card, and the numbers of what these rules tell of it.
CARDS: list[tuple[str, object, list[int]]] = [
    ("1.0", V1, []),
    ("0.3", V0_3, []),
    ("0.2", V0_2, []),
    ("both", HYBRID, []),
    # Each kind of scheme, as it must be.
    ("a bearer token in 1.0", in_1("httpAuthSecurityScheme", scheme="Bearer", bearerFormat="JWT"), []),
    ("a bearer token in 0.3", in_0("http", scheme="bearer"), []),
    ("a key in a cookie in 1.0", in_1("apiKeySecurityScheme", location="cookie", name="session"), []),
    ("a key in the query in 0.3", in_0("apiKey", **{"in": "query", "name": "key"}), []),
    ("OpenID Connect in 1.0", in_1("openIdConnectSecurityScheme", openIdConnectUrl=OPENID), []),
    ("OpenID Connect in 0.3", in_0("openIdConnect", openIdConnectUrl=OPENID), []),
    ("mutual TLS in 1.0", in_1("mtlsSecurityScheme"), []),
    ("mutual TLS in 0.3", in_0("mutualTLS"), []),
    ("the code flow in 1.0", oauth({"authorizationCode": CODE | {"pkceRequired": True}}, oauth2MetadataUrl=OAUTH), []),
    ("the code flow in 0.3", oauth_0({"authorizationCode": CODE}), []),
    ("a machine's flow in 1.0", oauth({"clientCredentials": MACHINE}), []),
    ("a device's flow in 1.0", oauth({"deviceCode": DEVICE}), []),
    ("two flows in 0.3", oauth_0({"authorizationCode": CODE, "clientCredentials": MACHINE}), []),
    ("empty texts for what is absent", oauth({"authorizationCode": CODE | {"refreshUrl": ""}}, oauth2MetadataUrl=""), []),
    ("empties as an SDK writes them", open_(V1, securitySchemes={}, securityRequirements=[]), [341]),
    ("both dialects in one object", one(BOTH, HYBRID), []),
    # securitySchemes and its entries.
    ("schemes in an array", changed(V1, securitySchemes=[{"type": "http", "scheme": "bearer"}]), [440]),
    ("a text for schemes", changed(V0_3, securitySchemes="bearer"), [440]),
    ("null schemes that nothing requires", open_(V1, securitySchemes=None), [341, 345]),
    ("a text for a scheme", one("bearer"), [441]),
    ("null for a scheme", one(None, V0_3), [441]),
    ("a text in the wrapper", one({"httpAuthSecurityScheme": "Bearer"}), [441]),
    ("a leaked union", one(LEAKED), [442]),
    ("a leaked union in both", one(LEAKED, HYBRID), [442]),
    ("a leaked union in 0.3", one(LEAKED, V0_3), [442]),
    ("a scheme of 0.x in 1.0", one({"type": "http", "scheme": "bearer"}), [443]),
    ("a scheme of 0.x of no type that there is in 1.0", one({"type": "noAuth"}), [443]),
    ("a scheme of 0.x in both", one({"type": "http", "scheme": "bearer"}, HYBRID), [344]),
    ("a scheme of 1.0 in both", one({"httpAuthSecurityScheme": {"scheme": "bearer"}}, HYBRID), [344]),
    ("an empty scheme", one({}), [444]),
    ("members without a wrapper", one({"openIdConnectUrl": OPENID}), [444]),
    ("a wrapper in snake_case", one({"http_auth_security_scheme": {"scheme": "bearer"}}), [444]),
    ("two wrappers", one({"httpAuthSecurityScheme": {"scheme": "bearer"}, "mtlsSecurityScheme": {}}), [444]),
    ("one wrapper and null ones", one({"httpAuthSecurityScheme": {"scheme": "bearer"}, "mtlsSecurityScheme": None}), [345]),
    ("an empty scheme in both", one({}, HYBRID), [444]),
    ("a scheme of 1.0 in 0.3", one({"httpAuthSecurityScheme": {"scheme": "bearer"}}, V0_3), [445]),
    ("no type in 0.3", one({"scheme": "bearer"}, V0_3), [445]),
    ("a type that is none in 0.3", in_0("bearer"), [445]),
    ("a type in other letters in 0.2", one({"type": "apikey", "in": "header", "name": "X"}, V0_2), [445]),
    ("a number for a type", one({"type": 1}, V0_3), [445]),
    ("a type that is none in both", one({"type": "noAuth"}, HYBRID), [445]),
    # API keys.
    ("no place for a key in 1.0", in_1("apiKeySecurityScheme", name="X"), [446]),
    ("the place under the name of 0.x", in_1("apiKeySecurityScheme", **{"in": "header", "name": "X"}), [446]),
    ("a place that is none", in_1("apiKeySecurityScheme", location="body", name="X"), [446]),
    ("a key without a name or a place", in_1("apiKeySecurityScheme"), [446, 446]),
    ("no place for a key in 0.3", in_0("apiKey", name="X"), [446]),
    ("a blank name for a key", in_0("apiKey", **{"in": "header", "name": " "}), [446]),
    ("a key without a name in both", one({"apiKeySecurityScheme": {"location": "header"}, "type": "apiKey", "in": "header"}, HYBRID), [446, 446]),
    # HTTP authentication.
    ("http without its scheme in 0.3", in_0("http"), [447]),
    ("http with a format alone in 1.0", in_1("httpAuthSecurityScheme", bearerFormat="JWT"), [447]),
    ("http with a header's value", in_1("httpAuthSecurityScheme", scheme="Bearer <token>"), [447]),
    ("http with a number", in_1("httpAuthSecurityScheme", scheme=1), [447]),
    ("a scheme of one's own", in_0("http", scheme="ed25519-envelope"), [131]),
    ("a scheme in capitals", in_0("http", scheme="BASIC"), []),
    # OpenID Connect.
    ("OpenID Connect without a URL", in_1("openIdConnectSecurityScheme"), [448]),
    ("OpenID Connect with a path", in_0("openIdConnect", openIdConnectUrl="/.well-known/openid-configuration"), [448]),
    ("OpenID Connect with a number", in_0("openIdConnect", openIdConnectUrl=7), [448]),
    ("OpenID Connect at http", in_1("openIdConnectSecurityScheme", openIdConnectUrl="http://login.weather.example/x"), [453, 454]),
    # OAuth.
    ("no flows in 1.0", oauth(...), [449]),
    ("a list of flows in 0.3", oauth_0(["authorizationCode"]), [449]),
    ("no flow in 1.0", oauth({}), [449]),
    ("an unknown flow in 1.0", oauth({"accessCode": CODE}), [449]),
    ("a leaked flow in 1.0", oauth({"flow": {"$case": "authorizationCode", "value": CODE}}), [449]),
    ("two flows in 1.0", oauth({"authorizationCode": CODE, "clientCredentials": MACHINE}), [449]),
    ("no flow in 0.3", oauth_0({}), [346]),
    ("a flow of 1.0 in 0.3", oauth_0({"deviceCode": DEVICE}), [346]),
    ("no flow in 0.3, but metadata", oauth_0({}, oauth2MetadataUrl=OAUTH), []),
    ("a text for a flow", oauth({"authorizationCode": "x"}), [450]),
    ("a flow without its URLs", oauth({"authorizationCode": {"scopes": {}}}), [450, 450]),
    ("a flow without scopes", oauth({"clientCredentials": changed(MACHINE, scopes=...)}), [450]),
    ("scopes in an array", oauth_0({"clientCredentials": MACHINE | {"scopes": ["read"]}}), [450]),
    ("a flow with a path", oauth({"clientCredentials": MACHINE | {"tokenUrl": "/token"}}), [450]),
    ("a device's flow without its URL", oauth({"deviceCode": changed(DEVICE, deviceAuthorizationUrl=...)}), [450]),
    ("metadata at a path", oauth({"clientCredentials": MACHINE}, oauth2MetadataUrl="/metadata"), [450]),
    ("a token at http", oauth({"clientCredentials": MACHINE | {"tokenUrl": "http://login.weather.example/token"}}), [454]),
    ("a token on this machine", oauth({"clientCredentials": MACHINE | {"tokenUrl": "http://localhost:9000/token"}}), [349]),
    ("a token in a private network", oauth_0({"clientCredentials": MACHINE | {"tokenUrl": "https://10.0.0.7/token"}}), [349]),
    ("the implicit flow in 1.0, of which nothing is required", oauth({"implicit": {}}), [340]),
    ("the implicit flow in 0.3, without its members", oauth_0({"implicit": {}}), [340, 450, 450]),
    ("the password flow in 0.3", oauth_0({"password": MACHINE}), [340]),
    # Null.
    ("null members that may be absent", in_1("httpAuthSecurityScheme", scheme="Bearer", description=None, bearerFormat=None), [345]),
    ("null for a required member", in_1("httpAuthSecurityScheme", scheme=None), [447]),
    ("null in a flow", oauth({"clientCredentials": MACHINE | {"refreshUrl": None}, "password": None}), [345]),
    # Types of what may be there.
    ("all that a scheme may have", oauth({"authorizationCode": CODE | {"pkceRequired": False}}, description=""), []),
    ("a number for a description in 1.0", in_1("apiKeySecurityScheme", location="header", name="X", description=5), [455]),
    ("a number for a description in 0.2", one({"type": "mutualTLS", "description": 5}, V0_2), [455]),
    ("a number for a bearer token's form", in_1("httpAuthSecurityScheme", scheme="Bearer", bearerFormat=5), [455]),
    ("a number for both clients", one(BOTH | {"bearerFormat": 5}, HYBRID), [455]),
    ("a text for PKCE", oauth({"authorizationCode": CODE | {"pkceRequired": "yes"}}), [455]),
    ("a number for a scope's text", oauth({"clientCredentials": MACHINE | {"scopes": {"read": 5}}}), [455]),
    ("null for a scope's text in 0.3", oauth_0({"clientCredentials": MACHINE | {"scopes": {"read": None}}}), [455]),
    ("a member that is no one's business", in_0("http", scheme="bearer", name=5), []),
    ("a scheme of which only null is said", one({"apiKeySecurityScheme": None}), [444]),
    ("a scheme of 0.x with a null beside it", in_0("http", scheme="bearer", apiKeySecurityScheme=None), [345]),
    # Requirements.
    ("a number among the scopes in 0.3", requires_0({"key": [5]}), [451]),
    ("null for the scopes in 0.3", requires_0({"key": None}), [451]),
    ("schemes that nothing requires in 1.0", changed(V1, securityRequirements=...), [130]),
    ("schemes that nothing requires in 0.3", changed(V0_3, security=[]), [130]),
    ("schemes that a skill requires", changed(V0_3, security=..., skills=[skill(security=[{"key": []}])]), []),
    ("no list of scopes, as an SDK writes it", requires({"schemes": {"key": {}}}), []),
    ("scopes", requires({"schemes": {"key": {"list": ["read", "write"]}}}), []),
    ("nothing is required, as one choice", requires({"schemes": {"key": {}}}, {}), []),
    ("nothing is required, with a null", requires({"schemes": None}), []),
    ("nothing is required in 0.3, as one choice", requires_0({"key": []}, {}), []),
    ("an object for requirements", changed(V1, securityRequirements={"key": []}), [451]),
    ("a text for requirements", changed(V0_3, security="key"), [451]),
    ("a text for a requirement", requires("key"), [451]),
    ("a list of schemes", requires({"schemes": ["key"]}), [451]),
    ("scopes in place of the object", requires({"schemes": {"key": ["read"]}}), [451]),
    ("a text for the scopes", requires({"schemes": {"key": {"list": "read"}}}), [451]),
    ("a number among the scopes", requires({"schemes": {"key": {"list": ["read", 1]}}}), [451]),
    ("no schemes in a requirement", requires({"scheme": {"key": {}}}), [451]),
    ("a requirement of 0.x in 1.0", requires({"key": []}), [451]),
    ("a requirement of 1.0 in 0.3", requires_0({"schemes": {"key": {"list": []}}}), [451]),
    ("a text for the scopes in 0.3", requires_0({"key": "read"}), [451]),
    ("a scheme that is called schemes", changed(V0_3, securitySchemes={"schemes": {"type": "mutualTLS"}}, security=[{"schemes": []}]), []),
    ("a requirement of 0.x in the 1.0 view of both", changed(HYBRID, securityRequirements=[{"key": []}]), [344]),
    ("security in 1.0", changed(V1, securityRequirements=..., security=[{"key": []}]), [342]),
    ("security in 1.0, left over", changed(V1, security=[{"key": []}]), []),
    ("security of a skill in 1.0", changed(V1, skills=[skill(security=[{"key": []}])]), [342]),
    ("securityRequirements in 0.3", changed(V0_3, security=..., securityRequirements=[{"schemes": {"key": {}}}]), [342]),
    ("empty security in 1.0", changed(V1, security=[]), []),
    ("an undeclared scheme in 1.0", requires({"schemes": {"bearer": {}}}), [452]),
    ("an undeclared scheme in 0.3", requires_0({"bearer": []}), [452]),
    ("an undeclared scheme beside a declared one", requires({"schemes": {"key": {}, "bearer": {}}}), [452]),
    ("an undeclared scheme of a skill", changed(V0_3, skills=[skill(security=[{"bearer": []}])]), [452]),
    ("two undeclared schemes", requires_0({"bearer": []}, {"oauth": []}, {"oauth": []}), [452, 452]),
    ("a requirement, and no schemes", open_(V1, securityRequirements=[{"schemes": {"bearer": {}}}]), [452]),
    ("a requirement, and null schemes", changed(V1, securitySchemes=None), [452]),
    ("a requirement that names none, and no schemes", open_(V1, securityRequirements=[{}]), [341]),
    ("an undeclared scheme in security in 1.0", changed(V1, securityRequirements=..., security=[{"nope": []}]), [342, 452]),
    ("an undeclared scheme in securityRequirements in 0.3", changed(V0_3, security=..., securityRequirements=[{"schemes": {"nope": {}}}]), [342, 452]),
    ("an undeclared scheme in a skill's security in 1.0", changed(V1, skills=[skill(security=[{"nope": []}])]), [342, 452]),
    ("an undeclared scheme in security in 1.0, and no schemes", open_(V1, security=[{"nope": []}]), [342, 452]),
    ("an undeclared scheme in security in 1.0, left over", changed(V1, security=[{"nope": []}]), []),
    ("a name in other letters", requires_0({"Key": []}), [452]),
    ("one view that requires nothing", changed(HYBRID, security=...), [343]),
    ("views that require other schemes", changed(HYBRID, securitySchemes={"key": BOTH, "other": BOTH}, security=[{"other": []}]), [343]),
    ("views that require the same in another order", changed(HYBRID, securitySchemes={"key": BOTH, "other": BOTH}, security=[{"other": []}, {"key": []}], securityRequirements=[{"schemes": {"key": {}}}, {"schemes": {"other": {}}}]), []),
    (
        "views that require nothing, in other words",
        changed(HYBRID, securityRequirements=[{}], security=[]),
        [],
    ),
    # No scheme at all.
    ("no scheme in 1.0", open_(V1), [341]),
    ("no scheme in 0.2", open_(V0_2), [341]),
    ("no scheme, but the member of 0.1", open_(V0_3, authentication={"schemes": ["bearer"]}), [341]),
    ("no scheme on one's own machine", open_(V1, supportedInterfaces=[interface(url="http://localhost:8000/")]), []),
    ("no scheme in a private network", open_(V0_3, url="https://agents.corp.internal/a2a"), []),
    ("no scheme, and a URL with a password", open_(V1, supportedInterfaces=[interface(url="https://user:secret@weather.example/a2a")]), [341]),
    ("no scheme, and a long URL", open_(V1, supportedInterfaces=[interface(url="https://weather.example/" + "a" * 3000)]), [341]),
    ("schemes in snake_case", open_(V1, security_schemes={"key": {}}), []),
    ("a requirement, and schemes in snake_case", changed(V0_3, securitySchemes=..., security_schemes=V0_3["securitySchemes"]), []),
    ("requirements in snake_case", changed(V1, securityRequirements=..., security_requirements=[{"schemes": {"key": {}}}]), []),
    ("no scheme at http", open_(V0_3, url="http://weather.example/a2a"), []),
    ("no scheme, and a number for a url", open_(V0_3, url=1), []),
]  # fmt: skip


def judged(card: object, documents: Mapping[str, Answer] = DOCUMENTS) -> AuditorReport:
    return auditor(AgentSite({CURRENT: served(card), **documents}).audit())


def told(report: AuditorReport) -> list[int]:
    return [number for number in numbered(report) if number in OURS]


@pytest.mark.parametrize(("card", "numbers"), [case[1:] for case in CARDS], ids=[case[0] for case in CARDS])
def test_card(card: object, numbers: list[int]) -> None:
    assert told(judged(card)) == sorted(numbers)


OPENID_CARD = in_1("openIdConnectSecurityScheme", openIdConnectUrl=OPENID)
OAUTH_CARD = oauth({"clientCredentials": MACHINE}, oauth2MetadataUrl=OAUTH)

# What is answered where a card says that the provider's document is, and whether that is a fault; None for untested.
PROVIDERS: list[tuple[str, Answer, bool | None]] = [
    ("a document", Answer(body=METADATA), False),
    ("an issuer alone", Answer(body={"issuer": ISSUER}), False),
    ("an endpoint alone", Answer(body={"authorization_endpoint": f"{ISSUER}/authorize"}), False),
    ("neither", Answer(body={"token_endpoint": f"{ISSUER}/token"}), True),
    ("an empty issuer", Answer(body={"issuer": ""}), True),
    ("an array", Answer(body=[METADATA]), True),
    ("no JSON", Answer(body=b"issuer: x"), True),
    ("a web page", html(), True),
    ("nothing there", Answer(status=404), True),
    ("a refusal", Answer(status=401), True),
    ("a server error", Answer(status=500), True),
    ("an overload", Answer(status=503), None),
    ("a rate limit", Answer(status=429), None),
    ("a refusal that may be meant for us", Answer(status=403), None),
    ("a bot wall", Answer(status=403, headers={"cf-mitigated": "challenge"}), None),
    ("no such host", fails(FailureCode.DNS, "does not resolve"), True),
    ("no connection", fails(FailureCode.CONNECT, "refused the connection"), True),
    ("silence", fails(FailureCode.TIMEOUT, "timed out after 8 s"), True),
    ("a certificate that is none", fails(FailureCode.TLS, "has no valid certificate"), True),
    ("a place that may not be visited", fails(FailureCode.REFUSED, "is a private address"), None),
    ("our own limits", fails(FailureCode.BUDGET, "was not asked: the time is up"), None),
    ("our own fault", fails(FailureCode.INTERNAL, "internal error"), None),
    ("too much", fails(FailureCode.TOO_LARGE, "is larger than 1 MB"), None),
]


@pytest.mark.parametrize("card", [OPENID_CARD, OAUTH_CARD], ids=["openid", "oauth"])
@pytest.mark.parametrize(("answer", "is_fault"), [case[1:] for case in PROVIDERS], ids=[case[0] for case in PROVIDERS])
def test_provider(card: object, answer: Answer, is_fault: bool | None) -> None:
    report = judged(card, {OPENID: answer, OAUTH: answer})
    assert (453 in told(report)) is (is_fault is True)
    is_untested = any(one.code.endswith("-453") for one in report.untested)
    assert is_untested is (is_fault is None)


def test_a_provider_in_a_private_network_is_told_as_such_only() -> None:
    """Whether there is one cannot be told from outside."""
    card = in_1(
        "openIdConnectSecurityScheme", openIdConnectUrl="https://sso.corp.internal/.well-known/openid-configuration"
    )
    report = judged(card)
    assert told(report) == [349]
    assert any(one.code.endswith("-453") for one in report.untested)


def test_a_development_set_up_may_name_what_is_on_the_same_machine() -> None:
    here = "http://127.0.0.1:8000"
    provider = f"{here}/.well-known/openid-configuration"
    flow = {"authorizationUrl": f"{here}/authorize", "tokenUrl": f"{here}/token", "scopes": {}}
    card = changed(
        V1,
        supportedInterfaces=[interface(url=f"{here}/a2a")],
        securitySchemes={
            "key": {"openIdConnectSecurityScheme": {"openIdConnectUrl": provider}},
            "oauth": {"oauth2SecurityScheme": {"flows": {"authorizationCode": flow}}},
        },
    )
    site = AgentSite({f"{here}/.well-known/agent-card.json": served(card), provider: Answer(body={"issuer": here})})
    assert told(auditor(site.audit(here))) == []
    dead = AgentSite({f"{here}/.well-known/agent-card.json": served(card)})
    assert told(auditor(dead.audit(here))) == [453]


WORDS: list[tuple[object, int, list[str]]] = [
    (one(LEAKED), 442, ["securitySchemes.key", "JavaScript SDK", '$case: "httpAuthSecurityScheme"']),
    (one({"type": "http", "scheme": "bearer"}), 443, ["written as A2A 0.x", '"http"']),
    (one({"openIdConnectUrl": OPENID}), 444, ["openIdConnectUrl belongs into an object openIdConnectSecurityScheme"]),
    (one({"http_auth_security_scheme": {"scheme": "bearer"}}), 444, ["httpAuthSecurityScheme in JSON"]),
    (one({"httpAuthSecurityScheme": {"scheme": "bearer"}, "mtlsSecurityScheme": {}}), 444, ["httpAuthSecurityScheme and mtlsSecurityScheme"]),
    (one({"httpAuthSecurityScheme": {"scheme": "bearer"}}, V0_3), 445, ["(missing)", "httpAuthSecurityScheme is how A2A 1.0 has it"]),
    (in_0("oauth"), 445, ['"oauth"', "is oauth2 meant?"]),
    (in_1("apiKeySecurityScheme", **{"in": "header", "name": "X"}), 446, [".location of ", "is missing (there is in; A2A 1.0 calls it location"]),
    (in_0("apiKey", location="header", name="X"), 446, [".in of ", "is missing (there is location; A2A 0.x calls it in"]),
    (in_1("httpAuthSecurityScheme", bearerFormat="JWT"), 447, ["missing; bearerFormat alone does not say it"]),
    (oauth({"authorizationCode": CODE, "implicit": {}}), 449, ["authorizationCode and implicit: several flows"]),
    (oauth({"authorization_code": CODE}), 449, ["authorizationCode in JSON"]),
    (oauth({"flow": {"$case": "authorizationCode", "value": CODE}}), 449, ["JavaScript SDK"]),
    (oauth({"clientCredentials": changed(MACHINE, scopes=...)}), 450, ["clientCredentials.scopes of ", "is missing; SDKs leave it out"]),
    (oauth({"clientCredentials": MACHINE | {"tokenUrl": "/token"}}), 450, ['"/token", which is no absolute http(s) URL']),
    (in_1("openIdConnectSecurityScheme", open_id_connect_url=OPENID), 448, ["missing (there is open_id_connect_url)"]),
    (requires_0({"key": None}), 451, ["security[0].key of ", "is null, not an array"]),
    (requires({"schemes": {"key": None}}), 451, ["securityRequirements[0].schemes.key of ", "is null, not an object"]),
    (in_1("httpAuthSecurityScheme", scheme=None), 447, [".scheme of ", "is null."]),
    (one({"apiKeySecurityScheme": None}), 444, ["(apiKeySecurityScheme is null)"]),
    (oauth({"clientCredentials": MACHINE | {"scopes": {"read": 5}}}), 455, ["flows.clientCredentials.scopes.read of ", "is a number, not a string."]),
    (requires({"key": []}), 451, ["securityRequirements[0] ", "written as A2A 0.x has it"]),
    (requires({"schemes": {"key": []}}), 451, ["securityRequirements[0].schemes.key of ", "is an array", '{"list": []}']),
    (requires({"schemes": {"bearer": {}}}), 452, ['"bearer"', "; it has key"]),
    (open_(V1, securityRequirements=[{"schemes": {"bearer": {}}}]), 452, [": there is none"]),
    (changed(V0_3, skills=[skill(security=[{"bearer": []}]), skill(security=[{"bearer": []}])]), 452, ["skills[0].security[0] (and 1 more)"]),
    (changed(V1, skills=[skill(security=[{"key": []}])]), 342, ["skills[0].security "]),
    (changed(V1, securitySchemes=None), 452, ["securitySchemes does not have: it is null."]),
    (open_(V1, supportedInterfaces=[interface(url="https://user:secret@weather.example/a2a")]), 341, ["at https://***@weather.example/a2a."]),
    (changed(HYBRID, security=...), 343, ['requires "key" by securityRequirements, and nothing by security']),
    (open_(V0_3, authentication={"schemes": []}), 341, ["(authentication, which it has, is of A2A 0.1)"]),
    (in_1("openIdConnectSecurityScheme", openIdConnectUrl=ISSUER), 453, ["answered 404; a provider's document is at"]),
]  # fmt: skip


@pytest.mark.parametrize(("card", "number", "words"), WORDS)
def test_words(card: object, number: int, words: list[str]) -> None:
    for word in words:
        assert word in message(judged(card), number)


# What people reported: rows of reports.tsv.
REPORTS: list[tuple[str, object, set[int]]] = [
    ("I104: no security declared", open_(V1), {341}),
    ("I166: members without the wrapper", changed(V1, securitySchemes={"key": {"openIdConnectUrl": OPENID, "description": None}}, securityRequirements=..., security=[{"key": []}]), {342, 345, 444}),
    ("I167: a wrapper that one SDK does not know", in_1("httpAuthSecurityScheme", scheme="bearer"), set()),
    ("I169: http without a scheme", in_0("http"), {447}),
]  # fmt: skip


@pytest.mark.parametrize(("card", "numbers"), [case[1:] for case in REPORTS], ids=[case[0] for case in REPORTS])
def test_report(card: object, numbers: set[int]) -> None:
    assert set(told(judged(card))) == numbers


def test_every_rule_fires_and_passes_somewhere() -> None:
    fired, passed = fired_and_passed(judged(card) for _, card, _ in CARDS)
    assert fired >= OURS
    assert passed >= OURS


NAMES = (
    "type scheme in location name flows openIdConnectUrl oauth2MetadataUrl description apiKeySecurityScheme "
    "httpAuthSecurityScheme oauth2SecurityScheme openIdConnectSecurityScheme mtlsSecurityScheme"
)


@pytest.mark.parametrize("card", [V1, V0_3, HYBRID], ids=["1.0", "0.3", "both"])
def test_any_value_anywhere(card: dict[str, object]) -> None:
    changes: list[dict[str, object]] = []
    for value in NASTY:
        changes += [{"securitySchemes": {"key": {name: value}}} for name in NAMES.split()]
        changes += [
            {"securitySchemes": {"key": {"type": "oauth2", "flows": {name: value}}}}
            for name in ("implicit", "flow", "")
        ]
        changes += [
            {"securitySchemes": {"key": {"oauth2SecurityScheme": {"flows": {"authorizationCode": {name: value}}}}}}
            for name in CODE
        ]
        changes += [{name: [value]} for name in ("security", "securityRequirements")]
        changes += [{"security": [{"key": value}], "securityRequirements": [{"schemes": value}]}]
        changes += [{"securityRequirements": [{"schemes": {"key": value}}, {"schemes": {"key": {"list": value}}}]}]
        changes += [{"skills": [skill(security=value, securityRequirements=value)]}]
        changes += [{"securitySchemes": value}, {"securitySchemes": {"\x1b": value}}]
    for change in changes:
        report = judged(changed(card, **change))
        assert_harmless(report, change)


def test_findings_are_bounded() -> None:
    undeclared = [skill(security=[{f"scheme{index}": []}]) for index in range(5_000)]
    report = judged(changed(V0_3, skills=undeclared, securitySchemes={f"s{index}": {} for index in range(5_000)}))
    for number in (445, 452):
        rows = [one for one in report.checks if one.code.endswith(f"-{number}")]
        assert len(rows) == 50
        assert rows[-1].data["more"] >= 4_950


def test_a_scheme_that_nobody_can_read_passes_nothing() -> None:
    report = auditor(site(changed(V1, securitySchemes={"key": {}, "other": {"type": "x"}})).audit())
    passed = {int(code.rpartition("-")[2]) for code in report.passed}
    assert not passed & {131, 340, 349, 446, 447, 448, 449, 450, 454}
