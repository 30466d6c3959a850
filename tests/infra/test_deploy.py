"""Deployed for real, on the laptop's cloud: synthesis, ``cdk deploy``, then HTTP through its API Gateway."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import pytest
import requests

from infra import tools
from infra.cloud import Cloud, Deployment, running

# Public by its name, so the policy lets it pass; nothing answers there, here or elsewhere (RFC 2606).
TARGET = "https://parley-test.example.com"


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """The deployed service, and the cloud it is in."""

    cloud: Cloud
    deployment: Deployment

    def get(self, path: str, **headers: str) -> requests.Response:
        return requests.get(f"{self.deployment.api}{path}", headers=headers, timeout=40)

    def audit(self, url: str, more: str = "", **headers: str) -> requests.Response:
        return self.get(f"/v1/audit?url={quote(url, safe='')}{more}", **headers)


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with running() as cloud:
        yield Service(cloud=cloud, deployment=cloud.deploy(tmp_path_factory.mktemp("deploy")))


def test_it_is_alive(service: Service) -> None:
    answer = service.get("/healthz")
    assert answer.status_code == 200, service.cloud.log[-4000:]
    assert answer.json()["status"] == "ok"
    assert answer.headers["Cache-Control"] == "no-store"


def test_the_function_is_the_bundle_as_configured(service: Service) -> None:
    url = f"{service.cloud.endpoint}/2015-03-31/functions/parley"
    config = requests.get(url, timeout=30).json()["Configuration"]
    assert config["Runtime"] == "python3.13"
    assert config["Timeout"] == 28
    assert config["MemorySize"] == 512
    assert config["Architectures"] == [tools.OWN_ARCHITECTURE]
    assert config["Environment"]["Variables"]["PARLEY_TABLE"] == service.deployment.outputs["TableName"]
    assert config["CodeSize"] < 12_000_000


def test_the_catalogue_is_served(service: Service) -> None:
    answer = service.get("/v1/checks")
    assert answer.status_code == 200
    assert len(answer.json()["checks"]) > 15
    assert answer.headers["Access-Control-Allow-Origin"] == "*"


def test_what_may_not_be_audited_is_refused(service: Service) -> None:
    for url in ("ftp://x", "https://nosuch.invalid", "http://127.0.0.1:8080", "http://169.254.169.254/latest"):
        answer = service.audit(url)
        assert answer.status_code == 400, url
        assert answer.headers["Content-Type"] == "application/problem+json"
        assert answer.json()["report"]["status"] == "FAIL"


def test_an_audit_is_kept_and_cools_down(service: Service) -> None:
    first = service.audit(TARGET)
    assert first.status_code == 200, first.text
    assert first.headers["X-Parley-Cache"] == "miss"
    assert "X-Parley-Store" not in first.headers, f"not kept:\n{service.cloud.log[-4000:]}"
    assert first.json()["origin"] == TARGET
    again = service.audit(f"{TARGET}/")
    assert again.headers["X-Parley-Cache"] == "hit"
    assert again.json() == first.json()
    pressed = service.audit(TARGET, "&refresh=true")
    assert pressed.status_code == 200
    assert 1 <= int(pressed.headers["Retry-After"]) <= 60
    assert pressed.json() == first.json()
    text = service.audit(TARGET, Accept="text/plain")
    assert text.headers["Content-Type"].startswith("text/plain")


def test_the_table_holds_it_under_its_origin_until_it_expires(service: Service) -> None:
    service.audit(TARGET)
    table = service.deployment.outputs["TableName"]
    items = service.cloud.call("DynamoDB_20120810", "Scan", TableName=table)["Items"]
    (item,) = (item for item in items if item["origin"]["S"] == TARGET)
    assert item["variant"]["S"].startswith("/")
    assert int(item["expires"]["N"]) > 0


def test_a_badge_is_a_picture_and_starts_nothing(service: Service) -> None:
    never = "https://never-audited.example.com"
    badge = service.get(f"/badge?url={never}&style=flat-square")
    assert badge.status_code == 200
    assert badge.headers["Content-Type"] == "image/svg+xml"
    assert badge.headers["Cache-Control"] == "public, max-age=300, s-maxage=300"
    assert "not checked" in badge.text
    assert service.get(f"/badge.json?url={never}").json()["message"] == "not checked"
    assert service.audit(never, "&stored=true").status_code == 404


def test_an_unknown_path_is_the_functions_to_answer(service: Service) -> None:
    answer = service.get("/nothing/here")
    assert answer.status_code == 404
    assert answer.headers["Content-Type"] == "application/problem+json"


def test_the_functions_log_holds_no_query(service: Service) -> None:
    service.audit(f"{TARGET}/?token=sesame")
    logged = _logged(service)
    assert "answered" in logged, "the log is not where this test looks"
    assert "sesame" not in logged


def test_a_second_deployment_of_the_same_sources_changes_nothing(service: Service, tmp_path: Path) -> None:
    again = service.cloud.deploy(tmp_path)
    assert service.deployment.changed
    assert not again.changed
    assert again.outputs == service.deployment.outputs


def _logged(service: Service) -> str:
    """All that the function has written to its log group, once it is there."""
    group = "/aws/lambda/parley"
    streams = service.cloud.call("Logs_20140328", "DescribeLogStreams", logGroupName=group)["logStreams"]
    return "\n".join(
        event["message"]
        for stream in streams
        for event in service.cloud.call(
            "Logs_20140328", "GetLogEvents", logGroupName=group, logStreamName=stream["logStreamName"]
        )["events"]
    )
