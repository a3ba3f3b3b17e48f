"""Running the petiole command in this process, and tables to run it on."""

from __future__ import annotations

import csv
import io

import numpy as np
from typer.testing import CliRunner

from petiole.cli import app


def run(*arguments, stdin=None, code=0):
    """Run the command; the result has stdout, stderr and exit_code."""
    result = CliRunner().invoke(app, [str(argument) for argument in arguments], input=stdin)
    assert result.exit_code == code, (result.exit_code, result.stdout, result.stderr, result.exception)
    return result


def refused(*arguments, stdin=None, code=2):
    """The one line that the command ends with."""
    result = run(*arguments, stdin=stdin, code=code)
    lines = result.stderr.strip().splitlines()
    assert "Traceback" not in result.stderr
    return lines[-1]


def table(n_rows=120, seed=0, classes=("no", "yes"), missing=0.1):
    """Rows of a table with numbers, names, missing cells, an id and labels that depend on the features."""
    random = np.random.default_rng(seed)
    rows = []
    for number in range(n_rows):
        size, town = random.normal(), random.choice(["Bern", "Rome", "Oslo, old"])
        score = size + (town == "Rome") + random.normal(scale=0.5)
        label = classes[int(np.clip(np.floor(score + len(classes) / 2), 0, len(classes) - 1))]
        grade = random.integers(1, 4)
        row = {"id": f"r{number}", "size": f"{size:.4f}", "town": town, "grade": str(grade), "y": label}
        for name in ("size", "town", "grade"):
            if random.random() < missing:
                row[name] = random.choice(["", "?", "NA"])
        rows.append(row)
    return rows


def as_csv(rows, delimiter=","):
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), delimiter=delimiter, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def write(path, rows, **options):
    path.write_text(as_csv(rows, **options), encoding="utf-8")
    return path


def read(text):
    return list(csv.DictReader(io.StringIO(text)))
