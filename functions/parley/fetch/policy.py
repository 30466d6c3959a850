"""Where a request may go, and how much it may take: plain data and pure functions, no network."""

import re
from typing import Final, NamedTuple, Self

from parley import __version__
from parley.wire.address import IPAddress, Place, place
from parley.wire.url import Url

ABOUT: Final = "https://parley.example/about"
"""The page a User-Agent names unless an operator sets their own: what visits, why, and how to be left alone."""


class Limits(NamedTuple):
    """What one fetch and one audit may take.

    A fetch: ``fetch_seconds`` over all its redirects, ``connect_seconds`` for each of at most ``addresses``
    addresses, ``dns_seconds`` for a look-up, ``head_bytes`` of headers, ``body_bytes`` of body both as sent and
    decoded. An audit: seconds, requests in all and to the target's host, bytes read, different hosts, and
    connections in use at once with one host. The end of a session may take a second more, and counts among all
    requests only.
    """

    fetch_seconds: float = 8.0
    connect_seconds: float = 3.0
    dns_seconds: float = 3.0
    head_bytes: int = 65_536
    body_bytes: int = 1_048_576
    redirects: int = 3
    addresses: int = 3
    audit_seconds: float = 20.0
    target_requests: int = 64
    requests: int = 80
    audit_bytes: int = 8_000_000
    hosts: int = 6
    connections_per_host: int = 4

    @classmethod
    def for_timeout(cls, seconds: float) -> Self:
        """The limits that go with a time a person chose for one fetch; an audit gets 2.5 times that."""
        short = min(3.0, seconds)
        return cls(fetch_seconds=seconds, connect_seconds=short, dns_seconds=short, audit_seconds=2.5 * seconds)

    def ending_within(self, seconds: float) -> Self:
        """The same limits for an audit that must be over sooner, as the function it runs in is stopped."""
        return self._replace(audit_seconds=min(self.audit_seconds, seconds))


_INSIDE: Final = frozenset(
    {"localhost", "localdomain", "local", "internal", "intranet", "lan", "home", "corp", "private", "arpa"}
)
"""Last labels of names that mean something else in every network (RFC 6761, RFC 6762, RFC 8375, ICANN's .internal)."""

_UNHELD: Final = frozenset({"alt", "example", "invalid", "onion", "test"})
"""Last labels that the name system never holds (RFC 2606, RFC 7686, RFC 9476)."""

_LDH: Final = re.compile(r"(?!-)[a-z0-9-]+(?<!-)")


def user_agent(about: str = ABOUT) -> str:
    """The User-Agent header: product, version, and the page that explains the visit."""
    return f"Parley/{__version__} (+{about})"


_AGENT: Final = user_agent()


class Policy(NamedTuple):
    """What may be dialled. Reasons returned are for people and continue a sentence about the URL: ``is on port 22``.

    ``service`` speaks for a service on the internet that visits what strangers name: public names on ``ports``
    (None: any). Without it the asker visits from their own machine what they could visit anyway, but what is found
    there may not lead to somewhere more private. ``deny_hosts`` are the service's own names, ``opted_out`` those whose
    operators asked to be left alone; names below them count too.
    """

    service: bool
    ports: frozenset[int] | None
    deny_hosts: frozenset[str] = frozenset()
    opted_out: frozenset[str] = frozenset()
    user_agent: str = _AGENT

    def refuse_url(self, url: Url) -> str | None:
        """Why a URL may not be visited, by its text alone; None if it may as far as that goes."""
        if _is_under(url.host, self.opted_out):
            return "is on a host whose operator asked not to be visited"
        if _is_under(url.host, self.deny_hosts):
            return "is this service's own address"
        return (self._refuse_host(url) if self.service else None) or self._refuse_port(url.port)

    def refuse_address(self, address: IPAddress, *, literal: bool, led_from: Place | None) -> str | None:
        """Why an address may not be dialled.

        ``literal`` says that it stands in the URL itself; ``led_from`` where the target is, if the URL was not named by
        the asker but found at the target. A page on the internet shall not reach into the network of whoever looks at
        it, as in browsers' Private Network Access.
        """
        where, name = place(address)
        seen = f"{'is at' if literal else 'resolves to'} {name} ({address})"
        if self.service:
            return f"{seen}, which this service does not visit" if where is not Place.PUBLIC else None
        if where is Place.NOWHERE:
            return f"{seen}, which is never visited"
        return self._refuse_lead(seen, where, led_from)

    def refuse_unresolved(self, url: Url, *, led_from: Place | None) -> str | None:
        """As :meth:`refuse_address`, by name alone: where a proxy does the look-up, the address is not known."""
        address = url.address
        if address is not None:
            return self.refuse_address(address, literal=True, led_from=led_from)
        return self._refuse_lead(
            f"has a name that only makes sense inside a network ({url.host})", named_place(url), led_from
        )

    def refuse_redirect(self, source: Url, to: Url) -> str | None:
        """Why a redirect may not be followed, apart from where it leads."""
        if source.scheme == "https" and to.scheme == "http" and (self.service or not to.is_loopback):
            return "is no longer encrypted"
        return None

    def looked_up(self, host: str) -> str:
        """The name to look up: on the internet with a final dot, which keeps the resolver's search list out of it."""
        return f"{host}." if self.service else host

    def _refuse_host(self, url: Url) -> str | None:
        if (address := url.address) is not None:
            return (
                self.refuse_address(address, literal=True, led_from=None)
                or f"has an IP address for a host ({address}), and this service visits names only"
            )
        labels = url.host.split(".")
        if len(labels) < 2 or labels[-1] in _INSIDE:
            return f"has a name that only makes sense inside a network ({url.host})"
        if labels[-1] in _UNHELD:
            return f"has a name that does not exist on the internet (.{labels[-1]} is set apart)"
        if not all(_LDH.fullmatch(label) for label in labels):
            return f"has a host name that is not valid on the internet ({url.host})"
        return None

    def _refuse_port(self, port: int) -> str | None:
        if self.ports is None or port in self.ports:
            return None
        *most, last = sorted(self.ports)
        listed = f"{', '.join(map(str, most))} and {last} are" if most else f"{last} is"
        return f"is on port {port}, which this service does not visit ({listed})"

    def _refuse_lead(self, seen: str, where: Place, led_from: Place | None) -> str | None:
        if led_from is None or where <= led_from:
            return None
        return f"{seen}, where a target on {_KIND[led_from]} may not lead"


_KIND: Final = {Place.PUBLIC: "the internet", Place.PRIVATE: "a private network", Place.LOOPBACK: "this machine"}


def named_place(url: Url) -> Place:
    """Where a URL's host is as far as its text says."""
    if url.address is not None:
        return place(url.address)[0]
    if url.is_loopback:
        return Place.LOOPBACK
    labels = url.host.split(".")
    return Place.PRIVATE if len(labels) < 2 or labels[-1] in _INSIDE else Place.PUBLIC


def _is_under(host: str, names: frozenset[str]) -> bool:
    return any(host == name or host.endswith(f".{name}") for name in names)


DEPLOYED: Final = Policy(service=True, ports=frozenset({80, 443, 8080, 8443}))
"""For a service on the internet: public names and addresses only."""

LOCAL: Final = Policy(service=False, ports=None)
"""For a person's own machine: loopback and private networks too, link-local and metadata addresses never."""
