"""Tools' JSON Schemas: valid under the dialect they declare, and MCP's own ``x-mcp-header`` inside them.

A schema is a stranger's: nothing it refers to is fetched, and no more of it is looked at than is good for a server
that reads many. The JSON Schema library is imported only when there is a schema to judge.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from parley.wire.text import clean, kind, quoted

HEADER: Final = "x-mcp-header"

NODES: Final = 10_000
"""Values in all schemas of an audit that are validated; each costs about a fifth of a millisecond."""

DEPTH: Final = 32
"""Levels of a schema that are validated: each takes a dozen frames of the library's."""

_DIALECTS: Final = {
    "http://json-schema.org/draft-04/schema": "Draft4Validator",
    "http://json-schema.org/draft-06/schema": "Draft6Validator",
    "http://json-schema.org/draft-07/schema": "Draft7Validator",
    "https://json-schema.org/draft/2019-09/schema": "Draft201909Validator",
    "https://json-schema.org/draft/2020-12/schema": "Draft202012Validator",
}
_DEFAULT: Final = "https://json-schema.org/draft/2020-12/schema"

_DATA: Final = frozenset({"const", "enum", "default", "examples", "example"})
"""Keywords that hold instances, not schemas."""

_MAPS: Final = frozenset({"patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies"})
"""Keywords that hold schemas by names of their author's."""

_TOKEN: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_PRIMITIVE: Final = frozenset({"string", "integer", "boolean", "null"})
_SENSITIVE: Final = re.compile(
    r"(?:^|[_.-])(?:passwords?|passwd|secrets?|api[_-]?keys?|private[_-]?key|credentials?|"
    r"(?<!page[_-])(?<!next[_-])(?<!cursor[_-])token)(?:$|[_.-])"
)


class Schema(NamedTuple):
    """A tool's ``inputSchema`` or ``outputSchema``."""

    tool: str
    member: str
    value: object


class Verdict(NamedTuple):
    """What came of a schema: a ``fault``, the end of a sentence, or a reason why it could not be told; or neither."""

    fault: str | None = None
    untold: str | None = None


class Judge:
    """Judges an audit's schemas, as long as its means last."""

    def __init__(self) -> None:
        self._left = NODES
        self._known: dict[str, str | None] = {}

    def verdict(self, schema: Schema) -> Verdict:
        """Whether a schema is valid under the dialect it declares, 2020-12 if it declares none."""
        named = f"the {schema.member} of {schema.tool}"
        if isinstance(schema.value, bool):
            return Verdict()
        if not isinstance(schema.value, dict):
            return Verdict(fault=f"is {kind(schema.value)}, not a schema")
        dialect = schema.value.get("$schema", _DEFAULT)
        if not isinstance(dialect, str):
            return Verdict(fault=f"has {kind(dialect)} for $schema")
        validator = _DIALECTS.get(dialect.removesuffix("#"))
        if validator is None:
            return Verdict(untold=f"{named} is in a dialect that is not known here ({quoted(dialect)})")
        size, depth = _measure(schema.value)
        if depth > DEPTH:
            return Verdict(untold=f"{named} is nested more than {DEPTH} levels deep")
        text = json.dumps(schema.value, sort_keys=True)
        if text not in self._known:  # tools without arguments have all the same schema
            if size > self._left:
                return Verdict(untold=f"the schemas hold more than {NODES} values")
            self._left -= size
            self._known[text] = _invalid(schema.value, validator)
        return Verdict(fault=self._known[text])


def _measure(schema: object) -> tuple[int, int]:
    """Values and levels, counted without recursion."""
    size = deepest = 0
    stack = [(schema, 1)]
    while stack:
        item, depth = stack.pop()
        size += 1
        deepest = max(deepest, depth)
        if isinstance(item, dict):
            stack.extend((part, depth + 1) for part in item.values())
        elif isinstance(item, list):
            stack.extend((part, depth + 1) for part in item)
    return size, deepest


def _invalid(schema: Mapping[str, Any], name: str) -> str | None:
    import jsonschema.validators  # costs every start 30 to 90 ms, and most audits have no tool list

    dialect = getattr(jsonschema.validators, name)
    # Formats are left out: a pattern is an ECMA 262 regular expression, which Python's module does not judge.
    error = next(dialect(dialect.META_SCHEMA).iter_errors(schema), None)
    if error is None:
        return None
    return f"is no valid JSON Schema: at {clean(error.json_path, 100)}, {clean(error.message)}"


def external_references(schema: object) -> Iterator[str]:
    """What a schema refers to outside itself by an http(s) URL."""
    own = schema.get("$id") if isinstance(schema, dict) else None
    base = own.partition("#")[0] if isinstance(own, str) else None
    for part, _ in _subschemas(schema):
        for name in ("$ref", "$dynamicRef", "$recursiveRef"):
            value = part.get(name)
            if not isinstance(value, str) or value.partition("#")[0] == base:
                continue
            if value.lower().startswith(("http://", "https://")):
                yield value


def header_faults(schema: object) -> Iterator[tuple[str, str]]:
    """Annotations that break the rules of ``x-mcp-header``, each with what is wrong, as the end of a sentence."""
    seen: set[str] = set()
    for part, reachable in _subschemas(schema):
        if HEADER not in part:
            continue
        value = part[HEADER]
        shown = quoted(value)
        if not isinstance(value, str):
            yield shown, f"is {kind(value)}, not a text"
        elif not value:
            yield shown, "is empty"
        elif not _TOKEN.fullmatch(value):
            yield shown, "is no name of a header"
        elif value.lower() in seen:
            yield shown, "is there twice, as letter case does not matter"
        elif not reachable:
            yield shown, "is on something that cannot be reached through properties alone"
        elif (fault := _type_fault(part)) is not None:
            yield shown, fault
        if isinstance(value, str):
            seen.add(value.lower())


def sensitive_headers(schema: object) -> Iterator[str]:
    """Annotated properties whose names say that their values are secret."""
    for part, _ in _subschemas(schema):
        properties = part.get("properties")
        for name, sub in properties.items() if isinstance(properties, dict) else ():
            if isinstance(sub, dict) and isinstance(sub.get(HEADER), str):
                words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
                if _SENSITIVE.search(words) or sub.get("writeOnly") is True or sub.get("format") == "password":
                    yield name


def arrays_without_items(schema: object) -> bool:
    """Whether an array's items are left open, which is legal, and refused by several clients."""
    return any(
        part.get("type") == "array" and not {"items", "prefixItems"} & part.keys() for part, _ in _subschemas(schema)
    )


def _type_fault(part: Mapping[str, object]) -> str | None:
    declared = part.get("type")
    types = declared if isinstance(declared, list) else [declared]
    if declared is None:
        return None if {"const", "enum"} & part.keys() else "is on a property without a type"
    if all(isinstance(one, str) and one in _PRIMITIVE for one in types) and declared != "null":
        return None
    return f"is on a property of type {quoted(declared)}"


def _subschemas(schema: object) -> Iterator[tuple[dict[str, object], bool]]:
    """All schemas within one, each with whether a chain of ``properties`` alone leads to it from the root."""
    stack: list[tuple[object, bool, bool]] = [(schema, True, True)]
    while stack:
        item, chained, is_root = stack.pop()
        if isinstance(item, list):
            stack.extend((part, False, False) for part in item)
        if not isinstance(item, dict):
            continue
        yield item, chained and not is_root
        for keyword, value in item.items():
            if keyword == "properties" and isinstance(value, dict):
                stack.extend((sub, chained, False) for sub in reversed(value.values()))
            elif keyword in _MAPS and isinstance(value, dict):
                stack.extend((sub, False, False) for sub in value.values())
            elif keyword not in _DATA and isinstance(value, (dict, list)):
                stack.append((value, False, False))
