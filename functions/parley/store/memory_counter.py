"""The embedded counter of rate limits: in memory, for one process."""

import math
import threading
import time
from collections.abc import Callable
from typing import Final

NAMES: Final = 10_000
"""Names that are counted at the same time; beyond that, the one not used for longest begins anew."""


class MemoryCounter:
    """Counts in memory; see :class:`parley.store.Counter`. ``clock`` gives seconds since the epoch."""

    def __init__(self, *, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        # By their length: all windows of one length begin, and are over, together.
        self._windows: dict[int, tuple[int, dict[str, int]]] = {}

    def take(self, name: str, *, limit: int, window: int) -> int | None:
        """See :meth:`parley.store.Counter.take`."""
        with self._lock:
            now = self._clock()
            start = int(now // window) * window
            if self._windows.get(window, (None,))[0] != start:
                self._windows[window] = (start, {})
            uses = self._windows[window][1]
            used = uses.pop(name, 0) + 1
            self._make_room(now)
            uses[name] = used  # last: the names unused for longest come first
        return None if used <= limit else math.ceil(start + window - now)

    def _make_room(self, now: float) -> None:
        if self._count() < NAMES:
            return
        for window, (start, uses) in self._windows.items():
            if now >= start + window:
                uses.clear()
        if self._count() >= NAMES:
            most = max((uses for _, uses in self._windows.values()), key=len)
            del most[next(iter(most))]

    def _count(self) -> int:
        return sum(len(uses) for _, uses in self._windows.values())
