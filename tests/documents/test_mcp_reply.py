"""What an answer says as JSON-RPC."""

import json

import pytest

from parley.documents.mcp_reply import Reply, awaited, read
from parley.evidence import Exchange, Failure, FailureCode


def exchange(body: object, *, status: int = 200, kind: str = "application/json") -> Exchange:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return Exchange(
        purpose="MCP ping",
        method="POST",
        url="https://weather.example/mcp",
        final_url="https://weather.example/mcp",
        status=status,
        headers=(("content-type", kind),),
        body=raw,
        failure=None,
        redirects=(),
        duration_ms=1,
    )


def reply(body: object, **more: object) -> Reply:
    return read(exchange(body, **more), "x")  # type: ignore[arg-type]


RESULT = {"jsonrpc": "2.0", "id": "x", "result": {}}
ERROR = {"jsonrpc": "2.0", "id": "x", "error": {"code": -32601, "message": "no"}}

# (body, whether it is a response, faults)
BODIES: list[tuple[object, bool, tuple[str, ...]]] = [
    (RESULT, True, ()),
    (ERROR, True, ()),
    (ERROR | {"id": None}, True, ()),
    (ERROR | {"id": "server-error"}, True, ()),
    (ERROR | {"id": "y"}, True, ('answers "y" in place of the request\'s id',)),
    (RESULT | {"id": None}, True, ("answers null in place of the request's id",)),
    (RESULT | {"id": {}}, True, ("answers {} in place of the request's id",)),
    (RESULT | {"jsonrpc": 2.0}, True, ("has 2.0 for jsonrpc",)),
    (RESULT | ERROR, True, ("has both a result and an error",)),
    (RESULT | {"result": None}, True, ("has null for a result",)),
    (ERROR | {"error": {"code": 1.5, "message": "no"}}, True, ("has an error whose code is 1.5, not an integer",)),
    (ERROR | {"error": {"code": True, "message": "no"}}, True, ("has an error whose code is a boolean",)),
    (ERROR | {"error": {"code": -32601}}, True, ("has an error without a message",)),
    (ERROR | {"error": {}}, True, ("has an error without a code",)),
    ([RESULT], True, ("is an array",)),
    ({"jsonrpc": "2.0", "id": "x", "method": "server/discover"}, False, ()),
    ({"error": "no"}, False, ()),
    ({"error": {"code": "BadRequest", "message": "no"}}, False, ()),
    ({"result": {}}, False, ()),
    ([], False, ()),
    (b"", False, ()),
    (b"<html>", False, ()),
    (b"null", False, ()),
]


@pytest.mark.parametrize(("body", "is_response", "faults"), BODIES)
def test_read(body: object, is_response: bool, faults: tuple[str, ...]) -> None:
    found = reply(body)
    assert (found.message is not None, found.faults) == (is_response, faults)
    assert found.message is not None or found.reason
    assert found.told


def test_a_stream_is_read_until_its_answer_is_there() -> None:
    enough = awaited("x")
    event = b"data: " + json.dumps(RESULT).encode() + b"\n\n"
    assert not enough(b"")
    assert not enough(event[:-1])
    assert enough(event)
    assert enough(b"data: {}\n\n: hi\n\n" + event)
    assert not enough(event.replace(b'"x"', b'"y"'))
    assert not enough(json.dumps(RESULT, indent=1).encode() + b"\n\n")


def test_a_failure_is_told_by_its_reason() -> None:
    failed = Exchange(
        purpose="MCP ping", method="POST", url="https://w.example", final_url="https://w.example", status=None,
        headers=(), body=b"", failure=Failure(code=FailureCode.TLS, reason="its certificate has expired"),
        redirects=(), duration_ms=1,
    )  # fmt: skip
    found = read(failed, "x")
    assert found.told == "its certificate has expired"
    assert found.untold == "https://w.example: its certificate has expired"
