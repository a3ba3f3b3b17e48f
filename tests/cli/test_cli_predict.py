"""petiole predict: the same answers as row by row, from every format, in batches, and what it refuses."""

from __future__ import annotations

import gzip
import json
import sys

import numpy as np
import pytest

import naive_cli
import petiole
from command_line import as_csv, read, refused, run, table, write
from petiole import BaggedPETClassifier, CostSensitiveClassifier, OOBCalibratedClassifier, PETClassifier

pa = pytest.importorskip("pyarrow")
CLASSES = ["no", "perhaps", "yes"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a training file, a file to score (with an unseen town) and a model of three classes."""
    path = tmp_path_factory.mktemp("predict")
    write(path / "train.csv", table(200, classes=CLASSES))
    rows = table(90, seed=1, classes=CLASSES)
    rows[3]["town"], rows[40]["town"] = "Paris", "Lima"
    write(path / "new.csv", rows)
    run("fit", path / "train.csv", "-t", "y", "--id", "id", "--nominal", "grade", "--method", "eb-pets",
        "--set", "n_estimators=7", "-j", 1, "-q", "-o", path / "model.petiole")  # fmt: skip
    return path


def scored(*arguments, **options):
    rows = read(run("predict", *arguments, "-j", 1, "-q", **options).stdout)
    return np.array([[float(row[f"p_{label}"]) for label in CLASSES] for row in rows]), rows


@pytest.fixture(scope="module")
def expected(folder):
    return naive_cli.probabilities(petiole.load(folder / "model.petiole"), folder / "new.csv")


@pytest.mark.parametrize("batch", [1, 7, 1000])
def test_batches_say_what_single_rows_say(folder, expected, batch):
    proba, rows = scored(folder / "model.petiole", folder / "new.csv", "--id", "id", "--batch", batch)
    np.testing.assert_allclose(proba, expected, atol=1e-12)
    assert [row["id"] for row in rows] == [row["id"] for row in naive_cli.rows_of(folder / "new.csv")]
    assert [row["prediction"] for row in rows] == [CLASSES[k] for k in expected.argmax(axis=1)]


def frame_of(rows):
    """As pyarrow has it: numbers, names, nulls; grade as an integer."""

    def cells(name, convert):
        return [None if row[name] in naive_cli.MISSING else convert(row[name]) for row in rows]

    return pa.table({
        "grade": pa.array(cells("grade", int), pa.int32()),
        "branch": pa.array(cells("grade", int), pa.int32()),  # which the model does not know
        "town": pa.array(cells("town", str)).dictionary_encode(),
        "size": cells("size", float),
        "when": pa.array([0] * len(rows), pa.timestamp("s")),  # not for the model, so it may be of any type
        "id": [row["id"] for row in rows],
    })  # fmt: skip


def as_arff(rows):
    def spell(cell):
        return "?" if cell in naive_cli.MISSING else f"'{cell}'" if "," in cell else cell

    kinds = {"id": "string", "size": "real", "town": "string", "grade": "real", "y": "string"}
    header = ["@relation r", *(f"@attribute {column} {kind}" for column, kind in kinds.items()), "@data"]
    return "\n".join([*header, *(",".join(map(spell, row.values())) for row in rows)]) + "\n"


def written(path, rows):
    """The rows in the format that the path's name stands for."""
    from pyarrow import feather, parquet

    name = path.name
    if name.endswith("parquet"):
        parquet.write_table(frame_of(rows), path, row_group_size=13)
    elif name.endswith("feather"):
        feather.write_feather(frame_of(rows), path, chunksize=17)
    elif name.endswith("arrows"):
        with pa.ipc.new_stream(path, frame_of(rows).schema) as writer:
            writer.write_table(frame_of(rows), max_chunksize=11)
    elif name.endswith(".arff"):
        header = "@relation r\n" + "".join(
            f"@attribute {column} {kind}\n"
            for column, kind in {
                "id": "string",
                "size": "real",
                "town": "string",
                "grade": "real",
                "y": "string",
            }.items()
        )
        lines = [
            ",".join("?" if c in naive_cli.MISSING else f"'{c}'" if "," in c else c for c in row.values())
            for row in rows
        ]
        path.write_text(header + "@data\n" + "\n".join(lines) + "\n")
    elif name.endswith(".gz"):
        path.write_bytes(gzip.compress(as_csv(rows).encode()))
    else:
        write(path, rows, delimiter=";")
    return path


@pytest.mark.parametrize("name", ["a.parquet", "a.feather", "a.arrows", "a.arff", "a.csv.gz", "semicolons.csv"])
@pytest.mark.parametrize("through", ["file", "standard input"])
def test_every_format_gives_the_same_answers(folder, expected, tmp_path, name, through):
    path = written(tmp_path / name, naive_cli.rows_of(folder / "new.csv"))
    if through == "file":
        proba, rows = scored(folder / "model.petiole", path, "--id", "id", "--batch", 10)
    else:
        proba, rows = scored(folder / "model.petiole", "-", "--id", "id", "--batch", 10, stdin=path.read_bytes())
    np.testing.assert_allclose(proba, expected, atol=1e-12)
    assert rows[5]["id"] == "r5"


@pytest.mark.parametrize("name", ["out.csv", "out.csv.gz", "out.parquet", "out.arrow", "out.json", "out.jsonl"])
def test_every_format_is_written(folder, expected, tmp_path, name):
    from pyarrow import feather, parquet

    path = tmp_path / name
    source = written(tmp_path / "new.parquet", naive_cli.rows_of(folder / "new.csv"))
    run("predict", folder / "model.petiole", source, "--id", "id,branch", "-o", path, "--batch", 20, "-q", "-j", 1)
    readers = {
        "out.csv": lambda: naive_cli.rows_of(path),
        "out.csv.gz": lambda: naive_cli.rows_of(path),
        "out.parquet": lambda: parquet.read_table(path).to_pylist(),
        "out.arrow": lambda: feather.read_table(path).to_pylist(),
        "out.json": lambda: json.loads(path.read_text()),
        "out.jsonl": lambda: [json.loads(line) for line in path.read_text().splitlines()],
    }
    rows = readers[name]()
    found = np.array([[float(row[f"p_{label}"]) for label in CLASSES] for row in rows])
    np.testing.assert_allclose(found, expected, atol=1e-12)
    assert rows[7]["id"] == "r7" and [*tmp_path.glob(".*")] == []


def test_unseen_values_are_told_once_per_column(folder):
    result = run("predict", folder / "model.petiole", folder / "new.csv", "--batch", 10, "-j", 1)
    assert result.stderr.count("note: town: 2 rows have a value that the model has not seen (such as 'Paris')") == 1


def test_costs_decide(folder, expected):
    costs = {
        "no": {"no": 0, "perhaps": 1, "yes": 8},
        "perhaps": {"no": 3, "perhaps": 0, "yes": 2},
        "yes": {"no": 4, "perhaps": 1, "yes": 0},
        "ask": {"no": 0.7, "perhaps": 0.7, "yes": 0.7},
    }
    inline = "no:yes=8,perhaps:no=3,perhaps:yes=2,yes:no=4,*:*=1,ask:*=0.7"
    _, rows = scored(folder / "model.petiole", folder / "new.csv", "--costs", inline)
    answers = naive_cli.cheapest(expected, costs, CLASSES)
    assert [row["decision"] for row in rows] == [decision for decision, _ in answers]
    np.testing.assert_allclose([float(row["expected_cost"]) for row in rows], [cost for _, cost in answers])
    assert {decision for decision, _ in answers} == {"no", "perhaps", "yes", "ask"}
    path = folder / "costs.csv"
    path.write_text(
        "decision,yes,no,perhaps\n" + "".join(f"{d},{c['yes']},{c['no']},{c['perhaps']}\n" for d, c in costs.items())
    )
    assert scored(folder / "model.petiole", folder / "new.csv", "--costs", path)[1] == rows


@pytest.mark.parametrize(
    ("costs", "message"),
    [
        ("no:yes=8", "the cost is missing of deciding 'no' if 'perhaps' is true. Add no:perhaps=..., or *:*=1"),
        ("no:yess=8,*:*=1", "'yess' is not a class; did you mean 'yes'?"),
        ("no=8", "write decision:truth=cost"),
        ("no:yes=much", "'much' is not a number"),
        ("costs.tsv", "there is no such file"),
    ],
)
def test_wrong_costs_are_told(folder, costs, message):
    assert message in refused("predict", folder / "model.petiole", folder / "new.csv", "--costs", costs)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("d,no,yes\nno,0,1\n", "there is no column for the class 'perhaps'"),
        ("d,no,yes,maybe\nno,0,1,1\n", "'maybe' is not a class"),
        ("d,no,perhaps,yes\nno,0,1\n", "row 2: 3 cells, but the first line has 4"),
        ("d,no,perhaps,yes\nno,0,1,2\nno,0,1,2\n", "two rows are for the same decision"),
        ("d\n", "the first line names the true classes"),
    ],
)
def test_wrong_cost_files_are_told(folder, tmp_path, text, message):
    (tmp_path / "c.csv").write_text(text)
    assert message in refused("predict", folder / "model.petiole", folder / "new.csv", "--costs", tmp_path / "c.csv")


def test_a_threshold_decides_between_two_classes(tmp_path):
    write(tmp_path / "t.csv", table(150))
    run("fit", tmp_path / "t.csv", "-t", "y", "--drop", "id", "-m", "pet", "-q", "-o", tmp_path / "m.petiole")
    arguments = ("predict", tmp_path / "m.petiole", tmp_path / "t.csv", "-q", "--threshold", 0.2)
    for options, positive, other in (((), "yes", "no"), (("--positive", "no"), "no", "yes")):
        for row in read(run(*arguments, *options).stdout):
            assert row["decision"] == (positive if float(row[f"p_{positive}"]) > 0.2 else other)
    assert "for a model of two classes" in refused(*arguments[:-1], 1.5)
    assert "leave one of them out" in refused(*arguments, "--costs", "*:*=1")
    assert "is for --threshold, --top, --budget and --reasons; add one of them" in refused(
        *arguments[:-2], "--positive", "no"
    )
    assert "the classes are no, yes" in refused(*arguments, "--positive", "maybe")
    likeliest = read(run(*arguments[:-2], "--decide").stdout)
    assert all(row["decision"] == row["prediction"] for row in likeliest)


def test_what_is_wrong_with_a_file_is_told(folder, tmp_path):
    model, rows = folder / "model.petiole", naive_cli.rows_of(folder / "new.csv")
    lacking = write(
        tmp_path / "lacking.csv", [{("sizes" if k == "size" else k): v for k, v in r.items()} for r in rows]
    )
    assert "has no column 'size', which the model needs; did you mean 'sizes'?" in refused("predict", model, lacking)
    rows[30]["size"] = "huge"
    text = write(tmp_path / "text.csv", rows)
    assert "text.csv, line 32, column 'size': 'huge' is not a number" in refused("predict", model, text, "--batch", 8)
    assert "--id ids: new.csv has no such column; did you mean 'id'?" in refused(
        "predict", model, folder / "new.csv", "--id", "ids"
    )
    assert "there is no such file" in refused("predict", model, tmp_path / "absent.csv")
    assert "absent.petiole" in refused("predict", tmp_path / "absent.petiole", folder / "new.csv")
    (tmp_path / "empty.csv").write_text("")
    assert "empty.csv is empty" in refused("predict", model, tmp_path / "empty.csv")
    (tmp_path / "header.csv").write_text("size,town,grade\n")
    assert "there is a header but no rows" in refused("predict", model, tmp_path / "header.csv")
    (tmp_path / "ragged.csv").write_text("size,town,grade\n1,Bern,2\n1,Bern\n")
    assert "line 3: 2 cells, but the header names 3 columns" in refused("predict", model, tmp_path / "ragged.csv")
    (tmp_path / "book.csv").write_bytes(b"PK\x03\x04....")
    assert "is a zip archive or a spreadsheet" in refused("predict", model, tmp_path / "book.csv")
    (tmp_path / "torn.csv.gz").write_bytes(gzip.compress(as_csv(rows).encode())[:-200])
    assert "damaged or cut short" in refused("predict", model, tmp_path / "torn.csv.gz")
    (tmp_path / "torn.parquet").write_bytes(b"PAR1 no more")
    assert "not a valid Parquet file" in refused("predict", model, tmp_path / "torn.parquet")
    assert "train.csv" in refused("predict", folder / "train.csv", folder / "new.csv")  # which is no model
    assert "is a folder" in refused("predict", model, tmp_path)


def test_other_encodings(folder, tmp_path):
    text = "town,size,grade\nBern,1,2\nZürich,2,3\nBern,3,1\n"
    path = tmp_path / "latin.csv"
    path.write_bytes(text.encode("latin-1"))
    model = folder / "model.petiole"
    assert refused("predict", model, path).endswith(
        "line 3: byte 0xfc is not UTF-8: name its encoding, such as --encoding latin-1"
    )
    assert len(read(run("predict", model, path, "--encoding", "latin-1", "-q").stdout)) == 3
    path.write_bytes(text.encode("utf-16"))
    assert "--encoding utf-16" in refused("predict", model, path)
    assert len(read(run("predict", model, path, "--encoding", "utf-16", "-q").stdout)) == 3
    assert "--encoding klingon: is unknown" in refused("predict", model, path, "--encoding", "klingon")
    path.write_bytes(b"\xef\xbb\xbf" + text.encode())
    assert len(read(run("predict", model, path, "-q").stdout)) == 3
    path.write_bytes(text.replace("\n", "\r").encode())
    assert len(read(run("predict", model, path, "-q").stdout)) == 3


def test_nothing_is_left_behind_by_a_failure(folder, tmp_path):
    rows = naive_cli.rows_of(folder / "new.csv")
    rows[80]["size"] = "huge"
    path, output = write(tmp_path / "bad.csv", rows), tmp_path / "out.csv"
    output.write_text("as it was")
    refused("predict", folder / "model.petiole", path, "-o", output, "--batch", 10)
    assert output.read_text() == "as it was" and sorted(p.name for p in tmp_path.iterdir()) == ["bad.csv", "out.csv"]
    refused("predict", folder / "model.petiole", path, "-o", path)
    assert "is also the input" in refused("predict", folder / "model.petiole", path, "-o", path)


@pytest.mark.posix
def test_output_places(folder, tmp_path):
    arguments = ("predict", folder / "model.petiole", folder / "new.csv", "-q", "-o")
    assert "there is no folder" in refused(*arguments, tmp_path / "absent" / "out.csv")
    assert "end its name with one of .csv" in refused(*arguments, tmp_path / "out.xyz")
    assert "must be one of arrow, csv" in refused(*arguments, tmp_path / "out.csv", "--format", "xlsx")
    assert "is a folder" in refused(*arguments, tmp_path, "--format", "csv")
    run(*arguments, "/dev/null")
    assert json.loads(run(*arguments[:-1], "--json").stdout)[0].keys() >= {"p_no", "prediction"}
    assert "output already has a column of this name" in refused(
        "predict", folder / "model.petiole",
        write(tmp_path / "p.csv", [row | {"p_no": 1} for row in naive_cli.rows_of(folder / "new.csv")]), "--id", "p_no",
    )  # fmt: skip


def test_pyarrow_missing_names_the_extra(folder, tmp_path, monkeypatch):
    path = written(tmp_path / "a.parquet", naive_cli.rows_of(folder / "new.csv"))
    for name in [name for name in sys.modules if name.split(".")[0] == "pyarrow"] + ["pyarrow", "pyarrow.parquet"]:
        monkeypatch.setitem(sys.modules, name, None)
    assert "pip install pyarrow" in refused("predict", folder / "model.petiole", path, code=1)
    arguments = ("predict", folder / "model.petiole", folder / "new.csv", "-o", tmp_path / "o.parquet")
    assert "pip install pyarrow" in refused(*arguments, code=1)
    assert not (tmp_path / "o.parquet").exists()


def test_models_without_names_take_columns_by_position(tmp_path):
    random = np.random.default_rng(0)
    X = np.round(random.normal(size=(60, 3)), 3)
    y = (X[:, 0] > 0).astype(int)
    model = PETClassifier().fit(X, y)
    model.save(tmp_path / "m.petiole")
    lines = ["a,key,b,c", *(f"{a},k{i},{b},{c}" for i, (a, b, c) in enumerate(X.tolist()))]
    (tmp_path / "x.csv").write_text("\n".join(lines) + "\n")
    rows = read(run("predict", tmp_path / "m.petiole", tmp_path / "x.csv", "--id", "key", "-q").stdout)
    np.testing.assert_allclose([float(row["p_1"]) for row in rows], model.predict_proba(X)[:, 1])
    assert "has 4 columns for the model, which was fitted to 3" in refused(
        "predict", tmp_path / "m.petiole", tmp_path / "x.csv"
    )


def test_categories_that_are_no_texts_and_wrapped_models(tmp_path):
    import pandas as pd

    random = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"code": random.integers(1, 4, 80), "flag": random.random(80) < 0.5, "x": random.normal(size=80)}
    )
    y = np.where(frame["x"] + frame["flag"] > frame["code"] - 2, 1, 0)
    frame.to_csv(tmp_path / "f.csv", index=False)
    frame.astype({"code": float}).to_parquet(tmp_path / "f.parquet", index=False)
    options = {"categorical_features": ["code", "flag"]}
    models = {
        "tree": PETClassifier(**options),
        "costs": CostSensitiveClassifier(PETClassifier(**options), [[0, 5], [1, 0]]),
        "calibrated": OOBCalibratedClassifier(BaggedPETClassifier(20, random_state=0, **options)),
    }
    for name, model in models.items():
        model.fit(frame, y).save(tmp_path / f"{name}.petiole")
        for file in ("f.csv", "f.parquet"):
            rows = read(run("predict", tmp_path / f"{name}.petiole", tmp_path / file, "-q", "-j", 1).stdout)
            np.testing.assert_allclose([float(r["p_1"]) for r in rows], model.predict_proba(frame)[:, 1], err_msg=name)


def test_a_data_set_by_name_can_be_scored(tmp_path):
    run("fit", "sklearn-iris", "-m", "pet", "-q", "-o", tmp_path / "m.petiole")
    assert len(read(run("predict", tmp_path / "m.petiole", "sklearn-iris", "-q").stdout)) == 150
    assert "no data set of this name is here" in refused("predict", tmp_path / "m.petiole", "irisses")
