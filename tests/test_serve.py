"""The local server as a process: HTTP in, JSON out, against real sites on loopback."""

import json
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests

import hostile
from parley.serve import Caller
from servers import RealSite, environment, parley_serve, real_site
from sites import card, served

FIRST = "/.well-known/mcp/server-card.json"


@pytest.fixture(scope="module")
def parley(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with parley_serve(store=tmp_path_factory.mktemp("store") / "deep" / "reports.sqlite3") as url:
        yield url


@pytest.fixture
def site() -> Iterator[RealSite]:
    with real_site({FIRST: served(card())}) as site:
        yield site


def get(parley: str, path: str = "/v1/audit", headers: dict[str, str] | None = None, **query: str) -> requests.Response:
    with requests.Session() as session:
        session.trust_env = False
        return session.get(parley + path, params=query, headers=headers, timeout=40)


def test_the_whole_path(parley: str, site: RealSite) -> None:
    first = get(parley, url=site.url)
    assert (first.status_code, first.headers["X-Parley-Cache"]) == (200, "miss")
    report = first.json()
    assert report["status"] == "SUCCESS"
    assert report["protocols"]["serverCard"]["state"] == "confirmed"
    assert report["auditors"][0]["checks"][1]["message"] == (
        f'Server Card "com.example/weather" 1.4.0 at "{site.url}{FIRST}" is valid.'
    )
    attempts = report["attempts"]
    assert [one["httpStatus"] for one in attempts if not one["purpose"].startswith(("MCP", "Agent Card"))] == [404, 200]
    again = get(parley, url=f"{site.url}/")
    assert (again.content, again.headers["X-Parley-Cache"]) == (first.content, "hit")
    assert len(site.requests) == len(attempts)
    assert site.connections <= 4
    assert all(headers["User-Agent"].startswith("Parley/") for _, _, headers in site.requests)
    assert get(parley, url=site.url, headers={"If-None-Match": first.headers["ETag"]}).status_code == 304


def test_post_and_text(parley: str, site: RealSite) -> None:
    posted = requests.post(f"{parley}/v1/audit", json={"url": site.url}, timeout=40)
    assert posted.json()["status"] == "SUCCESS"
    assert get(parley, url=site.url, format="text").text.startswith(f"{site.url}/: SUCCESS")


def test_reports_outlive_the_server(tmp_path: Path, site: RealSite) -> None:
    for cache in ("miss", "hit"):
        with parley_serve(store=tmp_path / "reports.sqlite3") as url:
            assert get(url, url=site.url).headers["X-Parley-Cache"] == cache


def test_a_store_that_cannot_be_used_still_answers(tmp_path: Path, site: RealSite) -> None:
    with parley_serve(store=tmp_path) as url:  # a folder
        for _ in range(2):
            response = get(url, url=site.url)
            assert (response.status_code, response.headers["X-Parley-Store"]) == (200, "unavailable")


def test_a_store_that_is_damaged_is_said_at_the_start(tmp_path: Path) -> None:
    (tmp_path / "r").write_bytes(b"nonsense" * 1000)
    with parley_serve(store=tmp_path / "r", stderr=tmp_path / "log") as url:
        assert get(url, "/healthz").status_code == 200
    assert "move it away and a new one is made" in (tmp_path / "log").read_text()


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Host": "evil.example"},
        {"Host": "localhost:1"},
        {"Host": "127.0.0.1.evil.example"},
    ],
)
def test_no_web_page_reads_what_runs_on_this_machine(parley: str, site: RealSite, headers: dict[str, str]) -> None:
    get(parley, url=site.url)  # the user has audited it
    seen = len(site.requests)
    for more in ({}, {"stored": "true"}, {"refresh": "true"}):
        response = get(parley, url=site.url, headers=headers, **more)
        assert response.status_code in (400, 404)
        assert "com.example/weather" not in response.text
    assert len(site.requests) == seen


def test_the_server_s_own_page_may(parley: str, site: RealSite) -> None:
    assert get(parley, url=site.url, headers={"Origin": parley, "Sec-Fetch-Site": "same-origin"}).status_code == 200


@pytest.mark.parametrize(
    ("caller", "trusted"),
    [
        (Caller(peer="127.0.0.1", host="127.0.0.1:8484", origin=None, fetch_site=None), True),
        (
            Caller(peer="127.0.0.1", host="LocalHost:8484", origin="http://localhost:8484", fetch_site="same-origin"),
            True,
        ),
        (Caller(peer="::1", host="[::1]:8484", origin=None, fetch_site="none"), True),
        (Caller(peer="192.168.1.5", host="127.0.0.1:8484", origin=None, fetch_site=None), False),
        (Caller(peer="127.0.0.1", host="192.168.1.5:8484", origin=None, fetch_site=None), False),
        (Caller(peer="127.0.0.1", host="", origin=None, fetch_site=None), False),
        (Caller(peer="127.0.0.1", host="127.0.0.1", origin=None, fetch_site=None), False),
        (Caller(peer="127.0.0.1", host="127.0.0.1:8484", origin="https://127.0.0.1:8484", fetch_site=None), False),
        (Caller(peer="127.0.0.1", host="127.0.0.1:8484", origin="http://127.0.0.1:3000", fetch_site=None), False),
    ],
)
def test_who_is_this_machine_s_user(caller: Caller, trusted: bool) -> None:
    assert caller.is_this_machines_user(8484) is trusted


def test_others_are_answered_during_a_slow_audit(parley: str) -> None:
    with hostile.serve("silent", conn_seconds=30) as silent:
        slow = threading.Thread(target=get, args=(parley,), kwargs={"url": silent.url})
        slow.start()
        try:
            assert get(parley, "/healthz").json()["status"] == "ok"
            assert slow.is_alive()
        finally:
            slow.join(40)


def test_fifty_at_once_cause_one_audit(parley: str) -> None:
    bodies: list[bytes] = []
    with real_site({FIRST: served(card())}, delay=0.3) as site:
        threads = [threading.Thread(target=lambda: bodies.append(get(parley, url=site.url).content)) for _ in range(50)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert [path for _, path, _ in site.requests].count(FIRST) == 1
    assert len(bodies) == 50
    assert len(set(bodies)) == 1


def test_reports_are_never_mixed_up(parley: str) -> None:
    wrong: list[str] = []

    def ask(url: str, name: str) -> None:
        for _ in range(15):
            report = get(parley, url=url).json()
            if report["origin"] != url or name not in json.dumps(report):
                wrong.append(json.dumps(report))

    with (
        real_site({FIRST: served(card(name="com.example/one"))}) as one,
        real_site({FIRST: served(card(name="com.example/two"))}) as two,
    ):
        threads = [
            threading.Thread(target=ask, args=pair)
            for pair in [(one.url, "com.example/one"), (two.url, "com.example/two")] * 3
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
    assert wrong == []


def test_the_page(parley: str) -> None:
    for path, kind in (
        ("/", "text/html"),
        ("/app.js", "text/javascript"),
        ("/style.css", "text/css"),
        ("/favicon.svg", "image/svg+xml"),
    ):
        response = get(parley, path)
        assert (response.status_code, response.headers["Content-Type"].partition(";")[0]) == (200, kind)
        assert "require-trusted-types-for 'script'" in response.headers["Content-Security-Policy"]
        assert response.headers["X-Content-Type-Options"] == "nosniff"
    for path in ("/", "/healthz", "/v1/checks"):
        whole = get(parley, path)
        head = requests.head(f"{parley}{path}", timeout=10)
        assert (head.status_code, head.content) == (200, b"")
        assert head.headers["Content-Length"] == str(len(whole.content))
    for path in ("/nothing", "/../pyproject.toml", "/app.js/", "/%2e%2e/README.md"):
        assert get(parley, path).status_code == 404
    assert requests.post(f"{parley}/", timeout=10).status_code == 405


@pytest.mark.parametrize(
    "raw",
    [
        b"GET /v1/audit?url=%FF%FE HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n",
        b"GET /v1/audit?url=http://a.example/%0d%0aX:1 HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n",
        b"POST /v1/audit HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 9999999\r\nConnection: close\r\n\r\n",
        b"GET /v1/audit?url=" + b"a" * 60_000 + b" HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n",
        b"BREW /v1/audit HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
    ],
)
def test_odd_requests_are_answered_and_leave_it_running(parley: str, raw: bytes) -> None:
    host, _, port = parley.removeprefix("http://").partition(":")
    with socket.create_connection((host, int(port)), timeout=20) as sock:
        sock.sendall(raw)
        answer = sock.makefile("rb").readline()
    assert answer.split(b" ")[1][:1] == b"4"
    assert get(parley, "/healthz").status_code == 200


def test_port_in_use_is_said(parley: str, tmp_path: Path) -> None:
    port = parley.rpartition(":")[2]
    ended = subprocess.run(
        [sys.executable, "-m", "parley", "serve", "--port", port, "--store", str(tmp_path / "r")],
        env=environment() | {"PYTHONWARNINGS": "ignore"}, capture_output=True, text=True, timeout=30, check=False,
    )  # fmt: skip
    assert ended.returncode == 2
    assert f"cannot listen on 127.0.0.1:{port}" in ended.stderr
    assert "Traceback" not in ended.stderr
