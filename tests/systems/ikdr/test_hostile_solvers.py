"""The row of a solver that goes wrong says what the bench found; arrays of a wrong form are never scored."""

import numpy as np
import pytest

from kdrbench.baselines import build_baseline
from kdrbench.datasets import load_dataset
from kdrbench.errors import InputError
from kdrbench.solvers.base import FEASIBILITY_BOUND
from kdrbench.suite.engine.isolation.limits import Limits
from kdrbench.suite.engine.run_files import RunFiles, save_array
from kdrbench.suite.systems.ikdr.baseline_run import LABELS, make_baseline_run
from kdrbench.suite.systems.ikdr.definition import CellDefinition
from kdrbench.suite.systems.ikdr.monitor import PROJECTION
from kdrbench.suite.systems.ikdr.scores import read_projection
from support.one_batch import batch_of, context_of, files_in, grid_of, run_batch

LIMITS = Limits(time_s=20.0, memory_mib=256)
ATTACKS = {
    "controls": ("failed", "ValueError: \\x00\\t\\n\\x1b[31m\\x9b\\u2028\\u202e"),
    "long": ("failed", "ValueError: xxx"),
    "silent": ("failed", "SilentError: a message of type SilentError that is no text"),
    "bytes": ("converged", "b'\\x00 is no text\\r'"),
    "skipped": (
        "failed",
        "InputError: Hostile ended with status 'skipped'; allowed: converged, stalled, max_iterations, time_limit",
    ),
    "time_limit": ("failed", "said time_limit after "),
    "nan": ("failed", "InputError: the "),
    "trace": ("failed", "line 1 of trace.jsonl is not JSON: b'garbage"),
    "leaves": ("failed", "could not write its result, or lacks a package; the batch lacks neither, twice"),
}


@pytest.mark.attack("gate: solvers")
@pytest.mark.parametrize("attack", ATTACKS)
def test_a_row_says_what_the_bench_found(tmp_path, attack):
    batch, files = batch_of("support.hostile:Hostile", options={"attack": attack}), files_in(tmp_path)
    (record,) = run_batch(batch, load_dataset("wine"), context_of(LIMITS), files)
    status, message = ATTACKS[attack]
    assert (record.status, record.message[: len(message)]) == (status, message)
    assert len(record.message) <= 1000
    assert record.feasibility is None or record.feasibility <= FEASIBILITY_BOUND
    assert record.n_train > 0
    assert run_batch(batch, load_dataset("wine"), context_of(LIMITS), files) == [record]


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
