"""Files that are damaged or forged are refused with a reason: no crash, no hang, no huge memory, no wrong answer."""

from __future__ import annotations

import json
import os
import resource
import signal
import struct
import sys
import time
import warnings

import numpy as np
import pytest

import petiole
from file_models import MAKERS, made
from file_mutations import Parts, damaged, forged, sealed
from forge import check_harmless, forge, running, watch
from petiole.files import FORMAT_VERSION, ModelFileError, read_header

# In so many tests, which run side by side.
MUTANTS, N_PARTS = 3000, 3
SMALL = (
    *("tree", "pet_c45_mixed", "bagged", "bagged_settled", "mob_esp_weights", "probability_forest", "lazy", "dual"),
    *("naive_bayes_binned", "constant", "cost_sensitive_actions", "expected_profit", "oob_calibrated_frozen"),
    *("sigmoid", "isotonic", "temperature", "binning", "venn_abers"),
    *("vector", "structured_matrix", "quadratic", "spline"),
)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.petiole"


def whole_file(name, path):
    made(name)[0].save(path)
    return path.read_bytes()


def refuse(path, content, match=None):
    path.write_bytes(content)
    with pytest.raises(ModelFileError, match=match) as caught:
        petiole.load(path)
    assert isinstance(caught.value, ValueError)
    assert str(caught.value).startswith(path.name)


# By chance.


def test_every_single_bit_counts(path):
    """A flipped bit anywhere: exhaustively in the length of the header, and every 31st bit of the rest."""
    whole = whole_file("binning", path)
    bits = [*range(64), *range(64, 8 * len(whole), 31)]
    for bit in bits:
        changed = bytearray(whole)
        changed[bit // 8] ^= 1 << (bit % 8)
        refuse(path, bytes(changed))


def test_a_file_that_is_cut_off_anywhere(path):
    whole = whole_file("sigmoid", path)
    for length in [*range(0, 64), *range(64, len(whole), 37), len(whole) - 1]:
        refuse(path, whole[:length])
    refuse(path, whole + b"\0", "bytes")


@pytest.mark.parametrize("name", SMALL)
def test_damage_by_chance_is_always_refused(name, path):
    whole = whole_file(name, path)
    for seed in range(90):
        changed = damaged(whole, np.random.default_rng([seed, len(whole)]))
        if changed != whole:
            refuse(path, changed)


# On purpose.


@pytest.mark.parametrize("part", range(N_PARTS))
def test_forged_files_are_refused_or_give_probabilities(part):
    """With a right checksum only the structure can be wrong. `make forge` tries a hundred thousand."""
    names = list(MAKERS)[part::N_PARTS]
    outcomes, findings = forge(seed=part, mutants=MUTANTS // N_PARTS, names=names)
    assert findings == {}
    assert outcomes.total() == MUTANTS // N_PARTS
    assert min(outcomes["refused"], outcomes["loaded"]) > 0.1 * outcomes.total()


def test_the_forge_finds_what_is_wrong(monkeypatch, path):
    """A model that gives no probabilities, and an error that is not ours."""
    model, queries = made("pet")
    monkeypatch.setattr(model, "predict_proba", lambda X: np.full((len(X), 3), 0.5))
    with pytest.raises(AssertionError, match="does not sum to 1"):
        check_harmless(model, queries, path.parent)
    monkeypatch.setattr(model, "predict_proba", lambda X: {}["?"])
    with pytest.raises(KeyError):
        check_harmless(model, queries, path.parent)


def test_a_mutant_that_hangs_or_crashes_is_a_finding():
    say = "import json, os, time; say = lambda **message: print(json.dumps(message), flush=True); "
    then = ["time.sleep(60)", "os.abort()", "say(outcome='refused'); say(outcome='end')"]

    def start(first):
        return running([sys.executable, "-c", f"{say} say(number={first}, name='pet'); {then[first]}"])

    assert list(watch(start, 0, 0.5)) == [
        (0, "pet", "no answer after 0.5 s (pet)"),
        (1, "pet", f"process ended with status {-signal.SIGABRT} (pet)"),
        (2, "pet", "refused"),
    ]


FORGED_TREES = {
    "a negative child": ("child_nodes", 0, -1, "child_nodes"),
    "a child beyond the end": ("child_nodes", 0, 10**6, "child_nodes"),
    "the root as a child": ("child_nodes", -1, 0, "root is nobody's child"),
    "a feature that is not there": ("feature", 0, 77, "feature"),
    "a negative feature": ("feature", 0, -7, "feature"),
    "a threshold that is NaN": ("threshold", 0, np.nan, "threshold"),
    "a threshold of minus infinity": ("threshold", 0, -np.inf, "threshold"),
    "children in a descending order": ("child_start", 1, 10**6, "child_start"),
    "a missing branch that is not there": ("missing_branch", 0, 9, "missing_branch"),
    "a negative count": ("inbag_class_counts", 0, -1.0, "inbag_class_counts"),
    "an infinite count": ("inbag_class_counts", 0, np.inf, "inbag_class_counts"),
    "a spread weight that is NaN": ("spread_weights", 1, np.nan, "spread_weights"),
}


@pytest.mark.parametrize("case", FORGED_TREES)
def test_a_forged_tree(case, path):
    name, at, value, match = FORGED_TREES[case]
    parts = Parts(whole_file("pet", path))
    parts.array(f"PETClassifier.tree_.{name}")[at] = value
    refuse(path, parts.joined(), match)


def test_a_tree_with_a_cycle(path):
    parts = Parts(whole_file("pet", path))
    tree = made("pet")[0].tree_
    split = int(tree.child_nodes[~tree.is_leaf[tree.child_nodes]][0])  # becomes a child of itself
    children = parts.array("PETClassifier.tree_.child_nodes")
    place, own = np.flatnonzero(tree.child_nodes == split)[0], int(tree.child_start[split])
    children[[place, own]] = children[[own, place]]
    refuse(path, parts.joined(), "cycle")


FORGED_FORESTS = {
    "a feature that is not there": ("feature", 200, "feature"),
    "more children than nodes": ("n_children", 200, "split|child"),
    "a threshold that is NaN": ("threshold", np.nan, "threshold"),
    "a vote for no class": ("vote", 200, "vote"),
    "a class that is not there": ("in_bag_class", 200, "class"),
    "more entries than there are": ("in_bag_entries", 200, "entries"),
    "a size that is too large": ("feature_size", 2**32 - 1, "feature"),
    "a missing size": ("vote_size", 0, "vote"),
}


@pytest.mark.parametrize("case", FORGED_FORESTS)
def test_a_forged_forest(case, path):
    name, value, match = FORGED_FORESTS[case]
    parts = Parts(whole_file("bagged_out_of_bag", path))
    parts.array(f"BaggedPETClassifier.trees_.forest.{name}")[0] = value
    refuse(path, parts.joined(), match)


@pytest.mark.parametrize("name", ["n_trees", "n_classes"])
@pytest.mark.parametrize("value", [0, -1, 2, 2**20, 2**31, 2**62, 0.5, None, "3", True])
def test_numbers_of_trees_and_classes_that_are_not_there(name, value, path):
    parts = Parts(whole_file("bagged_out_of_bag", path))
    forest = next(one for one in parts.model["objects"] if one["class"] == "Forest")
    forest["state"]["forest"][name] = value
    refuse(path, parts.joined(), "n_trees|class|whole number|entry for each")


def test_a_forest_that_needs_more_memory_than_there_is(path):
    """65,535 classes and a million leaves fit into a small file, but not their tables."""
    parts = Parts(whole_file("bagged_out_of_bag", path))
    forest = "BaggedPETClassifier.trees_.forest."
    n_trees = len(parts.array(forest + "vote_size"))
    parts.replace_array(forest + "vote", np.zeros(4_000_000), "U8")
    parts.replace_array(forest + "vote_size", np.full(n_trees, 4_000_000 // n_trees + 1), "U32")
    sizes = parts.array(forest + "vote_size")
    sizes[-1] -= int(sizes.sum()) - 4_000_000
    described = next(one for one in parts.model["objects"] if one["class"] == "Forest")
    described["state"]["forest"]["n_classes"] = 65_535
    refuse(path, parts.joined(), "GiB")


def change_object(parts, kind, section, name, value):
    found = next(one for one in parts.model["objects"] if one["class"] == kind)
    found[section][name] = value


FORGED_DESCRIPTIONS = {
    "a class of another library": ("PETClassifier", "class", None, "subprocess.Popen", "unknown"),
    "an unknown parameter": ("PETClassifier", "parameters", "shell", "rm", "no parameter"),
    "a parameter out of range": ("PETClassifier", "parameters", "max_depth", -3, "max_depth"),
    "a million threads": ("PETClassifier", "parameters", "n_jobs", 10**6, "n_jobs"),
    "a seed that is none": ("PETClassifier", "parameters", "random_state", -1, "random_state"),
    "an unknown part": ("PETClassifier", "state", "__class__", 1, "no part"),
    "classes that are equal": ("PETClassifier", "state", "classes_", {"$": "objects", "items": [1, 1, 2]}, "different"),
    "too few classes": ("PETClassifier", "state", "classes_", {"$": "objects", "items": [1, 2]}, "classes"),
    "a tree that is an encoder": ("PETClassifier", "state", "tree_", {"$": "object", "index": 0}, "tree_"),
    "a reference to itself": ("PETClassifier", "state", "tree_", {"$": "object", "index": 3}, "come before"),
    "a negative reference": ("PETClassifier", "state", "tree_", {"$": "object", "index": -1}, "come before"),
    "a tensor that is not there": (
        "PETClassifier",
        "state",
        "node_probabilities_",
        {"$": "array", "tensor": "x"},
        "no ten",
    ),
    "a column of no kind": ("FeatureEncoder", "state", "columns", [{"kind": "?"}], "kind"),
    "names too many": ("FeatureEncoder", "state", "feature_names", ["a"] * 9, "feature_names"),
    "a very wide text": ("PETClassifier", "state", "classes_", {"$": "texts", "items": ["a"], "width": 2**40}, "width"),
}


@pytest.mark.parametrize("case", FORGED_DESCRIPTIONS)
def test_a_forged_description(case, path):
    kind, section, name, value, match = FORGED_DESCRIPTIONS[case]
    parts = Parts(whole_file("pet", path))
    if name is None:
        next(one for one in parts.model["objects"] if one["class"] == kind)[section] = value
    else:
        change_object(parts, kind, section, name, value)
    refuse(path, parts.joined(), match)


def with_header(text, data=b""):
    header = text if isinstance(text, bytes) else text.encode()
    header += b" " * (-len(header) % 8)
    return struct.pack("<Q", len(header)) + header + data


def as_part(parts, kind, section, name, value):
    """A part of the last object of a class becomes something else."""
    found = [one for one in parts.model["objects"] if one["class"] == kind][-1]
    found[section][name] = value


def index_of(parts, kind):
    return next(index for index, one in enumerate(parts.model["objects"]) if one["class"] == kind)


@pytest.mark.parametrize("inner", [7, 0.5, "forest", [1, 2], None, "FeatureEncoder", "Forest", "VennAbersCalibrator"])
@pytest.mark.parametrize("place", [("parameters", "ensemble"), ("state", "estimator_")])
def test_a_calibrated_model_around_something_that_is_no_classifier(place, inner, path):
    parts = Parts(whole_file("oob_calibrated", path))
    known = {one["class"] for one in parts.model["objects"]}
    value = {"$": "object", "index": index_of(parts, inner)} if str(inner) in known else inner
    as_part(parts, "OOBCalibratedClassifier", *place, value)
    if place == ("parameters", "ensemble") and inner is None:  # which is the default
        path.write_bytes(parts.joined())
        assert petiole.load(path).predict_proba(made("oob_calibrated")[1]).shape[1] == 3
    else:
        refuse(path, parts.joined(), place[1])


FORGED_NUMBERS = {
    "path_prior_": ("lazy", "LazyOptionTreesClassifier", "state", "path_prior_", 5e299, "path_prior_"),
    "gain_prior_": ("lazy", "LazyOptionTreesClassifier", "state", "gain_prior_", 1e308, "gain_prior_"),
    "path_prior": ("lazy", "LazyOptionTreesClassifier", "parameters", "path_prior", 1e308, "path_prior"),
    "noise_": ("dual", "DualPerturbCombineClassifier", "state", "noise_", 1e308, "noise_"),
    "noise": ("dual_frozen", "DualPerturbCombineClassifier", "parameters", "noise", [0.1, -0.2, 0.0, 0.3], "noise="),
    "too few noises": ("dual_per_attribute", "DualPerturbCombineClassifier", "parameters", "noise", [], "noise="),
    "oob_weight_": ("mob_esp", "MOBESPClassifier", "state", "oob_weight_", 1e308, "oob_weight_"),
    "prior": ("bagged", "Laplace", "parameters", "prior", 1e308, "prior"),
    "slope": ("sigmoid", "SigmoidMap", "state", "slope", 10**40, "slope"),
    "a": ("beta", "BetaMap", "state", "a", 1e308, "a:"),
    "columns": ("expected_profit", "ExpectedProfitClassifier", "parameters", "amount_columns", ["x"], "amount_columns"),
    "too many": ("expected_profit", "ExpectedProfitClassifier", "parameters", "amount_columns", [0, 1, 2], "columns"),
    "mixed columns": ("expected_profit", "ExpectedProfitClassifier", "parameters", "amount_columns", [True, 2], "all"),
    "samples": ("lazy", "LazyOptionTreesClassifier", "parameters", "n_estimators", 65_536, "n_estimators"),
    "no threads": ("pet", "PETClassifier", "parameters", "n_jobs", 0, "n_jobs"),
    "regressor": ("expected_profit", "ExpectedProfitClassifier", "parameters", "regressor", 1.5, "LinearRegression"),
    "scalar": (
        *("pet", "PETClassifier", "parameters", "confidence"),
        *({"$": "scalar", "dtype": "float32", "value": 1e300}, "too large"),
    ),
}


@pytest.mark.parametrize("case", FORGED_NUMBERS)
def test_a_number_that_would_give_no_probabilities(case, path):
    name, kind, section, part, value, match = FORGED_NUMBERS[case]
    parts = Parts(whole_file(name, path))
    as_part(parts, kind, section, part, value)
    refuse(path, parts.joined(), match)


FORGED_ARRAYS = {
    "spread weights whose sum is infinite": ("cost_sensitive_actions", "spread_weights", 1e308, "spread_weights"),
    "counts whose sum is infinite": ("pet", "inbag_class_counts", 1e308, "inbag_class_counts"),
    "weights that vanish when they are multiplied": ("lazy", "training_.weights", 1e-300, "weights"),
    "logarithms of nothing": ("naive_bayes", "feature_log_prob_.2", -1e308, "logarithms"),
    "weights of the pool": ("probability_forest", "pool_.weights", 1e308, "weights"),
    "classes that weigh nothing": ("naive_bayes", "class_weights_", 1e-300, "class_weights_"),
    "an upper probability below the lower one": ("venn_abers", "p1", 0.0, "p0"),
    "a slope below zero": ("spline", "slopes", -1.0, "slopes"),
    "scales that overflow": ("vector", "scales", 1e308, "scales"),
    "a matrix that overflows": ("structured_matrix", "matrix", -1e308, "matrix"),
}


@pytest.mark.parametrize("case", FORGED_ARRAYS)
def test_an_array_that_would_give_no_probabilities(case, path):
    name, ending, value, match = FORGED_ARRAYS[case]
    parts = Parts(whole_file(name, path))
    for array in (array for array in parts.header if array.endswith(ending)):
        parts.array(array)[:] = value
    refuse(path, parts.joined(), match)


def test_a_model_that_is_not_fitted(path):
    parts = Parts(whole_file("lazy_auto", path))
    parts.model["objects"] = [{**parts.model["objects"][-1], "state": {}}]
    parts.header.clear()
    parts.data.clear()
    refuse(path, parts.joined(), "no state")


def test_a_part_that_is_not_fitted(path):
    parts = Parts(whole_file("cost_sensitive_relabel", path))
    unfitted = next(i for i, one in enumerate(parts.model["objects"]) if one["class"] == "PETClassifier")
    assert "state" not in parts.model["objects"][unfitted]
    as_part(parts, "CostSensitiveClassifier", "state", "relabelled_estimator_", {"$": "object", "index": unfitted})
    refuse(path, parts.joined(), "must be fitted")


def test_nothing_is_drawn_while_a_file_is_read(path):
    """The sampler's number of iterations and the counts it starts from are the file's to say, and have no end."""
    parts = Parts(whole_file("bagged_hdp", path))
    as_part(parts, "BaggedPETClassifier", "state", "_tables", None)
    del [one for one in parts.model["objects"] if one["class"] == "BaggedPETClassifier"][-1]["state"]["_tables"]
    as_part(parts, "HDP", "parameters", "n_iter", 10**9)
    refuse(path, parts.joined(), "_tables")


HEADERS = {
    "no JSON": (with_header("{not json"), "no valid JSON"),
    "no object": (with_header("[1, 2]"), "no JSON object"),
    "no UTF-8": (with_header(b"\xff\xfe\xfa"), "UTF-8"),
    "another safetensors file": (with_header('{"__metadata__": {"format": "pt"}}'), "no model of petiole"),
    "no metadata": (with_header("{}"), "no model of petiole"),
    "nested very deeply": (with_header('{"a":' + "[" * 200_000 + "]" * 200_000 + "}"), "nested"),
    "a name twice": (with_header('{"a": 1, "a": 2}'), "twice"),
    "a number of a million digits": (with_header('{"a": ' + "9" * 1_000_000 + "}"), "digits"),
    "a number that is NaN": (with_header('{"a": NaN}'), "NaN"),
    "a number too large": (with_header('{"a": 1e999}'), "too large"),
    "a header of 2^63 bytes": (struct.pack("<Q", 2**63) + b"{}", "header"),
    "a header longer than the file": (struct.pack("<Q", 4096) + b"{}", "header"),
    "nothing": (b"", "too short"),
    "a pickle": (b"\x80\x05\x95\x1a\x00\x00\x00\x00\x00\x00\x00\x8c\x05posix\x94\x8c\x06system\x94", "header"),
}


@pytest.mark.parametrize("case", HEADERS)
def test_what_is_no_model_file(case, path):
    content, match = HEADERS[case]
    refuse(path, content, match)
    with pytest.raises(ModelFileError):
        read_header(path)


def test_a_description_that_is_nested_deeply(path):
    parts = Parts(whole_file("pet", path))
    parts.model, deep = None, 50_000
    parts.metadata["model"] = (
        '{"objects":[{"class":"PETClassifier","parameters":{"max_depth":' + "[" * deep + "]" * deep + "}}]}"
    )
    refuse(path, parts.joined(), "nested")
    nested = "[" * 60 + "]" * 60
    parts.metadata["model"] = '{"objects":[{"class":"PETClassifier","parameters":{"max_depth":' + nested + "}}]}"
    refuse(path, parts.joined(), "nested")


def test_a_later_format_version(path):
    parts = Parts(whole_file("pet", path))
    parts.metadata["format_version"] = str(FORMAT_VERSION + 1)
    refuse(path, parts.joined(), "update petiole")
    for strange in ("0", "-1", "1.5", "", "9" * 5000, "٣"):
        parts.metadata["format_version"] = strange
        refuse(path, parts.joined(), "format_version")


def test_tensors_that_overlap_or_leave_gaps(path):
    parts = Parts(whole_file("pet", path))
    name = next(iter(parts.header))
    begin, end = parts.header[name]["data_offsets"]
    parts.header["twin"] = dict(parts.header[name])
    refuse(path, parts.joined(), "overlap")
    parts.header["twin"]["data_offsets"] = [begin + 10**9, end + 10**9]
    refuse(path, parts.joined(), "gaps|cut off")
    del parts.header["twin"]
    parts.data += b"hidden"
    refuse(path, parts.joined(), "bytes")


def test_a_tensor_that_nothing_uses(path):
    parts = Parts(whole_file("pet", path))
    parts.replace_array("more", np.zeros(3), "F64")
    refuse(path, parts.joined(), "belongs to no part")


def test_the_class_in_the_metadata_must_be_right(path):
    parts = Parts(whole_file("pet", path))
    parts.metadata["class"] = "Tree"
    refuse(path, parts.joined(), "something else")


def test_the_checksum_is_what_finds_changed_numbers(path):
    """Without it a changed threshold goes unnoticed, which is why it is compared by default."""
    parts = Parts(whole_file("pet", path))
    parts.array("PETClassifier.tree_.threshold")[0] += 0.25
    changed = parts.joined(seal=False)
    refuse(path, changed, "checksum")
    assert petiole.load(path, verify=False).tree_.threshold[0] == made("pet")[0].tree_.threshold[0] + 0.25
    path.write_bytes(sealed(changed))
    petiole.load(path)


def test_things_that_are_no_files(tmp_path):
    with pytest.raises(ModelFileError, match="not a regular file"):
        petiole.load(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ModelFileError, match="not a regular file"):
        petiole.load(tmp_path / "pipe")


def test_refusing_takes_neither_time_nor_memory(path):
    """The largest numbers that a header can name, in files of a few kilobytes."""
    parts = Parts(whole_file("pet", path))
    before, started = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.monotonic()
    for shape in ([2**61], [2**40, 2**20], [0, 2**61], [2**61, 0, 2**61], [1] * 100):
        for name in parts.header:
            changed = Parts(parts.joined())
            changed.header[name]["shape"] = shape
            refuse(path, changed.joined())
    assert time.monotonic() - started < 5
    unit = 1024 if sys.platform == "linux" else 1  # kilobytes, and bytes on macOS
    assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * unit < 1e8


def test_hostile_files_raise_no_warnings(path):
    whole = whole_file("probability_forest", path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for seed in range(40):
            path.write_bytes(forged(whole, np.random.default_rng([seed, 7])))
            try:
                petiole.load(path)
            except ModelFileError:
                continue


def test_the_description_is_plain_json(path):
    for name in MAKERS:
        made(name)[0].save(path)
        header = read_header(path)
        assert json.loads(json.dumps(header["model"])) == header["model"]
