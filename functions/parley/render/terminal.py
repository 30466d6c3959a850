"""The report as a person sees it in a terminal: coloured, in a table as wide as the window."""

from typing import Final, TextIO

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from parley.render.report_json import AuditorJson, ReportJson
from parley.render.words import PROTOCOLS, STATES, VERDICTS, aside, found_first, listed, number, verdict, worst_first
from parley.wire.text import count

_STYLES: Final = {"FAIL": "bold red", "WARNING": "bold yellow", "SUCCESS": "bold green", "INFORMATION": "dim"}
_STATES: Final = {"confirmed": "green", "indicated": "yellow", "not_detected": "dim"}
_NARROW: Final = 90
"""Columns below which a table would be all line breaks."""


def print_report(report: ReportJson, out: TextIO) -> None:
    """Print to a terminal. All text is set as it is: nothing in it is read as markup."""
    console = Console(file=out, highlight=False, soft_wrap=False)
    console.print(_head(report))
    for auditor in found_first(report):
        console.print()
        console.print(Text(auditor["name"], style="bold"), Text(verdict(auditor), _STYLES[auditor["status"]]))
        if auditor["checks"]:
            console.print(_checks(auditor, narrow=console.width < _NARROW))
        console.print(Padding(_rest(auditor), (0, 0, 0, 2)))


def _head(report: ReportJson) -> RenderableType:
    lines: list[RenderableType] = [
        Text.assemble(
            (f" {VERDICTS[report['status']].upper()} ", f"{_STYLES[report['status']]} reverse"),
            " ",
            (report["url"], "bold"),
        ),
        Text(
            f"audited {report['auditedAt']} in {report['durationMs']} ms, {count(len(report['attempts']), 'request')}",
            style="dim",
        ),
        Text(),
    ]
    for name, protocol in report["protocols"].items():
        lines.append(
            Text.assemble((PROTOCOLS[name], "bold"), ": ", (STATES[protocol["state"]], _STATES[protocol["state"]]))
        )
        lines.extend(Padding(Text(fact, style="dim"), (0, 0, 0, 2)) for fact in protocol["because"])
    lines.extend(Text(line, style="italic") for line in aside(report))
    return Group(*lines)


def _checks(auditor: AuditorJson, *, narrow: bool) -> RenderableType:
    checks = worst_first(auditor["checks"])
    if narrow:
        return Group(
            *(
                Padding(
                    Group(
                        Text.assemble((check["status"], _STYLES[check["status"]]), "  ", check["code"]),
                        Padding(Text(check["message"]), (0, 0, 0, 2)),
                        *_advice(check["recommendation"]),
                    ),
                    (0, 0, 0, 2),
                )
                for check in checks
            )
        )
    table = Table(expand=True, pad_edge=False, header_style="dim", row_styles=None, padding=(0, 1), show_lines=True)
    table.add_column("Status", no_wrap=True)
    table.add_column("Code", no_wrap=True)
    table.add_column("What was seen", ratio=3, overflow="fold")
    table.add_column("What to do", ratio=3, overflow="fold")
    for check in checks:
        table.add_row(
            Text(check["status"], style=_STYLES[check["status"]]),
            Text(number(check["code"])),
            Text(check["message"]),
            Text(check["recommendation"], style="cyan"),
        )
    return table


def _advice(recommendation: str) -> list[RenderableType]:
    return [Padding(Text(f"-> {recommendation}", style="cyan"), (0, 0, 0, 2))] if recommendation else []


def _rest(auditor: AuditorJson) -> RenderableType:
    lines = [Text(f"passed: {listed(auditor['passed'])}", style="dim")] if auditor["passed"] else []
    if auditor["notApplicable"]:
        lines.append(Text(f"not applicable: {listed(auditor['notApplicable'])}", style="dim"))
    for reason in dict.fromkeys(one["reason"] for one in auditor["untested"]):
        codes = listed([one["code"] for one in auditor["untested"] if one["reason"] == reason])
        lines.append(Text(f"not tested: {codes} ({reason})", style="dim"))
    return Group(*lines)
