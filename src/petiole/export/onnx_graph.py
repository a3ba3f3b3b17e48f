"""A graph of ONNX operators, put together call by call."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

OPSET, ML_OPSET = 17, 3
ML = "ai.onnx.ml"


def import_onnx() -> Any:
    """The onnx package, or an error that says how to get it."""
    try:
        import onnx
    except ImportError as error:
        raise ImportError("ONNX export needs the onnx package: pip install onnx") from error
    return onnx


class Graph:
    """Nodes, constants, inputs and outputs; values are known by their names."""

    def __init__(self) -> None:
        self._onnx = import_onnx()
        self._numbers = itertools.count()
        self._nodes: list[Any] = []
        self._constants: list[Any] = []
        self._inputs: list[Any] = []
        self._outputs: list[Any] = []
        self.loses_rows = False  # whether some rows get NaN

    def add(self, operator: str, *inputs: str, domain: str = "", **attributes: Any) -> str:
        """Add an operator with one output; the name of that."""
        output = f"{operator}_{next(self._numbers)}"
        arrays = {name for name, value in attributes.items() if isinstance(value, np.ndarray)}
        for name in arrays:
            attributes[name] = self._onnx.numpy_helper.from_array(attributes[name], f"{output}_{name}")
        node = self._onnx.helper.make_node(operator, list(inputs), [output], name=output, domain=domain, **attributes)
        self._nodes.append(node)
        return output

    def constant(self, value: npt.ArrayLike) -> str:
        name = f"constant_{next(self._numbers)}"
        self._constants.append(self._onnx.numpy_helper.from_array(np.asarray(value), name))
        return name

    def cast(self, value: str, dtype: type) -> str:
        return self.add("Cast", value, to=self._type_of(np.dtype(dtype)))

    def columns(self, value: str, start: int, stop: int) -> str:
        """Some columns of a matrix."""
        bounds = (self.constant(np.array([edge], dtype=np.int64)) for edge in (start, stop, 1))
        return self.add("Slice", value, *bounds)

    def take_columns(self, value: str, positions: npt.NDArray[np.int64]) -> str:
        """Columns of a matrix, in any order."""
        return self.add("Gather", value, self.constant(positions), axis=1)

    def look_up(self, table: npt.NDArray[Any], rows: str) -> str:
        """Rows of a table, whose numbers are a column; -1 is the last row."""
        found = self.add("Gather", self.constant(table), rows, axis=0)
        return self.add("Squeeze", found, self.constant(np.array([1], dtype=np.int64)))

    def unsqueezed(self, value: str) -> str:
        """A matrix with a third axis."""
        return self.add("Unsqueeze", value, self.constant(np.array([2], dtype=np.int64)))

    def is_missing(self, values: str) -> str:
        """Whether values are NaN, which nothing equals."""
        return self.add("Not", self.add("Equal", values, values))

    def clip(self, value: str, least: float, most: float) -> str:
        return self.add("Clip", value, self.constant(least), self.constant(most))

    def sum_of(self, values: Sequence[str]) -> str:
        return functools.reduce(lambda one, two: self.add("Add", one, two), values)

    def total(self, value: str, axis: int = 1) -> str:
        """Sums along an axis, which stays with length 1."""
        return self.add("ReduceSum", value, self.constant(np.array([axis], dtype=np.int64)), keepdims=1)

    def largest(self, value: str) -> str:
        """The largest of each row, as a column."""
        return self.add("ReduceMax", value, axes=[1], keepdims=1)

    def input(self, name: str, dtype: Any, n_columns: int) -> str:
        kind = self._onnx.TensorProto.STRING if dtype is str else self._type_of(np.dtype(dtype))
        self._inputs.append(self._onnx.helper.make_tensor_value_info(name, kind, ["rows", n_columns]))
        return name

    def output(self, value: str, name: str, dtype: Any, shape: list[Any]) -> None:
        self._nodes.append(self._onnx.helper.make_node("Identity", [value], [name], name=name))
        kind = self._onnx.TensorProto.STRING if dtype is str else self._type_of(np.dtype(dtype))
        self._outputs.append(self._onnx.helper.make_tensor_value_info(name, kind, shape))

    def finish(self, name: str, description: str, properties: dict[str, str]) -> Any:
        """The model, checked."""
        helper = self._onnx.helper
        graph = helper.make_graph(self._nodes, name, self._inputs, self._outputs, self._constants)
        opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid(ML, ML_OPSET)]
        model = helper.make_model(graph, opset_imports=opsets, producer_name="petiole", doc_string=description)
        model.ir_version = 8  # of opset 17, so that older runtimes read it
        helper.set_model_props(model, properties)
        self._onnx.checker.check_model(model)
        return model

    def _type_of(self, dtype: np.dtype[Any]) -> int:
        return int(self._onnx.helper.np_dtype_to_tensor_dtype(dtype))
