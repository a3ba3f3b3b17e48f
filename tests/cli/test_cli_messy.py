"""What else is odd about files that people have: units that come and go, nameless columns, titles, odd targets."""

from __future__ import annotations

import re

import numpy as np
import pytest

import petiole
from command_line import as_csv, read, refused, run, table
from petiole import datasets

TREES = ["-m", "pet"]


def write(path, header, rows):
    path.write_text(header + "\n" + "\n".join(rows) + "\n", encoding="utf-8")
    return path


def labels(numbers):
    return np.where(np.asarray(numbers) > 10, "yes", "no").tolist()


def test_numbers_with_a_unit_may_come_without_it_later(tmp_path):
    rates = np.random.default_rng(0).uniform(1, 20, 200).round(1).tolist()
    train = write(tmp_path / "train.csv", "rate,y", [f"{r}%,{y}" for r, y in zip(rates, labels(rates), strict=True)])
    run("fit", train, "-t", "y", *TREES, "-q", "-o", tmp_path / "m.petiole")
    with_unit = run("predict", tmp_path / "m.petiole", train)
    assert with_unit.stderr == ""
    bare = run("predict", tmp_path / "m.petiole", "-", stdin="rate\n" + "\n".join(map(str, rates)) + "\n")
    assert bare.stdout == with_unit.stdout
    assert "note: rate: 200 cells without the unit '%', which the model was fitted to: " in bare.stderr
    one = run("predict", tmp_path / "m.petiole", "-", stdin="rate\n14.1\n14.1%\n-\n")
    assert (
        "note: rate: 1 cell without the unit '%', which the model was fitted to: '14.1' is read as 14.1 %" in one.stderr
    )
    assert len({tuple(row.values()) for row in read(one.stdout)[:2]}) == 1
    assert "'14.1 m' is not a number" in refused("predict", tmp_path / "m.petiole", "-", stdin="rate\n14.1 m\n")


def test_reading_like_an_earlier_table_takes_numbers_without_their_unit(tmp_path):
    import io
    import warnings

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        earlier = datasets.read(io.StringIO("rate,size\n14.1%,1\n3%,2\n"))
        later = datasets.read(io.StringIO("rate,size\n14.1,1\n3%,2\n"), like=earlier)
    assert later["rate"].tolist() == [14.1, 3.0]
    assert "rate: 1 cell without the unit '%' of the earlier table: '14.1' is read as 14.1 %" in str(caught[-1].message)


def test_empty_columns_without_a_name_are_left_out(tmp_path):
    path = write(tmp_path / "t.csv", "a;;y;;", [f"{i % 7};;{'p' if i % 7 > 3 else 'q'};;" for i in range(60)])
    told = run("fit", path, "-t", "y", *TREES, "-o", tmp_path / "m.petiole").stderr
    assert "note: 3 empty columns without a name are left out" in told and "numeric      1: a" in told
    assert len(read(run("predict", tmp_path / "m.petiole", path, "-q").stdout)) == 60
    one = write(tmp_path / "one.csv", "a,y,", [f"{i % 7},{'p' if i % 7 > 3 else 'q'}," for i in range(60)])
    assert "an empty column without a name is left out" in run(
        "fit", one, "-t", "y", *TREES, "-o", tmp_path / "m.petiole"
    ).stderr  # fmt: skip
    full = write(tmp_path / "full.csv", "a,,y", [f"{i},7,p" for i in range(9)])
    assert "full.csv, line 1: column 2 has no name: name it" in refused(
        "fit", full, "-t", "y", "-o", tmp_path / "m.petiole"
    )


def test_a_title_above_the_header_is_named(tmp_path):
    path = write(tmp_path / "t.csv", "Sales of May\n\na,y", ["1,p", "2,q"])
    told = refused("fit", path, "-t", "y", "-o", tmp_path / "m.petiole")
    assert "if 'Sales of May' is a title, remove the lines above the names of the columns" in told


def test_dates_of_arff_are_dates_at_the_fit_and_later(tmp_path):
    days = np.datetime64("2021-01-01") + np.random.default_rng(0).integers(0, 700, 120)
    rows = [f"{day},{'late' if day > np.datetime64('2022-01-01') else 'early'}" for day in days]
    head = "@relation r\n@attribute day date yyyy-MM-dd\n@attribute y {early,late}\n@data"
    path = write(tmp_path / "t.arff", head, rows)
    told = run("fit", path, "-t", "y", *TREES, "-o", tmp_path / "m.petiole").stderr
    assert "dates        1: day (days, year, month, weekday)" in told
    answers = run("predict", tmp_path / "m.petiole", path, "-q").stdout
    assert answers == run("predict", tmp_path / "m.petiole", write(tmp_path / "t.csv", "day,y", rows), "-q").stdout
    assert [row["prediction"] for row in read(answers)] == [row.partition(",")[2] for row in rows]


def test_time_zones_and_times_are_told(tmp_path):
    rows = [
        f"2021-05-{1 + i % 28:02}T{i % 24:02}:00:00+02:00,{i % 24:02}:30,{'p' if i % 24 > 11 else 'q'}"
        for i in range(90)
    ]
    told = run(
        "fit", write(tmp_path / "t.csv", "at,clock,y", rows), "-t", "y", *TREES, "-o", tmp_path / "m.petiole"
    ).stderr
    assert "at: read as dates such as 2021-12-31, by the clock of each time zone" in told
    assert "clock: read as times such as 23:59" in told and "clock (hour)" in told


def test_targets_of_numbers_with_units_and_of_texts_ask_back(tmp_path):
    numbers = np.random.default_rng(0).uniform(0, 90, 200).round(1).tolist()
    path = write(tmp_path / "t.csv", "x,rate,note", [f"{n / 2},{n}%,remark {i}" for i, n in enumerate(numbers)])
    told = refused("fit", path, "-t", "rate", *TREES, "-o", tmp_path / "m.petiole")
    assert re.search(r"holds \d+ different numbers, from .*cut them into classes with --target-bins", told)
    cut = run("fit", path, "-t", "rate", "--target-bins", "30,60", *TREES, "-o", tmp_path / "m.petiole").stderr
    assert "a) below 30: " in cut
    told = refused("fit", path, "-t", "note", *TREES, "-o", tmp_path / "m.petiole")
    assert "--target note: holds 200 different texts in 200 rows" in told and "--nominal note" in told
    named = run("fit", path, "-t", "note", "--nominal", "note", *TREES, "-o", tmp_path / "m.petiole")
    assert "and 195 more have one row only" in named.stderr


@pytest.mark.parametrize("in_model", [True, False])
def test_prices_are_read_as_they_are_spelled(tmp_path, in_model):
    rows = table(150, missing=0)
    for number, row in enumerate(rows):
        row["price"] = f"${1000 + number:,}"
    path = tmp_path / "rows.csv"
    path.write_text(as_csv(rows), encoding="utf-8")
    left_out = "id" if in_model else "id,price"
    numeric = ["--numeric", "price"] if in_model else []
    run("fit", path, "-t", "y", "--id", left_out, *numeric, *TREES, "-q", "-o", tmp_path / "m.petiole")
    chosen = read(run("predict", tmp_path / "m.petiole", path, "--budget", 9000, "--price", "price", "-q").stdout)
    assert 1 <= len(chosen) <= 8
    assert all(float(row["price"]) == 999 + int(row["row"]) for row in chosen)


def test_a_report_has_the_row_numbers_of_the_file_and_how_it_was_read(tmp_path):
    rows = table(150, missing=0)
    for number, row in enumerate(rows):
        row["y"] = "" if number < 20 else row["y"]
        row["price"] = f"${1000 + number:,}"
    path, page = tmp_path / "rows.csv", tmp_path / "page.html"
    path.write_text(as_csv(rows), encoding="utf-8")
    run("compare", path, "-t", "y", "--drop-missing-target", "--id", "id", "-m", "pet,naive-bayes", "--folds", 2,
        "--repeats", 1, "-q", "--report", page)  # fmt: skip
    html = page.read_text(encoding="utf-8")
    uncertain = html.partition('<section id="uncertain"')[2].partition("</section>")[0]
    found = re.findall(r'<th scope="row">(\d+)</th><td>r(\d+)</td>', uncertain)
    assert len(found) == 15
    assert all(int(row) == int(name) + 1 for row, name in found)  # counted from 1, in the file
    data = html.partition('<section id="data"')[2]
    assert "20 of 150 rows have no class and are left out" in data and "the unit &#x27;$&#x27;" in data


def test_intervals_below_zero_can_be_read():
    from petiole.cli.commands.compare import _cell
    from petiole.study import Interval

    assert _cell("cost", Interval(-0.5, -0.75, -0.25)) == "-0.500\n-0.750 to -0.250"
    assert _cell("cost", Interval(0.5, 0.25, 0.75)) == "0.500\n0.250–0.750"


def test_the_calibration_error_is_inside_its_interval(tmp_path):
    import json

    rows = table(400, missing=0)
    (tmp_path / "a.csv").write_text(as_csv(rows[:200]), encoding="utf-8")
    (tmp_path / "b.csv").write_text(as_csv(rows[200:]), encoding="utf-8")
    run("fit", tmp_path / "a.csv", "-t", "y", "--id", "id", "-q", "-o", tmp_path / "m.petiole")
    for data in ("a.csv", "b.csv"):
        found = json.loads(run("evaluate", tmp_path / "m.petiole", tmp_path / data, "-q", "--json").stdout)["scores"][
            "ece"
        ]
        assert 0 <= found["low"] < found["value"] < found["high"] <= 1


def survey(path, target="Left"):
    """Answers that differ in capitals, in a feature and in the target."""
    random = np.random.default_rng(0)
    rows = []
    for _ in range(200):
        owns, says = random.random() < 0.5, random.random() < 0.5
        left = random.random() < (0.8 if owns else 0.2)
        rows.append(
            f"{random.choice(['Yes', 'yes', 'YES'] if owns else ['No', 'no'])},{'a' if says else 'b'},"
            f"{random.choice(['Yes', 'yes', ' YES '] if left else ['No', 'NO'])}"
        )
    return write(path, f"Owns a car,says,{target}", rows)


def test_classes_that_differ_only_in_capitals_ask_back(tmp_path):
    path, model = survey(tmp_path / "survey.csv"), tmp_path / "m.petiole"
    told = refused("fit", path, "-t", "Left", *TREES, "-o", model)
    assert told == (
        "--target Left: the classes 'NO' and 'No' differ only in capitals: --ignore-case Left takes them as one class, "
        "and --nominal Left as different ones"
    )
    kept = run("fit", path, "-t", "Left", "--nominal", "Left", *TREES, "-o", model).stderr
    assert "target       Left (NO 48, No 65, YES 32, Yes 28, yes 27)" in kept
    assert (
        "note: Owns a car: 5 categories, of which 'No' and 'no' differ only in capitals; --ignore-case 'Owns a car' "
        "makes them 2" in kept
    )
    told = run("fit", path, "-t", "Left", "--ignore-case", "Left,Owns a car", *TREES, "-o", model).stderr
    assert "target       Left (no 113, yes 87)" in told and "Owns a car (2 categories)" in told
    assert "capitals" not in told


def test_later_files_are_read_without_capitals_too(tmp_path):
    path, model = survey(tmp_path / "survey.csv"), tmp_path / "m.petiole"
    small = tmp_path / "small.csv"
    small.write_text(
        path.read_text(encoding="utf-8").lower().replace("owns a car", "Owns a car").replace("left", "Left")
    )
    run("fit", path, "-t", "Left", "--ignore-case", "Left,Owns a car", *TREES, "-q", "-o", model)
    answers = run("predict", model, path)
    assert answers.stderr == "" and answers.stdout == run("predict", model, small).stdout
    scores = [run("evaluate", model, data, "-q").stdout.partition("score ")[2] for data in (path, small)]
    assert scores[0] == scores[1] != ""
    X, y = datasets.read(path, target="Left", like=petiole.load(model))
    assert set(y) == {"no", "yes"} and set(X["Owns a car"]) == {"no", "yes"}
    run("compare", path, "-t", "Left", "--ignore-case", "Left,Owns a car", "--test", path, *TREES, "-q")


def test_reading_tells_of_capitals(tmp_path):
    path = survey(tmp_path / "survey.csv")
    with pytest.warns(UserWarning, match=r"ignore_case=\['Left'\] takes them as one class") as caught:
        datasets.read(path, target="Left")
    assert "ignore_case=['Owns a car'] makes them 2" in str(caught[0].message)
    X, y = datasets.read(path, target="Left", ignore_case=["Left", "Owns a car"])
    assert set(y) == {"no", "yes"} and set(X["Owns a car"]) == {"no", "yes"}
    frame = X.assign(Left=np.where(y == "yes", "YES", "no")).astype(str)
    frame.loc[0, "Left"] = "No"
    frame.to_parquet(tmp_path / "survey.parquet")
    X, y = datasets.read(tmp_path / "survey.parquet", target="Left", ignore_case=["Left"])
    assert set(y) == {"no", "yes"}
    with pytest.raises(ValueError, match=r"ignore_case names 'left', but .* did you mean 'Left'"):
        datasets.read(path, ignore_case=["left"])
    assert "is read in parts" not in refused(
        "fit", path, "-t", "Left", "--ignore-case", "owns", *TREES, "-o", tmp_path / "m.petiole"
    )
    assert "--ignore-case Left: is not possible for files that are read in parts" in refused(
        "fit",
        path,
        "-t",
        "Left",
        "--ignore-case",
        "Left",
        *TREES,
        "--memory-limit",
        "1GB",
        "-o",
        tmp_path / "m.petiole",
    )


def test_every_name_that_occurs_twice_is_told(tmp_path):
    path = write(tmp_path / "twice.csv", "a,score,score,b,a,score,y", ["1,2,3,4,5,6,no", "1,2,3,4,5,6,yes"])
    told = refused("fit", path, "-t", "y", "-o", tmp_path / "m.petiole")
    assert told == (
        "twice.csv, line 1: columns 1 and 5 are named 'a'; 2, 3 and 6 are named 'score': rename them, so that each has "
        "its own name"
    )


def test_refused_exports_speak_of_the_command_line(tmp_path):
    rows = [f"{n % 21},{(7 * n) % 13},{'yes' if n % 21 > (7 * n) % 13 else 'no'}" for n in range(60)]
    path = write(tmp_path / "rows.csv", "x,z,y", rows)
    run("fit", path, "-t", "y", "--set", "n_estimators=8", "-q", "-o", tmp_path / "m.petiole")
    told = refused("export", tmp_path / "m.petiole", "-o", tmp_path / "m.c")
    assert told.endswith("Fit with --method eb-pets, b-pets or pet, or export ONNX (-o FILE.onnx)")
    run("fit", path, "-t", "y", "-m", "naive-bayes", "-q", "-o", tmp_path / "m.petiole")
    told = refused("export", tmp_path / "m.petiole", "-o", tmp_path / "m.onnx")
    assert told.endswith(
        "Fit with --method probability-forest, probability-forest-separate, mob-esp, eb-pets, b-pets or pet"
    )
    oblique = ["--set", "splits=oblique", "--set", "threshold=midpoint"]
    run("fit", "iris", *TREES, *oblique, "-q", "-o", tmp_path / "m.petiole")
    told = refused("export", tmp_path / "m.petiole", "-o", tmp_path / "m.onnx")
    assert told.endswith("ONNX has no such test here. Fit with --set splits=best or --set splits=random")


def test_what_is_compared_with_must_be_an_estimator(tmp_path, monkeypatch):
    (tmp_path / "oddmodels.py").write_text("number = 3\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    told = refused("compare", "iris", "--with", "oddmodels:number", *TREES)
    assert told == "--with oddmodels:number: is not an estimator but of type int"


def test_data_sets_can_be_fetched_by_an_option_too():
    assert run("datasets", "--fetch").stdout == run("datasets", "fetch").stdout
    assert "nothing is fetched without --yes" in run("datasets", "--fetch").stdout


def test_exports_tell_that_some_rows_have_no_answer_in_onnx(tmp_path):
    random = np.random.default_rng(0)
    numbers = random.normal(size=120)
    rows = [f"{number:.3f},{random.choice(['a', 'b', 'c'])},{'yes' if number > 0 else 'no'}" for number in numbers]
    path = write(tmp_path / "rows.csv", "x,town,y", rows)
    told = "note: where a value is missing, or a category is new to a node of a tree, the graph gives NaN"
    run("fit", path, "-t", "y", *TREES, "-q", "-o", tmp_path / "m.petiole")
    assert told in run("export", tmp_path / "m.petiole", "-o", tmp_path / "m.onnx").stderr
    run("fit", path, "-t", "y", "--drop", "town", *TREES, "-q", "-o", tmp_path / "m.petiole")
    assert told in run("export", tmp_path / "m.petiole", "-o", tmp_path / "m.onnx").stderr
    holes = [
        f"{'' if n % 9 == 0 else f'{number:.3f}'},{'yes' if number > 0 else 'no'}" for n, number in enumerate(numbers)
    ]
    path = write(tmp_path / "holes.csv", "x,y", holes)
    separate = ["--set", "missing=separate", "--set", "max_depth=1"]
    run("fit", path, "-t", "y", *TREES, *separate, "-q", "-o", tmp_path / "m.petiole")
    assert told not in run("export", tmp_path / "m.petiole", "-o", tmp_path / "m.onnx").stderr


def test_names_of_data_sets_are_advised_in_commands():
    told = refused("datasets", "describe", "lones")
    assert told.startswith("lones: no data set of this name is here") and "'loans'" in told
    assert "petiole datasets list shows" in told and "petiole.datasets" not in told


def test_a_budget_too_small_for_any_row_is_told(tmp_path):
    rows = [f"{n},{1500 + n},{'yes' if n % 3 else 'no'}" for n in range(60)]
    path = write(tmp_path / "rows.csv", "x,price,y", rows)
    run("fit", path, "-t", "y", "--numeric", "x", "--drop", "price", *TREES, "-q", "-o", tmp_path / "m.petiole")
    told = run("predict", tmp_path / "m.petiole", path, "--budget", 1000, "--price", "price").stderr
    assert "chose 0 of 60 rows for 0: 0.0 of them are expected to be yes; the least price is 1,500" in told


def test_dates_are_grouped_by_their_parts_and_refused_in_parts_before_the_work(tmp_path):
    days = np.datetime64("2020-01-01") + np.arange(0, 1200, 6)
    rows = [f"{day},{n % 7},{'yes' if n % 3 else 'no'}" for n, day in enumerate(days)]
    path, page = write(tmp_path / "rows.csv", "since,x,y", rows), tmp_path / "page.html"
    compare = [
        "compare",
        path,
        "-t",
        "y",
        "-m",
        "pet,naive-bayes",
        "--folds",
        2,
        "--repeats",
        1,
        "-q",
        "--report",
        page,
    ]
    told = refused(*compare, "--by", "since")
    assert told.startswith("--by since: is a column of dates; group by a part of them: 'since (days)', 'since (year)'")
    run(*compare, "--by", "since (year)")
    assert '<section id="groups"' in page.read_text(encoding="utf-8")
    told = refused("fit", path, "-t", "y", *TREES, "--memory-limit", "1GB", "-o", tmp_path / "m.petiole")
    assert "'since' holds dates or times, which are not read in parts: leave them out with --drop" in told


def test_a_named_data_set_takes_the_name_of_its_own_target(tmp_path):
    model = tmp_path / "m.petiole"
    told = run("fit", "loans", "--target", "defaulted", *TREES, "-o", model).stderr
    assert "target       defaulted (no 700, yes 300)" in told
    assert "1,000 rows" in run("evaluate", model, "loans", "--target", "defaulted").stdout
    assert "has its own; leave the option out" in refused("fit", "loans", "--target", "age", *TREES, "-o", model)
