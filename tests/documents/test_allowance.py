"""How much of an audit's cards is read: what comes first, what counts once, and what never is the site's fault."""

from agents import CARD_TYPE, CATALOG, JSON, V1, AgentSite, auditor, changed, faults, numbered, served
from parley.documents import agent_card, server_card
from parley.documents.allowance import PER_VALUE, READ, UNREAD, weight, within
from parley.evidence import Exchange, FailureCode
from parley.fetch.policy import Limits
from parley.report import Protocol, Report, State, Status
from parley.wire import strict_json
from sites import HOST, Answer, catalog, entry
from sites import card as server_card_of
from sites import served as server_card_served

HALF = b"[" + b"0," * (READ // (2 * (2 + PER_VALUE)) + 10) + b"0]"
"""Of which two are too much."""


def said(purpose: str, body: bytes, *, status: int = 200, url: str = "https://weather.example/x") -> Exchange:
    return Exchange(
        purpose=purpose,
        method="GET",
        url=url,
        final_url=url,
        status=status,
        headers=(),
        body=body,
        failure=None,
        redirects=(),
        duration_ms=1,
    )


def unread(*exchanges: Exchange) -> list[bool]:
    read = within(exchanges)
    assert [one._replace(body=b"", failure=None) for one in read] == [one._replace(body=b"") for one in exchanges]
    for one in read:
        if one.failure is not None:
            assert (one.failure.code, one.failure.reason, one.body) == (FailureCode.INTERNAL, UNREAD, b"")
    return [one.failure is not None for one in read]


def test_the_largest_body_fits() -> None:
    for body in (b"x" * Limits().body_bytes, b"[" * Limits().body_bytes):
        assert weight(body) <= READ
        assert unread(said(agent_card.Purpose.CURRENT, body)) == [False]


def test_what_comes_from_the_site_itself_is_read_before_what_it_links_to() -> None:
    linked, listed = said(agent_card.Purpose.LINK, HALF), said(server_card.Purpose.CATALOG, HALF + b" ")
    current = said(agent_card.Purpose.CURRENT, HALF + b"  ")
    assert unread(linked, listed, current) == [True, True, False]
    assert unread(linked, listed) == [True, False]
    assert unread(said(server_card.Purpose.LINK, HALF + b"   "), linked) == [True, False]


def test_a_smaller_one_may_still_fit() -> None:
    small = said(agent_card.Purpose.LINK, b"{}" + b" " * 1000)
    linked = [said(agent_card.Purpose.LINK, HALF + b" " * number) for number in range(3)]
    assert unread(*linked, small) == [False, True, True, False]


def test_the_same_body_counts_once() -> None:
    """A single-page app answers so to all."""
    assert unread(*(said(purpose, HALF) for purpose in agent_card.Purpose)) == [False] * len(agent_card.Purpose)


def test_what_is_no_answer_or_no_card_does_not_count() -> None:
    other = [said(agent_card.Purpose.CURRENT, HALF, status=404), said("initialize", HALF + b" ")]
    assert unread(*other, said(agent_card.Purpose.LINK, HALF + b"  ")) == [False] * 3


def test_values_count_no_further_than_they_are_read() -> None:
    assert weight(b"," * 1_000_000) == 1_000_000 + PER_VALUE * 2 * strict_json.NODES


def large(number: int) -> Answer:
    listed = [{"id": str(index), "name": "a", "description": "b", "tags": ["c"]} for index in range(11_000)]
    return served(changed(V1, name=f"Weather {number}", skills=listed))


def audited(cards: int, **answers: Answer) -> Report:
    linked = [{"identifier": f"urn:air:x:a:{one}", "type": CARD_TYPE, "url": f"/{one}"} for one in range(cards)]
    said = {CATALOG: catalog(*linked)} | {f"{HOST}/{one}": large(one) for one in range(cards)}
    return AgentSite(said | {HOST + path: answer for path, answer in answers.items()}).audit()


def test_cards_beyond_it_are_untested_and_never_green() -> None:
    report = audited(4)
    judged, state = auditor(report), report.protocols[Protocol.A2A]
    assert numbered(judged).count(101) == 2
    assert judged.status is state.status is report.status is Status.INFORMATION
    assert state.state is State.CONFIRMED
    assert {one.reason for one in judged.untested} >= {f"{HOST}/2: {UNREAD}"}
    assert not {"PARLEY-A2aAgentCardAuditor-414", "PARLEY-A2aAgentCardAuditor-419"} & set(judged.passed)


def test_within_it_all_is_green() -> None:
    report = audited(2)
    assert report.status is auditor(report).status is Status.SUCCESS
    assert not [one for one in auditor(report).untested if UNREAD in one.reason]


def test_a_fault_in_what_was_read_is_told() -> None:
    report = audited(4, **{agent_card.CURRENT: served(changed(V1, name=...))})
    assert faults(auditor(report))
    assert report.status is Status.FAIL


def test_where_nothing_was_read_the_question_stays_open() -> None:
    """Both large ones are at the site's own paths, and what is linked to would be the only card."""
    plain = [Answer(body=HALF[: len(HALF) * 9 // 10] + b"," * more, headers=JSON) for more in (1, 2)]
    report = audited(1, **{agent_card.CURRENT: plain[0], agent_card.LEGACY: plain[1]})
    assert f"{HOST}/0: {UNREAD}" in {one.reason for one in auditor(report).untested}
    assert 101 not in numbered(auditor(report))
    assert not report.protocols[Protocol.A2A].conclusive
    assert report.status is not Status.SUCCESS


def test_the_same_evidence_gives_the_same() -> None:
    """Which cards are read is no matter of time."""
    first, second = audited(4), audited(4)
    assert [one.untested for one in first.auditors] == [one.untested for one in second.auditors]
    assert [one.checks for one in first.auditors] == [one.checks for one in second.auditors]


def test_server_cards_share_it() -> None:
    meta = {"com.example/more": "x" * 900_000}
    cards = {f"{HOST}/{one}": server_card_served(server_card_of(_meta=meta, title=str(one))) for one in range(4)}
    listed = catalog(*(entry(url=f"/{one}") for one in range(4)))
    report = AgentSite({CATALOG: listed} | cards).audit()
    judged = next(one for one in report.auditors if one.protocol is Protocol.SERVER_CARD)
    assert [one.code.rpartition("-")[2] for one in judged.checks] == ["100", "200", "200", "200"]
    assert judged.status is Status.INFORMATION
    assert judged.untested[0].reason.endswith(UNREAD)
