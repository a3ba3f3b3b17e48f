"""Recalibration without a hold-out: a map from probabilities to probabilities, learned on out-of-bag rows."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import sklearn
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from petiole._classifiers.bagging import BaggedPETClassifier
from petiole._classifiers.constraining import fitted_constraints
from petiole._classifiers.describing import Described
from petiole._classifiers.explaining import Explainable
from petiole._classifiers.intervals import ProbabilityIntervals
from petiole._table.columns import Floats
from petiole._table.encoder import FeatureEncoder
from petiole._table.frames import Array, settled
from petiole._table.groups import find_inputs
from petiole._table.labels import Codes, check_same_length, check_weights, encode_labels
from petiole._table.weights import weights_in_rows
from petiole._validation import WithoutClassWeight
from petiole.calibrators import (
    BetaCalibrator,
    BinningCalibrator,
    GroupCalibrator,
    IsotonicCalibrator,
    QuadraticCalibrator,
    SigmoidCalibrator,
    SplineCalibrator,
    StructuredMatrixCalibrator,
    TemperatureCalibrator,
    VectorScalingCalibrator,
    VennAbersCalibrator,
)
from petiole.calibrators._base import ScoreCalibrator
from petiole.files import checks
from petiole.files.checks import fields, maybe, require
from petiole.files.savable import SavableModel

METHODS: dict[str, type[ScoreCalibrator]] = {
    "sigmoid": SigmoidCalibrator,
    "beta": BetaCalibrator,
    "isotonic": IsotonicCalibrator,
    "temperature": TemperatureCalibrator,
    "binning": BinningCalibrator,
    "venn_abers": VennAbersCalibrator,
    "vector": VectorScalingCalibrator,
    "structured_matrix": StructuredMatrixCalibrator,
    "quadratic": QuadraticCalibrator,
    "spline": SplineCalibrator,
}


def _gives_intervals(model: OOBCalibratedClassifier) -> bool:
    if model.groups is not None:
        raise AttributeError(f"groups={model.groups!r}: corrections for groups have no intervals; use groups=None")
    if model.method == "venn_abers" or isinstance(model.method, VennAbersCalibrator):
        return True
    raise AttributeError(f"method={model.method!r} gives no intervals: use method='venn_abers'")


class OOBCalibratedClassifier(
    Explainable,
    WithoutClassWeight,
    Described,
    SavableModel,
    ClassifierMixin,  # type: ignore[misc]
    MetaEstimatorMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
):
    """An ensemble whose probabilities are recalibrated on its own out-of-bag rows.

    Each training row gets the probabilities of the trees that have not seen it. These are as honest as those of new
    rows, so the calibrator is learned from them, in one fit, on all rows, without a hold-out and without folds. Rows
    that all trees have seen are left out.

    Parameters
    ----------
    ensemble : classifier with out-of-bag probabilities, default=None
        One of petiole's ensembles, one of scikit-learn's forests or ``BaggingClassifier`` with bootstrap samples, or a
        pipeline that ends in one of them. It is cloned and fitted with ``oob_score=True``. A ``FrozenEstimator`` is
        used as it is; it must have been fitted with ``oob_score=True`` on the rows that ``fit`` is given. None is
        ``BaggedPETClassifier()``.
    method : str or calibrator, default="beta"
        One of the following, or an object of :mod:`petiole.calibrators`, such as ``BinningCalibrator(n_bins=20)``.
        "temperature", "vector" and "structured_matrix" map all classes at once; the others map each of more than two
        classes against the rest and divide by the sum.

        - "sigmoid": Platt's, a sigmoid of the probability; two numbers.
        - "beta": a logistic regression on ln p and −ln(1−p); three numbers.
        - "isotonic": any non-decreasing function; may give 0 and 1.
        - "temperature": p_k ∝ p_k^(1/T); one number for all classes; the most probable class stays the same.
        - "binning": the class's share in ten bins of equal counts.
        - "venn_abers": isotonic with the query labelled 0 and labelled 1; never gives 0 or 1, and has
          ``predict_interval``.
        - "vector": a temperature, then a scale and an intercept for each class.
        - "structured_matrix": the same, and with more rows a number for each pair of classes.
        - "quadratic": an increasing parabola of the log-odds; three numbers.
        - "spline": any smooth increasing function of the log-odds; never gives 0 or 1.
    groups : list of columns, "tree" or GroupCalibrator, default=None
        Groups of rows for which the probabilities shall be right, too, besides all rows together: after the method,
        a :class:`petiole.calibrators.GroupCalibrator` is fitted to the same out-of-bag rows. Names or positions of
        columns: their categories, or the quarters of a number, are the groups. "tree": groups are found as the leaves
        of a small tree on all columns. A GroupCalibrator works on all columns, with its own parameters.

    Attributes
    ----------
    estimator_ : the fitted ensemble
    calibrator_ : the fitted calibrator
    calibrators_ : list
        The calibrator's maps: one with two classes (of the second) and for a method that takes all classes at
        once, else one per class.
    classes_ : array of the class labels
    group_calibrator_ : the fitted GroupCalibrator, only with ``groups``
    n_calibration_rows_ : int
        The number of training rows that are out of bag and have a weight.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from petiole import BaggedPETClassifier, OOBCalibratedClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> forest = BaggedPETClassifier.eb_pets(n_estimators=64, random_state=0)
    >>> model = OOBCalibratedClassifier(forest, method="venn_abers").fit(X, y)
    >>> lower, upper = model.predict_interval(X[:1])
    >>> bool(lower[0, 0] < model.predict_proba(X[:1])[0, 0] < upper[0, 0])
    True
    """

    _saved = fields(
        estimator_=checks.fitted_classifier,
        calibrator_=checks.instance_of("ScoreCalibrator"),
        group_calibrator_=maybe(checks.instance_of("GroupCalibrator")),
        classes_=checks.labels,
        n_calibration_rows_=checks.whole(0),
        n_features_in_=maybe(checks.whole(1)),
        feature_names_in_=maybe(checks.names),
    )

    def _check_saved_parameters(self) -> None:
        as_calibrator(self.method)._check_parameters()
        as_group_calibrator(self.groups)
        checks.check_part("ensemble", checks.none_or(checks.classifier), self.ensemble)

    def _check_state(self, state: dict[str, Any]) -> None:
        estimator, calibrator, known = state["estimator_"], state["calibrator_"], state["classes_"].tolist()
        require(estimator.classes_.tolist() == known, "estimator_: must have the same classes")
        checks.same_columns(state, estimator)
        same = type(calibrator) is type(as_calibrator(self.method))
        require(same, f"calibrator_: must be that of method={self.method!r}")
        fits = calibrator.__sklearn_is_fitted__() and calibrator.n_score_columns_ == len(known)
        require(fits, "calibrator_: must be fitted to the same classes")
        grouped = state.get("group_calibrator_")
        require((grouped is None) == (self.groups is None), "group_calibrator_: must be there if groups are")
        if grouped is not None:
            same = grouped.__sklearn_is_fitted__() and grouped.n_score_columns_ == len(known)
            require(same, "group_calibrator_: must be fitted to the same classes")
            n_inputs = grouped.columns_.encoder.n_inputs
            require(n_inputs == state.get("n_features_in_", n_inputs), "group_calibrator_: must have the same columns")

    def _check_restored(self) -> None:
        self.calibrators_ = self.calibrator_.calibrators_

    def __init__(self, ensemble: Any = None, method: str | ScoreCalibrator = "beta", groups: Any = None) -> None:
        self.ensemble = ensemble
        self.method = method
        self.groups = groups

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the ensemble, and the calibrator on its out-of-bag probabilities.

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_features), of a kind that the ensemble accepts
        y : labels of any kind, one per row
        sample_weight : array of shape (n_rows,), optional
            Used by the ensemble and by the calibrator.
        """
        calibrator = as_calibrator(self.method)
        calibrator._check_parameters()
        grouped = as_group_calibrator(self.groups)
        estimator = self._fit_ensemble(X, y, sample_weight)
        rows = _honest_rows(estimator, y, sample_weight)
        rows.fit(calibrator)
        check_keeps_order(inner_model(estimator), calibrator, self.groups)
        if grouped is not None:
            _correct_groups(grouped, self.groups, estimator, X, rows, calibrator)
        validate_data(self, X, skip_check_array=True)
        self.estimator_ = estimator
        self.classes_: Array = calibrator.classes_
        self._keep_calibrator(calibrator, grouped, len(rows.codes))
        return self

    def with_method(
        self, method: str | ScoreCalibrator, y: Any, sample_weight: Any = None, *, X: Any = None, groups: Any = None
    ) -> OOBCalibratedClassifier:
        """A fitted classifier with the same ensemble and another calibrator.

        ``y`` and ``sample_weight`` are those of ``fit``; only the calibrator is fitted. For corrections of
        ``groups`` the ``X`` of ``fit`` is needed as well; without ``groups`` the other classifier has none.
        """
        check_is_fitted(self)
        calibrator = as_calibrator(method)
        calibrator._check_parameters()
        grouped = as_group_calibrator(groups)
        if grouped is not None and X is None:
            raise ValueError(f"groups={groups!r}: need X, the rows of fit, to know which group each row is in")
        rows = _honest_rows(self.estimator_, y, sample_weight)
        rows.fit(calibrator)
        check_keeps_order(inner_model(self.estimator_), calibrator, groups)
        if grouped is not None:
            _correct_groups(grouped, groups, self.estimator_, X, rows, calibrator)
        other = copy.copy(self)
        other.method, other.groups = method, groups
        other._keep_calibrator(calibrator, grouped, len(rows.codes))
        return other

    def predict_proba(self, X: Any) -> Floats:
        """Recalibrated class probabilities of the rows of X, in the order of ``classes_``; each row sums to 1."""
        uncalibrated = self._uncalibrated(X)  # first, because it says what an unfitted model lacks
        proba = self.calibrator_.predict(uncalibrated)
        if "group_calibrator_" not in vars(self):
            return np.asarray(proba)
        return np.asarray(self.group_calibrator_.predict(proba, X))

    def predict_log_proba(self, X: Any) -> Floats:
        """Natural logarithms of the class probabilities; -inf where a probability is zero."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The most probable class of each row; in a tie, the first."""
        proba = self.predict_proba(X)
        return np.asarray(self.classes_[proba.argmax(axis=1)])

    @available_if(_gives_intervals)  # type: ignore[untyped-decorator]
    def predict_interval(self, X: Any) -> tuple[Floats, Floats]:
        """Lower and upper probabilities of each class, both of shape (n_rows, n_classes); Venn–Abers only.

        The two probabilities that isotonic calibration would give if the query were one of the calibrating rows, with
        another label and with this one. With more than two classes, each is taken against the rest.
        """
        proba = self._uncalibrated(X)
        calibrator: VennAbersCalibrator = self.calibrator_
        return calibrator.predict_interval(proba)

    def learn_intervals(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Prepare :meth:`predict_proba_interval` of the ensemble; Venn–Abers bounds need no preparation.

        Parameters
        ----------
        X, y, sample_weight : the data that the model was fitted on
        """
        check_is_fitted(self)
        if not hasattr(self, "predict_interval"):
            self._with_intervals().learn_intervals(X, y, sample_weight)
        return self

    def predict_proba_interval(self, X: Any, level: float = 0.9) -> ProbabilityIntervals:
        """An interval for the probability of each class.

        With ``method="venn_abers"`` these are the bounds of :meth:`predict_interval`, whatever the level. Otherwise
        they are the ensemble's own intervals (see :meth:`BaggedPETClassifier.predict_proba_interval`) after the map
        of the calibrator, which is treated as known. This is for two classes and without ``groups``.
        """
        if hasattr(self, "predict_interval"):
            lower, upper = self.predict_interval(X)
            return ProbabilityIntervals(lower, upper, self.predict_proba(X), self.classes_, None)
        found = self._with_intervals().predict_proba_interval(X, level)
        validate_data(self, X, skip_check_array=True, reset=False)
        ends = [self.calibrator_.predict(np.column_stack([1 - end[:, 1], end[:, 1]])) for end in found]
        lower, upper = np.minimum(*ends), np.maximum(*ends)
        proba = np.asarray(self.calibrator_.predict(found.proba))
        return ProbabilityIntervals(lower, upper, proba, self.classes_, found.level)

    def _with_intervals(self) -> Any:
        """The ensemble, if its intervals can be mapped."""
        check_is_fitted(self)
        model = inner_model(self.estimator_)
        given = self.estimator_.estimator if isinstance(self.estimator_, FrozenEstimator) else self.estimator_
        if model is not given or not hasattr(model, "predict_proba_interval"):
            raise ValueError(
                f"ensemble={given!r}: has no intervals; use BaggedPETClassifier or ProbabilityForestClassifier, or "
                "method='venn_abers', whose bounds need only out-of-bag probabilities"
            )
        if len(self.classes_) != 2 or self.groups is not None:
            found = f"groups={self.groups!r}" if self.groups is not None else f"{len(self.classes_)} classes"
            raise ValueError(
                f"method={self.method!r} with {found}: intervals are mapped for two classes without groups only; use "
                "method='venn_abers', or the intervals of the ensemble itself, estimator_.predict_proba_interval"
            )
        return model

    def _keep_calibrator(self, calibrator: ScoreCalibrator, grouped: GroupCalibrator | None, n_rows: int) -> None:
        self.calibrator_: Any = calibrator
        self.__dict__.pop("group_calibrator_", None)
        if grouped is not None:
            self.group_calibrator_: Any = grouped
        self.calibrators_ = calibrator.calibrators_
        self.n_calibration_rows_ = n_rows

    def _uncalibrated(self, X: Any) -> Floats:
        check_is_fitted(self)
        proba: Floats = self.estimator_.predict_proba(X)
        validate_data(self, X, skip_check_array=True, reset=False)
        return proba

    def _fit_ensemble(self, X: Any, y: Any, sample_weight: Any) -> Any:
        estimator = with_out_of_bag(self._given_ensemble())
        if sample_weight is None:
            return estimator.fit(X, y)
        if sklearn.get_config()["enable_metadata_routing"]:
            return estimator.fit(X, y, **process_routing(self, "fit", sample_weight=sample_weight).estimator.fit)
        name = f"{estimator.steps[-1][0]}__sample_weight" if isinstance(estimator, Pipeline) else "sample_weight"
        return estimator.fit(X, y, **{name: sample_weight})

    def _given_ensemble(self) -> Any:
        if self.ensemble is not None:
            return self.ensemble
        ensemble = BaggedPETClassifier()
        if sklearn.get_config()["enable_metadata_routing"]:
            ensemble.set_fit_request(sample_weight=True)
        return ensemble

    def get_metadata_routing(self) -> MetadataRouter:
        """Both the calibrator and the ensemble may ask for ``sample_weight``."""
        mapping = MethodMapping().add(caller="fit", callee="fit")
        router = MetadataRouter(owner=self).add_self_request(self)
        return router.add(estimator=self._given_ensemble(), method_mapping=mapping)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "calibrator_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self._given_ensemble()).input_tags
        for name in ("allow_nan", "sparse", "categorical", "string"):
            setattr(tags.input_tags, name, getattr(inner, name))
        return tags


def as_calibrator(method: Any) -> ScoreCalibrator:
    """A fresh calibrator, by name or like the one given.

    >>> as_calibrator("platt")
    Traceback (most recent call last):
    ...
    ValueError: method='platt': must be one of 'sigmoid', 'beta', 'isotonic', 'temperature', 'binning', 'venn_abers', \
'vector', 'structured_matrix', 'quadratic', 'spline', or a calibrator of petiole.calibrators
    """
    if isinstance(method, str) and method in METHODS:
        return METHODS[method]()
    if isinstance(method, ScoreCalibrator):
        fresh: ScoreCalibrator = clone(method)
        return fresh
    names = ", ".join(map(repr, METHODS))
    raise ValueError(f"method={method!r}: must be one of {names}, or a calibrator of petiole.calibrators")


def with_out_of_bag(ensemble: Any) -> Any:
    """A clone that computes out-of-bag probabilities when it is fitted; a frozen ensemble stays as it is."""
    if isinstance(ensemble, FrozenEstimator):
        return ensemble
    if isinstance(ensemble, type) or not hasattr(ensemble, "fit") or not hasattr(ensemble, "get_params"):
        raise TypeError(f"ensemble={ensemble!r}: must be a classifier object with fit, such as BaggedPETClassifier()")
    estimator = clone(ensemble)
    name = f"{estimator.steps[-1][0]}__oob_score" if isinstance(estimator, Pipeline) else "oob_score"
    parameters = estimator.get_params()
    if name not in parameters:
        raise _no_out_of_bag(ensemble, "give one that has the parameter oob_score, such as BaggedPETClassifier()")
    return estimator if parameters[name] else estimator.set_params(**{name: True})


def inner_model(estimator: Any) -> Any:
    """The ensemble itself, where it is frozen or the last step of a pipeline."""
    model = estimator.estimator if isinstance(estimator, FrozenEstimator) else estimator
    return model.steps[-1][1] if isinstance(model, Pipeline) else model


def check_keeps_order(model: Any, calibrator: ScoreCalibrator, groups: Any) -> None:
    """Raise ValueError if a model has monotone probabilities and the calibrated ones would not be."""
    constraints = fitted_constraints(model) if hasattr(model, "encoder_") else None
    if constraints is None or not constraints.orders:
        return
    if len(calibrator.classes_) > 2:
        raise ValueError(
            "monotonic_cst: with more than two classes, the recalibrated probability of the named class is not "
            "monotone; use the ensemble itself, or recalibrate one of two classes"
        )
    if groups is not None:
        raise ValueError(
            f"groups={groups!r}: corrections for groups differ from row to row, so that probabilities are no longer "
            "monotone; use groups=None with monotonic_cst"
        )
    if not all(one.keeps_order for one in calibrator.calibrators_):
        raise ValueError(
            f"calibrator {calibrator!r}: its map falls somewhere, so that probabilities are no longer monotone; with "
            "monotonic_cst use method='beta', 'isotonic', 'spline', 'temperature' or 'venn_abers'"
        )


def out_of_bag_probabilities(estimator: Any) -> Floats:
    """The out-of-bag probabilities of a fitted ensemble; rows of NaN or 0 where there are none."""
    model = inner_model(estimator)
    for name in ("oob_predict_proba_", "oob_decision_function_"):
        if hasattr(model, name):
            return np.asarray(getattr(model, name), dtype=np.float64)
    raise _no_out_of_bag(estimator, "fit it with oob_score=True before it is frozen")


@dataclass(frozen=True)
class _HonestRows:
    """The training rows that have out-of-bag probabilities and a weight: which they are, and what is known of them."""

    places: npt.NDArray[np.intp]
    proba: Floats
    codes: Codes
    weights: Floats | None
    classes: Array

    def fit(self, calibrator: ScoreCalibrator) -> None:
        """Fit a calibrator to them."""
        calibrator._fit_checked(self.proba, self.codes, self.weights, self.classes)


def _honest_rows(estimator: Any, y: Any, sample_weight: Any) -> _HonestRows:
    proba = out_of_bag_probabilities(estimator)
    found, codes = encode_labels(y)
    check_same_length(len(proba), len(codes))
    weights, _ = weights_in_rows(check_weights(sample_weight, len(proba)))
    known = np.isfinite(proba).all(axis=1) & (proba.sum(axis=1) > 0)
    if weights is not None:
        known &= weights > 0
    rows = np.flatnonzero(known)
    if not len(rows):
        raise ValueError(
            f"no row is outside the sample of a tree (n_samples={len(proba)}), so that there is nothing to calibrate "
            "on: give more rows or more trees (n_estimators)"
        )
    classes = np.asarray(estimator.classes_)
    codes = _codes_among(classes, found, codes[rows])
    return _HonestRows(rows, proba[rows], codes, None if weights is None else weights[rows], classes)


def _correct_groups(
    grouped: GroupCalibrator, groups: Any, estimator: Any, X: Any, rows: _HonestRows, calibrator: ScoreCalibrator
) -> None:
    """Fit the corrections of groups to what the calibrator makes of the out-of-bag rows."""
    model = inner_model(estimator)
    encoder = getattr(model, "encoder_", None) if model is estimator or isinstance(estimator, FrozenEstimator) else None
    if encoder is None:
        encoder, matrix = FeatureEncoder.fit(settled(X), owner="OOBCalibratedClassifier")
    else:
        matrix = encoder.transform(X)
    inputs = None if isinstance(groups, (str, GroupCalibrator)) else find_inputs(groups, encoder, "groups")
    table = np.asarray(calibrator.predict(rows.proba))
    columns = (encoder, matrix[rows.places], inputs)
    grouped._fit_checked(table, rows.codes, rows.weights, rows.classes, columns)


def as_group_calibrator(groups: Any) -> GroupCalibrator | None:
    """A fresh calibrator for the groups that are asked for.

    >>> as_group_calibrator("leaves")
    Traceback (most recent call last):
    ...
    ValueError: groups='leaves': must be a list of columns, 'tree', a GroupCalibrator or None
    """
    if groups is None:
        return None
    if isinstance(groups, GroupCalibrator):
        groups._check_parameters()
        fresh: GroupCalibrator = clone(groups)
        return fresh
    if isinstance(groups, str) and groups == "tree":
        return GroupCalibrator("tree")
    if isinstance(groups, (str, bytes, dict)) or not hasattr(groups, "__iter__"):
        raise ValueError(f"groups={groups!r}: must be a list of columns, 'tree', a GroupCalibrator or None")
    return GroupCalibrator("columns")


def _codes_among(classes: Array, found: Array, codes: Codes) -> Codes:
    """Codes that count among the ensemble's classes; a row of weight zero may have a label that is none of them."""
    code_of = {label: code for code, label in enumerate(classes.tolist())}
    places = np.array([code_of.get(label, -1) for label in found.tolist()], dtype=np.int32)[codes]
    if (places < 0).any():
        label = found.tolist()[codes[int(np.argmin(places))]]
        raise ValueError(
            f"y has the label {label!r}, but the ensemble was fitted on the classes {classes.tolist()}: "
            "give the labels it was fitted on"
        )
    return places


def _no_out_of_bag(ensemble: Any, remedy: str) -> ValueError:
    return ValueError(f"ensemble={ensemble!r} has no out-of-bag probabilities: {remedy}")
