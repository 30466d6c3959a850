"""Audits on somebody's behalf: what is counted, and what is visited."""

import ipaddress

import pytest

from parley.api import PER_ADDRESS, TooManyAuditsError
from parley.fetch import resolve
from parley.fetch.policy import DEPLOYED
from parley.service import audience
from parley.store.memory_counter import MemoryCounter
from parley.target import Target

VICTIM = "203.0.114.7"


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[str]]:
    """Names and their addresses, in the name system's place; every other name leads to one victim."""
    table: dict[str, list[str]] = {}

    def look_up(name: str) -> list[ipaddress.IPv4Address | ipaddress.IPv6Address]:
        return [ipaddress.ip_address(address) for address in table.get(name.removesuffix("."), [VICTIM])]

    monkeypatch.setattr(resolve, "look_up", look_up)
    return table


@pytest.fixture
def dialled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Addresses that were dialled; none answers."""
    from parley.fetch import transport

    seen: list[str] = []

    def dial(address: object, *_: object, **__: object) -> object:
        seen.append(str(address))
        raise ConnectionRefusedError

    monkeypatch.setattr(transport, "dial", dial)
    return seen


def test_one_victim_of_many_names(names: dict[str, list[str]], dialled: list[str]) -> None:
    asker = audience("public", DEPLOYED, counter=MemoryCounter(clock=lambda: 30.0))
    for i in range(PER_ADDRESS.limit):
        assert asker.audit(f"https://w{i}.victim.com").refusal is None
    before = len(dialled)
    with pytest.raises(TooManyAuditsError) as caught:
        asker.audit("https://another.victim.com")
    assert caught.value.quota is PER_ADDRESS
    assert len(dialled) == before
    names["elsewhere.com"] = ["203.0.114.8"]
    assert asker.audit("https://elsewhere.com").refusal is None


def test_a_private_address_is_refused_before_anything_is_counted_or_dialled(
    names: dict[str, list[str]], dialled: list[str]
) -> None:
    names["inside.com"] = [VICTIM, "10.0.0.7"]
    asker = audience("public", DEPLOYED, counter=MemoryCounter())
    refusal = asker.audit("https://inside.com").refusal
    assert refusal == "https://inside.com resolves to a private address (10.0.0.7), which this service does not visit"
    assert dialled == []


def test_refuses_by_text_alone() -> None:
    asker = audience("public", DEPLOYED)
    assert asker.refuses(Target.parse("http://127.0.0.1/"))
    assert asker.refuses(Target.parse("http://printer.local/"))
    assert not asker.refuses(Target.parse("https://example.com/"))
