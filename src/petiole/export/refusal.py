"""The error for models that cannot be exported."""

from __future__ import annotations

from typing import Any

from sklearn.utils.validation import check_is_fitted

from petiole._classifiers.base import has_oblique_splits


class ExportError(ValueError):
    """The model cannot be written in the wanted form; the message says why and what to do.

    Attributes
    ----------
    reason : str
        The message without what to do.
    kinds : tuple of type
        The classifiers that can be written, if this one cannot.
    settings : tuple of str
        Parameters, with values, with which this one could.
    """

    def __init__(
        self, reason: str, remedy: str = "", kinds: tuple[type, ...] = (), settings: tuple[str, ...] = ()
    ) -> None:
        super().__init__(" ".join(filter(None, (reason, remedy))))
        self.reason, self.kinds, self.settings = reason, kinds, settings


def check_exportable(model: Any, kinds: tuple[type, ...], form: str, why_not: str) -> None:
    """``model`` is fitted and one of the kinds that can be written."""
    if not isinstance(model, kinds):
        names = ", ".join(kind.__name__ for kind in kinds)
        raise ExportError(
            f"a {type(model).__name__} cannot be written as {form}: {why_not}",
            f"Export one of {names}, or keep the model in petiole's own format (model.save).",
            kinds,
        )
    check_is_fitted(model)
    if has_oblique_splits(model):
        raise ExportError(
            f"splits='oblique': the trees compare sums of columns with thresholds, and {form} has no such test here.",
            "Fit with splits='best' or 'random', or keep the model in petiole's own format (model.save).",
            settings=("splits=best", "splits=random"),
        )
