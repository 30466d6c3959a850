import itertools
import json
from xml.etree import ElementTree

import pytest

from parley.render.badge import NOT_CHECKED, STALE, STYLES, endpoint, svg
from parley.render.words import PROTOCOLS, STATES, VERDICTS

WORDS = [*VERDICTS.values(), STALE]
ALL = list(itertools.product([None, *PROTOCOLS], WORDS, [None, *STATES], STYLES))


def test_words_are_the_promised_ones() -> None:
    assert set(WORDS) == {"success", "warning", "fail", "not checked", "stale"}
    assert NOT_CHECKED in WORDS


@pytest.mark.parametrize(("protocol", "verdict", "state", "style"), ALL)
def test_every_badge_is_a_small_accessible_picture(
    protocol: str | None, verdict: str, state: str | None, style: str
) -> None:
    picture = svg(protocol, verdict, state, style)
    root = ElementTree.fromstring(picture)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert root.get("role") == "img"
    title = root.find("{http://www.w3.org/2000/svg}title")
    assert title is not None
    assert title.text == root.get("aria-label")
    assert verdict in (title.text or "")
    assert {element.tag.rpartition("}")[2] for element in root.iter()} == {
        "svg",
        "title",
        "clipPath",
        "rect",
        "g",
        "text",
    }
    assert len(picture) < 1500
    assert ("rx" in picture.decode() and 'rx="0"' in picture.decode()) == (style == "flat-square")


def test_nothing_else_can_be_drawn() -> None:
    for arguments in (
        ("evil", "fail", None, "flat"),
        (None, "<script>", None, "flat"),
        (None, "fail", "x", "flat"),
        (None, "fail", None, "x"),
    ):
        with pytest.raises(KeyError):
            svg(*arguments)


@pytest.mark.parametrize("verdict", WORDS)
def test_text_can_be_read_on_its_ground(verdict: str) -> None:
    """WCAG 2.2, 1.4.3: 4.5 to 1."""
    colour = json.loads(endpoint(None, verdict, None))["color"]
    assert 1.05 / (_luminance(colour) + 0.05) >= 4.5


def test_endpoint() -> None:
    assert json.loads(endpoint("serverCard", "warning", "confirmed")) == {
        "schemaVersion": 1,
        "label": "MCP Server Card",
        "message": "warning",
        "color": "8a5a00",
        "cacheSeconds": 300,
    }


def _luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (0, 2, 4)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
