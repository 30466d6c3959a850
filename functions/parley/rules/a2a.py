"""``PARLEY-A2aAgentCardAuditor``: the A2A Agent Card, by the shape that its members give it."""

from collections.abc import Sequence
from typing import Final

from parley.documents.agent_card import AgentCard, Document, Shape
from parley.documents.location import open_question
from parley.report import AuditorReport, ProtocolReport, State, Status
from parley.rules.a2a_card import A2aCardRules
from parley.rules.a2a_evidence import V1
from parley.rules.a2a_interfaces import A2aInterfaceRules
from parley.rules.a2a_live import A2aLiveRules
from parley.rules.a2a_secrets import A2aSecretRules
from parley.rules.a2a_security import A2aSecurityRules
from parley.rules.a2a_served import A2aServedRules, is_of_another_format
from parley.rules.a2a_signatures import A2aSignatureRules
from parley.rules.rule import Composed, Finding, Findings, Given, RuleSet, check
from parley.wire.text import clean

_BECAUSE: Final = 5


class A2aAgentCardRules(
    A2aServedRules, A2aCardRules, A2aInterfaceRules, A2aSecurityRules, A2aSecretRules, A2aSignatureRules, A2aLiveRules
):
    """Whether an Agent Card can be found, and whether clients can depend on it."""

    def valid(self) -> Given[AgentCard]:
        """Every card that no rule found a fault in. Asked for after all others."""
        faulty = self._faulty(blocking=False)
        return Given(tuple(card for card in self.cards if card.url not in faulty))

    @check(
        200,
        title="Valid Agent Card",
        when="An Agent Card was found, and no rule found a fault in it, or in what its agent was asked.",
        seen='Agent Card "{name}" {version} at {cardUrl} is valid ({shape}){asked}.',
        why="Clients can read this card, and find by it how its agent is to be spoken to.",
        spec=f"{V1}#441-agentcard",
    )
    def check_rule_valid(self, valid: AgentCard) -> Findings:
        """Fires once per valid card."""
        name, version = valid.members.get("name"), valid.members.get("version")
        asked = Composed(self.what_was_asked(valid))
        yield Finding(name=name, version=version, cardUrl=valid.url, shape=worded(valid.shape), asked=asked)

    def judge(self) -> AuditorReport:
        """Green only where there is a card, and all that came was read: a place alone says nothing of a card."""
        report = super().judge()
        is_open = not self.cards or self.unread is not None
        return report._replace(status=Status.INFORMATION) if is_open and report.status is Status.SUCCESS else report

    def protocol_report(self, judged: AuditorReport, others: Sequence[RuleSet]) -> ProtocolReport:
        """Confirmed by a card without a blocking finding; indicated by any document, or a claim that there is one."""
        faulty = self._faulty(blocking=True)
        confirmed = [card for card in self.cards if card.url not in faulty]
        details: dict[str, object] = {}
        if primary := (confirmed or list(self.cards))[:1]:
            details = {"cardUrl": clean(primary[0].url, 2048), "shape": primary[0].shape.value}
        conclusive = True
        if confirmed:
            state = State.CONFIRMED
            because = [f"{_how(one.document)}, and holds an Agent Card ({worded(one.shape)})" for one in confirmed]
        elif self.cards:
            state = State.INDICATED
            because = [
                f"{_how(one.document)}, but holds no valid Agent Card ({worded(one.shape)})" for one in self.cards
            ]
        else:
            because = list(self._signs())
            state = State.INDICATED if because else State.NOT_DETECTED
            if self.evidence.refusal is not None:
                because = [self.evidence.refusal]
            elif (open_question := self._inconclusive()) is not None:
                conclusive = False
                because.insert(0, f"inconclusive: {open_question}")
            elif not because:
                because = [place.told for place in self.found.locations]
                but = "as whatever else is asked for" if self.is_catch_all else "but holds no Agent Card"
                because += [f"{_how(one)}, {but}" for one in self.found.documents]
        return ProtocolReport(
            state=state,
            status=judged.status if conclusive else Status.INFORMATION,
            because=tuple(because[:_BECAUSE]),
            conclusive=conclusive,
            details=details,
        )

    def _faulty(self, *, blocking: bool) -> set[str]:
        """The URLs of documents that a rule found a fault in."""
        return {
            url
            for judged in self.judged
            if judged.row.status in (Status.WARNING, Status.FAIL) and (judged.row.blocks or not blocking)
            if (url := _url(judged.subject)) is not None
        }

    def _inconclusive(self) -> str | None:
        """Why it stays open whether there is a card, where none was found."""
        if self.unread:
            return self.unread
        if not all(is_of_another_format(document) for document in self.found.documents):
            return None
        return open_question(self.found.locations)


def worded(shape: Shape) -> str:
    """A shape in a sentence."""
    return "A2A 1.0 and 0.x" if shape is Shape.HYBRID else f"A2A {shape.value}"


def _url(subject: object) -> str | None:
    card = getattr(subject, "card", subject)
    return card.url if isinstance(card, AgentCard | Document) else None


def _how(document: Document) -> str:
    if document.exchange is None:
        return f"{clean(document.url)} stands in the AI Catalog"
    content_type = clean(document.exchange.header("content-type") or "without a Content-Type")
    return f"GET {clean(document.url)} answered {document.exchange.status} {content_type}"
