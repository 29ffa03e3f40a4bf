"""Canaries of kernels, of every evaluator, of starts and of the Gamma of each paradigm."""

from collections.abc import Callable, Mapping
from dataclasses import astuple
from typing import Any

import numpy as np

from contract.canary import canary, projection, samples
from kdrbench.errors import InputError
from kdrbench.evaluation import Evaluation, build_problem
from kdrbench.evaluation.bases import Landmarks
from kdrbench.evaluation.gaussian_sums import ClassSumsProblem
from kdrbench.kernels import build_kernel, gram_matrix, terms_of
from kdrbench.kernels.median import estimated_median_distance, median_distance
from kdrbench.paradigms import build_task
from kdrbench.problems import FactoredGamma, TraceObjective, integer_gamma, supervised_gamma, target_gamma
from kdrbench.samples import ArraySamples
from kdrbench.solvers import make_start
from kdrbench.solvers.geometry.certificate import certify
from kdrbench.solvers.registry import STARTS, eigengap_components

KERNELS: dict[str, list[dict[str, Any]]] = {
    "gaussian": [{}, {"sigma": "0.5 median"}, {"sigma": "estimated median"}, {"sigma": 1.3}],
    "linear": [{}],
    "squared": [{}],
    "multiquadric": [{}, {"offset": 0.7}],
    "polynomial": [{}, {"degree": 2, "offset": 0.5, "scale": 0.3}],
    "rbf_relative": [{}, {"neighbour": 3}],
    "combination": [
        {"members": [{"family": "gaussian"}, {"family": "polynomial"}], "weights": "alignment"},
        {"members": [{"family": "linear", "weight": 2.0}, {"family": "squared"}]},
    ],
}
EVALUATED = {
    "dense": ("gaussian", "polynomial", "rbf_relative", "combination"),
    "panels": ("gaussian", "multiquadric", "rbf_relative", "combination"),
    "factored": ("polynomial", "squared"),
    "monomial_sums": ("polynomial", "squared"),
    "class_sums": ("gaussian",),
    "low_rank": ("gaussian",),
    "grid": ("multiquadric",),
    "autograd": ("gaussian",),
    "pairwise_sum": ("polynomial",),
}


def _kernel_on(definition: Mapping[str, Any], features: Any, codes: Any) -> Any:
    return build_kernel(definition, features, 2, np.eye(3)[codes], seed=1)


def _of_kernel(definition: Mapping[str, Any]) -> dict[str, Any]:
    """Return the kernel matrix of projected samples, and of each term its weight, f, f' and f'' over some pairings."""
    features, codes = samples()
    kernel = _kernel_on(definition, features, codes)
    projected = features @ projection()
    beta = np.square(projected[:, :1] - projected[:, 1:].T) + 0.1
    found: dict[str, Any] = {"matrix": gram_matrix(kernel, projected)}
    for number, term in enumerate(terms_of(kernel)):
        of_beta = {name: getattr(term.kernel, name)(beta) for name in ("value", "derivative", "second_derivative")}
        found |= {f"{number} weight": term.weight, **{f"{number} {name}": array for name, array in of_beta.items()}}
    return found


def oracles_of(problem: Any, at: Any) -> dict[str, Any]:
    """Return all that a problem says at a projection; ``refused`` where its evaluator has no such oracle."""
    directions = np.cos(np.arange(2 * at.size)).reshape(2, *at.shape)
    asked = {
        "value": lambda: problem.value(at),
        "gradient": lambda: problem.gradient(at),
        "fused": lambda: problem.value_and_gradient(at)[1],
        "hessian-vector": lambda: problem.hessian_vector(at, directions[0]),
        "hessian-vectors": lambda: problem.hessian_vectors(at, directions),
        "hessian": lambda: problem.hessian(at, np.eye(len(at), 3)),
        "surrogate": lambda: problem.surrogate(at),
        "surrogate product": lambda: problem.surrogate_products(at)(directions[0]),
        "initial surrogate": problem.initial_surrogate,
    }
    return {name: _answer(ask) for name, ask in asked.items()}


def _answer(ask: Callable[[], Any]) -> Any:
    try:
        return ask()
    except (InputError, TypeError):
        return "refused"


def _of_evaluator(evaluator: str, family: str) -> dict[str, Any]:
    features, codes = samples()
    kernel = _kernel_on({"family": family, **KERNELS[family][0]}, features, codes)
    asked = Evaluation(evaluator=evaluator, tolerance=1e-10 if evaluator == "low_rank" else 0.0)
    given: Any = ArraySamples(features) if evaluator == "monomial_sums" else features
    problem = build_problem(TraceObjective(given, kernel, supervised_gamma(codes)), asked)
    return oracles_of(problem, projection())


def _of_start(name: str) -> dict[str, Any]:
    """Return WW', which is the same for all signs and rotations of W."""
    features, codes = samples()
    task = build_task("supervised", {}, features, codes)
    problem = task.first_problem(_kernel_on({"family": "gaussian"}, features, codes))
    start = make_start(name, problem, 2, np.random.default_rng(2))
    wide, labels = samples(24, 40)
    in_rows = build_problem(
        TraceObjective(wide, _kernel_on({"family": "gaussian"}, wide, labels), supervised_gamma(labels))
    )
    of_wide = make_start(name, in_rows, 2, np.random.default_rng(2))
    return {"projector": start @ start.T, "wide": of_wide @ of_wide.T}


def _of_second_order() -> dict[str, Any]:
    features, codes = samples()
    problem = build_problem(
        TraceObjective(features, _kernel_on({"family": "gaussian"}, features, codes), supervised_gamma(codes))
    )
    certificate = certify(problem, projection())
    return {name: getattr(certificate, name) for name in ("curvature", "eigengap", "eigengap_needed")} | {
        "components": eigengap_components(problem.initial_surrogate())
    }


def _of_gammas() -> dict[str, Any]:
    features, codes = samples()
    two = np.column_stack([codes, codes % 2])
    kernel = _kernel_on({"family": "gaussian"}, features, codes)
    return {
        "one-hot": supervised_gamma(codes).dense(),
        "kept diagonal": supervised_gamma(codes, zero_diagonal=False).dense(),
        "two columns": supervised_gamma(two).dense(),
        "integers": integer_gamma(codes).dense(),
        "targets": target_gamma(features[:, 0], kernel).dense(),
    }


def _streamed() -> dict[str, Any]:
    """Return the oracles of standardised samples in parts, which begin at 4096 rows, as a cluster would add them."""
    # Here, so that a base that has it elsewhere is timed on all other canaries.
    from kdrbench.samples.passes import ThreadEngine

    features, codes = samples(9000, 4)
    kernel = build_kernel({"family": "polynomial", "degree": 2}, features[:80], 2)
    objective = TraceObjective(ArraySamples(features).standardised(), kernel, supervised_gamma(codes))
    return oracles_of(build_problem(objective, Evaluation(engine=ThreadEngine(1))), projection(4))


def _rough(evaluator: str, q: int) -> dict[str, Any]:
    """Return what sums with a tolerance say. A larger tolerance means single precision."""
    features, codes = samples(300, 6)
    kernel = _kernel_on({"family": "gaussian"}, features, codes)
    asked = Evaluation(evaluator=evaluator, tolerance=9e-6)
    problem = build_problem(TraceObjective(features, kernel, supervised_gamma(codes)), asked)
    return oracles_of(problem, projection(6, q))


def _left_out() -> dict[str, Any]:
    """Return what class sums prove, of classes and of factors, and what these make of landmarks."""
    features, codes = samples()
    basis, tables, few = Landmarks(features[:5, :2]), np.cos(np.arange(30.0)).reshape(3, 2, 5), features[:9]
    found = {"mixed": basis.mixed(basis.features(few[:, 2:4].T), tables, few[:, :3])}
    for gamma in (supervised_gamma(codes), FactoredGamma(features[:, :3], np.array([1.0, -2.0, 0.5]))):
        problem = ClassSumsProblem(TraceObjective(features, _kernel_on({"family": "gaussian"}, features, codes), gamma))
        found[f"bounds of {len(gamma.table)}"] = np.array(astuple(problem.error_bound(projection())))
    return found


def _medians() -> dict[str, Any]:
    """Return medians of samples numerous enough that distances are counted, and that groups are drawn."""
    features = samples(2500, 3)[0]
    estimate = estimated_median_distance(samples(6000, 3)[0], np.random.default_rng(1))
    return {"counted": median_distance(features), "estimate": estimate.value, "error": estimate.standard_error}


CANARIES = [
    canary("evaluation dask in parts", "evaluation/dask evaluation/monomial_sums", _streamed),
    *(
        canary(f"evaluation {evaluator} rough {q}", f"evaluation/{evaluator}", _rough, evaluator, q)
        for evaluator in ("class_sums", "low_rank")
        for q in (1, 3)
    ),
    canary("evaluation class_sums left out", "evaluation/class_sums", _left_out),
    canary("kernel gaussian medians", "kernel/gaussian", _medians),
    *(
        canary(f"kernel {family} {number}", f"kernel/{family}", _of_kernel, {"family": family, **options})
        for family, choices in KERNELS.items()
        for number, options in enumerate(choices)
    ),
    *(
        canary(f"evaluation {how} {family}", f"evaluation/{how} kernel/{family}", _of_evaluator, how, family)
        for how, families in EVALUATED.items()
        for family in families
    ),
    *(canary(f"start {name}", f"start/{name} kernel/gaussian evaluation/dense", _of_start, name) for name in STARTS),
    canary("referee second order", "referee/ikdr", _of_second_order),
    canary("paradigm supervised gammas", "paradigm/supervised", _of_gammas),
]
