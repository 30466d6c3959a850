"""Hostile challenges, from a real server: none is followed anywhere it must not lead, and none holds the audit up."""

import time
from collections.abc import Iterator

import pytest

import hostile
from gated import auditor, faults
from parley.audit import gather, judge
from parley.fetch.client import Fetcher
from parley.fetch.policy import LOCAL, Limits
from parley.render.report_json import report_json
from parley.render.text import text
from parley.rules.oauth import McpAuthRules
from servers import real_site
from sites import Answer


@pytest.fixture(scope="module")
def zoo() -> Iterator[str]:
    with hostile.serve("auth-zoo") as server:
        yield server.url


@pytest.mark.parametrize("number", range(len(hostile.CHALLENGES)))
def test_challenge(zoo: str, number: int) -> None:
    started = time.monotonic()
    evidence = gather(f"{zoo}/{number}", lambda target: Fetcher(target.url, LOCAL))
    assert time.monotonic() - started < 15
    report = auditor(judge(evidence))
    assert all(one.reason != "internal error" for one in report.untested)
    elsewhere = [one for one in evidence.exchanges if not one.url.startswith(zoo)]
    assert all(one.failure is not None for one in elsewhere)
    assert "file:" not in str(elsewhere)
    assert faults(report) or report.untested


# What stands where metadata is due may be as hostile as the challenge that leads there.
SCENARIOS = [
    name
    for name in sorted(hostile.SCENARIOS)
    if name.startswith(
        ("json-", "gzip-", "header", "redirect-loop", "second", "length-", "evil", "card-", "catalog-", "close-")
    )
]


@pytest.mark.parametrize("name", SCENARIOS)
def test_metadata(name: str) -> None:
    with hostile.serve(name, conn_seconds=10) as server, real_site() as site:
        challenge = f'Bearer scope="x", resource_metadata="{server.url}/"'
        site.answers["/mcp"] = Answer(status=401, headers={"WWW-Authenticate": challenge})
        evidence = gather(f"{site.url}/mcp", lambda target: Fetcher(target.url, LOCAL, limits=Limits.for_timeout(0.8)))
        hits = server.hits
    assert hits <= 8
    report = judge(evidence)
    found = auditor(report)
    assert all(one.reason != "internal error" for one in found.untested)
    assert found.checks[0].code.endswith("-100")
    rules = McpAuthRules(evidence)
    rules.judge()
    assert not rules.chain_validates
    assert all(character.isprintable() or character == "\n" for character in text(report_json(report)))
