"""The HTTP API's routes: a request in, a response out. Plain functions, the same on the laptop and on Lambda.

No framework's global state is in play here: two requests at once share the store and nothing else.
"""

import hashlib
import json
import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from parley import __version__
from parley.render.catalogue import catalogue, rule_set
from parley.render.report_json import encode, report_json
from parley.report import Report
from parley.store import Busy, Hit, Key, ReportStore, Run, Stored, StoreError
from parley.target import Target, TargetError

WAIT: Final = 25.0
"""Seconds for which a caller waits for another's audit of the same target before it is told to come again."""

LARGEST_BODY: Final = 8192
"""Bytes of a POST body."""

FORMATS: Final = ("json", "text")

_POLL: Final = 0.1
_JSON: Final = "application/json"
_PROBLEM: Final = "application/problem+json"
_TEXT: Final = "text/plain; charset=utf-8"
_EXPOSED: Final = "Age, ETag, Retry-After, X-Parley-Cache, X-Parley-Store"

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiRequest:
    """An HTTP request. Header names are in lower case; of a parameter given twice, the first counts."""

    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiResponse:
    """An HTTP response."""

    status: int
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Audience:
    """On whose behalf a request is answered: what may be visited, and under which name its reports are kept.

    ``audit`` visits what the policy called ``policy`` allows, and ``refuses`` says without any request whether it
    forbids a target. Reports are kept apart by policy, so that nobody reads what only another could have audited.
    """

    policy: str
    audit: Callable[[str], Report]
    refuses: Callable[[Target], bool]


class TooManyAuditsError(Exception):
    """No audit can be started just now. ``retry_after`` is in seconds."""

    def __init__(self, retry_after: int) -> None:
        super().__init__(f"too many audits at once; try again in {retry_after} s")
        self.retry_after = retry_after


class _ProblemError(Exception):
    """Ends a request with problem details (RFC 9457)."""

    def __init__(self, status: int, title: str, detail: str, **more: object) -> None:
        super().__init__(detail)
        self.status, self.title, self.detail, self.more = status, title, detail, more


class Api:
    """The routes, around a store. ``clock`` and ``sleep`` count seconds."""

    def __init__(
        self, store: ReportStore, *, clock: Callable[[], float] = time.time, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self._store = store
        self._clock = clock
        self._sleep = sleep
        self._routes: dict[str, dict[str, Callable[[ApiRequest, Audience], ApiResponse]]] = {
            "/v1/audit": {"GET": self._get_audit, "POST": self._post_audit},
            "/v1/checks": {"GET": self._get_checks},
            "/healthz": {"GET": self._get_health},
        }

    def handles(self, path: str) -> bool:
        """Whether a path is one of the API's."""
        return path in self._routes or path.startswith("/v1/")

    def __call__(self, request: ApiRequest, audience: Audience) -> ApiResponse:
        """Answer a request. Whatever goes wrong becomes problem details; nothing is raised."""
        try:
            response = self._dispatch(request, audience)
        except _ProblemError as problem:
            response = _problem(problem.status, problem.title, problem.detail, **problem.more)
        except TooManyAuditsError as error:
            response = _with(_problem(503, "Busy", str(error)), {"Retry-After": str(error.retry_after)})
        except Exception:
            log.exception("a request failed")
            response = _problem(500, "Internal error", "Parley failed to answer; the fault is its own.")
        readable = {"Access-Control-Allow-Origin": "*", "Access-Control-Expose-Headers": _EXPOSED}
        response = _with(response, readable if request.method != "POST" else {})
        return (
            ApiResponse(status=response.status, headers=response.headers, body=b"")
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
        body = json.dumps({"checks": catalogue()}, ensure_ascii=False).encode()
        return _conditional(request, body, _JSON, {"Cache-Control": "public, max-age=3600"})

    def _get_audit(self, request: ApiRequest, audience: Audience) -> ApiResponse:
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
        # A form on another site can post text/plain without asking, but not this.
        if request.headers.get("content-type", "").partition(";")[0].strip().lower() != _JSON:
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
            log.error("%s", error)
            raise _ProblemError(503, "Store unavailable", "Stored reports cannot be read just now.") from error
        kept = entry and (entry.good or entry.failure)
        if not kept:
            raise _ProblemError(missing, "No stored report", "Nobody has had this URL audited yet.")
        return self._report(request, kept)

    def _audit(self, request: ApiRequest, audience: Audience, asked: str, *, refresh: bool) -> ApiResponse:
        """The stored report if it is fresh; else audit, or wait for who already does."""
        key = self._key(audience, asked)
        if key is None:
            return _refused(audience.audit(asked))
        ends = self._clock() + WAIT
        while True:
            try:
                begun = self._store.begin(key, refresh=refresh)
            except StoreError as error:
                log.error("%s", error)
                return self._unstored(request, audience.audit(asked))
            match begun:
                case Hit(stored=stored, retry_after=retry_after):
                    return self._report(request, stored, retry_after=retry_after)
                case Run(owner=owner):
                    return self._run(request, audience, asked, key, owner)
                case Busy() if self._clock() >= ends:
                    later = {"Retry-After": "5", "Cache-Control": "no-store"}
                    return _json(
                        {"status": "running", "detail": "The audit is under way; ask again."}, later, status=202
                    )
                case Busy():
                    refresh = False  # what the other brings is newer than this request
                    self._sleep(_POLL)

    def _run(self, request: ApiRequest, audience: Audience, asked: str, key: Key, owner: str) -> ApiResponse:
        try:
            report = audience.audit(asked)
        except BaseException:
            self._abandon(key, owner)
            raise
        if report.refusal is not None:
            self._abandon(key, owner)
            return _refused(report)
        body = encode(report_json(report))
        answered = any(attempt.outcome == "ok" for attempt in report.attempts)
        failed = not report.conclusive or not answered
        kept = True
        try:
            self._store.finish(key, owner, body, failed=failed)
            entry = self._store.read(key)
        except StoreError as error:
            log.error("%s", error)
            kept, entry = False, None
        stored = (entry.failure if failed else entry.good) if entry else None
        if not kept or stored is None or stored.body != body:
            return self._unstored(request, report)
        return self._report(request, stored, cache="miss")

    def _abandon(self, key: Key, owner: str) -> None:
        try:
            self._store.abandon(key, owner)
        except StoreError as error:
            log.error("%s", error)

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


def _refused(report: Report) -> ApiResponse:
    """The asker is at fault, and told by the report."""
    return _problem(400, "This URL cannot be audited", report.refusal or "", report=report_json(report))


def _bad_body() -> _ProblemError:
    return _ProblemError(
        400, "Bad body", 'Send a JSON object such as {"url": "https://example.com", "refresh": false}.'
    )


def _flag(query: Mapping[str, str], name: str) -> bool:
    value = query.get(name, "false").lower()
    if value not in ("true", "false", "1", "0", ""):
        raise _ProblemError(400, "Bad parameter", f"{name} is true or false.")
    return value in ("true", "1", "") and name in query


def _format(request: ApiRequest) -> str:
    """The format asked for by name, else by Accept: JSON unless plain text is wanted and JSON is not."""
    wanted = request.query.get("format")
    if wanted is None:
        accepted = [part.partition(";")[0].strip().lower() for part in request.headers.get("accept", "").split(",")]
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
