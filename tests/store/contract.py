"""What every report store promises, whatever its engine.

An engine's test module makes a fixture ``make_store``, a function from a :class:`Clock` to an empty
:class:`~parley.store.ReportStore`, and a subclass of :class:`StoreContract` whose name pytest collects.

Other processes are played by the one store under test: what they do reaches it only through the engine, and their
clocks are this clock, set to another time.
"""

import json
import random
import threading
import uuid
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

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
    Stored,
)

START = 1_800_000_000.25
TICK = 0.25  # a fraction that binary and decimal numbers hold exactly, at times like these
NOTHING = Entry(good=None, failure=None)
KEY = Key(origin="https://example.com", path="", rule_set="7-deployed")


@dataclass
class Clock:
    """A time that only the test moves, in seconds since the epoch."""

    now: float = START

    def __call__(self) -> float:
        return self.now

    def advance(self, seconds: float) -> None:
        self.now += seconds


MakeStore = Callable[[Clock], ReportStore]


def report(size: int = 60_000, seed: int = 0) -> bytes:
    """A report's JSON of about ``size`` bytes, which packs about as well as real ones do."""
    words = random.Random(seed)
    checks = [
        {"code": words.randrange(100, 900), "status": "WARNING", "message": f"Größe {words.getrandbits(64):x} – saw ✓"}
        for _ in range(size // 85)
    ]
    return json.dumps({"reportVersion": "1", "seed": seed, "checks": checks}, ensure_ascii=False).encode()


def run(begun: Begun) -> str:
    assert isinstance(begun, Run), begun
    return begun.owner


def good(body: bytes, made_at: float) -> Stored:
    return Stored(body=body, made_at=made_at, fresh_until=made_at + FRESH, failed=False)


def failure(body: bytes, made_at: float) -> Stored:
    return Stored(body=body, made_at=made_at, fresh_until=made_at + FAILURE_KEPT, failed=True)


def audit(store: ReportStore, key: Key = KEY, body: bytes = b'{"n": 1}', *, failed: bool = False) -> None:
    assert store.finish(key, run(store.begin(key, refresh=True)), body, failed=failed)


def together(count: int, work: Callable[[int], object]) -> None:
    """Run ``work`` in threads that start at the same moment; raise what one of them raised."""
    gate = threading.Barrier(count)
    raised: list[BaseException] = []

    def body(number: int) -> None:
        try:
            gate.wait(10)
            work(number)
        except BaseException as error:
            raised.append(error)

    threads = [threading.Thread(target=body, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if raised:
        raise raised[0]


class StoreContract:
    examples = 40
    """Runs of the model, of 40 calls each; an engine that is slow to ask may set fewer."""

    @pytest.fixture
    def clock(self) -> Clock:
        return Clock()

    @pytest.fixture
    def store(self, make_store: MakeStore, clock: Clock) -> ReportStore:
        return make_store(clock)

    # What is kept, and for how long

    def test_nothing_is_known_at_first(self, store: ReportStore) -> None:
        assert store.read(KEY) == NOTHING
        assert isinstance(store.begin(KEY), Run)

    @pytest.mark.parametrize(
        "body",
        [
            pytest.param(report(), id="usual"),
            pytest.param(report(1_000_000), id="1 MB"),
            pytest.param(random.Random(1).randbytes(200_000), id="does not pack"),
            pytest.param(b"", id="empty"),
            pytest.param(b"\0\xff\xfe", id="no text"),
        ],
    )
    def test_a_body_comes_back_as_it_was(self, store: ReportStore, clock: Clock, body: bytes) -> None:
        audit(store, body=body)
        assert store.begin(KEY) == Hit(stored=good(body, clock.now))
        assert store.read(KEY) == Entry(good=good(body, clock.now), failure=None)

    def test_a_report_is_as_old_as_its_finish(self, store: ReportStore, clock: Clock) -> None:
        owner = run(store.begin(KEY))
        clock.advance(20)
        store.finish(KEY, owner, b"{}")
        assert store.read(KEY).good == good(b"{}", START + 20)

    def test_a_fresh_report_answers_until_it_is_no_longer_fresh(self, store: ReportStore, clock: Clock) -> None:
        audit(store)
        clock.advance(FRESH - TICK)
        assert isinstance(store.begin(KEY), Hit)
        clock.advance(TICK)
        assert isinstance(store.begin(KEY), Run)

    def test_a_stale_report_is_kept_until_it_expires(self, store: ReportStore, clock: Clock) -> None:
        audit(store)
        kept = store.read(KEY)
        clock.advance(KEPT - TICK)
        assert store.read(KEY) == kept
        run(store.begin(KEY))
        assert store.begin(KEY) == Busy(entry=kept)
        clock.advance(TICK)
        assert store.read(KEY) == NOTHING
        assert store.begin(KEY) == Busy(entry=NOTHING)

    @pytest.mark.parametrize("worker", ["dies", "gives up", "fails"])
    def test_a_later_try_does_not_shorten_its_life(self, store: ReportStore, clock: Clock, worker: str) -> None:
        audit(store)
        kept = store.read(KEY)
        clock.advance(FRESH)
        owner = run(store.begin(KEY))
        if worker == "gives up":
            store.abandon(KEY, owner)
        elif worker == "fails":
            assert store.finish(KEY, owner, b"failed", failed=True)
        clock.advance(KEPT - FRESH - TICK)
        audit(store, Key(origin="https://other.example", path="", rule_set="7"))  # an occasion to make room
        assert store.read(KEY) == kept

    def test_a_newer_report_replaces_an_older_one(self, store: ReportStore, clock: Clock) -> None:
        audit(store, body=b"old")
        clock.advance(COOLDOWN)
        audit(store, body=b"new")
        assert store.begin(KEY) == Hit(stored=good(b"new", clock.now))

    def test_reading_starts_nothing(self, store: ReportStore) -> None:
        store.read(KEY)
        assert isinstance(store.begin(KEY), Run)
        store.read(KEY)
        assert store.begin(KEY) == Busy(entry=NOTHING)

    @pytest.mark.parametrize(
        "other",
        [
            Key(origin="http://example.com", path="", rule_set="7-deployed"),
            Key(origin="https://example.com:8443", path="", rule_set="7-deployed"),
            Key(origin="https://example.com", path="/", rule_set="7-deployed"),
            Key(origin="https://example.com", path="", rule_set="8-deployed"),
        ],
    )
    def test_each_key_is_on_its_own(self, store: ReportStore, other: Key) -> None:
        audit(store)
        assert store.read(other) == NOTHING
        audit(store, other, b"other")
        assert store.read(KEY).good != store.read(other).good

    def test_parts_of_a_key_do_not_run_into_each_other(self, store: ReportStore, clock: Clock) -> None:
        marks = ["#", "/", "|", ":", ",", " ", "\0", "%", "ü"]
        keys = [
            key
            for mark in marks
            for key in (
                Key(origin="o", path=f"p{mark}q", rule_set="r"),
                Key(origin="o", path="p", rule_set=f"q{mark}r"),
                Key(origin=f"o{mark}p", path="q", rule_set="r"),
                Key(origin="o", path=f"p{mark}", rule_set="r"),
                Key(origin="o", path="p", rule_set=f"{mark}r"),
            )
        ]
        for key in keys:
            audit(store, key, repr(key).encode())
        for key in keys:
            assert store.read(key).good == good(repr(key).encode(), clock.now)

    def test_the_longest_path_is_kept_whole(self, store: ReportStore) -> None:
        first, second = (Key(origin="https://example.com", path="/" + "a" * 2040 + end, rule_set="7") for end in "bc")
        audit(store, first, b"first")
        assert store.read(second) == NOTHING
        audit(store, second, b"second")
        assert store.read(first).good != store.read(second).good

    # Failures

    def test_a_failure_answers_for_its_time_and_no_longer(self, store: ReportStore, clock: Clock) -> None:
        audit(store, body=b"failed", failed=True)
        seen = failure(b"failed", clock.now)
        clock.advance(FAILURE_KEPT - TICK)
        assert store.begin(KEY) == Hit(stored=seen)
        assert store.read(KEY) == Entry(good=None, failure=seen)
        clock.advance(TICK)
        assert store.read(KEY) == NOTHING
        assert isinstance(store.begin(KEY), Run)

    def test_a_failure_does_not_replace_the_good_report(self, store: ReportStore, clock: Clock) -> None:
        audit(store, body=b"good")
        clock.advance(COOLDOWN)
        audit(store, body=b"failed", failed=True)
        both = Entry(good=good(b"good", START), failure=failure(b"failed", clock.now))
        assert store.read(KEY) == both
        assert store.begin(KEY) == Hit(stored=failure(b"failed", clock.now))
        clock.advance(FAILURE_KEPT)
        assert store.begin(KEY) == Hit(stored=good(b"good", START))
        assert store.read(KEY) == Entry(good=good(b"good", START), failure=None)

    def test_a_stale_good_report_is_kept_beside_a_failure(self, store: ReportStore, clock: Clock) -> None:
        audit(store, body=b"good")
        clock.advance(FRESH)
        audit(store, body=b"failed", failed=True)
        both = Entry(good=good(b"good", START), failure=failure(b"failed", clock.now))
        clock.advance(COOLDOWN)
        run(store.begin(KEY, refresh=True))
        assert store.begin(KEY, refresh=True) == Busy(entry=both)

    def test_a_failure_does_not_make_the_good_report_live_longer(self, store: ReportStore, clock: Clock) -> None:
        audit(store, body=b"good")
        clock.advance(KEPT - 10)
        audit(store, body=b"failed", failed=True)
        clock.advance(10)
        assert store.read(KEY) == Entry(good=None, failure=failure(b"failed", START + KEPT - 10))

    def test_a_good_report_removes_the_failure_before_it(self, store: ReportStore, clock: Clock) -> None:
        audit(store, body=b"failed", failed=True)
        clock.advance(COOLDOWN)
        audit(store, body=b"good")
        assert store.read(KEY) == Entry(good=good(b"good", clock.now), failure=None)
        assert store.begin(KEY) == Hit(stored=good(b"good", clock.now))

    # Who audits

    def test_while_one_audits_others_wait(self, store: ReportStore, clock: Clock) -> None:
        run(store.begin(KEY))
        clock.advance(LEASE - TICK)
        assert store.begin(KEY) == Busy(entry=NOTHING)
        assert store.begin(KEY, refresh=True) == Busy(entry=NOTHING)

    def test_a_fresh_report_answers_while_another_refreshes_it(self, store: ReportStore, clock: Clock) -> None:
        audit(store)
        kept = store.read(KEY)
        clock.advance(COOLDOWN)
        run(store.begin(KEY, refresh=True))
        assert store.begin(KEY) == Hit(stored=good(b'{"n": 1}', START))
        assert store.begin(KEY, refresh=True) == Busy(entry=kept)

    def test_a_dead_worker_is_replaced_once_its_lease_is_over(self, store: ReportStore, clock: Clock) -> None:
        dead = run(store.begin(KEY))
        clock.advance(LEASE)
        heir = run(store.begin(KEY))
        assert heir != dead
        assert store.begin(KEY) == Busy(entry=NOTHING)

    @pytest.mark.parametrize("failed", [False, True])
    def test_a_worker_that_was_replaced_keeps_nothing(self, store: ReportStore, clock: Clock, failed: bool) -> None:
        late = run(store.begin(KEY))
        clock.advance(LEASE)
        heir = run(store.begin(KEY))
        assert not store.finish(KEY, late, b"late", failed=failed)
        store.abandon(KEY, late)
        assert store.begin(KEY) == Busy(entry=NOTHING)
        assert store.finish(KEY, heir, b"heir")
        assert not store.finish(KEY, late, b"late", failed=failed)
        assert store.read(KEY) == Entry(good=good(b"heir", clock.now), failure=None)

    def test_an_expired_lease_is_lost_even_if_nobody_took_it(self, store: ReportStore, clock: Clock) -> None:
        # Its report would be dated now, and be of who knows when: a function may be frozen for hours.
        owner = run(store.begin(KEY))
        clock.advance(LEASE)
        assert not store.finish(KEY, owner, b"late")
        assert store.read(KEY) == NOTHING

    def test_a_lease_holds_to_its_last_moment(self, store: ReportStore, clock: Clock) -> None:
        owner = run(store.begin(KEY))
        clock.advance(LEASE - TICK)
        assert store.finish(KEY, owner, b"{}")

    def test_one_lease_is_good_for_one_report(self, store: ReportStore, clock: Clock) -> None:
        owner = run(store.begin(KEY))
        assert store.finish(KEY, owner, b"first")
        assert not store.finish(KEY, owner, b"second")
        assert store.read(KEY).good == good(b"first", clock.now)

    def test_a_stranger_keeps_nothing(self, store: ReportStore) -> None:
        assert not store.finish(KEY, "stranger", b"{}")
        assert not store.finish(KEY, "", b"{}")
        owner = run(store.begin(KEY))
        other = Key(origin=KEY.origin, path="/other", rule_set=KEY.rule_set)
        assert not store.finish(KEY, "stranger", b"{}")
        assert not store.finish(other, owner, b"{}")
        assert store.read(KEY) == store.read(other) == NOTHING
        assert store.finish(KEY, owner, b"{}")

    def test_after_an_abandoned_lease_the_next_one_audits_at_once(self, store: ReportStore, clock: Clock) -> None:
        first = run(store.begin(KEY))
        store.abandon(KEY, first)
        second = run(store.begin(KEY))
        assert second != first
        assert not store.finish(KEY, first, b"{}")
        assert store.finish(KEY, second, b"{}")
        clock.advance(FRESH)
        store.abandon(KEY, run(store.begin(KEY)))
        assert isinstance(store.begin(KEY), Run)

    def test_an_abandoned_refresh_leaves_what_is_kept(self, store: ReportStore, clock: Clock) -> None:
        audit(store)
        clock.advance(COOLDOWN)
        store.abandon(KEY, run(store.begin(KEY, refresh=True)))
        assert store.begin(KEY) == Hit(stored=good(b'{"n": 1}', START))
        assert isinstance(store.begin(KEY, refresh=True), Run)

    def test_only_the_owner_abandons(self, store: ReportStore) -> None:
        store.abandon(KEY, "stranger")
        owner = run(store.begin(KEY))
        store.abandon(KEY, "stranger")
        assert isinstance(store.begin(KEY), Busy)
        assert store.finish(KEY, owner, b"{}")
        store.abandon(KEY, owner)  # it is over, and so is no reason to end the cooldown
        assert isinstance(store.begin(KEY, refresh=True), Hit)

    # The cooldown

    @pytest.mark.parametrize(("after", "left"), [(0, 60), (TICK, 60), (1, 59), (30.5, 30), (59, 1), (59.75, 1)])
    @pytest.mark.parametrize("failed", [False, True])
    def test_a_refresh_within_the_cooldown_gets_what_is_kept(
        self, store: ReportStore, clock: Clock, after: float, left: int, failed: bool
    ) -> None:
        audit(store, failed=failed)
        kept = store.read(KEY).latest
        clock.advance(after)
        assert kept
        assert store.begin(KEY, refresh=True) == Hit(stored=kept, retry_after=left)
        assert store.begin(KEY) == Hit(stored=kept)

    def test_the_cooldown_counts_from_the_start(self, store: ReportStore, clock: Clock) -> None:
        owner = run(store.begin(KEY))
        clock.advance(20)
        store.finish(KEY, owner, b"{}")
        clock.advance(COOLDOWN - 20 - TICK)
        assert store.begin(KEY, refresh=True) == Hit(stored=good(b"{}", START + 20), retry_after=1)
        clock.advance(TICK)
        assert isinstance(store.begin(KEY, refresh=True), Run)

    @pytest.mark.parametrize("refresh", [False, True])
    def test_after_a_dead_worker_a_stale_report_answers_within_the_cooldown(
        self, store: ReportStore, clock: Clock, refresh: bool
    ) -> None:
        audit(store)
        clock.advance(FRESH)
        run(store.begin(KEY))
        clock.advance(LEASE)
        stale = Hit(stored=good(b'{"n": 1}', START), retry_after=COOLDOWN - LEASE)
        assert store.begin(KEY, refresh=refresh) == stale
        clock.advance(COOLDOWN - LEASE)
        assert isinstance(store.begin(KEY, refresh=refresh), Run)

    # At once

    def test_of_fifty_at_once_one_audits(self, store: ReportStore) -> None:
        begun: list[Begun] = []
        together(50, lambda _: begun.append(store.begin(KEY, refresh=True)))
        assert Counter(type(one) for one in begun) == {Run: 1, Busy: 49}

    def test_of_fifty_at_once_one_takes_over(self, store: ReportStore, clock: Clock) -> None:
        run(store.begin(KEY))
        clock.advance(LEASE)
        begun: list[Begun] = []
        together(50, lambda _: begun.append(store.begin(KEY)))
        assert Counter(type(one) for one in begun) == {Run: 1, Busy: 49}

    def test_different_keys_do_not_hinder_each_other(self, store: ReportStore) -> None:
        keys = [Key(origin=f"https://{number}.example", path="", rule_set="7") for number in range(20)]
        together(20, lambda number: audit(store, keys[number], report(20_000, seed=number)))
        for number, key in enumerate(keys):
            assert store.read(key).good == good(report(20_000, seed=number), START)

    def test_a_reader_never_sees_half_a_report(self, store: ReportStore, clock: Clock) -> None:
        bodies = [report(150_000, seed=number) for number in range(6)]

        def work(number: int) -> None:
            if number == 0:
                for body in bodies:
                    audit(store, body=body)
                    clock.advance(COOLDOWN)
            else:
                for _ in range(12):
                    kept = store.read(KEY).good
                    assert kept is None or kept.body in bodies

        together(5, work)

    # Clocks that differ

    def test_a_clock_a_minute_ahead_takes_a_running_lease_over_once(self, store: ReportStore, clock: Clock) -> None:
        slow = run(store.begin(KEY))
        clock.now = START + 60 + 1
        ahead = run(store.begin(KEY))
        clock.now = START + 2
        assert store.begin(KEY) == Busy(entry=NOTHING)
        assert not store.finish(KEY, slow, b"slow")
        clock.now = START + 60 + 3
        assert store.finish(KEY, ahead, b"ahead")
        clock.now = START + 4
        assert store.begin(KEY) == Hit(stored=good(b"ahead", START + 63))
        assert store.begin(KEY, refresh=True) == Hit(stored=good(b"ahead", START + 63), retry_after=117)

    def test_a_clock_a_minute_ahead_removes_nothing_in_use(self, store: ReportStore, clock: Clock) -> None:
        leased, old = (Key(origin=f"https://{name}.example", path="", rule_set="7") for name in ("leased", "old"))
        audit(store, old)
        clock.advance(KEPT - TICK)
        owner = run(store.begin(leased))
        clock.advance(60 + 1)
        audit(store)
        clock.advance(-60 - 1)
        assert store.read(old).good == good(b'{"n": 1}', START)
        assert store.finish(leased, owner, b"{}")

    def test_clocks_a_minute_apart_audit_at_most_twice_for_each_cooldown(
        self, store: ReportStore, clock: Clock
    ) -> None:
        skew = {"right": 0, "ahead": 60}
        running: dict[str, tuple[float, str]] = {}
        runs = kept = 0
        lasting = 600
        for second in range(lasting):
            for process, difference in skew.items():
                clock.now = START + second + difference
                if process in running and second - running[process][0] >= 10:
                    kept += store.finish(KEY, running.pop(process)[1], b"{}")
                if process not in running:
                    begun = store.begin(KEY, refresh=True)
                    if isinstance(begun, Run):
                        running[process] = (second, begun.owner)
                        runs += 1
        assert lasting / COOLDOWN / 2 - 1 <= kept <= runs <= 2 * lasting / COOLDOWN

    # All of it, against a model

    def test_it_does_as_the_model_does(self, store: ReportStore, clock: Clock) -> None:
        run_state_machine_as_test(
            partial(_Machine, store, clock),
            settings=settings(
                max_examples=self.examples,
                stateful_step_count=40,
                deadline=None,
                database=None,
                suppress_health_check=list(HealthCheck),
            ),
        )

    def test_closing_twice_is_harmless(self, store: ReportStore) -> None:
        store.close()
        store.close()


class _Model:
    """The promises of one key, in the fewest words."""

    def __init__(self) -> None:
        self.owner: str | None = None
        self.started = float("-inf")
        self.good: Stored | None = None
        self.failure: Stored | None = None

    def entry(self, now: float) -> Entry:
        return Entry(
            good=self.good if self.good and now < self.good.made_at + KEPT else None,
            failure=self.failure if self.failure and now < self.failure.fresh_until else None,
        )

    def begin(self, now: float, refresh: bool) -> Begun | None:
        """What is said; None stands for a lease."""
        entry = self.entry(now)
        if entry.latest and entry.latest.is_fresh(now) and not refresh:
            return Hit(stored=entry.latest)
        if self.owner and now < self.started + LEASE:
            return Busy(entry=entry)
        if entry.latest and now < self.started + COOLDOWN:
            left = self.started + COOLDOWN - now
            return Hit(stored=entry.latest, retry_after=int(left) + (left > int(left)))
        return None


class _Machine(RuleBasedStateMachine):
    """Any sequence of calls, at any times, some of which go back: as told by a process whose clock is behind."""

    keys = st.integers(0, 1)
    chosen = st.integers(0, 3)

    def __init__(self, store: ReportStore, clock: Clock) -> None:
        super().__init__()
        self.store = store
        self.clock = clock

    @initialize()
    def start(self) -> None:
        origin = f"https://{uuid.uuid4()}.example"  # nothing is known of it, whatever ran before
        self.clock.now = START
        self.key = [Key(origin=origin, path=path, rule_set="7") for path in ("", "/b")]
        self.model = [_Model(), _Model()]
        self.owners = ["stranger"]
        self.bodies = 0

    @rule(which=keys, refresh=st.booleans())
    def begin(self, which: int, refresh: bool) -> None:
        said = self.store.begin(self.key[which], refresh=refresh)
        expected = self.model[which].begin(self.clock.now, refresh)
        if expected is None:
            owner = run(said)
            assert owner not in self.owners
            self.owners.append(owner)
            self.model[which].owner, self.model[which].started = owner, self.clock.now
        else:
            assert said == expected

    @rule(which=keys, back=chosen, failed=st.booleans())
    def finish(self, which: int, back: int, failed: bool) -> None:
        owner, model, now = self.owners[-1 - back % len(self.owners)], self.model[which], self.clock.now
        self.bodies += 1
        body = report(200, seed=self.bodies)
        held = owner == model.owner and now < model.started + LEASE
        assert self.store.finish(self.key[which], owner, body, failed=failed) is held
        if held and failed:
            model.owner, model.failure = None, failure(body, now)
        elif held:
            model.owner, model.failure, model.good = None, None, good(body, now)

    @rule(which=keys, back=chosen)
    def abandon(self, which: int, back: int) -> None:
        owner, model = self.owners[-1 - back % len(self.owners)], self.model[which]
        self.store.abandon(self.key[which], owner)
        if owner == model.owner:
            model.owner, model.started = None, float("-inf")

    @rule(which=keys)
    def read(self, which: int) -> None:
        assert self.store.read(self.key[which]) == self.model[which].entry(self.clock.now)

    @rule(seconds=st.sampled_from([TICK, 1, 24.75, LEASE, COOLDOWN, FAILURE_KEPT, FRESH, KEPT - FRESH, KEPT, -1, -60]))
    def time_passes(self, seconds: float) -> None:
        self.clock.advance(seconds)
