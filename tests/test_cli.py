"""The command line, as a person and as a pipe meet it."""

import json
import os
import pty
import re
import select
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import hostile
from parley import __version__
from servers import RealSite, environment, real_site
from sites import Answer, card, html, served

FIRST = "/.well-known/mcp/server-card.json"


def run(*arguments: str, stdin: str = "", **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "parley", *arguments],
        env=environment() | env, input=stdin, capture_output=True, encoding="utf-8", timeout=60, check=False,
    )  # fmt: skip


@pytest.fixture(scope="module")
def site() -> Iterator[RealSite]:
    with real_site({FIRST: served(card())}) as site:
        yield site


@pytest.fixture(scope="module")
def odd_site() -> Iterator[RealSite]:
    with real_site({FIRST: served(card(), content_type="application/json")}) as site:
        yield site


@pytest.fixture(scope="module")
def empty_site() -> Iterator[RealSite]:
    with real_site() as site:
        yield site


def test_a_pipe_gets_plain_text(site: RealSite) -> None:
    ended = run("audit", site.url)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.startswith(f"{site.url}/: SUCCESS\n")
    assert "\x1b" not in ended.stdout
    assert f'Server Card "com.example/weather" 1.4.0 at "{site.url}{FIRST}" is valid.' in ended.stdout


def test_json(site: RealSite) -> None:
    report = json.loads(run("audit", site.url, "--format", "json").stdout)
    assert set(report) == {
        "reportVersion", "url", "origin", "auditedAt", "durationMs", "status", "protocols", "auditors", "attempts",
    }  # fmt: skip
    assert set(report["protocols"]) == {"serverCard", "mcp", "a2a"}
    assert set(report["auditors"][0]) == {
        "name", "protocol", "title", "status", "checks", "passed", "notApplicable", "untested",
    }  # fmt: skip
    assert set(report["attempts"][0]) == {"purpose", "method", "url", "httpStatus", "outcome", "durationMs"}
    assert report["auditedAt"].endswith("Z")


def test_a_terminal_gets_colour_and_a_table(site: RealSite) -> None:
    shown = _in_a_terminal("audit", site.url)
    assert "\x1b[" in shown
    plain = re.sub(r"\x1b\[[0-9;]*m", "", shown)
    assert "What to do" in plain
    assert "SUCCESS" in plain


def test_a_terminal_is_not_at_a_stranger_s_mercy() -> None:
    nasty = "\x1b]0;owned\x07\x1b[2J\u202e[bold red]x[/]"
    with real_site({FIRST: served(card(name=nasty, description=nasty * 20))}) as site:
        shown = _in_a_terminal("audit", site.url)
    assert "owned" in shown
    assert "\x1b]" not in shown
    assert "\x1b[2J" not in shown
    assert "\u202e" not in shown
    assert "[bold" in re.sub(r"\x1b\[[0-9;]*m", "", shown)


@pytest.mark.parametrize(
    ("which", "fail_on", "code"),
    [
        ("site", "fail", 0), ("site", "warning", 0), ("site", "never", 0),
        ("odd_site", "fail", 0), ("odd_site", "warning", 1), ("odd_site", "never", 0),
        ("empty_site", "fail", 1), ("empty_site", "warning", 1), ("empty_site", "never", 0),
    ],
)  # fmt: skip
def test_exit_code(request: pytest.FixtureRequest, which: str, fail_on: str, code: int) -> None:
    url = request.getfixturevalue(which).url
    assert run("audit", url, "--fail-on", fail_on).returncode == code


@pytest.mark.parametrize(
    "url",
    [
        "ftp://example.com",
        "https://u:hunter2@example.com",
        "https://example.com/?k=hunter2",
        "http://",
        "http://169.254.169.254",
    ],
)
def test_a_url_that_may_not_be_audited(url: str) -> None:
    ended = run("audit", url, "--format", "json", "--fail-on", "never")
    assert ended.returncode == 2
    report = json.loads(ended.stdout)
    assert [check["code"][-3:] for check in report["auditors"][0]["checks"]] == ["100", "400"]
    assert "hunter2" not in ended.stdout + ended.stderr


def test_nothing_conclusive_is_2() -> None:
    wall = Answer(status=403, headers={"cf-mitigated": "challenge"})
    paths = ("/.well-known/ai-catalog.json", FIRST, "/mcp/server-card")
    with real_site(dict.fromkeys(paths, wall)) as site:
        ended = run("audit", site.url)
    assert (ended.returncode, ended.stdout.split("\n")[0]) == (2, f"{site.url}/: NOT CHECKED")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("audit",), "say what to audit"),
        (("audit", "x", "--timeout", "soon"), "'soon' is not between 0.1 and 600 seconds"),
        (("audit", "x", "--timeout", "0"), "is not between"),
        (("audit", "x", "--header", "nocolon"), "a header is 'Name: value'"),
        (("audit", "x", "--header", "A: b\x01"), "a header is 'Name: value'"),
        (("audit", "x", "--format", "pdf"), "invalid choice"),
        (("audit", "http://127.0.0.1:9", "--ca-file", "/nowhere"), "/nowhere"),
        (("audit", "http://127.0.0.1:9", "--proxy", "ftp://x"), "proxy"),
        (("audit", "x", "y", "--record", "f"), "--record takes one URL"),
        (("audit", "x", "--replay", "f"), "leave out the URL"),
        (("audit", "--replay", "/nowhere"), "cannot read /nowhere"),
        (("audit", "http://127.0.0.1:9", "--output", "/nowhere/x"), "cannot write /nowhere/x"),
        (("nonsense",), "invalid choice"),
        ((), "required"),
    ],
)
def test_wrong_usage(arguments: tuple[str, ...], words: str) -> None:
    ended = run(*arguments)
    assert ended.returncode == 2
    assert words in ended.stderr
    assert "Traceback" not in ended.stderr


def test_version_and_help() -> None:
    assert run("--version").stdout == f"parley {__version__}\n"
    assert "exit codes" in run("audit", "--help").stdout


@pytest.mark.parametrize(
    "answers",
    [
        {FIRST: served(card())},
        {FIRST: html()},
        {FIRST: served(card(name="x", remotes=[{}]))},
        {FIRST: Answer(body=b"\xff\xfe")},
    ],
)
def test_record_and_replay(tmp_path: Path, answers: dict[str, Answer]) -> None:
    recording = tmp_path / "evidence.json"
    with real_site(answers) as site:
        first = run("audit", site.url, "--format", "json", "--record", str(recording))
    again = run("audit", "--replay", str(recording), "--format", "json")
    assert (again.stdout, again.returncode) == (first.stdout, first.returncode)


@pytest.mark.parametrize("content", ["", "[]", "{}", "{", '{"recordingVersion": "9"}', "\x00", "[" * 100_000])
def test_a_recording_that_is_none(tmp_path: Path, content: str) -> None:
    (tmp_path / "r").write_text(content)
    ended = run("audit", "--replay", str(tmp_path / "r"))
    assert ended.returncode == 2
    assert "is no recording" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_own_header_is_sent_and_shown_nowhere_but_in_the_recording(tmp_path: Path) -> None:
    recording = tmp_path / "evidence.json"
    with hostile.serve("echo") as server:
        arguments = ("audit", server.url, "--header", "Authorization: Bearer hunter2hunter2", "--header", "X-Team: a")
        for more in (("--format", "json"), ("--format", "text"), ("--record", str(recording))):
            ended = run(*arguments, *more)
            assert "hunter2" not in ended.stdout + ended.stderr
        sent = [dict(headers) for _, _, headers in server.requests]
    assert all(headers["Authorization"] == "Bearer hunter2hunter2" for headers in sent)
    assert all(headers["X-Team"] == "a" for headers in sent)
    recorded = json.loads(recording.read_text())
    assert recorded["ownHeaders"]["Authorization"] == "Bearer hunter2hunter2"
    assert "holds in clear" in recorded["notice"]
    assert "hunter2" not in run("audit", "--replay", str(recording)).stdout


def test_an_echoed_header_is_masked() -> None:

    answers = {FIRST: served(card(name="hunter2hunter2", version="Bearer hunter2hunter2"))}
    with real_site(answers) as site:
        ended = run("audit", site.url, "--header", "Authorization: Bearer hunter2hunter2")
    assert "hunter2" not in ended.stdout
    assert "•••" in ended.stdout


def test_many_urls_are_json_lines(site: RealSite, empty_site: RealSite) -> None:
    ended = run("audit", "-", stdin=f"{site.url}\n\n{empty_site.url}\n")
    lines = [json.loads(line) for line in ended.stdout.splitlines()]
    assert [line["status"] for line in lines] == ["SUCCESS", "FAIL"]
    assert ended.returncode == 1


def test_output_file(tmp_path: Path, site: RealSite) -> None:
    ended = run("audit", site.url, "--format", "json", "--output", str(tmp_path / "report.json"))
    assert (ended.stdout, ended.returncode) == ("", 0)
    assert json.loads((tmp_path / "report.json").read_text())["status"] == "SUCCESS"


def test_a_pipe_that_closes_early(site: RealSite) -> None:
    script = f"{sys.executable} -m parley audit {site.url} | head -1; exit ${{PIPESTATUS[0]}}"
    ended = subprocess.run(
        ["bash", "-c", script], env=environment(), capture_output=True, text=True, timeout=60, check=False
    )
    assert "Traceback" not in ended.stderr
    assert ended.stdout == f"{site.url}/: SUCCESS\n"


def test_a_terminal_s_encoding_without_the_characters() -> None:
    with real_site({FIRST: served(card(name="日本語/x"))}) as site:
        ended = run("audit", site.url, PYTHONIOENCODING="ascii")
    assert ended.returncode == 1
    assert "\\u65e5" in ended.stdout


def test_timeout() -> None:
    with hostile.serve("silent", conn_seconds=10) as server:
        ended = run("audit", server.url, "--timeout", "0.5")
    assert ended.returncode == 1
    assert "timed out after 0.5 s" in ended.stdout


def test_checks() -> None:
    assert "37A-McpServerCardAuditor-413" in run("checks").stdout
    assert len(json.loads(run("checks", "--format", "json").stdout)["checks"]) >= 17


def _in_a_terminal(*arguments: str) -> str:
    """What a terminal of 120 columns is sent."""
    parent, child = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "parley", *arguments],
        env=environment() | {"TERM": "xterm-256color", "COLUMNS": "120"}, stdout=child, stderr=child, stdin=child,
    )  # fmt: skip
    os.close(child)
    shown = b""
    while select.select([parent], [], [], 30)[0]:
        try:
            piece = os.read(parent, 65_536)
        except OSError:  # Linux says so when the other end is closed
            break
        if not piece:
            break
        shown += piece
    os.close(parent)
    process.wait(10)
    return shown.decode()
