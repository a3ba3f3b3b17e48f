"""The site in a real browser, served from this machine: no console errors, readable on a phone, a search that finds."""

from __future__ import annotations

import functools
import re
import shutil
import threading
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest

PHONE = 390


@pytest.fixture(scope="module")
def browser():
    webdriver = pytest.importorskip("selenium.webdriver")
    program = shutil.which("chromium") or shutil.which("google-chrome")
    driver = shutil.which("chromedriver")
    if program is None or driver is None:
        pytest.skip("there is no browser with its driver")
    options = webdriver.ChromeOptions()
    options.binary_location = program
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    chrome = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    yield chrome
    chrome.quit()


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def address(site):
    """Where a server on this machine has the site."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(site)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


def test_all_pages_are_sound_and_fit_a_phone(address, site, browser):
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride", {"width": PHONE, "height": 844, "deviceScaleFactor": 1, "mobile": True}
    )
    pages = sorted(page.relative_to(site).as_posix() for page in site.rglob("*.html"))
    assert len(pages) > 60
    for page in pages:
        browser.get(f"{address}/{page}")
        assert browser.execute_script("return document.documentElement.scrollWidth") <= PHONE, page
        assert not [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"], page
        assert len(browser.execute_script("return document.querySelector('article h1').innerText")) > 3, page


# The results are in a shadow root.
FOUND = r"""
const links = node => [...node.querySelectorAll('a')].map(a => a.getAttribute('href') || '').concat(
  ...[...node.querySelectorAll('*')].filter(e => e.shadowRoot).map(e => links(e.shadowRoot)));
return links(document).some(link => /(leaf_estimators|api\/smoothing)\.html\?h=curtailment/.test(link));
"""


@pytest.mark.parametrize("opened", ["from a server", "as files"])
def test_the_search_finds_a_method(address, site, browser, opened):
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.support.ui import WebDriverWait

    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    browser.set_window_size(1300, 900)
    browser.get(f"{address if opened == 'from a server' else site.as_uri()}/index.html")
    browser.execute_script("document.querySelector('button.md-search__button').click()")
    focus = "return document.activeElement.shadowRoot !== null || document.activeElement.tagName == 'INPUT'"
    WebDriverWait(browser, 60).until(lambda driver: driver.execute_script(focus))
    ActionChains(browser).send_keys("curtailment").perform()
    WebDriverWait(browser, 60).until(lambda driver: driver.execute_script(FOUND))
    assert not [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"]


def test_nothing_is_loaded_from_elsewhere(site):
    loads = re.compile(
        r'<(?:script|img|iframe|source)[^>]* src="(?:https?:)?//|<link[^>]* href="(?:https?:)?//[^>]*stylesheet'
    )
    pages = sorted(site.rglob("*.html"))
    assert len(pages) > 50
    assert not [page.name for page in pages if loads.search(page.read_text(encoding="utf-8"))]


def test_dark_mode_can_be_chosen(address, browser):
    browser.get(f"{address}/index.html")
    inputs = "[...document.querySelectorAll('[data-md-color-scheme][id^=__palette]')]"
    schemes = browser.execute_script(f"return {inputs}.map(input => input.dataset.mdColorScheme)")
    assert set(schemes) == {"default", "slate"}
