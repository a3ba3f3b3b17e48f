"""Twenty million rows on two small workers: time, memory, log-loss beside a sample and xgboost; rows scored per second.

python benchmarks/distributed.py make FOLDER            # writes 40 Parquet files of 500,000 rows x 20 columns
python benchmarks/distributed.py fit FOLDER             # the model on 2 workers of 1.5 GB, and on a sample
python benchmarks/distributed.py xgboost FOLDER         # xgboost on the same cluster
python benchmarks/distributed.py score FOLDER           # rows per second and core, on Dask and alone
python benchmarks/distributed.py workers FOLDER         # 1, 2 and 4 workers: seconds and bytes of each pass
python benchmarks/distributed.py alone FOLDER           # one process without Dask, with memory_limit
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys
import threading
import time
from pathlib import Path

# The name of this file is also that of a package that is needed here.
sys.path = [entry for entry in sys.path if Path(entry).resolve() != Path(__file__).resolve().parent]

import numpy as np  # noqa: E402
import psutil  # noqa: E402

N_FILES, ROWS, COLUMNS = 40, 500_000, 20
SAMPLE_ROWS = 1_000_000
FEATURES = [f"x{j}" for j in range(COLUMNS)]


def true_probability(X):
    """A smooth surface with interactions, between 0.02 and 0.98: much noise, as where probabilities matter."""
    score = 1.5 * np.sin(3 * X[:, 0]) + X[:, 1] * X[:, 2] + (X[:, 3] > 0.5) * X[:, 4] - 0.5 * np.abs(X[:, 5])
    score += 0.3 * X[:, 6:12].sum(axis=1)
    return 0.02 + 0.96 / (1 + np.exp(-score))


def rows_of(number, n_rows=ROWS):
    random = np.random.default_rng([2004, number])
    X = random.normal(size=(n_rows, COLUMNS)).astype(np.float32)
    y = (random.random(n_rows) < true_probability(X.astype(np.float64))).astype(np.int8)
    return X, y


def make(folder, n_files):
    import pyarrow as pa
    import pyarrow.parquet as pq

    (folder / "train").mkdir(parents=True, exist_ok=True)
    for number in range(n_files):
        X, y = rows_of(number)
        table = pa.table({**{name: X[:, j] for j, name in enumerate(FEATURES)}, "y": y})
        pq.write_table(table, folder / "train" / f"{number:03d}.parquet", row_group_size=ROWS)


def model_of(n_trees, kind):
    from petiole import BaggedPETClassifier, ProbabilityForestClassifier

    options = {"n_estimators": n_trees, "min_samples_leaf": 5, "random_state": 0}
    return BaggedPETClassifier.eb_pets(**options) if kind == "eb" else ProbabilityForestClassifier(**options)


class Peaks:
    """The largest resident memory of this process and its descendants, polled; by what they are."""

    def __init__(self):
        self.of = {}
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def _watch(self):
        me = psutil.Process()
        while not self._stop.wait(0.2):
            with contextlib.suppress(psutil.Error):
                for process in [me, *me.children(recursive=True)]:
                    with contextlib.suppress(psutil.Error):
                        name = "client and scheduler" if process.pid == me.pid else f"process {process.pid}"
                        self.of[name] = max(self.of.get(name, 0), process.memory_info().rss)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._stop.set()
        self._thread.join()

    def large(self):
        return {name: f"{size / 1e9:.2f} GB" for name, size in self.of.items() if size > 150e6}


@contextlib.contextmanager
def cluster(n_workers, memory="1.5GB"):
    import distributed

    with (
        distributed.LocalCluster(
            n_workers=n_workers, threads_per_worker=1, memory_limit=memory, processes=True, dashboard_address=None
        ) as local,
        distributed.Client(local) as client,
    ):
        yield client


def files_of(folder, arguments):
    import pyarrow.dataset

    return pyarrow.dataset.dataset(
        [str(path) for path in sorted((folder / "train").glob("*.parquet"))[: arguments.files]]
    )


def held_out(n_rows=500_000):
    X, y = rows_of(10_000, n_rows)
    return X, y, true_probability(X.astype(np.float64))


def log_loss(y, proba):
    own = np.where(y == 1, proba, 1 - proba)
    return float(-np.log2(np.maximum(own, 1e-6)).mean())


def tell(**facts):
    print(json.dumps(facts), flush=True)


def fit(folder, arguments):
    from petiole.distributed import fit as fit_distributed

    X, y, truth = held_out()
    tell(what="true probabilities", log_loss=log_loss(y, truth))
    model = model_of(arguments.trees, arguments.model)
    with cluster(2), Peaks() as peaks:
        started = time.perf_counter()
        fit_distributed(model, files_of(folder, arguments), "y", mode="sharded", verbose=1)
        seconds = time.perf_counter() - started
    tell(what="sharded, 2 workers of 1.5 GB", seconds=seconds, peaks=peaks.large(), load=os.getloadavg())
    tell(log_loss=log_loss(y, predicted(model, X)), nodes=int(sum(tree.n_nodes for tree in model.trees_)))
    sample(X, y, arguments)


def sample(X, y, arguments):
    parts = [rows_of(number, SAMPLE_ROWS // 40) for number in range(40)]
    rows, labels = np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts])
    import pandas as pd

    model = model_of(arguments.trees, arguments.model)
    rows = pd.DataFrame(rows, columns=FEATURES)
    with Peaks() as peaks:
        started = time.perf_counter()
        model.fit(rows, labels)
        seconds = time.perf_counter() - started
    tell(what=f"local, sample of {SAMPLE_ROWS} rows", seconds=seconds, peaks=peaks.large())
    tell(log_loss=log_loss(y, predicted(model, X)))


def predicted(model, X):
    import pandas as pd

    frame = pd.DataFrame(X, columns=FEATURES)
    return np.concatenate([model.predict_proba(frame[i : i + 50_000])[:, 1] for i in range(0, len(frame), 50_000)])


def read_columns(path, names):
    import pyarrow.parquet as pq

    table = pq.read_table(path, columns=names)
    return np.column_stack([table[name].to_numpy() for name in names])


def xgboost(folder, arguments):
    import dask.array as da
    import xgboost as xgb
    from dask import delayed
    from xgboost import dask as xgb_dask

    def array_of(names, dtype):
        parts = [delayed(read_columns)(path, names) for path in files_of(folder, arguments).files]
        return da.concatenate([da.from_delayed(part, (ROWS, len(names)), dtype) for part in parts])

    X, y, _ = held_out()
    with cluster(2, arguments.worker_memory) as client, Peaks() as peaks:
        started = time.perf_counter()
        data = xgb_dask.DaskQuantileDMatrix(client, array_of(FEATURES, np.float32), array_of(["y"], np.int8)[:, 0])
        options = {"objective": "binary:logistic", "tree_method": "hist", "max_depth": 6, "eta": 0.1, "nthread": 1}
        found = xgb_dask.train(client, options, data, num_boost_round=arguments.rounds)
        seconds = time.perf_counter() - started
    tell(
        what=f"xgboost, {arguments.rounds} rounds, 2 workers of {arguments.worker_memory}",
        seconds=seconds,
        peaks=peaks.large(),
    )
    tell(log_loss=log_loss(y, found["booster"].predict(xgb.DMatrix(X))), load=os.getloadavg())


def score(folder, arguments):
    import dask.dataframe as dd
    import pandas as pd

    from petiole.distributed import predict_proba

    X, y = rows_of(0)
    frame = pd.DataFrame(X, columns=FEATURES)
    model = model_of(arguments.trees, arguments.model).fit(frame[:200_000], y[:200_000])
    alone = []
    for _ in range(3):
        started = time.perf_counter()
        model.predict_proba(frame)
        alone.append(ROWS / (time.perf_counter() - started))
    with cluster(1) as client:
        lazy = dd.read_parquet(folder / "train")[FEATURES].partitions[:6].persist()
        client.gather(client.compute(lazy.map_partitions(len)))
        predict_proba(model, lazy.partitions[:1]).sum().compute()  # the model and its router are in memory from now on
        on_dask = []
        for _ in range(3):
            started = time.perf_counter()
            predict_proba(model, lazy).sum().compute()
            on_dask.append(6 * ROWS / (time.perf_counter() - started))
    tell(rows_per_second_alone=max(alone), on_dask=max(on_dask), ratio=max(on_dask) / max(alone), all=[alone, on_dask])


def workers(folder, arguments):
    from petiole.distributed import fit as fit_distributed

    for n_workers in (1, 2, 4):
        with cluster(n_workers) as client, Peaks() as peaks:
            started = time.perf_counter()
            model = model_of(arguments.trees, arguments.model)
            fit_distributed(model, files_of(folder, arguments), "y", mode="sharded", verbose=1)
            seconds = time.perf_counter() - started
            moved = client.run(lambda dask_worker: dask_worker.transfer_outgoing_bytes_total)
        gigabytes = round(sum(moved.values()) / 1e9, 3)
        tell(workers=n_workers, seconds=seconds, peaks=peaks.large(), sent_gigabytes=gigabytes, load=os.getloadavg())


def alone(folder, arguments):
    from petiole.distributed import fit as fit_distributed

    X, y, _ = held_out()
    model = model_of(arguments.trees, arguments.model)
    with Peaks() as peaks:
        started = time.perf_counter()
        fit_distributed(
            model, files_of(folder, arguments), "y", mode="sharded", memory_limit=arguments.memory, verbose=1
        )
        seconds = time.perf_counter() - started
    tell(what=f"one process, memory_limit={arguments.memory}", seconds=seconds, peaks=peaks.large())
    tell(log_loss=log_loss(y, predicted(model, X)))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=["make", "fit", "xgboost", "score", "workers", "alone"])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--files", type=int, default=N_FILES)
    parser.add_argument("--trees", type=int, default=32)
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("--model", choices=["eb", "pool"], default="pool")
    parser.add_argument("--memory", default="1GB")
    parser.add_argument("--worker-memory", default="1.5GB")
    given = parser.parse_args()
    if given.what == "make":
        make(given.folder, given.files)
    else:
        globals()[given.what](given.folder, given)
