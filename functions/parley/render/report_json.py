"""The report's JSON: the contract that the API, the store and every other format build on."""

import json
from typing import TypedDict

from parley.report import REPORT_VERSION, AuditorReport, Protocol, Report


class CheckJson(TypedDict):
    """A Check."""

    code: str
    status: str
    message: str
    recommendation: str
    data: dict[str, object]


class UntestedJson(TypedDict):
    """A rule that could not be tried, and why."""

    code: str
    reason: str


class AuditorJson(TypedDict):
    """What one auditor's rules came to."""

    name: str
    protocol: str | None
    title: str
    status: str
    checks: list[CheckJson]
    passed: list[str]
    notApplicable: list[str]
    untested: list[UntestedJson]


class ProtocolJson(TypedDict):
    """A protocol's state, status, and the facts that led there; some protocols have further members."""

    state: str
    status: str
    because: list[str]


class AttemptJson(TypedDict):
    """One request."""

    purpose: str
    method: str
    url: str
    httpStatus: int | None
    outcome: str
    durationMs: int


class ReportJson(TypedDict):
    """The whole report, version 1."""

    reportVersion: str
    url: str
    origin: str | None
    auditedAt: str
    durationMs: int
    status: str
    protocols: dict[str, ProtocolJson]
    auditors: list[AuditorJson]
    attempts: list[AttemptJson]


def report_json(report: Report) -> ReportJson:
    """The report in the shape that is promised to others."""
    return {
        "reportVersion": REPORT_VERSION,
        "url": report.url,
        "origin": report.origin,
        "auditedAt": report.audited_at,
        "durationMs": report.duration_ms,
        "status": report.status.value,
        "protocols": {
            protocol.value: {
                "state": report.protocols[protocol].state.value,
                "status": report.protocols[protocol].status.value,
                "because": list(report.protocols[protocol].because),
                **report.protocols[protocol].details,  # type: ignore[typeddict-item]
            }
            for protocol in Protocol
        },
        "auditors": [_auditor(auditor) for auditor in report.auditors],
        "attempts": [
            {
                "purpose": attempt.purpose,
                "method": attempt.method,
                "url": attempt.url,
                "httpStatus": attempt.http_status,
                "outcome": attempt.outcome,
                "durationMs": attempt.duration_ms,
            }
            for attempt in report.attempts
        ],
    }


def encode(report: ReportJson, *, indent: int | None = None) -> bytes:
    """UTF-8, with a final newline where it is for reading."""
    separators = (",", ":") if indent is None else None
    text = json.dumps(report, ensure_ascii=False, indent=indent, separators=separators)
    return (text + ("" if indent is None else "\n")).encode("utf-8", "backslashreplace")


def _auditor(auditor: AuditorReport) -> AuditorJson:
    return {
        "name": auditor.name,
        "protocol": None if auditor.protocol is None else auditor.protocol.value,
        "title": auditor.title,
        "status": auditor.status.value,
        "checks": [
            {
                "code": check.code,
                "status": check.status.value,
                "message": check.message,
                "recommendation": check.recommendation,
                "data": check.data,
            }
            for check in auditor.checks
        ],
        "passed": list(auditor.passed),
        "notApplicable": list(auditor.not_applicable),
        "untested": [{"code": one.code, "reason": one.reason} for one in auditor.untested],
    }
