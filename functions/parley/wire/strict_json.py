"""JSON from a stranger (RFC 8259, I-JSON limits): strict, bounded, and with notes on what is legal but odd."""

import json
import re
from functools import lru_cache
from typing import Final, NamedTuple

DEPTH: Final = 64
"""Levels of nesting that are read."""

NODES: Final = 160_000
"""Values, member names included, that are read: a megabyte of ``{},{},...`` costs 25 times that in memory.

An Agent Card with 15 000 of the smallest skills, which is as many as fit into what is read of a body, has 150 000.
"""

_SURROGATE = re.compile("[\ud800-\udfff]")


class Parsed(NamedTuple):
    """A JSON text's value. ``notes`` may hold ``bom``, ``duplicate-member`` and ``surrogate``."""

    value: object
    notes: frozenset[str]


class NotJson(NamedTuple):
    """Why a text is no JSON that can be relied on, as the end of a sentence: ``it is not UTF-8``.

    ``is_beyond`` tells that it may well be JSON, but is more of it than is read here.
    """

    reason: str
    is_beyond: bool = False


class _BadError(ValueError):
    """Its text is the reason."""


class _BeyondError(_BadError):
    """More than is read."""


@lru_cache(maxsize=16)
def parse(raw: bytes) -> Parsed | NotJson:
    """Read one JSON text. The charset a server names is ignored: JSON is UTF-8 (RFC 8259, section 8.1).

    Kept for a while, as several rules read the same text; nobody may change the value. :func:`forget` lets go of it.
    """
    if not raw.strip():
        return NotJson("it is empty")
    # Counted before anything is built, so that a text made to explode never does.
    if marks(raw) > 2 * NODES:
        return NotJson(f"it holds more than {NODES} values", is_beyond=True)
    notes: set[str] = set()

    def members(pairs: list[tuple[str, object]]) -> dict[str, object]:
        made = dict(pairs)
        if len(made) != len(pairs):
            notes.add("duplicate-member")
        return made

    try:
        text = raw.decode("utf-8")
        if text.startswith("\ufeff"):
            notes.add("bom")
            text = text[1:]
        value = json.loads(text, object_pairs_hook=members, parse_float=_number, parse_constant=_constant)
        _bounded(value, notes)
    except UnicodeDecodeError:
        return NotJson("it is not UTF-8")
    except RecursionError:
        return NotJson(f"it is nested more than {DEPTH} levels deep", is_beyond=True)
    except json.JSONDecodeError as error:
        return NotJson(f"it is not JSON (line {error.lineno}, column {error.colno}: {error.msg})")
    except _BadError as error:
        return NotJson(str(error), is_beyond=isinstance(error, _BeyondError))
    except ValueError:  # CPython refuses integers of more than 4 300 digits
        return NotJson("it holds a number out of range")
    return Parsed(value, frozenset(notes))


def marks(raw: bytes) -> int:
    """At least as many as there are values in a JSON text, and at most twice as many outside of its strings."""
    return sum(map(raw.count, (b"[", b"{", b",", b":")))


def forget() -> None:
    """Let go of what was read: a stranger's texts are not to fill a server's memory."""
    parse.cache_clear()


def _number(text: str) -> float:
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise _BadError("it holds a number out of range")
    return value


def _constant(name: str) -> object:
    raise _BadError(f"it holds {name}, which is not JSON")


def _bounded(value: object, notes: set[str]) -> None:
    """Count values and levels without recursion, and note lone surrogates."""
    stack = [(value, 1)]
    nodes = 0
    while stack:
        item, depth = stack.pop()
        nodes += 1
        if depth > DEPTH:
            raise _BeyondError(f"it is nested more than {DEPTH} levels deep")
        if nodes > NODES:
            raise _BeyondError(f"it holds more than {NODES} values")
        if isinstance(item, dict):
            stack.extend((part, depth + 1) for pair in item.items() for part in pair)
        elif isinstance(item, list):
            stack.extend((part, depth + 1) for part in item)
        elif isinstance(item, str) and _SURROGATE.search(item):
            notes.add("surrogate")
