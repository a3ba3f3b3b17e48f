"""Compare new rows with what a model was fitted to, and its answers with their labels."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing

from petiole._classifiers.nesting import find_encoder
from petiole._table.columns import Floats
from petiole._table.encoder import FeatureEncoder
from petiole._table.frames import Array, settled
from petiole._table.groups import ColumnGroups, find_inputs
from petiole._table.judged import Judged, check_judged, check_probabilities
from petiole._table.labels import check_same_length, check_weights
from petiole._table.rows import rows_that_count
from petiole._validation import check_number
from petiole.monitoring._drift import column_drift, leaf_drift
from petiole.monitoring._estimation import estimate_scores, row_entropies
from petiole.monitoring._evidence import CalibrationTest, LossTest, SequentialTest, corrected, losses_in_bits
from petiole.monitoring._reference import Group, Reference, kept_reference, row_scores, score_of
from petiole.monitoring._remedies import advise, try_remedies
from petiole.monitoring._result import Finding, Monitoring

MARGIN = 1.645  # standard errors of the promised log-loss that the test grants
MANY_ERRORS = 3.0
LEAST_IN_GROUP = 30.0  # rows, of a group that was not tested before
LEAST_WEIGHT = 1e-300


def monitor(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    sample_weight: Any = None,
    by: Sequence[Any] | None = None,
    time: Any = None,
    reference: Reference | None = None,
    alpha: float = 0.05,
    state: Mapping[str, Any] | None = None,
) -> Monitoring:
    """Test whether a model still holds for new rows.

    If there are labels, calibration and log-loss are tested after every row, and compared with the honest predictions
    for the training rows. The level of the tests holds however often you look. With or without labels, the columns and
    the leaves that rows reach are compared with those of the training rows, and scores are estimated from the
    probabilities.

    Parameters
    ----------
    model : fitted classifier
    X : the new rows; the model must not have been fitted to or updated with them
    y : labels of these rows, optional
    sample_weight : array of shape (n_rows,), optional
    by : list of columns, optional
        Names or positions of columns. Each of their categories (or fifths of a number) is a group and tested by itself.
    time : array of shape (n_rows,), optional
        The order of the rows; by default they are in the order in which they came.
    reference : Reference, optional
        From :func:`reference_of`; by default the one that is stored in the model. Without a reference, drift of columns
        and the log-loss are not tested.
    alpha : float, default=0.05
        The probability of a false alarm, however many rows follow: of the calibration test, of the log-loss test, and
        of all groups together.
    state : dict, optional
        The ``state`` of an earlier result, to continue its tests. The model must be the same.

    Returns
    -------
    Monitoring

    Examples
    --------
    >>> import numpy as np
    >>> from petiole import BaggedPETClassifier
    >>> from petiole.monitoring import monitor, remember
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(2000, 3))
    >>> y = rng.uniform(size=2000) < 1 / (1 + np.exp(-X[:, 0]))
    >>> model = remember(BaggedPETClassifier.eb_pets(random_state=0).fit(X[:1000], y[:1000]), X[:1000], y[:1000])
    >>> monitor(model, X[1000:]).verdict
    'FINE: the new rows resemble the training rows. Testing the probabilities takes labels.'
    >>> monitor(model, X[1000:], ~y[1000:]).verdict
    'ALARM (calibration, log-loss): the new labels contradict the model.'
    """
    check_number("alpha", alpha, 1e-9, 0.5)
    known = reference if reference is not None else kept_reference(model)
    rows = _NewRows.read(model, settled(X), y, sample_weight, time, known)
    tests = _Tests(rows, known, alpha, dict(state or {}), _identity(model))
    calibration, loss, groups = tests.calibration(), tests.loss(), tests.groups(by)
    columns, leaves = _drift(model, rows, known, alpha)
    believed = rows.proba if known is None else corrected(rows.proba, known.correction)
    estimated = estimate_scores(believed, sample_weight=rows.weights)
    worse = _worse_expected(believed, rows.weights, known)
    found = [one for one in (calibration, loss, *groups) if one is not None]
    alarms = [one.name for one in found if one.alarm]
    drifted = worse or any(one.drifted for one in columns) or (leaves is not None and leaves.drifted)
    remedies = [] if rows.judged is None or not alarms else try_remedies(model, rows.X, rows.judged)
    only_groups = bool(alarms) and not {"calibration", "log_loss"} & set(alarms)
    promised = {} if known is None else known.scores
    largest = promised["log_loss"].high if promised else None
    return Monitoring(
        n_rows=len(rows.proba),
        classes=rows.classes,
        alpha=alpha,
        calibration=calibration,
        loss=loss,
        groups=groups,
        promised=promised,
        observed=rows.scores(),
        estimated=estimated,
        worse_expected=worse,
        columns=columns,
        leaves=leaves,
        remedies=remedies,
        advice=advise(remedies, largest, alarms, drifted, only_groups),
        state=tests.state_after(),
    )


@dataclass(frozen=True)
class _NewRows:
    """The new rows in their order, with the model's answers; rows of weight zero are absent."""

    X: Any
    proba: Floats
    weights: Floats
    classes: Array
    judged: Judged | None
    encoder: FeatureEncoder | None
    matrix: Array | None

    @classmethod
    def read(cls, model: Any, X: Any, y: Any, sample_weight: Any, time: Any, known: Reference | None) -> _NewRows:
        proba = check_probabilities(model.predict_proba(X), parameter="predict_proba(X)")
        classes, n = np.asarray(model.classes_), len(proba)
        weights = check_weights(sample_weight, n)
        weights = np.ones(n) if weights is None else weights
        judged = None if y is None else check_judged(y, proba, labels=classes, sample_weight=weights)
        order = _order(time, n)
        kept = rows_that_count(weights[order])
        order = order if kept is None else order[kept]
        if len(order) < n or not (order == np.arange(n)).all():
            X, proba, weights = _safe_indexing(X, order), proba[order], weights[order]
            judged = None if judged is None else Judged(judged.codes[order], proba, classes, weights)
        encoder = find_encoder(model)
        encoder = known.encoder if encoder is None and known is not None else encoder
        matrix = None if encoder is None else encoder.transform(X)
        if known is not None and known.classes.tolist() != classes.tolist():
            raise ValueError(
                f"reference: has the classes {known.classes.tolist()}, but the model has {classes.tolist()}"
            )
        return cls(X, proba, weights, classes, judged, encoder, matrix)

    def scores(self) -> dict[str, Any]:
        """The scores of the labelled rows."""
        if self.judged is None:
            return {}
        return {name: score_of(values, self.weights) for name, values in row_scores(self.judged).items()}


class _Tests:
    """The sequential tests on labelled rows."""

    def __init__(
        self, rows: _NewRows, known: Reference | None, alpha: float, state: dict[str, Any], identity: str
    ) -> None:
        if state and state.get("model") != identity:
            raise ValueError("state: belongs to another model; start with a new one")
        self.rows, self.known, self.alpha, self.identity = rows, known, alpha, identity
        self.earlier: dict[str, Any] = dict(state.get("tests", {}))
        self.after = dict(self.earlier)

    def calibration(self) -> Finding | None:
        judged = self.rows.judged
        if judged is None:
            return None
        test = CalibrationTest(
            len(self.rows.classes), None if self.known is None else self.known.correction, self.alpha
        )
        return self._bet("calibration", test, judged, np.arange(len(judged.codes)), 1 / self.alpha)

    def loss(self) -> Finding | None:
        judged, known = self.rows.judged, self.known
        if judged is None or known is None or not known.n_honest:
            return None
        promised = known.scores["log_loss"]
        limit = promised.mean + MARGIN * promised.deviation / math.sqrt(known.n_honest)
        test = LossTest(limit)
        losses = losses_in_bits(judged)
        self._resume("log_loss", test)
        test.update(losses, judged.weights)
        self.after["log_loss"] = test.state()
        n = len(judged.codes)
        return Finding("log_loss", 1 / self.alpha, test, n, promised.mean, judged.mean(losses), "", np.arange(n))

    def groups(self, by: Sequence[Any] | None) -> list[Finding]:
        judged, encoder = self.rows.judged, self.rows.encoder
        if by is None or judged is None:
            return []
        if encoder is None or self.rows.matrix is None:
            raise ValueError(f"by={list(by)!r}: needs the columns of the fit; give a reference, from reference_of")
        chosen = []
        for group, members in self._members(find_inputs(by, encoder, "by"), encoder, self.rows.matrix):
            weight = judged.weights[members].sum()
            if weight >= (LEAST_IN_GROUP if group.name not in self.earlier else LEAST_WEIGHT):
                chosen.append((group, members))
        others = {"calibration", "log_loss"} | {group.name for group, _ in chosen}
        threshold = (len(chosen) + len(set(self.earlier) - others)) / self.alpha
        found = []
        for group, members in chosen:
            inside = Judged(judged.codes[members], judged.proba[members], judged.labels, judged.weights[members])
            test = CalibrationTest(len(self.rows.classes), group.correction, 1 / threshold)
            found.append(self._bet(group.name, test, inside, members, threshold))
        return found

    def _members(self, inputs: list[int], encoder: FeatureEncoder, matrix: Array) -> list[tuple[Group, Array]]:
        """The groups of columns, by what is known of those of the fit, and the rows in each."""
        if self.known is None:
            columns = ColumnGroups.learn(encoder, matrix, inputs, self.rows.weights)
            nothing = np.zeros(1 + len(self.rows.classes))
            pairs = enumerate(zip(columns.names, columns.n_codes, strict=True))
            groups = [
                Group(f"{name}: {columns.title(j, code)}", j, [code], nothing)
                for j, (name, n_codes) in pairs
                for code in range(n_codes)
            ]
        else:
            columns = self.known.columns(encoder)
            ends = np.cumsum(encoder.widths)
            features = [f for i in inputs for f in range(int(ends[i]) - encoder.widths[i], int(ends[i]))]
            groups = self.known.groups(columns, features)
        cells = columns.codes(matrix)
        return [(group, np.flatnonzero(np.isin(cells[:, group.feature], group.codes))) for group in groups]

    def state_after(self) -> dict[str, Any]:
        return {"model": self.identity, "tests": self.after}

    def _resume(self, name: str, test: SequentialTest) -> None:
        if name in self.earlier:
            test.resume(self.earlier[name])

    def _bet(self, name: str, test: CalibrationTest, inside: Judged, positions: Array, threshold: float) -> Finding:
        self._resume(name, test)
        test.bet(inside.codes, inside.proba, inside.weights)
        self.after[name] = test.state()
        shares = inside.weights / inside.weights.sum()
        said, came = shares @ inside.proba, shares @ inside.truth
        k = int(np.abs(came - said).argmax()) if inside.n_classes != 2 else 1
        target = str(inside.labels.tolist()[k])
        return Finding(name, threshold, test, len(inside.codes), float(said[k]), float(came[k]), target, positions)


def _drift(model: Any, rows: _NewRows, known: Reference | None, alpha: float) -> tuple[Any, Any]:
    """The drift of columns, if anything is known of those of the fit, and of leaves."""
    if rows.encoder is None or rows.matrix is None:
        return [], None
    columns = []
    if known is not None:
        if not known.fits(rows.encoder):
            raise ValueError("reference: has other columns than the model; make it with reference_of(model, ...)")
        found = known.columns(rows.encoder)
        columns = column_drift(known, found, found.codes(rows.matrix), rows.weights, alpha)
    own = find_encoder(model) is not None
    return columns, leaf_drift(model, rows.matrix, rows.weights, alpha) if own else None


def _worse_expected(believed: Floats, weights: Floats, known: Reference | None) -> bool:
    """Whether the expected log-loss is above the promised one by more than chance."""
    if known is None or not known.n_honest:
        return False
    promised, expected = known.scores["log_loss"], row_entropies(believed)
    found = score_of(expected, weights)
    error = math.hypot(promised.deviation / math.sqrt(known.n_honest), found.deviation / math.sqrt(weights.sum()))
    return bool(found.mean > promised.mean + MANY_ERRORS * error)


def _order(time: Any, n: int) -> Any:
    if time is None:
        return np.arange(n)
    values = np.asarray(time.to_numpy() if hasattr(time, "to_numpy") else time)
    check_same_length(n, len(values))
    return np.argsort(values, kind="stable")


def _identity(model: Any) -> str:
    """Equal for models with the same classes and columns, also after an update."""
    encoder = find_encoder(model)
    names = [] if encoder is None or encoder.feature_names is None else encoder.feature_names
    text = repr((type(model).__name__, np.asarray(model.classes_).tolist(), names))
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()
