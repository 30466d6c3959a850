"""What a person does with the page, and what they see."""

import threading
from datetime import UTC, datetime, timedelta

import pytest
from playwright.sync_api import Locator, Page, expect

from web import reports
from web.stand_in import Answer, Site

URL = "https://example.com/"
MISS = {"X-Parley-Cache": "miss"}


def audit(page: Page, text: str) -> None:
    page.get_by_label("URL to audit").fill(text)
    page.get_by_label("URL to audit").press("Enter")


def verdict(page: Page, word: str) -> None:
    expect(page.locator(".summary .chip")).to_have_text(word)


def column(page: Page, number: int) -> list[str]:
    return page.locator(f".checks tbody td:nth-child({number})").all_inner_texts()


def painted(page: Page) -> None:
    """Whatever the page had still to do, it has done and shown."""
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


def test_enter_audits_and_the_table_shows_the_worst_first(page: Page, site: Site) -> None:
    site.answer("example.com", Answer(body=reports.fail(), headers=MISS))
    audit(page, "  example.com ")
    verdict(page, "fail")
    assert site.asked_for("/v1/audit") == [{"url": "example.com"}]
    assert column(page, 1) == ["fail", "fail", "fail", "warning", "information"]
    numbers = [code.rpartition("-")[2].strip() for code in column(page, 2)]
    assert numbers == ["410", "410", "404", "300", "100"], "worst first, and otherwise as the report has them"
    assert column(page, 3)[0] == 'remotes[0].type is "stdio".'
    assert column(page, 4)[0].startswith("Set remotes[0].type to")
    expect(page.get_by_role("status")).to_have_text("fail: 3 failed, 1 warning.")
    expect(page).to_have_title("fail: https://example.com/ · Parley")


def test_the_button_audits(page: Page, site: Site) -> None:
    site.answer("example.com", Answer(body=reports.success()))
    page.get_by_label("URL to audit").fill("example.com")
    page.get_by_role("button", name="Audit").click()
    verdict(page, "success")


def test_an_audit_leaves_an_address_to_share(page: Page, site: Site) -> None:
    site.answer("example.com", Answer(body=reports.success()))
    audit(page, "example.com")
    verdict(page, "success")
    expect(page).to_have_url(f"{site.url}?url=https%3A%2F%2Fexample.com%2F")
    expect(page.get_by_label("URL to audit")).to_have_value("example.com")


def test_a_shared_address_fills_the_field_and_waits_for_a_click(page: Page, site: Site) -> None:
    site.answer(URL, Answer(body=reports.success()))
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    page.goto(f"{site.url}?url={URL}")
    expect(page.get_by_label("URL to audit")).to_have_value(URL)
    expect(page.get_by_role("status")).to_contain_text("Nothing is sent before you press Audit")
    painted(page)
    assert not [url for url in requests if "/v1/" in url]
    page.get_by_role("button", name="Audit").click()
    verdict(page, "success")
    assert site.asked_for("/v1/audit") == [{"url": URL}]


def test_nothing_typed_is_no_request(page: Page, site: Site) -> None:
    audit(page, "   ")
    expect(page.get_by_role("alert")).to_contain_text("No URL yet")
    expect(page.get_by_label("URL to audit")).to_be_focused()
    assert site.asked_for("/v1/audit") == []


def test_states_and_the_facts_behind_them(page: Page, site: Site) -> None:
    site.answer(URL, Answer(body=reports.warning()))
    audit(page, URL)
    cards = page.locator(".protocols > li")
    expect(cards.nth(0)).to_contain_text("confirmed warning")
    expect(cards.nth(0)).to_contain_text("GET /mcp/server-card answered 200 application/json")
    expect(cards.nth(1)).to_contain_text("not detected not checked")
    expect(cards.nth(2)).to_contain_text("answered 404")
    expect(page.locator(".notice")).to_have_count(0)


def test_a_fail_that_does_not_count_has_a_line_of_its_own(page: Page, site: Site) -> None:
    site.answer(URL, Answer(body=reports.card_missing()))
    audit(page, URL)
    verdict(page, "success")
    expect(page.locator(".notice")).to_contain_text("MCP Server Card: not detected, and its audit failed.")
    expect(page.locator(".protocols > li").nth(2)).to_contain_text("indicated not checked")
    expect(page.locator(".summary .counts")).not_to_contain_text("failed")


def test_a_stored_report_says_so_and_waits_for_its_cooldown(page: Page, site: Site) -> None:
    page.clock.install()
    stored = {"X-Parley-Cache": "hit", "Age": "600", "Retry-After": "42"}
    earlier = reports.warning() | {"auditedAt": (datetime.now(UTC) - timedelta(minutes=10)).isoformat()}
    site.answer(URL, Answer(body=earlier, headers=stored), Answer(body=reports.success(), headers=MISS))
    audit(page, URL)
    expect(page.locator(".summary")).to_contain_text("Audited 10 minutes ago")
    expect(page.locator(".summary")).to_contain_text("from the store, kept for 10 minutes")
    expect(page.locator(".summary")).to_contain_text("possible in 42 seconds")
    again = page.get_by_role("button", name="Audit again")
    expect(again).to_be_disabled()
    page.clock.fast_forward(42_000)
    expect(again).to_be_enabled()
    again.click()
    verdict(page, "success")
    expect(page.locator(".summary")).to_contain_text("a new audit")
    assert site.asked_for("/v1/audit")[-1] == {"url": URL, "refresh": "true"}
    expect(page.get_by_role("button", name="Audit", exact=True)).to_be_focused()


def test_an_out_of_date_report_says_so(page: Page, site: Site) -> None:
    site.answer(URL, Answer(body=reports.warning(), headers={"X-Parley-Cache": "stale"}))
    audit(page, URL)
    expect(page.locator(".summary")).to_contain_text("an out-of-date report from the store")


def test_the_rest_is_folded_away_and_named_once_asked_for(page: Page, site: Site) -> None:
    site.answer(URL, Answer(body=reports.warning()))
    when = {"code": f"{reports.CARD}-413", "when": "The card came over http."}
    site.checks = Answer(body={"checks": [when, {"code": f"{reports.CARD}-401", "title": "No JSON", "when": "-"}]})
    audit(page, URL)
    untested = page.locator("details").filter(has_text="Could not be tested")
    expect(untested).not_to_have_attribute("open", "")
    assert site.asked_for("/v1/checks") == []
    untested.locator("summary").click()
    expect(untested.locator("li")).to_have_text(f"{reports.CARD}-413the request timed out The card came over http.")
    page.locator("summary").filter(has_text="Passed").click()
    expect(page.get_by_text("No JSON")).to_be_visible()
    page.locator("summary").filter(has_text="Requests made").click()
    expect(page.locator(".requests tbody tr").first).to_contain_text("/.well-known/ai-catalog.json")
    assert len(site.asked_for("/v1/checks")) == 1


@pytest.mark.parametrize(
    "catalogue", [Answer(status=500, body="<oops>"), Answer(body={"checks": "none"}), Answer(body=[])]
)
def test_rules_stand_without_their_titles(page: Page, site: Site, catalogue: Answer) -> None:
    site.answer(URL, Answer(body=reports.warning()))
    site.checks = catalogue
    audit(page, URL)
    page.locator("summary").filter(has_text="Not applicable").click()
    assert catalogue.done.wait(15)
    expect(page.locator(".rules li", has_text=f"{reports.CARD}-407")).to_be_visible()


def test_a_code_links_to_its_row(page: Page, site: Site) -> None:
    site.answer(URL, Answer(body=reports.fail()))
    audit(page, URL)
    page.get_by_role("link", name=f"{reports.CARD}-404").click()
    expect(page).to_have_url(f"{site.url}?url=https%3A%2F%2Fexample.com%2F#{reports.CARD}-404")
    expect(page.locator("tr:target")).to_contain_text("The card has no name.")
    assert page.locator("[id]").evaluate_all("nodes => nodes.length === new Set(nodes.map((node) => node.id)).size")


def test_commands_to_copy(page: Page, site: Site) -> None:
    hostile = "https://example.com/it's$(id)`id`;&|\\x"
    site.answer(hostile, Answer(body=reports.success() | {"url": hostile}))
    audit(page, hostile)
    page.get_by_role("button", name="Copy: Command line").click()
    expect(page.get_by_role("button", name="Copy: Command line")).to_have_text("Copied")
    copied = page.evaluate("() => navigator.clipboard.readText()")
    assert copied == "parley audit 'https://example.com/it%27s$(id)%60id%60;&%7C/x'"
    page.get_by_role("button", name="Copy: HTTP API").click()
    expect(page.get_by_role("button", name="Copy: HTTP API")).to_have_text("Copied")
    copied = page.evaluate("() => navigator.clipboard.readText()")
    assert copied.startswith(f"curl -sS '{site.url}v1/audit?url=https%3A%2F%2Fexample.com%2Fit%27s%24(id)")
    assert copied.count("'") == 2
    assert copied.endswith("'")


def test_keyboard_alone(page: Page, site: Site) -> None:
    held = threading.Event()
    site.answer("slow.example", Answer(body=reports.success(), gate=held))
    site.answer("fast.example", Answer(body=reports.warning()))
    expect(page.get_by_label("URL to audit")).to_be_focused()
    page.keyboard.type("slow.example")
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    expect(page.get_by_role("button", name="Cancel")).to_be_focused()
    page.keyboard.press("Space")
    expect(page.get_by_role("button", name="Audit")).to_be_focused()
    held.set()
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.type("fast.example")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    verdict(page, "warning")
    expect(page.get_by_role("button", name="Audit", exact=True)).to_be_focused()
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name=URL, exact=True)).to_be_focused()


def test_busy_is_seen_and_heard(page: Page, site: Site) -> None:
    held = threading.Event()
    site.answer("example.com", Answer(body=reports.success(), gate=held))
    audit(page, "example.com")
    expect(page.get_by_role("status")).to_have_text("Auditing example.com… this takes up to 20 seconds.")
    expect(page.locator("#report")).to_have_attribute("aria-busy", "true")
    held.set()
    verdict(page, "success")
    expect(page.locator("#report")).to_have_attribute("aria-busy", "false")


def test_cancel(page: Page, site: Site) -> None:
    slow = Answer(body=reports.success(), gate=threading.Event())
    site.answer("example.com", slow)
    audit(page, "example.com")
    page.get_by_role("button", name="Cancel").click()
    expect(page.get_by_role("status")).to_have_text("The audit was cancelled.")
    slow.gate.set()
    assert slow.done.wait(15)
    expect(page.get_by_role("button", name="Audit")).to_be_visible()
    expect(page.locator(".summary")).to_have_count(0)
    expect(page.get_by_label("URL to audit")).to_have_value("example.com")
    expect(page.locator("#about")).to_be_visible()


def test_a_double_click_does_not_cancel(page: Page, site: Site) -> None:
    site.answer("example.com", Answer(body=reports.success(), gate=(held := threading.Event())))
    page.get_by_label("URL to audit").fill("example.com")
    page.get_by_role("button", name="Audit").dblclick()
    expect(page.get_by_role("button", name="Cancel")).to_be_visible()
    held.set()
    verdict(page, "success")


def test_the_latest_question_wins(page: Page, site: Site) -> None:
    slow = Answer(body=reports.fail("https://slow.example/"), gate=threading.Event())
    site.answer("slow.example", slow)
    site.answer("fast.example", Answer(body=reports.success("https://fast.example/")))
    audit(page, "slow.example")
    expect(page.get_by_role("status")).to_contain_text("Auditing slow.example")
    audit(page, "fast.example")
    expect(page.locator(".summary h2")).to_contain_text("https://fast.example/")
    slow.gate.set()
    assert slow.done.wait(15)
    painted(page)
    expect(page.locator(".summary h2")).to_contain_text("https://fast.example/")
    expect(page.get_by_role("alert")).to_be_empty()


def test_an_audit_that_somebody_else_runs_is_waited_for(page: Page, site: Site) -> None:
    page.clock.install()
    site.answer(URL, Answer(status=202, body={}, headers={"Retry-After": "7"}), Answer(body=reports.success()))
    audit(page, URL)
    expect(page.get_by_role("button", name="Cancel")).to_be_visible()
    assert seconds_until(page, page.locator(".summary")) >= 7
    assert len(site.asked_for("/v1/audit")) == 2


def test_waiting_for_somebody_else_has_an_end(page: Page, site: Site) -> None:
    page.clock.install()
    site.answer(URL, Answer(status=202, body={}, headers={"Retry-After": "100000"}))
    audit(page, URL)
    seconds_until(page, page.get_by_role("button", name="Try again"))
    expect(page.get_by_role("alert")).to_contain_text("taking longer than it should")
    assert len(site.asked_for("/v1/audit")) == 10


def test_waiting_can_be_cancelled(page: Page, site: Site) -> None:
    page.clock.install()
    running = Answer(status=202, body={}, headers={"Retry-After": "5"})
    site.answer(URL, running)
    audit(page, URL)
    assert running.done.wait(15)
    page.get_by_role("button", name="Cancel").click()
    page.clock.run_for(30_000)
    expect(page.get_by_role("status")).to_have_text("The audit was cancelled.")
    assert len(site.asked_for("/v1/audit")) == 1


def seconds_until(page: Page, awaited: Locator) -> int:
    """Let the page's clock run until something is there; how far it ran."""
    for seconds in range(5_000):
        if awaited.count():
            return seconds
        page.clock.run_for(1_000)
    raise AssertionError(f"not there after 5000 seconds: {awaited}")
