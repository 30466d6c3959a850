"""Places where a document was looked for and not obtained, and why."""

from collections.abc import Iterable
from enum import Enum, auto
from typing import NamedTuple

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


def kept_waiting(exchanges: Iterable[Exchange]) -> bool:
    """Whether the target let this audit wait: time that went there is no limit of the auditor's own."""
    return any(exchange.failure is not None and exchange.failure.code is FailureCode.TIMEOUT for exchange in exchanges)


def location(exchange: Exchange, absent: str, *, linked: bool, waited: bool) -> Location:
    """Why an exchange gave no document. ``absent`` says what is wrong with a whole answer of status 200.

    ``waited`` is :func:`kept_waiting` of the audit's exchanges.
    """
    wall = bot_wall(exchange)
    if exchange.failure is not None:
        reason = clean(exchange.failure.reason, 400)
        cause = Cause.OURS if _is_ours(exchange, exchange.failure.code, waited) else Cause.FAILED
    elif wall:
        reason, cause = f"answered {exchange.status} from behind a bot wall ({wall})", Cause.WALL
    elif exchange.status != 200:
        reason, cause = f"answered {exchange.status}", Cause.ABSENT
    else:
        reason, cause = absent, Cause.ABSENT
    return Location(url=exchange.url, reason=reason, cause=cause, linked=linked)


def _is_ours(exchange: Exchange, code: FailureCode, waited: bool) -> bool:
    """Whether it was this auditor that could not look, so that nothing follows about the site."""
    if code is FailureCode.BUDGET:
        return not waited
    if code is FailureCode.BAD_ENCODING:  # others may read an encoding that this client neither asks for nor knows
        return (exchange.header("content-encoding") or "").strip().lower() not in ("gzip", "x-gzip")
    return code is FailureCode.INTERNAL
