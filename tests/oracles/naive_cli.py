"""The slow, obvious version of what the command line does: one row at a time, in plain Python."""

from __future__ import annotations

import csv
import gzip

import numpy as np

MISSING = ("", "?", "NA")


def rows_of(path):
    """Dicts from column to cell."""
    opener = gzip.open if str(path).endswith(".gz") else open
    with opener(path, "rt", encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def probabilities(model, path):
    """What the model says of each row, asked one by one."""
    encoder = model.encoder_
    answers = []
    for row in rows_of(path):
        cells = []
        for name, categories in zip(encoder.feature_names, encoder.categories, strict=True):
            text = row[name].strip()
            if text in MISSING:
                cells.append(None)
            elif categories is None:
                cells.append(float(text))
            else:
                cells.append(text)
        answers.append(model.predict_proba(np.array([cells], dtype=object))[0])
    return np.array(answers)


def cheapest(proba, costs, classes):
    """The cheapest of decisions for each row; ``costs[decision][truth]``, of equals the first."""
    decided = []
    for row in proba:
        best, least = None, float("inf")
        for decision, prices in costs.items():
            expected = sum(p * prices[label] for p, label in zip(row, classes, strict=True))
            if expected < least - 1e-12:
                best, least = decision, expected
        decided.append((best, least))
    return decided


def log_loss(labels, proba, classes, floor):
    """Mean of -log2 of the probability of the truth; lower ones are raised to the floor, then rows divided by sums."""
    total = 0.0
    for label, row in zip(labels, proba, strict=True):
        raised = [max(p, floor) for p in row]
        total -= np.log2(raised[classes.index(label)] / sum(raised))
    return total / len(labels)
