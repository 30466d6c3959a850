"""The MCP endpoint: which places may be one, and what the recorded exchanges say of the one that was found.

The eras are those of MCP 2026-07-28, Versioning and Compatibility: *modern* revisions (2026-07-28 and later) carry
version, identity and capabilities in every request, *legacy* ones (to 2025-11-25) begin with ``initialize``.
"""

import re
import threading
from collections.abc import Mapping, Sequence
from enum import StrEnum
from functools import cached_property, lru_cache
from typing import Final, NamedTuple

from parley.documents import server_card
from parley.documents.bot_wall import bot_wall
from parley.documents.mcp_gate import NO_PLACE, Gate, Refusal, gate_of
from parley.documents.mcp_plan import MODERN_VERSION, PAGES, STEPS, TOOL_PAGES, Purpose
from parley.documents.mcp_reply import REDIRECTS, Heard, Reply, heard, read, read_beside
from parley.documents.server_card import discovery
from parley.evidence import Evidence, Exchange, FailureCode
from parley.target import Target
from parley.wire import sse
from parley.wire.media_type import EVENT_STREAM, essence
from parley.wire.text import clean
from parley.wire.url import Url, UrlError

_OF_CARDS: Final = frozenset(server_card.Purpose)

REMOTES: Final = 3
"""Remotes of Server Cards that are tried."""

HEADER_MISMATCH: Final = -32020
MISSING_CAPABILITY: Final = -32021
UNSUPPORTED_VERSION: Final = -32022
METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602

_DRAFT_UNSUPPORTED: Final = -32004

_OF_OTHERS: Final = (METHOD_NOT_FOUND, _DRAFT_UNSUPPORTED)
"""Codes that other protocols have too, whoever claims that an endpoint is there."""

DRAFT_CODES: Final = {
    -32001: HEADER_MISMATCH,
    -32003: MISSING_CAPABILITY,
    _DRAFT_UNSUPPORTED: UNSUPPORTED_VERSION,
}
"""What drafts of 2026-07-28 called the codes (its changelog)."""

SERVER_INFO: Final = "io.modelcontextprotocol/serverInfo"

_DOCUMENT_NAMES: Final = (
    "/server-card",
    "server-card.json",
    "agent-card.json",
    "agent.json",
    "ai-catalog.json",
    "/mcp.json",  # a manifest in dialects of its own, which no specification has
)
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_SHIFT: Final = str.maketrans("0123456789abcdef", "1234567890bcdefa")
_GREETINGS: Final = (
    Purpose.DISCOVER,
    Purpose.SUPPORTED,
    Purpose.INITIALIZE,
    Purpose.OLDER,
    Purpose.STREAM,
    Purpose.ENDPOINT_EVENT,
    Purpose.SSE_INITIALIZE,
)
_LISTINGS: Final = (
    Purpose.TOOLS,
    Purpose.PROMPTS,
    Purpose.RESOURCES,
    Purpose.LEGACY_TOOLS,
    Purpose.LEGACY_PROMPTS,
    Purpose.LEGACY_RESOURCES,
    Purpose.SSE_TOOLS,
)
"""Requests as any client makes them; those that are wrong on purpose are refused for that."""

_NOTIFICATIONS: Final = (Purpose.INITIALIZED, Purpose.NOTIFICATION, Purpose.SSE_INITIALIZED)

BY_SSE: Final = frozenset({Purpose.SSE_INITIALIZE, Purpose.SSE_INITIALIZED, Purpose.SSE_TOOLS})
"""What is POSTed where an HTTP+SSE server's stream says, and answered on that stream."""

_CUT_OFF: Final = (
    FailureCode.REFUSED,
    FailureCode.DNS,
    FailureCode.TIMEOUT,
    FailureCode.CONNECT,
    FailureCode.TLS,
    FailureCode.BUDGET,
)


class Era(StrEnum):
    """Which revisions a server speaks."""

    MODERN = "modern"
    LEGACY = "legacy"
    DUAL = "dual"


class Claim(StrEnum):
    """Who says that there is an MCP endpoint."""

    CARD = "a Server Card's remote"
    ASKED = "the URL given"


class Candidate(NamedTuple):
    """A place that may be an MCP endpoint.

    ``claim`` tells who says so, None for a guess. ``is_target`` tells that it is the URL given.
    """

    url: str
    claim: Claim | None
    is_target: bool = False


def candidates(target: Target, exchanges: Sequence[Exchange]) -> list[Candidate]:
    """Where to look, in order: the path given, the cards' remotes, ``/mcp`` and ``/``.

    Templated remotes and those without an http(s) URL are no places; the target's own origin comes first.
    """
    found: dict[str, Candidate] = {}
    if target.url.path != "/" and not target.url.path.endswith(_DOCUMENT_NAMES):
        claim = Claim.ASKED if _is_like_mcp(target.url.path) else None
        found[str(target.url)] = Candidate(url=str(target.url), claim=claim)
    cards = tuple(exchange for exchange in exchanges if exchange.purpose in _OF_CARDS)
    remotes = sorted(_remotes(cards), key=lambda remote: not remote.url.startswith(f"{target.origin}/"))
    for remote in remotes[:REMOTES]:
        found[remote.url] = remote
    for path in ("/mcp", "/"):
        guess = str(target.url.at(path))
        found.setdefault(guess, Candidate(url=guess, claim=None))
    return [one._replace(is_target=one.url == str(target.url)) for one in found.values()]


def _is_like_mcp(path: str) -> bool:
    return any("mcp" in segment.lower() or segment.lower() == "sse" for segment in path.split("/"))


def wants_authorization(evidence: Evidence, url: str) -> bool:
    """Whether a Server Card says that the remote at ``url`` needs an Authorization header."""
    for document in discovery(evidence).documents:
        match document.members:
            case {"remotes": list(remotes)}:
                for remote in remotes:
                    match remote:
                        case {"url": str(written), "headers": list(headers)} if written == url:
                            names = (
                                one.get("name") for one in headers if isinstance(one, dict) and one.get("isRequired")
                            )
                            return any(isinstance(name, str) and name.lower() == "authorization" for name in names)
    return False


@lru_cache(maxsize=4)
def _remotes(cards: tuple[Exchange, ...]) -> tuple[Candidate, ...]:
    """The places that Server Cards name. Kept for a while: a card may name thousands, and several rules ask."""
    found: list[Candidate] = []
    seen = Evidence(asked="", target=None, refusal=None, started_at="", duration_ms=0, exchanges=cards)
    for document in discovery(seen).documents:
        match document.members:
            case {"remotes": list(remotes)}:
                for remote in remotes:
                    match remote:
                        case {"type": "streamable-http" | "sse", "url": str(url)} if "{" not in url:
                            try:
                                parsed = Url.parse(url)
                            except UrlError:
                                continue
                            found.append(Candidate(url=str(parsed), claim=Claim.CARD))
    return tuple(found)


class Listing(NamedTuple):
    """One reading of a list over its pages.

    ``items`` are the entries of all pages that came. ``missing`` says why the list is not whole, None if it is;
    ``loop`` is the cursor that led round in a circle.
    """

    purpose: Purpose
    pages: tuple[Reply, ...]
    items: tuple[object, ...]
    missing: str | None
    loop: str | None = None

    @property
    def is_whole(self) -> bool:
        """Whether all of it was read."""
        return self.missing is None and self.loop is None

    @property
    def is_paged(self) -> bool:
        """Whether there was a cursor."""
        return len(self.pages) > 1 or self.loop is not None or next_cursor(self.pages[-1]) is not None


MEMBERS: Final = {
    "tools/list": "tools",
    "prompts/list": "prompts",
    "resources/list": "resources",
    "resources/templates/list": "resourceTemplates",
}
"""Where a list's entries stand in its result."""

CAPABILITIES: Final = {
    "tools/list": "tools",
    "prompts/list": "prompts",
    "resources/list": "resources",
    "resources/templates/list": "resources",
}
"""The capability that promises a list."""


def next_cursor(page: Reply) -> str | None:
    """The cursor of the page behind this one. The empty text is one too (2026-07-28, Pagination)."""
    cursor = page.result.get("nextCursor") if page.result is not None else None
    return cursor if isinstance(cursor, str) else None


def page_budget(purpose: Purpose) -> int:
    """How many pages of a list are walked."""
    return TOOL_PAGES if STEPS[purpose].call == "tools/list" else PAGES


def follows(pages: Sequence[Reply]) -> str | None:
    """The cursor to go on with, if there is one that was not seen before, and the page budget is not spent."""
    cursor = next_cursor(pages[-1])
    walked = {next_cursor(page) for page in pages[:-1]}
    is_repeated = len(pages) > 1 and _entries(pages[-1]) == _entries(pages[-2]) != []
    budget = page_budget(Purpose(pages[0].exchange.purpose))
    return cursor if cursor not in walked and not is_repeated and len(pages) < budget else None


def _entries(page: Reply) -> list[object]:
    member = MEMBERS[STEPS[Purpose(page.exchange.purpose)].call]
    entries = page.result.get(member) if page.result is not None else None
    return entries if isinstance(entries, list) else []


def _listing(purpose: Purpose, pages: tuple[Reply, ...]) -> Listing:
    last = pages[-1]
    cursor = next_cursor(last)
    loop = missing = None
    if last.result is None:
        missing = last.untold or f"{clean(last.exchange.url)}: {STEPS[purpose].call} was answered {last.told}"
    elif cursor is not None:
        if cursor in {next_cursor(page) for page in pages[:-1]} or (
            len(pages) > 1 and _entries(last) == _entries(pages[-2]) != []
        ):
            loop = cursor
        else:
            missing = f"{STEPS[purpose].call} has more pages than the {len(pages)} that were read"
    items = tuple(item for page in pages for item in _entries(page))
    return Listing(purpose=purpose, pages=pages, items=items, missing=missing, loop=loop)


class Talk:
    """All that was said with one candidate. ``known`` keeps what was read, by the exchange's identity."""

    def __init__(
        self, *, candidate: Candidate, exchanges: tuple[Exchange, ...], known: dict[int, Reply] | None = None
    ) -> None:
        self.candidate = candidate
        self.exchanges = exchanges
        self.known: Final = {} if known is None else known

    @property
    def url(self) -> str:
        """The endpoint."""
        return self.candidate.url

    @cached_property
    def replies(self) -> dict[Purpose, tuple[Reply, ...]]:
        """What was answered, by the plan's steps and in the order asked."""
        found: dict[Purpose, list[Reply]] = {}
        for exchange in self.exchanges:
            purpose = Purpose(exchange.purpose)
            said = found.setdefault(purpose, [])
            if id(exchange) not in self.known:
                self.known[id(exchange)] = self._read(exchange, purpose, len(said))
            said.append(self.known[id(exchange)])
        return {purpose: tuple(said) for purpose, said in found.items()}

    def _read(self, exchange: Exchange, purpose: Purpose, index: int) -> Reply:
        if purpose is Purpose.ENDPOINT_EVENT:
            return Reply(exchange=exchange, message=None, reason="it is the stream of other requests' answers")
        if exchange.method != "POST" or purpose in _NOTIFICATIONS:
            return read(exchange, None)
        request_id = STEPS[purpose].request_id(index)
        return read_beside(exchange, self._heard, request_id) if purpose in BY_SSE else read(exchange, request_id)

    @cached_property
    def _heard(self) -> Heard:
        """What the stream of an HTTP+SSE server brought."""
        return heard(next((one for one in self.exchanges if one.purpose == Purpose.ENDPOINT_EVENT), None))

    def reply(self, purpose: Purpose) -> Reply | None:
        """The one answer of a step that is asked once; None if it was not asked."""
        said = self.replies.get(purpose)
        return said[0] if said else None

    def listing(self, purpose: Purpose) -> Listing | None:
        """One reading of a list; None if it was not begun."""
        pages = self.replies.get(purpose)
        return _listing(purpose, pages) if pages else None

    # The modern era.

    @cached_property
    def discovered(self) -> Reply | None:
        """The answer that holds a DiscoverResult, well-formed or not."""
        for purpose in (Purpose.SUPPORTED, Purpose.DISCOVER):
            reply = self.reply(purpose)
            if reply is None or reply.result is None or not _is_discover_result(reply.result) or self._is_of_others:
                continue
            if self.initialized is None or not _is_for_any_method(reply.result):
                return reply
        return None

    @cached_property
    def modern_error(self) -> Reply | None:
        """The answer to ``server/discover`` that is an error only a modern server gives."""
        reply = self.reply(Purpose.DISCOVER)
        return reply if reply is not None and is_modern_error(reply) else None

    @cached_property
    def is_modern(self) -> bool:
        """A DiscoverResult, or a recognised error of a modern server.

        Where ``initialize`` works, such an error may be a legacy server's words, and where its code is others' too,
        those of any JSON-RPC server: there they count only if another answer was a modern server's.
        """
        if self.discovered is not None:
            return True
        if self.modern_error is None:
            return False
        if self.initialized is None and not self.is_doubtful:
            return True
        tools = self.reply(Purpose.TOOLS)
        if tools is None:
            return False
        if tools.result is not None:
            return "resultType" in tools.result
        is_claimed = self.candidate.claim is not None and self.initialized is None
        return is_claimed and is_modern_error(tools) and tools.code not in _OF_OTHERS

    @property
    def is_doubtful(self) -> bool:
        """Whether all that speaks for a modern server is an error whose code others use too.

        At a place that is a guess, that is any code: JSON-RPC's own, and those that anybody may have chosen. -32601 is
        JSON-RPC's word for any method anywhere, and -32004 one of other protocols (A2A's UnsupportedOperationError,
        Ethereum's). What MCP has such an error carry beside its code settles it.
        """
        refused = self.modern_error
        if refused is None or self.discovered is not None or _has_modern_data(refused):
            return False
        return self.candidate.claim is None or refused.code in _OF_OTHERS

    @property
    def _is_of_others(self) -> bool:
        """Whether what looks like a result is what a place that nobody claims to be an endpoint says to anything."""
        asked = (Purpose.DISCOVER, Purpose.INITIALIZE, Purpose.SUPPORTED, Purpose.OLDER, Purpose.SSE_INITIALIZE)
        replies = [reply for purpose in asked for reply in self.replies.get(purpose, ())]
        return self.candidate.claim is None and not any(reply.is_ours for reply in replies)

    @cached_property
    def supported(self) -> tuple[str, ...]:
        """The versions that the server says it supports: by its DiscoverResult, or by its refusal of ours."""
        if self.discovered is not None and self.discovered.result is not None:
            listed = self.discovered.result.get("supportedVersions")
        else:
            listed = supported_by(self.modern_error)
        return tuple(item for item in listed if isinstance(item, str)) if isinstance(listed, list) else ()

    @cached_property
    def modern_version(self) -> str:
        """The version that modern requests are made in."""
        refused = self.modern_error
        if refused is None or refused.code not in (UNSUPPORTED_VERSION, _DRAFT_UNSUPPORTED):
            return MODERN_VERSION
        listed = supported_by(refused)
        return best_version([one for one in listed if isinstance(one, str)] if isinstance(listed, list) else [])

    # The legacy era.

    @cached_property
    def initialized(self) -> Reply | None:
        """The answer that holds an InitializeResult, well-formed or not."""
        for purpose in (Purpose.INITIALIZE, Purpose.OLDER, Purpose.SSE_INITIALIZE):
            reply = self.reply(purpose)
            if reply is not None and reply.result is not None and _is_initialize_result(reply.result):
                return None if self._is_of_others else reply
        return None

    @cached_property
    def legacy_version(self) -> str | None:
        """The version that ``initialize`` settled on."""
        result = self.initialized.result if self.initialized is not None else None
        version = result.get("protocolVersion") if result is not None else None
        return version if isinstance(version, str) else None

    @cached_property
    def session(self) -> str | None:
        """The session id that a successful ``initialize`` issued; those minted on other answers are nobody's."""
        return session_of(self.initialized) if self.initialized is not None else None

    @property
    def is_session_broken(self) -> bool:
        """Whether the session's id is one that cannot be sent back, so that nothing can be asked in the session."""
        issued = self.initialized.exchange.header("mcp-session-id") if self.initialized is not None else None
        return issued is not None and self.session is None

    @cached_property
    def endpoint_event(self) -> str | None:
        """Where an HTTP+SSE server (2024-11-05) says that messages go."""
        reply = self.reply(Purpose.ENDPOINT_EVENT)
        if reply is None or reply.exchange.status != 200:
            return None
        first = next(iter(sse.events(reply.exchange.body)), None)
        return None if first is None else _endpoint(first)

    @property
    def messages_url(self) -> str | None:
        """Where an HTTP+SSE server takes messages; None for a place that clients do not go to."""
        return None if self.endpoint_event is None else _joined(self.url, self.endpoint_event)

    @property
    def messages_fault(self) -> str | None:
        """Why clients do not go where an HTTP+SSE server takes messages, as the end of a sentence; None if they do."""
        try:
            return None if self.endpoint_event is None else _messages_at(self.url, self.endpoint_event)[1]
        except UrlError as error:
            return str(error)

    # Both.

    @property
    def era(self) -> Era | None:
        """Which era answered."""
        legacy = self.initialized is not None or self.endpoint_event is not None
        if self.is_modern:
            return Era.DUAL if legacy else Era.MODERN
        return Era.LEGACY if legacy else None

    @property
    def version(self) -> str | None:
        """The version settled on, of the newest era spoken."""
        if self.is_modern:
            return self.modern_version
        return self.legacy_version or ("2024-11-05" if self.endpoint_event is not None else None)

    @property
    def capabilities(self) -> Mapping[str, object]:
        """What a modern server declares."""
        return _object(self.discovered.result if self.discovered is not None else None, "capabilities")

    @property
    def legacy_capabilities(self) -> Mapping[str, object]:
        """What ``initialize`` declares."""
        return _object(self.initialized.result if self.initialized is not None else None, "capabilities")

    @property
    def server_info(self) -> Mapping[str, object]:
        """Name and version, as the server gives them in its newest era."""
        for reply in (self.discovered, self.reply(Purpose.TOOLS)):
            result = reply.result if reply is not None else None
            info = _object(_object(result, "_meta"), SERVER_INFO) or _object(result, "serverInfo")
            if info:
                return info
        return _object(self.initialized.result if self.initialized is not None else None, "serverInfo")

    @property
    def first_replies(self) -> tuple[Reply, ...]:
        """The answers by which the era is told."""
        found = (self.reply(purpose) for purpose in (Purpose.DISCOVER, Purpose.INITIALIZE, Purpose.STREAM))
        return tuple(reply for reply in found if reply is not None)

    @property
    def openings(self) -> tuple[Reply, ...]:
        """The answers to the two eras' first POST, by which it is told what stands there.

        GET says nothing of that: what answers it may stand before the server. It counts where nothing else was asked.
        """
        posted = tuple(reply for reply in self.first_replies if reply.exchange.method == "POST")
        return posted or self.first_replies

    @cached_property
    def gate(self) -> Gate | None:
        """What asks for authorization; None if nothing does, or anybody may read the lists.

        Who lets anybody shake hands may still gate what comes behind it; who refuses one of the greetings only does
        not know that one.
        """
        lists = [reply for purpose in _LISTINGS for reply in self.replies.get(purpose, ())]
        if any(reply.result is not None for reply in lists):
            return None
        greetings = [reply for purpose in _GREETINGS for reply in self.replies.get(purpose, ())]
        gate = gate_of(
            self.url,
            lists if self.is_spoken else greetings + lists,
            is_carded=self.candidate.claim is Claim.CARD,
            is_target=self.candidate.is_target,
            is_spoken=self.is_spoken or self.endpoint_event is not None,
        )
        return None if gate is None else gate._replace(revision=self._revision)

    @property
    def is_spoken(self) -> bool:
        """Whether a greeting was answered by what only an MCP server says, and no error."""
        return self.discovered is not None or self.initialized is not None

    @property
    def refusal(self) -> Gate | None:
        """The gate that hides whether any era is spoken; a bot wall is none."""
        gate = None if self.is_spoken or self.endpoint_event is not None else self.gate
        return None if gate is None or gate.refusal is Refusal.WALL else gate

    @property
    def messages_gate(self) -> Gate | None:
        """The gate before the place where an HTTP+SSE server takes messages, whose stream is open; a wall is none."""
        gate = self.gate if self.endpoint_event is not None and not self.is_spoken else None
        return None if gate is None or gate.refusal is Refusal.WALL else gate

    @property
    def _revision(self) -> str | None:
        spoken = [*self.supported] if self.discovered is not None else []
        return max([*spoken, *([self.legacy_version] if self.legacy_version else [])], default=None)

    @property
    def is_end(self) -> bool:
        """Whether the search ends here: at an era's answers, or at a gate where an endpoint is claimed to be."""
        return self.era is not None or (self.refusal is not None and self.candidate.claim is not None)

    @property
    def is_answered(self) -> bool:
        """Whether an opening was answered in JSON-RPC, or by a gate: something of the kind is here."""
        return self.gate is not None or any(reply.message is not None for reply in self.first_replies)

    @property
    def redirect(self) -> str | None:
        """Where a POST is redirected to, as the answer writes it."""
        for reply in self.first_replies[:2]:
            if reply.status in REDIRECTS and reply.exchange.failure is None:
                return reply.exchange.header("location")
        return None

    @property
    def moved(self) -> str | None:
        """Where a redirect of a POST leads within the same site, which may be the endpoint meant."""
        if self.redirect is None:
            return None
        base = Url.parse(self.url)
        try:
            to = base.join(self.redirect)
        except UrlError:
            return None
        is_upgrade = (base.scheme, base.port, to.scheme, to.port) == ("http", 80, "https", 443)
        is_same_site = to.host == base.host and (to.origin == base.origin or is_upgrade)
        is_near = to.path.rstrip("/") == base.path.rstrip("/") or _is_like_mcp(to.path)
        return str(to) if is_same_site and is_near and str(to) != self.url else None

    @property
    def may_be_sse(self) -> bool:
        """Whether both eras failed as an HTTP+SSE server fails them, and GET gives an event stream."""
        stream = self.reply(Purpose.STREAM)
        failed = [self.reply(Purpose.DISCOVER), self.reply(Purpose.INITIALIZE)]
        return (
            self.era is None
            and stream is not None
            and stream.status == 200
            and essence(stream.exchange.header("content-type")) == EVENT_STREAM
            and all(reply is None or reply.status in NO_PLACE for reply in failed)
        )

    @property
    def wall(self) -> str | None:
        """The bot wall that stands before both eras."""
        walls = [bot_wall(reply.exchange) for reply in self.openings]
        return walls[0] if walls and all(walls) else None

    @property
    def silence(self) -> Reply | None:
        """The answer that never came, where neither era's came."""
        failed = [reply for reply in self.openings if reply.exchange.failure is not None]
        return failed[0] if failed and len(failed) == len(self.openings) else None

    @property
    def unheard(self) -> Reply | None:
        """An opening whose own answer could not be had, so that an era may be there that was not seen."""
        stream = self.reply(Purpose.ENDPOINT_EVENT)
        failure = stream.exchange.failure if stream is not None and self.endpoint_event is None else None
        if failure is not None and failure.code is not FailureCode.TIMEOUT:  # a stream that is silent is none of MCP's
            return stream
        return next((reply for reply in self.openings if reply.untold is not None), None)

    @property
    def is_cut_off(self) -> bool:
        """Whether the host cannot be reached, or not any more: it would be so at every other of its paths."""
        if any(reply.exchange.failure is None for reply in self.first_replies):
            return False
        failure = self.silence.exchange.failure if self.silence is not None else None
        return failure is not None and failure.code in _CUT_OFF


class _Judging(threading.local):
    """The evidence that this thread judges, and its talks: all auditors ask for them."""

    evidence: Evidence | None = None
    talks: Sequence[Talk] = ()


_JUDGING: Final = _Judging()


def talks(evidence: Evidence) -> Sequence[Talk]:
    """What was said with each candidate, in the order in which they were tried.

    Kept until other evidence is asked about, or :func:`forget` lets go of it.
    """
    if _JUDGING.evidence is not evidence:
        _JUDGING.talks = () if evidence.target is None else tuple(_talks(evidence.exchanges, evidence.target))
        _JUDGING.evidence = evidence
    return _JUDGING.talks


def forget() -> None:
    """Let go of the evidence that was judged in this thread, and of what was read."""
    _JUDGING.evidence, _JUDGING.talks = None, ()
    _remotes.cache_clear()


def _talks(asked: Sequence[Exchange], target: Target) -> list[Talk]:
    said: dict[str, list[Exchange]] = {}
    by_stream: list[Exchange] = []
    for exchange in asked:
        if exchange.purpose in BY_SSE:  # POSTed where the stream before it said
            by_stream.append(exchange)
        elif exchange.purpose in STEPS:
            talk = said.setdefault(exchange.url, [])
            talk.append(exchange)
            if exchange.purpose == Purpose.ENDPOINT_EVENT:
                by_stream = talk
    known = {one.url: one for one in candidates(target, asked)}
    found: list[Talk] = []
    for url, exchanges in said.items():
        candidate = known.get(url, Candidate(url=url, claim=None))
        source = next((talk for talk in found if talk.moved == url), None)
        if source is not None:
            candidate = led_to(candidate, source)
        found.append(Talk(candidate=candidate, exchanges=tuple(exchanges)))
    return found


def led_to(candidate: Candidate, source: Talk) -> Candidate:
    """A place that another redirects to: who says that an endpoint is there says so of it, too."""
    return candidate._replace(claim=candidate.claim or source.candidate.claim)


def reached(spoken: Sequence[Talk]) -> Talk | None:
    """Where the search for an endpoint ended; None if it found none."""
    return next((talk for talk in spoken if talk.is_end), None)


def gate(evidence: Evidence) -> Gate | None:
    """The gate of an audit's MCP endpoint; None if nothing asks for authorization, or an endpoint is open."""
    return _gate(talks(evidence))


def gate_among(exchanges: Sequence[Exchange], target: Target) -> Gate | None:
    """As :func:`gate`, while an audit is still under way."""
    return _gate(_talks(exchanges, target))


def _gate(spoken: Sequence[Talk]) -> Gate | None:
    end = reached(spoken)
    gates = [talk.gate for talk in (spoken if end is None else [end]) if talk.gate is not None]
    best = min(gates, key=lambda one: one.preference, default=None)
    if best is None:
        return None
    near = {talk.url for talk in spoken if talk.url.startswith(f"{best.endpoint.origin}/")}
    refused = {talk.url for talk in spoken if talk.gate is not None}
    return best._replace(is_everywhere=len(near) > 1 and refused >= near)


def unseen(evidence: Evidence) -> str | None:
    """What kept an endpoint's answers from being had, so that it stays open whether it is gated; None if nothing did.

    Asked where there is no gate.
    """
    spoken = talks(evidence)
    if any(talk.is_spoken for talk in spoken):
        return None
    for talk in spoken:
        posted = [reply for replies in talk.replies.values() for reply in replies if reply.exchange.method == "POST"]
        untold = [reply.untold for reply in posted if _is_open_question(reply)]
        if posted and len(untold) == len(posted):
            return untold[0]
    return None


def _is_open_question(reply: Reply) -> bool:
    failure = reply.exchange.failure
    return reply.untold is not None and (failure is None or failure.code is FailureCode.TIMEOUT or failure.code.is_ours)


def messages_url(url: str, event: sse.Event) -> str | None:
    """Where the first event of an HTTP+SSE server at ``url`` says that messages go; None if clients do not go there.

    The official clients refuse another origin, since whoever writes the event would have them send anything anywhere.
    """
    written = _endpoint(event)
    return None if written is None else _joined(url, written)


def _endpoint(event: sse.Event) -> str | None:
    return event.data.decode("utf-8", "replace") if event.name == "endpoint" and event.ended else None


def _joined(url: str, written: str) -> str | None:
    try:
        to, fault = _messages_at(url, written)
    except UrlError:
        return None
    return None if fault else to


def _messages_at(url: str, written: str) -> tuple[str, str | None]:
    """What an endpoint event says, as a URL, and what keeps clients from it, if anything; raises UrlError."""
    base = Url.parse(url)
    to = base.join(written.strip())
    return str(to), None if to.origin == base.origin else "is not at its own origin"


def is_modern_error(reply: Reply) -> bool:
    """Whether an answer to ``server/discover`` is an error that only a modern server gives.

    -32001 is not among them although a draft used it: legacy servers say it of sessions. A bare -32602 is what the
    Python SDK of the legacy era says of any method it does not know.
    """
    match reply.code, reply.status:
        case ((-32020 | -32021 | -32022 | -32004), _):
            return True
        case -32601, 404:
            return True
        case -32602, 400:
            text = clean((reply.error or {}).get("message"), 2000) + clean((reply.error or {}).get("data"), 2000)
            return re.search(r"_meta|clientCapabilities|io\.modelcontextprotocol", text) is not None
    return False


def supported_by(refusal: Reply | None) -> object:
    """What a refusal of a version lists as supported."""
    match refusal.error if refusal is not None else None:
        case {"data": {"supported": supported}}:
            return supported
    return None


def best_version(supported: Sequence[str]) -> str:
    """The version to go on with: the latest of the modern ones, which are dates, else what stands first."""
    modern = [one for one in supported if _DATE.fullmatch(one) and one >= MODERN_VERSION]
    odd = [one for one in supported if not _DATE.fullmatch(one) and re.fullmatch(r"[\x21-\x7e]{1,64}", one)]
    return max(modern) if modern else next(iter(odd), MODERN_VERSION)


def other_slash(url: str) -> str:
    """The same URL with a slash at its path's end, or without the one it has."""
    parsed = Url.parse(url)
    path = parsed.path.removesuffix("/") if parsed.path.endswith("/") else f"{parsed.path}/"
    return str(parsed.at(path or "/"))


def session_of(reply: Reply) -> str | None:
    """The session id in an answer's headers, if it can be sent back."""
    value = reply.exchange.header("mcp-session-id")
    return value if value and re.fullmatch(r"[\x21-\x7e]{1,1024}", value) else None


def other_session(session: str) -> str:
    """A session id of the same form that was never issued, the same for the same one."""
    shifted = session.translate(_SHIFT)
    return shifted if shifted != session else f"{session}0"


def _is_discover_result(result: Mapping[str, object]) -> bool:
    return "supportedVersions" in result or (
        "capabilities" in result and bool({"resultType", "ttlMs", "cacheScope", "serverInfo", "_meta"} & result.keys())
    )


def _is_for_any_method(result: Mapping[str, object]) -> bool:
    """Whether it is an InitializeResult, as some legacy servers give it whatever is asked."""
    return "protocolVersion" in result and not {"supportedVersions", "resultType"} & result.keys()


def _has_modern_data(refusal: Reply) -> bool:
    """Whether an error carries what MCP 2026-07-28 has it carry: the versions supported, or what is required."""
    match refusal.error:
        case {"data": {"supported": list()}} | {"data": {"requiredCapabilities": dict()}}:
            return True
    return False


def _is_initialize_result(result: Mapping[str, object]) -> bool:
    return len({"protocolVersion", "capabilities", "serverInfo"} & result.keys()) >= 2 or (
        "protocolVersion" in result and isinstance(result["protocolVersion"], str)
    )


def _object(value: Mapping[str, object] | None, name: str) -> Mapping[str, object]:
    found = value.get(name) if value is not None else None
    return found if isinstance(found, dict) else {}
