"""The Lambda function's entry point: reads the environment, wires the parts, nothing else."""

import base64
import json
import logging
import os
from functools import cache
from ipaddress import ip_address, ip_network
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qsl

from aws_lambda_powertools import Logger, Metrics
from aws_lambda_powertools.event_handler import APIGatewayHttpResolver, Response
from aws_lambda_powertools.logging import correlation_paths
from aws_lambda_powertools.metrics import MetricUnit

from parley.api import PER_CALLER, PER_CLIENT, Api, ApiRequest, Audience, Quota
from parley.fetch.guard import guard_process
from parley.fetch.policy import ABOUT, DEPLOYED, Limits, user_agent
from parley.service import audience
from parley.store.dynamodb import Client, DynamoCounter, DynamoStore
from parley.wire.url import Url

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.typing import LambdaContext

SPARE: Final = 5.0
"""Seconds of the function's time that an audit leaves, to store its report and to answer."""

ENOUGH: Final = 18.0
"""Seconds without which an audit is not begun: it would be cut short, and its stump kept as the site's report."""

logger = Logger(service="parley")
metrics = Metrics(namespace="Parley", service="parley")
# It holds one event at a time, in a class attribute; that is how many a Lambda process is given.
app = APIGatewayHttpResolver()


class _CountErrors(logging.Handler):
    """What the product logs as an error is a fault of its own: there is an alarm on their number."""

    def emit(self, record: logging.LogRecord) -> None:
        metrics.add_metric(name="InternalError", unit=MetricUnit.Count, value=1)


_product = logging.getLogger("parley")
_product.setLevel(logging.INFO)
_product.handlers = [logger.registered_handler, _CountErrors(level=logging.ERROR)]
_product.propagate = False


# A cloud on a laptop has its engines on loopback; the real one has nothing there but other people's events.
if "AWS_ENDPOINT_URL" not in os.environ:
    guard_process()


@logger.inject_lambda_context(correlation_id_path=correlation_paths.API_GATEWAY_HTTP)
@metrics.log_metrics(capture_cold_start_metric=True)
def handler(event: dict[str, Any], context: "LambdaContext") -> dict[str, Any]:
    """Answer an HTTP API event (payload 2.0), or do the refresh that a badge had queued."""
    match event:
        case {"parley": "refresh", "url": str(url)}:
            metrics.add_metric(name="Refresh", unit=MetricUnit.Count, value=1)
            _api().refresh(url, _audience({}, context))
            return {}
    metrics.add_metric(name="Request", unit=MetricUnit.Count, value=1)
    return app.resolve(event, context)


@app.not_found
def _no_route(_: Exception) -> Response[str]:
    return _every_route()


@app.route(".*", method=["GET", "HEAD", "POST", "OPTIONS", "PUT", "PATCH", "DELETE"])
def _every_route() -> Response[str]:
    event: dict[str, Any] = app.current_event.raw_event
    answer = _api()(_request(event), _audience(event, app.lambda_context))
    headers = dict(answer.headers)
    headers.pop("Content-Length", None)  # API Gateway counts for itself
    if headers.get("X-Parley-Cache") == "miss":
        metrics.add_metric(name="Audit", unit=MetricUnit.Count, value=1)
    if "X-Parley-Store" in headers:
        metrics.add_metric(name="StoreUnavailable", unit=MetricUnit.Count, value=1)
    route = event["rawPath"] if event["rawPath"] in _api().paths else "other"
    logger.info("answered", route=route, status=answer.status, cache=headers.get("X-Parley-Cache"))
    return Response(
        status_code=answer.status,
        content_type=headers.pop("Content-Type", None),
        headers=headers,
        body=answer.body.decode("utf-8"),
    )


@cache
def _client() -> Client:
    return Client()  # one for both, so that what one learns of a table that is down spares the other


@cache
def _counter() -> DynamoCounter:
    return DynamoCounter(os.environ["PARLEY_TABLE"], client=_client())


@cache
def _api() -> Api:
    return Api(DynamoStore(os.environ["PARLEY_TABLE"], client=_client()), _counter(), queue=_queue)


def _audience(event: dict[str, Any], context: "LambdaContext") -> Audience:
    about = os.environ.get("PARLEY_ABOUT") or ABOUT
    own = _names("PARLEY_HOSTS") | {event.get("requestContext", {}).get("domainName", "").lower()} - {""}
    return audience(
        "public",
        DEPLOYED._replace(deny_hosts=own, opted_out=_names("PARLEY_OPT_OUT"), user_agent=user_agent(about)),
        counter=_counter(),
        quotas=_quotas(event),
        origin=Url.parse(about).origin,
        limits=lambda: Limits().ending_within(_seconds_left(context)),
        has_time=lambda: _seconds_left(context) >= ENOUGH,
    )


def _seconds_left(context: "LambdaContext") -> float:
    return max(0.0, context.get_remaining_time_in_millis() / 1000 - SPARE)


def _quotas(event: dict[str, Any]) -> tuple[tuple[Quota, str], ...]:
    """Whom an audit is counted by: the viewer that CloudFront names, and the address that called this API.

    Whoever calls the API itself may write CloudFront's header, so the viewer never counts alone.
    """
    caller = event.get("requestContext", {}).get("http", {}).get("sourceIp")
    if not caller:
        return ()  # this function itself, for a badge
    viewer = _headers(event).get("cloudfront-viewer-address", "").rpartition(":")[0]
    if not viewer:
        return ((PER_CLIENT, _network(caller)),)
    # By both together, so that a forged viewer costs the real one nothing.
    return ((PER_CLIENT, f"{_network(viewer)} by {_network(caller)}"), (PER_CALLER, _network(caller)))


def _network(address: str) -> str:
    """What one client has addresses in: the address itself, or in IPv6 the /64 around it."""
    try:
        parsed = ip_address(address.strip("[]"))
    except ValueError:
        return "unreadable"
    return str(ip_network((parsed, 64), strict=False)) if parsed.version == 6 else str(parsed)


def _names(variable: str) -> frozenset[str]:
    return frozenset(name.strip().lower() for name in os.environ.get(variable, "").split(",") if name.strip())


def _queue(url: str) -> None:
    """Call this function again, later and by itself, for a badge's refresh."""
    import boto3

    boto3.client("lambda").invoke(
        FunctionName=os.environ["AWS_LAMBDA_FUNCTION_NAME"],
        InvocationType="Event",
        Payload=json.dumps({"parley": "refresh", "url": url}).encode(),
    )


def _request(event: dict[str, Any]) -> ApiRequest:
    query: dict[str, str] = {}
    for name, value in parse_qsl(event.get("rawQueryString", ""), keep_blank_values=True, errors="replace"):
        query.setdefault(name, value)
    body = event.get("body") or ""
    try:
        raw = base64.b64decode(body) if event.get("isBase64Encoded") else body.encode("utf-8")
    except ValueError:
        raw = b"\xff"  # no text, as the API will say
    return ApiRequest(
        method=event["requestContext"]["http"]["method"],
        path=event["rawPath"],
        query=query,
        headers=_headers(event),
        body=raw,
    )


def _headers(event: dict[str, Any]) -> dict[str, str]:
    return {name.lower(): value for name, value in (event.get("headers") or {}).items()}
