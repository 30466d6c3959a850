"""States, statuses and reasons: the outcomes that were decided, short of the network."""

import json

import pytest

from parley.audit import judge
from parley.evidence import Evidence, Failure, FailureCode
from parley.render.report_json import report_json
from parley.report import Protocol, State, Status
from sites import HOST, Answer, Site, card, catalog, entry, fails, html, numbers, served

AUDITOR = "37A-McpServerCardAuditor"
CATALOG = "/.well-known/ai-catalog.json"
FIRST = "/.well-known/mcp/server-card.json"
SECOND = "/mcp/server-card"
AGENTS = ("/.well-known/agent-card.json", "/.well-known/agent.json")

WALL = Answer(status=403, body=b"<title>Just a moment...</title>", headers={"cf-mitigated": "challenge"})
RATE = Answer(status=429, headers={"retry-after": "60"})

N, I, C = State.NOT_DETECTED, State.INDICATED, State.CONFIRMED  # noqa: E741

# What happened, and what is said of it: (name, answers, codes, state, the report's status).
OUTCOMES: list[tuple[str, dict[str, Answer], list[int], State, Status]] = [
    ("nothing there", {}, [100, 400], N, Status.FAIL),
    ("a valid card", {FIRST: served(card())}, [100, 200], C, Status.SUCCESS),
    ("a valid card of another media type", {FIRST: served(card(), content_type="application/json")}, [100, 300], C, Status.WARNING),
    ("a valid card without CORS", {FIRST: served(card(), access_control_allow_origin=None)}, [100, 412], C, Status.FAIL),
    ("a card with a fault", {FIRST: served(card(name="x"))}, [100, 405], I, Status.FAIL),
    ("HTML at a reserved location", {FIRST: html()}, [100, 401], N, Status.FAIL),
    ("HTML everywhere", {CATALOG: html(), FIRST: html(), SECOND: html()}, [100, 401], N, Status.FAIL),
    ("no JSON at a reserved location", {FIRST: served(b"{")}, [100, 401], I, Status.FAIL),
    ("a link to HTML", {CATALOG: catalog(entry(url="/c")), "/c": html()}, [100, 401], I, Status.FAIL),
    ("a link to a card", {CATALOG: catalog(entry(url="/c")), "/c": served(card())}, [100, 200], C, Status.SUCCESS),
    ("a broken link only", {CATALOG: catalog(entry(url="/c"))}, [100, 400], I, Status.FAIL),
    ("a broken link, and a card", {CATALOG: catalog(entry(url="/c")), SECOND: served(card())}, [100, 200], C, Status.SUCCESS),
    ("a time-out", dict.fromkeys((CATALOG, FIRST, SECOND), fails(FailureCode.TIMEOUT, "timed out after 8 s")), [100, 400], N, Status.FAIL),
    ("no such name", dict.fromkeys((CATALOG, FIRST, SECOND), fails(FailureCode.DNS, "the name does not resolve")), [100, 400], N, Status.FAIL),
    ("a TLS failure", dict.fromkeys((CATALOG, FIRST, SECOND), fails(FailureCode.TLS, "its certificate has expired")), [100, 400], N, Status.FAIL),
    ("a bot wall", dict.fromkeys((CATALOG, FIRST, SECOND), WALL), [100, 400], N, Status.INFORMATION),
    ("a bot wall before the cards alone", dict.fromkeys((FIRST, SECOND), WALL), [100, 400], N, Status.INFORMATION),
    ("a bot wall behind a link", {CATALOG: catalog(entry(url="/c")), "/c": WALL}, [100, 400], I, Status.INFORMATION),
    ("a bot wall before the catalog, and a card", {CATALOG: WALL, FIRST: served(card())}, [100, 200], C, Status.SUCCESS),
    ("a 403 of its own", dict.fromkeys((CATALOG, FIRST, SECOND), Answer(status=403)), [100, 400], N, Status.FAIL),
    ("a 429 of its own", dict.fromkeys((CATALOG, FIRST, SECOND), RATE), [100, 400], N, Status.FAIL),
    ("our budget", dict.fromkeys((CATALOG, FIRST, SECOND), fails(FailureCode.BUDGET, "was not asked: time is up")), [100], N, Status.INFORMATION),
    ("time spent on waiting", {CATALOG: fails(FailureCode.TIMEOUT, "timed out after 8 s"), FIRST: fails(FailureCode.BUDGET, "time is up"), SECOND: fails(FailureCode.BUDGET, "time is up")}, [100, 400], N, Status.FAIL),
    ("bytes spent on floods", {**dict.fromkeys((CATALOG, FIRST, *AGENTS), fails(FailureCode.TOO_LARGE, "sends more than 1 MiB")), SECOND: fails(FailureCode.BUDGET, "this audit's bytes were spent")}, [100, 400], N, Status.FAIL),
    ("bytes spent after one large answer", {CATALOG: fails(FailureCode.TOO_LARGE, "sends more than 1 MiB"), FIRST: fails(FailureCode.BUDGET, "this audit's bytes were spent"), SECOND: fails(FailureCode.BUDGET, "this audit's bytes were spent")}, [100], N, Status.INFORMATION),
    ("our fault", {FIRST: fails(FailureCode.INTERNAL, "an internal error")}, [100], N, Status.INFORMATION),
    ("our fault at one place, a card at another", {CATALOG: fails(FailureCode.INTERNAL, "x"), FIRST: served(card())}, [100, 200], C, Status.SUCCESS),
]  # fmt: skip


@pytest.mark.parametrize(
    ("answers", "codes", "state", "status"), [case[1:] for case in OUTCOMES], ids=[case[0] for case in OUTCOMES]
)
def test_outcome(answers: dict[str, Answer], codes: list[int], state: State, status: Status) -> None:
    report = Site(answers).audit()
    protocol = report.protocols[Protocol.SERVER_CARD]
    assert numbers(report, AUDITOR) == codes
    assert (protocol.state, report.status) == (state, status)
    assert protocol.because
    assert report.conclusive == (status is not Status.INFORMATION)
    assert report.refusal is None


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        ("ftp://weather.example", "'ftp://…' is not an http(s) URL"),
        ("javascript:alert(1)", "'javascript:…' is not an http(s) URL"),
        ("", "no URL was given"),
        ("https://ann:hunter2@weather.example/", "the URL carries a user name or a password"),
        ("https://weather.example/?key=hunter2", "the URL carries a query, which may hold a secret, and reports are public; leave it out"),
        ("https://", "the URL has no host"),
    ],
)  # fmt: skip
def test_asker_at_fault(asked: str, reason: str) -> None:
    site = Site({})
    report = site.audit(asked)
    assert site.asked == []
    assert numbers(report, AUDITOR) == [100, 400]
    assert report.auditors[0].checks[1].message == f"No MCP Server Card could be obtained: {reason}."
    assert report.refusal == reason
    assert report.status is Status.FAIL
    assert {one.state for one in report.protocols.values()} == {State.NOT_DETECTED}
    assert "hunter2" not in json.dumps(report_json(report))


def test_refused_by_policy() -> None:
    reason = "resolves to a private address (10.0.0.7), which this service does not visit"
    site = Site({}, refusal=Failure(code=FailureCode.REFUSED, reason=reason))
    report = site.audit()
    assert site.asked == []
    assert numbers(report, AUDITOR) == [100, 400]
    assert report.auditors[0].checks[1].message == f"No MCP Server Card could be obtained: {HOST} {reason}."
    assert report.refusal == f"{HOST} {reason}"
    assert report.origin == HOST


def test_no_name_is_no_fault_of_the_asker() -> None:
    dns = Failure(code=FailureCode.DNS, reason="the name does not resolve")
    site = Site(
        dict.fromkeys((CATALOG, FIRST, SECOND), fails(FailureCode.DNS, "the name does not resolve")), refusal=dns
    )
    report = site.audit()
    assert report.refusal is None
    assert report.auditors[0].checks[1].data["locations"] == [
        {"url": f"{HOST}{path}", "reason": "the name does not resolve"} for path in (CATALOG, FIRST, SECOND)
    ]


def test_reasons_by_location() -> None:
    answers = {
        CATALOG: html(),
        FIRST: Answer(status=401),
        SECOND: fails(FailureCode.TOO_LARGE, "sends more than 1 MiB"),
    }
    report = Site(answers).audit()
    assert report.auditors[0].checks[1].message == (
        "No MCP Server Card could be obtained: "
        f"{HOST}{CATALOG}: is a web page, not an AI Catalog; {HOST}{FIRST}: answered 401; {HOST}{SECOND}: sends more than 1 MiB."
    )


def test_untested_has_the_reason() -> None:
    report = Site(dict.fromkeys((CATALOG, FIRST, SECOND), WALL)).audit()
    untested = {one.code.rpartition("-")[2]: one.reason for one in report.auditors[0].untested}
    assert set(untested) == {"300", *map(str, range(401, 414))}
    assert set(untested.values()) == {f"{HOST}{CATALOG}: answered 403 from behind a bot wall (cf-mitigated: challenge)"}
    assert report.protocols[Protocol.SERVER_CARD].because[0] == (
        f"inconclusive: GET {HOST}{CATALOG}: answered 403 from behind a bot wall (cf-mitigated: challenge)"
    )


def test_html_says_so() -> None:
    report = Site({FIRST: html()}).audit()
    assert "it is HTML" in report.auditors[0].checks[1].message


@pytest.mark.parametrize("answers", [case[1] for case in OUTCOMES], ids=[case[0] for case in OUTCOMES])
def test_a_recording_is_judged_alike(answers: dict[str, Answer]) -> None:
    evidence = Site(answers).gather()
    again = Evidence.from_json(json.loads(json.dumps(evidence.to_json())))
    assert again == evidence
    assert report_json(judge(again)) == report_json(judge(evidence))
