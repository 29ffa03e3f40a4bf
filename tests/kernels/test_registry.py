import numpy as np
import pytest

from kdrbench.errors import InputError
from kdrbench.kernels import Combination, Gaussian, Pairing, Polynomial, Term, median_distance, neighbour_distances
from kdrbench.kernels.combination import aligned_weights
from kdrbench.kernels.registry import build_kernel, check_definition, own_modules
from support import own_methods

FEATURES = np.random.default_rng(0).standard_normal((12, 3))


def test_options_and_members_are_found_from_the_data():
    assert build_kernel({"family": "gaussian"}, FEATURES, 2) == Gaussian(median_distance(FEATURES))
    assert build_kernel({"family": "polynomial"}, FEATURES, 4) == Polynomial(3, 1.0, 0.25)
    assert build_kernel({"family": "gaussian", "sigma": 3}, FEATURES, 2) == Gaussian(3.0)
    assert build_kernel({"family": "polynomial", "degree": 2, "scale": 1}, FEATURES, 2) == Polynomial(2, 1.0, 1.0)
    np.testing.assert_array_equal(
        build_kernel({"family": "rbf_relative"}, FEATURES, 2).sigmas, neighbour_distances(FEATURES, 7)
    )
    members = [{"family": "gaussian", "weight": 2}, {"family": "polynomial"}]
    built = build_kernel({"family": "combination", "members": members}, FEATURES, 4)
    gaussian, polynomial = Gaussian(median_distance(FEATURES)), Polynomial(3, 1.0, 0.25)
    assert built == Combination((Term(2.0, gaussian), Term(1.0, polynomial)))


def test_a_projected_bandwidth_counts_the_features_that_vary():
    features = np.random.default_rng(0).standard_normal((50, 8))
    median = build_kernel({"family": "gaussian"}, features, 2).sigma
    # More than four components are wider, but not wider than all features.
    cases = [("", 2, 2 / 8), ("0.5 ", 2, 2 / 8), ("", 4, 4 / 8), ("", 5, 5 / 8 * 5 / 4), ("", 7, 1.0)]
    for share, q, expected in cases:
        sigma = build_kernel({"family": "gaussian", "sigma": f"{share}projected"}, features, q).sigma
        assert sigma == pytest.approx(float(share or 1) * median * np.sqrt(expected), rel=1e-12)
    constant = np.column_stack([features, np.ones((50, 24))])
    assert build_kernel({"family": "gaussian", "sigma": "projected"}, constant, 2).sigma == pytest.approx(median / 2)


@pytest.mark.parametrize(
    ("definition", "message"),
    [
        ({"family": "gausian"}, r"unknown kernel family 'gausian'. Did you mean 'gaussian'"),
        (
            {"family": "gaussian", "sgima": 1},
            "option of kernel family 'gaussian': 'sgima'. Did you mean 'sigma'. Allowed: sigma",
        ),
        (
            {"family": "gaussian", "sigma": "mean"},
            "unknown sigma 'mean'. Did you mean 'median'. Allowed: median, exact median, .*A number > 0 is allowed",
        ),
        ({"family": "combination", "members": 3}, "members must be a list of kernel definitions, got 3"),
        ({"family": "combination", "members": [{"family": ["x"]}]}, r"unknown kernel family \['x'\]"),
        ({"family": "combination", "members": []}, r"must be a list of kernel definitions, got \[\]"),
        ({"family": "combination", "members": [{"family": "linear", "weight": 0}]}, "one of them > 0; got .0.0."),
        (
            {"family": "combination", "members": [{"family": "linear"}], "weights": "x"},
            "'given' or 'alignment', got 'x'",
        ),
        (
            {"family": "combination", "members": [{"family": "linear", "weight": 1}], "weights": "alignment"},
            "members have no weight of their own",
        ),
        ({"family": "rbf_relative", "neighbour": 0}, "neighbour must be an integer >= 1, got 0"),
        ({"family": "combination", "members": [{"family": "gausian"}]}, "unknown kernel family 'gausian'"),
        ({"family": "combination", "members": [{"family": "linear", "weight": -1}]}, "got .-1.0."),
        ({"family": "polynomial", "offset": True}, "offset must be a number, got True"),
        ({"family": "polynomial", "degree": "3"}, "degree must be an integer between 1 and 1000, got '3'"),
    ],
)
def test_bad_definitions_are_named(definition, message):
    with pytest.raises(InputError, match=message):
        check_definition(definition)


def test_a_definition_is_judged_by_the_samples_alone():
    check_definition({"family": "rbf_relative", "neighbour": 500})
    with pytest.raises(InputError, match="need more than 500 samples, got 12"):
        build_kernel({"family": "rbf_relative", "neighbour": 500}, FEATURES, 2)
    member = {"family": "gaussian", "sigma": 1e12}
    check_definition({"family": "combination", "members": [member], "weights": "alignment"})


def test_weights_by_alignment_need_labels_and_use_them():
    members = [{"family": "gaussian"}, {"family": "polynomial"}]
    definition = {"family": "combination", "members": members, "weights": "alignment"}
    with pytest.raises(InputError, match="need labels, which only supervised learning has"):
        build_kernel(definition, FEATURES, 2)
    target = np.eye(2)[np.arange(12) % 2] - 0.5
    built = build_kernel(definition, FEATURES, 2, target)
    kernels = [build_kernel(member, FEATURES, 2) for member in members]
    assert [term.weight for term in built.terms] == aligned_weights(kernels, FEATURES, target).tolist()


def test_what_is_no_kernel_is_refused_and_what_is_one_is_taken():
    class Lacking:
        """No second derivative."""

        pairing, value, derivative = Pairing.DOT, np.exp, np.exp

    for wrong in (Gaussian, Lacking(), 3):
        with pytest.raises(InputError, match="a kernel must be a family's name, a definition, or an object with"):
            build_kernel(wrong, FEATURES, 2)
    assert build_kernel(kernel := Gaussian(sigma=1.0), FEATURES, 2) is kernel
    assert build_kernel(both := Combination((Term(1.0, kernel),)), FEATURES, 2) is both


def test_own_families_are_found_among_the_members(tmp_path):
    (tmp_path / "rational.py").write_text(own_methods.KERNEL)
    own = f"{tmp_path / 'rational.py'}:Rational"
    assert own_modules({"family": "gaussian"}) == {}
    members = [{"family": "gaussian"}, {"family": own}]
    found = own_modules({"family": "combination", "members": members})
    assert found == own_modules({"family": own})
    assert len(found) == 1
    check_definition({"family": own})
