"""What fitted models, trees and studies show in a notebook and say as text."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.datasets import load_iris

import petiole
from petiole import PETClassifier, ProbabilityForestClassifier
from petiole.study import compare_methods

EMPTY = {"path", "rect", "circle", "br", "meta", "link", "input", "img", "line", "use"}


class Closed(HTMLParser):
    """Checks that what is opened is closed, and collects the words and the tags."""

    def __init__(self, html):
        super().__init__()
        self.open, self.tags, self.words = [], [], []
        self.feed(html)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        if tag not in EMPTY:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag not in EMPTY:
            assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)

    @property
    def text(self):
        return " ".join(" ".join(self.words).split())


def rows(n_classes=3, seed=0):
    random = np.random.default_rng(seed)
    X = random.normal(size=(120, 4))
    return X, random.integers(0, n_classes, 120)


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True, as_frame=True)


def html_of(model):
    return model._repr_mimebundle_()["text/html"]


def test_a_tree_is_drawn_with_its_rules_and_columns(iris):
    model = PETClassifier(max_depth=2).fit(*iris)
    page = Closed(html_of(model))
    assert page.tags.count("svg") >= 1
    assert "petal length (cm) <= 2.45" in page.text and "5 nodes, 3 leaves, depth 2" in page.text
    assert "petal length (cm) <= 2.45" in model.describe()
    # scikit-learn numbers its diagrams
    assert model._repr_html_().partition("<details>")[0] == html_of(model).partition("<details>")[0]


@pytest.mark.parametrize("oob_score", [False, True])
def test_a_forest_shows_honest_scores_reliability_and_its_top_features(iris, oob_score):
    model = ProbabilityForestClassifier(16, random_state=0, oob_score=oob_score).fit(*iris)
    text = model.describe()
    assert f"log-loss (bits)  {model.oob_log_loss_:.3f}" in text and f"accuracy         {model.oob_score_:.3f}" in text
    best = model.feature_names_in_[model.feature_importances_.argmax()]
    first = text.partition("Features by importance\n")[2].splitlines()[1]
    assert first.split("  ")[1] == best
    page = Closed(html_of(model))
    assert page.tags.count("circle") == len(model.oob_reliability_)
    assert best in page.text
    assert "Fit with" not in text


def test_a_pool_has_the_same_scores_whether_or_not_it_keeps_its_probabilities(iris):
    quick, full = (ProbabilityForestClassifier(64, random_state=0, oob_score=kept).fit(*iris) for kept in (False, True))
    for name in ("oob_score_", "oob_log_loss_", "oob_brier_", "oob_reliability_"):
        np.testing.assert_allclose(getattr(quick, name), getattr(full, name))
    assert not hasattr(quick, "oob_predict_proba_")


def test_reliability_is_a_count_of_right_answers(iris):
    X, y = iris
    model = ProbabilityForestClassifier(16, random_state=0, oob_score=True).fit(X, y)
    said = model.oob_predict_proba_.max(axis=1)
    right = model.oob_decision_ == y
    for claimed, share, weight in model.oob_reliability_:
        inside = np.floor(np.minimum(said, 0.999999) * 10) == np.floor(min(claimed, 0.999999) * 10)
        assert inside.sum() == weight
        np.testing.assert_allclose([said[inside].mean(), right[inside].mean()], [claimed, share])
    assert model.oob_reliability_[:, 2].sum() == len(y)


def test_without_out_of_bag_rows_the_text_says_how_to_have_them(iris):
    assert "oob_score=True" in petiole.BaggedPETClassifier(4, random_state=0).fit(*iris).describe()


@pytest.mark.parametrize("name", [name for name in petiole.__all__ if name.endswith("Classifier")])
def test_every_classifier_describes_itself(name):
    X, y = rows()
    inner = petiole.BaggedPETClassifier(8, random_state=0)
    made = {
        "CostSensitiveClassifier": lambda kind: kind(inner, 1 - np.eye(3)),
        "OOBCalibratedClassifier": lambda kind: kind(petiole.BaggedPETClassifier(40, random_state=0)),
        "DualPerturbCombineClassifier": lambda kind: kind(inner, noise=0.1),
    }
    kind = getattr(petiole, name)
    model = made.get(name, lambda kind: kind())(kind)
    if "n_estimators" in model.get_params():
        model.set_params(n_estimators=8)
    model.fit(X, y)
    assert "classes" in model.describe() and "3: 0, 1, 2" in model.describe()
    Closed(html_of(model))


def test_what_is_not_fitted_shows_its_parameters():
    assert "PETClassifier" in html_of(PETClassifier())
    with pytest.raises(sklearn.exceptions.NotFittedError):
        PETClassifier().describe()


def test_text_is_shown_where_text_is_asked_for(iris):
    model = PETClassifier().fit(*iris)
    with sklearn.config_context(display="text"):
        assert not hasattr(model, "_repr_html_")
        assert list(model._repr_mimebundle_()) == ["text/plain"]


def test_names_from_the_data_are_escaped():
    X, y = rows(2)
    table = {f"<img src=x onerror=alert({j})>": X[:, j] for j in range(4)}
    import pandas as pd

    labels = np.where(y == 0, "<script>a</script>", "b & c")
    model = PETClassifier(max_depth=2).fit(pd.DataFrame(table), labels)
    for html in (model.tree_._repr_html_(), html_of(model).partition("<details>")[0]):
        assert "<img" not in html and "<script" not in html


@pytest.mark.parametrize("n_classes", [1, 2, 12])
def test_odd_trees_are_drawn(n_classes):
    X, y = rows(n_classes)
    X[::7, 1] = np.nan
    for model in (PETClassifier(), PETClassifier(categorical_features=[3])):
        X[:, 3] = np.abs(X[:, 3]).astype(int)
        tree = model.fit(X, y).tree_
        page = Closed(tree._repr_html_())
        boxes = len(re.findall("<g>", tree._repr_html_()))
        assert boxes == (tree.node_depth <= 3).sum() and page.tags[0] == "svg"


def test_a_study_shows_its_table_and_verdict(iris):
    study = compare_methods(*iris, methods=["pet", "naive-bayes"], folds=2, repeats=1, random_state=0)
    page = Closed(study._repr_html_())
    for text in (page.text, study.describe()):
        assert study.verdict in text and all(result.title in text for result in study.table)


def test_a_study_is_one_line_in_a_session(iris):
    study = compare_methods(*iris, methods=["pet", "naive-bayes"], folds=2, repeats=1, random_state=0, name="iris")
    assert repr(study).startswith("Study('iris', 2 methods, winner=") and len(repr(study)) < 100
    assert "iris" in study.describe().splitlines()[1]


def test_a_drawing_of_a_tree_shrinks_with_the_page(iris):
    drawn = PETClassifier().fit(*iris).tree_._repr_html_()
    assert 'viewBox="0 -1 ' in drawn and "max-width:100%" in drawn


def test_boosted_trees_say_their_rounds_and_their_held_out_loss(iris):
    model = petiole.BoostedPETClassifier(random_state=0).fit(*iris)
    text = model.describe()
    assert f"{3 * model.n_iter_}, {model.n_iter_} rounds" in text
    assert f"log-loss (bits)  {model.validation_log_loss_.min():.3f}" in text
    assert "Held-out" not in petiole.BoostedPETClassifier(early_stopping=False, max_iter=5).fit(*iris).describe()


@pytest.mark.parametrize("named", [True, False])
def test_dates_are_described_by_their_parts(named):
    """A date has several features, so that there are more of them than columns."""
    random = np.random.default_rng(0)
    days = np.datetime64("2020-01-01T00:00") + random.integers(0, 900 * 1440, size=300) * np.timedelta64(1, "m")
    X = pd.DataFrame(
        {"size": random.random(300), "since": days, "town": pd.Categorical(random.choice(["a", "b"], 300))}
    )
    y = (X["since"].dt.month > 6).to_numpy().astype(int)
    table = X if named else X.astype(object).to_numpy()
    for model in (PETClassifier(), ProbabilityForestClassifier(8, random_state=0)):
        told = model.fit(table, y).describe()
        assert ("since (month)" if named else "x1 (month)") in told.partition("Features by importance")[2]
        assert "columns" in told and "3, 1 of them categorical, 1 of dates" in told
        dates = "since (days, year, month, weekday, hour)" if named else "x1 (days, year, month, weekday, hour)"
        assert dates in told
        assert "(month)" in model._repr_mimebundle_()["text/html"]
