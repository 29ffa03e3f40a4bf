"""Small problems of low-rank kernel learning, and minimisers found without any of its code."""

import numpy as np
from scipy.linalg import logm
from scipy.optimize import minimize

from kdrbench.lowrank import Stopping, diagonal, join, relative_distances, similarities, squared_distances
from support.numerics import constraints_in_order

TIGHT = Stopping(tolerance=1e-9, kkt_tolerance=1e-9, max_sweeps=50_000)
SLACKEN = {"<=": 0.3, ">=": -0.3, "=": 0.0}


def feasible_problem(seed, *, full_rank, senses=("<=", ">=", "="), n_constraints=4):
    """A factor G0 and constraints of all four kinds that another kernel of its range meets, some with room to spare."""
    rng = np.random.default_rng(seed)
    n = 5
    rank = n if full_rank else 3
    factor = rng.standard_normal((n, rank))
    other = factor @ (np.eye(rank) + 0.4 * rng.standard_normal((rank, rank)))
    kinds = [(squared_distances, 2), (similarities, 2), (relative_distances, 3), (diagonal, 1)]
    parts = []
    for build, width in rng.permutation(np.array(kinds, dtype=object))[:n_constraints]:
        samples = rng.choice(n, width, replace=False)[None, :]
        given = samples[0] if width == 1 else samples
        value = build(n, given, "=", 0.0).values(other)[0]
        sense = senses[rng.integers(len(senses))]
        parts.append(build(n, given, sense, value + SLACKEN[sense] * abs(value)))
    return constraints_in_order(factor, join(*parts))


def dense_matrices(constraints):
    """A_i as n x n arrays, entry by entry from the definition."""
    matrices = np.zeros((len(constraints), constraints.n_samples, constraints.n_samples))
    rows = constraints.vectors.toarray()
    for row, sign, owner in zip(rows, constraints.signs, constraints.owner, strict=True):
        matrices[owner] += sign * np.outer(row, row)
    return matrices


def divergence_of(kind, kernel, factor):
    """D(K, K0) in an orthonormal basis of K0's range, from the definitions and scipy's matrix functions."""
    left, singular, _ = np.linalg.svd(factor, full_matrices=False)
    basis = left[:, singular > 1e-9]
    inside, start = basis.T @ kernel @ basis, basis.T @ factor @ factor.T @ basis
    if kind == "burg":
        product = inside @ np.linalg.inv(start)
        return np.trace(product) - np.linalg.slogdet(product)[1] - len(start)
    return np.trace(inside @ (logm(inside) - logm(start)) - inside + start)


def minimiser(kind, factor, constraints, trace=None):
    """D of the nearest feasible kernel (of a ``trace``) by SLSQP over lower triangles L with X = L L' on K0's range."""
    left, singular, _ = np.linalg.svd(factor, full_matrices=False)
    basis, root = left, left.T @ factor
    start = root @ root.T
    rank = len(singular)
    matrices = np.einsum("ia,mij,jb->mab", basis, dense_matrices(constraints), basis)
    lower = np.tril_indices(rank)
    inverse, logarithm = np.linalg.inv(start), np.real(logm(start))

    def matrix(entries):
        triangle = np.zeros((rank, rank))
        triangle[lower] = entries
        return triangle, triangle @ triangle.T

    def objective(entries):
        triangle, inside = matrix(entries)
        if kind == "burg":
            value = np.sum(inverse * inside) - np.linalg.slogdet(inside)[1] + np.linalg.slogdet(start)[1] - rank
            slope = inverse - np.linalg.inv(inside)
        else:
            values, vectors = np.linalg.eigh(inside)
            logs = (vectors * np.log(np.maximum(values, 1e-300))) @ vectors.T
            value = np.sum(inside * (logs - logarithm)) - np.trace(inside) + np.trace(start)
            slope = logs - logarithm
        return value, (2 * slope @ triangle)[lower]

    def held(number, sign):
        def excess(entries):
            return sign * (np.sum(matrices[number] * matrix(entries)[1]) - constraints.bounds[number])

        def slope(entries):
            return sign * (2 * matrices[number] @ matrix(entries)[0])[lower]

        return excess, slope

    rules = []
    for number, sense in enumerate(constraints.senses):
        excess, slope = held(number, -1.0 if sense == "<=" else 1.0)
        rules.append({"type": "eq" if sense == "=" else "ineq", "fun": excess, "jac": slope})
    if trace is not None:
        total = {"fun": lambda entries: entries @ entries - trace, "jac": lambda entries: 2 * entries}
        rules.append({"type": "eq"} | total)
    options = {"maxiter": 1000, "ftol": 1e-14}
    started = np.linalg.cholesky(start)[lower]
    found = minimize(objective, started, jac=True, constraints=rules, method="SLSQP", options=options)
    return found.fun, max(0.0, *(abs(r["fun"](found.x)) if r["type"] == "eq" else -r["fun"](found.x) for r in rules))
