"""URLs (RFC 3986) in the one normal form that is fetched, compared, shown and used as a key."""

import ipaddress
import re
from typing import Final, NamedTuple, Self
from urllib.parse import quote, urljoin, urlsplit

from parley.wire.text import clean

LONGEST: Final = 2048
"""Characters of a URL."""

STANDARD_PORTS: Final = {"http": 80, "https": 443}

_FORBIDDEN = re.compile(r"[\x00-\x20\x7f-\xa0\\\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")
_STRAY: Final = "holds a character that does not belong in a URL (a space, a backslash or a control character)"
CREDENTIALS: Final = "carries a user name or a password"

_BRACKETS: Final = "has something in brackets that is no IPv6 address"
_LABEL = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)")
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
_ESCAPE = re.compile(r"%([0-9A-Fa-f]{2})")
_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")


class UrlError(ValueError):
    """A text that is no URL Parley would fetch. Its text says why, to be read after the URL: ``has no host``."""


class Url(NamedTuple):
    """An absolute http(s) URL without user name and fragment.

    ``host`` is lower case ASCII without a final dot (an IPv6 address without brackets), ``port`` always set,
    ``path`` starts with a slash and has no dot segments; ``query`` is None where there is no question mark.
    """

    scheme: str
    host: str
    port: int
    path: str
    query: str | None = None

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read an absolute URL; raises :class:`UrlError`. The error never repeats more than the scheme."""
        if len(text) > LONGEST:
            raise UrlError(f"is longer than {LONGEST} characters")
        if _FORBIDDEN.search(text):
            raise UrlError(_STRAY)
        scheme = _SCHEME.match(text)
        if not scheme or scheme[1].lower() not in STANDARD_PORTS:
            raise UrlError("is not an http(s) URL")
        try:
            split = urlsplit(text)
            if "@" in split.netloc:
                raise UrlError(CREDENTIALS)
            host = split.hostname or ""
            port = split.port
        except UrlError:
            raise
        except ValueError as error:
            raise UrlError(_BRACKETS if "[" in text else "has a host or a port that cannot be read") from error
        return cls(
            scheme=split.scheme,
            host=_host(host, bracketed="[" in split.netloc),
            port=_port(port, split.scheme),
            path=_without_dot_segments(_normal(split.path, "/:@!$&'()*+,;=~")),
            query=_normal(split.query, "/:@!$&'()*+,;=~?") if "?" in text.partition("#")[0] else None,
        )

    def join(self, reference: str) -> Self:
        """Resolve a reference found in a document or a header against this URL; raises :class:`UrlError`."""
        if _FORBIDDEN.search(reference):  # urljoin would drop some of them silently
            raise UrlError(_STRAY)
        try:
            joined = urljoin(str(self), reference)
        except ValueError as error:
            raise UrlError("cannot be read as a URL") from error
        return type(self).parse(joined)

    def at(self, path: str) -> Self:
        """Another path of the same origin, without a query."""
        return type(self)(self.scheme, self.host, self.port, path)

    @property
    def origin(self) -> str:
        """Scheme, host and a port that is not the scheme's own (RFC 6454, section 6.1)."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}" + ("" if self.port == STANDARD_PORTS[self.scheme] else f":{self.port}")

    @property
    def address(self) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
        """The host as an IP address, if it is one."""
        try:
            return ipaddress.ip_address(self.host)
        except ValueError:
            return None

    @property
    def is_loopback(self) -> bool:
        """Whether the host names this very machine: ``localhost`` and what is below it (RFC 6761), or an address."""
        address = self.address
        if address is None:
            return self.host == "localhost" or self.host.endswith(".localhost")
        return address.is_loopback

    def __str__(self) -> str:
        return self.origin + self.path + ("" if self.query is None else f"?{self.query}")


def shown_scheme(text: str) -> str | None:
    """The scheme of a text as it may be repeated to a person: ``ftp://…``; nothing behind it, as that may be secret."""
    scheme = _SCHEME.match(text)
    if not scheme:
        return None
    slashes = "//" if text[scheme.end() :].startswith("//") else ""
    return clean(scheme[0], 40) + slashes + "…"


def _host(text: str, *, bracketed: bool) -> str:
    if bracketed:
        try:
            address = ipaddress.IPv6Address(text)
        except ValueError as error:
            raise UrlError(_BRACKETS) from error
        if address.scope_id is not None:
            raise UrlError("has an IPv6 address with a zone, which means something on one machine only")
        return str(address)
    if not text:
        raise UrlError("has no host")
    host = text.lower()
    if not host.isascii() or "xn--" in host:
        import idna  # its tables cost every start 10 ms, and most names need none

        try:
            host = idna.encode(host, uts46=True, std3_rules=True).decode("ascii").lower()
        except (idna.IDNAError, UnicodeError) as error:
            raise UrlError("has a host name that is not valid (IDNA)") from error
    host = host.removesuffix(".")
    labels = host.split(".")
    if len(host) > 253 or not all(_LABEL.fullmatch(label) for label in labels):
        raise UrlError("has a host name that is not valid")
    # 127.1, 2130706433, 0x7f.1 and 0177.0.0.1 are addresses to some programs and names to others.
    if re.fullmatch(r"\d+|0x[0-9a-f]*", labels[-1]):
        try:
            return str(ipaddress.IPv4Address(host))
        except ValueError as error:
            raise UrlError("has a host that looks like an IP address but is not four decimal numbers") from error
    return host


def _port(port: int | None, scheme: str) -> int:
    if port is None:
        return STANDARD_PORTS[scheme]
    if port == 0:
        raise UrlError("has port 0")
    return port


def _normal(text: str, safe: str) -> str:
    """Percent-encoding as RFC 3986, section 6.2.2: upper-case digits, and none for unreserved characters."""

    def unescape(match: re.Match[str]) -> str:
        character = chr(int(match[1], 16))
        return character if character in _UNRESERVED else match[0].upper()

    return _ESCAPE.sub(unescape, quote(_stray_percents(text), safe=safe + "%"))


def _stray_percents(text: str) -> str:
    return re.sub(r"%(?![0-9A-Fa-f]{2})", "%25", text)


def _without_dot_segments(path: str) -> str:
    """RFC 3986, section 5.2.4, for a path that is absolute or empty."""
    segments = path.split("/")[1:]
    kept: list[str] = []
    for segment in segments:
        if segment == "..":
            del kept[-1:]
        elif segment != ".":
            kept.append(segment)
    if segments and segments[-1] in (".", ".."):
        kept.append("")
    return "/" + "/".join(kept)
