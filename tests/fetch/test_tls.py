import datetime
import ssl
from collections.abc import Callable
from pathlib import Path

import pytest
import trustme
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from fetch.loopback import Dials, Names, answer, raw_site, site
from hostile import serve
from parley.evidence import Exchange, FailureCode, Request
from parley.fetch import tls
from parley.fetch.client import Fetcher
from parley.fetch.policy import DEPLOYED, LOCAL, Limits
from parley.wire.url import Url


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture(scope="module")
def ca_file(authority: trustme.CA, tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("ca") / "ca.pem"
    authority.cert_pem.write_to_path(str(path))
    return str(path)


def server_side(certificate: trustme.LeafCert) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    certificate.configure_cert(context)
    return context


def fetched(url: str, ca_file: str | None = None) -> Exchange:
    target = Url.parse(url)
    with Fetcher(target, LOCAL, limits=Limits(), ca_file=ca_file) as fetch:
        return fetch(Request(purpose="card", url=str(target)))


def reason(exchange: Exchange) -> str:
    assert exchange.failure is not None
    assert exchange.failure.code is FailureCode.TLS
    assert exchange.status is None
    return exchange.failure.reason


def test_a_certificate_of_ones_own_authority_passes_with_its_file(authority: trustme.CA, ca_file: str) -> None:
    with site(lambda asked: answer(), server_side(authority.issue_cert("localhost", "127.0.0.1"))) as server:
        by_name = fetched(server.url(host="localhost"), ca_file)
        by_address = fetched(server.url(), ca_file)
        stranger = fetched(server.url(host="localhost"))
    assert by_name.answered == 200
    assert by_address.answered == 200
    assert reason(stranger).startswith("its certificate is signed by an authority that is not trusted")
    assert server.server_names == ["localhost", None, "localhost"]


def test_the_name_is_sent_and_checked_while_the_address_is_pinned(
    names: Names, dials: Dials, authority: trustme.CA, ca_file: str
) -> None:
    names["a.com"] = names["b.com"] = "93.184.216.34"
    with site(lambda asked: answer(), server_side(authority.issue_cert("a.com"))) as server:
        dials.leads["93.184.216.34"] = server.port
        with Fetcher(Url.parse("https://A.com./"), DEPLOYED, ca_file=ca_file) as fetch:
            right = fetch(Request(purpose="card", url="https://A.com./"))
            wrong = fetch(Request(purpose="card", url="https://b.com/"))
    assert right.answered == 200
    assert reason(wrong) == "its certificate is for another name"
    assert server.server_names == ["a.com", "b.com"]
    assert server.asked[0].headers["host"] == "a.com"


def test_a_wrong_address_is_another_name_too(authority: trustme.CA, ca_file: str) -> None:
    with site(lambda asked: answer(), server_side(authority.issue_cert("localhost"))) as server:
        assert reason(fetched(server.url(), ca_file)) == "its certificate is for another name"


def test_a_common_name_alone_is_no_name(authority: trustme.CA, ca_file: str) -> None:
    certificate = authority.issue_cert("else.com", common_name="localhost")
    with site(lambda asked: answer(), server_side(certificate)) as server:
        assert reason(fetched(server.url(host="localhost"), ca_file)) == "its certificate is for another name"


@pytest.mark.parametrize(
    ("since", "until", "expected"),
    [(-2, -1, "its certificate has expired"), (1, 2, "its certificate is not valid yet")],
)
def test_expired_or_too_early(authority: trustme.CA, ca_file: str, since: int, until: int, expected: str) -> None:
    now = datetime.datetime.now(datetime.UTC)
    days = [now + datetime.timedelta(days=days) for days in (since, until)]
    certificate = authority.issue_cert("localhost", not_before=days[0], not_after=days[1])
    with site(lambda asked: answer(), server_side(certificate)) as server:
        assert reason(fetched(server.url(host="localhost"), ca_file)) == expected


def self_made(tmp_path: Path, change: Callable[[x509.CertificateBuilder], x509.CertificateBuilder]) -> ssl.SSLContext:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
    )
    certificate = change(builder).sign(key, hashes.SHA256())
    path = tmp_path / "self.pem"
    path.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        + certificate.public_bytes(serialization.Encoding.PEM)
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(path)
    return context


def test_self_signed(tmp_path: Path) -> None:
    with site(lambda asked: answer(), self_made(tmp_path, lambda builder: builder)) as server:
        assert reason(fetched(server.url(host="localhost"))) == "its certificate is self-signed"


def test_a_self_signed_certificate_may_be_trusted_by_its_file(tmp_path: Path) -> None:
    context = self_made(tmp_path, lambda builder: builder)
    with site(lambda asked: answer(), context) as server:
        assert fetched(server.url(host="localhost"), str(tmp_path / "self.pem")).answered == 200


def test_a_missing_intermediate_certificate_is_hinted_at(authority: trustme.CA, ca_file: str) -> None:
    certificate = authority.create_child_ca().issue_cert("localhost")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    certificate.configure_cert(context)
    with site(lambda asked: answer(), context) as server:
        assert fetched(server.url(host="localhost"), ca_file).answered == 200
    with certificate.private_key_pem.tempfile() as key, certificate.cert_chain_pems[0].tempfile() as leaf:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(leaf, key)
    with site(lambda asked: answer(), context) as server:
        assert reason(fetched(server.url(host="localhost"), ca_file)).endswith("or comes without the intermediate one")


def test_plain_http_on_the_port() -> None:
    with raw_site(answer(status="400 Bad Request")) as port:
        assert reason(fetched(f"https://127.0.0.1:{port}/")) == (
            f"does not speak TLS on this port (try http://127.0.0.1:{port})"
        )


def test_a_server_of_the_past(authority: trustme.CA, ca_file: str) -> None:
    context = server_side(authority.issue_cert("localhost"))
    with pytest.warns(DeprecationWarning, match="TLSv1"):
        context.minimum_version, context.maximum_version = ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1
    context.set_ciphers("ALL:@SECLEVEL=0")
    with site(lambda asked: answer(), context) as server:
        assert "did not agree with us on TLS (" in reason(fetched(server.url(host="localhost"), ca_file))


def test_a_server_that_demands_a_certificate_of_us(authority: trustme.CA, ca_file: str) -> None:
    context = server_side(authority.issue_cert("localhost"))
    context.verify_mode = ssl.CERT_REQUIRED
    authority.configure_trust(context)
    with site(lambda asked: answer(), context) as server:
        assert "certificate required" in reason(fetched(server.url(host="localhost"), ca_file))


def test_a_close_in_the_middle() -> None:
    with raw_site(b"") as port:
        assert reason(fetched(f"https://127.0.0.1:{port}/")) == "closed the connection in the middle of TLS"


def test_a_handshake_has_the_time_of_the_fetch_and_not_that_of_a_connect() -> None:
    with serve("silent") as server:
        target = Url.parse(f"https://127.0.0.1:{server.port}/")
        with Fetcher(target, LOCAL, limits=Limits(connect_seconds=0.1, fetch_seconds=0.4)) as fetch:
            exchange = fetch(Request(purpose="card", url=str(target)))
    assert exchange.failure is not None
    assert (exchange.failure.code, exchange.failure.reason) == (FailureCode.TIMEOUT, "timed out after 0.4 s")
    assert 400 <= exchange.duration_ms < 1000


def test_kept_connections_spare_the_handshake(authority: trustme.CA, ca_file: str) -> None:
    with site(lambda asked: answer(), server_side(authority.issue_cert("localhost"))) as server:
        target = Url.parse(server.url(host="localhost"))
        with Fetcher(target, LOCAL, ca_file=ca_file) as fetch:
            for _ in range(5):
                assert fetch(Request(purpose="card", url=str(target))).answered == 200
    assert server.connections == 1


def test_encryption_is_not_given_up_on_the_way(names: Names, dials: Dials, authority: trustme.CA, ca_file: str) -> None:
    names["a.com"] = "93.184.216.34"
    location = "Location: http://a.com/card"
    with site(
        lambda asked: answer(b"", location, status="301 Moved"), server_side(authority.issue_cert("a.com"))
    ) as server:
        dials.leads["93.184.216.34"] = server.port
        target = Url.parse("https://a.com/")
        for policy in (DEPLOYED, LOCAL):
            with Fetcher(target, policy, ca_file=ca_file) as fetch:
                exchange = fetch(Request(purpose="card", url=str(target)))
            assert exchange.failure is not None
            assert exchange.failure.code is FailureCode.REFUSED
            assert exchange.failure.reason == "redirects to http://a.com/card, which is no longer encrypted"
            assert exchange.status == 301
    assert {port for _, port in dials.dialled} == {443}


def test_onto_loopback_a_person_may_leave_encryption(authority: trustme.CA, ca_file: str) -> None:
    with site(lambda asked: answer()) as plain:
        to = f"Location: {plain.url('/card')}"
        with site(
            lambda asked: answer(b"", to, status="302 Found"), server_side(authority.issue_cert("localhost"))
        ) as server:
            exchange = fetched(server.url(host="localhost"), ca_file)
    assert exchange.answered == 200
    assert exchange.final_url == plain.url("/card")


@pytest.mark.parametrize("content", [None, "", "not a certificate"])
def test_a_ca_file_that_cannot_be_read_is_said_at_once(tmp_path: Path, content: str | None) -> None:
    path = tmp_path / "ca.pem"
    if content is not None:
        path.write_text(content)
    with pytest.raises(ValueError, match=r"no certificates \(PEM\) can be read from .*ca\.pem"):
        Fetcher(Url.parse("https://a.com/"), LOCAL, ca_file=str(path))


def test_all_audits_share_one_context_that_verifies() -> None:
    context = tls.context()
    assert tls.context() is context
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert context.check_hostname
    assert not context.hostname_checks_common_name
    assert context.minimum_version >= ssl.TLSVersion.TLSv1_2
    assert not context.verify_flags & ssl.VERIFY_X509_STRICT
