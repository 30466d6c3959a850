"""Every code of ``PARLEY-McpServerAuditor``, where it fires and where it must not."""

import json
from collections.abc import Callable
from typing import Any

import pytest

import gated
from mcp_servers import JSON_TYPE, TOOL, Members, Server, dual, error, legacy, modern, result, stream, tool
from parley.audit import judge
from parley.documents.mcp import forget, talks
from parley.documents.mcp_plan import FUTURE_VERSION, MODERN_VERSION, PLAN, Purpose
from parley.documents.mcp_reply import read
from parley.evidence import FailureCode, Request
from parley.report import Protocol, Report, State, Status
from parley.rules.mcp import McpServerRules
from sites import HOST, Answer, Site, card, fails, html, numbers, served

AUDITOR = "PARLEY-McpServerAuditor"
MCP = f"{HOST}/mcp"
SSE = f"{HOST}/sse"
CARD = "/.well-known/mcp/server-card.json"

GOOD_MODERN = [100, 101, 102, 103, 104, 104, 200]
GOOD_LEGACY = [100, 101, 102, 103, 200]


def audit(server: Callable[[Request], Answer], asked: str = MCP, **answers: Answer) -> Report:
    return Site(answers, mcp={asked: server}).audit(asked)


def codes(report: Report) -> list[int]:
    return numbers(report, AUDITOR)


def faults(report: Report) -> list[int]:
    """Codes beyond those of a good server."""
    return [code for code in codes(report) if code not in (100, 101, 102, 103, 104, 200)]


def request_id(request: Request) -> object:
    return json.loads(request.body or b"")["id"]


def answers(**members: Any) -> Callable[[Request], Answer]:
    """A response whose members are changed, or removed where the value is ``...``."""

    def answer(request: Request) -> Answer:
        message = {"jsonrpc": "2.0", "id": request_id(request), "result": {"tools": []}} | members
        return Answer(body={name: value for name, value in message.items() if value is not ...}, headers=JSON_TYPE)

    return answer


def refuses(code: object, *, status: int = 400, data: object = ...) -> Callable[[Request], Answer]:
    return lambda request: error(request_id(request), code, status=status, data=data)


def adds(**members: object) -> Callable[[Members], object]:
    """A result with members changed, or removed where the value is ``...``."""
    return lambda was: {
        name: value
        for name, value in (was | {k.replace("meta", "_meta"): v for k, v in members.items()}).items()
        if value is not ...
    }


def discovers(request: Request) -> Answer:
    """The DiscoverResult whatever is asked: a server that looks at nothing."""
    members = {"resultType": "complete", "supportedVersions": [MODERN_VERSION], "capabilities": {}}
    return result(request_id(request), members)


def offers(*tools: object) -> dict[str, list[list[object]]]:
    return {"tools/list": [list(tools)]}


def offers_pages(count: int) -> dict[str, list[list[object]]]:
    """A tool on each page."""
    return {"tools/list": [[tool(name=f"t{number}")] for number in range(count)]}


def second(request: Request, answer: Answer) -> Answer:
    """The answer to a list's second page; the first is right."""
    message = json.loads(request.body or b"")
    if "cursor" in message.get("params", {}):
        return answer
    is_modern = "_meta" in message.get("params", {})
    return (modern if is_modern else legacy)(session=None, lists=offers_pages(2))._answer(request)


def inputs(**properties: object) -> dict[str, list[list[object]]]:
    """A tool with these properties."""
    return offers(tool(inputSchema={"type": "object", "properties": properties}))


BOM = b"\xef\xbb\xbf"
RESOURCES: dict[str, Any] = {"capabilities": {"tools": {}, "resources": {}}}


def lists(**more: list[list[object]]) -> dict[str, list[list[object]]]:
    names = {"prompts": "prompts/list", "resources": "resources/list", "templates": "resources/templates/list"}
    filled = {"resources/list": [[]], "resources/templates/list": [[]], "tools/list": [[TOOL]]}
    return filled | {names[name]: pages for name, pages in more.items()}


# (name, server, codes beside those of a good server). Each code stands in at least one row.
CASES: list[tuple[str, Server, list[int]]] = [
    ("a good modern server", modern(), []),
    ("a good legacy server", legacy(), []),
    ("a good server of both eras", dual(), []),
    ("a stateless legacy server", legacy(session=None), []),
    ("a legacy server of 2025-06-18", legacy(version="2025-06-18"), []),
    ("a legacy server of 2025-03-26", legacy(version="2025-03-26"), []),
    ("a modern server without lists", modern(capabilities={}, lists={}), []),
    # 105
    ("a foreign Origin is accepted", modern(otherwise={Purpose.ORIGIN: discovers}), [105]),
    ("the same by a legacy server", legacy(otherwise={Purpose.LEGACY_ORIGIN: answers(result={})}), [105]),
    ("a foreign Origin is refused by JSON-RPC", modern(otherwise={Purpose.ORIGIN: error(None, -32600, status=403)}), []),
    # 110
    ("logging", modern(capabilities={"tools": {}, "logging": {}}), [110]),
    ("logging of a legacy server", legacy(capabilities={"tools": {}, "logging": {}}), [110]),
    # 112
    ("ping in the modern era", modern(otherwise={Purpose.PING: answers(result={})}), [112]),
    # 120
    ("a stream that proxies may keep", modern(otherwise={Purpose.TOOLS: lambda request: Answer(body=b'data: {"jsonrpc":"2.0","id":"parley:tools/0","result":{"resultType":"complete","tools":[],"ttlMs":0,"cacheScope":"public","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"w","version":"1"}}}}\n\n', headers={"content-type": "text/event-stream"}), Purpose.TOOLS_AGAIN: answers(result={"tools": []})}), [120]),
    # 130
    ("an error code of old", modern(otherwise={Purpose.NO_METHOD: refuses(-32005, status=404)}), [130, 415]),
    ("the same of both eras", dual(otherwise={Purpose.NO_METHOD: refuses(-32005, status=404)}), [415]),
    # 142
    ("seconds for milliseconds", modern(hints={"ttlMs": 300, "cacheScope": "public"}), [142, 142]),
    ("no time to live", modern(hints={"ttlMs": 0, "cacheScope": "private"}), []),
    # 150
    ("a legacy list that rotates", legacy(readings=[[[TOOL, tool(name="b")]], [[tool(name="b"), TOOL]]]), [150]),
    ("a legacy list that changes", legacy(readings=[[[TOOL]], [[tool(name="b")]]]), [150]),
    # 160
    ("a dot in a tool's name", modern(lists=offers(tool(name="weather.get"))), [160]),
    ("a tool's name of 65 characters", legacy(lists=offers(tool(name="a" * 65))), [160]),
    ("the same before names were spoken of", legacy(version="2025-06-18", lists=offers(tool(name="a.b"))), []),
    # 161
    ("an array without items", modern(lists=inputs(a={"type": "array"})), [161]),
    ("an array with items", modern(lists=inputs(a={"type": "array", "items": {}})), []),
    # 180
    ("no session id is needed", legacy(otherwise={Purpose.LEGACY_WITHOUT_SESSION: answers()}), [180]),
    # 181
    ("a batch is answered", legacy(otherwise={Purpose.LEGACY_BATCH: Answer(body=[{"jsonrpc": "2.0", "id": "x", "result": {}}], headers=JSON_TYPE)}), [181]),
    # 302
    ("no supported versions", modern(changes={Purpose.DISCOVER: adds(supportedVersions=[])}), [302]),
    ("other supported versions", modern(changes={Purpose.DISCOVER: adds(supportedVersions=["2025-11-25"])}), [302, 310]),
    # 303
    ("no server info", modern(changes={Purpose.TOOLS: adds(meta=...)}), [303]),
    ("server info of old", modern(changes={Purpose.DISCOVER: adds(meta=..., serverInfo={"name": "w", "version": "1"})}), [303]),
    # 310
    ("two lists of versions", modern(otherwise={Purpose.NO_VERSION: refuses(-32022, data={"supported": ["2027-01-01"], "requested": "1900-01-01"})}), [310]),
    # 311
    ("initialize without a hint", modern(otherwise={Purpose.INITIALIZE: refuses(-32601, status=404)}), [311]),
    ("initialize with a hint in its data", modern(otherwise={Purpose.INITIALIZE: refuses(-32022, data={"supported": [MODERN_VERSION]})}), []),
    # 320
    ("a stream that stays open", modern(otherwise={Purpose.DISCOVER: lambda r: streamed_discovery(r), Purpose.STREAM_END: lambda r: kept_open(r)}), [320]),
    ("a stream that ends", modern(otherwise={Purpose.DISCOVER: lambda r: streamed_discovery(r), Purpose.STREAM_END: lambda r: streamed_discovery(r)}), []),
    # 321
    ("a notification is answered", modern(otherwise={Purpose.NOTIFICATION: result(None, {})}), [321]),
    ("a notification is refused", modern(otherwise={Purpose.NOTIFICATION: Answer(status=400)}), []),
    ("a notification's answer is a stream", legacy(otherwise={Purpose.INITIALIZED: Answer(status=202, headers={"content-type": "text/event-stream"})}), [321]),
    ("a notification's answer is 204", legacy(otherwise={Purpose.INITIALIZED: Answer(status=204)}), [321]),
    ("a notification's answer is labelled JSON", legacy(otherwise={Purpose.INITIALIZED: Answer(status=202, headers=JSON_TYPE)}), []),
    # 322
    ("GET is not refused", modern(otherwise={Purpose.STREAM: Answer(status=200, headers=JSON_TYPE)}), [322]),
    ("GET is answered by 404", modern(otherwise={Purpose.STREAM: Answer(status=404)}), [322]),
    # 323
    ("a session id is refused", modern(otherwise={Purpose.SESSION: Answer(status=404)}), [323]),
    ("a session id is issued", modern(otherwise={Purpose.SESSION: lambda r: Answer(body=discovers(r).body, headers=JSON_TYPE | {"mcp-session-id": "abc"})}), [323]),
    # 325
    ("an error without a type", modern(otherwise={Purpose.NO_METHOD: lambda r: Answer(status=404, body=refuses(-32601)(r).body)}), [325]),
    # 326
    ("a charset is refused", modern(otherwise={Purpose.CHARSET: Answer(status=415)}), [326]),
    ("a charset is refused by a legacy server", legacy(otherwise={Purpose.LEGACY_CHARSET: Answer(status=400)}), [326]),
    # 327
    ("CORS without MCP's headers", modern(otherwise={Purpose.PREFLIGHT: Answer(status=204, headers={"access-control-allow-origin": "*", "access-control-allow-headers": "content-type, authorization"})}), [327]),
    ("CORS with all headers", modern(otherwise={Purpose.PREFLIGHT: Answer(status=204, headers={"access-control-allow-origin": "*", "access-control-allow-headers": "*"})}), []),
    ("CORS with MCP's headers", dual(otherwise={Purpose.PREFLIGHT: Answer(status=204, headers={"access-control-allow-origin": "*", "access-control-allow-headers": "Content-Type,MCP-Protocol-Version,Mcp-Method,Mcp-Name,Mcp-Session-Id"})}), []),
    # 329
    ("a byte order mark", modern(otherwise={Purpose.NO_METHOD: lambda r: Answer(status=404, headers=JSON_TYPE, body=BOM + json.dumps(refuses(-32601)(r).body).encode())}), [329]),
    # 330
    ("a draft's number for the version", modern(otherwise={Purpose.NO_VERSION: refuses(-32004, data={"supported": [MODERN_VERSION], "requested": "1900-01-01"})}), [330]),
    ("a draft's number for headers", modern(otherwise={Purpose.WITHOUT_METHOD: refuses(-32001)}), [330]),
    # 350 to 352
    ("tools that come and go", modern(readings=[[[TOOL, tool(name="b")]], [[TOOL]], [[TOOL, tool(name="b")]], [[TOOL]]]), [350]),
    ("tools deployed anew between two readings", modern(readings=[[[TOOL]], [[TOOL, tool(name="b")]]]), []),
    ("tools in another order", modern(readings=[[[TOOL, tool(name="b")]], [[tool(name="b"), TOOL]], [[TOOL, tool(name="b")]]]), [351]),
    ("tools defined otherwise", modern(readings=[[[TOOL]], [[tool(description="b")]], [[tool(description="c")]]]), [352]),
    ("tools on several pages", modern(lists={"tools/list": [[TOOL], [tool(name="b")]]}), []),
    # 353
    ("any cursor will do", modern(lists={"tools/list": [[TOOL], [tool(name="b")]]}, otherwise={Purpose.NO_CURSOR: answers()}), [353]),
    # 354
    ("a _meta key without a name", modern(changes={Purpose.TOOLS: lambda was: was | {"_meta": was["_meta"] | {"com.example/-x": 1}}}), [354]),
    ("a _meta key with a reserved prefix", modern(changes={Purpose.TOOLS: lambda was: was | {"_meta": was["_meta"] | {"com.mcp/x": 1}}}), [354]),
    ("good _meta keys", modern(changes={Purpose.TOOLS: lambda was: was | {"_meta": was["_meta"] | {"com.example.mcp/x": 1, "traceparent": "x", "com.example/": 1}}}), []),
    # 360, 361
    ("a space in a tool's name", modern(lists=offers(tool(name="get forecast"))), [360]),
    ("a slash in a tool's name", legacy(lists=offers(tool(name="weather/get"))), [360]),
    ("two tools of a name", modern(lists=offers(TOOL, TOOL)), [361]),
    ("two tools whose names differ in case", modern(lists=offers(TOOL, tool(name="Get_Forecast"))), []),
    # 362
    ("a reference to the web", modern(lists=inputs(a={"$ref": "https://weather.example/schema.json"})), [362]),
    ("a reference within", modern(lists=inputs(a={"$ref": "#/properties/b"}, b={"type": "string"})), []),
    ("a default that looks like a reference", modern(lists=inputs(a={"type": "object", "default": {"$ref": "https://x.example"}})), []),
    # 363
    ("a secret in a header", modern(lists=inputs(apiKey={"type": "string", "x-mcp-header": "Key"})), [363]),
    ("a page's token in a header", modern(lists=inputs(page_token={"type": "string", "x-mcp-header": "Page"}, max_tokens={"type": "integer", "x-mcp-header": "Max"})), []),
    # 364, 365
    ("an icon by http", modern(lists=offers(tool(icons=[{"src": "http://weather.example/i.png"}]))), [364]),
    ("icons by https and data", modern(lists=offers(tool(icons=[{"src": "https://w.example/i.png"}, {"src": "data:image/png;base64,AA=="}]))), []),
    ("a URI with a space", modern(**RESOURCES, lists=lists(resources=[[{"uri": "weather://my place", "name": "x"}]])), [365]),
    ("a URI without a scheme", modern(**RESOURCES, lists=lists(resources=[[{"uri": "/etc/motd", "name": "x"}]])), [365]),
    ("good URIs", modern(**RESOURCES, lists=lists(resources=[[{"uri": "weather://place/%20x", "name": "x"}]], templates=[[{"uriTemplate": "weather://{place}/{?q*}", "name": "x"}]])), []),
    ("a template that is not closed", modern(**RESOURCES, lists=lists(templates=[[{"uriTemplate": "weather://{place", "name": "x"}]])), [365]),
    # 380 to 383
    ("initialize is refused for its version", legacy(otherwise={Purpose.INITIALIZE: refuses(-32602)}), [380]),
    ("a version that does not exist is taken over", legacy(changes={Purpose.LEGACY_FUTURE: adds(protocolVersion=FUTURE_VERSION)}), [380]),
    ("a version that does not exist is refused", legacy(otherwise={Purpose.LEGACY_FUTURE: refuses(-32602)}), []),
    ("the version header is needed", legacy(otherwise={Purpose.LEGACY_WITHOUT_VERSION: refuses(-32600)}), [381]),
    ("a stream without a response", legacy(otherwise={Purpose.LEGACY_TOOLS: Answer(body=b": hello\n\n", headers={"content-type": "text/event-stream"})}), [382]),
    ("a legacy response labelled text", legacy(otherwise={Purpose.LEGACY_PING: lambda r: Answer(body=answers(result={})(r).body, headers={"content-type": "text/plain"})}), [382]),
    ("an unknown session is 400", legacy(otherwise={Purpose.LEGACY_NO_SESSION: error(None, -32000)}), [383]),
    # 401
    ("a response to another id", modern(otherwise={Purpose.TOOLS: answers(id="other", result={"resultType": "complete", "tools": [], "ttlMs": 0, "cacheScope": "public", "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "w", "version": "1"}}}), Purpose.TOOLS_AGAIN: answers()}), [401]),
    ("an id of another type", modern(otherwise={Purpose.NO_METHOD: lambda r: error(str(request_id(r)), -32601, status=404)}), [401]),
    ("no version of JSON-RPC", legacy(otherwise={Purpose.LEGACY_PING: answers(jsonrpc=..., result={})}), [401]),
    ("an array around a response", legacy(otherwise={Purpose.LEGACY_PING: lambda r: Answer(body=[answers(result={})(r).body], headers=JSON_TYPE)}), [401]),
    ("a code that is a text", modern(otherwise={Purpose.NO_METHOD: refuses("-32601", status=404)}), [401, 415]),
    ("a result that is a text", legacy(otherwise={Purpose.LEGACY_PING: answers(result="pong")}), [401, 482]),
    ("HTML for a list", legacy(otherwise={Purpose.LEGACY_TOOLS: html()}), [401]),
    ("Latin-1", legacy(otherwise={Purpose.LEGACY_PING: Answer(body='{"jsonrpc":"2.0","id":"é"}'.encode("latin-1"), headers=JSON_TYPE)}), [401, 482]),
    ("an error without an id", modern(otherwise={Purpose.NO_VERSION: lambda r: error(None, -32022, data={"supported": [MODERN_VERSION], "requested": "1900-01-01"})}), []),
    # 402, 404
    ("supportedVersions is a text", modern(changes={Purpose.DISCOVER: adds(supportedVersions=MODERN_VERSION)}), [402]),
    ("a DiscoverResult like an InitializeResult", modern(changes={Purpose.DISCOVER: adds(supportedVersions=..., protocolVersion=MODERN_VERSION)}), [402]),
    ("capabilities is an array", modern(changes={Purpose.DISCOVER: adds(capabilities=[])}), [402, 451]),
    ("no server/discover", modern(otherwise={Purpose.DISCOVER: refuses(-32601, status=404)}), [404]),
    # 405
    ("server/discover is refused as without its headers", modern(otherwise={Purpose.DISCOVER: refuses(-32020)}), [405]),
    ("server/discover is refused for the version that is supported", modern(otherwise={Purpose.DISCOVER: refuses(-32022, data={"supported": [MODERN_VERSION], "requested": MODERN_VERSION})}), [405]),
    ("server/discover is refused for a version, and none is supported", modern(otherwise={Purpose.DISCOVER: refuses(-32022, data={"supported": []})}), [405]),
    ("server/discover is refused for a capability", modern(otherwise={Purpose.DISCOVER: refuses(-32021, data={"requiredCapabilities": {"sampling": {}}})}), []),
    # 403
    ("no serverInfo", legacy(changes={Purpose.INITIALIZE: adds(serverInfo=...)}), [403]),
    ("no name in serverInfo", legacy(changes={Purpose.INITIALIZE: adds(serverInfo={"version": "1"})}), [403]),
    ("an empty version in serverInfo", legacy(changes={Purpose.INITIALIZE: adds(serverInfo={"name": "w", "version": ""})}), []),
    # 410 to 416
    ("any version will do", modern(otherwise={Purpose.NO_VERSION: discovers}), [410]),
    ("no list of versions", modern(otherwise={Purpose.NO_VERSION: refuses(-32022)}), [410]),
    ("a version is refused with 200", modern(otherwise={Purpose.NO_VERSION: refuses(-32022, status=200, data={"supported": [MODERN_VERSION], "requested": "1900-01-01"})}), [410]),
    ("the body's version does not matter", modern(otherwise={Purpose.OTHER_VERSION: discovers}), [411]),
    ("both eras refuse another version each in its own words", dual(otherwise={Purpose.OTHER_VERSION: error(None, -32600)}), []),
    ("both eras answer it", dual(otherwise={Purpose.OTHER_VERSION: discovers}), [411]),
    ("no Mcp-Method is needed", modern(otherwise={Purpose.WITHOUT_METHOD: discovers}), [412]),
    ("a gateway refuses a request without Mcp-Method", modern(otherwise={Purpose.WITHOUT_METHOD: Answer(status=400, body=b"bad request")}), []),
    ("Mcp-Method does not matter", modern(otherwise={Purpose.OTHER_METHOD: discovers}), [413]),
    ("Mcp-Method is refused by another code", modern(otherwise={Purpose.OTHER_METHOD: refuses(-32600)}), [413]),
    ("no capabilities are needed", modern(otherwise={Purpose.WITHOUT_CAPABILITIES: discovers}), [414]),
    ("an unknown method is refused with 200", modern(otherwise={Purpose.NO_METHOD: refuses(-32601, status=200)}), [415]),
    ("header names in lower case are not known", modern(otherwise={Purpose.LOWER_CASE: refuses(-32020)}), [416]),
    # 420 to 423
    ("a response labelled text", modern(otherwise={Purpose.LOWER_CASE: lambda r: Answer(body=discovers(r).body, headers={"content-type": "text/plain"})}), [420]),
    ("a response without a label", modern(otherwise={Purpose.LOWER_CASE: lambda r: Answer(body=discovers(r).body)}), [420]),
    ("a label with a charset", modern(otherwise={Purpose.LOWER_CASE: lambda r: Answer(body=discovers(r).body, headers={"content-type": "application/json;charset=utf-8"})}), []),
    ("a legacy GET is HTML", legacy(otherwise={Purpose.STREAM: html()}), [421]),
    ("a legacy GET is JSON", legacy(otherwise={Purpose.STREAM: Answer(body={}, headers=JSON_TYPE)}), [421]),
    ("a legacy GET is a stream", legacy(otherwise={Purpose.STREAM: Answer(headers={"content-type": "text/event-stream"})}), []),
    ("a legacy GET wants a session", legacy(otherwise={Purpose.STREAM: Answer(status=400)}), []),
    ("a legacy GET wants a session that there is not", legacy(session=None, otherwise={Purpose.STREAM: Answer(status=400)}), [421]),
    ("a legacy GET never answers", legacy(otherwise={Purpose.STREAM: Answer(failure=(FailureCode.TIMEOUT, "timed out after 2.5 s"))}), [421]),
    ("a request on a response's stream", modern(otherwise={Purpose.LOWER_CASE: lambda r: stream(discovers(r).body, before=b'data: {"jsonrpc":"2.0","id":1,"method":"roots/list"}\n\n')}), [422]),
    ("a notification on a response's stream", modern(otherwise={Purpose.LOWER_CASE: lambda r: stream(discovers(r).body, before=b'data: {"jsonrpc":"2.0","method":"notifications/message"}\n\n')}), []),
    ("an event that does not end", modern(otherwise={Purpose.LOWER_CASE: lambda r: stream(discovers(r).body, end=b"\n")}), [423]),
    ("an event that ends by CRLF", modern(otherwise={Purpose.LOWER_CASE: lambda r: stream(discovers(r).body, end=b"\r\n\r\n")}), []),
    ("an empty event first", modern(otherwise={Purpose.LOWER_CASE: lambda r: stream(discovers(r).body, before=b"id: 1\nretry: 3000\ndata:\n\n")}), []),
    # 430, 431
    ("a retired code", modern(otherwise={Purpose.NO_METHOD: refuses(-32002, status=404)}), [415, 430]),
    ("a code that MCP has not defined", modern(otherwise={Purpose.NO_METHOD: refuses(-32050, status=404)}), [415, 430]),
    ("a missing capability that is not named", modern(capabilities={"tools": {}, "prompts": {}}, otherwise={Purpose.PROMPTS: refuses(-32021)}), [431, 450]),
    ("a missing capability that is named", modern(otherwise={Purpose.PING: refuses(-32021, data={"requiredCapabilities": {"roots": {}}})}), []),
    # 440 to 443
    ("no resultType", modern(changes={Purpose.TOOLS: adds(resultType=...)}), [440]),
    ("an unknown resultType", modern(changes={Purpose.TOOLS: adds(resultType="done")}), [440]),
    ("an extension's resultType", modern(capabilities={"tools": {}, "extensions": {"com.example/tasks": {}}}, changes={Purpose.TOOLS: adds(resultType="task")}), []),
    ("no caching hints", modern(hints={}), [441, 441]),
    ("a negative ttlMs", modern(changes={Purpose.TOOLS: adds(ttlMs=-1)}), [442]),
    ("a ttlMs that is a text", modern(changes={Purpose.TOOLS: adds(ttlMs="60000")}), [442]),
    ("a cacheScope of another name", modern(changes={Purpose.TOOLS: adds(cacheScope="shared")}), [442]),
    ("cacheScopes that differ", modern(lists={"tools/list": [[TOOL], [tool(name="b")]]}, changes={Purpose.TOOLS: lambda was: was | {"cacheScope": "public" if "nextCursor" in was else "private"}}), [443]),
    # 450 to 454
    ("declared prompts fail", modern(capabilities={"tools": {}, "prompts": {}}), [450]),
    ("declared resources fail", legacy(capabilities={"tools": {}, "resources": {}}), [450]),
    ("declared tools are answered by nothing", modern(otherwise={Purpose.TOOLS: Answer(status=202)}), [450]),
    ("the same by a legacy server", legacy(otherwise={Purpose.LEGACY_TOOLS: Answer(status=204)}), [450]),
    ("declared tools are answered by an empty stream", modern(otherwise={Purpose.TOOLS: Answer(headers={"content-type": "text/event-stream"})}), [450]),
    ("declared prompts are answered by nothing", dual(capabilities={"tools": {}, "prompts": {}}, lists=lists(prompts=[[]]), otherwise={Purpose.LEGACY_PROMPTS: Answer(status=202)}), [450]),
    ("the same by an empty stream", legacy(capabilities={"tools": {}, "prompts": {}}, lists=lists(prompts=[[]]), otherwise={Purpose.LEGACY_PROMPTS: Answer(headers={"content-type": "text/event-stream"})}), [450]),
    ("an empty list", modern(lists={"tools/list": [[]]}), []),
    ("resource templates fail", modern(capabilities={"resources": {}}, lists={"resources/list": [[]]}), []),
    ("tools are not declared", modern(capabilities={}), [451]),
    ("tools are not declared by a legacy server", legacy(capabilities={}), [451]),
    ("cursors that run in a circle", modern(changes={one: adds(nextCursor="0") for one in (Purpose.TOOLS, Purpose.TOOLS_AGAIN)}, otherwise={Purpose.NO_CURSOR: refuses(-32602)}), [452]),
    ("an empty cursor once", modern(otherwise={one: lambda r: emptied(r) for one in (Purpose.TOOLS, Purpose.TOOLS_AGAIN)} | {Purpose.NO_CURSOR: refuses(-32602)}), []),
    ("an empty cursor for ever", modern(otherwise={one: lambda r: emptied(r, ever=True) for one in (Purpose.TOOLS, Purpose.TOOLS_AGAIN)} | {Purpose.NO_CURSOR: refuses(-32602)}), [452]),
    ("a null cursor", modern(changes={Purpose.TOOLS: adds(nextCursor=None)}), []),
    ("a capability that is true", modern(capabilities={"tools": True}), [453]),
    ("a capability that is an array", legacy(capabilities={"tools": [], "x": 1}), [453]),
    ("an option of a capability that is a text", modern(capabilities={"tools": {"listChanged": "x"}}), [453]),
    ("options of capabilities", dual(capabilities={"tools": {"listChanged": False}, "logging": {"subscribe": 1}}), [110]),
    ("an extension without a prefix", modern(capabilities={"tools": {}, "extensions": {"tasks": {}}}), [454]),
    ("an extension whose settings are true", modern(capabilities={"tools": {}, "extensions": {"com.example/tasks": True}}), [454]),
    ("an official extension", modern(capabilities={"tools": {}, "extensions": {"io.modelcontextprotocol/tasks": {}}}), []),
    # 460 to 464
    ("an empty inputSchema", modern(lists=offers(tool(inputSchema={}))), [460]),
    ("no inputSchema", legacy(lists=offers(tool(inputSchema=...))), [460]),
    ("a null inputSchema", modern(lists=offers(tool(inputSchema=None))), [460]),
    ("anyOf and no type", modern(lists=offers(tool(inputSchema={"anyOf": [{"type": "object"}]}))), [460]),
    ("a schema that is none", modern(lists=inputs(a={"type": "text"})), [461]),
    ("required is a boolean", legacy(lists=inputs(a={"type": "string", "required": True})), [461]),
    ("the same before dialects", legacy(version="2025-06-18", lists=inputs(a={"type": "text"})), []),
    ("draft-07, declared", modern(lists=offers(tool(inputSchema={"$schema": "http://json-schema.org/draft-07/schema#", "type": "object", "items": [{"type": "string"}]}))), []),
    ("draft-07, not declared", modern(lists=offers(tool(inputSchema={"type": "object", "items": [{"type": "string"}]}))), [461]),
    ("a pattern of another language", modern(lists=inputs(a={"type": "string", "pattern": "^\\p{L}+$"})), []),
    ("an outputSchema of an array", modern(lists=offers(tool(outputSchema={"type": "array", "items": {}}))), []),
    ("the same of a legacy server", legacy(lists=offers(tool(outputSchema={"type": "array", "items": {}}))), [462]),
    ("an outputSchema that is a text", modern(lists=offers(tool(outputSchema="object"))), [461, 462]),
    ("x-mcp-header on a number", modern(lists=inputs(a={"type": "number", "x-mcp-header": "A"})), [463]),
    ("x-mcp-header is empty", modern(lists=inputs(a={"type": "string", "x-mcp-header": ""})), [463]),
    ("x-mcp-header with a space", modern(lists=inputs(a={"type": "string", "x-mcp-header": "A B"})), [463]),
    ("x-mcp-header twice", modern(lists=inputs(a={"type": "string", "x-mcp-header": "A"}, b={"type": "string", "x-mcp-header": "a"})), [463]),
    ("x-mcp-header inside an array", modern(lists=inputs(a={"type": "array", "items": {"type": "string", "x-mcp-header": "A"}})), [463]),
    ("x-mcp-header below anyOf", modern(lists=inputs(a={"anyOf": [{"type": "string", "x-mcp-header": "A"}]})), [463]),
    ("x-mcp-header on nested properties", modern(lists=inputs(a={"type": "object", "properties": {"b": {"type": "boolean", "x-mcp-header": "B"}}})), []),
    ("a property of that name", modern(lists=inputs(**{"x-mcp-header": {"type": "string"}})), []),
    ("x-mcp-header of a legacy server", legacy(lists=inputs(a={"type": "number", "x-mcp-header": ""})), []),
    # 480 and 481
    ("any version header will do", legacy(otherwise={Purpose.LEGACY_NO_VERSION: answers()}), [480]),
    ("a session id with a space", legacy(session="3f9a session"), [481]),
    ("a tool without a name", modern(lists=offers(tool(name=...))), [464]),
    ("a tool that is a text", legacy(lists=offers("get_forecast")), [464]),
    ("tools is an object", modern(changes={Purpose.TOOLS: adds(tools={})}), [464]),
]  # fmt: skip


def streamed_discovery(request: Request) -> Answer:
    return stream(modern()._answer(request).body)


def kept_open(request: Request) -> Answer:
    answer = streamed_discovery(request)
    timed_out = (FailureCode.TIMEOUT, "timed out after 2.5 s")
    return Answer(body=answer.body, headers=answer.headers, failure=timed_out, is_cut=True, duration_ms=2500)


def emptied(request: Request, *, ever: bool = False) -> Answer:
    """A list whose first page, or every page, ends with the empty cursor."""
    cursor = json.loads(request.body or b"")["params"].get("cursor")
    more = {"nextCursor": ""} if cursor is None or ever else {}
    members = {"tools": [tool(name=f"t{cursor}")], "resultType": "complete", "ttlMs": 0, "cacheScope": "public"}
    meta = {"io.modelcontextprotocol/serverInfo": {"name": "w", "version": "1"}}
    return result(request_id(request), members | {"_meta": meta} | more)


@pytest.mark.parametrize(("server", "wanted"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_server(server: Server, wanted: list[int]) -> None:
    report = audit(server)
    assert faults(report) == wanted
    assert not any("internal" in one.reason for auditor in report.auditors for one in auditor.untested)
    protocol = report.protocols[Protocol.MCP]
    blocked = {401, 402, 403} & set(wanted)
    assert protocol.state is (State.INDICATED if blocked else State.CONFIRMED)
    assert (200 in codes(report)) == (not [code for code in wanted if code >= 300])


@pytest.mark.parametrize(("code", "status"), [(-32020, 400), (-32022, 400), (-32602, 400)])
def test_a_server_that_refuses_everything_as_malformed_is_told_so_once(code: int, status: int) -> None:
    """As behind a proxy that removes the headers: what is refused for being wrong says nothing beside that."""

    def server(request: Request) -> Answer:
        if request.method != "POST":
            return Answer(status=405)
        message = "params._meta is missing" if code == -32602 else "no"
        return error(json.loads(request.body or b"").get("id"), code, message, status=status)

    report = audit(server)
    assert [code for code in faults(report) if code >= 400] == [405]
    assert report.protocols[Protocol.MCP].state is State.INDICATED


# An era whose opening could not be had, beside one that answers: (purpose, answer, server, its reason)
UNHEARD = [
    (Purpose.DISCOVER, fails(FailureCode.TIMEOUT, "timed out after 8 s"), legacy, "timed out after 8 s"),
    (Purpose.DISCOVER, Answer(status=503), legacy, "answered 503"),
    (Purpose.DISCOVER, Answer(status=401), legacy, "answered 401"),
    (Purpose.DISCOVER, Answer(status=429), dual, "answered 429"),
    (Purpose.INITIALIZE, fails(FailureCode.TIMEOUT, "timed out after 8 s"), modern, "timed out after 8 s"),
    (Purpose.INITIALIZE, Answer(status=503), dual, "answered 503"),
]


@pytest.mark.parametrize(("purpose", "answer", "kind", "reason"), UNHEARD)
def test_an_era_that_was_not_heard_is_untested(
    purpose: Purpose, answer: Answer, kind: Callable[..., Server], reason: str
) -> None:
    report = audit(kind(otherwise={purpose: answer}))
    auditor = next(one for one in report.auditors if one.name == AUDITOR)
    untested = {int(one.code.rpartition("-")[2]): one.reason for one in auditor.untested}
    of_era = {310, 350, 402, 404, 410, 415, 440} if purpose is Purpose.DISCOVER else {380, 382, 403, 482}
    assert of_era <= untested.keys()
    assert all(reason in untested[code] for code in of_era | {200})
    assert report.protocols[Protocol.MCP].state is State.CONFIRMED
    assert [code for code in faults(report) if code >= 300] == []


def test_one_fault_of_many_answers_is_one_row() -> None:
    def stray(request: Request) -> Answer:
        return result("somebody else's", {"tools": []})

    def of_each(request: Request) -> Answer:
        """As by a server that changes ids."""
        return result(f"{request_id(request)}x", {"tools": []})

    report = audit(legacy(otherwise=dict.fromkeys([Purpose.LEGACY_TOOLS, Purpose.LEGACY_PING], of_each)))
    (check,) = (one for auditor in report.auditors for one in auditor.checks if one.code == f"{AUDITOR}-401")
    assert "answers tools/list, ping with" in check.message
    assert 'it answers "parley:legacy-tools/0x" in place of the request' in check.message
    report = audit(legacy(otherwise=dict.fromkeys([Purpose.LEGACY_TOOLS, Purpose.LEGACY_PING], stray)))
    (check,) = (one for auditor in report.auditors for one in auditor.checks if one.code == f"{AUDITOR}-401")
    assert "answers tools/list, ping with" in check.message
    drafts = {
        Purpose.WITHOUT_METHOD: refuses(-32001),
        Purpose.OTHER_METHOD: refuses(-32001),
        Purpose.NO_METHOD: refuses(-32003),
    }
    report = audit(modern(otherwise=drafts))
    assert [code for code in faults(report) if code == 330] == [330, 330]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (answers(jsonrpc="1.0", result={}), answers(jsonrpc="3.0", result={})),
        (refuses("a"), refuses("b")),
        (Answer(body=b'{"jsonrpc"', headers=JSON_TYPE), Answer(body=b'{"jsonrpc":\n"2.0"', headers=JSON_TYPE)),
    ],
)
def test_what_differs_in_a_fault_of_one_kind_makes_no_more_rows(one: object, other: object) -> None:
    faulty: dict[Purpose, Any] = {Purpose.LEGACY_PING: one, Purpose.LEGACY_CHARSET: other, Purpose.LEGACY_TOOLS: other}
    report = audit(legacy(otherwise=faulty))
    assert faults(report).count(401) == 1


def test_valid_needs_every_answer() -> None:
    report = audit(modern(otherwise={Purpose.ORIGIN: Answer(status=429)}))
    assert 200 not in codes(report)
    assert faults(report) == []


# Lists that were not read to their end: (name, server, a rule that has not seen all of it)
UNREAD = [
    ("tools that are not declared, answered by nothing", modern(capabilities={}, otherwise={Purpose.TOOLS: Answer(status=202)}), 460),
    ("a second page that is an error", legacy(lists=offers_pages(2), otherwise={Purpose.LEGACY_TOOLS: lambda r: second(r, refuses(-32602)(r))}), 460),
    ("a second page that is nothing", modern(lists=offers_pages(2), otherwise={Purpose.TOOLS: lambda r: second(r, Answer(status=202))}), 460),
    ("prompts on more pages than are read", modern(capabilities={"tools": {}, "prompts": {}}, lists=lists(prompts=[[{"name": f"p{n}"}] for n in range(9)])), 452),
]  # fmt: skip


@pytest.mark.parametrize(("server", "unseen"), [one[1:] for one in UNREAD], ids=[one[0] for one in UNREAD])
def test_a_list_that_was_not_read_to_its_end_is_never_green(server: Server, unseen: int) -> None:
    report = audit(server)
    auditor = next(one for one in report.auditors if one.name == AUDITOR)
    untested = {int(one.code.rpartition("-")[2]) for one in auditor.untested}
    assert {unseen, 200} <= untested
    assert 200 not in codes(report)
    assert report.protocols[Protocol.MCP].state is State.CONFIRMED


def test_what_the_server_says_is_quoted() -> None:
    words = error(None, -32600, "Unknown host\x1b[31m")
    report = audit(lambda request: Answer(status=421, body=words.body, headers=JSON_TYPE))
    (check,) = (one for auditor in report.auditors for one in auditor.checks if one.code == f"{AUDITOR}-400")
    assert 'initialize was answered 421 with the error -32600: "Unknown host' in check.message
    assert "421 says that the server does not answer for the name weather.example" in check.message
    assert "\x1b" not in check.message


def test_every_rule_has_a_case() -> None:
    fired = {code for _, _, wanted in CASES for code in wanted} | {100, 101, 102, 103, 104, 200}
    elsewhere = {111, 141, 328, 332, 400, 424, 490}  # below, since they are about places that are no server
    assert fired | elsewhere == {row.number for row, _ in McpServerRules.rules()}


def test_no_rule_hides_another() -> None:
    written = [name for base in McpServerRules.__mro__ for name, member in vars(base).items() if hasattr(member, "row")]
    assert len(written) == len(set(written)) == len(McpServerRules.rules())


@pytest.mark.parametrize("server", [dual(), legacy(), lambda request: Answer(status=404)])
def test_every_answer_is_read_once_for_all_auditors(
    server: Callable[[Request], Answer], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Reading costs time, and a stranger says how much."""
    evidence = Site({CARD: served(card())}, mcp={MCP: server}).gather(MCP)
    seen: list[int] = []
    monkeypatch.setattr("parley.documents.mcp.read", lambda exchange, of: seen.append(id(exchange)) or read(exchange, of))  # fmt: skip
    judge(evidence)
    assert len(seen) == len(set(seen)) == len([one for one in evidence.exchanges if one.purpose in set(Purpose)])


def test_what_was_judged_is_let_go_of() -> None:
    evidence = Site({}, mcp={MCP: modern()}).gather(MCP)
    judge(evidence)
    kept = talks(evidence)
    assert talks(evidence) is kept
    forget()
    assert talks(evidence) is not kept
    judge(evidence)
    assert talks(evidence) is not kept


def test_the_plan_serves_every_rule() -> None:
    served = {number for step in PLAN for number in step.serves}
    of_all_responses = {120, 130, 325, 329, 330, 332, 401, 420, 422, 423, 430, 431}
    assert served | of_all_responses | {100, 200} == {row.number for row, _ in McpServerRules.rules()}
    assert not served & of_all_responses


# Gates: (name, endpoint, refusal, protected resource metadata, state)
CHALLENGE = {"www-authenticate": f'Bearer resource_metadata="{gated.PATH_PRM}"'}
REFUSED = Answer(status=401, headers=CHALLENGE)
RPC_REFUSED = Answer(status=401, body=error(None, -32001).body, headers=CHALLENGE | JSON_TYPE)
GATES: list[tuple[str, str, Answer, Answer, State]] = [
    ("the metadata names this endpoint, which is called mcp", MCP, REFUSED, gated.metadata(), State.CONFIRMED),
    ("the refusal is JSON-RPC", f"{HOST}/api", RPC_REFUSED, gated.metadata(resource=f"{HOST}/api"), State.CONFIRMED),
    ("a REST API", f"{HOST}/api", REFUSED, gated.metadata(resource=f"{HOST}/api"), State.INDICATED),
    ("the chain is broken", MCP, REFUSED, Answer(status=404), State.INDICATED),
    ("the metadata names another endpoint", MCP, REFUSED, gated.metadata(resource=f"{HOST}/other"), State.INDICATED),
]


@pytest.mark.parametrize(
    ("endpoint", "refusal", "prm", "state"), [one[1:] for one in GATES], ids=[one[0] for one in GATES]
)
def test_gate(endpoint: str, refusal: Answer, prm: Answer, state: State) -> None:
    site = Site({gated.PATH_PRM: prm, gated.OAUTH: gated.server()}, mcp={endpoint: lambda request: refusal})
    report = site.audit(endpoint)
    mcp = report.protocols[Protocol.MCP]
    assert mcp.state is state
    assert mcp.details["endpoint"] == endpoint
    assert "auth" in mcp.details
    assert codes(report) == [100]
    auditor = next(one for one in report.auditors if one.name == AUDITOR)
    assert {one.reason for one in auditor.untested} == {f"POST {endpoint} answered 401, so it needs credentials"}
    assert auditor.status is Status.INFORMATION  # nothing of a server was seen


UNAUTHORIZED = error(None, -32000, "Unauthorized: no token", status=400)
LOGIN = Answer(status=302, headers={"location": "https://login.example/authorize"})


def refusing(post: Answer, get: Answer = REFUSED) -> Callable[[Request], Answer]:
    return lambda request: post if request.method == "POST" else get


# One reading of a refusal for both auditors: (name, endpoint, asked, server, whether there is metadata, what the auditor
# of authorization finds, state)
ONE_READING: list[tuple[str, str, str, Callable[[Request], Answer], bool, list[int], State]] = [
    ("HTTP+SSE behind a gate: GET asks for it", SSE, SSE, refusing(Answer(status=405)), True, [], State.INDICATED),
    ("the same at /mcp", MCP, MCP, refusing(Answer(status=405)), True, [], State.CONFIRMED),
    ("unauthorized in words under 400", MCP, MCP, refusing(UNAUTHORIZED), True, [301, 400], State.INDICATED),
    ("a bearer challenge under 500", MCP, MCP, refusing(Answer(status=500, headers=CHALLENGE)), True, [400], State.INDICATED),
    ("a login by redirect", MCP, MCP, refusing(LOGIN), False, [400, 402], State.INDICATED),
    ("no challenge, but metadata of this very endpoint", MCP, HOST, refusing(Answer(status=401), Answer(status=405)), True, [301], State.CONFIRMED),
    ("403 with a challenge", MCP, MCP, refusing(Answer(status=403, headers=CHALLENGE)), True, [], State.CONFIRMED),
]  # fmt: skip


@pytest.mark.parametrize(
    ("endpoint", "asked", "server", "has_metadata", "wanted", "state"),
    [one[1:] for one in ONE_READING],
    ids=[one[0] for one in ONE_READING],
)
def test_both_auditors_read_a_refusal_alike(
    endpoint: str, asked: str, server: Callable[[Request], Answer], has_metadata: bool, wanted: list[int], state: State
) -> None:
    answers = {gated.PATH_PRM: gated.metadata(resource=endpoint), gated.OAUTH: gated.server()}
    report = Site(answers if has_metadata else {}, mcp={endpoint: server}).audit(asked)
    mcp = report.protocols[Protocol.MCP]
    assert (mcp.state, mcp.conclusive, mcp.details["endpoint"]) == (state, True, endpoint)
    assert codes(report) == [100]
    assert [code for code in numbers(report, "PARLEY-McpAuthAuditor") if code >= 400 or code == 301] == wanted


def test_a_gate_before_get_hides_no_fault_of_post() -> None:
    served_to_post = Answer(body={"x": 1}, headers=JSON_TYPE)
    answers = {gated.PATH_PRM: gated.metadata(), gated.OAUTH: gated.server()}
    report = Site(answers, mcp={MCP: refusing(served_to_post)}).audit(MCP)
    assert codes(report) == [100, 400]
    mcp = report.protocols[Protocol.MCP]
    assert (mcp.state, mcp.status, mcp.conclusive) == (State.INDICATED, Status.FAIL, True)
    assert not numbers(report, "PARLEY-McpAuthAuditor")


def test_a_403_that_may_be_a_guard_s_is_not_said_to_want_credentials() -> None:
    report = Site({}, mcp={MCP: lambda request: Answer(status=403)}).audit(MCP)
    mcp = report.protocols[Protocol.MCP]
    assert mcp.state is State.INDICATED
    assert "may be a guard" in mcp.because[0]
    reasons = {one.reason for auditor in report.auditors for one in auditor.untested if "403" in one.reason}
    assert reasons == {mcp.because[0]}


def test_a_declared_remote_that_is_gated_is_what_is_judged() -> None:
    """The likeliest guess was greeted meanwhile; that it is open says nothing of the endpoint that the card names."""
    remote = f"{HOST}/api/mcp"
    named = card(remotes=[{"type": "streamable-http", "url": remote}])
    other = dual()
    for refusal in (REFUSED, Answer(status=403)):
        answers = {"/mcp/server-card": served(named), gated.PATH_PRM: gated.metadata(resource=remote)}
        answers |= {gated.OAUTH: gated.server(), f"{gated.PRM}/api/mcp": gated.metadata(resource=remote)}
        report = Site(answers, mcp={remote: lambda request, refusal=refusal: refusal, MCP: other}).audit()  # type: ignore[misc]
        mcp = report.protocols[Protocol.MCP]
        assert (mcp.state, mcp.details["endpoint"]) == (State.CONFIRMED, remote)
        assert 200 not in codes(report)
    assert [request.method for request in other.seen].count("DELETE") == 4  # two sessions in each audit


def test_a_closed_api_with_metadata_of_its_origin_is_no_mcp_server() -> None:
    refusal = Answer(status=401, headers={"www-authenticate": f'Bearer resource_metadata="{gated.ROOT_PRM}"'})
    api = Site({gated.ROOT_PRM: gated.metadata(resource=HOST), gated.OAUTH: gated.server()}, default=refusal)
    for site, state in ((api, State.NOT_DETECTED), (_named(refusal), State.CONFIRMED)):
        report = site.audit()
        assert report.protocols[Protocol.MCP].state is state
        assert not [code for code in numbers(report, "PARLEY-McpAuthAuditor") if code >= 400]


def _named(refusal: Answer) -> Site:
    """The same, but its metadata is of the MCP endpoint."""
    return Site({gated.ROOT_PRM: gated.metadata(), gated.OAUTH: gated.server()}, default=refusal)


# Gates that nothing green can be said of, or may be: (name, asked, other answers, refusal, state, status)
GREEN: list[tuple[str, str, dict[str, Answer], Answer, State, Status]] = [
    ("the whole chain", MCP, {}, REFUSED, State.CONFIRMED, Status.SUCCESS),
    ("the metadata timed out", MCP, {gated.PATH_PRM: fails(FailureCode.TIMEOUT, "timed out after 8 s")}, REFUSED, State.INDICATED, Status.INFORMATION),
    ("the same, refused by JSON-RPC", MCP, {gated.PATH_PRM: fails(FailureCode.TIMEOUT, "timed out after 8 s")}, RPC_REFUSED, State.INDICATED, Status.INFORMATION),
    ("the issuer is out of service", MCP, {gated.OAUTH: Answer(status=503), gated.OPENID: Answer(status=503)}, REFUSED, State.INDICATED, Status.INFORMATION),
    ("resource in another spelling", MCP, {gated.PATH_PRM: gated.metadata(resource="https://Weather.example:443/mcp")}, REFUSED, State.CONFIRMED, Status.SUCCESS),
    ("an API that refuses at a guess, with metadata", HOST, {}, REFUSED, State.CONFIRMED, Status.SUCCESS),
]  # fmt: skip


@pytest.mark.parametrize(
    ("asked", "more", "refusal", "state", "status"), [one[1:] for one in GREEN], ids=[one[0] for one in GREEN]
)
def test_green(asked: str, more: dict[str, Answer], refusal: Answer, state: State, status: Status) -> None:
    answers = {
        MCP: refusal,
        f"OPTIONS {MCP}": gated.PREFLIGHT,
        f"TOKEN {MCP}": gated.refused('Bearer error="invalid_token"'),
        gated.PATH_PRM: gated.metadata(),
        gated.OAUTH: gated.server(),
    }
    mcp = gated.GatedSite(answers | more).audit(asked).protocols[Protocol.MCP]
    assert (mcp.state, mcp.status) == (state, status)


# Eras of which one has a fault that blocks: (name, server, codes, era, state)
ERAS: list[tuple[str, Server, list[int], str, State]] = [
    ("the modern one's fault", dual(changes={Purpose.DISCOVER: adds(supportedVersions=...)}), [402], "dual", State.CONFIRMED),
    ("the legacy one's fault", dual(changes={Purpose.INITIALIZE: adds(serverInfo=...)}), [403], "dual", State.CONFIRMED),
    ("faults of both", dual(changes={Purpose.DISCOVER: adds(supportedVersions=...), Purpose.INITIALIZE: adds(serverInfo=...)}), [402, 403], "dual", State.INDICATED),
    ("an InitializeResult for any method", legacy(otherwise={Purpose.DISCOVER: lambda r: initialized(r)}), [], "legacy", State.CONFIRMED),
    ("a DiscoverResult that has a version too", dual(changes={Purpose.DISCOVER: adds(protocolVersion=MODERN_VERSION)}), [], "dual", State.CONFIRMED),
]  # fmt: skip


def initialized(request: Request) -> Answer:
    info = {"name": "weather", "version": "1.4.0"}
    return result(request_id(request), {"protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": info})


@pytest.mark.parametrize(("server", "wanted", "era", "state"), [one[1:] for one in ERAS], ids=[one[0] for one in ERAS])
def test_eras(server: Server, wanted: list[int], era: str, state: State) -> None:
    report = audit(server)
    mcp = report.protocols[Protocol.MCP]
    assert (faults(report), mcp.details["era"], mcp.state) == (wanted, era, state)


def test_a_server_whose_tools_alone_are_gated_is_found() -> None:
    gate = Answer(status=401, headers=CHALLENGE)
    report = audit(modern(otherwise=dict.fromkeys((Purpose.TOOLS, Purpose.TOOLS_AGAIN), gate)))
    assert faults(report) == []
    assert report.protocols[Protocol.MCP].state is State.CONFIRMED
    auditor = next(one for one in report.auditors if one.name == AUDITOR)
    reasons = {one.code.rpartition("-")[2]: one.reason for one in auditor.untested}
    assert reasons["460"] == f"{MCP}: answered 401"


@pytest.mark.parametrize(
    ("headers", "hints", "wanted"),
    [
        ([{"name": "Authorization", "isRequired": True}], {"ttlMs": 0, "cacheScope": "public"}, [141]),
        ([{"name": "Authorization", "isRequired": True}], {"ttlMs": 0, "cacheScope": "private"}, []),
        ([{"name": "Authorization"}], {"ttlMs": 0, "cacheScope": "public"}, []),
        ([{"name": "X-Region", "isRequired": True}], {"ttlMs": 0, "cacheScope": "public"}, []),
    ],
)
def test_public_lists_behind_a_credential(headers: list[object], hints: Members, wanted: list[int]) -> None:
    remote = {"type": "streamable-http", "url": MCP, "headers": headers}
    site = Site({CARD: served(card(remotes=[remote]))}, mcp={MCP: modern(hints=hints)})
    assert faults(site.audit()) == wanted


def test_a_dead_remote_is_told_beside_the_server_that_is_found() -> None:
    remotes = [{"type": "streamable-http", "url": url} for url in (f"{HOST}/dead", MCP)]
    report = Site({CARD: served(card(remotes=remotes))}, mcp={MCP: modern()}).audit()
    assert faults(report) == [400]
    assert report.protocols[Protocol.MCP].state is State.CONFIRMED
