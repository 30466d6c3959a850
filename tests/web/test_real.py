"""The page as people get it: the real server, a real site, and a browser between them."""

from pathlib import Path

from playwright.sync_api import Browser, expect

from servers import parley_serve, real_site
from sites import card, served

CARD = "/.well-known/mcp/server-card.json"


def test_from_the_form_to_the_table(browser: Browser, tmp_path: Path) -> None:
    nasty = '<img src=x onerror="window.violations.push(1)">'
    with (
        real_site({CARD: served(card(name=nasty, remotes=...))}) as site,
        parley_serve(store=tmp_path / "reports.sqlite3") as url,
    ):
        context = browser.new_context()
        page = context.new_page()
        refused: list[str] = []
        page.on("console", lambda line: refused.append(line.text) if "Security Policy" in line.text else None)
        page.goto(url)
        page.get_by_role("textbox").fill(site.url)
        page.get_by_role("textbox").press("Enter")
        row = page.get_by_role("row").filter(has_text="405")
        expect(row).to_contain_text(f"is named {nasty}, which is not of the form namespace/name")
        expect(row).to_contain_text("e.g. com.example/weather")
        expect(page.locator(".summary")).to_contain_text("fail")
        expect(page.locator(".protocols")).to_contain_text("indicated")
        assert page.locator("img").count() == 0
        page.goto(f"{url}/?url={site.url}")
        expect(page.get_by_role("textbox")).to_have_value(site.url)
        assert refused == []
        context.close()


def test_a_store_that_is_unavailable_is_said(browser: Browser, tmp_path: Path) -> None:
    with real_site({CARD: served(card())}) as site, parley_serve(store=tmp_path, stderr=tmp_path / "log") as url:
        context = browser.new_context()
        page = context.new_page()
        page.goto(url)
        page.get_by_role("textbox").fill(site.url)
        page.get_by_role("textbox").press("Enter")
        expect(page.locator(".summary")).to_contain_text("a new audit, which could not be stored")
        context.close()
