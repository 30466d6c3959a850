"""Where reports are kept: one interface, whatever the engine.

A store also sees to single flight: of all who ask for one key, one is given a lease and audits; the others wait
for its report. Every decision compares the times in the item with the caller's clock; an engine's own expiry only
frees space.
"""

from typing import Final, NamedTuple, Protocol

FRESH: Final = 3600
"""Seconds for which a report answers without a new audit."""

KEPT: Final = 30 * 86_400
"""Seconds after which a report is gone."""

COOLDOWN: Final = 60
"""Seconds after an audit's start before the same key is audited again, whoever asks."""

LEASE: Final = 35
"""Seconds after which a worker that did not finish is taken for dead; more than an audit or a function may last."""

FAILURE_KEPT: Final = 120
"""Seconds for which a failed audit answers, so that a slow target is no machine to burn our seconds."""


class Key(NamedTuple):
    """What a report is kept under. ``rule_set`` tells apart reports that other rules, or another policy, made."""

    origin: str
    path: str
    rule_set: str


class Stored(NamedTuple):
    """A kept report. ``body`` is the report's JSON; times are seconds since the epoch."""

    body: bytes
    made_at: float
    fresh_until: float
    failed: bool

    def is_fresh(self, now: float) -> bool:
        """Whether it answers without a new audit."""
        return now < self.fresh_until


class Entry(NamedTuple):
    """All that is kept under a key: the last good report, and a later failure as long as it answers."""

    good: Stored | None
    failure: Stored | None

    @property
    def latest(self) -> Stored | None:
        """What was seen last."""
        return self.failure or self.good


class Hit(NamedTuple):
    """A stored report answers: a fresh one, or (``retry_after`` seconds set) one that may not be refreshed yet."""

    stored: Stored
    retry_after: int | None = None


class Run(NamedTuple):
    """The caller audits, then calls :meth:`ReportStore.finish` with this ``owner``."""

    owner: str


class Busy(NamedTuple):
    """Somebody else is at it; ``entry`` is what is kept meanwhile."""

    entry: Entry


Begun = Hit | Run | Busy


class Counter(Protocol):
    """Counts uses, for rate limits. Safe to use from several threads and several processes at once."""

    def take(self, name: str, *, limit: int, window: int) -> int | None:
        """Count one use of ``name`` in the current window of ``window`` seconds.

        None if it is within ``limit``, else the seconds until the window ends. An engine that fails allows the use:
        a limit that cannot be counted must not end the service.
        """
        ...


class StoreError(Exception):
    """The engine did not do as asked; its text is a sentence for the operator. The audit still answers."""


class ReportStore(Protocol):
    """Reports by key. Safe to use from several threads and several processes at once.

    Every method raises :class:`StoreError`, and nothing else, when the engine fails.
    """

    def begin(self, key: Key, *, refresh: bool = False) -> Begun:
        """Decide, atomically, who audits.

        A fresh report is a :class:`Hit` unless ``refresh`` is asked. A running lease is :class:`Busy`. Within the
        cooldown after the last audit's start, what is kept is a Hit with ``retry_after``; if nothing is kept (the
        last worker died), the cooldown does not hold. Else the caller gets the lease: :class:`Run`.
        """
        ...

    def finish(self, key: Key, owner: str, body: bytes, *, failed: bool = False) -> bool:
        """Keep a report and end the lease; False, and nothing kept, if ``owner`` no longer holds it.

        A good report is fresh for ``FRESH`` and kept for ``KEPT`` seconds, and removes an earlier failure. A failed
        one is kept beside the good one, and both fresh and kept for ``FAILURE_KEPT`` seconds.
        """
        ...

    def abandon(self, key: Key, owner: str) -> None:
        """End the lease without a report, so that the next caller audits at once; nothing if it is another's."""
        ...

    def read(self, key: Key) -> Entry:
        """What is kept now, expired items left out; never starts anything."""
        ...

    def close(self) -> None:
        """Release the engine; the store is not used afterwards."""
        ...
