"""Arrays of a wrong form that a run has left are never scored."""

import numpy as np
import pytest

from kdrbench.baselines import build_baseline
from kdrbench.datasets import load_dataset
from kdrbench.errors import InputError
from kdrbench.solvers.base import FEASIBILITY_BOUND
from kdrbench.suite.engine.run_files import RunFiles, save_array
from kdrbench.suite.systems.ikdr.baseline_run import LABELS, make_baseline_run
from kdrbench.suite.systems.ikdr.definition import CellDefinition
from kdrbench.suite.systems.ikdr.monitor import PROJECTION
from kdrbench.suite.systems.ikdr.scores import read_projection
from support.one_batch import grid_of


def test_labels_of_a_wrong_form_are_refused(tmp_path):
    (batch,) = (one for one in grid_of(baselines=["svm"]).batches() if one.cell[-1] == "svm")
    cell = CellDefinition.of(batch)
    made = make_baseline_run(cell, build_baseline(cell.method), 0, cell.fold(load_dataset("wine"), 0))
    files = RunFiles(tmp_path)
    shapes = [np.array(0), np.zeros(1, int), np.zeros((3, 18), int), np.full(18, np.nan), np.zeros(18, complex)]
    for labels in shapes:
        save_array(files.array(LABELS), labels)
        with pytest.raises(ValueError, match="the baseline predicted labels of "):
            made.score(files)


def test_a_projection_of_a_wrong_form_is_refused(tmp_path):
    files, sound = RunFiles(tmp_path), np.eye(6)[:, :2]
    assert read_projection(files, 6, 2) is None
    # The bound is that within the run.
    save_array(files.array(PROJECTION), sound * (1 + 0.3 * FEASIBILITY_BOUND))
    assert read_projection(files, 6, 2) is not None
    for wrong, message in (
        (sound * (1 + FEASIBILITY_BOUND), r"is not orthonormal: \|W'W - I\| = 2.8e-10 exceeds 1e-10"),
        (5 * sound, "is not orthonormal"),
        (sound.T.copy(), "must be 6 x q"),
        (sound.astype(np.float32), "holds float32"),
    ):
        save_array(files.array(PROJECTION), wrong)
        with pytest.raises(InputError, match=f"the projection {message}"):
            read_projection(files, 6, 2)
