from importlib import import_module

import pytest

from kdrbench.errors import InputError
from kdrbench.references import REFERENCES, build_reference


@pytest.mark.parametrize(
    ("definition", "message"),
    [
        ({"method": "svn"}, "unknown reference method 'svn'; allowed: kernel_pca_svm, .*Did you mean 'svm'?"),
        ({"method": "svn"}, "A reference of your own is named path/to/file.py or module:Class"),
        ({}, "unknown reference method None; allowed"),
        ({"method": "svm", "penal": 1}, "unknown option of reference method 'svm': 'penal'; allowed: penalty"),
        ({"method": "svm", "penalty": "1"}, "reference option penalty must be of type float, got '1'"),
        ({"method": "svm", "penalty": True}, "reference option penalty must be of type float, got True"),
        ({"method": "svm", "penalty": 0}, "reference option penalty must be a finite number > 0, got 0"),
        ({"method": "nca_svm", "max_iterations": 0}, "reference option max_iterations must be a finite number > 0"),
        ({"method": "nca_svm", "max_iterations": 1.5}, "reference option max_iterations must be of type int, got 1.5"),
        ({"method": "spectral_clustering", "centred": 1}, "reference option centred must be of type bool, got 1"),
        ({"method": "no_such:Thing"}, "reference method 'no_such:Thing' cannot be loaded: .*is it on the PYTHONPATH?"),
        (
            {"method": "misbehaving:Sleeps"},
            "'misbehaving:Sleeps' must be a dataclass of its options with task, version and imports; "
            "it lacks task, imports",
        ),
        ({"method": "misbehaving:NoReference"}, "'misbehaving:NoReference' must be a dataclass .*; it is no dataclass"),
        ({"method": "misbehaving:CannotFit"}, "has task 'classification'; .*, with a method fit, or clus"),
        (
            {"method": "misbehaving:OfNoTask"},
            "'misbehaving:OfNoTask' has task 'regression'; it must be classification, with a method fit, or clustering",
        ),
    ],
)
def test_each_fault_of_a_definition_is_one_sentence(definition, message):
    with pytest.raises(InputError, match=message) as caught:
        build_reference(definition)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", sorted(REFERENCES))
def test_registered_references_can_be_built_and_name_real_modules(name):
    for module in build_reference({"method": name}).imports:
        import_module(module)
