import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parley.wire.strict_json import DEPTH, NODES, NotJson, Parsed, parse


@pytest.mark.parametrize(
    ("raw", "value", "notes"),
    [
        (b'{"a": [1, 2.5, null, true, "\xc3\xa9"]}', {"a": [1, 2.5, None, True, "é"]}, set()),
        (b'\xef\xbb\xbf{"a": 1}', {"a": 1}, {"bom"}),
        (b'{"a": 1, "a": 2}', {"a": 2}, {"duplicate-member"}),
        (b'{"a": "\\ud800"}', {"a": "\ud800"}, {"surrogate"}),
        (b'{"\\udc00": 1}', {"\udc00": 1}, {"surrogate"}),
        (b'"\\u0000"', "\0", set()),
        (b"[" * DEPTH + b"]" * DEPTH, None, set()),
        (b" 5 ", 5, set()),
        (b"1" * 4000, None, set()),
    ],
)
def test_read(raw: bytes, value: object, notes: set[str]) -> None:
    parsed = parse(raw)
    assert isinstance(parsed, Parsed)
    assert parsed.notes == notes
    if value is not None:
        assert parsed.value == value


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b"", "it is empty"),
        (b" \n", "it is empty"),
        (b"{", "it is not JSON (line 1, column 2: Expecting property name enclosed in double quotes)"),
        (b'{"a": 1} x', "it is not JSON (line 1, column 10: Extra data)"),
        (b"{'a': 1}", "it is not JSON (line 1, column 2: Expecting property name enclosed in double quotes)"),
        (b'["a\nb"]', "it is not JSON (line 1, column 4: Invalid control character at)"),
        (b"\xff", "it is not UTF-8"),
        (b"\xc0\xaf", "it is not UTF-8"),
        (b"\xed\xa0\x80", "it is not UTF-8"),
        ('{"a": 1}'.encode("utf-16"), "it is not UTF-8"),
        (b"NaN", "it holds NaN, which is not JSON"),
        (b"[-Infinity]", "it holds -Infinity, which is not JSON"),
        (b"[1e999]", "it holds a number out of range"),
        (b"1" * 5000, "it holds a number out of range"),
        (b"[" * (DEPTH + 1) + b"]" * (DEPTH + 1), f"it is nested more than {DEPTH} levels deep"),
        (b"[" * 50_000 + b"]" * 50_000, f"it is nested more than {DEPTH} levels deep"),
        (b'{"a":' * 50_000 + b"1" + b"}" * 50_000, f"it is nested more than {DEPTH} levels deep"),
        (b"[" + b"{}," * NODES + b"{}]", f"it holds more than {NODES} values"),
        (b"[" + b"1," * NODES + b"1]", f"it holds more than {NODES} values"),
    ],
)
def test_refused(raw: bytes, reason: str) -> None:
    assert parse(raw) == NotJson(reason, is_beyond="more than" in reason)


@given(st.binary(max_size=100))
def test_any_bytes(raw: bytes) -> None:
    parse(raw)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
        st.lists,
        max_leaves=20,
    )
)
def test_what_json_wrote_is_read(value: object) -> None:
    parsed = parse(json.dumps(value).encode())
    assert isinstance(parsed, Parsed)
    assert parsed.value == value
