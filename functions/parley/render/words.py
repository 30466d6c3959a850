"""The words that people read for states, statuses and protocols; the same in the terminal, in text and in the page."""

from typing import Final

from parley.render.report_json import CheckJson, ReportJson

PROTOCOLS: Final = {"serverCard": "MCP Server Card", "mcp": "MCP server", "a2a": "A2A Agent Card"}
STATES: Final = {"not_detected": "not detected", "indicated": "indicated", "confirmed": "confirmed"}
VERDICTS: Final = {"SUCCESS": "success", "WARNING": "warning", "FAIL": "fail", "INFORMATION": "not checked"}

_WORST_FIRST: Final = {"FAIL": 0, "WARNING": 1, "SUCCESS": 2, "INFORMATION": 3}


def worst_first(checks: list[CheckJson]) -> list[CheckJson]:
    """Checks in the order in which a person wants them; of one status as the rules are numbered."""
    return sorted(checks, key=lambda check: _WORST_FIRST[check["status"]])


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
