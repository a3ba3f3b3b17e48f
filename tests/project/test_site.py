"""The site in a real browser, from a folder: no console errors, readable on a phone, a search that finds."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = ("index", "tutorial", "forests", "api/trees", "examples/index", "notebooks/bank", "command_line")
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


@pytest.mark.parametrize("page", PAGES)
def test_a_page_is_sound_and_fits_a_phone(site, browser, page):
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride", {"width": PHONE, "height": 844, "deviceScaleFactor": 1, "mobile": True}
    )
    browser.get((site / f"{page}.html").as_uri())
    assert browser.execute_script("return document.documentElement.scrollWidth") <= PHONE
    errors = [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"]
    assert not errors
    assert browser.execute_script("return document.querySelector('article h1').innerText.length") > 3


def test_the_search_finds_a_method(site, browser):
    from selenium.webdriver.common.by import By
    from selenium.webdriver.support.ui import WebDriverWait

    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    browser.set_window_size(1300, 900)
    browser.get((site / "index.html").as_uri())
    browser.execute_script("document.querySelector('.md-search__button, [for=__search]').click()")
    find = "return document.activeElement && document.activeElement.tagName == 'INPUT'"
    WebDriverWait(browser, 20).until(lambda driver: driver.execute_script(find))
    browser.switch_to.active_element.send_keys("curtailment")
    shown = "a[href*='leaf_estimators']"
    WebDriverWait(browser, 20).until(
        lambda driver: any(
            "h=" in (link.get_attribute("href") or "") or link.is_displayed()
            for link in driver.find_elements(By.CSS_SELECTOR, shown)
        )
    )


def test_dark_mode_can_be_chosen(site, browser):
    browser.get((site / "index.html").as_uri())
    inputs = "[...document.querySelectorAll('[data-md-color-scheme][id^=__palette]')]"
    schemes = browser.execute_script(f"return {inputs}.map(input => input.dataset.mdColorScheme)")
    assert set(schemes) == {"default", "slate"}
