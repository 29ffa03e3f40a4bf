"""The threads that a job's libraries use, asked of the libraries themselves."""

import json
import os
import subprocess
import sys

import pytest

from kdrbench.datasets import load_dataset, save_prepared
from kdrbench.suite.engine.batch import Order
from kdrbench.suite.engine.publish import JobFiles
from kdrbench.suite.engine.record import read_records
from kdrbench.suite.systems.ikdr.system import IKDRRecord
from support.one_batch import alone, batch_of

CORES = len(os.sched_getaffinity(0))
IN_PROCESS = pytest.mark.slow("threads are those of a process that has yet to import its libraries")


@pytest.mark.parametrize(
    ("threads", "timed"),
    [
        pytest.param(1, True, marks=IN_PROCESS),
        pytest.param(1, False, marks=pytest.mark.whole),
        pytest.param(2, True, marks=[pytest.mark.whole, pytest.mark.skipif(CORES < 2, reason="one core only")]),
    ],
)
def test_blas_and_openmp_have_the_threads_that_are_declared(tmp_path, threads, timed):
    save_prepared(load_dataset("wine"), tmp_path / "wine.npz")
    bundle = alone(batch_of("support.misbehaving:CountsThreads"))
    order = Order(bundle, timed=timed).write(tmp_path / "order.json")
    words = [order, "--data", tmp_path, "--results", tmp_path / "results"]
    words += ["--time-limit-s", "30", "--memory-limit-mib", "512", "--repeat-for-s", "0", "--threads", str(threads)]
    # What the user's shell says must not matter.
    spoilt = {f"{name}_NUM_THREADS": "7" for name in ("OMP", "OPENBLAS", "MKL")}
    environment = os.environ | spoilt | {"PYTHONPATH": os.pathsep.join(sys.path), "TMPDIR": str(tmp_path)}
    command = [sys.executable, "-m", "kdrbench", "batch", *words]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    (row,) = read_records(JobFiles.of(tmp_path / "results", bundle.path).records, IKDRRecord)
    # The last line of the job's log says what it took; the line before it how the run ended.
    ended, summary = done.stdout.splitlines()
    assert ended.startswith("table4_supervised/wine/gaussian/it/0: converged - ")
    assert json.loads(summary)["runs_made"] == 1
    cores = threads if timed else CORES
    expected = {"blas": threads, "openmp": threads, "openmp in effect": threads, "cores": cores}
    assert json.loads(row.message) == expected
    assert row.provenance.blas_threads == threads
    assert len(row.provenance.cores.split(",")) == (threads if timed else 1)
