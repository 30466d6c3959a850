"""Event streams (WHATWG HTML, section 9.2.6), read from bytes: what came, and what of it never ended."""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

_BOM: Final = b"\xef\xbb\xbf"

_OVERLAP: Final = 3
"""Bytes of an event's end that may have come before the last one."""

# Atomic, or a CRLF that has just come would be taken for two line ends. Blank lines in a row end one event.
_LINE_END = re.compile(rb"(?>\r\n|\n|\r)")
_BLANK_LINE = re.compile(rb"(?>\r\n|\n|\r)(?>\r\n|\n|\r)++")


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
        block = raw[start : end.start() if end else len(raw)]
        # A stream may hold a hundred thousand comments.
        event = _event(block, ended=end is not None) if b"data" in block else None
        if event is not None:
            yield event
        if end is None:
            return
        start = end.end()


class Reader:
    """Reads a stream that is still coming, each event once, as soon as it has ended."""

    def __init__(self) -> None:
        self._seen = b""
        self._read = 0

    def more(self, raw: bytes) -> Iterator[Event]:
        """The events that have ended since the last call; ``raw`` is all that has come of the stream so far.

        What does not begin with what came before is another stream, as after a request that is made again.
        """
        if not raw.startswith(self._seen):
            self._seen, self._read = b"", 0
        start = end = self._read
        for blank in _BLANK_LINE.finditer(raw, max(start, len(self._seen) - _OVERLAP)):
            end = blank.end()
        self._seen, self._read = raw, end
        return events(raw[start:end])


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
