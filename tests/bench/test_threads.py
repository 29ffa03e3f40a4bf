"""The threads that a job's libraries use, asked of the libraries themselves."""

import json
import os
import subprocess
import sys

import pytest

from kdrbench.bench.record import read_records
from kdrbench.datasets import load_dataset, save_prepared
from one_batch import alone, batch_of, files_in

CORES = len(os.sched_getaffinity(0))


ONE_CORE = pytest.mark.skipif(CORES < 2, reason="SKIPPED LOUDLY: one core only")


@pytest.mark.parametrize(("threads", "timed"), [(1, True), (1, False), pytest.param(2, True, marks=ONE_CORE)])
def test_blas_and_openmp_have_the_threads_that_are_declared(tmp_path, threads, timed):
    files = files_in(tmp_path)
    save_prepared(load_dataset("wine"), tmp_path / "wine.npz")
    words = ["--spec", alone(batch_of("misbehaving:CountsThreads")).to_json(), "--data", tmp_path / "wine.npz"]
    words += ["--out", files.records, "--trace", files.traces, "--state", files.state, "--time-limit-s", "30"]
    words += ["--memory-limit-mib", "512", "--repeat-for-s", "0", "--threads", str(threads)]
    words += ["--terms", json.dumps({"timed": timed})]
    # What the user's shell says must not matter.
    spoilt = {f"{name}_NUM_THREADS": "7" for name in ("OMP", "OPENBLAS", "MKL")}
    environment = os.environ | spoilt | {"PYTHONPATH": os.pathsep.join(sys.path), "TMPDIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-m", "kdrbench", "batch", *words],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    (row,) = read_records(files.records)
    cores = threads if timed else CORES
    expected = {"blas": threads, "openmp": threads, "openmp in effect": threads, "cores": cores}
    assert json.loads(row.message) == expected
    assert row.blas_threads == threads
    assert len(row.cores.split(",")) == (threads if timed else 1)
