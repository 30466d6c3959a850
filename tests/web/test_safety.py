"""Strangers' text stays text, and nothing leaves the page's origin (the ``page`` fixture watches for that)."""

from playwright.sync_api import Browser, Page, expect

from web import reports
from web.conftest import NOTE_VIOLATIONS
from web.stand_in import PAGE, Answer, Site, problem
from web.test_page import audit

OURS = {
    "a", "b", "button", "code", "details", "div", "h2", "h3", "li", "p", "section", "span", "strong", "summary", "table",
    "tbody", "td", "th", "thead", "time", "tr", "ul", "wbr",
}  # fmt: skip


def elements(page: Page, inside: str) -> set[str]:
    return set(page.locator(f"{inside} *").evaluate_all("nodes => nodes.map((node) => node.localName)"))


def test_strangers_text_stays_text(page: Page, site: Site) -> None:
    typed = reports.EVIL[0]
    site.answer(typed, Answer(body=reports.evil(), headers={"X-Parley-Cache": reports.EVIL[0], "Age": "-1"}))
    site.checks = Answer(body={"checks": [{"code": code, "when": reports.EVIL[0]} for code in reports.EVIL]})
    audit(page, typed)
    expect(page.locator(".checks tbody tr")).to_have_count(4)
    for summary in page.locator("summary").all():
        summary.click()
    expect(page.locator(".rule", has_text=reports.EVIL[0]).first).to_be_visible()
    assert elements(page, "#report") <= OURS
    attributes = page.locator("#report *").evaluate_all("nodes => nodes.flatMap((node) => node.getAttributeNames())")
    assert not [
        name for name in attributes if name.startswith("on") or name in ("src", "style", "srcdoc", "formaction")
    ]
    for text in reports.EVIL:
        expect(page.locator(".because li").filter(has_text=text)).not_to_have_count(0)
    links = page.locator("#report a").evaluate_all("nodes => nodes.map((node) => node.getAttribute('href'))")
    assert [link for link in links if not link.startswith("#")] == []
    assert page.locator("[id=report]").count() == 1


def test_strangers_text_in_a_problem_stays_text(page: Page, site: Site) -> None:
    site.answer("x", problem(500, " ".join(reports.EVIL)))
    audit(page, "x")
    expect(page.get_by_role("alert")).to_contain_text(reports.EVIL[0])
    assert elements(page, "#problem") == {"div", "h2", "p", "button"}


def test_a_prefilled_url_stays_text(page: Page, site: Site) -> None:
    page.goto(site.url + "?url=%22%3E%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E")
    expect(page.get_by_label("URL to audit")).to_have_value('"><img src=x onerror=alert(1)>')
    expect(page.locator("img")).to_have_count(0)


def test_only_a_plain_https_url_is_a_link(page: Page, site: Site) -> None:
    plain = "https://example.com/mcp"
    others = (
        "http://example.com/",
        "https://user@example.com/",
        "javascript:alert(1)",
        "data:text/html,<script>alert(1)</script>",
        "//example.com",
        "https://",
    )
    for url in (*others, plain):
        site.answer(url, Answer(body=reports.success() | {"url": url}))
        audit(page, url)
        expect(page.locator(".summary h2 .url")).to_have_text(url)
        expect(page.locator(".summary h2 a")).to_have_count(int(url == plain))
    link = page.locator(".summary h2 a")
    expect(link).to_have_attribute("href", plain)
    expect(link).to_have_attribute("rel", "nofollow ugc noopener noreferrer")


def test_the_policy_is_in_force(browser: Browser, site: Site) -> None:
    """Else the tests above would prove nothing."""
    page = browser.new_page()
    page.add_init_script(NOTE_VIOLATIONS)
    page.goto(site.url)
    caught = page.evaluate("() => { try { document.body.innerHTML = '<b>'; } catch (error) { return error.name; } }")
    assert caught == "TypeError"
    assert page.evaluate("() => window.violations.length") == 1
    page.close()


def test_the_sources_hold_nothing_inline_and_no_sink() -> None:
    script = (PAGE / "app.js").read_text(encoding="utf-8")
    for sink in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "Function(", "setHTML"):
        assert sink not in script
    html = (PAGE / "index.html").read_text(encoding="utf-8")
    assert "style=" not in html
    assert "<style" not in html
    assert html.count("<script") == 1
    assert "https:" not in (PAGE / "style.css").read_text(encoding="utf-8")

    assert "/v1/audit?url=" in html.partition("<noscript>")[2].partition("</noscript>")[0]
