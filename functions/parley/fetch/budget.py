"""What an audit may still spend: time, requests, bytes, hosts; counted for all its threads."""

import threading
import time
from typing import Final

from parley.evidence import FailureCode
from parley.fetch.policy import Limits

END_SECONDS: Final = 1.0
"""What a request that ends a session may take beyond the audit's time: whoever opens one does not leave it open."""

END_SHARE: Final = 20
"""Of so many requests one is kept back for those that end sessions."""

WIRE_ALLOWANCE: Final = 2
"""Heads a fetch may read beyond its body: the real one (with redirects), and chunk sizes and trailers."""


class Stop(Exception):  # noqa: N818  # it ends a fetch, which is nobody's error
    """A fetch that ends without a usable answer. ``reason`` continues a sentence about the URL."""

    def __init__(self, code: FailureCode, reason: str) -> None:
        super().__init__(f"{code}: {reason}")
        self.code = code
        self.reason = reason


class Budget:
    """One audit's limits. The clock runs from its making; every method may be called by several threads."""

    def __init__(self, limits: Limits, target_host: str) -> None:
        self.ends: Final = time.monotonic() + limits.audit_seconds
        self._target_host: Final = target_host
        self._lock: Final = threading.Lock()
        self._requests = limits.requests
        self._kept_for_ends: Final = limits.requests // END_SHARE
        self._target_requests = limits.target_requests
        self._bytes = limits.audit_bytes
        self._hosts_left = limits.hosts
        self._hosts: set[str] = set()

    def seconds_left(self, more: float = 0.0) -> float:
        """Seconds until the audit, with ``more`` of them, ends; raises :class:`Stop` if there are none."""
        if (left := self.ends + more - time.monotonic()) <= 0:
            raise spent("time")
        return left

    def spend_request(self, host: str, *, ends_session: bool = False) -> None:
        """One more request to ``host``; raises :class:`Stop` if that is one too many.

        One that ends a session counts among all requests only, of which the last few are left to it.
        """
        with self._lock:
            to_target = host == self._target_host and not ends_session
            kept = 0 if ends_session else self._kept_for_ends
            if self._requests <= kept or (to_target and self._target_requests <= 0):
                raise spent("requests")
            self._requests -= 1
            self._target_requests -= to_target

    def spend_bytes(self, size: int) -> None:
        """``size`` more bytes were read; raises :class:`Stop` if those were too many."""
        with self._lock:
            self._bytes -= size
            if self._bytes < 0:
                raise spent("bytes")

    def spend_host(self, host: str) -> None:
        """``host`` is to be visited; raises :class:`Stop` if it is a new one and one too many."""
        with self._lock:
            if host in self._hosts:
                return
            if self._hosts_left <= 0:
                raise spent("hosts")
            self._hosts_left -= 1
            self._hosts.add(host)


class Meter:
    """One fetch's share of the audit: its deadline and its bytes, over all its redirects."""

    def __init__(self, budget: Budget, limits: Limits, *, more: float = 0.0) -> None:
        own_end = time.monotonic() + limits.fetch_seconds
        audit_end = budget.ends + more
        self.limits: Final = limits
        self._ends: Final = min(own_end, audit_end)
        self._is_cut_short: Final = audit_end < own_end
        self._bytes = limits.body_bytes + WIRE_ALLOWANCE * limits.head_bytes
        self._budget: Final = budget

    def seconds_left(self) -> float:
        """Seconds until the fetch must be over; raises :class:`Stop` if there are none."""
        if (left := self._ends - time.monotonic()) <= 0:
            raise self.expired()
        return left

    def expired(self) -> Stop:
        """What to raise when the deadline has passed: a time-out only if the target had the whole time of a fetch."""
        if self._is_cut_short:
            return spent("time")
        return Stop(FailureCode.TIMEOUT, f"timed out after {self.limits.fetch_seconds:g} s")

    def count(self, size: int) -> None:
        """``size`` bytes were read from the network, of whatever kind; raises :class:`Stop` if they were too many."""
        self._bytes -= size
        self._budget.spend_bytes(size)
        if self._bytes < 0:
            raise self.too_much_body()

    def too_much_body(self) -> Stop:
        """What to raise for a body, as sent or decoded, that is too large."""
        return Stop(FailureCode.TOO_LARGE, f"sends more than {_size(self.limits.body_bytes)}")

    def too_much_head(self) -> Stop:
        """What to raise for headers that are too large."""
        return Stop(FailureCode.TOO_LARGE, f"sends more than {_size(self.limits.head_bytes)} of headers")


def spent(what: str) -> Stop:
    """What to raise when the audit's own means are at their end."""
    return Stop(FailureCode.BUDGET, "this audit's " + {"time": "time was spent"}.get(what, f"{what} were spent"))


def _size(number: int) -> str:
    mebibytes, rest = divmod(number, 1 << 20)
    return f"{mebibytes} MiB" if mebibytes and not rest else f"{number >> 10} kB"
