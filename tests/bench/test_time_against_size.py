"""What the workflow asks of experiments on time against size, and of those that claims are decided by."""

import pytest

from configs import table_4_config, whole_config
from kdrbench.bench.config import check_config
from kdrbench.bench.experiment import is_scaling
from kdrbench.bench.grid import Grid
from kdrbench.bench.workflow import claim_records_of, scaling_reports_of, scaling_runs_of
from kdrbench.datasets.registry import load_registry
from kdrbench.errors import ConfigError


def limited(own, general):
    config = table_4_config()
    config["experiments"]["table4_supervised"]["limits"] = {"time_s": own}
    return config | {"limits": config["limits"] | {"time_s": general}}


@pytest.mark.parametrize(("own", "general", "holds"), [(60, 3600, "60"), (3600, 60, "60")])
def test_the_lower_time_limit_holds(own, general, holds):
    grid = Grid(limited(own, general))
    assert grid.time_limit_s("table4_supervised") == holds
    # Eleven times at most 61 s and the referee's share, and ten minutes; not eleven hours.
    assert 20 < grid.runtime_min(grid.bundles()[0]) < 40


def test_a_time_limit_of_nothing_is_refused():
    with pytest.raises(ConfigError, match=r"experiments\.table4_supervised\.limits\.time_s is 0; it must be greater"):
        check_config(limited(0, 60))


def test_only_one_size_differs_within_the_series_of_the_project():
    config, registry = whole_config(), load_registry()
    sizes = set()
    for name in filter(is_scaling, config["run"]):
        experiment = config["experiments"][name]
        assert experiment["limits"]["time_s"] <= 900
        for dataset in experiment["datasets"]:
            entry = registry[dataset]
            sizes.add((name, entry.n_samples, entry.n_features, experiment["components"][dataset]))
    assert {(d, q) for name, _, d, q in sizes if name in ("scaling", "scaling_factored")} == {(20, 4)}
    assert {(n, q) for name, n, _, q in sizes if name == "scaling_d"} == {(1000, 4)}
    # 4 components of 40 features are a run of `scaling_d`.
    assert {q for _, n, d, q in sizes if (n, d) == (1000, 40)} == {2, 4, 8, 16}


def test_reports_on_size_are_made_where_there_is_something_to_draw():
    assert scaling_reports_of(Grid(table_4_config())) == []
    grid = Grid(whole_config())
    assert scaling_runs_of(grid)[0] == "results/merged/scaling.csv"
    assert {"reports/complexity.tex", "reports/figures/scaling.json"} <= set(scaling_reports_of(grid))


def test_claims_are_decided_by_the_parts_that_the_configuration_has():
    whole = whole_config()
    assert claim_records_of(Grid(whole)) == {
        "runs": "results/runs.csv",
        "kpca": "results/kpca.csv",
        "lowrank": "results/lowrank.csv",
        "tricks": "reports/figures/kpca_figure5.json",
    }
    without = table_4_config() | {"kpca": whole["kpca"] | {"datasets": []}}
    without["lowrank"] = whole["lowrank"] | {"run": []}
    assert claim_records_of(Grid(without)) == {"runs": "results/runs.csv"}
