"""The stack's template, for tests to ask: synthesized in this process, without the bundle."""

import json
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import aws_cdk as cdk
from stack import ParleyStack  # after tools, which knows where it is

from infra import tools

Json = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Synthesized:
    """What a synthesis gave: the template, CDK's manifest, and what was noted at each construct."""

    template: Json
    manifest: Json
    notes: dict[str, list[Json]]

    def resources(self, kind: str) -> dict[str, Json]:
        """The properties of all resources of a kind, by logical id."""
        return {
            name: resource.get("Properties", {})
            for name, resource in self.template["Resources"].items()
            if resource["Type"] == kind
        }

    def only(self, kind: str) -> Json:
        """The properties of the one resource of a kind."""
        (properties,) = self.resources(kind).values()
        return properties

    def function(self) -> Json:
        """The properties of Parley's function; the others are CDK's helpers."""
        (properties,) = (
            found
            for found in self.resources("AWS::Lambda::Function").values()
            if found["Handler"] == "parley.handler.handler"
        )
        return properties

    def policy(self, kind: str, name: str) -> Json:
        """The configuration of the CloudFront policy whose name has ``name`` in it."""
        (config,) = (
            config
            for properties in self.resources(f"AWS::CloudFront::{kind}").values()
            for config in properties.values()
            if name in json.dumps(config["Name"])
        )
        return config


@cache
def synthesize(**context: str) -> Synthesized:
    """Synthesize with ``cdk.json``'s context and this on top. What the context makes impossible is raised."""
    with tempfile.TemporaryDirectory(prefix="parley-synth-") as folder:
        app = new_app(folder, **context)
        ParleyStack(app, "ParleyStack")
        return finish(app)


def new_app(folder: str, **context: str) -> cdk.App:
    """An app as ``cdk.json`` has it, but nothing is bundled. What it synthesizes (22 MB) goes to ``folder``."""
    own = json.loads((tools.ROOT / "cdk.json").read_text())["context"]
    return cdk.App(
        outdir=folder,
        context={**own, "aws:cdk:bundling-stacks": [], **context},
        analytics_reporting=False,
    )


def finish(app: cdk.App) -> Synthesized:
    """Synthesize, and read what that gave."""
    folder = Path(app.synth().directory)
    return Synthesized(
        template=json.loads((folder / "ParleyStack.template.json").read_text()),
        manifest=json.loads((folder / "manifest.json").read_text()),
        notes=json.loads((folder / "ParleyStack.metadata.json").read_text()),
    )
