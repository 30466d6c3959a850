import pytest

from parley.evidence import FailureCode
from parley.report import Protocol, State, Status
from sites import Answer, Site, card, fails, served


@pytest.mark.parametrize(
    ("asked", "remote", "state"),
    [
        ("http://127.0.0.1:8000", "https://weather.example/mcp", State.NOT_DETECTED),
        ("http://localhost:8000", "https://weather.example/mcp", State.NOT_DETECTED),
        ("http://192.168.1.4", "https://weather.example/mcp", State.NOT_DETECTED),
        ("http://127.0.0.1:8000", "http://127.0.0.1:8000/elsewhere", State.INDICATED),
        ("https://weather.example", "https://mcp.weather.example/mcp", State.INDICATED),
    ],
)
@pytest.mark.parametrize("answer", [fails(FailureCode.DNS, "the name does not resolve"), Answer(status=404)])
def test_a_rehearsal_is_not_blamed_for_the_stage(asked: str, remote: str, state: State, answer: Answer) -> None:
    """On one's own machine a card already names the place where the server will be."""
    here = served(card(remotes=[{"type": "streamable-http", "url": remote}]))
    site = Site({f"{asked}/.well-known/mcp/server-card.json": here}, mcp={remote: lambda request: answer})
    report = site.audit(asked)
    mcp = report.protocols[Protocol.MCP]
    assert mcp.state is state
    assert (mcp.status is Status.FAIL) is (state is State.INDICATED)
