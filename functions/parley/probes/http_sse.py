"""Talks to an HTTP+SSE server (MCP 2024-11-05): what is POSTed is answered on the stream that one GET holds open."""

import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Final

from parley.documents.mcp import follows, messages_url
from parley.documents.mcp_plan import STEPS, Purpose
from parley.documents.mcp_reply import Reply, answer_in, is_read
from parley.evidence import Exchange, FailureCode, Request
from parley.probes import Fetch
from parley.wire import sse

SECONDS: Final = 6.0
"""Patience with the stream, for all that is said on it."""

Make = Callable[[Purpose, int, str | None], Request]
"""Makes a request of the plan: the step, which of its requests, and the cursor to go on with."""


def converse(url: str, make: Make, listen: Fetch, post: Fetch) -> list[Exchange]:
    """Open the stream, introduce ourselves at the place that its first event names, and read the tools.

    The stream's exchange comes first, then what was POSTed, in order. Nothing is POSTed to another origin.
    """
    conversation = _Conversation(url, make)
    heard: list[Exchange] = []

    def hear() -> None:
        try:
            heard.append(listen(conversation.opening))
        finally:
            conversation.due.put(None)

    listener = threading.Thread(target=hear, daemon=True, name="http-sse")
    listener.start()
    said: list[Exchange] = []
    while (request := conversation.due.get()) is not None:
        said.append(post(request))
        failure = said[-1].failure
        is_failed = failure is not None and failure.code is not FailureCode.TIMEOUT  # what was sent may be answered yet
        if is_failed or (said[-1].status or 0) >= 300:
            conversation.is_over = True  # the stream is let go of by its next byte, or when its time is up
    listener.join()
    return [*heard, *said]


class _Conversation:
    """What has been heard, and what is to be said next. Called with the stream's bytes so far, by its reader."""

    def __init__(self, url: str, make: Make) -> None:
        self._url = url
        self._make = make
        self._stream = sse.Reader()
        self._to: str | None = None
        self._awaits = Purpose.SSE_INITIALIZE
        self._pages: list[Reply] = []
        self.due: SimpleQueue[Request | None] = SimpleQueue()
        self.is_over = False

    @property
    def opening(self) -> Request:
        """The GET that holds the stream."""
        opening = self._make(Purpose.ENDPOINT_EVENT, 0, None)
        return Request(purpose=opening.purpose, url=opening.url, headers=opening.headers, enough=self, seconds=SECONDS)

    def __call__(self, body: bytes) -> bool:
        """Whether all has been heard. Each event is read once, however many bytes follow it."""
        for event in self._stream.more(body):
            if not self.is_over:
                self._hear(event)
        return self.is_over

    def _hear(self, event: sse.Event) -> None:
        if self._to is None:
            self._to = messages_url(self._url, event)
            if self._to is None:
                self.is_over = True
            else:
                self._say(Purpose.SSE_INITIALIZE)
            return
        answer = answer_in(event, STEPS[self._awaits].request_id(len(self._pages)))
        if answer is None:
            return
        if not is_read(event):
            self.is_over = True
        elif self._awaits is Purpose.SSE_TOOLS:
            self._turn_page(Reply(exchange=_unsent(self._url), message=answer))
        elif isinstance(answer.get("result"), dict):
            self._say(Purpose.SSE_INITIALIZED)
            self._awaits = Purpose.SSE_TOOLS
            self._say(Purpose.SSE_TOOLS)
        else:
            self.is_over = True

    def _turn_page(self, page: Reply) -> None:
        self._pages.append(page)
        cursor = follows(self._pages)
        if cursor is None:
            self.is_over = True
        else:
            self._say(Purpose.SSE_TOOLS, cursor)

    def _say(self, purpose: Purpose, cursor: str | None = None) -> None:
        request = self._make(purpose, len(self._pages), cursor)
        self.due.put(
            Request(
                purpose=request.purpose,
                url=self._to or "",
                method="POST",
                headers=request.headers,
                body=request.body,
                seconds=SECONDS,
            )
        )


def _unsent(url: str) -> Exchange:
    """Stands for a POST that may still be under way when its answer has come on the stream."""
    return Exchange(
        purpose=Purpose.SSE_TOOLS,
        method="POST",
        url=url,
        final_url=url,
        status=None,
        headers=(),
        body=b"",
        failure=None,
        redirects=(),
        duration_ms=0,
    )
