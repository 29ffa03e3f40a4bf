"""What the workflow adds to the work: seconds a job and seconds a run.

A solver that returns its start at once is run by `kdrbench batch` on few and on many folds; the line through
the CPU times of the whole process gives the cost of a job (intercept: imports, provenance, reading data) and of
a run (slope: fork, supervision, split, problem, evaluation, fsynced row). A one-line Snakemake job is timed
beside them: many jobs that do nothing against one. Where the demo has been made, its share is reckoned: that of the
jobs and runs of its table in the seconds of these and of the runs themselves.

    python benchmarks/overhead.py
"""

import csv
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import yaml

from kdrbench.bench.grid import Batch, Grid
from kdrbench.datasets import load_dataset, save_prepared
from kdrbench.solvers import Outcome, Status

ROOT = Path(__file__).resolve().parents[1]
REPEATS = 5
FEW, MANY = 1, 41
JOBS = 40


@dataclass(frozen=True)
class ReturnsItsStart:
    """The quickest solver there is."""

    requires: ClassVar[frozenset[str]] = frozenset()
    version: ClassVar[int] = 1

    def run(self, problem, start, monitor):
        """Return the start."""
        monitor.keep_going(start)
        return Outcome(start, Status.CONVERGED, "nothing to do")


def main() -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        save_prepared(load_dataset("wine"), folder / "wine.npz")
        batch = _batch()
        timings = {
            count: [_seconds(*_command(replace(batch, folds=tuple(range(count))), folder)) for _ in range(REPEATS)]
            for count in (FEW, MANY)
        }
        costs = []
        for place, clock in enumerate(("CPU", "wall")):
            few, many = (statistics.median(seconds[place] for seconds in timings[count]) for count in (FEW, MANY))
            a_run = (many - few) / (MANY - FEW)
            costs.append((few - FEW * a_run, a_run))
            print(f"{clock}: {few - FEW * a_run:.2f} s a job, {a_run:.3f} s a run")
        _share_of_the_demo(*costs[0])
        print(f"Snakemake: {_snakemake_job(folder):.3f} s wall a job (its own part, one job after the other)")


def _share_of_the_demo(a_job: float, a_run: float) -> None:
    table = ROOT / "results" / "runs.csv"
    if not table.exists():
        return
    with table.open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    jobs = len({row["batch_sha256"] for row in rows})
    solving, ours = sum(float(row["wall_s"]) for row in rows), jobs * a_job + len(rows) * a_run
    print(
        f"the table of {table.parent.name}: {jobs} jobs, {len(rows)} runs of {solving:.0f} s together; {ours:.0f} s "
        f"are added, {ours / (ours + solving):.0%} of all"
    )


def _batch() -> Batch:
    config = yaml.safe_load((ROOT / "config.yaml").read_text())
    config["solvers"] = {"start": {"method": "overhead:ReturnsItsStart"}}
    experiment = config["experiments"]["table4_supervised"]
    experiment |= {"datasets": ["wine"], "kernels": ["gaussian"], "solvers": ["start"]}
    experiment |= {"folds": MANY, "folds_per_job": MANY}
    config |= {"run": ["table4_supervised"], "experiments": {"table4_supervised": experiment}}
    return Grid(config).batches()[0]


def _command(batch: Batch, folder: Path) -> tuple[list[str], Path]:
    words = [sys.executable, "-m", "kdrbench", "batch", "--spec", batch.to_json(), "--data", str(folder / "wine.npz")]
    words += ["--out", str(folder / "runs.jsonl"), "--trace", str(folder / "traces.jsonl")]
    words += [
        "--state",
        str(folder / "state"),
        "--time-limit-s",
        "60",
        "--memory-limit-mib",
        "1024",
        "--repeat-for-s",
        "0",
    ]
    return words, folder


def _seconds(command: list[str], folder: Path) -> tuple[float, float]:
    """Return CPU and wall seconds of a command and its descendants."""
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
