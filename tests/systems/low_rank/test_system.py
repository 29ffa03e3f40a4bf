"""Low-rank kernel learning as a system: its configuration, the draws, and rows whatever becomes of a run."""

import numpy as np
import pytest

from kdrbench.datasets import Dataset, load_dataset
from kdrbench.errors import ConfigError
from kdrbench.lowrank import LowRankStatus, squared_distances
from kdrbench.suite.engine.batch import Batch
from kdrbench.suite.engine.isolation.limits import Limits
from kdrbench.suite.engine.record import read_records
from kdrbench.suite.experiments.config import checked, load_grid
from kdrbench.suite.systems.low_rank.run import learn, make_task, quality_of, reference_distance, two_fold_accuracy
from kdrbench.suite.systems.low_rank.system import LowRankRecord
from support.configs import whole_config
from support.one_batch import files_in
from support.system_cases import data_of, grid_of, job_of, only, results_of

PLACE = "config: experiments.lowrank_gyrb"


def batch_of(method="von_neumann", **changes):
    """The runs of a method on the stand-in for gyrB with 0 and 4 constraints."""
    small = {"constraints": [0, 4], "methods": ["von_neumann", "definite_boost_own_range"], "runs": 2}
    batches = grid_of("lowrank_gyrb", **small | changes).batches()
    return next(batch for batch in batches if batch.cell == (method,))


def test_what_is_wrong_with_an_experiment_is_said():
    for changes, message in [
        ({"methods": ["bourg"]}, f"{PLACE}.methods: unknown method 'bourg'. Did you mean 'burg'"),
        ({"datasets": ["gyrb_standin"]}, f"{PLACE}.datasets: unknown data set 'gyrb_standin'. Did you mean 'gyrb-stan"),
        ({"constraints": [2000]}, f"{PLACE}.constraints asks for 2000; the 52 samples of 'gyrb-standin' have 1326 pai"),
        ({"sample": 40}, f"{PLACE}.sample: data set 'gyrb-standin' must have features, and at least 40 samples"),
        ({"datasets": ["flower"]}, f"{PLACE}.datasets: data set 'flower' has no labels; constraints come"),
    ]:
        with pytest.raises(ConfigError, match=message):
            checked(only("lowrank_gyrb", **changes))


def test_what_is_wrong_with_a_method_is_said():
    for method, message in [
        ({}, "config: low_rank_methods.mine must hold either divergence and"),
        ({"solver": "cyclic", "trace": 1}, "config: low_rank_methods.mine.trace is a constraint of von_neumann; leave"),
    ]:
        config = only("lowrank_gyrb")
        config["low_rank_methods"]["mine"] = {"rule": "kkt", "divergence": "burg", **method}
        with pytest.raises(ConfigError, match=message):
            checked(config)


def test_experiments_are_expanded_to_a_cell_for_each_method():
    config = whole_config()
    names = [name for name in config["run"] if name.startswith("lowrank_")]
    grid = load_grid(config)
    for name in names:
        methods = config["experiments"][name]["methods"]
        # Long runs of a cell make several batches.
        assert list(dict.fromkeys(batch.cell for batch in grid.batches(name))) == [(method,) for method in methods]
    digits = grid.batches("lowrank_digits")[0]
    assert digits.path == "lowrank_digits/digits/burg/0-19"
    assert digits.axes[:2] == [("lowrank_digits", "digits", "burg", 0, 0), ("lowrank_digits", "digits", "burg", 0, 25)]
    assert len(digits.axes) == 20 * 9
    assert Batch.from_json(digits.to_json()) == digits
    assert grid.limits("lowrank_digits") == Limits(600.0, 2048.0)
    components = {batch.cell[0]: {*batch.revisions} for batch in grid.batches("lowrank_gyrb")}
    shared = {"splits/low_rank", "referee/low_rank"}
    assert components["burg"] - shared == {"divergence/burg", "projection/cyclic"}
    assert components["definite_boost_exact"] - shared == {"boosting/definite_boost"}


def test_draws_are_named_by_the_experiment_or_the_data_set():
    draws = {name: grid_of(name).batches()[0].definition["draw"] for name in ("lowrank_gyrb", "lowrank_rank_80")}
    assert draws == {"lowrank_gyrb": "gyrb", "lowrank_rank_80": "rank_80"}
    config = only("lowrank_gyrb")
    del config["experiments"]["lowrank_gyrb"]["draw"]
    assert load_grid(config).batches()[0].definition["draw"] == "gyrb-standin"


def test_methods_share_constraints_and_runs_do_not():
    task, again, other = (make_task(draw, "kernel", data_of("gyrb-standin")) for draw in ("gyrb", "gyrb", "x"))
    drawn = task.constraints(20, 3, 0)
    assert drawn.names == again.constraints(20, 3, 0).names
    for others in (task.constraints(20, 4, 0), task.constraints(20, 3, 1), other.constraints(20, 3, 0)):
        assert drawn.names != others.names
    assert len(task.constraints(0, 0, 0)) == 0
    # The true kernel, of trace one, meets them all; the start, of trace one too, does not.
    assert drawn.violations(task.target).max() <= 1e-12
    assert drawn.violations(task.start).max() > 1e-3
    assert np.sum(task.start**2) == pytest.approx(1.0)


def test_the_published_rule_takes_an_infeasible_set_for_solved():
    factor = np.random.default_rng(0).standard_normal((6, 3))
    asked = squared_distances(6, [(0, 1), (1, 2), (0, 2)], ["<=", "<=", ">="], [0.1, 0.1, 4.0])
    definition = {"divergence": "burg", "solver": "cyclic"}
    published = learn({**definition, "rule": "published"}, factor, asked, compiled=False)
    converged = learn({**definition, "rule": "converged"}, factor, asked, compiled=False)
    assert (published.status, converged.status) == (LowRankStatus.CONVERGED, LowRankStatus.INFEASIBLE)
    assert published.dual_change < 1e-3 < 1 < published.largest_violation


def test_methods_of_trace_one_are_after_one_kernel_by_one_rule():
    config = whole_config()
    names = config["experiments"]["lowrank_gyrb_boost"]["methods"]
    defined = [config["low_rank_methods"][name] for name in names]
    assert {method["rule"] for method in defined} == {"kkt"}
    task = make_task("gyrb_boost", "kernel", data_of("gyrb-standin"))
    asked = task.constraints(4, 0, 0)
    for method in defined:
        learned = learn(method, task.start, asked, compiled=False)
        assert learned.status is LowRankStatus.CONVERGED
        assert learned.kkt_residual <= 1e-3
        assert np.trace(learned.kernel) == pytest.approx(1.0)
        assert reference_distance(method, task.start, asked, learned.factor) < 1e-3
        assert reference_distance(method, task.start, asked, 1.1 * learned.factor) == pytest.approx(0.21, abs=0.01)
    assert np.isnan(reference_distance(config["low_rank_methods"]["burg"], task.start, asked, task.start))


@pytest.mark.slow("compiles the sweeps in a fresh checkout")
def test_a_row_has_the_final_rank_and_the_target_accuracy():
    both = results_of(batch_of("von_neumann_trace", methods=["von_neumann_trace"]), data_of("gyrb-standin"))
    columns = [both[count,].columns for count in (0, 4)]
    assert {one["learned_rank"] for one in columns} == {52}
    assert len({one["target_accuracy"] for one in columns}) == 1
    assert 0.5 < columns[0]["target_accuracy"] <= 1.0
    assert columns[0]["reference_distance"] == pytest.approx(0.0, abs=1e-12)
    assert make_task("wine", "features", load_dataset("wine")).target is None


def test_scores_are_perfect_on_apart_classes_and_poor_on_noise():
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1], 30)
    apart = 100.0 * labels[:, None] + rng.standard_normal((60, 2))
    assert quality_of(apart, labels, rng) == {"accuracy": 1.0, "nmi_one_start": 1.0, "nmi_ten_starts": 1.0}
    assert two_fold_accuracy(rng.standard_normal((60, 2)), labels, rng) < 0.8


def test_a_batch_leaves_a_row_for_each_number_of_constraints(tmp_path):
    batch = batch_of()
    records = job_of(batch, data_of("gyrb-standin"), tmp_path)
    assert [record.axes for record in records] == batch.axes
    assert records == read_records(files_in(tmp_path).records, LowRankRecord)
    assert {(record.status, record.outcome) for record in records} == {("converged", "converged")}
    assert [record.sweeps > 0 for record in records] == [False, True, False, True]
    assert all(0 <= record.nmi_ten_starts <= 1 and record.cpu_s > 0 for record in records)
    assert {(record.n_samples, record.rank) for record in records} == {(52, 52)}
    assert records[1].compiled_sweeps == records[1].sweeps
    # All runs inherit what their job has loaded or compiled once.
    assert len({record.compile_s for record in records}) == 1
    assert records[0].compile_s > 0


def test_a_draw_is_the_same_whatever_else_the_run_learns_from():
    alone, both = (
        results_of(batch_of(constraints=counts), data_of("gyrb-standin"), number=1) for counts in ([4], [0, 4])
    )
    first, second = alone[4,], both[4,]
    assert (first.status, first.message, first.columns) == (second.status, second.message, second.columns)


def test_each_run_draws_other_samples():
    config = only("lowrank_gyrb", datasets=["wine"], sample=40, constraints=[0, 4])
    batch = next(batch for batch in load_grid(config).batches() if batch.cell == ("burg",))
    first, other = (results_of(batch, data_of("wine"), number=number)[4,].columns for number in (0, 1))
    assert first["nmi_ten_starts"] != other["nmi_ten_starts"]
    task = make_task("gyrb", "features", data_of("wine")).sampled(40, 1, 0)
    assert (task.start.shape, len(task.labels)) == ((40, 13), 40)


def test_what_a_method_raises_is_a_row(tmp_path):
    # Bounds beyond the reach of kernels of trace one, which DefiniteBoost refuses.
    features = np.kron(np.eye(2), np.ones((5, 1))) + 0.1 * np.random.default_rng(0).standard_normal((10, 2))
    tiny = Dataset("wine", features, np.repeat([0, 1], 5), ("a", "b"), ("c", "d"))
    batch = batch_of("definite_boost_own_range", datasets=["wine"], constraints=[40], runs=1)
    batch = Batch(**{**batch.__dict__, "data_sha256": tiny.content_sha256})
    (record,) = job_of(batch, tiny, tmp_path)
    assert (record.status, record.accuracy, record.sweeps, record.time_s) == ("failed", None, None, None)
    assert record.message.startswith("InputError: DefiniteBoost is for constraints of rank one whose bounds are below")
    assert (record.n_samples, record.rank) == (10, 2)


def test_a_run_at_its_limit_leaves_what_it_had_learned(tmp_path):
    config = only("lowrank_gyrb", constraints=[0, 25], methods=["slow"], runs=1)
    config["low_rank_methods"]["slow"] = {"step": "symmetric", "rule": "converged", "max_sweeps": 1_000_000}
    (batch,) = load_grid(config).batches()
    records = job_of(batch, data_of("gyrb-standin"), tmp_path, Limits(1.0, 2048))
    assert [(record.n_constraints, record.status) for record in records] == [(0, "converged"), (25, "time_limit")]
    assert records[1].accuracy is None
    assert records[1].rank == 52


def test_the_estimated_time_grows_with_rank_and_constraints():
    # Measured, all rows of a run together.
    for name, method, measured_s in (
        ("lowrank_rank_640", "von_neumann", 7.0),
        ("lowrank_rank_640", "burg", 0.5),
        ("lowrank_digits", "von_neumann", 1.2),
        ("lowrank_gyrb_boost", "definite_boost", 19.0),
        ("lowrank_size_500", "burg", 0.03),
    ):
        grid = grid_of(name)
        (estimated_s,) = {grid.estimated_s(batch) for batch in grid.batches() if batch.cell == (method,)}
        assert measured_s / 10 < estimated_s < 10 * measured_s
