"""A solver of a stranger's has in its row what the bench found, whatever it returns, raises or writes itself."""

import numpy as np
import pytest

from kdrbench.baselines import build_baseline
from kdrbench.bench.isolation.limits import Limits
from kdrbench.bench.run_files import RunFiles, save_array
from kdrbench.datasets import load_dataset
from kdrbench.solvers.base import FEASIBILITY_BOUND
from kdrbench.stages.ikdr.baseline_run import LABELS, make_baseline_run
from kdrbench.stages.ikdr.definition import CellDefinition
from kdrbench.stages.ikdr.monitor import PROJECTION
from kdrbench.stages.ikdr.scores import read_projection
from support.one_batch import arrays_in, batch_of, context_of, files_in, grid_of, run_batch

LIMITS = Limits(time_s=20.0, memory_mib=256)
SAID = "allowed: converged, stalled, max_iterations, time_limit"
ATTACKS = {
    "return": ("failed", "ValueError: gone\\r"),
    "surrogate": ("failed", "ValueError: \\ud800 is half a character"),
    "formula": ("failed", "ValueError: =cmd|' /C calc'!A0"),
    "controls": ("failed", "ValueError: \\x00\\t\\n\\x1b[31m\\x9b\\u2028\\u202e"),
    "long": ("failed", "ValueError: xxx"),
    "silent": ("failed", "SilentError: a message of type SilentError that is no text"),
    "bytes": ("converged", "b'\\x00 is no text\\r'"),
    "skipped": ("failed", f"InputError: Hostile ended with status 'skipped'; {SAID}"),
    "memory_limit": ("failed", f"InputError: Hostile ended with status 'memory_limit'; {SAID}"),
    "failed": ("failed", f"InputError: Hostile ended with status 'failed'; {SAID}"),
    "time_limit": ("failed", "said time_limit after "),
    "lies": ("failed", "InputError: the "),
    "infeasible": (
        "failed",
        "what the run left cannot be evaluated: InputError: the projection is not orthonormal: |W'W - I| = ",
    ),
    "skips": ("failed", "only the bench skips runs; it said skipped: forged"),
    "transposed": ("failed", "what the run left cannot be evaluated: InputError: the projection must be 13 x q"),
    "single": ("failed", "what the run left cannot be evaluated: InputError: the projection holds float32"),
    "nothing": ("failed", "the run left no projection; it said converged: forged"),
    "huge": ("failed", "projection.npy holds 0 bytes of data; its header says 8000000000000"),
    "scores": ("converged", "forged"),
    "labels": ("converged", "forged"),
    "traces": ("failed", "line 1 of trace.jsonl is not JSON: b'garbage"),
    "leaves": ("failed", "could not write its result, or lacks a package; the batch lacks neither, twice"),
}


def run(attack, files):
    batch = batch_of("support.hostile:Hostile", options={"attack": attack})
    return run_batch(batch, load_dataset("wine"), context_of(LIMITS), files)


@pytest.mark.attack("gate: solvers")
@pytest.mark.parametrize("attack", ATTACKS)
def test_a_row_says_what_the_bench_found(tmp_path, attack):
    files = files_in(tmp_path)
    (record,) = run(attack, files)
    status, message = ATTACKS[attack]
    assert (record.status, record.message[: len(message)]) == (status, message)
    assert len(record.message) <= 1000
    # What is scored is feasible; nothing that is not has any number.
    assert record.feasibility is None or record.feasibility <= FEASIBILITY_BOUND
    assert record.cost is None or -1e4 < record.cost < 0.0
    assert record.quality is None or record.quality <= 1.0
    assert record.n_train > 0
    assert run(attack, files) == [record]
    if record.cost is None:
        return
    (name, kept) = next(iter(arrays_in(files).items()))
    assert (name, len(arrays_in(files))) == ("wine/gaussian/it/projection_0", 1)
    assert np.linalg.norm(kept.T @ kept - np.eye(kept.shape[1])) <= FEASIBILITY_BOUND


@pytest.mark.parametrize(
    "labels",
    [np.array(0), np.zeros(1, int), np.zeros((3, 18), int), np.full(18, np.nan), np.zeros(18, complex)],
    ids=["number", "one", "three rows", "nan", "complex"],
)
def test_labels_that_would_be_spread_over_all_samples_are_refused(tmp_path, labels):
    (batch,) = (one for one in grid_of(baselines=["svm"]).batches() if one.cell[-1] == "svm")
    cell = CellDefinition.of(batch)
    made = make_baseline_run(cell, build_baseline(cell.method), 0, cell.fold(load_dataset("wine"), 0))
    files = RunFiles(tmp_path)
    save_array(files.array(LABELS), labels)
    with pytest.raises(ValueError, match="the baseline predicted labels of "):
        made.score(files)


def test_the_bound_is_that_within_the_run(tmp_path):
    files, sound = RunFiles(tmp_path), np.eye(6)[:, :2]
    save_array(files.array(PROJECTION), sound * (1 + 0.3 * FEASIBILITY_BOUND))
    assert read_projection(files, 6, 2) is not None
    save_array(files.array(PROJECTION), sound * (1 + FEASIBILITY_BOUND))
    with pytest.raises(ValueError, match=r"the projection is not orthonormal: \|W'W - I\| = 2.8e-10 exceeds 1e-10"):
        read_projection(files, 6, 2)
