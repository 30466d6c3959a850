"""What an agent's interface answers: where each rule fires, and where it must not."""

from collections.abc import Mapping

import pytest

from agents import (
    CARD_TYPE,
    CATALOG,
    CURRENT,
    ENDPOINT,
    HYBRID,
    LEGACY,
    NASTY,
    SKILL,
    V0_2,
    V0_3,
    V1,
    AgentSite,
    assert_harmless,
    auditor,
    changed,
    error,
    interface,
    message,
    numbered,
    served,
    skill,
)
from parley.documents.agent_card import Purpose
from parley.evidence import Exchange, FailureCode, Request
from parley.report import AuditorReport
from parley.rules.a2a_live import A2aLiveRules
from sites import HOST, Answer, catalog, fails, html

OURS = {row.number for row, _ in A2aLiveRules.rules()}

JSON = {"content-type": "application/json"}

EXTENDING = changed(V1, capabilities={"extendedAgentCard": True})
EXTENDING_0 = changed(V0_3, supportsAuthenticatedExtendedCard=True)
REST = changed(V1, supportedInterfaces=[interface(protocolBinding="HTTP+JSON")])
EXTENDING_REST = changed(REST, capabilities={"extendedAgentCard": True})
OPEN = changed(V1, securitySchemes=..., securityRequirements=...)
MORE = [SKILL, skill(id="warnings", name="Warnings")]

UNSUPPORTED = error(-32004, "Unsupported operation")
UNKNOWN = error(-32601, "Method not found")
NO_VERSION = error(-32009, "Version not supported")


def result(value: object) -> Answer:
    return Answer(body={"jsonrpc": "2.0", "id": 1, "result": value}, headers=JSON)


def refused(status: int, reason: str) -> Answer:
    """An error of the HTTP+JSON binding."""
    details = [{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": reason, "domain": "a2a-protocol.org"}]
    return Answer(status=status, body={"error": {"code": status, "message": "no", "details": details}}, headers=JSON)


def gate(status: int = 401, challenge: str | None = 'Bearer realm="agent"') -> Answer:
    return Answer(status=status, headers={} if challenge is None else {"www-authenticate": challenge})


# A card, what its interface answers to GetExtendedAgentCard without credentials, and the numbers beside 150.
ANSWERS: list[tuple[str, object, Answer, list[int]]] = [
    # Not declared.
    ("unsupported, as it must be", V1, UNSUPPORTED, []),
    ("not configured", V1, error(-32007, "not configured"), []),
    ("an unknown method", V1, UNKNOWN, [383]),
    ("another error", V1, error(-32603, "internal error"), []),
    ("the public card", V1, result(V1), [381]),
    ("another card", V1, result(changed(V1, skills=MORE)), [480]),
    ("unsupported over HTTP", REST, refused(400, "UNSUPPORTED_OPERATION"), []),
    ("not found over HTTP", REST, Answer(status=404), []),
    ("a card over HTTP", REST, Answer(body=changed(V1, skills=MORE), headers=JSON), [480]),
    ("a result that is no card", V1, result({}), []),
    # Declared.
    ("401 with a challenge", EXTENDING, gate(), []),
    ("403", EXTENDING, gate(403, None), []),
    ("an error of the server's own", EXTENDING, error(-32001, "authenticate"), []),
    ("not configured, though declared", EXTENDING, error(-32007, "not configured"), []),
    ("unsupported, though declared", EXTENDING, UNSUPPORTED, [382]),
    ("an unknown method, though declared", EXTENDING, UNKNOWN, [382]),
    ("the declared card for everybody", EXTENDING, result(changed(EXTENDING, skills=MORE)), [480]),
    ("the declared card is the public one", EXTENDING, result(EXTENDING), [381]),
    ("the declared card is the public one without its empties", changed(EXTENDING, iconUrl="", signatures=[]), result(EXTENDING), [381]),
    ("the declared card is the public one for one view", changed(HYBRID, capabilities={"extendedAgentCard": True}), result(EXTENDING), [381]),
    ("the declared card tells another address", EXTENDING, result(changed(EXTENDING, supportedInterfaces=[interface(url="http://10.0.0.7/")])), [480]),
    ("the declared card over HTTP, for everybody", EXTENDING_REST, Answer(body=changed(V1, skills=MORE), headers=JSON), [480]),
    ("denied over HTTP, though declared", EXTENDING_REST, refused(400, "UNSUPPORTED_OPERATION"), [382]),
    ("not found over HTTP, though declared", EXTENDING_REST, Answer(status=404), [382]),
    ("no GET over HTTP, though declared", EXTENDING_REST, Answer(status=405), [382]),
    ("not implemented over HTTP, though declared", EXTENDING_REST, Answer(status=501, body={"error": {}}, headers=JSON), [382]),
    ("a bad request over HTTP, though declared", EXTENDING_REST, Answer(status=400), []),
    ("401 over HTTP", EXTENDING_REST, gate(), []),
    ("declared in 0.3, for everybody", EXTENDING_0, result(changed(EXTENDING_0, skills=MORE)), [480]),
    ("declared in 0.3, and refused", EXTENDING_0, gate(), []),
    ("declared in 0.3, and unknown", EXTENDING_0, UNKNOWN, [382]),
    ("declared in 0.2, which had no such method", changed(V0_2, supportsAuthenticatedExtendedCard=True), UNKNOWN, []),
    ("declared, and no scheme", changed(EXTENDING, securitySchemes=..., securityRequirements=...), error(-32000, "no"), [387]),
    ("declared in 0.3, and no scheme", changed(EXTENDING_0, securitySchemes={}, security=[]), error(-32000, "no"), [387]),
    # Refusals.
    ("401 without a challenge", V1, gate(challenge=None), [384]),
    ("401 without a challenge in 0.3", EXTENDING_0, gate(challenge=" "), [384]),
    ("401, and no scheme", changed(V1, securitySchemes=..., securityRequirements=...), gate(), [385]),
    ("403 with a challenge, and no scheme", changed(V1, securitySchemes=...,  securityRequirements=...), gate(403), [385]),
    ("403, and no scheme", changed(V1, securitySchemes=..., securityRequirements=...), gate(403, None), []),
    # The version that is declared.
    ("its own version is not supported", V1, NO_VERSION, [482]),
    ("its own version is not supported over HTTP", REST, refused(400, "VERSION_NOT_SUPPORTED"), [482]),
    # Somebody, but not soundly.
    ("a server error", V1, Answer(status=500), [388]),
    ("a server error in JSON-RPC", V1, Answer(status=500, body={"jsonrpc": "2.0", "id": 1, "error": {"code": -32603, "message": "x"}}, headers=JSON), []),
    ("a server error over HTTP, in JSON", REST, Answer(status=501, body={"error": {}}, headers=JSON), []),
    ("an outage", V1, Answer(status=503, body=b"down"), [388]),
    ("a redirect", V1, Answer(status=307, headers={"location": "https://weather.example/a2a/"}), [388]),
    ("JSON that is no JSON-RPC", V1, Answer(body={"status": "ok"}, headers=JSON), [388]),
    ("an empty answer", V1, Answer(), [388]),
    ("an event stream, which is not read", V1, Answer(headers={"content-type": "text/event-stream"}), []),
    ("a bad request without JSON-RPC", V1, Answer(status=400, body=b"?"), []),
    ("a rate limit", V1, Answer(status=429), []),
    # Nobody.
    ("not found", OPEN, Answer(status=404), [481]),
    ("not found, where credentials are wanted", V1, Answer(status=404), [388]),
    ("not found, as a web page", OPEN, html(404), [481]),
    ("not found, in JSON-RPC", V1, Answer(status=404, body=UNKNOWN.body, headers=JSON), [383]),
    ("gone", V1, Answer(status=410), [481]),
    ("no POST there", V1, Answer(status=405), [481]),
    ("a web page", V1, html(), [481]),
    ("a web page over HTTP", REST, html(), [481]),
    ("a web page in 0.3", EXTENDING_0, html(), [481]),
]  # fmt: skip


def judged(card: object, answer: Answer, *, version: Answer = NO_VERSION) -> AuditorReport:
    live = {Purpose.EXTENDED: answer, Purpose.NO_VERSION: version}
    return auditor(AgentSite({CURRENT: served(card)}, live=live).audit())


def told(report: AuditorReport) -> list[int]:
    return [number for number in numbered(report) if number in OURS - {150}]


def untested(report: AuditorReport) -> set[int]:
    return {int(one.code.rpartition("-")[2]) for one in report.untested} & OURS


@pytest.mark.parametrize(
    ("card", "answer", "numbers"), [case[1:] for case in ANSWERS], ids=[case[0] for case in ANSWERS]
)
def test_answer(card: object, answer: Answer, numbers: list[int]) -> None:
    report = judged(card, answer)
    assert told(report) == numbers
    assert 150 in numbered(report)


# What comes to A2A-Version: 99.0, and whether that is a warning.
VERSIONS: list[tuple[str, object, Answer, bool]] = [
    ("refused, as it must be", V1, NO_VERSION, False),
    ("refused over HTTP", REST, refused(400, "VERSION_NOT_SUPPORTED"), False),
    ("answered as ever", V1, UNSUPPORTED, True),
    ("answered as ever over HTTP", REST, refused(400, "UNSUPPORTED_OPERATION"), True),
    ("an unknown method", V1, UNKNOWN, True),
    ("a card", EXTENDING, result(EXTENDING), True),
    ("a card over HTTP", EXTENDING_REST, Answer(body=EXTENDING, headers=JSON), True),
    ("another error", V1, error(-32603, "A2A version '99.0' is not supported"), False),
    ("a refusal of the request", V1, error(-32600, "invalid"), False),
    ("401", V1, gate(), False),
    ("400", V1, Answer(status=400), False),
    ("500", V1, Answer(status=500), False),
    ("a web page", V1, html(), False),
]


@pytest.mark.parametrize(
    ("card", "answer", "fires"), [case[1:] for case in VERSIONS], ids=[case[0] for case in VERSIONS]
)
def test_version(card: object, answer: Answer, fires: bool) -> None:
    report = judged(card, gate(), version=answer)
    assert told(report) == ([380] if fires else [])


FAILURES: list[tuple[FailureCode, list[int], bool]] = [
    (FailureCode.DNS, [481], False),
    (FailureCode.CONNECT, [481], False),
    (FailureCode.TLS, [481], False),
    (FailureCode.BAD_HTTP, [481], False),
    (FailureCode.TIMEOUT, [388], False),
    (FailureCode.REFUSED, [], True),
    (FailureCode.TOO_LARGE, [], True),
    (FailureCode.BAD_ENCODING, [], True),
    (FailureCode.REDIRECTS, [], True),
    (FailureCode.BUDGET, [], True),
    (FailureCode.INTERNAL, [], True),
]


@pytest.mark.parametrize(("code", "numbers", "is_open"), FAILURES)
def test_failure(code: FailureCode, numbers: list[int], is_open: bool) -> None:
    report = judged(V1, fails(code, "was not had"))
    assert told(report) == numbers
    assert ({388, 481} <= untested(report)) is is_open
    assert {150, 383, 384, 480, 482} <= untested(report)


def test_our_own_limits_are_nobodys_fault_even_where_somebody_kept_us_waiting() -> None:
    site = AgentSite(
        {CURRENT: served(V1), LEGACY: fails(FailureCode.TIMEOUT, "timed out after 8 s")},
        live={Purpose.EXTENDED: fails(FailureCode.BUDGET, "was not asked: the time is up")},
    )
    report = auditor(site.audit())
    assert told(report) == []
    assert {388, 481} <= untested(report)


def test_a_bot_wall_says_nothing() -> None:
    report = judged(V1, Answer(status=403, headers={"cf-mitigated": "challenge"}))
    assert told(report) == []
    assert {150, 384, 385, 388, 480, 481} <= untested(report)


SAID = {"jsonrpc": "2.0", "id": 1, "error": {"code": -32603, "message": "x"}}
PROBLEM = {"error": {"code": 501, "status": "UNIMPLEMENTED", "message": "x"}}
OF_CALLS = {388, 481}
OF_ANSWERS = {381, 384, 385, 480}
OF_WORDS = {382, 383, 482}

# A card, what its interface answers, and which questions that leaves open.
OPEN_QUESTIONS: list[tuple[str, object, Answer, set[int]]] = [
    ("an error of A2A", V1, UNSUPPORTED, set()),
    ("an error of JSON-RPC", V1, Answer(status=500, body=SAID, headers=JSON), OF_ANSWERS | OF_WORDS),
    ("an error of JSON-RPC in 0.3", EXTENDING_0, error(-32603, "Internal error"), OF_ANSWERS | OF_WORDS),
    ("an error that speaks of the caller", V1, error(-32603, "Not authenticated"), set()),
    ("an error that speaks of the operation", EXTENDING_0, error(-32603, "Authenticated card not supported"), set()),
    ("an error over HTTP", REST, refused(400, "UNSUPPORTED_OPERATION"), set()),
    (
        "an error over HTTP that is none of A2A's",
        REST,
        Answer(status=501, body=PROBLEM, headers=JSON),
        OF_ANSWERS | OF_WORDS,
    ),
    ("a refusal", V1, gate(), OF_WORDS),
    ("a refusal of another kind", V1, gate(403, None), OF_WORDS),
    ("a refusal over HTTP", REST, gate(), OF_WORDS),
    *(
        (f"{status}{where}", card, Answer(status=status), OF_CALLS | OF_ANSWERS | OF_WORDS)
        for status in (202, 204, 400, 415, 422, 429)
        for where, card in (("", V1), (" over HTTP", REST), (" in 0.3", EXTENDING_0))
    ),
    ("404 over HTTP", REST, Answer(status=404), OF_CALLS | OF_ANSWERS | OF_WORDS),
    ("405 over HTTP", REST, Answer(status=405), OF_CALLS | OF_ANSWERS | OF_WORDS),
    ("404 over HTTP, declared", EXTENDING_REST, Answer(status=404), OF_CALLS | OF_ANSWERS | (OF_WORDS - {382})),
    ("any JSON over HTTP", REST, Answer(body={"status": "ok"}, headers=JSON), OF_CALLS | OF_ANSWERS | OF_WORDS),
    ("a rate limit, in JSON", REST, Answer(status=429, body=PROBLEM, headers=JSON), OF_CALLS | OF_ANSWERS | OF_WORDS),
    ("a rate limit, in JSON-RPC", V1, Answer(status=429, body=SAID, headers=JSON), OF_CALLS | OF_ANSWERS | OF_WORDS),
    ("an event stream", V1, Answer(headers={"content-type": "text/event-stream"}), OF_CALLS | OF_ANSWERS | OF_WORDS),
    ("a redirect", V1, Answer(status=307, headers={"location": "/"}), (OF_CALLS - {388}) | OF_ANSWERS | OF_WORDS),
    ("an outage", V1, Answer(status=503), (OF_CALLS - {388}) | OF_ANSWERS | OF_WORDS),
    ("nobody", OPEN, Answer(status=405), (OF_CALLS - {481}) | OF_ANSWERS | OF_WORDS),
]


@pytest.mark.parametrize(
    ("card", "answer", "left"), [case[1:] for case in OPEN_QUESTIONS], ids=[case[0] for case in OPEN_QUESTIONS]
)
def test_an_answer_that_decides_nothing_passes_nothing(card: object, answer: Answer, left: set[int]) -> None:
    report = judged(card, answer)
    assert untested(report) - {380} == left
    passed = {int(code.rpartition("-")[2]) for code in report.passed}
    assert not passed & left
    if not told(report):
        is_told = "whether its agent is there could not be told" in message(report, 200)
        assert is_told is (left >= OF_CALLS)


@pytest.mark.parametrize("answer", [gate(), Answer(status=429), Answer(status=404), Answer(status=400), html()])
@pytest.mark.parametrize("card", [V1, REST], ids=["JSON-RPC", "HTTP"])
def test_a_version_that_was_not_understood_passes_nothing(card: object, answer: Answer) -> None:
    report = judged(card, UNSUPPORTED if card is V1 else refused(400, "UNSUPPORTED_OPERATION"), version=answer)
    assert untested(report) == {380}


class Agents(AgentSite):
    """A site whose interfaces answer each for itself."""

    def __init__(self, answers: Mapping[str, Answer], at: Mapping[str, Answer]) -> None:
        super().__init__(answers)
        self.at = at

    def __call__(self, request: Request) -> Exchange:
        self.live[Purpose.EXTENDED] = self.at.get(str(request.url), fails(FailureCode.DNS, "the name does not resolve"))
        return super().__call__(request)

    @property
    def called(self) -> list[str]:
        return [str(one.url) for one in self.requests if one.purpose == Purpose.EXTENDED]


ELSEWHERE = "https://dead.acme-corp.com/a2a"
OTHER = changed(V1, name="Other", supportedInterfaces=[interface(url=ELSEWHERE)])
LISTED = {
    CATALOG: catalog({"identifier": "urn:air:weather.example:a2a:w", "type": CARD_TYPE, "url": "/b.json"}),
    f"{HOST}/b.json": served(OTHER),
}


@pytest.mark.parametrize(
    ("answers", "said"),
    [
        ({CURRENT: served(V1), LEGACY: served(OTHER)}, ["(A2A 1.0).", "(A2A 1.0); its agent was not asked."]),
        ({CURRENT: served(V1)} | LISTED, ["(A2A 1.0).", "(A2A 1.0); its agent was not asked."]),
        (
            {CURRENT: served(changed(V1, supportedInterfaces=[interface(), interface(url=ELSEWHERE)]))},
            [f"(A2A 1.0); of its interfaces, only {ENDPOINT} was asked."],
        ),
        (
            {CURRENT: served(changed(V1, supportedInterfaces=[interface(), interface(protocolBinding="GRPC")]))},
            [f"(A2A 1.0); of its interfaces, only {ENDPOINT} was asked."],
        ),
    ],
    ids=["two cards", "a card from the catalog", "two interfaces", "one that cannot be asked"],
)
def test_one_interface_is_asked_and_nothing_is_said_of_others(answers: Mapping[str, Answer], said: list[str]) -> None:
    site = Agents(answers, {ENDPOINT: UNSUPPORTED})
    report = auditor(site.audit())
    assert site.called == [ENDPOINT]
    assert untested(report) == OURS - {150, 387}
    assert f"{ENDPOINT} is the one interface that was asked, of 2" in {one.reason for one in report.untested}
    valid = [one.message for one in report.checks if one.code.endswith("-200")]
    assert len(valid) == len(said)
    assert all(text.endswith(end) for text, end in zip(valid, said, strict=True))


def test_two_cards_of_one_interface_are_both_of_what_was_asked() -> None:
    report = auditor(
        Agents({CURRENT: served(V1), LEGACY: served(changed(V1, name="Other"))}, {ENDPOINT: UNSUPPORTED}).audit()
    )
    valid = [one.message for one in report.checks if one.code.endswith("-200")]
    assert len(valid) == 2
    assert all(text.endswith("(A2A 1.0).") for text in valid)
    assert not untested(report)


@pytest.mark.parametrize(
    "answer",
    [fails(FailureCode.REFUSED, "is on a private network"), Answer(status=403, headers={"cf-mitigated": "challenge"})],
)
def test_valid_says_so_where_the_answer_could_not_be_had(answer: Answer) -> None:
    assert message(judged(V1, answer), 200).endswith("(A2A 1.0); whether its agent is there could not be told.")
    grpc = changed(V1, supportedInterfaces=[interface(protocolBinding="GRPC")])
    assert message(judged(grpc, answer), 200).endswith("(A2A 1.0); its agent was not asked.")


def test_one_interface_in_two_views_is_one() -> None:
    assert not untested(judged(HYBRID, UNSUPPORTED))
    listed = [{"url": f"{ENDPOINT}/", "transport": "JSONRPC"}]
    assert not untested(judged(changed(V0_3, additionalInterfaces=listed), UNSUPPORTED)) - {380}


def test_a_fault_of_the_one_that_was_asked_is_told_all_the_same() -> None:
    both = changed(V1, supportedInterfaces=[interface(url=ELSEWHERE), interface()])
    report = auditor(Agents({CURRENT: served(both)}, {ENDPOINT: UNSUPPORTED}).audit())
    assert told(report) == [481]


@pytest.mark.parametrize("first", ["0.3", "0.3.0", "v0.2"])
def test_an_interface_of_1_0_is_asked_rather_than_an_older_one(first: str) -> None:
    listed = [interface(url=ELSEWHERE, protocolVersion=first), interface()]
    site = Agents({CURRENT: served(changed(V1, supportedInterfaces=listed))}, {ENDPOINT: UNSUPPORTED})
    assert 380 not in numbered(auditor(site.audit()))
    assert site.called == [ENDPOINT]
    alone = Agents({CURRENT: served(changed(V1, supportedInterfaces=listed[:1]))}, {ELSEWHERE: UNKNOWN})
    alone.audit()
    assert alone.called == [ELSEWHERE]


@pytest.mark.parametrize(
    ("spelled", "url"),
    [
        ("REST", f"{ELSEWHERE}/extendedAgentCard"),
        ("http", f"{ELSEWHERE}/extendedAgentCard"),
        ("JSON-RPC", ELSEWHERE),
        ("jsonrpc2.0", ELSEWHERE),
    ],
)
def test_a_binding_is_asked_by_what_is_meant(spelled: str, url: str) -> None:
    card = changed(V1, supportedInterfaces=[interface(url=ELSEWHERE, protocolBinding=spelled)])
    site = Agents({CURRENT: served(card)}, {})
    assert 481 in numbered(auditor(site.audit()))
    assert site.called == [url]


HERE = "http://127.0.0.1:8000"


def on_loopback(card: Mapping[str, object], answer: Answer) -> AuditorReport:
    site = AgentSite({f"{HERE}/.well-known/agent-card.json": served(card)}, live={Purpose.EXTENDED: answer})
    return auditor(site.audit(HERE))


def test_an_extended_card_on_ones_own_machine_is_a_warning() -> None:
    """SDKs do no authentication of their own, and nobody else gets it there."""
    card = changed(EXTENDING, supportedInterfaces=[interface(url=f"{HERE}/a2a")])
    report = on_loopback(card, result(changed(card, skills=MORE)))
    assert told(report) == [381]
    assert "differs from the public one in skills (1 of 2 differ)" in message(report, 381)


@pytest.mark.parametrize("answer", [Answer(status=404), fails(FailureCode.DNS, "does not resolve"), html()])
def test_a_card_before_its_deployment_may_name_where_the_agent_will_be(answer: Answer) -> None:
    report = on_loopback(V1, answer)
    assert told(report) == []
    assert {388, 481} <= untested(report)
    here = changed(OPEN, supportedInterfaces=[interface(url=f"{HERE}/a2a")])
    assert told(on_loopback(here, answer)) == [481]


def test_without_an_interface_to_ask_nothing_is_told() -> None:
    card = changed(V1, supportedInterfaces=[interface(protocolBinding="GRPC")])
    report = judged(card, result(V1), version=UNSUPPORTED)
    assert told(report) == []
    assert untested(report) == OURS - {387}
    assert {one.reason for one in report.untested} == {"its interfaces speak GRPC, which is not asked"}


WORDS: list[tuple[object, Answer, int, list[str]]] = [
    (V1, UNSUPPORTED, 150, [f"{ENDPOINT} answered 200 with the error -32004 (UNSUPPORTED_OPERATION)"]),
    (V1, html(), 150, ["answered 200 with a web page"]),
    (V1, result(V1), 150, ["answered 200 with a card"]),
    (V1, html(), 481, ["supportedInterfaces[0].url of Weather", f"is {ENDPOINT}, which answered with a web page"]),
    (V1, Answer(status=404), 388, ["answered 404 to a POST without credentials"]),
    (V1, Answer(status=405), 481, ["answered 405 to a POST"]),
    (V1, fails(FailureCode.DNS, "the name does not resolve"), 481, [f"is {ENDPOINT}, which gave no answer: the name does not resolve."]),
    (V1, fails(FailureCode.TIMEOUT, "timed out after 8 s"), 388, [f"is {ENDPOINT}, which gave no answer: timed out after 8 s."]),
    (REST, html(), 481, [f"is {ENDPOINT}, and {ENDPOINT}/extendedAgentCard there answered with a web page."]),
    (REST, Answer(status=502), 388, [f"is {ENDPOINT}, and {ENDPOINT}/extendedAgentCard there answered 502."]),
    (REST, refused(400, "VERSION_NOT_SUPPORTED"), 482, [f"but {ENDPOINT}/extendedAgentCard answered 400"]),
    (V1, Answer(status=307, headers={"location": "https://x.example/"}), 388, ["a redirect to https://x.example/"]),
    (V1, NO_VERSION, 482, ["supportedInterfaces[0].url", 'declares version "1.0"', "(VERSION_NOT_SUPPORTED)"]),
    (EXTENDING, result(changed(EXTENDING, skills=MORE, name="Other")), 480, ["differs from the public one in name, skills (1 of 2 differ)"]),
]  # fmt: skip


@pytest.mark.parametrize(("card", "answer", "number", "words"), WORDS)
def test_words(card: object, answer: Answer, number: int, words: list[str]) -> None:
    for word in words:
        assert word in message(judged(card, answer), number)


def test_every_rule_fires_and_passes_somewhere() -> None:
    fired: set[int] = set()
    passed: set[int] = set()
    for _, card, answer, _ in ANSWERS:
        report = judged(card, answer, version=UNSUPPORTED)
        fired |= {number for number in numbered(report) if number in OURS}
        passed |= {int(code.rpartition("-")[2]) for code in judged(card, answer).passed}
    assert fired == OURS
    assert passed >= OURS - {150}  # which fires whenever it can


@pytest.mark.parametrize("card", [EXTENDING, EXTENDING_0, EXTENDING_REST], ids=["1.0", "0.3", "REST"])
def test_any_answer(card: dict[str, object]) -> None:
    deep: object = 0
    for _ in range(60):
        deep = [deep]
    bodies: list[object] = [*NASTY, deep, b"[" * 100_000, b"\xff\xfe", b'{"jsonrpc"']
    bodies += [{"jsonrpc": "2.0", "id": 1, name: value} for name in ("result", "error") for value in NASTY]
    bodies += [{"jsonrpc": "2.0", "id": 1, "error": {"code": value, "message": value}} for value in NASTY]
    bodies += [{"error": {"details": value}} for value in NASTY] + [
        {"error": {"details": [{"reason": value}]}} for value in NASTY
    ]
    bodies += [
        {"jsonrpc": "2.0", "id": 1, "result": changed(card, **{name: value})} for name in card for value in NASTY
    ]
    for body in bodies:
        answer = Answer(body=body, headers=JSON)
        report = judged(card, answer, version=answer)
        assert_harmless(report, body)
