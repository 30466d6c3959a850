"""The deployed report store and the counters of its rate limits: one DynamoDB table, asked one item at a time.

Every item has the keys ``origin`` and ``variant`` and the time to live ``expires``, in whole seconds. Reports: the
target's origin, and its path with the rule set; counters: ``limit#`` and a name, and the window's start.

Reading before writing is a matter of money. A conditional write that fails is charged, and counts towards the table's
ceiling, as a write of the whole item: up to twenty times what reading it costs.
"""

import gzip
import hashlib
import logging
import math
import secrets
import threading
import time
import zlib
from collections.abc import Callable, Mapping
from typing import Any, Final

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

LARGEST: Final = 256 * 1024
"""Bytes of a packed report. An item may have 400 kB, so that a failure of half this size goes beside a good report."""

REST: Final = 10.0
"""Seconds for which an engine that could not be reached is left alone: a request waits for it once, not each time."""

_LARGEST_KEYS: Final = {"origin": 2048, "variant": 1024}
"""Bytes. https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html"""

_SLACK: Final = 3600
"""Seconds that an item outlives its last use: DynamoDB's clock must not remove what another clock still reads."""

_AHEAD: Final = 3600
"""Seconds by which a stored time may be ahead of this clock; beyond that it is damage, and would hold for long."""

_TRIES: Final = 4
"""Looks at an item that changes between look and lease. A second is rare: most changes are somebody's lease."""

_DECIDES: Final = ("lease", "started", "good_made", "failure_made")
"""The attributes that :func:`_decide` looks at; every change of an item changes one of them."""

_NO_ANSWER: Final = "see to this process's network and to the state of DynamoDB in its region"
_WHO_ASKS: Final = ("does not know who asks", "see to this process's credentials and clock")
_THROTTLED: Final = ("is asked more than it may be", "wait, or raise the table's maximum throughput")

_WAYS_OUT: Final = {  # by DynamoDB's error code, or by the name of botocore's exception
    "AccessDeniedException": ("may not be used", "allow this role GetItem, PutItem and UpdateItem on it"),
    "ConnectTimeoutError": ("cannot be reached", _NO_ANSWER),
    "EndpointConnectionError": ("cannot be reached", _NO_ANSWER),
    "ExpiredTokenException": _WHO_ASKS,
    "InvalidSignatureException": _WHO_ASKS,
    "ModuleNotFoundError": ("cannot be asked", "install boto3"),
    "NoCredentialsError": ("cannot be asked", "give this process a role or credentials"),
    "NoRegionError": ("cannot be asked", "set AWS_DEFAULT_REGION"),
    "ProvisionedThroughputExceededException": _THROTTLED,
    "ReadTimeoutError": ("did not answer in time", _NO_ANSWER),
    "RequestLimitExceeded": _THROTTLED,
    "ResourceNotFoundException": ("does not exist", "deploy the stack, or set the name and region of its table"),
    "ThrottlingException": _THROTTLED,
    "UnrecognizedClientException": _WHO_ASKS,
    "ValidationException": ("refused the request", "see that its keys are two strings, origin and variant"),
}

Item = Mapping[str, Any]
"""An item's attributes as the low-level client gives them, such as ``{"started": {"N": "1"}}``."""

log = logging.getLogger(__name__)


def boto3_client() -> Any:
    """A client with the product's time-outs; region, credentials and endpoint are boto3's to find."""
    # A third of a cold start: not before somebody asks for what is stored, and without boto3's resources around it.
    import botocore.session
    from botocore.config import Config

    config = Config(
        connect_timeout=1,
        read_timeout=2,
        retries={"mode": "standard", "total_max_attempts": 2},
        tcp_keepalive=True,
    )
    return botocore.session.get_session().create_client("dynamodb", config=config)


class _UnmetError(Exception):
    """A write's condition did not hold. ``item`` is what was there, None if the engine does not say."""

    def __init__(self, item: Item | None) -> None:
        super().__init__()
        self.item = item


class Client:
    """boto3's DynamoDB client, made by ``make`` at the first call; one can serve a store and its counters.

    A call takes at most two attempts of 1 s to connect and 2 s to answer, and a second between them. An engine that
    did not answer is left alone for :data:`REST` seconds of ``clock``; calls fail at once meanwhile.
    """

    def __init__(self, make: Callable[[], Any] = boto3_client, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._make = make
        self._clock = clock
        self._lock = threading.Lock()
        self._client: Any = None
        self._closed = False
        self._rests: tuple[float, str] | None = None

    def call(self, operation: str, table: str, **parameters: Any) -> Mapping[str, Any]:
        """Call ``get_item`` or ``update_item``; raises :class:`StoreError`, or that the condition did not hold."""
        rests = self._rests
        if rests and self._clock() < rests[0]:
            raise StoreError(f"{rests[1]}; it is asked again in {math.ceil(rests[0] - self._clock())} s")
        try:
            answer: Mapping[str, Any] = getattr(self._made(table), operation)(TableName=table, **parameters)
        except StoreError:
            raise
        except Exception as error:  # botocore's own have no common base, and a damaged answer raises whatever it does
            raise self._told(error, table) from error
        return answer

    def close(self) -> None:
        """Close its connections; it may be called again. Calls then raise :class:`StoreError`."""
        with self._lock:
            self._closed = True
            if self._client is not None:
                self._client.close()
                self._client = None

    def _made(self, table: str) -> Any:
        with self._lock:
            if self._closed:
                raise StoreError(f"the DynamoDB table {clean(table)} is closed: nothing more can be kept")
            if self._client is None:
                self._client = self._make()
            return self._client

    def _told(self, error: Exception, table: str) -> Exception:
        response = getattr(error, "response", None)
        if isinstance(response, dict):  # ClientError: the engine answered
            name, text = response["Error"]["Code"], response["Error"].get("Message", "")
            if name == "ConditionalCheckFailedException":
                return _UnmetError(response.get("Item"))
        else:
            name, text = type(error).__name__, str(error)
        seen, way_out = _WAYS_OUT.get(name, ("failed", "try again, and see the state of DynamoDB in its region"))
        told = f"the DynamoDB table {clean(table)} {seen} ({clean(name)}: {clean(text, 400)}): {way_out}"
        if _is_unanswered(error):
            self._rests = (self._clock() + REST, told)
        return StoreError(told)


def _is_unanswered(error: Exception) -> bool:
    try:
        from botocore.exceptions import ConnectionError as NoConnectionError
        from botocore.exceptions import HTTPClientError
    except ImportError:
        return False
    return isinstance(error, (NoConnectionError, HTTPClientError))


class DynamoStore:
    """Keeps reports in the table ``table``; see :class:`parley.store.ReportStore`.

    ``client`` stays open for its other users when the store is closed; without one the store makes its own. ``clock``
    gives seconds since the epoch. Making a store asks nothing and raises nothing.

    A lease is given by one conditional write: it holds if nothing of what was decided on has changed since it was
    read. A worker whose write was done but whose answer was lost, twice, does not know of its lease, which then runs
    out like that of a dead one.

    Between processes whose clocks differ by more than the lease lasts, the one ahead may take a lease for expired and
    audit a second time; the first one's report is then refused. As it then holds the later lease, that is once for
    each lease, not endless. The one behind waits longer, by the difference. DynamoDB's own clock decides nothing.
    """

    def __init__(self, table: str, *, client: Client | None = None, clock: Callable[[], float] = time.time) -> None:
        self._table = table
        self._client = client or Client()
        self._owns_client = client is None
        self._clock = clock
        self._closed = False

    def __str__(self) -> str:
        return f"the DynamoDB table {clean(self._table)}"

    def begin(self, key: Key, *, refresh: bool = False) -> Begun:
        """See :meth:`parley.store.ReportStore.begin`. The Hit is the latest: a failure, if one is kept."""
        owner = secrets.token_hex(16)
        item = self._get(key)
        for _ in range(_TRIES):
            now = self._clock()
            begun = _decide(item, now, refresh=refresh)
            if begun:
                return begun
            try:
                self._lease_out(key, owner, item, now)
            except _UnmetError as unmet:
                item = self._seen(key, unmet)
                if item.get("lease") != {"S": owner}:  # else it is done: the first attempt's answer was lost
                    continue
            return Run(owner=owner)
        return Busy(entry=_entry(item, self._clock()))  # others are at it, whatever becomes of their leases

    def finish(self, key: Key, owner: str, body: bytes, *, failed: bool = False) -> bool:
        """See :meth:`parley.store.ReportStore.finish`. An expired lease is no longer held, even if nobody took it.

        A report that is too large, packed, raises :class:`StoreError`; the lease stays, so that others do not audit
        the same again at once.
        """
        packed = gzip.compress(body, compresslevel=6, mtime=0)
        name, most = ("failure", LARGEST // 2) if failed else ("good", LARGEST)
        if len(packed) > most:
            raise StoreError(f"{self} does not keep a report of {len(packed)} bytes, packed: at most {most}")
        now = self._clock()
        changes = f"SET {name} = :body, {name}_made = :now"
        values = {":body": {"B": packed}, ":now": _number(now), ":owner": {"S": owner}, ":dead": _number(now - LEASE)}
        if failed:  # the lease has seen to the item's life
            changes += " REMOVE lease"
        else:
            changes += ", expires = :expires REMOVE lease, failure, failure_made"
            values[":expires"] = _expiry(now + KEPT)
        try:
            self._update(key, changes, "lease = :owner AND started > :dead", values)
        except _UnmetError as unmet:
            kept = _entry(self._seen(key, unmet), now)
            done = kept.failure if failed else kept.good
            return done is not None and (done.body, done.made_at) == (body, now)  # the first attempt's answer was lost
        return True

    def abandon(self, key: Key, owner: str) -> None:
        """See :meth:`parley.store.ReportStore.abandon`. Nothing was audited, so no cooldown holds either."""
        try:
            self._update(key, "REMOVE lease, started", "lease = :owner", {":owner": {"S": owner}})
        except _UnmetError:
            return

    def read(self, key: Key) -> Entry:
        """See :meth:`parley.store.ReportStore.read`."""
        return _entry(self._get(key), self._clock())

    def close(self) -> None:
        """Close the client unless others use it; it may be called again. Other methods then raise StoreError."""
        self._closed = True
        if self._owns_client:
            self._client.close()

    def _get(self, key: Key) -> Item:
        # Consistent: what one has been told is stored, one is also shown, and no lease is decided on old news.
        answer = self._call("get_item", key, ConsistentRead=True)
        item: Item = answer.get("Item", {})
        return item

    def _seen(self, key: Key, unmet: _UnmetError) -> Item:
        """What was there instead. The engine says it, unless there is nothing, or it cannot."""
        return self._get(key) if unmet.item is None else unmet.item

    def _lease_out(self, key: Key, owner: str, item: Item, now: float) -> None:
        good = _entry(item, now).good
        used = max(now + LEASE + FAILURE_KEPT, good.made_at + KEPT if good else now)
        values = {":owner": {"S": owner}, ":now": _number(now), ":expires": _expiry(used)}
        conditions = []
        for name in _DECIDES:
            if name not in item:
                conditions.append(f"attribute_not_exists({name})")
                continue
            ((kind, _),) = item[name].items()
            if kind in ("S", "N"):
                values[f":{name}"] = item[name]
                conditions.append(f"{name} = :{name}")
            else:  # damage; not every engine compares lists and maps
                values[f":{name}"] = {"S": kind}
                conditions.append(f"attribute_type({name}, :{name})")
        self._update(key, "SET lease = :owner, started = :now, expires = :expires", " AND ".join(conditions), values)

    def _update(self, key: Key, changes: str, condition: str, values: Item) -> None:
        self._call(
            "update_item",
            key,
            UpdateExpression=changes,
            ConditionExpression=condition,
            ExpressionAttributeValues=values,
            ReturnValuesOnConditionCheckFailure="ALL_OLD",
        )

    def _call(self, operation: str, key: Key, **parameters: Any) -> Mapping[str, Any]:
        if self._closed:
            raise StoreError(f"{self} is closed: nothing more can be kept")
        # A rule set's own # becomes %23, so that the last # of the whole is the one between the two.
        rule_set = key.rule_set.replace("%", "%25").replace("#", "%23")
        return self._client.call(operation, self._table, Key=_keys(key.origin, f"{key.path}#{rule_set}"), **parameters)


class DynamoCounter:
    """Counts in the table ``table``; see :class:`parley.store.Counter`. ``clock`` gives seconds since the epoch.

    A use may count twice if DynamoDB's answer to the first attempt is lost. Processes whose clocks differ count into
    different windows for as long: a name may then have up to twice its limit.
    """

    def __init__(self, table: str, *, client: Client | None = None, clock: Callable[[], float] = time.time) -> None:
        self._table = table
        self._client = client or Client()
        self._clock = clock

    def take(self, name: str, *, limit: int, window: int) -> int | None:
        """See :meth:`parley.store.Counter.take`. One write; the count is gone some time after the window."""
        now = self._clock()
        start = int(now // window) * window
        try:
            answer = self._client.call(
                "update_item",
                self._table,
                Key=_keys(f"limit#{name}", f"{start}#{window}"),
                UpdateExpression="SET expires = :expires ADD uses :one",
                ExpressionAttributeValues={":one": _number(1), ":expires": _expiry(start + window)},
                ReturnValues="UPDATED_NEW",
            )
            uses = float(answer["Attributes"]["uses"]["N"])
        except (StoreError, LookupError, TypeError, ValueError) as error:
            log.warning("a use was allowed uncounted: %s", error)
            return None
        return None if uses <= limit else math.ceil(start + window - now)


def _decide(item: Item, now: float, *, refresh: bool) -> Begun | None:
    """Who audits, as :meth:`parley.store.ReportStore.begin` says; None: the caller may, if nothing changed since."""
    entry, started = _entry(item, now), _time(item, "started", now)
    latest = entry.latest
    if latest and latest.is_fresh(now) and not refresh:
        return Hit(stored=latest)
    if started is None:
        return None
    if "S" in _attribute(item, "lease") and now < started + LEASE:
        return Busy(entry=entry)
    if latest and now < started + COOLDOWN:
        return Hit(stored=latest, retry_after=math.ceil(started + COOLDOWN - now))
    return None


def _entry(item: Item, now: float) -> Entry:
    return Entry(
        good=_stored(item, "good", now, fresh=FRESH, kept=KEPT, failed=False),
        failure=_stored(item, "failure", now, fresh=FAILURE_KEPT, kept=FAILURE_KEPT, failed=True),
    )


def _stored(item: Item, name: str, now: float, *, fresh: int, kept: int, failed: bool) -> Stored | None:
    packed, made_at = _attribute(item, name).get("B"), _time(item, f"{name}_made", now)
    if not packed or made_at is None or now >= made_at + kept:
        return None
    try:
        body = gzip.decompress(packed)
    except (OSError, EOFError, zlib.error):  # damaged: gone, as if it had expired
        return None
    return Stored(body=body, made_at=made_at, fresh_until=made_at + fresh, failed=failed)


def _time(item: Item, name: str, now: float) -> float | None:
    """Seconds since the epoch; None if there is no such time, or none that a clock can have shown."""
    try:
        seconds = float(_attribute(item, name)["N"])
    except (KeyError, TypeError, ValueError):
        return None
    return seconds if seconds < now + _AHEAD else None


def _attribute(item: Item, name: str) -> Item:
    """A value by its type, such as ``{"N": "1"}``; empty if there is none."""
    attribute: Item = item.get(name, {})
    return attribute


def _number(value: float) -> Item:
    return {"N": repr(value)}


def _expiry(seconds: float) -> Item:
    return _number(math.ceil(seconds) + _SLACK)


def _keys(origin: str, variant: str) -> Item:
    return {"origin": {"S": _bounded("origin", origin)}, "variant": {"S": _bounded("variant", variant)}}


def _bounded(name: str, value: str) -> str:
    """The value, or what stands for it if DynamoDB does not take keys as long; no path begins so."""
    data = value.encode()
    return value if len(data) <= _LARGEST_KEYS[name] else f"sha256:{hashlib.sha256(data).hexdigest()}"
