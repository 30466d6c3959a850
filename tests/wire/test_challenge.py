"""``WWW-Authenticate``, as servers write it and as the hostile do."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hostile
from parley.wire.challenge import LONGEST, Challenge, Challenges, parse

URL = "https://weather.example/.well-known/oauth-protected-resource"

READ: list[tuple[str, list[tuple[str, dict[str, str]]]]] = [
    ("Bearer", [("bearer", {})]),
    ("", []),
    (" , ,", []),
    ('Bearer realm="mcp"', [("bearer", {"realm": "mcp"})]),
    (f'bearer Resource_Metadata="{URL}"', [("bearer", {"resource_metadata": URL})]),
    (f'Bearer scope="a b", resource_metadata="{URL}"', [("bearer", {"scope": "a b", "resource_metadata": URL})]),
    ('Bearer realm="a, b", error="x"', [("bearer", {"realm": "a, b", "error": "x"})]),
    ('Bearer realm="a, Basic realm=b"', [("bearer", {"realm": "a, Basic realm=b"})]),
    ('Bearer realm="say \\"hi\\" \\\\"', [("bearer", {"realm": 'say "hi" \\'})]),
    ("Bearer error=invalid_token", [("bearer", {"error": "invalid_token"})]),
    ('Bearer realm = "x" , error\t=\t"y"', [("bearer", {"realm": "x", "error": "y"})]),
    (',Bearer realm="x",,error="y",', [("bearer", {"realm": "x", "error": "y"})]),
    ('Basic realm="x", Bearer scope="y"', [("basic", {"realm": "x"}), ("bearer", {"scope": "y"})]),
    ('Bearer, Basic realm="x"', [("bearer", {}), ("basic", {"realm": "x"})]),
    ("Negotiate, NTLM", [("negotiate", {}), ("ntlm", {})]),
    ('Newauth realm="apps", type=1, title="Login to \\"apps\\"", Basic realm="simple"', [("newauth", {"realm": "apps", "type": "1", "title": 'Login to "apps"'}), ("basic", {"realm": "simple"})]),
    ('DPoP algs="ES256 PS256", Bearer', [("dpop", {"algs": "ES256 PS256"}), ("bearer", {})]),
]  # fmt: skip


@pytest.mark.parametrize(("header", "challenges"), READ)
def test_read(header: str, challenges: list[tuple[str, dict[str, str]]]) -> None:
    found = parse(header)
    assert [(one.scheme, one.parameters) for one in found.challenges] == challenges
    assert found.faults == ()


def test_token68() -> None:
    assert parse("Negotiate YII+/x==, Bearer") == Challenges(
        (Challenge("negotiate", {}, "YII+/x=="), Challenge("bearer", {}))
    )


def test_several_headers() -> None:
    found = parse('Basic realm="never ends', 'Bearer scope="x"')
    assert [(one.scheme, one.parameters) for one in found.challenges] == [("basic", {}), ("bearer", {"scope": "x"})]
    assert found.faults == ("has a quoted value that does not end",)


# What breaks the grammar, but not always the meaning: (header, the first challenge's parameters, fault).
BROKEN: list[tuple[str, dict[str, str] | None, str]] = [
    (f'Bearer realm="x" resource_metadata="{URL}"', {"realm": "x", "resource_metadata": URL}, "has no comma between two parameters"),
    (f"Bearer resource_metadata={URL}", {"resource_metadata": URL}, "has a value that must be quoted and is not"),
    (f'resource_metadata="{URL}"', {"resource_metadata": URL}, "has parameters that belong to no scheme"),
    ('Bearer resource_metadata="unclosed', {}, "has a quoted value that does not end"),
    ('Bearer a="1", a="2"', {"a": "1"}, "has one parameter twice in a challenge"),
    ('"Bearer"', None, "has a character where a name is due"),
    ('{"error": "x"}', None, "has a character where a name is due"),
]  # fmt: skip


@pytest.mark.parametrize(("header", "parameters", "fault"), BROKEN)
def test_broken(header: str, parameters: dict[str, str] | None, fault: str) -> None:
    found = parse(header)
    assert fault in found.faults
    assert next((dict(one.parameters) for one in found.challenges), None) == parameters


LONG = {
    "parameters": "Bearer " + 'a="b",' * 170_000,
    "schemes": "x " * 500_000,
    "quotes": '"' * 1_000_000,
    "commas": "," * 1_000_000,
    "backslashes": 'Bearer a="' + "\\" * 1_000_000,
    "spaces": "Bearer " + " " * 1_000_000 + "x",
    "equals": "Bearer a" + "=" * 1_000_000,
    "no commas": "a=b " * 250_000,
    "one value": 'Bearer a="' + "x" * 1_000_000 + '"',
}


@pytest.mark.parametrize("header", [*hostile.CHALLENGES, *LONG.values()], ids=lambda header: repr(header[:24]))
def test_hostile_headers_cost_ten_milliseconds_at_most(header: str) -> None:
    def seconds() -> float:
        started = time.process_time()
        parse(header)
        return time.process_time() - started

    assert min(seconds() for _ in range(5)) < 0.010


def test_hostile_headers_make_little() -> None:
    for part in ('a="b",', "x ", '"', ",", "\\", " ", "=", "a=b ", 'a="\\'):
        found = parse("Bearer " + part * LONGEST)
        assert len(found.challenges) <= 500
        assert sum(len(one.parameters) for one in found.challenges) <= 500
        assert found.faults


def test_what_is_cut_off_is_said() -> None:
    assert parse("Bearer " + "," * LONGEST).faults == (
        f"is longer than {LONGEST} characters, of which the rest was not read",
    )
    assert "has more than 500 parts, of which the rest was not read" in parse("a," * 600).faults


NAMES = st.text("abcdefghijklmnopqrstuvwxyz0123456789!#$%&'*+.^_`|~-", min_size=1, max_size=12)
VALUES = st.text(st.characters(min_codepoint=0x20, max_codepoint=0xFF, exclude_characters="\x7f"), max_size=40)
WRITTEN = st.lists(st.tuples(NAMES, st.dictionaries(NAMES, VALUES, max_size=4)), max_size=4)


@given(WRITTEN, st.sampled_from([", ", ",", " , ", ",\t,"]))
def test_what_the_grammar_allows_is_read_as_it_was_meant(written: list[tuple[str, dict[str, str]]], comma: str) -> None:
    def parameter(name: str, value: str) -> str:
        escaped = value.replace("\\", "\\\\").replace('"', '\\"')
        return f'{name}="{escaped}"'

    header = comma.join(
        f"{scheme} {comma.join(parameter(*pair) for pair in parameters.items())}".strip()
        for scheme, parameters in written
    )
    found = parse(header)
    assert [(one.scheme, one.parameters) for one in found.challenges] == written
    assert found.faults == ()


@given(st.text(max_size=200))
def test_no_text_breaks_it(header: str) -> None:
    parse(header, header)
