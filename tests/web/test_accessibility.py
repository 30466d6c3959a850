"""Each state of the page: no fault that axe knows, light or dark, and nothing wider than a narrow screen."""

import threading
from collections.abc import Callable, Iterator

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from web import reports
from web.stand_in import Answer, Site, problem
from web.test_page import audit, verdict

URL = "https://example.com/"
LONG = "https://" + "very-long-label-without-any-break-in-it" * 4 + ".example/" + "path" * 60


def empty(page: Page, site: Site, held: threading.Event) -> None:
    expect(page.locator("#about")).to_be_visible()


def busy(page: Page, site: Site, held: threading.Event) -> None:
    site.answer(URL, Answer(body=reports.fail(), gate=held))
    audit(page, URL)
    expect(page.get_by_role("button", name="Cancel")).to_be_visible()


def report(page: Page, site: Site, held: threading.Event) -> None:
    site.answer(URL, Answer(body=reports.fail(), headers={"X-Parley-Cache": "hit", "Retry-After": "40"}))
    audit(page, URL)
    verdict(page, "fail")


def unfolded(page: Page, site: Site, held: threading.Event) -> None:
    found = reports.warning() | {"url": LONG}
    found["auditors"][0]["checks"].append(reports.check(404, LONG, LONG))
    found["attempts"].append(reports.attempt(LONG))
    site.answer(LONG, Answer(body=found))
    audit(page, LONG)
    verdict(page, "warning")
    for summary in page.locator("summary").all():
        summary.click()
    expect(page.locator(".requests")).to_be_visible()


def mixed(page: Page, site: Site, held: threading.Event) -> None:
    site.answer(URL, Answer(body=reports.card_missing()))
    audit(page, URL)
    verdict(page, "success")


def error(page: Page, site: Site, held: threading.Event) -> None:
    site.answer(LONG, problem(503, LONG, {"Retry-After": "30"}))
    audit(page, LONG)
    expect(page.get_by_role("button", name="Try again")).to_be_visible()


def refused(page: Page, site: Site, held: threading.Event) -> None:
    site.answer("x", problem(400, "it is no URL", report=reports.refused("x", "it is no URL")))
    audit(page, "x")
    verdict(page, "fail")


STATES = [empty, busy, report, unfolded, mixed, error, refused]
BringAbout = Callable[[Page, Site, threading.Event], None]


@pytest.fixture
def held() -> Iterator[threading.Event]:
    """Holds an answer back until the test is over."""
    event = threading.Event()
    yield event
    event.set()


@pytest.mark.parametrize("state", STATES)
def test_every_state_is_for_everybody(page: Page, site: Site, held: threading.Event, state: BringAbout) -> None:
    page.emulate_media(color_scheme="light")
    state(page, site, held)
    faultless(page)
    page.emulate_media(color_scheme="dark")
    faultless(page)
    page.set_viewport_size({"width": 320, "height": 640})
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 320


def test_stacked_cards_are_still_a_table(page: Page, site: Site, held: threading.Event) -> None:
    page.set_viewport_size({"width": 320, "height": 640})
    unfolded(page, site, held)
    faultless(page)
    assert page.get_by_role("row").count() > 3


def faultless(page: Page) -> None:
    found = Axe().run(page)
    assert found.violations_count == 0, found.generate_report()


def test_still_for_who_wants_it_still(page: Page, site: Site, held: threading.Event) -> None:
    page.emulate_media(reduced_motion="reduce")
    busy(page, site, held)
    expect(page.locator(".spinner")).to_have_css("animation-name", "none")
