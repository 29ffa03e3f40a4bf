"""Batches of alternative clusterings: what they are given, what they find, and what is kept of it."""

import numpy as np
import pytest

from kdrbench.datasets import Dataset, load_dataset
from kdrbench.solvers import build_solver
from kdrbench.suite.engine.isolation.limits import Limits
from kdrbench.suite.systems.ikdr.clustering_run import make_clustering_run
from kdrbench.suite.systems.ikdr.definition import CellDefinition
from kdrbench.suite.systems.ikdr.folds import whole
from kdrbench.suite.systems.ikdr.scores import normalised_mutual_information
from support.one_batch import arrays_in, batches_on_all_rows, context_of, files_in, run_batch

LIMITS = Limits(time_s=600.0, memory_mib=512)


def batch_of(dataset, asked, components=2):
    return batches_on_all_rows("alternative", dataset, components, labellings={dataset: asked})["it"]


@pytest.mark.parametrize("sought", ["short side", "classes"])
def test_the_other_labelling_is_found_and_scored(tmp_path, sought):
    asked = {"given": "classes", "sought": sought}
    batch = batch_of("four-gaussians", asked, components=3)
    files = files_in(tmp_path)
    dataset = load_dataset("four-gaussians")
    (record,) = run_batch(batch, dataset, context_of(LIMITS), files)
    assert (record.paradigm, record.quality_metric, record.status) == ("alternative", "nmi", "converged")
    # Halves of the long side are given, those of the short one are found, whatever is said to be sought.
    assert (record.quality > 0.9) == (sought == "short side")
    assert record.nmi_given < 0.01
    labellings = {"classes": dataset.labels, "short side": dataset.labelling("short side").codes}
    arrays = arrays_in(files)
    labels = arrays["four-gaussians/gaussian/it/labels_0"]
    assert arrays["four-gaussians/gaussian/it/projection_0"].shape == (3, 3)
    np.testing.assert_array_equal(arrays["four-gaussians/gaussian/it/given_0"], dataset.labels)
    # What is kept is what was scored.
    assert record.quality == normalised_mutual_information(labellings[sought], labels)
    assert record.nmi_given == normalised_mutual_information(labellings["classes"], labels)


def test_data_without_classes_are_given_the_clusters_found_first():
    # Two columns of two groups each; the first pair lies farther apart, so it is what spectral clustering finds.
    rng = np.random.default_rng(0)
    codes = np.array([(i // 2 % 2, i % 2) for i in range(80)])
    features = codes * [9.0, 6.0] + 0.5 * rng.standard_normal((80, 2))
    # Standardised columns weigh the same, and so the first is put in twice.
    features = np.column_stack([features, features[:, 0] + 0.5 * rng.standard_normal(80)])
    nameless = Dataset("flower", features, np.zeros(0, dtype=np.int64), ("a", "b", "c"), ())
    batch = batch_of("flower", {"given": "clusters", "n_clusters": 2})
    cell = CellDefinition.of(batch)
    assert (cell.parameters, cell.labellings) == ({"n_clusters": 2}, {"given": "clusters"})
    run = make_clustering_run(cell, build_solver({"method": "ism"}), 512.0, 0, whole(nameless))
    assert normalised_mutual_information(run.given, codes[:, 0]) == pytest.approx(1.0)
    assert run.fold.train_features.shape == (80, 3)
    assert run.fold.columns["n_train"] == 80


def test_as_many_clusters_as_the_sought_labelling_has_classes():
    batch = batch_of("face", {"given": "classes", "sought": "pose"}, components=20)
    assert batch.definition["parameters"]["n_clusters"] == 4
    batch = batch_of("face", {"given": "pose", "sought": "classes"}, components=20)
    assert batch.definition["parameters"]["n_clusters"] == 20
