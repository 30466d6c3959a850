import pytest

from parley.wire.sse import Event, Reader, events

# (name, stream, events)
STREAMS: list[tuple[str, bytes, list[Event]]] = [
    ("nothing", b"", []),
    ("one event", b"data: x\n\n", [Event("message", b"x", True)]),
    ("a name", b"event: endpoint\ndata: /m\n\n", [Event("endpoint", b"/m", True)]),
    ("CRLF", b"event: endpoint\r\ndata: /m\r\n\r\n", [Event("endpoint", b"/m", True)]),
    ("CR", b"data: x\r\rdata: y\r\r", [Event("message", b"x", True), Event("message", b"y", True)]),
    ("all line ends", b"data: x\r\n\ndata: y\n\r\n", [Event("message", b"x", True), Event("message", b"y", True)]),
    ("no space behind the colon", b"data:x\n\n", [Event("message", b"x", True)]),
    ("two spaces behind the colon", b"data:  x\n\n", [Event("message", b" x", True)]),
    ("several data lines", b"data: {\ndata: }\n\n", [Event("message", b"{\n}", True)]),
    ("comments", b": hello\n\n:\ndata: x\n: bye\n\n", [Event("message", b"x", True)]),
    ("an event that only primes", b"id: 1\nretry: 3000\ndata:\n\ndata: x\n\n", [Event("message", b"x", True)]),
    ("a field without a colon", b"data\ndata: x\n\n", [Event("message", b"\nx", True)]),
    ("a field nobody knows", b"color: red\ndata: x\n\n", [Event("message", b"x", True)]),
    ("an empty name", b"event:\ndata: x\n\n", [Event("message", b"x", True)]),
    ("a byte order mark", b"\xef\xbb\xbfdata: x\n\n", [Event("message", b"x", True)]),
    ("no blank line at the end", b"data: x\n", [Event("message", b"x", False)]),
    ("no line end at all", b"data: x", [Event("message", b"x", False)]),
    ("a CRLF at the end is one line end", b"data: x\r\n", [Event("message", b"x", False)]),
    ("a JSON text is no stream", b'{\n"data": 1\n}\n\n', []),
    ("a name that is not UTF-8", b"event: \xff\ndata: x\n\n", [Event("\ufffd", b"x", True)]),
    ("data that is not UTF-8 stays as it is", b"data: \xff\n\n", [Event("message", b"\xff", True)]),
]  # fmt: skip


@pytest.mark.parametrize(("stream", "expected"), [one[1:] for one in STREAMS], ids=[one[0] for one in STREAMS])
def test_events(stream: bytes, expected: list[Event]) -> None:
    assert list(events(stream)) == expected


def test_a_stream_that_grows_says_nothing_too_early() -> None:
    whole = b"event: message\r\ndata: x\r\n\r\n"
    seen = [any(event.ended for event in events(whole[:size])) for size in range(len(whole) + 1)]
    assert seen.index(True) >= len(whole) - 1  # the last line feed belongs to a blank line that is there already


def test_a_megabyte_of_line_ends_is_read_in_linear_time() -> None:
    assert list(events(b"\n" * 1_000_000)) == []
    assert list(events(b"\r" * 1_000_001)) == []
    assert len(list(events(b"data: x\n" * 100_000))) == 1


@pytest.mark.parametrize("size", [1, 2, 3, 5, 1000])
@pytest.mark.parametrize("stream", [one[1] for one in STREAMS], ids=[one[0] for one in STREAMS])
def test_each_event_of_a_growing_stream_is_read_once(stream: bytes, size: int) -> None:
    """However it is cut into pieces, but for what never ended."""
    reader = Reader()
    read = [event for end in range(size, len(stream) + size, size) for event in reader.more(stream[:end])]
    assert read == [event for event in events(stream) if event.ended]


def test_a_stream_that_grows_byte_by_byte_is_read_in_linear_time(monkeypatch: pytest.MonkeyPatch) -> None:
    blocks: list[bytes] = []
    monkeypatch.setattr("parley.wire.sse._event", lambda block, ended: blocks.append(block))
    stream, reader = b"data: x\n\n" * 500, Reader()
    for end in range(len(stream) + 1):
        list(reader.more(stream[:end]))
    assert len(blocks) == 500


def test_another_stream_is_read_from_its_beginning() -> None:
    reader = Reader()
    assert [event.data for event in reader.more(b"data: a\n\ndata: b\n\n")] == [b"a", b"b"]
    assert [event.data for event in reader.more(b"data: c\n\n")] == [b"c"]
