import copy
import dataclasses
import math

import pytest

from configs import table_4_config, whole_config
from kdrbench.bench.config import check_config
from kdrbench.bench.grid import Grid
from kdrbench.bench.plan import Batch
from kdrbench.errors import ConfigError

CONFIG = table_4_config()


def changed(path, value):
    config = copy.deepcopy(CONFIG)
    place = config
    *parents, last = path.split(".")
    for key in parents:
        place = place[key]
    if value is KeyError:
        del place[last]
    else:
        place[last] = value
    return config


TABLE = "experiments.table4_supervised"


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("sead", 1, r"config: unknown key: 'sead'; allowed: data, .*Did you mean 'seed'\?"),
        (
            "limits.tim_s",
            1,
            "config: unknown key in limits: 'tim_s'; allowed: budget_s, memory_mib, time_s. Did you mean 'time_s'",
        ),
        ("limits.time_s", 0, "config: limits.time_s is 0; it must be greater than 0"),
        ("limits.time_s", "3d", "config: limits.time_s is '3d'; it must be of type number"),
        ("limits.memory_mib", -1, "config: limits.memory_mib is -1; it must be greater than 0"),
        ("seed", KeyError, "config: the key 'seed' is missing"),
        ("limits.time_s", float("inf"), "config: limits.time_s is inf; it must be a finite number"),
        ("limits.time_s", float("nan"), "config: limits.time_s is nan; it must be a finite number"),
        ("run", ["table5"], "config: run: unknown experiment 'table5'; allowed: table4_supervised"),
        ("run", [], "config: run is \\[\\]; it must be a list of at least 1"),
        ("experiments", {}, "config: experiments must hold at least 1 entry"),
        ("experiments", {"table 4/x": {}}, "'table 4/x'; it must be a name of letters, digits, '-' and '_'"),
        (f"{TABLE}.datasets", ["flower"], "data set 'flower' has no labels; experiments need them"),
        (f"{TABLE}.datasets", ["gyrb"], "data set 'gyrb' has no features; experiments need them"),
        (f"{TABLE}.components.wines", 4, f"{TABLE}.components: unknown data set 'wines'"),
        ("timing.threads", 0, "config: timing.threads is 0; it must be at least 1"),
        (f"{TABLE}.fold", 3, f"unknown key in {TABLE}: 'fold'; allowed: .*Did you mean 'folds'"),
        (f"{TABLE}.folds", 1, f"{TABLE}.folds is 1; it must be at least 2"),
        (f"{TABLE}.folds", 100, "largest class of data set 'wine' has 71 samples, so it must be at most that"),
        ("limits.budget_s", 0, "config: limits.budget_s is 0; it must be greater than 0"),
        ("timing.strict", "no", "config: timing.strict is 'no'; it must be of type boolean"),
        (f"{TABLE}.timed", 1, f"{TABLE}.timed is 1; it must be of type boolean"),
        (f"{TABLE}.start", "phi", f"{TABLE}.start is 'phi'; it must be one of identity, random, surrogate"),
        (f"{TABLE}.datasets", ["wines"], f"{TABLE}.datasets: unknown data set 'wines'; allowed: balance, .*'wine'\\?"),
        (f"{TABLE}.datasets", [], f"{TABLE}.datasets is \\[\\]; it must be a list of at least 1"),
        (f"{TABLE}.datasets", ["wine", "wine"], "it must be a list without repetitions"),
        (f"{TABLE}.kernels", ["gausian"], f"{TABLE}.kernels: unknown kernel 'gausian'; allowed: .*'gaussian'\\?"),
        (
            f"{TABLE}.solvers",
            ["imm"],
            f"{TABLE}.solvers: unknown solver 'imm'; allowed: cg_converged, dg, .*, sm, sm_con",
        ),
        (f"{TABLE}.solvers", ["a/b"], "it must be a name of letters, digits"),
        (f"{TABLE}.components.wine", 14, "components.wine is 14; data set 'wine' has 13 features"),
        (f"{TABLE}.components.wine", 0, "wine is 0; it must be 'eigengap' or an integer of at least 1"),
        (f"{TABLE}.components.wine", KeyError, "names no number of components for data set 'wine'"),
        ("kernels.gaussian.sigma", -1, "config: kernels.gaussian: Gaussian sigma must be a finite number > 0, got -1"),
        ("kernels.gaussian.sgima", 1, "config: kernels.gaussian: unknown option of kernel family 'gaussian': 'sgima'"),
        ("solvers.ism.tolerence", 1, "config: solvers.ism: unknown option of solver method 'ism': 'tolerence'"),
        ("solvers.ism.method", "imm", "config: solvers.ism: unknown solver method 'imm'"),
        (f"{TABLE}.baselines", ["svn"], f"{TABLE}.baselines: unknown baseline 'svn'; allowed: .*mean 'svm'\\?"),
        (
            f"{TABLE}.baselines",
            ["svm", "spectral_clustering"],
            f"{TABLE}.baselines: 'spectral_clustering' is a baseline of clustering; this experiment is supervised, "
            "where these fit: kernel_pca_svm, lda, lda_svm, nca_svm, pca_svm, svm",
        ),
        ("baselines", KeyError, f"{TABLE}.baselines: unknown baseline 'svm'; allowed: "),
        ("baselines.svm.method", "svn", "config: baselines.svm: unknown baseline method 'svn'; allowed: kernel_pca"),
        ("baselines.svm", {}, "config: the key 'method' is missing in baselines.svm"),
        ("baselines.svm.penalty", -1, "config: baselines.svm: baseline option penalty must be a finite number > 0"),
        ("baselines.ism", {"method": "svm"}, "config: baselines.ism: a solver has this name too; give one of them"),
        ("kernels.none", {"family": "linear"}, "config: kernels.none: the name stands for the lack of a kernel; give"),
        ("solvers.dg.start", "phi", "config: solvers.dg.start is 'phi'; it must be one of identity, random, surrogate"),
        ("solvers.dg.variant", "fast", "config: solvers.dg: unknown solver option variant 'fast'; allowed"),
        ("solvers.ism.tolerance", -1, "config: solvers.ism: solver option tolerance must be a finite number > 0"),
    ],
)
def test_each_fault_is_one_sentence_with_key_value_and_what_is_allowed(path, value, message):
    with pytest.raises(ConfigError, match=message) as caught:
        check_config(changed(path, value))
    assert "\n" not in str(caught.value)


def test_an_experiment_may_do_without_baselines():
    config = changed(f"{TABLE}.baselines", [])
    check_config(config)
    assert all(batch.kind == "solver" for batch in Grid(config).batches())


def test_the_projects_own_configuration_is_valid():
    check_config(whole_config())


def test_the_whole_grid_is_that_of_the_papers():
    grid = Grid(whole_config())
    assert len({batch.path for batch in grid.batches()}) == len(grid.batches())
    runs = {name: sum(len(batch.folds) for batch in grid.batches(name)) for name in grid.experiments}
    assert runs == {
        # data sets x (kernels x solvers + baselines) x folds
        "table4_supervised": 4 * (2 * 8 + 3) * 10,
        "table4_unsupervised": 4 * (2 * 8 + 2),
        "table4_unsupervised_142": 2 * 5 * 10,
        "table5_supervised": 4 * 4 * 2 * 10,
        "table5_unsupervised": 4 * 4 * 2,
        "ismplus_table5": 4 * (9 + 3),
        "ismplus_table6": 4 * (9 + 2),
        "ismplus_eigengap": 4 * 2 * 2,
        "ismplus_eigengap_clusters": 4 * 2 * 2,
        "figure1a": 3 * 2,
        # sizes x solvers
        "scaling": 8 * 6,
        "scaling_factored": 8 * 5,
        "scaling_d": 7 * 5,
        "scaling_q2": 5,
        "scaling_q8": 5,
        "scaling_q16": 5,
    }


def test_grid_covers_every_fold_of_every_cell_once():
    config = changed(f"{TABLE}.folds_per_job", 4)
    batches = Grid(config).batches()
    axes = [axes for batch in batches for axes in batch.axes]
    assert len(axes) == len(set(axes)) == 2 * (2 * 8 + 3) * 10
    assert [batch.folds_label for batch in batches[:3]] == ["0-3", "4-7", "8-9"]
    assert len({batch.path for batch in batches}) == len(batches)


def test_baselines_come_after_the_solvers_of_their_data_set_once_for_all_kernels():
    batches = Grid(CONFIG).batches()
    assert [batch.path for batch in batches[16:19]] == [
        f"table4_supervised/wine/none/{name}/0-9" for name in ("svm", "lda_svm", "pca_svm")
    ]
    assert [batch.kind for batch in batches] == 2 * (16 * ["solver"] + 3 * ["baseline"])
    assert Grid(CONFIG).bundle("table4_supervised", "cancer", "none/svm/0-9").batches[0] in batches


def test_an_experiment_without_baselines_needs_no_definitions():
    config = changed("baselines", KeyError)
    del config["experiments"]["table4_supervised"]["baselines"]
    assert {batch.kind for batch in Grid(config).batches()} == {"solver"}


@pytest.mark.parametrize("place", [0, -1])
def test_a_batch_survives_its_journey_through_the_command_line(place):
    batch = Grid(CONFIG).batches()[place]
    assert Batch.from_json(batch.to_json()) == batch


def test_what_decides_results_is_in_the_batch_and_limits_are_not():
    def hashes(config):
        return {batch.path: batch.sha256 for batch in Grid(config).batches()}

    base = hashes(CONFIG)
    assert hashes(changed("limits.budget_s", 5)) == hashes(changed("timing.strict", False)) == base
    assert hashes(changed("limits.time_s", 5)) == hashes(changed("timing.repeat_for_s", 5)) == base
    tighter = hashes(changed("solvers.ism.tolerance", 0.5))
    assert {path for path in base if base[path] != tighter[path]} == {path for path in base if "/ism/" in path}
    assert not set(hashes(changed("seed", 1)).items()) & set(base.items())
    harder = hashes(changed("baselines.svm.penalty", 9))
    assert {path for path in base if base[path] != harder[path]} == {path for path in base if "/svm/" in path}
    elsewhere = hashes(changed(f"{TABLE}.start", "random"))
    # Baselines have no start, and published variants one of their own.
    own = ("/none/", "/dg/", "/sm/", "/gm/")
    same = {path for path in base if base[path] == elsewhere[path]}
    assert same == {path for path in base if any(name in path for name in own)}


def test_a_solvers_own_start_overrides_the_experiments():
    starts = {batch.solver: batch.start for batch in Grid(CONFIG).batches() if batch.kind == "solver"}
    assert {solver for solver, start in starts.items() if start == "random"} == {"dg", "sm", "gm"}
    assert {solver for solver, start in starts.items() if start == "surrogate"} == set(starts) - {"dg", "sm", "gm"}
    batches = {batch.solver: batch for batch in Grid(changed("solvers.dg.start", "identity")).batches()}
    assert batches["dg"].start == "identity"
    # It is no option of the method.
    assert batches["dg"].solver_definition == {"method": "dimension_growth", "variant": "published"}


def test_cluster_runtime_leaves_room_above_all_limits_of_a_batch():
    grid = Grid(changed("limits.time_s", 90))
    # 1.1 x (10 + 1) x 90.25 s of runs and referee, one of them twice, and ten minutes.
    assert grid.runtime_min(grid.bundles()[0]) == 19 + 10


def test_cluster_runtime_of_a_shared_job_is_not_the_sum_of_limits_that_its_cells_will_not_reach():
    config = changed("experiments.table4_supervised.folds_per_job", "auto")
    for limit_s, a_cell_s in ((90, 10 * 1.1 * 90.25), (259200, 1800)):
        config["limits"]["time_s"] = limit_s
        grid = Grid(config)
        bundle = grid.bundle("table4_supervised", "wine", "cheap")
        assert len(bundle.batches) == 19
        assert grid.runtime_min(bundle) == math.ceil((2 * 1.1 * (limit_s + 0.25) + 19 * a_cell_s) / 60) + 10


def test_a_definition_is_the_same_in_every_environment_and_with_every_source():
    first, other = (Grid(config).batches()[0] for config in (CONFIG, changed("solvers.ism.tolerance", 0.5)))
    elsewhere = dataclasses.replace(first, packages={"numpy": "9"}, sources_sha256="0")
    assert elsewhere.sha256 != first.sha256
    assert elsewhere.definition_sha256 == first.definition_sha256 != other.definition_sha256
