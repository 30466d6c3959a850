"""What the rules of ``PARLEY-McpServerAuditor`` may ask for, by parameter name."""

import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any, Final, NamedTuple

from parley.documents import oauth
from parley.documents.mcp import (
    BY_SSE,
    CAPABILITIES,
    MEMBERS,
    METHOD_NOT_FOUND,
    Claim,
    Era,
    Listing,
    Talk,
    gate,
    reached,
    talks,
)
from parley.documents.mcp_gate import Gate
from parley.documents.mcp_plan import MODERN_VERSION, STEPS, Purpose, Spoken
from parley.documents.mcp_reply import Reply
from parley.documents.oauth import Chain
from parley.evidence import Evidence, FailureCode
from parley.report import Protocol
from parley.rules.rule import Given, RuleSet
from parley.target import Target
from parley.wire.text import clean
from parley.wire.url import Url

SPECIFICATION: Final = "https://modelcontextprotocol.io/specification"
MODERN: Final = f"{SPECIFICATION}/{MODERN_VERSION}"
LEGACY: Final = f"{SPECIFICATION}/2025-11-25"

LISTS: Final = (
    Purpose.TOOLS,
    Purpose.PROMPTS,
    Purpose.RESOURCES,
    Purpose.TEMPLATES,
    Purpose.LEGACY_TOOLS,
    Purpose.LEGACY_PROMPTS,
    Purpose.LEGACY_RESOURCES,
    Purpose.LEGACY_TEMPLATES,
    Purpose.SSE_TOOLS,
)
"""The readings of lists whose content is judged."""

_OUT_OF_STEP: Final = (Purpose.STREAM, Purpose.ENDPOINT_EVENT, Purpose.PREFLIGHT, Purpose.DELETE)
_NO_RESPONSE: Final = (
    *_OUT_OF_STEP,
    Purpose.INITIALIZED,
    Purpose.SSE_INITIALIZED,
    Purpose.NOTIFICATION,
    Purpose.LEGACY_BATCH,
)


class Result(NamedTuple):
    """A result that says what it is: of ``call``, in the modern era."""

    call: str
    reply: Reply
    members: Mapping[str, object]


class Responses(NamedTuple):
    """All responses of an era, in the order asked."""

    endpoint: str
    era: Spoken
    replies: tuple[Reply, ...]

    def calls(self, fault: Callable[[Reply], Iterable[Hashable]]) -> dict[Any, str]:
        """What is at fault, each with the calls that were so answered: ``server/discover, tools/list``."""
        found: dict[Hashable, dict[str, None]] = {}
        for reply in self.replies:
            for one in fault(reply):
                found.setdefault(one, {})[STEPS[Purpose(reply.exchange.purpose)].call] = None
        return {one: ", ".join(calls) for one, calls in found.items()}


class Entry(NamedTuple):
    """One entry of a list: a tool, a prompt, a resource. ``shown`` names it in a sentence."""

    call: str
    position: int
    members: Mapping[str, object]

    @property
    def name(self) -> str | None:
        """Its name, or its URI."""
        for member in ("name", "uri", "uriTemplate"):
            if isinstance(value := self.members.get(member), str):
                return value
        return None

    @property
    def shown(self) -> str:
        """Its name, or its place in the list if it has none."""
        return clean(self.name) if self.name else f"{MEMBERS[self.call]}[{self.position}]"


class Readings(NamedTuple):
    """A list, read several times: at least twice, each time from its beginning."""

    endpoint: str
    lists: tuple[Listing, ...]


class Declared(NamedTuple):
    """A capability that promises a list, or does not, and how the list was answered."""

    call: str
    capability: str
    is_declared: bool
    listing: Listing


class McpEvidence(RuleSet):
    """The endpoint that was found, if any, and everything it said."""

    prefix = "PARLEY"
    name = "McpServerAuditor"
    title = "MCP server"
    protocol = Protocol.MCP

    def __init__(self, evidence: Evidence) -> None:
        super().__init__(evidence)
        self.talks = talks(evidence)
        end = reached(self.talks)
        self.found = end if end is not None and end.refusal is None else None
        self.gated: Talk | None = None
        self.gate: Gate | None = None
        self.chain: Chain | None = None
        if self.found is None and (asks := gate(evidence)) is not None:
            self.chain = oauth.read(asks, evidence.exchanges)
            in_order = sorted(self.talks, key=lambda talk: talk.url != str(asks.endpoint))
            self.gated = next((talk for talk in in_order if is_gate(talk, self.chain)), None)
            self.gate = self.gated.refusal if self.gated is not None else None
        elif self.found is not None and self.found.messages_gate is not None:
            self.gate = self.found.messages_gate
            self.chain = oauth.read(self.gate, evidence.exchanges)
        self.claimed_talks = [
            talk for talk in self.talks if talk.candidate.claim is not None and not is_rehearsal(talk, evidence.target)
        ]

    # What is there.

    def audit(self) -> Given[Evidence]:
        """The audit as a whole."""
        return Given((self.evidence,))

    def endpoint(self) -> Given[Talk]:
        """The endpoint that answered in an era."""
        return Given(missing=self.open_question) if self.found is None else Given((self.found,))

    def spoken(self) -> Given[Talk]:
        """The same, if it was heard what it declares."""
        given = self.endpoint()
        is_mute = self.found is not None and not self.found.is_spoken
        return Given(missing=self._unheard(Spoken.LEGACY)) if is_mute else given

    def claimed(self) -> Given[Talk]:
        """What the URL given or a Server Card says is an endpoint, and the one that was found."""
        if self.found is not None:
            others = [talk for talk in self.claimed_talks if is_dead(talk) and talk.moved != self.found.url]
            return Given((self.found, *others))
        dead = tuple(talk for talk in self.claimed_talks if is_dead(talk))
        return Given(dead, None if dead else self.open_question)

    def posted(self) -> Given[Talk]:
        """What the URL given or a Server Card says is an endpoint, and answered a POST itself."""
        answered = tuple(
            talk
            for talk in self.claimed_talks
            if talk.refusal is None and any(one.untold is None for one in talk.openings)
        )
        return Given(answered, None if answered else self.open_question)

    def refusal(self) -> Given[Reply]:
        """The refusal for want of credentials."""
        return Given(() if self.gate is None else (self.gate.reply,))

    def sse_endpoint(self) -> Given[Talk]:
        """An HTTP+SSE endpoint of 2024-11-05."""
        found = self.found
        return Given((found,) if found is not None and found.endpoint_event is not None else ())

    def sse_answer(self) -> Given[Talk]:
        """The same, if it says where messages go, and introducing ourselves there came to something."""
        given = self.sse_endpoint()
        for talk in given.values:
            reply = talk.reply(Purpose.SSE_INITIALIZE)
            if talk.messages_url is None:
                return Given()
            if reply is None or self.gate is not None or (reply.message is None and reply.untold is not None):
                return Given(missing=self._unheard(Spoken.LEGACY))
        return given

    # What it says of itself.

    def discovered(self) -> Given[Reply]:
        """The DiscoverResult."""
        return self._of_era(Spoken.MODERN, self.found.discovered if self.found else None)

    def initialized(self) -> Given[Reply]:
        """The InitializeResult."""
        return self._of_era(Spoken.LEGACY, self.found.initialized if self.found else None)

    def undiscovered(self) -> Given[Reply]:
        """The answer of a modern server to ``server/discover``, in the last version that it was sent in."""
        supported = self._step(Purpose.SUPPORTED)
        return supported if supported.values else self._step(Purpose.DISCOVER)

    def refused_initialize(self) -> Given[Reply]:
        """How a modern-only server refuses ``initialize``."""
        if self.found is not None and self.found.era is not Era.MODERN:
            return Given()
        return self._reply(Purpose.INITIALIZE)

    # What it answered.

    def response(self) -> Given[Reply]:
        """Every answer to a request in an era that the server speaks; those that belong to no request left out."""
        if self.found is None:
            return Given(missing=self.open_question)
        given = _known([reply for purpose, reply in self._spoken() if purpose not in _NO_RESPONSE])
        return given if given.values or given.missing else Given(missing=self._unheard(Spoken.LEGACY))

    def responses(self) -> Given[Responses]:
        """The same, those of an era together."""
        given = self.response()
        eras = ((era, tuple(one for one in given.values if _era(one) is era)) for era in (Spoken.MODERN, Spoken.LEGACY))
        url = "" if self.found is None else self.found.url
        return Given(tuple(Responses(url, era, replies) for era, replies in eras if replies), given.missing)

    def modern_responses(self) -> Given[Responses]:
        """The same, of the modern era."""
        given, modern = self.responses(), self.modern_response()
        return Given(tuple(one for one in given.values if one.era is Spoken.MODERN), modern.missing)

    def modern_response(self) -> Given[Reply]:
        """The same, of the modern era."""
        if self.found is None:
            return Given(missing=self.open_question)
        if not self.found.is_modern:
            return Given(missing=self._unheard(Spoken.MODERN))
        return _known(
            [
                reply
                for purpose, reply in self._spoken()
                if purpose not in _NO_RESPONSE and STEPS[purpose].era is Spoken.MODERN
            ]
        )

    def legacy_response(self) -> Given[Reply]:
        """The same, of the legacy era, of requests that are to succeed."""
        if self.found is None:
            return Given(missing=self.open_question)
        if self._is_by_sse:
            return Given()
        if self.found.initialized is None:
            return Given(missing=self._unheard(Spoken.LEGACY))
        purposes = (Purpose.INITIALIZE, Purpose.LEGACY_TOOLS, Purpose.LEGACY_PING)
        replies = [reply for purpose, reply in self._spoken() if purpose in purposes]
        usable = tuple(reply for reply in replies if reply.untold is None or reply.is_stream)
        return Given(usable, next((reply.untold for reply in replies if reply not in usable), None))

    def result(self) -> Given[Result]:
        """Every modern result that can be kept: of ``server/discover`` and the lists."""
        if self.found is None:
            return Given(missing=self.open_question)
        if not self.found.is_modern:
            return Given(missing=self._unheard(Spoken.MODERN))
        return Given(tuple(self._results()), self._lists_missing())

    def listing(self) -> Given[Listing]:
        """Every list that was read, in the era of each."""
        if self.found is None:
            return Given(missing=self.open_question)
        return Given(tuple(self._listings()), self._lists_missing())

    def modern_listing(self) -> Given[Listing]:
        """Every list that was read in the modern era."""
        if self.found is None:
            return Given(missing=self.open_question)
        modern = tuple(one for one in self._listings() if STEPS[one.purpose].era is Spoken.MODERN)
        return Given(modern, self._lists_missing() if self.found.is_modern else self._unheard(Spoken.MODERN))

    def readings(self) -> Given[Readings]:
        """The modern tool list's readings, where each of them is whole."""
        purposes = (Purpose.TOOLS, Purpose.TOOLS_AGAIN, Purpose.TOOLS_THIRD, Purpose.TOOLS_FOURTH)
        return self._readings(Spoken.MODERN, purposes)

    def legacy_readings(self) -> Given[Readings]:
        """The legacy tool list's readings, where each of them is whole."""
        return self._readings(Spoken.LEGACY, (Purpose.LEGACY_TOOLS, Purpose.LEGACY_TOOLS_AGAIN))

    def declared(self) -> Given[Declared]:
        """Every list that a capability promises, and the tool list in any case."""
        if self.found is None:
            return Given(missing=self.open_question)
        found: list[Declared] = []
        missing: str | None = None
        for listing in self._listings():
            step = STEPS[listing.purpose]
            legacy = step.era is Spoken.LEGACY
            capabilities = self.found.legacy_capabilities if legacy else self.found.capabilities
            first = listing.pages[0]
            if first.untold is not None:
                missing = first.untold
                continue
            capability = CAPABILITIES[step.call]
            if not legacy and self.found.discovered is None:
                continue  # that there is no telling is another rule's
            found.append(
                Declared(call=step.call, capability=capability, is_declared=capability in capabilities, listing=listing)
            )
        return Given(tuple(found), missing or self._unasked())

    def tool_list(self) -> Given[Listing]:
        """The tool list of the newest era, read first."""
        if self.found is None:
            return Given(missing=self.open_question)
        listing = self._tools()
        if listing is None or listing.pages[0].result is None:
            return Given(missing=self._unasked() if listing is None else listing.missing)
        return Given((listing,))

    def tool(self) -> Given[Entry]:
        """Every tool of that list that is an object."""
        return self._entries_of(self._tools())

    def modern_tool(self) -> Given[Entry]:
        """The same, if the server is modern."""
        return self._since(MODERN_VERSION)

    def new_tool(self) -> Given[Entry]:
        """The same, from 2025-11-25 on, which is the first revision to speak of tools' names and schemas' dialects."""
        return self._since("2025-11-25")

    def typed_tool(self) -> Given[Entry]:
        """The same, from 2025-06-18 on, which is the first revision with ``outputSchema``."""
        return self._since("2025-06-18")

    def modern_entry(self) -> Given[Entry]:
        """Every entry of every modern list."""
        if self.found is None:
            return Given(missing=self.open_question)
        entries = [
            entry
            for listing in self._listings()
            if STEPS[listing.purpose].era is Spoken.MODERN
            for entry in entries_of(listing)
        ]
        return Given(tuple(entries), self._lists_missing() if self.found.is_modern else self._unheard(Spoken.MODERN))

    # The harmless negative probes, and what else is asked once.

    def no_version(self) -> Given[Reply]:
        """``server/discover`` in a version that does not exist."""
        return self._repeated(Purpose.NO_VERSION)

    def no_method(self) -> Given[Reply]:
        """A method that does not exist; nothing if server/discover, all right, was refused in the same way."""
        given = self._step(Purpose.NO_METHOD)
        plain = self.found.reply(Purpose.DISCOVER) if self.found is not None else None
        if plain is None or self.found is None or self.found.discovered is not None:
            return given
        is_alike = any(reply.code == plain.code != METHOD_NOT_FOUND for reply in given.values)
        return Given() if is_alike else given

    def without_method(self) -> Given[Reply]:
        """``server/discover`` without ``Mcp-Method``."""
        return self._validated(Purpose.WITHOUT_METHOD)

    def other_method(self) -> Given[Reply]:
        """``server/discover`` under another ``Mcp-Method``."""
        return self._validated(Purpose.OTHER_METHOD)

    def other_version(self) -> Given[Reply]:
        """``server/discover`` with one version in its header and another in its body."""
        return self._validated(Purpose.OTHER_VERSION)

    def without_capabilities(self) -> Given[Reply]:
        """``server/discover`` without the client's capabilities."""
        return self._repeated(Purpose.WITHOUT_CAPABILITIES)

    def lower_case(self) -> Given[Reply]:
        """``server/discover`` with its header names in lower case."""
        return self._repeated(Purpose.LOWER_CASE)

    def charset(self) -> Given[Reply]:
        """A request with a charset parameter that succeeds without, in the newest era."""
        if self.found is not None and self.found.is_modern:
            return self._repeated(Purpose.CHARSET)
        ping = self.found.reply(Purpose.LEGACY_PING) if self.found is not None else None
        return Given() if ping is not None and ping.result is None else self._step(Purpose.LEGACY_CHARSET)

    def with_session(self) -> Given[Reply]:
        """``server/discover`` of a modern-only server, with the headers of a session and a resumption."""
        return self._repeated(Purpose.SESSION)

    def foreign_origin(self) -> Given[Reply]:
        """A request from a foreign Origin, in the newest era."""
        if self.found is not None and self.found.is_modern:
            return self._repeated(Purpose.ORIGIN)
        return self._step(Purpose.LEGACY_ORIGIN)

    def to_the_end(self) -> Given[Reply]:
        """``server/discover``, read to the end of its stream."""
        return self._step(Purpose.STREAM_END)

    def notification(self) -> Given[Reply]:
        """The answer to each notification."""
        if self.found is None:
            return Given(missing=self.open_question)
        given = [self._step(Purpose.NOTIFICATION), self._step(Purpose.INITIALIZED)]
        missing = next((one.missing for one in given if one.missing), None)
        return Given(tuple(reply for one in given for reply in one.values), missing)

    def removed_ping(self) -> Given[Reply]:
        """``ping``, which the modern era no longer has."""
        return self._step(Purpose.PING)

    def no_cursor(self) -> Given[Reply]:
        """``tools/list`` with a cursor that no page ever gave."""
        return self._step(Purpose.NO_CURSOR)

    def preflight(self) -> Given[Reply]:
        """The CORS preflight, where the server speaks of CORS at all."""
        given = self._step(Purpose.PREFLIGHT)
        return Given(
            tuple(reply for reply in given.values if reply.exchange.header("access-control-allow-origin")),
            given.missing,
        )

    def modern_stream(self) -> Given[Talk]:
        """GET at a modern-only server."""
        return self._stream(legacy=False)

    def legacy_stream(self) -> Given[Talk]:
        """GET at a server that speaks a legacy revision with Streamable HTTP."""
        return self._stream(legacy=True)

    def negotiation(self) -> Given[Talk]:
        """The endpoint, if it settles on a legacy version, with all that it was proposed."""
        found = self.found
        if found is None:
            return Given(missing=self.open_question)
        if self._is_by_sse:
            return Given()
        if found.initialized is None:
            return Given(missing=self._unheard(Spoken.LEGACY))
        future = found.reply(Purpose.LEGACY_FUTURE)
        return Given((found,), None if future is None else future.untold)

    def legacy_ping(self) -> Given[Reply]:
        """``ping`` in the legacy era."""
        return self._step(Purpose.LEGACY_PING)

    def legacy_no_version(self) -> Given[Reply]:
        """A legacy request whose header names a version that does not exist."""
        return self._step(Purpose.LEGACY_NO_VERSION)

    def without_version(self) -> Given[Reply]:
        """A legacy request without the version header."""
        return self._step(Purpose.LEGACY_WITHOUT_VERSION)

    def without_session(self) -> Given[Reply]:
        """A legacy request without the id of the session that the server issued."""
        return self._step(Purpose.LEGACY_WITHOUT_SESSION)

    def no_session(self) -> Given[Reply]:
        """A legacy request with a session id that was never issued."""
        return self._step(Purpose.LEGACY_NO_SESSION)

    def batch(self) -> Given[Reply]:
        """A batch, which legacy revisions have not known since 2025-06-18."""
        return self._step(Purpose.LEGACY_BATCH)

    # How it is found.

    @cached_property
    def open_question(self) -> str | None:
        """Why it stays open what is there: a gate, a bot wall, silence, our own limits; None where nothing is."""
        if self.gate is not None:
            return self.needs
        if (ours := self._ours()) is not None:
            return ours
        asked = self.claimed_talks or self.talks
        wall = next((f"{clean(talk.url)}: a bot wall answered ({talk.wall})" for talk in asked if talk.wall), None)
        if wall is not None:
            return wall
        unheard = [talk.unheard for talk in asked if talk.era is None and talk.refusal is None and not is_dead(talk)]
        return next((reply.untold for reply in unheard if reply is not None), None)

    @property
    def needs(self) -> str:
        """What the gate says, for people, and what follows from it."""
        assert self.gate is not None  # noqa: S101  # it is asked for where there is one
        is_chain = self.chain is not None and self.chain.gate.endpoint == self.gate.endpoint
        doubt = self.chain.doubt if self.chain is not None and is_chain else None
        return doubt or f"{self.gate.told}, so it needs credentials"

    def _ours(self) -> str | None:
        """What of this auditor's own kept it from looking."""
        for talk in self.talks:
            failure = talk.silence.exchange.failure if talk.silence is not None else None
            if failure is not None and failure.code.is_ours:
                return f"{clean(talk.url)}: {clean(failure.reason, 300)}"
        return None

    def _spoken(self) -> Iterator[tuple[Purpose, Reply]]:
        """The answers of the eras that the found endpoint speaks."""
        found = self.found
        if found is None:
            return
        for purpose, replies in found.replies.items():
            era = STEPS[purpose].era
            legacy = era is Spoken.LEGACY and (purpose in BY_SSE) == (found.endpoint_event is not None)
            if (era is Spoken.MODERN and found.is_modern) or (legacy and found.initialized is not None):
                yield from ((purpose, reply) for reply in replies)

    def _of_era(self, era: Spoken, reply: Reply | None) -> Given[Reply]:
        if self.found is None:
            return Given(missing=self.open_question)
        spoken = self.found.is_modern if era is Spoken.MODERN else self.found.initialized is not None
        if not spoken:
            return Given(missing=self._unheard(era))
        return Given((reply,) if reply is not None else ())

    def _unheard(self, era: Spoken) -> str | None:
        """What kept the answer from being had by which it is told whether the endpoint found speaks an era."""
        found = self.found
        if found is None:
            return None
        if self.gate is not None and era is Spoken.LEGACY:
            return self.needs
        legacy = Purpose.INITIALIZE if found.endpoint_event is None else Purpose.SSE_INITIALIZE
        opening = found.reply(Purpose.DISCOVER if era is Spoken.MODERN else legacy)
        if opening is None:
            is_due = era is Spoken.LEGACY and found.messages_url is not None
            return f"{clean(found.url)}: initialize was not sent" if is_due else None
        return opening.untold

    @property
    def _is_by_sse(self) -> bool:
        """Whether the endpoint found speaks legacy revisions by HTTP+SSE, which has little to ask for."""
        return self.found is not None and self.found.endpoint_event is not None

    def _reply(self, purpose: Purpose) -> Given[Reply]:
        """A step's answer whatever the era; untested where none came, and not applicable where it was not asked."""
        if self.found is None:
            return Given(missing=self.open_question)
        reply = self.found.reply(purpose)
        if reply is None:
            return Given()
        return Given((reply,)) if reply.untold is None else Given(missing=reply.untold)

    def _step(self, purpose: Purpose) -> Given[Reply]:
        """A step's answer, if the server speaks the step's era, and by the transport of the step."""
        found = self.found
        era = STEPS[purpose].era
        if era is Spoken.LEGACY and self._is_by_sse:
            return Given()
        if found is not None and (
            (era is Spoken.MODERN and not found.is_modern) or (era is Spoken.LEGACY and found.initialized is None)
        ):
            return Given(missing=self._unheard(era))
        return self._reply(purpose)

    def _repeated(self, purpose: Purpose) -> Given[Reply]:
        """A step that repeats ``server/discover`` with a twist: it says something only where that one succeeded."""
        if self.found is not None and self.found.is_modern and self.found.discovered is None:
            return Given()
        return self._step(purpose)

    def _validated(self, purpose: Purpose) -> Given[Reply]:
        """A refusal of headers; one without JSON-RPC may be a gateway's, which owes none (Server Validation)."""
        given = self._repeated(purpose)
        for reply in given.values:
            if reply.message is None and reply.status is not None and 400 <= reply.status < 500:
                where = clean(reply.exchange.url)
                return Given(missing=f"{where}: answered {reply.status} without JSON-RPC, as a gateway before it may")
        return given

    def _stream(self, *, legacy: bool) -> Given[Talk]:
        found = self.found
        if found is None:
            return Given(missing=self.open_question)
        if found.endpoint_event is not None or legacy != (found.initialized is not None):
            return Given()
        reply = found.reply(Purpose.STREAM)
        if reply is None:
            return Given()
        failure = reply.exchange.failure
        if failure is not None and not (failure.code is FailureCode.TIMEOUT and self._is_quick()):
            return Given(missing=reply.untold)
        if failure is None and reply.untold is not None and reply.status != 401:
            return Given(missing=reply.untold)
        return Given((found,))

    def _is_quick(self) -> bool:
        """Whether POST was answered so fast that a GET without an answer is no slowness."""
        first = [reply.exchange for reply in self.found.first_replies[:2]] if self.found is not None else []
        return any(exchange.failure is None and exchange.duration_ms < 1000 for exchange in first)

    def _listings(self) -> Iterator[Listing]:
        found = self.found
        if found is None:
            return
        for purpose in LISTS:
            era = STEPS[purpose].era
            spoken = found.is_modern if era is Spoken.MODERN else found.initialized is not None
            if spoken and (listing := found.listing(purpose)) is not None:
                yield listing

    def _lists_missing(self) -> str | None:
        """Why not all of the lists could be read."""
        missing = next((missing for one in self._listings() if (missing := _untold(one)) is not None), None)
        return missing or self._unasked()

    def _unasked(self) -> str | None:
        """Why the tool list of the endpoint found was not asked for; None if it was, or its session forbids it."""
        found = self.found
        if found is None or self._tools() is not None or found.is_session_broken:
            return None
        if not found.is_modern and found.initialized is None:
            return self._unheard(Spoken.LEGACY)
        return f"{clean(found.url)}: tools/list was not sent"

    def _promised_missing(self) -> str | None:
        """Why a list that a capability promises was not read to its end."""
        given = self.declared()
        unread = (_untold(one.listing) for one in given.values if one.is_declared)
        return given.missing or next((missing for missing in unread if missing is not None), None)

    def _results(self) -> Iterator[Result]:
        found = self.found
        if found is None:
            return
        replies = [] if found.discovered is None else [("server/discover", found.discovered)]
        for purpose in LISTS[:4]:
            replies += [(STEPS[purpose].call, reply) for reply in found.replies.get(purpose, ())]
        for call, reply in replies:
            if reply.result is not None:
                yield Result(call=call, reply=reply, members=reply.result)

    def _tools(self) -> Listing | None:
        if self.found is None:
            return None
        legacy = Purpose.LEGACY_TOOLS if self.found.endpoint_event is None else Purpose.SSE_TOOLS
        return self.found.listing(Purpose.TOOLS if self.found.is_modern else legacy)

    def _entries_of(self, listing: Listing | None) -> Given[Entry]:
        if self.found is None:
            return Given(missing=self.open_question)
        if listing is None:
            return Given(missing=self._unasked())
        return Given(tuple(entries_of(listing)), _untold(listing))

    def _since(self, version: str) -> Given[Entry]:
        """The tools, if the version spoken is at least that one."""
        if self.found is not None and not is_since(self.found.version, version):
            return Given()
        return self._entries_of(self._tools())

    def _readings(self, era: Spoken, purposes: tuple[Purpose, ...]) -> Given[Readings]:
        found = self.found
        if found is None:
            return Given(missing=self.open_question)
        if era is Spoken.LEGACY and self._is_by_sse:
            return Given()
        if not (found.is_modern if era is Spoken.MODERN else found.initialized is not None):
            return Given(missing=self._unheard(era))
        lists = [listing for purpose in purposes if (listing := found.listing(purpose)) is not None]
        answered = [listing for listing in lists if listing.pages[0].result is not None]
        if len(answered) < 2:
            missing = (listing.missing for listing in lists if listing.pages[0].untold is not None)
            return Given(missing=next(missing, None))
        broken = next(
            (listing.missing or "the list runs in a circle" for listing in lists if not listing.is_whole), None
        )
        if broken is not None:
            return Given(missing=broken)
        return Given((Readings(endpoint=found.url, lists=tuple(lists)),))


def is_refused(reply: Reply) -> bool:
    """Whether an answer says that there is no such thing here: by an error, or by its status alone."""
    return reply.error is not None or (reply.message is None and (reply.status or 0) >= 400)


def _untold(listing: Listing) -> str | None:
    """What kept a list from being read to its end; None if nothing did, or the server refuses to give any of it."""
    is_none = len(listing.pages) == 1 and listing.pages[0].untold is None and is_refused(listing.pages[0])
    return None if is_none else listing.missing


def _era(reply: Reply) -> Spoken:
    return STEPS[Purpose(reply.exchange.purpose)].era


def _known(replies: list[Reply]) -> Given[Reply]:
    """All of them, and whether some could not be had."""
    return Given(tuple(replies), next((reply.untold for reply in replies if reply.untold is not None), None))


def entries_of(listing: Listing) -> Iterator[Entry]:
    """The entries of a list that are objects."""
    call = STEPS[listing.purpose].call
    for index, item in enumerate(listing.items):
        if isinstance(item, dict):
            yield Entry(call=call, position=index, members=item)


def is_since(version: str | None, first: str) -> bool:
    """Whether a version is at least ``first``; one that is no date is a draft of the modern era."""
    return version is not None and (version >= first or re.fullmatch(r"\d{4}-\d{2}-\d{2}", version) is None)


def is_gate(talk: Talk, chain: Chain) -> bool:
    """Whether a refusal says that something is behind it: where an endpoint is claimed, or by the words of MCP.

    A 401 or 403 at a place nobody spoke of is how many sites answer any POST, and with a bearer challenge, how many
    APIs do: that counts where the chain behind it leaves no doubt.
    """
    refusal = talk.refusal
    if refusal is None:
        return False
    if talk.candidate.claim is not None or refusal.named_by is not None:
        return True
    return chain.gate.endpoint == refusal.endpoint and chain.doubt is None


def is_rehearsal(talk: Talk, target: Target | None) -> bool:
    """Whether a card on somebody's own machine or network names a place elsewhere, where there is no endpoint (yet).

    So it is before a deployment, and no fault of what was audited.
    """
    if target is None or talk.candidate.claim is not Claim.CARD or talk.era is not None or talk.refusal is not None:
        return False
    address = target.url.address
    is_inside = target.url.is_loopback or (address is not None and address.is_private)
    return is_inside and Url.parse(talk.url).host != target.url.host


def is_dead(talk: Talk) -> bool:
    """Whether the answers to both eras, or that the place cannot be reached, show that no endpoint is there.

    Silence, walls and outages show nothing, and a place that this auditor may not visit even less.
    """
    if talk.era is not None or talk.refusal is not None or talk.wall is not None:
        return False
    failure = talk.silence.exchange.failure if talk.silence is not None else None
    if failure is None:
        return talk.unheard is None
    return failure.code not in (FailureCode.TIMEOUT, FailureCode.REFUSED) and not failure.code.is_ours
