"""Messy files on the command line: what fit recognises, predict and evaluate read in the same way."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

import petiole
from command_line import read, refused, run

TREES = ["-m", "pet"]


def rows_of(n, seed=0):
    random = np.random.default_rng(seed)
    size, price = random.normal(size=n), random.uniform(500, 5000, size=n)
    day = np.datetime64("2021-01-01") + random.integers(0, 700, size=n)
    label = np.where(size + price / 2000 + 0.1 * random.normal(size=n) > 1.3, "yes", "no")
    return size, price, day, label


def german(n, seed=0):
    size, price, day, label = rows_of(n, seed)
    swapped = str.maketrans(".,", ",.")
    lines = [
        f"{f'{s:.3f};{p:,.2f} €'.translate(swapped)};{d.astype(object):%d.%m.%Y};{y}"
        for s, p, d, y in zip(size, price, day, label, strict=True)
    ]
    return "size;price;day;y\n" + "\n".join(lines) + "\n"


def plain(n, seed=0):
    lines = [f"{s:.3f},{p:.2f},{d},{y}" for s, p, d, y in zip(*rows_of(n, seed), strict=True)]
    return "size,price,day,y\n" + "\n".join(lines) + "\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("intake")
    for name, text in {
        "german": german(300),
        "plain": plain(300),
        "new": german(40, 1),
        "newplain": plain(40, 1),
    }.items():
        (folder / f"{name}.csv").write_text(text, encoding="utf-8")
    for name in ("german", "plain"):
        told = run("fit", folder / f"{name}.csv", "-t", "y", *TREES, "-o", folder / f"{name}.petiole")
        (folder / f"{name}.txt").write_text(told.stderr, encoding="utf-8")
    return folder


def test_a_file_in_another_spelling_gives_the_same_model(folder):
    told = (folder / "german.txt").read_text(encoding="utf-8")
    assert "numeric      2: size, price" in told and "dates        1: day (days, year, month, weekday)" in told
    assert "note: size: read as numbers with a decimal comma, such as" in told
    assert "note: price: read as numbers with a decimal comma and '.' between thousands and the unit '€'" in told
    assert "note: day: read as dates such as 31.12.2021" in told
    one, other = (petiole.load(folder / f"{name}.petiole") for name in ("german", "plain"))
    assert one.tree_.structure == other.tree_.structure
    assert one.encoder_.feature_names == ["size", "price", "day (days)", "day (year)", "day (month)", "day (weekday)"]
    assert one.n_features_in_ == 3


def test_predict_and_evaluate_read_as_the_fit_did(folder):
    german = run("predict", folder / "german.petiole", folder / "new.csv", "-q").stdout
    assert german == run("predict", folder / "plain.petiole", folder / "newplain.csv", "-q").stdout
    found = json.loads(run("evaluate", folder / "german.petiole", folder / "new.csv", "-q", "--json").stdout)
    assert found["rows"] == 40 and found["scores"]["accuracy"]["value"] > 0.7
    assert "Column" not in run("explain", folder / "german.petiole", folder / "new.csv", "--row", 2).stderr


def test_batches_of_any_size_read_the_same(folder):
    one = run("predict", folder / "german.petiole", folder / "new.csv", "-q", "--batch", 3).stdout
    assert one == run("predict", folder / "german.petiole", folder / "new.csv", "-q").stdout


def test_a_file_in_a_third_spelling_is_an_error_with_a_remedy(folder):
    told = refused("predict", folder / "plain.petiole", folder / "new.csv", "-q")
    assert "is not a number, and the model was fitted to numbers here (--decimal , if that is the decimal sign)" in told
    told = refused("predict", folder / "german.petiole", folder / "newplain.csv", "-q")
    assert "is not a number, and the model was fitted to numbers with a decimal comma" in told
    assert "(--decimal . if that is the decimal sign)" in told


def test_arrow_files_and_dates_of_their_own(folder, tmp_path):
    import polars as pl

    frame = pl.read_csv(folder / "newplain.csv", try_parse_dates=True)
    frame.write_parquet(tmp_path / "new.parquet")
    ours = run("predict", folder / "plain.petiole", tmp_path / "new.parquet", "-q").stdout
    assert ours == run("predict", folder / "plain.petiole", folder / "newplain.csv", "-q").stdout
    pl.read_csv(folder / "plain.csv", try_parse_dates=True).write_parquet(tmp_path / "train.parquet")
    run("fit", tmp_path / "train.parquet", "-t", "y", *TREES, "-q", "-o", tmp_path / "m.petiole")
    assert run("predict", tmp_path / "m.petiole", folder / "newplain.csv", "-q").stdout == ours


def test_strays_are_told_in_options_and_read_alike_later(tmp_path):
    lines = [f"{20 + i % 60},{'yes' if i % 60 > 25 else 'no'}" for i in range(400)]
    lines[17] = "51 years,no"
    (tmp_path / "ages.csv").write_text("age,y\n" + "\n".join(lines) + "\n")
    told = run("fit", tmp_path / "ages.csv", "-t", "y", *TREES, "-o", tmp_path / "m.petiole").stderr
    assert "note: age: 399 of 400 cells are numbers; line 19 ('51 years') is not, and counts as missing" in told
    assert "(--nominal age keeps texts)" in told and "kinds=" not in told
    answers = run("predict", tmp_path / "m.petiole", "-", stdin="age\n47 years\n30\n")
    assert (
        len(read(answers.stdout)) == 2
        and "1 cell cannot be read (such as '47 years') and counts as missing" in answers.stderr
    )
    refused_ = refused("fit", tmp_path / "ages.csv", "-t", "y", "--numeric", "age", "-o", tmp_path / "n.petiole")
    assert "declare it missing with --missing '51 years'" in refused_
    told = run("fit", tmp_path / "ages.csv", "-t", "y", *TREES, "--missing", "51 years", "-o", tmp_path / "n.petiole")
    assert "51" not in told.stderr
    assert "nan" not in run("predict", tmp_path / "n.petiole", "-", "-q", stdin="age\n51 years\n").stdout


def test_missing_markers_are_added_or_replaced(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,y\n" + "N/A,u\n1,v\n999,u\n2,v\n" * 5)
    found = run("fit", path, "-t", "y", *TREES, "--missing", "999", "-o", tmp_path / "m.petiole").stderr
    assert "t.csv: 20 rows, 10 cells missing" in found
    found = run("fit", path, "-t", "y", *TREES, "--missing", "=999", "-o", tmp_path / "m.petiole").stderr
    assert "categorical  1: a (3 categories)" in found


def test_separator_decimal_and_thousands_can_be_said(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a~b~y\n" + "".join(f"{i % 7},{i:03}~x{i % 2}~{'uv'[i % 2]}\n" for i in range(40)))
    signs = ["--separator", "~", "--decimal", ",", "-t", "y"]
    told = run("fit", path, *signs, *TREES, "-o", tmp_path / "m.petiole").stderr
    assert "numeric      1: a" in told and "decimal comma" in told
    run("predict", tmp_path / "m.petiole", path, "--separator", "~", "-q")
    assert "--separator='::': must be one character" in refused("fit", path, "--separator", "::", "-t", "y", "-o", "m")
    assert "--decimal=';': must be" in refused("fit", path, "--decimal", ";", "-t", "y", "-o", "m")


def test_rows_without_a_class(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b,y\n" + "".join(f"{i % 9},{i % 4},{['u', 'v', ''][i % 3]}\n" for i in range(60)))
    told = refused("fit", path, "-t", "y", "-o", tmp_path / "m.petiole")
    assert "--target y: 20 of 60 rows of t.csv have no class" in told and "--drop-missing-target" in told
    told = run("fit", path, "-t", "y", *TREES, "--drop-missing-target", "-o", tmp_path / "m.petiole").stderr
    assert "t.csv: 40 rows" in told and "20 of 60 rows have no class and are left out" in told
    assert "--drop-missing-target" in refused("evaluate", tmp_path / "m.petiole", path)
    found = run("evaluate", tmp_path / "m.petiole", path, "--drop-missing-target", "--json")
    assert json.loads(found.stdout)["rows"] == 40 and "20 rows have no class and are left out" in found.stderr


def test_numbers_as_a_target_ask_back_and_are_cut(tmp_path):
    path = tmp_path / "t.csv"
    values = np.random.default_rng(0).gamma(1.0, 50.0, size=200)
    path.write_text("a,b,y\n" + "".join(f"{v + i % 9:.2f},{i % 4},{v:.2f}\n" for i, v in enumerate(values)))
    told = refused("fit", path, "-t", "y", "-o", tmp_path / "m.petiole")
    assert "different numbers, from" in told and "--nominal y" in told
    assert re.search(r"with --target-bins \d[\d.]*(,\d[\d.]*)+, or", told)
    path.write_text("a,b,y\n" + "".join(f"{v + i % 9:.2f},{i % 4},{v:.0f}\n" for i, v in enumerate(values)))
    assert "different whole numbers" in refused("compare", path, "-t", "y")
    run("fit", path, "-t", "y", *TREES, "--target-bins", "20,100", "-q", "-o", tmp_path / "m.petiole")
    assert petiole.load(tmp_path / "m.petiole").classes_.tolist() == ["a) below 20", "b) 20 to 100", "c) 100 and more"]
    found = json.loads(run("evaluate", tmp_path / "m.petiole", path, "-q", "--json").stdout)
    assert found["rows"] == 200 and found["scores"]["accuracy"]["value"] > 0.8
    assert "must be increasing numbers" in refused("fit", path, "-t", "y", "--target-bins", "3,1", "-o", "m")


def test_counts_as_a_target_ask_back_and_codes_do_not(tmp_path):
    path, codes = tmp_path / "visits.csv", tmp_path / "codes.csv"
    visits = np.minimum(np.random.default_rng(0).geometric(0.4, size=300) - 1, 8)
    path.write_text("a,visits\n" + "".join(f"{v + i % 3},{v}\n" for i, v in enumerate(visits)))
    fit = ["fit", path, "-t", "visits", *TREES, "-o", tmp_path / "m.petiole"]
    told = run(*fit).stderr
    assert f"--target visits: holds {len(set(visits))} different whole numbers" in told
    proposed = re.search(r"--target-bins [\d,]+", told).group().split()
    assert "--nominal visits says that they are names" in told and "target_bins" not in told
    assert "counted" not in run(*fit, *proposed).stderr
    assert "counted" not in run(*fit, "--nominal", "visits").stderr
    assert "counted" in run("compare", path, "-t", "visits", "-m", "pet,naive-bayes", "--folds", 3).stderr
    for n_classes in (2, 3, 10):  # codes, about equally frequent
        codes.write_text("a,y\n" + "".join(f"{i % 17},{i % n_classes}\n" for i in range(300)))
        assert "counted" not in run("fit", codes, "-t", "y", *TREES, "-o", tmp_path / "c.petiole").stderr


def test_classes_cut_from_numbers_are_in_numeric_order_everywhere(tmp_path):
    path = tmp_path / "t.csv"
    values = np.random.default_rng(0).integers(0, 200, size=300)
    path.write_text("a,y\n" + "".join(f"{v + i % 9},{v}\n" for i, v in enumerate(values)))
    order = ["a) below 5", "b) 5 to 20", "c) 20 to 100", "d) 100 and more"]
    bins = ["-t", "y", "--target-bins", "5,20,100"]
    told = run("fit", path, *bins, *TREES, "-o", tmp_path / "m.petiole").stderr
    assert [told.find(name) for name in order] == sorted(told.find(name) for name in order)
    answers = run("predict", tmp_path / "m.petiole", path, "-q").stdout.splitlines()[0]
    assert answers == ",".join([*(f"p_{name}" for name in order), "prediction"])
    shown = run("info", tmp_path / "m.petiole").stdout
    assert -1 < shown.find(order[0]) < shown.find(order[1]) < shown.find(order[2]) < shown.find(order[3])
    page = tmp_path / "r.html"
    run("compare", path, *bins, "-m", "pet,naive-bayes", "--folds", 3, "--report", page, "-q")
    classes = json.loads(re.search(r'"classes":(\[.*?\])', page.read_text(encoding="utf-8")).group(1))
    assert classes == order


def test_compare_reads_the_test_rows_as_the_table_and_saves_how(folder, tmp_path):
    arguments = ["compare", folder / "german.csv", "-t", "y", "-m", "pet,naive-bayes", "--test", folder / "new.csv"]
    found = run(*arguments, "--save", tmp_path / "m.petiole", "--json", "-q")
    assert json.loads(found.stdout)["winner"] in ("pet", "naive-bayes")
    assert read(run("predict", tmp_path / "m.petiole", folder / "new.csv", "-q").stdout)


def test_the_index_of_pandas_and_none_as_a_class(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(",a,y\n" + "".join(f"{i},{i % 7},{['None', 'mild'][i % 7 > 3]}\n" for i in range(60)))
    told = run("fit", path, "-t", "y", *TREES, "-o", tmp_path / "m.petiole").stderr
    assert "a column without a name counts the rows" in told and "target       y (None " in told
    assert len(read(run("predict", tmp_path / "m.petiole", path, "-q").stdout)) == 60
