"""What the records answer."""

import json
import shutil

import pandas as pd
import pytest

from kdrbench.suite.commands import compare
from kdrbench.suite.commands.options import Runs
from kdrbench.suite.findings.answers import answers_of
from kdrbench.suite.reports.records import read_runs
from support.command_line import kdrbench
from support.record_folders import folder_of
from support.report_rows import trace_line


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """A folder of results in which ISM always ends lower than DG, with the traces of all runs."""
    folder = folder_of(tmp_path_factory.mktemp("results"), folds=8)
    table = folder / "merged/first.csv"
    names, *lines = table.read_text().splitlines(keepends=True)
    higher = (line.replace("-1311.", "-1200.") if ",dg," in line else line for line in lines)
    table.write_text("".join([names, *higher]))
    for method in ("ism", "dg", "svm"):
        lines = [
            trace_line(method, fold, kernel=kernel, time_s=0.1, cost=-1000.0, stationarity=1.0, calls=1)
            for kernel in ("gaussian", "polynomial")
            for fold in range(8)
        ]
        (folder / "traces").mkdir(exist_ok=True)
        (folder / f"traces/wine-{method}.jsonl").write_text("".join(lines))
    return folder


def said(results, *words):
    done = kdrbench(*words, "--results", results)
    assert done.exit_code == 0, done.output
    return done.output


def test_compare_without_names_says_what_the_dashboard_says(results):
    (answer,) = answers_of(
        read_runs(results / "merged/first.csv"), json.loads((results / "config.json").read_text()), results / "traces"
    )
    text = said(results, "compare")
    assert answer.question in text
    assert answer.text in text
    header, ism, dg = [line.split() for line in text.splitlines()[3:6]]
    assert header[:3] == ["solver", "best", "in"]
    # Each of 8 folds of 2 kernels, within which final costs are compared with those of ISM.
    assert ism[:4] == ["ISM", "16", "of", "16"]
    assert dg[:4] == ["DG", "0", "of", "16"]
    assert dg[-6:] == ["0", "0", "16", "2", "of", "2"]


def test_status_says_what_the_dashboard_says(results):
    frozen = json.loads((results / "config.json").read_text())
    (answer,) = answers_of(read_runs(results / "merged/first.csv"), frozen, results / "traces")
    plain = kdrbench("status", results).output
    assert f"\n{answer.question} (first)\n  {answer.text}\n" in plain
    # Who beats whom is said by compare.
    assert "best in" not in plain


@pytest.mark.parametrize("trace", ["wine-ism", "wine-dg"])
def test_answers_are_said_without_a_trace_too(results, tmp_path, trace):
    shutil.copytree(results, tmp_path / "results")
    (tmp_path / f"results/traces/{trace}.jsonl").unlink()
    # Final costs are compared, and nothing is known of times.
    _, ism, _ = [line.split() for line in said(tmp_path / "results", "compare").splitlines()[3:6]]
    assert ism[:6] == ["ISM", "16", "of", "16", "-", "-"]


def test_control_characters_do_not_reach_the_terminal(tmp_path):
    folder = folder_of(tmp_path, methods=["ism", "dg"])
    config = (folder / "config.json").read_text()
    (folder / "config.json").write_text(config.replace("A table of made-up runs", "\\u001b]0;owned"))
    (folder / "merged/first.csv").write_text((folder / "merged/first.csv").read_text().replace(",dg,", ",d\x1bg,"))
    (folder / "traces").mkdir()
    for method in ("ism", "dg", "svm"):
        (folder / f"traces/wine-{method}.jsonl").write_text("")
    assert "\x1b" not in said(folder, "compare")
    (folder / "config.json").write_text(config.replace('"dg"', '"d\\u001bg"'))
    done = kdrbench("compare", "--results", folder)
    assert (done.exit_code, "\x1b" in done.stderr, "it must be a name" in done.stderr) == (2, False, True)


def test_what_cannot_be_compared_is_refused(results):
    for words, sentence in (
        (["compare", "ism"], "'ism' is taken for the place of results, as is --results: leave out one of them"),
        (["compare", *"abcd"], "'a b c d' is given; allowed are a folder of results that is there, two solvers, or"),
        (["compare", "--experiment", "firts"], "Did you mean 'first'?"),
        (["compare", "--name", "gone"], "config.json is not there"),
    ):
        done = kdrbench(*words, "--results", results)
        assert (done.exit_code, sentence in done.stderr) == (2, True), done.stderr
    assert "'ism' is given; allowed are a folder" in kdrbench("compare", "ism").stderr


def test_a_tuned_league_is_answered_beside_the_one_with_defaults(tmp_path, monkeypatch):
    asked = {}
    monkeypatch.setattr(compare, "fixed_beside", lambda config, name: "fixed" if name == "tuned" else None)
    monkeypatch.setattr(compare, "answer_of", lambda name, rows, *_: asked.update({name: list(rows["experiment"])}))
    monkeypatch.setattr(compare, "read_runs", lambda path: pd.DataFrame({"experiment": [path.stem]}))
    for name in ("fixed", "tuned"):
        path = tmp_path / "merged" / f"{name}.csv"
        path.parent.mkdir(exist_ok=True)
        path.touch()
    compare.merged_answers(Runs({"run": ["fixed", "tuned"]}, tmp_path, tmp_path))
    assert asked == {"fixed": ["fixed"], "tuned": ["tuned", "fixed"]}
