"""The base class of savable objects, which declare the parts that are kept, their checks, and how they are restored."""

from __future__ import annotations

import inspect
import os
from typing import TYPE_CHECKING, Any, ClassVar

from petiole.files import checks
from petiole.files.checks import Field, require

if TYPE_CHECKING:
    from typing import Self


class Savable:
    """Base of everything that model files hold.

    A class names in ``_saved`` the parts of its state (those of ``__getstate__``, if it has one) and what each must be;
    a subclass has those of its bases, too. ``_check_state`` compares the parts with each other before the object comes
    back, ``_check_restored`` afterwards; both raise ValueError.
    """

    _saved: ClassVar[dict[str, Field]] = {}

    @classmethod
    def _saved_fields(cls) -> dict[str, Field]:
        fields: dict[str, Field] = {}
        for base in reversed(cls.__mro__):
            fields |= vars(base).get("_saved", {})
        return fields

    def _saved_state(self) -> dict[str, Any]:
        """The parts to keep, by name."""
        state = _pickled_state(self)
        return {name: state[name] for name in self._saved_fields() if name in state}

    @classmethod
    def _from_saved(cls, parameters: dict[str, Any], state: dict[str, Any]) -> Self:
        """The object again; nothing of what it is made from is trusted."""
        require(not parameters, "has no parameters")
        made = cls.__new__(cls)
        made._take_state(state)
        return made

    def _take_state(self, state: dict[str, Any]) -> None:
        self._check_parts(state)
        self._restore(state)
        self._check_restored()

    def _check_parts(self, state: dict[str, Any]) -> None:
        check_fields(self._saved_fields(), state)
        self._check_state(state)

    def _restore(self, state: dict[str, Any]) -> None:
        """Set the parts, which have passed all checks."""
        if hasattr(self, "__setstate__"):
            self.__setstate__(state)
        else:
            vars(self).update(state)

    def _check_state(self, state: dict[str, Any]) -> None:
        """Raise ValueError if parts do not fit together."""

    def _check_restored(self) -> None:
        """Raise ValueError if the object is not valid."""


class SavableEstimator(Savable):
    """Base of savable objects with scikit-learn's parameters, fitted or not."""

    def _check_saved_parameters(self) -> None:
        """Raise ValueError if a parameter is invalid."""
        check = getattr(self, "_check_parameters", None)
        if check is not None:
            check()

    @classmethod
    def _from_saved(cls, parameters: dict[str, Any], state: dict[str, Any]) -> Self:
        known = set(inspect.signature(cls.__init__).parameters) - {"self"}
        unknown = sorted(set(parameters) - known)
        require(not unknown, f"has no parameter {unknown[:1]}")
        check_common_parameters(parameters)
        made = cls(**parameters)
        made._check_saved_parameters()
        if state:
            made._take_state(state)
        return made


class SavableModel(SavableEstimator):
    """Base of the estimators that have ``save``."""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to a file that :func:`petiole.load` reads; nothing is pickled.

        An existing file is replaced only when the new one is complete, and the same model gives the same bytes.

        Parameters
        ----------
        path : str or path
            Usually with the extension ``.petiole``.

        Raises
        ------
        petiole.files.ModelFileError
            If the model contains something that a file cannot hold, such as an estimator that is not petiole's.
        """
        from sklearn.utils.validation import check_is_fitted

        from petiole.files.storing import save

        check_is_fitted(self)
        save(self, path)


def _threads(value: Any) -> None:
    checks.whole(-4096, 4096)(value)
    require(value != 0, "must not be 0")


# Every classifier has some of these, and none checks them when it is fitted.
_COMMON = {
    "n_jobs": checks.none_or(_threads),
    "verbose": checks.number(0),
    "random_state": checks.none_or(
        lambda value: None if type(value).__name__ == "RandomState" else checks.whole(0, 2**32 - 1)(value)
    ),
}


def check_common_parameters(parameters: dict[str, Any]) -> None:
    """Raise ValueError if a parameter that many classes share is invalid."""
    check_fields({name: Field(check, optional=True) for name, check in _COMMON.items()}, parameters, others=True)


def check_fields(fields: dict[str, Field], state: dict[str, Any], *, others: bool = False) -> None:
    """Raise ValueError unless every part is there and what it must be; ``others`` allows parts that are not named."""
    unknown = sorted(set(state) - set(fields))
    require(others or not unknown, f"has no part {unknown[:1]}")
    for name, field in fields.items():
        if name not in state:
            require(field.optional, f"the part {name!r} is missing")
            continue
        checks.check_part(name, field.check, state[name])


def _pickled_state(value: Any) -> dict[str, Any]:
    get = getattr(value, "__getstate__", None)
    state = None if get is None else get()
    return state if isinstance(state, dict) else dict(vars(value))
