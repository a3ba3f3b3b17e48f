"""The page "Which method should I use?": one paragraph, one picture and the tables behind them."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from petiole.comparison import SignTest
from petiole.comparison.rendering import as_markdown
from petiole.experiments._pages.building import Agreement, write_page
from petiole.experiments.which_method import NAME, SETTINGS, TRIALS, choose_data_sets
from petiole.experiments.which_method import picture as pictures
from petiole.experiments.which_method.models import PEERS, TREES
from petiole.experiments.which_method.scores import RANKED, SECONDS, MethodScores, read_study

FLAGSHIP = "probability forest"
WORDS = {"log_loss": "log-loss", "brier": "Brier score", "lift_area": "lift", "cost": "cost", "accuracy": "accuracy"}
CLASSES = {
    FLAGSHIP: "`ProbabilityForestClassifier`",
    "tree, HGS honest": '`PETClassifier.c44(smoothing=HGS(alpha="honest"))`',
    "random forest, OOB beta": "`OOBCalibratedClassifier(BaggedPETClassifier.random_forest())`",
    "sklearn RF": "scikit-learn's random forest",
    "sklearn RF isotonic": "scikit-learn's random forest with isotonic calibration",
    "sklearn RF sigmoid": "scikit-learn's random forest with sigmoid calibration",
    "sklearn HistGB": "scikit-learn's histogram gradient boosting",
}


def write(database: str | os.PathLike[str], page: str | os.PathLike[str]) -> Path:
    """Write the page, and its pictures if matplotlib is there, from what the database has."""
    study = read_study(database)
    if len(study.data_sets) < 2:
        raise ValueError(f"{len(study.data_sets)} data set is there: ranks need at least 2, run more")
    folder = Path(page).parent
    drawn = pictures.draw(study, folder / "images", Path(page).stem)
    return write_page(page, render(study, {name: path.relative_to(folder).as_posix() for name, path in drawn.items()}))


def agreements(database: str | os.PathLike[str]) -> list[Agreement]:
    """None: there is no paper to agree with."""
    return []


def render(study: MethodScores, drawn: dict[str, str] | None = None) -> str:
    """The page as text; ``drawn`` has the path of each picture."""
    drawn = drawn or {}
    parts = [
        "# Which method should I use?",
        f"<!-- Made by `python -m petiole reproduce {NAME}`: do not edit. -->",
        paragraph(study),
        _picture(drawn, "picture", "Mean rank in log-loss against processor time, a point per method"),
        _legend(study),
        "## Mean ranks",
        _ranks(study),
        *(_picture(drawn, metric, f"Critical-difference diagram: {RANKED[metric]}") for metric in pictures.DIAGRAMS),
        "## The data sets that had no part in choosing defaults",
        _unseen(study),
        "## Head to head",
        _head_to_head(study),
        "## Means and times",
        _means(study),
        "## Lazy option trees",
        _lazy(study),
        "## How it was done",
        _protocol(study),
        "## Every data set",
        _every_data_set(study),
    ]
    return "\n\n".join(part for part in parts if part)


def paragraph(study: MethodScores) -> str:
    """The answer in one paragraph, for the README too."""
    order = study.best("log_loss")
    first, second = order[0], order[1]
    ranks, rows = study.ranks("log_loss"), f"{SETTINGS['least_rows']} to {SETTINGS['most_rows']:,} rows"
    unseen = study.unseen()
    sentences = [
        f"**Which one should I use?** {_method_text(first)}, unless you need a model that you can read or have "
        f"little time. On {len(study.data_sets)} data sets of {rows} it has the best mean rank of "
        f"{len(study.methods)} methods in log-loss: {study.mean_rank('log_loss', first):.1f}. The next, "
        f"{_method_text(second)}, has {study.mean_rank('log_loss', second):.1f}; differences below "
        f"{ranks.critical_difference:.1f} may be chance.{_other_firsts(study, first)}"
    ]
    peers = study.best("log_loss", list(PEERS))
    if peers:
        sentences.append(_against_peer(study, unseen, first, peers[0]))
    trees = study.best("log_loss", list(TREES))
    if trees:
        sentences.append(_one_tree(study, trees))
    return " ".join(sentences)


def _method_text(method: str) -> str:
    return CLASSES.get(method, f'"{method}"')


def _other_firsts(study: MethodScores, first: str) -> str:
    """The metrics in which the best method by log-loss is also first, and which method is first in the others."""
    also = [words for metric, words in WORDS.items() if metric != "log_loss" and study.best(metric)[0] == first]
    sentences = [f"It is also the best in {_listed(also)}."] if also else []
    others = [
        f"{_method_text(best)} is ahead in {words} ({study.mean_rank(metric, best):.1f} to "
        f"{study.mean_rank(metric, first):.1f})"
        for metric, words in WORDS.items()
        if (best := study.best(metric)[0]) != first
    ]
    if others:
        sentences.append(f"{_listed(others)}.")
    return "".join(f" {sentence}" for sentence in sentences)


def _against_peer(study: MethodScores, unseen: MethodScores, method: str, peer: str) -> str:
    test = study.compare("log_loss", method, peer)
    ratio = study.median_seconds(method) / study.median_seconds(peer)
    called = _method_text(peer).replace("scikit-learn's", "the")
    text = (
        f"It beats the best of scikit-learn's four methods in log-loss, {called}, on {test.wins} of them in "
        f"{_share(ratio)} processor time"
    )
    if 0 < len(unseen.data_sets) < len(study.data_sets):
        apart = unseen.compare("log_loss", method, peer)
        text += (
            f", and on {apart.wins} of the {len(unseen.data_sets)} sets that had no part in choosing petiole's forest "
            f"(mean rank there {unseen.mean_rank('log_loss', method):.1f})"
            if len(unseen.data_sets) > 1
            else ""
        )
    return f"{text}."


def _share(ratio: float) -> str:
    """
    >>> _share(0.0648), _share(2.5)
    ('6 % of its', '2.5 times its')
    """
    return f"{100 * ratio:.0f} % of its" if ratio < 1 else f"{ratio:.1f} times its"


def _one_tree(study: MethodScores, trees: list[str]) -> str:
    best, worst = trees[0], trees[-1]
    rank, last = (study.mean_rank("log_loss", tree) for tree in (best, worst))
    return (
        f"For a single tree that you can read, take {_method_text(best)}. It has the best mean rank of the "
        f"{len(trees)} single trees, {rank:.1f} ({worst}: {last:.1f}), and takes "
        f"{1000 * study.median_seconds(best):.0f} ms."
    )


def _listed(words: list[str]) -> str:
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} and {words[-1]}"


def _legend(study: MethodScores) -> str:
    hollow = ""
    if study.partial:
        counts = {name: int(np.isfinite(study.of("log_loss", name)).sum()) for name in study.partial}
        hollow = (
            f" Hollow points ({_listed(study.partial)}) were too slow for some data sets: they are ranked among the "
            f"others on the {_listed(sorted({str(n) for n in counts.values()}))} on which they were run."
        )
    return (
        "The line joins the methods that no other method beats in both rank and time. Methods in the shaded band are "
        "not shown "
        "to "
        f"be worse than the best (Nemenyi's test at 0.05).{hollow}"
    )


def _picture(drawn: dict[str, str], name: str, words: str) -> str:
    return f"![{words}]({drawn[name]})" if name in drawn else ""


def rank_table(study: MethodScores) -> str:
    """Mean ranks by every metric, the best in log-loss first."""
    ranks = {metric: study.ranks(metric) for metric in RANKED}
    rows = []
    for name in study.best("log_loss"):
        row = [name]
        for one in ranks.values():
            value = one.mean_ranks[one.names.index(name)]
            row.append(f"**{value:.2f}**" if value == one.mean_ranks.min() else f"{value:.2f}")
        rows.append(row)
    return as_markdown(["method", *RANKED.values()], rows)


def _ranks(study: MethodScores) -> str:
    one = study.ranks("log_loss")
    p_values = max(study.ranks(metric).p_value for metric in RANKED)
    return (
        f"{len(study.methods)} methods, {len(study.data_sets)} data sets, the mean of {study.n_splits} "
        f"{'split' if study.n_splits == 1 else 'splits'} of each; 1 is best. Two mean ranks differ significantly "
        f"(Nemenyi, 0.05) if they are {one.critical_difference:.2f} apart. Friedman's test finds that methods differ "
        f"by every metric (largest p {p_values:.1g}). Time is that of fit and prediction.\n\n{rank_table(study)}"
    )


def _unseen(study: MethodScores) -> str:
    unseen = study.unseen()
    n, n_seen = len(unseen.data_sets), len(study.data_sets) - len(unseen.data_sets)
    text = (
        f"{n_seen} of the {len(study.data_sets)} data sets are among those on which the defaults of the probability "
        f"forest were chosen, by a hash of their names, before this study. The other {n} are apart here"
    )
    if n < 2:
        return f"{text}; too few for ranks."
    caveat = (
        "Other defaults were chosen on some of these sets, too: the penalty of HGS honest on most sets of up to 1,600 "
        "rows, those of lazy option trees on 30 sets of up to 650 rows, the map of the recalibrated forest after a "
        "look at 12 sets. The figures of these three are therefore slightly optimistic. scikit-learn's methods have "
        "their defaults; we do not know on which data these were chosen."
    )
    gap = unseen.ranks("log_loss").critical_difference
    return f"{text} (critical difference {gap:.2f}):\n\n{rank_table(unseen)}\n\n{caveat}"


def _head_to_head(study: MethodScores) -> str:
    first = FLAGSHIP if FLAGSHIP in study.methods else study.best("log_loss")[0]
    unseen = study.unseen()
    header = [f"{first} against", *(RANKED[metric] for metric in WORDS), "log-loss, unseen sets"]
    rows = []
    for rival in [*study.best("log_loss"), *study.partial]:
        if rival != first:
            row = [counts(study.compare(metric, first, rival)) for metric in WORDS]
            last = counts(unseen.compare("log_loss", first, rival)) if len(unseen.data_sets) else ""
            rows.append([rival, *row, last])
    note = (
        "Wins-draws-losses over data sets, with p of the two-tailed sign test. Related data sets, such as those of "
        "heart disease, make p a little too small."
    )
    return f"{note}\n\n{as_markdown(header, rows)}"


def counts(test: SignTest) -> str:
    """Wins-draws-losses and p."""
    return f"{test.wins}-{test.ties}-{test.losses} ({test.p_value:.2g})"


def _means(study: MethodScores) -> str:
    header = ["method", "log-loss", "Brier", "AULC", "cost", "accuracy", "fit, ms", "predict, ms", "all fits, s"]
    rows = []
    for name in study.best("log_loss"):
        means = [study.of(metric, name).mean() for metric in RANKED if metric != SECONDS]
        fit, predict = study.of("fit_seconds", name), study.of("predict_seconds", name)
        cells = [f"{means[0]:.4f}", f"{means[1]:.4f}", f"{means[2]:.4f}", f"{means[3]:.1f}", f"{means[4]:.4f}"]
        times = [f"{1000 * np.median(fit):.1f}", f"{1000 * np.median(predict):.1f}", f"{fit.sum():.1f}"]
        rows.append([name, *cells, *times])
    note = (
        "Means over data sets; log-loss in bits. Times are processor time of one thread: medians over data sets, and "
        "the sum of one fit of each."
    )
    return f"{note}\n\n{as_markdown(header, rows)}"


def _lazy(study: MethodScores) -> str:
    """Where methods that are not everywhere stand among the others."""
    if not study.partial:
        return "They are in the tables above: no data set here was too large for them."
    rows = []
    for name in study.partial:
        there = study.where(name)
        if len(there.data_sets) < 2:
            continue
        ranks = [f"{there.mean_rank(metric, name):.2f}" for metric in RANKED]
        median = np.median(there.of("predict_seconds", name))
        rows.append([name, f"{len(there.data_sets)}", *ranks, f"{1000 * median:.0f}"])
    header = ["method", "data sets", *RANKED.values(), "predict, ms"]
    return (
        "They do their work at prediction time, so they were evaluated only if training rows × test rows × "
        f"features is at most {SETTINGS['most_lazy_work']:,}. Mean ranks there, each among the "
        f"{len(study.methods)} methods above and itself:\n\n{as_markdown(header, rows)}"
    )


def _protocol(study: MethodScores) -> str:
    missing = [name for name in choose_data_sets(SETTINGS) if name not in study.data_sets]
    lines = [
        f"- **Data**: every set of the data folder with {SETTINGS['least_rows']} to {SETTINGS['most_rows']:,} rows, "
        "at "
        f"most {SETTINGS['most_attributes']} features and {SETTINGS['most_classes']} classes, and two classes of at "
        f"least {SETTINGS['least_class_size']} rows; rows of smaller classes are left out. The rule uses only sizes. "
        "These are small data sets; the study shows nothing about large ones.",
        f"- **Splits**: {study.n_splits} of {TRIALS}, stratified, two thirds to train, the same for all methods.",
        f"- **Scores**: log-loss in bits, probabilities below {SETTINGS['floor']} raised to it; Brier score (sum over "
        "classes); AULC weighted by the classes' shares in training; cost: the mean over "
        f"{SETTINGS['n_cost_matrices']} matrices of model {SETTINGS['cost_model']} (it is expensive to overlook a "
        "rare class), the same for all methods of a split, of the cheapest decisions under the probabilities.",
        "- **Methods** have their defaults. Single trees are C4.4 with a leaf estimator, or C4.5 with its pruning; "
        "`dual` is dual perturb-and-combine over C4.4 with Laplace, and over EB-PETs. petiole's ensembles have 128 "
        "trees, the probability forest 256, scikit-learn's forest 100, and its calibrated ones 5 × 100 (five folds).",
        "- **Columns**: for petiole and gradient boosting, categorical columns are declared as such; scikit-learn's "
        "forests get them one-hot encoded, with a missing value as one more value. Missing numbers go to all methods "
        "as "
        "they are.",
        "- **Time** is processor time with one thread, of fit and prediction together unless said otherwise.",
    ]
    if missing:
        lines.append(f"- **Not there**: {', '.join(missing)}. `python -m petiole reproduce {NAME}` computes the rest.")
    return "\n".join(lines)


def _every_data_set(study: MethodScores) -> str:
    names = [*study.best("log_loss"), *study.partial]
    rows = []
    for i, data_set in enumerate(study.data_sets):
        values = np.array([study.of("log_loss", name)[i] for name in names])
        least = np.nanmin(values)
        cells = ["" if np.isnan(value) else f"{value:.3f}" for value in values]
        rows.append([data_set, *(f"**{c}**" if v == least else c for c, v in zip(cells, values, strict=True))])
    return f"Log-loss in bits, the least of each data set in bold.\n\n{as_markdown(['data set', *names], rows)}"
