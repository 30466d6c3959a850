"""Where Agent Cards are found and how they are served: where each rule fires, and where it must not."""

import json

import pytest

from agents import (
    CARD_TYPE,
    CATALOG,
    CURRENT,
    LEGACY,
    V0_2,
    V0_3,
    V1,
    AgentSite,
    auditor,
    changed,
    faults,
    fired_and_passed,
    message,
    numbered,
    served,
)
from parley.documents.agent_card import SIBLING
from parley.evidence import FailureCode
from parley.report import Protocol, State, Status
from parley.rules.a2a_served import A2aServedRules
from sites import HOST, NOTHING, Answer, Site, catalog, fails, html

OURS = {row.number for row, _ in A2aServedRules.rules()}
OF_WHAT_IS_THERE = {102, 103, 104, 401}
"""Rules that are asked about the very thing that they tell of; where there is none, they do not apply."""

WALL = Answer(status=403, headers={"cf-mitigated": "challenge"})
DOWN = fails(FailureCode.TIMEOUT, "timed out after 8 s")
BUSY = fails(FailureCode.BUDGET, "was not asked for: this audit's time was up")
MANIFEST = served({"name": "Weather", "price": "1 EUR", "tools": []})
ANYTHING = served({"status": "ok"})
TEXT = Answer(body=b"hello", headers={"content-type": "text/plain"})
BOM = b"\xef\xbb\xbf" + json.dumps(V1).encode()
TWICE = json.dumps(V1).encode().replace(b'"name": "Weather"', b'"name": "Weather", "name": "Other"', 1)
LINKED = f"{HOST}/cards/weather.json"
AWAY = "https://cards.example/weather.json"


def entry(**members: object) -> dict[str, object]:
    return {"identifier": "urn:air:weather.example:agent:weather", "type": CARD_TYPE} | members


NOT_DETECTED, INDICATED, CONFIRMED = State.NOT_DETECTED, State.INDICATED, State.CONFIRMED

# What the site answers, the URL that is audited, the numbers beside 100, and the state.
SITES: list[tuple[str, dict[str, Answer], str, list[int], State]] = [
    ("nothing", {}, HOST, [102], NOT_DETECTED),
    ("a card", {CURRENT: served(V1)}, HOST, [], CONFIRMED),
    ("the same at both paths", {CURRENT: served(V1), LEGACY: served(V1)}, HOST, [], CONFIRMED),
    ("the same, written otherwise", {CURRENT: served(V1), LEGACY: served(dict(reversed(V1.items())))}, HOST, [], CONFIRMED),
    ("another one at the older path", {CURRENT: served(V1), LEGACY: served(V0_2)}, HOST, [108], CONFIRMED),
    ("the older path alone", {LEGACY: served(V0_2)}, HOST, [300], CONFIRMED),
    ("the older path, and a web page", {CURRENT: html(), LEGACY: served(V0_2)}, HOST, [300], CONFIRMED),
    ("the older path, and who knows", {CURRENT: WALL, LEGACY: served(V0_2)}, HOST, [], CONFIRMED),
    ("the older path, and one from a catalog", {LEGACY: served(V0_2), CATALOG: catalog(entry(url=LINKED)), LINKED: served(V1)}, HOST, [], CONFIRMED),
    # What is no card.
    ("web pages", {CURRENT: html(), LEGACY: html()}, HOST, [102], NOT_DETECTED),
    ("another format", {CURRENT: MANIFEST}, HOST, [403], INDICATED),
    ("another format at the older path", {LEGACY: MANIFEST}, HOST, [403], NOT_DETECTED),
    ("an empty object at the older path", {LEGACY: served({})}, HOST, [403], NOT_DETECTED),
    ("an array at the older path", {LEGACY: served([1])}, HOST, [402], NOT_DETECTED),
    ("what cannot be read at the older path", {LEGACY: served(b'{"name": "Weather",}')}, HOST, [402], INDICATED),
    ("another format at the older path, which is the URL given", {LEGACY: MANIFEST}, LEGACY, [403], INDICATED),
    ("another format at the older path, and a current one that fails", {CURRENT: Answer(status=500), LEGACY: MANIFEST}, HOST, [401, 403], INDICATED),
    ("another format at both", {CURRENT: MANIFEST, LEGACY: MANIFEST}, HOST, [403], INDICATED),
    ("an empty object", {CURRENT: served({})}, HOST, [403], INDICATED),
    ("a card, and another format at the older path", {CURRENT: served(V1), LEGACY: MANIFEST}, HOST, [109], CONFIRMED),
    ("a card, and no JSON at the older path", {CURRENT: served(V1), LEGACY: TEXT}, HOST, [109], CONFIRMED),
    ("a card at the older path, and another format", {CURRENT: MANIFEST, LEGACY: served(V0_2)}, HOST, [300, 403], CONFIRMED),
    ("no JSON", {CURRENT: served(b'{"name": "Weather",}')}, HOST, [402], INDICATED),
    ("nothing in it", {CURRENT: served(b"")}, HOST, [402], INDICATED),
    ("an array", {CURRENT: served([V1])}, HOST, [402], INDICATED),
    ("a JSON answer to everything", {CURRENT: ANYTHING, LEGACY: ANYTHING, HOST + SIBLING: ANYTHING}, HOST, [104], NOT_DETECTED),
    ("a text in answer to everything", {CURRENT: TEXT, LEGACY: TEXT, HOST + SIBLING: TEXT}, HOST, [104], NOT_DETECTED),
    ("a document with a time in answer to everything", {CURRENT: served({"status": "ok", "at": 1}), LEGACY: served({"status": "ok", "at": 2}), HOST + SIBLING: served({"at": 3, "status": "ok"})}, HOST, [104], NOT_DETECTED),
    ("an error of status 200 for anything else", {CURRENT: MANIFEST, LEGACY: MANIFEST, HOST + SIBLING: served({"error": "not found"})}, HOST, [403], INDICATED),
    ("a web page in answer to anything else", {CURRENT: ANYTHING, LEGACY: ANYTHING, HOST + SIBLING: html()}, HOST, [403], INDICATED),
    # What does not answer.
    ("a name that does not resolve", dict.fromkeys((CURRENT, LEGACY), fails(FailureCode.DNS, "does not resolve")), HOST, [102], NOT_DETECTED),
    ("a wall", {CURRENT: WALL, LEGACY: WALL}, HOST, [102], NOT_DETECTED),
    ("our own limits", {CURRENT: BUSY, LEGACY: BUSY}, HOST, [], NOT_DETECTED),
    ("credentials", {CURRENT: Answer(status=401)}, HOST, [102, 103], INDICATED),
    ("credentials everywhere", {CURRENT: Answer(status=401), LEGACY: Answer(status=403)}, HOST, [102, 103, 103], NOT_DETECTED),
    ("a path that fails", {CURRENT: Answer(status=500)}, HOST, [401], INDICATED),
    ("a path that fails, but the older one not", {CURRENT: Answer(status=500), LEGACY: served(V0_2)}, HOST, [300, 401], CONFIRMED),
    ("a site that fails", {CURRENT: Answer(status=500), LEGACY: Answer(status=500)}, HOST, [102], NOT_DETECTED),
    ("a site with too much to do", {CURRENT: Answer(status=503)}, HOST, [102], NOT_DETECTED),
    ("an older path that fails", {CURRENT: served(V1), LEGACY: Answer(status=500)}, HOST, [305], CONFIRMED),
    # What is claimed.
    ("a card's URL that answers 404", {}, CURRENT, [400], INDICATED),
    ("a card's URL that does not answer", {CURRENT: DOWN, LEGACY: DOWN}, CURRENT, [400], INDICATED),
    ("a card's URL that fails", {CURRENT: Answer(status=500)}, CURRENT, [400], INDICATED),
    ("a card's URL with a web page", {CURRENT: html()}, CURRENT, [402], INDICATED),
    ("a card's URL behind a wall", {CURRENT: WALL}, CURRENT, [], INDICATED),
    ("an older card's URL that answers 404", {}, LEGACY, [400], INDICATED),
    ("a card's URL that answers 404, and one elsewhere", {CURRENT: served(V1)}, f"{HOST}/x/agent-card.json", [304], CONFIRMED),
    ("the older path, which answers 404, and one at the current", {CURRENT: served(V1)}, LEGACY, [304], CONFIRMED),
    ("the older path, which fails, and one at the current", {CURRENT: served(V1), LEGACY: Answer(status=500)}, LEGACY, [304], CONFIRMED),
    ("the current path, which answers 404, and one at the older", {LEGACY: served(V0_2)}, CURRENT, [300], CONFIRMED),
    ("a current path further down, which answers 404, and one at the older", {LEGACY: served(V0_2)}, f"{HOST}/x{CURRENT[len(HOST) :]}", [300, 304], CONFIRMED),
    ("the current path, which answers 404, and one by a catalog", {CATALOG: catalog(entry(url=LINKED)), LINKED: served(V1)}, CURRENT, [304], CONFIRMED),
    ("a card's URL behind a wall, and one elsewhere", {f"{HOST}/x/agent-card.json": WALL, CURRENT: served(V1)}, f"{HOST}/x/agent-card.json", [], CONFIRMED),
    ("a card's URL that needs credentials, and one elsewhere", {f"{HOST}/x/agent-card.json": Answer(status=401), CURRENT: served(V1)}, f"{HOST}/x/agent-card.json", [103], CONFIRMED),
    ("a card at another path", {f"{HOST}/x/agent-card.json": served(V1)}, f"{HOST}/x/agent-card.json", [], CONFIRMED),
    ("a card by a catalog", {CATALOG: catalog(entry(url=LINKED)), LINKED: served(V1)}, HOST, [], CONFIRMED),
    ("a card by an older catalog", {CATALOG: catalog({"mediaType": CARD_TYPE, "url": "/cards/weather.json"}), LINKED: served(V1)}, HOST, [], CONFIRMED),
    ("a card in a catalog", {CATALOG: catalog(entry(data=V1))}, HOST, [], CONFIRMED),
    ("something else in a catalog", {CATALOG: catalog(entry(data={"a": 1}))}, HOST, [403], INDICATED),
    ("the well-known path in a catalog", {CATALOG: catalog(entry(url=CURRENT)), CURRENT: served(V1)}, HOST, [], CONFIRMED),
    ("a dead entry", {CATALOG: catalog(entry(url=LINKED))}, HOST, [400], INDICATED),
    ("an entry that names no URL", {CATALOG: catalog(entry(url=7))}, HOST, [400], INDICATED),
    ("a web page by a catalog", {CATALOG: catalog(entry(url=LINKED)), LINKED: html()}, HOST, [402], INDICATED),
    ("a dead entry, and a card", {CATALOG: catalog(entry(url=LINKED)), CURRENT: served(V1)}, HOST, [304], CONFIRMED),
    ("an entry of another type", {CATALOG: catalog(entry(type="application/json", url=LINKED))}, HOST, [102], NOT_DETECTED),
    ("a linked card that needs credentials", {CATALOG: catalog(entry(url=LINKED)), LINKED: Answer(status=403)}, HOST, [103], INDICATED),
    ("a card's URL that needs credentials", {CURRENT: Answer(status=401)}, CURRENT, [103], INDICATED),
    ("two dead entries", {CATALOG: catalog(entry(url=LINKED), entry(url="/other"))}, HOST, [400, 400], INDICATED),
    ("two web pages by a catalog", {CATALOG: catalog(entry(url=LINKED), entry(url="/other")), LINKED: html(), f"{HOST}/other": Answer(body=b"<html>Other", headers={"content-type": "text/html"})}, HOST, [402, 402], INDICATED),
    # How a card is served.
    ("another type", {CURRENT: served(V1, content_type="text/plain")}, HOST, [301], CONFIRMED),
    ("no type", {CURRENT: served(V1, content_type=None)}, HOST, [301], CONFIRMED),
    ("A2A's type", {CURRENT: served(V1, content_type="Application/A2A+JSON; charset=utf-8")}, HOST, [], CONFIRMED),
    ("the card's type", {CURRENT: served(V1, content_type=CARD_TYPE)}, HOST, [], CONFIRMED),
    ("no word on caching", {CURRENT: served(V1, cache_control=None, etag=None)}, HOST, [120], CONFIRMED),
    ("no ETag", {CURRENT: served(V1, etag=None)}, HOST, [120], CONFIRMED),
    ("public is no age", {CURRENT: served(V1, cache_control="public")}, HOST, [120], CONFIRMED),
    ("not to be stored", {CURRENT: served(V1, cache_control="no-store", etag=None)}, HOST, [], CONFIRMED),
    ("no CORS", {CURRENT: served(V1, access_control_allow_origin=None)}, HOST, [121], CONFIRMED),
    ("a byte order mark", {CURRENT: served(BOM)}, HOST, [302], CONFIRMED),
    ("a member twice", {CURRENT: served(TWICE)}, HOST, [303], CONFIRMED),
    ("another host", {CURRENT: Answer(body=V1, headers=served(V1).headers, final_url=AWAY)}, HOST, [122], CONFIRMED),
    ("another path", {CURRENT: Answer(body=V1, headers=served(V1).headers, final_url=f"{HOST}/card.json")}, HOST, [], CONFIRMED),
    ("http", {"http://weather.example/.well-known/agent-card.json": served(V1)}, "http://weather.example", [404], CONFIRMED),
    ("http to itself", {"http://localhost:8000/.well-known/agent-card.json": served(V1)}, "http://localhost:8000", [], CONFIRMED),
    ("http to https", {"http://weather.example/.well-known/agent-card.json": Answer(body=V1, headers=served(V1).headers, final_url=CURRENT)}, "http://weather.example", [], CONFIRMED),
    ("a link by http", {CATALOG: catalog(entry(url="http://weather.example/c")), "http://weather.example/c": Answer(body=V1, headers=served(V1).headers, final_url=f"{HOST}/c")}, HOST, [404], CONFIRMED),
]  # fmt: skip


@pytest.mark.parametrize(
    ("answers", "asked", "numbers", "state"), [case[1:] for case in SITES], ids=[case[0] for case in SITES]
)
def test_site(answers: dict[str, Answer], asked: str, numbers: list[int], state: State) -> None:
    report = AgentSite(answers).audit(asked)
    assert [number for number in numbered(auditor(report)) if number in OURS] == [100, *numbers]
    assert report.protocols[Protocol.A2A].state is state


def test_every_rule_fires_and_does_not() -> None:
    reports = [auditor(AgentSite(answers).audit(asked)) for _, answers, asked, _, _ in SITES]
    fired, passed = fired_and_passed(reports)
    assert fired >= OURS
    assert passed >= OURS - {100} - OF_WHAT_IS_THERE
    idle = [{int(code.rpartition("-")[2]) for code in report.not_applicable} for report in reports]
    assert all(any(number in one for one in idle) for number in OF_WHAT_IS_THERE)


def test_an_absent_card_is_no_fault_and_no_success() -> None:
    for answers in (
        {},
        {CURRENT: html(), LEGACY: html()},
        {CURRENT: ANYTHING, LEGACY: ANYTHING, HOST + SIBLING: ANYTHING},
    ):
        report = auditor(AgentSite(answers).audit())
        assert report.status is Status.INFORMATION
        assert not report.untested
        assert not report.passed


def test_what_is_said_of_an_absent_card_leaves_room_for_a_hidden_one() -> None:
    told = message(auditor(AgentSite({}).audit()), 102)
    assert f"{CURRENT}: answered 404" in told
    assert f"{LEGACY}: answered 404" in told
    assert "show its card only to clients that it knows" in told


# The site, a number, and words that its message has.
WORDS: list[tuple[dict[str, Answer], int, list[str]]] = [
    ({CURRENT: html()}, 102, ["is a web page"]),
    ({CURRENT: Answer(status=500), LEGACY: Answer(status=500)}, 102, ["answered 500"]),
    ({CURRENT: Answer(status=401)}, 103, ["answered 401"]),
    ({CURRENT: MANIFEST}, 403, ["but a product manifest"]),
    ({CURRENT: served({})}, 403, ["but an empty object"]),
    ({CURRENT: served(b'{"name": "Weather",}')}, 402, ["it is not JSON (line 1"]),
    ({CURRENT: served([V1])}, 402, ["an array, not a JSON object"]),
    ({CATALOG: catalog(entry(url=LINKED))}, 400, ["an AI Catalog entry", f"{LINKED}: answered 404"]),
    ({CURRENT: served(V1), LEGACY: served(V0_2)}, 108, [f"{CURRENT} (1.0) and {LEGACY} (0.2)"]),
    ({CURRENT: Answer(status=502)}, 401, [f"{CURRENT} answered 502"]),
    ({LEGACY: served(V0_2)}, 300, [f"{CURRENT} answered 404"]),
    ({CURRENT: served(V1), LEGACY: MANIFEST}, 109, ["it is a product manifest"]),
    (
        {CATALOG: catalog(entry(url=LINKED)), CURRENT: served(V1)},
        304,
        ["an AI Catalog entry", f"{LINKED}: answered 404; there is one at {CURRENT}"],
    ),
]


@pytest.mark.parametrize(("answers", "number", "words"), WORDS)
def test_words(answers: dict[str, Answer], number: int, words: list[str]) -> None:
    told = message(auditor(AgentSite(answers).audit()), number)
    for word in words:
        assert word in told


def test_what_stays_open_is_untested() -> None:
    for answer, reason in ((WALL, "from behind a bot wall"), (BUSY, "time was up")):
        report = AgentSite({CURRENT: answer, LEGACY: answer}).audit()
        one = report.protocols[Protocol.A2A]
        assert not one.conclusive
        assert one.because[0].startswith("inconclusive: ")
        assert one.status is Status.INFORMATION
        untested = {int(check.code[-3:]): check.reason for check in auditor(report).untested}
        assert {403, 410, 418} <= set(untested)
        assert all(reason in text for text in untested.values())


@pytest.mark.parametrize("closed", [WALL, BUSY], ids=["wall", "limits"])
def test_a_card_at_one_path_is_judged_whatever_stands_before_the_other(closed: Answer) -> None:
    report = auditor(AgentSite({CURRENT: closed, LEGACY: served(V0_2)}).audit())
    passed = {int(code[-3:]) for code in report.passed}
    untested = {int(one.code[-3:]) for one in report.untested}
    assert {410, 413, 418, 432, 446} <= passed
    assert {108, 300, 402, 403} <= untested
    assert not untested & {410, 413, 418, 432, 446}
    assert 200 in numbered(report)


def test_another_format_at_the_older_path_leaves_open_what_is_behind_a_wall() -> None:
    report = AgentSite({CURRENT: WALL, LEGACY: MANIFEST}).audit()
    one = report.protocols[Protocol.A2A]
    assert (one.state, one.conclusive) == (State.NOT_DETECTED, False)
    assert faults(auditor(report)) == [403]


def test_the_url_given_is_dead_though_there_is_a_card_elsewhere() -> None:
    report = AgentSite({CURRENT: served(V1)}).audit(f"{HOST}/x/agent-card.json")
    assert report.status is Status.WARNING
    told = message(auditor(report), 304)
    assert f"where the URL given says that there is one: {HOST}/x/agent-card.json: answered 404" in told


def test_what_is_no_card_in_a_catalog_was_not_answered() -> None:
    because = AgentSite({CATALOG: catalog(entry(data={"a": 1}))}).audit().protocols[Protocol.A2A].because
    assert because == (
        f"{CATALOG}#/entries/0/data stands in the AI Catalog, but holds no Agent Card: "
        "it is an object with the members a",
    )


def test_a_good_mcp_site_stays_green_beside_another_format() -> None:
    """agent.json is a name that other formats have too."""
    from mcp_servers import dual

    for manifest, status in ((LEGACY, Status.SUCCESS), (CURRENT, Status.FAIL)):
        report = Site({manifest: MANIFEST}, mcp={"/mcp": dual()}, default=NOTHING).audit(f"{HOST}/mcp")
        assert faults(auditor(report)) == [403]
        assert report.status is status
    because = report.protocols[Protocol.A2A].because
    assert because == (f"{CURRENT} answered 200, but holds no Agent Card: it is a product manifest",)


def test_a_card_that_is_more_than_is_read_is_untested() -> None:
    deep: object = "x"
    for _ in range(80):
        deep = [deep]
    report = AgentSite({CURRENT: served(changed(V1, deep=deep))}).audit()
    assert not report.protocols[Protocol.A2A].conclusive
    assert faults(auditor(report)) == []
    assert "nested more than 64 levels" in auditor(report).untested[0].reason


def test_links_beyond_the_limit_are_untested() -> None:
    answers = {CATALOG: catalog(*(entry(url=f"/{index}") for index in range(25)))}
    answers |= {f"{HOST}/{index}": served(changed(V1, name=f"Weather {index}")) for index in range(25)}
    report = auditor(AgentSite(answers).audit())
    assert numbered(report).count(101) == 20
    assert {one.reason for one in report.untested} == {"5 more catalog links were not followed"}


def test_cards_in_the_catalog_itself_are_read_up_to_the_same_limit() -> None:
    listed = [entry(data=changed(V1, name=f"Weather {index}")) for index in range(25)]
    report = auditor(AgentSite({CATALOG: catalog(*listed)}).audit())
    assert numbered(report).count(101) == 20
    reasons = {one.reason for one in report.untested}
    assert "5 more cards in the AI Catalog itself were not read" in reasons


def test_a_good_mcp_site_stays_green_without_an_agent() -> None:
    from mcp_servers import dual

    report = Site({}, mcp={"/mcp": dual()}, default=NOTHING).audit(f"{HOST}/mcp")
    assert report.protocols[Protocol.MCP].state is State.CONFIRMED
    assert report.protocols[Protocol.A2A].state is State.NOT_DETECTED
    assert report.status is report.protocols[Protocol.MCP].status is Status.SUCCESS


def test_the_report_names_the_card_and_its_shape() -> None:
    answers = {CURRENT: served(changed(V1, skills=[])), LEGACY: served(V0_3)}
    details = AgentSite(answers).audit().protocols[Protocol.A2A].details
    assert details == {"cardUrl": LEGACY, "shape": "0.3"}
    assert AgentSite({CURRENT: served(V1), LEGACY: served(V0_3)}).audit().protocols[Protocol.A2A].details == {
        "cardUrl": CURRENT,
        "shape": "1.0",
    }
    assert AgentSite({}).audit().protocols[Protocol.A2A].details == {}
