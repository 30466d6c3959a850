"""Real Agent Cards, collected in the field: the verdicts that are about the card itself, against the manifest's.

They are not part of the project; see ``test_documents.py`` for where they are read from.
"""

import csv
import os
from pathlib import Path

import pytest

from agents import CURRENT, LEGACY, AgentSite, auditor, numbered, served
from parley.report import Protocol, State
from parley.rules.a2a_card import A2aCardRules
from parley.rules.a2a_served import A2aServedRules

_FIELD = Path(os.environ.get("PARLEY_FIELD") or Path(__file__).resolve().parents[2].parent / "shared" / "field")
_MANIFEST = _FIELD / "documents" / "manifest.tsv"

# The manifest's words for hard faults, and the codes for them; an empty set is another group of rules' business.
HARD: dict[str, set[int]] = {
    "capabilities-is-array": {416},
    "capability-not-boolean": {425},
    "claims-1.x-without-supportedInterfaces": {423},
    "interface-missing-protocolBinding": {415},
    "interface-missing-protocolVersion": {415},
    "localhost-or-private-url": set(),
    "mcp-endpoint-declared-as-a2a-interface": set(),
    "missing:defaultInputModes": {417},
    "missing:defaultOutputModes": {417},
    "missing:version": {412},
    "not-valid-JSON": {402},
    "openapi-style-securityScheme-in-1.0": set(),
    "plain-http-url": set(),
    "provider-missing-organization": {422},
    "signature-kid-not-in-protected-header": set(),
    "skill-missing:id": {419},
    "skill-missing:tags": {419},
}
SOFT: dict[str, set[int]] = {
    "legacy-authentication-object": {107},
    "legacy-path-agent.json": {300},
    "missing:preferredTransport": {323},
    "mode-not-media-type": {321},
    "protocolVersion-absent(legal-to-0.2.4)": {322},
    "skill-carries-io-schema": {105},
    "unknown-capability-fields": {105},
    "unknown-top-level-fields": {105},
    "v0.3-fields-left-in-1.0-card": {110},
}

# What this auditor tells beyond the manifest's words, and why that is right.
BEYOND: dict[str, set[int]] = {
    # example.com as the agent's own host or its provider's: the specification's examples, not filled in.
    "a2aproject__A2A__2.json": {326},
    "a2aproject__a2a-samples__9.json": {326},
    # A card for both whose 0.x clients are sent to the MCP endpoint by JSONRPC, and 1.0 clients by HTTP+JSON; and of
    # a card that claims 0.3.0 the transport is due, in whichever shape.
    "Agentic-Private-Office__fo-kg-door__1.json": {323, 325},
    # A card for both: the url of its 0.x view is its home page, and that view owes a version too.
    "koala73__worldmonitor__4.json": {322, 325},
}
# Its one unknown member is x-zynd, a name that says itself that it is the vendor's own.
NOT_UNKNOWN = "ANAMASGARD__Stitch__1.json"

UNKNOWN = 105
"""Told of more than the manifest's words name: of provider, interfaces and skills too."""


def _rows() -> list[dict[str, str]]:
    if not _MANIFEST.is_file():
        return []
    with _MANIFEST.open(encoding="utf-8", newline="") as file:
        return [row for row in csv.DictReader(file, delimiter="\t") if row["kind"] == "agent-card"]


@pytest.fixture(autouse=True, scope="module")
def _field() -> None:
    if not _MANIFEST.is_file():
        pytest.skip(f"NO FIELD DOCUMENTS: {_MANIFEST} is not there; set PARLEY_FIELD to their folder")


def test_the_field_is_read() -> None:
    assert len(_rows()) >= 40


def _told(row: dict[str, str]) -> tuple[list[int], State, object]:
    path = LEGACY if row["path"].endswith(".well-known/agent.json") else CURRENT
    document = (_MANIFEST.parent / row["file"]).read_bytes()
    report = AgentSite({path: served(document)}).audit()
    ours = {row.number for rules in (A2aCardRules, A2aServedRules) for row, _ in rules.rules()}
    told = [number for number in numbered(auditor(report)) if number in ours - {100, 101, 106}]
    one = report.protocols[Protocol.A2A]
    return told, one.state, one.details.get("shape")


SHAPES = {
    "0.2-shaped (undeclared)": "0.2",
    "0.2.x": "0.2",
    "0.3.x": "0.3",
    "0.3-shape claiming 1.x": "0.3",
    "1.0-shaped": "1.0",
    "hybrid 0.3+1.0": "hybrid",
}


@pytest.mark.parametrize("row", _rows(), ids=lambda row: row["file"].partition("/")[2])
def test_agent_card(row: dict[str, str]) -> None:
    told, state, shape = _told(row)
    verdict, _, rest = row["note"].partition(": ")
    hard, *others = [part.strip() for part in rest.split(" | ")]
    soft = next((part.removeprefix("soft: ").split("; ") for part in others if part.startswith("soft: ")), [])
    if verdict == "NOT-THIS-FORMAT":
        assert told == [403]
        is_at_older_path = row["path"].endswith(".well-known/agent.json")
        assert (state, shape) == (State.NOT_DETECTED if is_at_older_path else State.INDICATED, None)
        return
    assert shape == SHAPES.get(row["apparent_version"])
    faults = set(hard.split("; ")) if verdict == "INVALID" else set()
    assert faults <= set(HARD), "a fault that the test has no code for"
    expected = {number for fault in faults for number in HARD[fault]}
    expected |= {number for word in soft for number in SOFT.get(word, set())}
    expected |= BEYOND.get(row["file"].partition("/")[2], set())
    if "stateTransitionHistory-in-1.0" in soft and shape == "1.0":
        expected |= {110}  # in a card for both it is the 0.x view's
    assert set(told) - {UNKNOWN} == expected - {UNKNOWN}
    assert UNKNOWN in told or UNKNOWN not in expected or row["file"].endswith(NOT_UNKNOWN)
    blocked = any(number in {402, 410, 411, 412, 415, 416, 417, 418, 419, 423, 424} for number in told)
    assert state is (State.INDICATED if blocked else State.CONFIRMED)
