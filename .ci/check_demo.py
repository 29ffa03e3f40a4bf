"""Check that the demo's tables have every cell, and that each of its runs has its row, its trace and what it found."""

import csv
import json
import sys
from collections import Counter
from pathlib import Path

from kdrbench.suite.engine.publish import read_points
from kdrbench.suite.experiments.config import load_grid
from kdrbench.suite.reports.outputs import dashboard_parts, outputs

RESULTS, REPORTS = Path("results/demo"), Path("reports/demo")


def rows_of(path):
    """Return the lines of a CSV table."""
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def faults_of_files(config):
    """Yield the reports that are missing or empty."""
    files = outputs(config)
    for path in map(Path, [*files, *dashboard_parts(config), REPORTS / "dashboard.html"]):
        least = 500 if path.suffix in {".pdf", ".png", ".html"} else 20
        if not path.exists() or path.stat().st_size < least:
            yield f"{path} is missing or empty"


def faults_of_rows(grid):
    """Yield the rows that are missing, that failed, or that left no trace or findings."""
    for system, names in grid.systems.items():
        rows = rows_of(RESULTS / f"{system}.csv")
        expected = len(grid.expected(names))
        if len(rows) != expected:
            yield f"{len(rows)} of {expected} rows of {system}"
        yield from (f"failed run: {row}" for row in rows if row["status"] == "failed")
        yield from (f"no wall_s: {row}" for row in rows if not row["wall_s"])
        # Runs that are not timed need no calibration.
        yield from (
            f"no calibration: {row}" for row in rows if row["timed"] == "True" and not row["calibration_before_s"]
        )
        for trace_file in {row["trace_file"] for row in rows}:
            if not Path("results/findings", trace_file).with_suffix(".npz").exists():
                yield f"no findings of {trace_file}"
    rows = rows_of(RESULTS / "ikdr.csv")
    traces = {name: read_points(Path("results/traces", name)) for name in {row["trace_file"] for row in rows}}
    for row in rows:
        if (
            row["cost"]
            and (f"{row['dataset']}/{row['kernel']}/{row['method']}", int(row["run"])) not in traces[row["trace_file"]]
        ):
            yield f"no trace: {row}"


def faults_of_table(name, experiment):
    """Yield the cells of an IKDR table that are missing, empty, or made of too few runs."""
    runs = experiment.get("folds", 1) * experiment.get("partitions", 1)
    supervised, alternative = (experiment["paradigm"] == one for one in ("supervised", "alternative"))
    # Without a test part there is the training error only.
    accuracy = "accuracy" if experiment.get("split", "folds") == "folds" else "error"
    qualities = [accuracy] if supervised else ["nmi", *(["nmi_given"] if alternative else [])]
    shown = {
        tuple(row[key] for key in ("dataset", "kernel", "method", "metric")): row
        for row in rows_of(REPORTS / f"{name}.csv")
    }
    for dataset in experiment["datasets"]:
        cells = [(kernel, solver) for kernel in experiment["kernels"] for solver in experiment["solvers"]]
        wanted = [(dataset, *cell, metric) for cell in cells for metric in ("time_s", "cost", *qualities)]
        for baseline in experiment.get("baselines", []):
            wanted += [(dataset, "none", baseline, metric) for metric in ("time_s", qualities[0])]
        yield from (f"no cell {cell} of {name}" for cell in wanted if cell not in shown)
    for cell, row in shown.items():
        if row["ours"] in {"", "not run", "N/A", "failed"} or int(row["runs"]) != runs:
            yield f"cell {cell} of {name} shows {row['ours']!r} of {row['runs']} of {runs} runs"


def main():
    """Print the faults; exit with 1 if there are any."""
    grid = load_grid(json.loads((RESULTS / "config.json").read_text(encoding="utf-8")))
    config = grid.config
    faults = [*faults_of_files(config), *faults_of_rows(grid)]
    for name in grid.systems["ikdr"]:
        faults += faults_of_table(name, config["experiments"][name])
    empty = [path for path in (REPORTS / "figures").glob("*.json") if '"panels": []' in path.read_text("utf-8")]
    faults += [f"{path} shows nothing" for path in empty]
    rows = Counter({system: len(rows_of(RESULTS / f"{system}.csv")) for system in grid.systems})
    print(f"demo: {rows.total()} rows ({', '.join(f'{n} {name}' for name, n in rows.items())}), {len(faults)} faults")
    sys.exit("\n".join(faults) or 0)


main()
