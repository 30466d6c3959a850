"""What people read of states, statuses and protocols, in the terminal and in text; the page has words of its own."""

from typing import Final

from parley.render.report_json import AuditorJson, CheckJson, ReportJson

PROTOCOLS: Final = {"serverCard": "MCP Server Card", "mcp": "MCP server", "a2a": "A2A Agent Card"}
STATES: Final = {"not_detected": "not detected", "indicated": "indicated", "confirmed": "confirmed"}
VERDICTS: Final = {"SUCCESS": "success", "WARNING": "warning", "FAIL": "fail", "INFORMATION": "not checked"}

LISTED: Final = 16
"""Codes that are listed one by one."""

_WORST_FIRST: Final = {"FAIL": 0, "WARNING": 1, "SUCCESS": 2, "INFORMATION": 3}


def listed(codes: list[str]) -> str:
    """CheckCodes by their numbers; of many, only how many: whoever wants them all takes the JSON."""
    return ", ".join(map(number, codes)) if len(codes) <= LISTED else f"{len(codes)} rules"


def verdict(auditor: AuditorJson) -> str:
    """An auditor's status in a word; one that had nothing to judge is not applicable rather than not checked."""
    if not auditor["checks"] and not auditor["passed"] and not auditor["untested"]:
        return "not applicable"
    return VERDICTS[auditor["status"]]


def worst_first(checks: list[CheckJson]) -> list[CheckJson]:
    """Checks in the order in which a person wants them; of one status as the rules are numbered."""
    return sorted(checks, key=lambda check: _WORST_FIRST[check["status"]])


def found_first(report: ReportJson) -> list[AuditorJson]:
    """The auditors: those of protocols that were found before those that had little to judge."""
    absent = [name for name, protocol in report["protocols"].items() if protocol["state"] == "not_detected"]
    return sorted(report["auditors"], key=lambda auditor: auditor["protocol"] in absent)


def aside(report: ReportJson) -> list[str]:
    """The lines that the report's status does not tell: a protocol that was not found, beside one that was."""
    found = [name for name, protocol in report["protocols"].items() if protocol["state"] != "not_detected"]
    return [
        f"{PROTOCOLS[name]}: not detected, which does not count against the verdict since something else was."
        for name, protocol in report["protocols"].items()
        if found and protocol["state"] == "not_detected" and protocol["status"] == "FAIL"
    ]


def number(code: str) -> str:
    """A CheckCode's number, where the auditor is named beside it."""
    return code.rpartition("-")[2]
