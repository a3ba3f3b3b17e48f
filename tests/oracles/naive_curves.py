"""Profit and cost curves, row by row: slow, obvious, independent of the library."""

from __future__ import annotations


def profit_above(threshold, scores, if_acting, if_not, w):
    """What is earned by acting on the rows whose score is above the threshold."""
    total = 0.0
    for score, yes, no, weight in zip(scores, if_acting, if_not, w, strict=True):
        total += weight * (yes if score > threshold else no)
    return total


def share_above(threshold, scores, w):
    return sum(weight for score, weight in zip(scores, w, strict=True) if score > threshold) / sum(w)


def error_rates(threshold, scores, is_target, w):
    """Share of the others above the threshold, and of the class not above it."""
    others = sum(weight for hit, weight in zip(is_target, w, strict=True) if not hit)
    members = sum(weight for hit, weight in zip(is_target, w, strict=True) if hit)
    alarms = misses = 0.0
    for score, hit, weight in zip(scores, is_target, w, strict=True):
        if hit and not score > threshold:
            misses += weight
        if not hit and score > threshold:
            alarms += weight
    return alarms / others, misses / members


def normalised_cost(x, rates):
    alarms, misses = rates
    return (1 - x) * alarms + x * misses


def thresholds(scores):
    return [float("-inf"), *sorted(set(scores))]


def least_cost(x, scores, is_target, w):
    """The least cost over all thresholds."""
    return min(normalised_cost(x, error_rates(t, scores, is_target, w)) for t in thresholds(scores))


def cost_of_own_decisions(x, scores, is_target, w):
    """The cost if each row gets the decision that its probability calls for.

    With π the share of the class, a miss costs x/π and a false alarm (1 − x)/(1 − π), up to a factor.
    """
    share = sum(weight for hit, weight in zip(is_target, w, strict=True) if hit) / sum(w)
    miss, alarm = x / share, (1 - x) / (1 - share)
    cost = 0.0
    for score, hit, weight in zip(scores, is_target, w, strict=True):
        says_yes = score * miss > (1 - score) * alarm
        if hit and not says_yes:
            cost += weight * miss
        if not hit and says_yes:
            cost += weight * alarm
    return cost / sum(w)
