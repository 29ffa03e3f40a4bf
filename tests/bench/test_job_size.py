import pytest

from kdrbench.bench.job_size import runs_per_job, seconds_of_a_run

GAUSSIAN, LINEAR = {"family": "gaussian"}, {"family": "linear"}
WINE, CANCER, FACE, MNIST = (178, 13, 4), (683, 9, 5), (624, 960, 20), (10000, 784, 10)


def part(method, kernel=GAUSSIAN):
    return {"solver_definition": {"method": method}, "kernel_definition": kernel}


@pytest.mark.parametrize(
    ("shape", "method", "kernel", "jobs_of"),
    [
        (WINE, "ism", GAUSSIAN, 10),
        (WINE, "dimension_growth", GAUSSIAN, 10),
        (CANCER, "stiefel_cayley", GAUSSIAN, 10),
        (FACE, "ism", GAUSSIAN, 10),
        (FACE, "dimension_growth", GAUSSIAN, 1),
        (FACE, "my:Own", GAUSSIAN, 1),
        (MNIST, "ism", GAUSSIAN, 1),
        (MNIST, "ism", LINEAR, 10),
        (CANCER, "ism_2018", GAUSSIAN, 10),
        (FACE, "ism_2018", GAUSSIAN, 1),
        # Of a reference, which has no kernel, the method does not matter.
        (FACE, "dimension_growth", {}, 10),
        (MNIST, "svm", {}, 10),
    ],
)
def test_cheap_cells_share_a_job_and_dear_ones_fan_out(shape, method, kernel, jobs_of):
    assert runs_per_job("auto", 10, *shape, part(method, kernel), "supervised") == jobs_of


def test_what_is_asked_for_is_given():
    assert runs_per_job(3, 10, *MNIST, part("ism"), "supervised") == 3


def test_the_estimate_is_that_of_the_module():
    # 10 evaluations of 100^2 pairs with 7 + 3 numbers each, two operations a number, 1e10 a second.
    assert seconds_of_a_run(100, 7, 3, part("ism"), "supervised") == pytest.approx(10 * 2e4 * 10 / 1e10)
    assert seconds_of_a_run(100, 7, 3, part("ism", LINEAR), "supervised") == pytest.approx(10 * 2 * 700 * 10 / 1e10)
    assert seconds_of_a_run(100, 7, 3, part("ism"), "unsupervised") == pytest.approx(5 * 10 * 2e4 * 10 / 1e10)
    assert seconds_of_a_run(100, 7, 3, part("svm", {}), "unsupervised") == pytest.approx(2e4 * 10 / 1e10)
