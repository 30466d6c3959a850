"""The report as plain text, for a pipe, a log or an e-mail."""

from collections.abc import Iterator

from parley.render.report_json import ReportJson
from parley.render.words import PROTOCOLS, STATES, VERDICTS, aside, found_first, listed, verdict, worst_first
from parley.wire.text import count


def text(report: ReportJson) -> str:
    """Lines of any length, without colour; ends with a newline."""
    return "\n".join(_lines(report)) + "\n"


def _lines(report: ReportJson) -> Iterator[str]:
    yield f"{report['url']}: {VERDICTS[report['status']].upper()}"
    yield f"audited {report['auditedAt']} in {report['durationMs']} ms, {count(len(report['attempts']), 'request')}"
    yield ""
    for name, protocol in report["protocols"].items():
        yield f"{PROTOCOLS[name]}: {STATES[protocol['state']]}"
        for fact in protocol["because"]:
            yield f"  {fact}"
    yield from aside(report)
    for auditor in found_first(report):
        yield ""
        yield f"{auditor['name']}: {verdict(auditor)}"
        for check in worst_first(auditor["checks"]):
            yield f"  {check['status']:<11} {check['code']}"
            yield f"    {check['message']}"
            if check["recommendation"]:
                yield f"    -> {check['recommendation']}"
        if auditor["passed"]:
            yield f"  passed: {listed(auditor['passed'])}"
        if auditor["notApplicable"]:
            yield f"  not applicable: {listed(auditor['notApplicable'])}"
        reasons = dict.fromkeys(one["reason"] for one in auditor["untested"])
        for reason in reasons:
            codes = [one["code"] for one in auditor["untested"] if one["reason"] == reason]
            yield f"  not tested: {listed(codes)} ({reason})"
