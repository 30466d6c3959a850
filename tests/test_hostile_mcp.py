"""MCP servers that are made to hang, to flood or to confuse: bounded in time and requests, and told as what they are."""

import json
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from mcp_servers import JSON_TYPE, TOOL, Server, dual, legacy, modern, result, tool
from mcp_site import mcp_site
from parley.audit import audit
from parley.documents.mcp_plan import Purpose
from parley.evidence import Request
from parley.fetch.client import Fetcher
from parley.fetch.policy import LOCAL, Limits
from parley.render.report_json import encode, report_json
from parley.report import Protocol, Report, State
from sites import Answer, numbers

AUDITOR = "PARLEY-McpServerAuditor"

# Short, so that what never ends, ends soon: 0.8 s for a request, 6 s for an audit.
LIMITS = Limits(fetch_seconds=0.8, connect_seconds=0.8, dns_seconds=0.8, audit_seconds=6)

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"

Write = Callable[[bytes], None]


def audited(
    server: Server, raw: Callable[[Request, Write], bool] | None = None, limits: Limits = LIMITS
) -> tuple[Report, int]:
    began = time.monotonic()
    with mcp_site(server, raw=raw) as site:
        report = audit(site.endpoint, lambda target: Fetcher(target.url, LOCAL, limits=limits))
        requests = len(site.requests)
    assert time.monotonic() - began < 12
    assert requests <= 64
    assert not any(attempt.outcome == "internal" for attempt in report.attempts)
    assert not any("internal error" in one.reason for auditor in report.auditors for one in auditor.untested)
    json.loads(encode(report_json(report)))
    return report, requests


def faults(report: Report) -> list[int]:
    return [code for code in numbers(report, AUDITOR) if code >= 300]


def untested(report: Report) -> dict[str, str]:
    auditor = next(one for one in report.auditors if one.name == AUDITOR)
    return {one.code.rpartition("-")[2]: one.reason for one in auditor.untested}


def on(*purposes: Purpose, do: Callable[[Request, Write, threading.Event], None]) -> tuple[Any, threading.Event]:
    """A server whose answers to these requests are written by hand; what hangs is let go by the event."""
    released = threading.Event()

    def raw(request: Request, write: Write) -> bool:
        if request.purpose not in purposes:
            return False
        do(request, write, released)
        return True

    return raw, released


TOOLS = (Purpose.TOOLS, Purpose.TOOLS_AGAIN)


def endless(request: Request, write: Write, released: threading.Event) -> None:
    write(HEAD)
    while not released.wait(0.02):
        write(b": still here\n\ndata: {}\n\n")


def silent(request: Request, write: Write, released: threading.Event) -> None:
    write(HEAD)
    released.wait(10)


def mute(request: Request, write: Write, released: threading.Event) -> None:
    released.wait(10)


def flood(request: Request, write: Write, released: threading.Event) -> None:
    write(HEAD)
    for _ in range(40):
        write(b"data: " + b"x" * 65_536 + b"\n\n")


@pytest.mark.parametrize("do", [endless, silent, flood], ids=["an endless stream", "a silent stream", "a flood"])
def test_lists_that_never_come_are_untested(do: Callable[[Request, Write, threading.Event], None]) -> None:
    raw, released = on(*TOOLS, do=do)
    try:
        report, _ = audited(modern(), raw, limits=Limits() if do is flood else LIMITS)
    finally:
        released.set()
    assert faults(report) == []
    assert report.protocols[Protocol.MCP].state is State.CONFIRMED
    reason = "sends more than 1 MiB" if do is flood else "timed out after 0.8 s"
    assert all(reason in untested(report)[code] for code in ("350", "460", "461"))


def test_a_host_that_falls_silent_is_asked_no_more() -> None:
    raw, released = on(Purpose.DISCOVER, Purpose.INITIALIZE, Purpose.STREAM, do=mute)
    try:
        report, requests = audited(dual(), raw)
    finally:
        released.set()
    assert requests <= 3
    mcp = report.protocols[Protocol.MCP]
    assert (mcp.state, faults(report)) == (State.NOT_DETECTED, [])
    assert "timed out after 0.8 s" in mcp.because[0]


def test_answers_to_another_id() -> None:
    def other(request: Request) -> Answer:
        return result("somebody else's", {"tools": []})

    report, _ = audited(legacy(otherwise={Purpose.LEGACY_TOOLS: other, Purpose.LEGACY_TOOLS_AGAIN: other}))
    assert faults(report) == [401]
    assert report.protocols[Protocol.MCP].state is State.INDICATED


def test_streams_with_others_answers_first() -> None:
    def crowded(request: Request, write: Write, released: threading.Event) -> None:
        right = modern()._answer(request).body
        others = [{"jsonrpc": "2.0", "id": one, "result": {}} for one in (1, None, "parley:tools/1")]
        write(HEAD + b"".join(b"data: %b\n\n" % json.dumps(one).encode() for one in (*others, right)))

    raw, _ = on(*TOOLS, do=crowded)
    report, _ = audited(modern(), raw)
    assert faults(report) == []


def test_a_batch_of_two_is_no_response() -> None:
    message = {"jsonrpc": "2.0", "id": 1, "result": {}}
    report, _ = audited(legacy(otherwise={Purpose.LEGACY_PING: Answer(body=[message, message], headers=JSON_TYPE)}))
    assert faults(report) == [401, 482]


def test_utf_16() -> None:
    def wide(request: Request) -> Answer:
        text = json.dumps(legacy()._answer(request).body).encode("utf-16")
        return Answer(body=text, headers={"content-type": "application/json; charset=utf-16"})

    report, _ = audited(legacy(otherwise={Purpose.LEGACY_PING: wide}))
    assert faults(report) == [401, 482]


def test_ten_thousand_tools() -> None:
    many = [tool(name=f"tool_{index}") for index in range(10_000)]
    report, _ = audited(modern(lists={"tools/list": [many]}), limits=Limits())
    assert faults(report) == []
    assert "sends more than 1 MiB" in untested(report)["460"]


def test_a_list_of_small_tools_that_is_as_long_as_is_read() -> None:
    many = [tool(name=f"t{index}", description="", inputSchema={"type": "object"}) for index in range(9_000)]
    report, _ = audited(modern(lists={"tools/list": [many]}), limits=Limits())
    assert faults(report) == []


def test_schemas_a_hundred_levels_deep() -> None:
    schema: dict[str, Any] = {"type": "object"}
    for _ in range(100):
        schema = {"type": "object", "properties": {"a": schema}}
    report, _ = audited(modern(lists={"tools/list": [[tool(inputSchema=schema)]]}))
    assert faults(report) == []
    assert "nested more than 64 levels deep" in untested(report)["461"]


def test_cursors_that_never_end() -> None:
    def walk(request: Request) -> Answer:
        message = json.loads(request.body or b"")
        cursor = message["params"].get("cursor", "0")
        number = int(cursor) + 1 if cursor.isdigit() else 0
        meta = {"io.modelcontextprotocol/serverInfo": {"name": "w", "version": "1"}}
        more = {"resultType": "complete", "ttlMs": 0, "cacheScope": "public", "_meta": meta}
        return result(message["id"], {"tools": [tool(name=f"t{number}")], "nextCursor": str(number)} | more)

    report, requests = audited(modern(otherwise=dict.fromkeys(TOOLS, walk)))
    assert faults(report) == []
    assert "tools/list has more pages than the 8 that were read" in untested(report)["460"]
    assert requests <= 40


def test_a_megabyte_of_headers() -> None:
    def heads(request: Request, write: Write, released: threading.Event) -> None:
        write(b"HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: " + b"Bearer " * 150_000 + b"\r\n\r\n")

    raw, _ = on(Purpose.DISCOVER, Purpose.INITIALIZE, do=heads)
    report, _ = audited(dual(), raw)
    assert report.protocols[Protocol.MCP].state is not State.CONFIRMED


def test_a_post_is_never_redirected() -> None:
    with mcp_site(legacy()) as victim:
        away = Answer(status=307, headers={"location": victim.endpoint})
        report, _ = audited(dual(otherwise={Purpose.DISCOVER: away, Purpose.INITIALIZE: away}))
        assert victim.requests == []
    assert faults(report) == [400, 490]


def test_text_of_the_server_s_is_cleaned() -> None:
    nasty = "\x1b[31m\u202e::error::<script>" * 40
    server = modern(
        capabilities={"tools": {}, nasty: {}, "extensions": {nasty: {}}},
        lists={"tools/list": [[tool(name=nasty, inputSchema=nasty, icons=[{"src": nasty}]), TOOL]]},
        changes={Purpose.DISCOVER: lambda was: was | {"_meta": {"io.modelcontextprotocol/serverInfo": {"name": nasty, "version": nasty}}, "supportedVersions": [nasty]}},
    )  # fmt: skip
    report, _ = audited(server)
    text = encode(report_json(report)).decode()
    assert "\\u001b" not in text
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert len(text) < 200_000


ENDPOINT = b"event: endpoint\ndata: /mcp?session=1\n\n"
NOT_POSTED = {Purpose.DISCOVER: Answer(status=405), Purpose.INITIALIZE: Answer(status=405)}
TAKEN = {Purpose.SSE_INITIALIZE: Answer(status=202)}


def then(behave: Callable[[Request, Write, threading.Event], None], first: bytes = ENDPOINT) -> Any:
    def do(request: Request, write: Write, released: threading.Event) -> None:
        write(HEAD + first)
        behave(request, lambda data: write(data.removeprefix(HEAD)), released)

    return do


def trickle(request: Request, write: Write, released: threading.Event) -> None:
    """One event that never ends, in small pieces."""
    while not released.wait(0.001):
        write(b"data: x\n")


def others(request: Request, write: Write, released: threading.Event) -> None:
    """Answers to everybody else."""
    while not released.wait(0.001):
        write(b'data: {"jsonrpc":"2.0","id":1,"result":{}}\n\n')


@pytest.mark.parametrize("behave", [endless, silent, flood, trickle, others])
def test_http_sse_whose_answer_never_comes(behave: Callable[[Request, Write, threading.Event], None]) -> None:
    raw, released = on(Purpose.STREAM, do=then(behave))
    limits = Limits() if behave is flood else LIMITS
    try:
        report, _ = audited(legacy(otherwise=NOT_POSTED | TAKEN), raw, limits=limits)
    finally:
        released.set()
    mcp = report.protocols[Protocol.MCP]
    assert faults(report) == []
    assert (mcp.state, mcp.conclusive) == (State.INDICATED, True)
    why = "sends more than 1 MiB" if behave is flood else "timed out after 0.8 s"
    assert why in untested(report)["424"]


def test_http_sse_whose_first_event_never_comes() -> None:
    for behave in (silent, trickle):
        raw, released = on(Purpose.STREAM, do=then(behave, first=b""))
        try:
            report, _ = audited(legacy(otherwise=NOT_POSTED), raw)
        finally:
            released.set()
        assert not [attempt for attempt in report.attempts if attempt.purpose == Purpose.SSE_INITIALIZE]


def test_http_sse_whose_post_hangs() -> None:
    get, released = on(Purpose.STREAM, do=then(silent))
    post, _ = on(Purpose.SSE_INITIALIZE, do=lambda request, write, _: released.wait(10) and None)
    try:
        report, _ = audited(
            legacy(otherwise=NOT_POSTED), lambda request, write: get(request, write) or post(request, write)
        )
    finally:
        released.set()
    assert (report.protocols[Protocol.MCP].state, faults(report)) == (State.INDICATED, [])
    assert "424" in untested(report)
