"""What a card gives away: one finding for each place, and never the thing itself."""

import json

import pytest

from parley.documents import credentials
from parley.documents.agent_card import Purpose
from parley.evidence import Evidence, Request
from parley.report import AuditorReport
from parley.rules.a2a_secrets import A2aSecretRules
from parley.target import Target
from sites import HOST, Answer, Site, catalog

# In two pieces, for those who search this repository.
GITHUB = "ghp_" + "9aKq0Vt3LmXz71BdWcYhRnPeUs58GfJoTi24"
OTHER = "glpat-" + "Zt8Qw3LmXa71BdWcYhRn"
GOOGLE = "AIza" + "SyB7qLm3Xz0Vt9KdWcYhRnPeUs58GfJoTi2"
URL = f"{HOST}/.well-known/agent-card.json"

CARD: dict[str, object] = {
    "name": "Weather",
    "description": "Forecasts for any place.",
    "version": "1.0.0",
    "supportedInterfaces": [{"url": f"{HOST}/a2a", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}],
    "capabilities": {},
    "defaultInputModes": ["text/plain"],
    "defaultOutputModes": ["text/plain"],
    "skills": [{"id": "a", "name": "A", "description": "Forecasts", "tags": ["weather"]}],
}


def evidence(body: object, **more: object) -> Evidence:
    answers = {URL: Answer(body=body, headers={"content-type": "application/json"})}
    exchanges = [Site(answers)(Request(purpose=Purpose.CURRENT, url=URL))]
    if listed := more.get("inline"):
        from parley.documents import server_card

        place = f"{HOST}/.well-known/ai-catalog.json"
        site = Site({place: catalog({"type": "application/a2a-agent-card+json", "data": listed})})
        exchanges = [site(Request(purpose=server_card.Purpose.CATALOG, url=place))]
    return Evidence(
        asked=HOST,
        target=Target.parse(HOST),
        refusal=None,
        started_at="2026-07-28T00:00:00Z",
        duration_ms=1,
        exchanges=tuple(exchanges),
    )


def judged(received: Evidence) -> AuditorReport:
    return A2aSecretRules(credentials.masked(received)).judge()


def numbers(report: AuditorReport) -> list[int]:
    return [int(one.code.rpartition("-")[2]) for one in report.checks]


@pytest.mark.parametrize(
    ("members", "found"),
    [
        ({}, []),
        ({"description": f"Call it with {GITHUB}."}, [460]),
        ({"description": f"Call it with {GITHUB} or {OTHER}."}, [460, 460]),
        ({GITHUB: 1}, [460]),
        ({"iconUrl": f"https://maps.example/{GOOGLE}"}, [350]),
        ({"iconUrl": f"https://maps.example/?key={GOOGLE}", "documentationUrl": f"https://a:{OTHER[6:]}@acme.io"}, [350, 460]),
        ({"description": "Call it with ghp_" + "x" * 36}, []),
        ({"signatures": [{"protected": OTHER, "signature": GITHUB}]}, []),
    ],
    ids=str,
)  # fmt: skip
def test_credential(members: dict[str, object], found: list[int]) -> None:
    report = judged(evidence(CARD | members))
    assert numbers(report) == found
    assert {int(code.rpartition("-")[2]) for code in report.passed} == {350, 460} - set(found)
    shown = repr(report)
    for secret in (GITHUB, OTHER, GOOGLE):
        assert secret[6:14] not in shown


def test_message() -> None:
    (check,) = judged(evidence(CARD | {"skills": [{"id": "a", "examples": ["Hello", f"Use {GITHUB}"]}]})).checks
    assert check.message == (
        "Weather gives away a credential in skills[0].examples[1]: GitHub token, ghp_*** (40 characters)."
    )
    assert check.data["path"] == "skills[0].examples[1]"
    assert check.data["cardUrl"] == URL
    (check,) = judged(evidence(CARD | {"metadata": {OTHER: GITHUB}})).checks[:1]
    assert "in the name of metadata.xxxxxxxxxxxxxxxxxxxxxxxxxx: GitLab token" in check.message


def test_hidden_member() -> None:
    text = json.dumps(CARD).replace('"Forecasts for any place."', f'"{GITHUB}", "description": "Forecasts."')
    assert numbers(judged(evidence(text.encode()))) == [460]


def test_inline_card() -> None:
    (check,) = judged(evidence(None, inline=CARD | {"description": GITHUB})).checks
    assert "in description: GitHub token" in check.message
    assert check.data["cardUrl"] == f"{HOST}/.well-known/ai-catalog.json#/entries/0/data"
    assert numbers(judged(evidence(None, inline=CARD))) == []


def test_many() -> None:
    skills = [{"id": str(number), "description": f"ghp_9aKq0Vt3LmXz71BdWcYhRnPeUs58Gf{number:06d}"} for number in range(2000)]  # fmt: skip
    report = judged(evidence(CARD | {"skills": skills}))
    assert len(report.checks) == 50
    assert report.checks[-1].message.endswith("(and 1950 more like this)")


def test_no_card() -> None:
    for body in ({"name": GITHUB}, GITHUB.encode(), b"<!doctype html>" + GITHUB.encode()):
        report = judged(evidence(body))
        assert len(report.not_applicable) == 2
        assert GITHUB[6:14] not in repr(report)


def test_untested_where_it_could_not_be_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(raw: bytes) -> credentials.Search:
        raise RuntimeError

    monkeypatch.setattr(credentials, "search", fails)
    assert [one.reason for one in judged(evidence(CARD)).untested] == ["internal error"] * 2
