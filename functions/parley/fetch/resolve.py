"""Name look-ups that cannot hang an audit: once per host, pinned, and given up after a time."""

import ipaddress
import socket
import threading
import time
from typing import Final

from parley.evidence import FailureCode
from parley.fetch.budget import Meter, Stop, spent
from parley.wire.address import IPAddress

UNDER_WAY: Final = 16
"""Look-ups at once in this process, those included that were given up and that a slow name server still holds."""

_slots = threading.BoundedSemaphore(UNDER_WAY)


def look_up(name: str) -> list[IPAddress]:
    """All addresses of a name as the system's resolver gives them; may take as long as that likes."""
    found = socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(ipaddress.ip_address(sockaddr[0]) for *_, sockaddr in found))


class _LookUp:
    """One look-up, in a thread of its own since the system's resolver knows no time-out. It gives a slot back."""

    def __init__(self, name: str, shown: str, seconds: float, slots: threading.BoundedSemaphore) -> None:
        self._slots: Final = slots
        self._name: Final = name
        self._shown: Final = shown
        self._seconds: Final = seconds
        self._ends: Final = time.monotonic() + seconds
        self._lock: Final = threading.Lock()
        self._done: Final = threading.Event()
        self._outcome: list[IPAddress] | Stop | None = None
        threading.Thread(target=self._run, name=f"look-up of {shown}", daemon=True).start()

    def wait(self, seconds: float) -> list[IPAddress] | Stop | None:
        """The addresses, or why there are none, or None if ``seconds`` passed before either was known."""
        if not self._done.wait(max(0.0, min(seconds, self._ends - time.monotonic()))) and (
            time.monotonic() >= self._ends
        ):
            self._settle(self._failed(f"the name was not resolved within {self._seconds:g} s"))
        return self._outcome

    def _run(self) -> None:
        try:
            found = look_up(self._name)
            self._settle(found or self._failed("the name does not resolve"))
        except socket.gaierror as error:
            again = error.errno == socket.EAI_AGAIN
            self._settle(self._failed("the name servers do not answer" if again else "the name does not resolve"))
        except (OSError, UnicodeError, ValueError):
            self._settle(self._failed("the name does not resolve"))
        finally:
            self._slots.release()

    def _settle(self, outcome: list[IPAddress] | Stop) -> None:
        with self._lock:  # the first outcome stands: an answer that comes late must not differ between two requests
            if self._outcome is None:
                self._outcome = outcome
        self._done.set()

    def _failed(self, what: str) -> Stop:
        return Stop(FailureCode.DNS, f"{what} ({self._shown})")


class Resolver:
    """One audit's names. Each is looked up once, so that an answer that was judged is the one that is dialled."""

    def __init__(self, seconds: float) -> None:
        self._seconds: Final = seconds
        self._lock: Final = threading.Lock()
        self._look_ups: dict[str, _LookUp] = {}

    def addresses(self, host: str, name: str, meter: Meter) -> list[IPAddress]:
        """All addresses of ``host``, which the name system knows as ``name``; raises :class:`Stop`."""
        try:
            return [ipaddress.ip_address(host)]
        except ValueError:
            pass
        with self._lock:
            look_up = self._look_ups.get(host)
            if look_up is None:
                if not _slots.acquire(timeout=min(self._seconds, meter.seconds_left())):
                    raise spent("name look-ups")
                look_up = self._look_ups[host] = _LookUp(name, host, self._seconds, _slots)
        match look_up.wait(meter.seconds_left()):
            case None:
                raise meter.expired()
            case Stop() as failed:
                raise Stop(failed.code, failed.reason)
            case found:
                return found
