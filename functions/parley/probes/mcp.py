"""Talks to MCP endpoints by the probe plan: both eras side by side, then what the plan has for those that answered."""

import json
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Final

from parley import __version__
from parley.documents.mcp import (
    METHOD_NOT_FOUND,
    Candidate,
    Talk,
    candidates,
    follows,
    led_to,
    other_session,
    other_slash,
    page_budget,
    session_of,
)
from parley.documents.mcp_gate import Refusal, refusal_of
from parley.documents.mcp_plan import (
    FOREIGN_ORIGIN,
    FUTURE_VERSION,
    LEGACY_VERSION,
    MODERN_VERSION,
    NO_CURSOR,
    NO_SESSION,
    NO_VERSION,
    OLD_VERSION,
    PLAN,
    REQUESTS,
    STEPS,
    Purpose,
    Spoken,
)
from parley.documents.mcp_reply import Reply, awaited
from parley.evidence import Exchange, FailureCode, Request
from parley.probes import Fetch
from parley.probes.http_sse import converse
from parley.target import Target
from parley.wire.media_type import EVENT_STREAM, JSON
from parley.wire.url import Url

AT_ONCE: Final = 4
"""Requests under way at one time; the client holds the same for connections to one host."""

FORETASTE: Final = 6
"""Steps that the likeliest guess is asked while the Server Cards are looked for, which leaves three connections idle.

They are lost where a card names another place; as a fixed number, they are so on every audit of the same site alike.
"""

STREAM_SECONDS: Final = 2.5
"""Patience with a stream that need not say anything. Less than it takes for the client to call a host mute."""

_AFTERWARDS: Final = (Purpose.NO_CURSOR, Purpose.TOOLS_THIRD, Purpose.TOOLS_FOURTH)
"""Steps that depend on what the lists held."""

_WALKED: Final = frozenset(
    {
        Purpose.TOOLS,
        Purpose.TOOLS_AGAIN,
        Purpose.TOOLS_THIRD,
        Purpose.TOOLS_FOURTH,
        Purpose.PROMPTS,
        Purpose.RESOURCES,
        Purpose.TEMPLATES,
        Purpose.LEGACY_TOOLS,
        Purpose.LEGACY_TOOLS_AGAIN,
        Purpose.LEGACY_PROMPTS,
        Purpose.LEGACY_RESOURCES,
        Purpose.LEGACY_TEMPLATES,
    }
)
"""Lists, which are read page by page; what else calls a list's method only looks at how it is answered."""

_LATE: Final = (Purpose.LEGACY_NO_SESSION, Purpose.LEGACY_WITHOUT_SESSION)
"""Legacy steps about sessions that are none, which may be under way while the session is ended."""

_OUTSIDE: Final = (Purpose.LEGACY_FUTURE, *_LATE)
"""Legacy steps that are not made in the session, and need not wait for it."""

_CLIENT: Final = {"name": "parley", "version": __version__}
_META: Final = "io.modelcontextprotocol"
_ACCEPT: Final = f"{JSON}, {EVENT_STREAM}"


def gather(
    target: Target,
    fetch: Fetch,
    cards: Callable[[], Sequence[Exchange]],
    agents: Callable[[], Sequence[Exchange]] = tuple,
) -> list[Exchange]:
    """Try the candidates in turn until one is found, and ask it what the plan has; the value is all that was said.

    ``cards`` waits for the exchanges of the Server Card probe, whose remotes are candidates. Meanwhile the path given,
    which comes before them, is tried, or else the likeliest guess is greeted and, if it speaks MCP, asked a little.
    ``agents`` waits for those of the A2A probe: what is left of the audit's requests is for further pages of lists.
    """
    said: list[Exchange] = []
    tried: list[Talk] = []

    def others() -> int:
        """Requests that are not those of the candidate being asked."""
        aside = greeted.exchanges if probe is not greeted and first.url not in _urls(tried) else ()
        elsewhere = [*cards(), *agents(), *said, *aside]
        return sum(1 + len(one.redirects) for one in elsewhere)

    first = candidates(target, ())[0]
    is_given = first.url == str(target.url)
    with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="mcp") as pool:
        probe = greeted = _Probe(first, fetch, pool)
        begun = {first.url: greeted}
        if _is_mcp(greeted.greet()) and not is_given:
            greeted.taste(FORETASTE)
        if is_given and first.claim is None and not greeted.talk.is_end:  # a card may say what is there
            first = next(one for one in candidates(target, cards()) if one.url == first.url)
        waiting = [first] if is_given else candidates(target, cards())
        while waiting:
            candidate = waiting.pop(0)
            probe = begun.get(candidate.url) or _Probe(candidate, fetch, pool)
            probe.candidate = candidate
            talk = probe.talk if probe is greeted else probe.greet()
            if talk.may_be_sse:
                talk = probe.talk_by_sse()
            if talk.is_doubtful and talk.initialized is None:
                talk = probe.ask(Purpose.TOOLS)
            if _is_mcp(talk):
                probe.talk_on(others)
                talk = probe.talk
            else:
                probe.part()
            said.extend(probe.exchanges)
            tried.append(talk)
            if talk.is_end:
                break
            if talk.moved is not None and talk.url not in [one.moved for one in tried]:  # one step, and no chain
                to = Candidate(url=talk.moved, claim=None, is_target=talk.moved == str(target.url))
                waiting.insert(0, led_to(next((one for one in waiting if one.url == to.url), to), talk))
            if not waiting and is_given:
                is_given = False
                waiting = candidates(target, cards())
                other = _other_slash(talk)
                if other is not None and other.url not in [*_urls(tried), *(one.url for one in waiting)]:
                    probe = _Probe(other, fetch, pool)
                    if probe.ask(Purpose.INITIALIZE).is_answered:
                        waiting.insert(0, other)
                        begun[other.url] = probe
                    else:
                        said.extend(probe.exchanges)
            waiting = [one for one in waiting if one.url not in _urls(tried) and not _is_away(one.url, tried)]
        else:
            sse = Candidate(url=str(target.url.at("/sse")), claim=None)
            if not _is_away(sse.url, tried) and all(one.url != sse.url and not _is_closed(one) for one in tried):
                probe = _Probe(sse, fetch, pool)
                if probe.ask(Purpose.STREAM).may_be_sse:
                    probe.talk_by_sse()
                said.extend(probe.exchanges)
        if first.url not in _urls(tried):
            if _is_mcp(greeted.talk) and not any(one.is_end for one in tried):
                probe = greeted
                greeted.talk_on(others)  # its host fell silent: what is left is asked in vain, and told so
            else:
                greeted.part()
            said.extend(greeted.exchanges)
    return said


def _other_slash(talk: Talk) -> Candidate | None:
    """The URL given with a slash at its end, or without, where an endpoint is claimed and nothing is found."""
    if not talk.candidate.is_target or talk.candidate.claim is None or talk.is_end:
        return None
    if not all(reply.status in (404, 405) for reply in talk.openings):
        return None
    return Candidate(url=other_slash(talk.url), claim=None)


def _is_mcp(talk: Talk) -> bool:
    """Whether there is more to say by Streamable HTTP."""
    return talk.endpoint_event is None and (talk.initialized is not None or talk.is_modern)


def _is_closed(talk: Talk) -> bool:
    """Whether credentials are asked for, as they would be at the site's other places; a login may be of this page."""
    return talk.refusal is not None and talk.refusal.refusal is not Refusal.LOGIN


def _urls(talks: Sequence[Talk]) -> list[str]:
    return [talk.url for talk in talks]


def _is_away(url: str, tried: Sequence[Talk]) -> bool:
    """Whether it is known by what was tried that a place cannot be reached: its port by another of the same, or all."""
    there = Url.parse(url)
    for talk in tried:
        failure = talk.silence.exchange.failure if talk.is_cut_off and talk.silence is not None else None
        if failure is None:
            continue
        tried_at = Url.parse(talk.url)
        is_of_port = failure.code in (FailureCode.CONNECT, FailureCode.TLS, FailureCode.REFUSED)
        if tried_at.origin == there.origin if is_of_port else tried_at.host == there.host:
            return True
    return False


class _Probe:
    """What is asked of one candidate."""

    def __init__(self, candidate: Candidate, fetch: Fetch, pool: ThreadPoolExecutor) -> None:
        self.candidate = candidate
        self._fetch = fetch
        self._pool = pool
        self._version = ""
        self._session: str | None = None
        self._legacy_version: str | None = None
        self._known: dict[int, Reply] = {}
        self.exchanges: list[Exchange] = []

    @property
    def talk(self) -> Talk:
        """All that was said so far."""
        return Talk(candidate=self.candidate, exchanges=tuple(self.exchanges), known=self._known)

    def greet(self) -> Talk:
        """Both eras at once, and GET; then again as they may ask to be greeted."""
        asked = self.talk.replies
        self._side_by_side(*(one for one in (Purpose.DISCOVER, Purpose.INITIALIZE, Purpose.STREAM) if one not in asked))
        talk = self.talk
        again = []
        if talk.discovered is None and talk.modern_version != MODERN_VERSION:
            self._version = talk.modern_version
            again.append(Purpose.SUPPORTED)
        if talk.initialized is None and _is_refusal_of_version(talk):
            again.append(Purpose.OLDER)
        if again:
            self._side_by_side(*again)
        return self.talk

    def ask(self, purpose: Purpose) -> Talk:
        """One step by itself."""
        self._side_by_side(purpose)
        return self.talk

    def talk_by_sse(self) -> Talk:
        """All that the plan has for HTTP+SSE, on one stream."""
        self.exchanges.extend(converse(self.candidate.url, self._request, self._fetch, self._make))
        return self.talk

    def talk_on(self, others: Callable[[], int]) -> None:
        """What the plan has for the eras that answered, in its order, the session's end at last.

        Further pages of lists come after that, by what the ``others``' requests leave of the audit's.
        """
        late = self._steps(None)
        self._turn_pages(others)
        ends = [self._pool.submit(self._delete, session) for session in self._sessions()]
        for step in late:
            self.exchanges.extend(step.result())
        self._side_by_side(*self._afterwards(self.talk))
        self._turn_pages(others)
        self.exchanges.extend(end.result() for end in ends)

    def taste(self, most: int) -> None:
        """So many steps of what the plan has, to be gone on with."""
        for step in self._steps(most):
            self.exchanges.extend(step.result())

    def _steps(self, most: int | None) -> list[Future[list[Exchange]]]:
        """Ask what the plan has; the value is what may still be under way while the session is ended."""
        talk = self.talk
        self._version = talk.modern_version
        self._session = talk.session
        self._legacy_version = talk.legacy_version
        steps = [step.purpose for step in PLAN if step.purpose not in talk.replies and self._is_due(step.purpose, talk)]
        begun: dict[Purpose, Future[list[Exchange]]] = {}
        for purpose in (steps := steps[:most]):
            if STEPS[purpose].era is Spoken.LEGACY and purpose not in _OUTSIDE and Purpose.INITIALIZED in begun:
                begun[Purpose.INITIALIZED].result()  # it opens the session for all that happens in it
            begun[purpose] = self._begin(purpose)
        for purpose in steps:
            if purpose not in _LATE:
                self.exchanges.extend(begun[purpose].result())
        return [begun[purpose] for purpose in steps if purpose in _LATE]

    def _turn_pages(self, others: Callable[[], int]) -> None:
        """Read lists on, all of them by a page at a time.

        A list has its share before those behind it in the plan have any: what cannot be read is the same in each audit.
        """
        left: int | None = None
        while True:
            read = self.talk.replies
            begun: list[Future[list[Exchange]]] = []
            claimed = 0
            for step in PLAN:
                pages = read.get(step.purpose, ()) if step.purpose in _WALKED else ()
                cursor = follows(pages) if pages else None
                if cursor is None:
                    continue
                if left is None:
                    due = sum(one not in read for one in (*_AFTERWARDS, *_LATE))
                    left = REQUESTS - others() - len(self.exchanges) - due
                if claimed < left:
                    begun.append(self._begin(step.purpose, len(pages), cursor))
                    claimed += page_budget(step.purpose) - len(pages)
            if left is None or not begun:
                return
            left -= len(begun)
            for page in begun:
                self.exchanges.extend(page.result())

    def part(self) -> None:
        """End the session that the greeting opened, if any, where nothing more is asked."""
        self._legacy_version = self.talk.legacy_version
        self.exchanges.extend([self._delete(session) for session in self._sessions()])

    def _is_due(self, purpose: Purpose, talk: Talk) -> bool:
        """Whether a step is to be made, by what is known before any of them."""
        modern = talk.discovered is not None or talk.modern_error is not None
        legacy = talk.initialized is not None and not talk.is_session_broken
        capabilities = talk.legacy_capabilities if STEPS[purpose].era is Spoken.LEGACY else talk.capabilities
        knows_header = (talk.legacy_version or "") >= "2025-06-18"
        match purpose:
            case _ if purpose in _AFTERWARDS:
                return False
            case (
                Purpose.SUPPORTED
                | Purpose.OLDER
                | Purpose.ENDPOINT_EVENT
                | Purpose.SSE_INITIALIZE
                | Purpose.SSE_INITIALIZED
                | Purpose.SSE_TOOLS
                | Purpose.DELETE
            ):
                return False
            case Purpose.PREFLIGHT:
                return True
            case Purpose.PROMPTS | Purpose.LEGACY_PROMPTS:
                return "prompts" in capabilities
            case Purpose.RESOURCES | Purpose.TEMPLATES | Purpose.LEGACY_RESOURCES | Purpose.LEGACY_TEMPLATES:
                return "resources" in capabilities
            case Purpose.SESSION:
                return modern and talk.initialized is None
            case Purpose.STREAM_END:
                return talk.discovered is not None and talk.discovered.is_stream
            case Purpose.LEGACY_NO_SESSION | Purpose.LEGACY_WITHOUT_SESSION:
                return legacy and talk.session is not None
            case Purpose.LEGACY_NO_VERSION | Purpose.LEGACY_WITHOUT_VERSION | Purpose.LEGACY_BATCH:
                return legacy and knows_header
            case _:
                return legacy if STEPS[purpose].era is Spoken.LEGACY else modern

    def _afterwards(self, talk: Talk) -> list[Purpose]:
        """The steps that depend on what the lists held."""
        first, second = talk.listing(Purpose.TOOLS), talk.listing(Purpose.TOOLS_AGAIN)
        if first is None or second is None:
            return []
        steps = [Purpose.NO_CURSOR] if first.is_paged else []
        if first.is_whole and second.is_whole and first.items != second.items:
            steps += [Purpose.TOOLS_THIRD, Purpose.TOOLS_FOURTH]
        return steps

    def _sessions(self) -> list[str]:
        """Every session that this audit opened."""
        return [
            session
            for purpose in (Purpose.INITIALIZE, Purpose.OLDER, Purpose.LEGACY_FUTURE)
            for reply in self.talk.replies.get(purpose, ())
            if reply.result is not None and (session := session_of(reply)) is not None
        ]

    def _delete(self, session: str) -> Exchange:
        headers = {"Mcp-Session-Id": session} | self._version_header()
        url = self.candidate.url
        return self._fetch(Request(purpose=Purpose.DELETE, url=url, method="DELETE", headers=headers))

    def _side_by_side(self, *purposes: Purpose) -> None:
        for step in [self._begin(purpose) for purpose in purposes]:
            self.exchanges.extend(step.result())

    def _begin(self, purpose: Purpose, index: int = 0, cursor: str | None = None) -> Future[list[Exchange]]:
        return self._pool.submit(lambda: [self._make(self._request(purpose, index, cursor))])

    def _make(self, request: Request) -> Exchange:
        exchange = self._fetch(request)
        failure = exchange.failure
        if failure is not None and failure.code is FailureCode.CONNECT and request.method == "POST":
            # A kept connection that the server has closed: the client repeats no POST by itself, but none of these
            # changes anything.
            return self._fetch(request._replace(fresh=True))
        return exchange

    def _request(self, purpose: Purpose, index: int, cursor: str | None) -> Request:
        url = self.candidate.url
        match purpose:
            case Purpose.STREAM | Purpose.ENDPOINT_EVENT:
                headers = {"Accept": EVENT_STREAM}
                return Request(purpose=purpose, url=url, headers=headers, seconds=STREAM_SECONDS, skips_stream=True)
            case Purpose.PREFLIGHT:
                asked = "content-type, mcp-protocol-version, mcp-method, mcp-name, mcp-session-id, authorization"
                headers = {
                    "Origin": FOREIGN_ORIGIN,
                    "Access-Control-Request-Method": "POST",
                    "Access-Control-Request-Headers": asked,
                }
                return Request(purpose=purpose, url=url, method="OPTIONS", headers=headers)
        step = STEPS[purpose]
        message, headers = self._message(purpose, index, cursor)
        request_id = step.request_id(index)
        return Request(
            purpose=purpose,
            url=url,
            method="POST",
            headers={"Accept": _ACCEPT, "Content-Type": JSON} | headers,
            body=json.dumps(message, separators=(",", ":")).encode(),
            enough=None if purpose is Purpose.STREAM_END else awaited(request_id),
            fresh=purpose
            in (Purpose.TOOLS_AGAIN, Purpose.TOOLS_THIRD, Purpose.TOOLS_FOURTH, Purpose.LEGACY_TOOLS_AGAIN)
            and index == 0,
            seconds=STREAM_SECONDS if purpose is Purpose.STREAM_END else None,
        )

    def _message(self, purpose: Purpose, index: int, cursor: str | None) -> tuple[object, dict[str, str]]:
        """The JSON-RPC message of a step, and the headers that go with it."""
        step = STEPS[purpose]
        if step.era is Spoken.MODERN:
            return self._modern(purpose, index, cursor)
        message: dict[str, object] = {"jsonrpc": "2.0", "id": step.request_id(index), "method": step.call}
        headers = self._version_header() | ({"Mcp-Session-Id": self._session} if self._session else {})
        match purpose:
            case Purpose.INITIALIZE | Purpose.SSE_INITIALIZE:
                return message | {"params": _introduction(LEGACY_VERSION)}, {}
            case Purpose.OLDER:
                return message | {"params": _introduction(OLD_VERSION)}, {}
            case Purpose.LEGACY_FUTURE:
                return message | {"params": _introduction(FUTURE_VERSION)}, {}
            case Purpose.INITIALIZED | Purpose.SSE_INITIALIZED:
                return {"jsonrpc": "2.0", "method": step.call}, headers
            case Purpose.LEGACY_BATCH:
                return [message], headers
            case Purpose.LEGACY_NO_VERSION:
                return message, headers | {"MCP-Protocol-Version": NO_VERSION}
            case Purpose.LEGACY_WITHOUT_VERSION:
                headers.pop("MCP-Protocol-Version", None)
            case Purpose.LEGACY_WITHOUT_SESSION:
                headers.pop("Mcp-Session-Id", None)
            case Purpose.LEGACY_NO_SESSION:
                headers["Mcp-Session-Id"] = other_session(self._session or NO_SESSION)
            case Purpose.LEGACY_CHARSET:
                headers["Content-Type"] = f"{JSON}; charset=utf-8"
            case Purpose.LEGACY_ORIGIN:
                headers["Origin"] = FOREIGN_ORIGIN
        return message | ({} if cursor is None else {"params": {"cursor": cursor}}), headers

    def _modern(self, purpose: Purpose, index: int, cursor: str | None) -> tuple[object, dict[str, str]]:
        step = STEPS[purpose]
        version = NO_VERSION if purpose is Purpose.NO_VERSION else self._version or MODERN_VERSION
        meta: dict[str, object] = {
            f"{_META}/protocolVersion": version,
            f"{_META}/clientInfo": _CLIENT,
            f"{_META}/clientCapabilities": {},
        }
        headers = {"MCP-Protocol-Version": version, "Mcp-Method": step.call}
        params: dict[str, object] = {"_meta": meta} | ({} if cursor is None else {"cursor": cursor})
        message: dict[str, object] = {"jsonrpc": "2.0", "id": step.request_id(index), "method": step.call}
        match purpose:
            case Purpose.WITHOUT_METHOD:
                del headers["Mcp-Method"]
            case Purpose.OTHER_METHOD:
                headers["Mcp-Method"] = "tools/list"
            case Purpose.OTHER_VERSION:
                meta[f"{_META}/protocolVersion"] = LEGACY_VERSION
            case Purpose.WITHOUT_CAPABILITIES:
                del meta[f"{_META}/clientCapabilities"]
            case Purpose.LOWER_CASE:
                headers = {name.lower(): value for name, value in headers.items()}
            case Purpose.ORIGIN:
                headers["Origin"] = FOREIGN_ORIGIN
            case Purpose.SESSION:
                headers |= {"Mcp-Session-Id": NO_SESSION, "Last-Event-ID": "1"}
            case Purpose.NOTIFICATION:
                del message["id"]
            case Purpose.CHARSET:
                headers["Content-Type"] = f"{JSON}; charset=utf-8"
            case Purpose.NO_CURSOR:
                params["cursor"] = NO_CURSOR
        return message | {"params": params}, headers

    def _version_header(self) -> dict[str, str]:
        version = self._legacy_version or ""
        return {"MCP-Protocol-Version": version} if version >= "2025-06-18" else {}


def _introduction(version: str) -> Mapping[str, object]:
    return {"protocolVersion": version, "capabilities": {}, "clientInfo": _CLIENT}


def _is_refusal_of_version(talk: Talk) -> bool:
    """Whether ``initialize`` was refused in a way that an older version might mend."""
    reply = talk.reply(Purpose.INITIALIZE)
    if reply is None or refusal_of(reply) is not None or reply.exchange.failure is not None or talk.is_modern:
        return False
    is_about_version = reply.status == 400 and b"ersion" in reply.exchange.body
    return is_about_version or (reply.error is not None and reply.code != METHOD_NOT_FOUND)
