"""Dual perturb and combine (Geurts 2001): one model that predicts perturbed versions of a query."""

from __future__ import annotations

import copy
import time
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted, validate_data

from petiole._classifiers.describing import Described
from petiole._classifiers.ensemble import training_again
from petiole._classifiers.pet import PETClassifier
from petiole._dual.closed_form import has_unseen_rows, is_soft
from petiole._dual.model import Noise, PerturbedModel, is_frozen, unwrapped
from petiole._dual.noise import Floats
from petiole._dual.traversal import soft_leaf_weights
from petiole._dual.tuning import RowsToTune, Tuned, on_folds, on_one_tree, on_unseen, on_validation, tune
from petiole._table.labels import check_weights, encode_labels
from petiole._validation import (
    LARGEST,
    WithoutClassWeight,
    WithoutConstraints,
    check_choice,
    check_number,
    check_whole,
    draw_seed,
    thread_count,
)
from petiole.files import checks
from petiole.files.checks import fields, maybe, require
from petiole.files.savable import SavableModel

MODES = ("exact", "product", "monte_carlo")
AGGREGATES = ("mean", "vote")
OBJECTIVES = ("log_loss", "error")
TUNE_ON = ("auto", "out_of_bag", "cross_fit", "one_tree")
LEARNED = ("auto", "per_attribute")
# A limit for model files, so that a hostile one cannot keep a processor busy.
MOST_SAVED_PERTURBATIONS = 1_000_000


class DualPerturbCombineClassifier(
    WithoutConstraints, WithoutClassWeight, Described, SavableModel, ClassifierMixin, BaseEstimator
):
    """Dual perturb and combine: perturb the query instead of the training set (Geurts 2001).

    The values of a query are perturbed by Gaussian noise, a fitted model predicts the perturbed queries, and the
    predictions are averaged. The predictions of a tree then change smoothly instead of in steps. For petiole's trees
    and ensembles, the mean over all perturbations is computed in closed form; for other classifiers it is the mean
    over ``n_perturbations`` random ones.

    The standard deviation of the noise is λσ, with σ that of the feature's known values in the training set. Missing
    values are divided over branches as usual.

    Parameters
    ----------
    estimator : classifier
        Cloned and fitted; scikit-learn's ``FrozenEstimator`` keeps a fitted one.
    noise : "auto", "per_attribute", float or array of shape (n_features,), default="auto"
        The paper's λ. "auto" finds it by golden-section search in [0, 3], with at most 15 evaluations, on rows that
        the model has not seen; 0 is always tried, and of equally good values the smallest is chosen. "per_attribute"
        continues to one λ per feature, along the gradient of the log-loss. A number set by ``set_params(noise=0.3)``
        takes effect at the next prediction, without another fit.
    mode : {"exact", "product", "monte_carlo"}, default="exact"
        "product" multiplies the probabilities of the tests on a path (eq. 3 to 5), as if each had its own noise.
        "exact" takes the probability that the perturbed value lies within the path's bounds on its feature: the limit
        of "monte_carlo", also if a feature is tested more than once. "monte_carlo" works with any classifier.
    n_perturbations : int, default=100
        Number of perturbed copies in mode "monte_carlo". All queries get the same noise (eq. 1), so the prediction for
        one does not depend on the others.
    nominal_noise : float or "auto", default=0
        The probability q that a category is not kept but drawn by the frequencies in the training set, after Breiman's
        (2000) randomisation, to which the paper refers. "auto" finds it by golden-section search in [0, 1], after λ.
    aggregate : {"mean", "vote"}, default="mean"
        Whether probabilities are averaged, or predicted classes counted. "vote" needs mode "monte_carlo",
        or a :class:`PETClassifier`.
    objective : {"log_loss", "error"}, default="log_loss"
        The loss that tuning minimises. The paper takes the error, which is a step function.
    tune_on : {"auto", "out_of_bag", "cross_fit", "one_tree"}, default="auto"
        The rows on which the noise is tuned if ``fit`` gets no ``validation``. "out_of_bag": training rows, each
        predicted by the trees of an ensemble that have not seen it. "cross_fit": five folds, each predicted by a model
        fitted on the others. "one_tree": the paper's shortcut for ensembles, the rows outside the sample of the first
        tree, predicted by that tree alone. "auto" is out-of-bag for an ensemble with bootstrap samples and
        cross-fitting otherwise. For a frozen estimator, "auto" assumes that it has not seen the rows given to ``fit``.
    categorical_features : as in :class:`PETClassifier`, default="from_dtype"
        Categorical columns, if the estimator is not petiole's and has no such parameter.
    random_state : int, RandomState or None, default=None
        For random perturbations and folds.
    n_jobs : int or None, default=None
        Threads of "exact" and "product"; the result does not depend on their number.
    verbose : int, default=0
        1 prints the values tried and the progress of long predictions.

    Attributes
    ----------
    estimator_ : the fitted classifier
    noise_ : float or array of shape (n_features,)
        λ at the time of the fit.
    nominal_noise_ : float
    scales_ : array of shape (n_features,)
        σ of the numeric features, 0 for categorical and constant ones.
    noise_search_, nominal_noise_search_ : arrays of shape (n_tried, 2)
        The values tried by the search, in order, and the losses; log-loss in bits. Empty if nothing was searched.
    classes_ : array of the class labels
    n_features_in_ : int
    feature_names_in_ : array of str, only when X has column names

    Notes
    -----
    Branches that carry a negligible mass are not entered: at most 1e-4 of a query's mass ends in a wrong leaf of a
    tree, so no probability is off by more than that (usually by less than 1e-5).

    At λ = 0 a value equal to a threshold passes ``x <= t``; with any noise it passes with probability one half. This
    is common in trees whose thresholds are values of the data (``threshold="data"``, as in C4.5 and C4.4).

    References
    ----------
    P. Geurts, Dual perturb and combine algorithm, AISTATS 2001.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from petiole import DualPerturbCombineClassifier, PETClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = DualPerturbCombineClassifier(PETClassifier(), noise=0.2).fit(X, y)
    >>> model.predict_proba(X[77:78]).round(3)
    array([[0.09 , 0.459, 0.451]])
    >>> model.set_params(noise=0).predict_proba(X[77:78]).round(3)  # the tree itself, no fit needed
    array([[0.167, 0.5  , 0.333]])
    """

    no_constraints = (
        "the estimator inside has: DualPerturbCombineClassifier(BaggedPETClassifier(monotonic_cst=...)) answers "
        "monotonically, because noise is the same for all queries"
    )

    _saved = fields(
        model_=checks.instance_of("PerturbedModel"),
        estimator_=checks.fitted_classifier,
        classes_=checks.labels,
        scales_=checks.floats(1, 0.0),
        seed_=checks.whole(0, 2**62),
        noise_=checks.anything,
        nominal_noise_=checks.number(0.0, 1.0),
        noise_search_=checks.floats(2, nan=True),
        nominal_noise_search_=checks.floats(2, nan=True),
        _learned=checks.anything,
        n_features_in_=checks.whole(1),
        feature_names_in_=maybe(checks.names),
    )

    def _check_saved_parameters(self) -> None:
        self._check_parameters()
        require(self.n_perturbations <= MOST_SAVED_PERTURBATIONS, "n_perturbations: must be at most a million")

    def _check_state(self, state: dict[str, Any]) -> None:
        model, noise, n_inputs = state["model_"], state["noise_"], state["n_features_in_"]
        n_features = model.encoder.n_features
        require(state["estimator_"] is model.estimator, "estimator_: must be that of model_")
        same = type(unwrapped(self.estimator)) is type(model.inner)
        require(same, "estimator_: must be of the class of the parameter estimator")
        self._check_level(len(model.attributes.scales))
        require(model.classes.tolist() == state["classes_"].tolist(), "classes_: must be those of model_")
        require(np.array_equal(model.attributes.scales, state["scales_"]), "scales_: must be those of model_")
        require(model.encoder.n_inputs == n_inputs, "n_features_in_: must be the number of columns")
        names = state.get("feature_names_in_")
        require(names is None or len(names) == n_inputs, "feature_names_in_: must be one per column")
        learned = state["_learned"]
        pair = type(learned) is tuple and len(learned) == 2 and all(type(one) is bool for one in learned)
        require(pair, "_learned: must be two truth values")
        check = checks.floats(1, 0.0, LARGEST) if isinstance(noise, np.ndarray) else checks.number(0.0, LARGEST)
        checks.check_part("noise_", check, noise)
        require(np.ndim(noise) == 0 or len(noise) == n_features, "noise_: must be one number, or one per column")

    def __init__(
        self,
        estimator: Any,
        noise: float | str | npt.ArrayLike = "auto",
        mode: str = "exact",
        n_perturbations: int = 100,
        *,
        nominal_noise: float | str = 0.0,
        aggregate: str = "mean",
        objective: str = "log_loss",
        tune_on: str = "auto",
        categorical_features: Any = "from_dtype",
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.noise = noise
        self.mode = mode
        self.n_perturbations = n_perturbations
        self.nominal_noise = nominal_noise
        self.aggregate = aggregate
        self.objective = objective
        self.tune_on = tune_on
        self.categorical_features = categorical_features
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, *, validation: tuple[Any, ...] | None = None
    ) -> DualPerturbCombineClassifier:
        """Fit a clone of the estimator and, if required, find the noise.

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_features)
        y : labels, one per row
        sample_weight : array of shape (n_rows,), optional
            Passed on to the estimator; also used in σ, category frequencies and the loss that tunes the noise.
        validation : (X, y) or (X, y, sample_weight), optional
            Rows on which the noise is tuned instead of those that ``tune_on`` names.
        """
        self._check_parameters()
        started = time.perf_counter()
        model = PerturbedModel.fit(self.estimator, X, y, sample_weight, self.categorical_features)
        self._check_level(len(model.attributes.scales))
        seed = draw_seed(self.random_state)
        tuned = self._tune(model, X, y, sample_weight, validation, seed)
        # Nothing of the estimator changes before this point: a fit that fails or is stopped leaves it as it was.
        validate_data(self, X, skip_check_array=True)
        self.model_ = model
        self.estimator_ = model.estimator
        self.classes_ = model.classes
        self.scales_ = model.attributes.scales
        self.seed_ = seed
        self.noise_, self.nominal_noise_ = tuned.noise, tuned.nominal_noise
        self.noise_search_ = np.array(tuned.tried).reshape(-1, 2)
        self.nominal_noise_search_ = np.array(tuned.nominal_tried).reshape(-1, 2)
        self._learned = (isinstance(self.noise, str), isinstance(self.nominal_noise, str))
        if self.verbose:
            seconds = time.perf_counter() - started
            print(f"[{type(self).__name__}] noise={np.round(self.noise_, 4)} in {seconds:.2f} s")
        return self

    def predict_proba(self, X: Any) -> Floats:
        """Class probabilities of the rows of X, in the order of ``classes_``; each row sums to 1."""
        check_is_fitted(self)
        noise = self._noise_now()
        prepared = self.model_.prepare(X)
        validate_data(self, X, skip_check_array=True, reset=False)
        return self.model_.answer(prepared, noise)

    def predict_log_proba(self, X: Any) -> Floats:
        """Natural logarithms of the class probabilities; -inf where a probability is zero."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The most probable class of each row; in a tie, the first."""
        proba = self.predict_proba(X)
        return self.classes_[proba.argmax(axis=1)]

    def leaf_weights(self, X: Any) -> sparse.csr_matrix:
        """For a single tree: the probability that each row, perturbed, reaches each leaf, shape (n_rows, n_nodes)."""
        check_is_fitted(self)
        inner, noise = self.model_.inner, self._noise_now()
        if not isinstance(inner, PETClassifier) or noise.mode == "monte_carlo":
            raise ValueError(
                f"leaf_weights: {type(inner).__name__} with mode={self.mode!r} has no single tree that is walked "
                "softly; use a PETClassifier with mode='exact' or 'product'"
            )
        perturbation = self.model_.perturbation(noise)
        return soft_leaf_weights(inner.tree_, self.model_.prepare(X), perturbation, n_threads=noise.n_threads)

    # Parameters.

    def _check_parameters(self) -> None:
        check_choice("mode", self.mode, MODES)
        check_whole("n_perturbations", self.n_perturbations, 1)
        check_choice("aggregate", self.aggregate, AGGREGATES)
        check_choice("objective", self.objective, OBJECTIVES)
        check_choice("tune_on", self.tune_on, TUNE_ON)
        check_whole("verbose", self.verbose, 0)
        if isinstance(self.noise, str):
            check_choice("noise", self.noise, LEARNED, otherwise="a number at least 0, or one per feature")
        elif isinstance(self.noise, Real):
            check_number("noise", self.noise, 0)
        if isinstance(self.nominal_noise, str):
            check_choice("nominal_noise", self.nominal_noise, ("auto",), otherwise="a number between 0 and 1")
        else:
            check_number("nominal_noise", self.nominal_noise, 0, 1)
        self._check_estimator()

    def _check_estimator(self) -> None:
        inner = unwrapped(self.estimator)
        name = type(inner).__name__
        if isinstance(inner, type) or not hasattr(inner, "fit"):
            raise ValueError(f"estimator={self.estimator!r}: must be a classifier with fit, such as PETClassifier()")
        if self.mode == "monte_carlo":
            has_proba = hasattr(inner, "predict_proba")
            if self.aggregate == "mean" and not has_proba:
                raise ValueError(f"aggregate='mean' needs probabilities, which {name} has not: use aggregate='vote'")
            if isinstance(self.noise, str) and self.noise == "per_attribute":
                raise ValueError(
                    "noise='per_attribute' needs a gradient: use mode='exact' or 'product', or noise='auto'"
                )
        elif not is_soft(inner):
            raise ValueError(
                f"mode={self.mode!r}: {name} is none of petiole's trees and forests, whose leaves can be weighed "
                "without drawing: use mode='monte_carlo' (for a fitted tree or forest of scikit-learn there is also "
                "FrozenEstimator(petiole.from_sklearn(model)); a pipeline takes this classifier as its last step)"
            )
        elif self.aggregate == "vote" and not isinstance(inner, PETClassifier):
            raise ValueError(
                f"aggregate='vote': the decisions of {name} under noise have no closed form, because all its trees "
                "meet the same noise: use mode='monte_carlo', or aggregate='mean'"
            )

    def _check_level(self, n_features: int) -> None:
        """Check that there is one level per feature, if there are several."""
        if isinstance(self.noise, (str, Real)):
            return
        try:
            levels = np.asarray(self.noise, dtype=np.float64)
        except (TypeError, ValueError):
            levels = np.empty(0)
        if levels.shape != (n_features,) or not ((levels >= 0) & (levels <= LARGEST)).all():
            raise ValueError(
                f"noise={self.noise!r}: must be 'auto', 'per_attribute', a number between 0 and {LARGEST:g}, or "
                f"{n_features} such numbers, one per feature"
            )

    def _noise_now(self) -> Noise:
        """The noise of a prediction: the current parameters, with the learned values for "auto"."""
        self._check_parameters()
        self._check_level(len(self.scales_))
        values = []
        named = (("noise", self.noise, self.noise_), ("nominal_noise", self.nominal_noise, self.nominal_noise_))
        for (name, given, found), learned in zip(named, self._learned, strict=True):
            if isinstance(given, str) and not learned:
                raise ValueError(f"{name}={given!r} was set after a fit that did not learn it: call fit again")
            values.append(found if isinstance(given, str) else given)
        return self._noise(*values)

    def _noise(self, level: Any, nominal: Any) -> Noise:
        return Noise(
            level=float(level) if isinstance(level, Real) else np.asarray(level, dtype=np.float64),
            nominal_noise=float(nominal),
            mode=self.mode,
            aggregate=self.aggregate,
            n_perturbations=int(self.n_perturbations),
            seed=getattr(self, "seed_", 0),
            n_threads=thread_count(self.n_jobs),
            verbose=bool(self.verbose),
        )

    # Tuning.

    def _tune(self, model: PerturbedModel, X: Any, y: Any, sample_weight: Any, validation: Any, seed: int) -> Tuned:
        learns = isinstance(self.noise, str) or isinstance(self.nominal_noise, str)
        if not learns:
            if validation is not None:
                raise ValueError(
                    f"validation was given, but noise={self.noise!r} and nominal_noise={self.nominal_noise!r} leave "
                    "nothing to tune: use noise='auto', or leave it out"
                )
            level = float(self.noise) if isinstance(self.noise, Real) else np.asarray(self.noise, dtype=np.float64)
            return Tuned(level, float(self.nominal_noise), [], [])
        held_out = self._held_out(model, X, y, sample_weight, validation)
        fixed = self.noise if isinstance(self.noise, str) else self._noise(self.noise, 0.0).level
        noise = Noise(**{**vars(self._noise(0.0, 0.0)), "seed": seed})
        used, nominal = model.attributes.is_numeric, model.attributes.any_categorical
        return tune(held_out, noise, (fixed, self.nominal_noise), self.objective, used, nominal)

    def _held_out(self, model: PerturbedModel, X: Any, y: Any, sample_weight: Any, validation: Any) -> list[RowsToTune]:
        inner = model.inner
        if validation is not None:
            if not isinstance(validation, (tuple, list)) or len(validation) not in (2, 3):
                raise ValueError("validation: must be a pair (X, y), or (X, y, sample_weight)")
            return on_validation(model, *validation)
        random = np.random.default_rng(0 if self.random_state is None else self._fold_seed())
        tune_on = self.tune_on
        if tune_on == "auto":
            if is_frozen(model.estimator):
                return on_validation(model, X, y, sample_weight)
            analytic = self.mode != "monte_carlo" and has_unseen_rows(inner)
            tune_on = "out_of_bag" if analytic else "cross_fit"
        if tune_on == "cross_fit":
            return self._on_folds(X, y, sample_weight, random)
        if not has_unseen_rows(inner) or self.mode == "monte_carlo":
            raise ValueError(
                f"tune_on={tune_on!r}: needs one of petiole's ensembles with bootstrap samples, with noise "
                "(mode='exact' or 'product'); use tune_on='cross_fit', or give fit a validation set"
            )
        training = training_again(inner, X, y, sample_weight, f"tune_on={tune_on!r}")
        return (on_unseen if tune_on == "out_of_bag" else on_one_tree)(model, training, random)

    def _on_folds(self, X: Any, y: Any, sample_weight: Any, random: np.random.Generator) -> list[RowsToTune]:
        if is_frozen(self.estimator):
            raise ValueError("tune_on='cross_fit': a frozen estimator is not fitted again; give fit a validation set")
        classes, labels = encode_labels(y)
        weights = check_weights(sample_weight, len(labels))

        def fit(rows: Any, of_rows: Any, weights_of_rows: Any) -> PerturbedModel:
            return PerturbedModel.fit(self.estimator, rows, of_rows, weights_of_rows, self.categorical_features)

        return on_folds(fit, X, labels, classes, weights, random)

    def _fold_seed(self) -> int:
        return draw_seed(copy.deepcopy(self.random_state))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.input_tags = copy.deepcopy(inner.input_tags)
        tags.input_tags.sparse = True
        tags.classifier_tags = copy.deepcopy(inner.classifier_tags)
        tags.non_deterministic = inner.non_deterministic
        return tags
