"""Rules on what an Agent Card gives away to everybody who reads it."""

from functools import cached_property
from typing import NamedTuple

from parley.documents import credentials
from parley.documents.agent_card import AgentCard
from parley.documents.credentials import GOOGLE_API_KEY, Credential
from parley.rules.a2a_evidence import V1, A2aEvidence
from parley.rules.rule import Finding, Findings, Given, check


class GivenAway(NamedTuple):
    """A card, and the credentials that it held before they were masked for all other rules."""

    card: AgentCard
    credentials: tuple[Credential, ...]


class A2aSecretRules(A2aEvidence):
    """The rules about credentials in a card."""

    def given_away(self) -> Given[GivenAway]:
        """What every card gives away."""
        return Given(self._given_away, self._missing())

    @cached_property
    def _given_away(self) -> tuple[GivenAway, ...]:
        return tuple(GivenAway(card, credentials.search(self.as_received(card).raw).credentials) for card in self.cards)

    @check(
        350,
        title="Google API key",
        when="The card holds a Google API key.",
        seen="{nameOrUrl} gives away a Google API key in {path}: {masked}.",
        why="A key restricted to one web site may be public; any other is used by whoever reads the card, on its "
        "owner's account. Which it is cannot be seen from outside.",
        recommendation="Take the key out of {path} on {cardUrl}; revoke it unless it is restricted to your own site.",
        spec=f"{V1}#134-general-security-best-practices",
    )
    def check_rule_google_key(self, given_away: GivenAway) -> Findings:
        """Browsers' keys for maps, and keys for models that are billed, look the same."""
        for one in given_away.credentials:
            if one.sort == GOOGLE_API_KEY:
                yield _finding(given_away.card, one)

    @check(
        460,
        title="Embedded credential",
        when="The card holds a credential: a provider's key, a token that is none of its signatures, a private key, "
        "a password in a URL. Examples and placeholders do not count.",
        seen="{nameOrUrl} gives away a credential in {path}: {sort}, {masked}.",
        why="Anybody may read the card, so anybody may use the credential.",
        recommendation="Revoke this credential now, since it is public. Then take it out of {path} on {cardUrl}, and "
        "declare a security scheme, so that clients bring credentials of their own.",
        spec=f"{V1}#134-general-security-best-practices",
    )
    def check_rule_credential(self, given_away: GivenAway) -> Findings:
        """One for each place; never the credential itself."""
        for one in given_away.credentials:
            if one.sort != GOOGLE_API_KEY:
                yield _finding(given_away.card, one, sort=one.sort)


def _finding(card: AgentCard, one: Credential, **more: object) -> Finding:
    path = f"the name of {one.path}" if one.in_name else one.path
    return Finding(cardUrl=card.url, nameOrUrl=card.name_or_url, path=path, masked=one.masked, **more)
