"""The methods that a study compares: petiole's own and their peers, and which of them suit the data."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from petiole._classifiers.bagging import BaggedPETClassifier
from petiole._classifiers.boosted import BoostedPETClassifier
from petiole._classifiers.mob_esp import MOBESPClassifier
from petiole._classifiers.naive_bayes import BinnedNaiveBayesClassifier
from petiole._classifiers.pet import PETClassifier
from petiole._classifiers.probability_forest import ProbabilityForestClassifier
from petiole._dual.classifier import DualPerturbCombineClassifier
from petiole._lazy.classifier import LazyOptionTreesClassifier
from petiole.smoothing import HGS
from petiole.study.peers import PeerClassifier, calibrated_forest

# Beyond this many cells a method takes too long for a first look; "all" runs it nevertheless.
MANY_CELLS = 5_000_000
# A lazy tree is grown for each query, which takes time in proportion to rows² · features (this is about ten seconds).
MOST_LAZY_WORK = 1_000_000
# Boosting grows a tree for each class in each of its rounds.
MOST_BOOSTED_CLASSES = 50
PEER_TREES = 100  # scikit-learn's default


class Shape(NamedTuple):
    """The properties of the data by which methods are chosen."""

    n_rows: int
    n_features: int
    n_numeric: int
    n_classes: int
    n_missing: int = 0

    @property
    def cells(self) -> int:
        return self.n_rows * self.n_features


def _always(shape: Shape) -> bool:
    return True


def _not_huge(shape: Shape) -> bool:
    return shape.cells <= MANY_CELLS


def _small(shape: Shape) -> bool:
    return shape.n_rows * shape.cells <= MOST_LAZY_WORK


def _numeric_and_not_huge(shape: Shape) -> bool:
    return shape.n_numeric > 0 and shape.cells * shape.n_classes <= MANY_CELLS


def _with_missing(shape: Shape) -> bool:
    return shape.n_missing > 0


def _few_classes(shape: Shape) -> bool:
    return shape.n_classes <= MOST_BOOSTED_CLASSES


def _few_classes_and_not_huge(shape: Shape) -> bool:
    return _few_classes(shape) and _not_huge(shape)


@dataclass(frozen=True)
class Method:
    """A method that a study can compare.

    Attributes
    ----------
    name : str
        The name by which users choose it.
    title : str
        The name in tables and sentences.
    is_peer : bool
        Whether it belongs to another library.
    make : function of (random_state, n_jobs)
        Makes the estimator, not fitted.
    suits : function of Shape
        Whether ``methods="auto"`` takes it for data of this shape.
    is_simple : bool
        Whether people can follow how it computes a prediction. Among equally good methods, simple ones are
        recommended.
    package : str or None
        The package that must be installed; "all" leaves the method out if it is not.
    """

    name: str
    title: str
    is_peer: bool
    make: Callable[[Any, int], Any]
    suits: Callable[[Shape], bool] = _always
    is_simple: bool = False
    package: str | None = None

    @property
    def is_installed(self) -> bool:
        return self.package is None or importlib.util.find_spec(self.package) is not None


def _probability_forest(random_state: Any, n_jobs: int) -> Any:
    return ProbabilityForestClassifier(random_state=random_state, n_jobs=n_jobs)


def _probability_forest_separate(random_state: Any, n_jobs: int) -> Any:
    return ProbabilityForestClassifier(missing="separate", random_state=random_state, n_jobs=n_jobs)


def _boosted(random_state: Any, n_jobs: int) -> Any:
    return BoostedPETClassifier(random_state=random_state, n_jobs=n_jobs)


def _mob_esp(random_state: Any, n_jobs: int) -> Any:
    return MOBESPClassifier(random_state=random_state, n_jobs=n_jobs)


def _eb_pets(random_state: Any, n_jobs: int) -> Any:
    return BaggedPETClassifier.eb_pets(random_state=random_state, n_jobs=n_jobs)


def _b_pets(random_state: Any, n_jobs: int) -> Any:
    return BaggedPETClassifier.b_pets(random_state=random_state, n_jobs=n_jobs)


def _pet(random_state: Any, n_jobs: int) -> Any:
    return PETClassifier.c44(smoothing=HGS(alpha="honest"), random_state=random_state, n_jobs=n_jobs)


def _lazy(random_state: Any, n_jobs: int) -> Any:
    return LazyOptionTreesClassifier(random_state=random_state, n_jobs=n_jobs)


def _dual(random_state: Any, n_jobs: int) -> Any:
    return dual_of(_b_pets(random_state, n_jobs), random_state, n_jobs)


def dual_of(base: Any, random_state: Any, n_jobs: int) -> Any:
    """A model of trees with dual perturb & combine on top."""
    return DualPerturbCombineClassifier(base, random_state=random_state, n_jobs=n_jobs)


def _naive_bayes(random_state: Any, n_jobs: int) -> Any:
    return BinnedNaiveBayesClassifier.zadrozny_elkan()


def _random_forest(random_state: Any, n_jobs: int) -> Any:
    from sklearn.ensemble import RandomForestClassifier

    return PeerClassifier(RandomForestClassifier(PEER_TREES, random_state=random_state, n_jobs=n_jobs))


def _calibrated_forest(random_state: Any, n_jobs: int) -> Any:
    return PeerClassifier(calibrated_forest(PEER_TREES, random_state, n_jobs))


def _gradient_boosting(random_state: Any, n_jobs: int) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier

    return PeerClassifier(HistGradientBoostingClassifier(random_state=random_state), nominal="native")


def _logistic_regression(random_state: Any, n_jobs: int) -> Any:
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    return PeerClassifier(model, missing="impute")


def _lightgbm(random_state: Any, n_jobs: int) -> Any:
    from lightgbm import LGBMClassifier

    model = LGBMClassifier(random_state=random_state, n_jobs=n_jobs, verbose=-1)
    return PeerClassifier(model, nominal="native")


def _xgboost(random_state: Any, n_jobs: int) -> Any:
    from xgboost import XGBClassifier

    model = XGBClassifier(random_state=random_state, n_jobs=n_jobs, verbosity=0)
    return PeerClassifier(model, nominal="native")


def _catboost(random_state: Any, n_jobs: int) -> Any:
    from catboost import CatBoostClassifier

    model = CatBoostClassifier(random_seed=random_state, thread_count=n_jobs, verbose=False, allow_writing_files=False)
    return PeerClassifier(model, nominal="native")


def _only_by_name(shape: Shape) -> bool:
    return False


_ALL = (
    Method("probability-forest", "Probability forest", False, _probability_forest),
    Method(
        "probability-forest-separate",
        "Probability forest, missing apart",
        False,
        _probability_forest_separate,
        _with_missing,
    ),
    Method("boosted", "Boosted trees", False, _boosted, _few_classes),
    Method("mob-esp", "MOB-ESP", False, _mob_esp),
    Method("eb-pets", "EB-PETs", False, _eb_pets),
    Method("b-pets", "B-PETs", False, _b_pets, _not_huge),
    Method("pet", "Single tree, smoothed", False, _pet, is_simple=True),
    Method("lazy-option-trees", "Lazy option trees", False, _lazy, _small),
    Method("dual", "B-PETs, dual perturb & combine", False, _dual, _numeric_and_not_huge),
    Method("naive-bayes", "Binned naive Bayes", False, _naive_bayes, is_simple=True),
    Method("random-forest", "Random forest (scikit-learn)", True, _random_forest),
    Method("calibrated-forest", "Isotonic forest (scikit-learn)", True, _calibrated_forest, _not_huge),
    Method("gradient-boosting", "Gradient boosting (scikit-learn)", True, _gradient_boosting, _few_classes),
    Method(
        "logistic-regression",
        "Logistic regression (scikit-learn)",
        True,
        _logistic_regression,
        _few_classes_and_not_huge,
        is_simple=True,
    ),
    Method("lightgbm", "LightGBM", True, _lightgbm, _only_by_name, package="lightgbm"),
    Method("xgboost", "XGBoost", True, _xgboost, _only_by_name, package="xgboost"),
    Method("catboost", "CatBoost", True, _catboost, _only_by_name, package="catboost"),
)
METHODS: dict[str, Method] = {method.name: method for method in _ALL}


def choose_methods(methods: Any, shape: Shape) -> list[Method]:
    """The methods for "auto", "all" or a list of names, which may contain "auto".

    >>> [method.name for method in choose_methods(["pet", "dual"], Shape(100, 4, 4, 2))]
    ['pet', 'dual']
    >>> choose_methods(["forest"], Shape(100, 4, 4, 2))
    Traceback (most recent call last):
    ...
    ValueError: methods=['forest']: there is no method 'forest'; the methods are probability-forest, \
probability-forest-separate, boosted, mob-esp, eb-pets, b-pets, pet, lazy-option-trees, dual, naive-bayes, \
random-forest, calibrated-forest, gradient-boosting, logistic-regression, lightgbm, xgboost, catboost
    """
    if isinstance(methods, str) and methods == "all":
        return [method for method in _ALL if method.is_installed]
    chosen: dict[str, Method] = {}
    for name in ["auto"] if isinstance(methods, str) and methods == "auto" else _as_names(methods):
        for method in _by_name(name, methods, shape):
            chosen[method.name] = method
    return [*chosen.values()]


def _by_name(name: Any, methods: Any, shape: Shape) -> list[Method]:
    if name == "auto":
        return [method for method in _ALL if method.suits(shape)]
    if name not in METHODS:
        raise ValueError(f"methods={methods!r}: there is no method {name!r}; the methods are {', '.join(METHODS)}")
    method = METHODS[name]
    if not method.is_installed:
        raise ValueError(f"methods={methods!r}: {name!r} needs a package: pip install {method.package}")
    return [method]


def _as_names(methods: Any) -> list[Any]:
    if isinstance(methods, str) or not hasattr(methods, "__iter__"):
        raise ValueError(f"methods={methods!r}: must be 'auto', 'all' or a list of names such as ['pet', 'mob-esp']")
    names = list(methods)
    if not names:
        raise ValueError(f"methods={methods!r}: must name at least one method")
    return names
