"""Grids, runs and jobs of one experiment, for tests of the systems beside kernel dimension reduction."""

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from kdrbench.datasets import load_dataset
from kdrbench.suite.engine.isolation.limits import Limits
from kdrbench.suite.engine.system import RunContext
from kdrbench.suite.experiments.config import load_grid
from kdrbench.suite.systems import build_system
from support.configs import whole_config
from support.one_batch import context_of, files_in, referee_in, run_batch

LIMITS = Limits(time_s=60.0, memory_mib=1024)
# Each set is read once for all tests, which must not change it.
data_of = cache(load_dataset)


def only(name, **changes):
    """The project's configuration with one of its experiments, changed."""
    config = whole_config()
    return config | {"run": [name], "experiments": {name: config["experiments"][name] | changes}}


def grid_of(name, **changes):
    return load_grid(only(name, **changes))


def results_of(batch, dataset, number=0, referee=None):
    """The results of a run by their keys, made in this process."""
    system = build_system(batch.system)
    with TemporaryDirectory() as folder:
        referee = referee or referee_in(Path(folder))
        run = system.prepare(batch, dataset, RunContext(LIMITS))(number)
        results = list(run.run(referee))
        assert len({result.key for result in results}) == len(results)
        by_key = {result.key: result for result in results}
        return run.judged(referee.files, by_key) if hasattr(run, "judged") else by_key


def job_of(batch, dataset, folder, limits=LIMITS, system=None):
    """The records of a job that makes one batch."""
    return run_batch(batch, dataset, context_of(limits), files_in(folder), system)
