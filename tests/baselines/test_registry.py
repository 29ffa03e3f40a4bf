from importlib import import_module

import numpy as np
import pytest
from sklearn.neighbors import kneighbors_graph

from kdrbench.baselines import BASELINES, BaselineTask, build_baseline
from kdrbench.datasets import synthetic
from kdrbench.errors import InputError


@pytest.mark.parametrize(
    ("definition", "message"),
    [
        ({"method": "svn"}, "unknown baseline method 'svn'. Did you mean 'svm'?"),
        ({"method": "svn"}, "A baseline of your own is named path/to/file.py or module:Class"),
        ({}, "unknown baseline method None; allowed"),
        ({"method": "svm", "penal": 1}, "unknown option of baseline method 'svm': 'penal'. Did you mean 'penalty'"),
        ({"method": "svm", "penalty": "1"}, "baseline option penalty must be a finite number > 0, got '1'"),
        ({"method": "svm", "penalty": 0}, "baseline option penalty must be a finite number > 0, got 0"),
        ({"method": "nca_svm", "max_iterations": 0}, "baseline option max_iterations must be an integer >= 1, got 0"),
        ({"method": "spectral_clustering", "centred": 1}, "baseline option centred must be True or False, got 1"),
        ({"method": "no_such:Thing"}, "baseline method 'no_such:Thing' cannot be loaded: .*is it on the PYTHONPATH?"),
        (
            {"method": "support.misbehaving:Sleeps"},
            "'support.misbehaving:Sleeps' must be a dataclass of its options with task and imports; "
            "it lacks task, imports",
        ),
        (
            {"method": "support.misbehaving:NoBaseline"},
            "'support.misbehaving:NoBaseline' must be a dataclass .*; it is no dataclass",
        ),
        ({"method": "support.misbehaving:CannotFit"}, "has task 'classification'; .*, with a method fit, clus"),
        (
            {"method": "support.misbehaving:OfNoTask"},
            "'support.misbehaving:OfNoTask' has task 'regression'; it must be classification, "
            "with a method fit, clustering, with a method cluster, or completion",
        ),
    ],
)
def test_each_fault_of_a_definition_is_one_sentence(definition, message):
    with pytest.raises(InputError, match=message) as caught:
        build_baseline(definition)
    assert "\n" not in str(caught.value)


def test_registered_baselines_name_their_task_and_real_modules():
    tasks = {"label_spreading": BaselineTask.COMPLETION}
    for name in BASELINES:
        baseline = build_baseline({"method": name})
        clustering_or_not = BaselineTask.CLUSTERING if "clustering" in name else BaselineTask.CLASSIFICATION
        assert baseline.task is tasks.get(name, clustering_or_not)
        for module in baseline.imports:
            assert import_module(module).__name__ == module


def test_it_is_the_fixed_point_of_its_definition():
    features, classes = synthetic.four_gaussians(80, np.random.default_rng(0), n_noise=0)
    labels = np.where(np.arange(80) % 8 == 0, classes, -1)
    baseline = build_baseline({"method": "label_spreading"})
    found = baseline.complete(features, labels, 2, np.random.default_rng(0))
    graph = kneighbors_graph(features, 7, include_self=True).toarray()
    np.fill_diagonal(graph, 0.0)
    degrees = np.maximum(graph.sum(axis=0), 1.0)
    known = (labels[:, None] == np.arange(4)).astype(float)
    spread = np.linalg.solve(np.eye(80) - 0.2 * graph / np.sqrt(degrees[:, None] * degrees), 0.8 * known)
    assert (found == spread.argmax(axis=1)).mean() > 0.97
    assert (found[labels < 0] == classes[labels < 0]).mean() > 0.9


def test_one_known_class_is_too_few():
    with pytest.raises(InputError, match="all 3 samples have the label 1; a classifier needs at least 2"):
        build_baseline({"method": "label_spreading"}).complete(
            np.eye(9), np.where(np.arange(9) < 3, 1, -1), 1, np.random.default_rng(0)
        )
