"""Makes the README's picture of the page (``make picture``): a real audit of a card with two faults, in a real browser."""

import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from playwright.sync_api import sync_playwright

from servers import parley_serve, real_site
from sites import card, catalog, entry, served
from web.browser import FLAGS, find

CARD = "/mcp/server-card"


def main() -> None:
    """Write docs/page.png."""
    document = card(
        description="Forecasts, warnings and the weather of the past for any place on earth, from the stations of forty countries."
    )
    site_answers = {
        "/.well-known/ai-catalog.json": catalog(entry(url=CARD)),
        CARD: served(document, content_type="application/json"),
    }
    with (
        tempfile.TemporaryDirectory() as folder,
        real_site(site_answers) as site,
        parley_serve(store=Path(folder) / "reports.sqlite3") as url,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=find(), args=[*FLAGS])
        page = browser.new_page(viewport={"width": 1100, "height": 1240}, color_scheme="light")
        page.goto(url)
        page.get_by_role("textbox").fill(site.url)
        page.get_by_role("button", name="Audit").click()
        page.get_by_role("table").first.wait_for()
        page.screenshot(path=ROOT / "docs" / "page.png")
        browser.close()


if __name__ == "__main__":
    main()
