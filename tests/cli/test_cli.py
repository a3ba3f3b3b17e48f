"""The petiole command: compare, fit, evaluate, explain, info, export, datasets, reproduce, and what they refuse."""

from __future__ import annotations

import html
import io
import itertools
import json
import re
import shlex
import sys

import numpy as np
import pytest

import naive_cli
import petiole
from command_line import as_csv, read, refused, run, table, write
from petiole.cli.io.cost_tables import read_costs
from petiole.cli.io.model_columns import Names
from petiole.cli.progress import Waiting, expecting
from petiole.study.scoring import log_loss_floor


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("cli")
    write(path / "train.csv", table(160))
    write(path / "test.csv", table(80, seed=1))
    return path


@pytest.fixture(scope="module")
def model(folder):
    """The path of a single tree."""
    path = folder / "tree.petiole"
    run("fit", folder / "train.csv", "-t", "y", "--id", "id", "-m", "pet", "-q", "-o", path)
    return path


# Fit.


def test_a_model_is_fitted_and_told(folder, tmp_path):
    path = tmp_path / "m.petiole"
    result = run("fit", folder / "train.csv", "--target", "y", "--drop", "id", "--nominal", "grade", "-j", 1,
                 "--set", "n_estimators=8", "--set", "max_features=sqrt", "-o", path)  # fmt: skip
    fitted = petiole.load(path)
    assert type(fitted).__name__ == "ProbabilityForestClassifier"
    assert (fitted.n_estimators, fitted.max_features, fitted.random_state) == (8, "sqrt", 0)
    assert fitted.encoder_.feature_names == ["size", "town", "grade"]
    assert [c is None for c in fitted.encoder_.categories] == [True, False, False]
    assert "train.csv: 160 rows" in result.stderr and "target       y (no" in result.stderr
    assert (
        "numeric      1: size" in result.stderr
        and "categorical  2: town (3 categories), grade (3 categories)" in result.stderr
    )
    assert "expected log-loss of new rows" in result.stdout and f"wrote {path}" in result.stdout
    assert [p.name for p in tmp_path.iterdir()] == ["m.petiole"]


def test_quiet_is_quiet_and_json_is_json(folder, tmp_path):
    result = run(
        "fit", folder / "train.csv", "-t", "y", "--id", "id", "-m", "pet", "-q", "--json", "-o", tmp_path / "m.petiole"
    )
    found = json.loads(result.stdout)
    assert result.stderr == "" and found["rows"] == 160 and found["classes"] == ["no", "yes"]
    assert found["columns"] == {"size": "numeric", "town": "nominal", "grade": "numeric"}


def test_weights_count_rows(folder, tmp_path):
    rows = table(60)
    random = np.random.default_rng(0)
    weights = random.integers(0, 4, len(rows))
    weighted = write(tmp_path / "w.csv", [row | {"w": int(w)} for row, w in zip(rows, weights, strict=True)])
    repeated = [row for row, w in zip(rows, weights, strict=True) for _ in range(w)]
    for name, source, options in (("w", weighted, ["--weight", "w"]), ("r", write(tmp_path / "r.csv", repeated), [])):
        run(
            "fit",
            source,
            "-t",
            "y",
            "--id",
            "id",
            "-m",
            "naive-bayes",
            "-q",
            "-o",
            tmp_path / f"{name}.petiole",
            *options,
        )
    answers = [run("predict", tmp_path / f"{name}.petiole", folder / "test.csv", "-q").stdout for name in "wr"]
    numbers = [[float(row["p_yes"]) for row in read(answer)] for answer in answers]
    np.testing.assert_allclose(*numbers, atol=1e-12)


def test_labels_may_be_unsorted_numbers(tmp_path):
    rows = table(90, classes=("10", "-3", "2"))
    path = write(tmp_path / "n.csv", rows)
    run("fit", path, "-t", "y", "--id", "id", "-m", "pet", "-q", "-o", tmp_path / "m.petiole")
    assert petiole.load(tmp_path / "m.petiole").classes_.tolist() == [-3, 2, 10]
    found = json.loads(run("evaluate", tmp_path / "m.petiole", path, "-t", "y", "-q", "--json", "--draws", 50).stdout)
    predicted = read(run("predict", tmp_path / "m.petiole", path, "-q").stdout)
    right = np.mean([row["prediction"] == truth["y"] for row, truth in zip(predicted, rows, strict=True)])
    assert found["scores"]["accuracy"]["value"] == pytest.approx(right)


def test_the_seed_decides(folder, tmp_path):
    answers = []
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        arguments = ("fit", folder / "train.csv", "-t", "y", "--id", "id", "-m", "mob-esp", "-q", "-j", 1)
        run(*arguments, "--set", "n_estimators=5", "--seed", seed, "-o", tmp_path / f"{name}.petiole")
        answers.append(run("predict", tmp_path / f"{name}.petiole", folder / "test.csv", "-q").stdout)
    assert answers[0] == answers[1] != answers[2]


def test_two_hundred_columns_and_quoted_commas(tmp_path):
    random = np.random.default_rng(0)
    rows = [{f"c{j}": f"{random.normal():.3f}" for j in range(200)} for _ in range(40)]
    for row in rows:
        row |= {'a "b", c': random.choice(["x, y", 'say "z"', "plain"]), "y": "up" if float(row["c7"]) > 0 else "down"}
    path = write(tmp_path / "wide.csv", rows)
    result = run("fit", path, "-t", "y", "-m", "pet", "-o", tmp_path / "m.petiole")
    assert "... 194 more" in result.stderr
    assert petiole.load(tmp_path / "m.petiole").encoder_.categories[200].tolist() == ["plain", 'say "z"', "x, y"]
    assert len(read(run("predict", tmp_path / "m.petiole", path, "-q").stdout)) == 40
    wrong = refused("fit", path, "-t", "y", "--drop", '"a ""b"", d"', "-o", tmp_path / "n.petiole")
    assert wrong == """--drop a "b", d: wide.csv has no such column; did you mean 'a "b", c'?"""
    run("fit", path, "-t", "y", "-m", "pet", "-q", "--drop", '"a ""b"", c",c0', "-o", tmp_path / "n.petiole")
    assert petiole.load(tmp_path / "n.petiole").n_features_in_ == 199


def test_standard_input_and_arff(folder, tmp_path):
    text = as_csv(table(50))
    run("fit", "-", "-t", "y", "--id", "id", "-m", "pet", "-q", "-o", tmp_path / "m.petiole", stdin=text)
    arff = "@relation r\n@attribute a real\n@attribute y {u, v}\n@data\n" + "1,u\n2,v\n?,u\n3,v\n" * 5
    run("fit", "-", "-t", "y", "-m", "pet", "-q", "-o", tmp_path / "n.petiole", stdin=arff)
    assert petiole.load(tmp_path / "n.petiole").classes_.tolist() == ["u", "v"]


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("a,y\n1,u\n2,v\n", ["-t", "Y"], "--target Y: standard input has no such column; "),
        ("size,kind\n1,u\n2,v\n", ["-t", "kinds"], "did you mean 'kind'?"),
        ("a,y\n1,u\n2,v\n", [], "--target is required: name the column of standard input that holds the class; its"),
        ("", ["-t", "y"], "standard input is empty"),
        ("a,y\n", ["-t", "y"], "there is a header but no rows"),
        ("a,y\n1,u\n2,u\n", ["-t", "y"], "all rows of standard input are of the class 'u'"),
        ("a,y\n1,u\n2,\n", ["-t", "y"], "1 of 2 rows of standard input have no class, the first is row 2"),
        ("y\nu\nv\n", ["-t", "y"], "--target y: standard input has no other column: there is nothing to predict"),
        ("a,y\n1,u\n2,v\n", ["-t", "y", "--nominal", "b"], "--nominal b: standard input has no such column"),
        ("a,y\n1,u\n2,v\n", ["-t", "y", "--drop", "b"], "--drop b: standard input has no such column"),
        ("a,y\n1,u\nx,v\n", ["-t", "y", "--numeric", "a"], "'x' is not a number"),
        ("a,y\n1,u\n2,v\n", ["-t", "y", "--numeric", "a", "--nominal", "a"], "is also named by --numeric"),
        ("a,y\n1,u\n2,v\n", ["-t", "y", "--drop", "y"], "--drop y: is also named by --target"),
        ("a,w,y\n1,1,u\n2,-1,v\n", ["-t", "y", "--weight", "w"], "sample_weight[1]=-1.0: must not be negative"),
        ("a,y\n1,u\n2,v\n", ["-t", "y", "-m", "probability-forrest"], "did you mean 'probability-forest'?"),
        ("a,y\n1,u\n2,v\n", ["-t", "y", "-m", "random-forest"], "is scikit-learn's, and model files hold"),
        ("a,y\n1,u\n2,v\n", ["-t", "y", "--set", "n_estimator=3"], "did you mean 'n_estimators'?"),
        ("a,y\n1,u\n2,v\n", ["-t", "y", "--set", "n_estimators"], "write name=value"),
        ("a,y\n1,u\n2,v\n", ["-t", "y", "--set", "n_estimators=0"], "n_estimators=0: must be a whole number"),
        ("a,y\n1,u\n2,v\n", ["-t", "y", "-j", "0"], "--jobs 0: must be a whole number at least 1"),
        ("a,y\n1,u\n2,v,3\n", ["-t", "y"], "line 3: 3 cells, but the header names 2 columns"),
        ("a,y\n1,u\n1e999,v\n", ["-t", "y"], "infinity"),
    ],
)  # fmt: skip
def test_what_fit_refuses(tmp_path, text, options, message):
    assert message in refused("fit", "-", "-q", "-o", tmp_path / "m.petiole", *options, stdin=text)
    assert [*tmp_path.iterdir()] == []


def test_encodings_of_training_files(tmp_path):
    path = tmp_path / "latin.csv"
    path.write_bytes("town,y\nZürich,u\nBern,v\nBern,u\n".encode("latin-1"))
    arguments = ("fit", path, "-t", "y", "-m", "pet", "-q", "-o", tmp_path / "m.petiole")
    line = refused(*arguments)
    assert "latin.csv, line 2: byte 0xfc" in line and "name its encoding, such as --encoding latin-1" in line
    run(*arguments, "--encoding", "latin-1")
    assert petiole.load(tmp_path / "m.petiole").encoder_.categories[0].tolist() == ["Bern", "Zürich"]
    assert "line 2: byte 0xfc is not ascii" in refused(*arguments, "--encoding", "ascii")


def test_places_that_cannot_be_written_to_are_told_before_the_work(folder, tmp_path):
    arguments = ("fit", folder / "train.csv", "-t", "y", "-q", "-o")
    assert "there is no folder" in refused(*arguments, tmp_path / "absent" / "m.petiole")
    assert "is a folder" in refused(*arguments, tmp_path)


# Evaluate.


def test_scores_are_those_of_the_naive_version(folder, model):
    arguments = ("evaluate", model, folder / "test.csv", "-t", "y", "-q", "--json", "--draws", 60)
    found = json.loads(run(*arguments, "--costs", "no:yes=5,yes:no=1").stdout)
    rows = naive_cli.rows_of(folder / "test.csv")
    proba = naive_cli.probabilities(petiole.load(model), folder / "test.csv")
    labels = [row["y"] for row in rows]
    scores = found["scores"]
    assert found["rows"] == 80
    assert scores["log_loss"]["value"] == pytest.approx(
        naive_cli.log_loss(labels, proba, ["no", "yes"], log_loss_floor(2))
    )
    assert scores["accuracy"]["value"] == pytest.approx(
        np.mean([["no", "yes"][row.argmax()] == label for row, label in zip(proba, labels, strict=True)])
    )
    decided = naive_cli.cheapest(proba, {"no": {"no": 0, "yes": 5}, "yes": {"no": 1, "yes": 0}}, ["no", "yes"])
    paid = [{"no": 5, "yes": 1}[said] if said != label else 0 for (said, _), label in zip(decided, labels, strict=True)]
    assert scores["cost"]["value"] == pytest.approx(np.mean(paid))
    assert all(score["low"] <= score["value"] <= score["high"] for score in scores.values())
    assert scores["log_loss"]["low"] < scores["log_loss"]["high"]


def test_the_table_of_scores_and_files_of_it(folder, model, tmp_path):
    result = run("evaluate", model, folder / "test.csv", "--target", "y", "--draws", 60, "-o", tmp_path / "s.csv")
    assert re.search(r"log-loss \(bits\) +0\.\d{4} +0\.\d{4} to \d\.\d{4}", result.stdout)
    assert [row["score"] for row in naive_cli.rows_of(tmp_path / "s.csv")] == [
        "log_loss",
        "brier",
        "ece",
        "aulc",
        "accuracy",
    ]


def test_weights_in_evaluation(folder, model, tmp_path):
    rows = naive_cli.rows_of(folder / "test.csv")
    weighted = write(tmp_path / "w.csv", [row | {"w": 1 + number % 3} for number, row in enumerate(rows)])
    repeated = write(tmp_path / "r.csv", [row for number, row in enumerate(rows) for _ in range(1 + number % 3)])
    values = []
    for source, options in ((weighted, ["--weight", "w"]), (repeated, [])):
        result = run("evaluate", model, source, "-t", "y", "-q", "--json", "--draws", 50, *options)
        values.append([score["value"] for score in json.loads(result.stdout)["scores"].values()])
    np.testing.assert_allclose(*values)


def test_what_evaluate_refuses(folder, model, tmp_path):
    run("fit", "sklearn-wine", "-m", "naive-bayes", "-q", "-o", tmp_path / "wine.petiole")
    assert "--target is required" in refused("evaluate", tmp_path / "wine.petiole", folder / "test.csv")
    assert "did you mean 'y'?" in refused("evaluate", model, folder / "test.csv", "-t", "yy")
    rows = table(20)
    rows[7]["y"] = "perhaps"
    path = write(tmp_path / "odd.csv", rows)
    assert "row 8 of odd.csv has 'perhaps', but the model's classes are no, yes" in refused(
        "evaluate", model, path, "-t", "y"
    )
    rows[7]["y"] = ""
    assert "row 8 of odd.csv has no class: remove such rows, or leave them out with --drop-missing-target" in refused(
        "evaluate", model, write(path, rows), "-t", "y"
    )


def test_a_data_set_by_name_is_evaluated_by_its_own_labels(tmp_path):
    run("fit", "sklearn-wine", "-m", "pet", "-q", "-o", tmp_path / "m.petiole")
    found = json.loads(run("evaluate", tmp_path / "m.petiole", "sklearn-wine", "-q", "--json", "--draws", 40).stdout)
    assert found["rows"] == 178 and found["scores"]["accuracy"]["value"] > 0.9


# Compare.


def test_methods_are_compared_and_the_winner_is_kept(folder, tmp_path):
    arguments = (
        "compare",
        folder / "train.csv",
        "-t",
        "y",
        "--id",
        "id",
        "-m",
        "pet,naive-bayes,random-forest",
        "-j",
        1,
    )
    options = ("--folds", 2, "--repeats", 1, "--costs", "no:yes=5,yes:no=1")
    result = run(*arguments, *options, "--save", tmp_path / "w.petiole", "-o", tmp_path / "t.csv")
    for word in ("log-loss (bits)", "Brier", "ECE", "AULC", "accuracy", "cost", "fit (s)"):
        assert word in result.stdout
    assert re.search(r"\d\.\d{3}–\d\.\d{3}", result.stdout)
    rows = naive_cli.rows_of(tmp_path / "t.csv")
    assert {row["method"] for row in rows} == {"pet", "naive-bayes", "random-forest"}
    assert all(float(row["cost_low"]) <= float(row["cost"]) <= float(row["cost_high"]) for row in rows)
    assert petiole.load(tmp_path / "w.petiole").encoder_.feature_names == ["size", "town", "grade"]


def test_my_estimator_and_costs_of_actions_that_are_no_classes(folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my_models_of_this_test.py").write_text(
        "from sklearn.naive_bayes import GaussianNB\ndef make():\n    return GaussianNB()\n"
    )
    found = json.loads(
        run("compare", folder / "train.csv", "-t", "y", "--id", "id", "-m", "pet", "-j", 1, "-q", "--json",
            "--folds", 2, "--with", "my_models_of_this_test:make", "--with", "sklearn.tree:DecisionTreeClassifier",
            "--costs", "grant:no=20,grant:yes=-1,refuse:*=0", "--save", tmp_path / "m.petiole").stdout
    )  # fmt: skip
    assert {method["name"] for method in found["methods"]} == {"pet", "make", "DecisionTreeClassifier"}
    assert found["decisions"] == ["grant", "refuse"] and found["cost"] == [[20, -1], [0, 0]]
    assert type(petiole.load(tmp_path / "m.petiole")).__name__ == "PETClassifier"


def test_a_report_has_groups_names_of_rows_and_the_next_commands(folder, tmp_path, monkeypatch):
    arguments = ("compare", folder / "train.csv", "-t", "y", "--id", "id", "-m", "pet,naive-bayes", "-j", 1, "-q")
    costs = "grant:no=5,grant:yes=-1,refuse:*=0"
    run(*arguments, "--folds", 2, "--costs", costs, "--report", tmp_path / "page.html", "--by", "town")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert '<section id="groups"' in page and re.search(r"<td>r\d+</td>", page)
    nexts = html.unescape(re.search(r'id="next-commands">([^<]+)<', page)[1]).splitlines()
    assert nexts[0].startswith("petiole fit ") and f"--costs '{costs}'" in nexts[1]
    monkeypatch.chdir(tmp_path)
    run(*shlex.split(nexts[0])[1:], "-q", "-j", 1)
    (tmp_path / "NEW.csv").write_text((folder / "test.csv").read_text())
    run(*shlex.split(nexts[1])[1:], "-q", "-j", 1)
    assert {row["decision"] for row in naive_cli.rows_of(tmp_path / "decisions.csv")} <= {"grant", "refuse"}
    assert "is for the report; add --report" in refused(*arguments, "--by", "town")
    assert "did you mean 'town'?" in refused(*arguments, "--by", "twon", "--report", tmp_path / "page.html")


@pytest.mark.parametrize("missing", ["Rome", "=Rome,?", '=x,"Oslo, old"', "Rome,NA", "="])
def test_the_next_commands_have_the_same_missing_values(missing):
    from petiole.cli.io.labelled import make_roles, read_markers
    from petiole.cli.next_commands import _columns

    option, again = _columns(make_roles(missing=missing))
    assert option == "--missing" and read_markers(again) == read_markers(missing)
    assert len(again) <= len(missing)


def test_a_bad_output_is_refused_before_the_work(folder, tmp_path, monkeypatch):
    def work(*_, **__):
        raise AssertionError("the work has begun")

    monkeypatch.setattr("petiole.study.compare_methods", work)
    assert "end its name" in refused("compare", folder / "train.csv", "-t", "y", "-o", tmp_path / "scores.xyz")


def test_a_test_set_is_used_and_json_is_json(folder, tmp_path):
    rows = naive_cli.rows_of(folder / "test.csv")
    rows[0]["town"] = "Paris"
    test = write(tmp_path / "test.csv", [dict(reversed(row.items())) for row in rows])
    arguments = ("compare", folder / "train.csv", "-t", "y", "--id", "id", "-m", "pet,naive-bayes", "-j", 1)
    result = run(*arguments, "--test", test, "-q", "--json")
    found = json.loads(result.stdout)
    assert result.stderr == "" and found["winner"] in ("pet", "naive-bayes")


def test_what_compare_refuses(folder, tmp_path):
    arguments = ("compare", folder / "train.csv", "-t", "y", "--id", "id", "-q", "-j", 1)
    assert "--methods pett: is unknown; did you mean 'pet'?" in refused(*arguments, "-m", "pett")
    assert "end its name with one of" in refused(*arguments, "-o", tmp_path / "table.xyz")
    assert "--report" in refused(*arguments, "-o", tmp_path / "page.html")
    assert "write module:object" in refused(*arguments, "--with", "numpy")
    assert "cannot be imported" in refused(*arguments, "--with", "no_such_module:model")
    assert "is not an estimator" in refused(*arguments, "--with", "math:pi")
    assert "sklearn.naive_bayes has no 'GausianNB'; did you mean" in refused(
        *arguments, "--with", "sklearn.naive_bayes:GausianNB"
    )
    rows = table(20)
    rows[4]["y"] = "maybe"
    path = write(tmp_path / "odd.csv", rows)
    assert "row 5 is of the class 'maybe', which train.csv does not have" in refused(*arguments, "--test", path)
    lacking = write(path, [{name: cell for name, cell in row.items() if name != "size"} for row in rows])
    assert "has no column 'size', which the model needs" in refused(*arguments, "--test", lacking)
    assert "there is no folder" in refused(*arguments, "--save", tmp_path / "absent" / "m.petiole")


# Explain.


def _fifth_row(folder):
    row = naive_cli.rows_of(folder / "test.csv")[4]
    cells = [None if row[name] in naive_cli.MISSING else row[name] for name in ("size", "town", "grade")]
    return np.array(
        [[cell if name == 1 or cell is None else float(cell) for name, cell in enumerate(cells)]], dtype=object
    )


def test_a_tree_explains_itself(folder, model):
    fitted = petiole.load(model)
    result = run("explain", model, folder / "test.csv", "--row", 5, "--class", "yes", "--json")
    found = json.loads(result.stdout)
    proba = naive_cli.probabilities(fitted, folder / "test.csv")[4]
    np.testing.assert_allclose([found["probabilities"][label] for label in ("no", "yes")], proba)
    path = found["path"]
    assert path[0]["rule"] == "all rows" and path[0]["rows"] == "160"
    nodes = fitted.tree_.path(int(fitted.apply(_fifth_row(folder))[0]))
    counts = fitted.tree_.inbag_class_counts[nodes]
    shown = [[float(step[f"of {label}"].replace(",", "")) for label in ("no", "yes")] for step in path]
    np.testing.assert_allclose(shown, counts, atol=0.005)
    if "leaves" not in found:
        assert path[-1]["estimate of yes"] == f"{proba[1]:.4f}"
    by_id = run("explain", model, folder / "test.csv", "--id", "id=r4", "--class", "yes", "--json")
    assert by_id.stdout == result.stdout
    shown = run("explain", model, folder / "test.csv", "--row", 5).stdout
    assert "From the root to the leaf" in shown and "Leaf estimator: HGS" in shown


def test_missing_values_show_all_leaves(folder, tmp_path):
    rows = naive_cli.rows_of(folder / "train.csv")
    run("fit", folder / "train.csv", "-t", "y", "--id", "id", "-m", "pet", "-q", "-o", tmp_path / "m.petiole")
    rows[0] |= {"size": "", "town": "", "grade": ""}
    path = write(tmp_path / "empty.csv", rows[:1])
    found = json.loads(run("explain", tmp_path / "m.petiole", path, "--row", 1, "--class", "yes", "--json").stdout)
    assert sum(float(leaf["weight"]) for leaf in found["leaves"]) == pytest.approx(1, abs=0.01)
    assert all(value["value"] == "missing" for value in found["values"])


@pytest.mark.parametrize(
    ("method", "sections"),
    [
        ("probability-forest", {"components", "trees", "tests"}),
        ("mob-esp", {"trees", "tests"}),
        ("b-pets", {"trees", "tests"}),
        ("lazy-option-trees", {"paths"}),
        ("naive-bayes", {"factors"}),
        ("dual", {"steps", "trees"}),
    ],
)
def test_every_method_explains_itself(folder, tmp_path, method, sections):
    trees = [] if method == "naive-bayes" else ["--set", f"{'estimator__' if method == 'dual' else ''}n_estimators=6"]
    run(
        "fit",
        folder / "train.csv",
        "-t",
        "y",
        "--id",
        "id",
        "-m",
        method,
        *trees,
        "-q",
        "-j",
        1,
        "-o",
        tmp_path / "m.petiole",
    )
    result = run("explain", tmp_path / "m.petiole", folder / "test.csv", "--row", 2, "--json", "-q")
    found = json.loads(result.stdout)
    assert sections <= found.keys()
    assert sum(found["probabilities"].values()) == pytest.approx(1)
    assert "P(" in run("explain", tmp_path / "m.petiole", folder / "test.csv", "--row", 2, "--trees", 1, "-q").stdout
    assert run("info", tmp_path / "m.petiole").exit_code == 0


def test_explanations_and_predictions_have_signed_reasons(folder, tmp_path):
    run("fit", folder / "train.csv", "-t", "y", "--id", "id", "-m", "b-pets", "--set", "n_estimators=6", "-q", "-j", 1,
        "-o", tmp_path / "m.petiole")  # fmt: skip
    arguments = ("explain", tmp_path / "m.petiole", folder / "test.csv", "--row", 2, "--class", "yes", "-q")
    found = json.loads(run(*arguments, "--reasons", 2, "--json").stdout)
    assert len(found["reasons"]) == 2 and {"column", "value", "contribution"} == found["reasons"][0].keys()
    added = sum(float(row["adds to P(yes)"]) for row in found["contributions"])
    assert added == pytest.approx(found["probabilities"]["yes"], abs=0.001)
    told = run(*arguments).stdout
    assert "What each column adds" in told and ("Raised by" in told or "Lowered by" in told)
    rows = read(run("predict", tmp_path / "m.petiole", folder / "test.csv", "--reasons", 2, "-q").stdout)
    first = found["reasons"][0]
    assert rows[1]["reason_1"] == f"{first['column']} = {first['value']} ({first['contribution']:+.3f})"
    assert "reason_2" in rows[0] and "reason_3" not in rows[0]
    run("fit", folder / "train.csv", "-t", "y", "-m", "naive-bayes", "-q", "-o", tmp_path / "b.petiole")
    assert "no trees to explain" in refused("predict", tmp_path / "b.petiole", folder / "test.csv", "--reasons", 2)


def test_what_explain_refuses(folder, model):
    arguments = ("explain", model, folder / "test.csv")
    assert "either --row N or --id COLUMN=VALUE" in refused(*arguments)
    assert "either --row N or --id COLUMN=VALUE" in refused(*arguments, "--row", 1, "--id", "id=r4")
    assert "--row 81: " in refused(*arguments, "--row", 81)
    assert "--id id=x: no row has this value" in refused(*arguments, "--id", "id=x")
    assert "--class maybe: the classes are no, yes" in refused(*arguments, "--row", 1, "--class", "maybe")


# Info, export, datasets, reproduce.


def test_info_tells_what_is_in_a_model(model):
    found = json.loads(run("info", model, "--json").stdout)
    assert found["class"] == "PETClassifier" and found["classes"] == ["no", "yes"]
    assert found["columns"][1] == {"name": "town", "kind": "nominal", "values": "3: Bern, Oslo, old, Rome"}
    assert "leaf estimator" in run("info", model).stdout
    assert "absent" in refused("info", "absent.petiole")


def test_a_tree_is_exported_as_text_and_picture(folder, model, tmp_path):
    text = run("export", model, "-o", "-").stdout
    assert text.strip() == petiole.load(model).export_text().strip()
    run("export", model, "-o", tmp_path / "t.txt", "--depth", 1, "-q")
    assert 0 < len((tmp_path / "t.txt").read_text()) < len(text)
    run("export", model, "-o", tmp_path / "t.svg", "-q")
    assert "<svg" in (tmp_path / "t.svg").read_text()
    assert "end the file's name with" in refused("export", model, "-o", tmp_path / "t.xyz")
    run("fit", folder / "train.csv", "-t", "y", "-m", "naive-bayes", "-q", "-o", tmp_path / "b.petiole")
    assert "is for a single tree" in refused("export", tmp_path / "b.petiole", "-o", tmp_path / "b.txt")
    assert not (tmp_path / "b.txt").exists()


def test_a_model_is_exported_as_c_and_onnx(model, tmp_path):
    from petiole.export import to_c

    told = run("export", model, "-o", tmp_path / "my model.c").stderr
    source = (tmp_path / "my model.c").read_text(encoding="utf-8")
    assert source == to_c(petiole.load(model), name="my_model")
    tables = re.search(r"Tables: (\d+) bytes", source)[1]
    assert f"{len(source.encode()):,} bytes, tables {int(tables):,} bytes" in told
    pytest.importorskip("onnx")
    run("export", model, "-o", tmp_path / "m.onnx", "-q")
    assert (tmp_path / "m.onnx").stat().st_size > 500


def test_data_sets_are_listed_described_and_written(tmp_path, monkeypatch):
    monkeypatch.delenv("PETIOLE_DATA", raising=False)
    monkeypatch.setenv("PETIOLE_CACHE", str(tmp_path / "cache"))
    assert {"iris", "wine", "digits", "breast-cancer"} <= json.loads(run("datasets", "list", "--json").stdout).keys()
    found = json.loads(run("datasets", "describe", "iris", "--json").stdout)
    assert found["rows"] == 150 and found["classes"]["setosa"] == 50
    assert "petal width" in run("datasets", "describe", "iris").stdout
    run("datasets", "write", "iris", "-o", tmp_path / "iris.csv", "-q")
    rows = naive_cli.rows_of(tmp_path / "iris.csv")
    assert len(rows) == 150 and rows[0]["sepal length (cm)"] == "5.1" and rows[0]["class"] == "setosa"
    assert run("datasets", "write", "iris").stdout == (tmp_path / "iris.csv").read_text()
    run("datasets", "write", "iris", "-o", tmp_path / "iris.parquet", "-q")
    import pyarrow.parquet as parquet

    assert parquet.read_table(tmp_path / "iris.parquet")["petal width (cm)"].type == "double"
    assert "the nearest names are" in refused("datasets", "describe", "irisses")


def test_wrong_commands_are_told():
    result = run("predct", code=2)
    assert "predict" in result.stderr
    assert run("--version").stdout == f"petiole {petiole.__version__}\n"
    assert "compare" in run("--help").stdout


# Parts.


def test_names_match_by_spelling_and_then_by_meaning():
    assert Names(["1", "1.0", "2.0"]).codes(["1", "1.0", "1.00", "2", " 2.0 "]).tolist() == [0, 1, -2, 2, 2]
    assert Names([True, False]).codes(["true", "FALSE", "yes"]).tolist() == [0, 1, -2]
    assert Names([0, 1], ["", "?"]).codes(["?", " ? ", None, "0"]).tolist() == [-1, -1, -1, 0]


def test_costs_by_name():
    costs = read_costs("*:*=1, *:b=7, a:c=2, b:b=-3", ["a", "b", "c"])
    assert costs.decisions == ["a", "b", "c"]
    np.testing.assert_array_equal(costs.cost, [[0, 7, 2], [1, -3, 1], [1, 7, 0]])
    np.testing.assert_array_equal(read_costs("0:1.0=5,1:0=2", [0, 1]).cost, [[0, 5], [2, 0]])
    assert read_costs(None, [0, 1]) is None
    others = read_costs("grant:bad=20,grant:good=-1,refuse:*=0", ["bad", "good"])
    assert others.decisions == ["grant", "refuse"]
    np.testing.assert_array_equal(others.cost, [[20, -1], [0, 0]])


def test_progress_appears_after_a_while_and_tells_the_time_left(monkeypatch):
    stderr = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stderr)
    now = [0.0]
    monkeypatch.setattr("petiole.cli.progress.time.monotonic", lambda: now[0])
    waiting = Waiting("working")
    waiting.start(10)
    waiting.advance()
    assert stderr.getvalue() == ""
    now[0] = 12.0
    waiting.advance("half")
    waiting.stop()
    assert stderr.getvalue() == "half: 20%, 48 s left\n"


def test_work_of_unknown_length_says_how_long_it_has_taken(monkeypatch):
    stderr = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stderr)
    now = [0.0]
    monkeypatch.setattr("petiole.cli.progress.time.monotonic", lambda: now[0])
    waiting = Waiting("fitting")
    waiting.start(0)
    for seconds in (1.0, 11.0, 15.0, 22.0):
        now[0] = seconds
        waiting.reach(seconds)
    waiting.stop()
    assert stderr.getvalue() == "fitting: 11 s so far\nfitting: 22 s so far\n"


def test_the_time_of_a_fit_is_estimated_from_a_few_of_its_rows(monkeypatch):
    from petiole.cli import methods
    from petiole.cli.methods import make_model

    fitted = []
    real = petiole.PETClassifier.fit
    monkeypatch.setattr(
        petiole.PETClassifier, "fit", lambda self, X, y, **more: fitted.append(len(X)) or real(self, X, y, **more)
    )
    monkeypatch.setattr(methods, "_is_watched", lambda X: True)
    random = np.random.default_rng(0)
    X, y = random.normal(size=(9600, 3)), random.integers(0, 2, 9600)
    assert methods._expected_seconds(make_model("pet", (), 0, 1), X, y, np.ones(9600)) > 0
    assert fitted == [300]
    assert methods._expected_seconds(make_model("pet", (), 0, 1), X[:4000], y[:4000], None) == 0.0 and len(fitted) == 1


COMMANDS = [
    *("compare", "fit", "predict", "evaluate", "explain", "update", "info", "export", "reproduce"),
    *("datasets list", "datasets describe", "datasets write", "datasets fetch"),
]


@pytest.mark.parametrize("command", COMMANDS)
def test_help_fits_eighty_columns_and_says_what_each_option_is(command, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERM", "dumb")
    told = run(*command.split(), "--help").stdout
    lines = told.splitlines()
    assert max(map(len, lines)) <= 80
    text = told.partition("╭")[0].partition("Usage:")[2].split("\n")[2:]
    for line, after in itertools.pairwise(text):  # a line ends where the next word does not fit
        assert not after.strip() or not line.strip() or len(line.rstrip()) + len(after.split()[0]) >= 77, told
    options = [line for line in lines if line.startswith("│ --") or line.startswith("│ *  --")]
    assert options
    for line in options:
        words = line.strip("│ ").split()
        assert words[-1] and "…" not in line  # nothing is cut off
        assert "<bool>" not in words or words[0] == "--help"  # flags have no value
        assert len(line.strip("│ ")) > len(words[0]) + 8, line  # there is help beside it
    positions = [told.find(f"─ {title} ─") for title in ("Options", "Columns", "Output", "Run")]
    assert positions[0] >= 0


def test_the_options_that_commands_share_read_alike(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERM", "dumb")

    def names(command):
        return set(re.findall(r"^│ (?:\*  )?(--[a-z-]+)", run(command, "--help").stdout, re.MULTILINE))

    cells = {"--id", "--drop", "--missing", "--encoding", "--separator", "--decimal", "--thousands"}
    labels = cells | {"--target", "--weight", "--drop-missing-target"}
    assert labels <= names("update")
    assert labels | {"--target-bins"} <= names("evaluate")
    for command in ("compare", "fit"):
        assert labels | {"--target-bins", "--nominal", "--numeric"} <= names(command), command
    assert cells <= names("predict") and not {"--target", "--weight"} & names("predict")
    own = {"--methods", "--with", "--test", "--folds", "--repeats", "--save", "--report", "--by", "--output", "--costs"}
    assert own <= names("compare")


def test_a_bar_on_a_terminal(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    stderr = Terminal()
    monkeypatch.setattr(sys, "stderr", stderr)
    monkeypatch.setattr("petiole.cli.progress.PATIENCE", 0.0)
    import time

    with expecting("fitting", 10.0, quiet=False):
        time.sleep(0.5)
    assert "fitting" in stderr.getvalue()
