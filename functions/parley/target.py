"""What was asked about: parsed, normalised, or refused with a reason a person understands."""

import re
from typing import Final, NamedTuple, Self

from parley.wire.text import clean
from parley.wire.url import CREDENTIALS, Url, UrlError, shown_scheme

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
_OTHER_SCHEMES: Final = frozenset(
    {"about", "blob", "data", "file", "ftp", "ftps", "git", "gopher", "http", "https", "javascript", "ldap"}
    | {"mailto", "sftp", "sms", "ssh", "tel", "urn", "view-source", "ws", "wss"}
)


class TargetError(ValueError):
    """A text that cannot be audited. ``reason`` says why, and repeats no part of the text that may be secret."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Target(NamedTuple):
    """An origin, and a path where the asker gave one."""

    url: Url

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read what a person pasted: an http(s) URL or a bare host, which means https. Raises :class:`TargetError`.

        A fragment is dropped. A user name or a query is refused, since either may be a secret and reports are public.
        """
        text = text.strip()
        if not text:
            raise TargetError("no URL was given")
        if _is_user_and_host(text):
            raise TargetError(f"the URL {CREDENTIALS}")
        absolute = text if _has_scheme(text) else f"https://{text.removeprefix('//')}"
        try:
            url = Url.parse(absolute)
        except UrlError as error:
            raise TargetError(f"{_named(text, str(error))} {error}") from None
        if url.query is not None:
            raise TargetError("the URL carries a query, which may hold a secret, and reports are public; leave it out")
        return cls(url)

    @property
    def origin(self) -> str:
        """The target's origin, as reports are kept by."""
        return self.url.origin

    def __str__(self) -> str:
        return str(self.url)


def shown(text: str) -> str:
    """What was asked, fit to stand in a public report: cleaned, cut, and without user name, query and fragment."""
    head, mark, _ = (
        re.split(r"([?#])", text.strip(), maxsplit=1) if re.search(r"[?#]", text) else (text.strip(), "", "")
    )
    scheme, separator, rest = head.partition("//") if "//" in head else ("", "", head)
    authority, slash, path = rest.partition("/")
    authority = "…@" + authority.rpartition("@")[2] if "@" in authority else authority
    if "@" in path or "\\" in head:  # somebody's password may hold a slash
        slash, path = ("/", "…") if slash else ("", "")
    return clean(scheme + separator + authority + slash + path) + ("?…" if mark == "?" else "")


def _is_user_and_host(text: str) -> bool:
    """``ann:secret@host``: neither a scheme nor a host and its port; what stands there must not be repeated."""
    head = _SCHEME.match(text)
    if "@" not in text or "://" in text or (head and head[1].lower() in _OTHER_SCHEMES):
        return False
    authority = re.split(r"[/?#]", text.removeprefix("//"), maxsplit=1)[0]
    # A path may hold an @, but then the host is one that can be told from a user name.
    return "@" in authority or (":" in authority and "." not in authority.partition(":")[0] and "[" not in authority)


def _has_scheme(text: str) -> bool:
    """``mailto:x`` has a scheme; ``localhost:8000`` is a host and its port."""
    return bool(re.match(r"[A-Za-z][A-Za-z0-9+.-]*:(?!\d+(?:[/?#]|$))", text))


def _named(text: str, reason: str) -> str:
    if reason.startswith("is not an http(s) URL"):
        return f"'{shown_scheme(text) or clean(text, 60)}'"
    return "the URL"
