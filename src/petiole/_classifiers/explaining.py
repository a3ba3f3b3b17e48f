"""``explain`` for classifiers of trees."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from petiole.explanations import Explanation


class Explainable:
    """A classifier whose answers can be divided among the columns."""

    def explain(
        self,
        X: Any,
        *,
        output: str = "auto",
        method: str = "auto",
        background: Any = None,
        n_permutations: int = 64,
        random_state: Any = 0,
    ) -> Explanation:
        """Divide the predictions for the rows of X among the columns, by Shapley values.

        ``explanation.base_values + explanation.values.sum(axis=1)`` are the probabilities, or the log-odds. See
        :func:`petiole.explanations.explain` for the parameters and what is exact.
        """
        from petiole.explanations import explain

        return explain(
            self,
            X,
            output=output,
            method=method,
            background=background,
            n_permutations=n_permutations,
            random_state=random_state,
        )
