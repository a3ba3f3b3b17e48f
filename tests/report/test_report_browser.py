"""The page in a real browser: it loads without errors and without the network, and its controls do what they say."""

from __future__ import annotations

import json
import shutil

import pytest

from card_models import HOSTILE, hostile_model
from petiole.report import write_model_card, write_report
from report_studies import hostile_study, many_class_study, two_class_study

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")
STUDIES = {"two": two_class_study, "many": many_class_study, "hostile": hostile_study}

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
    return {name: write_report(make(), folder / f"{name}.html", title=name) for name, make in STUDIES.items()}


def open_page(browser, path, *, width=1280, scheme="light"):
    """Load a page at a width; the requests that it made."""
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
    wishes = {"prefers-color-scheme": scheme, "prefers-reduced-motion": "reduce"}
    features = [{"name": name, "value": value} for name, value in wishes.items()]
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    for log in ("browser", "performance"):
        browser.get_log(log)
    browser.get(path.as_uri())
    messages = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    asked = [message["params"] for message in messages if message["method"] == "Network.requestWillBeSent"]
    urls = [parameters["request"]["url"] for parameters in asked]
    return [url for url in urls if not url.startswith(("data:", "blob:"))]


def errors(browser):
    return [entry for entry in browser.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")]


def text(browser, css):
    return browser.execute_script("return document.querySelector(arguments[0]).textContent", css)


def type_cost(browser, cell, value):
    """Type a cost into the field of [predicted, true]."""
    script = """
        const field = document.querySelector(`[data-cost="${arguments[0]}"]`);
        field.value = arguments[1];
        field.dispatchEvent(new Event("input"));
    """
    browser.execute_script(script, cell, str(value))


@pytest.fixture(scope="module")
def desk(browser, pages):
    """The page of two classes at desk width, loaded once; each test looks at what it changes."""
    open_page(browser, pages["two"])
    return browser


@pytest.mark.parametrize("name", STUDIES)
def test_pages_load_clean_and_fit_a_phone(browser, pages, name):
    assert pages[name].stat().st_size < 500_000
    assert open_page(browser, pages[name], width=390) == [pages[name].as_uri()]
    assert errors(browser) == []
    assert browser.execute_script("return document.documentElement.scrollWidth") <= 390
    assert browser.execute_script("return document.querySelectorAll('.chart svg.picture').length") >= 6
    # had a name from the data run as code, its alert would have stopped the driver by now
    assert browser.execute_script("return document.images.length") == 0
    if name == "many":
        check_costs_of_many_classes(browser)
        script = (
            "const box = document.querySelector('.cost-fields').parentElement; return box.scrollWidth - box.clientWidth"
        )
        assert browser.execute_script(script) <= 0  # the fields for three classes fit
        drawn = "return [...new Set(NODES.flatMap((node) => node.classes))].length"
        shown = "return document.querySelectorAll('#class-legend li').length"
        assert browser.execute_script(shown) == browser.execute_script(drawn) == 3


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_model_cards_load_clean_and_fit_a_phone(browser, tmp_path, scheme):
    page = write_model_card(hostile_model(), tmp_path / "card.html", purpose=HOSTILE[0], notes={HOSTILE[1]: HOSTILE[2]})
    assert open_page(browser, page, width=390, scheme=scheme) == [page.as_uri()]
    assert errors(browser) == []
    assert browser.execute_script("return document.documentElement.scrollWidth") <= 390
    assert browser.execute_script("return document.querySelectorAll('svg.drawn circle').length") >= 4
    ground = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
    assert (sum(map(int, ground.strip("rgb()").split(","))) < 200) == (scheme == "dark")
    assert text(browser, "#purpose p") == HOSTILE[0]


def check_costs_of_many_classes(browser):
    """The page works out the same costs as Python, and others when a field changes."""
    for here, there in browser.execute_script(
        "return REPORT.shown.map((name) => [ruleCosts(name), DECISION.rules[name]])"
    ):
        assert here["cheapest"] == pytest.approx(there["cheapest"], abs=0.02)
        assert here["probable"] == pytest.approx(there["probable"], abs=0.02)
    before, counts = text(browser, "#rule-rows"), text(browser, "#confusion-matrix tbody")
    type_cost(browser, "0,1", 500)
    assert text(browser, "#rule-rows") != before
    assert text(browser, "#confusion-matrix tbody") != counts


def test_the_slider_moves_the_figures(desk):
    from selenium.webdriver.common.keys import Keys

    def figures():
        return [text(desk, f"#f-{name}") for name in ("cost", "acted", "recall", "precision", "false", "missed")]

    before, value = figures(), text(desk, "#threshold-value")
    desk.find_element("id", "threshold").send_keys(Keys.ARROW_LEFT * 30)  # by keyboard, as anybody can
    assert float(text(desk, "#threshold-value")) == pytest.approx(float(value) - 0.3)
    after = figures()
    assert after[1] != before[1] and after[5] != before[5]
    assert int(after[5]) <= int(before[5])  # a lower threshold misses fewer


def test_own_costs_move_the_cheapest_threshold(desk):
    assert "calibrated probabilities is 0.500" in text(desk, "#threshold-note")
    type_cost(desk, "0,1", 9)  # benign predicted, truly malignant
    assert "calibrated probabilities is 0.100" in text(desk, "#threshold-note")
    desk.find_element("id", "to-best").click()
    assert float(text(desk, "#threshold-value")) < 0.5
    type_cost(desk, "0,1", 1)
    assert "calibrated probabilities is 0.500" in text(desk, "#threshold-note")


def test_the_confusion_matrix_follows_the_threshold(desk):
    def cells():
        script = "return [...document.querySelectorAll('#confusion td')].map((cell) => Number(cell.textContent))"
        return desk.execute_script(script)

    def move(to):
        desk.execute_script(
            """
            const slider = document.getElementById("threshold");
            slider.value = arguments[0];
            slider.dispatchEvent(new Event("input"));
        """,
            to,
        )

    move("0")
    assert cells() == [357, 212, 569, 0, 0, 0]  # the other class, the class, all: for everybody
    move("0.5")
    acted, left = cells()[:3], cells()[3:]
    assert sum(acted[:2]) == acted[2] and acted[2] + left[2] == 569 and acted[1] > acted[0]


def test_effects_are_drawn_and_the_commands_can_be_copied(desk):
    drawn = desk.execute_script("return document.querySelectorAll('#effects svg.picture').length")
    assert drawn >= 6
    desk.find_element("id", "copy").click()
    assert text(desk, "#copy") in ("Copied", "Copy")
    assert errors(desk) == []


def test_the_legend_switches_methods_and_the_pointer_shows_figures(desk):
    def lines():
        return desk.execute_script("return document.querySelectorAll('#chart-reliability g.series').length")

    before = lines()
    hidden = desk.find_element("css selector", "#chart-reliability-keys button[aria-pressed=false]")
    name = hidden.text
    desk.execute_script("arguments[0].click()", hidden)
    assert lines() == before + 1
    assert desk.execute_script("return document.activeElement.textContent") == name
    told = desk.execute_script("""
        const point = document.querySelector("#chart-reliability circle").getBoundingClientRect();
        const at = { clientX: point.x + point.width / 2, clientY: point.y + point.height / 2, bubbles: true };
        document.querySelector("#chart-reliability svg").dispatchEvent(new PointerEvent("pointermove", at));
        return document.querySelector("#chart-reliability .tip").textContent;
    """)
    assert "predicted 0." in told and "rows)" in told


def test_axes_have_round_ticks_and_labels_stay_inside(desk):
    ticks = desk.execute_script("return [roundTicks(-0.02, 1.02, 5), roundTicks(0, 61234, 5), roundTicks(3, 3, 5)]")
    assert ticks[0] == pytest.approx([0, 0.5, 1]) and ticks[1] == [0, 20000, 40000, 60000] and ticks[2] == [3]
    assert desk.execute_script("return tickTexts([-0.5, 0, 0.5])") == ["\u22120.5", "0.0", "0.5"]
    outside = desk.execute_script("""
        return [...document.querySelectorAll(".chart svg.picture")].flatMap((svg) => {
          const frame = svg.getBoundingClientRect();
          return [...svg.querySelectorAll("text")].filter((text) => {
            const box = text.getBoundingClientRect();
            return box.left < frame.left - 2 || box.right > frame.right + 2 || box.bottom > frame.bottom + 2;
          }).map((text) => text.textContent);
        });
    """)
    assert outside == []


def test_a_node_opens_by_click_and_by_keys(desk):
    from selenium.webdriver.common.keys import Keys

    assert text(desk, "#node-rule") == "All rows"
    child = desk.execute_script("return NODES[0].down[0]")
    rectangle = desk.find_element("css selector", f'#icicle rect[data-node="{child}"]')
    desk.execute_script("arguments[0].scrollIntoView({block: 'center'})", rectangle)
    rectangle.click()
    rule = desk.execute_script("return NODES[arguments[0]].rule", child)
    assert text(desk, "#node-rule") == rule and rule in text(desk, "#node-path")
    assert "Smoothed" in text(desk, "#node-classes")
    desk.find_element("css selector", "#tree-list [aria-selected=true]").send_keys(Keys.ARROW_DOWN)
    assert text(desk, "#node-rule") != rule
    assert desk.execute_script("return document.activeElement.getAttribute('aria-selected')") == "true"
    desk.switch_to.active_element.send_keys(Keys.HOME)
    assert text(desk, "#node-rule") == "All rows"
    desk.switch_to.active_element.send_keys(Keys.ARROW_LEFT)
    assert desk.execute_script("return document.querySelectorAll('[role=treeitem]').length") == 1


CONTRAST = """
const linear = (x) => (x <= 0.03928 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4);
const luminance = (color) => {
  const [r, g, b] = color.match(/[\\d.]+/g).slice(0, 3).map((x) => linear(x / 255));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const ground = (e) => {
  for (; e; e = e.parentElement) {
    const color = getComputedStyle(e).backgroundColor;
    if (!/, 0\\)$/.test(color) && color !== "transparent") return color;
  }
};
const kinds = "p, td, th, dt, dd, small, a, li, h1, h2, button, label, .badge, .won, .note";
let worst = [99, ""];
for (const e of document.querySelectorAll(kinds)) {
  if (!e.textContent.trim() || e.closest("svg") || !e.offsetParent || e.classList.contains("skip")) continue;
  const a = luminance(getComputedStyle(e).color), b = luminance(ground(e));
  const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  if (ratio < worst[0]) worst = [ratio, e.tagName + "." + e.className + ": " + e.textContent.slice(0, 40)];
}
return worst;
"""


def test_dark_follows_the_system_and_the_button_and_can_be_read(desk, pages):
    def looks():
        ratio, where = desk.execute_script(CONTRAST)
        assert ratio >= 4.5, where
        return desk.execute_script("""
            return [getComputedStyle(document.body).backgroundColor,
                    getComputedStyle(document.querySelector('#chart-methods text.tick')).fill];
        """)

    light = looks()
    desk.find_element("id", "theme").click()
    dark = looks()
    assert dark[0] != light[0] and dark[1] != light[1]
    assert errors(desk) == []
    open_page(desk, pages["two"], scheme="dark")
    assert looks() == dark and text(desk, "#theme") == "Light"
    desk.find_element("id", "theme").click()
    assert looks() == light
