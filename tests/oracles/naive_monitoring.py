"""Slow and obvious versions of the sequential tests, of estimated scores and of drift. Nothing of petiole is used."""

from __future__ import annotations

import math
from itertools import pairwise
from statistics import NormalDist

TILTS = {0.125: 0.1, 0.25: 0.5, 0.5: 0.25, 1.0: 0.15}
SLOPES = [-0.3, -0.15, 0.15, 0.3]
STAKES = [0.02, 0.05, 0.1, 0.2, 0.4]


def alternatives(n_classes):
    """Shares, and functions from probabilities to other probabilities."""
    targets = [1] if n_classes == 2 else list(range(n_classes))
    found = []
    for k in targets:
        for tilt, share in TILTS.items():
            for sign in (1, -1):
                found.append((0.8 * share / 2 / len(targets), lambda p, k=k, t=sign * tilt: tilted(p, k, t)))
    return found + [(0.2 / 4, lambda p, a=a: sharpened(p, a)) for a in SLOPES]


def tilted(p, k, theta):
    raised = [value * math.exp(theta) if i == k else value for i, value in enumerate(p)]
    return [value / sum(raised) for value in raised]


def sharpened(p, a):
    raised = [value ** (1 + a) for value in p]
    return [value / sum(raised) for value in raised]


def calibration_path(codes, proba, weights, alpha=0.05):
    """What all bettors own together after each row: half of it is of those with a deadline."""
    bettors = [[share / 2, other] for share, other in alternatives(len(proba[0]))]
    targets = [1] if len(proba[0]) == 2 else list(range(len(proba[0])))
    hasty = [Hasty(k, sign, 0.25 / len(targets), alpha) for k in targets for sign in (1, -1)]
    path, largest = [], max(weights)
    for y, p, w in zip(codes, proba, weights, strict=True):
        for bettor in bettors:
            bettor[0] *= 1 + w / largest * (bettor[1](p)[y] / p[y] - 1)
        for one in hasty:
            one.bet(y, p, w / largest)
        path.append(sum(bettor[0] for bettor in bettors) + sum(one.wealth for one in hasty))
    return path


class Hasty:
    """A bettor that a class comes more or less often, who wants 1/alpha after a thousand rows."""

    def __init__(self, k, sign, share, alpha):
        self.k, self.sign, self.wealth = k, sign, share
        self.z = -NormalDist().inv_cdf(share * alpha / 1.03 / 2)
        self.sum, self.variance, self.n, self.done = 0.0, 0.0, 0, False

    def bet(self, y, p, stake):
        q = p[self.k]
        self.variance += stake**2 * q * (1 - q)
        each = (0.15 * 5 + self.variance) / (5 + self.n + 1)
        goal = self.z * math.sqrt(each * 1000)
        self.done = self.done or self.sign * self.sum >= goal
        if self.n < 1000 and not self.done:
            root = math.sqrt(each * (1000 - self.n))
            d = (goal - self.sign * self.sum) / root
            hazard = NormalDist().pdf(d) / (math.erfc(d / math.sqrt(2)) / 2) if d < 30 else d  # far from it, about d
            tilt = self.sign * min(hazard / root, 1.0)
            self.wealth *= 1 + stake * (tilted(p, self.k, tilt)[y] / p[y] - 1)
        self.sum += stake * ((y == self.k) - q)
        self.n += 1


def loss_path(losses, promised):
    """The same for bets on the loss."""
    wealth, path = [1 / len(STAKES)] * len(STAKES), []
    for loss in losses:
        wealth = [own * (1 + stake / promised * (loss - promised)) for own, stake in zip(wealth, STAKES, strict=True)]
        path.append(sum(wealth))
    return path


def expected_area(p):
    """The expected area under the ROC curve: pairs of a hit and a miss, each with its probability."""
    won = total = 0.0
    for i, one in enumerate(p):
        for j, other in enumerate(p):
            pair = one * (1 - other)
            total += pair
            won += pair * (1.0 if one > other else 0.5 if one == other or i == j else 0.0)
    return won / total


def expected_matrix(p, threshold):
    """Expected hits, false alarms, missed and rightly refused rows where p above the threshold means yes."""
    said = [one for one in p if one > threshold]
    not_said = [one for one in p if one <= threshold]
    return sum(said), sum(1 - one for one in said), sum(not_said), sum(1 - one for one in not_said)


def area_of_matrices(p):
    """The area under the curve through the expected matrices of all thresholds."""
    points = []
    for threshold in [1.0, *sorted(set(p), reverse=True), -1.0]:
        hits, false, missed, refused = expected_matrix(p, threshold)
        points.append((false / (false + refused), hits / (hits + missed)))
    return sum((b[0] - a[0]) * (a[1] + b[1]) / 2 for a, b in pairwise(points))


def distance(one, other):
    """Jensen-Shannon distance in bits."""

    def divergence(p, q):
        return sum(a * math.log2(a / b) for a, b in zip(p, q, strict=True) if a > 0)

    middle = [(a + b) / 2 for a, b in zip(one, other, strict=True)]
    return math.sqrt(max(divergence(one, middle) / 2 + divergence(other, middle) / 2, 0.0))
