"""``PARLEY-McpServerAuditor``: the live MCP server, by the revision that it speaks."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from parley.documents.location import Cause
from parley.documents.mcp import Claim, Talk
from parley.documents.mcp_plan import STEPS, Purpose, Spoken
from parley.documents.mcp_reply import Reply
from parley.documents.oauth import is_resource
from parley.documents.server_card import discovery
from parley.report import AuditorReport, ProtocolReport, State, Status
from parley.rules.mcp_endpoint import McpEndpointRules, transport
from parley.rules.mcp_evidence import Responses, is_dead
from parley.rules.mcp_legacy import McpLegacyRules
from parley.rules.mcp_lists import McpListRules
from parley.rules.mcp_modern import McpModernRules
from parley.rules.oauth import McpAuthRules
from parley.rules.rule import Given, Judged, RuleSet
from parley.wire.text import clean
from parley.wire.url import LONGEST, Url

_BECAUSE: Final = 5


class McpServerRules(McpEndpointRules, McpModernRules, McpListRules, McpLegacyRules):
    """Whether an MCP server can be found, and whether clients can depend on it."""

    def valid(self) -> Given[Talk]:
        """The endpoint, if no rule found a fault, and all its answers were seen. Asked for after all others."""
        if self.found is None or not _answered(self.found):
            return Given()
        if any(one.row.status in (Status.WARNING, Status.FAIL) for one in self.judged):
            return Given()
        judged = (self.discovered(), self.initialized(), self.response(), self.tool())
        missing = next((one.missing for one in judged if one.missing), None) or self._promised_missing()
        return Given(missing=missing) if missing else Given((self.found,))

    def judge(self) -> AuditorReport:
        """Green only where a server answered: what is right about a place alone says nothing of one."""
        report = super().judge()
        is_green = report.status is Status.SUCCESS
        is_mute = self.found is None or not _answered(self.found)
        return report._replace(status=Status.INFORMATION) if is_green and is_mute else report

    def protocol_report(self, judged: AuditorReport, others: Sequence[RuleSet]) -> ProtocolReport:
        """Confirmed by an era's answers without a blocking finding, or by a gate whose chain validates."""
        if self.evidence.refusal is not None:
            because = (self.evidence.refusal,)
            return ProtocolReport(state=State.NOT_DETECTED, status=judged.status, because=because)
        if self.found is not None:
            blocked = {_era(one) for one in self.judged if one.row.blocks and not _is_elsewhere(one, self.found)}
            sound = set() if Spoken.ANY in blocked else _answered(self.found) - blocked
            signals = list(_signals(self.found))
            is_chain = self.gate is not None and _validates(self.found, others)
            if self.gate is not None:
                signals += [self.needs, *(["its OAuth discovery chain validates"] if is_chain else [])]
            state = State.CONFIRMED if sound or is_chain else State.INDICATED
            return self._stated(state, judged, signals, _details(self.found) | _auth(others))
        if self.gated is not None:
            return self._gated(judged, self.gated, others)
        return self._undetected(judged)

    def _gated(self, judged: AuditorReport, talk: Talk, others: Sequence[RuleSet]) -> ProtocolReport:
        assert self.gate is not None  # noqa: S101  # that is what makes it gated
        because = [self.needs]
        names_mcp = self.gate.named_by or _named_by_metadata(talk, others)
        if names_mcp is not None:
            because.append(names_mcp)
        state = State.INDICATED
        if _validates(talk, others):
            because.append("its OAuth discovery chain validates")
            state = State.INDICATED if names_mcp is None else State.CONFIRMED
        return self._stated(state, judged, because, {"endpoint": clean(talk.url, LONGEST)} | _auth(others))

    def _undetected(self, judged: AuditorReport) -> ProtocolReport:
        """Indicated where somebody claims that there is an endpoint, and something answered there."""
        dead = [talk for talk in self.claimed_talks if is_dead(talk) and not talk.is_cut_off]
        dead += [talk for talk in self.claimed_talks if talk.candidate.claim is Claim.CARD and talk not in dead]
        question = self.open_question or self._unread_cards()
        because = [f"{clean(talk.url)} is named as an MCP endpoint by {talk.candidate.claim}" for talk in dead]
        because += [told for talk in self.talks for told in _refusals(talk)]
        conclusive = question is None or bool(self.claimed_talks and dead and self._ours() is None)
        if not conclusive:
            because.insert(0, f"inconclusive: {question}")
        state = State.INDICATED if dead else State.NOT_DETECTED
        return self._stated(state, judged, because or ["nothing was asked"], {}, conclusive=conclusive)

    def _unread_cards(self) -> str | None:
        """What kept this auditor from reading where the server is: nothing is certain about guesses alone."""
        cards = discovery(self.evidence)
        if cards.documents:
            return None
        return next((place.told for place in cards.locations if place.cause in (Cause.WALL, Cause.OURS)), None)

    def _stated(
        self,
        state: State,
        judged: AuditorReport,
        because: list[str],
        details: Mapping[str, object],
        *,
        conclusive: bool = True,
    ) -> ProtocolReport:
        return ProtocolReport(
            state=state,
            status=judged.status if conclusive else Status.INFORMATION,
            because=tuple(because[:_BECAUSE]),
            conclusive=conclusive,
            details=details,
        )


def _is_elsewhere(judged: Judged, found: Talk) -> bool:
    """Whether a finding is about another place than the endpoint that was found."""
    return isinstance(judged.subject, Talk) and judged.subject is not found


def _chain(others: Sequence[RuleSet]) -> McpAuthRules | None:
    return next((one for one in others if isinstance(one, McpAuthRules)), None)


def _auth(others: Sequence[RuleSet]) -> dict[str, object]:
    """The chain as its auditor shows it."""
    chain = _chain(others)
    return {} if chain is None or chain.auth is None else {"auth": chain.auth}


def _validates(talk: Talk, others: Sequence[RuleSet]) -> bool:
    chain = _chain(others)
    return (
        chain is not None
        and chain.chain_validates
        and chain.seen is not None
        and str(chain.seen.gate.endpoint) == talk.url
    )


def _named_by_metadata(talk: Talk, others: Sequence[RuleSet]) -> str | None:
    """Whether metadata names this very endpoint, and the endpoint's name is MCP's: any API may have such metadata."""
    chain = _chain(others)
    if chain is None or chain.seen is None:
        return None
    url = Url.parse(talk.url)
    resource = chain.seen.members.get("resource")
    is_named = "mcp" in (*url.path.lower().split("/"), *url.host.split("."))
    if is_named and is_resource(resource, talk.url):
        return "its protected resource metadata names this endpoint"
    return None


def _answered(talk: Talk) -> set[Spoken]:
    """The eras that answered with more than an error."""
    tools = talk.reply(Purpose.TOOLS)
    has_tools = talk.is_modern and tools is not None and tools.result is not None
    modern = {Spoken.MODERN} if talk.discovered is not None or has_tools else set()
    legacy = {Spoken.LEGACY} if talk.initialized is not None else set()
    return modern | legacy


def _era(judged: Judged) -> Spoken:
    """The era that a finding is about: one that is sound makes a server, whatever the other's faults."""
    if isinstance(judged.subject, Responses):
        return judged.subject.era
    return STEPS[Purpose(judged.subject.exchange.purpose)].era if isinstance(judged.subject, Reply) else Spoken.ANY


def _signals(talk: Talk) -> Iterator[str]:
    url = clean(talk.url)
    if talk.discovered is not None:
        yield f"POST {url} answered server/discover with a DiscoverResult"
    elif talk.is_modern and talk.modern_error is not None:
        yield f"POST {url} answered server/discover {talk.modern_error.told}, as modern servers do"
    if talk.initialized is not None:
        greeted = url if talk.messages_url is None else clean(talk.messages_url)
        yield f"POST {greeted} answered initialize with version {clean(talk.legacy_version)}"
    if talk.endpoint_event is not None:
        yield f"GET {url} answered with an endpoint event, as HTTP+SSE servers do"


def _refusals(talk: Talk) -> Iterator[str]:
    reply = talk.first_replies[0] if talk.first_replies else None
    if reply is not None:
        answered = "answered " if reply.exchange.failure is None else ""
        yield f"{reply.exchange.method} {clean(talk.url)}: {answered}{reply.told}"


def _details(talk: Talk) -> dict[str, object]:
    info = talk.server_info
    return {
        "endpoint": clean(talk.url, LONGEST),
        "era": str(talk.era),
        "protocolVersion": None if talk.version is None else clean(talk.version, 40),
        "supportedVersions": [clean(one, 40) for one in talk.supported[:20]],
        "transport": transport(talk),
        "server": {name: clean(info[name]) for name in ("name", "version") if isinstance(info.get(name), str)},
    }
