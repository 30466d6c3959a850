"""Reports as people read them in a pipe and in a terminal."""

import io

import agents
from parley.render.report_json import report_json
from parley.render.terminal import print_report
from parley.render.text import text
from sites import HOST, Site, card, served

CARD = "/.well-known/mcp/server-card.json"


def shown_in_a_terminal(site: Site) -> str:
    out = io.StringIO()
    print_report(report_json(site.audit(HOST)), out)
    return out.getvalue()


def test_worst_first_and_every_list() -> None:
    lines = text(report_json(Site({CARD: served(card(name="x"), content_type="text/plain")}).audit())).splitlines()
    statuses = [line.split()[0] for line in lines if line.startswith(("  FAIL", "  WARNING", "  INFORMATION"))]
    first = statuses[: statuses.index("INFORMATION") + 1]
    assert first == ["FAIL", "WARNING", "INFORMATION"]
    assert any(line.startswith("  passed: 400, 401, 402") for line in lines)
    assert any(line.startswith("  not applicable: 200") for line in lines)


def test_what_was_found_comes_first() -> None:
    report = report_json(agents.site(agents.V1).audit())
    assert next(line for line in text(report).splitlines() if line.startswith(("37A-", "PARLEY-"))).startswith(
        "PARLEY-A2aAgentCardAuditor: "
    )
    shown = shown_in_a_terminal(agents.site(agents.V1))
    assert shown.index("PARLEY-A2aAgentCardAuditor") < shown.index("37A-McpServerCardAuditor")


def test_an_auditor_without_checks_has_no_table() -> None:
    lines = shown_in_a_terminal(Site({})).splitlines()
    at = next(number for number, line in enumerate(lines) if line.startswith("PARLEY-McpAuthAuditor"))
    assert lines[at + 1].strip().startswith("not applicable")


def test_an_auditor_with_nothing_to_judge_is_not_applicable() -> None:
    assert "\nPARLEY-McpAuthAuditor: not applicable\n" in text(report_json(Site({}).audit()))
    assert "PARLEY-McpAuthAuditor not applicable" in shown_in_a_terminal(Site({}))


def test_markup_in_a_report_is_text() -> None:
    assert "[bold red]x" in shown_in_a_terminal(Site({CARD: served(card(name="[bold red]x"))})).replace("\n", "")
