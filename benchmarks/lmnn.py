"""LMNN's objective and CPU time: ours, and projected subgradients over M as in the paper of LMNN, in one run.

    python benchmarks/lmnn.py

Both minimise the same objective from the identity. The independent one takes a subgradient of M from an active set of
triples, clips negative eigenvalues, and lengthens or halves its step as f falls or not; it ends after 1000 steps or
when its step has become negligible. Times are those until each first reaches within 1 % of the best f found by anyone.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import numpy as np

from kdrbench.datasets import load_dataset
from kdrbench.kernels.family import FloatArray
from kdrbench.metric_learning import (
    LMNNObjective,
    SamplePairs,
    kernel_pca,
    lmnn_objective,
    lmnn_optimum,
    scaled_gaussian,
)
from kdrbench.metric_learning.learner import inverse_scale
from kdrbench.metric_learning.lmnn import descend
from kdrbench.suite.engine.seeds import rng_of

NEAR = 1.01
STEPS = 1000
REFRESH = 10


@dataclass
class Trace:
    """Values of f with the CPU seconds at which they were known."""

    values: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)

    def until(self, value: float) -> float:
        """Return when f first was at most ``value``; infinity if never."""
        reached = [second for second, one in zip(self.seconds, self.values, strict=True) if one <= value]
        return reached[0] if reached else np.inf


def main() -> None:
    """Print a Markdown table."""
    print("| data | n x D | f, ours | f, independent | proved gap | CPU s, ours | CPU s, independent |")
    print("|---|---|---|---|---|---|---|")
    for name, kernelised in (("iris", False), ("balance", False), ("ionosphere", False), ("iris", True)):
        objective = problem(name, kernelised)
        mine, other = ours(objective), independent(objective)
        best = min(*mine.values, *other.values)
        # In 97 dimensions the optimum takes minutes, and no one wants it.
        gap = "-" if kernelised else f"{lmnn_optimum(objective, 1e-4).relative_gap:.0e}"
        seconds, late = mine.until(NEAR * best), other.until(NEAR * best)
        n, d = objective.features.shape
        title = name + (", Gaussian" if kernelised else "")
        words = f"{late:.3g} (x {late / seconds:.3g})" if np.isfinite(late) else "not reached"
        print(f"| {title} | {n} x {d} | {min(mine.values):.6g} | {min(other.values):.6g} ", end="")
        print(f"| {gap} | {seconds:.3g} | {words} |", flush=True)


def problem(name: str, kernelised: bool) -> LMNNObjective:
    """Return LMNN with three neighbours on 100 or 200 scaled samples, or on their coordinates at sigma = 1."""
    data = load_dataset(name)
    rows = rng_of("lmnn benchmark", name).permutation(len(data.labels))[: 100 if name == "iris" else 200]
    features = data.features[rows]
    if kernelised:
        gram = SamplePairs(features, features).gram(scaled_gaussian(1.0, features.shape[1]), up_to_constant=True)
        features = kernel_pca(gram).transform(gram)
    return lmnn_objective(inverse_scale(features) * (features - features.mean(axis=0)), data.labels[rows], 3)


def ours(objective: LMNNObjective) -> Trace:
    """Return f after each number of steps of L-BFGS, each number of steps from the beginning, and its own time."""
    trace = Trace()
    for steps in (5, 10, 20, 40, 80, 160, 320):
        before = time.process_time()
        projection, _ = descend(objective, np.eye(objective.features.shape[1]), steps)
        trace.seconds.append(time.process_time() - before)
        trace.values.append(objective.value_and_gradient(projection)[0])
    return trace


def independent(objective: LMNNObjective) -> Trace:
    """Return f along projected subgradients over M."""
    features, codes = objective.features, objective.codes
    rows, columns = np.nonzero(objective.targets >= 0)
    pairs = np.column_stack([rows, objective.targets[rows, columns]])
    trace, before = Trace(), time.process_time()
    metric, step, best = np.eye(features.shape[1]), 1e-3, np.inf
    pulled = _outer(features, pairs[:, 0], pairs[:, 1])
    for number in range(STEPS):
        squared = _distances(features, metric)
        if number % REFRESH == 0:
            # Triples that are violated or nearly so; the others are looked at again after some steps.
            slack = 2.0 + squared[pairs[:, 0], pairs[:, 1]][:, None] - squared[pairs[:, 0]]
            which, impostors = np.nonzero((slack > 0) & (codes[pairs[:, 0]][:, None] != codes))
            near, far = pairs[which], np.column_stack([pairs[which, 0], impostors])
        slack = 1.0 + squared[tuple(near.T)] - squared[tuple(far.T)]
        active = slack > 0
        value = float(squared[tuple(pairs.T)].sum() + slack[active].sum())
        if value < best:
            best, kept, step = value, metric, 1.05 * step
            subgradient = pulled + _outer(features, *near[active].T) - _outer(features, *far[active].T)
        else:
            step *= 0.5
        # The active set may have missed a triple: f itself is what is noted.
        trace.values.append(objective.value_and_gradient(_root(kept))[0] if number % REFRESH == 0 else np.inf)
        trace.seconds.append(time.process_time() - before)
        if step < 1e-9:
            break
        values, vectors = np.linalg.eigh(kept - step / len(features) * subgradient)
        metric = (vectors * np.maximum(values, 0.0)) @ vectors.T
    trace.values.append(objective.value_and_gradient(_root(kept))[0])
    trace.seconds.append(time.process_time() - before)
    return trace


def _distances(features: FloatArray, metric: FloatArray) -> FloatArray:
    products = features @ metric @ features.T
    lengths = np.diagonal(products)
    squared: FloatArray = lengths[:, None] + lengths - 2.0 * products
    return squared


def _outer(features: FloatArray, first: np.ndarray, second: np.ndarray) -> FloatArray:
    """Return the sum of (x_i - x_j)(x_i - x_j)' over pairs, by counting how often each pair occurs."""
    counts = np.zeros((len(features),) * 2)
    np.add.at(counts, (first, second), 1.0)
    counts += counts.T
    form: FloatArray = features.T @ (np.diag(counts.sum(axis=1)) - counts) @ features
    return form


def _root(metric: FloatArray) -> FloatArray:
    values, vectors = np.linalg.eigh(metric)
    root: FloatArray = vectors * np.sqrt(np.maximum(values, 0.0))
    return root


if __name__ == "__main__":
    main()
