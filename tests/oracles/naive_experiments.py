"""The obvious versions: one loop over the grid, agreement counted by hand, votes and leaves one at a time."""

from __future__ import annotations

import numpy as np
from scipy import stats


def run_all(experiment):
    """Scores of every cell, from three loops and no database."""
    found = {}
    for data_set in experiment.data_sets:
        for method in experiment.methods:
            for trial in range(experiment.trials):
                task = next(experiment.task(c) for c in experiment.cells() if c == (data_set, trial, method))
                found[data_set, trial, method] = dict(experiment.work(task))
    return found


def welch_mark(first, second, greater_is_better, alpha):
    """1 if the second is better, by scipy's unpaired test of one data set."""
    if np.ptp(first) == 0 and np.ptp(second) == 0:
        significant = first[0] != second[0]
    else:
        significant = stats.ttest_ind(first, second, equal_var=False).pvalue <= alpha
    if not significant:
        return 0
    return 1 if (np.mean(second) > np.mean(first)) == greater_is_better else -1


def agreement(rows):
    """Counts over rows (published first, published second, our first, our second, published mark, our mark)."""
    counts = dict.fromkeys(("n_signs", "same_sign", "same_mark", "opposite_mark", "n_significant", "confirmed"), 0)
    for a, b, x, y, published, ours in rows:
        if float(a) != float(b):
            counts["n_signs"] += 1
            if (float(b) > float(a) and y > x) or (float(b) < float(a) and y < x):
                counts["same_sign"] += 1
        if published == ours:
            counts["same_mark"] += 1
        if {published, ours} == {1, -1}:
            counts["opposite_mark"] += 1
        if published != 0:
            counts["n_significant"] += 1
            if published == ours:
                counts["confirmed"] += 1
    return counts


def leaf_of(tree, row):
    """Walk down a tree of numeric tests."""
    node = 0
    while not tree.is_leaf[node]:
        left, right = tree.children(node)
        node = left if row[tree.feature[node]] <= tree.threshold[node] else right
    return node


def majority(ensemble, X):
    """Votes of trees that count copies; of equals the larger mean frequency, then the larger prior, then the first."""
    winners, prior = [], ensemble.class_weights_
    for row in X:
        votes, frequencies = np.zeros(len(prior)), np.zeros(len(prior))
        for tree in ensemble.trees_:
            counts = tree.inbag_class_counts[leaf_of(tree, row)]
            votes[max(range(len(prior)), key=lambda k: (counts[k], prior[k], -k))] += 1
            frequencies += counts / counts.sum()
        keys = [(votes[k], round(frequencies[k], 9), prior[k], -k) for k in range(len(prior))]
        winners.append(ensemble.classes_[keys.index(max(keys))])
    return np.array(winners)


def two_class_scores(y, chances, weights):
    """MSE summed over both classes and log-loss in bits, row by row."""
    squares = bits = total = 0.0
    for label, p, w in zip(y, chances, weights, strict=True):
        squares += w * sum((t - q) ** 2 for t, q in ((label, p), (1 - label, 1 - p)))
        q = p if label else 1 - p
        bits += w * (np.inf if q == 0 else -np.log2(q))
        total += w
    return squares / total, bits / total


def lift_at(y, chances, weights, share):
    """The lift of the first people by score; of people with equal scores a part, whatever their class."""
    groups = {}
    for label, p, w in zip(y, chances, weights, strict=True):
        weight, positives = groups.get(p, (0.0, 0.0))
        groups[p] = (weight + w, positives + w * label)
    everyone = sum(weight for weight, _ in groups.values())
    rate = sum(positives for _, positives in groups.values()) / everyone
    left, found = share * everyone, 0.0
    for p in sorted(groups, reverse=True):
        weight, positives = groups[p]
        part = min(1.0, left / weight)
        found += part * positives
        left -= part * weight
    return found / (share * everyone) / rate


def campaign(gifts, chances, amounts, weights, people):
    """Write to those whose expected gift exceeds 68 cents, one at a time."""
    earned = sum(
        w * (gift - 0.68) for gift, p, a, w in zip(gifts, chances, amounts, weights, strict=True) if p * a > 0.68
    )
    return earned * people / sum(weights)


def same_better(published, ours, more_is_better):
    """(same, told apart) over all pairs of methods, by looking at each pair."""
    same = apart = 0
    methods = list(published)
    for i, a in enumerate(methods):
        for b in methods[i + 1 :]:
            if published[a] == published[b]:
                continue
            apart += 1
            winner = a if (published[a] > published[b]) == more_is_better else b
            loser = b if winner == a else a
            if (ours[winner] > ours[loser]) if more_is_better else (ours[winner] < ours[loser]):
                same += 1
    return same, apart
