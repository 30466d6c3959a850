import contextlib
import errno
import logging
import socket
import threading
import time
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fetch.loopback import OK, Asked, Dials, Names, Reply, Site, answer, redirect, site
from parley import __version__
from parley.evidence import Exchange, FailureCode, Redirect, Request
from parley.fetch.client import Fetcher
from parley.fetch.policy import DEPLOYED, LOCAL, Limits
from parley.wire.url import Url


@contextlib.contextmanager
def audited(reply: Reply, **options: Any) -> Iterator[tuple[Site, Fetcher]]:
    """A server, and a client that audits it."""
    with site(reply) as server, Fetcher(Url.parse(server.url()), LOCAL, **options) as fetch:
        yield server, fetch


def get(url: str, **options: object) -> Request:
    return Request(purpose="card", url=url, **options)  # type: ignore[arg-type]


def failure(exchange: Exchange) -> tuple[FailureCode, str]:
    assert exchange.failure is not None, exchange
    return exchange.failure.code, exchange.failure.reason


# ---------------------------------------------------------------- what is sent


def test_an_exchange_holds_what_was_asked_and_what_came() -> None:
    sent = b"HTTP/1.1 200 OK\r\nSet-Cookie: a=1\r\nX-Odd: \xff\xfe\r\nset-cookie: b=2\r\nContent-Length: 2\r\n\r\n{}"
    with site(lambda asked: sent) as server:
        target = Url.parse(server.url("/a"))
        with Fetcher(target, LOCAL) as fetch:
            exchange = fetch(Request(purpose="the card", url=server.url("/a/../b?x=%7e#part")))
    assert (exchange.purpose, exchange.method, exchange.status) == ("the card", "GET", 200)
    assert exchange.url == exchange.final_url == server.url("/b?x=~")
    assert server.asked[0].path == "/b?x=~"
    assert exchange.headers == (
        ("set-cookie", "a=1"),
        ("x-odd", "\xff\xfe"),
        ("set-cookie", "b=2"),
        ("content-length", "2"),
    )
    assert exchange.body == b"{}"
    assert exchange.failure is None
    assert exchange.redirects == ()
    assert 0 <= exchange.duration_ms < 5000


@pytest.mark.parametrize("path", ["/", "//x", "/a//b", "/a?", "/%2F", "/a%20b?c=d%0A", "/'()*!;=@:~", "/a?b?c"])
def test_the_request_line_is_the_url_that_was_judged(path: str) -> None:
    with site(lambda asked: answer()) as server:
        url = Url.parse(server.url(path))
        with Fetcher(url, LOCAL) as fetch:
            fetch(get(str(url)))
    assert server.url(server.asked[0].path) == str(url)


def test_every_request_says_who_asks_and_for_plain_content() -> None:
    with site(lambda asked: answer()) as server:
        policy = LOCAL._replace(user_agent="Parley/9 (+https://a.com/bot)")
        with Fetcher(Url.parse(server.url()), policy) as fetch:
            fetch(get(server.url(), headers={"Accept": "application/json", "user-agent": "else", "X-A": "b"}))
        with Fetcher(Url.parse(server.url()), LOCAL) as fetch:
            fetch(get(server.url()))
    assert server.asked[0].headers == {
        "host": f"127.0.0.1:{server.port}",
        "user-agent": "Parley/9 (+https://a.com/bot)",
        "accept": "application/json",
        "accept-encoding": "identity",
        "x-a": "b",
    }
    assert server.asked[1].headers["user-agent"] == f"Parley/{__version__} (+https://parley.example/about)"
    assert server.asked[1].headers["accept"] == "*/*"


PING = b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}'
SESSION = {"Mcp-Session-Id": "3f9a"}


def harmless(url: str, method: str, **more: Any) -> Request:
    """A request by a method, as far as that may be sent."""
    if method == "POST":
        return get(url, method=method, body=PING, **more)
    return get(url, method=method, headers=SESSION if method == "DELETE" else {}, **more)


@pytest.mark.parametrize("body", [PING, b"[%b]" % PING, PING.replace(b"ping", b"tools/list")])
def test_a_post_is_sent_whole_and_with_its_length(body: bytes) -> None:
    with audited(lambda asked: answer()) as (server, fetch):
        assert fetch(get(server.url(), method="POST", body=body)).answered == 200
    assert server.asked[0].method == "POST"
    assert server.asked[0].body == body
    assert server.asked[0].headers["content-length"] == str(len(body))


@pytest.mark.parametrize(
    "body",
    [
        None,
        b"",
        b"{}",
        b"[]",
        b"7",
        b"{",
        b"\xff",
        b'{"method": null}',
        b'{"method": ["ping"]}',
        *(
            PING.replace(b"ping", name)
            for name in (b"tools/call", b"prompts/get", b"resources/read", b"message/send", b"SendMessage", b"PING")
        ),
        b"[%b, %b]" % (PING, PING.replace(b"ping", b"tools/call")),
        b'{"method": "ping", "method": "tools/call"}',
    ],
)
def test_a_post_calls_what_is_on_the_list(body: bytes | None, caplog: pytest.LogCaptureFixture) -> None:
    with audited(lambda asked: answer()) as (server, fetch):
        code, _ = failure(fetch(get(server.url(), method="POST", body=body)))
    assert code is FailureCode.INTERNAL
    assert server.asked == []


@pytest.mark.parametrize(
    "request_", [{"method": "DELETE"}, {"method": "GET", "body": PING}, {"method": "OPTIONS", "body": b"x"}]
)
def test_other_methods_have_no_body_and_end_nothing_but_sessions(
    request_: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    with audited(lambda asked: answer()) as (server, fetch):
        assert failure(fetch(get(server.url(), **request_)))[0] is FailureCode.INTERNAL
    assert server.asked == []


def test_a_fresh_request_takes_a_new_connection() -> None:
    with audited(lambda asked: answer()) as (server, fetch):
        for fresh in (False, False, True, False):
            assert fetch(get(server.url(), fresh=fresh)).answered == 200
    assert [(asked.connection, asked.turn) for asked in server.asked] == [(1, 1), (1, 2), (2, 1), (2, 2)]


def test_a_request_may_have_less_patience_than_others() -> None:
    released = threading.Event()
    with audited(lambda asked: released.wait(10) and None) as (server, fetch):
        assert failure(fetch(get(server.url(), seconds=0.2))) == (FailureCode.TIMEOUT, "timed out after 0.2 s")
        assert failure(fetch(get(server.url(), seconds=0.2)))[1] == "timed out after 0.2 s"  # and is asked again
        released.set()


def test_a_stream_may_be_left_unread() -> None:
    with audited(lambda asked: answer(b"data: x", "Content-Type: Text/Event-Stream; charset=utf-8")) as (server, fetch):
        exchange = fetch(get(server.url(), skips_stream=True))
    assert (exchange.answered, exchange.body) == (200, b"")
    with audited(lambda asked: answer(b"{}", "Content-Type: application/json")) as (server, fetch):
        assert fetch(get(server.url(), skips_stream=True)).body == b"{}"


@pytest.mark.parametrize("method", ["OPTIONS", "DELETE"])
def test_other_methods_that_may_be_sent(method: str) -> None:
    with audited(lambda asked: answer(b"", status="204 No Content")) as (server, fetch):
        assert fetch(harmless(server.url(), method)).answered == 204
    assert server.asked[0].method == method


@pytest.mark.parametrize("method", ["PUT", "PATCH", "HEAD", "CONNECT", "get", "GET / HTTP/1.1\r\nX: y\r\n\r\n"])
def test_methods_that_may_not(method: str, caplog: pytest.LogCaptureFixture) -> None:
    with audited(lambda asked: answer()) as (server, fetch):
        code, reason = failure(fetch(get(server.url(), method=method)))
    assert (code, reason) == (FailureCode.INTERNAL, "could not be checked, by a fault of ours (ValueError)")
    assert server.asked == []
    assert caplog.records


@pytest.mark.parametrize(
    ("url", "shown", "reason"),
    [
        ("ftp://a.com/", "ftp://a.com/", "is not an http(s) URL"),
        ("/mcp", "/mcp", "is not an http(s) URL"),
        ("", "", "is not an http(s) URL"),
        ("https://me:secret@a.com/?q=secret", "https://…@a.com/?…", "carries a user name or a password"),
        ("https://a.com/" + "a" * 3000, "https://a.com/" + "a" * 186 + "…", "is longer than 2048 characters"),
        ("https://a.com/\x1b", "https://a.com/\\u{1b}", None),
    ],
)
def test_a_url_that_is_none_is_an_exchange_too(url: str, shown: str, reason: str | None) -> None:
    with Fetcher(Url.parse("https://a.com/"), DEPLOYED) as fetch:
        exchange = fetch(get(url))
    code, said = failure(exchange)
    assert code is FailureCode.REFUSED
    assert said == reason or reason is None
    assert exchange.url == exchange.final_url == shown


# ---------------------------------------------------------------- what must not be sent


def test_neither_netrc_nor_proxies_of_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    netrc = tmp_path / ".netrc"
    netrc.write_text("default login me password secret\n")
    netrc.chmod(0o600)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("NETRC", str(netrc))
    with site(lambda asked: answer()) as proxy, site(lambda asked: answer()) as server:
        for name in ("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(name, proxy.url())
        monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(tmp_path / "nothing.pem"))
        monkeypatch.setenv("CURL_CA_BUNDLE", str(tmp_path / "nothing.pem"))
        with Fetcher(Url.parse(server.url()), LOCAL) as fetch:
            assert fetch(get(server.url())).answered == 200
    assert proxy.connections == 0
    assert "authorization" not in server.asked[0].headers


def test_cookies_are_not_carried() -> None:
    def reply(asked: Asked) -> bytes:
        if asked.path == "/":
            return answer(b"", "Location: /next", "Set-Cookie: tracker=1; Path=/", status="302 Found")
        return answer()

    with audited(reply) as (server, fetch):
        fetch(get(server.url()))
        fetch(get(server.url("/next")))
    assert [asked.path for asked in server.asked] == ["/", "/next", "/next"]
    assert not any("cookie" in asked.headers for asked in server.asked)


def test_own_headers_reach_the_targets_origin_only() -> None:
    own = {"Authorization": "Bearer secret", "User-Agent": "mine"}
    with site(lambda asked: answer()) as other:

        def reply(asked: Asked) -> bytes:
            return {"/away": redirect(other.url("/b")), "/on": redirect("/a")}.get(asked.path, answer())

        with audited(reply, own_headers=own) as (server, fetch):
            for path in ("/a", "/on", "/away"):
                assert fetch(get(server.url(path))).answered == 200
            assert fetch(get(other.url("/c"))).answered == 200
            assert fetch(get(server.url("/d", host="localhost"))).answered == 200
    sent = {asked.path: asked.headers.get("authorization") for asked in server.asked + other.asked}
    assert sent == {
        "/a": "Bearer secret",
        "/on": "Bearer secret",
        "/away": "Bearer secret",
        "/b": None,
        "/c": None,
        "/d": None,
    }
    assert all(asked.headers["user-agent"].startswith("Parley/") for asked in server.asked)


@pytest.mark.parametrize("headers", [{"A b": "c"}, {"": "c"}, {"A": "b\r\nC: d"}, {"A": "\0"}, {"A": "€"}])
def test_own_headers_that_cannot_be_sent_are_said_at_once(headers: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="cannot be sent"):
        Fetcher(Url.parse("https://a.com/"), LOCAL, own_headers=headers)


# ---------------------------------------------------------------- redirects


def test_redirects_are_followed_and_recorded() -> None:
    def reply(asked: Asked) -> bytes:
        return {
            "/": redirect("/a", "301 Moved"), "/a": redirect("b?x=1", "307 Temporary"), "/b?x=1": redirect("/c", "308 P"),
        }.get(asked.path, answer())  # fmt: skip

    with audited(reply) as (server, fetch):
        exchange = fetch(get(server.url()))
    assert exchange.answered == 200
    assert exchange.final_url == server.url("/c")
    assert exchange.redirects == (
        Redirect(status=301, url=server.url(), location=server.url("/a")),
        Redirect(status=307, url=server.url("/a"), location=server.url("/b?x=1")),
        Redirect(status=308, url=server.url("/b?x=1"), location=server.url("/c")),
    )
    assert server.connections == 1


def test_the_fourth_redirect_is_one_too_many() -> None:
    with audited(lambda asked: redirect(f"{asked.path}x")) as (server, fetch):
        exchange = fetch(get(server.url()))
    assert failure(exchange) == (FailureCode.REDIRECTS, "redirects more than 3 times")
    assert exchange.status == 302
    assert exchange.header("location") == "/xxxx"
    assert exchange.final_url == server.url("/xxx")
    assert len(exchange.redirects) == 3
    assert len(server.asked) == 4


@pytest.mark.parametrize("method", ["POST", "OPTIONS", "DELETE"])
def test_only_a_get_is_redirected(method: str) -> None:
    with (
        site(lambda asked: redirect("/a", "307 Temporary")) as server,
        Fetcher(Url.parse(server.url()), LOCAL) as fetch,
    ):
        exchange = fetch(harmless(server.url(), method))
    assert exchange.answered == 307
    assert len(server.asked) == 1


@pytest.mark.parametrize(
    "lines", [("Location: /a", "Location: /b"), ("Location: /\xff",), ("Location: /a\x1b",), ("Location: /a b",)]
)
def test_a_location_that_is_no_url(lines: tuple[str, ...]) -> None:
    with audited(lambda asked: answer(b"", *lines, status="302 Found")) as (server, fetch):
        exchange = fetch(get(server.url()))
    assert failure(exchange) == (FailureCode.REFUSED, "redirects to something that is no URL")
    assert exchange.status == 302


def test_what_fails_behind_a_redirect_is_named(names: Names, dials: Dials) -> None:
    names["a.com"] = "93.184.216.34"
    with site(lambda asked: redirect(f"https://{asked.path[1:]}/")) as server:
        dials.leads["93.184.216.34"] = server.port
        names["refuses.com"] = "93.184.216.35"
        names["inside.com"] = "10.0.0.7"
        policy = DEPLOYED._replace(deny_hosts=frozenset({"own.com"}))
        with Fetcher(Url.parse("http://a.com/"), policy) as fetch:
            said = {}
            for to in ("gone.com", "refuses.com", "inside.com", "own.com", "a.com:22", "10.0.0.7"):
                exchange = fetch(get(f"http://a.com/{to}"))
                said[to] = (*failure(exchange), exchange.status, Url.parse(exchange.final_url).host)
    assert said == {
        "gone.com": (FailureCode.DNS, "redirects to https://gone.com/: the name does not resolve (gone.com)", None, "gone.com"),
        "refuses.com": (FailureCode.CONNECT, "redirects to https://refuses.com/: refused the connection", None, "refuses.com"),
        "inside.com": (
            FailureCode.REFUSED,
            "redirects to https://inside.com/, which resolves to a private address (10.0.0.7), which this service does not visit",
            302, "a.com",
        ),
        "own.com": (FailureCode.REFUSED, "redirects to https://own.com/, which is this service's own address", 302, "a.com"),
        "a.com:22": (
            FailureCode.REFUSED,
            "redirects to https://a.com:22/, which is on port 22, which this service does not visit (80, 443, 8080 and 8443 are)",
            302, "a.com",
        ),
        "10.0.0.7": (
            FailureCode.REFUSED,
            "redirects to https://10.0.0.7/, which is at a private address (10.0.0.7), which this service does not visit",
            302, "a.com",
        ),
    }  # fmt: skip


# ---------------------------------------------------------------- admission


@pytest.mark.parametrize(
    ("url", "code"),
    [
        ("https://a.com:22/", FailureCode.REFUSED),
        ("https://10.0.0.1/", FailureCode.REFUSED),
        ("https://inside.com/", FailureCode.REFUSED),
        ("https://gone.com/", FailureCode.DNS),
    ],
)
def test_what_is_not_admitted(names: Names, dials: Dials, url: str, code: FailureCode) -> None:
    names["inside.com"] = "10.0.0.7"
    with Fetcher(Url.parse(url), DEPLOYED) as fetch:
        failed = fetch.admit()
        exchange = fetch(get(url))
    assert failed is not None
    assert failed.code is code
    assert exchange.failure == failed
    assert dials.dialled == []


# ---------------------------------------------------------------- time


def test_the_deadline_is_one_for_all_redirects() -> None:
    def reply(asked: Asked) -> bytes:
        time.sleep(0.4)
        return redirect(f"{asked.path}x")

    with audited(reply, limits=Limits(fetch_seconds=1.0)) as (server, fetch):
        started = time.monotonic()
        exchange = fetch(get(server.url()))
        elapsed = time.monotonic() - started
    assert failure(exchange) == (FailureCode.TIMEOUT, f"redirects to {exchange.final_url}: timed out after 1 s")
    assert 1.0 <= elapsed < 2.0
    assert 1 <= len(exchange.redirects) <= 2


def test_a_host_that_did_not_answer_is_not_asked_again() -> None:
    released = threading.Event()

    def reply(asked: Asked) -> None:
        released.wait(10)

    with site(reply) as server, site(lambda asked: answer()) as other:
        limits = Limits(fetch_seconds=0.3)
        with Fetcher(Url.parse(server.url()), LOCAL, limits=limits) as fetch:
            first = fetch(get(server.url("/a")))
            second = fetch(get(server.url("/b")))
            another = fetch(get(other.url(host="localhost")))
        released.set()
    assert failure(first) == (FailureCode.TIMEOUT, "timed out after 0.3 s")
    assert failure(second) == (
        FailureCode.TIMEOUT,
        "was not asked again, since it had not answered (timed out after 0.3 s)",
    )
    assert second.duration_ms < 300
    assert another.answered == 200
    assert [asked.path for asked in server.asked] == ["/a"]


@pytest.mark.parametrize("is_silent", [True, False])
def test_a_session_is_ended_also_with_a_host_that_fell_silent(is_silent: bool) -> None:
    """In a second: it is no question that an answer is waited for."""
    released = threading.Event()

    def reply(asked: Asked) -> bytes | None:
        if asked.method == "DELETE" and not is_silent:
            return answer()
        released.wait(10)
        return None

    with site(reply) as server:
        with Fetcher(Url.parse(server.url()), LOCAL, limits=Limits(fetch_seconds=5, connect_seconds=0.1)) as fetch:
            fetch(get(server.url(), seconds=0.2))
            assert "was not asked again" in failure(fetch(get(server.url())))[1]
            ended = fetch(harmless(server.url(), "DELETE"))
        released.set()
    assert ended.outcome == ("timeout" if is_silent else "ok")
    assert [asked.method for asked in server.asked] == ["GET", "DELETE"]
    assert ended.duration_ms < 3000


def test_a_host_that_cannot_be_reached_is_not_tried_again(
    names: Names, dials: Dials, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried = []

    def dial(address: object, port: int, seconds: float) -> socket.socket:
        tried.append((str(address), seconds))
        time.sleep(seconds)
        raise TimeoutError

    monkeypatch.setattr("parley.fetch.transport.dial", dial)
    names["a.com"] = "93.184.216.34"
    with Fetcher(Url.parse("https://a.com/"), DEPLOYED, limits=Limits(connect_seconds=0.1)) as fetch:
        first, second = (fetch(get(f"https://a.com/{path}")) for path in "ab")
    assert failure(first) == (FailureCode.TIMEOUT, "timed out after 0.1 s, connecting")
    assert failure(second)[1] == "was not asked again, since it had not answered (timed out after 0.1 s, connecting)"
    assert tried == [("93.184.216.34", 0.1)]


def test_an_address_that_this_machine_has_no_way_to(names: Names, monkeypatch: pytest.MonkeyPatch) -> None:
    def dial(*_: object) -> socket.socket:
        raise OSError(errno.EAFNOSUPPORT, "Address family not supported by protocol")

    monkeypatch.setattr("parley.fetch.transport.dial", dial)
    names["six.com"] = "2606:4700::1"
    with Fetcher(Url.parse("https://six.com/"), DEPLOYED) as fetch:
        assert failure(fetch(get("https://six.com/"))) == (
            FailureCode.CONNECT,
            "cannot be reached from here (Address family not supported by protocol)",
        )


def test_a_slow_body_does_not_silence_a_host() -> None:
    released = threading.Event()

    def reply(asked: Asked) -> bytes | None:
        if asked.path == "/quick":
            return answer()
        asked.socket.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{")
        released.wait(10)
        return None

    with site(reply) as server:
        with Fetcher(Url.parse(server.url()), LOCAL, limits=Limits(fetch_seconds=0.3)) as fetch:
            slow = fetch(get(server.url()))
            quick = fetch(get(server.url("/quick")))
        released.set()
    assert failure(slow) == (FailureCode.TIMEOUT, "timed out after 0.3 s")
    assert slow.status == 200
    assert slow.body == b""
    assert quick.answered == 200


def test_the_end_of_the_audit_is_not_the_targets_fault() -> None:
    released = threading.Event()
    with site(lambda asked: released.wait(10) and None) as server:
        with Fetcher(Url.parse(server.url()), LOCAL, limits=Limits(audit_seconds=0.3)) as fetch:
            started = time.monotonic()
            cut = fetch(get(server.url()))
            after = fetch(get(server.url()))
            elapsed = time.monotonic() - started
            admission = fetch.admit()
        released.set()
    assert failure(cut) == (FailureCode.BUDGET, "this audit's time was spent")
    assert failure(after) == (FailureCode.BUDGET, "this audit's time was spent")
    assert elapsed < 0.8
    assert admission is None  # it was looked up, and costs nothing


def test_waiting_for_ones_own_connections_is_not_the_targets_time() -> None:
    def reply(asked: Asked) -> bytes:
        time.sleep(0.3)
        return OK

    limits = Limits(connections_per_host=1, fetch_seconds=0.9)
    with audited(reply, limits=limits) as (server, fetch):
        exchanges = at_once(fetch, [server.url()] * 4)
    assert [exchange.outcome for exchange in exchanges] == ["ok"] * 4
    assert server.connections == 1


# ---------------------------------------------------------------- budget


def test_requests_of_an_audit() -> None:
    limits = Limits(target_requests=3, requests=5)
    with audited(lambda asked: answer(), limits=limits) as (server, fetch):
        to_target = [fetch(get(server.url())).outcome for _ in range(4)]
        elsewhere = [fetch(get(server.url(host="localhost"))) for _ in range(3)]
    assert to_target == ["ok", "ok", "ok", "budget"]
    assert [exchange.outcome for exchange in elsewhere] == ["ok", "ok", "budget"]
    assert failure(elsewhere[2]) == (FailureCode.BUDGET, "this audit's requests were spent")
    assert len(server.asked) == 5


def test_a_session_is_ended_when_the_requests_to_the_target_or_the_time_are_spent() -> None:
    with audited(lambda asked: answer(), limits=Limits(target_requests=1, requests=3)) as (server, fetch):
        end = Request(purpose="test", url=server.url(), method="DELETE", headers={"Mcp-Session-Id": "1"})
        outcomes = [fetch(one).outcome for one in (get(server.url()), get(server.url()), end, end, end)]
    assert outcomes == ["ok", "budget", "ok", "ok", "budget"]  # all requests together hold for it too
    with audited(lambda asked: answer(), limits=Limits(audit_seconds=0.0)) as (server, fetch):
        end = Request(purpose="test", url=server.url(), method="DELETE", headers={"Mcp-Session-Id": "1"})
        assert [fetch(one).outcome for one in (get(server.url()), end)] == ["budget", "ok"]


def test_the_last_requests_of_all_are_left_to_those_that_end_sessions() -> None:
    with audited(lambda asked: answer(), limits=Limits(target_requests=60, requests=40)) as (server, fetch):
        end = Request(purpose="test", url=server.url(), method="DELETE", headers={"Mcp-Session-Id": "1"})
        outcomes = [fetch(one).outcome for one in [get(server.url())] * 39 + [end] * 3]
    assert outcomes == ["ok"] * 38 + ["budget", "ok", "ok", "budget"]
    assert len(server.asked) == 40


def test_redirects_count_as_requests() -> None:
    limits = Limits(requests=2)
    with audited(lambda asked: redirect("/a"), limits=limits) as (server, fetch):
        assert failure(fetch(get(server.url())))[0] is FailureCode.BUDGET
    assert len(server.asked) == 2


def test_hosts_of_an_audit(names: Names) -> None:
    names["localhost"] = names["a.localhost"] = "127.0.0.1"
    with audited(lambda asked: answer(), limits=Limits(hosts=2)) as (server, fetch):
        outcomes = [
            fetch(get(server.url(host=host))).outcome
            for host in ("127.0.0.1", "localhost", "a.localhost", "localhost", "127.0.0.1")
        ]
        assert failure(fetch(get(server.url(host="a.localhost"))))[1] == "this audit's hosts were spent"
    assert outcomes == ["ok", "ok", "budget", "ok", "ok"]
    assert "a.localhost" not in names.looked_up


def test_bytes_of_an_audit_count_everything() -> None:
    big = answer(b" " * 5000)
    with audited(lambda asked: big, limits=Limits(audit_bytes=3 * len(big))) as (server, fetch):
        outcomes = [fetch(get(server.url())) for _ in range(4)]
    assert [exchange.outcome for exchange in outcomes] == ["ok", "ok", "ok", "budget"]
    assert failure(outcomes[3]) == (FailureCode.BUDGET, "this audit's bytes were spent")


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        (answer(b" " * 1000), "ok"),
        (answer(b" " * 1001), "too-large"),
        (b"HTTP/1.1 200 OK\r\n\r\n" + b" " * 1001, "too-large"),
        (b"HTTP/1.1 200 OK\r\nX: " + b"a" * 450 + b"\r\nContent-Length: 0\r\n\r\n", "ok"),
        (b"HTTP/1.1 200 OK\r\nX: " + b"a" * 500 + b"\r\nContent-Length: 0\r\n\r\n", "too-large"),
        (b"HTTP/1.1 100 Continue\r\n\r\n" * 7 + b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "ok"),
        (b"HTTP/1.1 103 Hint\r\nX: " + b"a" * 450 + b"\r\n\r\n" + answer(b""), "too-large"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + b"1\r\n \r\n" * 990 + b"0\r\n\r\n", "too-large"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n" + b"X: y\r\n" * 500, "too-large"),
    ],
)
def test_sizes(sent: bytes, expected: str) -> None:
    limits = Limits(head_bytes=500, body_bytes=1000)
    with audited(lambda asked: asked.socket.sendall(sent), limits=limits) as (server, fetch):
        assert fetch(get(server.url())).outcome == expected


def test_sizes_are_said_in_round_numbers() -> None:
    def reply(asked: Asked) -> bytes:
        if asked.path == "/head":
            return answer(b"", "X: " + "a" * 70_000)
        return answer(b" " * (1 << 20) + b" ")

    with audited(reply) as (server, fetch):
        assert failure(fetch(get(server.url()))) == (FailureCode.TOO_LARGE, "sends more than 1 MiB")
        assert failure(fetch(get(server.url("/head")))) == (FailureCode.TOO_LARGE, "sends more than 64 kB of headers")


# ---------------------------------------------------------------- kept connections


def test_a_connection_is_used_again() -> None:
    def reply(asked: Asked) -> bytes:
        if asked.path == "/chunked":
            return b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2;a=b\r\n{}\r\n0\r\nX-Sum: 1\r\n\r\n"
        if asked.path == "/none":
            return b"HTTP/1.1 204 No Content\r\n\r\n"
        if asked.path == "/old":
            return b"HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\nContent-Length: 2\r\n\r\n{}"
        return answer(status="404 Not Found") if asked.path == "/missing" else answer()

    with audited(reply) as (server, fetch):
        for path in ("/", "/chunked", "/none", "/missing", "/old", "/"):
            assert fetch(get(server.url(path))).failure is None
        fetch(harmless(server.url(), "POST"))
    assert server.connections == 1
    assert [asked.turn for asked in server.asked] == [1, 2, 3, 4, 5, 6, 7]


@pytest.mark.parametrize(
    "sent",
    [
        answer(b"{}", "Connection: close"),
        answer(b"{}", "Connection: foo, Close"),
        b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\n{}",
        answer(b"{}") + b"x",
        answer(b"{}") + answer(b"[]"),
        b"HTTP/1.1 204 No Content\r\nContent-Length: 2\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
    ],
)
def test_a_connection_that_is_not_clean_is_dropped(sent: bytes) -> None:
    with audited(lambda asked: sent) as (server, fetch):
        for _ in range(3):
            assert fetch(get(server.url())).failure is None
    assert server.connections == 3


def test_unasked_bytes_that_come_later_drop_the_connection() -> None:
    came = threading.Event()

    def reply(asked: Asked) -> bytes:
        if asked.connection == 1:
            asked.socket.sendall(OK)
            came.wait(5)
            return b'HTTP/1.1 200 OK\r\nContent-Length: 13\r\n\r\n{"evil":true}'
        return OK

    with audited(reply) as (server, fetch):
        first = fetch(get(server.url()))
        came.set()
        wire = kept_socket(fetch)
        wire.recv(1, socket.MSG_PEEK)  # until it is here
        second = fetch(get(server.url()))
    assert (first.body, second.body) == (b"{}", b"{}")
    assert server.connections == 2


def kept_socket(fetch: Fetcher) -> socket.socket:
    """The socket of the one connection that is kept."""
    manager = fetch._transport.poolmanager
    (key,) = manager.pools.keys()
    pool = manager.pools[key]
    (connection,) = [kept for kept in pool.pool.queue if kept is not None]
    return connection.sock._socket  # type: ignore[no-any-return]


def test_what_was_not_read_drops_the_connection() -> None:
    def reply(asked: Asked) -> bytes:
        return answer(b"a long farewell", "Location: /next", status="302 Found") if asked.path == "/" else answer()

    with audited(reply) as (server, fetch):
        assert fetch(get(server.url())).answered == 200
        assert fetch(get(server.url("/x"), enough=lambda body: True)).body == b"{}"
        stopped = fetch(get(server.url("/y")))
    assert stopped.answered == 200
    assert [asked.connection for asked in server.asked][:2] == [1, 2]


@pytest.mark.parametrize("method", ["GET", "OPTIONS"])
def test_a_kept_connection_that_was_closed_is_replaced(method: str) -> None:
    """The server closes when the second request comes: too late to be seen before it is sent."""
    with audited(lambda asked: None if (asked.connection, asked.turn) == (1, 2) else OK, limits=Limits(requests=3)) as (
        server,
        fetch,
    ):
        outcomes = [fetch(get(server.url(), method=method)).outcome for _ in range(3)]
    assert outcomes == ["ok", "ok", "ok"]  # and the repetition is not counted
    assert [(asked.connection, asked.turn) for asked in server.asked] == [(1, 1), (1, 2), (2, 1), (3, 1)]


@pytest.mark.parametrize("method", ["POST", "DELETE"])
def test_what_may_change_something_is_not_repeated(method: str) -> None:
    with audited(lambda asked: None if asked.turn == 2 else OK) as (server, fetch):
        outcomes = [fetch(harmless(server.url(), method)) for _ in range(4)]
    assert [exchange.outcome for exchange in outcomes] == ["ok", "connect", "ok", "ok"]
    assert failure(outcomes[1])[1] == "closed the connection without an answer"
    # From then on nothing is sent on a kept connection of this server.
    assert [(asked.connection, asked.turn) for asked in server.asked] == [(1, 1), (1, 2), (2, 1), (3, 1)]


def test_a_fresh_connection_that_is_closed_is_the_targets_answer() -> None:
    with audited(lambda asked: None) as (server, fetch):
        assert failure(fetch(get(server.url()))) == (FailureCode.CONNECT, "closed the connection without an answer")
    assert len(server.asked) == 1


def test_a_broken_answer_is_not_asked_for_again() -> None:
    with audited(lambda asked: OK if asked.turn == 1 else (asked.socket.sendall(b"HTTP/1.1 2"), None)[1]) as (
        server,
        fetch,
    ):
        assert fetch(get(server.url())).outcome == "ok"
        assert fetch(get(server.url())).outcome == "bad-http"
    assert len(server.asked) == 2


def at_once(fetch: Fetcher, urls: list[str]) -> list[Exchange]:
    found: list[Exchange] = []
    threads = [threading.Thread(target=lambda url=url: found.append(fetch(get(url)))) for url in urls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    return found


def test_no_more_than_four_connections_to_a_host_at_once() -> None:
    four = threading.Barrier(4, timeout=5)

    def reply(asked: Asked) -> bytes:
        four.wait()
        return OK

    with audited(reply) as (server, fetch):
        found = at_once(fetch, [server.url()] * 12)
    assert [exchange.outcome for exchange in found] == ["ok"] * 12
    assert server.open_most == 4
    assert server.connections == 4


def test_many_threads_spend_exactly_the_budget() -> None:
    with audited(lambda asked: OK, limits=Limits(target_requests=20)) as (server, fetch):
        found = at_once(fetch, [server.url()] * 40)
    assert sorted(exchange.outcome for exchange in found) == ["budget"] * 20 + ["ok"] * 20
    assert len(server.asked) == 20


# ---------------------------------------------------------------- bodies


def gzipped(body: bytes) -> bytes:
    deflate = zlib.compressobj(9, zlib.DEFLATED, 31)
    return deflate.compress(body) + deflate.flush()


@pytest.mark.parametrize("coding", ["gzip", "x-gzip", "GZIP", " gzip "])
def test_gzip_that_nobody_asked_for_is_read(coding: str) -> None:
    with audited(lambda asked: answer(gzipped(b'{"a": 1}'), f"Content-Encoding: {coding}")) as (server, fetch):
        assert fetch(get(server.url())).body == b'{"a": 1}'


@pytest.mark.parametrize(
    ("body", "coding", "reason"),
    [
        (b"{}", "br", "uses an encoding we did not ask for (br)"),
        (b"{}", "deflate", "uses an encoding we did not ask for (deflate)"),
        (gzipped(gzipped(b"{}")), "gzip, gzip", "uses an encoding we did not ask for (gzip, gzip)"),
        (b"{}", "\x1b[31m", "uses an encoding we did not ask for (\\u{1b}[31m)"),
        (b"{}", "gzip", "is not the gzip that it says it is"),
        (gzipped(b"{}")[:-3], "gzip", "ends in the middle of its gzip"),
        (gzipped(b"{}") + b"x", "gzip", "sends something behind its gzip"),
        (gzipped(b"{}") * 2, "gzip", "sends something behind its gzip"),
    ],
)
def test_other_encodings(body: bytes, coding: str, reason: str) -> None:
    with audited(lambda asked: answer(body, f"Content-Encoding: {coding}")) as (server, fetch):
        exchange = fetch(get(server.url()))
    assert failure(exchange) == (FailureCode.BAD_ENCODING, reason)
    assert exchange.status == 200


def test_an_empty_body_has_no_encoding() -> None:
    with audited(lambda asked: answer(b"", "Content-Encoding: br")) as (server, fetch):
        assert fetch(get(server.url())).answered == 200


@pytest.mark.parametrize("pieces", [1, 7, 10_000])
def test_gzip_that_inflates_beyond_the_limit(pieces: int) -> None:
    packed = gzipped(bytes(3 << 20))

    def reply(asked: Asked) -> None:
        asked.socket.sendall(b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n")
        for start in range(0, len(packed), -(-len(packed) // pieces)):
            asked.socket.sendall(packed[start : start + -(-len(packed) // pieces)])

    with audited(reply) as (server, fetch):
        assert failure(fetch(get(server.url()))) == (FailureCode.TOO_LARGE, "sends more than 1 MiB")


@pytest.mark.parametrize("framing", ["chunked", "close", "gzip"])
def test_enough_ends_a_stream_that_never_does(framing: str) -> None:
    released = threading.Event()
    event = b'data: {"id": 1}\n\n'

    def reply(asked: Asked) -> None:
        if framing == "chunked":
            asked.socket.sendall(
                b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%b\r\n" % (len(event), event)
            )
        elif framing == "gzip":
            deflate = zlib.compressobj(9, zlib.DEFLATED, 31)
            packed = deflate.compress(event) + deflate.flush(zlib.Z_SYNC_FLUSH)
            asked.socket.sendall(b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n" + packed)
        else:
            asked.socket.sendall(b"HTTP/1.1 200 OK\r\n\r\n" + event)
        released.wait(10)

    with audited(reply) as (server, fetch):
        exchange = fetch(harmless(server.url(), "POST", enough=lambda body: b"\n\n" in body))
        released.set()
    assert exchange.answered == 200
    assert exchange.body == event
    assert exchange.duration_ms < 2000


def test_what_came_of_a_stream_before_its_time_ran_out_is_kept() -> None:
    released = threading.Event()

    def reply(asked: Asked) -> None:
        asked.socket.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: {}\n")
        released.wait(10)

    with audited(reply) as (server, fetch):
        exchange = fetch(harmless(server.url(), "POST", enough=lambda body: False, seconds=0.3))
        released.set()
    assert (exchange.outcome, exchange.status, exchange.body) == ("timeout", 200, b"data: {}\n")


_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: %b\r\nTransfer-Encoding: chunked\r\n\r\n"
_EVENT = b"data: {}\n\n"
_STREAM = b"text/event-stream"

# How a body is cut off: (the media type, what comes, limits, outcome, what of it is kept)
CUT = [
    ("a stream that is too large", _STREAM, b"a\r\ndata: {}\n\n\r\n110000\r\n" + b":" * 0x110000, Limits(), "too-large", _EVENT),
    ("a stream beyond the audit's bytes", _STREAM, b"a\r\ndata: {}\n\n\r\n9000\r\n" + b":" * 0x9000, Limits(audit_bytes=9000), "budget", _EVENT),
    ("a stream that breaks off", _STREAM, b"a\r\ndata: {}\n\n\r\n", Limits(), "bad-http", _EVENT),
    ("a stream whose chunks are none", _STREAM, b"a\r\ndata: {}\n\n\r\nx\r\n", Limits(), "bad-http", _EVENT),
    ("a document that breaks off", b"application/json", b"2\r\n{}\r\n", Limits(), "bad-http", b""),
]  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "sent", "limits", "outcome", "kept"), [one[1:] for one in CUT], ids=[one[0] for one in CUT]
)
@pytest.mark.parametrize("is_awaited", [True, False])
def test_what_came_of_a_stream_before_it_was_cut_off_is_kept(
    kind: bytes, sent: bytes, limits: Limits, outcome: str, kept: bytes, is_awaited: bool
) -> None:
    heard = threading.Event()
    first = sent.index(b"\r\n", 3) + 2

    def reply(asked: Asked) -> None:
        with contextlib.suppress(OSError):
            asked.socket.sendall(_HEAD % kind + sent[:first])
            assert heard.wait(10) or not is_awaited
            asked.socket.sendall(sent[first:])

    def enough(body: bytes) -> bool:
        heard.set()
        return False

    if not is_awaited:
        heard.set()
    with site(reply) as server, Fetcher(Url.parse(server.url()), LOCAL, limits=limits) as fetch:
        exchange = fetch(get(server.url(), enough=enough if is_awaited else None))
    assert exchange.outcome == outcome
    assert exchange.body.startswith(kept) if is_awaited else not exchange.body


def test_enough_is_asked_before_every_wait_and_seldom_else() -> None:
    asked_with: list[int] = []

    def enough(body: bytes) -> bool:
        asked_with.append(len(body))
        return False

    chunks = b"1\r\n \r\n" * 20_000 + b"0\r\n\r\n"
    with audited(lambda asked: b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks) as (server, fetch):
        assert len(fetch(get(server.url(), enough=enough)).body) == 20_000
    assert len(asked_with) < 200


# ---------------------------------------------------------------- answers that break the rules


BROKEN = [
    (b"SSH-2.0-OpenSSH_9.9\r\n", "answers with something that is not HTTP/1.1 (SSH-2.0-OpenSSH_9.9)"),
    (b"HTTP/2 200\r\n\r\n", "answers with something that is not HTTP/1.1 (HTTP/2 200)"),
    (b"HTTP/1.1 099 Low\r\n\r\n", "answers with something that is not HTTP/1.1 (HTTP/1.1 099 Low)"),
    (b"HTTP/1.1 200 OK\r\nno colon\r\n\r\n", "sends a header without a colon (no colon)"),
    (b"HTTP/1.1 200 OK\r\nA b: c\r\n\r\n", "sends a header with an impossible name (A b: c)"),
    (b"HTTP/1.1 200 OK\r\n: c\r\n\r\n", "sends a header with an impossible name (: c)"),
    (b"HTTP/1.1 200 OK\r\n folded\r\n\r\n", "sends a header without a colon ( folded)"),
    (b"HTTP/1.1 200 OK\r\nA: b\rSet-Cookie: c\r\n\r\n", "sends a header with a carriage return or a NUL inside"),
    (b"HTTP/1.1 200 OK\r\nA: b", "closed the connection in the middle of its headers"),
    (b"HTTP/1.1 101 Switching\r\n\r\n", "switches to another protocol, which nobody asked for"),
    (b"HTTP/1.1 100 Continue\r\n\r\n" * 8 + OK, "sends more than 8 interim answers"),
    (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{}", "closed the connection after 2 of 9 bytes of its body"),
    (b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n{}", "sends a Content-Length that is no number (-1)"),
    (b"HTTP/1.1 200 OK\r\nContent-Length: 2, 3\r\n\r\n{}", "sends Content-Lengths that differ (2, 3)"),
    (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", "uses a transfer coding that nobody asked for (gzip, chunked)"),
    (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n", "sends a chunk size that is no number (-1)"),
    (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}x\r\n", "sends a chunk that is longer than announced"),
    (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n", "closed the connection in the middle of its body"),
    (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{", "closed the connection in the middle of its body"),
]  # fmt: skip


@pytest.mark.parametrize(("sent", "reason"), BROKEN)
def test_what_breaks_the_rules_is_said(sent: bytes, reason: str) -> None:
    with audited(lambda asked: asked.socket.sendall(sent)) as (server, fetch):
        assert failure(fetch(get(server.url()))) == (FailureCode.BAD_HTTP, reason)


@pytest.mark.parametrize(
    "sent",
    [
        b"HTTP/1.1 200\r\nContent-Length: 2\r\n\r\n{}",
        b"HTTP/1.0 200 OK\n\n{}",
        b"HTTP/1.1 200 OK\nContent-Length : 2\n\n{}",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2, 2\r\nContent-Length: 2\r\n\r\n{}",
        b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" + OK,
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n02 ;x=y\r\n{}\r\n000\r\nX: y\r\n\r\n",
    ],
)
def test_what_does_not_break_them_is_read(sent: bytes) -> None:
    with audited(lambda asked: asked.socket.sendall(sent)) as (server, fetch):
        exchange = fetch(get(server.url()))
    assert (exchange.answered, exchange.body) == (200, b"{}")


def test_a_folded_header_is_unfolded() -> None:
    with audited(lambda asked: answer(b"", "X: a", "\t b ", " c")) as (server, fetch):
        assert fetch(get(server.url())).header("x") == "a b c"


def test_statuses_that_nobody_has_registered_are_kept() -> None:
    with audited(lambda asked: answer(status="999 Request denied")) as (server, fetch):
        assert fetch(get(server.url())).answered == 999


def test_an_early_answer_to_a_long_post_is_read() -> None:
    """The server answers and closes without reading the body, which resets the connection under our sending."""

    def serve_one() -> None:
        connection, _ = listener.accept()
        with connection:
            connection.recv(1000)
            connection.sendall(answer(b"no", "Connection: close", status="413 Too Large"))
            connection.shutdown(socket.SHUT_WR)
            while connection.recv(65536):
                pass

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve_one)
        thread.start()
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/"
        with Fetcher(Url.parse(url), LOCAL) as fetch:
            exchange = fetch(get(url, method="POST", body=PING + b" " * 5_000_000))
        thread.join(5)
    assert exchange.answered == 413


# ---------------------------------------------------------------- our own faults


def test_a_fault_of_ours_is_ours(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    def broken(*_: object) -> object:
        raise KeyError("oh")

    monkeypatch.setattr("parley.fetch.client._read", broken)
    with audited(lambda asked: OK) as (server, fetch), caplog.at_level(logging.ERROR, "parley.fetch"):
        exchange = fetch(get(server.url()))
    assert failure(exchange) == (FailureCode.INTERNAL, "could not be checked, by a fault of ours (KeyError)")
    assert exchange.failure is not None
    assert exchange.failure.code.is_ours
    assert [(record.name, record.exc_info is not None) for record in caplog.records] == [("parley.fetch", True)]


@pytest.mark.parametrize("where", ["resolve.Resolver.addresses", "policy.Policy.refuse_url", "transport.dial"])
def test_wherever_it_is(
    names: Names, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, where: str
) -> None:
    def broken(*_: object, **__: object) -> object:
        raise OSError(24, "Too many open files")

    names["a.com"] = "93.184.216.34"
    monkeypatch.setattr(f"parley.fetch.{where}", broken)
    for scheme in ("http", "https"):
        with Fetcher(Url.parse(f"{scheme}://a.com/"), DEPLOYED) as fetch:
            exchange = fetch(get(f"{scheme}://a.com/"))
            admitted = fetch.admit()
        assert exchange.outcome == "internal"
        assert where == "transport.dial" or (admitted is not None and admitted.code is FailureCode.INTERNAL)
    assert caplog.records
