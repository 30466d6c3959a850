"""Where Server Cards are looked for, in which order, and when the looking stops."""

import dataclasses

import pytest

from parley.documents.server_card import Purpose
from parley.evidence import FailureCode
from parley.report import Protocol, State
from sites import CARD_TYPE, HOST, Answer, Site, card, catalog, entry, fails, html, numbers, served

AUDITOR = "37A-McpServerCardAuditor"
CATALOG = f"{HOST}/.well-known/ai-catalog.json"
FIRST = f"{HOST}/.well-known/mcp/server-card.json"
SECOND = f"{HOST}/mcp/server-card"


def asked(answers: dict[str, Answer], url: str = HOST) -> list[str]:
    site = Site(answers)
    site.gather(url)
    return site.asked


# What is asked of the site, in order: (name, answers, URLs).
WALKS: list[tuple[str, dict[str, Answer], list[str]]] = [
    ("nothing there", {}, [CATALOG, FIRST, SECOND]),
    ("a card at the first reserved location", {FIRST: served(card())}, [CATALOG, FIRST]),
    ("a card at the second", {SECOND: served(card())}, [CATALOG, FIRST, SECOND]),
    ("any 200 ends it", {FIRST: html(), SECOND: served(card())}, [CATALOG, FIRST]),
    ("a 204 does not", {FIRST: Answer(status=204), SECOND: served(card())}, [CATALOG, FIRST, SECOND]),
    ("a 401 does not", {FIRST: Answer(status=401), SECOND: served(card())}, [CATALOG, FIRST, SECOND]),
    ("a body that breaks off does not", {FIRST: fails(FailureCode.BAD_HTTP, "broke off")}, [CATALOG, FIRST, SECOND]),
    ("an inline card", {CATALOG: catalog(entry(data=card()))}, [CATALOG]),
    ("inline data that is no card", {CATALOG: catalog(entry(data="x"))}, [CATALOG]),
    ("a link", {CATALOG: catalog(entry(url=f"{HOST}/c")), "/c": served(card())}, [CATALOG, f"{HOST}/c"]),
    ("a link to HTML", {CATALOG: catalog(entry(url=f"{HOST}/c")), "/c": html()}, [CATALOG, f"{HOST}/c"]),
    ("a broken link", {CATALOG: catalog(entry(url=f"{HOST}/c"))}, [CATALOG, f"{HOST}/c", FIRST, SECOND]),
    (
        "one broken link of two",
        {CATALOG: catalog(entry(url="/a"), entry(url="/b")), "/b": served(card())},
        [CATALOG, f"{HOST}/a", f"{HOST}/b"],
    ),
    ("a link to another host", {CATALOG: catalog(entry(url="https://cards.example/w"))}, [CATALOG, "https://cards.example/w", FIRST, SECOND]),
    ("a relative link", {CATALOG: catalog(entry(url="mcp/w.json")), "/.well-known/mcp/w.json": served(card())}, [CATALOG, f"{HOST}/.well-known/mcp/w.json"]),
    ("a link with a space around it", {CATALOG: catalog(entry(url=" /c ")), "/c": served(card())}, [CATALOG, f"{HOST}/c"]),
    ("an older catalog", {CATALOG: catalog({"mediaType": CARD_TYPE, "url": "/c"}), "/c": served(card())}, [CATALOG, f"{HOST}/c"]),
    ("a type with a parameter", {CATALOG: catalog({"type": f"{CARD_TYPE.title()}; v=1", "url": "/c"}), "/c": served(card())}, [CATALOG, f"{HOST}/c"]),
    ("entries for other things", {CATALOG: catalog({"type": "application/a2a-agent-card+json", "url": "/a"}, {"type": 5}, "x", None)}, [CATALOG, FIRST, SECOND]),
    ("the registry's media type", {CATALOG: catalog({"type": "application/mcp-server+json", "url": "/a"})}, [CATALOG, FIRST, SECOND]),
    ("a nested catalog", {CATALOG: catalog({"type": "application/ai-catalog+json", "data": {"entries": [entry(url="/c")]}})}, [CATALOG, FIRST, SECOND]),
    ("both url and data", {CATALOG: catalog(entry(url="/c", data=card())), "/c": served(card())}, [CATALOG, f"{HOST}/c"]),
    ("null url and data", {CATALOG: catalog(entry(url=None, data=card()))}, [CATALOG]),
    ("null data", {CATALOG: catalog(entry(data=None))}, [CATALOG, FIRST, SECOND]),
    ("neither url nor data", {CATALOG: catalog(entry())}, [CATALOG, FIRST, SECOND]),
    ("one link twice", {CATALOG: catalog(entry(url="/c"), entry(url=f"{HOST}:443/x/../c")), "/c": served(card())}, [CATALOG, f"{HOST}/c"]),
    ("a link to a reserved location", {CATALOG: catalog(entry(url="/mcp/server-card")), SECOND: served(card())}, [CATALOG, SECOND]),
    ("a catalog that is an array", {CATALOG: Answer(body=[entry(url="/c")])}, [CATALOG, FIRST, SECOND]),
    ("a catalog without entries", {CATALOG: Answer(body={"specVersion": "1.0"})}, [CATALOG, FIRST, SECOND]),
    ("a catalog that is HTML", {CATALOG: html()}, [CATALOG, FIRST, SECOND]),
    ("a catalog under another status", {CATALOG: Answer(status=404, body={"entries": [entry(url="/c")]})}, [CATALOG, FIRST, SECOND]),
    ("a catalog of a version to come", {CATALOG: Answer(body={"specVersion": "2.0", "entries": [entry(url="/c")]}), "/c": served(card())}, [CATALOG, f"{HOST}/c"]),
    ("a catalog with a byte order mark", {CATALOG: Answer(body=b'\xef\xbb\xbf{"entries": [{"type": "application/mcp-server-card+json", "url": "/c"}]}'), "/c": served(card())}, [CATALOG, f"{HOST}/c"]),
]  # fmt: skip


@pytest.mark.parametrize(("answers", "urls"), [case[1:] for case in WALKS], ids=[case[0] for case in WALKS])
def test_walk(answers: dict[str, Answer], urls: list[str]) -> None:
    assert asked(answers) == urls


def test_catalog_redirected_is_the_base_of_its_links() -> None:
    moved = Answer(body={"entries": [entry(url="c")]}, final_url="https://www.weather.example/catalogs/ai.json")
    assert asked({CATALOG: moved})[1] == "https://www.weather.example/catalogs/c"


def test_what_is_sent() -> None:
    site = Site({CATALOG: catalog(entry(url="/c"))})
    site.gather()
    requests = [request for request in site.requests if request.purpose in set(Purpose)]
    assert {request.method for request in requests} == {"GET"}
    assert all(request.headers["Origin"] == "https://parley.example" for request in requests)
    assert requests[1].headers["Accept"] == CARD_TYPE
    assert all(CARD_TYPE in request.headers["Accept"] for request in requests[2:])


@pytest.mark.parametrize("url", ["ftp://x.example/c", "http://user:pw@x.example/c", "https://[::1", "https://a b"])
def test_a_link_that_is_no_url_is_an_attempt(url: object) -> None:
    site = Site({CATALOG: catalog(entry(url=url))})
    report = site.audit()
    assert report.attempts[1].purpose == "Server Card from an AI Catalog entry"
    assert site.asked[2:4] == [FIRST, SECOND]
    assert numbers(report, AUDITOR) == [100, 400]
    assert report.protocols[Protocol.SERVER_CARD].state is State.INDICATED


@pytest.mark.parametrize(
    ("members", "reason"),
    [
        ({"url": 7}, f"{CATALOG}#/entries/0/url: is a number, not a URL"),
        ({"url": ["x"], "data": {}}, f"{CATALOG}#/entries/0/url: is an array, not a URL"),
        ({"url": "#top"}, f"{CATALOG}: is the catalog itself"),
        ({"url": "ai-catalog.json"}, f"{CATALOG}: is the catalog itself"),
    ],
)
def test_a_link_with_nothing_to_ask_for_is_told(members: dict[str, object], reason: str) -> None:
    site = Site({CATALOG: catalog(entry(**members))})
    report = site.audit()
    assert site.asked[:3] == [CATALOG, FIRST, SECOND]
    assert numbers(report, AUDITOR) == [100, 400]
    assert reason in report.auditors[0].checks[1].message
    assert report.protocols[Protocol.SERVER_CARD].state is State.INDICATED


@pytest.mark.parametrize("url", ["", " "])
def test_an_empty_link_is_none(url: str) -> None:
    site = Site({CATALOG: catalog(entry(url=url, data=card()))})
    assert numbers(site.audit(), AUDITOR) == [100, 200]


def test_two_links_that_end_at_one_card_are_one_card_by_http_if_either_is() -> None:
    moved = dataclasses.replace(served(card()), final_url=f"{HOST}/c")
    for urls in (("/c", "http://weather.example/c"), ("http://weather.example/c", "/c")):
        site = Site(
            {
                CATALOG: catalog(*(entry(url=url) for url in urls)),
                "/c": served(card()),
                "http://weather.example/c": moved,
            }
        )
        assert numbers(site.audit(), AUDITOR) == [100, 413]


def test_one_catalog_under_two_urls_is_one_catalog() -> None:
    there = catalog(entry(data={}))
    site = Site({CATALOG: there, "/ai-catalog.json": dataclasses.replace(there, final_url=CATALOG)})
    assert numbers(site.audit(f"{HOST}/ai-catalog.json"), AUDITOR) == [100, 402, 404, 406, 408]


def test_at_most_twenty_links_are_followed_and_the_rest_is_untested() -> None:
    links = [entry(url=f"/cards/{i}") for i in range(23)]
    site = Site({CATALOG: catalog(*links)} | {f"/cards/{i}": served(card()) for i in range(23)})
    report = site.audit()
    assert site.asked == [CATALOG, *(f"{HOST}/cards/{i}" for i in range(20))]
    assert numbers(report, AUDITOR) == [100] + [200] * 20
    reasons = {one.reason for one in report.auditors[0].untested}
    assert reasons == {"3 more catalog links were not followed"}
    assert report.auditors[0].passed == (f"{AUDITOR}-400",)


def test_ten_thousand_links_are_twenty_requests() -> None:
    assert len(asked({CATALOG: catalog(*(entry(url=f"https://victim.example/{i}") for i in range(10_000)))})) == 23


def test_ten_thousand_inline_cards_are_bounded() -> None:
    report = Site({CATALOG: catalog(*({"type": CARD_TYPE, "data": {}} for _ in range(10_000)))}).audit()
    reasons = {one.reason for one in report.auditors[0].untested}
    assert reasons == {"9980 more cards in the AI Catalog itself were not read"}
    assert len(report.auditors[0].checks) <= 500
    assert len(report.protocols[report.auditors[0].protocol].because) <= 5  # type: ignore[index]


# A document's own URL is one more candidate: (URL asked about, answers, URLs fetched, codes).
OWN: list[tuple[str, dict[str, Answer], list[str], list[int]]] = [
    ("/weather/server-card", {"/weather/server-card": served(card())}, ["/weather/server-card", CATALOG, FIRST, SECOND], [100, 200]),
    ("/weather/server-card", {"/weather/server-card": served(card()), SECOND: served({})}, ["/weather/server-card", CATALOG, FIRST, SECOND], [100, 200, 402, 404, 406, 408]),
    ("/weather/server-card", {"/weather/server-card": served(card()), FIRST: html()}, ["/weather/server-card", CATALOG, FIRST], [100, 200]),
    ("/a/server-card.json", {"/a/server-card.json": served({}), FIRST: served(card())}, ["/a/server-card.json", CATALOG, FIRST], [100, 200, 402, 404, 406, 408]),
    ("/a/server-card.json", {FIRST: served(card())}, ["/a/server-card.json", CATALOG, FIRST], [100, 200]),
    ("/a/server-card", {"/a/server-card": html(), FIRST: served(card())}, ["/a/server-card", CATALOG, FIRST], [100, 200, 401]),
    ("/mcp/server-card", {SECOND: served(card())}, [SECOND, CATALOG, FIRST], [100, 200]),
    ("/mcp/server-card", {SECOND: served(card()), FIRST: served({})}, [SECOND, CATALOG, FIRST], [100, 200, 402, 404, 406, 408]),
    ("/mcp/server-card", {}, [SECOND, CATALOG, FIRST], [100, 400]),
    ("/.well-known/mcp/server-card.json", {FIRST: html()}, [FIRST, CATALOG], [100, 401]),
    ("/x/ai-catalog.json", {"/x/ai-catalog.json": catalog(entry(url="c")), "/x/c": served(card())}, [CATALOG, "/x/ai-catalog.json", "/x/c"], [100, 200]),
    ("/.well-known/ai-catalog.json", {}, [CATALOG, FIRST, SECOND], [100, 400]),
    ("/mcp", {}, [CATALOG, FIRST, SECOND], [100, 400]),
]  # fmt: skip


@pytest.mark.parametrize(("path", "answers", "urls", "codes"), OWN)
def test_own_url(path: str, answers: dict[str, Answer], urls: list[str], codes: list[int]) -> None:
    site = Site(answers)
    report = site.audit(HOST + path)
    assert site.asked == [url if "://" in url else HOST + url for url in urls]
    assert numbers(report, AUDITOR) == codes


def test_a_card_asked_for_and_linked_to_is_one_card() -> None:
    site = Site({CATALOG: catalog(entry(url="/a/server-card")), "/a/server-card": served(card())})
    report = site.audit(f"{HOST}/a/server-card")
    assert numbers(report, AUDITOR) == [100, 200]
