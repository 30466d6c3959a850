"""IP addresses by where they are, and so by who can reach them."""

import ipaddress
from enum import IntEnum
from typing import Final

IPAddress = ipaddress.IPv4Address | ipaddress.IPv6Address
IPNetwork = ipaddress.IPv4Network | ipaddress.IPv6Network


class Place(IntEnum):
    """How far an address is from the open internet. Higher is more private; NOWHERE is never visited."""

    PUBLIC = 0
    PRIVATE = 1
    LOOPBACK = 2
    NOWHERE = 3


def _networks(text: str) -> tuple[IPNetwork, ...]:
    return tuple(ipaddress.ip_network(network) for network in text.split())


# IANA's special-purpose registries (RFC 6890), read by us rather than by ipaddress.is_global, whose answers changed
# between patch releases of CPython (gh-113171) and which takes 64:ff9b::7f00:1 and ff02::1 for global.
# The first row that holds an address names it.
_SPECIAL: Final = (
    (Place.LOOPBACK, "a loopback address", _networks("127.0.0.0/8 ::1/128")),
    # Metadata services, which hand out credentials: AWS and Google on unique local addresses, Alibaba in 100.64/10.
    (
        Place.NOWHERE,
        "a cloud's metadata address",
        _networks("169.254.169.254/32 169.254.170.2/32 168.63.129.16/32 100.100.100.200/32 192.0.0.192/32")
        + _networks("fd00:ec2::/32 fd20:ce::/32"),
    ),
    (
        Place.PRIVATE,
        "a private address",
        _networks("10.0.0.0/8 172.16.0.0/12 192.168.0.0/16 100.64.0.0/10 198.18.0.0/15 fc00::/7"),
    ),
    (Place.NOWHERE, "a link-local address", _networks("169.254.0.0/16 fe80::/10")),
    (Place.NOWHERE, "a multicast address", _networks("224.0.0.0/4 ff00::/8")),
    (
        Place.NOWHERE,
        "a special-purpose address",
        _networks("0.0.0.0/8 192.0.0.0/24 192.0.2.0/24 192.31.196.0/24 192.52.193.0/24 192.88.99.0/24")
        + _networks("192.175.48.0/24 198.51.100.0/24 203.0.113.0/24 240.0.0.0/4")
        + _networks("2001::/23 2001:db8::/32 2002::/16 2620:4f:8000::/48 3fff::/20"),
    ),
)
_UNICAST: Final = ipaddress.IPv6Network("2000::/3")
"""All of IPv6 that is handed out. What embeds an IPv4 address lies outside, or is in a row above."""


def place(address: IPAddress) -> tuple[Place, str]:
    """Where an address is, and what to call it: ``(Place.PRIVATE, "a private address")``."""
    if isinstance(address, ipaddress.IPv6Address) and address.scope_id is not None:
        return Place.NOWHERE, "a link-local address"
    for where, name, networks in _SPECIAL:
        if any(address.version == network.version and address in network for network in networks):
            return where, name
    if address.version == 6 and address not in _UNICAST:
        return Place.NOWHERE, "a special-purpose address"
    return Place.PUBLIC, "a public address"
