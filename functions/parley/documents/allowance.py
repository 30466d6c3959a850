"""How much of the cards of one audit is read: a site says how many there are, and how long reading them takes."""

from collections.abc import Sequence
from typing import Final

from parley.documents import agent_card, server_card
from parley.evidence import Evidence, Exchange, Failure, FailureCode
from parley.wire import strict_json

READ: Final = 3_000_000
"""What is read of one audit's cards together, and of what they name: bytes, and ``PER_VALUE`` for each value.

One card fits, be it as large and as full as a body may be, or any number of usual ones: a thousand of 2 kB.
"""

PER_VALUE: Final = 6
"""As many bytes of text take as long to judge as one value of JSON."""

UNREAD: Final = "was not read: the cards of this audit are more than is read for one"

_ORDER: Final = (
    agent_card.Purpose.ASKED,
    agent_card.Purpose.CURRENT,
    agent_card.Purpose.LEGACY,
    server_card.Purpose.ASKED,
    server_card.Purpose.RESERVED,
    server_card.Purpose.CATALOG,
    agent_card.Purpose.EXTENDED,
    agent_card.Purpose.NO_VERSION,
    agent_card.Purpose.OPENID,
    agent_card.Purpose.OAUTH,
    agent_card.Purpose.KEYS,
    agent_card.Purpose.SIBLING,
    agent_card.Purpose.LINK,
    server_card.Purpose.LINK,
)
"""What is read first: what the site itself names last cannot keep the rest from being read."""


def weight(body: bytes) -> int:
    """How long a body takes to be judged, in bytes of text."""
    return len(body) + PER_VALUE * min(strict_json.marks(body), 2 * strict_json.NODES)


def within(exchanges: Sequence[Exchange]) -> tuple[Exchange, ...]:
    """The exchanges, those beyond the allowance as ones that this auditor could not have. The same body counts once."""
    if sum(len(one.body) for one in exchanges) <= READ // (1 + PER_VALUE):
        return tuple(exchanges)
    left = READ
    known: dict[bytes, bool] = {}
    for _, one in sorted(
        ((_ORDER.index(one.purpose), one) for one in exchanges if one.purpose in _ORDER), key=lambda pair: pair[0]
    ):
        if one.answered == 200 and one.body not in known:
            known[one.body] = is_read = (costs := weight(one.body)) <= left
            left -= costs if is_read else 0
    unread = Failure(code=FailureCode.INTERNAL, reason=UNREAD)
    return tuple(
        one._replace(body=b"", failure=unread)
        if one.purpose in _ORDER and one.answered == 200 and not known[one.body]
        else one
        for one in exchanges
    )


def affordable(evidence: Evidence) -> Evidence:
    """The evidence with the exchanges that are :func:`within` the allowance."""
    return evidence._replace(exchanges=within(evidence.exchanges))
