"""A stranger's text on its way out, made harmless: to a terminal, a log, a page, a file."""

import json
import unicodedata
from typing import Final

CUT: Final = 200
"""Characters of a stranger's value that are shown; the rest becomes an ellipsis."""

MISSING: Final = "(missing)"

# Drawn as nothing, or as the neighbour's accent: enough of them hide text, or fake other text.
_INVISIBLE = frozenset("\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0\u034f") | {chr(n) for n in range(0xFE00, 0xFE10)}


def clean(text: object, limit: int = CUT) -> str:
    """One printable line of at most ``limit`` characters and an ellipsis.

    Control characters, terminal escapes, bidirectional marks, zero-width and tag characters, unassigned code
    points and surrogates become visible as ``\\u{1b}``; so the result can be printed, logged and encoded as UTF-8.
    """
    if isinstance(text, str) and len(text) <= limit and text.isascii() and text.isprintable():
        return text  # as nearly all are
    pieces: list[str] = []
    size = 0
    for character in text if isinstance(text, str) else str(text):
        category = unicodedata.category(character)
        harmless = category[0] != "C" and category not in ("Zl", "Zp") and character not in _INVISIBLE
        piece = character if harmless else f"\\u{{{ord(character):x}}}"
        size += len(piece)
        if size > limit:
            return "".join(pieces) + "…"
        pieces.append(piece)
    return "".join(pieces)


def quoted(value: object) -> str:
    """A value seen in a document, as it is shown in a sentence: quoted if it is text, else as JSON, cleaned and cut."""
    if isinstance(value, str):
        return f'"{clean(value)}"'
    pieces = ""
    for piece in json.JSONEncoder(ensure_ascii=False).iterencode(value):
        pieces += piece
        if len(pieces) > CUT:  # what is not shown is not written out either
            break
    return clean(pieces)


def plain(value: object) -> str:
    """Like :func:`quoted`, but text is not put in quotation marks unless nothing else would show it."""
    if isinstance(value, str) and value.strip():
        return clean(value)
    return quoted(value)


def kind(value: object) -> str:
    """The JSON type of a parsed value, with its article: ``an object``, ``a string``, ``null``."""
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case int() | float():
            return "a number"
        case str():
            return "a string"
        case list():
            return "an array"
        case _:
            return "an object"


def count(number: int, noun: str) -> str:
    """``1 check``, ``2 checks``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
