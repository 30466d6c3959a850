"""The browser, the stand-in server, and a page that notes whatever it should not do."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from web import browser as browsers
from web.stand_in import Site, serving

PATIENCE = 15_000  # milliseconds until something counts as not happening: a busy machine is no fault of the page
expect.set_options(timeout=PATIENCE)
NOTE_VIOLATIONS = """
    window.violations = [];
    document.addEventListener("securitypolicyviolation", (event) =>
      window.violations.push(`${event.violatedDirective} ${event.blockedURI} ${event.sample}`));
"""


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=browsers.find(), args=list(browsers.FLAGS))
        yield started
        started.close()


@pytest.fixture
def site() -> Iterator[Site]:
    with serving() as served:
        yield served


@pytest.fixture
def page(browser: Browser, site: Site) -> Iterator[Page]:
    """The page, opened. Afterwards: no script error, no policy violation, no dialog, and no request to elsewhere."""
    context = browser.new_context(locale="en-GB", timezone_id="UTC", permissions=["clipboard-read", "clipboard-write"])
    opened = context.new_page()
    opened.set_default_timeout(PATIENCE)
    wrong: list[str] = []
    opened.on("pageerror", lambda error: wrong.append(f"script error: {error}"))
    opened.on("dialog", lambda dialog: (wrong.append(f"dialog: {dialog.message}"), dialog.dismiss()))
    opened.on("console", lambda line: _is_violation(line.text) and wrong.append(f"console: {line.text}"))
    opened.on("request", lambda asked: asked.url.startswith(site.url) or wrong.append(f"request to {asked.url}"))
    opened.add_init_script(NOTE_VIOLATIONS)
    opened.goto(site.url)
    yield opened
    wrong += opened.evaluate("() => window.violations")
    context.close()
    assert wrong == []


def _is_violation(text: str) -> bool:
    return any(word in text for word in ("Security Policy", "Trusted", "Refused to"))
