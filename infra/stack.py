"""Parley on AWS, in one stack: a function behind an HTTP API, a table, a page in a bucket, and a CDN before both.

Everything is decided at synthesis from the sources and the context (``cdk.json``, ``-c name=value``); no AWS call is
made for it.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast

import jsii
from aws_cdk import (
    Acknowledgment,
    Annotations,
    ArnFormat,
    AssetHashType,
    BundlingOptions,
    CfnElement,
    CfnOutput,
    DockerImage,
    Duration,
    ILocalBundling,
    RemovalPolicy,
    Stack,
    Validations,
)
from aws_cdk import aws_apigatewayv2 as apigateway
from aws_cdk import aws_cloudfront as cloudfront
from aws_cdk import aws_cloudfront_origins as origins
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_cloudwatch_actions as actions
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_s3_deployment as deployment
from aws_cdk import aws_sns as sns
from aws_cdk.aws_apigatewayv2_integrations import HttpLambdaIntegration
from bundling import WARNING, Bundle, interpreter
from constructs import Construct, IConstruct

ROOT: Final = Path(__file__).resolve().parents[1]

FUNCTION_TIMEOUT: Final = Duration.seconds(28)
"""More than an audit may last (20 s), less than API Gateway waits."""

INTEGRATION_TIMEOUT: Final = Duration.seconds(29)
"""API Gateway's limit is 30 s, and CloudFormation learns it only when it deploys."""

SLOW: Final = Duration.seconds(25)
"""A p99 above this says that audits run into their limits."""

# The page's policy, as the local server sends it (parley/serve.py); tests hold the two together.
PAGE_CSP: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)
API_CSP: Final = "default-src 'none'; frame-ancestors 'none'; sandbox"
PERMISSIONS_POLICY: Final = (
    "accelerometer=(), autoplay=(), browsing-topics=(), camera=(), display-capture=(), encrypted-media=(), "
    "fullscreen=(), geolocation=(), gyroscope=(), magnetometer=(), microphone=(), midi=(), payment=(), "
    "publickey-credentials-get=(), screen-wake-lock=(), serial=(), usb=(), web-share=(), xr-spatial-tracking=()"
)

API_PATHS: Final = ("/v1/*", "/badge*", "/openapi.json", "/healthz")
"""What CloudFront asks the API for; all else is the page."""

PAGE_CACHE_CONTROL: Final = "public, max-age=0, s-maxage=86400, must-revalidate"
"""Browsers ask each time; CloudFront answers for a day, or until a deployment invalidates."""

_HOST: Final = re.compile(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)+")
_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9-]{0,63}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What the operator chooses. Each is a context value of the same name."""

    name: str
    """Of the function, and the start of the alarms' names."""
    architecture: str
    about: str
    """The page that the User-Agent names: what this is, who runs it, how to opt out."""
    hosts: tuple[str, ...]
    """Names under which the public reaches this deployment, so that it never audits itself."""
    opt_out: tuple[str, ...]
    """Hosts that asked not to be audited."""
    reserved_concurrency: int | None
    """At most so many requests at once. None where the account's quota is too low to reserve any, as a new one's is."""
    page: bool
    """Whether the deployment uploads ``web/``, and empties the bucket when the stack goes."""
    alarm_topic: str | None
    """The ARN of an SNS topic that is told of alarms."""

    @classmethod
    def from_context(cls, scope: Construct) -> "Settings":
        """Read the context. Raises :class:`ValueError` that names the value and what may stand there."""
        text = {name: str(scope.node.try_get_context(name) or "").strip() for name in cls.__slots__}
        reserved = text["reserved_concurrency"]
        settings = cls(
            name=text["name"] or "parley",
            architecture=text["architecture"] or "arm64",
            about=text["about"] or "https://parley.example/about",
            hosts=_hosts("hosts", text["hosts"]),
            opt_out=_hosts("opt_out", text["opt_out"]),
            reserved_concurrency=int(_matching("reserved_concurrency", reserved, r"\d{1,4}")) if reserved else None,
            page=_matching("page", str(scope.node.try_get_context("page")).lower(), "true|false|none") != "false",
            alarm_topic=_matching("alarm_topic", text["alarm_topic"], r"(arn:aws[a-z-]*:sns:\S+)?") or None,
        )
        _matching("name", settings.name, _NAME.pattern)
        _matching("architecture", settings.architecture, "arm64|x86_64")
        _matching("about", settings.about, r"https?://[^\s()<>\"\\]+")
        return settings


class ParleyStack(Stack):
    """The whole service. ``settings`` are read from the context unless given."""

    def __init__(self, scope: Construct, construct_id: str, *, settings: Settings | None = None) -> None:
        description = "Parley: can AI agents find, trust and talk to what is at a URL?"
        super().__init__(scope, construct_id, description=description, analytics_reporting=False)
        self._settings = settings or Settings.from_context(self)
        table = self._table()
        function = self._function(table)
        api = self._api(function)
        bucket = self._bucket()
        distribution = self._distribution(api, bucket)
        if self._settings.page:
            self._page(bucket, distribution)
        self._alarms(function)
        CfnOutput(self, "PageUrl", value=f"https://{distribution.distribution_domain_name}")
        CfnOutput(self, "ApiUrl", value=api.api_endpoint)
        CfnOutput(self, "TableName", value=table.table_name)
        CfnOutput(self, "PageBucket", value=bucket.bucket_name)
        CfnOutput(self, "DistributionId", value=distribution.distribution_id)

    def _table(self) -> dynamodb.Table:
        table = dynamodb.Table(
            self,
            "Reports",
            partition_key=dynamodb.Attribute(name="origin", type=dynamodb.AttributeType.STRING),
            sort_key=dynamodb.Attribute(name="variant", type=dynamodb.AttributeType.STRING),
            time_to_live_attribute="expires",
            billing_mode=dynamodb.BillingMode.PAY_PER_REQUEST,
            # A ceiling on the bill, with room for one item of the largest size (400 units) and the API's 20 a second.
            max_read_request_units=500,
            max_write_request_units=500,
            removal_policy=RemovalPolicy.DESTROY,
        )
        _accept(table, "AwsSolutions-DDB3", "A cache: what is lost is audited again, so no point-in-time recovery.")
        return table

    def _function(self, table: dynamodb.Table) -> lambda_.Function:
        settings = self._settings
        log_group = logs.LogGroup(
            self,
            "Log",
            log_group_name=f"/aws/lambda/{settings.name}",
            retention=logs.RetentionDays.ONE_MONTH,
            removal_policy=RemovalPolicy.DESTROY,
        )
        function = lambda_.Function(
            self,
            "Function",
            function_name=settings.name,
            description="Answers the API: audits a URL, or says what an audit said before.",
            runtime=lambda_.Runtime.PYTHON_3_13,
            architecture=_ARCHITECTURES[settings.architecture],
            handler="parley.handler.handler",
            code=self._code(),
            memory_size=512,
            timeout=FUNCTION_TIMEOUT,
            reserved_concurrent_executions=settings.reserved_concurrency,
            # A refresh that failed is not worth a second visit to somebody's server, nor one that comes late.
            retry_attempts=0,
            max_event_age=Duration.minutes(5),
            role=self._role(table, log_group),
            log_group=log_group,
            environment=self._environment(table),
        )
        _accept(function, "AwsSolutions-L1", "Python 3.13: what the tests run on and the bytecode is made for.")
        if interpreter() is None:
            Annotations.of(function).add_warning_v2("parley:no-bytecode", WARNING)
        return function

    def _code(self) -> lambda_.Code:
        bundle = Bundle(functions=ROOT / "functions", architecture=self._settings.architecture)
        return lambda_.Code.from_asset(
            str(bundle.functions),
            asset_hash=bundle.fingerprint(),
            asset_hash_type=AssetHashType.CUSTOM,
            # The image is never asked for: the local bundling builds or raises.
            bundling=BundlingOptions(image=DockerImage.from_registry("none"), local=_LocalBundling(bundle)),
        )

    def _role(self, table: dynamodb.Table, log_group: logs.LogGroup) -> iam.Role:
        """What the function may do: these three statements, and nothing else."""
        itself = self.format_arn(
            service="lambda",
            resource="function",
            resource_name=self._settings.name,  # by name: by reference, role and function would wait for each other
            arn_format=ArnFormat.COLON_RESOURCE_NAME,
        )
        statements = (
            (["dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:UpdateItem"], table.table_arn),
            (["lambda:InvokeFunction"], itself),
            (["logs:CreateLogStream", "logs:PutLogEvents"], log_group.log_group_arn),
        )
        return iam.Role(
            self,
            "Role",
            assumed_by=iam.ServicePrincipal("lambda.amazonaws.com"),
            inline_policies={
                "parley": iam.PolicyDocument(
                    statements=[iam.PolicyStatement(actions=names, resources=[arn]) for names, arn in statements]
                )
            },
        )

    def _environment(self, table: dynamodb.Table) -> dict[str, str]:
        environment = {
            "PARLEY_TABLE": table.table_name,
            "PARLEY_ABOUT": self._settings.about,
            "PARLEY_HOSTS": ",".join(self._settings.hosts),
            "PARLEY_OPT_OUT": ",".join(self._settings.opt_out),
            # A stalled name server costs 4 s of resolver threads instead of 20 s.
            "RES_OPTIONS": "timeout:1 attempts:2",
            "POWERTOOLS_SERVICE_NAME": "parley",
            "POWERTOOLS_METRICS_NAMESPACE": "Parley",
        }
        return {name: value for name, value in environment.items() if value}

    def _api(self, function: lambda_.Function) -> apigateway.HttpApi:
        api = apigateway.HttpApi(
            self,
            "Api",
            api_name=self._settings.name,
            description="Parley's API. CORS is the function's to answer.",
            create_default_stage=False,
            default_integration=HttpLambdaIntegration(
                "Integration",
                function,
                payload_format_version=apigateway.PayloadFormatVersion.VERSION_2_0,
                timeout=INTEGRATION_TIMEOUT,
            ),
        )
        stage = apigateway.HttpStage(
            self,
            "Stage",
            http_api=api,
            stage_name="$default",
            auto_deploy=True,
            throttle=apigateway.ThrottleSettings(rate_limit=20, burst_limit=40),
        )
        _accept(api, "AwsSolutions-APIG4", "A public API, without accounts. Throttles and the function's limits hold.")
        _accept(
            stage,
            "AwsSolutions-APIG1",
            "The function logs each request; an access log would keep viewers' addresses, which Parley does not.",
        )
        return api

    def _bucket(self) -> s3.Bucket:
        bucket = s3.Bucket(
            self,
            "Page",
            block_public_access=s3.BlockPublicAccess.BLOCK_ALL,
            encryption=s3.BucketEncryption.S3_MANAGED,
            enforce_ssl=True,
            object_ownership=s3.ObjectOwnership.BUCKET_OWNER_ENFORCED,
            removal_policy=RemovalPolicy.DESTROY,
            auto_delete_objects=self._settings.page,
        )
        _accept(bucket, "AwsSolutions-S1", "The public page, read by CloudFront alone; Parley logs no viewers.")
        return bucket

    def _distribution(self, api: apigateway.HttpApi, bucket: s3.Bucket) -> cloudfront.Distribution:
        behind_api = self._api_behavior(api)
        distribution = cloudfront.Distribution(
            self,
            "Cdn",
            comment="Parley: the page, and under the same host the API",
            default_root_object="index.html",
            default_behavior=cloudfront.BehaviorOptions(
                # LIST makes S3 answer 404, not 403, for what is not there; no list is ever served.
                origin=origins.S3BucketOrigin.with_origin_access_control(
                    bucket, origin_access_levels=[cloudfront.AccessLevel.READ, cloudfront.AccessLevel.LIST]
                ),
                cache_policy=cloudfront.CachePolicy.CACHING_OPTIMIZED,
                viewer_protocol_policy=cloudfront.ViewerProtocolPolicy.REDIRECT_TO_HTTPS,
                response_headers_policy=self._headers("PageHeaders", PAGE_CSP, override=True),
            ),
            additional_behaviors=dict.fromkeys(API_PATHS, behind_api),
            http_version=cloudfront.HttpVersion.HTTP2_AND_3,
            # Without these, CloudFront keeps an error for 10 s whatever its Cache-Control says.
            error_responses=[
                cloudfront.ErrorResponse(http_status=status, ttl=Duration.seconds(0))
                for status in (404, 500, 502, 503, 504)
            ],
        )
        list_risk = "Annotation::@aws-cdk/aws-cloudfront-origins:listBucketSecurityRisk"
        _accept(distribution, list_risk, "There is a default root object, so the root's list is not served.")
        for rule, reason in (
            ("AwsSolutions-CFR1", "A service for the whole world."),
            ("AwsSolutions-CFR2", "No WAF: its monthly price is above the service's own. An operator may attach one."),
            ("AwsSolutions-CFR3", "No access log: Parley keeps no record of viewers."),
            ("AwsSolutions-CFR4", "Under CloudFront's own host name, CloudFront fixes the viewers' TLS versions."),
        ):
            _accept(distribution, rule, reason)
        return distribution

    def _api_behavior(self, api: apigateway.HttpApi) -> cloudfront.BehaviorOptions:
        return cloudfront.BehaviorOptions(
            origin=origins.HttpOrigin(
                f"{api.api_id}.execute-api.{self.region}.{self.url_suffix}",
                protocol_policy=cloudfront.OriginProtocolPolicy.HTTPS_ONLY,
                origin_ssl_protocols=[cloudfront.OriginSslPolicy.TLS_V1_2],
                read_timeout=Duration.seconds(30),
                # A second attempt would start the audit of a slow target once more.
                connection_attempts=1,
            ),
            allowed_methods=cloudfront.AllowedMethods.ALLOW_ALL,  # there is no smaller set with POST
            cached_methods=cloudfront.CachedMethods.CACHE_GET_HEAD,
            viewer_protocol_policy=cloudfront.ViewerProtocolPolicy.REDIRECT_TO_HTTPS,
            cache_policy=cloudfront.CachePolicy(
                self,
                "ApiCache",
                comment="As long as the API says; apart by all that its answer to a GET depends on",
                min_ttl=Duration.seconds(0),
                default_ttl=Duration.seconds(0),
                max_ttl=Duration.days(1),
                query_string_behavior=cloudfront.CacheQueryStringBehavior.all(),
                # CloudFront does not read Vary. Sec-Fetch-Dest: an embedding page's GET must not start an audit.
                header_behavior=cloudfront.CacheHeaderBehavior.allow_list("Accept", "Sec-Fetch-Dest"),
                enable_accept_encoding_gzip=True,
                enable_accept_encoding_brotli=True,
            ),
            origin_request_policy=cloudfront.OriginRequestPolicy(
                self,
                "ApiRequest",
                comment="What the API reads besides; no cookies, no credentials",
                query_string_behavior=cloudfront.OriginRequestQueryStringBehavior.all(),
                # Origin is no part of the cache key: every GET is answered for every origin alike.
                header_behavior=cloudfront.OriginRequestHeaderBehavior.allow_list(
                    "CloudFront-Viewer-Address", "Content-Type", "Origin", "User-Agent"
                ),
            ),
            # The function's own policy stands where it sends one, as it does with a badge.
            response_headers_policy=self._headers("ApiHeaders", API_CSP, override=False),
        )

    def _headers(self, construct_id: str, csp: str, *, override: bool) -> cloudfront.ResponseHeadersPolicy:
        return cloudfront.ResponseHeadersPolicy(
            self,
            construct_id,
            security_headers_behavior=cloudfront.ResponseSecurityHeadersBehavior(
                content_security_policy=cloudfront.ResponseHeadersContentSecurityPolicy(
                    content_security_policy=csp, override=override
                ),
                content_type_options=cloudfront.ResponseHeadersContentTypeOptions(override=True),
                referrer_policy=cloudfront.ResponseHeadersReferrerPolicy(
                    referrer_policy=cloudfront.HeadersReferrerPolicy.NO_REFERRER, override=True
                ),
                strict_transport_security=cloudfront.ResponseHeadersStrictTransportSecurity(
                    access_control_max_age=Duration.days(365), include_subdomains=False, override=True
                ),
            ),
            custom_headers_behavior=cloudfront.ResponseCustomHeadersBehavior(
                custom_headers=[
                    cloudfront.ResponseCustomHeader(header=header, value=value, override=True)
                    for header, value in (
                        ("Cross-Origin-Opener-Policy", "same-origin"),
                        ("Permissions-Policy", PERMISSIONS_POLICY),
                    )
                ]
            ),
        )

    def _page(self, bucket: s3.Bucket, distribution: cloudfront.Distribution) -> None:
        """Upload ``web/``, then have CloudFront forget what it kept of the page (and only of the page)."""
        log_group = logs.LogGroup(
            self, "UploadLog", retention=logs.RetentionDays.ONE_MONTH, removal_policy=RemovalPolicy.DESTROY
        )
        deployment.BucketDeployment(
            self,
            "Upload",
            sources=[deployment.Source.asset(str(ROOT / "web"))],
            destination_bucket=bucket,
            cache_control=[deployment.CacheControl.from_string(PAGE_CACHE_CONTROL)],
            distribution=distribution,
            distribution_paths=[f"/{path.name}" for path in sorted((ROOT / "web").iterdir())] + ["/"],
            memory_limit=256,
            log_group=log_group,
        )
        helper = next(child for child in self.node.children if child.node.id.startswith("Custom::CDKBucketDeployment"))
        staging = "arn:<AWS::Partition>:s3:::cdk-hnb659fds-assets-<AWS::AccountId>-<AWS::Region>/*"
        page = f"<{self.get_logical_id(cast(CfnElement, bucket.node.default_child))}.Arn>/*"
        for finding in (
            "IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/service-role/AWSLambdaBasicExecutionRole]",
            *(f"IAM5[Action::s3:{action}*]" for action in ("GetObject", "GetBucket", "List", "DeleteObject", "Abort")),
            f"IAM5[Resource::{staging}]",
            f"IAM5[Resource::{page}]",
            "IAM5[Resource::*]",  # CreateInvalidation
            "L1",
        ):
            _accept(helper, f"AwsSolutions-{finding}", "CDK's own helper, run at deployments alone, as CDK writes it.")

    def _alarms(self, function: lambda_.Function) -> None:
        period = Duration.minutes(5)
        internal = cloudwatch.Metric(
            namespace="Parley",
            metric_name="InternalError",
            dimensions_map={"service": "parley"},
            statistic="Sum",
            period=period,
        )
        alarms: Mapping[str, tuple[cloudwatch.Metric, float, str]] = {
            "Errors": (function.metric_errors(period=period), 1, "The function crashed or ran out of time."),
            "Throttles": (function.metric_throttles(period=period), 1, "Requests found no room to run."),
            "Slow": (
                function.metric_duration(period=period, statistic="p99"),
                SLOW.to_milliseconds(),
                "Audits run into their limits: one request in a hundred took more than 25 s.",
            ),
            "InternalErrors": (internal, 1, "A fault of Parley's own; the log names the rule or the route."),
        }
        for construct_id, (metric, threshold, description) in alarms.items():
            alarm = metric.create_alarm(
                self,
                construct_id,
                alarm_name=f"{self._settings.name}-{construct_id}",
                alarm_description=description,
                threshold=threshold,
                evaluation_periods=1,
                comparison_operator=(
                    cloudwatch.ComparisonOperator.GREATER_THAN_THRESHOLD
                    if construct_id == "Slow"
                    else cloudwatch.ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD
                ),
                treat_missing_data=cloudwatch.TreatMissingData.NOT_BREACHING,
            )
            if self._settings.alarm_topic:
                topic = sns.Topic.from_topic_arn(self, f"{construct_id}Topic", self._settings.alarm_topic)
                alarm.add_alarm_action(actions.SnsAction(topic))


@jsii.implements(ILocalBundling)
class _LocalBundling:
    def __init__(self, bundle: Bundle) -> None:
        self._bundle = bundle

    def try_bundle(self, output_dir: str, options: BundlingOptions | None = None, **more: Any) -> bool:
        self._bundle.build(Path(output_dir))
        return True


_ARCHITECTURES: Final = {"arm64": lambda_.Architecture.ARM_64, "x86_64": lambda_.Architecture.X86_64}


def _accept(construct: IConstruct, rule: str, reason: str) -> None:
    Validations.of(construct).acknowledge(Acknowledgment(id=rule, reason=reason))


def _hosts(setting: str, text: str) -> tuple[str, ...]:
    return tuple(_matching(setting, host.strip().lower(), _HOST.pattern) for host in text.split(",") if host.strip())


def _matching(setting: str, value: str, pattern: str) -> str:
    if not re.fullmatch(pattern, value):
        raise ValueError(f"context value {setting}: {value!r} does not match {pattern}")
    return value
