"""What an answer says as JSON-RPC 2.0, whether it came as JSON or as an event stream."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from parley.documents.bot_wall import bot_wall
from parley.evidence import Exchange, FailureCode
from parley.wire import sse, strict_json
from parley.wire.media_type import EVENT_STREAM, JSON, essence, is_html
from parley.wire.strict_json import NotJson, Parsed
from parley.wire.text import clean, kind, quoted

REDIRECTS: Final = (301, 302, 303, 307, 308)

_MARK = re.compile(rb'"(?:jsonrpc|result|error)"')
_DOCUMENT = re.compile(rb"\s*[{\[<]")


class Reply(NamedTuple):
    """What an exchange says as JSON-RPC: a ``message`` that is a response, or the ``reason`` why there is none.

    ``faults`` are the ways in which the response breaks JSON-RPC 2.0, each the end of a sentence. ``is_beyond`` tells
    that it was more than is read here. ``requests`` are the methods that the server called on its stream, and
    ``is_unended`` that the stream's last event never ended. ``is_ours`` tells that the response is one of JSON-RPC 2.0
    that bears the request's id.
    """

    exchange: Exchange
    message: Mapping[str, object] | None
    reason: str = ""
    faults: tuple[str, ...] = ()
    notes: frozenset[str] = frozenset()
    requests: tuple[str, ...] = ()
    is_stream: bool = False
    is_unended: bool = False
    is_beyond: bool = False
    is_ours: bool = False

    @property
    def status(self) -> int | None:
        """The HTTP status; None where no answer came."""
        return self.exchange.status

    @property
    def result(self) -> Mapping[str, object] | None:
        """The result, if it is an object."""
        result = self.message.get("result") if self.message is not None else None
        return result if isinstance(result, dict) else None

    @property
    def error(self) -> Mapping[str, object] | None:
        """The error, if it is an object."""
        error = self.message.get("error") if self.message is not None else None
        return error if isinstance(error, dict) else None

    @property
    def code(self) -> int | None:
        """The error's code, if it is an integer."""
        code = self.error.get("code") if self.error is not None else None
        return code if isinstance(code, int) and not isinstance(code, bool) else None

    @property
    def told(self) -> str:
        """What came, for people: ``404 with the error -32601``."""
        exchange = self.exchange
        if self.message is None and exchange.failure is not None:
            return clean(exchange.failure.reason, 300)
        if self.error is not None:
            return f"{exchange.status} with the error {quoted(self.error.get('code'))}"
        if self.message is not None:
            return f"{exchange.status} with a result"
        if exchange.status in REDIRECTS:
            return f"{exchange.status}, a redirect to {clean(exchange.header('location') or 'nowhere')}"
        if is_html(exchange.header("content-type"), exchange.body):
            return f"{exchange.status} with a web page"
        is_success = 200 <= (exchange.status or 0) < 300
        return f"{exchange.status}" + (f" ({self.reason})" if is_success and self.reason else "")

    @property
    def said(self) -> str:
        """The error's own words, to follow what is told of it: ``: "Unknown host"``; empty without any."""
        message = self.error.get("message") if self.error is not None else None
        return f": {quoted(message)}" if isinstance(message, str) and message.strip() else ""

    @property
    def untold(self) -> str | None:
        """Why the server's own answer could not be had: no answer, a bot wall, a rate limit, a gate; None if it was."""
        exchange = self.exchange
        where = clean(exchange.final_url if exchange.method == "POST" else exchange.url)
        if exchange.failure is not None and not (self.message is not None and exchange.status is not None):
            return f"{where}: {clean(exchange.failure.reason, 300)}"
        if wall := bot_wall(exchange):
            return f"{where}: answered {exchange.status} from behind a bot wall ({wall})"
        if exchange.status in (401, 429, 502, 503, 504):
            return f"{where}: answered {exchange.status}"
        return f"{where}: {self.reason}" if self.is_beyond else None


def read(exchange: Exchange, request_id: str | int | None) -> Reply:
    """Read an answer; ``request_id`` is that of the request, None where none is awaited."""
    if exchange.failure is not None and not exchange.body:
        return Reply(exchange=exchange, message=None, reason=clean(exchange.failure.reason, 300))
    if essence(exchange.header("content-type")) == EVENT_STREAM or _is_stream(exchange.body):
        return _read_stream(exchange, request_id)
    if exchange.body and not _MARK.search(exchange.body):  # a large document of another kind costs time to parse
        return Reply(exchange=exchange, message=None, reason="it holds no JSON-RPC response")
    parsed = strict_json.parse(exchange.body)
    if isinstance(parsed, NotJson):
        return Reply(exchange=exchange, message=None, reason=parsed.reason, is_beyond=parsed.is_beyond)
    value = parsed.value
    batch = isinstance(value, list) and len(value) == 1
    message = value[0] if isinstance(value, list) and batch else value
    if not isinstance(message, dict) or not _is_response(message):
        return Reply(exchange=exchange, message=None, reason=f"it is {kind(value)} that is no JSON-RPC response")
    faults = [*(["is an array"] if batch else []), *_faults(message, request_id)]
    is_ours = _is_ours(message, request_id)
    return Reply(exchange=exchange, message=message, faults=tuple(faults), notes=parsed.notes, is_ours=is_ours)


def awaited(request_id: str | int) -> Callable[[bytes], bool]:
    """For :class:`~parley.evidence.Request`: whether a stream has brought the answer to a request, ended and all.

    Called with all that has come so far, as often as more comes; each event is read once.
    """
    reader = sse.Reader()

    def enough(body: bytes) -> bool:
        return not _DOCUMENT.match(body) and any(
            _MARK.search(event.data) and isinstance(message := _message(event), dict) and _answers(message, request_id)
            for event in reader.more(body)
        )

    return enough


def answer_in(event: sse.Event, request_id: str | int) -> Mapping[str, object] | None:
    """The response in an event, if it is the one to a request, by its very id: a stream may bring those to others."""
    message = _response_in(event)
    return message if message is not None and _is_same(message.get("id"), request_id) else None


def is_read(event: sse.Event) -> bool:
    """Whether clients look for a message in an event, which they do not in one of another name (2024-11-05)."""
    return event.name == "message"


def _response_in(event: sse.Event) -> Mapping[str, object] | None:
    message = _message(event) if _MARK.search(event.data) else None  # much that is no answer costs time to parse
    if isinstance(message, list) and len(message) == 1:
        message = message[0]
    return message if isinstance(message, dict) and _is_response(message) else None


class Heard(NamedTuple):
    """What an event stream of the transport HTTP+SSE brought: the first response to each id, by type and value.

    ``exchange`` is the GET that held the stream, None if there was none. ``unread`` are the names of the events that
    held responses and are not called ``message``.
    """

    exchange: Exchange | None
    answers: Mapping[tuple[type, object], sse.Event]
    unread: Mapping[tuple[type, object], str]


def heard(stream: Exchange | None) -> Heard:
    """Read such a stream, once for all that was POSTed."""
    answers: dict[tuple[type, object], sse.Event] = {}
    unread: dict[tuple[type, object], str] = {}
    for event in _events(stream) if stream is not None else ():
        message = _response_in(event)
        seen = message.get("id") if message is not None else None
        if not isinstance(seen, str | int):
            continue
        if is_read(event):
            answers.setdefault((type(seen), seen), event)
        else:
            unread.setdefault((type(seen), seen), event.name)
    return Heard(exchange=stream, answers=answers, unread=unread)


def read_beside(posted: Exchange, stream: Heard, request_id: str | int) -> Reply:
    """Read the answer to a POST on the event stream that brings the answers of the transport HTTP+SSE.

    The reply is that of the endpoint that the stream is of; the exchange's ``final_url`` says where it takes its
    messages. What is POSTed is answered by 202 or the like, and nothing that a client would look at; after another
    status it gives up. Where the POST's own answer never came, the stream may still have brought that to its message.
    """
    exchange = posted if stream.exchange is None else posted._replace(url=stream.exchange.url)
    is_silent = posted.failure is not None and posted.failure.code is FailureCode.TIMEOUT
    is_taken = (posted.failure is None or is_silent) and (posted.status or 0) < 300
    key = (type(request_id), request_id)
    event = stream.answers.get(key) if is_taken else None
    message = answer_in(event, request_id) if event is not None else None
    if event is not None and message is not None and stream.exchange is not None:
        parsed = strict_json.parse(event.data)
        if is_silent:
            exchange = exchange._replace(status=stream.exchange.status, failure=None)
        return Reply(
            exchange=exchange,
            message=message,
            faults=tuple(_faults(message, request_id)),
            notes=parsed.notes if isinstance(parsed, Parsed) else frozenset(),
            is_stream=True,
            is_unended=not event.ended,
            is_ours=_is_ours(message, request_id),
        )
    if posted.failure is not None:
        return Reply(exchange=exchange, message=None, reason=clean(posted.failure.reason, 300))
    failure = stream.exchange.failure if stream.exchange is not None else None
    if is_taken and key in stream.unread:
        named = f"the response came in an event named {quoted(stream.unread[key])}, and clients read message only"
        return Reply(exchange=exchange, message=None, reason=named, is_stream=True)
    reason = "its event stream brought no response to it"
    if is_taken and failure is not None:
        reason = f"{reason}, and {clean(failure.reason, 300)}"
    is_beyond = is_taken and failure is not None
    return Reply(exchange=exchange, message=None, reason=reason, is_stream=is_taken, is_beyond=is_beyond)


def _is_stream(body: bytes) -> bool:
    return body.startswith((b"event:", b"data:", b"id:", b"retry:", b": "))


def _events(exchange: Exchange) -> Iterator[sse.Event]:
    """The events of a stream; what was cut off in the middle of one says nothing of how it would have ended."""
    failure = exchange.failure
    is_cut = failure is not None and failure.code is not FailureCode.TIMEOUT
    return (event for event in sse.events(exchange.body) if event.ended or not is_cut)


def _message(event: sse.Event) -> object:
    parsed = strict_json.parse(event.data)
    return parsed if isinstance(parsed, NotJson) else parsed.value


def _is_response(message: Mapping[str, object]) -> bool:
    """By its members: ``error`` counts only as JSON-RPC has it, since many REST answers have one."""
    if "result" in message and ("jsonrpc" in message or "id" in message):
        return True
    match message.get("error"):
        case {"code": int(), "message": _}:
            return True
        case dict():
            return "jsonrpc" in message
    return False


def _answers(message: Mapping[str, object], request_id: str | int | None) -> bool:
    if not _is_response(message):
        return False
    return _is_same(message.get("id"), request_id) or ("error" in message and message.get("id") is None)


def _is_ours(message: Mapping[str, object], request_id: str | int | None) -> bool:
    return message.get("jsonrpc") == "2.0" and _is_same(message.get("id"), request_id)


def _is_same(seen: object, request_id: str | int | None) -> bool:
    return type(seen) is type(request_id) and seen == request_id


def _read_stream(exchange: Exchange, request_id: str | int | None) -> Reply:
    response: Mapping[str, object] | None = None
    other: Mapping[str, object] | None = None
    requests: list[str] = []
    reason = "its event stream holds no response"
    notes: frozenset[str] = frozenset()
    unended = beyond = is_other = False
    for event in _events(exchange):
        if not _MARK.search(event.data):  # one such event tells what they are, and thousands cost time
            if is_other:
                continue
            is_other = True
        parsed = strict_json.parse(event.data)
        if isinstance(parsed, NotJson):
            reason, beyond = f"an event's data cannot be read: {parsed.reason}", beyond or parsed.is_beyond
            continue
        message = parsed.value
        if isinstance(message, list) and len(message) == 1:
            message = message[0]
        if not isinstance(message, dict):
            continue
        if isinstance(message.get("method"), str):
            if "id" in message:
                requests.append(str(message["method"]))
        elif _answers(message, request_id) and response is None:
            response, notes, unended = message, parsed.notes, not event.ended
        elif _is_response(message):
            other = message
    found = response if response is not None else other
    if found is None and exchange.failure is not None:
        reason = f"{reason}; {clean(exchange.failure.reason, 300)}"
    return Reply(
        exchange=exchange,
        message=found,
        reason=reason if found is None else "",
        faults=() if found is None else tuple(_faults(found, request_id)),
        notes=notes,
        requests=tuple(requests),
        is_stream=True,
        is_unended=unended,
        is_beyond=beyond and found is None,
        is_ours=found is not None and _is_ours(found, request_id),
    )


def _faults(message: Mapping[str, object], request_id: str | int | None) -> Iterable[str]:
    """What breaks JSON-RPC 2.0. An error may have no id, or the word of the Python SDK for none, ``server-error``."""
    if message.get("jsonrpc") != "2.0":
        yield f"has {quoted(message['jsonrpc']) if 'jsonrpc' in message else 'no member'} for jsonrpc"
    if "result" in message and message.get("error") is not None:
        yield "has both a result and an error"
    seen = message.get("id")
    is_excused = "error" in message and seen in (None, "server-error")
    if request_id is not None and not _is_same(seen, request_id) and not is_excused:
        answered = quoted(seen) if "id" in message else "no id"
        yield f"answers {answered} in place of the request's id"
    if "error" in message and "result" not in message:
        match message["error"]:
            case {"code": bool()}:
                yield "has an error whose code is a boolean"
            case {"code": int(), "message": str()}:
                pass
            case {"code": int()}:
                yield "has an error without a message"
            case {"code": code}:
                yield f"has an error whose code is {quoted(code)}, not an integer"
            case error:
                yield "has an error without a code" if isinstance(error, dict) else f"has {kind(error)} for an error"
    elif not isinstance(message.get("result"), dict):
        yield f"has {kind(message.get('result'))} for a result"


def is_typed(reply: Reply) -> bool:
    """Whether an answer has one of the media types of a response."""
    return essence(reply.exchange.header("content-type")) in (JSON, EVENT_STREAM)
