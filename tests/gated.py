"""A gated MCP endpoint and its chain, right at every hop, to be made wrong one hop at a time."""

from collections.abc import Mapping

from parley.audit import judge
from parley.documents.mcp import gate_among
from parley.documents.mcp_plan import Purpose
from parley.evidence import Evidence, Exchange, Request
from parley.probes import oauth
from parley.report import AuditorReport, Report
from parley.target import Target
from sites import HOST, NOTHING, Answer, Site, card

AUDITOR = "PARLEY-McpAuthAuditor"

ENDPOINT = f"{HOST}/mcp"
PRM = "/.well-known/oauth-protected-resource"
PATH_PRM = f"{HOST}{PRM}/mcp"
ROOT_PRM = f"{HOST}{PRM}"
ISSUER = "https://auth.example"
OAUTH = f"{ISSUER}/.well-known/oauth-authorization-server"
OPENID = f"{ISSUER}/.well-known/openid-configuration"

JSON = {"content-type": "application/json", "access-control-allow-origin": "*"}
CHALLENGE = f'Bearer resource_metadata="{PATH_PRM}", scope="forecasts"'

METADATA: dict[str, object] = {
    "resource": ENDPOINT,
    "authorization_servers": [ISSUER],
    "scopes_supported": ["forecasts"],
    "bearer_methods_supported": ["header"],
}
SERVER: dict[str, object] = {
    "issuer": ISSUER,
    "authorization_endpoint": f"{ISSUER}/authorize",
    "token_endpoint": f"{ISSUER}/token",
    "response_types_supported": ["code"],
    "grant_types_supported": ["authorization_code", "refresh_token"],
    "token_endpoint_auth_methods_supported": ["none"],
    "code_challenge_methods_supported": ["S256"],
    "client_id_metadata_document_supported": True,
    "authorization_response_iss_parameter_supported": True,
}


def changed(document: Mapping[str, object], **changes: object) -> dict[str, object]:
    """A document with members changed, or removed where the value is ``...``."""
    return {name: value for name, value in (dict(document) | changes).items() if value is not ...}


def metadata(**changes: object) -> Answer:
    return Answer(body=changed(METADATA, **changes), headers=JSON)


def server(**changes: object) -> Answer:
    return Answer(body=changed(SERVER, **changes), headers=JSON)


def json(body: object, **headers: str) -> Answer:
    return Answer(body=body, headers=JSON | {name.replace("_", "-"): value for name, value in headers.items()})


def carded() -> dict[str, object]:
    """A Server Card that names the endpoint."""
    return card(remotes=[{"type": "streamable-http", "url": ENDPOINT}])


def refused(challenge: str | None = CHALLENGE, *, status: int = 401, body: object = b"", **headers: str) -> Answer:
    """A refusal that a page may read; ``headers`` (with underscores) are added."""
    sent = {"access-control-allow-origin": "*", "access-control-expose-headers": "WWW-Authenticate"}
    sent |= {} if challenge is None else {"www-authenticate": challenge}
    return Answer(
        status=status, body=body, headers=sent | {name.replace("_", "-"): value for name, value in headers.items()}
    )


PREFLIGHT = Answer(
    status=204,
    headers={
        "access-control-allow-origin": "*",
        "access-control-allow-headers": "Authorization, Content-Type, MCP-Protocol-Version, Mcp-Method, Mcp-Name",
    },
)


class GatedSite(Site):
    """A site whose answers may be by method, ``"OPTIONS https://..."``, or for requests with a ``"TOKEN https://..."``."""

    def __init__(self, answers: Mapping[str, Answer]) -> None:
        super().__init__({})
        for name, answer in answers.items():
            method, _, url = name.rpartition(" ")
            self.answers[f"{method} {url if '://' in url else HOST + url}".strip()] = answer

    def __call__(self, request: Request) -> Exchange:
        url = str(request.url)
        kind = "TOKEN" if "Authorization" in request.headers else request.method
        by_method = self.answers.get(f"{kind} {url}")
        if by_method is None:
            return super().__call__(request)
        plain = self.answers.get(url)
        self.answers[url] = by_method
        try:
            return super().__call__(request)
        finally:
            if plain is None:
                del self.answers[url]
            else:
                self.answers[url] = plain


def gated(
    answers: Mapping[str, Answer | None] | None = None, *, refusal: Answer | None = None, endpoint: str = ENDPOINT
) -> GatedSite:
    """The whole chain with some answers replaced, or removed where they are None."""
    refusal = refused() if refusal is None else refusal
    whole: dict[str, Answer | None] = {
        endpoint: refusal,
        f"OPTIONS {endpoint}": PREFLIGHT,
        f"TOKEN {endpoint}": refused('Bearer error="invalid_token"'),
        PATH_PRM: metadata(),
        OAUTH: server(),
    }
    return GatedSite({url: answer or NOTHING for url, answer in (whole | dict(answers or {})).items()})


def urls(site: Site) -> list[str]:
    """All that a site was asked for, in order."""
    return [str(request.url) for request in site.requests]


def auditor(report: Report) -> AuditorReport:
    """This auditor's part of a report."""
    return next(one for one in report.auditors if one.name == AUDITOR)


def judged(site: Site, asked: str = ENDPOINT) -> AuditorReport:
    return auditor(site.audit(asked))


def faults(report: AuditorReport) -> list[int]:
    """The numbers of its warnings and faults."""
    found = (int(one.code.rpartition("-")[2]) for one in report.checks)
    return [number for number in found if number >= 300]


def of_revision(revision: str, answers: Mapping[str, Answer | None], refusal: Answer) -> AuditorReport:
    """The chain behind a server that lets anybody initialize, so that its revision is known, and gates its lists."""
    site = gated(answers, refusal=refusal)
    target = Target.parse(ENDPOINT)
    site.answers[f"POST {ENDPOINT}"] = json({"jsonrpc": "2.0", "id": 1, "result": {"protocolVersion": revision}})
    exchanges = [site(Request(purpose=Purpose.INITIALIZE, url=ENDPOINT, method="POST"))]
    site.answers[f"POST {ENDPOINT}"] = refusal
    exchanges.append(site(Request(purpose=Purpose.LEGACY_TOOLS, url=ENDPOINT, method="POST")))
    gate = gate_among(exchanges, target)
    assert gate is not None
    assert gate.revision == revision
    exchanges.extend(oauth.gather(gate, site, "https://parley.example"))
    return auditor(
        judge(
            Evidence(
                asked=ENDPOINT,
                target=target,
                refusal=None,
                started_at="",
                duration_ms=0,
                exchanges=tuple(exchanges),
            )
        )
    )
