"""How merging, `kdrbench status` and the dashboard grow with the rows of a grid, in CPU seconds and peak memory.

Grids of made rows, each with two places for them (published and workspace) and a short trace a run, are merged, looked
at and drawn, each by its command in a process of its own. Printed are seconds, peak memory, and the exponent of either
between a size and the one before it: 1 is linear.

    python benchmarks/scale.py 2000 20000 200000
"""

import json
import math
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_type_hints

from kdrbench.suite.engine.grid import Grid
from kdrbench.suite.engine.publish import JobFiles
from kdrbench.suite.engine.record import Provenance, column_types, record_json
from kdrbench.suite.experiments.config import load_grid
from kdrbench.suite.systems.ikdr.stage import IKDRRecord

ROOT = Path(__file__).resolve().parents[1]
SIZES = (2000, 20000, 200000)
SOLVERS = {"ism": "ism", "dg": "dimension_growth", "sm": "stiefel_cayley", "gm": "grassmann_trust_region"}
DATASETS = ("wine", "wdbc", "iris-bundled", "four-gaussians", "scaling-125")
FOLDS, POINTS = 10, 5
# Rows of an experiment.
EACH = len(DATASETS) * 2 * len(SOLVERS) * FOLDS
_BLANK: dict[Any, Any] = {float: 0.0, int: 0, str: "", bool: False}


def main() -> None:
    """Measure and print."""
    sizes = [int(word) for word in sys.argv[1:]] or list(SIZES)
    before: dict[str, Cost] = {}
    for size in sizes:
        with tempfile.TemporaryDirectory() as name:
            rows = make_results(Path(name), max(1, round(size / EACH)))
            for what, words in commands(rows.experiments).items():
                cost = measured(words, Path(name))
                print(f"{rows.n_rows:>7} rows  {what:<10} {cost}{cost.against(before, what, rows.n_rows)}", flush=True)
                before[what] = Cost(cost.cpu_s, cost.memory_mib, rows.n_rows)


@dataclass(frozen=True)
class Cost:
    """CPU seconds and peak memory of a command, at so many rows."""

    cpu_s: float
    memory_mib: float
    n_rows: int = 0

    def __str__(self) -> str:
        """Return both in words."""
        return f"{self.cpu_s:>8.1f} CPU s {self.memory_mib:>7.0f} MiB"

    def against(self, before: dict[str, "Cost"], what: str, n_rows: int) -> str:
        """Return the exponents against the size before."""
        if what not in before:
            return ""
        old = before[what]
        grown = math.log(n_rows / old.n_rows)
        exponents = (math.log(now / then) / grown for now, then in zip(self._both(), old._both(), strict=True))
        return "   exponents {:.2f} {:.2f}".format(*exponents)

    def _both(self) -> tuple[float, float]:
        return self.cpu_s, self.memory_mib


@dataclass(frozen=True)
class Made:
    """What was made: experiments and rows."""

    experiments: list[str]
    n_rows: int


def commands(experiments: list[str]) -> dict[str, list[str]]:
    """Return the words of each command; the dashboard reads what the others write."""
    config, reports = "results/config.json", Path("reports")
    shared = ["--config", config, "--results", "results"]
    published = ["published-vs-ours", *shared, "--out", str(reports / "published_vs_ours")]
    dashboard = ["dashboard", *shared, "--store", "results"]
    dashboard += ["--published", str(reports / "published_vs_ours.csv"), "--out", str(reports / "dashboard.html")]
    merge = ["merge", config, *experiments, "--out", "results/ikdr.csv"]
    return {"merge": merge, "status": ["status"], "published": published, "dashboard": dashboard}


def measured(words: list[str], folder: Path) -> Cost:
    """Run a command to its end and return what it took."""
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "kdrbench", *words]
    with (folder / "output").open("w") as output:
        process = subprocess.Popen(command, cwd=folder, env=environment, stdout=output, stderr=output)
        _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit((folder / "output").read_text()[-4000:])
    return Cost(used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)


def make_results(folder: Path, n_experiments: int) -> Made:
    """Write frozen configuration, published rows, workspaces and traces of a grid."""
    grid = load_grid(configuration([f"e{number:04d}" for number in range(n_experiments)]))
    results = folder / "results"
    results.mkdir()
    (results / "config.json").write_text(grid.to_json())
    n_rows = 0
    for bundle in grid.bundles():
        files = JobFiles.of(results, bundle.path)
        rows, points = [], []
        for batch in bundle.batches:
            of_batch = [record_json(row) for row in made_rows(grid, batch, f"{bundle.path}.jsonl")]
            workspace = files.workspace(batch, IKDRRecord)
            workspace.folder.mkdir(parents=True)
            workspace.rows.write_text("".join(f"{line}\n" for line in of_batch))
            rows += of_batch
            for run in batch.runs:
                points += [trace_point(batch.cell_name, run, number) for number in range(POINTS)]
        n_rows += len(rows)
        for path, lines in ((files.records, rows), (files.traces, points)):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("".join(f"{line}\n" for line in lines))
    return Made(grid.experiments, n_rows)


def configuration(names: list[str]) -> dict[str, Any]:
    """Return a configuration of experiments that differ in nothing but their names."""
    experiment = {
        "system": "ikdr",
        "title": "Made rows.",
        "paradigm": "supervised",
        "datasets": list(DATASETS),
        "kernels": ["gaussian", "polynomial"],
        "solvers": list(SOLVERS),
        "components": dict.fromkeys(DATASETS, 2),
        "folds": FOLDS,
        "start": "surrogate",
    }
    import yaml

    config: dict[str, Any] = yaml.safe_load((ROOT / "config.yaml").read_text())
    return config | {"name": "", "run": names, "experiments": dict.fromkeys(names, experiment)}


def made_rows(grid: Grid, batch: Any, trace_file: str) -> Iterator[IKDRRecord]:
    """Yield rows as a batch would leave them."""
    kernel, method = batch.cell
    stage = grid.stage(batch.experiment)
    values = {name: _BLANK.get(kind) for name, kind in column_types(IKDRRecord).items()}
    values |= {"schema_version": IKDRRecord.SCHEMA_VERSION, "experiment": batch.experiment, "dataset": batch.dataset}
    values |= {"status": "converged", "message": "came to rest", "quality_metric": "accuracy"}
    values |= {"kernel": kernel, "method": method, "trace_file": trace_file, "timed": True, "wall_s": 0.1}
    values |= {"processor": "a processor", "blas": "a BLAS", "blas_threads": 1, "evaluation": "dense: few samples"}
    values |= {"batch_sha256": batch.sha256, "definition_sha256": batch.definition_sha256}
    values |= dict(stage.columns(batch))
    for run in batch.runs:
        cost = -1000.0 - (hash((batch.path, run)) % 10**6) / 10**6
        own = {"run": run, "cost": cost, "quality": 0.9 + 0.01 * (run % 10), "time_s": 0.02 + 0.001 * (run % 7)}
        own |= {"calibration_before_s": 0.015, "calibration_after_s": 0.015 + 0.0001 * (run % 5)}
        columns = values | own
        made = Provenance(**{name: columns.pop(name) for name in get_type_hints(Provenance)})
        yield IKDRRecord(**columns, provenance=made)


def trace_point(cell: str, run: int, number: int) -> str:
    """Return a line of a published trace."""
    point = {"time_s": 0.01 * number, "cost": -1000.0 - number / POINTS, "stationarity": 0.1**number}
    return json.dumps({"cell": cell, "run": run} | point)


if __name__ == "__main__":
    main()
