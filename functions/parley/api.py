"""The HTTP API's routes: a request in, a response out. Plain functions, the same on the laptop and on Lambda.

No framework's global state is in play here: two requests at once share the store and nothing else.
"""

import hashlib
import json
import logging
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple, cast

from parley import __version__
from parley.render import badge
from parley.render.report_json import ReportJson, encode, report_json
from parley.render.words import PROTOCOLS, STATES, VERDICTS
from parley.report import REPORT_VERSION, Attempt, Report
from parley.rule_set import rule_set
from parley.store import Busy, Counter, Hit, Key, ReportStore, Run, Stored, StoreError
from parley.store.memory_counter import MemoryCounter
from parley.target import Target, TargetError
from parley.wire.media_type import essence

WAIT: Final = 25.0
"""Seconds for which a caller waits for another's audit of the same target before it is told to come again."""

LARGEST_BODY: Final = 8192
"""Bytes of a POST body."""

FORMATS: Final = ("json", "text")

STALE: Final = 7 * 86_400
"""Seconds after which a badge no longer shows a verdict."""

_HOURLY: Final = {"Cache-Control": "public, max-age=3600"}

# GitHub's image proxy honours max-age. The picture stands alone: no scripts, styles or frames, whoever opens it.
_BADGE: Final = {
    "Cache-Control": "public, max-age=300, s-maxage=300",
    "Content-Security-Policy": "default-src 'none'; sandbox",
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Resource-Policy": "cross-origin",
}

_PAUSE: Final = 0.05
_LONGEST_PAUSE: Final = 0.5

WAITERS: Final = 96
"""Callers that wait for another's audit at the same time; beyond that they are told to come again."""
_JSON: Final = "application/json"
_PROBLEM: Final = "application/problem+json"
_TEXT: Final = "text/plain; charset=utf-8"
_EXPOSED: Final = "Age, ETag, RateLimit, RateLimit-Policy, Retry-After, X-Parley-Cache, X-Parley-Store"

log = logging.getLogger(__name__)


class ApiRequest(NamedTuple):
    """An HTTP request. Header names are in lower case; of a parameter given twice, the first counts."""

    method: str
    path: str
    query: Mapping[str, str] = MappingProxyType({})
    headers: Mapping[str, str] = MappingProxyType({})
    body: bytes = b""


class ApiResponse(NamedTuple):
    """An HTTP response."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Audience(NamedTuple):
    """On whose behalf a request is answered: what may be visited, and under which name its reports are kept.

    ``audit`` visits what the policy called ``policy`` allows, and ``refuses`` says without any request whether it
    forbids a target. Reports are kept apart by policy, so that nobody reads what only another could have audited.
    ``quotas`` are what an audit counts against, and as whose; none for somebody who may have as many as they want.
    ``has_time`` tells whether there is time left for a whole audit.
    """

    policy: str
    audit: Callable[[str], Report]
    refuses: Callable[[Target], bool]
    quotas: tuple[tuple["Quota", str], ...] = ()
    has_time: Callable[[], bool] = lambda: True


class Quota(NamedTuple):
    """At most ``limit`` audits in ``window`` seconds, counted by ``name``."""

    name: str
    limit: int
    window: int

    def take(self, counter: Counter, whom: str) -> None:
        """Count one use by, or of, somebody; raises :class:`TooManyAuditsError` beyond the limit."""
        wait = counter.take(f"{self.name}#{whom}", limit=self.limit, window=self.window)
        if wait is not None:
            raise TooManyAuditsError(retry_after=wait, quota=self)


PER_CLIENT: Final = Quota(name="client", limit=20, window=60)

PER_CALLER: Final = Quota(name="caller", limit=60, window=60)
"""Of whoever called the API itself: a client, or a content network's server on behalf of many."""

PER_ADDRESS: Final = Quota(name="address", limit=10, window=60)
"""Of one address, whatever names lead there: a wildcard in the name system makes endless origins of one victim."""

PER_BADGE: Final = Quota(name="badge", limit=1, window=86_400)


class TooManyAuditsError(Exception):
    """No audit can be started just now. ``retry_after`` is in seconds; without a ``quota``, the service is busy."""

    def __init__(self, *, retry_after: int, quota: Quota | None = None) -> None:
        super().__init__(f"Too many audits; try again in {retry_after} s.")
        self.retry_after, self.quota = retry_after, quota


class _ProblemError(Exception):
    """Ends a request with problem details (RFC 9457)."""

    def __init__(self, status: int, title: str, detail: str, **more: object) -> None:
        super().__init__(detail)
        self.status, self.title, self.detail, self.more = status, title, detail, more


class Api:
    """The routes, around a store.

    ``queue`` has :meth:`refresh` called for a URL at some later time, for badges; without it a badge refreshes
    nothing. ``clock`` and ``sleep`` count seconds.
    """

    def __init__(
        self,
        store: ReportStore,
        counter: Counter,
        *,
        queue: Callable[[str], None] | None = None,
        clock: Callable[[], float] = time.time,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._store = store
        self._counter = counter
        self._own_counter = MemoryCounter(clock=clock)
        self._queue = queue
        self._waiters = threading.BoundedSemaphore(WAITERS)
        self._clock = clock
        self._sleep = sleep
        self._routes: dict[str, dict[str, Callable[[ApiRequest, Audience], ApiResponse]]] = {
            "/v1/audit": {"GET": self._get_audit, "POST": self._post_audit},
            "/v1/checks": {"GET": self._get_checks},
            "/badge": {"GET": self._get_badge},
            "/badge.json": {"GET": self._get_badge_endpoint},
            "/openapi.json": {"GET": self._get_openapi},
            "/healthz": {"GET": self._get_health},
        }

    @property
    def paths(self) -> Iterable[str]:
        """All paths that are answered with anything but 404."""
        return self._routes.keys()

    def __call__(self, request: ApiRequest, audience: Audience) -> ApiResponse:
        """Answer a request. Whatever goes wrong becomes problem details; nothing is raised."""
        try:
            response = self._dispatch(request, audience)
        except _ProblemError as problem:
            response = _problem(problem.status, problem.title, problem.detail, **problem.more)
        except TooManyAuditsError as error:
            response = _too_many(error)
        except Exception:
            log.exception("a request failed")
            response = _problem(500, "Internal error", "Parley failed to answer; the fault is its own.")
        readable = {"Access-Control-Allow-Origin": "*", "Access-Control-Expose-Headers": _EXPOSED}
        response = _with(response, readable if request.method != "POST" else {})
        return (
            response._replace(headers={**response.headers, "Content-Length": str(len(response.body))}, body=b"")
            if request.method == "HEAD"
            else response
        )

    def _dispatch(self, request: ApiRequest, audience: Audience) -> ApiResponse:
        methods = self._routes.get(request.path)
        if methods is None:
            raise _ProblemError(404, "Not found", "There is nothing here. The API is GET /v1/audit?url=...")
        allowed = ", ".join(sorted({*methods, "HEAD", "OPTIONS"}))
        if request.method == "OPTIONS":
            preflight = {
                "Allow": allowed,
                "Access-Control-Allow-Methods": "GET, HEAD",
                "Access-Control-Max-Age": "86400",
            }
            return ApiResponse(status=204, headers=preflight, body=b"")
        route = methods.get("GET" if request.method == "HEAD" else request.method)
        if route is None:
            problem = _problem(405, "Method not allowed", f"{request.path} takes {allowed}.")
            return _with(problem, {"Allow": allowed})
        return route(request, audience)

    def _get_health(self, request: ApiRequest, audience: Audience) -> ApiResponse:
        return _json({"status": "ok", "version": __version__}, {"Cache-Control": "no-store"})

    def _get_checks(self, request: ApiRequest, audience: Audience) -> ApiResponse:
        from parley.render.catalogue import catalogue  # and with it all rules: what is stored is answered without

        body = json.dumps({"checks": catalogue()}, ensure_ascii=False).encode()
        return _conditional(request, body, _JSON, _HOURLY)

    def _get_openapi(self, request: ApiRequest, audience: Audience) -> ApiResponse:
        from parley.render.openapi import openapi

        return _conditional(request, json.dumps(openapi(FORMATS)).encode(), _JSON, _HOURLY)

    def _get_badge(self, request: ApiRequest, audience: Audience) -> ApiResponse:
        style = request.query.get("style", "")
        picture = badge.svg(*self._badge(request, audience), style if style in badge.STYLES else badge.STYLES[0])
        return _conditional(request, picture, "image/svg+xml", _BADGE)

    def _get_badge_endpoint(self, request: ApiRequest, audience: Audience) -> ApiResponse:
        return _conditional(request, badge.endpoint(*self._badge(request, audience)), _JSON, _BADGE)

    def _badge(self, request: ApiRequest, audience: Audience) -> tuple[str | None, str, str | None]:
        """The protocol, the word and the state that a badge shows. Whatever is wrong, there is a badge."""
        protocol = request.query.get("protocol") or None
        if protocol is not None and protocol not in PROTOCOLS:
            return None, badge.NOT_CHECKED, None  # a misspelt one must not show another's verdict
        asked = request.query.get("url", "")
        key = self._key(audience, asked)
        try:
            good = self._store.read(key).good if key else None
        except StoreError as error:
            log.warning("%s", error)
            good = None
        if key is None or good is None:
            return protocol, badge.NOT_CHECKED, None
        self._queue_refresh(key, good)
        if self._clock() - good.made_at > STALE:
            return protocol, badge.STALE, None
        report = _read(good.body)
        if report is None:
            return protocol, badge.NOT_CHECKED, None
        if protocol is None:
            return None, VERDICTS[report["status"]], None
        one = report["protocols"][protocol]
        return protocol, VERDICTS[one["status"]], one["state"]

    def _queue_refresh(self, key: Key, good: Stored) -> None:
        """Have a report that is no longer fresh renewed, once a day; the badge shows the old verdict meanwhile."""
        now = self._clock()
        if self._queue is None or good.is_fresh(now) or now - good.made_at < PER_BADGE.window:
            return
        try:
            PER_BADGE.take(self._counter, f"{key.origin}{key.path}#{key.rule_set}")
        except TooManyAuditsError:
            return
        try:
            self._queue(key.origin + key.path)
        except Exception:
            log.exception("a refresh could not be queued")

    def refresh(self, url: str, audience: Audience) -> None:
        """Audit a queued URL, unless somebody just did."""
        self._audit(ApiRequest(method="GET", path="/v1/audit"), audience, url, refresh=True)

    def _get_audit(self, request: ApiRequest, audience: Audience) -> ApiResponse:
        _refuse_ourselves(request)
        _format(request)  # before anybody is bothered
        asked = request.query.get("url")
        if asked is None:
            raise _ProblemError(400, "No URL", "Say what to audit: /v1/audit?url=https://example.com")
        # A browser that fetches an image, a script or a frame does so without anybody having asked for an audit.
        embedded = request.headers.get("sec-fetch-dest", "empty") not in ("empty", "document")
        if embedded or request.method == "HEAD" or _flag(request.query, "stored"):
            return self._stored(request, audience, asked, missing=409 if embedded else 404)
        return self._audit(request, audience, asked, refresh=_flag(request.query, "refresh"))

    def _post_audit(self, request: ApiRequest, audience: Audience) -> ApiResponse:
        _refuse_ourselves(request)
        # A form on another site can post text/plain without asking, but not this.
        if essence(request.headers.get("content-type")) != _JSON:
            raise _ProblemError(415, "Unsupported media type", f"Send the body as {_JSON}.")
        if len(request.body) > LARGEST_BODY:
            raise _ProblemError(413, "Content too large", f"The body may have {LARGEST_BODY} bytes.")
        try:
            body = json.loads(request.body.decode("utf-8"))
        except (ValueError, RecursionError):
            raise _bad_body() from None
        match body:
            case {"url": str(asked)} if isinstance(body.get("refresh", False), bool):
                return self._audit(request, audience, asked, refresh=body.get("refresh", False))
            case _:
                raise _bad_body()

    def _stored(self, request: ApiRequest, audience: Audience, asked: str, *, missing: int) -> ApiResponse:
        """What is kept, without an audit."""
        key = self._key(audience, asked)
        try:
            entry = self._store.read(key) if key else None
        except StoreError as error:
            log.warning("%s", error)
            raise _ProblemError(503, "Store unavailable", "Stored reports cannot be read just now.") from error
        kept = entry and (entry.good or entry.failure)
        if not kept or _read(kept.body) is None:
            raise _ProblemError(missing, "No stored report", "Nobody has had this URL audited yet.")
        return self._report(request, kept)

    def _audit(self, request: ApiRequest, audience: Audience, asked: str, *, refresh: bool) -> ApiResponse:
        """The stored report if it is fresh; else audit, or wait for who already does."""
        key = self._key(audience, asked)
        if key is None:
            return _refused(audience.audit(asked))
        ends = self._clock() + WAIT
        pause = _PAUSE
        while True:
            try:
                begun = self._store.begin(key, refresh=refresh)
            except StoreError as error:
                log.warning("%s", error)
                return self._unkept(request, audience, asked)
            match begun:
                case Hit(stored=stored) if _read(stored.body) is None:  # damaged: as if it were not there
                    return self._unkept(request, audience, asked)
                case Hit(stored=stored, retry_after=retry_after):
                    return self._report(request, stored, retry_after=retry_after)
                case Run(owner=owner) if not audience.has_time():
                    self._abandon(key, owner)  # a stump of an audit would stand for the site; the next caller has time
                    return _later(1)
                case Run(owner=owner):
                    return self._run(request, audience, asked, key, owner)
                case Busy():
                    # What the other brings is newer than this request.
                    refresh = False
                    if self._clock() >= ends or not self._waiters.acquire(blocking=False):
                        return _later(5)
                    try:
                        self._sleep(pause)
                    finally:
                        self._waiters.release()
                    pause = min(pause * 1.3, _LONGEST_PAUSE)

    def _run(self, request: ApiRequest, audience: Audience, asked: str, key: Key, owner: str) -> ApiResponse:
        try:
            for quota, whom in audience.quotas:
                quota.take(self._counter, whom)
            report = audience.audit(asked)
        except BaseException:
            self._abandon(key, owner)
            raise
        if report.refusal is not None:
            self._abandon(key, owner)
            return _refused(report)
        body = encode(report_json(report))
        failed = not report.conclusive or not any(_is_answer(attempt) for attempt in report.attempts)
        kept = True
        try:
            self._store.finish(key, owner, body, failed=failed)
            entry = self._store.read(key)
        except StoreError as error:
            log.warning("%s", error)
            kept, entry = False, None
        stored = (entry.failure if failed else entry.good) if entry else None
        if not kept or stored is None or stored.body != body:
            return self._unstored(request, report)
        return self._report(request, stored, cache="miss")

    def _unkept(self, request: ApiRequest, audience: Audience, asked: str) -> ApiResponse:
        """Audit without the store. That is no way around the limits: this process counts, too."""
        for quota, whom in audience.quotas:
            quota.take(self._own_counter, whom)
            quota.take(self._counter, whom)
        return self._unstored(request, audience.audit(asked))

    def _abandon(self, key: Key, owner: str) -> None:
        try:
            self._store.abandon(key, owner)
        except StoreError as error:
            log.warning("%s", error)

    def _key(self, audience: Audience, asked: str) -> Key | None:
        """What a target's report is kept under; None for what may not be audited."""
        try:
            target = Target.parse(asked)
        except TargetError:
            return None
        if audience.refuses(target):
            return None
        return Key(origin=target.origin, path=target.url.path, rule_set=f"{rule_set()}-{audience.policy}")

    def _report(
        self, request: ApiRequest, stored: Stored, *, cache: str | None = None, retry_after: int | None = None
    ) -> ApiResponse:
        now = self._clock()
        left = max(0, int(stored.fresh_until - now))
        headers = {
            "Cache-Control": f"public, max-age={left}" if left and retry_after is None else "no-cache",
            "Age": str(max(0, int(now - stored.made_at))),
            "X-Parley-Cache": cache or ("hit" if stored.is_fresh(now) else "stale"),
        }
        if retry_after is not None:
            headers["Retry-After"] = str(retry_after)
        if _flag(request.query, "refresh"):  # the same request a minute later is to reach us again
            headers["Cache-Control"] = "no-store"
        return self._formatted(request, stored.body, headers)

    def _unstored(self, request: ApiRequest, report: Report) -> ApiResponse:
        """An answer that could not be kept: said in a header, so that nobody wonders at the next audit."""
        if report.refusal is not None:
            return _refused(report)
        headers = {"Cache-Control": "no-store", "X-Parley-Cache": "miss", "X-Parley-Store": "unavailable"}
        return self._formatted(request, encode(report_json(report)), headers)

    def _formatted(self, request: ApiRequest, body: bytes, headers: Mapping[str, str]) -> ApiResponse:
        if _format(request) == "json":
            return _conditional(request, body, _JSON, headers)
        from parley.render.text import text

        return _conditional(request, text(json.loads(body)).encode(), _TEXT, headers)


def _is_answer(attempt: Attempt) -> bool:
    """Whether a site had its say: an outage or a rate limit says nothing that should replace what it said before."""
    status = attempt.http_status
    return attempt.outcome == "ok" and status is not None and status != 429 and status < 500


def _read(body: bytes) -> ReportJson | None:
    """A kept report; None for one that is damaged, or of a version that this program does not know."""
    try:
        report = json.loads(body)
    except ValueError:
        return None
    match report:
        case {"reportVersion": version, "status": str(status), "protocols": dict(protocols)} if (
            version == REPORT_VERSION and status in VERDICTS and set(protocols) == set(PROTOCOLS)
        ):
            sound = all(
                isinstance(one, dict) and one.get("status") in VERDICTS and one.get("state") in STATES
                for one in protocols.values()
            )
            return cast(ReportJson, report) if sound else None
    return None


def _later(seconds: int) -> ApiResponse:
    headers = {"Retry-After": str(seconds), "Cache-Control": "no-store"}
    return _json({"status": "running", "detail": "The audit is under way; ask again."}, headers, status=202)


def _refused(report: Report) -> ApiResponse:
    """The asker is at fault, and told by the report."""
    return _problem(400, "This URL cannot be audited", report.refusal or "", report=report_json(report))


def _bad_body() -> _ProblemError:
    return _ProblemError(
        400, "Bad body", 'Send a JSON object such as {"url": "https://example.com", "refresh": false}.'
    )


def _refuse_ourselves(request: ApiRequest) -> None:
    """A site that fetches what it is asked for could otherwise be made to have us audit, without end."""
    if "parley/" in request.headers.get("user-agent", "").lower():
        raise _ProblemError(403, "A loop", "Parley starts no audit on its own behalf.")


def _too_many(error: TooManyAuditsError) -> ApiResponse:
    """429 with the quota (RateLimit header fields for HTTP, an IETF draft), or 503 without one."""
    headers = {"Retry-After": str(error.retry_after)}
    if error.quota is None:
        return _with(_problem(503, "Busy", str(error)), headers)
    headers["RateLimit-Policy"] = f'"{error.quota.name}";q={error.quota.limit};w={error.quota.window}'
    headers["RateLimit"] = f'"{error.quota.name}";r=0;t={error.retry_after}'
    return _with(_problem(429, "Too many requests", str(error)), headers)


def _flag(query: Mapping[str, str], name: str) -> bool:
    value = query.get(name, "false").lower()
    if value not in ("true", "false", "1", "0", ""):
        raise _ProblemError(400, "Bad parameter", f"{name} is true or false.")
    return value in ("true", "1", "") and name in query


def _format(request: ApiRequest) -> str:
    """The format asked for by name, else by Accept: JSON unless plain text is wanted and JSON is not."""
    wanted = request.query.get("format")
    if wanted is None:
        accepted = [essence(part) for part in request.headers.get("accept", "").split(",")]
        return "text" if "text/plain" in accepted and _JSON not in accepted else "json"
    if wanted not in FORMATS:
        raise _ProblemError(400, "Unknown format", f"The formats are {' and '.join(FORMATS)}.")
    return wanted


def _json(value: object, headers: Mapping[str, str], *, status: int = 200) -> ApiResponse:
    return ApiResponse(status=status, headers={"Content-Type": _JSON, **headers}, body=json.dumps(value).encode())


def _problem(status: int, title: str, detail: str, **more: object) -> ApiResponse:
    body = {"type": "about:blank", "title": title, "status": status, "detail": detail, **more}
    encoded = json.dumps(body, ensure_ascii=False).encode("utf-8", "backslashreplace")
    return ApiResponse(status=status, headers={"Content-Type": _PROBLEM, "Cache-Control": "no-store"}, body=encoded)


def _with(response: ApiResponse, headers: Mapping[str, str]) -> ApiResponse:
    return ApiResponse(status=response.status, headers={**response.headers, **headers}, body=response.body)


def _conditional(request: ApiRequest, body: bytes, content_type: str, headers: Mapping[str, str]) -> ApiResponse:
    """The body, or 304 for who has it already (RFC 9110, section 13.1.2)."""
    etag = f'"{hashlib.sha256(body).hexdigest()[:32]}"'
    headers = {"Content-Type": content_type, "ETag": etag, "Vary": "Accept", **headers}
    known = [tag.strip().removeprefix("W/") for tag in request.headers.get("if-none-match", "").split(",")]
    if etag in known or "*" in known:
        return ApiResponse(status=304, headers={k: v for k, v in headers.items() if k != "Content-Type"}, body=b"")
    return ApiResponse(status=200, headers=headers, body=body)
