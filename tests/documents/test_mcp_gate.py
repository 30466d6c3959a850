"""Who is gated, and who is not."""

import pytest

from gated import CHALLENGE, ENDPOINT, GatedSite, carded, gated, json, refused
from parley.documents.mcp import gate, gate_among
from parley.documents.mcp_gate import Gate, Refusal
from parley.documents.mcp_plan import Purpose
from parley.evidence import Exchange, FailureCode, Request
from parley.target import Target
from sites import HOST, Answer, Site, fails, html, served

TOOLS = json({"jsonrpc": "2.0", "id": 1, "result": {"tools": []}})
INITIALIZED = json({"jsonrpc": "2.0", "id": 1, "result": {"protocolVersion": "2025-11-25", "capabilities": {}}})
DISCOVERED = json({"jsonrpc": "2.0", "id": 1, "result": {"supportedVersions": ["2025-11-25", "2026-07-28"]}})
IN_A_STREAM = Answer(
    body=b'data:\r\n\r\nevent: message\r\ndata: {"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18"}}\r\n\r\n',
    headers={"content-type": "text/event-stream"},
)


def exchanges(*steps: tuple[Purpose, Answer], url: str = ENDPOINT) -> list[Exchange]:
    get = (Purpose.STREAM, Purpose.ENDPOINT_EVENT)
    return [
        Site({url: answer})(Request(purpose=purpose, url=url, method="GET" if purpose in get else "POST"))
        for purpose, answer in steps
    ]


def found(*steps: tuple[Purpose, Answer], asked: str = ENDPOINT) -> Gate | None:
    return gate_among(exchanges(*steps), Target.parse(asked))


D, I, T = Purpose.DISCOVER, Purpose.INITIALIZE, Purpose.LEGACY_TOOLS  # noqa: E741

GATES: list[tuple[str, list[tuple[Purpose, Answer]], Refusal | None, str | None]] = [
    ("both refused", [(D, refused()), (I, refused())], Refusal.UNAUTHORIZED, None),
    ("only discover refused, lists open", [(D, refused()), (I, INITIALIZED), (T, TOOLS)], None, None),
    ("only discover refused, nothing else asked", [(D, refused()), (I, INITIALIZED)], None, None),
    ("lists refused", [(D, DISCOVERED), (I, Answer(status=400)), (Purpose.TOOLS, refused())], Refusal.UNAUTHORIZED, "2026-07-28"),
    ("lists refused by a legacy server", [(D, Answer(status=400)), (I, INITIALIZED), (T, refused())], Refusal.UNAUTHORIZED, "2025-11-25"),
    ("lists refused behind a stream", [(D, Answer(status=400)), (I, IN_A_STREAM), (T, refused())], Refusal.UNAUTHORIZED, "2025-06-18"),
    ("a foreign Origin refused", [(D, DISCOVERED), (Purpose.TOOLS, TOOLS), (Purpose.ORIGIN, Answer(status=403))], None, None),
    ("403 for both", [(D, refused(status=403)), (I, refused(status=403))], Refusal.FORBIDDEN, None),
    ("403 and 401", [(D, Answer(status=403)), (I, refused())], Refusal.UNAUTHORIZED, None),
    ("a bot wall", [(D, Answer(status=403, headers={"cf-mitigated": "challenge"}))], Refusal.WALL, None),
    ("a bot wall's 503", [(D, Answer(status=503, body=b"<title>Just a moment...</title>"))], Refusal.WALL, None),
    ("404 for both", [(D, Answer(status=404)), (I, html(404))], None, None),
    ("a page for both", [(D, html()), (I, html())], None, None),
    ("no answer", [(D, fails(FailureCode.TIMEOUT, "timed out")), (I, fails(FailureCode.TIMEOUT, "timed out"))], None, None),
    ("401 for discover only, and nothing for initialize", [(D, refused()), (I, Answer(status=404))], Refusal.UNAUTHORIZED, None),
    ("a stream that is refused with a challenge", [(D, Answer(status=405)), (I, Answer(status=405)), (Purpose.STREAM, refused())], Refusal.UNAUTHORIZED, None),
    ("a stream that is refused, where POST is served something else", [(D, json({"x": 1})), (I, json({"x": 1})), (Purpose.STREAM, refused())], None, None),
    ("the same in one era only", [(D, Answer(status=404)), (I, html()), (Purpose.STREAM, refused())], None, None),
    ("a stream that is refused, where POST fails by itself", [(D, Answer(status=500)), (I, Answer(status=405)), (Purpose.STREAM, refused())], None, None),
    ("a stream that is refused, where POST is not answered", [(D, fails(FailureCode.TIMEOUT, "timed out")), (I, Answer(status=503)), (Purpose.STREAM, refused())], Refusal.UNAUTHORIZED, None),
    ("a stream that is refused as one of the POSTs is", [(D, Answer(status=401)), (I, Answer(status=404)), (Purpose.STREAM, refused())], Refusal.UNAUTHORIZED, None),
    ("a page that is refused", [(D, Answer(status=405)), (I, Answer(status=405)), (Purpose.STREAM, Answer(status=401))], None, None),
    ("unauthorized in words under 400", [(I, Answer(status=400, body={"jsonrpc": "2.0", "id": None, "error": {"code": -32000, "message": "Unauthorized: no token"}}))], Refusal.MISSTATED, None),
    ("another error under 400", [(I, Answer(status=400, body={"jsonrpc": "2.0", "id": None, "error": {"code": -32000, "message": "Bad Request: No valid session ID"}}))], None, None),
    ("a login", [(D, Answer(status=302, headers={"location": "https://accounts.idp.example/o/oauth2/auth?client_id=1"}))], Refusal.LOGIN, None),
    ("another login", [(D, Answer(status=307, headers={"location": "/users/sign_in"}))], Refusal.LOGIN, None),
    ("a slash more", [(D, Answer(status=307, headers={"location": "/mcp/"}))], None, None),
    ("an origin that authorizes by its name only", [(D, Answer(status=308, headers={"location": "https://authors.example/mcp/v2"}))], None, None),
    ("the same name at another path", [(D, Answer(status=308, headers={"location": "/accounts/7/mcp?session_id=1"}))], None, None),
    ("a login that comes back", [(D, Answer(status=302, headers={"location": "/start?return_to=%2Fmcp"}))], Refusal.LOGIN, None),
    ("an error about a header", [(I, Answer(status=400, body={"jsonrpc": "2.0", "id": None, "error": {"code": -32020, "message": "Missing header Mcp-Method"}}))], None, None),
    ("an error about JSON", [(I, Answer(status=400, body={"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "Invalid token at position 0"}}))], None, None),
    ("an error about the token", [(I, Answer(status=500, body={"jsonrpc": "2.0", "id": None, "error": {"code": -32603, "message": "Missing authorization header"}}))], Refusal.MISSTATED, None),
    ("a handshake, and only discover refused after it", [(I, INITIALIZED), (D, refused()), (T, Answer(status=400))], None, None),
    ("a redirect to nowhere", [(D, Answer(status=302, headers={"location": "http://[::1"}))], None, None),
]  # fmt: skip


@pytest.mark.parametrize(("steps", "refusal", "revision"), [one[1:] for one in GATES], ids=[one[0] for one in GATES])
def test_gate(steps: list[tuple[Purpose, Answer]], refusal: Refusal | None, revision: str | None) -> None:
    one = found(*steps)
    assert (one and one.refusal, one and one.revision) == (refusal, revision)


def test_the_refusal_with_a_challenge_is_judged() -> None:
    one = found((D, Answer(status=401)), (I, refused()))
    assert one is not None
    assert one.exchange.header("www-authenticate") == CHALLENGE


def test_several_headers_are_read_one_by_one() -> None:
    (exchange,) = exchanges((D, Answer(status=401)))
    headers = (("www-authenticate", 'Basic realm="unclosed'), ("www-authenticate", 'Bearer scope="x"'))
    one = gate_among([exchange._replace(headers=headers)], Target.parse(ENDPOINT))
    assert one is not None
    assert [challenge.scheme for challenge in one.challenges.challenges] == ["basic", "bearer"]


@pytest.mark.parametrize(
    ("answers", "asked", "is_named"),
    [
        pytest.param({ENDPOINT: Answer(status=401)}, ENDPOINT, True, id="the asker's path"),
        pytest.param({ENDPOINT: Answer(status=401)}, HOST, False, id="our guess"),
        pytest.param({f"{HOST}/api": Answer(status=401)}, f"{HOST}/api", False, id="a path that is not called so"),
        pytest.param({f"{HOST}/": Answer(status=401)}, HOST, False, id="the root"),
        pytest.param(
            {ENDPOINT: Answer(status=401), "/mcp/server-card": served(carded())}, HOST, True, id="a card's remote"
        ),
        pytest.param({ENDPOINT: Answer(status=401, headers={"mcp-session-id": "1"})}, HOST, True, id="an Mcp header"),
        pytest.param({ENDPOINT: Answer(status=401, body={"jsonrpc": "2.0", "error": {}})}, HOST, True, id="JSON-RPC"),
    ],
)
def test_named(answers: dict[str, Answer], asked: str, is_named: bool) -> None:
    one = gate(Site(answers).gather(asked))
    assert one is not None
    assert one.is_named == is_named


@pytest.mark.parametrize(
    ("answers", "asked", "is_everywhere"),
    [
        ({ENDPOINT: Answer(status=401)}, HOST, False),
        ({ENDPOINT: Answer(status=401)}, ENDPOINT, False),
        ({ENDPOINT: Answer(status=401), f"{HOST}/": Answer(status=401)}, HOST, True),
    ],
)
def test_everywhere(answers: dict[str, Answer], asked: str, is_everywhere: bool) -> None:
    one = gate(Site(answers).gather(asked))
    assert one is not None
    assert one.is_everywhere == is_everywhere


@pytest.mark.parametrize(
    ("url", "called"),
    [
        ("https://a.example/mcp", True),
        ("https://a.example/api/mcp/sse", True),
        ("https://a.example/MCP/v1", True),
        ("https://a.example/api/mcp.json", True),
        ("https://mcp.a.example/", True),
        ("https://mcp-eu.a.example/", True),
        ("https://a.example/", False),
        ("https://a.example/api", False),
    ],
)
def test_called_mcp(url: str, called: bool) -> None:
    one = gate_among(exchanges((D, refused()), url=url), Target.parse(HOST))
    assert one is not None
    assert one.is_called_mcp == called


def test_an_open_endpoint_beside_a_gated_one() -> None:
    gated_one = exchanges((D, refused()), url=f"{HOST}/admin/mcp")
    assert gate_among(gated_one + exchanges((D, DISCOVERED), (Purpose.TOOLS, TOOLS)), Target.parse(ENDPOINT)) is None


def test_a_challenge_is_preferred_to_a_wall() -> None:
    walled = exchanges((D, Answer(status=403, headers={"x-datadome": "1"})), url=f"{HOST}/a")
    one = gate_among(walled + exchanges((D, refused())), Target.parse(HOST))
    assert one is not None
    assert one.refusal is Refusal.UNAUTHORIZED


def test_requests_that_are_wrong_on_purpose_say_nothing() -> None:
    assert found((Purpose.NO_VERSION, refused()), (Purpose.LEGACY_NO_SESSION, refused())) is None


def test_gate_of_a_whole_audit() -> None:
    one = gate(gated().gather(ENDPOINT))
    assert one is not None
    assert (str(one.endpoint), one.refusal, one.has_bearer) == (ENDPOINT, Refusal.UNAUTHORIZED, True)
    assert gate(GatedSite({}).gather(ENDPOINT)) is None
