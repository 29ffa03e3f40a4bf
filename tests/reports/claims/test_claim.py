"""Decisions by shares, and the data sets of a paper."""

import pytest

from kdrbench.reports.claims.claim import Decision, decided_by_share, papers_datasets, share_of
from kdrbench.reports.tables.published_numbers import our_name, published_name, published_numbers


@pytest.mark.parametrize(
    ("holding", "normally", "decision"),
    [
        (20, False, Decision.CONFIRMED),
        (19, False, Decision.MOSTLY),
        (16, False, Decision.MOSTLY),
        (15, False, Decision.CONTRADICTED),
        (18, True, Decision.CONFIRMED),
        (17, True, Decision.MOSTLY),
        (15, True, Decision.CONTRADICTED),
    ],
)
def test_a_share_decides(holding, normally, decision):
    found = decided_by_share(holding, 20, "evidence", "note", "run", normally)
    assert (found.decision, found.evidence, found.note) == (decision, "evidence", "note")
    assert found.measure == f"{holding} of 20 runs ({5 * holding} %)"


def test_nothing_to_count_decides_nothing():
    found = decided_by_share(0, 0, "evidence")
    assert (found.decision, found.measure) == (Decision.UNDECIDED, "")
    assert found.evidence == "no records: no cell to count"


def test_only_all_are_a_hundred_per_cent():
    assert share_of(199, 200, "run") == "199 of 200 runs (99 %)"
    assert share_of(200, 200, "run") == "200 of 200 runs (100 %)"
    assert share_of(1, 1, "run") == "1 of 1 run (100 %)"


def test_data_sets_of_a_paper_have_our_names():
    assert papers_datasets("neurips2019", "4", "5") == {"wine", "cancer", "face", "mnist"}
    assert papers_datasets("ismplus", "5") == {"wine", "cancer-137", "car", "face"}
    assert {"balance", "m-usps"} <= papers_datasets("kpca_trick", "1", "2")
    assert papers_datasets("neurips2019") >= papers_datasets("neurips2019", "4")
    assert papers_datasets("kpca_trick", "9") == frozenset()


def test_our_names_print_as_the_papers_do():
    for axes in published_numbers():
        for axis in ("dataset", "kernel"):
            assert published_name(axis, our_name(axis, axes[axis], axes["paper"])) == axes[axis]
