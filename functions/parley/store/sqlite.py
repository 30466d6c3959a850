"""The embedded report store: one SQLite file, or memory. Needs nothing beside it."""

import gzip
import math
import secrets
import sqlite3
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from parley.store import (
    COOLDOWN,
    FAILURE_KEPT,
    FRESH,
    KEPT,
    LEASE,
    Begun,
    Busy,
    Entry,
    Hit,
    Key,
    Run,
    Stored,
    StoreError,
)
from parley.wire.text import clean

_APPLICATION_ID: Final = 0x5061726C
"""``Parl`` in the file's header, so that another program's database is never taken for ours."""

_SCHEMA_VERSION: Final = 1

# The bodies come last: SQLite reads a row from the front, and they fill pages of their own.
_SCHEMA: Final = (
    """CREATE TABLE reports (
        origin TEXT NOT NULL, path TEXT NOT NULL, rule_set TEXT NOT NULL,
        owner TEXT, started REAL, unused_after REAL NOT NULL,
        good_made REAL, failure_made REAL, good BLOB, failure BLOB,
        PRIMARY KEY (origin, path, rule_set))""",
    "CREATE INDEX reports_unused_after ON reports (unused_after)",
    f"PRAGMA application_id = {_APPLICATION_ID}",
    f"PRAGMA user_version = {_SCHEMA_VERSION}",
)

# Casts, because a damaged row may hold a value of any type.
_SELECT: Final = """SELECT owner IS NOT NULL, CAST(started AS REAL), CAST(good AS BLOB), CAST(good_made AS REAL),
    CAST(failure AS BLOB), CAST(failure_made AS REAL) FROM reports WHERE origin = ? AND path = ? AND rule_set = ?"""

_LEASE_OUT: Final = """INSERT INTO reports (origin, path, rule_set, owner, started, unused_after)
    VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (origin, path, rule_set) DO UPDATE SET
    owner = excluded.owner, started = excluded.started, unused_after = max(unused_after, excluded.unused_after)"""

_HELD: Final = "WHERE origin = ? AND path = ? AND rule_set = ? AND owner = ?"

_KEEP_GOOD: Final = f"""UPDATE reports SET owner = NULL, good = ?, good_made = ?, unused_after = ?,
    failure = NULL, failure_made = NULL {_HELD} AND started > ?"""  # noqa: S608 - constants only

_KEEP_FAILURE: Final = f"""UPDATE reports SET owner = NULL, failure = ?, failure_made = ?,
    unused_after = max(unused_after, ?) {_HELD} AND started > ?"""  # noqa: S608 - constants only

_SLACK: Final = 3600
"""Seconds an unused row stays: a process whose clock is ahead must not remove what another still reads."""

_SWEPT: Final = 32
"""Unused rows that one :meth:`SqliteStore.finish` removes at most: more than it adds, too few to be felt."""

_WAYS_OUT: Final = {
    sqlite3.SQLITE_BUSY: ("is locked by another process", "stop that process, or try again"),
    sqlite3.SQLITE_CANTOPEN: ("cannot be opened", "see that its folder can be written, or name another file"),
    sqlite3.SQLITE_CORRUPT: ("is damaged", "move it away and a new one is made"),
    sqlite3.SQLITE_FULL: ("has no room to grow", "free space on its disk"),
    sqlite3.SQLITE_IOERR: ("cannot be read or written", "see to its disk, or name another file"),
    sqlite3.SQLITE_NOTADB: ("is damaged, or no report store", "move it away and a new one is made"),
    sqlite3.SQLITE_READONLY: ("cannot be written", "let this user write it and its folder, or name another file"),
}


class SqliteStore:
    """Keeps reports in the file at ``path``, or in memory if that is None; see :class:`parley.store.ReportStore`.

    ``clock`` gives seconds since the epoch; ``patience`` is how many seconds to wait, once for this process's other
    threads and once for other processes, before giving up. Making one opens nothing and raises nothing: each method
    opens the file if it is not open, so a store comes back by itself once the operator has mended its file.

    Between processes whose clocks differ, the one ahead may take a lease for expired and audit a second time; the
    first one's report is then refused. As it then holds the later lease, that is once for each lease, not endless.
    The one behind waits longer, by the difference. Not to be carried across a fork, as SQLite is not.
    """

    def __init__(self, path: Path | None, *, clock: Callable[[], float] = time.time, patience: float = 2.0) -> None:
        self._path = None if path is None else path.absolute()
        self._clock = clock
        self._patience = patience
        # One connection for all threads: what it does takes well under a millisecond, and memory has but one anyway.
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._closed = False

    def __str__(self) -> str:
        return "the report store in memory" if self._path is None else f"the report store {clean(self._path, 4096)}"

    def begin(self, key: Key, *, refresh: bool = False) -> Begun:
        """See :meth:`parley.store.ReportStore.begin`. The Hit is the latest: a failure, if one is kept."""
        with self._transaction("BEGIN IMMEDIATE") as connection:
            now = self._clock()
            entry, leased, started = _look(connection, key, now)
            latest = entry.latest
            if latest and latest.is_fresh(now) and not refresh:
                return Hit(stored=latest)
            if leased and now < started + LEASE:
                return Busy(entry=entry)
            if latest and now < started + COOLDOWN:
                return Hit(stored=latest, retry_after=math.ceil(started + COOLDOWN - now))
            owner = secrets.token_hex(16)
            connection.execute(_LEASE_OUT, (*_columns(key), owner, now, now + COOLDOWN + _SLACK))
            return Run(owner=owner)

    def finish(self, key: Key, owner: str, body: bytes, *, failed: bool = False) -> bool:
        """See :meth:`parley.store.ReportStore.finish`. An expired lease is no longer held, even if nobody took it."""
        packed = gzip.compress(body, compresslevel=6, mtime=0)
        with self._transaction("BEGIN IMMEDIATE") as connection:
            now = self._clock()
            statement, kept = (_KEEP_FAILURE, FAILURE_KEPT) if failed else (_KEEP_GOOD, KEPT)
            values = (packed, now, now + kept + _SLACK, *_columns(key), owner, now - LEASE)
            if not connection.execute(statement, values).rowcount:
                return False
            connection.execute(
                "DELETE FROM reports WHERE rowid IN (SELECT rowid FROM reports WHERE unused_after <= ? LIMIT ?)",
                (now, _SWEPT),
            )
            return True

    def abandon(self, key: Key, owner: str) -> None:
        """See :meth:`parley.store.ReportStore.abandon`. Nothing was audited, so no cooldown holds either."""
        with self._transaction("BEGIN IMMEDIATE") as connection:
            connection.execute(f"UPDATE reports SET owner = NULL, started = NULL {_HELD}", (*_columns(key), owner))  # noqa: S608 - a constant

    def read(self, key: Key) -> Entry:
        """See :meth:`parley.store.ReportStore.read`. Works while another process holds the lock for writing."""
        with self._transaction("BEGIN") as connection:
            return _look(connection, key, self._clock())[0]

    def close(self) -> None:
        """Close the file; it may be called again. Other methods then raise :class:`StoreError`."""
        with self._lock:
            self._closed = True
            self._drop()

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[sqlite3.Connection]:
        if not self._lock.acquire(timeout=self._patience):  # else a locked file costs each thread all others' waits
            raise StoreError(f"{self} is in use by other threads for {self._patience:g} s: try again")
        try:
            if self._closed:
                raise StoreError(f"{self} is closed: nothing more can be kept")
            if self._connection is None:
                self._connection = self._open()
            with self._connection as connection:
                connection.execute(begin)
                yield connection
        except (sqlite3.Error, UnicodeDecodeError) as error:
            self._drop()  # the next call opens the file anew, which may be another by then
            raise self._refusal(error) from error
        finally:
            self._lock.release()

    def _open(self) -> sqlite3.Connection:
        if self._path is not None:
            try:
                self._path.parent.mkdir(parents=True, exist_ok=True)
                special = self._path.exists() and not self._path.is_file()
            except OSError as error:
                raise StoreError(f"{self} cannot be made ({error.strerror}): name another file") from error
            if special:
                raise StoreError(f"{self} cannot be opened (it is a folder or a device): name a file")
        file = ":memory:" if self._path is None else self._path
        connection = sqlite3.connect(file, timeout=self._patience, isolation_level=None, check_same_thread=False)
        try:
            self._adopt(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _adopt(self, connection: sqlite3.Connection) -> None:
        """Make the tables in an empty file; raise :class:`StoreError`, and change nothing, if it is not ours."""
        with connection:
            connection.execute("BEGIN")  # one look at all of it, in case another process is making the tables
            blank = self._is_blank(connection)
        if blank:
            with connection:
                connection.execute("BEGIN IMMEDIATE")
                if self._is_blank(connection):  # still: no other process was quicker
                    for statement in _SCHEMA:
                        connection.execute(statement)
        try:  # Readers and a writer then do not wait for each other.
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:  # SQLite does not wait here; another process is just changing it
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
                raise
        connection.execute("PRAGMA synchronous = NORMAL")  # a power cut may cost the last reports, never the file

    def _is_blank(self, connection: sqlite3.Connection) -> bool:
        (application,) = connection.execute("PRAGMA application_id").fetchone()
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if (application, version) == (_APPLICATION_ID, _SCHEMA_VERSION):
            return False
        if application == _APPLICATION_ID:
            raise StoreError(
                f"{self} is of another Parley (its schema is {version}, this one's {_SCHEMA_VERSION}):"
                " run that Parley, or name another file"
            )
        if application or version or connection.execute("SELECT 1 FROM sqlite_master").fetchone():
            raise StoreError(
                f"{self} is another program's database (application id {application}, version {version}):"
                " name another file"
            )
        return True

    def _drop(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _refusal(self, error: sqlite3.Error | UnicodeDecodeError) -> StoreError:
        if isinstance(error, UnicodeDecodeError):  # raised for a message that quotes a damaged table's definition
            code = sqlite3.SQLITE_CORRUPT
        else:
            code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR)
        seen, way_out = _WAYS_OUT.get(code & 0xFF, ("failed", "restart, or move it away and a new one is made"))
        return StoreError(f"{self} {seen} ({clean(error)}): {way_out}")


def _columns(key: Key) -> tuple[str, str, str]:
    return key.origin, key.path, key.rule_set


def _look(connection: sqlite3.Connection, key: Key, now: float) -> tuple[Entry, bool, float]:
    """What is kept, whether a lease was given, and when the last audit started (long ago if never)."""
    row = connection.execute(_SELECT, _columns(key)).fetchone()
    leased, started, good, good_made, failure, failure_made = row or (False, None, None, None, None, None)
    entry = Entry(
        good=_stored(good, good_made, now, fresh=FRESH, kept=KEPT, failed=False),
        failure=_stored(failure, failure_made, now, fresh=FAILURE_KEPT, kept=FAILURE_KEPT, failed=True),
    )
    return entry, bool(leased), -math.inf if started is None else started


def _stored(
    packed: bytes | None, made_at: float | None, now: float, *, fresh: int, kept: int, failed: bool
) -> Stored | None:
    if not packed or made_at is None or now >= made_at + kept:
        return None
    try:
        body = gzip.decompress(packed)
    except (OSError, EOFError, zlib.error):  # damaged: gone, as if it had expired
        return None
    return Stored(body=body, made_at=made_at, fresh_until=made_at + fresh, failed=failed)
