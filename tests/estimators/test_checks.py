"""scikit-learn's own checks of every estimator, and of options that are code of their own."""

import pytest
from sklearn.utils.estimator_checks import check_estimator, parametrize_with_checks

from kdrbench.estimators import (
    DNE,
    LMNN,
    NCA,
    AlignedKernel,
    InterpretableKDR,
    InterpretableKDRCV,
    KPCATrick,
    LowRankKernelLearner,
)

# The checks' data have no clusters.
pytestmark = pytest.mark.filterwarnings("ignore:the clusters depend on the bandwidth", "ignore:the 4 starts disagree")
DEFAULTS = [InterpretableKDR(), NCA(), LMNN(), DNE(), AlignedKernel(), KPCATrick(), LowRankKernelLearner()]
LINEAR = InterpretableKDRCV(estimator=InterpretableKDR(kernel="linear"), n_components=[1], cv=2)
OTHERS = [
    InterpretableKDR(n_components=1, kernel="linear", solver="ism"),
    InterpretableKDR(kernel="polynomial", solver="sm_converged"),
    *(InterpretableKDR(paradigm=name, n_clusters=2) for name in ("unsupervised", "semi_supervised", "alternative")),
    AlignedKernel("polynomial", centred=False),
    KPCATrick("nca"),
    KPCATrick("dne", kernel="polynomial", selection="cross_validation", n_folds=2),
    KPCATrick(DNE(), selection=None, n_components=3),
    LowRankKernelLearner(divergence="von_neumann", solver="cyclic", n_constraints=5),
    LowRankKernelLearner(kernel="gaussian"),
    LMNN(max_iter=500),
    DNE(n_components=1),
]
OF_WEIGHTS = [f"check_sample_weight_equivalence_on_{kind}_data" for kind in ("dense", "sparse")]


def known_to_fail(estimator):
    """Return the checks that ask for what the method does not have, with the reason."""
    if getattr(estimator, "paradigm", "supervised") != "supervised":
        kinds = ("pandas_series", "not_an_array", "list", "shape", "not_overwritten")
        weights = ["check_all_zero_sample_weights_error", *(f"check_sample_weights_{kind}" for kind in kinds)]
        return dict.fromkeys([*OF_WEIGHTS, *weights], "sample_weight is for supervised learning")
    if getattr(estimator, "kernel", "") in ("linear", "polynomial") or isinstance(estimator, InterpretableKDRCV):
        return dict.fromkeys(OF_WEIGHTS, "with the dot product, pairs of copies of a sample are not constant")
    return {}


@parametrize_with_checks([*DEFAULTS, LINEAR], expected_failed_checks=known_to_fail)
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)


@pytest.mark.whole
@pytest.mark.parametrize("estimator", OTHERS, ids=str)
def test_scikit_learns_own_checks_of_other_options(estimator):
    check_estimator(estimator, on_skip=None, expected_failed_checks=known_to_fail(estimator))
