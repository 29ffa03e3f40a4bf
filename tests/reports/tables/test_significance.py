import numpy as np
import pytest

from kdrbench.paired import corrected_t_p


def test_the_t_test_allows_for_overlapping_splits():
    # Mean .05, s = .01414, J = 2, ratio 1/2: t = .05 / .01414 with one degree of freedom.
    assert corrected_t_p([0.04, 0.06], 0.5) == pytest.approx(1 - 2 / np.pi * np.arctan(0.05 / np.sqrt(0.0002)))
    assert corrected_t_p(np.zeros(3), 0.5) == 1.0
    assert corrected_t_p(np.full(3, 0.5), 0.5) == 0.0
    assert corrected_t_p([0.1], 0.5) is None
