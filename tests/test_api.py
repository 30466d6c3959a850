"""The routes, with a store in memory and audits that are counted instead of made."""

import gzip
import json
import random
import threading
from collections.abc import Callable

import pytest

from parley.api import LARGEST_BODY, PER_CLIENT, WAIT, Api, ApiRequest, ApiResponse, Audience, TooManyAuditsError
from parley.audit import judge
from parley.evidence import FailureCode
from parley.report import Report
from parley.store import FAILURE_KEPT, FRESH, LEASE, ReportStore, Run, StoreError
from parley.store.memory_counter import MemoryCounter
from parley.store.sqlite import SqliteStore
from parley.target import Target
from sites import HOST, Answer, Site, card, fails, served

FIRST = "/.well-known/mcp/server-card.json"


class Clock:
    def __init__(self) -> None:
        self.now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


class Bench:
    """An API around a site, with a clock that only moves when told to."""

    def __init__(self, site: Site | None = None, store: ReportStore | None = None) -> None:
        self.site = site or Site({FIRST: served(card())})
        self.clock = Clock()
        self.store = store or SqliteStore(None, clock=self.clock)
        self.counter = MemoryCounter(clock=self.clock)
        self.api = Api(self.store, self.counter, clock=self.clock, sleep=self.clock.sleep)
        self.audits = 0
        self.forbidden: set[str] = set()

    def audit(self, asked: str) -> Report:
        self.audits += 1
        return judge(self.site.gather(asked))

    def audience(self, policy: str = "local") -> Audience:
        return Audience(policy=policy, audit=self.audit, refuses=lambda target: target.url.host in self.forbidden)

    def get(
        self, path: str = "/v1/audit", *, policy: str = "local", headers: dict[str, str] | None = None, **query: str
    ) -> ApiResponse:
        if path == "/v1/audit" and "url" not in query and not query.pop("bare", None):
            query["url"] = HOST
        return self.api(ApiRequest(method="GET", path=path, query=query, headers=headers or {}), self.audience(policy))

    def post(self, body: object, content_type: str = "application/json") -> ApiResponse:
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        request = ApiRequest(method="POST", path="/v1/audit", headers={"content-type": content_type}, body=raw)
        return self.api(request, self.audience())


@pytest.fixture
def bench() -> Bench:
    return Bench()


def problem(response: ApiResponse) -> dict[str, object]:
    assert response.headers["Content-Type"] == "application/problem+json"
    body = json.loads(response.body)
    assert body["status"] == response.status
    assert body["title"]
    assert body["detail"]
    return dict(body)


def test_miss_then_hit_then_stale(bench: Bench) -> None:
    miss = bench.get()
    assert (miss.status, miss.headers["X-Parley-Cache"], miss.headers["Age"]) == (200, "miss", "0")
    assert miss.headers["Cache-Control"] == f"public, max-age={FRESH}"
    assert miss.headers["Access-Control-Allow-Origin"] == "*"
    report = json.loads(miss.body)
    assert (report["reportVersion"], report["url"], report["origin"], report["status"]) == (
        "1",
        f"{HOST}/",
        HOST,
        "SUCCESS",
    )
    assert report["protocols"]["serverCard"]["state"] == "confirmed"
    bench.clock.now += 90
    hit = bench.get()
    assert (hit.body, hit.headers["X-Parley-Cache"], hit.headers["Age"]) == (miss.body, "hit", "90")
    assert hit.headers["Cache-Control"] == f"public, max-age={FRESH - 90}"
    bench.clock.now += FRESH
    assert bench.get().headers["X-Parley-Cache"] == "miss"
    assert bench.audits == 2


def test_one_key_for_one_place(bench: Bench) -> None:
    for url in ("weather.example", f"{HOST}:443/", "HTTPS://Weather.Example./x/..", f"{HOST}/#top"):
        bench.get(url=url)
    assert bench.audits == 1
    bench.get(url=f"{HOST}/mcp")
    assert bench.audits == 2


def test_what_a_client_sends_is_in_no_key_and_no_report(bench: Bench) -> None:
    first = bench.get()
    headers = {
        "x-forwarded-host": "evil.example",
        "host": "evil.example",
        "forwarded": "host=evil.example",
        "cookie": "a=b",
    }
    assert bench.get(headers=headers).body == first.body
    assert bench.audits == 1


def test_policies_do_not_see_each_other_s_reports(bench: Bench) -> None:
    bench.get(policy="local")
    assert bench.get(policy="public", stored="true").status == 404
    bench.get(policy="public")
    assert bench.audits == 2


def test_refresh_waits_for_the_cooldown(bench: Bench) -> None:
    bench.get()
    bench.clock.now += 10
    early = bench.get(refresh="true")
    assert (early.status, early.headers["Retry-After"], early.headers["X-Parley-Cache"]) == (200, "50", "hit")
    bench.clock.now += 50
    assert bench.get(refresh="true").headers["X-Parley-Cache"] == "miss"
    assert bench.audits == 2


def test_stored_never_audits(bench: Bench) -> None:
    assert problem(bench.get(stored="true"))["status"] == 404
    assert bench.audits == 0
    fresh = bench.get()
    bench.clock.now += FRESH + 1
    stored = bench.get(stored="true")
    assert (stored.status, stored.body, stored.headers["X-Parley-Cache"]) == (200, fresh.body, "stale")
    assert bench.audits == 1


@pytest.mark.parametrize(
    "destination", ["image", "script", "style", "iframe", "frame", "embed", "object", "font", "audio"]
)
def test_a_page_s_ornaments_start_no_audit(bench: Bench, destination: str) -> None:
    assert problem(bench.get(headers={"sec-fetch-dest": destination}))["status"] == 409
    assert bench.audits == 0
    bench.get(headers={"sec-fetch-dest": "document"})
    assert bench.get(headers={"sec-fetch-dest": destination}).status == 200
    assert bench.audits == 1


def test_etag(bench: Bench) -> None:
    etag = bench.get().headers["ETag"]
    for known in (etag, f'"other", W/{etag}', "*"):
        same = bench.get(headers={"if-none-match": known})
        assert (same.status, same.body, same.headers["ETag"]) == (304, b"", etag)
        assert "Content-Type" not in same.headers
    assert bench.get(headers={"if-none-match": '"other"'}).status == 200


@pytest.mark.parametrize(
    ("query", "headers", "content_type"),
    [
        ({}, {}, "application/json"),
        ({}, {"accept": "text/html,application/xhtml+xml,*/*;q=0.8"}, "application/json"),
        ({}, {"accept": "text/plain"}, "text/plain; charset=utf-8"),
        ({"format": "text"}, {"accept": "application/json"}, "text/plain; charset=utf-8"),
        ({"format": "json"}, {"accept": "text/plain"}, "application/json"),
    ],
)
def test_format(bench: Bench, query: dict[str, str], headers: dict[str, str], content_type: str) -> None:
    response = bench.get(headers=headers, **query)
    assert (response.status, response.headers["Content-Type"]) == (200, content_type)
    assert response.headers["Vary"] == "Accept"


def test_unknown_format(bench: Bench) -> None:
    assert problem(bench.get(format="pdf"))["detail"] == "The formats are json and text."
    assert bench.audits == 0


@pytest.mark.parametrize(
    "url", ["ftp://weather.example", "", "https://u:hunter2@weather.example", f"{HOST}/?token=hunter2"]
)
def test_invalid_url_carries_the_report(bench: Bench, url: str) -> None:
    body = problem(bench.get(url=url))
    report = body["report"]
    assert isinstance(report, dict)
    assert report["status"] == "FAIL"
    assert [check["code"][-3:] for check in report["auditors"][0]["checks"]] == ["100", "400"]
    assert "hunter2" not in json.dumps(body)


def test_forbidden_target_is_refused_though_stored(bench: Bench) -> None:
    bench.get()
    bench.forbidden.add("weather.example")
    assert bench.get(stored="true").status == 404
    bench.get()
    assert bench.audits == 2  # which the policy ends before anything is sent; see test_serve


def test_no_url(bench: Bench) -> None:
    assert problem(bench.get(bare="1"))["status"] == 400


@pytest.mark.parametrize("name", ["refresh", "stored"])
def test_bad_flag(bench: Bench, name: str) -> None:
    assert problem(bench.get(**{name: "maybe"}))["status"] == 400


def test_post(bench: Bench) -> None:
    response = bench.post({"url": HOST})
    assert (response.status, response.headers["X-Parley-Cache"]) == (200, "miss")
    assert "Access-Control-Allow-Origin" not in response.headers
    assert bench.post({"url": HOST, "refresh": True}).headers["Retry-After"] == "60"
    assert bench.get().headers["X-Parley-Cache"] == "hit"


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"\xff", b"[]", b'"x"', b"null", {}, {"url": 1}, {"url": HOST, "refresh": "yes"}, b"[" * 5000],
)
def test_bad_body(bench: Bench, body: object) -> None:
    assert problem(bench.post(body))["status"] == 400
    assert bench.audits == 0


def test_body_s_type_and_size(bench: Bench) -> None:
    assert problem(bench.post({"url": HOST}, "text/plain"))["status"] == 415
    assert problem(bench.post({"url": HOST, "x": "y" * LARGEST_BODY}))["status"] == 413
    assert bench.post({"url": HOST}, "application/json; charset=utf-8").status == 200


def test_other_methods_and_paths(bench: Bench) -> None:
    def ask(method: str, path: str) -> ApiResponse:
        return bench.api(ApiRequest(method=method, path=path, query={"url": HOST}), bench.audience())

    assert problem(ask("GET", "/v1/nothing"))["status"] == 404
    assert ask("DELETE", "/v1/audit").headers["Allow"] == "GET, HEAD, OPTIONS, POST"
    assert ask("DELETE", "/v1/audit").status == 405
    preflight = ask("OPTIONS", "/v1/audit")
    assert (preflight.status, preflight.headers["Access-Control-Allow-Methods"]) == (204, "GET, HEAD")
    assert (ask("HEAD", "/v1/audit").status, bench.audits) == (404, 0)
    bench.get()
    head = ask("HEAD", "/v1/audit")
    assert (head.status, head.body) == (200, b"")


def test_checks_and_health(bench: Bench) -> None:
    rows = json.loads(bench.get("/v1/checks").body)["checks"]
    assert {row["code"] for row in rows} >= {"37A-McpServerCardAuditor-100", "37A-McpServerCardAuditor-413"}
    assert bench.get("/v1/checks", headers={"if-none-match": bench.get("/v1/checks").headers["ETag"]}).status == 304
    assert json.loads(bench.get("/healthz").body)["status"] == "ok"


def test_failure_is_kept_for_a_while_and_replaces_nothing() -> None:
    bench = Bench()
    good = bench.get()
    bench.clock.now += FRESH + 1
    bench.site = Site({}, default=fails(FailureCode.TIMEOUT, "timed out after 8 s"))
    failed = bench.get()
    assert json.loads(failed.body)["status"] == "FAIL"
    assert bench.get().headers["X-Parley-Cache"] == "hit"
    assert bench.audits == 2
    assert bench.get(stored="true").body == good.body
    bench.clock.now += FAILURE_KEPT + 1
    bench.get()
    assert bench.audits == 3


def test_waits_for_who_is_at_it_then_gives_up(bench: Bench) -> None:
    other = Api(bench.store, bench.counter, clock=bench.clock, sleep=bench.clock.sleep)
    late: list[ApiResponse] = []

    def audit(asked: str) -> Report:
        if not late:
            # While this one audits, another caller comes and waits for it as long as it may.
            before = bench.clock.now
            late.append(other(ApiRequest(method="GET", path="/v1/audit", query={"url": HOST}), bench.audience()))
            assert WAIT <= bench.clock.now - before < WAIT + 1
        return bench.audit(asked)

    audience = Audience(policy="local", audit=audit, refuses=lambda _: False)
    assert bench.api(ApiRequest(method="GET", path="/v1/audit", query={"url": HOST}), audience).status == 200
    assert (late[0].status, late[0].headers["Retry-After"]) == (202, "5")
    assert bench.audits == 1


def test_fifty_at_once_are_one_audit() -> None:
    bench = Bench(store=SqliteStore(None))
    api = Api(bench.store, bench.counter)
    everybody_came = threading.Barrier(50)
    started = threading.Event()

    def audit(asked: str) -> Report:
        started.wait(10)
        return bench.audit(asked)

    audience = Audience(policy="local", audit=audit, refuses=lambda _: False)
    bodies: list[bytes] = []

    def ask() -> None:
        everybody_came.wait(10)
        started.set()
        bodies.append(api(ApiRequest(method="GET", path="/v1/audit", query={"url": HOST}), audience).body)

    _all_at_once(50, ask)
    assert len(bodies) == 50
    assert len(set(bodies)) == 1
    assert bench.audits == 1


def test_two_at_once_never_see_each_other_s_report() -> None:
    sites = {
        f"https://site{i}.example": Site({f"https://site{i}.example{FIRST}": served(card(name=f"com.example/s{i}"))})
        for i in range(8)
    }
    api = Api(SqliteStore(None), MemoryCounter())
    audience = Audience(
        policy="local",
        audit=lambda asked: judge(sites[str(Target.parse(asked).origin)].gather(asked)),
        refuses=lambda _: False,
    )
    wrong: list[str] = []
    turn = iter(range(10_000))

    def ask() -> None:
        for _ in range(40):
            i = next(turn) % 8
            body = json.loads(
                api(
                    ApiRequest(method="GET", path="/v1/audit", query={"url": f"https://site{i}.example"}), audience
                ).body
            )
            if body["origin"] != f"https://site{i}.example" or f"com.example/s{i}" not in json.dumps(body):
                wrong.append(json.dumps(body))

    _all_at_once(8, ask)
    assert wrong == []


class _Broken:
    """A store whose engine is down."""

    def __getattr__(self, name: str) -> Callable[..., object]:
        def fail(*_: object, **__: object) -> object:
            raise StoreError("the report store is locked")

        return fail


def test_a_broken_store_still_answers(caplog: pytest.LogCaptureFixture) -> None:
    bench = Bench(store=_Broken())  # type: ignore[arg-type]
    response = bench.get()
    assert (response.status, json.loads(response.body)["status"]) == (200, "SUCCESS")
    assert (response.headers["X-Parley-Store"], response.headers["Cache-Control"]) == ("unavailable", "no-store")
    assert "the report store is locked" in caplog.text
    assert bench.get(stored="true").status == 503
    assert problem(bench.get(url="ftp://x"))["status"] == 400


def test_a_crash_is_a_problem_and_frees_the_lease(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    def crash(asked: str) -> Report:
        raise RuntimeError("secret detail")

    audience = Audience(policy="local", audit=crash, refuses=lambda _: False)
    response = bench.api(ApiRequest(method="GET", path="/v1/audit", query={"url": HOST}), audience)
    assert problem(response)["status"] == 500
    assert b"secret detail" not in response.body
    assert bench.get().status == 200


def test_too_many_audits(bench: Bench) -> None:
    def busy(asked: str) -> Report:
        raise TooManyAuditsError(retry_after=10)

    audience = Audience(policy="local", audit=busy, refuses=lambda _: False)
    response = bench.api(ApiRequest(method="GET", path="/v1/audit", query={"url": HOST}), audience)
    assert (problem(response)["status"], response.headers["Retry-After"]) == (503, "10")


def _all_at_once(count: int, work: Callable[[], None]) -> None:
    threads = [threading.Thread(target=work) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not any(thread.is_alive() for thread in threads)


DAY = 86_400


class BadgeBench(Bench):
    """An API whose queue is a list."""

    def __init__(self, store: ReportStore | None = None) -> None:
        super().__init__(store=store)
        self.queued: list[str] = []
        self.api = Api(self.store, self.counter, queue=self.queued.append, clock=self.clock, sleep=self.clock.sleep)

    def badge(self, **query: str) -> str:
        """The badge's title; it is always there, and always 200."""
        response = self.get("/badge", **({"url": HOST} | query))
        assert (response.status, response.headers["Content-Type"]) == (200, "image/svg+xml")
        assert response.headers["Cache-Control"] == "public, max-age=300, s-maxage=300"
        assert response.headers["Content-Security-Policy"] == "default-src 'none'; sandbox"
        return response.body.decode().partition("<title>")[2].partition("</title>")[0]


@pytest.fixture
def badges() -> BadgeBench:
    return BadgeBench()


def test_a_badge_never_starts_a_first_audit(badges: BadgeBench) -> None:
    for query in (
        {},
        {"url": "https://unknown.example"},
        {"url": "ftp://x"},
        {"url": ""},
        {"url": "https://u:hunter2@x.example"},
    ):
        assert badges.badge(**query) == "Parley: not checked"
    assert (badges.audits, badges.queued) == (0, [])


def test_a_badge_shows_what_is_stored(badges: BadgeBench) -> None:
    badges.get()
    assert badges.badge() == "Parley: success"
    assert badges.badge(protocol="serverCard") == "MCP Server Card: success (confirmed)"
    assert badges.badge(protocol="mcp").startswith("MCP server: ")
    assert badges.badge(protocol="", style="<script>") == "Parley: success"
    assert badges.badge(protocol="<script>") == badges.badge(protocol="servercard") == "Parley: not checked"
    assert 'rx="0"' in badges.get("/badge", url=HOST, style="flat-square").body.decode()
    assert json.loads(badges.get("/badge.json", url=HOST).body)["message"] == "success"
    etag = badges.get("/badge", url=HOST).headers["ETag"]
    assert badges.get("/badge", url=HOST, headers={"if-none-match": etag}).status == 304


def test_a_badge_refreshes_what_is_a_day_old_once_a_day(badges: BadgeBench) -> None:
    badges.get(url=f"{HOST}/docs")
    badges.clock.now += FRESH + 1
    badges.badge(url=f"{HOST}/docs")
    assert badges.queued == []
    badges.clock.now += DAY
    for _ in range(5):
        assert badges.badge(url=f"{HOST}/docs") == "Parley: success"
    assert badges.queued == [f"{HOST}/docs"]
    badges.clock.now += DAY
    badges.badge(url=f"{HOST}/docs")
    assert badges.queued == [f"{HOST}/docs"] * 2
    badges.api.refresh(badges.queued[0], badges.audience())
    assert badges.audits == 2


def test_a_badge_is_stale_after_a_week(badges: BadgeBench) -> None:
    badges.get()
    badges.clock.now += 7 * DAY
    assert badges.badge() == "Parley: success"
    badges.clock.now += 1
    assert badges.badge() == "Parley: stale"


def test_a_failed_audit_does_not_change_a_badge(badges: BadgeBench) -> None:
    badges.get()
    badges.site = Site({}, default=fails(FailureCode.TIMEOUT, "timed out after 8 s"))
    badges.clock.now += FRESH + 1
    badges.get()
    assert badges.badge() == "Parley: success"


def test_a_badge_without_a_store_or_a_queue(caplog: pytest.LogCaptureFixture) -> None:
    broken = BadgeBench(store=_Broken())  # type: ignore[arg-type]
    assert broken.badge() == "Parley: not checked"
    unqueued = BadgeBench()
    unqueued.get()
    unqueued.clock.now += DAY

    def fail(url: str) -> None:
        raise OSError("no")

    unqueued.api = Api(unqueued.store, unqueued.counter, queue=fail, clock=unqueued.clock)
    assert unqueued.badge() == "Parley: success"
    assert "could not be queued" in caplog.text


def test_quota_of_a_client(bench: Bench) -> None:
    def ask(i: int, client: str, **query: str) -> ApiResponse:
        audience = Audience(policy="public", audit=bench.audit, refuses=lambda _: False, quotas=((PER_CLIENT, client),))
        request = ApiRequest(method="GET", path="/v1/audit", query={"url": f"https://w{i}.example", **query})
        return bench.api(request, audience)

    start = bench.clock.now % PER_CLIENT.window
    assert [ask(i, "192.0.2.1").status for i in range(PER_CLIENT.limit)] == [200] * PER_CLIENT.limit
    refused = ask(99, "192.0.2.1")
    wait = str(int(PER_CLIENT.window - start))
    assert problem(refused)["status"] == 429
    assert refused.headers["Retry-After"] == wait
    assert refused.headers["RateLimit"] == f'"client";r=0;t={wait}'
    assert refused.headers["RateLimit-Policy"] == f'"client";q={PER_CLIENT.limit};w={PER_CLIENT.window}'
    assert ask(3, "192.0.2.1").status == 200  # a stored report costs nothing
    assert ask(99, "192.0.2.2").status == 200  # and the refused one holds no lease
    bench.clock.now += PER_CLIENT.window
    assert ask(100, "192.0.2.1").status == 200


def test_parley_does_not_audit_on_its_own_behalf(bench: Bench) -> None:
    agent = {"user-agent": "Parley/0.1.0 (+https://parley.example/about)"}
    assert problem(bench.get(headers=agent))["status"] == 403
    assert bench.audits == 0


def test_openapi_describes_every_path(bench: Bench) -> None:
    described = json.loads(bench.get("/openapi.json").body)
    assert set(described["paths"]) == set(bench.api.paths)


def test_two_hundred_at_once_for_twenty_origins() -> None:
    sites = {f"https://s{i}.example": Site({f"https://s{i}.example{FIRST}": served(card())}) for i in range(20)}
    audited: list[str] = []

    def audit(asked: str) -> Report:
        audited.append(asked)
        return judge(sites[asked].gather(asked))

    api = Api(SqliteStore(None), MemoryCounter())
    audience = Audience(policy="public", audit=audit, refuses=lambda _: False)
    answers: list[tuple[str, int, str]] = []
    turn = iter(range(200))

    def ask() -> None:
        url = f"https://s{next(turn) % 20}.example"
        response = api(ApiRequest(method="GET", path="/v1/audit", query={"url": url}), audience)
        answers.append((url, response.status, json.loads(response.body)["origin"]))

    _all_at_once(200, ask)
    assert sorted(audited) == sorted(sites)
    assert len(answers) == 200
    assert all(status == 200 and origin == url for url, status, origin in answers)


def test_reports_of_other_rules_are_not_seen(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.get()
    monkeypatch.setattr("parley.api.rule_set", lambda: "1-9.9.9-other")
    assert bench.get(stored="true").status == 404
    assert bench.get().headers["X-Parley-Cache"] == "miss"
    monkeypatch.undo()
    assert bench.get().headers["X-Parley-Cache"] == "hit"


def test_a_worker_that_died_is_replaced(bench: Bench) -> None:
    key = bench.api._key(bench.audience(), HOST)
    assert key is not None
    assert isinstance(bench.store.begin(key), Run)
    waited = bench.clock.now
    assert bench.get().status == 202
    assert bench.clock.now - waited >= WAIT
    assert bench.get().headers["X-Parley-Cache"] == "miss"
    assert bench.clock.now - waited <= LEASE + 1


def test_the_largest_report_fits() -> None:
    """DynamoDB keeps 400 kB, and nobody wants a megabyte: with the worst that a catalog can hold."""
    noise = random.Random(1)

    def text(length: int) -> str:
        return noise.randbytes(length).hex()[:length]

    def broken() -> dict[str, object]:
        remotes = [{"type": text(300), "url": text(300)}, {}]
        return {"$schema": text(300), "name": text(300), "version": "^1", "description": text(300), "remotes": remotes}

    links = [f"https://cards.example/{text(1900)}" for _ in range(20)]
    entries = [{"type": "application/mcp-server-card+json", "url": link} for link in links]
    inline = [{"type": "application/mcp-server-card+json", "data": broken()} for _ in range(60)]
    unlabelled = {"content_type": text(300), "access_control_allow_origin": None}
    site = Site(
        {"/.well-known/ai-catalog.json": Answer(body={"entries": entries + inline})}
        | {link: served(broken(), **unlabelled) for link in links}
    )
    bench = Bench(site)
    body = bench.get().body
    assert len(json.loads(body)["auditors"][0]["checks"]) > 300
    assert len(body) < 1_000_000
    assert len(gzip.compress(body)) < 256_000


@pytest.mark.parametrize(
    "body",
    [
        b"{}",
        b"not json",
        b"[]",
        b'{"reportVersion": "0"}',
        b'{"reportVersion": "1", "status": "GREAT", "protocols": {}}',
    ],
)
def test_a_damaged_report_is_none(body: bytes) -> None:
    badges = BadgeBench()
    key = badges.api._key(badges.audience(), HOST)
    assert key is not None
    begun = badges.store.begin(key)
    assert isinstance(begun, Run)
    badges.store.finish(key, begun.owner, body)
    assert badges.badge() == "Parley: not checked"
    assert badges.badge(protocol="mcp") == "MCP server: not checked"
    assert badges.get(stored="true").status == 404
    for format_ in ("json", "text"):
        assert badges.get(format=format_).status == 200
    assert badges.audits == 2


def test_an_outage_does_not_replace_what_was_good(bench: Bench) -> None:
    good = bench.get()
    bench.clock.now += FRESH + 1
    for status in (503, 429):
        bench.site = Site({}, default=Answer(status=status))
        assert json.loads(bench.get().body)["status"] == "FAIL"
        bench.clock.now += FAILURE_KEPT + 1
    assert bench.get(stored="true").body == good.body
    bench.site = Site({})
    bench.get()
    assert bench.get(stored="true").body != good.body


def test_an_answer_to_a_refresh_is_kept_by_no_cache(bench: Bench) -> None:
    assert bench.get(refresh="true").headers["Cache-Control"] == "no-store"
    assert bench.get(refresh="true").headers["Cache-Control"] == "no-store"
    assert bench.get().headers["Cache-Control"].startswith("public")


def test_limits_hold_without_the_store() -> None:
    bench = Bench(store=_Broken())  # type: ignore[arg-type]

    class Uncounting:
        def take(self, name: str, *, limit: int, window: int) -> int | None:
            return None

    api = Api(bench.store, Uncounting(), clock=bench.clock)
    audience = Audience(
        policy="public", audit=bench.audit, refuses=lambda _: False, quotas=((PER_CLIENT, "192.0.2.1"),)
    )
    request = ApiRequest(method="GET", path="/v1/audit", query={"url": HOST})
    statuses = [api(request, audience).status for _ in range(PER_CLIENT.limit + 1)]
    assert statuses == [200] * PER_CLIENT.limit + [429]
