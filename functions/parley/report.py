"""The outcome of an audit: states, statuses, Checks. Plain values; how they are shown is ``render``'s business."""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Final, NamedTuple

REPORT_VERSION: Final = "1"


class State(StrEnum):
    """What was found of a protocol: nothing, some signal, or something found and validated."""

    NOT_DETECTED = "not_detected"
    INDICATED = "indicated"
    CONFIRMED = "confirmed"


class Status(StrEnum):
    """A verdict. ``INFORMATION`` never changes another."""

    INFORMATION = "INFORMATION"
    SUCCESS = "SUCCESS"
    WARNING = "WARNING"
    FAIL = "FAIL"

    @property
    def rank(self) -> int:
        """Its place from harmless to worst."""
        return _RANKS[self]


_RANKS: Final = {status: rank for rank, status in enumerate(Status)}


class Protocol(StrEnum):
    """The protocols a report has a state for."""

    SERVER_CARD = "serverCard"
    MCP = "mcp"
    A2A = "a2a"


class Check(NamedTuple):
    """One outcome of one rule: what was seen, what to do, and the particulars for machines."""

    code: str
    status: Status
    message: str
    recommendation: str
    data: dict[str, object]


class Untested(NamedTuple):
    """A rule that could not be tried, and why."""

    code: str
    reason: str


class AuditorReport(NamedTuple):
    """What one auditor's rules came to. Every one of its codes stands in exactly one of the four lists."""

    name: str
    title: str
    protocol: Protocol | None
    status: Status
    checks: tuple[Check, ...]
    passed: tuple[str, ...]
    not_applicable: tuple[str, ...]
    untested: tuple[Untested, ...]


class ProtocolReport(NamedTuple):
    """A protocol's state, its status, and the few facts that led there.

    ``conclusive`` is False where a bot wall or this auditor's own limits kept the question open. ``details`` are the
    further members that the report has for this protocol, such as ``endpoint`` and ``era``; JSON values.
    """

    state: State
    status: Status
    because: tuple[str, ...]
    conclusive: bool = True
    details: Mapping[str, object] = MappingProxyType({})


class Attempt(NamedTuple):
    """One request as the report lists it: ``outcome`` is ``ok`` or a failure's code; the time is that of all hops."""

    purpose: str
    method: str
    url: str
    http_status: int | None
    outcome: str
    duration_ms: int


class Report(NamedTuple):
    """All auditors' Checks, the states and the attempts.

    ``refusal`` says why the asker is at fault (no URL, or one that may not be visited), ``conclusive`` is False if
    nothing follows from it about the site. ``url`` and ``origin`` are harmless to show; ``origin`` is
    None where there is none. ``audited_at`` is RFC 3339 in UTC.
    """

    url: str
    origin: str | None
    audited_at: str
    duration_ms: int
    status: Status
    protocols: dict[Protocol, ProtocolReport]
    auditors: tuple[AuditorReport, ...]
    attempts: tuple[Attempt, ...]
    refusal: str | None = None
    conclusive: bool = True
