"""Rules on the endpoint as such: that it is there, what it is, and that it speaks JSON-RPC over HTTP."""

import re
from typing import Final

from parley.documents.mcp import Talk, other_slash
from parley.documents.mcp_gate import NO_PLACE
from parley.documents.mcp_plan import FOREIGN_ORIGIN, STEPS, VERSIONS, Purpose, Spoken
from parley.documents.mcp_reply import Reply, is_typed
from parley.evidence import Evidence
from parley.rules.mcp_evidence import MODERN, SPECIFICATION, McpEvidence, Responses, Result, is_since
from parley.rules.rule import Composed, Finding, Findings, check, listed
from parley.wire.media_type import EVENT_STREAM, essence
from parley.wire.strict_json import Parsed, parse
from parley.wire.text import clean, plain, quoted
from parley.wire.url import Url

_HTTP: Final = f"{MODERN}/basic/transports/streamable-http"
_SSE: Final = f"{SPECIFICATION}/2024-11-05/basic/transports"
_SHOWN: Final = 12

_SHOWN_VALUE: Final = re.compile(
    r"^answers .*(?= in place of)|^has .*(?= for jsonrpc)|(?<=whose code is ).*(?=, not)|(?<=is not JSON ).*", re.DOTALL
)
"""What differs from answer to answer where the fault is the same."""


class McpEndpointRules(McpEvidence):
    """Numbers x00 to x09, x11, x20 to x29 and x90 to x99."""

    @check(
        100,
        title="Specifications implemented",
        when="Every run.",
        seen=f"Audited by the Model Context Protocol, revisions {', '.join(VERSIONS)}.",
        why="A verdict means something only together with the text it was reached by.",
        spec=MODERN,
    )
    def check_rule_specification(self, audit: Evidence) -> Findings:
        """Fires always."""
        yield Finding(specifications=list(VERSIONS))

    @check(
        101,
        title="MCP endpoint",
        when="An endpoint answered as an MCP server.",
        seen="{endpoint} is an MCP server of the {era} era: {name} {version}, protocol version {protocolVersion}.",
        why="Clients choose how to speak by the era and the version; both are facts of the server, not of one request.",
        spec=f"{MODERN}/basic/versioning#terminology",
    )
    def check_rule_endpoint(self, endpoint: Talk) -> Findings:
        """Era, version and identity, as the server states them."""
        info = endpoint.server_info
        yield Finding(
            endpoint=endpoint.url,
            era=str(endpoint.era),
            name=plain(info["name"]) if "name" in info else "a server without a name",
            version=plain(info["version"]) if "version" in info else "(no version)",
            protocolVersion=endpoint.version or "(none)",
            supportedVersions=list(endpoint.supported[:_SHOWN]),
            legacyVersion=endpoint.legacy_version,
            transport=transport(endpoint),
        )

    @check(
        105,
        title="Foreign Origin accepted",
        when="A request whose Origin header names a foreign site is answered like any other.",
        seen="{endpoint} answers requests that carry a foreign Origin ({origin}).",
        why="On one's own machine or in a private network, any web page can then reach the server by DNS rebinding. "
        "A public server without credentials may hold every origin to be valid.",
        recommendation="Answer 403 to requests whose Origin header is not one of yours, above all on a local server.",
        spec=f"{_HTTP}#security-%26-endpoint",
    )
    def check_rule_origin(self, foreign_origin: Reply) -> Findings:
        """Whether there is a result; the same request without an Origin had one."""
        if foreign_origin.result is not None:
            yield Finding(endpoint=foreign_origin.exchange.url, origin=FOREIGN_ORIGIN)

    @check(
        110,
        title="Deprecated features",
        when="The server declares a feature that revision 2026-07-28 deprecates.",
        seen="{endpoint} declares {feature}, deprecated in 2026-07-28 with its removal not before 2027-07-28.",
        why="Roots, Sampling and Logging stay in the specification for at least a year, and then may go.",
        recommendation="Plan to do without {feature}: log to stderr or by OpenTelemetry.",
        spec=f"{MODERN}/deprecated",
    )
    def check_rule_deprecated(self, spoken: Talk) -> Findings:
        """What can be seen from outside is the logging capability; roots and sampling are the client's."""
        if "logging" in spoken.capabilities or "logging" in spoken.legacy_capabilities:
            yield Finding(endpoint=spoken.url, feature="logging")

    @check(
        111,
        title="HTTP+SSE transport",
        when="The endpoint speaks the HTTP+SSE transport of 2024-11-05.",
        seen="{endpoint} speaks HTTP+SSE (2024-11-05), deprecated since 2025-03-26: its first event is endpoint.",
        why="Streamable HTTP took its place in March 2025; newer clients may not speak it any more.",
        recommendation="Serve Streamable HTTP, beside HTTP+SSE for as long as there are older clients.",
        spec=f"{MODERN}/deprecated",
    )
    def check_rule_sse(self, sse_endpoint: Talk) -> Findings:
        """Fires for every such endpoint."""
        yield Finding(endpoint=sse_endpoint.url, messages=sse_endpoint.endpoint_event)

    @check(
        120,
        title="X-Accel-Buffering",
        when="A modern server answers with an event stream without the header X-Accel-Buffering: no.",
        seen="{endpoint} answers {call} with an event stream, but without X-Accel-Buffering: no.",
        why="A proxy such as nginx may then keep the events back until the stream ends.",
        recommendation="Send X-Accel-Buffering: no with every text/event-stream response.",
        spec=f"{_HTTP}#receiving-messages",
    )
    def check_rule_buffering(self, result: Result) -> Findings:
        """Event streams only."""
        if result.reply.is_stream and (result.reply.exchange.header("x-accel-buffering") or "").lower() != "no":
            yield Finding(endpoint=result.reply.exchange.url, call=result.call)

    @check(
        200,
        title="Valid MCP server",
        when="An MCP server was found and no rule found a fault in it.",
        seen="The MCP server at {endpoint} ({era}, {protocolVersion}) is valid.",
        why="Clients of its era can depend on what it answers.",
        spec=MODERN,
    )
    def check_rule_valid(self, valid: Talk) -> Findings:
        """Fires once."""
        yield Finding(endpoint=valid.url, era=str(valid.era), protocolVersion=valid.version or "(none)")

    @check(
        320,
        title="End of the stream",
        when="The event stream of a modern response stays open after the response.",
        seen="{endpoint} keeps the event stream of server/discover open after its response, for {seconds} s and more.",
        why="The final response is to end the stream; clients and proxies otherwise hold a connection for nothing.",
        recommendation="Close the event stream once the response is sent.",
        spec=f"{_HTTP}#receiving-messages",
    )
    def check_rule_stream_end(self, to_the_end: Reply) -> Findings:
        """Read for a while after the response has come."""
        if to_the_end.exchange.failure is not None and to_the_end.message is not None:
            yield Finding(endpoint=to_the_end.exchange.url, seconds=round(to_the_end.exchange.duration_ms / 1000, 1))

    @check(
        321,
        title="Notifications",
        when="A notification is answered by something other than 202 without a body; a modern server may refuse it.",
        seen="{endpoint} answers {call} with {observed}.",
        why="A notification has no response: a body, or a stream that is announced, makes clients wait for one.",
        recommendation="Answer notifications with 202 Accepted, no body and no Content-Type.",
        spec=f"{_HTTP}#sending-messages",
    )
    def check_rule_notification(self, notification: Reply) -> Findings:
        """Refusing one that the server does not know is legal in the modern era."""
        exchange = notification.exchange
        step = STEPS[Purpose(exchange.purpose)]
        kind = essence(exchange.header("content-type"))
        if exchange.status is None or (exchange.status >= 400 and step.era is Spoken.MODERN):
            return
        if exchange.status != 202:
            observed = f"{exchange.status}"
        elif exchange.body.strip():
            observed = f"202 and a body of {len(exchange.body)} bytes"
        elif kind in (EVENT_STREAM, "text/plain", "text/html"):
            observed = f"202 labelled {kind}"
        else:
            return
        yield Finding(endpoint=exchange.url, call=step.call, observed=observed)

    @check(
        325,
        title="Errors without a Content-Type",
        when="An error response with a JSON-RPC body has no Content-Type.",
        seen="{endpoint} answers {status} with a JSON-RPC error, but without a Content-Type.",
        why="Clients that look at the media type first take the body for text, and lose the error.",
        recommendation="Send Content-Type: application/json with every JSON-RPC error.",
        spec=f"{_HTTP}#sending-messages",
    )
    def check_rule_error_type(self, response: Reply) -> Findings:
        """Errors with a status of their own; those that come with 200 are responses like any other."""
        exchange = response.exchange
        if response.error is not None and (response.status or 0) >= 400 and exchange.header("content-type") is None:
            yield Finding(endpoint=exchange.url, status=response.status)

    @check(
        326,
        title="Charset parameter",
        when="A request with Content-Type: application/json; charset=utf-8 is refused that is served without charset.",
        seen="{endpoint} answers {observed} to Content-Type: application/json; charset=utf-8.",
        why="Many HTTP libraries add the parameter by themselves; it changes nothing about a JSON body.",
        recommendation="Compare the media type without its parameters.",
        spec="https://www.rfc-editor.org/rfc/rfc9110.html#section-8.3.1",
    )
    def check_rule_charset(self, charset: Reply) -> Findings:
        """Whether there is a result as there was without."""
        if charset.result is None:
            yield Finding(endpoint=charset.exchange.url, observed=charset.told)

    @check(
        327,
        title="CORS request headers",
        when="The endpoint answers a CORS preflight, but does not allow the headers that MCP requests carry.",
        seen="{endpoint} allows requests from other origins, but not with {missing}.",
        why="A client in a browser must send these headers, and the browser then refuses to send the request.",
        recommendation="Add {missing} to Access-Control-Allow-Headers.",
        spec=f"{_HTTP}#request-metadata",
    )
    def check_rule_cors(self, preflight: Reply) -> Findings:
        """Only where the endpoint speaks of CORS at all; what is needed depends on the era."""
        talk = self.found
        allowed = preflight.exchange.header("access-control-allow-headers") or ""
        names = {name.strip().lower() for name in allowed.split(",")}
        needed = ["Content-Type"]
        if talk is not None and talk.is_modern:
            needed += ["MCP-Protocol-Version", "Mcp-Method", "Mcp-Name"]
        elif talk is not None and is_since(talk.legacy_version, "2025-06-18"):
            needed += ["MCP-Protocol-Version"]
        if talk is not None and talk.session is not None:
            needed += ["Mcp-Session-Id"]
        missing = [name for name in needed if name.lower() not in names]
        if missing and "*" not in names:
            yield Finding(endpoint=preflight.exchange.url, missing=Composed(", ".join(missing)))

    @check(
        328,
        title="Endpoint event",
        when="The endpoint event of an HTTP+SSE server names another origin, or no URL.",
        seen="{endpoint} says by its first event that messages go to {observed}, which {fault}.",
        why="Clients send nothing to another origin, as it might be anybody's, and so do not connect.",
        recommendation="Name a path of {origin} in the endpoint event, or its URL as clients see it from outside.",
        spec=f"{_SSE}#http-with-sse",
    )
    def check_rule_endpoint_event(self, sse_endpoint: Talk) -> Findings:
        """Relative to the stream's own URL, as the official clients read it."""
        fault = sse_endpoint.messages_fault
        if fault is not None:
            origin = Url.parse(sse_endpoint.url).origin
            observed = quoted(sse_endpoint.endpoint_event)
            yield Finding(endpoint=sse_endpoint.url, observed=observed, fault=Composed(fault), origin=origin)

    @check(
        329,
        title="Byte order mark",
        when="A JSON-RPC response begins with a byte order mark.",
        seen="{endpoint} begins its response to {call} with a byte order mark.",
        why="JSON that is sent over a network must not have one (RFC 8259); some parsers fail on it.",
        recommendation="Send JSON as UTF-8 without a byte order mark.",
        spec="https://www.rfc-editor.org/rfc/rfc8259.html#section-8.1",
    )
    def check_rule_bom(self, response: Reply) -> Findings:
        """Once per kind of request."""
        if "bom" in response.notes:
            yield Finding(endpoint=response.exchange.url, call=STEPS[Purpose(response.exchange.purpose)].call)

    @check(
        332,
        title="Shape of a refusal's error",
        when="A refusal's JSON-RPC error has the id inside the error, or none where the request's is due.",
        seen="{endpoint} refuses with {status} and a JSON-RPC error that holds the id inside the error object.",
        why="A client looks for the id beside the error; without it, the refusal belongs to no request.",
        recommendation="Put id beside error, with the value that the request had.",
        spec="https://www.jsonrpc.org/specification#response_object",
    )
    def check_rule_refusal(self, refusal: Reply) -> Findings:
        """The body of a 401 or 403."""
        match parse(refusal.exchange.body):
            case Parsed(value={"error": {"id": _}}):
                yield Finding(endpoint=refusal.exchange.url, status=refusal.status)

    @check(
        400,
        title="An answer in some era",
        when="What the URL given, or a Server Card's remote, says is an MCP endpoint answers as none in any era.",
        seen="{endpoint} ({claim}) is no MCP endpoint: {reasons}.",
        why="Clients that go there cannot connect, whichever revision they speak.",
        recommendation="Serve MCP at {endpoint}, or name the address where it is served.",
        spec=f"{_HTTP}#backward-compatibility",
        blocks=True,
    )
    def check_rule_answer(self, claimed: Talk) -> Findings:
        """Says how each era's opening was answered."""
        if claimed.era is not None:
            return
        tried = (
            ("server/discover", Purpose.DISCOVER),
            ("initialize", Purpose.INITIALIZE),
            ("GET", Purpose.STREAM),
        )
        told = [
            f"{name} was answered {_told(reply, claimed)}{reply.said}"
            for name, one in tried
            if (reply := claimed.reply(one)) is not None
        ]
        if any(reply.status == 421 for reply in claimed.openings):
            told.append(f"421 says that the server does not answer for the name {Url.parse(claimed.url).host}")
        if claimed.silence is not None:
            told = [claimed.silence.told]
        if self.found is not None and self.found.url == other_slash(claimed.url):
            told.append(f"the server is at {clean(self.found.url)}, which differs in the slash at the end")
        elif self.found is not None and Url.parse(self.found.url).origin == Url.parse(claimed.url).origin:
            told.append(f"there is a server at {clean(self.found.url)}")
        yield Finding(endpoint=claimed.url, claim=str(claimed.candidate.claim), reasons=Composed("; ".join(told)))

    @check(
        401,
        title="JSON-RPC",
        when="A response breaks JSON-RPC 2.0: its members, its id, its encoding; or there is no response in it at all.",
        seen="{endpoint} answers {call} with something that is no JSON-RPC response: it {fault}.",
        why="Clients match responses to requests by these members, and drop what they cannot match.",
        recommendation="Answer {call} with one JSON-RPC 2.0 response that has the id of the request.",
        spec=f"{MODERN}/basic#responses",
        blocks=True,
    )
    def check_rule_json_rpc(self, responses: Responses) -> Findings:
        """An error need not have an id. What cannot be read is a fault only where the status says success."""
        kinds: dict[str, dict[str, str]] = {}
        for fault, calls in responses.calls(_json_rpc_faults).items():
            kinds.setdefault(_SHOWN_VALUE.sub("", fault), {})[fault] = calls
        for faults in kinds.values():
            calls = ", ".join(dict.fromkeys(call for each in faults.values() for call in each.split(", ")))
            example = next(iter(faults))
            yield Finding(endpoint=responses.endpoint, call=Composed(calls), fault=Composed(example))

    @check(
        420,
        title="Media type of responses",
        when="A modern response is neither application/json nor text/event-stream, or is not what it is labelled.",
        seen="{endpoint} answers {call} with Content-Type {observed}.",
        why="Clients choose how to read a response by its media type; the specification allows these two.",
        recommendation="Serve responses as application/json, or as text/event-stream.",
        spec=f"{_HTTP}#sending-messages",
    )
    def check_rule_media_type(self, modern_response: Reply) -> Findings:
        """Successful responses; parameters do not matter."""
        exchange = modern_response.exchange
        if modern_response.message is None or modern_response.status != 200:
            return
        if not is_typed(modern_response) or (
            modern_response.is_stream != (essence(exchange.header("content-type")) == EVENT_STREAM)
        ):
            kind = exchange.header("content-type")
            observed = "(missing)" if kind is None else quoted(kind)
            yield Finding(endpoint=exchange.url, call=STEPS[Purpose(exchange.purpose)].call, observed=observed)

    @check(
        423,
        title="Events are ended",
        when="The event that holds a response is not ended by a blank line.",
        seen="{endpoint} answers {call} with an event that is never ended by a blank line.",
        why="By the rules for event streams such an event is never delivered: the client waits until it gives up.",
        recommendation="End every event with an empty line.",
        spec="https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation",
    )
    def check_rule_event_end(self, response: Reply) -> Findings:
        """Whether the stream then ended or stayed open."""
        if response.is_unended:
            call = STEPS[Purpose(response.exchange.purpose)].call
            yield Finding(endpoint=response.exchange.url, call=call)

    @check(
        424,
        title="Answers over HTTP+SSE",
        when="initialize, sent where the endpoint event says, brings no InitializeResult on the event stream.",
        seen="{endpoint} opens an event stream, but initialize, sent to {messagesUrl}, was answered {observed}.",
        why="A client of this transport hears answers on that stream only, and cannot connect without this one.",
        recommendation="Answer what is POSTed on the event stream, with the id of the request.",
        spec=f"{_SSE}#http-with-sse",
        blocks=True,
    )
    def check_rule_sse_answer(self, sse_answer: Talk) -> Findings:
        """Silence shows nothing, and an InitializeResult of another shape is another rule's."""
        reply = sse_answer.reply(Purpose.SSE_INITIALIZE)
        if reply is not None and sse_answer.initialized is None:
            yield Finding(endpoint=sse_answer.url, messagesUrl=sse_answer.messages_url, observed=reply.told)

    @check(
        490,
        title="Redirected endpoint",
        when="A POST to what the URL given, or a Server Card, says is the endpoint is answered by a redirect.",
        seen="{endpoint} redirects POST with {status} to {location}{warning}.",
        why="MCP describes no redirects: many clients do not follow them with a POST, or lose its body or credentials.",
        recommendation="Serve MCP at the very address that is published, or publish {location}.",
        spec=_HTTP,
    )
    def check_rule_redirect(self, posted: Talk) -> Findings:
        """A redirect to the same address by https is none of the endpoint's."""
        location = posted.redirect
        if location is None or _is_upgrade(posted.url, location):
            return
        reply = next(reply for reply in posted.first_replies if reply.exchange.header("location") == location)
        downgrade = posted.url.startswith("https:") and location.lower().startswith("http:")
        loses = reply.status in (301, 302, 303)
        warning = ", which is not encrypted" if downgrade else ", after which clients may send GET" if loses else ""
        yield Finding(endpoint=posted.url, status=reply.status, location=clean(location), warning=Composed(warning))


def _json_rpc_faults(response: Reply) -> tuple[str, ...]:
    if response.message is not None:
        return response.faults
    if response.untold is None and response.status == 200 and not response.is_stream:
        return (response.reason.removeprefix("it ") or "is empty",)
    return ()


def _told(reply: Reply, talk: Talk) -> str:
    """An answer as it was met: a stream that GET opens is not read, and is HTTP+SSE's only after certain answers."""
    is_stream = essence(reply.exchange.header("content-type")) == EVENT_STREAM
    if reply.exchange.method != "GET" or reply.status != 200 or not is_stream:
        return reply.told
    if talk.reply(Purpose.ENDPOINT_EVENT) is not None:
        return "200 with an event stream that does not begin with an endpoint event"
    refusals = listed(map(str, NO_PLACE), by=" or ")
    return f"200 with an event stream, which clients of HTTP+SSE go on with only after {refusals}"


def transport(talk: Talk) -> str:
    """The transport, as reports name it."""
    return "http+sse" if talk.endpoint_event is not None and not talk.is_modern else "streamable-http"


def _is_upgrade(url: str, location: str) -> bool:
    return url.startswith("http://") and location.removeprefix("https:") == url.removeprefix("http:")
