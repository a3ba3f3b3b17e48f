"""``python -m tests.fuzz.fingerprints``: did a change leave every model as it was, to the bit?

    python -m tests.fuzz.fingerprints --cases 3000 --write before.json     # on the old state
    python -m tests.fuzz.fingerprints --compare before.json                # on the new one

A fingerprint covers the answers to the queries, the out-of-bag answers and the model file, or the error that refused
the fit.
Fingerprints of two machines, or of two versions of NumPy, need not agree.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone

from petiole.files import ModelFileError

from .cases import make_case


def fingerprint(number: int) -> str:
    """A hash of all that the case's model says."""
    case = make_case(number)
    said = hashlib.sha256(case.subject.name.encode())
    try:
        model = case.fit(clone(case.subject.model), case.problem.X, case.problem.y, case.problem.weights)
        said.update(_bytes(case.ask(model)))
        said.update(_bytes(getattr(model, "oob_predict_proba_", None)))
        said.update(_file(model))
    except (ValueError, TypeError) as error:
        said.update(re.sub(r"0x[0-9a-f]+", "", str(error)).encode())
    return f"{case.subject.name} {said.hexdigest()[:16]}"


def _bytes(answers: Any) -> bytes:
    return b"none" if answers is None else np.ascontiguousarray(answers, dtype=np.float64).tobytes()


def _file(model: Any) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.petiole"
        try:
            model.save(path)
        except (ModelFileError, AttributeError):  # a part that a file cannot hold, or a model that has none
            return b"no file"
        return path.read_bytes()


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.fingerprints", description=__doc__)
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0, help="number of the first case")
    parser.add_argument("--write", type=Path, metavar="FILE")
    parser.add_argument("--compare", type=Path, metavar="FILE")
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    if options.compare is None:
        numbers = range(options.seed, options.seed + options.cases)
        found = {str(number): fingerprint(number) for number in numbers}
        options.write.write_text(json.dumps(found, indent=0), encoding="utf-8")
        return 0
    before = json.loads(options.compare.read_text(encoding="utf-8"))
    changed = [f"case {number}: {name}" for number, name in before.items() if fingerprint(int(number)) != name]
    print("\n".join([*changed[:50], f"{len(changed)} of {len(before)} models differ"]))
    return 1 if changed else 0


if __name__ == "__main__":
    sys.exit(main())
