"""From where a URL's host can be reached, as far as its name or address says: nothing is looked up."""

import ipaddress
import re
from enum import IntEnum
from functools import cache
from typing import Final, NamedTuple

from parley.wire import address
from parley.wire.url import Url, UrlError


class Reach(IntEnum):
    """Who can reach a host. Higher is fewer; NOWHERE is no place to be reached at all."""

    ANYWHERE = 0
    NETWORK = 1
    MACHINE = 2
    NOWHERE = 3


class Place(NamedTuple):
    """A host, who can reach it, and what kind of host that is: ``a private address``."""

    host: str
    reach: Reach
    kind: str


_ANYWHERE: Final = "a public name or address"

# What a reader of a document is to be told otherwise than whoever dials: the rest is as parley.wire.address has it.
_ADDRESSES: Final = (
    ("0.0.0.0/32 ::/128", Reach.NOWHERE, "the address that servers listen on, not one to call"),
    ("100.64.0.0/10", Reach.NETWORK, "an address within a provider's network"),
    ("169.254.0.0/16 fe80::/10", Reach.NETWORK, "a link-local address"),
    ("192.0.2.0/24 198.51.100.0/24 203.0.113.0/24 2001:db8::/32", Reach.NOWHERE, "an address for documentation"),
    ("0.0.0.0/8 224.0.0.0/4 240.0.0.0/4 ff00::/8", Reach.NOWHERE, "an address that no server can have"),
)
_REACH: Final = {
    address.Place.PRIVATE: Reach.NETWORK,
    address.Place.LOOPBACK: Reach.MACHINE,
    address.Place.NOWHERE: Reach.NOWHERE,
}

_INSIDE: Final = frozenset({"local", "internal", "intranet", "lan", "home", "corp", "private", "localdomain"})
"""Last labels of names that mean something else in every network (RFC 6762, ICANN's .internal, and custom)."""

_TUNNELS: Final = (
    "ngrok.io",
    "ngrok.app",
    "ngrok.dev",
    "ngrok-free.app",
    "ngrok-free.dev",
    "trycloudflare.com",
    "loca.lt",
    "localtunnel.me",
    "serveo.net",
    "localhost.run",
    "lhr.life",
    "devtunnels.ms",
    "pinggy.link",
    "pinggy.io",
    "bore.pub",
    "localxpose.io",
    "loclx.io",
    "tunnelmole.net",
    "app.github.dev",
)
"""Where people publish what runs on their own machine."""

_SCHEME: Final = r"([A-Za-z][A-Za-z0-9+.-]*):"
_USER: Final = r"^(\s*(?:[A-Za-z][A-Za-z0-9+.-]*:)?//)[^/?#]*@"
_HOST_PORT: Final = r"(\[[0-9A-Fa-f:.]{2,45}\]|[A-Za-z0-9_.-]{1,253}):\d{1,5}"


def place(host: str) -> Place:
    """Where a host is: a name, or an IP address without brackets."""
    host = host.lower().removesuffix(".")
    try:
        read = ipaddress.ip_address(host)
    except ValueError:
        return _named(host)
    if isinstance(read, ipaddress.IPv6Address) and read.ipv4_mapped is not None:
        return Place(host, *place(str(read.ipv4_mapped))[1:])
    for network, reach, kind in _networks():
        if read.version == network.version and read in network:
            return Place(host, reach, kind)
    where, kind = address.place(read)
    return Place(host, _REACH[where], kind) if where in _REACH else Place(host, Reach.ANYWHERE, _ANYWHERE)


@cache
def _networks() -> list[tuple[address.IPNetwork, Reach, str]]:
    return [
        (ipaddress.ip_network(network), reach, kind)
        for networks, reach, kind in _ADDRESSES
        for network in networks.split()
    ]


def place_of(written: object) -> Place | None:
    """Where the host of a URL is, of any scheme, or of a bare ``host:port``; None where no host can be told."""
    if not isinstance(written, str):
        return None
    text = written.strip()
    try:
        return place(Url.parse(text).host)
    except UrlError:
        pass
    if re.fullmatch(_HOST_PORT + r"(/\S*)?", text):
        host = text.rpartition("]")[0] + "]" if text.startswith("[") else text.partition(":")[0]
    else:
        scheme = re.match(_SCHEME + "//", text)
        if scheme is None:
            return None
        rest = text[scheme.end() :]
        host = re.split(r"[/?#]", rest.lstrip("/") if scheme[1].lower() == "dns" else rest, maxsplit=1)[0]
        host = host.rpartition("@")[2]
        host = host.partition("]")[0] + "]" if host.startswith("[") else host.partition(":")[0]
    host = host.strip("[]")
    return place(host) if re.fullmatch(r"[A-Za-z0-9_.:-]{1,253}", host) else None


def without_user(written: str) -> str:
    """A URL of any scheme, with ``***`` in place of the user name and password that it carries before its host."""
    return re.sub(_USER, r"\1***@", written, count=1)


def tunnel(host: str) -> str | None:
    """The tunnel service that a host is of, by which people publish what runs on their own machine."""
    return next((name for name in _TUNNELS if host == name or host.endswith(f".{name}")), None)


def is_within(there: Place, here: Place) -> bool:
    """Whether who reaches ``here`` reaches ``there`` too, as far as it can be told."""
    if there.reach is Reach.NOWHERE:
        return False
    return there.reach <= here.reach or there.host == here.host


def _named(host: str) -> Place:
    labels = host.split(".")
    if labels[-1] == "localhost" or host == "localhost.localdomain":
        return Place(host, Reach.MACHINE, "a name of this very machine")
    if len(labels) < 2:
        return Place(host, Reach.NETWORK, "a name without a dot, which means something in one network only")
    if labels[-1] in _INSIDE or host.endswith(".home.arpa"):
        return Place(host, Reach.NETWORK, f"a name under .{labels[-1]}, which means something in one network only")
    return Place(host, Reach.ANYWHERE, _ANYWHERE)
