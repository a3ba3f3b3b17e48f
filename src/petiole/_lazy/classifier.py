"""Bagged lazy option trees: every query starts a search, in every bootstrap sample, for its most informative tests.

No trees are kept; the classifier keeps the training rows.
"""

from __future__ import annotations

import dataclasses
import functools
import time
from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from petiole import _core
from petiole._classifiers.base import TreeBasedClassifier, encode_queries, encode_training, remember_columns, seed_of
from petiole._classifiers.ensemble import BOOTSTRAPS, Floats
from petiole._classifiers.out_of_bag import OUT_OF_BAG_FIELDS, check_out_of_bag, keep_out_of_bag
from petiole._estimates.scores import judge_out_of_bag, mean_log_loss
from petiole._forest.forest import bootstrap_kind
from petiole._lazy.explanation import LazyExplanation, OptionGraph
from petiole._table.frames import settled
from petiole._table.rows import EncodedRows
from petiole._validation import WithoutConstraints, check_choice, check_number, check_whole
from petiole.files import checks
from petiole.files.checks import fields, require

COUSIN_RULES = {True: "siblings", False: "none", "strict": "strict"}
# The values that "auto" tries, and the largest number of rows on which it tries them.
CHOICES: dict[str, tuple[float, ...]] = {
    "gain_prior": (0, 10, 100, 1000),
    "min_samples_leaf": (2, 5, 10, 20, 50),
    "path_prior": (0, 0.5, 1, 2, 5, 10),
}
ROWS_TO_CHOOSE_BY = 500
CELLS_AT_ONCE = 4_000_000
MOST_SAVED_SAMPLES = 10_000


class LazyOptionTreesClassifier(WithoutConstraints, TreeBasedClassifier):
    """Bagged lazy option trees, B-LOTs (Margineantu & Dietterich 2002).

    A lazy tree is grown for a single query, when the query arrives: a path of tests that are all true for the query,
    to the training rows that satisfy all of them. An option tree follows several good tests at every node and averages
    the results. Bagging averages over bootstrap samples. So every query gets its own probabilities, while an ordinary
    tree gives all queries in a leaf the same.

    The paper's method takes the tests with the purest children, however small, so its leaves are small and extreme.
    ``gain_prior`` and ``path_prior`` correct that, and ``max_nodes`` keeps the search short; :meth:`paper` is the
    method as published.

    Parameters
    ----------
    n_estimators : int, default=30
        Number of bootstrap samples, each with a tree for every query.
    max_tests : int, default=3
        The most options of a node. 1 gives lazy trees: one path for each query and sample.
    min_gain : float, default=0.2
        An option needs at least this share of the best option's gain.
    min_samples_leaf : float or "auto", default=2
        The least weight of the rows that satisfy a test, copies included.
    bootstrap : {"plain", "stratified", False}, default="plain"
        "stratified" draws each class's rows among themselves, rare classes together as in
        :class:`BaggedPETClassifier`; False uses all rows once.
    cousin_rule : {True, False, "strict"}, default=True
        True is the paper's rule: if the children of options U and V could each take the other test, the second must
        not, because both would lead to the same rows. False omits the rule. "strict" allows no two nodes of a tree to
        have the same rows, at any depth; which of them is kept depends on the order of search.
    gain_prior : float or "auto", default=1000
        Each child's class counts are mixed with this many rows like those of its node before its gain is computed, so
        that tiny pure children gain little. 0 is the paper's method.
    path_prior : float or "auto", default=0.5
        The probabilities of a node are (class counts + path_prior · those of its parent) / (weight + path_prior), from
        the root (whose parent has 1 / number of classes) to the leaf, whose probabilities are predicted. 0 is the
        paper's method: the class shares of the leaf.
    max_nodes : int or None, default=50
        Once a tree has this many nodes, further nodes take their best option only; nodes are expanded level by level.
        Paths that lead to the same rows share a node. None is the paper's method: no limit, so a tree can have
        thousands of nodes. The work for a tree is bounded in any case: each option is charged the rows of its node
        plus 100, and once the sum reaches ten million plus a thousand times the rows of the sample, further nodes take
        their best option only.
    categorical_features : "from_dtype", list of names, indices or mask, default="from_dtype"
        Which columns are categorical.
    weights : {"auto", "relative", "counts"}, default="auto"
        What ``sample_weight`` means, as in :class:`PETClassifier`.
    oob_score : bool, default=False
        Whether ``fit`` computes out-of-bag probabilities and scores, which takes as long as predicting a third of the
        training rows.
    random_state : int, RandomState or None, default=None
    n_jobs : int or None, default=None
        Threads, for predictions too; the result does not depend on their number.
    verbose : int, default=0
        1 prints the progress of long predictions about once a second.

    Attributes
    ----------
    classes_ : array of the class labels
    min_samples_leaf_, gain_prior_, path_prior_ : float
        The values in use. "auto" chooses among a few by the least out-of-bag log-loss (on at most 500 rows).
    training_ : EncodedRows
        The encoded training rows.
    n_features_in_, feature_names_in_ : as in scikit-learn
    oob_predict_proba_, oob_decision_, oob_score_, oob_log_loss_, oob_brier_, oob_reliability_
        With ``oob_score=True``, as in :class:`BaggedPETClassifier`.

    Notes
    -----
    With v the query's value of a feature, the tests are "x > θ" for the values θ < v at the node, "x < θ" for θ > v,
    and "x ≠ θ" for the other values of a categorical feature. A feature whose value is missing in the query is not
    used; a training row with a missing value fails the tests on it. At every node the classes are balanced: with n_k
    rows of class k at the node and c_k at the child, q_k ∝ c_k / n_k (with ``gain_prior`` m and n rows at the node,
    c_k / n_k + m / n), and the gain is log2 K − H(q) for the K classes at the node. Among equal gains (to 1e-12) the
    larger child comes first, then the first feature, then the nearest θ; tests with the same rows count once. Which
    rows a bootstrap sample draws does not depend on weights.

    References
    ----------
    D. D. Margineantu and T. G. Dietterich (2002). Improved class probability estimates from decision tree models.
    In: Nonlinear Estimation and Classification. Springer.

    Examples
    --------
    The paper's tree for one query, without bagging:

    >>> from petiole import LazyOptionTreesClassifier
    >>> X = [[1, 1], [2, 3], [3, 2], [4, 5], [5, 4], [6, 6], [7, 1], [8, 3]]
    >>> y = ["no", "no", "yes", "no", "yes", "yes", "no", "yes"]
    >>> model = LazyOptionTreesClassifier.paper(n_estimators=1, bootstrap=False).fit(X, y)
    >>> model.predict_proba([[4.5, 3.5]]).round(6)
    array([[0.388889, 0.611111]])
    >>> print(model.explain([4.5, 3.5]))
    0.3333  x0 < 5 and x1 > 2: [2, 0]
    0.1667  x0 > 4 and x1 > 1: [0, 3]
    0.1667  x0 > 4 and x0 < 7: [0, 2]
    0.1111  x0 > 2 and x0 < 5: [1, 1]
    0.1111  x0 > 2 and x0 > 4 and x0 < 7: [0, 2]
    0.0370  x0 > 2 and x1 > 1 and x0 > 4: [0, 3]
    0.0370  x0 > 2 and x1 > 1 and x1 < 5: [0, 3]
    0.0370  x0 > 2 and x1 > 1 and x1 < 4: [0, 2]
    """

    no_constraints = (
        "its splits are searched for each query anew, so that two queries are answered by different trees, whose "
        "leaves have no common order: use BaggedPETClassifier or ProbabilityForestClassifier"
    )

    _saved = fields(
        training_=checks.instance_of("EncodedRows"),
        seed_=checks.whole(0, 2**62),
        **{f"{name}_": checks.number(0.0, checks.LARGEST) for name in CHOICES},
        **OUT_OF_BAG_FIELDS,
    )

    def _check_state(self, state: dict[str, Any]) -> None:
        super()._check_state(state)
        check_out_of_bag(state)
        training, encoder = state["training_"], state["encoder_"]
        require(training.classes.tolist() == state["classes_"].tolist(), "training_: must have the same classes")
        same = np.array_equal(training.n_categories, encoder.n_categories)
        require(same, "training_: must have the columns of encoder_")
        most = MOST_SAVED_SAMPLES  # samples are not stored in the file but drawn again
        require(self._n_samples() <= most, f"n_estimators={self.n_estimators!r}: files hold at most {most:,}")
        what = f"{self._n_samples():,} samples of {len(training):,} rows"
        checks.check_memory(4 * self._n_samples() * len(training), what)

    def __init__(
        self,
        n_estimators: int = 30,
        max_tests: int = 3,
        min_gain: float = 0.2,
        min_samples_leaf: float | str = 2,
        bootstrap: str | bool = "plain",
        cousin_rule: bool | str = True,
        *,
        gain_prior: float | str = 1000,
        path_prior: float | str = 0.5,
        max_nodes: int | None = 50,
        categorical_features: Any = "from_dtype",
        weights: str = "auto",
        oob_score: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_estimators = n_estimators
        self.max_tests = max_tests
        self.min_gain = min_gain
        self.min_samples_leaf = min_samples_leaf
        self.bootstrap = bootstrap
        self.cousin_rule = cousin_rule
        self.gain_prior = gain_prior
        self.path_prior = path_prior
        self.max_nodes = max_nodes
        self.categorical_features = categorical_features
        self.weights = weights
        self.oob_score = oob_score
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @classmethod
    def paper(cls, **overrides: Any) -> LazyOptionTreesClassifier:
        """B-LOTs as published: gains regardless of the size of children, class shares of the leaves, no limit."""
        return cls(**{"gain_prior": 0.0, "path_prior": 0.0, "max_nodes": None, **overrides})

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the model: store the training rows, and choose the parameters that are "auto".

        Parameters
        ----------
        X : array or data frame of shape (n_rows, n_features)
        y : labels of any kind, one per row
        sample_weight : array of shape (n_rows,), optional
            How much each row counts relative to the others; see the parameter ``weights``. A row of weight 0 is
            ignored. The bootstrap samples do not depend on weights.
        """
        self._check_parameters()
        X = settled(X)
        encoder, training = encode_training(self, X, y, sample_weight)
        # Its own copy: later changes of X must not change the model.
        training = dataclasses.replace(training, matrix=np.array(training.matrix))
        seed = seed_of(self)
        seed = int(np.random.default_rng().integers(2**31)) if seed is None else seed
        trees = self._make_trees(training, seed)
        values = self._choose_values(trees, training, seed)
        out_of_bag = None
        if self.oob_score:
            out_of_bag = judge_out_of_bag(self._out_of_bag(trees, training, values, None), training, stacklevel=3)
        # Nothing of the estimator changes before this point: a fit that fails or is stopped leaves it as it was.
        remember_columns(self, X)
        self.encoder_ = encoder
        self.weight_unit_ = training.weight_unit
        self.classes_ = training.classes
        self.training_ = training
        self.seed_ = seed
        self._trees = trees
        self.gain_prior_ = values["gain_prior"]
        self.path_prior_ = values["path_prior"]
        self.min_samples_leaf_ = values["min_samples_leaf"]
        if out_of_bag is not None:
            keep_out_of_bag(self, out_of_bag, X, training.kept)
        return self

    def explain(self, x: Any, *, trees: Sequence[int] | None = None) -> LazyExplanation:
        """The option paths of one query: their tests, class counts and shares of the prediction.

        Parameters
        ----------
        x : one row, in the form of the training data: a list, an array, a pandas series or a data frame of one row
        trees : list of int, default: all
            The numbers of the bootstrap samples to explain, from 0.

        Returns
        -------
        LazyExplanation
            ``paths``, ``probabilities``, ``plot()``; printing it shows the paths with the largest shares.
        """
        check_is_fitted(self)
        row = encode_queries(self, _as_one_row(x))
        if len(row) != 1:
            raise ValueError(f"x has {len(row)} rows: explain one query at a time")
        n_trees = self._n_samples()
        numbers = list(range(n_trees)) if trees is None else list(trees)
        for number in numbers:
            if isinstance(number, bool) or not isinstance(number, (int, np.integer)) or not 0 <= number < n_trees:
                raise ValueError(f"trees={trees!r}: must be numbers of bootstrap samples, 0 to {n_trees - 1}")
        options = self._options(self._values())
        graphs = [OptionGraph(self._trees.explain(row, options, int(number)), self.path_prior_) for number in numbers]
        names = self.encoder_.feature_names or [f"x{j}" for j in range(self.encoder_.n_features)]
        return LazyExplanation(graphs, numbers, self.classes_.tolist(), names, self.encoder_.categories)

    # Parameters.

    def _check_parameters(self) -> None:
        check_whole("n_estimators", self.n_estimators, 1)
        check_whole("max_tests", self.max_tests, 1)
        check_number("min_gain", self.min_gain, 0, 1)
        for name, least in (("min_samples_leaf", 1), ("gain_prior", 0), ("path_prior", 0)):
            value = getattr(self, name)
            if isinstance(value, str) and value != "auto":
                raise ValueError(f"{name}={value!r}: must be a number at least {least}, or 'auto'")
            if not isinstance(value, str):
                check_number(name, value, least)
        check_whole("max_nodes", self.max_nodes, 1, optional=True)
        check_choice("bootstrap", self.bootstrap, BOOTSTRAPS)
        check_choice("cousin_rule", self.cousin_rule, tuple(COUSIN_RULES))
        check_choice("oob_score", self.oob_score, (True, False))
        check_whole("verbose", self.verbose, 0)
        wanting = [f"{name}='auto'" for name in CHOICES if getattr(self, name) == "auto"]
        wanting += ["oob_score=True"] if self.oob_score else []
        if self.bootstrap is False and wanting:
            raise ValueError(
                f"{wanting[0]} needs rows outside the samples, and bootstrap=False leaves none: "
                "use bootstrap='plain' or 'stratified'"
            )

    def _values(self) -> dict[str, float]:
        """The values in use of the parameters that can be "auto"."""
        return {name: getattr(self, f"{name}_") for name in CHOICES}

    def _choose_values(self, trees: _core.LazyOptionTrees, training: EncodedRows, seed: int) -> dict[str, float]:
        """For one parameter after another, the value with the least out-of-bag log-loss; in a tie, the first."""
        given = {name: getattr(self, name) for name in CHOICES}
        values = {name: CHOICES[name][1] if value == "auto" else float(value) for name, value in given.items()}
        n_rows = len(training)
        rows = np.random.default_rng(seed).permutation(n_rows)[:ROWS_TO_CHOOSE_BY].astype(np.uint32)
        rows.sort()

        def loss(name: str, value: float) -> float:
            proba = self._out_of_bag(trees, training, {**values, name: value}, rows)
            found = mean_log_loss(proba, training.take(rows))
            return np.inf if np.isnan(found) else found

        for name in [name for name, value in given.items() if value == "auto"]:
            values[name] = float(min(CHOICES[name], key=functools.partial(loss, name)))
        return values

    # The core.

    def _n_samples(self) -> int:
        """Without a bootstrap all samples are the same, and one is enough."""
        return 1 if self.bootstrap is False else int(self.n_estimators)

    def _make_trees(self, training: EncodedRows, seed: int) -> _core.LazyOptionTrees:
        bags = _core.LazyBagOptions()
        bags.bootstrap = bootstrap_kind(self.bootstrap)
        bags.n_bags = self._n_samples()
        bags.seed = seed
        return _core.LazyOptionTrees.of(
            training.matrix,
            training.labels,
            training.weights,
            training.n_categories,
            bags,
            len(training.classes),
            self._n_threads(),
        )

    @functools.cached_property
    def _trees(self) -> _core.LazyOptionTrees:
        """Set by ``fit``; not pickled, but made again from the training rows."""
        return self._make_trees(self.training_, self.seed_)

    def _options(self, values: dict[str, float]) -> _core.LazyTreeOptions:
        options = _core.LazyTreeOptions()
        options.max_tests = min(int(self.max_tests), 2**30)
        options.min_gain = float(self.min_gain)
        if self.max_nodes is not None:
            options.max_nodes = min(int(self.max_nodes), 2**62)
        options.cousin_rule = getattr(_core.CousinRule, COUSIN_RULES[self.cousin_rule])
        for name, value in values.items():
            setattr(options, name, value)
        return options

    def _average(self, matrix: npt.NDArray[Any]) -> Floats:
        return self._ask(self._trees, matrix, self._values(), None)

    def _out_of_bag(
        self,
        trees: _core.LazyOptionTrees,
        training: EncodedRows,
        values: dict[str, float],
        rows: npt.NDArray[np.uint32] | None,
    ) -> Floats:
        """The probabilities of training rows by the samples that they are not in; NaN if there is none."""
        asked = np.arange(len(training), dtype=np.uint32) if rows is None else rows
        return self._ask(trees, training.matrix[asked], values, asked)

    def _ask(
        self,
        trees: _core.LazyOptionTrees,
        matrix: npt.NDArray[Any],
        values: dict[str, float],
        rows: npt.NDArray[np.uint32] | None,
    ) -> Floats:
        options, n_threads = self._options(values), self._n_threads()
        answers = []
        # In parts, since a query in the core takes more memory than a row of the matrix.
        size = max(1000, CELLS_AT_ONCE // matrix.shape[1])
        for first in range(0, len(matrix), size):
            part = slice(first, first + size)
            report = self._reporter(first, len(matrix)) if self.verbose else None
            training_rows = None if rows is None else rows[part]
            answers.append(np.asarray(trees.predict(matrix[part], options, training_rows, n_threads, report)))
        return np.concatenate(answers)

    def _reporter(self, first: int, n_queries: int) -> Callable[[int, int], None]:
        started = time.perf_counter()

        def report(done: int, total: int) -> None:
            part = f" for queries from {first:,} of {n_queries:,}" if first else ""
            seconds = time.perf_counter() - started
            print(f"[{type(self).__name__}] {done:,} of {total:,} trees in {seconds:.0f} s{part}", flush=True)

        return report

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in super().__getstate__().items() if name != "_trees"}


def _as_one_row(x: Any) -> Any:
    """A flat list or array is one row; what has rows already stays as it is."""
    if isinstance(x, np.ndarray):
        return x.reshape(1, -1) if x.ndim == 1 else x
    if isinstance(x, (list, tuple)):
        return x if x and isinstance(x[0], (list, tuple, np.ndarray)) else [x]
    if hasattr(x, "to_frame") and getattr(x, "ndim", 2) == 1:  # a row of a pandas frame
        return x.to_frame().T
    return x
