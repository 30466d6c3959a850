"""One HTTP/1.1 answer, read strictly (RFC 9112): what breaks the rules is said, never guessed around."""

import http
import http.client
import re
from typing import Final, Protocol

from parley.evidence import FailureCode
from parley.fetch.budget import Meter, Stop
from parley.wire.text import clean

INTERIM: Final = 8
"""Interim answers (1xx) that are skipped before one is an answer too many."""

CHUNK_LINE: Final = 4096
"""Bytes of a line between chunks: a size, its extensions, or a trailer field."""

_STATUS_LINE = re.compile(rb"HTTP/1\.([0-9]) +([1-9][0-9]{2})(?: .*)?", re.DOTALL)
_FIELD_NAME = re.compile(rb"[^\x00-\x20\x7f:]+")
_LENGTH = re.compile(r"[0-9]{1,18}")
_CHUNK_SIZE = re.compile(rb"([0-9A-Fa-f]{1,15})[ \t]*(?:;.*)?", re.DOTALL)


class Wire(Protocol):
    """A connection as an answer sees it. Its reading methods raise :class:`Stop` at any limit."""

    @property
    def meter(self) -> Meter:
        """The meter of the fetch that the connection now serves."""

    @property
    def buffered(self) -> bool:
        """Whether something was read that nobody has taken yet."""

    def answered(self, answer: "Answer") -> None:
        """The head of an answer is whole."""

    def readline(self, limit: int) -> bytes:
        """Up to and including a line feed; less at the end of the stream, or at ``limit`` bytes."""

    def read1(self, size: int) -> bytes:
        """What is there, waiting for at least one byte; nothing at the end of the stream."""


class Answer(http.client.HTTPResponse):
    """An answer in the place where http.client puts its own.

    http.client takes 103 for the answer, loses headers behind a malformed one, splits one at a bare carriage return,
    takes a chunk of size -1 for an invitation to read to the end of memory, and knows neither deadline nor budget.

    ``fields`` are the headers, names in lower case. What http.client, urllib3 and requests call headers stays empty:
    no cookie is kept, no coding undone and no length believed by anyone but this class.
    """

    def __init__(self, sock: Wire, debuglevel: int = 0, method: str | None = None, url: str | None = None) -> None:
        super().__init__(sock, debuglevel, method, url)  # type: ignore[arg-type]  # of a socket it only uses makefile
        self._wire: Final = sock
        self._is_tunnel: Final = method == "CONNECT"
        self._head_left = sock.meter.limits.head_bytes
        self._version = 0
        self._left: int | None = None  # bytes of the body, or of the current chunk; None before the first chunk
        self._total = 0
        self.fields: tuple[tuple[str, str], ...] = ()
        self.may_keep = False  # whether the connection may be used again, once everything has been read

    @property
    def is_whole(self) -> bool:
        """Whether the body was read to its end."""
        return self.isclosed()

    @property
    def has_more(self) -> bool:
        """Whether more can be read without waiting for the network."""
        return self._wire.buffered

    def values(self, name: str) -> list[str]:
        """The values of a header, by its name in lower case."""
        return [value for key, value in self.fields if key == name]

    def begin(self) -> None:
        """Read the head; raises :class:`Stop`."""
        for _ in range(INTERIM):
            self._version, status = self._status_line()
            fields = self._field_lines()
            if status == http.HTTPStatus.SWITCHING_PROTOCOLS:
                raise _bad("switches to another protocol, which nobody asked for")
            if status >= 200:
                break
        else:
            raise _bad(f"sends more than {INTERIM} interim answers")
        self.fields = tuple(fields)
        self.code = self.status = status
        self.version, self.reason = 11, ""
        self.headers = self.msg = http.client.HTTPMessage()
        # http.client would close the connection under the body; whether it is kept is decided when all was read.
        self.will_close = False
        self._frame()
        self._wire.answered(self)

    def read1(self, n: int = -1) -> bytes:
        """Some of the body, at most ``n`` bytes; nothing once it is whole. Raises :class:`Stop`."""
        if self.isclosed():
            return b""
        size = n if n > 0 else 65_536
        if self.chunked:
            return self._read_chunks(size)
        piece = self._wire.read1(size if self._left is None else min(size, self._left))
        if self._left is None:
            if not piece:
                self._close_conn()
            return piece
        if not piece:
            raise _bad(f"closed the connection after {self._total - self._left} of {self._total} bytes of its body")
        self._left -= len(piece)
        if not self._left:
            self._close_conn()
        return piece

    def flush(self) -> None:
        """Nothing: an answer is only read."""

    def _close_conn(self) -> None:
        self.fp = None  # type: ignore[assignment]  # the reader is the connection's, which may be used again

    def _status_line(self) -> tuple[int, int]:
        line = self._wire.readline(self._head_left)
        if not line:
            raise Stop(FailureCode.CONNECT, "closed the connection without an answer")
        self._count_head(line)
        match = _STATUS_LINE.fullmatch(line.removesuffix(b"\n").removesuffix(b"\r"))
        if not match:
            raise _bad(f"answers with something that is not HTTP/1.1 ({clean(line.strip().decode('latin-1'), 40)})")
        return int(match[1]), int(match[2])

    def _field_lines(self) -> list[tuple[str, str]]:
        fields: list[tuple[bytes, bytes]] = []
        while True:
            line = self._wire.readline(self._head_left)
            self._count_head(line)
            if not line.endswith(b"\n"):
                raise _bad("closed the connection in the middle of its headers")
            line = line[:-1].removesuffix(b"\r")
            if not line:
                break
            if line[0] in b" \t" and fields:  # a folded value (RFC 9112, section 5.2)
                name, value = fields.pop()
                fields.append((name, value + b" " + line.strip(b" \t")))
                continue
            name, colon, value = line.partition(b":")
            if not colon or not _FIELD_NAME.fullmatch(name := name.rstrip(b" \t")):
                what = "with an impossible name" if colon else "without a colon"
                raise _bad(f"sends a header {what} ({clean(line.decode('latin-1'), 40)})")
            fields.append((name, value.strip(b" \t")))
        if any(b"\r" in value or b"\0" in value for _, value in fields):
            raise _bad("sends a header with a carriage return or a NUL inside")
        return [(name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in fields]

    def _count_head(self, line: bytes) -> None:
        self._head_left -= len(line)
        if self._head_left <= 0:
            raise self._wire.meter.too_much_head()

    def _frame(self) -> None:
        """How long the body is, and whether another answer may follow it (RFC 9112, sections 6.3 and 9.3)."""
        codings = ", ".join(self.values("transfer-encoding")).lower()
        lengths = {length.strip() for value in self.values("content-length") for length in value.split(",")}
        options = {option.strip().lower() for value in self.values("connection") for option in value.split(",")}
        self.chunked = codings == "chunked"
        if self.status in (204, 304) or (self._is_tunnel and self.status < 300):
            self.chunked = False
            self._left = 0
        elif codings and not self.chunked:
            raise _bad(f"uses a transfer coding that nobody asked for ({clean(codings, 40)})")
        elif lengths and not self.chunked:
            if len(lengths) > 1:
                raise _bad(f"sends Content-Lengths that differ ({clean(', '.join(sorted(lengths)), 40)})")
            (length,) = lengths
            if not _LENGTH.fullmatch(length):
                raise _bad(f"sends a Content-Length that is no number ({clean(length, 40)})")
            self._left = self._total = int(length)
        self.may_keep = (
            ("close" not in options if self._version else "keep-alive" in options)
            and (self.chunked or self._left is not None)
            and not (codings and lengths)
        )
        if self._left == 0:
            self._close_conn()

    def _read_chunks(self, size: int) -> bytes:
        # Chunks of one byte cost a call each, so what is at hand is taken in one go; but nothing is waited for while
        # there is something to give: in an event stream it may be the answer.
        parts = bytearray()
        while len(parts) < size and (not parts or self._wire.buffered):
            if not self._left:
                line = self._chunk_line()
                match = _CHUNK_SIZE.fullmatch(line)
                if not match:
                    raise _bad(f"sends a chunk size that is no number ({clean(line.decode('latin-1'), 40)})")
                self._left = int(match[1], 16)
                if not self._left:
                    while self._chunk_line():
                        pass  # trailer fields, which nobody asked for; the meter bounds them
                    self._close_conn()
                    break
            piece = self._wire.read1(min(size - len(parts), self._left))
            if not piece:
                raise _bad("closed the connection in the middle of its body")
            parts += piece
            self._left -= len(piece)
            if not self._left and self._chunk_line():
                raise _bad("sends a chunk that is longer than announced")
        return bytes(parts)

    def _chunk_line(self) -> bytes:
        line = self._wire.readline(CHUNK_LINE)
        if not line.endswith(b"\n"):
            if len(line) < CHUNK_LINE:
                raise _bad("closed the connection in the middle of its body")
            raise _bad("sends an endless line in the middle of its body")
        return line[:-1].removesuffix(b"\r")


def _bad(reason: str) -> Stop:
    return Stop(FailureCode.BAD_HTTP, reason)
