"""The page in a real browser: it loads without errors and without the network, and its controls do what they say."""

from __future__ import annotations

import json
import shutil

import pytest

from petiole.report import write_report
from report_studies import hostile_study, many_class_study, two_class_study

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")

pytestmark = pytest.mark.skipif(
    not (CHROMIUM and DRIVER), reason="needs a browser: no chromium or chromedriver on the path"
)


@pytest.fixture(scope="module")
def browser():
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(DRIVER))
    yield driver
    driver.quit()


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    studies = {"two": two_class_study, "many": many_class_study, "hostile": hostile_study}
    return {name: write_report(make(), folder / f"{name}.html", title=name) for name, make in studies.items()}


def open_page(browser, path, *, width=1280, scheme="light"):
    """Load a page at a width; the requests that it made."""
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    scheme_now = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", scheme_now)
    browser.get_log("browser"), browser.get_log("performance")
    browser.get(path.as_uri())
    messages = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    asked = [
        message["params"]["request"]["url"] for message in messages if message["method"] == "Network.requestWillBeSent"
    ]
    return [url for url in asked if not url.startswith(("data:", "blob:"))]


def errors(browser):
    return [entry for entry in browser.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")]


def text(browser, css):
    return browser.execute_script("return document.querySelector(arguments[0]).textContent", css)


def width_of(browser):
    return browser.execute_script("return document.documentElement.scrollWidth")


@pytest.mark.parametrize("name", ["two", "many", "hostile"])
def test_pages_load_clean_and_fit_a_phone(browser, pages, name):
    assert pages[name].stat().st_size < 7_000_000
    asked = open_page(browser, pages[name], width=390)
    assert asked == [pages[name].as_uri()]
    assert errors(browser) == []
    assert width_of(browser) <= 390
    charts = browser.execute_script("return document.querySelectorAll('.chart .main-svg').length")
    assert charts >= 6
    assert browser.execute_script("return typeof window.alerted") == "undefined"
    assert browser.execute_script("return document.images.length") == 0


def test_the_slider_moves_the_figures(browser, pages):
    open_page(browser, pages["two"])
    from selenium.webdriver.common.keys import Keys

    def figures():
        return [text(browser, f"#f-{name}") for name in ("cost", "acted", "recall", "precision", "false", "missed")]

    before, value = figures(), text(browser, "#threshold-value")
    slider = browser.find_element("id", "threshold")
    for _ in range(30):
        slider.send_keys(Keys.ARROW_LEFT)  # by keyboard, as anybody can
    assert float(text(browser, "#threshold-value")) == pytest.approx(float(value) - 0.3)
    after = figures()
    assert after[1] != before[1] and after[5] != before[5]
    assert int(after[5]) <= int(before[5])  # a lower threshold misses fewer


def test_own_costs_move_the_cheapest_threshold(browser, pages):
    open_page(browser, pages["two"])
    assert "call for 0.500" in text(browser, "#threshold-note")
    set_cost = """
        const field = document.querySelector(`[data-cost="${arguments[0]}"]`);
        field.value = arguments[1]; field.dispatchEvent(new Event("input"));
    """
    browser.execute_script(set_cost, "0,1", "9")  # benign predicted, truly malignant
    assert "call for 0.100" in text(browser, "#threshold-note")
    browser.find_element("id", "to-best").click()
    assert float(text(browser, "#threshold-value")) < 0.5
    assert errors(browser) == []


def test_costs_of_many_classes_are_worked_out_on_the_page(browser, pages):
    open_page(browser, pages["many"])
    told = browser.execute_script("return REPORT.shown.map((name) => [ruleCosts(name), DECISION.rules[name]])")
    for here, there in told:
        assert here["cheapest"] == pytest.approx(there["cheapest"], abs=0.02)
        assert here["probable"] == pytest.approx(there["probable"], abs=0.02)
    before = text(browser, "#rule-rows")
    browser.execute_script(
        "const f = document.querySelector('[data-cost=\"0,1\"]'); f.value = 500; f.dispatchEvent(new Event('input'))"
    )
    assert text(browser, "#rule-rows") != before


def test_a_node_opens_by_click_and_by_keys(browser, pages):
    from selenium.webdriver.common.keys import Keys

    open_page(browser, pages["two"])
    assert text(browser, "#node-rule") == "All rows"
    child = browser.execute_script("return NODES[0].down[0]")
    rectangle = browser.find_element("css selector", f'#icicle rect[data-node="{child}"]')
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", rectangle)
    rectangle.click()
    rule = browser.execute_script("return NODES[arguments[0]].rule", child)
    assert text(browser, "#node-rule") == rule and rule in text(browser, "#node-path")
    assert "Smoothed" in text(browser, "#node-classes")
    item = browser.find_element("css selector", "#tree-list [aria-selected=true]")
    item.send_keys(Keys.ARROW_DOWN)
    assert text(browser, "#node-rule") != rule
    assert browser.execute_script("return document.activeElement.getAttribute('aria-selected')") == "true"
    browser.switch_to.active_element.send_keys(Keys.HOME)
    assert text(browser, "#node-rule") == "All rows"
    browser.switch_to.active_element.send_keys(Keys.ARROW_LEFT)
    assert browser.execute_script("return document.querySelectorAll('[role=treeitem]').length") == 1


def test_dark_follows_the_system_and_the_button(browser, pages):
    def ground():
        return browser.execute_script("return getComputedStyle(document.body).backgroundColor")

    def ink_of_chart():
        return browser.execute_script("return document.querySelector('#chart-methods .xtick text').style.fill")

    open_page(browser, pages["two"], scheme="dark")
    dark, dark_ink = ground(), ink_of_chart()
    assert text(browser, "#theme") == "Light"
    browser.find_element("id", "theme").click()
    light, light_ink = ground(), ink_of_chart()
    assert light != dark and light_ink != dark_ink
    open_page(browser, pages["two"], scheme="light")
    assert ground() == light
    browser.find_element("id", "theme").click()
    assert ground() == dark and ink_of_chart() == dark_ink


CONTRAST = """
const lum = (c) => { const v = c.match(/[\\d.]+/g).slice(0, 3).map((x) => x / 255).map((x) => x <= 0.03928 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4);
  return 0.2126 * v[0] + 0.7152 * v[1] + 0.0722 * v[2]; };
const back = (e) => { for (; e; e = e.parentElement) { const c = getComputedStyle(e).backgroundColor; if (!/, 0\\)$/.test(c) && c !== "transparent") return c; } };
let worst = [99, ""];
for (const e of document.querySelectorAll("p, td, th, dt, dd, small, a, li, h1, h2, button, label, .badge, .won, .note")) {
  if (!e.textContent.trim() || e.closest("svg") || !e.offsetParent || e.classList.contains("skip")) continue;
  const a = lum(getComputedStyle(e).color), b = lum(back(e));
  const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  if (ratio < worst[0]) worst = [ratio, e.tagName + "." + e.className + ": " + e.textContent.slice(0, 40)];
}
return worst;
"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_has_contrast(browser, pages, scheme):
    open_page(browser, pages["two"], scheme=scheme)
    ratio, where = browser.execute_script(CONTRAST)
    assert ratio >= 4.5, where
