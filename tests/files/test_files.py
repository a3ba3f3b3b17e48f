"""Models come back from files as they were."""

from __future__ import annotations

import io
import os
import pickle
import re
import threading
import time

import joblib
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline

import petiole
from file_models import MAKERS, answers, assert_same_answers, made, mixed, numbers
from petiole import calibrators as maps
from petiole.decisions import ExpectedProfitClassifier
from petiole.files import ModelFileError, atomic, read_header
from petiole.files.savable import SavableModel

# Made again when they are needed.
CACHES = {"_trees", "_estimate", "trees_", "_metadata_request"}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.petiole"


def reload(model, path, **options):
    model.save(path)
    return petiole.load(path, **options)


@pytest.mark.parametrize("name", MAKERS)
def test_a_model_comes_back(name, path):
    model, queries = made(name)
    before = answers(model, queries)
    again = reload(model, path)
    assert type(again) is type(model)
    assert_same_answers(before, answers(again, queries))
    assert set(vars(model)) - CACHES <= set(vars(again)) | set(type(model).__dict__)
    if isinstance(model, SavableModel):
        assert re.sub("0x[0-9A-F]+", "", repr(again)) == re.sub("0x[0-9A-F]+", "", repr(model))
    first = path.read_bytes()
    again.save(path)
    assert path.read_bytes() == first, "a model that comes back gives the same bytes"
    assert os.listdir(path.parent) == [path.name]


@pytest.mark.parametrize("name", ["pet_c45_mixed", "bagged", "lazy", "naive_bayes"])
def test_without_mapping_and_without_checksum(name, path):
    model, queries = made(name)
    before = answers(model, queries)
    model.save(path)
    assert_same_answers(before, answers(petiole.load(path, mmap=False), queries))
    assert_same_answers(before, answers(petiole.load(path, verify=False), queries))


def test_two_fits_give_the_same_bytes(tmp_path):
    for index in range(2):
        made_anew, _ = MAKERS["probability_forest"]()
        made_anew.save(tmp_path / f"{index}.petiole")
    assert (tmp_path / "0.petiole").read_bytes() == (tmp_path / "1.petiole").read_bytes()


def test_every_public_classifier_and_calibrator_can_be_saved():
    public = {name for name in petiole.__all__ if isinstance(getattr(petiole, name), type)}
    public |= set(maps.__all__) | {"ExpectedProfitClassifier"}
    saved = {type(made(name)[0]).__name__ for name in MAKERS}
    assert public <= saved, f"add to tests/files/file_models.py: {sorted(public - saved)}"


def test_every_leaf_estimator_can_be_saved(path):
    from petiole.smoothing import _BY_NAME

    X, y = numbers()
    tree = petiole.PETClassifier().fit(X, y)
    for name in _BY_NAME:
        model = tree.with_smoothing(name)
        again = reload(model, path)
        assert np.array_equal(again.node_probabilities_, model.node_probabilities_)
        other = again.with_smoothing("m_branch")
        assert np.array_equal(other.predict_proba(X), model.with_smoothing("m_branch").predict_proba(X))


LABELS = {
    "integers": np.array([-5, 0, 7], dtype=np.int16),
    "unsigned": np.array([0, 1, 2**63 + 5], dtype=np.uint64),
    "texts": np.array(["a", "ß\n\u2028", "a much longer label"]),
    "objects": np.array(["a", "", "\ud800 lone surrogate"], dtype=object),
    "floats": np.array([-1.0, 0.0, 2.0]),
    "single": np.array([-1.0, 0.0, 2.0], dtype=np.float32),
    "huge": np.array([10**30, -(10**25), 3], dtype=object),
    "truth": np.array([False, True]),
}


@pytest.mark.parametrize("kind", LABELS)
def test_labels_of_any_type(kind, path):
    X, codes = numbers(len(LABELS[kind]))
    model = petiole.PETClassifier().fit(X, LABELS[kind][codes])
    again = reload(model, path)
    assert again.classes_.dtype == model.classes_.dtype
    assert again.classes_.tolist() == model.classes_.tolist()
    assert [type(label) for label in again.classes_.tolist()] == [type(label) for label in model.classes_.tolist()]
    assert again.predict(X).tolist() == model.predict(X).tolist()


def test_a_very_wide_text_dtype_is_narrowed(path):
    X, codes = numbers(2)
    model = petiole.PETClassifier().fit(X, np.array(["no", "yes"], dtype="<U5000")[codes])
    assert reload(model, path).classes_.dtype.itemsize <= 4 * 256


def test_trees_are_shown_as_before(path):
    model, _ = made("pet_c45_mixed")
    again = reload(model, path)
    assert again.export_text() == model.export_text()
    assert "colour" in again.export_text() or "size" in again.export_text()
    assert again.plot() is not None
    tree = reload(model.tree_, path)
    assert tree.equals(model.tree_)
    lazy, queries = made("lazy")
    assert str(reload(lazy, path).explain(queries.iloc[:1])) == str(lazy.explain(queries.iloc[:1]))


@pytest.mark.filterwarnings("ignore")
def test_a_loaded_ensemble_does_all_that_a_fitted_one_does(path):
    X, y = mixed()
    model = petiole.BaggedPETClassifier(6, warm_start=True, oob_score=True, random_state=0).fit(X, y)
    again = reload(model, path)
    a, b = model.oob_permutation_importance(X, y), again.oob_permutation_importance(X, y)
    assert np.array_equal(a.importances, b.importances)
    assert np.array_equal(model.predict_proba_std(X), again.predict_proba_std(X))
    for one in (model, again):
        one.set_params(n_estimators=9).fit(X, y)
    assert len(again.trees_) == 9
    assert np.array_equal(model.predict_proba(X), again.predict_proba(X))
    assert len(again.merged(model).trees_) == 18
    assert clone(again).get_params().keys() == model.get_params().keys()


def test_column_checks_still_work(path):
    model, frame = made("pet_c45_mixed")
    again = reload(model, path)
    with pytest.raises(ValueError, match="feature names"):
        again.predict(frame.rename(columns={"size": "other"}))
    unseen = frame.assign(colour="never seen")
    assert np.array_equal(again.predict_proba(unseen), model.predict_proba(unseen))


def test_shared_parts_are_written_once(path):
    model, _ = made("dual_frozen")
    again = reload(model, path)
    assert again.estimator_ is again.model_.estimator
    classes = [described["class"] for described in read_header(path)["model"]["objects"]]
    assert classes.count("Forest") == 1


def test_large_arrays_are_views_of_the_file(path):
    tree = reload(made("pet")[0], path).tree_
    for name in ("threshold", "feature", "inbag_class_counts"):
        array = getattr(tree, name)
        assert not array.flags.owndata and not array.flags.writeable
        base = array
        while isinstance(base, np.ndarray):
            base = base.base
        assert type(base).__name__ in ("mmap", "memoryview"), name
    rows = petiole.load(path, mmap=False).tree_
    assert rows.equals(tree)


def test_saving_over_the_mapped_file_leaves_the_loaded_model_alone(path):
    model, queries = made("pet")
    again = reload(model, path)
    before = answers(again, queries)
    made("pet_per_level")[0].save(path)
    assert_same_answers(before, answers(again, queries))
    again.save(path)
    assert_same_answers(before, answers(petiole.load(path), queries))


def test_read_header_tells_what_is_inside(path):
    model, _ = made("bagged")
    model.save(path)
    header = read_header(path)
    assert (header["class"], header["petiole_version"]) == ("BaggedPETClassifier", petiole.__version__)
    objects = {described["class"]: described for described in header["model"]["objects"]}
    columns = objects["FeatureEncoder"]["state"]
    assert columns["feature_names"] == ["size", "colour", "old", "number", "nothing"]
    assert [column["kind"] for column in columns["columns"]] == ["numeric", "nominal", "nominal", "numeric", "empty"]
    assert objects["BaggedPETClassifier"]["parameters"]["n_estimators"] == 4


# Refused.


def test_an_unfitted_model_is_not_saved(path):
    with pytest.raises(NotFittedError):
        petiole.PETClassifier().save(path)
    assert not path.exists()


def test_a_model_that_could_not_be_loaded_is_not_saved(path):
    X, y = numbers()
    model = petiole.BaggedPETClassifier(3, random_state=0).fit(X, y)
    with pytest.raises(ModelFileError, match="n_jobs"):
        model.set_params(n_jobs=10**6).save(path)
    with pytest.raises(ModelFileError, match="voting"):
        model.set_params(n_jobs=None, voting="maybe").save(path)
    model.set_params(voting=False).classes_ = np.array([1, 2])
    with pytest.raises(ModelFileError, match="class_weights_"):
        model.save(path)
    assert os.listdir(path.parent) == []


def foreign():
    X, y = numbers(2)
    yield petiole.CostSensitiveClassifier(LogisticRegression()).fit(X, y), "LogisticRegression"
    yield petiole.OOBCalibratedClassifier(RandomForestClassifier(5, random_state=0)).fit(X, y), "RandomForest"
    yield petiole.DualPerturbCombineClassifier(LogisticRegression(), 0.1, "monte_carlo", 3).fit(X, y), "Logistic"
    pipeline = make_pipeline(petiole.PETClassifier())
    yield petiole.CostSensitiveClassifier(pipeline).fit(X, y), "Pipeline"
    yield ExpectedProfitClassifier(petiole.PETClassifier(), petiole_like_regressor()).fit(X, y), "Regressor"
    yield petiole.MOBESPClassifier.from_ensemble(RandomForestClassifier(9).fit(X, y), X, y), "RandomForest"
    yield petiole.CostSensitiveClassifier(petiole.PETClassifier(), cv=KFold(3)).fit(X, y), "KFold"
    yield OwnClassifier().fit(X, y), "OwnClassifier"
    frozen = FrozenEstimator(LogisticRegression().fit(X, y))
    yield petiole.CostSensitiveClassifier(frozen).fit(X, y), "LogisticRegression"


def petiole_like_regressor():
    from sklearn.tree import DecisionTreeRegressor

    return DecisionTreeRegressor(max_depth=2, random_state=0)


class OwnClassifier(petiole.PETClassifier):
    """A user's subclass, which may do anything."""


@pytest.mark.filterwarnings("ignore")
def test_estimators_of_others_are_refused_with_a_remedy(path):
    for model, kind in foreign():
        with pytest.raises(ModelFileError, match=rf"{kind}.*skops"):
            model.save(path)
        assert os.listdir(path.parent) == []


# Written atomically.


def test_nothing_is_left_behind_when_writing_fails(path, monkeypatch):
    made("pet")[0].save(path)
    before = path.read_bytes()
    for failing in ("fsync", "replace"):

        def fail(*arguments):
            raise KeyboardInterrupt

        with monkeypatch.context() as patched:
            patched.setattr(os, failing, fail)
            with pytest.raises(KeyboardInterrupt):
                made("bagged")[0].save(path)
        assert os.listdir(path.parent) == [path.name]
        assert path.read_bytes() == before


def test_a_reader_never_sees_half_a_file(path):
    models = [made(name)[0] for name in ("pet", "bagged")]
    models[0].save(path)
    stop = threading.Event()

    def keep_saving():
        while not stop.is_set():
            for model in models:
                model.save(path)

    writer = threading.Thread(target=keep_saving)
    writer.start()
    try:
        end = time.monotonic() + 0.5
        while time.monotonic() < end:
            petiole.load(path)
    finally:
        stop.set()
        writer.join()


@pytest.mark.posix
def test_permissions_are_those_of_any_new_file(path):
    model, _ = made("pet")
    plain = path.with_name("plain")
    plain.write_text("")
    model.save(path)
    assert path.stat().st_mode == plain.stat().st_mode
    path.chmod(0o600)
    model.save(path)
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.posix
def test_a_link_stays_a_link(path):
    model, _ = made("pet")
    link = path.with_name("link.petiole")
    link.symlink_to(path)
    model.save(link)
    assert link.is_symlink() and path.exists()


def test_a_folder_that_is_not_there(path):
    with pytest.raises(FileNotFoundError):
        made("pet")[0].save(path / "deeper")
    with pytest.raises(FileNotFoundError):
        petiole.load(path)


# Other ways to keep a model.


@pytest.mark.parametrize("name", [name for name in MAKERS if name != "tree"])
def test_pickle_and_joblib(name):
    model, queries = made(name)
    before = answers(model, queries)
    assert_same_answers(before, answers(pickle.loads(pickle.dumps(model)), queries))
    kept = io.BytesIO()
    joblib.dump(model, kept)
    assert_same_answers(before, answers(joblib.load(kept), queries))


@pytest.mark.parametrize("name", [name for name in MAKERS if name != "pet_odd_categories"])
def test_skops(name):
    skops = pytest.importorskip("skops.io")
    model, queries = made(name)
    kept = skops.dumps(model)
    trusted = skops.get_untrusted_types(data=kept)
    assert all(found.startswith(("petiole.", "numpy.", "sklearn.")) for found in trusted), trusted
    assert_same_answers(answers(model, queries), answers(skops.loads(kept, trusted=trusted), queries))


def test_safetensors_reads_the_arrays(path):
    safetensors = pytest.importorskip("safetensors.numpy")
    model, _ = made("pet_c45_mixed")
    model.save(path)
    tensors = safetensors.load_file(path)
    assert np.array_equal(tensors["PETClassifier.tree_.threshold"], model.tree_.threshold, equal_nan=True)
    assert np.array_equal(tensors["PETClassifier.tree_.inbag_class_counts"], model.tree_.inbag_class_counts)
    tables, _ = made("mob_esp")
    tables.save(path)
    assert any(name.endswith("vote_tables_.row_vote") for name in safetensors.load_file(path))


@pytest.mark.posix
def test_a_signal_right_after_a_file_is_made_leaves_nothing(tmp_path, monkeypatch):
    """The window is short: Ctrl-C or SIGTERM between the making of the file and its first use."""

    def stopped(*_):
        assert list(tmp_path.glob(".*.part"))
        raise KeyboardInterrupt

    monkeypatch.setattr(atomic.fcntl, "flock", stopped)
    with pytest.raises(KeyboardInterrupt):
        atomic.write_atomically(tmp_path / "out", [b"x"])
    assert list(tmp_path.iterdir()) == []
