"""What runs leave: strikes against their files, and the files as the bench writes them."""

import json

import numpy as np

from kdrbench.status import Status
from kdrbench.suite.engine.batch import Bundle
from kdrbench.suite.engine.isolation.limits import Limits
from kdrbench.suite.engine.job import run_job
from kdrbench.suite.engine.publish import JobFiles
from kdrbench.suite.engine.run import RunResult, hand_over, read_results
from kdrbench.suite.engine.run_files import (
    Checkpoint,
    RunFiles,
    kept_checkpoint,
    read_array,
    read_trace,
    save_array,
    write_checkpoint,
)
from support.one_batch import context_of, referee_in
from support.tiny_system import DATA, TinySystem, tiny_batch

LIMITS = Limits(time_s=5.0, memory_mib=256)


def run(system, results, limits=LIMITS, batches=()):
    bundle = Bundle("e/cheap", tuple(batches) or (tiny_batch(runs=[0]),))
    return run_job(system, bundle, lambda name: DATA, context_of(limits), JobFiles.of(results, bundle.path))


class Strikes(TinySystem):
    """Hands good results over, then strikes."""

    def __init__(self, strike):
        self.strike = strike

    def run(self, batch, dataset, number, referee):
        referee.save("answer", np.array([15.0]))
        for key in batch.rows:
            yield RunResult(Status.CONVERGED, "well", 0.1, 0.1, {"answer": 15.0}, key)
        self.strike(referee)


class StrikesFirst(Strikes):
    """Strikes before it hands anything over."""

    def run(self, batch, dataset, number, referee):
        self.strike(referee)
        yield from (RunResult(Status.CONVERGED, "well", key=key) for key in batch.rows)


def line_of(key="first", **changes):
    values = {"status": "converged", "message": "well", "time_s": 0.1, "cpu_s": 0.1, "columns": {}, "key": [key]}
    values |= {"clocked_s": 0.1, "clocked_cpu_s": 0.1}
    return json.dumps(values | changes)


def npy(header):
    """A file of NumPy's with this header and eight bytes."""
    text = header.encode()
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + bytes(8)


def left_files(folder):
    """The files of a run as the bench writes them, with what reads each."""
    files = RunFiles(folder)
    folder.mkdir(parents=True, exist_ok=True)
    hand_over(referee_in(folder), RunResult(Status.CONVERGED, "well", 0.5, 0.4, {"answer": 1.5}, ("first",)))
    hand_over(referee_in(folder), RunResult(Status.STALLED, "as well", 0.5, 0.4, {}, ("second",)))
    files.trace.write_text("[0.1, -3.5, 0.01, 7]\n[0.2, -4.5, 0.001, 9]\n")
    save_array(files.array("projection"), np.asfortranarray(np.eye(5)[:, :2]))
    write_checkpoint(files.checkpoint, Checkpoint(1.5, 1.25, 3, {"state": np.arange(6.0), "rule": np.array(["a"])}))
    return {
        files.results: lambda: read_results(files),
        files.trace: lambda: read_trace(files.trace),
        files.array("projection"): lambda: read_array(files.array("projection")),
        files.checkpoint: lambda: kept_checkpoint(files.checkpoint),
    }
