"""The Lambda function's wiring: events in, answers out, with a store in memory in the engine's place."""

import base64
import json
import logging
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from parley.report import Report
from parley.store.memory_counter import MemoryCounter
from parley.store.sqlite import SqliteStore
from servers import environment


@pytest.fixture(scope="module")
def lambda_module() -> Iterator[Any]:
    # With an endpoint of its own it does not bar this whole process from loopback; see test_guard.
    before = dict(os.environ)
    os.environ |= {
        "AWS_ENDPOINT_URL": "http://127.0.0.1:9", "AWS_DEFAULT_REGION": "eu-west-1", "PARLEY_TABLE": "reports",
        "PARLEY_HOSTS": "parley.example.org", "PARLEY_OPT_OUT": "quiet.example.org",
    }  # fmt: skip
    import parley.handler

    yield parley.handler
    product = logging.getLogger("parley")
    product.handlers, product.propagate = [], True
    product.setLevel(logging.NOTSET)
    os.environ.clear()
    os.environ.update(before)


@pytest.fixture
def handler(lambda_module: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    store = SqliteStore(None)
    monkeypatch.setattr(lambda_module, "DynamoStore", lambda table, client: store)
    monkeypatch.setattr(lambda_module, "DynamoCounter", lambda table, client: MemoryCounter())
    for made in (lambda_module._api, lambda_module._counter, lambda_module._client):
        made.cache_clear()
    yield lambda_module
    for made in (lambda_module._api, lambda_module._counter, lambda_module._client):
        made.cache_clear()
    store.close()


@pytest.fixture
def audits(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Audits go no further than to be listed: nothing of the internet is there."""
    from parley.audit import judge
    from sites import Site

    asked: list[str] = []

    def audit(url: str, open_door: object, *, origin: str) -> Report:
        asked.append(url)
        return judge(Site({}).gather(url))

    monkeypatch.setattr("parley.audit.audit", audit)
    return asked


def event(
    path: str, query: str = "", *, method: str = "GET", body: str | None = None, encoded: bool = False, **headers: str
) -> dict[str, Any]:
    return {
        "version": "2.0", "routeKey": "$default", "rawPath": path, "rawQueryString": query,
        "headers": {name.replace("_", "-"): value for name, value in headers.items()},
        "requestContext": {
            "domainName": "abc123.execute-api.eu-west-1.amazonaws.com", "requestId": "r1", "stage": "$default",
            "http": {"method": method, "path": path, "sourceIp": "192.0.2.9", "protocol": "HTTP/1.1", "userAgent": "x"},
        },
        "body": body, "isBase64Encoded": encoded,
    }  # fmt: skip


CONTEXT = SimpleNamespace(
    function_name="parley", memory_limit_in_mb=512, invoked_function_arn="arn:aws:lambda:eu-west-1:000000000000:function:parley",
    aws_request_id="r1", get_remaining_time_in_millis=lambda: 28_000,
)  # fmt: skip


def call(handler: Any, path: str, query: str = "", **more: Any) -> tuple[int, dict[str, str], Any]:
    answer = handler.handler(event(path, query, **more), CONTEXT)
    assert not answer.get("isBase64Encoded")
    headers = {name.lower(): value for name, value in answer["headers"].items()}
    body = answer["body"]
    return (
        answer["statusCode"],
        headers,
        json.loads(body) if body and "json" in headers.get("content-type", "") else body,
    )


def test_health_and_checks(handler: Any) -> None:
    assert call(handler, "/healthz")[2]["status"] == "ok"
    status, headers, body = call(handler, "/v1/checks")
    assert (status, headers["access-control-allow-origin"]) == (200, "*")
    assert body["checks"]


def test_miss_and_hit(handler: Any, audits: list[str]) -> None:
    for cache in ("miss", "hit"):
        status, headers, body = call(handler, "/v1/audit", "url=https%3A%2F%2Fweather.example.com")
        assert (status, headers["x-parley-cache"], body["status"]) == (200, cache, "FAIL")
    assert audits == ["https://weather.example.com"]
    etag = headers["etag"]
    assert call(handler, "/v1/audit", "url=weather.example.com", if_none_match=etag)[0] == 304


def test_post_in_base64(handler: Any, audits: list[str]) -> None:
    raw = base64.b64encode(json.dumps({"url": "https://weather.example.com"}).encode()).decode()
    assert call(handler, "/v1/audit", method="POST", body=raw, encoded=True, content_type="application/json")[0] == 200
    bad = base64.b64encode(b"\xff\xfe").decode()
    status, headers, body = call(
        handler, "/v1/audit", method="POST", body=bad, encoded=True, content_type="application/json"
    )
    assert (status, headers["content-type"], body["title"]) == (400, "application/problem+json", "Bad body")


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("ftp://x", "is not an http(s) URL"),
        ("http://169.254.169.254/", "which this service does not visit"),
        ("http://127.0.0.1:9001/", "which this service does not visit"),
        ("http://localhost/", "only makes sense inside a network"),
        ("https://abc123.execute-api.eu-west-1.amazonaws.com/", "is this service's own address"),
        ("https://parley.example.org/", "is this service's own address"),
        ("https://deep.quiet.example.org/", "asked not to be visited"),
        ("https://example.com:22/", "is on port 22"),
    ],
)
def test_refused(handler: Any, url: str, reason: str) -> None:
    status, headers, body = call(handler, "/v1/audit", f"url={url}")
    assert (status, headers["content-type"]) == (400, "application/problem+json")
    assert reason in body["detail"]
    assert body["report"]["status"] == "FAIL"


def test_unknown_path_method_and_badge(handler: Any) -> None:
    assert call(handler, "/nothing")[1]["content-type"] == "application/problem+json"
    assert call(handler, "/v1/audit", method="DELETE")[0] == 405
    status, headers, body = call(handler, "/badge", "url=https://weather.example.com")
    assert (status, headers["content-type"]) == (200, "image/svg+xml")
    assert "not checked" in body


def test_refresh_event(handler: Any, audits: list[str]) -> None:
    call(handler, "/v1/audit", "url=https://weather.example.com")
    handler._api()._clock = lambda: 9e9  # long after
    handler._api()._store._clock = lambda: 9e9
    assert handler.handler({"parley": "refresh", "url": "https://weather.example.com/"}, CONTEXT) == {}
    assert len(audits) == 2


@pytest.mark.parametrize(
    ("viewer", "caller", "names"),
    [
        (None, "192.0.2.9", ["192.0.2.9"]),
        ("198.51.100.7:4711", "192.0.2.9", ["198.51.100.7 by 192.0.2.9", "192.0.2.9"]),
        ("2001:db8:1:2:3:4:5:6:4711", "192.0.2.9", ["2001:db8:1:2::/64 by 192.0.2.9", "192.0.2.9"]),
        ("nonsense:1", "2001:db8::1", ["unreadable by 2001:db8::/64", "2001:db8::/64"]),
    ],
)
def test_who_is_counted(handler: Any, viewer: str | None, caller: str, names: list[str]) -> None:
    one = event("/v1/audit", **({"cloudfront_viewer_address": viewer} if viewer else {}))
    one["requestContext"]["http"]["sourceIp"] = caller
    assert [whom for _, whom in handler._quotas(one)] == names


def test_a_burst_from_one_network_is_429(handler: Any, audits: list[str]) -> None:
    statuses = [
        call(handler, "/v1/audit", f"url=https://w{i}.example.com", cloudfront_viewer_address=f"2001:db8::{i}:1")[0]
        for i in range(25)
    ]
    assert statuses.count(200) in range(20, 25)  # a window may have ended in between
    assert 429 in statuses


def test_logs_are_one_json_line_each_and_hold_no_secret(
    handler: Any, audits: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(handler.logger.registered_handler, "stream", sys.stdout)
    call(handler, "/v1/audit", "url=https://ann:hunter2@weather.example.com/&x=hunter2", cookie="hunter2")
    call(handler, "/v1/audit", "url=https://weather.example.com/%0aforged")
    call(handler, "/v1/audit", "url=https://weather.example.com/%2523")
    out = capsys.readouterr().out
    assert "hunter2" not in out
    lines = [json.loads(line) for line in out.splitlines()]
    assert any(line.get("message") == "answered" and line["status"] == 400 for line in lines)
    assert any("_aws" in line for line in lines)  # the metrics
    (audited,) = (line for line in lines if line.get("message") == "audited")
    assert audited["host"] == "https://weather.example.com"
    assert "37A-McpServerCardAuditor-400" in audited["codes"]
    assert audited["durationMs"] >= 0


def test_a_crash_of_ours_is_counted(
    handler: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def crash(*_: object, **__: object) -> None:
        raise RuntimeError("no")

    monkeypatch.setattr("parley.audit.audit", crash)
    monkeypatch.setattr(handler.logger.registered_handler, "stream", sys.stdout)
    assert call(handler, "/v1/audit", "url=https://weather.example.com")[0] == 500
    metrics = [line for line in map(json.loads, capsys.readouterr().out.splitlines()) if "_aws" in line]
    assert any(line.get("InternalError") for line in metrics)


FORBIDDEN = {
    "pydantic",
    "jsonschema",
    "cryptography",
    "joserfc",
    "rfc8785",
    "redact_secret",
    "boto3.resources",
    "rich",
    "waitress",
    "requests",
    "idna",
    "sqlite3",
}


def test_the_cold_path_is_lean() -> None:
    """What answers a stored report loads none of these."""
    script = "import sys, parley.handler; print('\\n'.join(sys.modules))"
    env = environment() | {"AWS_ENDPOINT_URL": "http://127.0.0.1:9", "PARLEY_TABLE": "t", "PYTHONWARNINGS": "default"}
    loaded = set(
        subprocess.run(
            [sys.executable, "-c", script], env=env, capture_output=True, text=True, check=True
        ).stdout.split()
    )
    assert {name for name in FORBIDDEN if name in loaded} == set()


def test_the_runtime_api_is_out_of_reach() -> None:
    script = """
import os
os.environ.pop("AWS_ENDPOINT_URL", None)
os.environ["PARLEY_TABLE"] = "t"
import parley.handler, socket
try:
    socket.create_connection(("127.0.0.1", 9001), timeout=1)
except RuntimeError as error:
    print(error)
"""
    ended = subprocess.run(
        [sys.executable, "-c", script],
        env=environment() | {"PYTHONWARNINGS": "default"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "a loopback address" in ended.stdout


def test_a_table_that_is_down_is_said_and_the_audit_answers(
    lambda_module: Any, audits: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The real store, at an endpoint where nobody listens."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "x")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "x")
    for made in (lambda_module._api, lambda_module._counter, lambda_module._client):
        made.cache_clear()
    monkeypatch.setattr(lambda_module.logger.registered_handler, "stream", sys.stdout)
    status, headers, body = call(lambda_module, "/v1/audit", "url=https://weather.example.com")
    assert (status, headers["x-parley-store"], body["status"]) == (200, "unavailable", "FAIL")
    assert audits == ["https://weather.example.com"]
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert any(line.get("StoreUnavailable") for line in lines if "_aws" in line)
    assert any(line.get("level") == "WARNING" for line in lines)
    for made in (lambda_module._api, lambda_module._counter, lambda_module._client):
        made.cache_clear()


def test_a_badge_has_the_function_call_itself_later(
    handler: Any, audits: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[dict[str, Any]] = []
    client = SimpleNamespace(invoke=lambda **call: calls.append(call))
    monkeypatch.setattr("boto3.client", lambda service: client if service == "lambda" else None)
    monkeypatch.setenv("AWS_LAMBDA_FUNCTION_NAME", "parley")
    call(handler, "/v1/audit", "url=https://weather.example.com/mcp")
    later = time.time() + 2 * 86_400
    handler._api()._clock = lambda: later
    handler._api()._store._clock = lambda: later
    for _ in range(3):
        assert "fail" in call(handler, "/badge", "url=https://weather.example.com/mcp")[2]
    (one,) = calls
    assert (one["FunctionName"], one["InvocationType"]) == ("parley", "Event")
    assert handler.handler(json.loads(one["Payload"]), CONTEXT) == {}
    assert audits == ["https://weather.example.com/mcp"] * 2


@pytest.mark.parametrize(
    "change", [{"headers": None}, {"body": "!", "isBase64Encoded": True}, {"rawPath": "/a\nb"}, {"body": None}]
)
@pytest.mark.parametrize("method", ["GET", "POST", "TRACE", "PROPFIND"])
def test_odd_events_are_answered(handler: Any, method: str, change: dict[str, Any]) -> None:
    one = event("/v1/checks", method=method) | change
    answer = handler.handler(one, CONTEXT)
    assert answer["statusCode"] in (200, 404, 405)
    if answer["statusCode"] != 200:
        headers = {name.lower(): value for name, value in answer["headers"].items()}
        assert headers["content-type"] == "application/problem+json"


def test_an_audit_is_not_begun_without_time_for_it(handler: Any, audits: list[str]) -> None:
    hurried = SimpleNamespace(**vars(CONTEXT) | {"get_remaining_time_in_millis": lambda: 9_000})
    answer = handler.handler(event("/v1/audit", "url=https://weather.example.com"), hurried)
    assert (answer["statusCode"], answer["headers"]["Retry-After"]) == (202, "1")
    assert audits == []
    assert call(handler, "/v1/audit", "url=https://weather.example.com")[0] == 200
