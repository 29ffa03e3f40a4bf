"""Which runs share a job, by what they are estimated to take."""

from types import SimpleNamespace

import pytest

from kdrbench.suite.engine.grid import job_of, runs_per_batch
from kdrbench.suite.engine.system import Cell
from kdrbench.suite.systems.ikdr.definition import estimated_seconds
from support.one_batch import batch_of

GAUSSIAN, LINEAR = {"family": "gaussian"}, {"family": "linear"}
WINE, FACE, MNIST = (178, 13, 4), (624, 960, 20), (10000, 784, 10)


def estimate(shape, method, kernel=GAUSSIAN, paradigm="supervised"):
    """About how long a run of such a method takes."""
    definition = {"n_rows": None, "n_components": shape[2], "paradigm": paradigm, "parameters": {}}
    definition |= {"method": {"method": method}, "kernel": kernel}
    return estimated_seconds(definition, SimpleNamespace(n_samples=shape[0], n_features=shape[1]))


def cell_of(run_s, n_runs=10):
    return Cell("wine", ("gaussian", "it"), {}, n_runs, run_s)


OF_ITS_OWN = "wine/gaussian/it/0-9"


@pytest.mark.parametrize(
    ("shape", "method", "kernel", "runs", "job"),
    [
        (WINE, "dimension_growth", GAUSSIAN, 10, "cheap"),
        ((569, 30, 2), "stiefel_cayley", GAUSSIAN, 10, "wine/gaussian/cheap"),
        ((569, 30, 2), "svm", {}, 10, "cheap"),
        # Ten runs of 10 s each: it is the cell that counts.
        ((569, 30, 2), "ism_2018", GAUSSIAN, 10, OF_ITS_OWN),
        (FACE, "ism", GAUSSIAN, 10, "cheap"),
        (FACE, "dimension_growth", GAUSSIAN, 1, OF_ITS_OWN),
        (FACE, "my:Own", GAUSSIAN, 1, OF_ITS_OWN),
        (FACE, "ism_2018", GAUSSIAN, 1, OF_ITS_OWN),
        (MNIST, "ism", GAUSSIAN, 1, OF_ITS_OWN),
        (MNIST, "ism", LINEAR, 10, OF_ITS_OWN),
        # Of a baseline, which has no kernel, the method does not matter.
        (FACE, "dimension_growth", {}, 10, "cheap"),
    ],
)
def test_cheap_runs_share_the_job_of_their_cell_or_experiment(shape, method, kernel, runs, job):
    cell = cell_of(estimate(shape, method, kernel))
    assert runs_per_batch("auto", cell) == runs
    assert job_of(batch_of("ism", folds=10), "auto", cell) == f"table4_supervised/{job}"


def test_what_is_asked_for_is_given():
    assert runs_per_batch(3, cell_of(1e9)) == runs_per_batch(3, cell_of(1e-9)) == 3
    batch = batch_of("ism", folds=10)
    assert job_of(batch, 10, cell_of(1e-9)) == batch.path
