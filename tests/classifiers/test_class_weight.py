"""``class_weight`` of scikit-learn is answered by what to use instead, by every classifier."""

from __future__ import annotations

import copy
import inspect
import pickle

import pytest
from sklearn.base import ClassifierMixin, clone

import petiole
from petiole import decisions

CLASSIFIERS = sorted(
    {
        found
        for module in (petiole, decisions)
        for found in (getattr(module, name) for name in module.__all__)
        if inspect.isclass(found) and issubclass(found, ClassifierMixin)
    },
    key=lambda found: found.__name__,
)


def made(kind, **parameters):
    needed = [
        name
        for name, parameter in inspect.signature(kind).parameters.items()
        if parameter.default is inspect.Parameter.empty
    ]
    return kind(**dict.fromkeys(needed, petiole.PETClassifier()), **parameters)


def test_there_are_classifiers():
    assert len(CLASSIFIERS) > 10


@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_class_weight_is_refused_with_a_remedy(kind):
    with pytest.raises(TypeError, match=r"class_weight: .* sample_weight") as told:
        made(kind, class_weight="balanced")
    assert "petiole.decisions" in str(told.value) and kind.__name__ in str(told.value)
    with pytest.raises(ValueError, match=r"class_weight: .* decide by costs"):
        made(kind).set_params(class_weight={0: 1, 1: 5})


@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_signatures_and_copies_are_those_of_the_class(kind):
    assert "args" not in inspect.signature(kind).parameters
    model = made(kind)
    for other in (clone(model), copy.copy(model), pickle.loads(pickle.dumps(model))):
        assert type(other) is kind and set(other.get_params()) == set(model.get_params())
    with pytest.raises(TypeError, match="unexpected keyword"):
        made(kind, no_such_parameter=1)
