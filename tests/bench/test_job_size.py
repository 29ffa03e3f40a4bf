import pytest

from configs import table_4_config
from kdrbench.bench.grid import Grid
from kdrbench.bench.job_size import job_of, runs_per_batch, seconds_of_a_run
from kdrbench.errors import ConfigError

GAUSSIAN, LINEAR = {"family": "gaussian"}, {"family": "linear"}
WINE, CANCER, FACE, MNIST = (178, 13, 4), (683, 9, 5), (624, 960, 20), (10000, 784, 10)


def part(method, kernel=GAUSSIAN):
    return {"solver_definition": {"method": method}, "kernel_definition": kernel}


@pytest.mark.parametrize(
    ("shape", "method", "kernel", "runs"),
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
        # Of a baseline, which has no kernel, the method does not matter.
        (FACE, "dimension_growth", {}, 10),
        (MNIST, "svm", {}, 10),
    ],
)
def test_runs_of_a_cheap_cell_share_a_job_and_those_of_a_dear_one_fan_out(shape, method, kernel, runs):
    assert runs_per_batch("auto", 10, seconds_of_a_run(*shape, part(method, kernel), "supervised")) == runs


@pytest.mark.parametrize(
    ("shape", "method", "kernel", "job"),
    [
        (WINE, "dimension_growth", GAUSSIAN, "cheap"),
        (CANCER, "ism", GAUSSIAN, "cheap"),
        ((569, 30, 2), "stiefel_cayley", GAUSSIAN, "gaussian/cheap"),
        ((569, 30, 2), "svm", {}, "cheap"),
        (FACE, "ism", GAUSSIAN, "cheap"),
        (MNIST, "ism", LINEAR, "gaussian/ism/0-9"),
        # Ten runs of 10 s each: it is the cell that counts.
        ((569, 30, 2), "ism_2018", GAUSSIAN, "gaussian/ism/0-9"),
        (FACE, "dimension_growth", GAUSSIAN, "gaussian/ism/0-9"),
    ],
)
def test_cheap_cells_share_the_job_of_their_data_set_or_kernel(shape, method, kernel, job):
    seconds = seconds_of_a_run(*shape, part(method, kernel), "supervised")
    assert job_of(a_batch(), "auto", seconds) == f"table4_supervised/wine/{job}"


def a_batch():
    return Grid(table_4_config()).batches()[0]


def test_what_is_asked_for_is_given():
    assert runs_per_batch(3, 10, 1e9) == runs_per_batch(3, 10, 1e-9) == 3
    assert job_of(a_batch(), 10, 1e-9) == a_batch().path


def test_a_file_that_no_job_makes_is_answered_with_those_there_are():
    config = table_4_config()
    experiment = config["experiments"]["table4_supervised"]
    experiment |= {"folds_per_job": "auto", "datasets": ["wine"]}
    message = "unknown job 'table4_supervised/wine/gaussian/ism/0-9'; allowed: table4_supervised/wine/cheap.*share one"
    with pytest.raises(ConfigError, match=message):
        Grid(config).bundle("table4_supervised", "wine", "gaussian/ism/0-9")


def test_a_cell_that_comes_moves_no_other():
    config = table_4_config()
    experiment = config["experiments"]["table4_supervised"]
    experiment |= {"folds_per_job": "auto", "datasets": ["wine"], "kernels": ["gaussian"], "solvers": ["ism"]}
    (few,) = Grid(config).bundles()
    experiment["solvers"] = ["gm", "ism", "dg"]
    (more,) = Grid(config).bundles()
    assert few.path == more.path == "table4_supervised/wine/cheap"
    assert all(batch in more.batches for batch in few.batches)


def test_the_estimate_is_that_of_the_module():
    # 10 evaluations of 100^2 pairs with 7 + 3 numbers each, two operations a number, 1e10 a second.
    assert seconds_of_a_run(100, 7, 3, part("ism"), "supervised") == pytest.approx(10 * 2e4 * 10 / 1e10)
    assert seconds_of_a_run(100, 7, 3, part("ism", LINEAR), "supervised") == pytest.approx(10 * 2 * 700 * 10 / 1e10)
    assert seconds_of_a_run(100, 7, 3, part("ism"), "unsupervised") == pytest.approx(5 * 10 * 2e4 * 10 / 1e10)
    assert seconds_of_a_run(100, 7, 3, part("svm", {}), "unsupervised") == pytest.approx(2e4 * 10 / 1e10)
