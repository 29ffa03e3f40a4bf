"""A made-up grid with everything that a dashboard shows, of any size."""

import gzip
import re
import zlib
from base64 import b64decode

import numpy as np
import pandas as pd

from kdrbench.suite.findings.ledger import compare
from kdrbench.suite.findings.nearness import gaps_of
from kdrbench.suite.reports.dashboard.page import Parts, render_dashboard
from kdrbench.suite.reports.dashboard.runs import all_runs
from kdrbench.suite.reports.figures.chart import Axis, Chart, Mark, Panel, Scale, Series, Symbol, to_png
from kdrbench.suite.reports.tables.table import Entry, Table
from kdrbench.suite.systems.ikdr.controls import controls_of
from kdrbench.suite.systems.ikdr.cost_against_time import chart_of, profile_chart
from kdrbench.suite.systems.ikdr.tables import compared_cells, ikdr_table
from support.report_rows import TABLE_4, figure_source, run, trace_line

SOLVERS = ["ism", "dg", "sm", "gm", "ism_converged", "dg_converged", "sm_converged", "gm_converged"]
_METHODS = {"ism": "ism", "dg": "dimension_growth", "sm": "stiefel_cayley", "gm": "grassmann_trust_region"}


def grid_config(experiments, solvers=None, datasets=("wine", "cancer"), folds=3):
    """Return a configuration of supervised experiments, as it is frozen."""
    experiment = {"title": "A table of made-up runs.", "published": TABLE_4, "paradigm": "supervised"}
    experiment |= {"datasets": list(datasets), "kernels": ["gaussian", "polynomial"], "folds": folds}
    experiment |= {"solvers": solvers or SOLVERS, "baselines": ["svm"], "start": "surrogate"}
    methods = {name: {"method": _METHODS[name.split("_")[0]]} for name in SOLVERS}
    return {"run": list(experiments), "experiments": dict.fromkeys(experiments, experiment), "solvers": methods}


def cells_of(experiment):
    """Return data set, kernel and method of each cell of an experiment."""
    methods = [(kernel, solver) for kernel in experiment["kernels"] for solver in experiment["solvers"]]
    methods += [("none", baseline) for baseline in experiment["baselines"]]
    return [(dataset, *method) for dataset in experiment["datasets"] for method in methods]


def grid_runs(config, traces, points=20):
    """Return a run for each that ``config`` names, and write their traces of ``points`` points into a folder."""
    rows = []
    for name in config["run"]:
        experiment = config["experiments"][name]
        for dataset, kernel, method in cells_of(experiment):
            place, numbers = f"{name}/{dataset}/{kernel}/{method}.jsonl", range(experiment["folds"])
            (traces / place).parent.mkdir(parents=True, exist_ok=True)
            lines = [line for number in numbers for line in _trace(place, dataset, kernel, method, number, points)]
            (traces / place).write_text("" if kernel == "none" else "".join(lines))
            rows += [_row(name, dataset, kernel, method, number, place) for number in numbers]
    return pd.DataFrame(rows)


def _rng(place, number):
    return np.random.default_rng(zlib.crc32(f"{place} {number}".encode()))


def _trace(place, dataset, kernel, method, number, points):
    rng = _rng(place, number)
    times, costs = np.cumsum(rng.exponential(size=points)) / 100, -np.cumsum(rng.random(points)) - 1000
    for calls, (time, cost) in enumerate(zip(times, costs, strict=True), start=1):
        point = {"time_s": time, "calls": calls, "cost": cost, "stationarity": float(rng.random())}
        yield trace_line(method, number, dataset=dataset, kernel=kernel, **point)


def _row(experiment, dataset, kernel, method, number, place):
    rng = _rng(place, number)
    columns = {"kernel": kernel, "experiment": experiment, "trace_file": place, "message": "came to rest"}
    columns |= {"time_s": float(rng.random()), "cost": -1311 - float(rng.random()), "quality": float(rng.random())}
    columns |= {"batch_sha256": f"{zlib.crc32(place.encode()):064x}", "evaluation": "dense: few samples"}
    columns |= {"git_commit": "c" * 40, "contaminated": bool(number % 2), "processor": "a processor"}
    if kernel == "none":
        columns["cost"] = None
    if method == "gm" and number == 0:
        columns |= {"status": "time_limit", "message": "stopped at the time limit of 2 s"}
    if method == "sm" and number == 1:
        columns |= {"status": "failed", "message": "<b>division</b> by zero", "time_s": None, "quality": None}
    return run(dataset, method, number, **columns)


def bar_chart():
    """Return a chart of one panel with bars, bands, points and powers of two."""
    bars = [Series(name, ["wine", "cancer"], [1.0, 2.0], Mark.BARS, colour=place) for place, name in enumerate("ab")]
    band = Series("c", [2.0, 64.0], [1.0, 2.0], colour=2, lower=[0.5, 1.0], upper=[2.0, 3.0])
    points = Series("d", [4.0], [1.5], Mark.POINTS, Symbol.CROSS, colour=3, words=["a point"])
    panels = [
        Panel("Bars", Axis("data", Scale.NAMES), Axis("size", unit="MiB"), bars),
        Panel("Band", Axis("n", Scale.LOG2), Axis("size", unit="MiB"), [band, points]),
    ]
    return Chart("sizes", "Sizes", "What is big.", panels, columns=2)


def picture_chart():
    """Return a chart of a wide picture in a row of its own, and two small ones below it."""
    wide = np.zeros((20, 40, 3), dtype=np.uint8)
    # Red where it is clicked: near the top, at the left.
    wide[:5, :10] = [200, 0, 0]
    small = np.arange(16, dtype=np.uint8).reshape(4, 4) * 16
    axes = Axis("column"), Axis("row")
    panels = [
        Panel("image", *axes, picture=to_png(wide), heading="Wide"),
        Panel("one", *axes, picture=to_png(small), heading="Small"),
        Panel("other", *axes, picture=to_png(small.T)),
    ]
    return Chart("pictures", "Pictures", "What is seen.", panels, columns=2)


def extra_table():
    """Return a table that is sorted by the numbers of its cells, not by their words."""
    lines = [[Entry("alpha"), Entry("10ms", bold=True)], [Entry("beta"), Entry("2s")], [Entry("gamma"), Entry("900us")]]
    return Table("extra", "An extra table", ["Name", "Time"], [lines], ["A note."])


def a_claim():
    """Return a claim as the step that decides claims writes it."""
    words = {"claim": "It is quick.", "verdict": "confirmed", "evidence": "1 s in place of 2 s", "note": ""}
    words |= {"power": "one cell is 11 %", "holds": "in all", "threshold": "none"}
    return words | {"measure": "9 of 9 cells (100 %)", "paper": "neurips2019", "where": "Table 4"}


def page(folder, experiments=("first",), points=20, **shape):
    """Return the dashboard's HTML of a made-up grid, whose traces are written into ``folder``.

    Experiments may be a mapping to their paradigms, and have titles of their own then.
    """
    config, charts, tables = grid_config(experiments, **shape), [], []
    if isinstance(experiments, dict):
        for name, paradigm in experiments.items():
            config["experiments"][name] = config["experiments"][name] | {"title": f"{name}.", "paradigm": paradigm}
    runs = grid_runs(config, folder, points)
    for name in experiments:
        experiment, chosen = config["experiments"][name], runs[runs["experiment"] == name]
        charts.append(chart_of(figure_source(chosen, folder, name, experiment)))
        cells = compared_cells(chosen, experiment, controls_of(name, config), gaps=gaps_of(chosen, folder))
        tables.append(ikdr_table(name, cells, experiment))
    charts += [profile_chart(figure_source(runs, folder)), bar_chart(), picture_chart()]
    parts = Parts(charts, [*tables, extra_table()], [a_claim()])
    return render_dashboard(all_runs({"ikdr": runs}), config, folder, compare({"ikdr": runs}, config), parts)


def unpacked(html, name):
    """Return what a page unpacks when it is shown."""
    (text,) = re.findall(rf'<script type="text/plain" id="pack-{name}">([^<]*)</script>', html)
    return gzip.decompress(b64decode(text)).decode()


def values_of(data, name):
    """Return the values of a column of the list of runs, of which repeated words are kept once."""
    column = data["values"][data["columns"].index(name)]
    return [column["words"][place] for place in column["places"]] if isinstance(column, dict) else column
