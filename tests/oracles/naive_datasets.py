"""The obvious versions of what petiole.datasets does: densities one row at a time, text files cell by cell."""

from __future__ import annotations

import numpy as np
from scipy.integrate import quad
from scipy.stats import multivariate_normal


def normal(x, mean, variance=1.0):
    return multivariate_normal(mean, variance * np.eye(len(x))).pdf(x)


def two_norm(x):
    a = 2 / np.sqrt(len(x))
    return bayes([normal(x, [a] * len(x)), normal(x, [-a] * len(x))])


def three_norm(x):
    a, d = 2 / np.sqrt(len(x)), len(x)
    between = [a if i % 2 == 0 else -a for i in range(d)]
    return bayes([0.5 * normal(x, [a] * d) + 0.5 * normal(x, [-a] * d), normal(x, between)])


def ring_norm(x):
    a, d = 2 / np.sqrt(len(x)), len(x)
    return bayes([normal(x, [0.0] * d, 4.0), normal(x, [a] * d)])


def waveform(x):
    """Waves 1-2, 1-3 and 2-3; the integral over the mixture is done numerically."""
    waves = [[max(6 - abs(i - peak), 0) for i in range(1, 22)] for peak in (11, 15, 7)]
    pairs = [(0, 1), (0, 2), (1, 2)]
    return bayes([_integral(x[:21], np.array(waves[i]), np.array(waves[j])) for i, j in pairs])


def _integral(x, one, two):
    def density(u):
        # relative to the nearest point, or everything underflows
        return np.exp(-0.5 * np.sum((x - u * one - (1 - u) * two) ** 2) + 15.0)

    return quad(density, 0, 1, epsabs=0, epsrel=1e-10)[0]


def bayes(likelihoods):
    return np.array(likelihoods) / np.sum(likelihoods)


USUAL = ["", "?", "NA", "N/A", "n/a", "#N/A", "#NA", "<NA>", "null", "NULL", "Null", "None"]
USUAL += ["nan", "NaN", "NAN", "-nan", "-NaN", "NaT"]


def csv_column(cells, missing=USUAL):
    """What a column of CSV is to become: ("numeric", floats) or ("nominal", strings), None for missing.

    For numbers that are spelled as in a program, and fewer than fifty cells: any that is no number makes names.
    """
    stripped = [cell.strip() for cell in cells]
    try:
        numbers = [None if cell in [*missing, "-", "--", "–", "—", "."] else plain_float(cell) for cell in stripped]
    except ValueError:
        return "nominal", [None if cell in missing else cell for cell in stripped]
    return "numeric", [None if number is None or np.isnan(number) else number for number in numbers]


def spelled_number(cell, decimal, thousands, unit):
    """The number that a cell spells, letter by letter, or None."""
    text = cell.strip()
    sign = -1.0 if text.startswith("-") else 1.0
    text = text.lstrip("+-").strip()
    if unit in ("$", "€") and text.startswith(unit):
        text = text[len(unit) :].strip()
    elif unit and text.endswith(unit):
        text = text[: -len(unit)].strip()
    elif unit and unit not in "$€£¥":
        return None
    whole, _, fraction = text.partition(decimal)
    groups = whole.split(thousands) if thousands else [whole]
    if len(groups) > 1 and (groups[0][:1] == "0" or any(len(group) != 3 for group in groups[1:])):
        return None
    if len(groups) > 1 and not 1 <= len(groups[0]) <= 3:
        return None
    digits = "".join(groups)
    if not (digits + fraction) or not set(digits + fraction) <= set("0123456789"):
        return None
    return sign * float(f"{digits or '0'}.{fraction or '0'}")


def plain_float(cell):
    if "_" in cell or any(ord(letter) > 127 for letter in cell):
        raise ValueError(cell)
    return float(cell)


def arff_quote(value):
    """Quote a value as Weka does."""
    for character, escaped in (("\\", "\\\\"), ("'", "\\'"), ("\n", "\\n"), ("\r", "\\r"), ("\t", "\\t")):
        value = value.replace(character, escaped)
    return f"'{value}'"
