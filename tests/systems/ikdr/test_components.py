"""The number of components by the largest gap of each run."""

import numpy as np
import pytest

from kdrbench.datasets import load_dataset
from kdrbench.errors import ConfigError
from kdrbench.kernels import build_kernel
from kdrbench.paradigms import build_task
from kdrbench.suite.experiments.config import checked, load_grid
from kdrbench.suite.systems.ikdr.definition import CellDefinition
from kdrbench.suite.systems.ikdr.folds import whole
from support.configs import table_4_config
from support.one_batch import arrays_in, context_of, files_in, run_batch


def config_of(paradigm="supervised", kernel="gaussian", **changes):
    config = table_4_config()
    config |= {"run": ["table4_supervised"], "solvers": {"it": {"method": "ism"}}}
    experiment = config["experiments"]["table4_supervised"]
    experiment |= {"paradigm": paradigm, "datasets": ["wine"], "kernels": [kernel], "solvers": ["it"], "baselines": []}
    experiment |= {"components": {"wine": "eigengap"}, "split": "none"} | changes
    experiment.pop("folds", None)
    experiment.pop("published", None)
    return config


def batch_of(*args, **changes):
    return load_grid(config_of(*args, **changes)).batches()[0]


def gap_of(cell, features, labels, scale_q):
    """Return the place of the largest gap of Phi_0's positive eigenvalues, computed here from nothing but Phi_0."""
    task = build_task(cell.paradigm, cell.parameters, features, labels)
    kernel = build_kernel(cell.kernel, features, scale_q)
    values = np.sort(np.linalg.eigvalsh(task.first_problem(kernel).initial_surrogate()))[::-1]
    positive = [q for q in range(1, len(values)) if values[q - 1] > 1e-9 * values[0]]
    return max(positive, key=lambda q: values[q - 1] - values[q])


@pytest.mark.parametrize(("paradigm", "kernel"), [("supervised", "gaussian"), ("unsupervised", "polynomial")])
def test_a_run_has_the_q_of_its_largest_gap(paradigm, kernel, tmp_path):
    batch, dataset = batch_of(paradigm, kernel), load_dataset("wine")
    fold = whole(dataset)
    known = fold.train_labels if paradigm == "supervised" else None
    expected = gap_of(CellDefinition.of(batch), fold.train_features, known, scale_q=3)
    (record,) = run_batch(batch, dataset, context_of(), files_in(tmp_path))
    assert (record.status, record.n_components) == ("converged", expected)
    assert arrays_in(files_in(tmp_path))[f"wine/{kernel}/it/projection_0"].shape == (13, expected)


def test_baselines_have_no_such_rule():
    config = config_of(baselines=["svm"])
    config["baselines"] = {"svm": {"method": "svm"}}
    with pytest.raises(ConfigError, match=r"components\.wine is 'eigengap', a rule .* which 'svm' .* has not; name a"):
        checked(config)
