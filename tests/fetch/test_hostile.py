"""Every behaviour of tests/hostile.py, met by the client as its user meets it."""

import time
from collections.abc import Iterator

import pytest

from fetch.loopback import Dials, Names
from hostile import CHALLENGES, CHUNK_SIZES, LENGTHS, LOCATIONS, SCENARIOS, STATUS_LINES, Scenario, Server, serve
from parley.evidence import Exchange, FailureCode, Request
from parley.fetch.client import Fetcher
from parley.fetch.policy import DEPLOYED, LOCAL, Limits, Policy
from parley.wire import strict_json
from parley.wire.url import Url

SECONDS = 1.0
"""The deadline where a scenario is about time. All others may take as long as a busy machine needs."""

ZOOS = {
    "status-zoo": len(STATUS_LINES),
    "length-zoo": len(LENGTHS),
    "chunk-zoo": len(CHUNK_SIZES),
    "auth-zoo": len(CHALLENGES),
}
AS_EXPECTED = {FailureCode.REDIRECTS: "refused"}
"""Where hostile.py has a coarser word."""


def met(exchange: Exchange) -> set[str]:
    """The outcome in hostile.py's words; a whole answer may be called by more than one."""
    if exchange.failure:
        return {AS_EXPECTED.get(exchange.failure.code, exchange.failure.code.value)}
    words = {"status"}
    if isinstance(strict_json.parse(exchange.body), strict_json.NotJson):
        words |= {"ok"} if exchange.status != 200 else {"bad-json"}
    else:
        words |= {"ok"}
    return words


@pytest.fixture(scope="module")
def everything() -> Iterator[Server]:
    """All scenarios at once: what needs no server of its own is spared the wait for one to stop."""
    with serve("all", seconds=600) as server:
        yield server


def is_slow(scenario: Scenario) -> bool:
    return "timeout" in scenario.expect


def fetched(url: str, *, seconds: float) -> Exchange:
    target = Url.parse(url)
    with Fetcher(target, LOCAL, limits=Limits(fetch_seconds=seconds)) as fetch:
        return fetch(Request(purpose="card", url=str(target)))


@pytest.mark.parametrize("scenario", SCENARIOS.values(), ids=SCENARIOS)
def test_scenario(scenario: Scenario) -> None:
    seconds = SECONDS if is_slow(scenario) else 8.0
    with serve(scenario.name, to="http://169.254.169.254/latest/meta-data/") as server:
        started = time.monotonic()
        exchange = fetched(server.url, seconds=seconds)
        elapsed = time.monotonic() - started
    assert met(exchange) & set(scenario.expect.split("|")), exchange
    assert elapsed < seconds + 1.5
    assert exchange.outcome != "internal"
    if exchange.failure and exchange.failure.code is FailureCode.TIMEOUT:
        assert exchange.failure.reason == "timed out after 1 s"
    if exchange.failure:
        assert exchange.body == b""
    assert len(exchange.body) <= Limits().body_bytes


@pytest.mark.parametrize(("name", "number"), [(name, n) for name, count in ZOOS.items() for n in range(count)])
def test_zoo(everything: Server, name: str, number: int) -> None:
    exchange = fetched(f"{everything.url}{name}/{number}", seconds=SECONDS)
    assert met(exchange) & set(SCENARIOS[name].expect.split("|")), exchange
    assert exchange.outcome not in ("internal", "budget")


@pytest.mark.parametrize("number", range(len(LOCATIONS)))
@pytest.mark.parametrize("policy", [DEPLOYED, LOCAL], ids=["service", "person"])
def test_no_redirect_leads_astray(names: Names, dials: Dials, everything: Server, policy: Policy, number: int) -> None:
    """The hostile server is a public name here; whatever it redirects to, nothing but itself is dialled.

    That holds for a person's machine too: a public target may lead to public places only.
    """
    names["hostile.com"] = "93.184.216.34"
    for host in ("localhost", "localhost.localdomain", "ip6-localhost", "intranet", "printer.local"):
        names[host] = "127.0.0.1"
    dials.leads["93.184.216.34"] = everything.port
    target = Url.parse(f"http://hostile.com/redirect-zoo/{number}")
    with Fetcher(target, policy) as fetch:
        exchange = fetch(Request(purpose="card", url=str(target)))
    assert set(dials.dialled) == {("93.184.216.34", 80)}
    if exchange.redirects:  # ``http:/127.0.0.1/``, ``?`` and the like are paths of the server's own
        assert Url.parse(exchange.final_url).host == "hostile.com" or exchange.outcome == "dns"
    elif "\x00" in LOCATIONS[number]:
        assert exchange.outcome == "bad-http"
    else:
        assert exchange.failure is not None
        assert exchange.failure.code is FailureCode.REFUSED
        assert exchange.failure.reason.startswith("redirects to ")
        assert (exchange.status, exchange.final_url) == (302, str(target))


def test_nothing_is_injected_by_an_encoded_line_break() -> None:
    with serve("redirect-header-split") as server:
        fetched(server.url, seconds=8.0)
        assert [path for _, path, _ in server.requests] == ["/", "/x%0D%0AInjected:%201"]
        assert not any(name == "Injected" for _, _, headers in server.requests for name, _ in headers)


def test_an_event_stream_ends_when_the_answer_is_in() -> None:
    with serve("sse-answer") as server:
        target = Url.parse(server.url)
        started = time.monotonic()
        with Fetcher(target, LOCAL) as fetch:
            exchange = fetch(Request(purpose="ping", url=str(target), enough=lambda body: body.endswith(b"\n\n")))
    assert exchange.answered == 200
    assert exchange.body.startswith(b"event: message")
    assert time.monotonic() - started < 2


def test_the_second_answer_on_a_connection_is_never_taken_for_one() -> None:
    with serve("second-response") as server:
        target = Url.parse(server.url)
        with Fetcher(target, LOCAL) as fetch:
            bodies = [fetch(Request(purpose="card", url=str(target))).body for _ in range(2)]
        assert bodies == [b"{}", b"{}"]
        assert server.connections == 2
