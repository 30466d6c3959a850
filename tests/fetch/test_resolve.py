import socket
import threading
import time

import pytest

from fetch.loopback import Dials, Names, answer, site
from parley.evidence import FailureCode, Request
from parley.fetch.client import Fetcher
from parley.fetch.policy import DEPLOYED, LOCAL, Limits
from parley.wire.url import Url

PUBLIC, OTHER = "93.184.216.34", "93.184.216.35"


def test_a_name_is_looked_up_once_and_dialled_as_it_was_judged(names: Names, dials: Dials) -> None:
    """DNS rebinding: the second answer would be loopback, and nobody asks for it."""
    turns = iter([[PUBLIC], ["127.0.0.1"], ["127.0.0.1"]])
    names["rebind.com"] = lambda: next(turns)
    target = Url.parse("http://rebind.com/")
    with site(lambda asked: answer(b"{}", "Connection: close")) as server, Fetcher(target, DEPLOYED) as fetch:
        dials.leads[PUBLIC] = server.port
        assert fetch.admit() is None
        for _ in range(3):
            assert fetch(Request(purpose="card", url=str(target))).answered == 200
    assert names.looked_up == ["rebind.com."]
    assert dials.dialled == [(PUBLIC, 80)] * 3
    assert {asked.headers["host"] for asked in server.asked} == {"rebind.com"}


@pytest.mark.parametrize(
    ("addresses", "seen"),
    [
        (f"{PUBLIC} 127.0.0.1", "a loopback address (127.0.0.1)"),
        (f"{PUBLIC} fd00::1", "a private address (fd00::1)"),
        ("10.0.0.7", "a private address (10.0.0.7)"),
        ("169.254.169.254", "a cloud's metadata address (169.254.169.254)"),
        ("100.64.0.1", "a private address (100.64.0.1)"),
        ("64:ff9b::7f00:1", "a special-purpose address (64:ff9b::7f00:1)"),
        ("::ffff:93.184.216.34", "a special-purpose address (::ffff:5db8:d822)"),
        ("0.0.0.0", "a special-purpose address (0.0.0.0)"),
    ],
)
def test_one_answer_that_is_not_allowed_refuses_the_name(names: Names, dials: Dials, addresses: str, seen: str) -> None:
    names["mixed.com"] = addresses
    target = Url.parse("https://mixed.com/")
    with Fetcher(target, DEPLOYED) as fetch:
        failure = fetch.admit()
        exchange = fetch(Request(purpose="card", url=str(target)))
    assert failure is not None
    assert failure.code is FailureCode.REFUSED
    assert failure.reason.replace("::ffff:93.184.216.34", "::ffff:5db8:d822") == (
        f"resolves to {seen}, which this service does not visit"
    )
    assert exchange.failure == failure
    assert dials.dialled == []


def test_a_name_that_does_not_resolve_is_not_looked_up_again(names: Names) -> None:
    target = Url.parse("https://nowhere.com/")
    with Fetcher(target, DEPLOYED) as fetch:
        failure = fetch.admit()
        exchange = fetch(Request(purpose="card", url=str(target)))
    assert failure is not None
    assert (failure.code, failure.reason) == (FailureCode.DNS, "the name does not resolve (nowhere.com)")
    assert exchange.failure == failure
    assert names.looked_up == ["nowhere.com."]


def test_name_servers_that_fail_are_told_from_names_that_do_not_exist(names: Names) -> None:
    names["a.com"] = socket.gaierror(socket.EAI_AGAIN, "try again")
    names["b.com"] = UnicodeError("label too long")
    names["c.com"] = ""
    for host, reason in [
        ("a.com", "the name servers do not answer (a.com)"),
        ("b.com", "the name does not resolve (b.com)"),
        ("c.com", "the name does not resolve (c.com)"),
    ]:
        with Fetcher(Url.parse(f"https://{host}/"), DEPLOYED) as fetch:
            failure = fetch.admit()
        assert failure is not None
        assert (failure.code, failure.reason) == (FailureCode.DNS, reason)


def test_a_slow_name_server_costs_the_limit_and_nothing_after(names: Names) -> None:
    held = threading.Event()

    def slow() -> list[str]:
        held.wait(10)
        return [PUBLIC]

    names["slow.com"] = slow
    limits = Limits(dns_seconds=0.2)
    started = time.monotonic()
    try:
        with Fetcher(Url.parse("https://slow.com/"), DEPLOYED, limits=limits) as fetch:
            first = fetch.admit()
            elapsed = time.monotonic() - started
            held.set()
            again = fetch(Request(purpose="card", url="https://slow.com/"))
        assert first is not None
        assert (first.code, first.reason) == (
            FailureCode.DNS,
            "the name was not resolved within 0.2 s (slow.com)",
        )
        assert 0.2 <= elapsed < 1.0
        assert again.failure == first  # also once the late answer is there
        assert names.looked_up == ["slow.com."]
    finally:
        held.set()
    names["quick.com"] = PUBLIC
    with Fetcher(Url.parse("https://quick.com/"), DEPLOYED) as fetch:
        assert fetch.admit() is None


def test_stalled_look_ups_are_bounded_and_are_ours(names: Names, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("parley.fetch.resolve._slots", threading.BoundedSemaphore(1))
    held = threading.Event()

    def slow() -> list[str]:
        held.wait(10)
        return [PUBLIC]

    names["slow.com"] = slow
    limits = Limits(dns_seconds=0.1)
    try:
        with Fetcher(Url.parse("https://slow.com/"), DEPLOYED, limits=limits) as fetch:
            fetch.admit()
        with Fetcher(Url.parse("https://other.com/"), DEPLOYED, limits=limits) as fetch:
            failure = fetch.admit()
    finally:
        held.set()
    assert failure is not None
    assert failure.code is FailureCode.BUDGET


def test_two_threads_share_one_look_up(names: Names, dials: Dials) -> None:
    both = threading.Barrier(2, timeout=5)
    names["a.com"] = PUBLIC
    target = Url.parse("http://a.com/")
    with site(lambda asked: answer()) as server, Fetcher(target, DEPLOYED) as fetch:
        dials.leads[PUBLIC] = server.port

        def ask() -> None:
            both.wait()
            fetch(Request(purpose="card", url=str(target)))

        threads = [threading.Thread(target=ask) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(server.asked) == 2
    assert names.looked_up == ["a.com."]


def test_at_most_three_addresses_are_tried_and_families_take_turns(names: Names, dials: Dials) -> None:
    names["many.com"] = "2606:4700::1 2606:4700::2 2606:4700::3 93.184.216.1 93.184.216.2"
    target = Url.parse("https://many.com/")
    with Fetcher(target, DEPLOYED) as fetch:
        exchange = fetch(Request(purpose="card", url=str(target)))
    assert exchange.failure is not None
    assert (exchange.failure.code, exchange.failure.reason) == (FailureCode.CONNECT, "refused the connection")
    assert dials.dialled == [("2606:4700::1", 443), ("93.184.216.1", 443), ("2606:4700::2", 443)]


def test_the_next_address_is_tried_when_one_refuses(names: Names, dials: Dials) -> None:
    names["two.com"] = f"{OTHER} {PUBLIC}"
    target = Url.parse("http://two.com/")
    with site(lambda asked: answer()) as server, Fetcher(target, DEPLOYED) as fetch:
        dials.leads[PUBLIC] = server.port
        assert fetch(Request(purpose="card", url=str(target))).answered == 200
    assert dials.dialled == [(OTHER, 80), (PUBLIC, 80)]


WHERE = {"public.com": PUBLIC, "private.com": "10.0.0.7", "here.com": "127.0.0.1", "metadata.com": "169.254.169.254"}


@pytest.mark.parametrize(
    ("target", "reached"),
    [
        ("public.com", {"public.com"}),
        ("private.com", {"public.com", "private.com"}),
        ("here.com", {"public.com", "private.com", "here.com"}),
    ],
)
@pytest.mark.parametrize("second_stage", [True, False])
def test_local_less_private_may_not_lead_to_more_private(
    names: Names, dials: Dials, target: str, reached: set[str], second_stage: bool
) -> None:
    """By redirect, and by a URL that a document names, which the prober then asks for."""
    for name, address in WHERE.items():
        names[name] = address
    came = set()
    wanted = ""

    def reply(asked: object) -> bytes:
        host = asked.headers["host"].partition(":")[0]  # type: ignore[attr-defined]
        came.add(host)
        path = asked.path  # type: ignore[attr-defined]
        return (
            answer(b"", f"Location: http://{wanted}:{server.port}/", status="302 Found") if path == "/go" else answer()
        )

    with site(reply) as server:
        dials.leads.update({PUBLIC: server.port, "10.0.0.7": server.port})
        start = Url.parse(f"http://{target}:{server.port}/go")
        for wanted in WHERE:
            came.clear()
            with Fetcher(start, LOCAL) as fetch:
                url = f"http://{wanted}:{server.port}/" if second_stage else str(start)
                exchange = fetch(Request(purpose="card", url=url))
            assert (exchange.outcome == "ok") == (wanted in reached), (wanted, exchange.failure)
            assert came - {target} == ({wanted} & reached) - {target}
            if wanted not in reached:
                assert exchange.outcome == "refused"
    assert "169.254.169.254" not in {address for address, _ in dials.dialled}


def test_the_real_resolver_knows_this_machine() -> None:
    with Fetcher(Url.parse("http://localhost:1/"), LOCAL) as fetch:
        assert fetch.admit() is None
