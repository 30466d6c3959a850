"""Rules on what a modern server (2026-07-28 and later) says of itself, and how it refuses what is wrong."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Final

from parley.documents.mcp import (
    DRAFT_CODES,
    HEADER_MISMATCH,
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    MISSING_CAPABILITY,
    SERVER_INFO,
    UNSUPPORTED_VERSION,
    Era,
    Listing,
    Talk,
    session_of,
    supported_by,
    wants_authorization,
)
from parley.documents.mcp_plan import STEPS, Purpose
from parley.documents.mcp_reply import Reply
from parley.rules.mcp_evidence import MODERN, McpEvidence, Responses, Result
from parley.rules.rule import Composed, Finding, Findings, check
from parley.wire.text import MISSING, clean, kind, quoted

_HTTP: Final = f"{MODERN}/basic/transports/streamable-http"
_BASIC: Final = f"{MODERN}/basic"
_VERSIONING: Final = f"{MODERN}/basic/versioning"
_CACHING: Final = f"{MODERN}/server/utilities/caching"

_CAPABILITIES: Final = ("tools", "prompts", "resources", "logging", "completions", "experimental", "extensions")
_LISTS: Final = ("tools", "prompts", "resources")
_RESULT_TYPES: Final = ("complete", "input_required")
_SCOPES: Final = ("public", "private")
_REFUSED_HEADERS: Final = (Purpose.WITHOUT_METHOD, Purpose.OTHER_METHOD, Purpose.OTHER_VERSION)

_LABEL: Final = r"[A-Za-z](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
_PREFIX: Final = re.compile(rf"{_LABEL}(?:\.{_LABEL})*")
_NAME: Final = re.compile(r"(?:[A-Za-z0-9](?:[A-Za-z0-9_.-]*[A-Za-z0-9])?)?")
_DATE: Final = re.compile(r"\d{4}-\d{2}-\d{2}")


class McpModernRules(McpEvidence):
    """Numbers x02 to x04, x10 to x19, x22 and x23, x30 to x39, x40 to x49, x53 and x54."""

    @check(
        102,
        title="Capabilities and extensions",
        when="The server declares its capabilities.",
        seen="{endpoint} declares {capabilities}; extensions: {extensions}.",
        why="Clients use what is declared, and nothing else.",
        spec=f"{_VERSIONING}#extension-negotiation",
    )
    def check_rule_capabilities(self, spoken: Talk) -> Findings:
        """Of the newest era spoken."""
        capabilities = spoken.capabilities if spoken.is_modern else spoken.legacy_capabilities
        extensions = capabilities.get("extensions")
        names = sorted(clean(one, 60) for one in capabilities)
        listed = sorted(clean(one, 60) for one in extensions) if isinstance(extensions, dict) else []
        yield Finding(
            endpoint=spoken.url,
            capabilities=Composed(", ".join(names[:20]) or "no capabilities"),
            extensions=Composed(", ".join(listed[:20]) or "none"),
        )

    @check(
        104,
        title="Caching hints",
        when="A modern result carries caching hints.",
        seen="{endpoint} lets {call} be cached for {ttlMs} ms, {cacheScope}.",
        why="With ttlMs 0 every client asks again each time; public results may be shared between users.",
        spec=f"{_CACHING}#cacheable-results",
    )
    def check_rule_hints(self, result: Result) -> Findings:
        """Once for each call, by its first page."""
        members = result.members
        first = next((one for one in self._results() if one.call == result.call), None)
        if first is not None and first.reply is result.reply and ("ttlMs" in members or "cacheScope" in members):
            hints = {name: quoted(members[name]) if name in members else MISSING for name in ("ttlMs", "cacheScope")}
            yield Finding(endpoint=result.reply.exchange.url, call=result.call, **hints)

    @check(
        112,
        title="Removed methods",
        when="A modern server answers ping, which its revision does not have.",
        seen="{endpoint} answers ping in the modern era, which has no such method.",
        why="It is harmless. A client must not rely on it: modern requests stand alone, and need no sign of life.",
        spec=f"{MODERN}/changelog",
    )
    def check_rule_ping(self, removed_ping: Reply) -> Findings:
        """A result; an error is what is due."""
        if removed_ping.result is not None:
            yield Finding(endpoint=removed_ping.exchange.url)

    @check(
        130,
        title="Error codes of old",
        when="A modern-only server uses an error code from -32019 to -32000.",
        seen="{endpoint} answers {call} with the error {code}, of a range that is kept for older implementations.",
        why="Clients cannot assume any meaning for these codes.",
        recommendation="Use the codes that JSON-RPC and MCP define, or one outside -32768 to -32000.",
        spec=f"{_BASIC}#error-codes",
    )
    def check_rule_old_codes(self, modern_response: Reply) -> Findings:
        """Not where a legacy era is spoken too: its part may have answered."""
        code = modern_response.code
        is_only = self.found is not None and self.found.era is Era.MODERN
        if is_only and code is not None and -32019 <= code <= -32000 and code not in DRAFT_CODES and code != -32002:
            call = STEPS[Purpose(modern_response.exchange.purpose)].call
            yield Finding(endpoint=modern_response.exchange.url, call=call, code=code)

    @check(
        141,
        title="Public results behind a credential",
        when="A list that anybody may cache is read without a credential, though the Server Card demands one.",
        seen="{endpoint} answers {call} without a credential and as public, but its Server Card demands Authorization.",
        why="If the list is meant for the credential's owner, it is open, and shared caches may hand it on.",
        recommendation="Ask for the credential, or leave it out of the Server Card; else set cacheScope to private.",
        spec=f"{_CACHING}#security-considerations",
    )
    def check_rule_public(self, result: Result) -> Findings:
        """Lists only: server/discover tells every client how to connect."""
        endpoint = result.reply.exchange.url
        if result.call == "server/discover" or result.members.get("cacheScope") != "public":
            return
        if wants_authorization(self.evidence, endpoint):
            yield Finding(endpoint=endpoint, call=result.call)

    @check(
        142,
        title="A short time to live",
        when="A result's ttlMs is under one second, but not 0.",
        seen="{endpoint} gives {call} a ttlMs of {ttlMs}: less than a second.",
        why="The unit is milliseconds. If seconds were meant, clients ask a thousand times too often.",
        recommendation="Check that ttlMs is in milliseconds.",
        spec=f"{_CACHING}#time-to-live-ttl-field",
    )
    def check_rule_short_ttl(self, result: Result) -> Findings:
        """Under 1000 and over 0."""
        match result.members.get("ttlMs"):
            case bool():
                return
            case int() | float() as ttl if 0 < ttl < 1000:
                yield Finding(endpoint=result.reply.exchange.url, call=result.call, ttlMs=ttl)

    @check(
        302,
        title="Supported versions",
        when="supportedVersions is empty, or lacks the version in which it was just answered.",
        seen="{endpoint} answers in {version}, but lists {observed} as its supported versions.",
        why="Clients choose one of these versions for all that follows, and find none.",
        recommendation="List every version that the server answers in, {version} among them.",
        spec=f"{MODERN}/server/discover#discoverresult",
    )
    def check_rule_supported(self, discovered: Reply) -> Findings:
        """Where it is an array of texts."""
        talk = self.found
        listed = (discovered.result or {}).get("supportedVersions")
        if talk is None or not isinstance(listed, list) or not all(isinstance(one, str) for one in listed):
            return
        if talk.modern_version not in listed:
            shown = ", ".join(clean(one, 40) for one in listed[:10]) or "none"
            yield Finding(endpoint=talk.url, version=talk.modern_version, observed=Composed(shown))

    @check(
        303,
        title="Server's identity",
        when="A modern result does not name the server in its _meta.",
        seen="{endpoint} answers {call} without {key} in its _meta{hint}.",
        why="There is no handshake that names the server once for all: each result does, for logs and for people.",
        recommendation="Put name and version into result._meta, under {key}.",
        spec=f"{_BASIC}#_meta",
    )
    def check_rule_server_info(self, result: Result) -> Findings:
        """With a hint where it stands in the place that the legacy era had for it."""
        meta = result.members.get("_meta")
        info = meta.get(SERVER_INFO) if isinstance(meta, dict) else None
        match info:
            case {"name": str(), "version": str()}:
                return
        hint = ", but with a serverInfo beside it, as the legacy era had it" if "serverInfo" in result.members else ""
        yield Finding(endpoint=result.reply.exchange.url, call=result.call, key=SERVER_INFO, hint=Composed(hint))

    @check(
        310,
        title="One list of versions",
        when="The refusal of a version lists other supported versions than server/discover.",
        seen="{endpoint} lists {discovered} in server/discover, but {refused} where it refuses a version.",
        why="A client that is refused chooses from the refusal's list, and may be refused again.",
        recommendation="Give the same versions in both places.",
        spec=f"{_VERSIONING}#protocol-version-negotiation",
    )
    def check_rule_same_versions(self, no_version: Reply) -> Findings:
        """As sets, where both are lists."""
        refused = supported_by(no_version)
        talk = self.found
        if talk is None or talk.discovered is None or not isinstance(refused, list) or not talk.supported:
            return
        if {str(one) for one in refused} != set(talk.supported):
            yield Finding(
                endpoint=talk.url,
                discovered=Composed(", ".join(clean(one, 40) for one in talk.supported[:10])),
                refused=Composed(", ".join(clean(one, 40) for one in refused[:10]) or "none"),
            )

    @check(
        311,
        title="Help for legacy clients",
        when="A modern-only server refuses initialize without naming the versions that it supports.",
        seen="{endpoint} refuses initialize with {observed}, and names no version.",
        why="A legacy client cannot find the way by itself; this message may be all that its user gets to see.",
        recommendation="Name the supported versions in the error to initialize, in its message or its data.",
        spec=f"{_VERSIONING}#backward-compatibility-with-initialization-based-versions",
    )
    def check_rule_initialize_hint(self, refused_initialize: Reply) -> Findings:
        """Any version named in the answer will do."""
        error = json.dumps(refused_initialize.error) if refused_initialize.error is not None else ""
        if not _DATE.search(error) and not any(one in error for one in (self.found.supported if self.found else ())):
            yield Finding(endpoint=refused_initialize.exchange.url, observed=refused_initialize.told)

    @check(
        322,
        title="GET at a modern-only server",
        when="A modern-only server answers GET with something other than 405.",
        seen="{endpoint} answers GET with {observed}; 405 is due.",
        why="Legacy clients open a stream by GET; 405 tells them at once that there is none.",
        recommendation="Answer GET with 405 Method Not Allowed.",
        spec=f"{_HTTP}#earlier-streamable-http-revisions",
    )
    def check_rule_get(self, modern_stream: Talk) -> Findings:
        """A gate may stand before it."""
        reply = modern_stream.reply(Purpose.STREAM)
        if reply is not None and reply.status not in (405, 401, 403):
            yield Finding(endpoint=modern_stream.url, observed=get_told(reply))

    @check(
        323,
        title="Sessions at a modern-only server",
        when="A modern-only server issues a session id, or refuses a request that carries one.",
        seen="{endpoint} {observed}.",
        why="The modern era has no sessions: a session id that comes along is to be ignored, and none to be issued.",
        recommendation="Ignore Mcp-Session-Id and Last-Event-ID, and send no Mcp-Session-Id.",
        spec=f"{_HTTP}#earlier-streamable-http-revisions",
    )
    def check_rule_session(self, with_session: Reply) -> Findings:
        """Asked with an id that was never issued, and a Last-Event-ID."""
        if with_session.result is None:
            observed = f"answers {with_session.told} to a request with an Mcp-Session-Id and a Last-Event-ID"
            yield Finding(endpoint=with_session.exchange.url, observed=Composed(observed))
        elif session_of(with_session) is not None:
            observed = "sends an Mcp-Session-Id with its response"
            yield Finding(endpoint=with_session.exchange.url, observed=Composed(observed))

    @check(
        330,
        title="Draft error codes",
        when="An error has the number that a draft of 2026-07-28 gave it.",
        seen="{endpoint} answers {call} with {code}, which drafts had for {final}.",
        why="Clients of the published revision do not recognise the error, and take the server for a legacy one.",
        recommendation="Use {final}.",
        spec=f"{MODERN}/changelog",
    )
    def check_rule_draft_codes(self, modern_responses: Responses) -> Findings:
        """-32001 only where headers were refused: legacy servers say it of sessions."""
        for code, calls in modern_responses.calls(_draft_codes).items():
            yield Finding(endpoint=modern_responses.endpoint, call=Composed(calls), code=code, final=DRAFT_CODES[code])

    @check(
        354,
        title="Names in _meta",
        when="A key in a result's _meta does not follow the naming rules, or takes a prefix that is MCP's own.",
        seen="{endpoint} answers {call} with the _meta key {key}, which {fault}.",
        why="Prefixes keep the keys of different authors apart; those of MCP are given meaning by the specification.",
        recommendation="Name the key by a prefix of your own domain, such as com.example/{key}.",
        spec=f"{_BASIC}#_meta",
    )
    def check_rule_meta_keys(self, result: Result) -> Findings:
        """The prefix io.modelcontextprotocol/ is used by the specification and official extensions."""
        meta = result.members.get("_meta")
        for key in meta if isinstance(meta, dict) else ():
            if fault := key_fault(key):
                yield Finding(endpoint=result.reply.exchange.url, call=result.call, key=clean(key), fault=fault)

    @check(
        402,
        title="DiscoverResult",
        when="The result of server/discover lacks supportedVersions or capabilities, or has them of another type.",
        seen="{endpoint} answers server/discover, but its result has {observed}{hint}.",
        why="Clients learn from it how to speak to the server, and what it offers.",
        recommendation="Answer with supportedVersions, an array of texts, and capabilities, an object.",
        spec=f"{MODERN}/server/discover#discoverresult",
        blocks=True,
    )
    def check_rule_discover_result(self, discovered: Reply) -> Findings:
        """What clients have a default for (resultType, ttlMs, cacheScope) is another rule's."""
        result = discovered.result or {}
        faults = list(_discover_faults(result))
        if faults:
            hint = "; it has a protocolVersion, as the result of initialize" if "protocolVersion" in result else ""
            observed = Composed(", ".join(faults))
            yield Finding(endpoint=discovered.exchange.url, observed=observed, hint=Composed(hint))

    @check(
        404,
        title="server/discover",
        when="A modern server does not know the method server/discover.",
        seen="{endpoint} is a modern server, but answers server/discover with {observed}.",
        why="Servers must implement it: it is how clients learn of versions and capabilities before all else.",
        recommendation="Implement server/discover.",
        spec=f"{MODERN}/server/discover",
    )
    def check_rule_discover(self, undiscovered: Reply) -> Findings:
        """404 with -32601: a modern server's words."""
        if undiscovered.code == METHOD_NOT_FOUND:
            yield Finding(endpoint=undiscovered.exchange.url, observed=undiscovered.told)

    @check(
        405,
        title="A well-formed server/discover",
        when="server/discover is refused for a fault that the request does not have, in headers, version or _meta.",
        seen="{endpoint} refuses a well-formed server/discover with {observed}.",
        why="Every modern client sends these headers and this _meta, and is refused like this one.",
        recommendation="See that no proxy removes MCP-Protocol-Version and Mcp-Method on the way to {endpoint}, and "
        "that version and _meta are read as the specification has them.",
        spec=f"{MODERN}/server/discover",
    )
    def check_rule_discover_refused(self, undiscovered: Reply) -> Findings:
        """A version that the server does not have may well be refused, if it names those that it has."""
        talk = self.found
        if talk is None or talk.discovered is not None or undiscovered.code is None:
            return
        code = _of_drafts(undiscovered.code)
        if code == UNSUPPORTED_VERSION:
            supported = supported_by(undiscovered)
            is_wrong = not isinstance(supported, list) or not supported or talk.modern_version in supported
        else:
            is_wrong = code in (HEADER_MISMATCH, INVALID_PARAMS)
        if is_wrong:
            yield Finding(endpoint=talk.url, observed=Composed(f"{undiscovered.told}{undiscovered.said}"))

    @check(
        410,
        title="Unsupported version",
        when="A request in a version that does not exist is not refused with 400, -32022, and both lists in its data.",
        seen="{endpoint} answers a request in version 1900-01-01 with {observed}.",
        why="It is the only way to negotiate: clients choose another version from data.supported, and try again.",
        recommendation="Answer 400 with -32022, data.supported (an array) and data.requested.",
        spec=f"{_VERSIONING}#protocol-version-negotiation",
    )
    def check_rule_unsupported(self, no_version: Reply) -> Findings:
        """The draft's number has a rule of its own."""
        match no_version.error:
            case {"code": -32022 | -32004, "data": {"supported": list(), "requested": str()}}:
                if no_version.status == 400:
                    return
                observed = no_version.told
            case {"code": -32022 | -32004}:
                observed = f"{no_version.told}, without an array data.supported and a text data.requested"
            case _:
                observed = no_version.told
        yield Finding(endpoint=no_version.exchange.url, observed=Composed(observed))

    @check(
        411,
        title="Version in header and body",
        when="A request whose header and body name different versions is answered like any other.",
        seen="{endpoint} answers {observed} where header and body name different versions; 400 with -32020 is due.",
        why="What stands before the server goes by the header, the server by the body: it must not mean two things.",
        recommendation="Refuse with 400 and -32020 (HeaderMismatch).",
        spec=f"{_HTTP}#protocol-version-header",
    )
    def check_rule_version_mismatch(self, other_version: Reply) -> Findings:
        """The body's version may be refused for itself.

        A dual-era server may take a body of 2025-11-25 for a legacy request, and refuse it in that era's words.
        """
        is_dual = self.found is not None and self.found.era is Era.DUAL
        if (is_dual and other_version.result is None) or _is_refused(other_version, 400, UNSUPPORTED_VERSION):
            return
        if not _is_refused(other_version, 400, HEADER_MISMATCH):
            yield Finding(endpoint=other_version.exchange.url, observed=other_version.told)

    @check(
        412,
        title="Mcp-Method required",
        when="A request without the header Mcp-Method is not refused with 400 and -32020.",
        seen="{endpoint} answers {observed} to a request without Mcp-Method; 400 with -32020 is due.",
        why="Gateways route and limit by this header; a request without it slips past them.",
        recommendation="Refuse with 400 and -32020 (HeaderMismatch).",
        spec=f"{_HTTP}#server-validation",
    )
    def check_rule_method_required(self, without_method: Reply) -> Findings:
        """The same request with the header was answered."""
        if not _is_refused(without_method, 400, HEADER_MISMATCH):
            yield Finding(endpoint=without_method.exchange.url, observed=without_method.told)

    @check(
        413,
        title="Mcp-Method and body",
        when="A request whose Mcp-Method is not the method in its body is not refused with 400 and -32020.",
        seen="{endpoint} answers {observed} where Mcp-Method names another method; 400 with -32020 is due.",
        why="What stands before the server goes by the header, the server by the body: it must not mean two things.",
        recommendation="Refuse with 400 and -32020 (HeaderMismatch).",
        spec=f"{_HTTP}#server-validation",
    )
    def check_rule_method_mismatch(self, other_method: Reply) -> Findings:
        """The header said tools/list, the body server/discover."""
        if not _is_refused(other_method, 400, HEADER_MISMATCH):
            yield Finding(endpoint=other_method.exchange.url, observed=other_method.told)

    @check(
        414,
        title="Client capabilities required",
        when="A request without clientCapabilities in its _meta is not refused with 400 and -32602.",
        seen="{endpoint} answers {observed} to a request without clientCapabilities; 400 with -32602 is due.",
        why="Without them the server cannot know what it may ask of the client, and no earlier request tells.",
        recommendation="Refuse with 400 and -32602 (Invalid params).",
        spec=f"{_BASIC}#_meta",
    )
    def check_rule_capabilities_required(self, without_capabilities: Reply) -> Findings:
        """Everything else that is required is there."""
        if not _is_refused(without_capabilities, 400, INVALID_PARAMS):
            yield Finding(endpoint=without_capabilities.exchange.url, observed=without_capabilities.told)

    @check(
        415,
        title="Unknown method",
        when="A method that does not exist is not refused with 404 and -32601.",
        seen="{endpoint} answers {observed} to a method that does not exist; 404 with -32601 is due.",
        why="By status and code together, clients tell a server without the method from a place without a server.",
        recommendation="Refuse with 404 and -32601 (Method not found).",
        spec=f"{_HTTP}#protocol-version-header",
    )
    def check_rule_unknown_method(self, no_method: Reply) -> Findings:
        """A made-up method under a vendor's prefix."""
        if not _is_refused(no_method, 404, METHOD_NOT_FOUND):
            yield Finding(endpoint=no_method.exchange.url, observed=no_method.told)

    @check(
        416,
        title="Header names in any case",
        when="The request that succeeded is refused with its header names in lower case.",
        seen="{endpoint} answers {observed} when the header names are in lower case.",
        why="Header names have no case, and HTTP/2 sends them all in lower case.",
        recommendation="Compare header names without regard to case.",
        spec=f"{_HTTP}#case-sensitivity",
    )
    def check_rule_case(self, lower_case: Reply) -> Findings:
        """Whether there is a result as there was before."""
        if lower_case.result is None:
            yield Finding(endpoint=lower_case.exchange.url, observed=lower_case.told)

    @check(
        422,
        title="Requests on a response's stream",
        when="A modern server sends a JSON-RPC request of its own on the stream of a response.",
        seen="{endpoint} sends the request {request} on the stream of its response to {call}.",
        why="The modern era has no requests from servers: what is needed of the client is asked within a result.",
        recommendation="Return an InputRequiredResult instead.",
        spec=f"{_HTTP}#receiving-messages",
    )
    def check_rule_requests(self, modern_response: Reply) -> Findings:
        """Whatever has a method and an id."""
        for request in modern_response.requests[:5]:
            call = STEPS[Purpose(modern_response.exchange.purpose)].call
            yield Finding(endpoint=modern_response.exchange.url, request=request, call=call)

    @check(
        430,
        title="Error codes of MCP",
        when="A modern response has a code that MCP has retired, or one that only MCP may define and has not.",
        seen="{endpoint} answers {call} with the error {code}, which {fault}.",
        why="Clients go by these codes; one that means something else leads them astray.",
        recommendation="Use -32602 for what is not found, and only -32020, -32021 and -32022 of MCP's own range.",
        spec=f"{_BASIC}#error-codes",
    )
    def check_rule_codes(self, modern_response: Reply) -> Findings:
        """-32002, -32042, and all of -32099 to -32020 but three."""
        code = modern_response.code
        known = (HEADER_MISMATCH, MISSING_CAPABILITY, UNSUPPORTED_VERSION)
        if code in (-32002, -32042):
            fault = "2026-07-28 has retired"
        elif code is not None and -32099 <= code <= -32020 and code not in known:
            fault = "lies in the range that only the specification may define"
        else:
            return
        call = STEPS[Purpose(modern_response.exchange.purpose)].call
        yield Finding(endpoint=modern_response.exchange.url, call=call, code=code, fault=Composed(fault))

    @check(
        431,
        title="Missing client capability",
        when="The error -32021 comes without status 400, or does not name the capabilities that it misses.",
        seen="{endpoint} answers {call} with {observed}, without data.requiredCapabilities or not with 400.",
        why="The client can only mend the request if it is told what to declare.",
        recommendation="Answer 400 with -32021 and data.requiredCapabilities.",
        spec=f"{_BASIC}#_meta",
    )
    def check_rule_missing_capability(self, modern_response: Reply) -> Findings:
        """Only where it is met: this audit does nothing to provoke it."""
        if modern_response.code != MISSING_CAPABILITY:
            return
        match modern_response.error:
            case {"data": {"requiredCapabilities": dict()}} if modern_response.status == 400:
                return
        call = STEPS[Purpose(modern_response.exchange.purpose)].call
        yield Finding(endpoint=modern_response.exchange.url, call=call, observed=modern_response.told)

    @check(
        440,
        title="resultType",
        when="A modern result has no resultType, or one that neither MCP nor a declared extension defines.",
        seen="{endpoint} answers {call} with the resultType {observed}.",
        why="A client must hold a result of a type that it does not know to be invalid.",
        recommendation="Set resultType to complete.",
        spec=f"{_BASIC}#resulttype",
    )
    def check_rule_result_type(self, result: Result) -> Findings:
        """Extensions may define more; which, is theirs to say."""
        seen = result.members.get("resultType")
        extensions = self.found.capabilities.get("extensions") if self.found is not None else None
        if seen in _RESULT_TYPES or (isinstance(seen, str) and seen and extensions):
            return
        observed = quoted(seen) if "resultType" in result.members else MISSING
        yield Finding(endpoint=result.reply.exchange.url, call=result.call, observed=observed)

    @check(
        441,
        title="Caching hints present",
        when="A complete result of server/discover or a list lacks ttlMs or cacheScope.",
        seen="{endpoint} answers {call} without {missing}.",
        why="Without hints a client must guess how long a result holds, and whom it may be shared with.",
        recommendation="Add {missing} to the result.",
        spec=f"{_CACHING}#cacheable-results",
    )
    def check_rule_hints_present(self, result: Result) -> Findings:
        """Every page on its own."""
        if result.members.get("resultType", "complete") == "complete":
            missing = [name for name in ("ttlMs", "cacheScope") if name not in result.members]
            if missing:
                yield Finding(
                    endpoint=result.reply.exchange.url, call=result.call, missing=Composed(" and ".join(missing))
                )

    @check(
        442,
        title="Caching hints' values",
        when="ttlMs is no number from 0 up, or cacheScope is neither public nor private.",
        seen="{endpoint} answers {call} with {member} {observed}.",
        why="Clients ignore a hint that they cannot read.",
        recommendation="Set ttlMs to a number of milliseconds, 0 or more, and cacheScope to public or private.",
        spec=f"{_CACHING}#cacheable-model",
    )
    def check_rule_hint_values(self, result: Result) -> Findings:
        """A boolean is no number."""
        members = result.members
        if "ttlMs" in members:
            match members["ttlMs"]:
                case bool():
                    pass
                case int() | float() as ttl if ttl >= 0:
                    members = {name: value for name, value in members.items() if name != "ttlMs"}
        for name in ("ttlMs", "cacheScope"):
            if name in members and not (name == "cacheScope" and members[name] in _SCOPES):
                observed = quoted(members[name])
                yield Finding(endpoint=result.reply.exchange.url, call=result.call, member=name, observed=observed)

    @check(
        443,
        title="One cacheScope for all pages",
        when="The pages of one list have different cacheScopes.",
        seen="{endpoint} gives the pages of {call} different cacheScopes: {observed}.",
        why="A shared cache would keep some pages of a list and not others.",
        recommendation="Give every page of a list the same cacheScope.",
        spec=f"{_CACHING}#interaction-with-pagination",
    )
    def check_rule_one_scope(self, modern_listing: Listing) -> Findings:
        """Where there are several pages."""
        scopes = [quoted(page.result.get("cacheScope")) for page in modern_listing.pages if page.result is not None]
        if len(set(scopes)) > 1:
            yield Finding(
                endpoint=modern_listing.pages[0].exchange.url,
                call=STEPS[modern_listing.purpose].call,
                observed=Composed(", ".join(sorted(set(scopes)))),
            )

    @check(
        453,
        title="Capabilities' values",
        when="A capability's value is no object, or its listChanged or subscribe no boolean.",
        seen="{endpoint} declares the capability {capability} as {observed}, not {wanted}.",
        why="Clients look for a capability's options inside it; a true or an array has none, and typed clients fail.",
        recommendation="Write {capability} as {wanted}.",
        spec=f"{MODERN}/schema#servercapabilities",
    )
    def check_rule_capability_values(self, spoken: Talk) -> Findings:
        """Of every era spoken; only the capabilities that the schema knows."""
        seen: set[str] = set()
        for capabilities in (spoken.capabilities, spoken.legacy_capabilities):
            for name, value, wanted in _capability_faults(capabilities):
                if name not in seen:
                    seen.add(name)
                    yield Finding(endpoint=spoken.url, capability=name, observed=quoted(value), wanted=Composed(wanted))

    @check(
        454,
        title="Extensions",
        when="An extension's identifier lacks a prefix or breaks the naming rules, or its settings are no object.",
        seen="{endpoint} declares the extension {extension}, {fault}.",
        why="Clients know an extension by its identifier, and read its settings as an object.",
        recommendation="Name extensions as com.example/name, each with an object for its settings.",
        spec=f"{_VERSIONING}#extension-negotiation",
    )
    def check_rule_extensions(self, discovered: Reply) -> Findings:
        """The map itself is a capability like any other."""
        match (discovered.result or {}).get("capabilities"):
            case {"extensions": dict(extensions)}:
                for identifier, settings in extensions.items():
                    fault = key_fault(identifier)
                    if "/" not in identifier:
                        told = "whose identifier has no prefix"
                    elif fault is not None:
                        told = f"whose identifier {fault}"
                    elif not isinstance(settings, dict):
                        told = f"whose settings are {kind(settings)}"
                    else:
                        continue
                    yield Finding(endpoint=discovered.exchange.url, extension=clean(identifier), fault=Composed(told))


def get_told(reply: Reply) -> str:
    """How GET was answered, with the media type, which is what a client goes by."""
    if reply.status is None or reply.exchange.failure is not None:
        return reply.told
    kind_of = reply.exchange.header("content-type")
    return f"{reply.status}" + (f" {clean(kind_of, 80)}" if kind_of else "")


def key_fault(key: str) -> str | None:
    """What is wrong with a ``_meta`` key, as the end of a sentence; None if nothing (2026-07-28, General fields)."""
    prefix, slash, name = key.rpartition("/")
    if slash and not _PREFIX.fullmatch(prefix):
        return "has a prefix that is no series of labels"
    if not _NAME.fullmatch(name):
        return "has a name that does not begin and end with a letter or a digit"
    labels = prefix.split(".")
    is_reserved = len(labels) > 1 and labels[1].lower() in ("modelcontextprotocol", "mcp")
    return "has a prefix that is reserved for MCP" if is_reserved and labels[0].lower() != "io" else None


def _is_refused(reply: Reply, status: int, code: int) -> bool:
    """Whether a refusal has the status and the code that are due; the draft's number counts as well."""
    return reply.status == status and reply.code is not None and _of_drafts(reply.code) == code


def _draft_codes(response: Reply) -> tuple[int, ...]:
    code = response.code
    if code is None or code not in DRAFT_CODES:
        return ()
    return (code,) if code != -32001 or Purpose(response.exchange.purpose) in _REFUSED_HEADERS else ()


def _of_drafts(code: int) -> int:
    return DRAFT_CODES.get(code, code)


def _capability_faults(capabilities: Mapping[str, object]) -> Iterator[tuple[str, object, str]]:
    """A capability or an option of it, its value, and what that should be."""
    for name in _CAPABILITIES:
        value = capabilities.get(name, {})
        if not isinstance(value, dict):
            yield name, value, "an object, empty if there is nothing to say"
        elif name in _LISTS:
            for option in ("listChanged", "subscribe"):
                if not isinstance(value.get(option, False), bool):
                    yield f"{name}.{option}", value[option], "a boolean"


def _discover_faults(result: Mapping[str, object]) -> Iterator[str]:
    match result.get("supportedVersions"):
        case [*versions] if all(isinstance(one, str) for one in versions):
            pass
        case list():
            yield "supportedVersions that are not all texts"
        case None:
            yield "no supportedVersions"
        case other:
            yield f"{kind(other)} for supportedVersions"
    match result.get("capabilities"):
        case dict():
            pass
        case None:
            yield "no capabilities"
        case other:
            yield f"{kind(other)} for capabilities"
    if not isinstance(result.get("instructions", ""), str):
        yield f"{kind(result['instructions'])} for instructions"
