"""Rules on a server of the legacy era, by the revisions from 2024-11-05 to 2025-11-25."""

import re
from typing import Final

from parley.documents.mcp import Talk
from parley.documents.mcp_plan import FUTURE_VERSION, LEGACY_VERSION, STEPS, Purpose
from parley.documents.mcp_reply import Reply, is_typed
from parley.evidence import FailureCode
from parley.rules.mcp_evidence import LEGACY, McpEvidence
from parley.rules.mcp_modern import get_told
from parley.rules.rule import Composed, Finding, Findings, check
from parley.wire.media_type import EVENT_STREAM, essence
from parley.wire.strict_json import Parsed, parse
from parley.wire.text import kind, quoted

_LIFECYCLE: Final = f"{LEGACY}/basic/lifecycle"
_HTTP: Final = f"{LEGACY}/basic/transports"


class McpLegacyRules(McpEvidence):
    """Numbers x80 to x89, 403 and 421."""

    @check(
        180,
        title="Requests without a session id",
        when="A server that issued a session id does not refuse a request without it by 400.",
        seen="{endpoint} issued a session id, but answers {observed} to a request without it.",
        why="Servers that need a session are to answer 400, so that clients know to initialize first.",
        recommendation="Answer 400 to requests without Mcp-Session-Id, but for initialize.",
        spec=f"{_HTTP}#session-management",
    )
    def check_rule_without_session(self, without_session: Reply) -> Findings:
        """A server that has no need of the session may well serve it."""
        if without_session.status != 400:
            yield Finding(endpoint=without_session.exchange.url, observed=without_session.told)

    @check(
        181,
        title="Batches",
        when="A batch is answered by a batch, which JSON-RPC over MCP has not known since 2025-06-18.",
        seen="{endpoint} answers a batch with an array, as only 2025-03-26 has it.",
        why="It is harmless: clients of the version spoken send no batches.",
        spec="https://modelcontextprotocol.io/specification/2025-06-18/changelog",
    )
    def check_rule_batch(self, batch: Reply) -> Findings:
        """A refusal, of whatever kind, is what is due."""
        match parse(batch.exchange.body):
            case Parsed(value=list()) if batch.status == 200:
                yield Finding(endpoint=batch.exchange.url)

    @check(
        380,
        title="Version negotiation",
        when="initialize in a version that the server does not have is not answered with one that it has.",
        seen="{endpoint} answers initialize in version {requested} with {observed}.",
        why="Newer clients propose their own version first; a server that answers without its own locks them out.",
        recommendation="Answer initialize with a version that the server supports, whatever is proposed.",
        spec=f"{_LIFECYCLE}#version-negotiation",
    )
    def check_rule_negotiation(self, negotiation: Talk) -> Findings:
        """An error is a fault only where the version proposed is one in use: the specification shows it for others."""
        refused, older = negotiation.reply(Purpose.INITIALIZE), negotiation.reply(Purpose.OLDER)
        if refused is not None and older is not None and negotiation.initialized is older:
            yield Finding(endpoint=negotiation.url, requested=LEGACY_VERSION, observed=refused.told)
        future = negotiation.reply(Purpose.LEGACY_FUTURE)
        if future is None or future.untold is not None or future.error is not None:
            return
        if future.result is None:
            yield Finding(endpoint=negotiation.url, requested=FUTURE_VERSION, observed=future.told)
        elif future.result.get("protocolVersion") == FUTURE_VERSION:
            observed = "that version, which does not exist"
            yield Finding(endpoint=negotiation.url, requested=FUTURE_VERSION, observed=observed)

    @check(
        381,
        title="Requests without MCP-Protocol-Version",
        when="A request without the version header is refused.",
        seen="{endpoint} answers {observed} to a request without MCP-Protocol-Version.",
        why="Clients of 2025-03-26 and before do not send it; servers are to take them for that version.",
        recommendation="Take a request without the header for 2025-03-26.",
        spec=f"{_HTTP}#protocol-version-header",
    )
    def check_rule_without_version(self, without_version: Reply) -> Findings:
        """The same request with the header was answered."""
        tools = self.found.reply(Purpose.LEGACY_TOOLS) if self.found is not None else None
        if tools is not None and tools.result is not None and without_version.result is None:
            yield Finding(endpoint=without_version.exchange.url, observed=without_version.told)

    @check(
        382,
        title="Responses of a legacy server",
        when="A response is neither application/json nor text/event-stream, or its event stream holds no response.",
        seen="{endpoint} answers {call} with {observed}.",
        why="Clients choose how to read a response by its media type, and wait for what the stream must bring.",
        recommendation="Answer with a JSON object as application/json, or with an event stream that holds it.",
        spec=f"{_HTTP}#sending-messages-to-the-server",
    )
    def check_rule_response(self, legacy_response: Reply) -> Findings:
        """Requests that are to succeed. A stream may be closed early and polled, which is told as what it is."""
        exchange = legacy_response.exchange
        call = STEPS[Purpose(exchange.purpose)].call
        if legacy_response.message is None and legacy_response.is_stream and legacy_response.status == 200:
            yield Finding(endpoint=exchange.url, call=call, observed="an event stream without a response")
        elif legacy_response.message is not None and legacy_response.status == 200 and not is_typed(legacy_response):
            seen = exchange.header("content-type")
            observed = "no Content-Type" if seen is None else f"Content-Type {quoted(seen)}"
            yield Finding(endpoint=exchange.url, call=call, observed=Composed(observed))

    @check(
        383,
        title="Unknown session",
        when="A request with a session id that was never issued is not answered with 404.",
        seen="{endpoint} answers {observed} to a request with a session id that it never issued.",
        why="By 404 a client knows that its session is over, and begins a new one; after anything else it is stuck.",
        recommendation="Answer 404 to a request whose session does not exist (any more).",
        spec=f"{_HTTP}#session-management",
    )
    def check_rule_no_session(self, no_session: Reply) -> Findings:
        """Asked only of servers that issue session ids."""
        if no_session.status != 404:
            yield Finding(endpoint=no_session.exchange.url, observed=no_session.told)

    @check(
        403,
        title="InitializeResult",
        when="The result of initialize lacks protocolVersion, capabilities or serverInfo, or has them of another type.",
        seen="{endpoint} answers initialize, but its result has {observed}.",
        why="Clients cannot go on without knowing the version and what the server offers.",
        recommendation="Answer with protocolVersion, capabilities and serverInfo (name and version).",
        spec=f"{_LIFECYCLE}#initialization",
        blocks=True,
    )
    def check_rule_initialize_result(self, initialized: Reply) -> Findings:
        """An empty version of the server is legal."""
        result = initialized.result or {}
        faults = [
            f"no {name}" if name not in result else f"{kind(result[name])} for {name}"
            for name, type_ in (("protocolVersion", str), ("capabilities", dict), ("serverInfo", dict))
            if not isinstance(result.get(name), type_)
        ]
        match result.get("serverInfo"):
            case {"name": str(), "version": str()}:
                pass
            case dict(info):
                faults += [
                    f"no text for serverInfo.{one}" for one in ("name", "version") if not _is_text(info.get(one))
                ]
        if faults:
            yield Finding(endpoint=initialized.exchange.url, observed=Composed(", ".join(faults)))

    @check(
        421,
        title="GET at a legacy server",
        when="GET is answered by neither an event stream nor 405; 400 is right where sessions are needed.",
        seen="{endpoint} answers GET with {observed}; text/event-stream or 405 is due.",
        why="Legacy clients open a stream by GET once connected; many take another answer for a failure, or retry.",
        recommendation="Answer GET with an event stream, or with 405 if the server offers none.",
        spec=f"{_HTTP}#listening-for-messages-from-the-server",
    )
    def check_rule_legacy_get(self, legacy_stream: Talk) -> Findings:
        """Asked without a session. No answer at all within the time is told as that."""
        reply = legacy_stream.reply(Purpose.STREAM)
        if reply is None or reply.status in (401, 403, 405):
            return
        exchange = reply.exchange
        if reply.status == 200 and essence(exchange.header("content-type")) == EVENT_STREAM:
            return
        if reply.status == 400 and legacy_stream.session is not None:
            return
        is_silent = exchange.failure is not None and exchange.failure.code is FailureCode.TIMEOUT
        observed = "nothing, not even a status" if is_silent and exchange.status is None else get_told(reply)
        yield Finding(endpoint=legacy_stream.url, observed=observed)

    @check(
        480,
        title="MCP-Protocol-Version validated",
        when="A request whose version header names a version that does not exist is not refused with 400.",
        seen="{endpoint} answers {observed} to a request with MCP-Protocol-Version: 1900-01-01.",
        why="A server that goes on in a version it does not have misreads what clients of that version mean.",
        recommendation="Answer 400 to a version that the server does not support.",
        spec=f"{_HTTP}#protocol-version-header",
    )
    def check_rule_version_header(self, legacy_no_version: Reply) -> Findings:
        """From 2025-06-18 on."""
        if legacy_no_version.status != 400:
            yield Finding(endpoint=legacy_no_version.exchange.url, observed=legacy_no_version.told)

    @check(
        481,
        title="Session id's characters",
        when="The session id holds characters other than visible ASCII.",
        seen="{endpoint} issued the session id {observed}.",
        why="Such an id cannot be sent back in a header as it came.",
        recommendation="Make session ids of visible ASCII characters (0x21 to 0x7E), such as a UUID.",
        spec=f"{_HTTP}#session-management",
    )
    def check_rule_session_id(self, initialized: Reply) -> Findings:
        """Of the InitializeResult's response."""
        session = initialized.exchange.header("mcp-session-id")
        if session is not None and not re.fullmatch(r"[\x21-\x7e]+", session):
            yield Finding(endpoint=initialized.exchange.url, observed=quoted(session))

    @check(
        482,
        title="ping",
        when="ping is not answered with a result.",
        seen="{endpoint} answers ping with {observed}.",
        why="Clients take a connection whose pings are not answered for dead, and drop it.",
        recommendation="Answer ping with an empty result.",
        spec=f"{LEGACY}/basic/utilities/ping",
    )
    def check_rule_legacy_ping(self, legacy_ping: Reply) -> Findings:
        """What the result holds does not matter."""
        if legacy_ping.result is None:
            yield Finding(endpoint=legacy_ping.exchange.url, observed=legacy_ping.told)


def _is_text(value: object) -> bool:
    return isinstance(value, str)
