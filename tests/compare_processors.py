"""Compare records that the workflow makes with the rounding of several processors, on one thread and on two.

    python tests/compare_processors.py [experiments of the demo] [--whole] [--folder FOLDER]

Each experiment is run by Snakemake into a folder for each configuration: the oldest and the newest code that OpenBLAS
has for this processor (``OPENBLAS_CORETYPE``), with one BLAS thread and with two. Statuses must be equal, and costs to
1e-9 of their size; costs of gradient methods to what their stationarity and curvature certify, if that is more. A line
is printed for each experiment and configuration, and one for each row that differs; the exit status is 1 if any does.
Without ``--whole`` two folds, runs or draws are made of each cell.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import yaml

from kdrbench.solvers import build_solver
from kdrbench.solvers.registry import method_of
from kdrbench.suite.systems import build_stage, system_of
from processors import core_types

ROOT = Path(__file__).parents[1]
DEMO = ROOT / "config.demo.yaml"
# Relative differences up to which costs agree.
SAME_COST = 1e-9
# Numbers of results, for which the table has a column if a system records them.
NUMBERS = ("cost", "quality", "accuracy", "nmi")
# What says how many runs a cell has.
_COUNTS = ("folds", "partitions", "splits", "draws", "runs")
_FEW = 2
# No run ends at a limit of the clock: a status must not depend on how busy the machine is.
_TIME_S = 600


def overlay(names, config, whole, threads):
    """Return what is laid over the demo: the experiments, few runs of each, and the threads."""
    experiments = {}
    for name in names:
        counts = {key: config["experiments"][name].get(key, 0) for key in _COUNTS}
        few = {} if whole else {key: _FEW for key, count in counts.items() if count > _FEW}
        experiments[name] = few | {"limits": {"time_s": _TIME_S}}
    timing = {"threads": threads, "repeat_for_s": 0.01, "strict": False}
    return {"name": "compared", "run": list(names), "timing": timing, "experiments": experiments}


def run(folder, core_type, threads, names, config, whole):
    """Make the records of one configuration and return its rows by experiment."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "overlay.yaml").write_text(yaml.safe_dump(overlay(names, config, whole, threads)))
    command = [Path(sys.executable).parent / "snakemake", "--snakefile", ROOT / "Snakefile", "--cores", "2"]
    command += ["--directory", folder, "--workflow-profile", ROOT / "profiles" / "default", "--quiet", "all"]
    command += ["--configfile", DEMO, folder / "overlay.yaml", "--until", "merge"]
    chosen = {"OPENBLAS_CORETYPE": core_type} if core_type else {}
    done = subprocess.run(command, env=os.environ | chosen, check=False, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{folder}: the workflow failed\n{done.stdout}{done.stderr}")
    tables = map(pd.read_csv, sorted((folder / "results" / "compared").glob("*.csv")))
    return {str(name): rows.reset_index(drop=True) for table in tables for name, rows in table.groupby("experiment")}


def differences(first, second, axes, by_steps=()):
    """Return the rows that differ in words, and the largest relative difference of each number.

    The tables must have the same rows, named by the columns ``axes``. Methods in ``by_steps`` may differ by what
    :func:`allowed` says.
    """
    first, second = (table.set_index(axes).sort_index() for table in (first, second))
    if not first.index.equals(second.index):
        return [f"rows differ: {len(first)} and {len(second)}"], {}
    words, largest = [], {}
    for place in first.index[first["status"] != second["status"]]:
        words.append(f"{_named(place)}: {first.at[place, 'status']} and {second.at[place, 'status']}")
    for name in [name for name in NUMBERS if name in first]:
        one, other = (table[name].to_numpy(float) for table in (first, second))
        gaps = np.where(one == other, 0.0, np.abs(one - other) / np.maximum(np.abs(other), np.finfo(float).tiny))
        gaps = np.where(np.isnan(one) & np.isnan(other), 0.0, gaps)
        largest[name] = float(gaps.max(initial=0.0))
        if name == "cost":
            bounds = np.where(_of_methods(first, by_steps), allowed(first, second), SAME_COST)
            for place in np.flatnonzero(~(gaps <= bounds)):
                words.append(f"{_named(first.index[place])}: cost {one[place]:.12g} and {other[place]:.12g}")
    return words, largest


def allowed(first, second):
    """Return how far the costs of two runs may be apart where many small steps amplify rounding: s^2 / (2 |c|).

    A run that stopped at relative stationarity s, in a valley whose smallest relative curvature is c, is this far from
    the bottom, to second order. 1e-9 where a run has no certificate, or a better one.
    """
    if not {"stationarity", "curvature"} <= set(first.columns):
        return np.full(len(first), SAME_COST)
    still = np.maximum(*(table["stationarity"].to_numpy(float) for table in (first, second)))
    bent = np.minimum(*(np.abs(table["curvature"].to_numpy(float)) for table in (first, second)))
    return np.fmax(SAME_COST, still**2 / (2.0 * np.maximum(bent, np.finfo(float).tiny)))


def solvers_by_steps(config):
    """Return the solvers that take gradient steps: those that never ask for Phi."""
    return [name for name, defined in config["solvers"].items() if "surrogate" not in _requires(defined)]


def _requires(defined):
    return build_solver(method_of(defined)).requires


def _of_methods(table, names):
    if "method" not in table.index.names:
        return np.zeros(len(table), dtype=bool)
    return table.index.get_level_values("method").isin(names)


def _named(place):
    return " ".join(map(str, place))


def main(words):
    """Compare the experiments that are named, or all of the demo; return the exit status."""
    config = yaml.safe_load(DEMO.read_text())
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("experiments", nargs="*", choices=[*config["run"], []], metavar="experiment")
    parser.add_argument("--whole", action="store_true", help="all runs of each cell, not two")
    parser.add_argument("--folder", type=Path, help="where records are kept; a temporary folder if not said")
    asked = parser.parse_args(words)
    names, types = asked.experiments or config["run"], core_types()
    configurations = [(core_type, threads) for core_type in dict.fromkeys((types[0], types[-1])) for threads in (1, 2)]
    with tempfile.TemporaryDirectory(prefix="kdrbench-compared-") as temporary:
        folder = (asked.folder or Path(temporary)).resolve()
        tables = [
            run(folder / f"{core_type}-{threads}", core_type, threads, names, config, asked.whole)
            for core_type, threads in configurations
        ]
    by_steps, failed = solvers_by_steps(yaml.safe_load((ROOT / "config.yaml").read_text())), False
    for name in names:
        record = build_stage(system_of(config["experiments"][name])).record
        for (core_type, threads), table in list(zip(configurations, tables, strict=True))[1:]:
            found, largest = differences(tables[0][name], table[name], list(record.axis_names()), by_steps)
            failed |= bool(found)
            numbers = "  ".join(f"{number} {gap:.0e}" for number, gap in largest.items())
            print(f"{name:22} {core_type:14} {threads} thread(s)  {'FAIL' if found else 'same'}  {numbers}")
            print(*(f"    {line}" for line in found), sep="\n", end="\n" if found else "")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
