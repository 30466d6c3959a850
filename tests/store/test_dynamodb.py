"""The deployed store and its counters: the contract on two engines, and what can go wrong with an engine."""

import gzip
import json
import logging
import os
import random
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ConnectTimeoutError

import engines
from parley import store as stores
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
    ReportStore,
    Run,
    StoreError,
)
from parley.store.dynamodb import LARGEST, REST, Client, DynamoCounter, DynamoStore, boto3_client
from parley.store.memory_counter import NAMES, MemoryCounter
from store.contract import KEY, NOTHING, START, Clock, StoreContract, audit, failure, good, report, run, together

FUNCTIONS = Path(__file__).parents[2] / "functions"

ENGINES = {"ministack": engines.ministack, "dynalite": engines.dynalite}


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in engines.ENVIRONMENT.items():
        monkeypatch.setenv(name, value)


def patient(endpoint: str) -> Any:
    """A client like the product's that waits as long as a busy machine needs."""
    config = Config(read_timeout=60, retries={"mode": "standard", "total_max_attempts": 2}, max_pool_connections=50)
    with pytest.MonkeyPatch.context() as patch:
        for name, value in engines.ENVIRONMENT.items():
            patch.setenv(name, value)
        return boto3.session.Session().client("dynamodb", endpoint_url=endpoint, config=config)


class Engine:
    """An engine of the tests' own, and a table in it.

    ``calls`` is every operation that a store has asked for, ``reads`` whether each read was a consistent one.
    """

    def __init__(self, name: str, endpoint: str) -> None:
        self.name, self.endpoint = name, endpoint
        self.admin = patient(endpoint)
        self.boto3 = patient(endpoint)
        self.calls: Counter[str] = Counter()
        self.reads: list[bool] = []
        self.boto3.meta.events.register("before-call.dynamodb", self._count)
        self.table = ""
        self.client = Client(lambda: self.boto3)

    def store(self, clock: Clock) -> DynamoStore:
        return DynamoStore(self.table, client=self.client, clock=clock)

    def items(self) -> list[dict[str, Any]]:
        items: list[dict[str, Any]] = self.admin.scan(TableName=self.table, ConsistentRead=True)["Items"]
        return items

    def item(self) -> dict[str, Any]:
        (item,) = self.items()
        return item

    def keys(self) -> dict[str, Any]:
        return {name: value for name, value in self.item().items() if name in ("origin", "variant")}

    def damage(self, **attributes: Any) -> None:
        """Change the one item as no store would; None takes an attribute away."""
        changed = {**self.item(), **attributes}
        self.admin.put_item(
            TableName=self.table, Item={name: value for name, value in changed.items() if value is not None}
        )

    def _count(self, model: Any, params: dict[str, Any], **_: object) -> None:
        self.calls[model.name] += 1
        if model.name == "GetItem":
            self.reads.append(json.loads(params["body"]).get("ConsistentRead", False))


@pytest.fixture(scope="module", params=ENGINES)
def running(request: pytest.FixtureRequest) -> Iterator[Engine]:
    with ENGINES[request.param]() as endpoint:
        engine = Engine(request.param, endpoint)
        yield engine
        engine.admin.close()
        engine.boto3.close()


@pytest.fixture
def engine(running: Engine) -> Iterator[Engine]:
    """With a table of the test's own; whatever the test did with it, only these calls were made."""
    running.table = engines.create_table(running.admin)
    running.calls.clear()
    running.reads.clear()
    running.client = Client(lambda: running.boto3)
    yield running
    assert set(running.calls) <= {"GetItem", "PutItem", "UpdateItem"}  # the rights that the function has
    assert all(running.reads)
    running.admin.delete_table(TableName=running.table)


@pytest.fixture
def make_store(engine: Engine) -> Callable[[Clock], ReportStore]:
    return engine.store


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(engine: Engine, clock: Clock) -> DynamoStore:
    return engine.store(clock)


class TestContract(StoreContract):
    examples = 12


# What an operator pays for


def test_a_stored_report_costs_one_read(engine: Engine, store: DynamoStore) -> None:
    audit(store)
    engine.calls.clear()
    assert isinstance(store.begin(KEY), Hit)
    assert isinstance(store.begin(KEY, refresh=True), Hit)
    assert store.read(KEY) != NOTHING
    assert engine.calls == {"GetItem": 3}


def test_an_audit_costs_one_read_and_two_writes(engine: Engine, store: DynamoStore) -> None:
    audit(store)
    assert engine.calls == {"GetItem": 1, "UpdateItem": 2}


def test_to_come_too_late_costs_a_read_only_where_the_engine_does_not_say_for_what(
    engine: Engine, store: DynamoStore, clock: Clock
) -> None:
    hurried(engine, clock, lambda: run(store.begin(KEY))).begin(KEY)
    assert engine.calls == {"GetItem": {"ministack": 2, "dynalite": 3}[engine.name], "UpdateItem": 2}


def test_making_a_store_asks_nothing() -> None:
    made: list[object] = []
    DynamoStore("reports", client=Client(lambda: made.append(1))).close()
    DynamoStore("reports").close()
    assert not made


def test_boto3_is_not_loaded_before_it_is_asked() -> None:
    code = """if True:
        import sys
        from parley.store.dynamodb import Client, DynamoCounter, DynamoStore
        client = Client()
        DynamoStore("reports", client=client), DynamoCounter("reports", client=client)
        print([name for name in sys.modules if name.split(".")[0] in {"boto3", "botocore", "urllib3", "requests"}])
    """
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": str(FUNCTIONS)}, capture_output=True, text=True
    )
    assert (done.stdout, done.stderr) == ("[]\n", "")


# Items


@pytest.mark.parametrize(
    ("key", "origin", "variant"),
    [
        (KEY, "https://example.com", "#7-deployed"),
        (Key(origin="http://a.example:8080", path="/b%20c", rule_set="8"), "http://a.example:8080", "/b%20c#8"),
    ],
)
def test_an_item_can_be_found_by_hand(engine: Engine, store: DynamoStore, key: Key, origin: str, variant: str) -> None:
    audit(store, key)
    assert (engine.item()["origin"], engine.item()["variant"]) == ({"S": origin}, {"S": variant})


@pytest.mark.parametrize(
    "key",
    [
        Key(origin="https://example.com", path="/" + "a" * 1023, rule_set="7"),
        Key(origin="https://example.com", path="/" + "ü" * 2048, rule_set="7"),
        Key(origin="https://example.com", path="", rule_set="7" * 1024),
        Key(origin="https://" + "a" * 2041, path="", rule_set="7"),
        Key(origin="https://" + "a" * 9000, path="/" + "b" * 9000, rule_set="7" * 9000),
    ],
)
def test_a_key_of_any_length_is_kept_on_its_own(engine: Engine, store: DynamoStore, key: Key) -> None:
    audit(store, key)
    others = [
        Key(origin=key.origin + "x", path=key.path, rule_set=key.rule_set),
        Key(origin=key.origin, path=key.path + "x", rule_set=key.rule_set),
        Key(origin=key.origin, path=key.path, rule_set=key.rule_set + "x"),
    ]
    for other in others:
        assert store.read(other) == NOTHING
    assert store.read(key).good == good(b'{"n": 1}', START)


@pytest.mark.parametrize("length", [1022, 1023])
def test_a_path_is_kept_as_it_is_as_long_as_there_is_room(engine: Engine, store: DynamoStore, length: int) -> None:
    audit(store, Key(origin=KEY.origin, path="/" + "a" * (length - 1), rule_set="7"))
    (variant,) = engine.item()["variant"].values()
    assert variant == ("/" + "a" * 1021 + "#7" if length == 1022 else variant)
    assert variant.startswith("/" if length == 1022 else "sha256:")


def test_a_report_of_another_rule_set_is_a_miss(store: DynamoStore, clock: Clock) -> None:
    newer = Key(origin=KEY.origin, path=KEY.path, rule_set="8-deployed")
    audit(store, body=b"of 7")
    assert store.read(newer) == NOTHING
    audit(store, newer, b"of 8")
    assert store.begin(KEY) == Hit(stored=good(b"of 7", clock.now))
    assert store.begin(newer) == Hit(stored=good(b"of 8", clock.now))


def test_an_escaped_rule_set_is_not_the_one_that_it_escapes(store: DynamoStore) -> None:
    audit(store, Key(origin="o", path="", rule_set="a#b"))
    assert store.read(Key(origin="o", path="", rule_set="a%23b")) == NOTHING


def test_an_item_expires_only_once_nobody_reads_it(engine: Engine, store: DynamoStore, clock: Clock) -> None:
    def expires() -> int:
        (text,) = engine.item()["expires"].values()
        assert text.isdigit()  # DynamoDB takes nothing else for a time to live
        return int(text)

    owner = run(store.begin(KEY))
    assert expires() - clock.now >= LEASE + FAILURE_KEPT + 3600  # a failure at the lease's end adds nothing to it
    store.finish(KEY, owner, b"failed", failed=True)
    assert expires() - clock.now > FAILURE_KEPT + 60
    clock.advance(COOLDOWN)
    audit(store)
    first = clock.now
    assert KEPT + 60 < expires() - first < KEPT + 2 * 3600
    clock.advance(FRESH)
    audit(store, body=b"failed", failed=True)
    assert KEPT + 60 < expires() - first < KEPT + 2 * 3600
    clock.advance(KEPT)  # the table still holds it: its time to live removes it some day
    assert store.read(KEY) == NOTHING
    run(store.begin(KEY))
    assert expires() - clock.now < 2 * 3600


@pytest.mark.parametrize("failed", [False, True])
def test_a_report_too_large_is_told_and_leaves_what_is_kept(
    engine: Engine, store: DynamoStore, clock: Clock, failed: bool
) -> None:
    audit(store)
    clock.advance(COOLDOWN)
    owner = run(store.begin(KEY, refresh=True))
    most = LARGEST // 2 if failed else LARGEST
    told = rf"does not keep a report of \d+ bytes, packed: at most {most}"
    with pytest.raises(StoreError, match=told):
        store.finish(KEY, owner, random.Random(1).randbytes(most), failed=failed)
    assert store.read(KEY) == Entry(good=good(b'{"n": 1}', START), failure=None)
    assert isinstance(store.begin(KEY, refresh=True), Busy)  # else the same would be audited again at once
    assert store.finish(KEY, owner, b"{}")


def test_the_largest_good_report_has_room_for_the_largest_failure(
    engine: Engine, store: DynamoStore, clock: Clock
) -> None:
    key = Key(origin="https://" + "a" * 2040, path="/" + "a" * 1020, rule_set="7")
    bodies = [random.Random(1).randbytes(size - 200) for size in (LARGEST, LARGEST // 2)]
    audit(store, key, bodies[0])
    clock.advance(COOLDOWN)
    audit(store, key, bodies[1], failed=True)
    assert store.read(key) == Entry(good=good(bodies[0], START), failure=failure(bodies[1], clock.now))


# Damage

VALUES = {
    "text": {"S": "text"},
    "empty text": {"S": ""},
    "number": {"N": "5"},
    "huge number": {"N": "9.9E+125"},
    "tiny number": {"N": "-9.9E+125"},
    "long number": {"N": "1" * 38},
    "bytes": {"B": b"\xff\x00"},
    "empty bytes": {"B": b""},
    "half a gzip": {"B": gzip.compress(report())[:900]},
    "gzip with an error": {"B": gzip.compress(report())[:900] + b"\0" + gzip.compress(report())[901:]},
    "gzip head": {"B": b"\x1f\x8b\x08"},
    "true": {"BOOL": True},
    "null": {"NULL": True},
    "list": {"L": [{"N": "1"}, {"S": "a"}]},
    "map": {"M": {"B": {"S": "x"}, "N": {"N": "1"}}},
    "texts": {"SS": ["a", "b"]},
    "numbers": {"NS": ["1", "2"]},
    "many bytes": {"BS": [b"a", b"b"]},
    "nothing": None,
}
ATTRIBUTES = ["lease", "started", "good", "good_made", "failure", "failure_made", "expires"]


@pytest.mark.parametrize("attribute", ATTRIBUTES)
def test_damage_is_absent_and_heals(engine: Engine, store: DynamoStore, clock: Clock, attribute: str) -> None:
    failed = attribute.startswith("failure")
    whole = (failure if failed else good)(report(900), START)
    other = {"S": "another process's"}
    for kind, value in VALUES.items():
        if kind == "empty bytes" and engine.name == "dynalite":
            continue  # it takes them for nothing, in some conditions
        clock.now = START
        audit(store, body=report(900), failed=failed)
        engine.damage(**{"lease": other, attribute: value})
        kept = None if attribute.removesuffix("_made") in ("good", "failure") else whole
        assert store.read(KEY).latest == kept, kind
        assert store.begin(KEY) == (Hit(stored=kept) if kept else Busy(entry=NOTHING)), kind
        assert not store.finish(KEY, "stranger", b"{}"), kind
        clock.advance(FRESH)
        audit(store, body=b"healed")
        assert store.read(KEY) == Entry(good=good(b"healed", clock.now), failure=None), kind
        engine.admin.delete_item(TableName=engine.table, Key=engine.keys())


def test_a_lease_that_nobody_can_hold_is_none(engine: Engine, store: DynamoStore) -> None:
    run(store.begin(KEY))
    engine.damage(lease={"N": "5"})
    assert isinstance(store.begin(KEY), Run)


def test_an_item_of_nothing_but_its_keys_is_absent(engine: Engine, store: DynamoStore) -> None:
    audit(store)
    engine.damage(**dict.fromkeys(ATTRIBUTES))
    assert store.read(KEY) == NOTHING
    audit(store)


def test_unknown_attributes_are_left_alone(engine: Engine, store: DynamoStore) -> None:
    audit(store)
    engine.damage(newer={"S": "a later Parley's"})
    assert store.read(KEY).good == good(b'{"n": 1}', START)


# At once


def test_of_two_hundred_at_once_one_audits_each_of_twenty(engine: Engine) -> None:
    clock = Clock()
    ways = [engine.store(clock), DynamoStore(engine.table, client=Client(lambda: engine.boto3), clock=clock)]
    keys = [Key(origin=f"https://{number}.example", path="", rule_set="7") for number in range(20)]
    begun: list[tuple[Key, Begun]] = []

    def work(number: int) -> None:
        key = keys[number % 20]
        said = ways[number // 20 % 2].begin(key)
        begun.append((key, said))
        if isinstance(said, Run):
            assert ways[number % 2].finish(key, said.owner, report(20_000, seed=number % 20))

    together(200, work)
    assert Counter(key for key, said in begun if isinstance(said, Run)) == dict.fromkeys(keys, 1)
    assert {type(said) for _, said in begun} <= {Run, Busy, Hit}
    for number, key in enumerate(keys):
        assert ways[0].begin(key) == Hit(stored=good(report(20_000, seed=number), START))
    assert len(begun) == 200


def test_stores_whose_clocks_are_a_minute_apart_audit_twice_at_most(engine: Engine) -> None:
    right, ahead = Clock(START), Clock(START + 60)
    here, there = engine.store(right), engine.store(ahead)
    first = run(here.begin(KEY))
    second = run(there.begin(KEY))  # to whom the first lease, of 35 s, is over
    assert here.begin(KEY) == Busy(entry=NOTHING)
    assert not here.finish(KEY, first, b"first")
    assert there.begin(KEY) == Busy(entry=NOTHING)
    assert there.finish(KEY, second, b"second")
    for store, clock in ((here, right), (there, ahead)):
        assert store.begin(KEY) == Hit(stored=good(b"second", START + 60))
        begun = store.begin(KEY, refresh=True)
        assert begun == Hit(stored=good(b"second", START + 60), retry_after=round(START + 60 + COOLDOWN - clock.now))


class _Hurried:
    """A client before whose every write somebody else is quicker."""

    def __init__(self, client: Any, quicker: Callable[[], object]) -> None:
        self._client, self._quicker = client, quicker

    def get_item(self, **parameters: Any) -> Any:
        return self._client.get_item(**parameters)

    def update_item(self, **parameters: Any) -> Any:
        self._quicker()
        return self._client.update_item(**parameters)


def hurried(engine: Engine, clock: Clock, quicker: Callable[[], object]) -> DynamoStore:
    return DynamoStore(engine.table, client=Client(lambda: _Hurried(engine.boto3, quicker)), clock=clock)


def test_who_was_quicker_between_look_and_lease_is_respected(engine: Engine, store: DynamoStore, clock: Clock) -> None:
    assert hurried(engine, clock, lambda: store.begin(KEY)).begin(KEY) == Busy(entry=NOTHING)


def test_what_was_stored_between_look_and_lease_is_a_hit(engine: Engine, store: DynamoStore, clock: Clock) -> None:
    assert hurried(engine, clock, lambda: audit(store)).begin(KEY) == Hit(stored=good(b'{"n": 1}', START))


NOW = {"N": repr(START)}
LONG_AGO = {"N": repr(START - FRESH)}
BODY = {"B": gzip.compress(b"{}")}


@pytest.mark.parametrize(
    ("before", "change", "said"),
    [
        ({"started": NOW}, {"lease": {"S": "another"}}, Busy(entry=NOTHING)),
        ({"started": LONG_AGO, "lease": {"S": "another"}}, {"started": NOW}, Busy(entry=NOTHING)),
        ({"good": BODY, "good_made": LONG_AGO}, {"good_made": NOW}, Hit(stored=good(b"{}", START))),
        ({"failure": BODY, "failure_made": LONG_AGO}, {"failure_made": NOW}, Hit(stored=failure(b"{}", START))),
        ({"good": BODY}, {"good_made": NOW}, Hit(stored=good(b"{}", START))),
    ],
)
def test_no_change_between_look_and_lease_goes_unseen(
    engine: Engine, store: DynamoStore, clock: Clock, before: dict[str, Any], change: dict[str, Any], said: Begun
) -> None:
    audit(store)
    engine.damage(**{**dict.fromkeys(ATTRIBUTES), **before})
    assert hurried(engine, clock, lambda: engine.damage(**change)).begin(KEY) == said


def test_what_expired_between_look_and_lease_is_no_obstacle(engine: Engine, store: DynamoStore, clock: Clock) -> None:
    audit(store)
    clock.advance(KEPT)
    keys = engine.keys()

    def expire() -> None:
        engine.admin.delete_item(TableName=engine.table, Key=keys)

    assert isinstance(hurried(engine, clock, expire).begin(KEY), Run)


def test_who_never_gets_a_turn_is_told_that_others_are_at_it(engine: Engine, store: DynamoStore, clock: Clock) -> None:
    audit(store)
    clock.advance(FRESH)
    kept = store.read(KEY)

    came = iter(range(9))

    def come_and_go() -> None:
        engine.damage(started={"N": str(next(came))})

    assert hurried(engine, clock, come_and_go).begin(KEY, refresh=True) == Busy(entry=kept)


class _Forgetful:
    """A client whose first attempt at every write is done, but its answer lost; botocore then tries again."""

    def __init__(self, client: Any) -> None:
        self._client = client

    def get_item(self, **parameters: Any) -> Any:
        return self._client.get_item(**parameters)

    def update_item(self, **parameters: Any) -> Any:
        with suppress(self._client.exceptions.ConditionalCheckFailedException):
            self._client.update_item(**parameters)
        return self._client.update_item(**parameters)


@pytest.mark.parametrize("failed", [False, True])
def test_a_write_whose_answer_was_lost_counts(engine: Engine, clock: Clock, failed: bool) -> None:
    store = DynamoStore(engine.table, client=Client(lambda: _Forgetful(engine.boto3)), clock=clock)
    owner = run(store.begin(KEY))
    assert store.begin(KEY) == Busy(entry=NOTHING)
    assert not store.finish(KEY, "stranger", b"{}", failed=failed)
    assert store.finish(KEY, owner, b"{}", failed=failed)
    assert store.read(KEY).latest == (failure if failed else good)(b"{}", START)
    clock.advance(COOLDOWN)
    store.abandon(KEY, run(store.begin(KEY, refresh=True)))
    assert isinstance(store.begin(KEY, refresh=True), Run)


# Engines that fail


def refused(store: ReportStore, *words: str) -> None:
    """Every method says so, in one sentence that names the table."""
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
        assert text.startswith("the DynamoDB table ")
        assert text.isprintable()
        for word in words:
            assert word in text


class Faulty:
    """What stands in for DynamoDB, and answers as it is told: a status, and a body. Counts its requests."""

    def __init__(self, port: int) -> None:
        self.boto3: Any = None
        self.endpoint = f"http://127.0.0.1:{port}"
        self.answer: tuple[int, bytes] = (200, b"{}")
        self.requests = 0

    def says(self, code: str, message: str = "", status: int = 400) -> None:
        fault = {"__type": f"com.amazonaws.dynamodb.v20120810#{code}", "message": message}
        self.answer = (status, json.dumps(fault).encode())


@pytest.fixture(scope="module")
def answering() -> Iterator[Faulty]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            told.requests += 1
            status, body = told.answer
            self.send_response(status)
            self.send_header("Content-Type", "application/x-amz-json-1.0")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server, pytest.MonkeyPatch.context() as patch:
        server.daemon_threads = True
        told = Faulty(server.server_port)
        for name, value in {**engines.ENVIRONMENT, "AWS_ENDPOINT_URL_DYNAMODB": told.endpoint}.items():
            patch.setenv(name, value)
        told.boto3 = boto3_client()
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield told
        told.boto3.close()
        server.shutdown()
        thread.join()


@pytest.fixture
def faulty(answering: Faulty, monkeypatch: pytest.MonkeyPatch) -> Faulty:
    monkeypatch.setattr("time.sleep", lambda _: None)  # botocore's, between two attempts
    answering.answer = (200, b"{}")
    answering.requests = 0
    return answering


@pytest.fixture
def asking(faulty: Faulty) -> DynamoStore:
    """A store as the function makes it, that asks the faulty engine."""
    return DynamoStore("reports", client=Client(lambda: faulty.boto3))


@pytest.fixture
def alone() -> Iterator[DynamoStore]:
    """A store as the function makes it."""
    store = DynamoStore("reports")
    yield store
    store.close()


@pytest.mark.parametrize(
    ("code", "status", "told", "way_out"),
    [
        ("ProvisionedThroughputExceededException", 400, "is asked more than it may be", "raise the table's maximum"),
        ("ThrottlingException", 400, "is asked more than it may be", "wait, or raise"),
        ("RequestLimitExceeded", 400, "is asked more than it may be", "wait, or raise"),
        ("AccessDeniedException", 400, "may not be used", "allow this role GetItem, PutItem and UpdateItem on it"),
        ("ResourceNotFoundException", 400, "does not exist", "set the name and region"),
        ("ValidationException", 400, "refused the request", "two strings, origin and variant"),
        ("UnrecognizedClientException", 400, "does not know who asks", "credentials and clock"),
        ("InternalServerError", 500, "failed", "try again"),
        ("ItemCollectionSizeLimitExceededException", 400, "failed", "try again"),
        ("Weird\x1b[31m\nException", 400, "failed", "try again"),
    ],
)
def test_what_the_engine_says_is_told(
    faulty: Faulty, asking: DynamoStore, code: str, status: int, told: str, way_out: str
) -> None:
    faulty.says(code, "Because\nof \x1b[31mthis.", status)
    refused(asking, "the DynamoDB table reports ", told, way_out, "Because\\u{a}of \\u{1b}[31mthis.")
    assert faulty.requests in (4, 8)


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (200, b""),
        (200, b"not JSON"),
        (200, b"<html>welcome to this hotel</html>"),
        (200, b"[1]"),
        (200, b'{"Item": []}'),
        (200, b'{"Item": {"good": {"B": "*"}}}'),
        (200, b'{"Item": {"good": {"B": 5}}}'),
        (200, b'{"Item": {"good": 5}}'),
        (200, b'{"Item": {"good_made": {"N": "soon"}}}'),
        (200, b'{"Item": {"good_made": {"N": null}}}'),
        (200, b'{"Item": {"good_made": {"N": [5]}}}'),
        (200, b'{"Item": {"good_made": null}}'),
        (200, b'{"Item": {"good": {"B": null}}}'),
        (200, b'{"Item": {"good": {"Q": "5"}}}'),
        (200, b'{"Item": {"good": {"S": "\xff"}}}'),
        (302, b""),
        (404, b"<html>none here</html>"),
        (500, b"\xff\xfe"),
        (503, b"[]"),
    ],
)
def test_an_answer_that_is_none_of_dynamodbs_is_no_crash(
    faulty: Faulty, asking: DynamoStore, status: int, body: bytes
) -> None:
    faulty.answer = (status, body)
    with suppress(StoreError):  # or it is taken for an item with nothing in it
        assert asking.read(KEY) == NOTHING
    DynamoCounter("reports", client=Client(lambda: faulty.boto3)).take("somebody", limit=1, window=60)


def test_a_missing_table_is_told_by_an_engine(engine: Engine, clock: Clock) -> None:
    refused(DynamoStore("gone", client=engine.client, clock=clock), "the DynamoDB table gone does not exist (")


def closed_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


def test_an_engine_that_is_down_is_told(alone: DynamoStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL_DYNAMODB", f"http://127.0.0.1:{closed_port()}")
    began = time.monotonic()
    refused(alone, "the DynamoDB table reports cannot be reached (EndpointConnectionError: ", ": see to this process's")
    assert time.monotonic() - began < 3


@contextmanager
def silent(waiting: int) -> Iterator[str]:
    """A server that says nothing, and takes no more connections once ``waiting`` are there; its URL."""
    with ExitStack() as stack:
        server = stack.enter_context(socket.socket())
        server.bind(("127.0.0.1", 0))
        server.listen(waiting)
        for _ in range(0 if waiting else 4):
            one = stack.enter_context(socket.socket())
            one.setblocking(False)
            one.connect_ex(server.getsockname())
        yield f"http://127.0.0.1:{server.getsockname()[1]}"


@pytest.mark.parametrize(
    ("waiting", "attempt", "told"),
    [
        pytest.param(100, 2, "did not answer in time (ReadTimeoutError: ", id="says nothing"),
        pytest.param(0, 1, "cannot be reached (ConnectTimeoutError: ", id="takes no connection"),
    ],
)
def test_an_engine_that_does_not_answer_is_waited_for_once(
    monkeypatch: pytest.MonkeyPatch, waiting: int, attempt: int, told: str
) -> None:
    # The counters of a request and then the store ask one after the other; the audit needs the function's time.
    with silent(waiting) as endpoint:
        monkeypatch.setenv("AWS_ENDPOINT_URL_DYNAMODB", endpoint)
        made = boto3_client()  # which takes its time
        client = Client(lambda: made)
        began = time.monotonic()
        assert DynamoCounter("reports", client=client).take("somebody", limit=1, window=60) is None
        first = time.monotonic() - began
        assert 2 * attempt <= first < 2 * attempt + 1.9  # two attempts, and up to a second between
        refused(DynamoStore("reports", client=client), told, "; it is asked again in ")
        assert time.monotonic() - began - first < 0.5
    client.close()


def test_an_engine_that_comes_back_is_asked_again() -> None:
    class Failing:
        up = False
        asked = 0

        def get_item(self, **_: object) -> object:
            self.asked += 1
            if not self.up:
                raise ConnectTimeoutError(endpoint_url="https://dynamodb.example")
            return {}

    engine, clock = Failing(), Clock()
    store = DynamoStore("reports", client=Client(lambda: engine, clock=clock))
    refused(store, "cannot be reached (ConnectTimeoutError: ")
    engine.up = True
    clock.advance(REST - 0.5)
    with pytest.raises(StoreError, match=r"cannot be reached .*; it is asked again in 1 s"):
        store.read(KEY)
    assert engine.asked == 1
    clock.advance(0.5)
    assert store.read(KEY) == NOTHING
    assert store.read(KEY) == NOTHING


def test_a_throttled_engine_is_asked_again_at_once(faulty: Faulty, asking: DynamoStore) -> None:
    faulty.says("ThrottlingException")
    with pytest.raises(StoreError, match="is asked more than it may be"):
        asking.read(KEY)
    faulty.answer = (200, b"{}")
    assert asking.read(KEY) == NOTHING


@pytest.mark.parametrize(
    ("missing", "told"),
    [
        (
            ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"],
            r"cannot be asked \(NoCredentialsError: .*give this process a",
        ),
        (["AWS_DEFAULT_REGION"], r"cannot be asked \(NoRegionError: .*set AWS_DEFAULT_REGION"),
    ],
)
def test_a_process_without_settings_is_told(
    alone: DynamoStore, monkeypatch: pytest.MonkeyPatch, missing: list[str], told: str
) -> None:
    for name in missing:
        monkeypatch.delenv(name)
    with pytest.raises(StoreError, match=told):
        alone.begin(KEY)


def test_without_boto3_it_says_so(alone: DynamoStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "botocore.session", None)
    refused(alone, "cannot be asked (ModuleNotFoundError: ", "): install boto3")


def test_after_close_it_says_so(engine: Engine, clock: Clock) -> None:
    client = Client(lambda: patient(engine.endpoint))
    first, second = (DynamoStore(engine.table, client=client, clock=clock) for _ in range(2))
    audit(first)
    first.close()
    refused(first, "is closed")
    assert second.read(KEY) != NOTHING  # the client is not the first one's alone
    client.close()
    client.close()
    refused(second, "is closed")
    alone = DynamoStore("reports")
    alone.close()
    refused(alone, "is closed")


def test_a_store_closes_a_client_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    client = Client(object)
    monkeypatch.setattr("parley.store.dynamodb.Client", lambda: client)
    DynamoStore("reports").close()
    with pytest.raises(StoreError, match="the DynamoDB table reports is closed"):
        client.call("get_item", "reports")


# Counters


class CounterContract:
    """What every counter promises, whatever its engine."""

    @pytest.fixture
    def counter(self, make_counter: Callable[[Clock], stores.Counter], clock: Clock) -> stores.Counter:
        return make_counter(clock)

    def test_a_limit_is_reached_and_ends_with_the_window(self, counter: stores.Counter, clock: Clock) -> None:
        clock.now = 60 * 30_000_000
        assert [counter.take("a", limit=2, window=60) for _ in range(4)] == [None, None, 60, 60]
        clock.advance(59.5)
        assert counter.take("a", limit=2, window=60) == 1
        clock.advance(0.5)
        assert [counter.take("a", limit=2, window=60) for _ in range(3)] == [None, None, 60]

    def test_names_and_windows_are_counted_apart(self, counter: stores.Counter, clock: Clock) -> None:
        uses = [("a", 60), ("b", 60), ("a", 3600), ("a" * 3000, 60), ("a" * 3001, 60), ("limit#a", 60), ("ü#", 60)]
        for name, window in uses:
            assert counter.take(name, limit=1, window=window) is None
        for name, window in uses:
            left = window - clock.now % window
            assert counter.take(name, limit=1, window=window) == int(left) + (left > int(left))

    def test_a_limit_of_nothing_allows_nothing(self, counter: stores.Counter) -> None:
        assert counter.take("a", limit=0, window=60)

    def test_of_many_at_once_only_as_many_as_may_are_allowed(self, counter: stores.Counter) -> None:
        said: list[int | None] = []
        together(50, lambda _: said.append(counter.take("a", limit=20, window=60)))
        assert said.count(None) == 20


class TestMemoryCounter(CounterContract):
    @pytest.fixture
    def make_counter(self) -> Callable[[Clock], stores.Counter]:
        return lambda clock: MemoryCounter(clock=clock)

    def test_it_counts_so_many_names_and_forgets_the_one_unused_for_longest(self, clock: Clock) -> None:
        counter = MemoryCounter(clock=clock)
        for name in range(NAMES):
            counter.take(str(name), limit=1, window=60)
        assert counter.take("0", limit=1, window=60)
        assert counter.take("new", limit=1, window=86_400) is None
        assert counter.take("0", limit=1, window=60)
        assert counter.take("2", limit=1, window=60)
        assert counter.take("1", limit=1, window=60) is None  # begins anew
        assert counter.take("new", limit=1, window=86_400)
        for name in range(3 * NAMES):
            counter.take(f"more {name}", limit=1, window=60 + name % 2)
        assert counter._count() == NAMES

    def test_what_is_over_makes_room_first(self, clock: Clock) -> None:
        counter = MemoryCounter(clock=clock)
        counter.take("long", limit=1, window=86_400)
        for name in range(NAMES - 1):
            counter.take(str(name), limit=1, window=60)
        clock.advance(60)
        for name in range(NAMES - 1):
            counter.take(str(name), limit=1, window=3600)
        assert counter.take("long", limit=1, window=86_400)
        assert counter._count() == NAMES


class TestDynamoCounter(CounterContract):
    @pytest.fixture
    def make_counter(self, engine: Engine) -> Callable[[Clock], stores.Counter]:
        return lambda clock: DynamoCounter(engine.table, client=engine.client, clock=clock)

    def test_a_use_costs_one_write_of_an_item_that_expires(
        self, engine: Engine, counter: stores.Counter, clock: Clock
    ) -> None:
        counter.take("client#192.0.2.1", limit=2, window=60)
        assert engine.calls == {"UpdateItem": 1}
        item = engine.item()
        start = int(clock.now // 60) * 60
        assert item["origin"] == {"S": "limit#client#192.0.2.1"}
        assert item["variant"] == {"S": f"{start}#60"}
        assert 60 < int(item["expires"]["N"]) - start <= 2 * 3600

    def test_reports_and_counts_are_apart(self, engine: Engine, counter: stores.Counter, clock: Clock) -> None:
        assert counter.take(KEY.origin, limit=1, window=60) is None
        audit(engine.store(clock))
        assert counter.take(KEY.origin, limit=1, window=60)

    def test_a_damaged_count_allows_the_use(
        self, engine: Engine, counter: stores.Counter, caplog: pytest.LogCaptureFixture
    ) -> None:
        counter.take("a", limit=0, window=60)
        engine.damage(uses={"S": "many"})
        assert counter.take("a", limit=0, window=60) is None
        assert "a use was allowed uncounted: the DynamoDB table reports-" in caplog.text

    def test_processes_count_together(self, engine: Engine, counter: stores.Counter, clock: Clock) -> None:
        other = DynamoCounter(engine.table, client=Client(lambda: engine.boto3), clock=clock)
        assert counter.take("a", limit=1, window=60) is None
        assert other.take("a", limit=1, window=60)


@pytest.mark.parametrize("body", [b"{}", b'{"Attributes": {}}', b'{"Attributes": {"uses": {"S": "1"}}}', b"not JSON"])
def test_an_answer_without_a_count_allows_the_use(
    faulty: Faulty, caplog: pytest.LogCaptureFixture, body: bytes
) -> None:
    faulty.answer = (200, body)
    assert DynamoCounter("reports", client=Client(lambda: faulty.boto3)).take("a", limit=0, window=60) is None
    assert [(record.levelno, record.name) for record in caplog.records] == [(logging.WARNING, "parley.store.dynamodb")]
