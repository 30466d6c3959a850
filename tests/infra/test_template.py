"""Others' opinions of the template: cdk-nag, CDK's own validator, cfn-lint and cloudformation-validate."""

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import aws_cdk as cdk
import cfnlint.api
import cfnlint.config
import cloudformation_validate as validate
import pytest
import stack as stacks
from aws_cdk import aws_s3 as s3
from cdk_nag import AwsSolutionsChecks

from infra.synth import Json, Synthesized, finish, new_app, synthesize

# CDK writes DependsOn for a function's role beside the reference that says the same.
HARMLESS = {"W3005"}

CONTEXTS = [{}, {"page": "false", "architecture": "x86_64", "reserved_concurrency": "5"}]


@pytest.fixture(scope="module", params=CONTEXTS, ids=["as it is", "without the page"])
def stack(request: pytest.FixtureRequest) -> Synthesized:
    return synthesize(**request.param)


@pytest.fixture
def folder() -> Iterator[str]:
    with tempfile.TemporaryDirectory(prefix="parley-synth-") as made:
        yield made


def test_cfn_lint_finds_nothing(stack: Synthesized) -> None:
    assert _lint(stack.template) == []


def test_cloudformation_validate_finds_nothing(stack: Synthesized) -> None:
    assert _validate(stack.template) == []


def test_the_checkers_find_a_fault_that_is_there(stack: Synthesized) -> None:
    broken = json.loads(json.dumps(stack.template))
    (table,) = (r for r in broken["Resources"].values() if r["Type"] == "AWS::DynamoDB::Table")
    table["Properties"]["KeySchema"] = []
    assert _lint(broken)
    assert _validate(broken)


def test_nag_and_cdks_validator_are_content(folder: str) -> None:
    """As ``infra/app.py`` has it: synthesis itself fails on a finding."""
    app = new_app(folder)
    stacks.ParleyStack(app, "ParleyStack")
    cdk.Validations.of(app).add_plugins(AwsSolutionsChecks(app))
    finish(app)
    assert _findings(app) == {}


def test_synthesis_fails_on_a_fault_that_is_there(folder: str) -> None:
    app = new_app(folder)
    stack = stacks.ParleyStack(app, "ParleyStack")
    s3.CfnBucket(stack, "Open").add_property_override("BucketEncryption", "none")
    cdk.Validations.of(app).add_plugins(AwsSolutionsChecks(app))
    with pytest.raises(RuntimeError, match="ValidationFailed"):
        app.synth()
    found = set(_findings(app))
    assert {"AwsSolutions-S1", "AwsSolutions-S10"} < found
    assert {rule for rule in found if not rule.startswith("AwsSolutions")}, "CDK's validator says nothing"


def test_each_acknowledgement_answers_a_finding_and_says_why(folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What nag finds when nothing is acknowledged is what is acknowledged: no more, no less."""
    monkeypatch.setenv("CDK_VALIDATION", "false")
    accepted: dict[str, str] = {}
    monkeypatch.setattr(stacks, "_accept", lambda construct, rule, reason: accepted.setdefault(rule, reason))
    app = new_app(folder)
    stacks.ParleyStack(app, "ParleyStack")
    cdk.Validations.of(app).add_plugins(AwsSolutionsChecks(app))
    with pytest.raises(RuntimeError, match="ValidationFailed"):
        app.synth()
    warned = {rule for rule in accepted if rule.startswith("Annotation::")}  # CDK's own; test_stack.py has them
    assert set(accepted) - warned == set(_findings(app))
    assert all(len(reason.split()) >= 5 for reason in accepted.values())


def _lint(template: Json) -> list[str]:
    where = cfnlint.config.ManualArgs(regions=["us-east-1", "eu-central-1"])
    found = cfnlint.api.lint(json.dumps(template), config=where)
    return [str(match) for match in found if match.rule.id not in HARMLESS and not match.rule.id.startswith("I")]


def _validate(template: Json) -> list[str]:
    report = validate.RegoEngine().validate_template(json.dumps(template).encode())
    return [
        f"{diagnostic.rule_id}: {diagnostic.message}"
        for diagnostic in report.diagnostics
        if diagnostic.rule_id not in HARMLESS and diagnostic.severity.value > validate.Severity.INFO.value
    ]


def _findings(app: cdk.App) -> dict[str, Any]:
    """What the validation report holds, by the rule's name as it is acknowledged."""
    report = json.loads(Path(app.outdir, "validation-report.json").read_text())
    return {
        violation["ruleName"]: violation for plugin in report["pluginReports"] for violation in plugin["violations"]
    }
