"""The catalogue of all CheckCodes, made from the rules themselves: for the API, for people, and CHECKS.md."""

import json
from collections.abc import Iterator
from typing import Final, TypedDict

from parley.documents import agent_card, oauth
from parley.documents.mcp_plan import PAGES, PLAN, TOOL_PAGES
from parley.rules import AUDITORS

SPEECH: Final = {"INFORMATION": "information", "SUCCESS": "success", "WARNING": "warning", "FAIL": "fail"}


class CatalogueRow(TypedDict):
    """What is said of a rule. ``message`` and ``recommendation`` are templates with ``{places}``."""

    code: str
    auditor: str
    protocol: str | None
    status: str
    title: str
    when: str
    why: str
    message: str
    recommendation: str
    specification: str
    blocksConfirmed: bool


def catalogue() -> list[CatalogueRow]:
    """Every rule of every auditor, by auditor and number."""
    return [
        {
            "code": rules.code(row),
            "auditor": rules.auditor(),
            "protocol": None if rules.protocol is None else rules.protocol.value,
            "status": row.status.value,
            "title": row.title,
            "when": row.when,
            "why": row.why,
            "message": _template(row.seen),
            "recommendation": _template(row.recommendation),
            "specification": row.spec,
            "blocksConfirmed": row.blocks,
        }
        for rules in AUDITORS
        for row in sorted((row for row, _ in rules.rules()), key=lambda row: row.number)
    ]


def checks_text() -> str:
    """The catalogue as plain text."""
    return "".join(f"{row['code']:<32} {SPEECH[row['status']]:<12} {row['when']}\n" for row in catalogue())


def checks_json() -> str:
    """The catalogue as JSON, indented."""
    return json.dumps({"checks": catalogue()}, indent=2, ensure_ascii=False) + "\n"


def checks_markdown() -> str:
    """CHECKS.md."""
    return "\n".join(_markdown())


def _markdown() -> Iterator[str]:
    yield "<!-- Made from the rules by `make catalogue`; a test fails when it is stale. Edit the rules, not this. -->"
    yield ""
    yield "# Checks"
    yield ""
    yield "Every CheckCode, when it fires, why it matters and what to do. The number's range is the status: 100-199"
    yield "information, 200 success, 300-399 warning, 400-499 fail. A code is never reused for another meaning."
    rows = catalogue()
    for rules in AUDITORS:
        yield ""
        yield f"## {rules.title}: `{rules.auditor()}`"
        for row in rows:
            if row["auditor"] != rules.auditor():
                continue
            yield ""
            yield f"### {row['code']}"
            yield ""
            blocks = "; keeps the protocol from being *confirmed*" if row["blocksConfirmed"] else ""
            yield f"**{row['title']}** ({SPEECH[row['status']]}{blocks}). {row['when']}"
            yield ""
            yield f"*Why it matters.* {row['why']}"
            if row["recommendation"]:
                yield ""
                yield f"*What to do.* {_escaped(row['recommendation'])}"
            yield ""
            yield f"[Specification]({row['specification']})"
    yield from _plan()
    yield ""


def _plan() -> Iterator[str]:
    yield ""
    yield "## What is asked of an MCP endpoint"
    yield ""
    yield "Every request of the MCP server auditor, in the order in which they are begun: where an audit's means run"
    yield "out, what stands last is dropped, and the rules it serves are *untested*. Lists are read page by page, tools"
    yield f"up to {TOOL_PAGES} pages and others up to {PAGES}. Nothing else is ever sent, and no tool is ever called."
    yield "Rules on responses as such (their JSON-RPC, media types, error codes and events) judge all of them."
    yield ""
    yield "| request | method | era | when | serves |"
    yield "| --- | --- | --- | --- | --- |"
    for step in PLAN:
        serves = ", ".join(str(number) for number in sorted(step.serves))
        yield f"| {step.purpose} | `{step.call}` | {step.era} | {step.when or 'always'} | {serves} |"
    yield ""
    yield "## What is asked where an endpoint asks for authorization"
    yield ""
    yield "Every request of the MCP authorization auditor, in two steps: the metadata first, and all else side by side."
    yield "Nothing is ever sent to an authorization, token or registration endpoint."
    yield ""
    yield "| request | at most | when | serves |"
    yield "| --- | --- | --- | --- |"
    for hop in oauth.PLAN:
        yield f"| {hop.purpose} | {hop.most} | {hop.when} | {', '.join(map(str, hop.serves))} |"
    yield ""
    yield "## What is asked about an A2A Agent Card"
    yield ""
    yield "Every request of the A2A auditor, in the order in which they are begun; what need not wait is made side by"
    yield "side. Without an Agent Card nothing further is asked. No message is ever sent to an agent."
    yield ""
    yield "| request | method | at most | when |"
    yield "| --- | --- | --- | --- |"
    for one in agent_card.PLAN:
        yield f"| {one.purpose} | `{one.call}` | {one.most} | {one.when} |"


def _template(text: str) -> str:
    return text.replace("{{", "{").replace("}}", "}")


def _escaped(text: str) -> str:
    return text.replace("<", "&lt;").replace("*", "\\*")
