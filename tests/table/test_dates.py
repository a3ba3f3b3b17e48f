"""Dates as several numbers, sparse matrices and lazy frames."""

from __future__ import annotations

import datetime
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import petiole
from petiole import BinnedNaiveBayesClassifier, LazyOptionTreesClassifier, PETClassifier, ProbabilityForestClassifier
from petiole._table import frames
from petiole._table.encoder import FeatureEncoder

MOMENTS = st.datetimes(datetime.datetime(1900, 1, 1), datetime.datetime(2100, 1, 1))


def slow_parts(moment):
    origin = datetime.datetime(1970, 1, 1)
    days = (moment - origin).total_seconds() / 86400
    hour = moment.hour + moment.minute / 60 + (moment.second + moment.microsecond / 1e6) / 3600
    return {"days": days, "year": moment.year, "month": moment.month, "weekday": moment.isoweekday(), "hour": hour}


@settings(max_examples=80, deadline=None)
@given(st.lists(st.one_of(MOMENTS, st.none()), min_size=1, max_size=6).filter(lambda x: any(x)))
def test_parts_are_those_of_the_calendar_in_every_library(moments):
    index = pd.Series(moments, dtype="datetime64[us]")
    tables = [
        pd.DataFrame({"t": index, "x": 1.0}),
        pd.DataFrame({"t": pd.Series(moments, dtype=object), "x": 1.0}),
        pl.DataFrame({"t": pl.Series(moments, dtype=pl.Datetime("us"))}).with_columns(x=1.0),
        pa.table({"t": pa.array(moments, pa.timestamp("us")), "x": [1.0] * len(moments)}),
        [[moment, 1.0] for moment in moments],
    ]
    for table in tables:
        encoder, matrix = FeatureEncoder.fit(table)
        for name, values in zip(encoder.columns[0].parts, matrix.T, strict=False):
            expected = [np.nan if moment is None else slow_parts(moment)[name] for moment in moments]
            np.testing.assert_allclose(values, expected, rtol=0, atol=1e-8)
        np.testing.assert_array_equal(encoder.transform(table), matrix)


@pytest.mark.parametrize(
    ("cells", "parts"),
    [
        (["2021-03-01", "2021-03-02"], ["days", "weekday"]),
        (["2021-03-01", "2022-03-08"], ["days", "year", "weekday"]),
        (["2021-03-01 05:00", "2021-03-01 06:00"], ["hour"]),
        (["2021-03-01", "2021-03-01"], ["days"]),
    ],
)
def test_only_what_varies_is_kept(cells, parts):
    encoder, _ = FeatureEncoder.fit(pd.DataFrame({"when": pd.to_datetime(cells)}))
    assert encoder.columns[0].parts == parts and encoder.feature_names == [f"when ({part})" for part in parts]


def test_time_zones_durations_and_times_of_day():
    here = pd.to_datetime(["2021-03-01 23:30", "2021-03-02 01:00"]).tz_localize("Europe/Berlin")
    encoder, matrix = FeatureEncoder.fit(pd.DataFrame({"t": here}))
    assert matrix[:, encoder.columns[0].parts.index("hour")].tolist() == pytest.approx([23.5, 1.0])
    table = pl.DataFrame({"d": [datetime.timedelta(hours=12)], "t": [datetime.time(6, 30)]})
    assert FeatureEncoder.fit(table)[1].tolist() == [[0.5, 6.5]]


@pytest.fixture
def visits():
    random = np.random.default_rng(0)
    when = np.datetime64("2020-01-01") + random.integers(0, 900, size=200)
    X = pd.DataFrame(
        {"when": when.astype("datetime64[s]"), "town": random.choice(["a", "b"], 200), "x": random.normal(size=200)}
    )
    return X, np.where(X["when"].dt.month <= 6, "early", "late")


@pytest.mark.parametrize(
    "model",
    [
        PETClassifier(),
        ProbabilityForestClassifier(16, random_state=0),
        BinnedNaiveBayesClassifier(),
        LazyOptionTreesClassifier(random_state=0),
        petiole.DualPerturbCombineClassifier(PETClassifier()),
        petiole.OOBCalibratedClassifier(petiole.BaggedPETClassifier(8, random_state=0)),
    ],
)
def test_classifiers_learn_from_dates_and_files_keep_them(model, visits, tmp_path):
    X, y = visits
    model.fit(X, y)
    assert model.n_features_in_ == 3 and (model.predict(X) == y).mean() > 0.9
    model.save(tmp_path / "m.petiole")
    np.testing.assert_array_equal(petiole.load(tmp_path / "m.petiole").predict_proba(X), model.predict_proba(X))
    other = pl.from_pandas(X)
    np.testing.assert_array_equal(model.predict_proba(other), model.predict_proba(X))


def test_a_tree_names_the_parts(visits):
    assert "when (month)" in PETClassifier(max_depth=1).fit(*visits).export_text()


def test_dates_where_there_were_none_and_the_reverse(visits):
    X, y = visits
    model = PETClassifier().fit(X, y)
    with pytest.raises(TypeError, match=r"column 'when' held dates in fit and holds '2020-01-01' now: .*to_datetime"):
        model.predict(X.assign(when="2020-01-01"))
    assert model.predict(X.assign(when=None)).shape == (200,)
    with pytest.raises(TypeError, match="column 'x' holds dates, and it held numbers in fit"):
        model.predict(X.assign(x=X["when"]))


@pytest.mark.parametrize("make", [sparse.csr_array, sparse.csc_matrix, sparse.coo_array])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64, bool])
def test_sparse_matrices_are_read_as_dense_ones(make, dtype):
    dense = (np.random.default_rng(0).random((60, 7)) < 0.3).astype(dtype)
    y = dense[:, 0].astype(int) ^ dense[:, 1].astype(int)
    numbers = dense.astype(np.float64)
    model, other = PETClassifier().fit(make(dense), y), PETClassifier().fit(numbers, y)
    assert model.tree_.structure == other.tree_.structure
    np.testing.assert_array_equal(model.predict_proba(make(dense)), other.predict_proba(numbers))
    weights = np.arange(60) % 3
    np.testing.assert_array_equal(
        PETClassifier().fit(make(dense), y, weights).predict_proba(numbers),
        PETClassifier().fit(numbers, y, weights).predict_proba(numbers),
    )


def test_large_sparse_matrices_are_asked_in_blocks_and_told_of(monkeypatch):
    dense = np.random.default_rng(0).normal(size=(500, 4))
    y = (dense[:, 0] > 0).astype(int)
    monkeypatch.setattr(frames, "LARGE_WHEN_DENSE", 8 * 500 * 4 - 1)
    with pytest.warns(UserWarning, match=r"X is sparse, and petiole needs it dense: 500 x 4 values take 0.0 GB"):
        model = PETClassifier().fit(sparse.csr_array(dense), y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        proba = model.predict_proba(sparse.coo_array(dense))
    np.testing.assert_array_equal(proba, model.predict_proba(dense))


def test_lazy_frames_are_collected(visits):
    X, y = visits
    lazy = pl.from_pandas(X).lazy()
    model = PETClassifier().fit(lazy, pl.Series(y))
    assert model.feature_names_in_.tolist() == ["when", "town", "x"]
    np.testing.assert_array_equal(model.predict_proba(lazy), model.predict_proba(X))


def test_times_of_day_in_objects_are_hours():
    import pandas as pd

    clock = [datetime.time(i % 24, 30) if i % 9 else None for i in range(60)]
    X = pd.DataFrame({"clock": clock, "x": np.zeros(60)})
    y = ["late" if time is not None and time.hour > 11 else "early" for time in clock]
    model = PETClassifier().fit(X, y)
    assert model.encoder_.feature_names == ["clock", "x"]
    assert model.predict(X.iloc[[13]])[0] == "late" and model.tree_.n_leaves < 20


def test_cells_are_written_as_people_write_them():
    import pandas as pd

    days = pd.to_datetime(["2021-03-01 12:30", "2022-04-05 08:00", None])
    model = PETClassifier().fit(pd.DataFrame({"at": days, "c": ["a", "b", "a"]}), [0, 1, 0])
    encoder = model.encoder_
    row = encoder.transform(pd.DataFrame({"at": days[:1], "c": ["b"]}))[0]
    told = {name: encoder.value_text(j, row[j]) for j, name in enumerate(encoder.feature_names)}
    assert told == {
        **{"at (days)": "2021-03-01 12:30", "at (year)": "2021", "at (month)": "March", "at (weekday)": "Monday"},
        **{"at (hour)": "12:30", "c": "b"},
    }
    assert encoder.value_text(0, float("nan")) == "missing"
    assert encoder.date_text(0, 18628.0) == "2021-01-01" and encoder.date_text(5, 1.0) is None
