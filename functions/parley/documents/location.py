"""Places where a document was looked for and not obtained, and why."""

from collections.abc import Iterable, Sequence
from enum import Enum, auto
from typing import Final, NamedTuple

from parley.documents.bot_wall import bot_wall
from parley.evidence import Exchange, FailureCode
from parley.wire.text import clean


class Cause(Enum):
    """Why a location gave no card: there is none, no whole answer came, a bot wall stood before it, or we could not."""

    ABSENT = auto()
    FAILED = auto()
    WALL = auto()
    OURS = auto()


class Location(NamedTuple):
    """A place where no card was obtained, and why: ``answered 404``. ``linked`` tells that a catalog pointed there."""

    url: str
    reason: str
    cause: Cause
    linked: bool

    @property
    def told(self) -> str:
        """The location and the reason, for people."""
        return f"{clean(self.url)}: {self.reason}"


def first_told(locations: Iterable[Location], cause: Cause) -> str | None:
    """The first location that gave no document for this cause, and the reason."""
    return next((place.told for place in locations if place.cause is cause), None)


def open_question(locations: Sequence[Location]) -> str | None:
    """Why it stays open whether there is a document: this auditor's own limits, or a bot wall; None if it does not."""
    wall = first_told(locations, Cause.WALL)
    return first_told(locations, Cause.OURS) or (wall and f"GET {wall}")


FLOODS: Final = 4
"""Answers that are too large, after which it is the target that spent an audit's bytes."""


def overtaxed(exchanges: Iterable[Exchange]) -> bool:
    """Whether the target let this audit wait, or flooded it: what went there is no limit of the auditor's own."""
    failures = [exchange.failure.code for exchange in exchanges if exchange.failure is not None]
    return FailureCode.TIMEOUT in failures or failures.count(FailureCode.TOO_LARGE) >= FLOODS


def location(exchange: Exchange, absent: str, *, linked: bool, by_target: bool) -> Location:
    """Why an exchange gave no document. ``absent`` says what is wrong with a whole answer of status 200.

    ``by_target`` is :func:`overtaxed` of the audit's exchanges: whether what it lacked, the target had used up.
    """
    wall = bot_wall(exchange)
    if exchange.failure is not None:
        reason = clean(exchange.failure.reason, 400)
        cause = Cause.OURS if _is_ours(exchange, exchange.failure.code, by_target) else Cause.FAILED
    elif wall:
        reason, cause = f"answered {exchange.status} from behind a bot wall ({wall})", Cause.WALL
    elif exchange.status != 200:
        reason, cause = f"answered {exchange.status}", Cause.ABSENT
    else:
        reason, cause = absent, Cause.ABSENT
    return Location(url=exchange.url, reason=reason, cause=cause, linked=linked)


def _is_ours(exchange: Exchange, code: FailureCode, by_target: bool) -> bool:
    """Whether it was this auditor that could not look, so that nothing follows about the site."""
    if code is FailureCode.BUDGET:
        return not by_target
    if code is FailureCode.BAD_ENCODING:  # others may read an encoding that this client neither asks for nor knows
        return (exchange.header("content-encoding") or "").strip().lower() not in ("gzip", "x-gzip")
    return code is FailureCode.INTERNAL
