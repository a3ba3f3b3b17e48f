"""The page: what it says, that nothing of the data breaks out, and the numbers behind its charts."""

from __future__ import annotations

import json
import re

import numpy as np
import pandas as pd
import pytest

import naive_study
from petiole.report import write_report, writing
from petiole.report.curves import curve_data, judged_of, rarest_class, shown_methods
from petiole.report.decisions import decision_data
from petiole.report.markup import Markup, element, json_for_script
from petiole.report.tree_data import tree_data
from petiole.study import compare_methods
from petiole.study.explaining import explain, single_tree
from report_studies import HOSTILE, hostile_study, many_class_study, two_class_study

SECTIONS = ["warnings", "methods", "reliability", "lift", "costs", "features", "tree", "uncertain", "data", "how"]


@pytest.fixture(scope="module", autouse=True)
def without_library():
    """Charts are tested in a browser; here the page is quicker read without their library."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(writing, "_plotly", lambda: "")
        yield


@pytest.fixture(scope="module")
def two_classes():
    return two_class_study()


@pytest.fixture(scope="module")
def many_classes():
    return many_class_study()


@pytest.fixture(scope="module")
def page(two_classes, tmp_path_factory):
    path = write_report(
        two_classes, tmp_path_factory.mktemp("report") / "page.html", command="petiole compare data.csv"
    )
    return path.read_text(encoding="utf-8")


def page_data(page):
    """What the scripts of a page read."""
    return json.loads(re.search(r'id="report-data">(.*?)</script>', page, re.DOTALL)[1])


def test_the_page_has_every_section_and_the_answer(page, two_classes):
    for section in SECTIONS:
        assert f'<section id="{section}"' in page
    assert two_classes.verdict in page
    for result in two_classes.table:
        assert result.title in page
    assert "petiole compare data.csv" in page
    assert "Seed" in page and "scikit-learn" in page
    assert "$" + "{" not in page.split("<script")[0]


def test_the_page_asks_for_nothing_from_outside(page):
    assert not re.search(r'(?:src|href)="(?!#|data:)', page)
    assert "url(" not in page and "@import" not in page and "http-equiv" in page
    assert "default-src 'none'" in page


def test_controls_and_tables_have_labels(page):
    for field in re.findall(r'<select id="([^"]+)"', page):
        assert f'<label for="{field}"' in page
    assert page.count("<table>") == page.count("<thead>") >= 4
    for box in re.findall(r'<div class="scroll"[^>]*>', page):
        assert "aria-label=" in box and 'tabindex="0"' in box


def test_nothing_from_the_data_breaks_out(tmp_path):
    study = hostile_study()
    page = write_report(study, tmp_path / "page.html", title=HOSTILE, command=HOSTILE).read_text(encoding="utf-8")
    assert HOSTILE not in page
    assert "<script>alert" not in page and "onerror=alert(1)>" not in page.replace("&gt;", "")
    assert page.count("</script>") == 3 and page.count("<img") == 0
    assert HOSTILE in page_data(page)["classes"]
    assert any(HOSTILE in node["rule"] for node in page_data(page)["tree"]["nodes"])


def test_markup_escapes_all_but_markup():
    assert element("p", "<b>", Markup("<b>"), title='a"b') == '<p title="a&quot;b">&lt;b&gt;<b></p>'
    assert json.loads(json_for_script({"a": "</script>\u2028&"})) == {"a": "</script>\u2028&"}
    assert "<" not in json_for_script({"a": "</script><!--"})


def test_costs_at_thresholds_are_exact(two_classes):
    data = decision_data(two_classes)
    positive = data["positive"]
    assert positive == rarest_class(two_classes)
    cost = [[0.0, 3.0], [1.0, -0.5]]
    for method in shown_methods(two_classes):
        judged = judged_of(two_classes, method)
        used, negative, of_positive = (np.array(column) for column in data["steps"][method])
        for step in range(0, 1001, 50):
            above = used >= step
            hits, alarms = of_positive[above].sum(), negative[above].sum()
            n_positive, n_negative = of_positive.sum(), negative.sum()
            told = (
                hits * cost[positive][positive]
                + alarms * cost[positive][1 - positive]
                + (n_positive - hits) * cost[1 - positive][positive]
                + (n_negative - alarms) * cost[1 - positive][1 - positive]
            ) / (n_positive + n_negative)
            expected = naive_study.cost_at(
                step / 1000, positive, judged.codes, judged.proba.round(9), judged.weights, cost
            )
            assert told == pytest.approx(expected, abs=1e-6), (method, step)


def test_many_classes_have_a_matrix_and_rules(many_classes):
    data = decision_data(many_classes)
    assert data["kind"] == "matrix" and data["editable"]
    for method, costs in data["rules"].items():
        judged = judged_of(many_classes, method)
        expected = naive_study.scores(judged.codes, judged.proba, judged.weights, data["cost"])
        assert costs["cheapest"] == pytest.approx(expected["cost"])
        assert costs["probable"] >= costs["cheapest"] - 0.5
    assert np.shape(data["rows"]["proba"][many_classes.winner]) == (len(many_classes.judged), 3)


def test_curves_are_for_every_class_and_the_top_one(many_classes):
    curves = curve_data(many_classes)
    for method in shown_methods(many_classes):
        assert set(curves[method]) == {"0", "1", "2", "top"}
        for target in "012":
            curve = curves[method][target]
            assert curve["gains"][0] == 0 and curve["gains"][-1] == 1 and (np.diff(curve["gains"]) >= 0).all()
            assert sum(curve["bars"]) == pytest.approx(1, abs=0.01)
            assert (np.array(curve["low"]) <= np.array(curve["came"]) + 1e-4).all()


def test_the_explorer_has_the_tree(two_classes):
    data = tree_data(two_classes, single_tree(two_classes))
    nodes = data["nodes"]
    assert nodes[0]["up"] is None and nodes[0]["n"] == two_classes.data_summary["n_rows"]
    for number, node in enumerate(nodes):
        for child in node["down"]:
            assert nodes[child]["up"] == number and nodes[child]["depth"] == node["depth"] + 1
        if node["down"]:
            assert sum(nodes[child]["n"] for child in node["down"]) == pytest.approx(node["n"], abs=0.1)
        assert sum(node["raw"]) == pytest.approx(1, abs=1e-3) and sum(node["smooth"]) == pytest.approx(1, abs=1e-3)
        assert sum(node["counts"]) == pytest.approx(node["n"], abs=0.05)


def test_a_large_tree_is_cut(monkeypatch, two_classes):
    monkeypatch.setattr("petiole.report.tree_data.MOST_NODES", 5)
    data = tree_data(two_classes, single_tree(two_classes))
    assert len(data["nodes"]) <= 5 < data["n_nodes"]
    assert any(node["cut"] for node in data["nodes"])


def test_rendering_fits_no_model(two_classes, monkeypatch):
    explanation = explain(two_classes)

    def refuse(*arguments, **options):
        raise AssertionError("a model is fitted")

    monkeypatch.setattr("petiole.study.importance.fit_on", refuse)
    for kind in ("bagging.BaggedPETClassifier", "pet.PETClassifier", "naive_bayes.BinnedNaiveBayesClassifier"):
        monkeypatch.setattr(f"petiole._classifiers.{kind}.fit", refuse)
    assert two_classes.verdict in writing.render(two_classes, explanation, None, None)


def test_the_file_is_replaced_as_a_whole(tmp_path, two_classes, monkeypatch):
    path = tmp_path / "page.html"
    path.write_text("earlier")

    def fail(*_):
        raise OSError("disk full")

    with monkeypatch.context() as patch:
        patch.setattr("petiole.files.atomic.os.replace", fail)
        with pytest.raises(OSError, match="disk full"):
            write_report(two_classes, path)
    assert path.read_text() == "earlier" and list(tmp_path.iterdir()) == [path]
    assert write_report(two_classes, str(path)) == path and path.stat().st_size > 10_000
    with pytest.raises(IsADirectoryError, match="is a folder"):
        write_report(two_classes, tmp_path)
    with pytest.raises(TypeError, match="must be a Study"):
        write_report("study", path)


def test_reports_of_odd_studies(tmp_path):
    """One method, weights, a test set, classes that are numbers, a column that is empty."""
    random = np.random.default_rng(0)
    X = pd.DataFrame({"a": random.normal(size=80), "b": random.choice(["x", "y"], 80), "c": np.full(80, np.nan)})
    y = (X["a"].to_numpy() + random.normal(size=80) > 0).astype(int)
    study = compare_methods(X[:50], y[:50], methods=["naive-bayes"], test=(X[50:], y[50:], np.full(30, 2.0)))
    page = write_report(study, tmp_path / "one.html").read_text(encoding="utf-8")
    assert "only method" in page and "30 test rows" in page
    peers = compare_methods(X, y, methods=["gradient-boosting"], folds=2, repeats=1)
    assert "Gradient boosting" in write_report(peers, tmp_path / "peer.html").read_text(encoding="utf-8")
