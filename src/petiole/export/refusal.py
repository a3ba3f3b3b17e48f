"""The error for models that cannot be exported."""

from __future__ import annotations

from typing import Any

from sklearn.utils.validation import check_is_fitted

from petiole._classifiers.base import has_oblique_splits


class ExportError(ValueError):
    """The model cannot be written in the wanted form; the message says why and what to do."""


def check_exportable(model: Any, kinds: tuple[type, ...], form: str, why_not: str) -> None:
    """``model`` is fitted and one of the kinds that can be written."""
    if not isinstance(model, kinds):
        names = ", ".join(kind.__name__ for kind in kinds)
        raise ExportError(
            f"a {type(model).__name__} cannot be written as {form}: {why_not} Export one of {names}, or keep the model "
            "in petiole's own format (model.save)."
        )
    check_is_fitted(model)
    if has_oblique_splits(model):
        raise ExportError(
            f"splits='oblique': the trees compare sums of columns with thresholds, and {form} has no such test here. "
            "Fit with splits='best' or 'random', or keep the model in petiole's own format (model.save)."
        )
