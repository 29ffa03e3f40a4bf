import re

import numpy as np
import pytest

from kdrbench.errors import InputError
from kdrbench.evaluation.dense import DenseProblem
from kdrbench.kernels import Polynomial
from kdrbench.paradigms import supervised_problem
from support.helpers import KERNELS, random_projection, random_samples, small_problem


@pytest.mark.parametrize("name", KERNELS)
def test_the_first_surrogate_is_that_of_no_projection(name):
    problem = small_problem(name)
    reference = problem.surrogate(np.zeros((6, 2)))
    np.testing.assert_allclose(problem.initial_surrogate(), reference, atol=1e-12 * np.abs(reference).max())


def test_the_first_surrogate_does_not_vanish_with_the_slope():
    features, labels = random_samples()
    flat = supervised_problem(features, labels, Polynomial(degree=3, offset=0.0))
    linear = small_problem("linear")
    np.testing.assert_allclose(flat.initial_surrogate(), linear.initial_surrogate(), rtol=1e-12)


def test_counts_each_oracle_and_a_fresh_problem_counts_from_zero():
    problem, projection = small_problem(), random_projection()
    problem.value(projection)
    problem.gradient(projection)
    for _ in range(3):
        problem.value_and_gradient(projection)
    problem.hessian_vector(projection, projection)
    problem.hessian(projection, projection)
    problem.surrogate(projection)
    problem.initial_surrogate()
    fresh = problem.fresh()
    assert fresh.value(projection) == problem.value(projection)
    later = {"hessian_vector": 1, "hessian": 1, "surrogate": 2}
    assert vars(problem.counters) == {"value": 2, "gradient": 1, "value_gradient": 3, **later}
    assert problem.counters.total == 10
    assert vars(fresh.counters) == {"value": 1, "gradient": 0, "value_gradient": 0, **dict.fromkeys(later, 0)}


def test_a_projection_of_other_data_is_refused():
    for problem in (small_problem(), DenseProblem(small_problem().objective)):
        for oracle in ("value", "gradient", "value_and_gradient", "surrogate"):
            for wrong in (np.ones((5, 2)), np.ones(6), np.ones((6, 2, 1))):
                with pytest.raises(InputError, match=rf"must have 6 rows, got shape {re.escape(str(wrong.shape))}"):
                    getattr(problem, oracle)(wrong)
