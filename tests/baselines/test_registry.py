from importlib import import_module

import pytest

from kdrbench.baselines import BASELINES, BaselineTask, build_baseline
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
