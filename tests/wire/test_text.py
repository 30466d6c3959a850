import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parley.wire.text import clean, kind, plain, quoted


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain text, ünïcode, 日本語, 🌦", "plain text, ünïcode, 日本語, 🌦"),
        ("\x1b[31mred\x1b[0m", "\\u{1b}[31mred\\u{1b}[0m"),
        ("a\r\nb\tc", "a\\u{d}\\u{a}b\\u{9}c"),
        ("\u202eevil", "\\u{202e}evil"),
        ("zero\u200bwidth\ufeff", "zero\\u{200b}width\\u{feff}"),
        ("\x9b31m", "\\u{9b}31m"),
        ("tag\U000e0041", "tag\\u{e0041}"),
        ("lone \ud800", "lone \\u{d800}"),
        ("line\u2028break", "line\\u{2028}break"),
        ("private\ue000", "private\\u{e000}"),
        ("<b>&", "<b>&"),
    ],
)
def test_clean(text: str, shown: str) -> None:
    assert clean(text) == shown


@given(st.text(st.characters(), max_size=300))
def test_clean_is_one_printable_line(text: str) -> None:
    out = clean(text)
    out.encode("utf-8")
    assert len(out) <= 201
    assert not any(ord(character) < 32 or 0x7F <= ord(character) < 0xA0 for character in out)
    assert clean(out, 500) == out


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("x", '"x"'),
        ("", '""'),
        ("y" * 300, '"' + "y" * 200 + '…"'),
        (None, "null"),
        (True, "true"),
        (1.5, "1.5"),
        ({}, "{}"),
        ({"a": "é\x1b"}, '{"a": "é\\u001b"}'),
        (["x" * 300], '["' + "x" * 198 + "…"),
    ],
)
def test_quoted(value: object, shown: str) -> None:
    assert quoted(value) == shown
    assert plain(value) == (value[:200] + "…" * (len(value) > 200) if isinstance(value, str) and value else shown)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("null", "null"),
        ("true", "a boolean"),
        ("1", "a number"),
        ("1.5", "a number"),
        ('""', "a string"),
        ("[]", "an array"),
        ("{}", "an object"),
    ],
)
def test_kind(text: str, name: str) -> None:
    assert kind(json.loads(text)) == name
