"""Faults that people reported of real servers, each as a small server of our own making, with the verdict it is due.

The ids are those of the project's collection of reports.
"""

import json
from collections.abc import Callable

import pytest

from mcp_servers import JSON_TYPE, TOOL, Server, error, legacy, modern, stream, tool
from parley.documents.mcp_plan import Purpose
from parley.evidence import FailureCode, Request
from parley.report import Protocol, Report, State
from sites import HOST, Answer, Site, html, numbers

AUDITOR = "PARLEY-McpServerAuditor"
MCP = f"{HOST}/mcp"


def audit(server: Callable[[Request], Answer], asked: str = MCP) -> Report:
    return Site({}, mcp={asked: server}).audit(asked)


def faults(report: Report) -> list[int]:
    return [code for code in numbers(report, AUDITOR) if code not in (100, 101, 102, 103, 104, 200)]


def redirects(status: int, location: str) -> Callable[[Request], Answer]:
    return lambda request: Answer(status=status, headers={"location": location})


def gated(body: object = b"", *, status: int = 401, **headers: str) -> Callable[[Request], Answer]:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda request: Answer(status=status, body=body, headers=named)


def answered(request: Request) -> Answer:
    """As a good legacy server."""
    return legacy()._answer(request)


def several_lines(request: Request) -> Answer:
    """One message over several data lines."""
    text = json.dumps(answered(request).body, indent=1)
    lines = "".join(f"data: {line}\n" for line in text.splitlines())
    return Answer(body=f"event: message\n{lines}\n".encode(), headers={"content-type": "text/event-stream", "mcp-session-id": "3f9a-session"})  # fmt: skip


def unended(request: Request) -> Answer:
    """A whole data line, no blank line behind it, and a stream that stays open."""
    answer = stream(answered(request).body, end=b"\n")
    return Answer(body=answer.body, headers=answer.headers, failure=(FailureCode.TIMEOUT, "timed out after 8 s"), is_cut=True)  # fmt: skip


N, I, C = State.NOT_DETECTED, State.INDICATED, State.CONFIRMED  # noqa: E741

# (report, server, codes beside the describing ones, state)
REPORTS: list[tuple[str, Callable[[Request], Answer], list[int], State]] = [
    ("I01 a 401 without a word", gated(), [], I),
    ("I04 the id inside the error", gated({"jsonrpc": "2.0", "error": {"code": -32001, "message": "Unauthorized", "id": 1}}), [332], I),
    ("I17 a login by redirect, which the auditor of authorization judges", redirects(302, "https://login.example/authorize"), [], I),
    ("I29 a banner on GET", legacy(otherwise={Purpose.STREAM: Answer(body={"name": "weather"}, headers=JSON_TYPE)}), [421], C),
    ("I46 CORS without MCP's headers, resources that fail", modern(capabilities={"tools": {}, "resources": {}}, otherwise={Purpose.PREFLIGHT: Answer(headers={"access-control-allow-origin": "*", "access-control-allow-headers": "content-type"})}), [327, 450], C),
    ("I61 421 on its own domain", gated(b"Invalid Host header", status=421), [400], I),
    ("I62 403 on its own domain", gated(b"Invalid Host header", status=403), [], I),
    ("I64 GET never answers", legacy(otherwise={Purpose.STREAM: Answer(failure=(FailureCode.TIMEOUT, "timed out after 2.5 s"))}), [421], C),
    ("I65 GET is JSON", legacy(otherwise={Purpose.STREAM: Answer(body={}, headers=JSON_TYPE)}), [421], C),
    ("I67 GET is HTML", legacy(otherwise={Purpose.STREAM: html()}), [421], C),
    ("I68 GET wants a session that there is not", legacy(session=None, otherwise={Purpose.STREAM: error(None, -32000)}), [421], C),
    ("I70 202 labelled text/plain", legacy(otherwise={Purpose.INITIALIZED: Answer(status=202, headers={"content-type": "text/plain"})}), [321], C),
    ("I71 202 labelled as a stream", legacy(otherwise={Purpose.INITIALIZED: Answer(status=202, headers={"content-type": "text/event-stream"})}), [321], C),
    ("I73 errors without a type", legacy(otherwise={Purpose.LEGACY_NO_SESSION: Answer(status=404, body={"jsonrpc": "2.0", "id": None, "error": {"code": -32000, "message": "no"}})}), [325], C),
    ("I74 a charset is refused", legacy(otherwise={Purpose.LEGACY_CHARSET: Answer(status=415)}), [326], C),
    ("I76 400 to an unknown version after initialize", legacy(otherwise={Purpose.LEGACY_NO_VERSION: Answer(status=400)}), [], C),
    ("I77 initialize is refused for a newer version", legacy(otherwise={Purpose.INITIALIZE: error(11, -32602, "Unsupported protocol version")}), [380], C),
    ("I77 the same without JSON-RPC", legacy(otherwise={Purpose.INITIALIZE: Answer(status=400, body=b"Bad Request: Unsupported protocol version")}), [380], C),
    ("I79 an unknown session is 400", legacy(otherwise={Purpose.LEGACY_NO_SESSION: error(None, -32000)}), [383], C),
    ("I82 initialize without a hint", modern(otherwise={Purpose.INITIALIZE: error(11, -32601, status=404)}), [311], C),
    ("I88 anyOf without a type", legacy(lists={"tools/list": [[tool(inputSchema={"anyOf": [{"type": "object"}]}), TOOL]]}, capabilities={"tools": {}}), [361, 460], C),
    ("I89 an empty inputSchema", legacy(lists={"tools/list": [[tool(inputSchema={}), tool(name="b", inputSchema={})]]}), [460, 460], C),
    ("I91 an array without items", legacy(lists={"tools/list": [[tool(inputSchema={"type": "object", "properties": {"a": {"type": "array"}}})]]}), [161], C),
    ("I145 no check of the Origin", modern(otherwise={Purpose.ORIGIN: lambda r: modern()._answer(_without_origin(r))}), [105], C),
    ("I148 GET wants a session", legacy(otherwise={Purpose.STREAM: error(None, -32000, "Mcp-Session-Id header is required")}), [], C),
    ("I149 initialize is HTML", lambda request: html(), [400], I),
    ("I149 initialize is text", lambda request: Answer(body=b"MCP server is running", headers={"content-type": "text/plain"}), [400], I),
    ("I152 and I155 dots in tools' names", legacy(lists={"tools/list": [[tool(name="admin.tools.list")]]}), [160], C),
    ("I154 spaces in a tool's name", legacy(lists={"tools/list": [[tool(name="Get The Forecast")]]}), [360], C),
    ("I157 an event without its blank line", legacy(otherwise={Purpose.LEGACY_TOOLS: unended}), [423], C),
    ("I158 an event with empty data first", legacy(otherwise={Purpose.LEGACY_TOOLS: lambda r: stream(answered(r).body, before=b"id: 7\nretry: 3000\ndata: \n\n")}), [], C),
    ("I160 one message over several data lines", legacy(otherwise={Purpose.LEGACY_TOOLS: several_lines, Purpose.INITIALIZE: several_lines}), [], C),
]  # fmt: skip


def _without_origin(request: Request) -> Request:
    headers = {name: value for name, value in request.headers.items() if name != "Origin"}
    return Request(purpose=request.purpose, url=request.url, method=request.method, headers=headers, body=request.body)


@pytest.mark.parametrize(("server", "codes", "state"), [one[1:] for one in REPORTS], ids=[one[0] for one in REPORTS])
def test_report(server: Callable[[Request], Answer], codes: list[int], state: State) -> None:
    report = audit(server)
    assert faults(report) == codes
    assert report.protocols[Protocol.MCP].state is state
    assert report.protocols[Protocol.MCP].conclusive


@pytest.mark.parametrize("status", [301, 307, 308])
def test_i55_and_i56_the_slash_form(status: int) -> None:
    site = Site({}, mcp={MCP: redirects(status, "/mcp/"), f"{MCP}/": legacy()})
    report = site.audit(MCP)
    assert faults(report) == [490]
    mcp = report.protocols[Protocol.MCP]
    assert (mcp.state, mcp.details["endpoint"]) == (State.CONFIRMED, f"{MCP}/")


def test_a_guess_that_redirects_is_no_fault() -> None:
    report = Site({}, mcp={MCP: redirects(307, f"{MCP}/"), f"{MCP}/": legacy()}).audit(HOST)
    assert faults(report) == []
    assert report.protocols[Protocol.MCP].details["endpoint"] == f"{MCP}/"


@pytest.mark.parametrize(
    ("asked", "there"), [(MCP, f"{MCP}/"), (f"{MCP}/", MCP), (f"{HOST}/api/mcp/", f"{HOST}/api/mcp")]
)
@pytest.mark.parametrize("status", [404, 405])
@pytest.mark.parametrize("server", [modern, legacy])
def test_i59_only_the_other_slash_form_works(asked: str, there: str, status: int, server: Callable[[], Server]) -> None:
    site = Site({}, default=Answer(status=status), mcp={there: server()})
    report = site.audit(asked)
    assert faults(report) == [400]
    mcp = report.protocols[Protocol.MCP]
    assert (mcp.state, mcp.details["endpoint"]) == (State.CONFIRMED, there)
    check = next(check for one in report.auditors for check in one.checks if check.code == f"{AUDITOR}-400")
    assert f"the server is at {there}" in check.message


def test_where_neither_slash_form_works_one_more_request_is_made() -> None:
    site = Site({})
    site.audit(f"{HOST}/api/mcp")
    assert [request.purpose for request in site.requests if request.url == f"{HOST}/api/mcp/"] == [Purpose.INITIALIZE]


def test_i59_the_slash_form_is_not_asked_where_the_bare_one_works() -> None:
    """What nobody declares is nobody's fault: the row's warning is about an address that was not given."""
    site = Site({}, default=html(), mcp={MCP: legacy()})
    assert faults(site.audit(MCP)) == []
    assert f"{MCP}/" not in [request.url for request in site.requests]


def test_i115_a_manifest_is_no_endpoint() -> None:
    """Judged otherwise: the row would note it, but no specification has such a file, and so it is not asked for."""
    manifest = f"{HOST}/.well-known/mcp.json"
    answers = {manifest: Answer(body={"schema": "0.1.0", "tools": [TOOL]}, headers=JSON_TYPE)}
    site = Site(answers, mcp={MCP: legacy()})
    for asked in (manifest, HOST):
        report = site.audit(asked)
        assert faults(report) == []
        assert report.protocols[Protocol.MCP].details["endpoint"] == MCP
    assert manifest not in [request.url for request in site.requests]


def test_i58_the_slash_form_without_encryption() -> None:
    site = Site({}, mcp={MCP: redirects(307, "http://weather.example/mcp/")})
    report = site.audit(MCP)
    assert faults(report) == [400, 490]
    assert not any(str(request.url).startswith("http:") for request in site.requests)
    check = next(check for one in report.auditors for check in one.checks if check.code == f"{AUDITOR}-490")
    assert "which is not encrypted" in check.message


def test_an_http_address_that_moves_to_https_is_no_fault() -> None:
    site = Site({}, mcp={"http://weather.example/mcp": redirects(301, MCP), MCP: legacy()})
    report = site.audit("http://weather.example/mcp")
    assert faults(report) == []
    assert report.protocols[Protocol.MCP].state is State.CONFIRMED


# What real legacy servers answer to server/discover: (seen at, answer)
LEGACY_ANSWERS: list[tuple[str, Callable[[Request], Answer] | Answer]] = [
    ("a 404 for the session", Answer(status=404, body=b"Invalid session ID")),
    ("a 400 that is no JSON-RPC", Answer(status=400, body={"error": {"code": "BadRequest", "message": "no"}}, headers=JSON_TYPE)),
    ("a 400 for the session", error("server-error", -32600, "Bad Request: Missing session ID")),
    ("-32601 with 200", error(None, -32601, status=200)),
    ("-32601 with 404", error(None, -32601, status=404)),
    ("-32600 without an id", error(None, -32600, status=200)),
    ("-32602 with 200", error(None, -32602, "Invalid request parameters", status=200)),
    ("-32602 with 400", error(None, -32602, "Invalid request parameters")),
    ("-32001 for the session", error(None, -32001, "Session not found", status=404)),
    ("an unsupported version with 400", error(None, -32000, "Bad Request: Unsupported protocol version (supported versions: 2025-11-25)")),
    ("-32022 with legacy versions only", error(None, -32022, data={"supported": ["2025-11-25"], "requested": "2026-07-28"})),
    ("401 for this alone", Answer(status=401)),
    ("403 for this alone", Answer(status=403)),
    ("an empty result", lambda request: Answer(body={"jsonrpc": "2.0", "id": "parley:discover/0", "result": {}}, headers=JSON_TYPE)),
    ("405", Answer(status=405)),
    ("406", Answer(status=406)),
    ("500", Answer(status=500, body=b"Internal Server Error")),
    ("no answer in time", Answer(failure=(FailureCode.TIMEOUT, "timed out after 8 s"))),
]  # fmt: skip


@pytest.mark.parametrize("answer", [one[1] for one in LEGACY_ANSWERS], ids=[one[0] for one in LEGACY_ANSWERS])
def test_a_legacy_server_owes_the_modern_era_nothing(answer: Callable[[Request], Answer] | Answer) -> None:
    def refuse(request: Request) -> Answer:
        return answer if isinstance(answer, Answer) else answer(request)

    steps = [purpose for purpose in Purpose if "server/discover" in purpose] + [Purpose.TOOLS, Purpose.NO_METHOD]
    report = audit(legacy(otherwise=dict.fromkeys([*steps, Purpose.TOOLS_AGAIN, Purpose.PING], refuse)))
    mcp = report.protocols[Protocol.MCP]
    assert (mcp.state, mcp.details["era"], faults(report)) == (State.CONFIRMED, "legacy", [])


# A modern server that refuses initialize, in whatever way, is modern: (how, answer)
@pytest.mark.parametrize(
    "answer",
    [
        Answer(status=405),
        Answer(status=404),
        Answer(status=500),
        error(None, -32601, "use 2026-07-28", status=404),
        error(11, -32020, "MCP-Protocol-Version is missing; supported: 2026-07-28"),
        html(404),
    ],
)
def test_a_modern_server_owes_the_legacy_era_no_more_than_a_hint(answer: Answer) -> None:
    report = audit(modern(otherwise={Purpose.INITIALIZE: answer}))
    mcp = report.protocols[Protocol.MCP]
    assert (mcp.state, mcp.details["era"]) == (State.CONFIRMED, "modern")
    assert faults(report) in ([], [311])


def test_a_modern_server_of_another_version_is_asked_in_that() -> None:
    class Newer(Server):
        def _answer(self, request: Request) -> Answer:
            body = json.loads(request.body or b"null")
            meta = (body or {}).get("params", {}).get("_meta", {})
            version = meta.get("io.modelcontextprotocol/protocolVersion")
            if version == "2027-03-01":
                text = (request.body or b"").replace(b"2027-03-01", b"2026-07-28")
                headers = {name: value.replace("2027-03-01", "2026-07-28") for name, value in request.headers.items()}
                asked = Request(purpose=request.purpose, url=request.url, method="POST", headers=headers, body=text)
                answer = super()._answer(asked)
                if isinstance(answer.body, dict) and "supportedVersions" in answer.body.get("result", {}):
                    answer.body["result"]["supportedVersions"] = ["2027-03-01"]
                return answer
            if version is not None:
                data = {"supported": ["2027-03-01"], "requested": version}
                return error(body.get("id"), -32022, data=data)
            return super()._answer(request)

    report = audit(Newer())
    mcp = report.protocols[Protocol.MCP]
    assert (mcp.state, mcp.details["era"], mcp.details["protocolVersion"]) == (State.CONFIRMED, "modern", "2027-03-01")
    assert faults(report) == []
