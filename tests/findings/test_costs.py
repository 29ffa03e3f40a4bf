"""Claims on cost, decided from made-up runs."""

import copy

import pytest

from kdrbench.suite.findings.finding import Decision
from support.claim_rows import CONFIG, WITH_AUTHORS, cells, claims, records
from support.report_rows import run

RIVALS = ("dg", "sm", "gm")
SUPERVISED, CLUSTERS = ("four", "plus_five"), ("four_clusters", "plus_six")


def both(tables, ours=-100.0, theirs=-98.0, solver="ism", suffix="", **columns):
    """ISM in each table, and its rivals."""
    rows = [row for table in tables for row in cells(table, solver, cost=ours, stopped_early="")]
    columns = {"stopped_early": ""} | columns
    return rows + [
        row for table in tables for rival in RIVALS for row in cells(table, rival + suffix, cost=theirs, **columns)
    ]


def where(dataset, kernel, number, otherwise):
    return lambda data, of, fold: number if (data, of) == (dataset, kernel) else otherwise


def test_lower_cost_is_confirmed_where_no_rival_is_lower():
    found = claims.lower_cost(records(*both(SUPERVISED, theirs=where("wine", "polynomial", -100.00001, -98.0))))
    assert found.decision is Decision.CONFIRMED
    # 1e-7 relative is a tie. DG and GM have no cost on MNIST in print.
    assert found.measure == "32 of 32 cells (100 %)"


def test_lower_cost_is_mostly_so_where_few_rivals_are_lower():
    found = claims.lower_cost(records(*both(SUPERVISED, theirs=where("wine", "gaussian", -101.0, -98.0))))
    # Three rivals in two tables.
    assert (found.decision, found.measure) == (Decision.MOSTLY, "26 of 32 cells (81 %); at most 0.99 % higher")
    assert "not shown in NeurIPS 2019, Table 4, supervised: Wine, Gaussian, DG by 0.99 %; " in found.evidence


@pytest.mark.parametrize(
    ("theirs", "measure"),
    [(-101.0, "0 of 32 cells (0 %); at most 0.99 % higher"), (-100.0, "lower in 0 of 32 cells (0 %)")],
)
def test_lower_cost_is_contradicted_by_lower_or_tied_rivals(theirs, measure):
    found = claims.lower_cost(records(*both(SUPERVISED, theirs=theirs)))
    assert (found.decision, found.measure) == (Decision.CONTRADICTED, measure)


def test_a_cell_that_lost_runs_is_lost():
    rows = both(SUPERVISED)
    lost = [row for row in rows if (row["dataset"], row["method"], row["run"]) != ("face", "sm", 7)]
    found = claims.lower_cost(records(*lost))
    assert (found.decision, found.measure) == (Decision.MOSTLY, "30 of 32 cells (94 %)")
    assert "supervised: Face, Gaussian, SM (missing or failed runs); " in found.evidence


def test_runs_stopped_at_the_papers_limit_hold_nowhere():
    found = claims.lower_cost(records(*both(SUPERVISED, status=where("wine", "polynomial", "time_limit", "converged"))))
    assert found.measure == "29 of 32 cells (91 %)"
    assert "Wine, Polynomial, SM by -2 % (stopped)" in found.evidence


def stopped_early(*place):
    """The columns of rivals of one cell, or of all, whose runs ended at a limit below the paper's."""
    words = "stopped at 60 s, at most 259200 s are allowed"
    if not place:
        return {"status": "time_limit", "stopped_early": words}
    return {"status": where(*place, "time_limit", "converged"), "stopped_early": where(*place, words, "")}


def test_cells_stopped_before_the_papers_limit_may_hold_or_not():
    found = claims.lower_cost(records(*both(SUPERVISED, **stopped_early("wine", "polynomial"))))
    # Three rivals in one cell: 29 of 32 mostly confirm, all 32 confirm.
    assert (found.decision, found.measure) == (Decision.MOSTLY, "29 of 32 cells (91 %), and 3 open")
    assert "open, since runs were stopped too early or not made: 3 cells" in found.evidence


def test_a_claim_is_decided_where_open_cells_change_nothing():
    def theirs(data, of, fold):
        return -98.0 if (data, of) == ("wine", "polynomial") else -101.0

    found = claims.lower_cost(records(*both(SUPERVISED, theirs=theirs, **stopped_early("wine", "polynomial"))))
    assert (found.decision, found.measure) == (
        Decision.CONTRADICTED,
        "0 of 32 cells (0 %), and 3 open; at most 0.99 % higher",
    )
    every = claims.lower_cost(records(*both(SUPERVISED, **stopped_early())))
    assert (every.decision, every.measure) == (Decision.UNDECIDED, "0 of 32 cells (0 %), and 32 open")
    clusters = both(CLUSTERS, theirs=where("face", "gaussian", -98.0, -101.0), **stopped_early("face", "gaussian"))
    assert claims.lowest_among_clusters(records(*clusters)).decision is Decision.CONTRADICTED
    one = both(CLUSTERS, **stopped_early("face", "polynomial"))
    assert claims.lowest_among_clusters(records(*one)).measure == "11 of 12 cells (92 %), and 1 open"


def test_the_note_says_what_holds_in_each_lane():
    rows = both(SUPERVISED)
    fair = both(SUPERVISED, theirs=-101.0, solver="ism_converged", suffix="_converged")
    found = claims.lower_cost(records(*rows, *fair))
    assert found.decision is Decision.CONFIRMED
    assert found.note.startswith(
        "As published, 32 of 32 cells (100 %) (confirmed); converged, 0 of 32 cells (0 %); at most 0.99 % higher (contr"
    )


def by_authors(ism, rival, published):
    """Rows of published methods, and others by the authors' code on ten folds, drawn twice."""
    costs = {"ism_authors": 0.0, "ism_authors_1": ism, "sm_authors": rival, "gm_authors_4": rival}
    rows = [
        run("wine-142", method, fold, experiment="authors", cost=cost + fold / 10, partition=part, stopped_early="")
        for method, cost in costs.items()
        for fold in range(10)
        for part in range(2)
    ]
    return records(*both(SUPERVISED, theirs=published), *rows, config=WITH_AUTHORS)


def test_what_the_authors_ran_decides_first():
    found = claims.lower_cost(by_authors(ism=-100.0, rival=-90.0, published=-101.0))
    assert (found.decision, found.measure) == (Decision.CONFIRMED, "2 of 2 cells (100 %)")
    assert found.note.startswith(
        "By the authors' code on Wine (142), 2 of 2 cells (100 %) (confirmed); as published, 0 of 32"
    )
    other = claims.lower_cost(by_authors(ism=-80.0, rival=-90.0, published=-98.0))
    assert other.decision is Decision.CONTRADICTED
    assert "not shown in authors: Wine (142), Gaussian, SM by " in other.evidence
    # A protocol of another's is not the authors' code.
    config = copy.deepcopy(CONFIG)
    config["experiments"]["four"]["published"]["protocol"] = True
    assert claims.lower_cost(records(*both(SUPERVISED), config=config)).decision is Decision.UNDECIDED


def test_a_difference_that_folds_do_not_show_is_not_distinguishable():
    theirs = where("wine", "gaussian", -100.5, -100.5)
    rows = [
        row | ({"cost": row["cost"] + 9.0 * (-1) ** row["run"]} if row["method"] != "ism" else {})
        for row in both(("four",), theirs=theirs) + both(("plus_five",))
    ]
    found = claims.lower_cost(records(*rows))
    assert found.decision is Decision.INDISTINCT
    assert ", and 20 unclear" in found.measure
    assert found.power.startswith("a difference of ")


def test_clusters_are_counted_by_cell():
    assert claims.lowest_among_clusters(records(*both(CLUSTERS))).decision is Decision.CONFIRMED
    one = claims.lowest_among_clusters(records(*both(CLUSTERS, theirs=where("face", "polynomial", -101.0, -98.0))))
    assert (one.decision, one.measure) == (Decision.MOSTLY, "11 of 12 cells (92 %); at most 0.99 % higher")
    assert "not shown in NeurIPS 2019, Table 4, unsupervised: Face, Polynomial, SM by 0.99 %" in one.evidence
    assert claims.lowest_among_clusters(records(*both(CLUSTERS, theirs=-101.0))).decision is Decision.CONTRADICTED
    assert claims.lowest_among_clusters(records(*both(SUPERVISED))).decision is Decision.UNDECIDED
