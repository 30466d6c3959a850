"""Schemas that are made to be expensive, and dialects."""

import subprocess
import sys
import time

import pytest

from parley.rules.tool_schemas import DEPTH, Judge, Schema, Verdict, external_references, header_faults
from servers import environment


def verdict(value: object) -> Verdict:
    return Judge().verdict(Schema(tool="get_forecast", member="inputSchema", value=value))


def nested(levels: int, keyword: str = "items") -> object:
    schema: object = {}
    for _ in range(levels):
        schema = {keyword: schema}
    return schema


@pytest.mark.parametrize(
    "dialect",
    [
        "http://json-schema.org/draft-04/schema#",
        "http://json-schema.org/draft-06/schema#",
        "http://json-schema.org/draft-07/schema",
        "https://json-schema.org/draft/2019-09/schema",
        "https://json-schema.org/draft/2020-12/schema",
    ],
)
def test_dialects(dialect: str) -> None:
    assert verdict({"$schema": dialect, "type": "object", "properties": {"a": {"type": "string"}}}) == Verdict()
    assert (verdict({"$schema": dialect, "type": "objekt"}).fault or "").startswith(
        "is no valid JSON Schema: at $.type"
    )


@pytest.mark.parametrize("dialect", ["https://weather.example/dialect", "http://json-schema.org/draft-03/schema#", ""])
def test_a_dialect_that_is_not_known_is_not_judged(dialect: str) -> None:
    found = verdict({"$schema": dialect, "type": 7})
    assert found.fault is None
    assert "in a dialect that is not known here" in (found.untold or "")


def test_deep_schemas_are_not_judged() -> None:
    assert verdict(nested(DEPTH - 2)) == Verdict()
    for levels in (DEPTH, 100, 5000):
        assert f"nested more than {DEPTH} levels" in (verdict(nested(levels)).untold or "")


@pytest.mark.parametrize("keyword", ["items", "not", "additionalProperties", "if"])
def test_what_is_judged_fits_the_stack(keyword: str) -> None:
    assert verdict(nested(DEPTH - 2, keyword)) == Verdict()


def test_schemas_made_to_explode_are_bounded() -> None:
    wide = {"anyOf": [{"allOf": [{"oneOf": [{"type": "string"}] * 30}] * 30}] * 30}
    began = time.perf_counter()
    assert "hold more than" in (verdict(wide).untold or "")
    recursive = {"$defs": {"a": {"anyOf": [{"$ref": "#/$defs/a"}] * 1000}}, "$ref": "#/$defs/a"}
    assert verdict(recursive) == Verdict()
    assert verdict({"pattern": "(a+)+$", "patternProperties": {"(a*)*b": {}}}) == Verdict()
    assert time.perf_counter() - began < 10


def test_one_audit_has_one_budget() -> None:
    judge = Judge()
    schemas = [
        Schema(tool="t", member="inputSchema", value={"enum": list(range(4500)), "title": str(n)}) for n in range(4)
    ]
    assert [judge.verdict(schema).untold is None for schema in schemas] == [True, True, False, False]
    assert judge.verdict(schemas[0]) == Verdict()  # it is known already


@pytest.mark.parametrize(
    ("schema", "references"),
    [
        ({"$ref": "https://a.example/s.json#/x"}, ["https://a.example/s.json#/x"]),
        ({"properties": {"$ref": {"type": "string"}}}, []),
        ({"$id": "https://a.example/s.json", "$ref": "https://a.example/s.json#/$defs/a"}, []),
        ({"items": [{"$ref": "HTTP://a.example"}]}, ["HTTP://a.example"]),
        ({"$ref": "other.json"}, []),
        ({"$ref": 7}, []),
        (None, []),
    ],
)
def test_external_references(schema: object, references: list[str]) -> None:
    assert list(external_references(schema)) == references


def test_hostile_annotations() -> None:
    assert [fault for _, fault in header_faults({"x-mcp-header": "A"})] == ["is on something that cannot be reached through properties alone"]  # fmt: skip
    assert [fault for _, fault in header_faults({"properties": {"a": {"x-mcp-header": ["A"]}}})] == ["is an array, not a text"]  # fmt: skip
    assert list(header_faults({"properties": {"a": {"default": {"x-mcp-header": ""}}}})) == []
    assert list(header_faults({"properties": {"a": {"type": ["string", "null"], "x-mcp-header": "A"}}})) == []
    assert len(list(header_faults({"properties": {"a": {"type": "string", "x-mcp-header": "A\r\nB"}}}))) == 1


def test_the_library_is_imported_only_for_a_schema() -> None:
    script = "import sys, parley.audit, parley.cli; from parley.rules import tool_schemas as t; assert 'jsonschema' not in sys.modules"
    subprocess.run([sys.executable, "-c", script], env=environment(), check=True)
