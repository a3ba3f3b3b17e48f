"""Tests and tables that compare methods by costs, scores and ranks, and bias-variance decompositions.

On one test set: :func:`bdelta_cost` for costs, :func:`bootstrap_difference` for any metric. Over trials: t-tests. Over
data sets: :func:`sign_test`, :func:`win_tie_loss`, :func:`friedman_nemenyi`. Over learning sets:
:func:`bias_variance`.
"""

from __future__ import annotations

from petiole.comparison.bootstrap import BootstrapInterval, bootstrap_difference, bootstrap_interval
from petiole.comparison.costs import CostDifference, CostInterval, bcost, bdelta_cost
from petiole.comparison.decomposition import BiasVariance, bias_variance, probability_bias_variance
from petiole.comparison.diagram import critical_difference_diagram
from petiole.comparison.paired import (
    PairedTest,
    SignTest,
    corrected_resampled_t_test,
    paired_t_test,
    sign_test,
    sign_test_of_counts,
)
from petiole.comparison.ranks import RankComparison, friedman_nemenyi
from petiole.comparison.study import BiasVarianceStudy, bias_variance_study
from petiole.comparison.tables import WinTieLossTable, win_tie_loss

__all__ = [
    "BiasVariance",
    "BiasVarianceStudy",
    "BootstrapInterval",
    "CostDifference",
    "CostInterval",
    "PairedTest",
    "RankComparison",
    "SignTest",
    "WinTieLossTable",
    "bcost",
    "bdelta_cost",
    "bias_variance",
    "bias_variance_study",
    "bootstrap_difference",
    "bootstrap_interval",
    "corrected_resampled_t_test",
    "critical_difference_diagram",
    "friedman_nemenyi",
    "paired_t_test",
    "probability_bias_variance",
    "sign_test",
    "sign_test_of_counts",
    "win_tie_loss",
]
