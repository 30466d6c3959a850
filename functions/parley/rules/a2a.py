"""``PARLEY-A2aAgentCardAuditor``: the A2A Agent Card, by the shape that its members give it."""

from collections.abc import Sequence
from typing import Final

from parley.documents.agent_card import AgentCard, Document
from parley.documents.location import Cause
from parley.report import AuditorReport, ProtocolReport, State, Status
from parley.rules.a2a_evidence import A2aEvidence
from parley.rules.rule import Given, RuleSet
from parley.wire.text import clean

_BECAUSE: Final = 5


class A2aAgentCardRules(A2aEvidence):
    """Whether an Agent Card can be found, and whether clients can depend on it."""

    def valid(self) -> Given[AgentCard]:
        """Every card that no rule found a fault in. Asked for after all others."""
        faulty = self._faulty(blocking=False)
        return Given(tuple(card for card in self.cards if card.url not in faulty))

    def _faulty(self, *, blocking: bool) -> set[str]:
        """The URLs of documents that a rule found a fault in."""
        return {
            url
            for judged in self.judged
            if judged.row.status in (Status.WARNING, Status.FAIL) and (judged.row.blocks or not blocking)
            if (url := _url(judged.subject)) is not None
        }

    def protocol_report(self, judged: AuditorReport, others: Sequence[RuleSet]) -> ProtocolReport | None:
        """Confirmed by one card without a blocking finding; indicated by any document, or a claim that there is one."""
        raise NotImplementedError(State, Cause, clean)


def _url(subject: object) -> str | None:
    card = getattr(subject, "card", subject)
    return card.url if isinstance(card, AgentCard | Document) else None
