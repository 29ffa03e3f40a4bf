"""The picture of the rules."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
DOT = """digraph snakemake_dag {
\t0[label = "all", color = "0.00 0.6 0.85", style="rounded"];
\t1[label = "table", color = "0.49 0.6 0.85", style="rounded"];
\t2[label = "fetch", color = "0.13 0.6 0.85", style="rounded"];
\t3[label = "run", color = "0.22 0.6 0.85", style="rounded"];
\t1 -> 0
\t3 -> 1
\t2 -> 3
\t2 -> 1
\t2 -> 0
}
"""


def draw(text):
    command = [sys.executable, ROOT / "docs" / "draw_rulegraph.py"]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=False)


def test_rules_are_drawn_in_order_and_without_shortcuts():
    picture = draw(DOT).stdout
    heights = {name: float(y) for y, name in re.findall(r'<text x="[-\d.]+" y="([-\d.]+)"[^>]*>(\w+)<', picture)}
    assert sorted(heights, key=heights.get) == ["fetch", "run", "table", "all"]
    # Of the five arrows two follow from the others.
    assert picture.count('marker-end="url(#tip)"') == 3


def test_no_graph_is_an_error_that_says_what_to_do():
    done = draw("Building DAG of jobs...\n")
    assert done.returncode == 1
    assert "pipe the output of `snakemake --rulegraph`" in done.stderr


def test_the_picture_in_the_documentation_is_of_these_rules():
    shown = set(re.findall(r">(\w+)</text>", (ROOT / "docs" / "rulegraph.svg").read_text()))
    written = "".join(path.read_text() for path in [ROOT / "Snakefile", *(ROOT / "rules").glob("*.smk")])
    assert {"prepare_bundled", "check_plugin", "run_batch", "merge", "papers", "all"} <= shown
    reports = {name for name in shown if name.startswith(("experiment_", "compared_"))}
    assert {"experiment_demo_supervised", "compared_demo_supervised"} <= reports
    assert shown - reports <= set(re.findall(r"^ *rule (\w+):", written, re.M))
    assert "](rulegraph.svg)" in (ROOT / "docs" / "experiments.md").read_text()
