"""Curvature and eigengap of a run, where the tangent space is small, and what the referee says of its projection."""

from dataclasses import replace

import numpy as np
import pytest

from kdrbench.datasets import load_dataset
from kdrbench.evaluation import Evaluation
from kdrbench.kernels import build_kernel
from kdrbench.paradigms import build_task
from kdrbench.solvers import build_solver
from kdrbench.solvers.geometry.certificate import certify
from kdrbench.suite.engine.run_files import RunFiles, save_array
from kdrbench.suite.systems.ikdr.definition import CellDefinition
from kdrbench.suite.systems.ikdr.scores import optimality_of
from kdrbench.suite.systems.ikdr.solver_run import _second_order, make_solver_run
from support.one_batch import batch_of


def problem_of(n_features):
    rng = np.random.default_rng(0)
    features, labels = rng.standard_normal((30, n_features)), np.arange(30) % 3
    task = build_task("supervised", {}, features, labels, evaluation=Evaluation())
    kernel = build_kernel({"family": "gaussian", "sigma": 1.0}, features, 2, task.alignment_target)
    projection = np.linalg.qr(rng.standard_normal((n_features, 2)))[0]
    return task.first_problem(kernel), projection


def test_small_tangent_spaces_have_the_numbers_of_a_certificate():
    expected = certify(*problem_of(6))
    names = ("curvature", "eigengap", "eigengap_needed")
    assert _second_order(*problem_of(6)) == {name: pytest.approx(getattr(expected, name), rel=1e-9) for name in names}
    # Large and empty ones have none: 2 (203 - 2) = 402 dimensions, and none where q = d.
    assert _second_order(*problem_of(203)) == {}
    assert _second_order(*problem_of(2)) == {}


def test_optimality_follows_from_stationarity_and_curvature():
    for stationarity, curvature, said in [
        (0.0, 0.5, "second_order"),
        (1e-6, 0.0, "second_order"),
        # Room of one per cent for what is evaluated again.
        (1.0099e-6, 1e-9, "second_order"),
        (1.0101e-6, 0.5, "not_stationary"),
        (1e-7, -0.99e-6, "second_order"),
        (1e-7, -1.01e-6, "saddle"),
        (1e-7, None, "first_order"),
        (0.2, -1.0, "not_stationary"),
        (0.2, None, "not_stationary"),
        (float("nan"), 1.0, "not_stationary"),
    ]:
        assert optimality_of(stationarity, curvature) == said


@pytest.mark.parametrize(
    ("places", "mixed", "said"),
    [([-1, -2], 0.0, "second_order"), ([-1, -3], 0.0, "saddle"), ([-1, -2], 1e-3, "not_stationary")],
)
def test_the_row_classifies_the_projection_that_was_kept(tmp_path, places, mixed, said):
    # With the linear kernel any eigenvectors of Phi are stationary, and only the leading ones a maximum.
    cell = CellDefinition.of(batch_of("ism", kernel="linear"))
    cell = replace(cell, n_components=2)
    fold = cell.fold(load_dataset("wine"), 0)
    run = make_solver_run(cell, build_solver({"method": "ism"}), 256.0, 0, fold)
    vectors = np.linalg.eigh(run.exact.initial_surrogate())[1]
    projection = np.linalg.qr(vectors[:, places] + mixed * vectors[:, :2])[0]
    files = RunFiles(tmp_path)
    save_array(files.array("projection"), projection)
    assert run.score(files)["optimality"] == said
