"""What benchmarks share: seconds and memory of a call, accuracy over folds, standardised data, tables of Markdown."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler

Array = np.ndarray[Any, Any]
# What projects samples, and what learns it of samples and classes.
Projection = Callable[[Array], Array]
Learner = Callable[[Array, Array], Projection]


def parser_of(documentation: str | None) -> argparse.ArgumentParser:
    """Return a parser of the command line whose help is the documentation of a benchmark."""
    return argparse.ArgumentParser(description=documentation, formatter_class=argparse.RawDescriptionHelpFormatter)


def print_row(*cells: object) -> None:
    """Print a row of a table."""
    print(f"| {' | '.join(map(str, cells))} |", flush=True)


def print_head(*titles: str) -> None:
    """Print the titles of a table, and the rule below them."""
    print_row(*titles)
    print(f"|{'---|' * len(titles)}", flush=True)


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """Return the CPU seconds of a call, and what it returned."""
    began = time.process_time()
    result = work()
    return time.process_time() - began, result


def over_folds(learn: Learner, X: Array, y: Array) -> tuple[float, float, int]:
    """Return accuracy of 5 nearest neighbours and median CPU seconds of learning over five folds, and components."""
    accuracies, seconds = [], []
    for train, test in StratifiedKFold(5, shuffle=True, random_state=0).split(X, y):
        scaler = StandardScaler().fit(X[train])
        rows = scaler.transform(X[train])
        spent, project = timed(lambda rows=rows, train=train: learn(rows, y[train]))
        seconds.append(spent)
        neighbours = KNeighborsClassifier(5).fit(project(rows), y[train])
        accuracies.append(neighbours.score(project(scaler.transform(X[test])), y[test]))
    return float(np.mean(accuracies)), float(np.median(seconds)), neighbours.n_features_in_


def memory_mib(what: str = "VmHWM") -> float:
    """Return the peak of this process's resident memory since it was forgotten, or another size of it, in MiB."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(float(line.split()[1]) for line in lines if line.startswith(f"{what}:")) / 1024


def forget_peak() -> float:
    """Forget the peak of resident memory, and return what is held now, in MiB."""
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    return memory_mib()
