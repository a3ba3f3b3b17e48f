"""Monotone probabilities: what they cost where the truth is monotone, and pairs of rows that violate the order.

    python benchmarks/constraints.py [--rows 500,2000] [--seeds 3] [--pairs 1000000] [--models tree,bagged,...]

Every problem has a known probability that is monotone along the constrained columns, and depends on other columns in
any way. Each model is fitted with and without constraints. The log-loss is the expected one, in bits, of 20,000 new
rows, from their true probabilities. A pair are two rows, of which the second is further along one or more constrained
columns and has equal values in all others; it violates the order if its probability is smaller by more than 1e-12.
Violations are counted for the smallest number of rows and one seed. For two classes, scikit-learn's
HistGradientBoostingClassifier is beside the models, with the same constraints. "recalibrated" is eb-pets inside
OOBCalibratedClassifier.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier

from petiole import (
    BaggedPETClassifier,
    BoostedPETClassifier,
    OOBCalibratedClassifier,
    PETClassifier,
    ProbabilityForestClassifier,
)
from petiole.smoothing import HGS

N_TEST = 20_000
PAIRS_AT_ONCE = 100_000
SLACK = 1e-12

Floats = np.ndarray


class Problem(NamedTuple):
    """A generator of rows and their true probabilities, and what is known of it."""

    draw: Callable[[np.random.Generator, int], tuple[Floats, Floats]]
    signs: tuple[int, ...]
    target: int = 1
    categorical: tuple[int, ...] = ()
    has_missing: bool = False


def sigmoid(score: Floats) -> Floats:
    return 1 / (1 + np.exp(-score))


def two_classes(probability: Floats) -> Floats:
    return np.column_stack([1 - probability, probability])


def additive(rng: np.random.Generator, n: int) -> tuple[Floats, Floats]:
    """A sum of four columns, two of which have straight effects; three columns do not matter."""
    X = rng.normal(size=(n, 7))
    score = X[:, 0] - X[:, 1] + np.tanh(2 * X[:, 2]) - (X[:, 3] > 0.5)
    return X, two_classes(sigmoid(1.2 * score))


def steps(rng: np.random.Generator, n: int) -> tuple[Floats, Floats]:
    """Thresholds that must be met together: an "and" and an "or" of monotone tests."""
    X = rng.uniform(size=(n, 6))
    both = (X[:, 0] > 0.4) & (X[:, 1] > 0.3)
    either = (X[:, 2] > 0.7) | (X[:, 3] > 0.8)
    return X, two_classes(0.05 + 0.5 * both + 0.35 * either)


def credit(rng: np.random.Generator, n: int) -> tuple[Floats, Floats]:
    """One default in ten; debt raises and income lowers it, age matters in both directions, and so do regions."""
    income, debt, age = rng.normal(size=(3, n))
    region = rng.integers(0, 6, n)
    late = rng.poisson(0.6, n)
    ratio = debt - 0.8 * income
    score = -3.0 + ratio + 0.8 * np.log1p(late) + 0.5 * age**2 - 0.3 * np.array([0, 1, 0.5, 2, 0, 1])[region]
    return np.column_stack([income, debt, late, age, region]), two_classes(sigmoid(score))


def products(rng: np.random.Generator, n: int) -> tuple[Floats, Floats]:
    """The slope along a constrained column depends on a free one; free columns interact."""
    X = rng.normal(size=(n, 6))
    slope = 0.3 + 1.5 * (X[:, 2] > 0)
    return X, two_classes(sigmoid(slope * X[:, 0] - 0.7 * X[:, 1] + X[:, 3] * X[:, 4]))


def missing(rng: np.random.Generator, n: int) -> tuple[Floats, Floats]:
    """A tenth of the cells is missing, and that matters in one column."""
    X, _ = additive(rng, n)
    unknown = rng.uniform(size=X.shape) < 0.1
    score = np.where(unknown[:, 0], 1.0, X[:, 0]) - X[:, 1] * ~unknown[:, 1] + X[:, 4] * ~unknown[:, 4]
    return np.where(unknown, np.nan, X), two_classes(sigmoid(1.2 * score))


def three_classes(rng: np.random.Generator, n: int) -> tuple[Floats, Floats]:
    """A named class, whose probability is monotone, and two others that free columns tell apart."""
    X = rng.normal(size=(n, 6))
    named = sigmoid(1.3 * X[:, 0] - X[:, 1] - 0.5)
    other = sigmoid(1.5 * X[:, 2] * X[:, 3])
    return X, np.column_stack([(1 - named) * other, (1 - named) * (1 - other), named])


PROBLEMS = {
    "additive": Problem(additive, (1, -1, 1, -1, 0, 0, 0)),
    "steps": Problem(steps, (1, 1, 1, 1, 0, 0)),
    "credit": Problem(credit, (-1, 1, 1, 0, 0), categorical=(4,)),
    "products": Problem(products, (1, -1, 0, 0, 0, 0)),
    "missing": Problem(missing, (1, -1, 0, 0, 1, 0, 0), has_missing=True),
    "three classes": Problem(three_classes, (1, -1, 0, 0, 0, 0), target=2),
}


def tree(problem: Problem, seed: int, **constraints: Any) -> PETClassifier:
    how = "separate" if problem.has_missing else "fractional"
    return PETClassifier(smoothing=HGS(alpha="honest"), missing=how, **common(problem, seed), **constraints)


def bagged(problem: Problem, seed: int, **constraints: Any) -> BaggedPETClassifier:
    how = "separate" if problem.has_missing else "fractional"
    return BaggedPETClassifier(missing=how, n_jobs=1, **common(problem, seed), **constraints)


def eb_pets(problem: Problem, seed: int, **constraints: Any) -> BaggedPETClassifier:
    how = "separate" if problem.has_missing else "fractional"
    settings = {"missing": how, **common(problem, seed), **constraints}
    return BaggedPETClassifier.eb_pets(n_jobs=1, **settings)


def recalibrated(problem: Problem, seed: int, **constraints: Any) -> OOBCalibratedClassifier:
    return OOBCalibratedClassifier(eb_pets(problem, seed, **constraints))


def boosted(problem: Problem, seed: int, **constraints: Any) -> BoostedPETClassifier:
    return BoostedPETClassifier(n_jobs=1, **common(problem, seed), **constraints)


def pool(problem: Problem, seed: int, **constraints: Any) -> ProbabilityForestClassifier:
    return ProbabilityForestClassifier(n_jobs=1, **common(problem, seed), **constraints)


def hist(problem: Problem, seed: int, **constraints: Any) -> HistGradientBoostingClassifier:
    return HistGradientBoostingClassifier(
        learning_rate=0.05,
        max_leaf_nodes=15,
        early_stopping=True,
        max_iter=500,
        categorical_features=list(problem.categorical) or None,
        monotonic_cst=constraints.get("monotonic_cst"),
        random_state=seed,
    )


def common(problem: Problem, seed: int) -> dict[str, Any]:
    return {"categorical_features": list(problem.categorical) or None, "random_state": seed}


MODELS = {
    "tree": tree,
    "bagged": bagged,
    "eb-pets": eb_pets,
    "recalibrated": recalibrated,
    "boosted": boosted,
    "pool": pool,
    "scikit-learn": hist,
}


def labels_of(rng: np.random.Generator, probabilities: Floats) -> np.ndarray:
    return (rng.uniform(size=(len(probabilities), 1)) > probabilities.cumsum(axis=1)[:, :-1]).sum(axis=1)


def expected_loss(truth: Floats, proba: Floats) -> float:
    """The expected log-loss in bits; a probability of 0 counts as 1e-15."""
    return float(-(truth * np.log2(np.maximum(proba, 1e-15))).sum(axis=1).mean())


def pairs(rng: np.random.Generator, problem: Problem, n_pairs: int) -> Iterator[tuple[Floats, Floats]]:
    """Rows, with some values of other rows, and the same further along one or more constrained columns."""
    signs = np.array(problem.signs)
    constrained = np.flatnonzero(signs)
    for begin in range(0, n_pairs, PAIRS_AT_ONCE):
        n = min(PAIRS_AT_ONCE, n_pairs - begin)
        lower, others = problem.draw(rng, n)[0], problem.draw(rng, n)[0]
        lower = np.where(rng.uniform(size=lower.shape) < 0.3, others, lower)
        moved = np.zeros(lower.shape, dtype=bool)
        moved[np.arange(n), constrained[rng.integers(len(constrained), size=n)]] = True
        several = np.flatnonzero(rng.uniform(size=n) < 0.4)
        moved[np.ix_(several, constrained)] = True
        moves = rng.exponential(size=lower.shape) * rng.choice([0.003, 0.1, 2.0], lower.shape)
        yield lower, lower + np.where(moved, moves * signs, 0.0)


def n_violations(model: Any, problem: Problem, n_pairs: int, seed: int) -> int:
    target = problem.target
    return sum(
        int((model.predict_proba(upper)[:, target] < model.predict_proba(lower)[:, target] - SLACK).sum())
        for lower, upper in pairs(np.random.default_rng(seed), problem, n_pairs)
    )


class Run(NamedTuple):
    """What one model with and without constraints did on one sample."""

    free: float
    ordered: float
    seconds: float


def one_run(make: Callable[..., Any], problem: Problem, n_rows: int, seed: int) -> tuple[Run, Any, Any]:
    rng = np.random.default_rng([seed, n_rows])
    X, probabilities = problem.draw(rng, n_rows)
    y = labels_of(rng, probabilities)
    queries, truth = problem.draw(rng, N_TEST)
    free = make(problem, seed).fit(X, y)
    constraints = {"monotonic_cst": list(problem.signs), "monotonic_class": problem.target}
    began = time.process_time()
    ordered = make(problem, seed, **constraints).fit(X, y)
    seconds = time.process_time() - began
    losses = [expected_loss(truth, model.predict_proba(queries)) for model in (free, ordered)]
    return Run(losses[0], losses[1], seconds), free, ordered


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", default="500,2000")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--pairs", type=int, default=1_000_000)
    parser.add_argument("--models", default=",".join(MODELS))
    parser.add_argument("--problems", default=",".join(PROBLEMS))
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    sizes = [int(n) for n in arguments.rows.split(",")]
    print(
        f"{'problem':14} {'model':13} {'rows':>6} {'free':>7} {'ordered':>8} {'change %':>9} {'fit s':>7}  violations"
    )
    changes: dict[str, list[float]] = {}
    for name in arguments.problems.split(","):
        problem = PROBLEMS[name]
        for model in arguments.models.split(","):
            if model in ("scikit-learn", "recalibrated") and problem.target > 1:
                continue  # these keep the order of two classes only
            for n_rows in sizes:
                runs, counted = [], ""
                for seed in range(arguments.seeds):
                    run, free, ordered = one_run(MODELS[model], problem, n_rows, seed)
                    runs.append(run)
                    if arguments.pairs and n_rows == sizes[0] and seed == 0:
                        found = n_violations(ordered, problem, arguments.pairs, 1)
                        counted = f"{found} of {arguments.pairs:,}"
                        without = n_violations(free, problem, min(arguments.pairs, PAIRS_AT_ONCE), 1)
                        counted += f" (free: {100 * without / min(arguments.pairs, PAIRS_AT_ONCE):.1f} %)"
                free_loss, loss, seconds = np.mean(runs, axis=0)
                change = 100 * (loss / free_loss - 1)
                changes.setdefault(model, []).append(change)
                print(
                    f"{name:14} {model:13} {n_rows:6} {free_loss:7.4f} {loss:8.4f} {change:+9.2f} {seconds:7.2f}  "
                    f"{counted}",
                    flush=True,
                )
    for model, of_model in changes.items():
        print(f"{model}: mean change {np.mean(of_model):+.2f} %, largest {max(of_model):+.2f} %")


if __name__ == "__main__":
    main()
