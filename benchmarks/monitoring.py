"""Sequential tests of calibration: how often a shift is found, and how often there is a false alarm.

    python benchmarks/monitoring.py [--draws N]

Labels are drawn from p + shift, and the test is given p; p is drawn from several distributions. "Power" is the share of
draws in which there has been an alarm at alpha = 0.05 up to that row, where one looks after every row. With shift 0
that is the rate of false alarms; it may not be above 0.05, however many rows. "Fixed" is the power of a z-test with the
same level that is made once, after 1,000 rows, and may never be looked at before: the price of looking at every row.

With several classes the probabilities are uniform over all that sum to 1, the first class is shifted, and the others
share the rest as before. "Fixed" is then a z-test of the first class, as if it were known which one it is.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np

from petiole.monitoring import CalibrationTest

Random = np.random.Generator
DISTRIBUTIONS: dict[str, Callable[[Random, int], np.ndarray]] = {
    "uniform from 0.05 to 0.95": lambda rng, n: rng.uniform(0.05, 0.95, n),
    "beta(2, 5), mean 0.29": lambda rng, n: rng.beta(2, 5, n),
    "beta(1, 4), mean 0.20": lambda rng, n: rng.beta(1, 4, n),
    "beta(0.5, 0.5), mostly sure": lambda rng, n: rng.beta(0.5, 0.5, n),
    "always 0.5 (the hardest)": lambda rng, n: np.full(n, 0.5),
}
LOOKS = (250, 500, 1000, 2000)
SHIFTS = (0.0, 0.03, 0.05, -0.05, 0.1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=1000)
    n_draws = parser.parse_args().draws
    for name, draw in DISTRIBUTIONS.items():
        print(f"\n{name}\n{'shift':>7}", *(f"{f'{n} rows':>10}" for n in LOOKS), f"{'fixed':>8}")
        for shift in SHIFTS:
            found = [one_draw(np.random.default_rng([i, int(1000 * shift) + 999]), draw, shift) for i in range(n_draws)]
            *alarms, fixed = np.mean(found, axis=0)
            print(f"{shift:7.2f}", *(f"{rate:10.3f}" for rate in alarms), f"{fixed:8.3f}", flush=True)
    for n_classes in (3, 5):
        print(f"\n{n_classes} classes\n{'shift':>7}", *(f"{f'{n} rows':>10}" for n in LOOKS), f"{'fixed':>8}")
        for shift in (0.0, 0.05, -0.05):
            generators = (np.random.default_rng([i, n_classes, int(1000 * shift) + 999]) for i in range(n_draws))
            *alarms, fixed = np.mean([one_draw_of_classes(rng, n_classes, shift) for rng in generators], axis=0)
            print(f"{shift:7.2f}", *(f"{rate:10.3f}" for rate in alarms), f"{fixed:8.3f}", flush=True)
    print(f"\n{n_draws} draws; standard errors are at most {0.5 / np.sqrt(n_draws):.3f}")


def one_draw(rng: Random, draw: Callable[[Random, int], np.ndarray], shift: float) -> list[float]:
    """Whether there was an alarm up to each look, and whether a z-test after 1,000 rows finds something."""
    p = draw(rng, LOOKS[-1])
    y = rng.uniform(size=len(p)) < p + shift
    test = CalibrationTest(2).bet(y.astype(int), np.column_stack([1 - p, p]))
    first = test.first_row(0.05)
    z = (y - p)[:1000].sum() / np.sqrt((p * (1 - p))[:1000].sum())
    return [*(float(first is not None and first <= n) for n in LOOKS), float(abs(z) > 1.96)]


def one_draw_of_classes(rng: Random, n_classes: int, shift: float) -> list[float]:
    """The same for several classes, whose first one is shifted."""
    p = rng.dirichlet(np.ones(n_classes), LOOKS[-1])
    first = np.clip(p[:, :1] + shift, 0.0, 1.0)
    true = np.hstack([first, p[:, 1:] / p[:, 1:].sum(axis=1, keepdims=True) * (1 - first)])
    y = (true.cumsum(axis=1) > rng.uniform(size=(len(p), 1))).argmax(axis=1)
    alarm = CalibrationTest(n_classes).bet(y, p).first_row(0.05)
    q = p[:1000, 0]
    z = ((y[:1000] == 0) - q).sum() / np.sqrt((q * (1 - q)).sum())
    return [*(float(alarm is not None and alarm <= n) for n in LOOKS), float(abs(z) > 1.96)]


if __name__ == "__main__":
    main()
