"""Check that the demo's tables have every cell and that each of its runs has a row and a trace."""

import csv
import json
import shutil
import sys
from pathlib import Path

from kdrbench.bench.published import read_points

config = json.loads(Path("results/config.json").read_text(encoding="utf-8"))
faults = []
for name in config["run"]:
    experiment = config["experiments"][name]
    supervised, alternative = (experiment["paradigm"] == one for one in ("supervised", "alternative"))
    # Without a test part there is the training error only, and one projection, with nothing to compare it to.
    folds = experiment.get("split", "folds") == "folds"
    judged = "accuracy" if folds else "error"
    qualities = [judged] if supervised else ["nmi", *(["nmi_given"] if alternative else [])]
    runs_of_a_cell = experiment.get("folds", 1)
    axes = [experiment[key] for key in ("datasets", "kernels", "solvers")]
    cells = {
        (dataset, kernel, solver, metric)
        for dataset in axes[0]
        for kernel in axes[1]
        for solver in axes[2]
        for metric in ("time_s", "cost", *qualities)
    }
    cells |= {
        (dataset, "none", baseline, metric)
        for dataset in axes[0]
        for baseline in experiment.get("baselines", [])
        for metric in ("time_s", qualities[0])
    }
    with Path(f"reports/{name}.csv").open(encoding="utf-8", newline="") as stream:
        shown = {
            tuple(row[key] for key in ("dataset", "kernel", "solver", "metric")): row for row in csv.DictReader(stream)
        }
    faults += [f"no cell {cell}" for cell in sorted(cells - set(shown))]
    faults += [f"empty cell {cell}" for cell, row in shown.items() if row["ours"] in {"", "not run", "N/A", "failed"}]
    faults += [
        f"{row['folds']} of {runs_of_a_cell} runs in {cell}"
        for cell, row in shown.items()
        if int(row["folds"]) != runs_of_a_cell
    ]
    kinds = ["tex", "html", "csv"] + (["pdf"] if shutil.which("pdflatex") else [])
    paths = [Path(f"reports/{name}.{kind}") for kind in kinds]
    drawn = ["cost_against_time", "scatter", *(["cost_against_calls"] if supervised else [])]
    drawn += ["loadings"] if supervised and folds else []
    figures = [f"reports/figures/{name}_{figure}" for figure in drawn]
    paths += [Path(f"{figure}.{kind}") for figure in figures for kind in ("pdf", "png", "json")]
    for figure in figures:
        chart = json.loads(Path(f"{figure}.json").read_text(encoding="utf-8"))
        cells_shown = len(axes[0]) * (2 if figure.endswith("loadings") else len(axes[1]))
        panels = [panel for panel in chart["panels"] if panel["series"]]
        faults += [f"{figure} has {len(panels)} full panels"] if len(panels) != cells_shown else []
    faults += [f"{path} is missing or empty" for path in paths if not path.exists() or path.stat().st_size < 500]
paths = [Path(f"reports/published_vs_ours.{kind}") for kind in ("csv", "html")] + [Path("reports/dashboard.html")]
paths += [Path(f"reports/figures/performance_profile.{kind}") for kind in ("pdf", "png", "json")]
faults += [f"{path} is missing or empty" for path in paths if not path.exists() or path.stat().st_size < 500]
for task in config["lowrank"]["run"]:
    paths = [Path(f"reports/figures/lowrank_{task}.{kind}") for kind in ("pdf", "png", "json")]
    faults += [f"{path} is missing or empty" for path in paths if not path.exists() or path.stat().st_size < 500]
with Path("results/lowrank.csv").open(encoding="utf-8", newline="") as stream:
    learned = list(csv.DictReader(stream))
faults += [f"no kernel learned: {row}" for row in learned if row["status"] == "failed" or not row["accuracy"]]
with Path("results/runs.csv").open(encoding="utf-8", newline="") as stream:
    runs = list(csv.DictReader(stream))
traces = {name: read_points(Path("results/traces", name)) for name in {run["trace_file"] for run in runs}}
faults += [
    f"no trace: {run}"
    for run in runs
    if run["cost"] and (run["kernel"], run["solver"], int(run["fold"])) not in traces[run["trace_file"]]
]
findings = [Path("results/findings", run["trace_file"]).with_suffix(".npz") for run in runs]
faults += [f"nothing kept: {path}" for path in findings if not path.exists()]
faults += [f"failed run: {run}" for run in runs if run["status"] == "failed"]
section = config["kpca"]
with Path("results/kpca.csv").open(encoding="utf-8", newline="") as stream:
    rows = list(csv.DictReader(stream))
wanted = section["splits"] * len(section["datasets"]) * len(section["learners"]) * len(section["variants"])
faults += [f"{len(rows)} of {wanted} rows of the KPCA trick"] if len(rows) != wanted else []
faults += [f"failed split: {row}" for row in rows if row["status"] != "converged"]
paths = [Path(f"reports/kpca_{name}.html") for name in ("table1", "table2", "table3", "tests", "times")]
paths += [Path(f"reports/figures/kpca_figure{number}.{kind}") for number in (2, 3, 4, 5) for kind in ("pdf", "png")]
faults += [f"{path} is missing or empty" for path in paths if not path.exists() or path.stat().st_size < 500]
print(f"demo: {len(runs)} runs, {len(rows)} rows of the KPCA trick, {len(learned)} kernels, {len(faults)} faults")
sys.exit("\n".join(faults) or 0)
