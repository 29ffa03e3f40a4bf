"""Ten million samples of 20 features (800 MB in single precision) in a process that is allowed 512 MiB.

The address space is limited where samples come from a Zarr array or from chunks. A mapped file counts to the address
space as a whole, so there the limit is on data: all that a process allocates. Imports alone take some 320 MiB of the
address space and 180 MiB of data, nearly all of it scikit-learn's and SciPy's libraries. One BLAS thread and one heap
keep buffers of threads out of it, which are reserved and not used.
"""

import json
import os
import subprocess
import sys
import tracemalloc

import numpy as np
import pytest

from kdrbench.estimators import InterpretableKDR

# scikit-learn imports pandas where it is installed, and that pyarrow, which takes 130 MiB of addresses.
SCRIPT = r"""
import json, resource, sys
sys.modules["pyarrow"] = None
import numpy as np, zarr
from kdrbench.estimators import InterpretableKDR
from kdrbench.kernels import Gaussian
from kdrbench.evaluation import build_problem
from kdrbench.problems import TraceObjective, supervised_gamma
from kdrbench.samples import samples_of

kind, folder, n, d, rows = sys.argv[1], sys.argv[2], 10_000_000, 20, 100_000
limited = resource.RLIMIT_DATA if kind == "memmap" else resource.RLIMIT_AS
resource.setrlimit(limited, (512 * 2**20,) * 2)
rng = np.random.default_rng(0)
labels = rng.integers(0, 4, rows).astype(np.int8)
table = rng.standard_normal((rows, d), dtype=np.float32)
table += 2 * rng.standard_normal((4, d), dtype=np.float32)[labels]

def chunk(number):
    return table * np.float32(1 + number / 100)

n_chunks = n // rows
y = np.tile(labels, n_chunks)
if kind == "chunks":
    X, y = lambda: ((chunk(number), labels) for number in range(n_chunks)), None
else:
    if kind == "zarr":
        X = zarr.create_array(folder + "/x", shape=(n, d), chunks=(rows, d), dtype="float32", compressors=None)
    else:
        X = np.lib.format.open_memmap(folder + "/x.npy", "w+", np.float32, (n, d))
    for number in range(n_chunks):
        X[number * rows : (number + 1) * rows] = chunk(number)
    if kind == "memmap":
        X.flush()
        X = np.load(folder + "/x.npy", mmap_mode="r")
model = InterpretableKDR(2, kernel="linear").fit(X, y)
found = {"fit": [str(model.status_), model.result_.evaluation, model.certificate_.stationarity]}
# All samples are multiples of those of the chunk, so F is a sum over it.
centred = np.eye(4)[labels] - np.bincount(labels) / rows
scales = np.array([np.float32(1 + number / 100) for number in range(n_chunks)], dtype=float)
projected = table.astype(float) @ model.components_.T
sums = (centred.T @ projected) * scales.sum()
own = (scales**2).sum() * (((centred**2).sum(axis=1)) @ (projected**2).sum(axis=1))
found["objective"] = [model.objective_, float((sums**2).sum() - own)]
if kind == "zarr":
    problem = build_problem(TraceObjective(samples_of(X), Gaussian(60.0), supervised_gamma(y)))
    value, gradient = problem.value_and_gradient(model.components_.T)
    found["gaussian"] = [value, float(np.linalg.norm(gradient))]
print(json.dumps(found))
"""


@pytest.mark.whole
@pytest.mark.parametrize("kind", ["zarr", "chunks", "memmap"])
def test_ten_million_samples_take_less_than_512_mib(kind, tmp_path):
    settings = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MALLOC_ARENA_MAX": "1"}
    # Chunks that zarr reads ahead, in as many threads as it likes, are not ours to bound.
    settings |= {"ZARR_THREADING__MAX_WORKERS": "1", "ZARR_ASYNC__CONCURRENCY": "1"}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, kind, str(tmp_path)],
        env={**os.environ, **settings},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(done.stdout)
    status, evaluation, stationarity = found["fit"]
    assert (status, evaluation) == ("converged", "monomial_sums: 10000000 streamed samples")
    assert stationarity <= 1e-6
    value, expected = found["objective"]
    # The scaled rows are rounded to single precision, each to 6e-8 of itself and to both sides.
    assert value == pytest.approx(expected, rel=1e-7)
    if kind == "zarr":
        assert min(found["gaussian"]) > 0


def test_a_fit_of_chunks_holds_no_more_than_a_few_of_them():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 4, 20_000).astype(np.int8)
    table = rng.standard_normal((20_000, 20), dtype=np.float32) + labels[:, None].astype(np.float32)
    n_chunks = 40

    def chunks():
        return ((table * np.float32(1 + number / 100), labels) for number in range(n_chunks))

    InterpretableKDR(2, kernel="linear").fit(chunks)
    tracemalloc.start()
    model = InterpretableKDR(2, kernel="linear").fit(chunks)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert model.result_.evaluation == "monomial_sums: 800000 streamed samples"
    # All samples are 64 MB in single precision.
    assert peak < n_chunks * table.nbytes
