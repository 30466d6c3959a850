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
        (("audit", "x", "--header", "Host: x"), "Host is set by Parley itself"),
        (("audit", "x", "--header", "A: b", "--header", "a: c"), "--header was given twice"),
        (("serve", "--port", "99999"), "'99999' is not a port"),
        (("serve", "--host", "nothing.invalid", "--port", "0"), "cannot listen on nothing.invalid"),
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


@pytest.mark.parametrize(
    ("header", "echoed", "secret"),
    [
        ("Authorization: Bearer " + "abcdefghij" * 30, "abcdefghij" * 30, "abcdefghij"),
        ("Cookie: session=hunter2hunter2; other=zzz9999", "x/hunter2hunter2", "hunter2"),
        ("Authorization: Basic YW5uOmh1bnRlcjI=", "ann:hunter2", "hunter2"),
        ("X-Api-Key: hunter2/+x", "hunter2%2F%2Bx", "hunter2"),
    ],
)
def test_parts_of_a_header_are_masked(header: str, echoed: str, secret: str) -> None:
    with real_site({FIRST: served(card(name=echoed, description=echoed), content_type=echoed)}) as site:
        for more in (("--format", "json"), ()):
            ended = run("audit", site.url, "--header", header, *more)
            assert secret not in ended.stdout + ended.stderr
            assert "••••" in ended.stdout


def test_a_recording_is_for_its_user_s_eyes(tmp_path: Path, site: RealSite) -> None:
    run("audit", site.url, "--record", str(tmp_path / "r"))
    assert (tmp_path / "r").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    "change",
    [
        {"asked": "\x1b]0;owned\x07\u202e\x9b31m"},
        {"startedAt": "\x1b[31m"},
        {"startedAt": "yesterday"},
        {"durationMs": 10**30},
        {"durationMs": -1},
        {"exchanges": [{"finalUrl": "nonsense"}]},
        {"exchanges": [{"purpose": "\x1b[31m"}]},
        {"exchanges": [{"method": "\x1b[31m"}]},
        {"exchanges": [{"url": "\x1b[31m\u202e"}]},
        {"exchanges": [{"headers": [["Content-Type", "\x1b[31m"]]}]},
        {"exchanges": [{"body": {"text": "\ud800"}}]},
        {"exchanges": [{"status": 10**9}]},
        {"exchanges": [{"durationMs": 10**30}]},
    ],
)
def test_a_stranger_s_recording_is_harmless(tmp_path: Path, site: RealSite, change: dict[str, object]) -> None:
    recording = tmp_path / "r"
    run("audit", site.url, "--record", str(recording))
    data = json.loads(recording.read_text())
    for name, value in change.items():
        data[name] = [data[name][0] | value[0], *data[name][1:]] if isinstance(value, list) else value
    recording.write_text(json.dumps(data))
    for more in (("--format", "json"), ("--format", "text")):
        ended = run("audit", "--replay", str(recording), *more)
        assert all(character.isprintable() or character == "\n" for character in ended.stdout + ended.stderr)
        assert "Traceback" not in ended.stderr
        assert "internal error" not in ended.stdout


def test_header_names_of_a_recording_may_be_in_any_case(tmp_path: Path, site: RealSite) -> None:
    recording = tmp_path / "r"
    run("audit", site.url, "--record", str(recording))
    data = json.loads(recording.read_text())
    for exchange in data["exchanges"]:
        exchange["headers"] = [[name.upper(), value] for name, value in exchange["headers"]]
    recording.write_text(json.dumps(data))
    assert run("audit", "--replay", str(recording)).stdout.startswith(f"{site.url}/: SUCCESS")


@pytest.mark.parametrize("arguments", [("audit", "http://127.0.0.1:9"), ("checks",)])
@pytest.mark.parametrize("redirection", [">&-", *([">/dev/full"] if Path("/dev/full").exists() else [])])
def test_output_that_cannot_be_written(arguments: tuple[str, ...], redirection: str) -> None:
    script = f'"{sys.executable}" -m parley {" ".join(arguments)} {redirection}'
    ended = subprocess.run(
        ["bash", "-c", script], env=environment(), capture_output=True, text=True, timeout=60, check=False
    )
    assert ended.returncode == 2
    assert "Traceback" not in ended.stderr
    assert ended.stderr.startswith("parley: ")


def test_a_wrong_option_leaves_the_output_file_alone(tmp_path: Path) -> None:
    (tmp_path / "o").write_text("before")
    assert run("audit", "http://127.0.0.1:9", "--output", str(tmp_path / "o"), "--ca-file", "/nowhere").returncode == 2
    assert (tmp_path / "o").read_text() == "before"


def test_an_echoed_header_is_masked() -> None:

    answers = {FIRST: served(card(name="hunter2hunter2", version="Bearer hunter2hunter2"))}
    with real_site(answers) as site:
        ended = run("audit", site.url, "--header", "Authorization: Bearer hunter2hunter2")
    assert "hunter2" not in ended.stdout
    assert "•••" in ended.stdout


def test_a_header_that_comes_back_in_a_redirect_is_masked() -> None:
    moved = Answer(status=302, headers={"location": "/c.json?token=hunter2hunter2"})
    with real_site({FIRST: moved, "/c.json?token=hunter2hunter2": served(card(name="x"))}) as site:
        for more in (("--format", "json"), ()):
            ended = run("audit", site.url, "--header", "Authorization: Bearer hunter2hunter2", *more)
            assert "405" in ended.stdout  # the card behind the redirect was judged
            assert "hunter2" not in ended.stdout + ended.stderr


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
