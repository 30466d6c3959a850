"""What is asked of MCP endpoints, in which order, and when the asking stops."""

import json
import threading
from collections.abc import Callable

import pytest

from mcp_servers import JSON_TYPE, TOOL, Server, SseServer, dual, error, legacy, modern, result, tool
from parley.audit import judge
from parley.documents.mcp_plan import FOREIGN_ORIGIN, PAGES, PLAN, REQUESTS, STEPS, TOOL_PAGES, Purpose, Spoken
from parley.evidence import Evidence, Exchange, Failure, FailureCode, Request
from parley.fetch.client import CALLS, METHODS
from parley.fetch.policy import Limits
from parley.probes.mcp import FORETASTE, gather
from parley.report import Protocol, State, Status
from parley.target import Target
from sites import HOST, Answer, Site, card, fails, html, numbers, served

AUDITOR = "PARLEY-McpServerAuditor"
MCP = f"{HOST}/mcp"
CARD = "/.well-known/mcp/server-card.json"
GREETING = [Purpose.DISCOVER, Purpose.INITIALIZE, Purpose.STREAM]
WALL = Answer(status=403, body=b"<title>Just a moment...</title>", headers={"cf-mitigated": "challenge"})


def walk(site: Site, asked: str = HOST) -> list[tuple[str, list[Purpose]]]:
    """The places that were asked, and for what."""
    site.gather(asked)
    places: dict[str, list[Purpose]] = {}
    for request in site.requests:
        if request.purpose in STEPS:
            places.setdefault(request.url, []).append(Purpose(request.purpose))
    return [(url, sorted(purposes)) for url, purposes in places.items()]


def places(site: Site, asked: str = HOST) -> list[str]:
    return [url for url, _ in walk(site, asked)]


def remote(url: str, kind: str = "streamable-http") -> dict[str, str]:
    return {"type": kind, "url": url}


def test_a_site_without_mcp_is_asked_little() -> None:
    greeting = sorted(GREETING)
    assert walk(Site({})) == [(MCP, greeting), (f"{HOST}/", greeting), (f"{HOST}/sse", [Purpose.STREAM])]
    assert walk(Site({}, default=html())) == [
        (MCP, greeting),
        (f"{HOST}/", greeting),
        (f"{HOST}/sse", [Purpose.STREAM]),
    ]


def test_candidates_in_order() -> None:
    remotes = [
        remote("https://far.example/mcp"),
        remote(f"{HOST}/near", "sse"),
        remote("https://{region}.weather.example/mcp"),
        remote("weather.example/mcp"),
        remote(f"{HOST}/other", "stdio"),
        remote("https://far.example/two"),
        remote("https://far.example/three"),
    ]
    site = Site({CARD: served(card(remotes=remotes))})
    assert places(site, f"{HOST}/path") == [
        f"{HOST}/path",
        f"{HOST}/near",
        "https://far.example/mcp",
        "https://far.example/two",
        MCP,
        f"{HOST}/",
        f"{HOST}/sse",
    ]


def test_the_first_that_is_found_is_the_last_that_is_asked() -> None:
    assert places(Site({}, mcp={MCP: modern(), f"{HOST}/": modern()})) == [MCP]
    assert places(Site({}, mcp={f"{HOST}/": legacy()})) == [MCP, f"{HOST}/"]
    assert places(Site({}, mcp={f"{HOST}/api": dual()}), f"{HOST}/api") == [f"{HOST}/api"]


def test_a_gate_at_what_is_claimed_ends_the_search() -> None:
    assert places(Site({}, mcp={MCP: lambda request: Answer(status=401)}), MCP) == [MCP]


def test_a_document_s_own_url_is_no_endpoint() -> None:
    assert places(Site({}), f"{HOST}/x/server-card.json") == [MCP, f"{HOST}/", f"{HOST}/sse"]


@pytest.mark.parametrize(
    "code", [FailureCode.TIMEOUT, FailureCode.DNS, FailureCode.CONNECT, FailureCode.TLS, FailureCode.BUDGET]
)
def test_a_host_that_cannot_be_reached_is_asked_once(code: FailureCode) -> None:
    assert places(Site({}, default=fails(code, "does not answer"))) == [MCP]


def test_both_eras_are_greeted_as_they_ask_for() -> None:
    site = Site({}, mcp={MCP: dual()})
    site.gather(MCP)
    sent = {request.purpose: request for request in site.requests if request.purpose in STEPS}
    discover, initialize = sent[Purpose.DISCOVER], sent[Purpose.INITIALIZE]
    assert discover.headers == {
        "Accept": "application/json, text/event-stream",
        "Content-Type": "application/json",
        "MCP-Protocol-Version": "2026-07-28",
        "Mcp-Method": "server/discover",
    }
    params = json.loads(discover.body or b"")["params"]
    assert params["_meta"]["io.modelcontextprotocol/protocolVersion"] == "2026-07-28"
    assert {"io.modelcontextprotocol/clientInfo", "io.modelcontextprotocol/clientCapabilities"} < params["_meta"].keys()
    assert not [name for name in initialize.headers if name.lower().startswith("mcp-")]
    assert json.loads(initialize.body or b"")["params"]["protocolVersion"] == "2025-11-25"


def test_the_session_is_used_and_ended() -> None:
    server = legacy(session="9-abc")
    Site({}, mcp={MCP: server}).gather(MCP)
    by_purpose = {Purpose(request.purpose): request for request in server.seen}
    for purpose, request in by_purpose.items():
        session = request.headers.get("Mcp-Session-Id")
        if purpose is Purpose.LEGACY_NO_SESSION:
            assert session == "0-bcd"
        elif STEPS[purpose].era is Spoken.LEGACY and purpose not in (
            Purpose.INITIALIZE,
            Purpose.LEGACY_FUTURE,
            Purpose.LEGACY_WITHOUT_SESSION,
        ):
            assert session == "9-abc", purpose
        else:
            assert session is None, purpose
    order = [Purpose(request.purpose) for request in server.seen]
    assert order.index(Purpose.INITIALIZED) < order.index(Purpose.LEGACY_TOOLS)
    inside = [
        step for step in order if by_purpose[step].headers.get("Mcp-Session-Id") == "9-abc" and step != Purpose.DELETE
    ]
    assert order.count(Purpose.DELETE) == 2  # the session of the second initialize is ended too
    assert max(map(order.index, inside)) < order.index(Purpose.DELETE)


def test_a_session_id_on_an_error_is_nobody_s() -> None:
    refusal = Answer(status=400, body=error(None, -32600).body, headers=JSON_TYPE | {"mcp-session-id": "minted"})
    server = legacy(session=None, otherwise={Purpose.DISCOVER: refusal, Purpose.STREAM: refusal})
    Site({}, mcp={MCP: server}).gather(MCP)
    assert not [request for request in server.seen if "Mcp-Session-Id" in request.headers]


def test_what_is_sent_is_on_the_client_s_list() -> None:
    assert {step.call for step in PLAN} <= CALLS | METHODS
    assert {step.call for step in PLAN} & {"tools/call", "prompts/get", "resources/read"} == set()


def test_ids_are_texts_and_numbers_and_none_stands_twice() -> None:
    ids = [step.request_id(index) for step in PLAN for index in range(TOOL_PAGES)]
    assert len(set(ids)) == len(ids)
    assert {type(one) for one in ids} == {int, str}


def test_two_readings_are_on_two_connections() -> None:
    server = modern()
    Site({}, mcp={MCP: server}).gather(MCP)
    fresh = [request.purpose for request in server.seen if request.fresh]
    assert fresh == [Purpose.TOOLS_AGAIN]


def test_the_foreign_origin_is_nowhere_else() -> None:
    server = dual()
    Site({}, mcp={MCP: server}).gather(MCP)
    foreign = {Purpose(request.purpose) for request in server.seen if "Origin" in request.headers}
    assert foreign == {Purpose.ORIGIN, Purpose.LEGACY_ORIGIN, Purpose.PREFLIGHT}
    assert {request.headers["Origin"] for request in server.seen if "Origin" in request.headers} == {FOREIGN_ORIGIN}


def test_lists_are_walked_as_far_as_the_budget_goes() -> None:
    pages = [[tool(name=f"t{index}")] for index in range(40)]
    server = modern(capabilities={"tools": {}, "prompts": {}}, lists={"tools/list": pages, "prompts/list": pages})
    site = Site({}, mcp={MCP: server})
    report = site.audit(MCP)
    asked = [Purpose(request.purpose) for request in server.seen]
    assert asked.count(Purpose.TOOLS) == asked.count(Purpose.TOOLS_AGAIN) == TOOL_PAGES
    assert asked.count(Purpose.PROMPTS) == PAGES
    auditor = next(one for one in report.auditors if one.name == AUDITOR)
    untested = {one.code.rpartition("-")[2]: one.reason for one in auditor.untested}
    assert {"350", "351", "352", "360", "460"} <= untested.keys()
    assert untested["460"] == f"tools/list has more pages than the {TOOL_PAGES} that were read"
    assert len(site.requests) <= 64


def paged(**changes: object) -> Server:
    """A server with more pages in each list than are read."""
    lists: dict[str, list[list[object]]] = {
        "tools/list": [[tool(name=f"t{index}")] for index in range(40)],
        "prompts/list": [[{"name": f"p{index}"}] for index in range(40)],
        "resources/list": [[{"uri": f"file:///{index}", "name": "r"}] for index in range(40)],
        "resources/templates/list": [[]],
    }
    return dual(capabilities={"tools": {}, "prompts": {}, "resources": {}}, lists=lists, **changes)


@pytest.mark.parametrize("of_agents", [0, 7, 30])
@pytest.mark.parametrize("asked", [HOST, MCP])
def test_further_pages_are_what_the_other_questions_leave(of_agents: int, asked: str) -> None:
    """Allotted by the plan, and not by which answer comes first: none is dropped by the client's own count."""
    target = Target.parse(asked)
    cards = [Site({})(Request(purpose="card", url=HOST)) for _ in range(3)]
    made = []
    for _ in range(3):
        site = Site({}, mcp={MCP: paged()})
        gather(target, site, lambda: cards, lambda: cards[:1] * of_agents)
        made.append(sorted(request.purpose for request in site.requests if request.method != "DELETE"))
    assert made[0] == made[1] == made[2]
    assert len(made[0]) + len(cards) + of_agents <= max(REQUESTS, len(set(made[0])) + 3 + of_agents)
    first = [made[0].count(one) for one in (Purpose.TOOLS, Purpose.TOOLS_AGAIN, Purpose.LEGACY_TOOLS, Purpose.PROMPTS)]
    assert first == sorted(first, reverse=True)
    assert (first[0] > 1) == (of_agents < 30)


def test_first_pages_and_all_else_come_before_further_pages() -> None:
    server = paged()
    Site({}, mcp={MCP: server}).gather(MCP)
    order = [Purpose(request.purpose) for request in server.seen]
    again = [index for index, one in enumerate(order) if one in order[:index] and one is not Purpose.DELETE]
    late = (Purpose.LEGACY_NO_SESSION, Purpose.LEGACY_WITHOUT_SESSION, Purpose.NO_CURSOR, Purpose.DELETE)
    assert again
    assert {one for one in order[again[0] :] if one not in order[: again[0]]} <= {*late}
    assert order.index(Purpose.DELETE) > again[-1]


def test_the_plan_knows_how_many_requests_an_audit_makes() -> None:
    assert Limits().target_requests == REQUESTS


@pytest.mark.parametrize(
    "server", [modern(), legacy(), dual(capabilities={"tools": {}, "prompts": {}, "resources": {}})]
)
def test_requests_are_bounded(server: Server) -> None:
    site = Site({}, mcp={MCP: server})
    site.gather(MCP)
    assert len(site.requests) <= 48


class Spent:
    """A door that closes after so many requests, as the audit's budget does."""

    def __init__(self, site: Site, left: int) -> None:
        self._site, self._left, self._lock = site, left, threading.Lock()

    def __call__(self, request: Request) -> Exchange:
        with self._lock:
            self._left -= 1
            spent = self._left < 0
        if not spent:
            return self._site(request)
        failure = Failure(code=FailureCode.BUDGET, reason="this audit's requests were spent")
        return Exchange(purpose=request.purpose, method=request.method, url=request.url, final_url=request.url, status=None, headers=(), body=b"", failure=failure, redirects=(), duration_ms=0)  # fmt: skip


def test_a_spent_budget_fails_no_rule() -> None:
    names = ("tools", "prompts", "resources")
    lists: dict[str, list[list[object]]] = {f"{one}/list": [[]] for one in (*names, "resources/templates")}

    def site() -> Site:
        server = dual(capabilities={one: {} for one in names}, lists=lists | {"tools/list": [[TOOL]]})
        return Site({}, mcp={MCP: server})

    whole = site()
    gather(Target.parse(MCP), whole, list)
    for left in range(len(whole.requests) + 1):
        exchanges = gather(Target.parse(MCP), Spent(site(), left), list)
        report = judge(recorded(exchanges))
        assert [code for code in numbers(report, AUDITOR) if code >= 300] == []
        auditor = next(one for one in report.auditors if one.name == AUDITOR)
        is_told = any("this audit's requests were spent" in one.reason for one in auditor.untested)
        assert is_told == (left < len(whole.requests) - 2)  # the two that end sessions tell nothing
        mcp = report.protocols[Protocol.MCP]
        assert mcp.conclusive == (mcp.state is not State.NOT_DETECTED)


def recorded(exchanges: list[Exchange]) -> Evidence:
    return Evidence(
        asked=MCP,
        target=Target.parse(MCP),
        refusal=None,
        started_at="2026-11-30T00:00:00Z",
        duration_ms=0,
        exchanges=tuple(exchanges),
    )


def test_a_recording_is_judged_alike() -> None:
    unstable = modern(readings=[[[TOOL, tool(name="b")]], [[TOOL]], [[TOOL, tool(name="b")]], [[TOOL]]])
    for server in (dual(), unstable, legacy(otherwise={Purpose.INITIALIZE: error(11, -32602)})):
        evidence = Site({}, mcp={MCP: server}).gather(MCP)
        assert judge(Evidence.from_json(json.loads(json.dumps(evidence.to_json())))) == judge(evidence)


INFO = {"name": "weather", "capabilities": {"tools": {}}, "_meta": {}, "supportedVersions": ["2026-07-28"], "protocolVersion": "2025-11-25"}  # fmt: skip

# What is at a place that is or is not called an endpoint: (name, answer, URL asked, codes, state, conclusive)
PLACES = [
    ("nothing", Answer(status=404), HOST, [], State.NOT_DETECTED, True),
    ("HTML for everything", html(), HOST, [], State.NOT_DETECTED, True),
    ("a page that somebody asked about", html(), f"{HOST}/blog", [], State.NOT_DETECTED, True),
    ("a REST API", Answer(status=400, body={"error": {"code": 400, "message": "no such thing"}}, headers=JSON_TYPE), HOST, [], State.NOT_DETECTED, True),
    ("a REST API with a result", Answer(body={"result": {"status": "ok"}}, headers=JSON_TYPE), HOST, [], State.NOT_DETECTED, True),
    ("another JSON-RPC server", error(None, -32601, status=200), HOST, [], State.NOT_DETECTED, True),
    ("another JSON-RPC server that says so by 404", error(None, -32601, status=404), HOST, [], State.NOT_DETECTED, True),
    ("a result of its own for everything", Answer(body={"jsonrpc": "2.0", "id": 1, "result": INFO}, headers=JSON_TYPE), HOST, [], State.NOT_DETECTED, True),
    ("the same without an id", Answer(body={"jsonrpc": "2.0", "result": INFO}, headers=JSON_TYPE), HOST, [], State.NOT_DETECTED, True),
    ("the same without JSON-RPC", Answer(body={"id": 1, "result": INFO}, headers=JSON_TYPE), HOST, [], State.NOT_DETECTED, True),
    ("the same in a stream", Answer(body=b'data: {"jsonrpc": "2.0", "id": 1, "result": {"capabilities": {}, "_meta": {}}}\n\n', headers={"content-type": "text/event-stream"}), HOST, [], State.NOT_DETECTED, True),
    ("an object that has capabilities", Answer(body=INFO, headers=JSON_TYPE), HOST, [], State.NOT_DETECTED, True),
    ("the same at what is claimed", Answer(body=INFO, headers=JSON_TYPE), MCP, [400], State.INDICATED, True),
    ("another JSON-RPC server at what is claimed", error(None, -32601, status=404), MCP, [400], State.INDICATED, True),
    ("403 for every POST", Answer(status=403, body=b"<Error>AccessDenied</Error>"), HOST, [], State.NOT_DETECTED, True),
    ("a password for the whole site", Answer(status=401, headers={"www-authenticate": 'Basic realm="x"'}), HOST, [], State.NOT_DETECTED, True),
    ("a redirect to a login", Answer(status=302, headers={"location": "https://login.example/"}), HOST, [], State.NOT_DETECTED, True),
    ("a bearer token is asked for everywhere", Answer(status=401, headers={"www-authenticate": "Bearer"}), HOST, [], State.NOT_DETECTED, True),
    ("a refusal by JSON-RPC", Answer(status=401, body=error(None, -32001).body, headers=JSON_TYPE), HOST, [], State.INDICATED, True),
    ("a bot wall", WALL, HOST, [], State.NOT_DETECTED, False),
    ("a bot wall before what is claimed", WALL, MCP, [], State.NOT_DETECTED, False),
    ("nothing at what is claimed", Answer(status=404), MCP, [400], State.INDICATED, True),
    ("HTML at what is claimed", html(), MCP, [400], State.INDICATED, True),
    ("a gate at what is claimed", Answer(status=401), MCP, [], State.INDICATED, True),
    ("a time-out at what is claimed", fails(FailureCode.TIMEOUT, "timed out after 8 s"), MCP, [], State.NOT_DETECTED, False),
    ("no such name", fails(FailureCode.DNS, "its name does not resolve"), MCP, [400], State.NOT_DETECTED, True),
    ("an error of the server", Answer(status=500), MCP, [400], State.INDICATED, True),
    ("too many requests", Answer(status=429), MCP, [], State.NOT_DETECTED, False),
    ("out of service at a guess", Answer(status=503), HOST, [], State.NOT_DETECTED, False),
]  # fmt: skip


# What POST alone is answered, while GET and all the rest work: (name, answer, codes, conclusive)
POSTS = [
    ("a bot wall", WALL, [], False),
    ("too many requests", Answer(status=429), [], False),
    ("a bad gateway", Answer(status=502), [], False),
    ("out of service", Answer(status=503), [], False),
    ("a time-out", fails(FailureCode.TIMEOUT, "timed out after 8 s"), [], False),
    ("deeper than is read", Answer(body=b'{"jsonrpc":"2.0","result":' + b"[" * 99 + b"]" * 99 + b"}", headers=JSON_TYPE), [], False),
    ("nothing", Answer(status=404), [400], True),
    ("an error of the server", Answer(status=500), [400], True),
]  # fmt: skip


@pytest.mark.parametrize(("answer", "codes", "conclusive"), [one[1:] for one in POSTS], ids=[one[0] for one in POSTS])
def test_get_says_nothing_of_what_post_would_have_met(answer: Answer, codes: list[int], conclusive: bool) -> None:
    def server(request: Request) -> Answer:
        return answer if request.method == "POST" else Answer(status=405)

    def walled_in_one_era(request: Request) -> Answer:
        return answer if request.purpose == Purpose.DISCOVER else Answer(status=405)

    for one in (server, walled_in_one_era):
        for asked in (MCP, HOST):
            report = Site({}, mcp={MCP: one}).audit(asked)
            found = [code for code in numbers(report, AUDITOR) if code != 100]
            mcp = report.protocols[Protocol.MCP]
            assert (found, mcp.conclusive) == (codes if asked == MCP else [], conclusive)
            assert mcp.state is (State.INDICATED if found else State.NOT_DETECTED)
    carded = Site({CARD: served(card(remotes=[remote(MCP)]))}, mcp={MCP: server}).audit()
    mcp = carded.protocols[Protocol.MCP]
    assert (mcp.state, mcp.status) == (State.INDICATED, Status.FAIL if codes else Status.INFORMATION)


def jsonrpc(code: int, data: object = ..., tools: bool | int = False, status: int = 400) -> Callable[[Request], Answer]:
    """A JSON-RPC server that refuses everything with one code, or all but the list of its tools, or that with another."""

    def server(request: Request) -> Answer:
        if request.method != "POST":
            return Answer(status=405)
        request_id = json.loads(request.body or b"").get("id")
        if tools and request.purpose in (Purpose.TOOLS, Purpose.TOOLS_AGAIN):
            if tools is not True:
                return error(request_id, tools)
            return result(request_id, {"tools": [], "resultType": "complete", "ttlMs": 0, "cacheScope": "public"})
        return error(request_id, code, data=data, status=status)

    return server


SUPPORTED = {"supported": ["2026-07-28"], "requested": "1900-01-01"}


@pytest.mark.parametrize(
    ("server", "asked", "is_modern"),
    [
        (jsonrpc(-32004), f"{HOST}/a2a", False),
        (jsonrpc(-32004), MCP, False),
        (jsonrpc(-32004, SUPPORTED), f"{HOST}/a2a", True),
        (jsonrpc(-32004, tools=True), f"{HOST}/a2a", True),
        (jsonrpc(-32020), f"{HOST}/a2a", False),
        (jsonrpc(-32022), f"{HOST}/a2a", False),
        (jsonrpc(-32022, SUPPORTED), f"{HOST}/a2a", True),
        (jsonrpc(-32021, {"requiredCapabilities": {}}), f"{HOST}/a2a", True),
        (jsonrpc(-32020, tools=True), f"{HOST}/a2a", True),
        (jsonrpc(-32022), MCP, True),
        (jsonrpc(-32601, status=404), MCP, False),
        (jsonrpc(-32601, status=404), f"{HOST}/a2a", False),
        (jsonrpc(-32601, status=404, tools=True), MCP, True),
        (jsonrpc(-32601, status=404, tools=-32021), MCP, True),
        (jsonrpc(-32601, status=404, tools=-32602), MCP, False),
        (jsonrpc(-32601, status=404, tools=-32021), f"{HOST}/a2a", False),
    ],
)
def test_codes_that_others_use_too(server: Callable[[Request], Answer], asked: str, is_modern: bool) -> None:
    mcp = Site({}, mcp={asked: server}).audit(asked).protocols[Protocol.MCP]
    assert (mcp.details.get("era") == "modern") == is_modern


@pytest.mark.parametrize(
    ("answer", "asked", "codes", "state", "conclusive"), [one[1:] for one in PLACES], ids=[one[0] for one in PLACES]
)
def test_place(answer: Answer, asked: str, codes: list[int], state: State, conclusive: bool) -> None:
    report = Site({}, default=answer).audit(asked)
    mcp = report.protocols[Protocol.MCP]
    found = [code for code in numbers(report, AUDITOR) if code != 100]
    assert (found, mcp.state, mcp.conclusive) == (codes, state, conclusive)
    assert mcp.because


@pytest.mark.parametrize(
    ("answer", "codes", "state"),
    [
        (Answer(status=404), [400], State.INDICATED),
        (fails(FailureCode.DNS, "its name does not resolve"), [400], State.INDICATED),
        (fails(FailureCode.TIMEOUT, "timed out after 8 s"), [], State.INDICATED),
        (Answer(status=401), [], State.INDICATED),
        (WALL, [], State.INDICATED),
    ],
)
def test_a_card_s_remote_is_a_claim(answer: Answer, codes: list[int], state: State) -> None:
    far = "https://far.example/mcp"
    report = Site({CARD: served(card(remotes=[remote(far)]))}, mcp={far: lambda request: answer}).audit()
    assert [code for code in numbers(report, AUDITOR) if code != 100] == codes
    assert report.protocols[Protocol.MCP].state is state


def test_remotes_at_the_target_s_own_origin_come_first() -> None:
    far = "https://far.example/mcp"
    remotes = [remote(far), remote(MCP)]
    site = Site({CARD: served(card(remotes=remotes))}, mcp={far: lambda request: Answer(status=404), MCP: modern()})
    report = site.audit()
    assert far not in [request.url for request in site.requests]  # the first that is found ends the search
    assert report.protocols[Protocol.MCP].state is State.CONFIRMED


def test_the_likeliest_guess_is_asked_a_little_while_cards_are_looked_for() -> None:
    """As much on every audit, so that a site gets the same report each time; what was opened for it is ended."""
    there = f"{HOST}/api/mcp"
    named = {CARD: served(card(remotes=[remote(there)]))}
    for guess in (modern(), legacy(), dual()):
        site = Site(named, mcp={MCP: guess, there: modern()})
        report = site.audit()
        assert report.protocols[Protocol.MCP].details["endpoint"] == there
        asked = [request.purpose for request in guess.seen if request.method != "DELETE"]
        assert len(asked) == len(GREETING) + FORETASTE
        ended = {request.headers["Mcp-Session-Id"] for request in guess.seen if request.method == "DELETE"}
        assert ended == ({"3f9a-session"} if guess.legacy else set())
        again = Site(named, mcp={MCP: type(guess)(modern=guess.modern, legacy=guess.legacy), there: modern()})
        assert sorted(one.purpose for one in again.audit().attempts) == sorted(one.purpose for one in report.attempts)


def with_ids_as_texts(server: Server) -> Callable[[Request], Answer]:
    """Which only a place that is claimed to be an endpoint is taken for an MCP server's."""

    def answer(request: Request) -> Answer:
        answer = server(request)
        if not isinstance(answer.body, dict):
            return answer
        return Answer(status=answer.status, body=answer.body | {"id": f"{answer.body['id']}"}, headers=answer.headers)

    return answer


@pytest.mark.parametrize("path", ["/mcp", "/rpc"])
@pytest.mark.parametrize("kind", [legacy, dual])
def test_what_a_card_names_is_asked_as_it_is_judged(path: str, kind: Callable[..., Server]) -> None:
    """Whether it is the likeliest guess, greeted before the cards came, or the URL given, or neither."""
    there = f"{HOST}{path}"
    asked: list[list[str]] = []
    for url in (HOST, there):
        server = kind()
        site = Site({CARD: served(card(remotes=[remote(there)]))}, mcp={there: with_ids_as_texts(server)})
        report = site.audit(url)
        assert report.protocols[Protocol.MCP].details["endpoint"] == there
        assert {101, 103, 401} <= set(numbers(report, AUDITOR))
        asked.append(sorted(request.purpose for request in server.seen))
    assert asked[0] == asked[1]
    assert Purpose.LEGACY_TOOLS in asked[0]


@pytest.mark.parametrize("asked", [HOST, MCP, f"{HOST}/x"])
def test_a_session_is_ended_whoever_opened_it(asked: str) -> None:
    """Also where what opened it is not taken for an MCP server."""
    server = legacy()
    Site({}, mcp={MCP: with_ids_as_texts(server)}).gather(asked)
    opened = [request for request in server.seen if request.purpose in (Purpose.INITIALIZE, Purpose.LEGACY_FUTURE)]
    assert [request.purpose for request in server.seen].count(Purpose.DELETE) == len(opened)


@pytest.mark.parametrize("code", [FailureCode.CONNECT, FailureCode.TLS, FailureCode.REFUSED])
@pytest.mark.parametrize("there", [MCP, f"{HOST}/", f"{HOST}/sse"])
def test_a_dead_port_says_nothing_of_another(code: FailureCode, there: str) -> None:
    dead = "https://weather.example:8443/mcp"
    named = {CARD: served(card(remotes=[remote(dead)]))}
    server = SseServer().site().mcp if there.endswith("/sse") else {there: modern()}
    for asked in (HOST, f"{HOST}/docs"):
        site = Site(named, mcp={dead: lambda request: fails(code, "could not be reached"), **server})
        assert site.audit(asked).protocols[Protocol.MCP].details.get("endpoint") == there


@pytest.mark.parametrize("code", [FailureCode.TIMEOUT, FailureCode.DNS])
def test_a_host_that_is_silent_is_silent_on_every_port(code: FailureCode) -> None:
    dead = "https://weather.example:8443/mcp"
    named = {CARD: served(card(remotes=[remote(dead)]))}
    site = Site(named, mcp={dead: lambda request: fails(code, "does not answer")})
    assert places(site, f"{HOST}/docs") == [f"{HOST}/docs", dead]


def test_a_redirect_of_what_is_claimed_leads_to_what_is_claimed() -> None:
    """The same for the probe and for the judge, also where the place is one of our guesses."""
    onward = Answer(status=308, headers={"location": "/mcp"})
    server = legacy()
    site = Site({}, mcp={f"{HOST}/api/mcp": lambda request: onward, MCP: with_ids_as_texts(server)})
    report = site.audit(f"{HOST}/api/mcp")
    assert report.protocols[Protocol.MCP].details["endpoint"] == MCP
    assert Purpose.LEGACY_TOOLS in [request.purpose for request in server.seen]


def test_nothing_is_asked_twice_of_the_guess_that_is_found() -> None:
    for server in (modern(), legacy(), dual()):
        Site({}, mcp={MCP: server}).gather()
        steps = [request.purpose for request in server.seen if request.purpose != Purpose.DELETE]
        assert len(steps) == len(set(steps))
        given = type(server)(modern=server.modern, legacy=server.legacy)
        Site({}, mcp={MCP: given}).gather(MCP)
        assert sorted(request.purpose for request in given.seen) == sorted(request.purpose for request in server.seen)


def test_a_guess_that_may_be_modern_is_asked_for_its_tools_first() -> None:
    refuse = error("parley:discover/0", -32601, status=404)
    assert places(Site({}, mcp={MCP: modern(otherwise={Purpose.DISCOVER: refuse})})) == [MCP]
    [(_, asked), *_] = walk(Site({}, mcp={MCP: lambda request: error(None, -32601, status=404)}))
    assert asked == sorted([*GREETING, Purpose.TOOLS])


def test_a_redirect_is_followed_up_once() -> None:
    def onward(request: Request) -> Answer:
        number = int(request.url.rpartition("mcp")[2] or 0)
        return Answer(status=307, headers={"location": f"/mcp{number + 1}"})

    site = Site({}, mcp={f"{MCP}{number}": onward for number in ("", *range(1, 40))})
    assert places(site, MCP) == [MCP, f"{MCP}1", f"{HOST}/", f"{HOST}/sse"]
    circle = Site(
        {},
        mcp={
            MCP: lambda r: Answer(status=308, headers={"location": f"{MCP}/"}),
            f"{MCP}/": lambda r: Answer(status=308, headers={"location": MCP}),
        },
    )
    assert places(circle, MCP) == [MCP, f"{MCP}/", f"{HOST}/", f"{HOST}/sse"]


@pytest.mark.parametrize(
    "body", [b"", b": ping\n\n", b"event: message\ndata: {}\n\n", b"data: x\n\nevent: endpoint\ndata: /m\n\n"]
)
def test_a_stream_that_begins_otherwise_is_not_http_sse(body: bytes) -> None:
    def server(request: Request) -> Answer:
        if request.method == "POST":
            return Answer(status=405)
        if request.enough is not None:
            assert request.enough(body) == (b"data" in body)
        return Answer(body=body, headers={"content-type": "text/event-stream"})

    site = Site({}, mcp={f"{HOST}/sse": server})
    assert site.audit(HOST).protocols[Protocol.MCP].state is State.NOT_DETECTED
    assert f"{HOST}/m" not in [request.url for request in site.requests]
