"""What the workflow adds to the work: seconds a job, a cell of a job, and a run.

A solver that returns its start at once is run by `kdrbench batch` on one fold, on many folds, and as many cells that
share the job; the differences of the CPU times of the whole process give the cost of a job (imports, provenance,
reading data), of a cell in it (lock, key, sources of its method) and of a run (fork, supervision, split, problem,
evaluation, fsynced row). A one-line Snakemake job is timed beside them: many jobs that do nothing against one. Where
the demo has been made, its share is estimated: that of the jobs, cells and runs of its tables in the CPU seconds that
the logs of its jobs report.

    python benchmarks/overhead.py
"""

import csv
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import yaml

from kdrbench.datasets import load_dataset, save_prepared
from kdrbench.solvers import SolverOutcome, Status
from kdrbench.suite.engine.batch import Batch, Bundle
from kdrbench.suite.experiments.config import load_grid

ROOT = Path(__file__).resolve().parents[1]
REPEATS = 5
MANY = 41
JOBS = 40
SYSTEMS = ("ikdr", "kpca_trick", "kpca_figures", "low_rank")


@dataclass(frozen=True)
class ReturnsItsStart:
    """The quickest solver there is."""

    requires: ClassVar[frozenset[str]] = frozenset()

    def run(self, problem, start, monitor):
        """Return the start."""
        monitor.keep_going(start)
        return SolverOutcome(start, Status.CONVERGED, "nothing to do")


def main() -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        save_prepared(load_dataset("wine"), folder / "wine.npz")
        shapes = {"one": (1, 1), "runs": (1, MANY), "cells": (MANY, 1)}
        timings = {
            kind: [_seconds(*_command(_bundle(*shape), folder)) for _ in range(REPEATS)]
            for kind, shape in shapes.items()
        }
        costs = []
        for place, clock in enumerate(("CPU", "wall")):
            one, runs, cells = (statistics.median(seconds[place] for seconds in timings[kind]) for kind in shapes)
            a_run = (runs - one) / (MANY - 1)
            a_cell = (cells - one) / (MANY - 1) - a_run
            costs.append(Costs(one - a_cell - a_run, a_cell, a_run))
            print(f"{clock}: {costs[-1].a_job:.2f} s a job, {a_cell:.3f} s a cell in it, {a_run:.3f} s a run")
        _share_of_the_demo(costs[0])
        print(f"Snakemake: {_snakemake_job(folder):.3f} s wall a job (its own part, one job after the other)")


@dataclass(frozen=True)
class Costs:
    """Seconds."""

    a_job: float
    a_cell: float
    a_run: float


def _share_of_the_demo(costs: Costs) -> None:
    results = ROOT / "results"
    tables = [results / "demo" / f"{system}.csv" for system in SYSTEMS]
    rows = [row for table in tables if table.exists() for row in _rows(table)]
    if not rows:
        return
    jobs, cells = (len({row[name] for row in rows}) for name in ("trace_file", "batch_sha256"))
    runs = len({(row["batch_sha256"], row["run"]) for row in rows})
    added = jobs * costs.a_job + cells * costs.a_cell + runs * costs.a_run
    print(f"the demo: {jobs} jobs, {cells} cells, {runs} runs; {added:.0f} s are added")
    logs = {results / "logs" / "runs" / row["trace_file"].replace(".jsonl", ".log") for row in rows}
    summaries = [json.loads(line) for log in logs for line in log.read_text().splitlines() if line.startswith("{")]
    if sum(one["runs_made"] for one in summaries) == runs:
        total = sum(one["cpu_s"] for one in summaries)
        print(f"that is {added / total:.1%} of the {total:.0f} CPU s that the jobs took")


def _rows(table: Path) -> list[dict[str, str]]:
    with table.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def _bundle(n_cells: int, n_runs: int) -> Bundle:
    """Return a job of ``n_cells`` cells with ``n_runs`` runs each."""
    batch = replace(_batch(), runs=tuple(range(n_runs)))
    cells = [replace(batch, cell=("gaussian", f"start{number}")) for number in range(n_cells)]
    return Bundle("overhead/cheap", tuple(cells))


def _batch() -> Batch:
    config = yaml.safe_load((ROOT / "config.yaml").read_text())
    config["solvers"] = {"start": {"method": "overhead:ReturnsItsStart"}}
    experiment = config["experiments"]["table4_supervised"]
    experiment |= {"datasets": ["wine"], "kernels": ["gaussian"], "solvers": ["start"]}
    experiment |= {"folds": MANY, "runs_per_job": MANY}
    config |= {"run": ["table4_supervised"], "experiments": {"table4_supervised": experiment}}
    return load_grid(config).batches()[0]


def _command(bundle: Bundle, folder: Path) -> tuple[list[str], Path]:
    words = [sys.executable, "-m", "kdrbench", "batch", "--job", bundle.to_word(), "--data", str(folder)]
    words += ["--results", str(folder / "results"), "--time-limit-s", "60", "--memory-limit-mib", "1024"]
    return [*words, "--repeat-for-s", "0"], folder


def _seconds(command: list[str], folder: Path) -> tuple[float, float]:
    """Return CPU and wall seconds of a command and its descendants, which finds no rows."""
    shutil.rmtree(folder / "results", ignore_errors=True)
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    environment["PYTHONPATH"] = os.pathsep.join([str(Path(__file__).parent), str(ROOT / "src")])
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True)
    wall, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, wall


def _snakemake_job(folder: Path) -> float:
    """Return the wall seconds that Snakemake adds to each job, from workflows of many and of one."""

    def run(count: int) -> float:
        text = f'rule all:\n    input: expand("{count}/{{i}}", i=range({count}))\n'
        text += f'rule one:\n    output: "{count}/{{i}}"\n    shell: "touch {{output}}"\n'
        (folder / "Snakefile").write_text(text)
        words = [str(Path(sys.executable).parent / "snakemake"), "--cores", "1", "--scheduler", "greedy", "--quiet"]
        return _seconds(words, folder)[1]

    return (run(JOBS) - run(1)) / (JOBS - 1)


if __name__ == "__main__":
    main()
