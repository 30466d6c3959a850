"""What an agent's interface answers to the few requests that a stranger may make of it."""

import json
import re
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Final, NamedTuple

from parley.documents.agent_card import (
    NO_VERSION,
    AgentCard,
    Interface,
    Purpose,
    Shape,
    View,
    absolute,
    answer,
    binding,
    instead,
    live,
    speaks_1,
)
from parley.documents.mcp_reply import Reply, read
from parley.documents.reach import Reach, place_of
from parley.evidence import Exchange, FailureCode
from parley.rules.a2a_evidence import V0_3, V1, A2aEvidence
from parley.rules.rule import Composed, Finding, Findings, Given, check, listed
from parley.wire import strict_json
from parley.wire.media_type import EVENT_STREAM, essence, is_html
from parley.wire.strict_json import Parsed
from parley.wire.text import clean, quoted

_EXTENDED: Final = f"{V1}#3111-get-extended-agent-card"
_ACCESS: Final = f"{V1}#133-extended-agent-card-access-control"
_CAPABILITIES: Final = f"{V1}#334-capability-validation"
_VERSIONS: Final = f"{V1}#362-server-responsibilities"
_INTERFACES: Final = f"{V1}#831-supported-interfaces-declaration"
_AUTHENTICATION: Final = f"{V1}#74-server-authentication-responsibilities"

_UNSUPPORTED: Final = "UNSUPPORTED_OPERATION"
_NOT_CONFIGURED: Final = "EXTENDED_AGENT_CARD_NOT_CONFIGURED"
_NO_VERSION: Final = "VERSION_NOT_SUPPORTED"
_NO_METHOD: Final = "METHOD_NOT_FOUND"
_CODES: Final[Mapping[int, str]] = {
    -32601: _NO_METHOD,
    -32004: _UNSUPPORTED,
    -32007: _NOT_CONFIGURED,
    -32009: _NO_VERSION,
}
"""The errors that matter here, by their JSON-RPC codes (A2A 1.0, section 5.4) and by A2A's names for them."""

_GONE: Final = (404, 405, 410)
_WORTH: Final = 6


class Live(NamedTuple):
    """What an interface answered to one live request."""

    card: AgentCard
    interface: Interface
    exchange: Exchange

    @property
    def url(self) -> str:
        """The interface's own URL; in the HTTP+JSON binding, what was asked for is below it."""
        return absolute(self.interface.url) or self.exchange.url


class A2aLiveRules(A2aEvidence):
    """Whether an agent does what its card says, as far as can be asked without credentials and without a message.

    One interface is asked, and its answer may leave a question open: then the evidence is not whole.
    """

    def called(self) -> Given[Live]:
        """What came of calling an interface, be it no answer; not where this auditor could not, or may not, call it."""
        live, reason = self._asked(Purpose.EXTENDED)
        if live is None:
            return Given((), reason)
        failure = live.exchange.failure
        if failure is not None and (failure.code in _UNTELLING or failure.code.is_ours):
            reason = f"{live.exchange.url}: {clean(failure.reason, 300)}"
        elif reason is None and _is_rehearsal(live.card, live.exchange):
            reason = f"{live.exchange.url} is elsewhere, and the card on somebody's own machine or network"
        if reason is not None:
            return Given((), reason)
        return Given((live,), self._undecided(live.exchange, is_refusal_enough=True))

    def extended(self) -> Given[Live]:
        """What came of asking for the extended card without credentials: an answer in A2A's words, or a refusal."""
        return self._live(Purpose.EXTENDED, is_refusal_enough=True)

    def understood(self) -> Given[Live]:
        """The same, for what only an answer in A2A's words decides."""
        return self._live(Purpose.EXTENDED, is_refusal_enough=False)

    def no_version(self) -> Given[Live]:
        """What came of a request in an A2A version that does not exist."""
        return self._live(Purpose.NO_VERSION, is_refusal_enough=False)

    def _live(self, purpose: Purpose, *, is_refusal_enough: bool) -> Given[Live]:
        live, reason = self._asked(purpose)
        if live is None:
            return Given((), reason)
        exchange = live.exchange
        if reason is None and exchange.failure is not None:
            reason = f"{exchange.url}: {clean(exchange.failure.reason, 300)}"
        if reason is not None:
            return Given((), reason)
        open_question = self._undecided(exchange, is_refusal_enough=is_refusal_enough)
        return Given((live,), open_question or _beside_the_question(exchange, purpose))

    def _asked(self, purpose: Purpose) -> tuple[Live | None, str | None]:
        """What was asked, and why nothing follows from the answer, if so; or why nothing was asked."""
        exchange = answer(self.evidence.exchanges, purpose)
        card = next((card for card in self.cards if live(card) is not None), None)
        interface = None if card is None else live(card)
        if card is None and self._places:
            spoken = listed(sorted({shown for _, shown in _endpoints(self.cards)}))
            return None, self._missing() or f"its interfaces speak {spoken or 'nothing'}, which is not asked"
        if exchange is None or card is None or interface is None:
            return None, self._missing()
        return Live(card, interface, exchange), self._open(exchange)

    def _undecided(self, exchange: Exchange, *, is_refusal_enough: bool) -> str | None:
        """Why it stays open whether all is well, where the answer shows no fault."""
        is_refusal = exchange.answered in (401, 403)
        if exchange.failure is None and not _is_a2a(exchange) and not (is_refusal and is_refusal_enough):
            return f"{exchange.url} answered {_told(exchange)}, which leaves it open"
        if (places := self._places) > 1:
            return f"{exchange.url} is the one interface that was asked, of {places}"
        return None

    def what_was_asked(self, card: AgentCard) -> str:
        """What of a card's interfaces was asked, to follow the word that the card is valid; nothing if all were."""
        asked, _ = self._asked(Purpose.EXTENDED)
        if asked is None or _endpoint(asked.interface) not in _endpoints([card]):
            return "; its agent was not asked"
        exchange = asked.exchange
        if not (self.called().values and (_is_a2a(exchange) or exchange.answered in (401, 403))):
            return "; whether its agent is there could not be told"
        return f"; of its interfaces, only {asked.url} was asked" if len(_endpoints([card])) > 1 else ""

    @cached_property
    def _places(self) -> int:
        """How many interfaces the cards of this audit name."""
        return len(_endpoints(self.cards))

    # Facts.

    @check(
        150,
        title="Interface's answer",
        when="An interface was asked for the extended card, without credentials.",
        seen="{url} answered {observed} when it was asked for the extended card without credentials.",
        why="It tells what a stranger gets there. No message was sent to the agent.",
        spec=_EXTENDED,
    )
    def check_rule_live_answered(self, extended: Live) -> Findings:
        """Whatever it was."""
        yield Finding(url=extended.exchange.url, observed=Composed(_told(extended.exchange)))

    # Warnings.

    @check(
        380,
        title="Unknown version refused",
        when=f"A request with A2A-Version: {NO_VERSION} is answered as if there were such a version.",
        seen="{url} answered {observed} to a request with A2A-Version: " + NO_VERSION + ".",
        why="The server does not look at the version: clients of versions to come will be misunderstood, not refused.",
        recommendation="Answer VersionNotSupportedError (-32009) at {url} for versions that it does not speak.",
        spec=_VERSIONS,
    )
    def check_rule_live_version(self, no_version: Live) -> Findings:
        """Only where the answer shows that the request was understood; any word on versions is a refusal."""
        exchange = no_version.exchange
        if _card(exchange) is not None or _error(exchange) in (_UNSUPPORTED, _NOT_CONFIGURED, _NO_METHOD):
            yield Finding(url=exchange.url, observed=Composed(_told(exchange)))

    @check(
        381,
        title="Extended card without authentication",
        when=(
            "GetExtendedAgentCard is answered with a card without credentials, which is the same as the public one, or "
            "comes from somebody's own machine."
        ),
        seen="{url} gave a card without credentials, {observed}.",
        why=(
            "The operation must require authentication. SDKs leave that to the server's author: as it is, everybody "
            "gets whatever is put into the extended card."
        ),
        recommendation="Authenticate GetExtendedAgentCard at {url} by a scheme of the card before the agent is public.",
        spec=_ACCESS,
    )
    def check_rule_live_open(self, extended: Live) -> Findings:
        """On a server that others can reach, and with more than the public card, it is a fault."""
        given = _card(extended.exchange)
        if given is None:
            return
        unlike = _unlike(given, extended.card)
        if not unlike or _is_private(extended.exchange):
            differs = f"which differs from the public one in {', '.join(unlike)}"
            observed = differs if unlike else "the same as the public one"
            yield Finding(url=extended.exchange.url, observed=Composed(observed))

    @check(
        382,
        title="Declared extended card is there",
        when="The card declares an extended card, but the interface does not know the operation, or denies it.",
        seen="The card {nameOrUrl} at {cardUrl} declares an extended card, but {url} answered {observed}.",
        why="Clients that authenticate to get it are told that there is none.",
        recommendation="Serve the extended card at {url}, or declare none on {nameOrUrl}.",
        spec=_CAPABILITIES,
    )
    def check_rule_live_absent(self, understood: Live) -> Findings:
        """The operation has its name since A2A 0.3; before, the extended card had a path."""
        card, exchange = understood.card, understood.exchange
        is_denied = _error(exchange) in (_NO_METHOD, _UNSUPPORTED) or (
            exchange.method == "GET" and exchange.answered in (*_GONE, 501) and _unsound(understood) is None
        )
        if card.declares_extended and card.shape is not Shape.V0_2 and is_denied:
            yield Finding(
                nameOrUrl=card.name_or_url, cardUrl=card.url, url=exchange.url, observed=Composed(_told(exchange))
            )

    @check(
        383,
        title="Operation that is not supported",
        when="The card declares no extended card, and GetExtendedAgentCard is answered as an unknown method.",
        seen="{url} answered {observed} to GetExtendedAgentCard.",
        why="An agent without an extended card must answer UnsupportedOperationError: that is no unknown method.",
        recommendation="Answer UnsupportedOperationError (-32004) at {url}.",
        spec=_CAPABILITIES,
    )
    def check_rule_live_unsupported(self, understood: Live) -> Findings:
        """A2A 1.0."""
        is_asked = speaks_1(understood.interface) and not understood.card.declares_extended
        if is_asked and _error(understood.exchange) == _NO_METHOD:
            yield Finding(url=understood.exchange.url, observed=Composed(_told(understood.exchange)))

    @check(
        384,
        title="Challenge",
        when="An interface answers 401 without WWW-Authenticate.",
        seen="{url} answered 401 without WWW-Authenticate.",
        why="Clients learn from it which of the agent's schemes is wanted; HTTP requires it of a 401.",
        recommendation="Add WWW-Authenticate to the 401 of {url}.",
        spec=f"{V0_3}#44-server-responsibilities-for-authentication",
    )
    def check_rule_live_challenge(self, extended: Live) -> Findings:
        """Absent, or empty."""
        exchange = extended.exchange
        if exchange.answered == 401 and not (exchange.header("www-authenticate") or "").strip():
            yield Finding(url=exchange.url)

    @check(
        385,
        title="Credentials wanted, but no scheme declared",
        when="An interface refuses who has no credentials, and the card declares no security scheme.",
        seen="{url} answered {status}, but the card {nameOrUrl} at {cardUrl} declares no security scheme.",
        why="Clients are refused, and the card does not tell them how to authenticate.",
        recommendation="Declare on {nameOrUrl} by securitySchemes what {url} wants.",
        spec=_AUTHENTICATION,
    )
    def check_rule_live_gated(self, extended: Live) -> Findings:
        """401, or 403 with a challenge: a 403 alone may be meant for this auditor."""
        card, exchange = extended.card, extended.exchange
        is_gate = exchange.answered == 401 or (exchange.answered == 403 and exchange.header("www-authenticate"))
        if is_gate and card.members.get("securitySchemes") in (None, {}):
            yield Finding(url=exchange.url, status=exchange.status, nameOrUrl=card.name_or_url, cardUrl=card.url)

    @check(
        387,
        title="Schemes for the extended card",
        when="The card declares an extended card, and no security scheme.",
        seen="The card {nameOrUrl} at {cardUrl} declares an extended card, but no security scheme.",
        why="Clients must authenticate by one of the card's schemes to get it.",
        recommendation="Declare by securitySchemes on {nameOrUrl} how clients authenticate for the extended card.",
        spec=_ACCESS,
    )
    def check_rule_live_schemes(self, card: AgentCard) -> Findings:
        """By the card alone."""
        if card.declares_extended and card.members.get("securitySchemes") in (None, {}):
            yield Finding(nameOrUrl=card.name_or_url, cardUrl=card.url)

    @check(
        388,
        title="Interface answers soundly",
        when="An interface answers with a server error, a redirect or a doubtful 404, or late, or not as its binding.",
        seen="{path} of {nameOrUrl} at {cardUrl} is {url}, {which} {observed}.",
        why="Clients cannot speak to the agent while that is so.",
        recommendation="Find out why {url} does not answer as {binding}, or set {path} on {nameOrUrl} to what does.",
        spec=_INTERFACES,
    )
    def check_rule_live_sound(self, called: Live) -> Findings:
        """What shows that no interface is there is a fault."""
        problem = _unsound(called)
        if problem is not None:
            yield _finding(called, problem)

    # Faults.

    @check(
        480,
        title="Extended card for everybody",
        when="GetExtendedAgentCard is answered without credentials by a card that differs from the public one.",
        seen="{url} gave the extended card without credentials; it differs from the public one in {observed}.",
        why=(
            "The operation must require authentication: what is meant for known clients only is public. SDKs leave "
            "that to the server's author."
        ),
        recommendation="Authenticate GetExtendedAgentCard at {url} by one of the card's schemes.",
        spec=_ACCESS,
    )
    def check_rule_live_extended(self, extended: Live) -> Findings:
        """On one's own machine nobody else gets it, and it is a warning."""
        given = _card(extended.exchange)
        if given is not None and not _is_private(extended.exchange) and (unlike := _unlike(given, extended.card)):
            yield Finding(url=extended.exchange.url, observed=Composed(", ".join(unlike)))

    @check(
        481,
        title="Interface is there",
        when="Nobody is at an interface's URL: no such host, no connection, nothing at the path, or a web page.",
        seen="{path} of {nameOrUrl} at {cardUrl} is {url}, {which} {observed}.",
        why="Clients that read the card cannot reach the agent there; each interface must be declared accurately.",
        recommendation="Start the agent at {url}, or set {path} on {nameOrUrl} to where it is.",
        spec=_INTERFACES,
    )
    def check_rule_live_there(self, called: Live) -> Findings:
        """A refusal is somebody, and any answer in the binding's words; a 404 may be, where the card has schemes."""
        problem = _nobody(called)
        if problem is not None:
            yield _finding(called, problem)

    @check(
        482,
        title="Interface speaks its version",
        when="An interface answers that it does not support the very version that the card declares for it.",
        seen="{path} of {nameOrUrl} at {cardUrl} declares version {version}, but {askedUrl} answered {observed}.",
        why="Clients choose the interface for its version, and are refused.",
        recommendation="Declare on {nameOrUrl} the version that {url} speaks.",
        spec=_VERSIONS,
    )
    def check_rule_live_own_version(self, understood: Live) -> Findings:
        """By A2A's own error only. A card of 0.x is asked without naming a version."""
        interface, exchange = understood.interface, understood.exchange
        declared = interface.version
        if interface.view is View.V1 and isinstance(declared, str) and _error(exchange) == _NO_VERSION:
            yield _finding(understood, _told(exchange), version=quoted(declared))


_UNTELLING: Final = (FailureCode.REFUSED, FailureCode.TOO_LARGE, FailureCode.REDIRECTS, FailureCode.BAD_ENCODING)
"""Failures that say nothing of whether somebody is there."""


def _is_rehearsal(card: AgentCard, exchange: Exchange) -> bool:
    """Whether a card on somebody's own machine or network names a place elsewhere, where there is no agent yet."""
    here, there = place_of(card.url), place_of(exchange.url)
    return here is not None and here.reach is not Reach.ANYWHERE and (there is None or there.host != here.host)


def _is_private(exchange: Exchange) -> bool:
    """Whether only this very machine can reach who answered."""
    there = place_of(exchange.final_url)
    return there is not None and there.reach is Reach.MACHINE


def _reply(exchange: Exchange) -> Reply:
    return read(exchange, 1)


def _json(exchange: Exchange) -> Mapping[str, object] | None:
    """The answer's body, if it is a JSON object."""
    content = strict_json.parse(exchange.body) if exchange.body else None
    return content.value if isinstance(content, Parsed) and isinstance(content.value, dict) else None


def _card(exchange: Exchange) -> Mapping[str, object] | None:
    """The card that an answer holds, in either binding."""
    if exchange.answered != 200:
        return None
    found = _reply(exchange).result if exchange.method == "POST" else _json(exchange)
    return found if found is not None and instead(found) is None else None


def _error(exchange: Exchange) -> str | None:
    """A2A's name for the error that an answer is, in either binding; None if it is another, or none."""
    if exchange.failure is not None:
        return None
    if exchange.method == "POST":
        code = _reply(exchange).code
        return None if code is None else _CODES.get(code)
    error = (_json(exchange) or {}).get("error")
    details = error.get("details") if isinstance(error, dict) else None
    for detail in details if isinstance(details, list) else []:
        if isinstance(detail, dict) and detail.get("reason") in _CODES.values():
            return str(detail["reason"])
    return None


_ON_THE_QUESTION: Final[Mapping[Purpose, str]] = {
    Purpose.EXTENDED: "auth|credential|token|forbidden|denied|support|version",
    Purpose.NO_VERSION: "version",
}
"""What the message of an error that A2A has no name for speaks of, if it answers what was asked."""


def _beside_the_question(exchange: Exchange, purpose: Purpose) -> str | None:
    """Why an answer in the binding's words leaves open what was asked: it is an error about something else."""
    if exchange.answered in (401, 403) or _card(exchange) is not None or _error(exchange) is not None:
        return None
    error = _reply(exchange).error if exchange.method == "POST" else (_json(exchange) or {}).get("error")
    message = error.get("message") if isinstance(error, Mapping) else None
    if isinstance(message, str) and re.search(_ON_THE_QUESTION[purpose], message[:500], re.IGNORECASE):
        return None
    return f"{exchange.url} answered {_told(exchange)}, which leaves it open"


def _is_a2a(exchange: Exchange) -> bool:
    """Whether an answer is one of the binding: a JSON-RPC response; a card, or A2A's form of an error, over HTTP."""
    if exchange.answered is None or exchange.answered == 429:
        return False
    if exchange.method == "POST":
        return _reply(exchange).message is not None
    match _json(exchange):
        case {"error": {"code": int(), "details": list()} | {"code": int(), "status": str()}}:
            return True
    return _card(exchange) is not None


def _endpoints(cards: Iterable[AgentCard]) -> set[tuple[str, str]]:
    """The URLs of cards' interfaces, each with what is spoken there: a card for two versions may name one twice."""
    return {endpoint for card in cards for one in card.interfaces if (endpoint := _endpoint(one)) is not None}


def _endpoint(interface: Interface) -> tuple[str, str] | None:
    written = interface.url.strip() if isinstance(interface.url, str) else ""
    return ((absolute(written) or written).rstrip("/"), binding(interface)) if written else None


def _told(exchange: Exchange) -> str:
    """An answer in a few words: ``200 with the error -32004 (UNSUPPORTED_OPERATION)``."""
    status = exchange.status
    if _card(exchange) is not None:
        return f"{status} with a card"
    name = f" ({error})" if (error := _error(exchange)) is not None else ""
    if exchange.method == "POST" and _reply(exchange).message is not None:
        return _reply(exchange).told + name
    if is_html(exchange.header("content-type"), exchange.body):
        return f"{status} with a web page"
    return f"{status}{name}"


def _nobody(called: Live) -> str | None:
    """Why nobody is at an interface, as far as the answer shows that; None if somebody is, or it cannot be told."""
    exchange = called.exchange
    if exchange.failure is not None:
        is_late = exchange.failure.code is FailureCode.TIMEOUT
        return None if is_late else f"gave no answer: {clean(exchange.failure.reason, 300)}"
    page = is_html(exchange.header("content-type"), exchange.body)
    if exchange.status == 200 and page:
        return "answered with a web page"
    is_gone = exchange.method == "POST" and exchange.status in _GONE and _reply(exchange).message is None
    if is_gone and not _may_hide(called):
        return f"answered {exchange.status} to a POST"
    return None


def _may_hide(called: Live) -> bool:
    """Whether a 404 may be meant for who has no credentials: some servers hide so what they protect."""
    return called.exchange.status == 404 and bool(called.card.members.get("securitySchemes"))


def _unsound(called: Live) -> str | None:
    """Why an interface cannot be spoken to, though somebody may be there."""
    exchange = called.exchange
    if exchange.failure is not None:
        is_late = exchange.failure.code is FailureCode.TIMEOUT
        return f"gave no answer: {clean(exchange.failure.reason, 300)}" if is_late else None
    status = exchange.status or 0
    says = _reply(exchange).message is not None if exchange.method == "POST" else _json(exchange) is not None
    if status >= 500 and not says:
        return f"answered {status}"
    if 300 <= status < 400:
        return f"answered {status}, a redirect to {clean(exchange.header('location') or 'nowhere')}"
    if exchange.method == "POST" and not says and _may_hide(called):
        return "answered 404 to a POST without credentials"
    if exchange.method == "POST" and status == 200 and not says and _nobody(called) is None:
        if essence(exchange.header("content-type")) == EVENT_STREAM or _reply(exchange).is_beyond:
            return None
        return "answered 200 with no JSON-RPC response"
    return None


_APART: Final = frozenset(
    ("signatures", "securitySchemes", "security", "securityRequirements", "capabilities", "documentationUrl", "iconUrl")
)
"""Members that tell nobody more, or that an SDK writes in another form for each binding and version."""

_OF_ONE_VIEW: Final = (
    "supportedInterfaces",
    "additionalInterfaces",
    "url",
    "preferredTransport",
    "protocolVersion",
    "supportsAuthenticatedExtendedCard",
)


def _unlike(given: Mapping[str, object], public: AgentCard) -> list[str]:
    """In what a card differs from the public one, in words; one view's own members count only where both have them."""
    found = []
    for name, value in given.items():
        mine, other = _without_empty(value), _without_empty(public.members.get(name))
        if name in _APART or mine is None or _text(mine) == _text(other) or (name in _OF_ONE_VIEW and other is None):
            continue
        if isinstance(mine, list) and isinstance(other, list):
            known = {_text(item) for item in other}
            further = sum(_text(item) not in known for item in mine)
            if not further:
                continue
            found.append(f"{clean(name, 60)} ({further} of {len(mine)} differ)")
        else:
            found.append(clean(name, 60))
    return [*found[:_WORTH], "and more"] if len(found) > _WORTH else found


def _without_empty(value: object) -> object:
    """A value without what is empty in it, as SDKs differ in writing it; None if nothing is left."""
    if isinstance(value, dict):
        kept = {name: item for name, one in value.items() if (item := _without_empty(one)) is not None}
        return kept or None
    if isinstance(value, list):
        listed = [item for one in value if (item := _without_empty(one)) is not None]
        return listed or None
    return None if value == "" else value


def _text(value: object) -> str:
    return json.dumps(value, sort_keys=True)


def _finding(called: Live, observed: str, **values: object) -> Finding:
    card, interface, exchange = called
    return Finding(
        path=interface.path if interface.path == "url" else f"{interface.path}.url",
        nameOrUrl=card.name_or_url,
        cardUrl=card.url,
        url=called.url,
        askedUrl=exchange.url,
        which=Composed("which" if exchange.url == called.url else f"and {exchange.url} there"),
        observed=Composed(observed),
        binding=Composed(clean(binding(interface), 40)),
        **values,
    )
