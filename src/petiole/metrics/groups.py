"""Calibration in groups of rows: probabilities that are right on average may be wrong for some of the rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.stats import chi2

from petiole._table.columns import Floats
from petiole._table.encoder import FeatureEncoder
from petiole._table.frames import Array, as_array, settled
from petiole._table.groups import ColumnGroups
from petiole._table.judged import Judged, check_judged
from petiole._validation import check_fraction, check_number, check_whole
from petiole.metrics.binning import bin_of, scores_and_hits, summarise
from petiole.metrics.calibration import debiased_error, wilson_limits
from petiole.metrics.rows import group_sums, target_column

Mask = npt.NDArray[np.bool_]

ROWS_PER_BIN = 30  # a group has a bin for each so many rows, so that small groups are not cut to pieces


class GroupCalibration(NamedTuple):
    """Predicted probability and observed frequency in each group, an entry per group and class.

    Attributes
    ----------
    group : array of str
        The group.
    target : array of labels
        The class.
    weight : array
        The weight of the group's rows.
    mean_score : array
        Mean predicted probability of the class.
    frequency : array
        Share of the rows that are of the class.
    lower, upper : array
        Limits of the confidence interval of the frequency.
    error : array
        Calibration error inside the group: the root of the mean squared distance between predicted probabilities and
        observed frequencies in bins of equal weight, minus an estimate of what chance adds.
    p_value : array
        The probability of a distance at least as large if the predicted probabilities were right.
    """

    group: Array
    target: Array
    weight: Floats
    mean_score: Floats
    frequency: Floats
    lower: Floats
    upper: Floats
    error: Floats
    p_value: Floats


def calibration_by_group(
    y_true: Any,
    proba: Any,
    groups: Any,
    *,
    target: Any = None,
    n_bins: int = 10,
    confidence: float = 0.95,
    labels: Any = None,
    sample_weight: Any = None,
) -> GroupCalibration:
    """Compare predicted probabilities with observed frequencies in each of several groups of rows.

    Parameters
    ----------
    y_true, proba, labels, sample_weight
        As in :func:`zero_one_mse`. A row of weight 2 counts as two rows.
    groups : array-like of shape (n,), table of shape (n, n_columns), or dict
        The group of each row; or columns, of which every category (or quarter of a number with many values) is a group,
        so that groups overlap; or a dict from names to truth values, one group each, or to columns. Missing values are
        a group.
    target : label or "top", default=None
        The class in question; by default the second of two, and each of several. "top" is the most probable class of
        each row.
    n_bins : int, default=10
        The largest number of bins in a group, which has one bin for every 30 rows.
    confidence : float, default=0.95
        Confidence level of the limits.

    Returns
    -------
    GroupCalibration
        Groups in the order of the columns and of their values; groups without weight are left out.

    Examples
    --------
    >>> import numpy as np
    >>> from petiole.metrics import calibration_by_group
    >>> rng = np.random.default_rng(0)
    >>> p, sex = rng.uniform(0.2, 0.8, 4000), rng.choice(["f", "m"], 4000)
    >>> y = rng.uniform(size=4000) < np.where(sex == "f", p + 0.1, p)
    >>> found = calibration_by_group(y, np.column_stack([1 - p, p]), sex)
    >>> for entry in zip(found.group, found.mean_score.round(2), found.frequency.round(2), found.error.round(2)):
    ...     print(*entry)
    f 0.5 0.6 0.1
    m 0.5 0.49 0.0
    """
    check_whole("n_bins", n_bins, 1)
    check_fraction("confidence", confidence)
    judged = check_judged(y_true, proba, labels=labels, sample_weight=sample_weight)
    columns = _columns(judged, target)
    entries = []
    for name, members in iter_groups(groups, len(judged.codes)):
        members = members & (judged.weights > 0)
        if members.any():
            inside = Judged(judged.codes[members], judged.proba[members], judged.labels, judged.weights[members])
            entries += [(name, *_of_group(inside, column, n_bins)) for column in columns]
    names, *parts = zip(*entries, strict=True) if entries else [()] * 6
    weight, mean_score, frequency, error, p_value = (np.array(part, dtype=np.float64) for part in parts)
    frequency = np.minimum(frequency, 1.0)
    lower, upper = wilson_limits(frequency, weight, confidence)
    classes = np.array(
        ["top" if column is None else judged.labels.tolist()[column] for column in columns], dtype=object
    )
    targets = np.tile(classes, len(weight) // len(columns))
    group = np.array(names, dtype=object)
    return GroupCalibration(group, targets, weight, mean_score, frequency, lower, upper, error, p_value)


def worst_group_calibration_error(
    y_true: Any,
    proba: Any,
    groups: Any,
    *,
    target: Any = None,
    n_bins: int = 10,
    min_weight: float = 100,
    labels: Any = None,
    sample_weight: Any = None,
) -> float:
    """The largest calibration error of a group, of those with enough rows.

    What scatter adds to the error of each group is subtracted from its square, but the largest of many numbers that
    still scatter is too large on average, the more so the more groups there are and the fewer rows they have. Compare
    models on the same rows and groups.

    Parameters
    ----------
    y_true, proba, groups, target, n_bins, labels, sample_weight
        As in :func:`calibration_by_group`.
    min_weight : float, default=100
        Groups with less weight, in rows, do not count.

    Returns
    -------
    float
        Less is better.

    Examples
    --------
    >>> import numpy as np
    >>> from petiole.metrics import worst_group_calibration_error
    >>> rng = np.random.default_rng(0)
    >>> p, sex = rng.uniform(0.2, 0.8, 4000), rng.choice(["f", "m"], 4000)
    >>> y = rng.uniform(size=4000) < np.where(sex == "f", p + 0.1, p)
    >>> round(worst_group_calibration_error(y, np.column_stack([1 - p, p]), sex), 2)
    0.1
    """
    check_number("min_weight", min_weight, 0)
    given: dict[str, Any] = {"labels": labels, "sample_weight": sample_weight}
    found = calibration_by_group(y_true, proba, groups, target=target, n_bins=n_bins, **given)
    enough = found.weight >= min_weight
    if not enough.any():
        largest = found.weight.max(initial=0.0)
        raise ValueError(f"min_weight={min_weight:g}: the largest group has a weight of {largest:g}; lower min_weight")
    return float(found.error[enough].max())


def iter_groups(groups: Any, n_rows: int) -> Iterator[tuple[str, Mask]]:
    """The name of each group and which rows are in it."""
    if isinstance(groups, Mapping):
        if not groups:
            raise ValueError("groups={}: must hold at least one group")
        for name, values in groups.items():
            array = _flat(values, n_rows, f"groups[{name!r}]")
            if array.dtype.kind == "b":
                yield str(name), array
            else:
                yield from _of_columns(array.reshape(-1, 1), [str(name)])
        return
    if getattr(groups, "ndim", None) == 2 or (hasattr(groups, "columns") and len(getattr(groups, "shape", ())) == 2):
        if groups.shape[0] != n_rows:
            raise ValueError(
                f"groups has {groups.shape[0]} rows, but proba has {n_rows}: give one row per row of proba"
            )
        yield from _of_columns(groups, None)
        return
    array = as_array(groups) if not hasattr(groups, "to_numpy") else np.asarray(groups.to_numpy())
    if array.ndim == 2:
        yield from iter_groups(array, n_rows)
        return
    yield from _of_columns(_flat(array, n_rows, "groups").reshape(-1, 1), [""])


def _of_columns(table: Any, names: list[str] | None) -> Iterator[tuple[str, Mask]]:
    encoder, matrix = FeatureEncoder.fit(settled(table), owner="groups")
    if names is not None:
        encoder.name_inputs(names)
    found = ColumnGroups.learn(encoder, matrix)
    codes = found.codes(matrix)
    for place, (name, n_codes) in enumerate(zip(found.names, found.n_codes, strict=True)):
        for code in range(n_codes):
            members = codes[:, place] == code
            if members.any():
                yield f"{name}: {found.title(place, code)}" if name else found.title(place, code), members


def _flat(values: Any, n_rows: int, parameter: str) -> Array:
    array = as_array(values) if not hasattr(values, "to_numpy") else np.asarray(values.to_numpy())
    if array.shape != (n_rows,):
        raise ValueError(f"{parameter} has shape {array.shape}: must have one entry for each of the {n_rows} rows")
    return array


def _columns(judged: Judged, target: Any) -> list[int | None]:
    """The columns of the classes in question; None is the most probable class."""
    if isinstance(target, str) and target == "top":
        return [None]
    if target is None and judged.n_classes > 2:
        return [*range(judged.n_classes)]
    return [target_column(judged.labels, target)]


def _of_group(inside: Judged, column: int | None, n_bins: int) -> tuple[float, float, float, float, float]:
    """Weight, mean score, frequency, error and p-value of one group."""
    scores, hits = scores_and_hits(inside, column)
    weights = inside.weights
    total = float(weights.sum())
    fewer = int(min(max(total // ROWS_PER_BIN, 1), n_bins))
    bins = bin_of(scores, weights, fewer, "quantile")
    error = debiased_error(summarise(scores, hits, weights, bins))
    return total, inside.mean(scores), inside.mean(hits.astype(float)), error, _p_value(scores, hits, weights, bins)


def _p_value(scores: Floats, hits: Mask, weights: Floats, bins: npt.NDArray[np.intp]) -> float:
    """Of the sum over bins of the squared distance of the count of hits from its mean, in variances."""
    excess = group_sums(bins, weights * (hits - scores))
    variance = group_sums(bins, weights * scores * (1 - scores))
    sure = variance <= 1e-12
    if (np.abs(excess[sure]) > 1e-6).any():
        return 0.0
    if sure.all():
        return 1.0
    return float(chi2.sf((excess[~sure] ** 2 / variance[~sure]).sum(), int((~sure).sum())))
