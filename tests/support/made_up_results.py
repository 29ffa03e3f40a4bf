"""Folders of results as jobs leave them, of runs that never were: rows of the grid's definitions, traces and arrays."""

import json
from pathlib import Path

import numpy as np

from kdrbench.suite.engine.publish import JobFiles, array_name, merge_records
from kdrbench.suite.engine.record import write_records
from kdrbench.suite.experiments.config import load_grid
from support.configs import table_4_config
from support.made_up import record

N_POINTS = 200


def two_experiments(folds=2, **changes):
    """A configuration of two supervised experiments on Wine, of which the second redraws its folds."""
    config = table_4_config(datasets=["wine"], components={"wine": 4}, kernels=["gaussian"], folds=folds, baselines=[])
    first = config["experiments"]["table4_supervised"] | {"solvers": ["ism", "gm"]}
    second = first | {"partitions": 2, "solvers": ["ism"], "title": "Redrawn."}
    experiments = {"first": first | changes, "second": second}
    return config | {"run": ["first", "second"], "experiments": experiments}


def write_results(results, config, experiments=None, **columns):
    """Write the results of some experiments of a configuration, and its merged tables; return the grid.

    ``columns`` are those of every row.
    """
    grid = load_grid(config)
    results.mkdir(parents=True, exist_ok=True)
    (results / "config.json").write_text(json.dumps(grid.config))
    for name in grid.experiments if experiments is None else experiments:
        paths = [_write_job(JobFiles.of(results, bundle.path), bundle, columns) for bundle in grid.bundles(name)]
        expected = grid.expected([name])
        merge_records(paths, grid.system(name).record, expected, results / "merged" / f"{name}.csv")
    if experiments is None:
        paths = [Path(path) for name in grid.experiments for path in grid.experiment_paths(name, "records", results)]
        merge_records(paths, grid.system(name).record, grid.expected(grid.experiments), results / "ikdr.csv")
    return grid


def _write_job(files, bundle, columns):
    rows, lines, arrays = [], [], {}
    for batch in bundle.batches:
        for run in batch.runs:
            points = trace(batch.cell[-1], run)
            lines += [{"cell": batch.cell_name, "run": run} | point for point in points]
            rng = np.random.default_rng(run)
            projection = np.linalg.qr(rng.standard_normal((13, 4)))[0]
            arrays[array_name(batch.cell_name, "projection", run)] = projection
            arrays[array_name(batch.cell_name, "labels", run)] = rng.integers(0, 3, 40)
            rows.append(_row(batch, bundle, run, points, columns))
    files.findings.parent.mkdir(parents=True, exist_ok=True)
    files.traces.parent.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(files.findings, **arrays)
    files.traces.write_text("".join(json.dumps(line) + "\n" for line in lines))
    write_records(files.records, rows)
    return files.records


def _row(batch, bundle, run, points, given):
    columns = {"experiment": batch.experiment, "kernel": batch.cell[0], "seed": batch.seed, "cost": points[-1]["cost"]}
    columns |= {"time_s": points[-1]["time_s"], "cpu_s": points[-1]["time_s"], "quality": 0.9, "n_components": 4}
    columns |= {"trace_file": f"{bundle.path}.jsonl", "message": '=text, with "quotes"', "optimality": "stationary"}
    columns |= batch.identity | {"partition": run // 2 if len(batch.runs) > 2 else 0}
    columns |= {"calibration_before_s": 0.01, "calibration_after_s": 0.01, "processor": "one"}
    return record(batch.dataset, batch.cell[-1], run, **(columns | given))


def files_in(folder):
    """The bytes of all files of a folder, by their paths in it."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def trace(method, run, n_points=N_POINTS):
    """Points of a cost that falls by powers of the time, quicker for ism."""
    rng = np.random.default_rng(run)
    times = np.sort(rng.random(n_points)) * (1.0 if method == "ism" else 5.0) + 1e-4
    gaps = 10.0 ** (-6.0 * np.linspace(0.0, 1.0, n_points)) * (1.0 + 0.1 * rng.random(n_points))
    costs = -1311.0 + 800.0 * gaps - 0.01 * run
    return [
        {"time_s": float(time), "cost": float(cost), "stationarity": float(gap), "calls": 1 + number}
        for number, (time, cost, gap) in enumerate(zip(times, costs, gaps, strict=True))
    ]
