"""``WWW-Authenticate`` (RFC 9110, section 11.6.1): several challenges, quoted commas, any order; in linear time."""

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

LONGEST: Final = 16_384
"""Characters of one header that are read; real ones have some hundred."""

MOST: Final = 500
"""Parameters and schemes of one header that are read."""

# Possessive throughout: nothing that was read is ever read again.
_GAP = re.compile(r"[ \t,]*+")
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]++")
_EQUALS = re.compile(r"[ \t]*+=[ \t]*+(?![=,]|$)")
_QUOTED = re.compile(r'"([^"\\]*+(?:\\.[^"\\]*+)*+)"', re.DOTALL)
_UNQUOTED = re.compile(r'[^ \t,"]++')
_TOKEN68 = re.compile(r"[ \t]++([A-Za-z0-9._~+/-]++=*+)[ \t]*+(?:,|$)")
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)


class Challenge(NamedTuple):
    """One way to authenticate: ``scheme`` in lower case, ``parameters`` by their names in lower case.

    Of a parameter that comes twice, the first counts. ``scheme`` is empty for parameters that stand before any.
    """

    scheme: str
    parameters: Mapping[str, str]
    token68: str | None = None


class Challenges(NamedTuple):
    """What a header held, and where it breaks the grammar: ends of a sentence, ``has no comma between ...``."""

    challenges: tuple[Challenge, ...] = ()
    faults: tuple[str, ...] = ()


def parse(*headers: str) -> Challenges:
    """Read the values of all ``WWW-Authenticate`` headers of an answer, leniently where what is meant is clear."""
    found: list[Challenge] = []
    faults: dict[str, None] = {}
    for header in headers:
        _read(header, found, faults)
    return Challenges(tuple(found), tuple(faults))


def _read(header: str, found: list[Challenge], faults: dict[str, None]) -> None:
    text = header[:LONGEST]
    if len(header) > LONGEST:
        faults[f"is longer than {LONGEST} characters, of which the rest was not read"] = None
    position = 0
    parameters: dict[str, str] | None = None
    for _ in range(MOST):
        start = _end(_GAP, text, position)
        if start == len(text):
            return
        token = _TOKEN.match(text, start)
        if token is None:
            faults["has a character where a name is due"] = None
            return
        equals = _EQUALS.match(text, token.end())
        if equals is None:
            parameters = {}
            token68 = _TOKEN68.match(text, token.end())
            found.append(Challenge(token[0].lower(), parameters, token68[1] if token68 else None))
            position = token68.end() if token68 else token.end()
            continue
        if parameters is None:
            faults["has parameters that belong to no scheme"] = None
            parameters = {}
            found.append(Challenge("", parameters))
        elif parameters and "," not in text[position:start]:
            faults["has no comma between two parameters"] = None
        name = token[0].lower()
        quoted = _QUOTED.match(text, equals.end())
        if quoted is not None:
            value = _ESCAPE.sub(r"\1", quoted[1])
            position = quoted.end()
        elif (bare := _UNQUOTED.match(text, equals.end())) is not None:
            value = bare[0]
            position = bare.end()
            if not _TOKEN.fullmatch(value):
                faults["has a value that must be quoted and is not"] = None
        else:
            faults["has a quoted value that does not end"] = None
            return
        if name in parameters:
            faults["has one parameter twice in a challenge"] = None
        parameters.setdefault(name, value)
    faults[f"has more than {MOST} parts, of which the rest was not read"] = None


def _end(pattern: re.Pattern[str], text: str, position: int) -> int:
    match = pattern.match(text, position)
    return match.end() if match else position
