"""An audit: gather the evidence, then judge it."""

import logging
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from typing import Final, Protocol

from parley.documents import ai_catalog, allowance, credentials
from parley.documents.mcp import forget, gate_among
from parley.evidence import Evidence, Exchange, Failure, FailureCode, Request
from parley.probes import a2a, mcp, oauth, server_card
from parley.report import (
    Attempt,
    AuditorReport,
    ProtocolReport,
    Report,
    State,
    Status,
    Untested,
)
from parley.report import Protocol as AuditedProtocol
from parley.rules import AUDITORS
from parley.rules.rule import RuleSet
from parley.target import Target, TargetError, shown
from parley.wire import strict_json
from parley.wire.text import clean
from parley.wire.url import LONGEST

ORIGIN: Final = "https://parley.example"
"""What requests name as their origin, unless the operator has another."""

ROWS: Final = 500
"""Checks that a report holds."""

log = logging.getLogger(__name__)


class Door(Protocol):
    """The way to the network that one audit is given: ``fetch.client.Fetcher``."""

    def admit(self) -> Failure | None:
        """Whether the target may be visited at all; asked before anything is sent to it."""
        ...

    def __call__(self, request: Request) -> Exchange:
        """One request, whatever comes of it; never raises."""
        ...


OpenDoor = Callable[[Target], AbstractContextManager[Door]]


def audit(asked: str, open_door: OpenDoor, *, origin: str = ORIGIN) -> Report:
    """Audit what a person asked about. Whatever is wrong with it is in the report; nothing is raised for it."""
    return judge(gather(asked, open_door, origin=origin))


def gather(
    asked: str, open_door: OpenDoor, *, origin: str = ORIGIN, own_headers: Mapping[str, str] | None = None
) -> Evidence:
    """Ask the network, and record what it said. ``own_headers`` are kept in the record, to be masked in reports."""
    started_at = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    started = time.monotonic()
    target: Target | None = None
    refusal: str | None = None
    exchanges: list[Exchange] = []
    try:
        target = Target.parse(asked)
    except TargetError as error:
        refusal = error.reason
    else:
        with open_door(target) as door:
            failure = door.admit()
            if failure is not None and failure.code is FailureCode.REFUSED:
                refusal = f"{target.url.origin} {failure.reason}"
            else:
                with ThreadPoolExecutor(2, thread_name_prefix="cards") as pool:
                    cards = pool.submit(lambda: list(server_card.gather(target, door, origin)))

                    def found() -> tuple[Exchange, ...]:
                        return allowance.within(cards.result())

                    agents = pool.submit(a2a.gather, target, door, origin, found)
                    said = mcp.gather(target, door, found, agents.result)
                    exchanges.extend([*cards.result(), *said])
                    if (gate := gate_among([*found(), *said], target)) is not None:
                        exchanges.extend(oauth.gather(gate, door, origin))
                    exchanges.extend(agents.result())
    return Evidence(
        asked=shown(asked) if target is None else str(target),
        target=target,
        refusal=refusal,
        started_at=started_at,
        duration_ms=round((time.monotonic() - started) * 1000),
        exchanges=tuple(exchanges),
        own_headers=dict(own_headers or {}),
    )


def judge(evidence: Evidence) -> Report:
    """Let every auditor judge the evidence. Pure: the same evidence gives the same report."""
    try:
        return _judge(credentials.masked(allowance.affordable(evidence)))
    finally:
        forget()
        strict_json.forget()
        ai_catalog.forget()
        credentials.forget()


def _judge(evidence: Evidence) -> Report:
    protocols: dict[AuditedProtocol, ProtocolReport] = {}
    judged = [_judge_one(rules, evidence) for rules in AUDITORS]
    auditors = [report for _, report in judged]
    sound = [rules for rules, _ in judged if rules is not None]
    audited: list[ProtocolReport] = []
    for rules, report in judged:
        if report.protocol is not None and (stated := _stated(rules, report, sound)) is not None:
            status = _worst([stated.status, *(one.status for one in auditors if one.protocol is report.protocol)])
            stated = stated._replace(status=status if stated.conclusive else Status.INFORMATION)
            protocols[report.protocol] = stated
            audited.append(stated)
    detected = [one for one in audited if one.conclusive and one.state is not State.NOT_DETECTED]
    # An absent Agent Card says nothing of a site whose MCP side stayed open.
    settling = [one for protocol, one in protocols.items() if protocol is not AuditedProtocol.A2A] + detected
    conclusive = any(one.conclusive for one in settling)
    undetected = Status.FAIL if conclusive else Status.INFORMATION
    return Report(
        url=clean(evidence.asked, LONGEST),
        origin=evidence.target.origin if evidence.target else None,
        audited_at=evidence.started_at,
        duration_ms=evidence.duration_ms,
        status=_worst([one.status for one in detected]) if detected else undetected,
        protocols=protocols,
        auditors=tuple(_within(ROWS, auditors)),
        attempts=tuple(
            Attempt(
                purpose=clean(exchange.purpose),
                method=exchange.method,
                url=clean(exchange.url, LONGEST),
                http_status=exchange.status,
                outcome=exchange.outcome,
                duration_ms=exchange.duration_ms,
            )
            for exchange in evidence.exchanges
        ),
        refusal=evidence.refusal,
        conclusive=conclusive,
    )


def _worst(statuses: list[Status]) -> Status:
    return max(statuses, key=lambda status: status.rank)


def _within(rows: int, auditors: list[AuditorReport]) -> Iterator[AuditorReport]:
    """Leave out the Checks beyond a report's size, and say so; statuses and states count them all."""
    for auditor in auditors:
        kept = auditor.checks[:rows]
        rows -= len(kept)
        if kept and (more := len(auditor.checks) - len(kept)):
            kept = (*kept[:-1], kept[-1]._replace(message=f"{kept[-1].message} (and {more} more Checks)"))
        yield auditor._replace(checks=kept)


def _judge_one(rules: type[RuleSet], evidence: Evidence) -> tuple[RuleSet | None, AuditorReport]:
    """One auditor's part; should it break altogether, all its rules are untested, and nobody's verdict is worse."""
    try:
        judging = rules(evidence)
        return judging, judging.judge()
    except Exception:
        log.exception("an auditor crashed", extra={"auditor": rules.auditor()})
    untested = tuple(Untested(code=rules.code(row), reason="internal error") for row, _ in rules.rules())
    return None, AuditorReport(
        name=rules.auditor(),
        title=rules.title,
        protocol=rules.protocol,
        status=Status.INFORMATION,
        checks=(),
        passed=(),
        not_applicable=(),
        untested=untested,
    )


def _stated(rules: RuleSet | None, report: AuditorReport, all_rules: list[RuleSet]) -> ProtocolReport | None:
    try:
        if rules is not None:
            return rules.protocol_report(report, all_rules)
    except Exception:
        log.exception("an auditor crashed", extra={"auditor": report.name})
    return ProtocolReport(
        state=State.NOT_DETECTED,
        status=Status.INFORMATION,
        because=("inconclusive: internal error",),
        conclusive=False,
    )
