"""The number of components by the largest gap of each run."""

import numpy as np
import pytest

from kdrbench.datasets import load_dataset
from kdrbench.kernels import build_kernel
from kdrbench.paradigms import build_task
from kdrbench.suite.systems.ikdr.definition import CellDefinition
from kdrbench.suite.systems.ikdr.folds import whole
from support.one_batch import arrays_in, batches_on_all_rows, context_of, files_in, run_batch


def gap_of(cell, features, labels, scale_q):
    """Return the place of the largest gap of Phi_0's positive eigenvalues, computed here from nothing but Phi_0."""
    task = build_task(cell.paradigm, cell.parameters, features, labels)
    kernel = build_kernel(cell.kernel, features, scale_q)
    values = np.sort(np.linalg.eigvalsh(task.first_problem(kernel).initial_surrogate()))[::-1]
    positive = [q for q in range(1, len(values)) if values[q - 1] > 1e-9 * values[0]]
    return max(positive, key=lambda q: values[q - 1] - values[q])


@pytest.mark.parametrize(("paradigm", "kernel"), [("supervised", "gaussian"), ("unsupervised", "polynomial")])
def test_a_run_has_the_q_of_its_largest_gap(paradigm, kernel, tmp_path):
    batch, dataset = batches_on_all_rows(paradigm, "wine", "eigengap", kernels=[kernel])["it"], load_dataset("wine")
    fold = whole(dataset)
    known = fold.train_labels if paradigm == "supervised" else None
    expected = gap_of(CellDefinition.of(batch), fold.train_features, known, scale_q=3)
    (record,) = run_batch(batch, dataset, context_of(), files_in(tmp_path))
    assert (record.status, record.n_components) == ("converged", expected)
    assert arrays_in(files_in(tmp_path))[f"wine/{kernel}/it/projection_0"].shape == (13, expected)
