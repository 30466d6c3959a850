"""The bundle by itself, under AWS's own runtime client: it answers, early, and loads no more than it needs."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from infra import cloud, tools
from infra.runtime_api import Function, http_event

TABLE = "reports"

# Each costs a cold start more than the rest of the function together, or belongs to the laptop alone.
FORBIDDEN = {
    "pydantic",
    "jsonschema",
    "cryptography",
    "joserfc",
    "rfc8785",
    "boto3.dynamodb",  # loaded with boto3's first resource
    "aws_xray_sdk",
    "rich",
    "waitress",
    "sqlite3",
    "parley.serve",
    "parley.cli",
    "parley.store.sqlite",
    "aws_lambda_powertools.event_handler.openapi.models",
}

# The function, and what it has loaded by then.
ASKED = """
import sys
from parley.handler import handler as parley

def handler(event, context):
    return sorted(sys.modules) if event == "modules" else parley(event, context)
"""


@pytest.fixture(scope="module")
def environment() -> Iterator[dict[str, str]]:
    with cloud.running() as running:
        running.call(
            "DynamoDB_20120810",
            "CreateTable",
            TableName=TABLE,
            BillingMode="PAY_PER_REQUEST",
            AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in ("origin", "variant")],
            KeySchema=[
                {"AttributeName": "origin", "KeyType": "HASH"},
                {"AttributeName": "variant", "KeyType": "RANGE"},
            ],
        )
        yield {
            "AWS_ENDPOINT_URL": running.endpoint,
            "PARLEY_TABLE": TABLE,
            "PARLEY_ABOUT": "https://parley.example/about",
            "RES_OPTIONS": "timeout:1 attempts:2",
        }


@pytest.fixture(scope="module")
def stored(environment: dict[str, str]) -> str:
    """The query of a target whose report is stored."""
    query = "url=https://parley-test.example.com/"
    with Function(tools.python("runtime"), tools.bundle(), environment=environment) as function:
        answer = function.invoke(http_event("GET", "/v1/audit", query=query))
    assert answer.payload["statusCode"] == 200, answer.payload
    return query


def test_it_answers(environment: dict[str, str]) -> None:
    with Function(tools.python("runtime"), tools.bundle(), environment=environment) as function:
        answer = function.invoke(http_event("GET", "/healthz"))
        assert not answer.failed
        assert answer.payload["statusCode"] == 200
        assert json.loads(answer.body)["status"] == "ok"
        nothing = function.invoke(http_event("GET", "/nothing/here"))
        assert nothing.payload["statusCode"] == 404
        # The laptop's API Gateway answers preflights itself; Amazon's, without CORS of its own, leaves them to us.
        preflight = function.invoke(http_event("OPTIONS", "/v1/audit", headers={"origin": "https://elsewhere.example"}))
        assert preflight.payload["statusCode"] == 204
        assert _header(preflight.payload, "Access-Control-Allow-Methods") == "GET, HEAD"


def test_the_first_answer_of_a_stored_report_comes_early(environment: dict[str, str], stored: str) -> None:
    """Far from the benchmark's limit, which is a ratio: this one catches a bundle without bytecode, or a stray import."""
    starts = []
    for _ in range(3):
        with Function(tools.python("runtime"), tools.bundle(), environment=environment) as function:
            answer = function.invoke(http_event("GET", "/v1/audit", query=stored))
        assert _header(answer.payload, "X-Parley-Cache") == "hit"
        starts.append(answer.since_start)
    assert min(starts) < 3, starts


def test_a_stored_report_loads_nothing_forbidden(environment: dict[str, str], stored: str, tmp_path: Path) -> None:
    (tmp_path / "asked.py").write_text(ASKED)
    told = {**environment, "PYTHONPATH": str(tmp_path)}
    with Function(tools.python("runtime"), tools.bundle(), handler="asked.handler", environment=told) as function:
        answer = function.invoke(http_event("GET", "/v1/audit", query=stored))
        loaded = set(function.invoke("modules").payload)
    assert _header(answer.payload, "X-Parley-Cache") == "hit"
    assert {"parley.handler", "parley.api", "botocore.client"} <= loaded
    assert {name for name in loaded if name in FORBIDDEN or name.partition(".")[0] in FORBIDDEN} == set()


def _header(payload: dict[str, dict[str, str]], name: str) -> str | None:
    return {key.lower(): value for key, value in payload["headers"].items()}.get(name.lower())
