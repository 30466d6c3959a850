"""The template says what the service promises. What no template checker sees is asserted here."""

import json
from typing import Any

import pytest

from infra import tools
from infra.synth import Json, Synthesized, synthesize
from parley import serve
from parley.fetch.policy import Limits
from parley.store import LEASE

PATHS = {"/v1/*", "/badge*", "/openapi.json", "/healthz"}


@pytest.fixture(scope="module")
def stack() -> Synthesized:
    return synthesize()


# --- the function ---


def test_function_is_what_was_promised(stack: Synthesized) -> None:
    function = stack.function()
    assert function["Runtime"] == "python3.13"
    assert function["Architectures"] == ["arm64"]
    assert function["MemorySize"] == 512
    assert function["FunctionName"] == "parley"
    assert "VpcConfig" not in function, "outside a VPC there is nothing private to reach but loopback"
    assert "TracingConfig" not in function, "X-Ray would record the URLs that people have audited"


def test_time_limits_nest(stack: Synthesized) -> None:
    """An audit ends before its function, the function before API Gateway gives up, that before CloudFront does."""
    function = stack.function()["Timeout"]
    gateway = stack.only("AWS::ApiGatewayV2::Integration")["TimeoutInMillis"] / 1000
    (cloudfront,) = (
        origin["CustomOriginConfig"]["OriginReadTimeout"]
        for origin in _origins(stack)
        if "CustomOriginConfig" in origin
    )
    assert Limits().audit_seconds + 5 <= function < gateway < cloudfront
    assert function < LEASE, "else a second audit could start while the first still runs"
    assert gateway <= 30, "API Gateway's own limit"


def test_environment_is_the_contract(stack: Synthesized) -> None:
    (table,) = stack.resources("AWS::DynamoDB::Table")
    assert _variables(stack) == {
        "PARLEY_TABLE": {"Ref": table},
        "PARLEY_ABOUT": "https://parley.example/about",
        "RES_OPTIONS": "timeout:1 attempts:2",
        "POWERTOOLS_SERVICE_NAME": "parley",
        "POWERTOOLS_METRICS_NAMESPACE": "Parley",
    }


def test_operators_choices_reach_the_function() -> None:
    stack = synthesize(
        name="my-parley",
        architecture="x86_64",
        about="https://audit.example.org/about",
        hosts="Audit.Example.org, www.example.org",
        opt_out="shy.example",
        reserved_concurrency="10",
    )
    function, variables = stack.function(), _variables(stack)
    assert function["FunctionName"] == "my-parley"
    assert function["Architectures"] == ["x86_64"]
    assert function["ReservedConcurrentExecutions"] == 10
    assert variables["PARLEY_ABOUT"] == "https://audit.example.org/about"
    assert variables["PARLEY_HOSTS"] == "audit.example.org,www.example.org"
    assert variables["PARLEY_OPT_OUT"] == "shy.example"
    assert stack.only("AWS::ApiGatewayV2::Api")["Name"] == "my-parley"
    assert _statements(stack)[1][1].endswith(":function:my-parley")


def test_no_concurrency_is_reserved_unless_asked(stack: Synthesized) -> None:
    assert "ReservedConcurrentExecutions" not in stack.function(), "a new account's quota may be too low for any"


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("architecture", "arm"),
        ("name", "parley/../x"),
        ("about", "not a URL"),
        ("hosts", "https://example.org"),
        ("opt_out", "shy.example,,*"),
        ("reserved_concurrency", "-1"),
        ("reserved_concurrency", "many"),
        ("page", "maybe"),
        ("alarm_topic", "me@example.org"),
    ],
)
def test_a_wrong_choice_is_refused_by_name(setting: str, value: str) -> None:
    with pytest.raises(ValueError, match=f"context value {setting}:"):
        synthesize(**{setting: value})


def test_a_refresh_is_tried_once(stack: Synthesized) -> None:
    """Lambda would ask twice more for an asynchronous invocation that failed: two more visits to the target."""
    config = stack.only("AWS::Lambda::EventInvokeConfig")
    assert config["MaximumRetryAttempts"] == 0
    assert config["MaximumEventAgeInSeconds"] <= 300


# --- what the function may do ---


def test_the_role_may_do_exactly_this(stack: Synthesized) -> None:
    (table,), (log,) = stack.resources("AWS::DynamoDB::Table"), _own_log(stack)
    assert _statements(stack) == [
        (["dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:UpdateItem"], f"<{table}.Arn>"),
        (["lambda:InvokeFunction"], "arn:<AWS::Partition>:lambda:<AWS::Region>:<AWS::AccountId>:function:parley"),
        (["logs:CreateLogStream", "logs:PutLogEvents"], f"<{log}.Arn>"),
    ]


def test_nothing_else_gives_the_role_rights(stack: Synthesized) -> None:
    role_id, role = _role(stack)
    assert "ManagedPolicyArns" not in role
    assert len(role["Policies"]) == 1
    others = [*stack.resources("AWS::IAM::Policy").values(), *stack.resources("AWS::IAM::ManagedPolicy").values()]
    assert not [policy for policy in others if role_id in json.dumps(policy.get("Roles", []))]
    grants = [kind for kind in stack.template["Resources"].values() if kind["Type"].endswith(("Policy", "Permission"))]
    assert not [grant for grant in grants if role_id in json.dumps(grant["Properties"].get("PolicyDocument", {}))]


def test_only_the_api_may_invoke_the_function(stack: Synthesized) -> None:
    permission = stack.only("AWS::Lambda::Permission")
    (api,) = stack.resources("AWS::ApiGatewayV2::Api")
    assert permission["Principal"] == "apigateway.amazonaws.com"
    assert _text(permission["SourceArn"]).endswith(f":<{api}>/*/*")
    assert not stack.resources("AWS::Lambda::Url")


# --- the table ---


def test_table_keys_are_defined(stack: Synthesized) -> None:
    table = stack.only("AWS::DynamoDB::Table")
    assert table["KeySchema"] == [
        {"AttributeName": "origin", "KeyType": "HASH"},
        {"AttributeName": "variant", "KeyType": "RANGE"},
    ]
    assert table["AttributeDefinitions"] == [
        {"AttributeName": "origin", "AttributeType": "S"},
        {"AttributeName": "variant", "AttributeType": "S"},
    ]


def test_table_expires_costs_by_use_and_goes_with_the_stack(stack: Synthesized) -> None:
    (resource,) = (r for r in stack.template["Resources"].values() if r["Type"] == "AWS::DynamoDB::Table")
    table = resource["Properties"]
    assert table["TimeToLiveSpecification"] == {"AttributeName": "expires", "Enabled": True}
    assert table["BillingMode"] == "PAY_PER_REQUEST"
    # 400 units are one item of the largest size (400 kB): a lower ceiling might never let it through.
    assert 400 <= table["OnDemandThroughput"]["MaxWriteRequestUnits"] <= 1000
    assert 400 <= table["OnDemandThroughput"]["MaxReadRequestUnits"] <= 1000
    assert resource["DeletionPolicy"] == "Delete"
    for absent in ("PointInTimeRecoverySpecification", "StreamSpecification", "GlobalSecondaryIndexes", "TableName"):
        assert absent not in table


# --- the API ---


def test_api_sends_payload_2_0_for_every_path(stack: Synthesized) -> None:
    integration = stack.only("AWS::ApiGatewayV2::Integration")
    assert integration["PayloadFormatVersion"] == "2.0"
    assert integration["IntegrationType"] == "AWS_PROXY"
    assert stack.only("AWS::ApiGatewayV2::Route")["RouteKey"] == "$default"


def test_api_is_throttled_and_leaves_cors_to_the_function(stack: Synthesized) -> None:
    stage, api = stack.only("AWS::ApiGatewayV2::Stage"), stack.only("AWS::ApiGatewayV2::Api")
    assert stage["StageName"] == "$default"
    assert stage["AutoDeploy"] is True
    assert stage["DefaultRouteSettings"] == {"ThrottlingRateLimit": 20, "ThrottlingBurstLimit": 40}
    assert "AccessLogSettings" not in stage, "it would keep viewers' addresses"
    assert "CorsConfiguration" not in api, "API Gateway would answer preflights in the function's place"
    assert not api.get("DisableExecuteApiEndpoint"), "CloudFront comes by it"


# --- the page and the CDN ---


def test_bucket_is_closed_but_to_this_distribution(stack: Synthesized) -> None:
    bucket = stack.only("AWS::S3::Bucket")
    assert set(bucket["PublicAccessBlockConfiguration"].values()) == {True}
    assert "WebsiteConfiguration" not in bucket
    statements = stack.only("AWS::S3::BucketPolicy")["PolicyDocument"]["Statement"]
    (plain,) = (s for s in statements if s["Effect"] == "Deny")
    assert plain["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}
    (read,) = (s for s in statements if s["Principal"].get("Service") == "cloudfront.amazonaws.com")
    (distribution,) = stack.resources("AWS::CloudFront::Distribution")
    assert set(read["Action"]) == {"s3:GetObject", "s3:ListBucket"}
    assert _text(read["Condition"]["StringEquals"]["AWS:SourceArn"]).endswith(f":distribution/<{distribution}>")
    assert (
        stack.only("AWS::CloudFront::OriginAccessControl")["OriginAccessControlConfig"]["SigningBehavior"] == "always"
    )


def test_one_host_serves_the_page_and_the_api(stack: Synthesized) -> None:
    config = _distribution(stack)
    origins = {origin["Id"]: origin for origin in config["Origins"]}
    assert config["DefaultRootObject"] == "index.html"
    assert "S3OriginConfig" in origins[config["DefaultCacheBehavior"]["TargetOriginId"]]
    behaviors = {behavior["PathPattern"]: behavior for behavior in config["CacheBehaviors"]}
    assert set(behaviors) == PATHS
    for behavior in behaviors.values():
        origin = origins[behavior["TargetOriginId"]]
        assert ".execute-api." in _text(origin["DomainName"])
        assert origin["CustomOriginConfig"]["OriginProtocolPolicy"] == "https-only"
    assert "POST" in behaviors["/v1/*"]["AllowedMethods"]
    for behavior in (config["DefaultCacheBehavior"], *behaviors.values()):
        assert behavior["ViewerProtocolPolicy"] == "redirect-to-https"
        assert behavior["Compress"] is True


def test_cache_keeps_apart_what_the_api_tells_apart(stack: Synthesized) -> None:
    """The answer to a GET depends on path, query, Accept, and whether a page embeds it; CloudFront reads no Vary."""
    key = stack.policy("CachePolicy", "ApiCache")["ParametersInCacheKeyAndForwardedToOrigin"]
    assert key["HeadersConfig"] == {"HeaderBehavior": "whitelist", "Headers": ["Accept", "Sec-Fetch-Dest"]}
    assert key["QueryStringsConfig"] == {"QueryStringBehavior": "all"}
    assert key["CookiesConfig"] == {"CookieBehavior": "none"}
    for behavior in _distribution(stack)["CacheBehaviors"]:
        assert set(behavior["CachedMethods"]) == {"GET", "HEAD"}, "a kept OPTIONS would mix up methods"


def test_caching_is_the_origins_to_say(stack: Synthesized) -> None:
    policy = stack.policy("CachePolicy", "ApiCache")
    assert policy["MinTTL"] == 0
    assert policy["DefaultTTL"] == 0
    errors = {error["ErrorCode"]: error for error in _distribution(stack)["CustomErrorResponses"]}
    for status in (404, 500, 502, 503, 504):
        assert errors.pop(status) == {"ErrorCode": status, "ErrorCachingMinTTL": 0}, "kept for 10 s otherwise"
    assert not errors, "a page in place of an error would hide the API's own answers"


def test_a_slow_audit_is_not_started_again(stack: Synthesized) -> None:
    (origin,) = (origin for origin in _origins(stack) if "CustomOriginConfig" in origin)
    assert origin["ConnectionAttempts"] == 1, "CloudFront asks anew after its time-out, up to three times"
    assert "OriginCustomHeaders" not in origin, "there is no secret between CloudFront and the API"


def test_api_learns_who_asks(stack: Synthesized) -> None:
    config = stack.policy("OriginRequestPolicy", "ApiRequest")
    headers = config["HeadersConfig"]
    assert headers["HeaderBehavior"] == "whitelist"
    assert set(headers["Headers"]) == {"CloudFront-Viewer-Address", "Content-Type", "Origin", "User-Agent"}
    assert config["CookiesConfig"] == {"CookieBehavior": "none"}
    assert config["QueryStringsConfig"] == {"QueryStringBehavior": "all"}


def test_page_headers_are_the_local_servers(stack: Synthesized) -> None:
    headers = _sent(stack, "PageHeaders")
    assert headers["Content-Security-Policy"] == (serve._CSP, True)
    assert "require-trusted-types-for 'script'" in headers["Content-Security-Policy"][0]
    for name, value in serve._EVERYWHERE.items():
        assert headers[name] == (value, True)
    behavior = _distribution(stack)["DefaultCacheBehavior"]
    assert "PageHeaders" in behavior["ResponseHeadersPolicyId"]["Ref"]


@pytest.mark.parametrize("policy", ["PageHeaders", "ApiHeaders"])
def test_every_answer_is_hardened(stack: Synthesized, policy: str) -> None:
    headers = _sent(stack, policy)
    assert headers["Strict-Transport-Security"] == ("max-age=31536000", True)
    assert headers["X-Content-Type-Options"] == ("nosniff", True)
    assert headers["Referrer-Policy"] == ("no-referrer", True)
    assert headers["Cross-Origin-Opener-Policy"] == ("same-origin", True)
    assert "camera=()" in headers["Permissions-Policy"][0]
    assert "clipboard" not in headers["Permissions-Policy"][0], "the page copies a badge's address"


def test_a_badges_own_policy_stands(stack: Synthesized) -> None:
    policy, overrides = _sent(stack, "ApiHeaders")["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'")
    assert not overrides
    for behavior in _distribution(stack)["CacheBehaviors"]:
        assert "ApiHeaders" in behavior["ResponseHeadersPolicyId"]["Ref"]
    assert "CorsConfig" not in stack.policy("ResponseHeadersPolicy", "ApiHeaders"), "CORS is the function's to answer"


def test_the_page_is_uploaded_and_the_cdn_forgets_the_old_one(stack: Synthesized) -> None:
    upload = stack.only("Custom::CDKBucketDeployment")
    assert upload["DistributionPaths"] == [*sorted(f"/{path.name}" for path in (tools.ROOT / "web").iterdir()), "/"]
    assert "max-age=0" in upload["SystemMetadata"]["cache-control"], "browsers must not keep an old page"


def test_without_the_page_there_are_no_helpers() -> None:
    stack = synthesize(page="false")
    assert len(stack.resources("AWS::Lambda::Function")) == 1
    assert not [r for r in stack.template["Resources"].values() if r["Type"].startswith("Custom::")]
    assert _distribution(stack)["DefaultRootObject"] == "index.html"


# --- logs and alarms ---


def test_every_function_logs_for_thirty_days(stack: Synthesized) -> None:
    groups = stack.resources("AWS::Logs::LogGroup")
    assert {group["RetentionInDays"] for group in groups.values()} == {30}
    (own,) = _own_log(stack)
    assert groups[own]["LogGroupName"] == "/aws/lambda/parley"


def test_alarms_watch_what_hurts(stack: Synthesized) -> None:
    alarms = {
        (alarm["Namespace"], alarm["MetricName"], alarm.get("Statistic", alarm.get("ExtendedStatistic"))): alarm
        for alarm in stack.resources("AWS::CloudWatch::Alarm").values()
    }
    assert set(alarms) == {
        ("AWS/Lambda", "Errors", "Sum"),
        ("AWS/Lambda", "Throttles", "Sum"),
        ("AWS/Lambda", "Duration", "p99"),
        ("Parley", "InternalError", "Sum"),
    }
    assert alarms["AWS/Lambda", "Duration", "p99"]["Threshold"] == 25_000
    assert alarms["AWS/Lambda", "Duration", "p99"]["ComparisonOperator"] == "GreaterThanThreshold"
    own = alarms["Parley", "InternalError", "Sum"]
    assert own["Dimensions"] == [{"Name": "service", "Value": _variables(stack)["POWERTOOLS_SERVICE_NAME"]}]
    assert own["Namespace"] == _variables(stack)["POWERTOOLS_METRICS_NAMESPACE"]
    for alarm in alarms.values():
        assert alarm["TreatMissingData"] == "notBreaching", "a quiet night is no fault"
        assert "AlarmActions" not in alarm


def test_alarms_tell_the_topic_if_there_is_one() -> None:
    topic = "arn:aws:sns:eu-west-1:123456789012:pager"
    for alarm in synthesize(alarm_topic=topic).resources("AWS::CloudWatch::Alarm").values():
        assert alarm["AlarmActions"] == [topic]


# --- synthesis ---


def test_synthesis_asks_nobody(stack: Synthesized) -> None:
    assert not stack.manifest.get("missing"), "a look-up in an account"
    artifact = stack.manifest["artifacts"]["ParleyStack"]
    assert artifact["environment"] == "aws://unknown-account/unknown-region"


def test_synthesis_warns_of_nothing(stack: Synthesized) -> None:
    notes = [note for noted in stack.notes.values() for note in noted]
    assert notes
    assert [note["data"] for note in notes if note["type"] in ("aws:cdk:warning", "aws:cdk:error")] == []


def test_a_bundle_without_bytecode_is_warned_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bundling.interpreter", lambda: None)
    monkeypatch.setattr("stack.interpreter", lambda: None)
    noted = [note for noted in synthesize.__wrapped__().notes.values() for note in noted]
    assert any("cold start" in str(note["data"]) for note in noted if note["type"] == "aws:cdk:warning")


def test_synthesis_is_deterministic() -> None:
    once, again = (json.dumps(synthesize.__wrapped__().template) for _ in range(2))
    assert once == again


def test_nothing_of_this_machine_is_in_the_template(stack: Synthesized) -> None:
    assert str(tools.ROOT) not in json.dumps(stack.template)


def _variables(stack: Synthesized) -> Json:
    variables: Json = stack.function()["Environment"]["Variables"]
    return variables


def _role(stack: Synthesized) -> tuple[str, Json]:
    role_id = stack.function()["Role"]["Fn::GetAtt"][0]
    return role_id, stack.resources("AWS::IAM::Role")[role_id]


def _statements(stack: Synthesized) -> list[tuple[list[str], str]]:
    (policy,) = _role(stack)[1]["Policies"]
    statements = policy["PolicyDocument"]["Statement"]
    assert all(set(s) == {"Action", "Effect", "Resource"} and s["Effect"] == "Allow" for s in statements)
    return [([s["Action"]] if isinstance(s["Action"], str) else s["Action"], _text(s["Resource"])) for s in statements]


def _own_log(stack: Synthesized) -> tuple[str]:
    return (stack.function()["LoggingConfig"]["LogGroup"]["Ref"],)


def _distribution(stack: Synthesized) -> Json:
    config: Json = stack.only("AWS::CloudFront::Distribution")["DistributionConfig"]
    return config


def _origins(stack: Synthesized) -> list[Json]:
    origins: list[Json] = _distribution(stack)["Origins"]
    return origins


def _sent(stack: Synthesized, policy: str) -> dict[str, tuple[str, bool]]:
    """The headers that a policy adds, each with whether it overrides the origin's."""
    config = stack.policy("ResponseHeadersPolicy", policy)
    security = config["SecurityHeadersConfig"]
    hsts = security["StrictTransportSecurity"]
    assert not hsts["IncludeSubdomains"], "an operator's other hosts are not this stack's to decide about"
    return {
        "Content-Security-Policy": (
            security["ContentSecurityPolicy"]["ContentSecurityPolicy"],
            security["ContentSecurityPolicy"]["Override"],
        ),
        "Strict-Transport-Security": (f"max-age={hsts['AccessControlMaxAgeSec']}", hsts["Override"]),
        "X-Content-Type-Options": ("nosniff", security["ContentTypeOptions"]["Override"]),
        "Referrer-Policy": (security["ReferrerPolicy"]["ReferrerPolicy"], security["ReferrerPolicy"]["Override"]),
        **{item["Header"]: (item["Value"], item["Override"]) for item in config["CustomHeadersConfig"]["Items"]},
    }


def _text(value: Any) -> str:
    """A template's text with its references in angle brackets."""
    match value:
        case str():
            return value
        case {"Ref": name}:
            return f"<{name}>"
        case {"Fn::GetAtt": [name, attribute]}:
            return f"<{name}.{attribute}>"
        case {"Fn::Join": [between, parts]}:
            return str(between).join(map(_text, parts))
    raise AssertionError(f"unexpected: {value}")
