"""Pictures of explanations: what is drawn is what the explanation holds."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from sklearn.datasets import load_iris

from petiole import BaggedPETClassifier
from petiole.plotting import BeeswarmDisplay, ContributionBarDisplay, WaterfallDisplay


@pytest.fixture(scope="module")
def explanation():
    X, y = load_iris(return_X_y=True, as_frame=True)
    X.iloc[3, 1] = np.nan
    return BaggedPETClassifier(5, random_state=0).fit(X, y).explain(X)


def test_bars_are_mean_absolute_values(explanation):
    display = explanation.plot_bar(label=2, max_display=3)
    assert isinstance(display, ContributionBarDisplay) and display.columns[-1] == "2 other columns"
    order = np.argsort(-explanation.importances(2))
    lengths = explanation.importances(2)[order]
    np.testing.assert_allclose(display.lengths[:, 0], [*lengths[:2], lengths[2:].sum()])
    np.testing.assert_allclose([bar.get_width() for bar in display.ax_.patches], display.lengths[:, 0])
    of_all = explanation.plot_bar()
    assert of_all.lengths.shape == (4, 3)
    np.testing.assert_allclose(of_all.lengths.sum(axis=0), np.abs(explanation.values).mean(axis=0).sum(axis=0))


def test_a_waterfall_leads_from_the_base_to_the_answer(explanation):
    display = explanation.plot_waterfall(3, label=1, max_display=3)
    assert isinstance(display, WaterfallDisplay)
    np.testing.assert_allclose(explanation.base_values[1] + display.steps.sum(), explanation.answers[3, 1])
    bars = display.ax_.patches
    assert np.isclose(bars[-1].get_x(), explanation.base_values[1]) or np.isclose(
        bars[-1].get_x() + bars[-1].get_width(), explanation.base_values[1]
    )
    np.testing.assert_allclose(bars[0].get_x() + bars[0].get_width(), explanation.answers[3, 1])
    with pytest.raises(ValueError, match="row=200: there are 150 rows"):
        explanation.plot_waterfall(200, label=1)
    with pytest.raises(ValueError, match="label=None: name one of the classes"):
        explanation.plot_waterfall(0)


def test_a_beeswarm_has_a_point_for_each_row_and_column(explanation):
    display = explanation.plot_beeswarm(label=0, max_display=2)
    assert isinstance(display, BeeswarmDisplay) and len(display.columns) == 2
    points = np.concatenate([np.asarray(part.get_offsets()) for part in display.ax_.collections])
    assert len(points) == 2 * len(explanation)
    for place, column in enumerate(display.shown.tolist()):
        mine = points[np.abs(points[:, 1] - place) < 0.5]
        np.testing.assert_allclose(np.sort(mine[:, 0]), np.sort(explanation.values[:, column, 0]))


def test_what_cannot_be_drawn_is_refused(explanation):
    with pytest.raises(TypeError, match="explanation is a list: pass what"):
        ContributionBarDisplay([])
    with pytest.raises(ValueError, match="explanation: has no rows to draw"):
        explanation[:0].plot_bar()
    with pytest.raises(ValueError, match="max_display=0"):
        explanation.plot_bar(max_display=0)
