"""MCP servers that are not there: functions from a request to an answer, as good as the specification wants them.

Each can be made worse in one place: by the purpose of the request that it then answers otherwise.
"""

import json
import queue
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from parley.documents.mcp_plan import FOREIGN_ORIGIN, LEGACY_VERSION, MODERN_VERSION, NO_VERSION, Purpose
from parley.evidence import FailureCode, Request
from sites import HOST, Answer, Site

Members = dict[str, Any]
JSON_TYPE = {"content-type": "application/json"}
SSE_TYPE = {"content-type": "text/event-stream", "x-accel-buffering": "no"}
META = {"io.modelcontextprotocol/serverInfo": {"name": "weather", "version": "1.4.0"}}

TOOL: Members = {
    "name": "get_forecast",
    "description": "The forecast for a place.",
    "inputSchema": {"type": "object", "properties": {"place": {"type": "string"}}, "required": ["place"]},
}


def tool(**changes: Any) -> Members:
    """The tool with members changed, or removed where the value is ``...``."""
    return {name: value for name, value in (TOOL | changes).items() if value is not ...}


def result(request_id: object, members: object, *, headers: Mapping[str, str] = JSON_TYPE) -> Answer:
    return Answer(body={"jsonrpc": "2.0", "id": request_id, "result": members}, headers=headers)


def error(request_id: object, code: object, message: object = "no", *, status: int = 400, data: object = ...) -> Answer:
    members = {"code": code, "message": message} | ({} if data is ... else {"data": data})
    return Answer(status=status, body={"jsonrpc": "2.0", "id": request_id, "error": members}, headers=JSON_TYPE)


def stream(message: object, *, before: bytes = b"", end: bytes = b"\n\n") -> Answer:
    """An answer as an event stream."""
    return Answer(body=before + b"event: message\ndata: " + json.dumps(message).encode() + end, headers=SSE_TYPE)


@dataclass(kw_only=True)
class Server:
    """A server of one era or both.

    ``lists`` are the pages of each list, by method, in each reading in turn. ``otherwise`` answers the requests of a
    purpose in the server's stead: an Answer, or a function of the request.
    """

    modern: bool = True
    legacy: bool = False
    capabilities: Members = field(default_factory=lambda: {"tools": {}})
    lists: dict[str, list[list[Any]]] = field(default_factory=lambda: {"tools/list": [[TOOL]]})
    readings: list[list[list[Any]]] | None = None
    hints: Members = field(default_factory=lambda: {"ttlMs": 60_000, "cacheScope": "public"})
    session: str | None = "3f9a-session"
    version: str = LEGACY_VERSION
    otherwise: Mapping[Purpose, Answer | Callable[[Request], Answer]] = field(default_factory=dict)
    changes: Mapping[Purpose, Callable[[Members], object]] = field(default_factory=dict)
    seen: list[Request] = field(default_factory=list)

    def __call__(self, request: Request) -> Answer:
        self.seen.append(request)
        purpose = Purpose(request.purpose)
        if purpose in self.otherwise:
            instead = self.otherwise[purpose]
            return instead if isinstance(instead, Answer) else instead(request)
        answer = self._answer(request)
        if purpose in self.changes and isinstance(answer.body, dict) and "result" in answer.body:
            changed = self.changes[purpose](dict(answer.body["result"]))
            return Answer(status=answer.status, body=answer.body | {"result": changed}, headers=answer.headers)
        return answer

    def _answer(self, request: Request) -> Answer:
        headers = {name.lower(): value for name, value in request.headers.items()}
        if "origin" in headers:
            assert headers["origin"] == FOREIGN_ORIGIN
            return Answer(status=403, body=b"Invalid Origin header")
        if request.method != "POST":
            return Answer(status=200 if request.method == "DELETE" else 405)
        message = json.loads(request.body or b"")
        is_modern = isinstance(message, dict) and "_meta" in message.get("params", {})
        if is_modern and self.modern:
            return self._modern(message, headers)
        if self.legacy:
            return self._legacy(message, headers, Purpose(request.purpose))
        if self.modern:
            return error(message.get("id"), -32020, f"send MCP-Protocol-Version: {MODERN_VERSION}")
        return Answer(status=404)

    def _modern(self, message: Members, headers: Mapping[str, str]) -> Answer:
        request_id, method, meta = message.get("id"), message["method"], message["params"]["_meta"]
        version = meta["io.modelcontextprotocol/protocolVersion"]
        if headers.get("mcp-method") != method or headers.get("mcp-protocol-version") != version:
            return error(request_id, -32020)
        if version != MODERN_VERSION:
            return error(request_id, -32022, data={"supported": [MODERN_VERSION], "requested": version})
        if "io.modelcontextprotocol/clientCapabilities" not in meta:
            return error(request_id, -32602)
        if "id" not in message:
            return Answer(status=202)
        more = {"resultType": "complete", "_meta": META} | self.hints
        if method == "server/discover":
            return result(request_id, {"supportedVersions": [MODERN_VERSION], "capabilities": self.capabilities} | more)
        return self._list(message, more) or error(request_id, -32601, status=404)

    def _legacy(self, message: Any, headers: Mapping[str, str], purpose: Purpose) -> Answer:
        if isinstance(message, list):
            return error(None, -32600)
        request_id, method = message.get("id"), message["method"]
        if method == "initialize":
            members = {
                "protocolVersion": self.version,
                "capabilities": self.capabilities,
                "serverInfo": {"name": "weather", "version": "1.4.0"},
            }
            session = {} if self.session is None else {"mcp-session-id": self.session}
            return result(request_id, members, headers=JSON_TYPE | session)
        if headers.get("mcp-protocol-version", self.version) == NO_VERSION:
            return error(None, -32000)
        if self.session is not None and headers.get("mcp-session-id") != self.session:
            return error(None, -32000, status=404 if "mcp-session-id" in headers else 400)
        if "id" not in message:
            return Answer(status=202)
        if method == "ping":
            return result(request_id, {})
        return self._list(message, {}) or error(request_id, -32601, status=200)

    def _list(self, message: Members, more: Members) -> Answer | None:
        method, request_id = message["method"], message["id"]
        if method not in self.lists:
            return None
        pages = self.lists[method]
        cursor = message.get("params", {}).get("cursor")
        if self.readings is not None and cursor is None:
            pages = self.readings.pop(0) if len(self.readings) > 1 else self.readings[0]
        if cursor is not None and not str(cursor).isdigit():
            return error(request_id, -32602)
        index = 0 if cursor is None else int(cursor)
        member = {"resources/templates/list": "resourceTemplates"}.get(method, method.partition("/")[0])
        following = {"nextCursor": str(index + 1)} if index + 1 < len(pages) else {}
        return result(request_id, {member: pages[index]} | following | more)


def modern(**changes: Any) -> Server:
    return Server(**changes)


def legacy(**changes: Any) -> Server:
    return Server(modern=False, legacy=True, **changes)


def dual(**changes: Any) -> Server:
    return Server(legacy=True, **changes)


class SseServer:
    """An HTTP+SSE server (2024-11-05) at ``/sse``, which takes messages at ``/messages?session=1``.

    ``first`` is what its stream begins with. ``otherwise`` replaces what a purpose's POST brings on the stream, as bytes
    or as a function of the message, and ``posted`` what the POST itself is answered. ``is_ended`` ends the stream where
    another would stay silent.
    """

    def __init__(
        self,
        *,
        first: bytes = b"event: endpoint\ndata: /messages?session=1\n\n",
        otherwise: Mapping[Purpose, bytes | Callable[[Members], bytes]] | None = None,
        posted: Mapping[Purpose, Answer] | None = None,
        is_ended: bool = False,
        **server: Any,
    ) -> None:
        self._first = first
        self._otherwise = otherwise or {}
        self._posted = posted or {}
        self._is_ended = is_ended
        self._server = legacy(session=None, **server)
        self._stream: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self.seen: list[Request] = []

    def site(self, answers: Mapping[str, Answer] | None = None) -> Site:
        return Site(answers or {}, mcp={f"{HOST}/sse": self.open, f"{HOST}/messages?session=1": self.take})

    def open(self, request: Request) -> Answer:
        """At ``/sse``."""
        if request.method == "POST":
            return Answer(status=405)
        if request.purpose != Purpose.ENDPOINT_EVENT:
            return Answer(headers=SSE_TYPE)
        assert request.enough is not None
        body = self._first
        while not request.enough(body):
            try:
                body += self._stream.get(timeout=0.2)
            except queue.Empty:
                failure = None if self._is_ended else (FailureCode.TIMEOUT, "timed out after 6 s")
                return Answer(body=body, headers=SSE_TYPE, failure=failure, is_cut=True)
        return Answer(body=body, headers=SSE_TYPE)

    def take(self, request: Request) -> Answer:
        """At ``/messages``."""
        self.seen.append(request)
        purpose, message = Purpose(request.purpose), json.loads(request.body or b"")
        if purpose in self._otherwise:
            instead = self._otherwise[purpose]
            self._stream.put(instead if isinstance(instead, bytes) else instead(message))
        elif "id" in message:
            answer = self._server._legacy(message, {}, purpose).body
            self._stream.put(event(answer))
        return self._posted.get(purpose, Answer(status=202, body=b"Accepted"))


def event(message: object, *, end: bytes = b"\r\n\r\n") -> bytes:
    """An event of an HTTP+SSE server."""
    return b"event: message\r\ndata: " + json.dumps(message).encode() + end
