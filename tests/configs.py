"""The project's configuration, cut down to one experiment for tests."""

from pathlib import Path

import yaml

ROOT = Path(__file__).parents[1]


def whole_config():
    return yaml.safe_load((ROOT / "config.yaml").read_text())


def table_4_config():
    """Only the supervised part of NeurIPS 2019 Table 4, on Wine and Cancer, ten folds a job."""
    config = whole_config()
    experiment = config["experiments"]["table4_supervised"]
    experiment |= {"datasets": ["wine", "cancer"], "components": {"wine": 4, "cancer": 5}, "folds_per_job": 10}
    return config | {"run": ["table4_supervised"], "experiments": {"table4_supervised": experiment}}
