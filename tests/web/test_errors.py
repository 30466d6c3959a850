"""Whatever the API or the network does, the page says one clear sentence and keeps what was typed."""

import pytest
from playwright.sync_api import Page, expect

from web import reports
from web.stand_in import PROBLEM, Answer, Site, problem
from web.test_page import audit, verdict

TYPED = "typed.example"

CASES = {
    "too many": (
        problem(429, "too many audits from your network", {"Retry-After": "30"}),
        "Too many audits",
        "in 30 seconds",
    ),
    "too many, by date": (
        problem(429, "", {"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"}),
        "Too many audits",
        "in 0 seconds",
    ),
    "our fault": (problem(500, "the store is away"), "Parley could not do this audit", "The store is away."),
    "busy": (problem(503, "Full.", {"Retry-After": "90"}), "says nothing about the URL", "in 2 minutes"),
    "a gateway's page": (Answer(status=502, type="text/html", body="<h1>Bad</h1>"), "HTTP 502", "fault of Parley"),
    "not found": (Answer(status=404, body=""), "HTTP 404", "It gave no reason."),
    "conflict": (problem(409, "not for images"), "HTTP 409", "Not for images."),
    "problem of another kind": (Answer(status=500, type=PROBLEM, body={"detail": {"a": 1}}), "HTTP 500", ""),
}


NO_REPORTS = (
    Answer(body="<!doctype html>", type="text/html"),
    Answer(body=""),
    Answer(body=[1, 2]),
    Answer(body=None),
    Answer(body={"protocols": {}, "auditors": []}),
    Answer(body={"status": "toString", "protocols": {}, "auditors": []}),
    Answer(body={"status": "FAIL", "auditors": []}),
    Answer(body={"status": "FAIL", "protocols": {}, "auditors": {}}),
)


@pytest.mark.parametrize(("answer", "title", "text"), CASES.values(), ids=CASES.keys())
def test_what_went_wrong_is_said(page: Page, site: Site, answer: Answer, title: str, text: str) -> None:
    site.answer(TYPED, answer, Answer(body=reports.success()))
    audit(page, TYPED)
    alert = page.get_by_role("alert")
    expect(alert).to_contain_text(title)
    expect(alert).to_contain_text(text)
    expect(page.get_by_label("URL to audit")).to_have_value(TYPED)
    expect(page.locator("#report")).to_be_empty()
    expect(page).to_have_url(site.url)
    page.get_by_role("button", name="Try again").click()
    verdict(page, "success")
    expect(alert).to_be_empty()


def test_an_answer_that_is_no_report(page: Page, site: Site) -> None:
    for answer in NO_REPORTS:
        site.answer(TYPED, answer)
        audit(page, TYPED)
        assert answer.done.wait(15)
        expect(page.get_by_role("alert")).to_contain_text("not with a report this page can read")
        expect(page.locator("#report")).to_be_empty()
        expect(page.get_by_label("URL to audit")).to_have_value(TYPED)


def test_no_network(page: Page, site: Site) -> None:
    site.answer(TYPED, Answer(body=reports.success()))
    page.context.set_offline(True)
    audit(page, TYPED)
    expect(page.get_by_role("alert")).to_contain_text("could not be reached")
    page.context.set_offline(False)
    page.get_by_role("button", name="Try again").click()
    verdict(page, "success")


def test_a_refused_url_comes_with_its_report(page: Page, site: Site) -> None:
    reason = "the URL carries a user name"
    shown = "https://…@example.com/"
    site.answer("https://me:secret@example.com", problem(400, reason, report=reports.refused(shown, reason)))
    audit(page, "https://me:secret@example.com")
    expect(page.get_by_role("alert")).to_have_text("This URL cannot be auditedThe URL carries a user name.")
    verdict(page, "fail")
    expect(page.locator(".summary h2 a")).to_have_count(0)
    expect(page.locator(".checks")).to_contain_text(reason)
    expect(page.get_by_role("button", name="Try again")).to_have_count(0)
    expect(page.locator(".elsewhere")).to_have_count(0)
    expect(page).to_have_url(site.url)


def test_a_refusal_without_a_readable_report(page: Page, site: Site) -> None:
    for number, report in enumerate([None, [], {"status": "FAIL"}, "x"]):
        site.answer(TYPED, problem(400, f"reason {number}", report=report))
        audit(page, TYPED)
        expect(page.get_by_role("alert")).to_contain_text(f"Reason {number}.")
        expect(page.locator("#report")).to_be_empty()


def test_a_failed_second_audit_keeps_the_first_report(page: Page, site: Site) -> None:
    site.answer(TYPED, Answer(body=reports.warning()), problem(429, "slow down", {"Retry-After": "9"}))
    audit(page, TYPED)
    page.get_by_role("button", name="Audit again").click()
    expect(page.get_by_role("alert")).to_contain_text("in 9 seconds")
    verdict(page, "warning")


def test_a_sparse_report_is_shown_as_far_as_it_goes(page: Page, site: Site) -> None:
    sparse = {
        "status": "INFORMATION",
        "protocols": {"serverCard": {}, "mcp": {"state": "new", "because": 7}, "a2a": None},
        "auditors": [None, {"checks": [{}, 3], "passed": "x", "untested": [None, {}]}, {"checks": {}}],
        "attempts": [None, {"url": {}}],
    }
    site.answer(TYPED, Answer(body=sparse))
    audit(page, TYPED)
    verdict(page, "not checked")
    expect(page.locator(".summary h2")).to_contain_text(TYPED)
    expect(page.locator(".protocols > li")).to_have_count(2)
