"""Real metadata documents, collected in the field: every verdict against what a person found wrong with them.

They are not part of the project. They are read from ``PARLEY_FIELD``, or from ``shared/field`` beside the checkout.
"""

import csv
import json
import os
from pathlib import Path

import pytest

from gated import JSON, PRM, GatedSite, faults, judged, refused
from sites import Answer

_FIELD = Path(os.environ.get("PARLEY_FIELD") or Path(__file__).resolve().parents[2].parent / "shared" / "field")
_MANIFEST = _FIELD / "documents" / "manifest.tsv"

# The manifest's words, and the codes that this auditor has for them.
CODES = {
    "not-valid-JSON": 404,
    "missing:code_challenge_methods_supported": 413,
    "no-S256": 413,
    "missing:response_types_supported": 412,
    "empty-array-member": 302,
    "null-member": 302,
    "neither-CIMD-nor-DCR": 308,
    # One URL may do both by the text of RFC 6749, so that this is a warning.
    "authorize-equals-token-endpoint": 316,
}

# What is no fault by the formats' texts, or is told as information.
NO_FAULT = {
    "unregistered-members",  # both formats allow further members
    "no-CIMD-flag",  # by itself; with no DCR either it is 308, with DCR it is 307
    "no-iss-parameter-flag",  # 106, information
    "resource-is-bare-origin",  # the documents are put where that is right: at the origin's own endpoint
    "PRM-published-for-open-resource",  # an open server is asked for no metadata
}

# What there is besides the manifest's words: its author did not look for it.
BESIDES = {
    "as-metadata/SunrisesIllNeverSee__Mos2es_Signomy__1.json": [307],  # DCR without CIMD
}


def _rows(kind: str) -> list[dict[str, str]]:
    if not _MANIFEST.is_file():
        return []
    with _MANIFEST.open(encoding="utf-8", newline="") as file:
        return [row for row in csv.DictReader(file, delimiter="\t") if row["kind"] == kind]


def _expected(row: dict[str, str]) -> list[int]:
    words = {
        word.strip()
        for part in row["note"].split(" | ")
        for word in part.partition(": ")[2].split(";")
        if part.startswith(("INVALID", "soft"))
    }
    unknown = words - set(CODES) - NO_FAULT
    assert not unknown, f"words that the test has no code for: {unknown}"
    return sorted({CODES[word] for word in words & set(CODES)} | set(BESIDES.get(row["file"], [])))


@pytest.fixture(autouse=True, scope="module")
def _field() -> None:
    if not _MANIFEST.is_file():
        pytest.skip(f"NO FIELD DOCUMENTS: {_MANIFEST} is not there; set PARLEY_FIELD to their folder")


def test_the_field_is_read() -> None:
    assert len(_rows("prm")) >= 5
    assert len(_rows("as-metadata")) >= 3


def _issuer(origin: str) -> dict[str, object]:
    return {
        "issuer": origin,
        "authorization_endpoint": f"{origin}/authorize",
        "token_endpoint": f"{origin}/token",
        "response_types_supported": ["code"],
        "code_challenge_methods_supported": ["S256"],
        "client_id_metadata_document_supported": True,
    }


def _site(origin: str, metadata: object, issuer: str, server: object) -> GatedSite:
    """A gated endpoint at an origin's root, which is what all these documents name."""
    right = 'Bearer error="invalid_token", scope="x"'
    return GatedSite(
        {
            f"{origin}/": refused(f'Bearer scope="x", resource_metadata="{origin}{PRM}"'),
            f"OPTIONS {origin}/": Answer(
                status=204,
                headers={"access-control-allow-origin": "*", "access-control-allow-headers": "authorization, *"},
            ),
            f"TOKEN {origin}/": refused(right),
            f"{origin}{PRM}": Answer(body=metadata, headers=JSON),
            f"{issuer}/.well-known/oauth-authorization-server": Answer(body=server, headers=JSON),
        }
    )


@pytest.mark.parametrize("row", _rows("prm"), ids=lambda row: row["file"])
def test_protected_resource_metadata(row: dict[str, str]) -> None:
    body = (_MANIFEST.parent / row["file"]).read_bytes()
    document = json.loads(body) if row["file"].endswith(".json") else {}
    origin = document.get("resource", "https://field.example")
    issuer = document.get("authorization_servers", ["https://auth.example"])[0]
    site = _site(origin, body, issuer, _issuer(issuer))
    assert faults(judged(site, origin)) == _expected(row)


@pytest.mark.parametrize("row", _rows("as-metadata"), ids=lambda row: row["file"])
def test_authorization_server_metadata(row: dict[str, str]) -> None:
    body = (_MANIFEST.parent / row["file"]).read_bytes()
    issuer = json.loads(body)["issuer"]
    metadata = {"resource": "https://field.example", "authorization_servers": [issuer]}
    site = _site("https://field.example", metadata, issuer, body)
    assert faults(judged(site, "https://field.example")) == _expected(row)
