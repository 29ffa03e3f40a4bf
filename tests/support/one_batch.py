"""Batches of one method on Wine, and what runs them, for tests of the engine."""

import contextlib
import fcntl
import time

import numpy as np

from kdrbench.suite.engine.batch import Bundle
from kdrbench.suite.engine.isolation.limits import Limits, Pauses
from kdrbench.suite.engine.job import run_job
from kdrbench.suite.engine.publish import JobFiles
from kdrbench.suite.engine.referee import Referee
from kdrbench.suite.engine.run_files import RunFiles
from kdrbench.suite.engine.system import RunContext
from kdrbench.suite.experiments.config import load_grid
from kdrbench.suite.systems import build_system
from support.configs import ikdr_config, table_4_config

# For runs that end by themselves: a machine that is busy or slow must not decide how.
LIMITS = Limits(time_s=600.0, memory_mib=256)
# For runs that reach their limit: tests wait for it.
SHORT = Limits(time_s=0.5, memory_mib=256)
IKDR = build_system("ikdr")


def grid_of(**changes):
    """The grid of Table 4 with these changes of its experiment; ``solvers`` and ``baselines`` may be definitions."""
    config, name = table_4_config(), "table4_supervised"
    return _grid(config, name, config["experiments"][name] | {"datasets": ["wine"], "baselines": []} | changes)


def _grid(config, name, experiment):
    for section in ("solvers", "baselines"):
        if isinstance(experiment.get(section), dict):
            config[section], experiment[section] = experiment[section], list(experiment[section])
    return load_grid(config | {"run": [name], "experiments": {name: experiment}})


def batches_on_all_rows(paradigm, dataset, components, **changes):
    """The batches of an experiment on all rows of a data set by their methods, ``it`` for ISM where nothing else is."""
    experiment = {"title": "All rows.", "paradigm": paradigm, "datasets": [dataset], "kernels": ["gaussian"]}
    experiment |= {"components": {dataset: components}, "split": "none", "start": "surrogate"}
    experiment |= {"solvers": {"it": {"method": "ism"}}} | changes
    return {batch.cell[-1]: batch for batch in _grid(ikdr_config(), "e", experiment).batches()}


def batch_of(method, *, folds=1, kernel="gaussian", evaluation=None, options=None):
    """The first ``folds`` of ten folds of one solver, called ``it``."""
    solvers = {"it": {"method": method} | (options or {})}
    changes = {"kernels": [kernel], "solvers": solvers, "runs_per_job": folds}
    return grid_of(**changes, **({} if evaluation is None else {"evaluation": evaluation})).batches()[0]


def files_in(folder):
    return JobFiles(folder / "rows.jsonl", folder / "traces.jsonl", folder / "findings.npz", folder / ".workspace")


def context_of(limits=LIMITS, repeat_for_s=0.0, **changes):
    """What a batch is run under, without calibration's tenth of a second."""
    return RunContext(limits, repeat_for_s, **({"calibrate": lambda: 0.02} | changes))


def referee_in(folder, time_s=60.0):
    """The referee of a run in this process, whose files are in a folder."""
    return Referee(Limits(time_s, 256), 0.0, Pauses(), RunFiles(folder))


def alone(batch):
    """The bundle of a job that makes one batch."""
    return Bundle(batch.path, (batch,))


def run_batch(batch, dataset, context, files, system=None):
    """The records of a job that makes one batch."""
    return run_job(system or build_system(batch.system), alone(batch), lambda name: dataset, context, files)


def workspace_of(files, batch):
    return files.workspace(batch, IKDR.record)


def arrays_in(files):
    with np.load(files.findings, allow_pickle=False) as archive:
        return dict(archive)


def wait_until_free(lock, within_s=30.0):
    """Wait until the guardian of a killed job's run, which holds the lock as well, has gone."""
    until = time.monotonic() + within_s
    with lock.open("w") as stream:
        while time.monotonic() < until:
            with contextlib.suppress(BlockingIOError):
                return fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            time.sleep(0.02)
    raise AssertionError(f"{lock} is still held")
