"""The embedded store: the contract in a file and in memory, and what can go wrong with a file."""

import os
import random
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from parley.store import COOLDOWN, KEPT, Hit, Key, ReportStore, Run, StoreError
from parley.store.sqlite import SqliteStore
from store.contract import KEY, NOTHING, START, Clock, StoreContract, audit, good, report, run, together

FUNCTIONS = Path(__file__).parents[2] / "functions"

PRELUDE = """
import itertools, random, resource, signal, sqlite3, sys
from pathlib import Path
from parley.store import Key
from parley.store.sqlite import SqliteStore
args = sys.argv[1:]
"""


@pytest.fixture(autouse=True)
def connections(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[sqlite3.Connection]]:
    """Every connection a test's stores make; all must be closed with the store (Python 3.13 warns, 3.11 does not)."""
    made: list[sqlite3.Connection] = []
    connect = sqlite3.connect

    def kept(*args: Any, **kwargs: Any) -> sqlite3.Connection:
        made.append(connect(*args, **kwargs))
        return made[-1]

    monkeypatch.setattr("sqlite3.connect", kept)
    yield made
    for connection in made:
        with pytest.raises(sqlite3.ProgrammingError, match="closed"):
            connection.execute("SELECT 1")


@pytest.fixture(params=["file", "memory"])
def make_store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[[Clock], ReportStore]]:
    made: list[SqliteStore] = []

    def make(clock: Clock) -> SqliteStore:
        path = tmp_path / f"{len(made)}.db" if request.param == "file" else None
        made.append(SqliteStore(path, clock=clock, patience=20))  # 50 threads may take their time on a busy machine
        return made[-1]

    yield make
    for store in made:
        store.close()


class TestContract(StoreContract):
    pass


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "reports.db"


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(path: Path, clock: Clock) -> Iterator[SqliteStore]:
    store = SqliteStore(path, clock=clock, patience=0.05)
    yield store
    store.close()


def refused(store: SqliteStore, *words: str) -> None:
    """Every method says so, in one sentence that names the file."""
    calls: list[Callable[[], object]] = [
        lambda: store.begin(KEY),
        lambda: store.finish(KEY, "owner", b"{}"),
        lambda: store.abandon(KEY, "owner"),
        lambda: store.read(KEY),
    ]
    for call in calls:
        with pytest.raises(StoreError) as caught:
            call()
        text = str(caught.value)
        assert text.startswith("the report store /")
        assert text.isprintable()
        for word in words:
            assert word in text


def sql(path: Path, *statements: str) -> list[Any]:
    """What another program does to the file; the last statement's rows."""
    connection = sqlite3.connect(path, isolation_level=None)
    try:
        return [connection.execute(statement).fetchall() for statement in statements][-1]
    finally:
        connection.close()


@cache
def _filled(count: int, size: int) -> bytes:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "reports.db"
        store = SqliteStore(path, clock=Clock())
        for number in range(count):
            audit(store, numbered(number), report(size, seed=number))
        store.close()
        assert [file.name for file in path.parent.iterdir()] == [path.name]  # all of it is in the main file
        return path.read_bytes()


def filled(path: Path, count: int = 20, size: int = 20_000) -> None:
    """A file with some reports in it."""
    path.write_bytes(_filled(count, size))


def numbered(number: int) -> Key:
    return Key(origin=f"https://{number}.example", path="", rule_set="7")


def process(code: str, *args: object) -> "subprocess.Popen[str]":
    """Another Python that runs ``code``; ``args`` are texts there."""
    return subprocess.Popen(
        [sys.executable, "-c", PRELUDE + code, *map(str, args)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(FUNCTIONS)},
    )


@contextmanager
def hampered(monkeypatch: pytest.MonkeyPatch, pragma: str) -> Iterator[None]:
    """What is opened meanwhile is held back by SQLite itself."""
    connect = sqlite3.connect

    def held_back(*args: Any, **kwargs: Any) -> sqlite3.Connection:
        connection = connect(*args, **kwargs)
        connection.execute(pragma)
        return connection

    with monkeypatch.context() as patch:
        patch.setattr("sqlite3.connect", held_back)
        yield


@contextmanager
def unwritable(path: Path) -> Iterator[None]:
    """Root ignores modes, so root sets the immutable flag, which not every file system has."""
    root = os.geteuid() == 0
    if root and (
        not shutil.which("chattr") or subprocess.run(["chattr", "+i", path], stderr=subprocess.DEVNULL).returncode
    ):
        pytest.skip("root, and no immutable flag on this file system")
    mode = path.stat().st_mode
    if not root:
        path.chmod(0o500 if path.is_dir() else 0o400)
    try:
        yield
    finally:
        if root:
            subprocess.run(["chattr", "-i", path], check=True)
        else:
            path.chmod(mode)


# Opening


def test_making_a_store_opens_nothing(path: Path) -> None:
    SqliteStore(path / "deep" / "reports.db")
    assert not path.exists()


def test_missing_folders_are_made(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "a" / "b" / "reports.db")
    audit(store)
    store.close()
    assert (tmp_path / "a" / "b" / "reports.db").is_file()


@pytest.mark.parametrize("name", [":memory:", "file:x?mode=memory", "a?b#c%20d'e.db", "ü \x1b.db"])
def test_odd_names_are_files_like_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, clock: Clock, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    first = SqliteStore(Path(name), clock=clock)
    audit(first)
    first.close()
    second = SqliteStore(tmp_path / name, clock=clock)
    assert second.read(KEY) != NOTHING
    second.close()
    assert [file.name for file in tmp_path.iterdir()] == [name]


def test_what_is_kept_outlives_the_store(path: Path, store: SqliteStore, clock: Clock) -> None:
    before = SqliteStore(path, clock=clock)
    audit(before, body=report())
    before.close()
    assert store.begin(KEY) == Hit(stored=good(report(), START))


def test_after_close_it_says_so(store: SqliteStore) -> None:
    audit(store)
    store.close()
    refused(store, "is closed")


def test_a_folder_is_refused(store: SqliteStore, path: Path) -> None:
    path.mkdir()
    refused(store, "reports.db cannot be opened (it is a folder or a device): name a file")


@pytest.mark.parametrize("name", ["/dev/null", "/dev/full", "fifo"])
def test_a_device_is_refused(tmp_path: Path, name: str) -> None:
    os.mkfifo(tmp_path / "fifo")
    store = SqliteStore(tmp_path / name)
    refused(store, f"{name} cannot be opened (it is a folder or a device): name a file")


@pytest.mark.parametrize("name", ["file/reports.db", "file/deep/reports.db", "/proc/none/reports.db", "a" * 300 + "/x"])
def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").touch()
    refused(SqliteStore(tmp_path / name), name, " cannot be made (", "): name another file")


def test_an_overlong_name_is_refused(tmp_path: Path) -> None:
    refused(SqliteStore(tmp_path / ("a" * 300)), "File name too long")


# Files that are not ours


@pytest.mark.parametrize(
    "statements",
    [
        ["PRAGMA user_version = 1"],
        ["PRAGMA application_id = 5"],
        ["PRAGMA application_id = 5", "PRAGMA user_version = 1"],
        ["CREATE TABLE reports (mine)"],
        ["CREATE TABLE theirs (x)", "PRAGMA journal_mode = WAL"],
    ],
)
def test_another_programs_database_is_left_as_it_is(store: SqliteStore, path: Path, statements: list[str]) -> None:
    sql(path, "CREATE TABLE t (x)", "DROP TABLE t", *statements)
    before = path.read_bytes()
    refused(store, "is another program's database", "name another file")
    assert path.read_bytes() == before


def test_a_newer_schema_is_left_as_it_is(store: SqliteStore, path: Path) -> None:
    filled(path, 1)
    sql(path, "PRAGMA user_version = 2")
    before = path.read_bytes()
    refused(store, "is of another Parley (its schema is 2, this one's 1)", "run that Parley, or name another file")
    assert path.read_bytes() == before


def test_a_text_file_is_left_as_it_is(store: SqliteStore, path: Path) -> None:
    path.write_text("Dear diary, today I audited a server.\n" * 200)
    before = path.read_bytes()
    refused(store, "is damaged, or no report store (file is not a database)", "move it away and a new one is made")
    assert path.read_bytes() == before


@pytest.mark.parametrize("make", [Path.touch, lambda path: sql(path, "PRAGMA journal_mode = WAL"), filled])
def test_an_empty_database_and_our_own_are_taken(store: SqliteStore, path: Path, make: Callable[[Path], None]) -> None:
    make(path)
    audit(store)


# Damage


def moved_away(store: SqliteStore, path: Path) -> None:
    """The way out that the sentence names; the store at hand goes on."""
    path.rename(path.with_suffix(".damaged"))
    assert isinstance(store.begin(KEY), Run)
    assert store.read(numbered(1)) == NOTHING


def test_a_damaged_header_is_told(store: SqliteStore, path: Path) -> None:
    filled(path)
    with path.open("r+b") as file:
        file.write(b"\xff" * 100)
    refused(store, "is damaged, or no report store (file is not a database)", "move it away and a new one is made")
    moved_away(store, path)


def test_a_damaged_middle_is_told(store: SqliteStore, path: Path) -> None:
    filled(path)
    with path.open("r+b") as file:  # the roots of the table and of its index
        file.seek(4096)
        file.write(random.Random(1).randbytes(3 * 4096))
    refused(store, "is damaged (database disk image is malformed): move it away and a new one is made")
    moved_away(store, path)


def test_a_log_of_another_file_is_no_obstacle(store: SqliteStore, path: Path, clock: Clock) -> None:
    # The sentence says to move the file, and nothing of the log beside it.
    before = SqliteStore(path, clock=clock)
    audit(before, numbered(1))
    for end in ("-wal", "-shm"):
        shutil.copy(f"{path}{end}", f"{path}{end}.kept")
    before.close()
    for end in ("-wal", "-shm"):
        Path(f"{path}{end}.kept").rename(f"{path}{end}")
    moved_away(store, path)
    audit(store, numbered(2))


def sound(path: Path, count: int = 20, size: int = 20_000) -> bool:
    """Whatever was done to the file, an answer is right, or is none, or says what is wrong; is anything answered?"""
    store = SqliteStore(path, clock=Clock(START + 1))
    answered = 0
    try:
        for number in range(count):
            try:
                kept = store.read(numbered(number)).good
                assert kept is None or kept.body == report(size, seed=number)
                begun = store.begin(numbered(number), refresh=True)
                if isinstance(begun, Run):
                    store.finish(numbered(number), begun.owner, report(size, seed=number))
                answered += 1
            except StoreError:
                continue
    finally:
        store.close()
    return answered > 0


@pytest.mark.parametrize("left", [0, 1, 15, 16, 99, 100, 511, 512, 4095, 4096, 4097, 8192, 12_288, 50_000, -4096, -1])
def test_a_truncated_file_gives_no_wrong_answer(path: Path, left: int) -> None:
    filled(path)
    os.truncate(path, left % path.stat().st_size)
    assert sound(path) or left


@pytest.mark.parametrize("seed", range(40))
def test_random_damage_gives_no_wrong_answer(path: Path, seed: int) -> None:
    chance = random.Random(seed)
    filled(path)
    size = path.stat().st_size
    with path.open("r+b") as file:
        for _ in range(chance.choice([1, 10, 100])):
            # Every other time where the structure is: the bodies' many pages would get nearly all of it.
            file.seek(chance.randrange(chance.choice([size, 5 * 4096])))
            file.write(chance.randbytes(chance.choice([1, 8, 500])))
    sound(path)


@pytest.mark.parametrize(
    "change",
    [
        "good = x'00'",
        "good = x'1f8b08'",
        "good = zeroblob(0)",
        "good = zeroblob(20000)",
        "good = 'text'",
        "good = CAST(x'fffe' AS TEXT)",
        "good = 5",
        "good = substr(good, 1, length(good) - 9)",
        "good = CAST(substr(good, 1, 500) || x'00' || substr(good, 502) AS BLOB)",
        "good_made = NULL",
        "good_made = 'soon'",
        "good_made = x'ff'",
    ],
)
def test_a_damaged_report_is_none(store: SqliteStore, path: Path, change: str) -> None:
    audit(store, body=report())
    audit(store, numbered(1), report())
    sql(path, f"UPDATE reports SET {change} WHERE origin = '{KEY.origin}'")
    assert store.read(KEY) == NOTHING
    assert store.finish(KEY, run(store.begin(KEY)), b"{}")
    assert store.read(KEY).good == good(b"{}", START)
    assert store.read(numbered(1)).good == good(report(), START)


@pytest.mark.parametrize("change", ["owner = CAST(x'ff' AS TEXT)", "owner = 5", "started = 'soon'", "started = x'ff'"])
def test_a_damaged_lease_heals(store: SqliteStore, path: Path, clock: Clock, change: str) -> None:
    run(store.begin(KEY))
    sql(path, f"UPDATE reports SET {change}")
    clock.advance(COOLDOWN)
    audit(store)


# Faults that pass


def test_a_file_locked_by_another_process_is_told_and_can_be_read(path: Path, store: SqliteStore) -> None:
    filled(path)
    holder = process(
        "c = sqlite3.connect(args[0]); c.execute('BEGIN IMMEDIATE'); print('held', flush=True); input()", path
    )
    with holder:
        assert holder.stdout.readline() == "held\n"
        for call in (lambda: store.begin(KEY), lambda: store.finish(KEY, "", b""), lambda: store.abandon(KEY, "")):
            with pytest.raises(StoreError, match=r"is locked by another process \(database is locked\): stop that"):
                call()
        assert store.read(numbered(1)).good == good(report(20_000, seed=1), START)
        holder.communicate("\n")
    assert isinstance(store.begin(KEY), Run)


def test_a_file_that_another_process_is_just_changing_over_can_be_read(path: Path, store: SqliteStore) -> None:
    filled(path)
    sql(path, "PRAGMA journal_mode = DELETE")
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN")
    holder.execute("SELECT * FROM reports")
    assert store.read(numbered(1)).good
    holder.close()
    audit(store)


def test_threads_do_not_wait_for_a_locked_file_one_after_the_other(path: Path) -> None:
    filled(path, 1)
    store = SqliteStore(path, patience=0.2)
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")

    def work(_: int) -> None:
        with pytest.raises(StoreError):
            store.begin(KEY)

    before = time.monotonic()
    together(30, work)
    assert time.monotonic() - before < 3  # 6 if each waited for those before it
    holder.close()
    store.close()


def test_an_unwritable_folder_is_told(tmp_path: Path, store: SqliteStore) -> None:
    with unwritable(tmp_path):
        refused(store, "cannot be opened (unable to open database file)", "see that its folder can be written")
    audit(store)


def test_an_unwritable_file_is_told(path: Path, store: SqliteStore) -> None:
    filled(path)
    told = r"cannot be written \(attempt to write a readonly database\): let this user write it"
    with unwritable(path), pytest.raises(StoreError, match=told):
        store.begin(KEY)
    audit(store)


def test_a_database_that_takes_no_writes_is_told(
    path: Path, store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(path)
    with hampered(monkeypatch, "PRAGMA query_only = 1"), pytest.raises(StoreError, match="cannot be written"):
        store.begin(KEY)
    audit(store)


def test_a_full_disk_is_told_and_loses_nothing(
    path: Path, store: SqliteStore, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(path)
    owner = run(store.begin(KEY))
    store.close()
    store = SqliteStore(path, clock=clock)
    told = r"has no room to grow \(database or disk is full\): free space"
    with hampered(monkeypatch, "PRAGMA max_page_count = 1"), pytest.raises(StoreError, match=told):  # 1: no more
        store.finish(KEY, owner, report(400_000))
    for number in range(20):
        assert store.read(numbered(number)).good == good(report(20_000, seed=number), START)
    assert store.finish(KEY, owner, report(400_000))
    store.close()


def test_a_disk_that_fails_is_told_and_loses_nothing(path: Path, store: SqliteStore) -> None:
    audit(store, numbered(1))
    owner = run(store.begin(KEY))
    body = random.Random(1).randbytes(400_000)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, limits[1]))
    try:
        with pytest.raises(StoreError, match=r"cannot be read or written \(disk I/O error\): see to its disk"):
            store.finish(KEY, owner, body)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert store.finish(KEY, owner, body)
    assert store.read(numbered(1)).good


# Several processes

WRITER = """
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
signal.signal(signal.SIGXFSZ, signal.SIG_DFL)  # what cannot be written kills, in the middle of the write
resource.setrlimit(resource.RLIMIT_FSIZE, (int(args[1]),) * 2)
now = float(args[2])
store = SqliteStore(Path(args[0]), clock=lambda: now)
for number in itertools.count(int(args[3])):
    for origin in ("https://same.example", f"https://{number}.example"):
        key = Key(origin=origin, path="", rule_set="7")
        assert store.finish(key, store.begin(key, refresh=True).owner, random.Random(number).randbytes(60_000))
    print(number, flush=True)
    now += 60
"""


# Bytes at which a write kills: in the log's header, its first frames, the shared memory, the log, and (the last two,
# when the log is full and the main file longer than this) the main file.
LIMITS = [1, 31, 600, 5000, 33_000, 70_001, 100_000, 300_333, 1_000_000, 4_300_000, 4_300_000]


def test_a_killed_process_loses_at_most_what_it_was_writing(path: Path) -> None:
    same = Key(origin="https://same.example", path="", rule_set="7")
    chance = random.Random(7)
    kept: list[int] = []
    begin = 0
    for limit in [None, None, None, *LIMITS, None]:
        size = resource.RLIM_INFINITY if limit is None else limit
        with process(WRITER, path, size, START + begin * COOLDOWN, begin) as writer:
            lines = [writer.stdout.readline() for _ in range(chance.randrange(12))] if limit is None else []
            if limit is None:
                writer.kill()
            lines += writer.stdout.readlines()
        assert writer.returncode == -(signal.SIGKILL if limit is None else signal.SIGXFSZ)
        kept += [int(line) for line in lines if line.endswith("\n")]
        interrupted = kept[-1] + 1 if kept and kept[-1] >= begin else begin

        store = SqliteStore(path, clock=Clock(START + (interrupted + 1) * COOLDOWN))
        for number in kept:
            assert body_of(store, numbered(number)) == random.Random(number).randbytes(60_000)
        # Since the last number that was told, each writer may have kept one more before it could tell.
        whole = [random.Random(number).randbytes(60_000) for number in range(max([0, *kept]), interrupted + 1)]
        assert body_of(store, numbered(interrupted)) in (None, whole[-1])
        assert body_of(store, same) in (whole if kept else [None, *whole])
        assert isinstance(store.begin(KEY, refresh=True), Run)
        store.close()
        assert sql(path, "PRAGMA integrity_check") == [("ok",)]
        begin = interrupted + 1
    assert len(kept) > 50


def body_of(store: ReportStore, key: Key) -> bytes | None:
    kept = store.read(key).good
    return kept and kept.body


RACER = """
print("ready", flush=True)
input()
for file in range(6):
    store = SqliteStore(Path(f"{args[0]}{file}"), patience=20)
    for number in range(10):
        begun = store.begin(Key(origin=f"https://{number}.example", path="", rule_set="7"))
        print(file, number, type(begun).__name__, flush=True)
    store.close()
"""


def test_of_several_processes_at_once_one_makes_the_file_and_one_audits(path: Path) -> None:
    racers = [process(RACER, path) for _ in range(4)]
    for racer in racers:
        assert racer.stdout.readline() == "ready\n"
    for racer in racers:  # all wait in input(), none for long
        racer.stdin.write("\n")
        racer.stdin.flush()
    said = Counter(line for racer in racers for line in racer.communicate()[0].splitlines())
    assert [racer.returncode for racer in racers] == [0] * 4
    for file, number in product(range(6), range(10)):
        assert (said[f"{file} {number} Run"], said[f"{file} {number} Busy"]) == (1, 3)


# Space


def test_unused_rows_are_removed_a_few_at_a_time(path: Path, store: SqliteStore, clock: Clock) -> None:
    filled(path, 50, 0)
    run(store.begin(numbered(100)))  # a worker that dies
    clock.advance(KEPT + 3600)
    left = []
    for number in range(3):
        audit(store, numbered(200 + number))
        left += sql(path, "SELECT count(*) FROM reports")
    assert left == [(51 + 1 - 32,), (2,), (3,)]
