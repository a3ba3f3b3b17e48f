"""The page: what it says, that nothing of the data breaks out, and the numbers behind its charts."""

from __future__ import annotations

import dataclasses
import json
import re

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score

import naive_study
from petiole.metrics import ReliabilityCurve
from petiole.report import sections, write_report, writing
from petiole.report.curves import curve_data, judged_of, pooled, rarest_class, shown_methods
from petiole.report.decision_sheet import decision_sheet, two_ways
from petiole.report.decisions import decision_data
from petiole.report.groups import groups
from petiole.report.markup import Markup, element, json_for_script
from petiole.report.ranking import confusion, ranking
from petiole.report.tree_data import tree_data
from petiole.study import compare_methods
from petiole.study.explaining import explain, single_tree
from report_studies import HOSTILE, hostile_study, many_class_study, two_class_study

SECTIONS = ["warnings", "methods", "reliability", "lift", "costs", "features", "tree", "uncertain", "data", "how"]


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
    assert page.count("</script>") == 2 and page.count("<img") == 0
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
    assert two_classes.verdict in writing.render(two_classes, explanation, writing.Extras())


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


# The decision sheet, ranking, groups and rows.


@pytest.fixture(scope="module")
def loans():
    """A study of loans: two decisions that are no classes, a group in which the probabilities are wrong."""
    random = np.random.default_rng(3)
    n = 400
    income, town = random.normal(size=n), random.choice(["Bern", "Rome", "Oslo"], n)
    good = income + random.normal(size=n) > -0.5
    X = pd.DataFrame({"income": income, "town": town, "age": random.integers(20, 70, n)})
    y = np.where(good, "good", "bad")
    return compare_methods(
        X, y, methods=["pet", "probability-forest", "naive-bayes"], folds=2, repeats=1, name="loans",
        cost=[[5, -1], [0, 0]], decisions=["grant", "refuse"],
    )  # fmt: skip


def test_the_sheet_says_what_to_do_from_which_probability_on(loans):
    ways = two_ways(loans)
    assert (ways.act, ways.idle, ways.positive) == (0, 1, 1)
    assert ways.threshold == pytest.approx(5 / 6)  # p * -1 + (1 - p) * 5 = 0
    sheet = decision_sheet(loans, ["petiole fit loans.csv", "petiole predict"])
    words = re.sub(r"<[^>]+>", "", sheet)
    assert "Decide for \u201cgrant\u201d where the probability of \u201cgood\u201d is at least 0.833" in words
    shares = np.bincount(loans.judged.labels) / len(loans.judged)
    always = round(1000 * float(np.array([5, -1]) @ shares))
    assert f"Always acting{always:,}".replace("-", "\u2212") in words and "Doing nothing0" in words
    saved = -1000 * loans.result(loans.recommended).scores["cost"].mean
    assert f"It saves{saved:,.0f}" in words
    assert "petiole fit loans.csv" in words and 'id="copy"' in sheet


@pytest.mark.parametrize(
    ("cost", "decisions", "expected"),
    [
        (None, None, (0.5, "malignant")),  # the rarer class is the one to act on
        ([[0, 20], [1, 0]], None, (1 / 21, "malignant")),
        ([[0, 1], [1, 1]], None, None),  # the second is never better
        ([[0, 1], [1, 0], [0.2, 0.2]], ["b", "m", "ask"], None),
    ],
)
def test_thresholds_are_where_both_decisions_cost_the_same(two_classes, cost, decisions, expected):
    study = dataclasses.replace(
        two_classes,
        cost=None if cost is None else np.array(cost, dtype=float),
        decisions=two_classes.classes if decisions is None else decisions,
    )
    ways = two_ways(study)
    if expected is None:
        assert ways is None
    else:
        assert (ways.threshold, study.classes[ways.positive]) == (pytest.approx(expected[0]), expected[1])


def test_auc_gini_and_ks_are_those_of_scikit_learn_and_of_their_definition(two_classes, many_classes):
    for study in (two_classes, many_classes):
        for name in shown_methods(study):
            judged = judged_of(study, name)
            for k in range(len(study.classes)):
                hit, scores = judged.codes == k, judged.proba[:, k].round(12)
                found = ranking(judged, k)
                assert found.auc == pytest.approx(roc_auc_score(hit, scores))
                assert found.gini == pytest.approx(2 * found.auc - 1)
                far = max(abs((scores[hit] <= t).mean() - (scores[~hit] <= t).mean()) for t in np.unique(scores))
                assert found.ks == pytest.approx(far)


def test_the_confusion_matrix_counts_every_row_once(loans, many_classes):
    for study in (loans, many_classes):
        found = confusion(study, study.recommended)
        assert found.sum() == len(study.judged)
        np.testing.assert_array_equal(found.sum(axis=0), np.bincount(study.judged.labels))
    found, cost = confusion(many_classes, many_classes.winner), many_classes.cost
    mean = many_classes.result(many_classes.winner).scores["cost"].mean
    assert (found * cost).sum() / found.sum() == pytest.approx(mean, abs=0.01)


def test_the_recommended_method_and_the_forest_are_always_among_the_curves(loans):
    for recommended in ("pet", "naive-bayes", "probability-forest"):
        study = dataclasses.replace(loans, recommended=recommended)
        assert {recommended, "probability-forest"} <= set(shown_methods(study))


def test_bins_of_few_rows_join_their_neighbours():
    weight = np.array([40.0, 1, 1, 60, 2])
    score, frequency = np.array([0.1, 0.2, 0.5, 0.7, 0.95]), np.array([0.0, 1, 0, 0.75, 1])
    found = pooled(ReliabilityCurve(score, frequency, weight, score, score))
    assert found.weight.min() >= 5 and found.weight.sum() == weight.sum()
    assert found.weight @ found.frequency == pytest.approx(weight @ frequency)
    assert found.weight @ found.mean_score == pytest.approx(weight @ score)
    assert (found.lower <= found.frequency).all() and (found.frequency <= found.upper).all()


def test_groups_are_the_rows_of_a_value_and_wrong_names_are_refused(loans, tmp_path):
    towns = dict(groups(loans, 1))
    assert sorted(towns) == ["Bern", "Oslo", "Rome"] and sum(map(len, towns.values())) == 400
    ages = dict(groups(loans, 2))
    assert len(ages) == 4 and sum(map(len, ages.values())) == 400
    ids = {"customer": [f"C{i}" for i in range(400)]}
    page = write_report(loans, tmp_path / "page.html", by=["town"], ids=ids).read_text(encoding="utf-8")
    assert '<section id="groups"' in page and "Predicted share of" in page
    with pytest.raises(ValueError, match="there is no column 'city'"):
        write_report(loans, tmp_path / "page.html", by=["city"])
    with pytest.raises(ValueError, match="must be a list of names"):
        write_report(loans, tmp_path / "page.html", by="town")
    with pytest.raises(ValueError, match="'customer' has 3 values"):
        write_report(loans, tmp_path / "page.html", ids={"customer": [1, 2, 3]})


def test_uncertain_rows_are_those_nearest_to_the_threshold_counted_from_one(loans):
    ids = {"customer": [f"C{i}" for i in range(400)]}
    rows = re.findall(r"<tr>(.*?)</tr>", sections.uncertain_rows(loans, ["income"], ids))[1:]
    away = np.abs(judged_of(loans, loans.recommended).proba[:, 1] - 5 / 6)
    nearest = loans.judged.positions[np.argsort(away, kind="stable")[:15]]
    numbers = [int(re.search(r'<th scope="row">(\d+)<', row)[1]) for row in rows]
    assert sorted(away[np.argsort(loans.judged.positions)][np.array(numbers) - 1]) == pytest.approx(sorted(away)[:15])
    assert set(numbers) & set((nearest + 1).tolist())
    assert all(f"<td>C{number - 1}</td>" in row for number, row in zip(numbers, rows, strict=True))


def test_the_tree_that_is_shown_can_be_read_and_has_its_honest_score(two_classes):
    found = explain(two_classes)
    assert found.tree.tree_.n_leaves <= 16 and found.tree.tree_.depth <= 4
    folds = two_classes.result("pet").by_split["log_loss"]
    assert found.tree_scores["full"] == pytest.approx(np.mean(folds), abs=0.1)
    assert 0 < found.tree_scores["shown"] < 1
    column = two_classes.data.names.index(found.effects[0].column)
    values = two_classes.data.rows.matrix[:, column]
    assert found.effects[0].values.min() >= values.min() and found.effects[0].values.max() <= values.max()
    np.testing.assert_allclose(found.effects[0].probabilities.sum(axis=1), 1)
    assert found.effects[0].shares.sum() == pytest.approx(1)


def test_a_score_has_the_same_decimals_for_all_methods(many_classes):
    rows = re.findall(r"<tr>(.*?)</tr>", sections.methods_table(many_classes))[1:]
    costs = [re.search(r'<td class="number">([^<]+)', row)[1] for row in rows]
    assert len({len(cost.partition(".")[2]) for cost in costs}) == 1


def test_the_page_is_small_and_brings_its_charts(two_classes, page):
    assert len(page) < 300_000 and "function plot(" in page


@pytest.fixture(scope="module")
def dated():
    """A study with dates, a number of uneven digits, and a method of another library that is recommended."""
    random = np.random.default_rng(0)
    n = 160
    days = pd.Timestamp("2021-01-01") + pd.to_timedelta(random.integers(0, 900, n), "D")
    size = np.round(random.normal(100, 30, n), 2)
    size[::7] = np.round(size[::7])
    X = pd.DataFrame({"opened": days, "size": size})
    y = np.where(size + 20 * (days.day_of_week > 4) + random.normal(0, 10, n) > 100, "yes", "no")
    return compare_methods(X, y, methods=["pet", "logistic-regression"], folds=3, repeats=2)


def test_dates_are_written_as_dates_everywhere(dated, tmp_path):
    page = write_report(dated, tmp_path / "page.html").read_text(encoding="utf-8")
    words, data = page.split("<script")[0], page_data(page)
    by_column = {effect["column"]: effect for effect in data["effects"]}
    assert by_column["opened (weekday)"]["texts"] == [*("Monday", "Tuesday", "Wednesday", "Thursday", "Friday"),
                                                      *("Saturday", "Sunday")]  # fmt: skip
    assert by_column["opened (days)"]["texts"][0].startswith("2021-01")
    assert by_column["size"]["texts"] is None
    assert "2021-01-0" in words and "18" + "628" not in words  # the summary of the columns; its days since 1970
    rules = " ".join(node["rule"] for node in data["tree"]["nodes"])
    assert "opened (weekday) <= Friday" in rules or "opened (days) <= 202" in rules or "opened" not in rules


def test_uncertain_rows_have_the_numbers_of_the_file_and_even_digits(dated):
    numbers = [7 * i + 3 for i in range(160)]
    table = sections.uncertain_rows(dated, ["size"], {}, numbers)
    rows = [int(row) for row in re.findall(r'<th scope="row">(\d+)</th>', table)]
    assert rows and all(row % 7 == 3 for row in rows)
    sizes = re.findall(r'<td class="number">(\d+\.\d+)</td></tr>', table)
    assert len(sizes) == len(rows) and len({len(size.partition(".")[2]) for size in sizes}) == 1


def test_the_page_says_how_the_file_was_read_and_whose_commands_come_next(dated, tmp_path):
    notes = ["age: 399 of 400 cells are numbers; line 19 ('51 years') is not"]
    page = write_report(dated, tmp_path / "page.html", notes=notes).read_text(encoding="utf-8")
    assert "How the file was read" in page and "line 19" in page
    other = decision_sheet(dataclasses.replace(dated, recommended="logistic-regression"), ["petiole fit"])
    assert "with the best of petiole&#x27;s own methods, Single tree, smoothed (log-loss (bits) " in other
    assert "To use it:" in decision_sheet(dataclasses.replace(dated, recommended="pet"), ["petiole fit"])
