"""Whole audits of every hostile server: an answer in time, harmless in every format, and never a fault of ours."""

import json

import pytest

import hostile
from parley.audit import audit
from parley.fetch.client import Fetcher
from parley.fetch.policy import LOCAL, Limits
from parley.render.report_json import encode, report_json
from parley.render.text import text
from parley.report import State, Status
from parley.target import Target

# Short, so that what never ends, ends soon: 0.8 s for a request, 2 s for an audit.
LIMITS = Limits.for_timeout(0.8)

AUDITOR = "37A-McpServerCardAuditor"


@pytest.mark.parametrize("name", sorted(hostile.SCENARIOS))
def test_scenario(name: str) -> None:
    scenario = hostile.SCENARIOS[name]
    with hostile.serve(name, conn_seconds=10) as server:
        report = audit(server.url, lambda target: Fetcher(target.url, LOCAL, limits=LIMITS))
        requests = server.hits
    printed = report_json(report)
    json.loads(encode(printed))
    assert requests <= 40  # three redirects at each of nine places, at the most
    assert report.duration_ms < 3500
    assert report.refusal is None
    assert not any(attempt.outcome == "internal" for attempt in report.attempts)
    assert not any("internal error" in one.reason for auditor in report.auditors for one in auditor.untested)
    codes = {check.code.rpartition("-")[2] for check in report.auditors[0].checks}
    assert "100" in codes
    state = report.protocols[report.auditors[0].protocol].state  # type: ignore[index]
    if not set(scenario.expect.split("|")) & {"ok", "status", "bad-json"}:
        # Nothing usable came: then nothing is said about a card, and nothing is found.
        assert codes <= {"100", "400"}
        assert state is State.NOT_DETECTED
        assert report.status in (Status.FAIL, Status.INFORMATION)
    elif scenario.expect == "bad-json":
        assert {"401"} & codes or {"400"} & codes
    assert all(character.isprintable() or character == "\n" for character in text(printed))


def test_evil_card_is_text() -> None:
    with hostile.serve("evil-card") as server:
        report = audit(server.url, lambda target: Fetcher(target.url, LOCAL, limits=LIMITS))
    printed = text(report_json(report))
    assert "\x1b" not in printed
    assert not any(line.startswith("::") for line in printed.splitlines())


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("silent", "timed out after 0.8 s"),
        ("slow-drip", "timed out after 0.8 s"),
        ("big-length", "sends more than 1 MiB"),
        ("tls-self-signed", "its certificate is self-signed"),
        ("tls-plain", "does not speak TLS on this port"),
        ("redirect-loop", "redirects more than 3 times"),
    ],
)
def test_reason(name: str, reason: str) -> None:
    with hostile.serve(name, conn_seconds=10) as server:
        report = audit(server.url, lambda target: Fetcher(target.url, LOCAL, limits=LIMITS))
    missing = next(check for check in report.auditors[0].checks if check.code == f"{AUDITOR}-400")
    assert reason in missing.message


def test_after_a_time_out_on_a_host_it_is_asked_nothing_more() -> None:
    with hostile.serve("silent", conn_seconds=10) as server:
        report = audit(server.url, lambda target: Fetcher(target.url, LOCAL, limits=LIMITS))
        assert server.connections <= 4  # those that were under way together
    assert {attempt.outcome for attempt in report.attempts} == {"timeout"}


def test_fanout_is_bounded() -> None:
    with hostile.serve("ok") as victim, hostile.serve("catalog-fanout", to=victim.url) as server:
        audit(server.url, lambda target: Fetcher(target.url, LOCAL, limits=Limits()))
        assert victim.hits + server.hits <= 30


def test_own_headers_reach_the_target_alone() -> None:
    secret = {"Authorization": "Bearer hunter2hunter2"}
    with hostile.serve("echo") as other, hostile.serve("redirect-to", to=other.url) as server:

        def open_door(target: Target) -> Fetcher:
            return Fetcher(target.url, LOCAL, own_headers=secret)

        audit(server.url, open_door)
        assert any(dict(headers).get("Authorization") for _, _, headers in server.requests)
        assert other.hits
        assert not any(dict(headers).get("Authorization") for _, _, headers in other.requests)
