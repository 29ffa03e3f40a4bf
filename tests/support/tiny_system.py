"""The smallest system there is: two rows a run, the second of which fails where its definition says so."""

import os
import signal
import time
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kdrbench.datasets import Dataset
from kdrbench.status import Status
from kdrbench.suite.engine.batch import Batch
from kdrbench.suite.engine.record import Record
from kdrbench.suite.engine.run import RunResult
from kdrbench.suite.engine.system import Cell, System
from support.made_up import record_of

HALVES = (("first",), ("second",))
DATA = Dataset("tiny", np.arange(6.0).reshape(3, 2), np.array([0, 1, 0]), ("a", "b"), ("x", "y"))


@dataclass(frozen=True, kw_only=True)
class TinyRecord(Record):
    SCHEMA_VERSION: ClassVar[int] = 4
    CELL: ClassVar[tuple[str, ...]] = ("method",)
    KEYS: ClassVar[tuple[str, ...]] = ("half",)

    method: str
    half: str
    n_samples: int
    answer: float | None = None


class TinySystem(System):
    """``answer`` is what the first half answers, ``then`` what happens in the second."""

    record = TinyRecord
    schema: ClassVar = {"required": ["answers"], "properties": {"answers": {"type": "object"}}}

    def faults(self, experiment, config):
        return () if experiment["answers"] else ["answers holds no method"]

    def expand(self, name, config):
        experiment = config["experiments"][name]
        for dataset in experiment["datasets"]:
            for method, answer in experiment["answers"].items():
                yield Cell(dataset, (method,), {"answer": answer}, 2, 0.1, rows=HALVES)

    def describe(self, batch, dataset, number):
        return {"n_samples": len(dataset.features)}

    def run(self, batch, dataset, number, referee):
        definition = batch.definition
        time.sleep(definition.get("prepares_s", 0.0))
        value, seconds = referee.timed(lambda: self._answer(definition, dataset))
        referee.save("answer", np.array([value]))
        columns = {"answer": np.float64(value)}
        yield RunResult(Status.CONVERGED, "well", seconds.wall_s, seconds.cpu_s, columns, key=("first",))
        if definition.get("then") == "is killed":
            os.kill(os.getpid(), signal.SIGKILL)
        if definition.get("then") == "fails":
            raise ZeroDivisionError("no second half")
        _, seconds = referee.timed(lambda: time.sleep(definition.get("second_s", 0.0)))
        yield RunResult(Status.STALLED, "as well", seconds.wall_s, seconds.cpu_s, key=("second",))

    def _answer(self, definition, dataset):
        time.sleep(definition.get("first_s", 0.0))
        return float(definition.get("answer", 1.0)) * dataset.features.sum()


def tiny_config(**experiment):
    """A configuration of one experiment of this system on Wine."""
    shared = {"system": "support.tiny_system:TinySystem", "title": "Answers.", "datasets": ["wine"]}
    config = {"seed": 0, "run": ["e"], "data": {"mirror": ""}, "limits": {"time_s": 1, "memory_mib": 256}}
    return config | {"timing": {"repeat_for_s": 0, "threads": 1}, "experiments": {"e": shared | experiment}}


def tiny_record(half, dataset="wine", number=0, **columns):
    """A row of a run that never was: the first half converged, the second failed."""
    status, message = ("converged", "well") if half == "first" else ("failed", "not well")
    own = {"half": half, "status": status, "message": message, "n_samples": 3}
    return record_of(TinyRecord, dataset, "it", number, **(own | columns))


def tiny_batch(*, method="it", runs=(0, 1), data=DATA, **definition):
    of_data = {"dataset": data.name, "data_sha256": data.content_sha256}
    made = {"cell": (method,), "runs": tuple(runs), "rows": HALVES, "definition": definition}
    fixed = {"system": "support.tiny_system:TinySystem", "experiment": "e", "seed": 0, "threads": 1}
    return Batch(**fixed, **of_data, **made, revisions={"solver/ism": "1.1"})
