"""The talk with an HTTP+SSE server (2024-11-05): what is asked, and how what comes of it is told."""

import json
from collections.abc import Callable

import pytest

from mcp_servers import TOOL, Members, SseServer, event, tool
from parley.audit import judge
from parley.documents.mcp_plan import TOOL_PAGES, Purpose
from parley.evidence import Evidence, FailureCode, Request
from parley.report import Protocol, Report, State, Status
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
    assert {103, 382, 403, 450, 452, 482} <= untested(report).keys()
    assert auditor.status is Status.INFORMATION
    assert report.protocols[Protocol.MCP].state is State.INDICATED


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
