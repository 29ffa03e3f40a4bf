"""The project's configuration, cut down to parts of it for tests."""

import copy
from functools import cache
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[2]
_SECTIONS = ("seed", "data", "limits", "timing", "kernels", "solvers", "baselines")


@cache
def _read():
    return yaml.safe_load((ROOT / "config.yaml").read_text())


def whole_config():
    """A copy that a test may change."""
    return copy.deepcopy(_read())


def ikdr_config():
    """Only the experiments of interpretable kernel dimension reduction, and what they need."""
    config = whole_config()
    experiments = {
        name: experiment
        for name, experiment in config["experiments"].items()
        if experiment.get("system", "ikdr") == "ikdr"
    }
    run = [name for name in config["run"] if name in experiments]
    return {key: config[key] for key in _SECTIONS} | {"run": run, "experiments": experiments}


def table_4_config(**changes):
    """Only the supervised part of NeurIPS 2019 Table 4, on Wine and Cancer, ten folds a job."""
    config = ikdr_config()
    experiment = config["experiments"]["table4_supervised"]
    experiment |= {"datasets": ["wine", "cancer"], "components": {"wine": 4, "cancer": 5}, "runs_per_job": 10}
    return config | {"run": ["table4_supervised"], "experiments": {"table4_supervised": experiment | changes}}


TABLE = "experiments.table4_supervised"


def changed_config(path, value):
    """The configuration of Table 4 with another value at a path; ``KeyError`` removes what is there."""
    config = table_4_config()
    *parents, last = path.split(".")
    place = config
    for key in parents:
        place = place[key]
    if value is KeyError:
        del place[last]
    else:
        place[last] = value
    return config
