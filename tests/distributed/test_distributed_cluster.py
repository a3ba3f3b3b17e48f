"""Fitting on a cluster of real worker processes: their number, and what becomes of them, changes nothing."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time

import dask.dataframe as dd
import distributed
import numpy as np
import pandas as pd
import pytest

from petiole import BaggedPETClassifier, MOBESPClassifier, PETClassifier, ProbabilityForestClassifier
from petiole.distributed import fit, log_loss, predict_proba
from petiole.distributed import level_wise as levels

N_PARTS, ROWS = 6, 120
FORESTS = [BaggedPETClassifier, MOBESPClassifier, ProbabilityForestClassifier]
SHARDED = {"target": "y", "sample_weight": "w", "mode": "sharded", "shard_rows": 2 * ROWS}


def part(number: int, log: str | None = None) -> pd.DataFrame:
    """One partition; if there is a log, a line is added to it each time that somebody reads the partition, slowly."""
    if log is not None:
        with open(log, "a") as file:
            file.write(f"{number}\n")
        time.sleep(0.1)
    random = np.random.default_rng(number)
    y = random.integers(3, size=ROWS)
    frame = pd.DataFrame({"a": y + random.normal(size=ROWS).round(1), "b": random.normal(size=ROWS).round(2)})
    frame["c"] = np.where(random.random(ROWS) < 0.5, np.array(["u", "v", "w"])[y], "x").astype(object)
    frame.loc[random.random(ROWS) < 0.05, ["a", "c"]] = None
    frame["y"], frame["w"] = np.array(["no", "maybe", "yes"])[y], random.choice([1.0, 2.0], size=ROWS)
    if number == 2:
        frame = frame[frame["y"] == "no"]
    return frame[:0] if number == 4 else frame


@pytest.fixture(scope="module")
def cluster():
    silent = {"distributed.worker.memory.terminate": False, "distributed.comm.timeouts.connect": "60s"}
    import dask

    with (
        dask.config.set(silent),
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
        ) as made,
    ):
        yield made


@contextlib.contextmanager
def client_of(cluster, n_workers):
    cluster.scale(n_workers)
    with distributed.Client(cluster) as client:
        client.wait_for_workers(n_workers, timeout=60)
        yield client


def lazy(log=None):
    return dd.from_map(part, range(N_PARTS), log=log, meta=part(0))


def everything():
    frame = pd.concat([part(number) for number in range(N_PARTS)])
    return frame, frame.drop(columns=["y", "w"])


def pet():
    return PETClassifier(missing="separate", max_depth=5)


@pytest.fixture(scope="module")
def expected():
    """Sharded models that were fitted part by part in this process."""
    parts = [part(number) for number in range(N_PARTS)]
    models = {kind: fit(kind(6, random_state=1), parts, **SHARDED) for kind in FORESTS}
    return models | {PETClassifier: fit(pet(), parts, "y", sample_weight="w", mode="sharded")}


# One test for each number of workers, so that the cluster grows along with them.


def check_workers(cluster, n_workers, expected):
    _, X = everything()
    with client_of(cluster, n_workers):
        for kind in FORESTS:
            found = fit(kind(6, random_state=1), lazy(), **SHARDED)
            np.testing.assert_array_equal(
                found.predict_proba(X), expected[kind].predict_proba(X), err_msg=kind.__name__
            )
        tree = fit(pet(), lazy(), "y", sample_weight="w", mode="sharded").tree_
        assert tree.equals(expected[PETClassifier].tree_)


def test_one_worker(cluster, expected):
    check_workers(cluster, 1, expected)


def test_two_workers_and_a_tree_that_is_finished_in_many_places(cluster, expected, monkeypatch):
    monkeypatch.setattr(levels, "FINISH_ROWS", 100)
    monkeypatch.setattr(levels, "GATHER_ROWS", 150)
    check_workers(cluster, 2, expected)


def test_broadcast_on_two_workers_is_the_local_model(cluster):
    frame, X = everything()
    with client_of(cluster, 2):
        for kind in FORESTS:
            local = kind(7, random_state=2).fit(X, frame["y"], frame["w"])
            found = fit(kind(7, random_state=2), lazy(), "y", sample_weight="w", mode="broadcast")
            np.testing.assert_array_equal(found.predict_proba(X), local.predict_proba(X))
            assert all(one.equals(two) for one, two in zip(found.trees_, local.trees_, strict=True))
            assert found.seed_ == local.seed_


def test_a_partition_that_differs_is_named_by_a_cluster(cluster):
    def strange(number):
        frame = part(number)
        return frame.assign(a=frame["a"].astype(str)) if number == 3 else frame

    with client_of(cluster, 2):
        data = dd.from_map(strange, range(N_PARTS), meta=part(0), enforce_metadata=False)
        with pytest.raises(ValueError, match="partition 3: column 'a' is categorical, but numeric in partition 0"):
            fit(BaggedPETClassifier(4), data, "y", sample_weight="w", mode="sharded")


def test_answers_and_metrics_on_a_cluster(cluster, expected):
    frame, X = everything()
    model = expected[ProbabilityForestClassifier]
    with client_of(cluster, 2):
        proba = predict_proba(model, lazy())
        np.testing.assert_array_equal(proba.compute(), model.predict_proba(X))
        loss = log_loss(lazy()["y"], proba, sample_weight=lazy()["w"])
        own = model.predict_proba(X)[np.arange(len(X)), np.searchsorted(model.classes_, frame["y"])]
        np.testing.assert_allclose(loss.compute(), np.average(-np.log2(own), weights=frame["w"]))


@pytest.mark.posix
def test_four_workers_of_which_one_is_killed(cluster, expected, tmp_path):
    _, X = everything()
    log = tmp_path / "read"
    with client_of(cluster, 4) as client:
        model = fit(ProbabilityForestClassifier(6, random_state=1), lazy(), **SHARDED)
        np.testing.assert_array_equal(model.predict_proba(X), expected[ProbabilityForestClassifier].predict_proba(X))
        pids = client.run(os.getpid)
        found = {}

        def run():
            found["model"] = fit(MOBESPClassifier(6, random_state=1), lazy(str(log)), client=client, **SHARDED)

        thread = threading.Thread(target=run)
        thread.start()
        deadline = time.monotonic() + 60
        # All have been looked at, and some are read again, to grow on them.
        while (not log.exists() or len(log.read_text().split()) <= N_PARTS + 1) and time.monotonic() < deadline:
            time.sleep(0.01)
        assert thread.is_alive()
        # One that holds trees, if there is one already.
        holders = [worker for workers in client.who_has().values() for worker in workers]
        os.kill(pids[holders[0] if holders else next(iter(pids))], signal.SIGKILL)
        thread.join(timeout=120)
    assert not thread.is_alive()
    np.testing.assert_array_equal(found["model"].predict_proba(X), expected[MOBESPClassifier].predict_proba(X))
