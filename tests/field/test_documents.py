"""Real documents, collected in the field: every verdict against what a person found wrong with them.

They are not part of the project. They are read from ``PARLEY_FIELD``, or from ``shared/field`` beside the checkout.
"""

import csv
import json
import os
from pathlib import Path

import pytest

from parley.evidence import FailureCode
from sites import HOST, Answer, Site, numbers, served

_FIELD = Path(os.environ.get("PARLEY_FIELD") or Path(__file__).resolve().parents[2].parent / "shared" / "field")
_MANIFEST = _FIELD / "documents" / "manifest.tsv"

AUDITOR = "37A-McpServerCardAuditor"
FIRST = "/.well-known/mcp/server-card.json"
CATALOG = f"{HOST}/.well-known/ai-catalog.json"

# The manifest's words for faults that this auditor has a code for.
CODES = {
    "missing:$schema": 402,
    "wrong-$schema": 403,
    "missing:name": 404,
    "name-not-reverse-dns": 405,
    "missing:version": 406,
    "missing:description": 408,
    "description-over-100": 409,
}

# Faults by the schema for which the fixed codes of this auditor have none: another auditor's business.
NOT_OURS = {"repository-not-object"}


def _rows(*kinds: str) -> list[dict[str, str]]:
    if not _MANIFEST.is_file():
        return []
    with _MANIFEST.open(encoding="utf-8", newline="") as file:
        return [row for row in csv.DictReader(file, delimiter="\t") if row["kind"] in kinds]


def _document(row: dict[str, str]) -> bytes:
    return (_MANIFEST.parent / row["file"]).read_bytes()


@pytest.fixture(autouse=True, scope="module")
def _field() -> None:
    if not _MANIFEST.is_file():
        pytest.skip(f"NO FIELD DOCUMENTS: {_MANIFEST} is not there; set PARLEY_FIELD to their folder")


def test_the_field_is_read() -> None:
    assert len(_rows("server-card")) >= 10
    assert len(_rows("ai-catalog", "mcp-catalog")) >= 10


@pytest.mark.parametrize("row", _rows("server-card"), ids=lambda row: row["file"])
def test_server_card(row: dict[str, str]) -> None:
    verdict, _, rest = row["note"].partition(": ")
    faults = {fault.strip() for fault in rest.partition(" | ")[0].split(";")} if verdict == "INVALID" else set()
    assert faults <= {*CODES, *NOT_OURS}, "a fault that the test has no code for"
    expected = sorted(CODES[fault] for fault in faults - NOT_OURS)
    assert numbers(Site({FIRST: served(_document(row))}).audit(), AUDITOR) == [100, *(expected or [200])]


@pytest.mark.parametrize("row", _rows("ai-catalog", "mcp-catalog"), ids=lambda row: row["file"])
def test_catalog(row: dict[str, str]) -> None:
    """Links to cards are followed, everything else is passed over, and the catalog itself draws no finding."""
    document = json.loads(_document(row))
    listed = document.get("entries", []) if isinstance(document, dict) else []
    cards = [
        entry for entry in listed if "application/mcp-server-card+json" in (entry.get("type"), entry.get("mediaType"))
    ]
    site = Site({CATALOG: Answer(body=_document(row))})
    report = site.audit()
    links = [entry["url"] for entry in cards if "url" in entry]
    assert site.asked[1 : 1 + len(links)] == links
    assert numbers(report, AUDITOR) == [100, 400]
    assert bool(links) == (report.protocols[report.auditors[0].protocol].state == "indicated")  # type: ignore[index]


def test_nothing_else_is_a_card() -> None:
    """What is found at the paths of other formats is not asked for."""
    site = Site({"/.well-known/mcp.json": Answer(failure=(FailureCode.INTERNAL, "was asked for"))})
    site.gather()
    assert f"{HOST}/.well-known/mcp.json" not in site.asked
