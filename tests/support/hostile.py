"""A solver that tries to have what it likes in its row: by what it returns, by what it raises, by files of its own.

It needs nothing of the tests, so that it also is a file of a user's own.
"""

import io
import json
import os
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kdrbench.solvers import SolverOutcome, Status


class Lying(np.ndarray):
    """Shows an orthonormal matrix to whoever asks, and holds another."""

    def __matmul__(self, other):
        return np.eye(self.shape[1])

    def transpose(self, *axes):
        return self

    def copy(self, order="C"):
        return self

    def tobytes(self, order="C"):
        return bytes(self.nbytes)

    def __array__(self, dtype=None, copy=None):
        return np.zeros(self.shape)


class SilentError(Exception):
    def __str__(self):
        raise ValueError("not for you")


MESSAGES = {
    "return": "gone\r",
    "surrogate": "\ud800 is half a character",
    "formula": "=cmd|' /C calc'!A0",
    "controls": "\x00\t\n\x1b[31m\x9b\u2028\u202e",
    "long": "x" * 30_000_000,
    "na": "NA",
}
STATUSES = ("skipped", "time_limit", "memory_limit", "failed")


@dataclass(frozen=True)
class Hostile:
    attack: str = ""
    requires: ClassVar[frozenset[str]] = frozenset({"value"})

    def run(self, problem, start, monitor):
        monitor.keep_going(start)
        if self.attack in MESSAGES:
            raise ValueError(MESSAGES[self.attack])
        if self.attack in STATUSES:
            return SolverOutcome(start, Status(self.attack), "so I say")
        if self.attack == "lies":
            return SolverOutcome((3.0 * start).view(Lying), Status.CONVERGED, "converged")
        if self.attack == "bytes":
            return SolverOutcome(start, Status.CONVERGED, b"\x00 is no text\r")
        if self.attack == "silent":
            raise SilentError
        if self.attack:
            getattr(self, self.attack)(folder_of(monitor), start)
        return SolverOutcome(start, Status.CONVERGED, "converged")

    def infeasible(self, folder, start):
        forge(folder, npy_of(5.0 * start), "converged")

    def skips(self, folder, start):
        forge(folder, npy_of(start), "skipped")

    def transposed(self, folder, start):
        forge(folder, npy_of(start.T), "converged")

    def single(self, folder, start):
        forge(folder, npy_of(start.astype(np.float32)), "converged")

    def nothing(self, folder, start):
        (folder / "projection.npy").unlink()
        forge(folder, None, "converged")

    def huge(self, folder, start):
        header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000,)}\n"
        forge(folder, b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header, "converged")

    def scores(self, folder, start):
        forge(folder, npy_of(start), "converged", {"cost": -1e9, "feasibility": 16.0, "quality": 2.0})

    def labels(self, folder, start):
        (folder / "labels.npy").write_bytes(npy_of(np.zeros(3)))
        forge(folder, npy_of(start), "converged")

    def traces(self, folder, start):
        (folder / "trace.jsonl").write_text("garbage\n")

    def leaves(self, folder, start):
        os._exit(70)


def folder_of(monitor):
    while not hasattr(monitor, "_referee"):
        monitor = monitor._monitor
    return monitor._referee.files.folder


def npy_of(array):
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def forge(folder, projection, status, columns=None):
    """Write a projection and a result in the bench's place, and leave."""
    if projection is not None:
        (folder / "projection.npy").write_bytes(projection)
    values = {"status": status, "message": "forged", "time_s": 0.001, "cpu_s": 0.001, "columns": columns or {}}
    values |= {"clocked_s": 0.001, "clocked_cpu_s": 0.001}
    (folder / "results.jsonl").write_text(json.dumps({**values, "key": []}) + "\n")
    os._exit(0)
