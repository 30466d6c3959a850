"""The badge: one of a fixed set of pictures. Nothing a target ever said goes into one."""

import json
from typing import Final

from parley.render.words import PROTOCOLS, STATES

LABEL: Final = "Parley"
"""What a badge about the whole report is labelled with; one about a protocol has the protocol's name."""

STYLES: Final = ("flat", "flat-square")

NOT_CHECKED: Final = "not checked"
STALE: Final = "stale"

# White on these has a contrast of 4.5:1 and more (WCAG 2.2, 1.4.3).
_COLOURS: Final = {
    "success": "#2a7d2e",
    "warning": "#8a5a00",
    "fail": "#b3261e",
    NOT_CHECKED: "#5f6368",
    STALE: "#5f6368",
}

# The width of Verdana's letters at 11 px, roughly; `textLength` makes a browser's other font fit the box.
_WIDE: Final = frozenset("mwMWACDGOQ@")
_THIN: Final = frozenset("fijlrt.,:' ")


def words(protocol: str | None, verdict: str, state: str | None) -> tuple[str, str, str]:
    """Label, message and title of a badge: ``protocol`` and ``state`` are the report's, ``verdict`` is a word."""
    label = PROTOCOLS[protocol] if protocol else LABEL
    return label, verdict, f"{label}: {verdict}" + (f" ({STATES[state]})" if state else "")


def svg(protocol: str | None, verdict: str, state: str | None, style: str) -> bytes:
    """The picture. All arguments are from fixed sets; anything else is a KeyError, not a picture."""
    label, message, title = words(protocol, verdict, state)
    left, right = _width(label), _width(message)
    width = left + right
    radius = {"flat": 3, "flat-square": 0}[style]
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="20" role="img" aria-label="{title}">',
        f"<title>{title}</title>",
        f'<clipPath id="r"><rect width="{width}" height="20" rx="{radius}" fill="#fff"/></clipPath>',
        f'<g clip-path="url(#r)"><rect width="{left}" height="20" fill="#3c4043"/>',
        f'<rect x="{left}" width="{right}" height="20" fill="{_COLOURS[message]}"/></g>',
        '<g fill="#fff" text-anchor="middle" font-family="Verdana,Geneva,DejaVu Sans,sans-serif" font-size="11">',
        f'<text x="{left / 2:g}" y="14" textLength="{left - 12}">{label}</text>',
        f'<text x="{left + right / 2:g}" y="14" textLength="{right - 12}">{message}</text></g></svg>',
    ]
    return "".join(parts).encode("ascii")


def endpoint(protocol: str | None, verdict: str, state: str | None) -> bytes:
    """The same for shields.io, in its endpoint schema."""
    label, message, _ = words(protocol, verdict, state)
    return json.dumps(
        {
            "schemaVersion": 1,
            "label": label,
            "message": message,
            "color": _COLOURS[message].removeprefix("#"),
            "cacheSeconds": 300,
        }
    ).encode("ascii")


def _width(text: str) -> int:
    return 12 + round(sum(9.5 if letter in _WIDE else 4.3 if letter in _THIN else 6.9 for letter in text))
