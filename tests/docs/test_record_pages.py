"""What the packed record says: the documentation's pages on what was found, and a reason for each number.

It is opened and compared with print once, which takes most of the time.
"""

from collections import Counter

import pytest

from kdrbench.suite.archive.layers import opened
from kdrbench.suite.experiments.config_file import read_config_file
from kdrbench.suite.experiments.results import read_frozen
from kdrbench.suite.findings.ledger import NONE_KNOWN
from kdrbench.suite.findings.source import Source
from kdrbench.suite.findings.summary import write_summaries
from kdrbench.suite.reports.tables.verdicts import Verdict
from support.checkout import ROOT, is_there, searches_in

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
    write_summaries(source, tmp_path)
    assert [path.name for path in sorted(tmp_path.glob("*.md"))] == [path.name for path in PAGES]
    for page in PAGES:
        assert page.read_text(encoding="utf-8") == (tmp_path / page.name).read_text(encoding="utf-8"), page.name


def test_every_number_of_the_record_is_decided_with_a_reason(source):
    ledger, experiments = source.comparisons, read_config_file(ROOT / "config.yaml")["experiments"]
    counts = Counter(one.verdict for one in ledger if one.first)
    assert counts[Verdict.NOT_RUN] == 0
    assert counts[Verdict.REPRODUCED] > 100
    unlike = [one for one in ledger if one.first and one.verdict in (Verdict.DIFFERS, Verdict.CLOSE)]
    assert [one for one in unlike if not one.why] == []
    unknown = [one for one in unlike if NONE_KNOWN.search(one.why)]
    assert 0 < len(unknown) < len(unlike)
    for one in unknown:
        assert searches_in(one.why), one
        assert all(is_there(name, experiments) for name in searches_in(one.why)), one
