"""Which places may be an endpoint, and what only a modern server says."""

import pytest

from mcp_servers import error
from parley.documents import mcp
from parley.documents.mcp import best_version, candidates, is_modern_error, other_session
from parley.documents.mcp_plan import Purpose
from parley.documents.mcp_reply import read
from parley.evidence import Request
from parley.target import Target
from parley.wire.url import Url
from sites import HOST, Site, card, served


@pytest.mark.parametrize(
    ("status", "code", "message", "modern"),
    [
        (400, -32020, "no", True),
        (400, -32021, "no", True),
        (400, -32022, "no", True),
        (200, -32022, "no", True),
        (400, -32004, "no", True),
        (404, -32001, "Session not found", False),
        (400, -32003, "no", False),
        (404, -32601, "no", True),
        (200, -32601, "no", False),
        (400, -32601, "no", False),
        (400, -32602, "params._meta is missing", True),
        (400, -32602, "io.modelcontextprotocol/clientCapabilities", True),
        (400, -32602, "Invalid request parameters", False),
        (200, -32602, "_meta", False),
        (400, -32600, "Bad Request: Missing session ID", False),
        (400, -32000, "no", False),
    ],
)
def test_modern_errors(status: int, code: int, message: str, modern: bool) -> None:
    answer = error("x", code, message, status=status)
    exchange = Site({HOST: answer})(Request(purpose=Purpose.DISCOVER, url=HOST, method="POST"))
    assert is_modern_error(read(exchange, "x")) == modern


@pytest.mark.parametrize(
    ("supported", "best"),
    [
        (["2026-07-28"], "2026-07-28"),
        (["2025-11-25", "2027-01-01", "2026-09-01"], "2027-01-01"),
        (["2025-11-25"], "2026-07-28"),
        (["DRAFT-2026-v2"], "DRAFT-2026-v2"),
        (["not a\nheader"], "2026-07-28"),
        ([], "2026-07-28"),
    ],
)
def test_best_version(supported: list[str], best: str) -> None:
    assert best_version(supported) == best


@pytest.mark.parametrize("session", ["3f9a", "0123-abcdef", "zzz", "-", "x" * 1024])
def test_another_session_is_of_the_same_form_and_always_the_same(session: str) -> None:
    assert other_session(session) != session
    assert other_session(session) == other_session(session)
    assert abs(len(other_session(session)) - len(session)) <= 1


@pytest.mark.parametrize(
    ("asked", "claimed"),
    [("/mcp", True), ("/api/mcp/", True), ("/weather-mcp", True), ("/sse", True), ("/assets", False), ("/blog", False)],
)
def test_which_paths_claim_to_be_an_endpoint(asked: str, claimed: bool) -> None:
    first = candidates(Target.parse(f"https://weather.example{asked}"), ())[0]
    assert (first.url, first.claim is not None) == (f"https://weather.example{asked}", claimed)


def test_a_cards_remotes_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A card may name thousands, and each rule on authorization asks for the endpoint."""
    parsed: list[str] = []

    def counted(text: str) -> Url:
        parsed.append(text)
        return Url.parse(text)

    class Counting:
        parse = staticmethod(counted)

    monkeypatch.setattr(mcp, "Url", Counting)
    remotes = [{"type": "streamable-http", "url": f"https://a{number}.weather.example/"} for number in range(500)]
    Site({"/mcp/server-card": served(card(remotes=remotes))}).audit()
    assert len([text for text in parsed if ".weather.example" in text]) <= 2 * len(remotes)  # for the probe; for rules
