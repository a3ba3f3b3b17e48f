"""compare_methods: find the method with the best probabilities on a table, and test the differences."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from petiole._progress import Progress, Silent
from petiole._table.columns import Floats
from petiole._table.judged import Judged
from petiole._table.rows import EncodedRows
from petiole._validation import thread_count
from petiole.comparison import corrected_resampled_t_test
from petiole.decisions.costs import as_names, check_costs
from petiole.study.data import Table, read_table_of_study, read_test_rows
from petiole.study.extra import extra_methods
from petiole.study.inspection import inspect
from petiole.study.methods import choose_methods
from petiole.study.recommending import leads_clearly, recommend
from petiole.study.results import Design, MethodResult, Study
from petiole.study.running import Run, TrainAndTest, run_methods
from petiole.study.scoring import (
    GREATER_IS_BETTER,
    Interval,
    interval_over_folds,
    intervals_of_test_set,
    p_value_over_rows,
    row_losses,
    scores_of,
)
from petiole.study.splits import Plan, make_splits, plan_folds
from petiole.study.summary import summarise
from petiole.study.verdict import make_verdict


def compare_methods(
    X: Any,
    y: Any,
    *,
    methods: Any = "auto",
    extra: Any = None,
    cost: Any = None,
    decisions: Any = None,
    sample_weight: Any = None,
    test: Any = None,
    folds: int | None = None,
    repeats: int | None = None,
    random_state: Any = 0,
    n_jobs: int = 1,
    progress: Progress | None = None,
    name: str | None = None,
) -> Study:
    """Compare the methods that suit a table and find the one with the best probabilities.

    By default the methods are scored by repeated stratified cross-validation, all on the same folds. Differences are
    tested with the corrected resampled t-test, because folds share rows. With ``test``, every method is fitted once,
    and intervals and tests are over the test rows.

    Parameters
    ----------
    X : array or data frame
        Numeric and categorical columns, with or without missing values.
    y : labels of any kind, one per row
    methods : "auto", "all" or list of names, default="auto"
        Names are the keys of ``petiole.study.METHODS``. "auto" leaves out methods that would take long on data of this
        shape, such as lazy option trees on more than a few hundred rows, and LightGBM, XGBoost and CatBoost, which
        must be installed. A list may contain "auto", as in ``["auto", "lightgbm"]``.
    extra : dict of estimators by name, or list of estimators, default=None
        Your own estimators, which are cloned. A pipeline gets the table as you passed it; any other estimator gets
        numbers, with categorical columns one-hot encoded and, if it does not accept missing values, medians in their
        place.
    cost : array of shape (D, K), default=None
        ``cost[decision, true]``, classes in sorted order. If given, the winner is the method with the least cost when
        for each row the decision of least expected cost is made.
    decisions : list of D names, default=None
        The rows of ``cost``, by default the classes, where there are as many. A decision need not be a class.
    sample_weight : array of shape (n_rows,), default=None
        A row of weight 2 counts as two rows, in fits and scores; a row of weight 0 is ignored.
    test : (X, y) or (X, y, sample_weight), default=None
        Rows to score the methods on, instead of cross-validation.
    folds, repeats : int, default=None
        By default 5 folds twice for small tables (up to 50,000 cells), 5 once for larger ones, and 3 beyond 5 million.
        The only row of a class is never tested; any other class is in every training part.
    random_state : int, RandomState or None, default=0
    n_jobs : int, default=1
        Threads of each method; -1 for all.
    progress : object with start(total), advance(text), stop(), default=None
        Called for every fit; the text contains the time left.
    name : str, default=None
        Name of the data, for reports.

    Returns
    -------
    Study

    Notes
    -----
    Log-loss is in bits; lower probabilities are raised to 0.001 (with K > 10 classes to 0.01 / K), rows divided by
    their sums. The Brier score is summed over the classes. The calibration error is that of the most probable class in
    15 bins of equal width, and is above 0 on small test parts even for true probabilities.

    p-values compare each method with the winner, one by one. The winner was chosen on the same folds, so they are a
    little too small where many methods are nearly equal.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from petiole.study import compare_methods
    >>> X, y = load_iris(return_X_y=True)
    >>> study = compare_methods(X, y, methods=["pet", "naive-bayes"], folds=3, repeats=1)
    >>> study.winner, study.table[0].scores["accuracy"].mean > 0.9
    ('naive-bayes', True)
    >>> study.fit_winner().predict(X[:2])
    array([0, 0])
    """
    started = time.perf_counter()
    table = read_table_of_study(X, y, sample_weight)
    costs, actions = _check_cost(cost, decisions, table.labels())
    chosen = [*choose_methods(methods, table.shape), *extra_methods(extra, table)]
    threads = thread_count(n_jobs)
    random = check_random_state(random_state)
    seed = int(random_state) if isinstance(random_state, (int, np.integer)) else int(random.randint(2**31 - 1))
    plan, parts = _divide(table, test, folds, repeats, seed)
    runs = run_methods(table, chosen, parts, seed, threads, progress or Silent())
    done = _completed(runs)
    results, judged = _judge(done, table, parts, plan, costs, seed)
    design = Design(
        None if plan is None else plan.folds,
        None if plan is None else plan.repeats,
        seed,
        threads,
        "log_loss" if costs is None else "cost",
        time.perf_counter() - started,
        [run.method.name for run in runs],
        len(judged),
    )
    baseline = _score_of_frequencies(judged, len(table.classes), costs)
    simple = [run.method.name for run in done if run.method.is_simple]
    advice = recommend(results, design.decides, baseline, simple, len(judged) // (1 if plan is None else plan.folds))
    return Study(
        name=name,
        table=results,
        winner=results[0].name,
        is_sure=leads_clearly(results),
        recommended=advice.name,
        verdict=make_verdict(results, design.decides, advice, baseline),
        warnings=[*inspect(table), *_failures(runs)],
        data_summary=summarise(table),
        classes=table.labels(),
        cost=costs,
        decisions=actions,
        baseline=baseline,
        design=design,
        judged=judged,
        probabilities={run.method.name: _deduplicated(run, judged, plan) for run in done},
        data=table,
        given=(X, y, sample_weight),
        methods={method.name: method for method in chosen},
    )


def _check_cost(cost: Any, decisions: Any, classes: list[Any]) -> tuple[Floats | None, list[Any]]:
    """The costs and the names of their rows."""
    if cost is None:
        if decisions is not None:
            raise ValueError("decisions: need cost, which was not given")
        return None, classes
    costs = check_costs(cost, n_classes=len(classes))
    if costs.ndim != 2:
        raise ValueError(f"cost has shape {costs.shape}: must be one matrix, with a row per decision, for all rows")
    if decisions is not None:
        return costs, as_names(decisions, "decisions", len(costs)).tolist()
    if len(costs) != len(classes):
        raise ValueError(
            f"cost has shape {costs.shape}: name its {len(costs)} rows in decisions=, or give one row per class"
        )
    return costs, classes


def _score_of_frequencies(judged: EncodedRows, n_classes: int, cost: Floats | None) -> float:
    """The score of predicting the class frequencies for every row."""
    shares = np.bincount(judged.labels, judged.weights_or_ones(), minlength=n_classes)
    shares = shares / shares.sum()
    if cost is not None:
        return float((cost @ shares).min())
    present = shares[shares > 0]
    return float(-(present * np.log2(present)).sum())


def _divide(table: Table, test: Any, folds: Any, repeats: Any, seed: int) -> tuple[Plan | None, list[TrainAndTest]]:
    if test is not None:
        if folds is not None or repeats is not None:
            given = f"folds={folds!r}" if folds is not None else f"repeats={repeats!r}"
            raise ValueError(f"{given}: there are no folds if test= is given; leave one of them out")
        return None, [TrainAndTest(table.rows, None, read_test_rows(test, table))]
    plan = plan_folds(table.rows.labels, table.shape.n_features, folds, repeats)
    splits = make_splits(table.rows.labels, plan, np.random.default_rng(seed))
    return plan, [TrainAndTest(table.rows, split) for split in splits]


def _completed(runs: list[Run]) -> list[Run]:
    done = [run for run in runs if run.failure is None]
    if not done:
        raise ValueError("no method could be fitted. " + " ".join(_failures(runs)))
    return done


def _failures(runs: list[Run]) -> list[str]:
    return [f"{run.method.title} could not be fitted and is left out: {run.failure}" for run in runs if run.failure]


def _judged(proba: Floats, rows: EncodedRows, n_classes: int) -> Judged:
    sums = proba.sum(axis=1, keepdims=True)
    # a method that gives no probability to any class predicts the frequencies
    whole = np.divide(proba, sums, out=np.full_like(proba, 1 / n_classes), where=sums > 0)
    return Judged(rows.labels, whole, np.arange(n_classes), rows.weights_or_ones())


def _judge(
    runs: list[Run], table: Table, parts: list[TrainAndTest], plan: Plan | None, cost: Floats | None, seed: int
) -> tuple[list[MethodResult], EncodedRows]:
    """The results, best first, and the rows on which the methods were scored."""
    n_classes = len(table.classes)
    decides = "log_loss" if cost is None else "cost"
    by_split = {run.method.name: _scores_by_split(run, parts, n_classes, cost) for run in runs}
    ordered = sorted(runs, key=lambda run: float(np.mean(by_split[run.method.name][decides])))
    best, results = ordered[0], []
    for run in ordered:
        method, found = run.method, by_split[run.method.name]
        if plan is None:
            intervals, p_value = _on_test_set(run, best, parts[0].test, n_classes, cost, seed)
            intervals |= {name: Interval(*found[name] * 3) for name in ("fit_seconds", "predict_seconds")}
        else:
            share, of_best = 1 / (plan.folds - 1), by_split[best.method.name]
            intervals = {name: interval_over_folds(np.array(values), share) for name, values in found.items()}
            p_value = corrected_resampled_t_test(found[decides], of_best[decides], n_train=1, n_test=share).p_value
        bounded = {name: _within_bounds(name, intervals[name], cost) for name in GREATER_IS_BETTER if name in intervals}
        p_or_none = None if run is best else p_value
        results.append(MethodResult(method.name, method.title, method.is_peer, bounded, p_or_none, found))
    return results, parts[0].test if plan is None else _first_test_rows(parts, plan)


def _on_test_set(
    run: Run, best: Run, test: EncodedRows, n_classes: int, cost: Floats | None, seed: int
) -> tuple[dict[str, Interval], float]:
    decides = "log_loss" if cost is None else "cost"
    judged, winner = (_judged(one.probas[0], test, n_classes) for one in (run, best))
    differences = row_losses(judged, cost)[decides] - row_losses(winner, cost)[decides]
    return intervals_of_test_set(judged, cost, seed), p_value_over_rows(differences, judged.weights)


def _scores_by_split(
    run: Run, parts: list[TrainAndTest], n_classes: int, cost: Floats | None
) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {}
    for proba, part in zip(run.probas, parts, strict=True):
        for name, value in scores_of(_judged(proba, part.test, n_classes), cost).items():
            found.setdefault(name, []).append(value)
    return found | {"fit_seconds": run.fit_seconds, "predict_seconds": run.predict_seconds}


def _within_bounds(name: str, interval: Interval, cost: Floats | None) -> Interval:
    """Clip limits to the range of a score, which normal limits may exceed."""
    low, high = interval.low, interval.high
    low = max(low, float(cost.min()) if name == "cost" and cost is not None else 0.0)
    if name in ("accuracy", "ece"):
        high = min(high, 1.0)
    return Interval(interval.mean, low, high)


def _first_test_rows(parts: list[TrainAndTest], plan: Plan) -> EncodedRows:
    """The test rows of the first repetition, fold after fold."""
    tested = np.concatenate([part.split.test for part in parts[: plan.folds] if part.split is not None])
    return parts[0].rows.take(tested)


def _deduplicated(run: Run, judged: EncodedRows, plan: Plan | None) -> Any:
    """The probabilities of each judged row, once: those of the first repetition."""
    n_classes = run.probas[0].shape[1]
    tables = run.probas[:1] if plan is None else run.probas[: plan.folds]
    return _judged(np.concatenate(tables), judged, n_classes).proba.astype(np.float32)
