"""The talk with an HTTP+SSE server (2024-11-05): what is asked, and how what comes of it is told."""

import json
from collections.abc import Callable

import pytest

import gated
from mcp_servers import TOOL, Members, SseServer, event, tool
from parley.audit import judge
from parley.documents.mcp_plan import TOOL_PAGES, Purpose
from parley.evidence import Evidence, FailureCode, Request
from parley.report import Check, Protocol, Report, State, Status
from parley.wire.sse import _event
from sites import HOST, Answer, fails, numbers

AUDITOR = "PARLEY-McpServerAuditor"
SSE = f"{HOST}/sse"
GREETED = [Purpose.SSE_INITIALIZE, Purpose.SSE_INITIALIZED, Purpose.SSE_TOOLS]


def found(report: Report) -> list[int]:
    return [code for code in numbers(report, AUDITOR) if code not in (100, 101, 102)]


def untested(report: Report) -> dict[int, str]:
    auditor = next(one for one in report.auditors if one.name == AUDITOR)
    return {int(one.code.rpartition("-")[2]): one.reason for one in auditor.untested}


@pytest.mark.parametrize("asked", [HOST, SSE])
def test_a_server_is_talked_to(asked: str) -> None:
    server = SseServer(version="2024-11-05")
    evidence = server.site().gather(asked)
    report = judge(evidence)
    mcp = report.protocols[Protocol.MCP]
    assert mcp.state is State.CONFIRMED
    assert {name: mcp.details[name] for name in ("endpoint", "era", "transport", "protocolVersion", "server")} == {
        "endpoint": SSE,
        "era": "legacy",
        "transport": "http+sse",
        "protocolVersion": "2024-11-05",
        "server": {"name": "weather", "version": "1.4.0"},
    }
    assert found(report) == [103, 111, 200]
    assert not untested(report)
    assert [request.purpose for request in server.seen] == GREETED
    assert judge(Evidence.from_json(json.loads(json.dumps(evidence.to_json())))) == report


def test_what_is_sent_is_what_a_client_sends() -> None:
    server = SseServer()
    server.site().gather(SSE)
    introduced, initialized, tools = (json.loads(request.body or b"") for request in server.seen)
    assert introduced["params"]["protocolVersion"] == "2025-11-25"
    assert initialized == {"jsonrpc": "2.0", "method": "notifications/initialized"}
    assert (tools["method"], tools.get("params")) == ("tools/list", None)
    assert not [name for request in server.seen for name in request.headers if name.lower().startswith("mcp-")]


def test_the_pages_of_the_tools_are_walked_as_far_as_the_budget_goes() -> None:
    pages = [[tool(name=f"t{index}")] for index in range(3)]
    report = SseServer(lists={"tools/list": pages}).site().audit(SSE)
    (count,) = (check for one in report.auditors for check in one.checks if check.code == f"{AUDITOR}-103")
    assert count.data["count"] == 3
    endless = SseServer(lists={"tools/list": [[tool(name=f"t{index}")] for index in range(40)]})
    report = endless.site().audit(SSE)
    assert [request.purpose for request in endless.seen].count(Purpose.SSE_TOOLS) == TOOL_PAGES
    assert untested(report)[460] == f"tools/list has more pages than the {TOOL_PAGES} that were read"


def test_the_tools_are_judged() -> None:
    report = SseServer(lists={"tools/list": [[TOOL, TOOL, tool(name=...)]]}).site().audit(SSE)
    assert found(report) == [103, 111, 361, 464]
    assert report.protocols[Protocol.MCP].state is State.CONFIRMED


# Where messages go: (what the endpoint event says, whether anything is sent there)
ADDRESSES = [
    ("/messages?session=1", True),
    ("messages?session=1", True),
    (f"{HOST}/messages?session=1", True),
    ("https://WEATHER.example:443/messages?session=1", True),
    ("//weather.example/messages?session=1", True),
    (" /messages?session=1", True),
    ("https://evil.example/messages", False),
    ("//evil.example/messages", False),
    ("http://weather.example/messages?session=1", False),
    ("https://weather.example:8443/messages", False),
    ("https://weather.example@evil.example/", False),
    ("javascript:alert(1)", False),
    ("/mess ages", False),
    ("\x00", False),
]


@pytest.mark.parametrize(("written", "is_sent"), ADDRESSES)
def test_messages_go_to_the_same_origin_only(written: str, is_sent: bool) -> None:
    server = SseServer(first=b": hi\r\n\r\nevent: endpoint\r\ndata: " + written.encode() + b"\r\n\r\n")
    site = server.site()
    report = site.audit(SSE)
    sent = [request.url for request in site.requests if request.purpose == Purpose.SSE_INITIALIZE]
    assert sent == ([f"{HOST}/messages?session=1"] if is_sent else [])
    mcp = report.protocols[Protocol.MCP]
    assert mcp.details["transport"] == "http+sse"
    if is_sent:
        assert (found(report), mcp.state) == ([103, 111, 200], State.CONFIRMED)
    else:
        assert (found(report), mcp.state) == ([111, 328], State.INDICATED)


def renamed(message: Members) -> bytes:
    return event({"jsonrpc": "2.0", "id": str(message["id"]), "result": {}})


def refused(message: Members) -> bytes:
    return event({"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32600, "message": "no"}})


def noisy(message: Members) -> bytes:
    """The server's own ping, an answer to somebody else, no JSON and no object, and then what was asked for."""
    others = [{"jsonrpc": "2.0", "id": 0, "method": "ping"}, {"jsonrpc": "2.0", "id": 7, "result": {}}, 5]
    return b"".join(map(event, others)) + b"data: hello\n\n: ping\n\n" + right(message)


def right(message: Members) -> bytes:
    result = {
        "protocolVersion": "2025-11-25",
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "a", "version": "1"},
    }
    return event({"jsonrpc": "2.0", "id": message["id"], "result": result})


I, T = Purpose.SSE_INITIALIZE, Purpose.SSE_TOOLS  # noqa: E741
OTHERWISE: list[tuple[str, SseServer, list[int], State, set[int]]] = [
    ("much besides the answer", SseServer(otherwise={I: noisy}), [103, 111, 200], State.CONFIRMED, set()),
    ("an error", SseServer(otherwise={I: refused}), [111, 424], State.INDICATED, set()),
    ("an answer to another id, and silence", SseServer(otherwise={I: renamed}), [111], State.INDICATED, {424}),
    ("an answer to another id, and the end", SseServer(otherwise={I: renamed}, is_ended=True), [111, 424], State.INDICATED, set()),
    ("silence", SseServer(otherwise={I: b""}), [111], State.INDICATED, {424}),
    ("the end of the stream", SseServer(otherwise={I: b""}, is_ended=True), [111, 424], State.INDICATED, set()),
    ("404 to the POST", SseServer(otherwise={I: b""}, posted={I: Answer(status=404)}), [111, 424], State.INDICATED, set()),
    ("404 to the POST, but an answer", SseServer(posted={I: Answer(status=404)}), [111, 424], State.INDICATED, set()),
    ("503 to the POST", SseServer(otherwise={I: b""}, posted={I: Answer(status=503)}), [111], State.INDICATED, {424}),
    ("the answer in the POST's own body", SseServer(otherwise={I: b""}, posted={I: Answer(body={"jsonrpc": "2.0", "id": 60, "result": {}})}, is_ended=True), [111, 424], State.INDICATED, set()),
    ("an event without its end", SseServer(otherwise={I: lambda m: right(m)[:-2]}), [111, 423], State.CONFIRMED, {103, 460}),
    ("an InitializeResult without a server", SseServer(otherwise={I: lambda m: event({"jsonrpc": "2.0", "id": m["id"], "result": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}}})}), [103, 111, 403], State.INDICATED, set()),
    ("tools/list in silence", SseServer(otherwise={T: b""}), [111], State.CONFIRMED, {160, 460}),
    ("tools/list, and the end", SseServer(otherwise={T: b""}, is_ended=True), [111, 450], State.CONFIRMED, {103}),
    ("tools/list answered 200, and the end", SseServer(otherwise={T: b""}, posted={T: Answer(body=b"ok")}, is_ended=True), [111, 450], State.CONFIRMED, {103}),
    ("tools/list as an error", SseServer(otherwise={T: refused}), [111, 450], State.CONFIRMED, {103}),
]  # fmt: skip


@pytest.mark.parametrize(
    ("server", "codes", "state", "open_codes"), [one[1:] for one in OTHERWISE], ids=[one[0] for one in OTHERWISE]
)
def test_otherwise(server: SseServer, codes: list[int], state: State, open_codes: set[int]) -> None:
    report = server.site().audit(SSE)
    mcp = report.protocols[Protocol.MCP]
    assert (found(report), mcp.state, mcp.conclusive) == (codes, state, True)
    assert open_codes <= untested(report).keys()
    assert bool(open_codes) == bool(untested(report))


HALVES = [(b"", None), (b"", Answer(status=503)), (b"", fails(FailureCode.TIMEOUT, "timed out after 6 s"))]


@pytest.mark.parametrize(("brought", "posted"), HALVES)
def test_a_server_that_is_heard_by_halves_is_not_green(brought: bytes, posted: Answer | None) -> None:
    """What rests on the answer that was not had is untested, each rule of it, and not a thing of the past."""
    report = SseServer(otherwise={I: brought}, posted={} if posted is None else {I: posted}).site().audit(SSE)
    auditor = next(one for one in report.auditors if one.name == AUDITOR)
    assert {102, 103, 110, 401, 403, 450, 452, 453} <= untested(report).keys()
    assert not {180, 380, 382, 482} & untested(report).keys()  # which HTTP+SSE does not have
    assert auditor.status is Status.INFORMATION
    assert report.protocols[Protocol.MCP].state is State.INDICATED


def check_of(report: Report, number: int) -> Check:
    (check,) = (one for auditor in report.auditors for one in auditor.checks if one.code == f"{AUDITOR}-{number}")
    return check


def chained(answer: Answer, *, has_metadata: bool = True) -> Report:
    """Messages are gated so, and the stream is open."""
    server = SseServer(otherwise={I: b""}, posted={I: answer})
    answers = {f"{gated.PRM}/sse": gated.metadata(resource=SSE), gated.OAUTH: gated.server()}
    return server.site(answers if has_metadata else {}).audit(SSE)


MESSAGES = f"{HOST}/messages?session=1"
CHALLENGE = {"www-authenticate": f'Bearer resource_metadata="{HOST}{gated.PRM}/sse"'}


@pytest.mark.parametrize("answer", [Answer(status=401, headers=CHALLENGE), Answer(status=401), Answer(status=403)])
def test_messages_behind_a_gate(answer: Answer) -> None:
    """As at any gate: confirmed where its chain validates, and all that is behind it needs credentials."""
    report = chained(answer)
    mcp = report.protocols[Protocol.MCP]
    needs = f"POST {MESSAGES} answered {answer.status}, so it needs credentials"
    assert mcp.state is State.CONFIRMED
    assert {needs, "its OAuth discovery chain validates"} <= set(mcp.because)
    assert found(report) == [111]
    assert set(untested(report).values()) == {needs}
    assert {424, 403, 460} <= untested(report).keys()
    auditor = next(one for one in report.auditors if one.name == AUDITOR)
    assert auditor.status is Status.INFORMATION
    assert 200 in numbers(report, "PARLEY-McpAuthAuditor")


def test_messages_behind_a_gate_that_leads_nowhere() -> None:
    report = chained(Answer(status=401), has_metadata=False)
    mcp = report.protocols[Protocol.MCP]
    assert mcp.state is State.INDICATED
    assert f"POST {MESSAGES} answered 401, so it needs credentials" in mcp.because
    assert 402 in numbers(report, "PARLEY-McpAuthAuditor")
    doubtful = chained(Answer(status=403), has_metadata=False)
    assert found(doubtful) == [111]
    assert "may be a guard" in untested(doubtful)[424]
    assert doubtful.protocols[Protocol.MCP].state is State.INDICATED


@pytest.mark.parametrize("name", ["result", "Message", "endpoint"])
def test_events_of_another_name_hold_no_answers(name: str) -> None:
    other = SseServer(
        otherwise={I: lambda message: right(message).replace(b"event: message", f"event: {name}".encode())}
    )
    report = other.site().audit(SSE)
    assert found(report) == [111, 424]
    assert f'an event named "{name}"' in check_of(report, 424).message
    assert [request.purpose for request in other.seen] == [I]
    unnamed = SseServer(otherwise={I: lambda message: right(message).replace(b"event: message\r\n", b"")})
    assert found(unnamed.site().audit(SSE)) == [103, 111, 200]


def test_a_post_that_is_never_answered_may_be_on_the_stream() -> None:
    silent = fails(FailureCode.TIMEOUT, "timed out after 6 s")
    report = SseServer(posted={I: silent}).site().audit(SSE)
    assert report.protocols[Protocol.MCP].state is State.CONFIRMED
    assert found(report) == [103, 111, 200]
    report = SseServer(posted={T: silent}, otherwise={T: b""}).site().audit(SSE)
    assert report.protocols[Protocol.MCP].state is State.CONFIRMED
    assert untested(report)[460] == f"{MESSAGES}: timed out after 6 s"


@pytest.mark.parametrize(
    ("written", "why"),
    [
        ("https://evil.example/messages", "which is not at its own origin."),
        ("https://a:b@weather.example/messages", "which carries a user name or a password."),
        ("/messages?x=" + "a" * 9000, "which is longer than"),
        ("javascript:alert(1)", "which is not an http(s) URL."),
    ],
)
def test_why_messages_are_not_sent_is_told(written: str, why: str) -> None:
    report = SseServer(first=f"event: endpoint\ndata: {written}\n\n".encode()).site().audit(SSE)
    assert why in check_of(report, 328).message


def test_what_came_of_initialize_is_told_in_a_sentence() -> None:
    report = SseServer(otherwise={I: b""}).site().audit(SSE)
    assert untested(report)[424] == f"{MESSAGES}: its event stream brought no response to it, and timed out after 6 s"
    report = SseServer(otherwise={I: b""}, is_ended=True).site().audit(SSE)
    message = check_of(report, 424).message
    assert f"initialize, sent to {MESSAGES}, was answered 202 (its event stream brought no response to it)" in message


def test_where_the_server_is_instead_is_told() -> None:
    report = SseServer().site().audit(f"{HOST}/mcp")
    assert f"there is a server at {SSE}" in check_of(report, 400).message
    assert report.protocols[Protocol.MCP].state is State.CONFIRMED


@pytest.mark.parametrize("status", [422, 500])
def test_a_stream_that_clients_do_not_come_to_is_told(status: int) -> None:
    """They try GET only after certain answers to POST; a server that gives others is not found by them."""
    server = SseServer()
    site = server.site()
    whole = server.open
    site.mcp[SSE] = lambda request: Answer(status=status) if request.method == "POST" else whole(request)
    report = site.audit(SSE)
    told = (
        "GET was answered 200 with an event stream, which clients of HTTP+SSE go on with only after 400 or 404 or 405"
    )
    assert told in check_of(report, 400).message


def test_a_stream_that_is_none_of_http_sse_is_told() -> None:
    report = SseServer(first=b"data: hello\n\n").site().audit(SSE)
    told = "GET was answered 200 with an event stream that does not begin with an endpoint event"
    assert told in check_of(report, 400).message


def test_what_was_heard_before_the_stream_was_cut_off_counts() -> None:
    """The tools are what was too large: the server is there."""
    server = SseServer(otherwise={T: lambda message: right(message)[:-4]})
    site = server.site()
    whole = server.open
    for code in (FailureCode.TOO_LARGE, FailureCode.BUDGET, FailureCode.BAD_HTTP):

        def cut(request: Request, code: FailureCode = code) -> Answer:
            answer = whole(request)
            if answer.failure is None:
                return answer
            return Answer(body=answer.body, headers=answer.headers, failure=(code, "was cut off"), is_cut=True)

        site.mcp[SSE] = cut
        report = site.audit(SSE)
        assert report.protocols[Protocol.MCP].state is State.CONFIRMED
        assert found(report) == [111]
        assert {103, 460, 200} <= untested(report).keys()


def test_each_event_is_read_once_however_the_bytes_come() -> None:
    """Byte by byte, line ends and all."""
    server = SseServer()
    site = server.site()
    whole = server.open

    def dripping(request: object) -> Answer:
        enough: Callable[[bytes], bool] | None = getattr(request, "enough", None)
        if enough is None:
            return whole(request)  # type: ignore[arg-type]
        calls: list[bytes] = []

        def one_by_one(body: bytes) -> bool:
            start = len(calls)
            for length in range(start, len(body) + 1):
                calls.append(body[:length])
                if enough(body[:length]):
                    return True
            return False

        return whole(request._replace(enough=one_by_one))

    site.mcp[SSE] = dripping
    report = site.audit(SSE)
    assert found(report) == [103, 111, 200]
    assert [request.purpose for request in server.seen] == GREETED


def test_the_stream_is_read_once_for_all_that_was_posted(monkeypatch: pytest.MonkeyPatch) -> None:
    pages = [[tool(name=f"t{index}")] for index in range(TOOL_PAGES)]
    evidence = SseServer(lists={"tools/list": pages}).site().gather(SSE)
    read: list[bytes] = []
    monkeypatch.setattr("parley.wire.sse._event", lambda block, ended: read.append(block) or _event(block, ended=ended))
    assert found(judge(evidence)) == [103, 111, 200]
    answers = [block for block in read if b"jsonrpc" in block]
    assert len(answers) == len(set(answers)) == TOOL_PAGES + 1
