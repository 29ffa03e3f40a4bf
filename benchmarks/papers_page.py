"""What the page of the papers' whole grid weighs: its size, the seconds and memory of making it, and its first paint.

Records of the right shape with made-up numbers take the place of runs: a row for every run of a configuration, and a
trace for every run of a solver. Figures of what runs found (scatter, loadings, segments) are left out, since made-up
arrays would say nothing of how they compress.

    python benchmarks/papers_page.py [--config config.yaml] [--keep FOLDER]
"""

import argparse
import json
import resource
import tempfile
import time
import zlib
from pathlib import Path
from shutil import which

import numpy as np
import yaml

from kdrbench.suite.engine.provenance import Provenance, software_and_machine
from kdrbench.suite.engine.record import column_types
from kdrbench.suite.experiments.config import load_grid
from kdrbench.suite.findings.claim_rows import Records
from kdrbench.suite.findings.claims import claims_json, decided_of_papers
from kdrbench.suite.findings.ledger import compare
from kdrbench.suite.reports.dashboard.page import Parts, render_dashboard
from kdrbench.suite.reports.dashboard.runs import all_runs
from kdrbench.suite.reports.figures.making import make_chart
from kdrbench.suite.reports.outputs import KPCA_FIGURE, figure_sources, figures_of, tables_of
from kdrbench.suite.reports.records import Results, read_runs, systems_of, table_of, write_results
from kdrbench.suite.reports.tables.making import make_table

ROOT = Path(__file__).resolve().parents[1]
# Points of a trace: a few of a method that ends at once, hundreds of one that creeps.
FEWEST_POINTS, MOST_POINTS = 6, 600
FIRST_PAINT = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime"


def main() -> None:
    """Make the record and its page, and print what they take."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--config", type=Path, default=ROOT / "config.yaml", help="the grid to fill")
    parser.add_argument("--keep", type=Path, help="a folder for the record and its page; a temporary one if left out")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = asked.keep or Path(name)
        made_up(yaml.safe_load(asked.config.read_text(encoding="utf-8")), folder)
        page = page_of(json.loads((folder / "config.json").read_text(encoding="utf-8")), folder)
        peak_mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(f"page: {page.stat().st_size / 1e6:.2f} MB; peak memory: {peak_mib:.0f} MiB")
        for line in painted(page):
            print(line)


def made_up(config: dict, folder: Path) -> None:
    """Write a record of the configuration's grid, every run converged, with its traces; one that is kept is used."""
    if (folder / "config.json").is_file():
        return
    grid, made = load_grid(config, hashed=False), software_and_machine()
    records = {}
    for name in grid.experiments:
        kind = grid.stage(name).record
        records[name] = [row_of(kind, grid, batch, axes, made) for batch in grid.batches(name) for axes in batch.axes]
        for row in records[name]:
            write_trace(folder / "traces", row)
    write_results(folder, Results(folder, dict(grid.config), records))
    print(f"record: {sum(map(len, records.values()))} rows of {len(records)} experiments")


def row_of(kind, grid, batch, axes, made):
    """Return a row with these axes; equal problems have equal costs but for a small distance of the method."""
    rng = np.random.default_rng(zlib.crc32(repr(axes).encode()))
    values = {name: blank(hint, rng) for name, hint in column_types(kind).items()}
    values |= dict(zip(kind.axis_names(), axes, strict=True)) | dict(grid.stage(batch.experiment).columns(batch))
    values |= {"schema_version": kind.SCHEMA_VERSION, "seed": batch.seed, "status": "converged", "message": ""}
    values |= made | {"machine": "a-machine", "git_dirty": False, "timed": True, "contaminated": False}
    values |= {
        "unaccounted": False,
        "time_limit_s": 259200.0,
        "memory_limit_mib": 16384.0,
        "cores": "0",
        "budget_s": None,
    }
    values |= {"started_at": f"2026-11-23T07:24:{rng.random() * 60:09.6f}+00:00", "trace_file": f"{batch.path}.jsonl"}
    values |= {
        "batch_sha256": batch.sha256,
        "definition_sha256": batch.definition_sha256,
        "data_sha256": batch.data_sha256,
    }
    values |= {
        "calibration_before_s": 0.01,
        "calibration_after_s": 0.01 + 1e-4 * rng.random(),
        "message": "gradient small",
    }
    if "quality_metric" in values:
        values |= of_problem(batch, axes, grid.config["experiments"][batch.experiment], rng)
    own = {name: value for name, value in values.items() if name not in Provenance.__annotations__}
    return kind(**own, provenance=Provenance(**{name: values[name] for name in Provenance.__annotations__}))


def blank(hint, rng):
    """Return a made-up value of a column of this type."""
    kinds = {float: lambda: float(rng.lognormal()), int: lambda: int(rng.integers(1, 500)), bool: lambda: False}
    return next((make() for kind, make in kinds.items() if kind in getattr(hint, "__args__", (hint,))), "")


def of_problem(batch, axes, experiment, rng):
    """Return the columns of a problem of IKDR: cost, quality and what they are of."""
    kernel, _ = batch.cell
    problem = np.random.default_rng(zlib.crc32(repr((*axes[:3], axes[-1])).encode()))
    metric = {"supervised": "accuracy"}.get(experiment["paradigm"], "nmi")
    best, gap = -1000 * problem.lognormal(), 10.0 ** rng.uniform(-9, -1)
    folds = experiment.get("folds", 1)
    values = {"quality_metric": metric, "quality": float(0.8 + 0.19 * rng.random()), "partition": axes[-1] // folds}
    values |= {"kernel_weights": "", "evaluation": "dense: few samples", "optimality": "stationary"}
    values |= {"cost": None if kernel == "none" else best * (1 - gap)}
    sizes = {"n_train": 160, "n_test": 18, "n_features": 13, "n_constant_features": 0, "n_components": 4}
    return values | sizes | (of_baseline() if kernel == "none" else of_solver(rng))


def of_solver(rng):
    """Return what a solver of first order leaves: counts of its calls, which go with its iterations."""
    steps, absent = int(rng.integers(2, 300)), ("mean_cost", "n_starts", "rounds", "hessian_calls", "nmi_given")
    calls = {"value_calls": steps + 1, "gradient_calls": steps, "surrogate_calls": 0, "value_gradient_calls": 0}
    found = {"stationarity": float(10 ** rng.uniform(-9, -3)), "train_accuracy": float(1 - 0.1 * rng.random())}
    values = {"iterations": steps, "hessian_vector_calls": 0, "uses_degrees": None}
    return values | calls | found | dict.fromkeys(absent)


def of_baseline():
    """Return the columns that a baseline leaves empty."""
    names = ("iterations", "cost", "mean_cost", "rounds", "feasibility", "stationarity", "curvature", "n_starts")
    names += ("value_calls", "gradient_calls", "value_gradient_calls", "hessian_vector_calls", "hessian_calls")
    return dict.fromkeys((*names, "surrogate_calls", "eigengap", "eigengap_needed", "nmi_given", "train_accuracy"))


def write_trace(folder: Path, row) -> None:
    """Append the trace of a run of a solver; other runs leave an empty file."""
    path = folder / row.provenance.trace_file
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as stream:
        if getattr(row, "cost", None) is None:
            return
        rng = np.random.default_rng(zlib.crc32(repr(row.axes).encode()))
        count = int(np.exp(rng.uniform(np.log(FEWEST_POINTS), np.log(MOST_POINTS))))
        times = np.sort(row.time_s * 10.0 ** rng.uniform(-3, 0, count))
        gaps = np.sort(10.0 ** rng.uniform(-9, 0, count))[::-1]
        cell = "/".join((row.dataset, row.kernel, row.method))
        for time_s, gap in zip(times.tolist(), gaps.tolist(), strict=True):
            point = {
                "time_s": time_s,
                "cost": row.cost * (1 - gap),
                "stationarity": gap,
                "calls": 1 + int(1e3 * time_s),
            }
            stream.write(json.dumps({"cell": cell, "run": row.run, **point}) + "\n")


def page_of(config: dict, folder: Path) -> Path:
    """Write and return the page of the record in a folder, timing its parts."""
    shown = [report for report in tables_of(config).values() if report.kind not in ("league", "atlas")]
    tables = timed("tables", lambda: [make_table(report, config, folder)[0] for report in shown])
    charts = timed("figures", lambda: [make_chart(name, config, folder, folder) for name in drawable(config)])
    systems = {one: read_runs(folder / f"{table_of(one)}.csv") for one in systems_of(config)}
    comparisons = timed("ledger", lambda: compare(systems, config))
    decided = timed("claims", lambda: json.loads(claims_json(decided_of_papers(Records.of(systems, config)))))
    parts = Parts(charts, tables, decided)
    text = timed("page", lambda: render_dashboard(all_runs(systems), config, folder / "traces", comparisons, parts))
    (folder / "dashboard.html").write_text(text, encoding="utf-8")
    return folder / "dashboard.html"


def drawable(config: dict) -> list[str]:
    """Return the figures that need no arrays."""
    kinds = {
        name: figure_sources(config, report, lambda _, kind: [kind]) for name, report in figures_of(config).items()
    }
    there = {name for name, report in figures_of(config).items() if report.kind != KPCA_FIGURE}
    return [name for name, sources in kinds.items() if name in there and set(sources) <= {"traces"}]


def timed(what: str, make):
    """Return what ``make`` returns, having printed its CPU seconds."""
    began = time.process_time()
    made = make()
    print(f"{what}: {time.process_time() - began:.1f} s")
    return made


def painted(page: Path):
    """Yield the milliseconds to the first paint, and until the page answers, in a headless Chromium, at two sizes."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        yield "paint: not measured, playwright is not installed"
        return
    with sync_playwright() as play:
        # A root user in a container has no sandbox to offer.
        browser = play.chromium.launch(executable_path=which("chromium"), args=["--no-sandbox"])
        for width, height in ((1440, 900), (390, 844)):
            tab = browser.new_page(viewport={"width": width, "height": height})
            tab.goto(page.resolve().as_uri())
            tab.wait_for_selector("html[data-ready]", timeout=120_000)
            paint, ready = tab.evaluate(FIRST_PAINT), tab.evaluate("performance.now()")
            yield f"{width} x {height}: first paint {paint:.0f} ms, ready {ready:.0f} ms"
        browser.close()


if __name__ == "__main__":
    main()
