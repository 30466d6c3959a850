"""TLS as this client speaks it, and what its failures are called."""

import functools
import ssl
from collections.abc import Iterable

import certifi

from parley.evidence import FailureCode
from parley.fetch.budget import Stop
from parley.wire.text import clean
from parley.wire.url import Url

_UNTRUSTED = "its certificate is signed by an authority that is not trusted"

# OpenSSL's X509_V_ERR_* (x509_vfy.h); Python has no names for them.
_CERTIFICATE = {
    9: "its certificate is not valid yet",
    10: "its certificate has expired",
    18: "its certificate is self-signed",
    19: _UNTRUSTED,
    20: f"{_UNTRUSTED}, or comes without the intermediate one",
    21: f"{_UNTRUSTED}, or comes without the intermediate one",
    62: "its certificate is for another name",
    64: "its certificate is for another name",
}

_NOT_TLS = ("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "PACKET_LENGTH_TOO_LONG", "UNKNOWN_PROTOCOL")


class _Context(ssl.SSLContext):
    """Shared by all connections of a process, since loading the authorities costs 20 ms of CPU."""

    def set_alpn_protocols(self, alpn_protocols: Iterable[str]) -> None:
        """Nothing: urllib3 calls this for every connection, while another thread may be making one."""


@functools.cache
def context(ca_file: str | None = None) -> ssl.SSLContext:
    """The context that trusts certifi's authorities, and those in ``ca_file`` (PEM); raises OSError."""
    # Neither ssl.create_default_context nor urllib3's: from Python 3.13 both refuse certificates that browsers take
    # (VERIFY_X509_STRICT), and a verdict must not depend on the version of Python.
    made = _Context(ssl.PROTOCOL_TLS_CLIENT)
    made.hostname_checks_common_name = False
    made.load_verify_locations(certifi.where())
    if ca_file is not None:
        made.load_verify_locations(ca_file)
    ssl.SSLContext.set_alpn_protocols(made, ["http/1.1"])
    return made


def failed(error: ssl.SSLError, url: Url) -> Stop:
    """What a failure of TLS with a host is called."""
    return Stop(FailureCode.TLS, _reason(error, url))


def _reason(error: ssl.SSLError, url: Url) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return _CERTIFICATE.get(error.verify_code, f"its certificate is not valid ({clean(error.verify_message)})")
    if isinstance(error, ssl.SSLEOFError | ssl.SSLZeroReturnError):
        return "closed the connection in the middle of TLS"
    if error.reason in _NOT_TLS:
        return f"does not speak TLS on this port (try {Url('http', url.host, url.port, '/').origin})"
    named = error.reason.replace("_", " ").lower() if error.reason else "no reason given"
    return f"did not agree with us on TLS ({clean(named)})"
