"""Real Agent Cards, collected in the field: what is said of their security and interfaces, against the manifest's words.

They are not part of the project; see ``test_documents.py`` for where they are read from.
"""

import csv
import os
from pathlib import Path

import pytest

from agents import CURRENT, LEGACY, AgentSite, auditor, numbered, served
from parley.rules.a2a_interfaces import A2aInterfaceRules
from parley.rules.a2a_live import A2aLiveRules
from parley.rules.a2a_security import A2aSecurityRules

_FIELD = Path(os.environ.get("PARLEY_FIELD") or Path(__file__).resolve().parents[2].parent / "shared" / "field")
_MANIFEST = _FIELD / "documents" / "manifest.tsv"

ASKED = {row.number for row, _ in A2aLiveRules.rules()}
OURS = {row.number for rules in (A2aSecurityRules, A2aInterfaceRules, A2aLiveRules) for row, _ in rules.rules()}
FACTS = {131, 139, 150}
"""Of a host that is not the card's own, since all are served from one; and of what the made-up agent answers."""

# The manifest's words, and the codes for them.
WORDS: dict[str, set[int]] = {
    "claims-1.x-without-supportedInterfaces": set(),
    "dev-tunnel-host": {367},
    "interface-protocolVersion-not-major.minor": {430},
    "localhost-or-private-url": {434},
    "openapi-style-securityScheme-in-1.0": {443},
    "openapi-style-securityScheme-in-hybrid": {344},
    "plain-http-url": {432},
    "unknown-preferredTransport": {360},
}

# Of single cards: what the manifest has no word for, or one word for several codes.
ALSO: dict[str, set[int]] = {
    # Two entries have a version of MCP; a scheme is of the type noAuth, and only security requires one.
    "Agentic-Private-Office__fo-kg-door__1.json": {343, 430, 445},
    "abdulazizalrayes__stratasaudi-website__1.json": {431},
    "craigericksondpo__Yo-ai__3.json": {342, 382},
    "craigericksondpo__Yo-ai__5.json": set(),
    "craigericksondpo__Yo-ai__7.json": {342, 382},
    "craigericksondpo__Yo-ai__9.json": {342},
    # Only clients of 1.0 are told of a requirement, and in the words of 0.x.
    "koala73__worldmonitor__4.json": {343},
    # Only clients of 0.x are told of a requirement, and only those of 1.0 can read its scheme; the transport is REST.
    "prassanna-ravishankar__a2a-registry__28.json": {343, 344, 360},
}


def _rows() -> list[dict[str, str]]:
    if not _MANIFEST.is_file():
        return []
    with _MANIFEST.open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file, delimiter="\t") if row["kind"] == "agent-card"]
    return [row for row in rows if not row["note"].startswith(("NOT-THIS-FORMAT", "INVALID: not-valid-JSON"))]


@pytest.fixture(autouse=True, scope="module")
def _field() -> None:
    if not _MANIFEST.is_file():
        pytest.skip(f"NO FIELD DOCUMENTS: {_MANIFEST} is not there; set PARLEY_FIELD to their folder")


def test_the_field_is_read() -> None:
    assert len(_rows()) >= 30


@pytest.mark.parametrize("row", _rows(), ids=lambda row: row["file"].partition("/")[2])
def test_agent_card(row: dict[str, str]) -> None:
    path = LEGACY if row["path"].endswith(".well-known/agent.json") else CURRENT
    document = (_MANIFEST.parent / row["file"]).read_bytes()
    report = auditor(AgentSite({path: served(document)}).audit())
    told = {number for number in numbered(report) if number in OURS - FACTS}
    note = row["note"].replace("INVALID: ", "").replace("soft: ", "").replace(" | ", "; ")
    expected = {number for word in note.split("; ") for number in WORDS.get(word, set())}
    expected |= ALSO.get(row["file"].partition("/")[2], set())
    is_production = b'"securitySchemes"' not in document and 434 not in told and 432 not in told
    assert told == expected | ({341} if is_production else set())
    untested = {int(one.code.rpartition("-")[2]) for one in report.untested}
    assert untested <= ASKED  # many cards name several interfaces, or one over HTTP, which this site knows nothing of
