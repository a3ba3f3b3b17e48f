"""Tables of log-losses data set by data set: large ones, the small numeric ones, and those where the flagship loses."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from petiole.comparison.rendering import as_markdown
from petiole.experiments._data.which_method import had_a_part
from petiole.experiments.peers.reasons import REASONS
from petiole.experiments.peers.scores import FLAGSHIPS, LEAST_LOSS, Found, is_ours, loss_ratio

LARGE = 5_000
LOST = 1.03
# One or two methods of each kind, for tables that have no room for all.
SHOWN = (
    *("CatBoost", "CatBoost stopped", "LightGBM stopped", "XGBoost stopped", "HistGB stopped", "EBM", "YDF boosting"),
    *("RF structured", "ExtraTrees structured", "logistic regression"),
)
TABPFN = ("TabPFN v1 (4)", "TabPFN v1 (32)")
# Small numeric data sets, on which TabPFN v1 is hard to beat.
ANCHORS = (
    *("balance-scale", "bupa", "column-2c", "column-3c", "ecoli", "energy-y1", "energy-y2", "glass", "haberman"),
    *("heart-statlog", "ionosphere", "iris", "led7digit", "new-thyroid", "parkinsons", "pima", "planning-relax"),
    *("seeds", "sonar", "spectf", "synthetic-control", "transfusion", "vehicle", "wdbc", "wine"),
)


def starred(data_set: str) -> str:
    """The name, with a star for those on which the flagship was developed."""
    return f"{data_set}*" if had_a_part(data_set) else data_set


def large_sets(found: Found) -> str:
    """Log-loss on the data sets of many rows."""
    names = [name for name, rows in found.rows.items() if rows > LARGE]
    return (
        f"Log-loss in bits, over the splits that the methods of a line have in common.\n\n{_table(found, names, SHOWN)}"
    )


def anchors(found: Found) -> str:
    """Log-loss on the small numeric data sets, beside TabPFN."""
    names = [name for name in found.rows if name in ANCHORS]
    text = (
        "Twenty-five small numeric data sets, the kind for which TabPFN v1 was made, with 4 or 32 members. The last "
        "line has the means over the data sets that all methods of the table have."
    )
    return f"{text}\n\n{_table(found, names, (*TABPFN, *SHOWN), with_mean=True)}"


def _table(found: Found, data_sets: Sequence[str], shown: Sequence[str], with_mean: bool = False) -> str:
    flagships = [name for name in reversed(FLAGSHIPS) if found.data_sets(name)]
    methods = [m for m in (*flagships, *shown) if set(found.data_sets(m)) & set(data_sets)]
    rows, values = [], []
    for name in data_sets:
        losses, n_splits = found.losses(name, methods)
        if losses:
            values.append([losses.get(m, np.nan) for m in methods])
            cells = _bold_least([losses.get(m) for m in methods])
            rows.append([starred(name), f"{found.rows[name]:,}", str(n_splits), *cells])
    table = np.array(values).reshape(len(rows), len(methods))
    whole = ~np.isnan(table).any(axis=1)
    if with_mean and whole.any():
        cells = _bold_least(list(table[whole].mean(axis=0)))
        rows.append([f"mean of {int(whole.sum())}", "", "", *cells])
    return as_markdown(["data set", "rows", "splits", *methods], rows)


def _bold_least(losses: Sequence[float | None]) -> list[str]:
    """
    >>> _bold_least([0.5, None, float("nan"), 0.25])
    ['0.500', '', 'failed', '**0.250**']
    """
    known = [loss for loss in losses if loss is not None and loss == loss]
    return [_cell(loss, min(known, default=np.nan)) for loss in losses]


def _cell(loss: float | None, least: float) -> str:
    if loss is None:
        return ""
    if loss != loss:
        return "failed"
    return f"**{loss:.3f}**" if loss == least else f"{loss:.3f}"


def lost_sets(found: Found) -> str:
    """The data sets where a peer has clearly less log-loss, the worst first."""
    flagship, peers = found.flagship, [name for name in found.methods() if not is_ours(name)]
    lost = []
    for name in found.data_sets(flagship):
        losses, n_splits = found.losses(name, [flagship, *peers])
        rivals = {peer: loss for peer, loss in losses.items() if peer != flagship and loss == loss}
        if rivals:
            best = min(rivals, key=rivals.__getitem__)
            ratio = float(loss_ratio(np.array(losses[flagship]), np.array(rivals[best])))
            if ratio > LOST:
                lost.append((ratio, name, losses[flagship], best, rivals[best], n_splits))
    rows = [
        [
            starred(name),
            f"{found.rows[name]:,}",
            f"{ours:.3f}",
            best,
            f"{theirs:.3f}",
            f"{ratio:.2f}",
            str(n),
            REASONS.get(name, ""),
        ]
        for ratio, name, ours, best, theirs, n in sorted(lost, reverse=True)
    ]
    text = (
        f"The data sets on which the best of {len(peers)} peers has a log-loss that is lower by more than "
        f"{LOST - 1:.0%} ({LEAST_LOSS} bits added to both): {len(rows)} of {len(found.data_sets(flagship))}. The best "
        "of so many methods owes a part of its lead to chance, above all with few splits."
    )
    header = ["data set", "rows", flagship, "best peer", "its log-loss", "ratio", "splits", "why"]
    return f"{text}\n\n{as_markdown(header, rows)}"
