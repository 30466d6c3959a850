import base64
import contextlib
import select
import socket
import ssl
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest
import trustme

from fetch.loopback import Dials, Names, answer, redirect, site
from parley.evidence import FailureCode, Request
from parley.fetch.client import Fetcher
from parley.fetch.policy import LOCAL, Limits
from parley.wire.url import Url


@dataclass
class Proxy:
    """A proxy on loopback: forwards plain HTTP, tunnels what CONNECT names, all to one port whatever the name."""

    port: int
    leads: int = 0
    refuses: bytes = b""
    heads: list[bytes] = field(default_factory=list)

    @property
    def lines(self) -> list[str]:
        return [head.split(b"\r\n")[0].decode() for head in self.heads]


@contextlib.contextmanager
def proxy(tls: ssl.SSLContext | None = None) -> Iterator[Proxy]:
    listener = socket.create_server(("127.0.0.1", 0))
    running = Proxy(listener.getsockname()[1])

    def relay(client: socket.socket, server: socket.socket) -> None:
        """In one thread, as a TLS connection may not be read and written by two at once."""
        while True:
            waiting = [client] if isinstance(client, ssl.SSLSocket) and client.pending() else []
            for source in waiting or select.select([client, server], [], [], 10)[0]:
                data = source.recv(65_536)
                if not data:
                    return
                (server if source is client else client).sendall(data)

    def serve(client: socket.socket) -> None:
        with contextlib.suppress(OSError), contextlib.ExitStack() as stack:
            stack.callback(lambda: client.close())
            client.settimeout(10)
            if tls is not None:
                client = tls.wrap_socket(client, server_side=True)
            head = b""
            while b"\r\n\r\n" not in head:
                piece = client.recv(65_536)
                if not piece:
                    return
                head += piece
            running.heads.append(head)
            if running.refuses:
                client.sendall(running.refuses)
                return
            server = stack.enter_context(socket.create_connection(("127.0.0.1", running.leads)))
            if head.startswith(b"CONNECT"):
                client.sendall(b"HTTP/1.1 200 Connection established\r\nVia: test\r\n\r\n")
            else:
                server.sendall(head)
            relay(client, server)

    def accept() -> None:
        with contextlib.suppress(OSError):
            while True:
                threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()

    thread = threading.Thread(target=accept, daemon=True)
    thread.start()
    try:
        yield running
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join(5)


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture(scope="module")
def ca_file(authority: trustme.CA, tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("ca") / "ca.pem"
    authority.cert_pem.write_to_path(str(path))
    return str(path)


def context_for(authority: trustme.CA, *names: str) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(*names).configure_cert(context)
    return context


def test_plain_http_is_forwarded_and_the_proxy_looks_names_up(names: Names) -> None:
    with site(lambda asked: answer()) as server, proxy() as between:
        between.leads = server.port
        with Fetcher(Url.parse("http://a.com/card?x"), LOCAL, proxy=f"http://127.0.0.1:{between.port}") as fetch:
            assert fetch.admit() is None
            exchange = fetch(Request(purpose="card", url="http://a.com/card?x"))
    assert exchange.answered == 200
    assert between.lines == ["GET http://a.com/card?x HTTP/1.1"]
    assert server.asked[0].headers["host"] == "a.com"
    assert names.looked_up == []


@pytest.mark.parametrize("secure", [False, True], ids=["http proxy", "https proxy"])
def test_https_is_tunnelled_and_verified_to_the_end(
    names: Names, authority: trustme.CA, ca_file: str, secure: bool
) -> None:
    names["localhost"] = "127.0.0.1"
    own = context_for(authority, "localhost") if secure else None
    with site(lambda asked: answer(), context_for(authority, "a.com")) as server, proxy(own) as between:
        between.leads = server.port
        url = f"{'https' if secure else 'http'}://me:secret@localhost:{between.port}"
        with Fetcher(Url.parse("https://a.com/"), LOCAL, proxy=url, ca_file=ca_file) as fetch:
            exchanges = [fetch(Request(purpose="card", url="https://a.com/")) for _ in range(2)]
            wrong = fetch(Request(purpose="card", url="https://b.com/"))
    assert [exchange.answered for exchange in exchanges] == [200, 200]
    assert wrong.failure is not None
    assert (wrong.failure.code, wrong.failure.reason) == (FailureCode.TLS, "its certificate is for another name")
    assert between.lines[0] == "CONNECT a.com:443 HTTP/1.1"
    assert between.lines[-1] == "CONNECT b.com:443 HTTP/1.1"
    assert server.server_names[0] == "a.com"
    authorization = b"Proxy-Authorization: Basic " + base64.b64encode(b"me:secret")
    assert all(authorization in head for head in between.heads)
    assert not any("proxy-authorization" in asked.headers for asked in server.asked)
    assert names.looked_up == ["localhost"]
    if not secure:
        assert server.connections == 2  # a.com's was kept


def test_plain_http_by_way_of_a_secure_proxy(names: Names, authority: trustme.CA, ca_file: str) -> None:
    names["localhost"] = "127.0.0.1"
    with site(lambda asked: answer()) as server, proxy(context_for(authority, "localhost")) as between:
        between.leads = server.port
        url = f"https://localhost:{between.port}"
        with Fetcher(Url.parse("http://a.com/"), LOCAL, proxy=url, ca_file=ca_file) as fetch:
            assert fetch(Request(purpose="card", url="http://a.com/")).answered == 200
    assert between.lines == ["GET http://a.com/ HTTP/1.1"]


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_the_proxys_failures_are_said_to_be_the_proxys(names: Names, dials: Dials, scheme: str) -> None:
    names["proxy.test"] = "10.0.0.7"  # it refuses
    said = []
    for url in ("http://proxy.test:3128", "http://gone.test:3128"):
        with Fetcher(Url.parse(f"{scheme}://a.com/"), LOCAL, proxy=url) as fetch:
            failure = fetch(Request(purpose="card", url=f"{scheme}://a.com/")).failure
        assert failure is not None
        assert failure.code is FailureCode.CONNECT
        said.append(failure.reason)
    assert said == [
        "could not be reached (proxy proxy.test:3128: refused the connection)",
        "could not be reached (proxy gone.test:3128: the name does not resolve (gone.test))",
    ]


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        (b"HTTP/1.1 407 No\r\nContent-Length: 0\r\n\r\n", "answered 407 to CONNECT"),
        (b"HTTP/1.1 502 Bad Gateway\r\n\r\n", "answered 502 to CONNECT"),
        (b"SSH-2.0\r\n", "answers with something that is not HTTP/1.1 (SSH-2.0)"),
        (b"HTTP/1.1 200 OK\r\n\r\nsmuggled", "answered 200 to CONNECT"),
    ],
)
def test_a_tunnel_that_is_refused(sent: bytes, said: str) -> None:
    with proxy() as between:
        between.refuses = sent
        with Fetcher(Url.parse("https://a.com/"), LOCAL, proxy=f"http://127.0.0.1:{between.port}") as fetch:
            exchange = fetch(Request(purpose="card", url="https://a.com/"))
    assert exchange.failure is not None
    assert exchange.failure.reason == f"could not be reached (proxy 127.0.0.1:{between.port}: {said})"
    assert exchange.status is None
    assert exchange.headers == ()


def test_a_secure_proxy_with_a_certificate_that_is_not_trusted(authority: trustme.CA) -> None:
    with (
        proxy(context_for(authority, "127.0.0.1")) as between,
        Fetcher(Url.parse("https://a.com/"), LOCAL, proxy=f"https://127.0.0.1:{between.port}") as fetch,
    ):
        exchange = fetch(Request(purpose="card", url="https://a.com/"))
    assert exchange.failure is not None
    assert exchange.failure.code is FailureCode.TLS
    assert exchange.failure.reason.startswith(f"could not be reached (proxy 127.0.0.1:{between.port}: its certificate")


def test_names_and_literals_are_judged_all_the_same() -> None:
    with site(lambda asked: redirect(asked.headers["x-to"])) as server, proxy() as between:
        between.leads = server.port
        with Fetcher(Url.parse("http://a.com/"), LOCAL, proxy=f"http://127.0.0.1:{between.port}") as fetch:
            said = {}
            for to in ("http://10.0.0.7/", "http://localhost/", "http://printer.local/", "http://169.254.169.254/"):
                exchange = fetch(Request(purpose="card", url="http://a.com/", headers={"X-To": to}))
                assert exchange.failure is not None
                assert exchange.failure.code is FailureCode.REFUSED
                said[to] = exchange.failure.reason.partition("which ")[2]
        with Fetcher(Url.parse("http://169.254.169.254/"), LOCAL, proxy=f"http://127.0.0.1:{between.port}") as fetch:
            failure = fetch.admit()
    assert failure is not None
    assert failure.code is FailureCode.REFUSED
    assert said == {
        "http://10.0.0.7/": "is at a private address (10.0.0.7), where a target on the internet may not lead",
        "http://localhost/": (
            "has a name that only makes sense inside a network (localhost), where a target on the internet may not lead"
        ),
        "http://printer.local/": (
            "has a name that only makes sense inside a network (printer.local), "
            "where a target on the internet may not lead"
        ),
        "http://169.254.169.254/": "is at a cloud's metadata address (169.254.169.254), which is never visited",
    }


def test_a_slow_target_behind_a_proxy_is_a_time_out() -> None:
    released = threading.Event()
    with site(lambda asked: released.wait(10) and None) as server, proxy() as between:
        between.leads = server.port
        limits = Limits(fetch_seconds=0.3)
        with Fetcher(
            Url.parse("http://a.com/"), LOCAL, limits=limits, proxy=f"http://127.0.0.1:{between.port}"
        ) as fetch:
            exchange = fetch(Request(purpose="card", url="http://a.com/"))
        released.set()
    assert exchange.failure is not None
    assert (exchange.failure.code, exchange.failure.reason) == (FailureCode.TIMEOUT, "timed out after 0.3 s")


@pytest.mark.parametrize(
    "url",
    ["127.0.0.1:3128", "socks5://127.0.0.1:1080", "http://", "http://a:b:c/", "", "http://a:99999/", "http://a b:1/"],
)
def test_a_proxy_that_is_none_is_said_at_once(url: str) -> None:
    with pytest.raises(ValueError, match="the proxy is not given as"):
        Fetcher(Url.parse("https://a.com/"), LOCAL, proxy=url)
