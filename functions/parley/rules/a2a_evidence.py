"""What the rules of ``PARLEY-A2aAgentCardAuditor`` may ask for, by parameter name."""

from collections.abc import Iterator
from functools import cached_property
from typing import Final, NamedTuple

from parley.documents.agent_card import (
    NAMED,
    AgentCard,
    Discovery,
    Document,
    Interface,
    Reference,
    Scheme,
    View,
    answer,
    discovery,
    references,
)
from parley.documents.allowance import UNREAD
from parley.documents.location import Cause, location, overtaxed
from parley.evidence import Evidence, Exchange
from parley.report import Protocol
from parley.rules.rule import Given, RuleSet
from parley.wire.strict_json import NotJson
from parley.wire.text import count

_TAGS: Final = "https://github.com/a2aproject/A2A/blob"
V1: Final = f"{_TAGS}/v1.0.1/docs/specification.md"
"""The text of A2A 1.0; its sections are anchors: ``#55-json-field-naming-convention``."""

PROTO: Final = f"{_TAGS}/v1.0.1/specification/a2a.proto"
"""The normative data model of A2A 1.0."""

V0_3: Final = f"{_TAGS}/v0.3.0/docs/specification.md"
"""The text of A2A 0.3."""

SCHEMA_0_3: Final = f"{_TAGS}/v0.3.0/specification/json/a2a.json"
"""The JSON schema of A2A 0.3."""


class ServedCard(NamedTuple):
    """A card that a response carried, unlike one that stands in the catalog itself."""

    card: AgentCard
    exchange: Exchange

    @property
    def url(self) -> str:
        """``{cardUrl}``: what served it."""
        return self.card.url


class CardInterface(NamedTuple):
    """An interface of a card; in a hybrid card, one of either view."""

    card: AgentCard
    interface: Interface


class CardScheme(NamedTuple):
    """A security scheme of a card, to be judged in each of ``card.views``."""

    card: AgentCard
    scheme: Scheme


class Resolved(NamedTuple):
    """A document that a card names, and what came of asking for it; ``exchange`` is None if it could not be asked for.

    That is so where ``reference.url`` is None, too: what is written is no absolute URL.
    """

    card: AgentCard
    reference: Reference
    exchange: Exchange | None


class A2aEvidence(RuleSet):
    """The evidence; each group of rules is a subclass of this."""

    prefix = "PARLEY"
    name = "A2aAgentCardAuditor"
    title = "A2A Agent Card"
    protocol = Protocol.A2A

    def __init__(self, evidence: Evidence) -> None:
        super().__init__(evidence)
        self.found = discovery(evidence)
        self.cards = self.found.cards

    def as_received(self, card: AgentCard) -> AgentCard:
        """The card before what it gives away was masked: to check signatures over, and to search; never to quote."""
        return self._received[self.cards.index(card)]

    @cached_property
    def _received(self) -> tuple[AgentCard, ...]:
        original = self.evidence.original
        received = self.cards if original is None else discovery(original).cards
        if [card.shape for card in received] != [card.shape for card in self.cards]:
            raise LookupError("masked cards are others than those received")
        return received

    def audit(self) -> Given[Evidence]:
        """The audit as a whole."""
        return Given((self.evidence,))

    def discovered(self) -> Given[Discovery]:
        """The search, where it gave a card."""
        return Given((self.found,) if self.cards else (), self._unseen())

    def document(self) -> Given[Document]:
        """Every document found where a card is due; none of a site that answers so to everything."""
        return Given(() if self.is_catch_all else self.found.documents, self._unseen())

    def card(self) -> Given[AgentCard]:
        """Every document found that is an A2A card, of any shape."""
        return Given(self.cards, self._missing())

    def card_1(self) -> Given[AgentCard]:
        """Every card that clients of A2A 1.0 read: those of that shape, and hybrids."""
        return self._of(View.V1)

    def card_0(self) -> Given[AgentCard]:
        """Every card that clients of A2A 0.2 and 0.3 read: those of either shape, and hybrids."""
        return self._of(View.V0)

    def hybrid(self) -> Given[AgentCard]:
        """Every card that clients of both read."""
        return Given(tuple(card for card in self.cards if len(card.views) > 1), self._missing())

    def served(self) -> Given[ServedCard]:
        """Every card that came as an HTTP response."""
        served = tuple(ServedCard(card, card.exchange) for card in self.cards if card.exchange is not None)
        return Given(served, self._missing())

    def interface(self) -> Given[CardInterface]:
        """Every interface of every card, those of both views."""
        return Given(self._interfaces, self._missing())

    def scheme(self) -> Given[CardScheme]:
        """Every security scheme of every card."""
        return Given(self._schemes, self._missing())

    def metadata(self) -> Given[Resolved]:
        """Every OpenID configuration and OAuth metadata that a card names, with what came of it.

        Those that this auditor could not ask for, or beyond its limit, are left out, and make the evidence not whole.
        """
        return self._metadata

    @property
    def unread(self) -> str | None:
        """Why a document is not judged, though it may well be a card: it is more than is read here."""
        for one in self.found.documents:
            if isinstance(one.content, NotJson) and one.content.is_beyond:
                return f"{one.url}: {one.content.reason}"
        return next((place.told for place in self.found.locations if place.reason == UNREAD), None)

    @property
    def is_catch_all(self) -> bool:
        """Whether what was found is what the site answers to everything."""
        return self.found.is_catch_all and not self.cards

    def _of(self, view: View) -> Given[AgentCard]:
        return Given(tuple(card for card in self.cards if view in card.views), self._missing())

    @cached_property
    def _interfaces(self) -> tuple[CardInterface, ...]:
        return tuple(CardInterface(card, one) for card in self.cards for one in card.interfaces)

    @cached_property
    def _schemes(self) -> tuple[CardScheme, ...]:
        return tuple(CardScheme(card, one) for card in self.cards for one in card.schemes)

    @cached_property
    def _metadata(self) -> Given[Resolved]:
        return self._resolved(((card, one) for card in self.cards for one in references(card)), NAMED)

    def _resolved(self, named: Iterator[tuple[AgentCard, Reference]], most: int) -> Given[Resolved]:
        resolved: list[Resolved] = []
        missing = self._missing()
        for card, reference in named:
            exchange = answer(self.evidence.exchanges, reference.purpose, reference.url)
            if reference.url is not None and exchange is None:
                missing = f"{reference.url} was not asked for: at most {most} such documents are"
            elif exchange is not None and (reason := self._open(exchange)) is not None:
                missing = reason
            else:
                resolved.append(Resolved(card, reference, exchange if reference.url is not None else None))
        return Given(tuple(resolved), missing)

    def _open(self, exchange: Exchange) -> str | None:
        """Why nothing follows from an exchange about the site: a bot wall, or this auditor's own limits."""
        place = location(exchange, "", linked=False, by_target=overtaxed(self.evidence.exchanges))
        return place.told if place.cause in (Cause.OURS, Cause.WALL) else None

    def _missing(self) -> str | None:
        """What keeps cards from being judged: those that are known of, or all, where none was found.

        What stands between this auditor and another place says nothing of a card that it has.
        """
        if self.found.unfollowed:
            more = self.found.unfollowed
            return f"{count(more, 'more catalog link')} {'was' if more == 1 else 'were'} not followed"
        if self.found.unread:
            return f"{self.found.unread} more cards in the AI Catalog itself were not read"
        return self.unread if self.unread is not None or self.cards else self._unseen()

    def _unseen(self) -> str | None:
        """What kept a document from being had, other than that there is none. A broken link is no such thing."""
        if self.found.unfollowed or self.found.unread or self.unread is not None:
            return self._missing()
        for place in self.found.locations:
            failed = place.cause is Cause.FAILED and not place.linked and not self.found.documents
            if failed or place.cause in (Cause.OURS, Cause.WALL):
                return place.told
        return None
