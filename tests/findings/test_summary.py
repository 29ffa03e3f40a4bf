"""Pages in Markdown of what a record shows: every number is read from it."""

import itertools
import re

import pandas as pd
import pytest

from kdrbench.errors import InputError
from kdrbench.suite.engine.publish import merged_lines, write_table
from kdrbench.suite.findings.source import Source
from kdrbench.suite.findings.summary import Markdown, as_markdown, markdown_table, summary, write_summaries
from kdrbench.suite.reports.outputs import SUMMARY_PAGES, summary_files, summary_pages
from kdrbench.suite.reports.records import of_papers
from kdrbench.suite.reports.tables.table import Entry, Group, Table, entries
from kdrbench.suite.systems.league import table_rows as league_rows
from support.configs import whole_config
from support.league_rows import made_up
from support.made_up import league_record
from support.report_rows import kpca_runs, low_rank_run


@pytest.fixture
def source(tmp_path, monkeypatch):
    """A record of the small league alone, whose runs have left no arrays."""
    monkeypatch.setattr(league_rows, "read_arrays", lambda *_: ())
    (tmp_path / "merged").mkdir()
    write(tmp_path, made_up())
    return Source(whole_config() | {"run": ["league_small", "noise", "atlas"]}, tmp_path, tmp_path)


def write(folder, rows):
    records = [
        league_record(number=row.pop("run"), experiment="league_small", **row)
        for row in rows.astype(object).where(rows.notna(), None).to_dict("records")
    ]
    write_table(folder / "merged/league_small.csv", merged_lines(records))


def lines_of(page):
    return [re.split(r" \| ", line.strip("| ")) for line in page.splitlines() if line.startswith("| ")]


def test_a_page_says_what_the_rows_say(source, tmp_path):
    page = summary("league", source)
    assert "2 data sets, 4 cells, 3 methods, 120 rows, 0 CPU minutes of fits\nin 0 minutes of processes." in page
    # All that the note explains is shown.
    assert "k-NN accuracy: rank | k-NN accuracy: 95 % | k-NN accuracy: alike | k-NN accuracy: mean" in page
    best = "By k-NN accuracy, InterpretableKDR, Gaussian is significantly better than each of PLS-DA and LDA in 2 of 4"
    assert best in page
    standings = {line[0]: line[1] for line in lines_of(page)[2:5]}
    assert standings == {"InterpretableKDR, Gaussian": "2.00", "LDA": "1.50", "PLS-DA": "2.50"}
    write(tmp_path, made_up(kdr_gaussian=("wine", 1, 3)))
    assert "in 1 of 4 cells; in 3 it is" in summary("league", Source(source.config, tmp_path, tmp_path))


def test_pages_of_an_earlier_record_are_removed_others_are_kept(source, tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    (out / "atlas.md").write_text(summary("league", source))
    assert [path.name for path in write_summaries(source, out)] == ["league.md"]
    assert [path.name for path in out.iterdir()] == ["league.md"]
    for name in ("league.md", "noise.md"):
        (out / name).write_text("# Mine")
        with pytest.raises(InputError, match=f"{name} is no page that `kdrbench summary` has made"):
            list(write_summaries(source, out))
        assert (out / name).read_text() == "# Mine"
        (out / name).unlink()
    assert not list(out.iterdir())


def test_the_workflow_makes_the_pages_of_what_is_run(tmp_path):
    config, folder = whole_config() | {"name": "mine"}, "reports/mine/summary"
    assert summary_files(config | {"run": ["table4_supervised"]}) == [
        f"{folder}/{name}.md" for name in SUMMARY_PAGES[:2]
    ]
    assert summary_files(config | {"run": ["noise"]}) == [f"{folder}/noise.md"]
    assert summary_files(config | {"run": ["saddle_escape"]}) == []
    whole = summary_files(config | {"run": ["kpca_tables", "lowrank_digits", "league_small"]})
    assert whole == [f"{folder}/{name}.md" for name in SUMMARY_PAGES[:5]]
    # Where nothing is merged yet there are none.
    assert of_papers(config)["run"]
    assert summary_pages(Source(config, tmp_path, tmp_path).made) == []


def test_tables_keep_their_groups_and_what_is_bold():
    table = Table(
        "t",
        "T",
        ["Method", "rank", "mean", "time"],
        [[[Entry("a"), Entry("1.0", bold=True), Entry("2", mark="*"), Entry("")], entries("bcde")]],
        groups=[[Group("k-NN", 2), Group("", 1)]],
    )
    assert markdown_table(table).splitlines() == [
        "| Method | k-NN: rank | k-NN: mean | time |",
        "| --- | ---: | ---: | --- |",
        r"| a | **1.0** | 2\* |  |",
        "| b | c | d | e |",
    ]


def test_words_of_a_record_are_no_markup():
    hostile = "<script>alert(1)</script> | *x* `y`\n# z [a](b) $c$ &lt;"
    assert as_markdown(hostile) == r"\<script\>alert(1)\</script\> \| \*x\* \`y\` # z \[a\](b) \$c\$ \&lt;"
    assert as_markdown(Markdown("*x*")) == "*x*"
    table = Table("t", "T", [hostile], [[[Entry(hostile)]]])
    assert len(lines_of(markdown_table(table))) == 3


def learned_kernels(folder):
    """Write two splits of Iris by each learner of the KPCA trick, and two draws of constraints on digits."""
    accuracies = {variant: [0.91, 0.93] for variant in ("plain", "cross_validated", "aligned")}
    splits = [one for name in ("nca", "lmnn", "dne") for one in kpca_runs(accuracies, dataset="iris", learner=name)]
    draw = {"sweeps": 17, "time_s": 0.01, "kkt_residual": 1e-4, "accuracy": 0.97, "target_accuracy": None}
    draw |= {"nmi_one_start": 0.5, "nmi_ten_starts": 0.6}
    cases = itertools.product(("burg", "von_neumann"), (25, 200), (0, 1))
    draws = [low_rank_run(method=method, n_constraints=n, run=run, **draw) for method, n, run in cases]
    for name, rows in (("kpca_tables", splits), ("lowrank_digits", draws)):
        pd.DataFrame(rows).assign(experiment=name).to_csv(folder / f"merged/{name}.csv", index=False)


def test_tables_of_learned_kernels_are_pages_with_all_cells(tmp_path):
    (tmp_path / "merged").mkdir()
    learned_kernels(tmp_path)
    source = Source(whole_config() | {"run": ["kpca_tables", "lowrank_digits"]}, tmp_path, tmp_path)
    assert summary_pages(source.made) == list(SUMMARY_PAGES[:4])
    page = summary("metric_learning", source)
    assert "1 data set, 2 splits, 18 rows." in page
    titles = [line for line in page.splitlines() if line.startswith("## ")]
    assert titles == ["## Table 1", "## Table 2", "## Table 3", "## Tests", "## Times"]
    assert page.count("0.92 \u00b1 0.01") == 9
    page = summary("low_rank", source)
    assert "| 94% |" in page
    burg = [line for line in lines_of(page) if line[:2] == ["Burg", "25"]]
    assert [line[2:4] for line in burg] == [["2 of 2", "17"]]
