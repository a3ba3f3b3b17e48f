"""A summary of the training rows: the distributions of their columns, and the scores of honest predictions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.special import ndtri

from petiole._classifiers.nesting import find_encoder
from petiole._table.columns import Floats
from petiole._table.encoder import FeatureEncoder
from petiole._table.frames import Array, settled
from petiole._table.groups import Codes, ColumnGroups
from petiole._table.judged import Judged
from petiole._table.labels import check_same_length, check_weights, label_codes
from petiole._table.weights import weights_in_rows
from petiole._validation import check_choice
from petiole.calibrators._fitting import SEARCH
from petiole.calibrators._groups import GroupLoss
from petiole.conformal.honest import honest_probabilities
from petiole.files import checks
from petiole.files.checks import fields, maybe, require
from petiole.files.savable import Savable
from petiole.metrics.calibration import wilson_limits
from petiole.metrics.scores import squared_errors
from petiole.monitoring._evidence import LEAST, corrected, losses_in_bits

N_RANGES = 10
N_BINS = 10
LEVEL = 0.95
ROWS = ("training", "new")
SCORES = ("log_loss", "brier", "accuracy")
LEAST_OF_GROUP = 20.0
MOST_CELLS = 200_000  # of the table of groups by classes; for more only weights are kept


class Score(NamedTuple):
    """A mean over rows, the limits of its 95% interval, and the standard deviation of a row."""

    mean: float
    low: float
    high: float
    deviation: float


class Group(NamedTuple):
    """A group of rows: its name, the feature and its codes, and the correction of honest predictions in it."""

    name: str
    feature: int
    codes: list[int]
    correction: Floats


class Reference(Savable):
    """A summary of the rows that a model was fitted to, in a few kilobytes.

    Attributes
    ----------
    classes : array of labels
    n_rows : float
        The weight of the rows.
    class_shares : array
        The share of each class.
    code_weights : list of arrays
        For each feature the weight of each category or tenth of a number, the last being that of missing values.
    spans : array of shape (n_features, 3)
        The smallest, the middle and the largest value of each numeric feature; NaN for categorical ones. References
        from earlier versions have no rows here.
    answers : str
        The rows of the honest probabilities: "training" rows, predicted by trees or folds that have not seen them, or
        "new" rows.
    n_honest : float
        The weight of the rows with honest probabilities: out of bag, cross-fitted, or new to the model. If it is 0, the
        following attributes are empty.
    scores : dict from name to Score
        Log-loss (bits), Brier score and accuracy on these rows.
    said, came : arrays of shape (n_classes,)
        The mean probability of each class, and its observed share.
    correction : array of shape (1 + n_classes,)
        The correction of the honest predictions: p_k^(1 + c_0) e^(c_k), divided by the sum over classes, is calibrated.
        It is shrunk, and zero if it explains no more than chance.
    reliability : array of shape (n_bins, 4)
        Class, mean probability, observed share and weight, for each class in bins of equal width.
    group_said, group_came, group_expected : list of arrays of shape (n_codes, n_classes)
        The same as ``said`` and ``came`` for each code of each feature, times the weight; expected are the sums of the
        probabilities after the correction.
    """

    _saved = fields(
        classes=checks.labels,
        n_rows=checks.positive,
        class_shares=checks.probabilities(1),
        edges=checks.list_of(checks.floats(1)),
        titles=checks.list_of(checks.texts),
        code_weights=checks.list_of(checks.weights(1)),
        spans=maybe(checks.floats(2, nan=True)),
        answers=maybe(checks.text),
        encoder=checks.none_or(checks.instance_of("FeatureEncoder")),
        n_honest=checks.number(0.0, checks.LARGEST),
        score_table=checks.floats(2, 0.0, 1e6),
        said=checks.floats(1, 0.0, 1.0 + 1e-9),
        came=checks.floats(1, 0.0, 1.0 + 1e-9),
        correction=checks.floats(1, -100.0, 100.0),
        reliability=checks.floats(2, 0.0),
        group_said=checks.list_of(checks.floats(2, 0.0, checks.LARGEST)),
        group_came=checks.list_of(checks.floats(2, 0.0, checks.LARGEST)),
        group_expected=checks.list_of(checks.floats(2, 0.0, checks.LARGEST)),
    )

    classes: npt.NDArray[Any]
    n_rows: float
    class_shares: Floats
    edges: list[Floats]
    titles: list[list[str]]
    code_weights: list[Floats]
    encoder: FeatureEncoder | None
    n_honest: float
    score_table: Floats
    said: Floats
    came: Floats
    correction: Floats
    reliability: Floats
    group_said: list[Floats]
    group_came: list[Floats]
    group_expected: list[Floats]
    # what files from before do not have
    spans: Floats = np.empty((0, 3))
    answers: str = ROWS[0]

    def _check_state(self, state: dict[str, Any]) -> None:
        n_classes, n_features = len(state["classes"]), len(state["edges"])
        spans = state.get("spans", self.spans)
        require(spans.shape in ((0, 3), (n_features, 3)), "spans: must have three numbers per feature")
        require(not (spans[:, 1:] < spans[:, :-1]).any(), "spans: must not fall")
        require(state.get("answers", ROWS[0]) in ROWS, f"answers: must be one of {ROWS}")
        require(len(state["class_shares"]) == n_classes, "class_shares: must be one per class")
        for name in ("titles", "code_weights"):
            require(len(state[name]) == n_features, f"{name}: must be one per feature")
        for edges, titles in zip(state["edges"], state["titles"], strict=True):
            require(checks.increasing(edges), "edges: must increase")
            require(len(titles) in (0, edges.size + 1), "titles: must be one per range")
        known = state["n_honest"] > 0
        require(state["score_table"].shape == ((len(SCORES), 4) if known else (0, 4)), "score_table: must fit n_honest")
        for name in ("said", "came"):
            require(len(state[name]) == (n_classes if known else 0), f"{name}: must be one per class")
        require(len(state["correction"]) == n_classes + 1, "correction: must be one more than classes")
        bins = state["reliability"]
        require(bins.shape[1] == 4, "reliability: must have four columns")
        require((bins[:, 0] < n_classes).all() and (bins[:, 1:3] <= 1 + 1e-9).all(), "reliability: must be of classes")
        for name in ("group_said", "group_came", "group_expected"):
            tables = state[name]
            require(len(tables) in (0, n_features), f"{name}: must be one per feature")
            pairs = zip(tables, state["code_weights"], strict=False)
            fits = all(table.shape == (len(weights), n_classes) for table, weights in pairs)
            require(fits, f"{name}: must have a row per code")

    def fits(self, encoder: FeatureEncoder) -> bool:
        """Whether this is about the columns of an encoder."""
        if len(self.edges) != encoder.n_features:
            return False
        return all(
            len(weights) == (int(n) or len(edges) + 1) + 1
            for weights, n, edges in zip(self.code_weights, encoder.n_categories, self.edges, strict=True)
        )

    def columns(self, encoder: FeatureEncoder) -> ColumnGroups:
        """How the columns of a model divide rows."""
        titles = [
            [str(name) for name in known.tolist()] if known is not None else given
            for known, given in zip(encoder.categories, self.titles, strict=True)
        ]
        return ColumnGroups(encoder, np.arange(encoder.n_features), self.edges, titles)

    @property
    def scores(self) -> dict[str, Score]:
        """The scores by name; empty without honest rows."""
        return {name: Score(*row) for name, row in zip(SCORES, self.score_table.tolist(), strict=False)}

    def groups(self, columns: ColumnGroups, features: Sequence[int]) -> list[Group]:
        """The groups of some features: categories, single numbers, or fifths of a number with many values."""
        found = []
        for f in features:
            n_codes, edges = columns.n_codes[f], self.edges[f]
            joined = [[code] for code in range(n_codes)]
            if columns.are_ranges[f] and len(edges) + 1 >= N_RANGES - 1 and any(" to " in t for t in self.titles[f]):
                joined = [[c for c in (2 * i, 2 * i + 1) if c < n_codes - 1] for i in range(n_codes // 2)]
                joined = [codes for codes in joined if codes] + [[n_codes - 1]]
            for codes in joined:
                title = columns.title(f, codes[0])
                if len(codes) > 1:
                    title = f"{title.split(' to ')[0]} to {columns.title(f, codes[-1]).split(' to ')[-1]}"
                found.append(Group(f"{columns.names[f]}: {title}", f, codes, self._off(f, codes)))
        return found

    def _off(self, feature: int, codes: list[int]) -> Floats:
        """The correction of a group: that of all rows, and what its own honest answers add to it, if that is sure."""
        if not self.group_came:
            return self.correction
        came, expected = (sums[feature][codes].sum(axis=0) for sums in (self.group_came, self.group_expected))
        total = came.sum()
        if total < LEAST_OF_GROUP:
            return self.correction
        share, said = np.clip(came / total, 1e-6, 1 - 1e-6), np.clip(expected / total, 1e-6, 1 - 1e-6)
        z = (share - said) / np.sqrt(said * (1 - said) / total)
        kept = np.maximum(0.0, 1 - 1 / np.maximum(z**2, 1e-12))
        more = kept * (np.log(share / (1 - share)) - np.log(said / (1 - said)))
        if len(more) == 2:
            more = np.array([0.0, more[1]])
        return self.correction + np.concatenate([[0.0], more])


def reference_of(model: Any, X: Any, y: Any, sample_weight: Any = None, *, rows: str = "training") -> Reference:
    """Summarise the rows that a model was fitted to, for :func:`monitor` to compare later rows with.

    Parameters
    ----------
    model : fitted classifier
        petiole's, a wrapper of one, or any with ``predict_proba`` and ``classes_``.
    X, y, sample_weight : labelled rows
    rows : {"training", "new"}, default="training"
        "training": the rows of the fit. Ensembles answer them by the trees that have not seen them, boosted trees by
        folds; single trees, naive Bayes and the like have no honest answers, and then nothing is promised. "new": rows
        that the model has not seen.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from petiole import BaggedPETClassifier
    >>> from petiole.monitoring import reference_of
    >>> X, y = load_iris(return_X_y=True)
    >>> reference = reference_of(BaggedPETClassifier(random_state=0).fit(X, y), X, y)
    >>> 0 < reference.scores["log_loss"].low < reference.scores["log_loss"].high < 0.5
    True
    """
    check_choice("rows", rows, ROWS)
    X = settled(X)
    encoder = find_encoder(model)
    own = None
    if encoder is None:
        encoder, matrix = FeatureEncoder.fit(X, owner="Reference")
        own = encoder
    else:
        matrix = encoder.transform(X)
    classes = np.asarray(model.classes_)
    codes = label_codes(y, classes, "y")
    check_same_length(len(matrix), len(codes))
    weights, _ = weights_in_rows(check_weights(sample_weight, len(codes)))
    weights = np.ones(len(codes)) if weights is None else weights
    proba = model.predict_proba(X) if rows == "new" else honest_answers(model, X, y, sample_weight)
    columns = ColumnGroups.learn(encoder, matrix, None, weights, N_RANGES)
    judged = Judged(codes, _or_none(proba, codes, classes), classes, weights)
    made = _summary(columns, columns.codes(matrix), judged, own)
    made.spans, made.answers = _spans(encoder, matrix[weights > 0]), rows
    return made


def remember(model: Any, X: Any, y: Any, sample_weight: Any = None, *, rows: str = "training") -> Any:
    """Store the :class:`Reference` of its rows in a model, and so in its file. Returns the model.

    ``petiole fit`` does this.
    """
    encoder = find_encoder(model)
    if encoder is None:
        raise ValueError(
            f"{type(model).__name__} does not store its columns: pass a reference, from reference_of, to monitor"
        )
    encoder.reference = reference_of(model, X, y, sample_weight, rows=rows)
    return model


def kept_reference(model: Any) -> Reference | None:
    """The :class:`Reference` that is stored in a model; None if there is none."""
    found: Reference | None = getattr(find_encoder(model), "reference", None)
    if found is None or found.classes.tolist() != np.asarray(model.classes_).tolist():
        return None
    return found


def honest_answers(model: Any, X: Any, y: Any, sample_weight: Any) -> Floats | None:
    """Honest probabilities of training rows, NaN where there are none; None if the model has none at all."""
    if type(model).__name__ == "ConformalClassifier":
        model = model.estimator_
    try:
        proba = honest_probabilities(model, X, y, sample_weight)
    except ValueError:  # trees that were merged or made elsewhere: which rows they have seen is not known
        return None
    return None if proba is None or len(proba) != len(X) else proba


def _or_none(proba: Floats | None, codes: Any, classes: Any) -> Floats:
    return np.full((len(codes), len(classes)), np.nan) if proba is None else np.asarray(proba, dtype=np.float64)


def _summary(columns: ColumnGroups, cells: Codes, judged: Judged, own: FeatureEncoder | None) -> Reference:
    weights, n_classes = judged.weights, judged.n_classes
    known = ~np.isnan(judged.proba).any(axis=1) & (weights > 0)
    honest = Judged(judged.codes[known], judged.proba[known], judged.labels, weights[known])
    made = Reference()
    made.classes, made.n_rows = judged.labels, float(weights.sum())
    shares = np.bincount(judged.codes, weights, minlength=n_classes)
    made.class_shares = shares / shares.sum()
    made.edges = columns.edges
    pairs = zip(columns.titles, columns.are_ranges, strict=True)
    made.titles = [list(titles) if ranges else [] for titles, ranges in pairs]  # the encoder has the categories
    made.code_weights = [
        np.bincount(cells[:, j], weights, minlength=n).astype(np.float64) for j, n in enumerate(columns.n_codes)
    ]
    made.encoder = own
    made.n_honest = float(honest.weights.sum())
    made.score_table = _score_table(honest) if known.any() else np.empty((0, 4))
    made.said = honest.weights @ honest.proba / made.n_honest if known.any() else np.empty(0)
    made.came = honest.weights @ honest.truth / made.n_honest if known.any() else np.empty(0)
    made.correction = _correction(honest) if known.any() else np.zeros(1 + n_classes)
    made.reliability = _reliability(honest) if known.any() else np.empty((0, 4))
    few = known.any() and sum(columns.n_codes) * n_classes <= MOST_CELLS
    made.group_said = _by_code(cells[known], columns, honest, honest.proba) if few else []
    expected = corrected(honest.proba, made.correction) if few else honest.proba
    made.group_expected = _by_code(cells[known], columns, honest, expected) if few else []
    made.group_came = _by_code(cells[known], columns, honest, honest.truth) if few else []
    return made


def _spans(encoder: FeatureEncoder, matrix: Array) -> Floats:
    """The least, the middle and the largest value of each feature that is a number and not always missing."""
    found = np.full((encoder.n_features, 3), np.nan)
    for feature in np.flatnonzero(encoder.n_categories == 0).tolist():
        values = matrix[:, feature].astype(np.float64)
        values = values[~np.isnan(values)]
        if len(values):
            found[feature] = values.min(), np.median(values), values.max()
    return found


def _by_code(cells: Codes, columns: ColumnGroups, honest: Judged, table: Floats) -> list[Floats]:
    def sums(j: int, n: int) -> Floats:
        each = [np.bincount(cells[:, j], honest.weights * column, minlength=n) for column in table.T]
        return np.column_stack(each).astype(np.float64)

    return [sums(j, n) for j, n in enumerate(columns.n_codes)]


def row_scores(judged: Judged) -> dict[str, Floats]:
    """The scores that are means over rows, for each row."""
    right = (judged.proba.argmax(axis=1) == judged.codes).astype(np.float64)
    return {"log_loss": losses_in_bits(judged), "brier": squared_errors(judged), "accuracy": right}


def score_of(values: Floats, weights: Floats) -> Score:
    """A mean with its interval; weights count rows."""
    n = float(weights.sum())
    mean = float(weights @ values / n)
    deviation = math.sqrt(max(float(weights @ (values - mean) ** 2) / max(n - 1, 1.0), 0.0))
    half = float(ndtri(0.5 + LEVEL / 2)) * deviation / math.sqrt(n)
    return Score(mean, max(mean - half, 0.0), mean + half, deviation)


def _correction(honest: Judged) -> Floats:
    """How far honest answers are off, shrunk by how sure that is.

    Twice the log-likelihood that a correction of k numbers gains by chance is about χ² with k degrees of freedom, with
    mean k.
    """
    n, n_classes = len(honest.codes), honest.n_classes
    if n_classes < 2:
        return np.zeros(1 + n_classes)
    everyone = sparse.csr_array(np.ones((n, 1)))
    loss = GroupLoss(everyone, np.log(np.maximum(honest.proba, LEAST)), honest.codes, honest.weights, np.ones(1))
    found = loss.minimum(None, SEARCH).ravel()
    gain = honest.weights.sum() * (loss(np.zeros(1 + n_classes))[0] - loss(found)[0])
    kept = max(0.0, 1 - n_classes / (2 * gain)) if gain > 0 else 0.0
    return np.clip(kept * found, -100.0, 100.0)


def _score_table(honest: Judged) -> Floats:
    found = {name: score_of(values, honest.weights) for name, values in row_scores(honest).items()}
    n = honest.weights.sum()
    low, high = wilson_limits(np.array([min(found["accuracy"].mean, 1.0)]), np.array([n]), LEVEL)
    found["accuracy"] = found["accuracy"]._replace(low=float(low[0]), high=float(high[0]))
    return np.array([found[name] for name in SCORES], dtype=np.float64)


def _reliability(honest: Judged) -> Floats:
    """For every class: class, mean probability, observed share and weight in each bin of its probability with rows."""
    parts = []
    for k in range(honest.n_classes) if honest.n_classes != 2 else (1,):
        p = np.minimum(honest.proba[:, k], 1.0)
        place = np.minimum((p * N_BINS).astype(np.intp), N_BINS - 1)
        weight = np.bincount(place, honest.weights, minlength=N_BINS)
        used = weight > 0
        said = np.bincount(place, honest.weights * p, minlength=N_BINS)[used] / weight[used]
        came = np.bincount(place, honest.weights * (honest.codes == k), minlength=N_BINS)[used] / weight[used]
        parts.append(np.column_stack([np.full(used.sum(), float(k)), said, np.minimum(came, 1.0), weight[used]]))
    return np.vstack(parts)
