"""Event streams (WHATWG HTML, section 9.2.6), read from bytes: what came, and what of it never ended."""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

_BOM: Final = b"\xef\xbb\xbf"

# Atomic, or a CRLF that has just come would be taken for two line ends.
_LINE_END = re.compile(rb"(?>\r\n|\n|\r)")
_BLANK_LINE = re.compile(rb"(?>\r\n|\n|\r)(?>\r\n|\n|\r)")


class Event(NamedTuple):
    """One event: its name (``message`` if it has none) and its data lines, joined.

    ``ended`` tells whether the blank line came that hands it to the reader; without one, it is dropped by the rules.
    """

    name: str
    data: bytes
    ended: bool


def events(raw: bytes) -> Iterator[Event]:
    """The events of a stream that have data, in order, and at last one that was not ended.

    Comments, events that only set an id, and events with empty data are legal and nobody's message.
    """
    start = len(_BOM) if raw.startswith(_BOM) else 0
    while True:
        end = _BLANK_LINE.search(raw, start)
        event = _event(raw[start : end.start() if end else len(raw)], ended=end is not None)
        if event is not None:
            yield event
        if end is None:
            return
        start = end.end()


def ended(raw: bytes, start: int = 0) -> int:
    """Where the last event that was ended ends, by what stands from ``start`` on; 0 if none was."""
    end = 0
    for blank in _BLANK_LINE.finditer(raw, start):
        end = blank.end()
    return end


def _event(block: bytes, *, ended: bool) -> Event | None:
    name = "message"
    data: list[bytes] = []
    for line in _LINE_END.split(block):
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if field == b"data":
            data.append(value)
        elif field == b"event" and value:
            name = value.decode("utf-8", "replace")
    joined = b"\n".join(data)
    return Event(name, joined, ended) if joined else None
