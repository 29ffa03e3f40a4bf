import numpy as np
import pytest

from kdrbench.errors import InputError
from kdrbench.kernels import Gaussian, Polynomial, build_kernel, check_definition, median_distance

FEATURES = np.random.default_rng(0).standard_normal((12, 3))


def test_data_dependent_options_are_resolved_on_the_training_samples():
    assert build_kernel({"family": "gaussian"}, FEATURES, 2) == Gaussian(median_distance(FEATURES))
    assert build_kernel({"family": "polynomial"}, FEATURES, 4) == Polynomial(3, 1.0, 0.25)


def test_options_override_defaults():
    assert build_kernel({"family": "gaussian", "sigma": 3}, FEATURES, 2) == Gaussian(3.0)
    assert build_kernel({"family": "polynomial", "degree": 2, "scale": 1}, FEATURES, 2) == Polynomial(2, 1.0, 1.0)


@pytest.mark.parametrize(
    ("definition", "message"),
    [
        ({"family": "gausian"}, "unknown kernel family 'gausian'; allowed: gaussian.*Did you mean 'gaussian'"),
        ({"family": "gaussian", "sgima": 1}, "option of kernel family 'gaussian': 'sgima'; allowed: sigma"),
        ({"family": "gaussian", "sigma": "mean"}, "sigma must be a number or 'median', got 'mean'"),
        ({"family": "polynomial", "offset": True}, "offset must be a number, got True"),
        ({"family": "polynomial", "degree": "3"}, "degree must be an integer >= 1, got '3'"),
    ],
)
def test_bad_definitions_are_named(definition, message):
    with pytest.raises(InputError, match=message):
        check_definition(definition)
