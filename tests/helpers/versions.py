"""Tests whose outcome depends on the versions of other libraries."""

from __future__ import annotations

import matplotlib
import numpy as np
import pytest
import sklearn
from sklearn.utils.fixes import parse_version


def is_before(library, version):
    return parse_version(library.__version__) < parse_version(version)


before_sklearn_19 = is_before(sklearn, "1.9")
pandas_can_be_hidden = pytest.mark.skipif(
    before_sklearn_19, reason="before 1.9, scikit-learn takes None in sys.modules for pandas itself"
)
needs_required_requests = pytest.mark.skipif(
    before_sklearn_19, reason="before 1.9, cross_validate accepts a scorer without a request"
)
needs_newest_numbers = pytest.mark.skipif(
    before_sklearn_19, reason="the last digits are those of the newest scikit-learn and SciPy"
)
needs_types_of_numpy = pytest.mark.skipif(is_before(np, "2.0"), reason="NumPy 1 has other types")
text_slack = 3 if is_before(matplotlib, "3.11") else 1  # pixels by which text may be wider than it was measured
