"""Tables 1 to 3 of Chatpatanasiri et al. 2010: NCA, LMNN and DNE, plain and with kernels chosen in two ways.

    python benchmarks/kpca_trick.py run iris --splits 0 5 --out iris.jsonl     # splits 0 to 4, one JSON row a method
    python benchmarks/kpca_trick.py tables *.jsonl                             # paper / ours, win/draw/lose, times

A file appears whole or not at all, and depends on its data set and splits alone: a job for each part, in any order,
is as good as one for all. With --test-selected, rows hold the test accuracy of every kernel of the grid, and the tables
say what choosing by the test sets would have given.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np
from kpca_trick_protocol import DATASETS, VARIANTS, run_split
from scipy.stats import t as student

from kdrbench.datasets import load_dataset
from kdrbench.files import write_text
from kdrbench.metric_learning import LEARNERS
from kdrbench.reports.published import PublishedNumber, find_published
from kdrbench.reports.summary import Cell
from kdrbench.reports.verdict import judge

PRINTED = ("plain", "cross_validated", "aligned")
TABLES = {"nca": "1", "lmnn": "2", "dne": "3"}
# data set, learner, variant -> split -> row
Results = dict[tuple[str, str, str], dict[int, dict[str, object]]]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run splits or print tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="run some splits of a data set")
    run.add_argument("dataset", choices=DATASETS)
    run.add_argument("--splits", nargs=2, type=int, default=(0, 40), metavar=("FIRST", "END"), help="END is not run")
    run.add_argument("--out", type=Path, required=True, help="file of JSON lines to write")
    run.add_argument("--mirror", help="folder or URL with the data, asked first")
    run.add_argument("--test-selected", action="store_true", help="also try every kernel on the test sets")
    tables = commands.add_parser("tables", help="print Markdown tables of such files")
    tables.add_argument("files", nargs="+", type=Path)
    options = parser.parse_args(arguments)
    if options.command == "tables":
        print(render(read(options.files)))
        return
    first, end = options.splits
    if not 0 <= first < end:
        parser.error(f"--splits needs 0 <= FIRST < END, got {first} {end}")
    dataset = load_dataset(options.dataset, mirror=options.mirror)
    rows = [
        row for number in range(first, end) for row in run_split(dataset, number, test_selected=options.test_selected)
    ]
    write_text(options.out, "".join(json.dumps(asdict(row)) + "\n" for row in rows))


def read(files: Iterable[Path]) -> Results:
    """Return all rows; ``SystemExit`` where two files hold the same split."""
    results: Results = defaultdict(dict)
    for path in files:
        for line in path.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            cell = results[row["dataset"], row["learner"], row["variant"]]
            if row["split"] in cell:
                raise SystemExit(f"{path}: split {row['split']} of {row['dataset']} is in another file too")
            cell[row["split"]] = row
    return results


def render(results: Results) -> str:
    """Return the tables as Markdown."""
    names = [name for name in DATASETS if any(key[0] == name for key in results)]
    return "\n\n".join([*(_accuracies(results, learner, names) for learner in LEARNERS), _times(results, names)])


def _accuracies(results: Results, learner: str, names: Sequence[str]) -> str:
    titles = [f"{VARIANTS[variant]}{learner}".upper() for variant in PRINTED]
    head = ["data set", "splits", *(f"{title} paper / ours" for title in titles), "p (K)", "p (AK)", "AK, centred"]
    extra = any(row.get("test_selected") for key, cell in results.items() if key[1] == learner for row in cell.values())
    lines = [*_header([*head, *(["K by test sets"] if extra else [])], f"Table {TABLES[learner]}: {learner.upper()}")]
    for name in names:
        cells = {variant: _column(results[name, learner, variant], "accuracy") for variant in VARIANTS}
        line = [name, str(len(cells["plain"]))]
        ours = {variant: f"{values.mean():.2f} \u00b1 {values.std():.2f}" for variant, values in cells.items()}
        for variant in PRINTED:
            verdict = _verdict(name, learner, variant, cells[variant])
            line.append(f"{_printed(name, learner, variant)} / {ours[variant]}, {verdict}")
        rows = list(results[name, learner, "plain"].values())
        ratio = float(rows[0]["n_test"]) / float(rows[0]["n_train"])
        line += [_p_value(cells[variant] - cells["plain"], ratio) for variant in ("cross_validated", "aligned")]
        line.append(ours["centred"])
        if extra:
            tried = [row["test_selected"] for row in results[name, learner, "cross_validated"].values()]
            line.append(f"{np.mean(tried, axis=0).max():.2f}" if all(tried) else "-")
        lines.append(_line(line))
    counts = [_compared(results, learner, names, variant) for variant in ("cross_validated", "aligned")]
    lines.append(_line(["win/draw/lose", "", "", *counts, *([""] * (3 + extra))]))
    return "\n".join(lines)


def _compared(results: Results, learner: str, names: Sequence[str], variant: str) -> str:
    """Return wins, draws and losses against the plain learner by means rounded to two digits, printed and ours."""
    printed, ours = [0, 0, 0], [0, 0, 0]
    for name in names:
        means = [_column(results[name, learner, which], "accuracy").mean() for which in (variant, "plain")]
        ours[1 - int(np.sign(round(means[0], 2) - round(means[1], 2)))] += 1
        values = [_number(name, learner, which) for which in (variant, "plain")]
        if None not in values:
            printed[1 - int(np.sign(values[0] - values[1]))] += 1  # type: ignore[operator]
    return f"{'/'.join(map(str, printed))} / {'/'.join(map(str, ours))}"


def _p_value(differences: np.ndarray, ratio: float) -> str:
    """Return the two-sided p of a mean of differences over J overlapping splits (Nadeau, Bengio 2003).

    The variance of the mean is (1/J + n_test/n_train) s^2: training sets of one data set are not independent, and the
    plain paired test finds too many differences.
    """
    count = len(differences)
    if count < 2:
        return "-"
    spread = differences.std(ddof=1)
    if spread == 0.0:
        return "1.00" if differences.mean() == 0 else "0.00"
    statistic = abs(differences.mean()) / (spread * np.sqrt(1 / count + ratio))
    return f"{2 * student.sf(statistic, count - 1):.2f}"


def _times(results: Results, names: Sequence[str]) -> str:
    """Return the mean CPU seconds of choosing the kernel and of learning, a split."""
    head = ["data set", *(f"{prefix}{learner}".upper() for learner in LEARNERS for prefix in ("k", "ak"))]
    lines = _header(head, "CPU seconds a split: choosing the kernel + learning with it")
    for name in names:
        line = [name]
        for learner in LEARNERS:
            for variant in ("cross_validated", "aligned"):
                cell = results[name, learner, variant]
                tuning, learning = (_column(cell, key).mean() for key in ("tuning_cpu_s", "learning_cpu_s"))
                line.append(f"{tuning:.3g} + {learning:.2g}")
        lines.append(_line(line))
    return "\n".join(lines)


def _column(cell: dict[int, dict[str, object]], key: str) -> np.ndarray:
    return np.array([cell[split][key] for split in sorted(cell)], dtype=np.float64)


def _printed(name: str, learner: str, variant: str) -> str:
    found = _find(name, learner, variant)
    return found.text if found else "-"


def _verdict(name: str, learner: str, variant: str, values: np.ndarray) -> str:
    """Return what the reports say of a share and its printed one."""
    count = len(values)
    cell = Cell("quality", float(values.mean()), float(values.std()), "", "", count, count, True)
    return str(judge(_find(name, learner, variant), cell))


def _number(name: str, learner: str, variant: str) -> float | None:
    found = _find(name, learner, variant)
    return found.value if found else None


def _find(name: str, learner: str, variant: str) -> PublishedNumber | None:
    return find_published(
        paper="kpca_trick",
        table=TABLES[learner],
        setting="classification",
        dataset=name,
        kernel="" if variant == "plain" else variant,
        method=VARIANTS[variant] + learner,
        metric="accuracy",
    )


def _header(head: Sequence[str], title: str) -> list[str]:
    return [f"**{title}**", "", _line(head), "|" + "---|" * len(head)]


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


if __name__ == "__main__":
    main()
