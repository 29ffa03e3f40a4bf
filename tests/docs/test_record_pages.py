"""What the packed record says: the documentation's pages on what was found, and a reason for each number.

It is opened and compared with print once, which takes most of the time.
"""

import re
import subprocess
from collections import Counter

import pytest

from kdrbench.commands.reports import write_summary
from kdrbench.packing.unpack import opened
from kdrbench.reports.ledger.published_vs_ours import searches_in, shares, unexplained
from kdrbench.reports.summary.print import page_in_latex
from kdrbench.reports.summary.source import Source
from kdrbench.reports.tables.verdicts import Verdict
from kdrbench.stages.config_file import read_config_file
from kdrbench.stages.results import read_frozen
from support.checkout import ROOT, is_there

pytestmark = pytest.mark.whole

RECORD, PAGES = ROOT / "results/reference", sorted((ROOT / "docs/record").glob("*.md"))


@pytest.fixture(scope="module")
def source():
    """The record as `kdrbench summary` reads it."""
    if not (RECORD / "manifest.json").is_file():
        pytest.skip("there is no packed record yet")
    with opened(RECORD) as folder:
        yield Source(read_frozen(folder / "config.json"), folder, folder, "reports")


def test_every_page_is_what_the_record_says(source, tmp_path):
    write_summary(source, tmp_path)
    assert [path.name for path in sorted(tmp_path.glob("*.md"))] == [path.name for path in PAGES]
    for page in PAGES:
        assert page.read_text(encoding="utf-8") == (tmp_path / page.name).read_text(encoding="utf-8"), page.name


def test_the_small_league_is_tuned_on_the_same_folds(source):
    fixed, tuned = source.runs("league_small"), source.runs("league_small_tuned")
    fixed = fixed[(fixed["n_components"] == 2) & (fixed["run"] < 5)]
    axes = ["dataset", "method", "run"]
    assert len(tuned) == len(fixed) > 1000
    assert set(map(tuple, tuned[axes].to_numpy())) == set(map(tuple, fixed[axes].to_numpy()))


def test_every_number_of_the_record_is_decided_with_a_reason(source):
    ledger, experiments = source.comparisons, read_config_file(ROOT / "config.yaml")["experiments"]
    counts = Counter(one.verdict for one in ledger if one.first)
    assert counts[Verdict.NOT_RUN] == 0
    assert counts[Verdict.REPRODUCED] > 100
    unlike = [one for one in ledger if one.first and one.verdict in (Verdict.DIFFERS, Verdict.CLOSE)]
    assert [one for one in unlike if not one.why] == []
    unknown = unexplained(ledger)
    assert 0 < len(unknown) < len(unlike)
    for one in unknown:
        assert searches_in(one.why), one
        assert all(is_there(name, experiments) for name in searches_in(one.why)), one
    said = [line for line in shares(ledger) if "no reason that is known" in line]
    numbers = [line.partition("known: ")[2] for line in said]
    assert [words.split(", of which ")[0] for words in numbers] == [
        words.split(", of which ")[1].split()[0] for words in numbers
    ]


@pytest.mark.needs("tex")
def test_what_was_found_has_two_pages_in_print(tmp_path):
    page = page_in_latex((ROOT / "docs/record/what_we_found.md").read_text(encoding="utf-8"))
    (tmp_path / "page.tex").write_text(page, encoding="utf-8")
    words = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "page.tex"]
    said = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    # The log breaks lines where it likes.
    assert re.findall(r"page\.pdf\((\d+)pages?,", re.sub(r"\s", "", said)) == ["2"]
