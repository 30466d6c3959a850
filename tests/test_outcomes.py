"""The table of outcomes, row by row and end to end: real servers, the command line's exit code, the API's status."""

import contextlib
import json
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager

import pytest
import requests

import hostile
from servers import environment, parley_serve, real_site
from sites import Answer, card, catalog, entry, html, served

CATALOG = "/.well-known/ai-catalog.json"
FIRST = "/.well-known/mcp/server-card.json"
SECOND = "/mcp/server-card"
WALL = Answer(status=403, headers={"cf-mitigated": "challenge"})

Place = Callable[[], AbstractContextManager[str]]


def at(url: str) -> Place:
    return lambda: contextlib.nullcontext(url)


def site(answers: dict[str, Answer]) -> Place:
    @contextlib.contextmanager
    def place() -> Iterator[str]:
        with real_site(answers) as real:
            yield real.url

    return place


def scenario(name: str) -> Place:
    @contextlib.contextmanager
    def place() -> Iterator[str]:
        with hostile.serve(name, conn_seconds=30) as server:
            yield server.url

    return place


@contextlib.contextmanager
def closed_port() -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    yield f"http://127.0.0.1:{port}"


# What happened; the Checks, the state, the status; HTTP status and exit code.
ROWS: list[tuple[str, Place, list[int], str, str, int, int]] = [
    ("no http(s) URL", at("ftp://example.com"), [100, 400], "not_detected", "FAIL", 400, 2),
    ("userinfo", at("http://ann:pw@127.0.0.1:1"), [100, 400], "not_detected", "FAIL", 400, 2),
    ("a query", at("http://127.0.0.1:1/?q"), [100, 400], "not_detected", "FAIL", 400, 2),
    ("refused by policy", at("http://169.254.169.254"), [100, 400], "not_detected", "FAIL", 400, 2),
    ("no such name", at("https://nothing.invalid"), [100, 400], "not_detected", "FAIL", 200, 1),
    ("connection refused", closed_port, [100, 400], "not_detected", "FAIL", 200, 1),
    ("TLS failure", scenario("tls-self-signed"), [100, 400], "not_detected", "FAIL", 200, 1),
    ("time-out", scenario("silent"), [100, 400], "not_detected", "FAIL", 200, 1),
    ("nothing there", site({}), [100, 400], "not_detected", "FAIL", 200, 1),
    ("HTML at a reserved location", site(dict.fromkeys((CATALOG, FIRST, SECOND), html())), [100, 401], "not_detected", "FAIL", 200, 1),
    ("a link that answers 200", site({CATALOG: catalog(entry(url="/c")), "/c": html()}), [100, 401], "indicated", "FAIL", 200, 1),
    ("a link to a card", site({CATALOG: catalog(entry(url="/c")), "/c": served(card())}), [100, 200], "confirmed", "SUCCESS", 200, 0),
    ("a link that answers anything else", site({CATALOG: catalog(entry(url="/c"))}), [100, 400], "indicated", "FAIL", 200, 1),
    ("such a link, and a card", site({CATALOG: catalog(entry(url="/c")), FIRST: served(card())}), [100, 200], "confirmed", "SUCCESS", 200, 0),
    ("a bot wall", site(dict.fromkeys((CATALOG, FIRST, SECOND), WALL)), [100, 400], "not_detected", "INFORMATION", 200, 2),
    ("a valid card of another type", site({FIRST: served(card(), content_type="text/plain")}), [100, 300], "confirmed", "WARNING", 200, 0),
    ("a valid card", site({FIRST: served(card())}), [100, 200], "confirmed", "SUCCESS", 200, 0),
]  # fmt: skip


@pytest.fixture(scope="module")
def parley(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with parley_serve(store=tmp_path_factory.mktemp("store") / "reports.sqlite3") as url:
        yield url


@pytest.mark.parametrize(
    ("place", "codes", "state", "status", "http", "code"), [row[1:] for row in ROWS], ids=[row[0] for row in ROWS]
)
def test_row(parley: str, place: Place, codes: list[int], state: str, status: str, http: int, code: int) -> None:
    with place() as url:
        ended = audit(url)
        answer = requests.get(f"{parley}/v1/audit", params={"url": url}, timeout=40)
    reports = [json.loads(ended.stdout), answer.json()["report"] if http == 400 else answer.json()]
    for report in reports:
        assert numbers(report) == codes
        assert (report["protocols"]["serverCard"]["state"], report["status"]) == (state, status)
    assert (answer.status_code, ended.returncode) == (http, code)
    assert (answer.headers["Content-Type"] == "application/problem+json") is (http == 400)


def test_fail_on_warning() -> None:
    with site({FIRST: served(card(), content_type="text/plain")})() as url:
        assert audit(url, "--fail-on", "warning").returncode == 1


def test_our_own_budget_is_held_against_nobody() -> None:
    """Links that take their time, but answer: the audit's own time is up before all is asked."""
    with real_site({CATALOG: catalog(*(entry(url=f"/{i}") for i in range(10)))}, delay=0.3) as slow:
        ended = audit(slow.url, "--timeout", "0.5")
    report = json.loads(ended.stdout)
    assert (report["status"], ended.returncode, numbers(report)) == ("INFORMATION", 2, [100])
    assert any(fact.startswith("inconclusive: ") for fact in report["protocols"]["serverCard"]["because"])
    untested = {one["code"][-3:] for one in report["auditors"][0]["untested"]}
    assert {"400", "401", "413"} <= untested


def audit(url: str, *more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "parley", "audit", url, "--format", "json", *more],
        env=environment(), capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip


def numbers(report: dict[str, object]) -> list[int]:
    """The numbers of the Server Card auditor's Checks."""
    auditors: list[dict[str, object]] = report["auditors"]  # type: ignore[assignment]
    found = next(auditor for auditor in auditors if auditor["name"] == "37A-McpServerCardAuditor")
    return [int(check["code"][-3:]) for check in found["checks"]]  # type: ignore[attr-defined]
