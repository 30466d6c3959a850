"""A second line behind the policy: a process that cannot connect to anything private, whoever asks it to."""

import ipaddress
import sys

from parley.wire.address import Place, place

_EVENTS = frozenset({"socket.connect", "socket.sendto", "socket.sendmsg"})


class GuardedError(RuntimeError):
    """Something in this process wanted to reach an address that is not public, past the policy: a fault of ours."""


def guard_process() -> None:
    """Refuse every non-public address from now on, also to code that never heard of a policy.

    For a service on the internet: on Lambda, loopback is where the Runtime API hands out other people's events. It
    cannot be undone. Sockets that are not of the internet, and what is not Python's own socket, are left alone.
    """
    sys.addaudithook(_refuse)


def _refuse(event: str, arguments: tuple[object, ...]) -> None:
    if event not in _EVENTS:
        return
    match arguments:
        case [_, [str() as host, int(), *_]]:
            try:
                where, name = place(ipaddress.ip_address(host))
            except ValueError:
                raise GuardedError("a connection to a name was attempted; only judged addresses are dialled") from None
            if where is not Place.PUBLIC:
                raise GuardedError(f"a connection to {name} was attempted")
