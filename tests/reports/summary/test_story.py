"""The page of what was found of the papers, and its print, of records that were made up."""

import re
import shutil
import subprocess
from dataclasses import replace

import pytest

from kdrbench.reports.summary.markdown import escape
from kdrbench.reports.summary.pages import summary, write_summaries
from kdrbench.reports.summary.print import page_in_latex
from kdrbench.reports.summary.source import Source
from kdrbench.reports.summary.story import Story
from kdrbench.reports.tables.verdicts import Verdict
from kdrbench.stages.results import read_frozen
from support.record_folders import folder_of

PAPER = {"published": {"paper": "neurips2019", "table": "4", "setting": "supervised"}}


@pytest.fixture
def source(tmp_path):
    """Ten folds of ISM and DG on Wine, with costs near the printed one of the Gaussian kernel."""
    folder = folder_of(tmp_path / "results", folds=10, changed=PAPER | {"components": {"wine": 4}})
    return Source(read_frozen(folder / "config.json"), folder, folder)


def test_the_page_holds_the_size_of_the_record_its_verdicts_claims_and_answers(source):
    story, page = Story(source), summary("what_we_found", source)
    assert f"{len(story.runs)} rows of 1 experiment" in page
    assert "made on processor one" in page
    ((paper, verdicts),) = story.papers()
    assert f"- **{paper}**: {escape(verdicts)}." in page
    assert len(source.claims) == sum(page.count(f"- **{escape(claim.words)}** (") for claim, _ in source.claims) > 5
    assert not [one for one in story.answers(beyond=True)]
    assert [one.experiment for one in story.answers(beyond=False)] == ["first"]


def test_every_number_that_is_not_met_has_one_reason(source):
    line = next(one for one in source.comparisons if one.metric == "cost")
    differs = replace(line, verdict=Verdict.DIFFERS, published="1", ours="2", why="labels are numbers; daggers")
    source.__dict__["comparisons"] = [
        replace(differs, verdict=Verdict.REPRODUCED),
        replace(differs, verdict=Verdict.CLOSE, why="other folds"),
        differs,
        replace(differs, first=False),
        replace(differs, published="3", why="labels are numbers"),
    ]
    reasons = Story(source).reasons()
    assert [(one.why, one.count) for one in reasons] == [("labels are numbers", 2), ("other folds", 1)]
    assert reasons[0].example.endswith(": 1 printed, 2 here")
    page = summary("what_we_found", source)
    assert f"| labels are numbers | 2 | {escape(reasons[0].example)} |" in page
    assert "3 printed numbers: 1 reproduced, 1 close, 2 differs".replace("3", "4") in page


def test_rows_of_one_process_count_its_seconds_once(source):
    source.__dict__["experiments"] = ["first"]
    story = Story(source)
    story.__dict__["runs"] = story.runs.assign(wall_s=1800.0, trace_file="one", run=0)
    assert story.size.endswith("0.5 core-hours")


def test_records_of_no_paper_have_no_page(tmp_path):
    folder = folder_of(tmp_path / "results")
    config = read_frozen(folder / "config.json")
    config["experiments"]["first"].pop("published", None)
    source = Source(config, folder, folder)
    assert not list(write_summaries(source, tmp_path / "out"))


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="needs pdflatex")
def test_the_page_is_made_in_print_with_outlines_as_fonts(source, tmp_path):
    written = [path.name for path in write_summaries(source, tmp_path)]
    assert written == ["what_we_found.md", "what_we_found.pdf"]
    if shutil.which("pdffonts"):
        fonts = subprocess.run(["pdffonts", tmp_path / written[1]], capture_output=True, text=True, check=True).stdout
        assert "Type 3" not in fonts


def test_markup_becomes_latex():
    text = "<!-- x -->\n# A & b\n\nOf `a_b` **c \\*d** [e](f.md) \\[g\\](h) 5 % \\<i\\>\n\n- j\n- k\n\n"
    text += "| l | m |\n| --- | ---: |\n| n \\| o | **1** |\n"
    body = re.search(r"\\sloppy\n(.*)\\end\{document\}", page_in_latex(text), re.DOTALL)[1]
    assert body == (
        "\\textbf{\\large A \\& b}\n\n"
        "Of \\texttt{a\\_b} \\textbf{c *d} e [g](h) 5 \\% $<$i$>$\n\n"
        "\\itemdot j\n\n\\itemdot k\n\n"
        "\\begin{tabularx}{\\linewidth}{Xr}\n\\toprule\nl & m \\\\\n\\midrule\n"
        "n $|$ o & \\textbf{1} \\\\\n\\bottomrule\n\\end{tabularx}\n"
    )
