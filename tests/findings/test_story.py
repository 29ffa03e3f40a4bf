"""The page of what was found of the papers, its first sentence, and what the dashboard reads of claims."""

import json
from dataclasses import replace

import pandas as pd
import pytest

from kdrbench.suite.experiments.results import read_frozen
from kdrbench.suite.findings.answers import answer_of, leading_of, own_solvers
from kdrbench.suite.findings.claim_rows import Records
from kdrbench.suite.findings.claims import CLAIMS, claims_json, decide_claims
from kdrbench.suite.findings.finding import Claim, Decision, Finding
from kdrbench.suite.findings.source import Source
from kdrbench.suite.findings.summary import Summary, escape, summary, write_summaries
from kdrbench.suite.reports.dashboard.rendering import slug
from kdrbench.suite.reports.tables.verdicts import Verdict
from support.dashboard_grid import grid_config
from support.record_folders import folder_of
from support.report_rows import TABLE_4, traced_runs

PAPER = {"published": TABLE_4}


@pytest.fixture
def source(tmp_path):
    """Ten folds of ISM and DG on Wine, with costs near the printed one of the Gaussian kernel."""
    folder = folder_of(tmp_path / "results", folds=10, changed=PAPER | {"components": {"wine": 4}})
    return Source(read_frozen(folder / "config.json"), folder, folder)


def test_the_page_holds_size_verdicts_claims_and_answers(source):
    story, page = Summary(source), summary("what_we_found", source)
    assert f"{len(story.runs)} rows of 1 experiment" in page
    assert "made on processor one" in page
    ((paper, verdicts, counts),) = story.papers()
    assert f"| {paper} | {escape(verdicts)} | {' | '.join(map(str, counts))} |" in page
    n_unjudged = sum(line.first and line.verdict is Verdict.NOT_JUDGED for line in source.comparisons)
    assert f"Printed numbers without a verdict: {n_unjudged}." in page
    assert n_unjudged > 0
    assert len(source.claims) == sum(page.count(f"| {escape(claim.words)} | ") for claim, _ in source.claims) > 5
    assert [one.experiment for one in story.answers(beyond=False)] == ["first"]
    assert not story.answers(beyond=True)
    # Rows of one process count its seconds once.
    source.__dict__["experiments"] = ["first"]
    once = Summary(source)
    once.__dict__["runs"] = once.runs.assign(wall_s=1800.0, trace_file="one", run=0)
    assert once.size.endswith("0.5 core-hours")
    # The page says what holds in each lane.
    claim = source.claims[0][0]
    lanes = "By the authors' code, 2 of 2 cells (confirmed); as published, 0 of 2 cells (contradicted)."
    source.__dict__["claims"] = [(claim, Finding(Decision.CONFIRMED, "in 2 of 2", lanes, "2 of 2", "95 %: a lot"))]
    page, behind = summary("what_we_found", source), summary("behind_what_we_found", source)
    assert f"{escape(claim.words)} | confirmed | 2 of 2 | evidence |" in page
    assert "Of 1 claim: 1 confirmed." in page
    assert f"| {escape(claim.words)} | confirmed | 95 %: a lot |" in behind
    assert f"| {escape(claim.words)} | {escape(lanes)} |" in behind


@pytest.fixture
def differs(source):
    line = next(one for one in source.comparisons if one.metric == "cost")
    return replace(line, verdict=Verdict.DIFFERS, published="1", ours="2", why="labels are numbers; daggers")


def test_every_number_that_is_not_met_has_one_reason(source, differs):
    source.__dict__["comparisons"] = [
        replace(differs, verdict=Verdict.REPRODUCED),
        replace(differs, verdict=Verdict.CLOSE, why="other folds"),
        differs,
        replace(differs, first=False),
        replace(differs, published="3", why="labels are numbers"),
    ]
    reasons = Summary(source).reasons(of_authors=False)
    assert [(one.why, one.count) for one in reasons] == [("labels are numbers", 2), ("other folds", 1)]
    assert reasons[0].example.endswith(": 1 printed, 2 here")
    assert f"| labels are numbers | 2 | 0 | {escape(reasons[0].example)} |" in summary("behind_what_we_found", source)
    assert "| 1 reproduced, 1 close, 2 differs | 1 | 0 | 3 | 0 |" in summary("what_we_found", source)


def test_what_the_authors_code_did_is_told_with_the_numbers_it_made(source, differs):
    why = "their labels are numbers (experiment authors_table4_wine)"
    made = {"protocol": "1.01 (authors_table4_wine, gaussian, dg_authors)", "protocol_verdict": "reproduced"}
    source.__dict__["comparisons"] = [replace(differs, why=why), replace(differs, why=why, **made)]
    story = Summary(source)
    (one,) = story.reasons(of_authors=True)
    assert (one.count, one.traced, story.reasons(of_authors=False)) == (2, 1, [])
    assert one.example.endswith(": 1 printed, 2 here, 1.01 by another protocol")
    assert f"| {escape(why)} | 2 | 1 | " in summary("what_we_found", source)


def test_numbers_without_a_known_reason_are_counted_by_search_and_not_as_the_authors(source, differs):
    unlike = replace(differs, why="no reason is known; daggers")
    by_search = "no setting is known (experiment authors_b)"
    others = [replace(unlike, why=by_search), replace(unlike, published="9"), replace(unlike, first=False)]
    source.__dict__["comparisons"] = [*others, unlike]
    story = Summary(source)
    found = [(one.why, one.count) for one in story.reasons(of_authors=False)]
    assert found == [("no reason is known", 2), (by_search, 1)]
    assert story.reasons(of_authors=True) == []


def test_ends_are_counted_by_curvature_and_by_what_ended_them(source):
    runs = source.runs["first"]
    ism = runs[runs["method"] == "ism"].assign(status="converged", curvature=-1e-5, optimality="not_stationary")
    of_polynomial = ism["kernel"] == "polynomial"
    ism.loc[of_polynomial, "curvature"] = -1e-7
    ism.loc[ism.index[0], "curvature"] = None
    ism.loc[ism.index[1:4], "status"] = ["max_iterations", "time_limit", "failed"]
    rivals = runs[runs["method"] == "dg"].assign(status="max_iterations", optimality="second_order")
    rivals.loc[rivals.index[0], "optimality"] = "saddle"
    source.runs["first"] = pd.concat([ism, rivals], ignore_index=True)
    ascent, saddles, cycles = (answer for _, answer, _ in Summary(source).endings())
    assert ascent == (
        "The curvature is below -1e-06 at 9 of 19 ends (47 %) whose curvature is known: Gaussian 9 of 9, "
        "Polynomial 0 of 10. The papers' rule ends runs before fixed points, which the claim on second order is about."
    )
    assert saddles == "1 of 20 stationary ends (5 %) whose curvature is known: DG 1 (first)."
    assert cycles == (
        "1 of 20 runs (5 %) used up their iterations, as a cycle does; its own rule ended 17 runs, a limit 1 run."
    )


def test_records_of_no_paper_have_no_page(tmp_path, source):
    del source.config["experiments"]["first"]["published"]
    bare = Source(source.config, *[tmp_path / "results"] * 2)
    assert not list(write_summaries(bare, tmp_path / "out"))


def test_every_claim_is_undecided_without_records():
    assert len(CLAIMS) == 40
    for claim in CLAIMS:
        result = claim.decide(Records())
        assert result.decision is Decision.UNDECIDED
        assert result.evidence.startswith("lacking: ")
        if "2006" in claim.paper or "2010" in claim.paper:
            assert ".csv)" in result.evidence
    # Pages lead to a claim by its words.
    assert len({slug(claim.words) for claim in CLAIMS}) == len(CLAIMS)


def test_json_holds_decision_evidence_and_note():
    result = Finding(Decision.CONTRADICTED, "n = 7 & more", "so", "7 of 9 (78 %)", "one cell is 11 %")
    claim = Claim("n < 5.", "Paper", "Table 1", lambda records: result, "n is below 5", "ours: 5")
    words = {"claim": "n < 5.", "paper": "Paper", "where": "Table 1", "verdict": "contradicted"}
    words |= {"measure": "7 of 9 (78 %)", "power": "one cell is 11 %", "evidence": "n = 7 & more", "note": "so"}
    assert json.loads(claims_json([(claim, result)])) == [words | {"holds": "n is below 5", "threshold": "ours: 5"}]


def records_of(published):
    """Rows of all systems, of one experiment each, which names what ``published`` says."""
    systems = {"ikdr": "runs", "kpca_trick": "kpca", "kpca_figures": "tricks", "low_rank": "low_rank"}
    experiments = {name: {"system": name, **published.get(name, {})} for name in systems}
    tables = {name: pd.DataFrame({"experiment": [name]}) for name in systems}
    found = Records.of(tables, {"run": list(systems), "experiments": experiments})
    return found, {name: len(getattr(found, of)) for name, of in systems.items()}


def test_claims_count_experiments_that_name_their_paper_alone():
    own, counts = records_of({})
    assert set(counts.values()) == {0}
    assert decide_claims(own) == []
    one, counts = records_of({"kpca_trick": {"published": {"paper": "kpca_trick"}}})
    assert counts == {"ikdr": 0, "kpca_trick": 1, "kpca_figures": 0, "low_rank": 0}
    # A paper of another system is none of this one's.
    assert records_of({"ikdr": {"published": {"paper": "lowrank2006"}}})[1]["ikdr"] == 0
    assert one.config["run"] == ["kpca_trick"]


N_RUNS = 10
SOONEST, LATER, SHORT = [(1.0, -100.0)], [(36.0, -100.0)], [(0.1, -99.0)]


def raced(folder, own="support.misbehaving:Raises", **curves):
    """Return the answer on solvers with the same curve in all runs; ``mine`` has the method ``own``."""
    runs = traced_runs(folder, {name: [curve] * N_RUNS for name, curve in curves.items()})
    included = runs["method"].str.endswith("_reference")
    runs.loc[included, ["time_s", "timed"]] = [None, False]
    config = grid_config(["e"], solvers=list(curves), datasets=["wine"])
    config["solvers"] |= {"mine": {"method": own}, "ism_reference": {"method": "ism"}}
    return answer_of("e", runs, config, folder), config


@pytest.mark.parametrize(
    ("curves", "words"),
    [
        ({"mine": LATER, "ism": SOONEST, "dg": SHORT}, "10 of 10 runs (36{0}); ISM in 10 of 10 (1{0})."),
        ({"mine": SHORT, "ism": SOONEST, "gm": LATER}, "0 of 10 runs; ISM in 10 of 10 (1{0}); GM in 10 of 10 (36{0})."),
        # Times of a reference are compared with none.
        ({"mine": LATER, "ism_reference": SOONEST}, "10 of 10 runs (1{0}); ISM (reference) in 10 of 10."),
    ],
)
def test_it_is_named_first_beside_the_best_others(tmp_path, curves, words):
    answer, _ = raced(tmp_path, **curves)
    other, _ = raced(tmp_path, ism=SOONEST, dg=SHORT, gm=LATER)
    times = words.format("\u00d7 the least time")
    assert answer.text == f"mine reaches the best known cost within 1e-6 in {times}"
    # The experiment of one's own solver leads.
    assert (answer.own, other.own, leading_of([other, answer])) == (True, False, answer)


def test_a_solver_is_ones_own_by_its_method_or_beside_a_reference(tmp_path):
    _, config = raced(tmp_path, mine=LATER, ism=SOONEST)
    assert own_solvers("e", config) == ["mine"]
    config["solvers"]["mine"] = {"method": "ism"}
    assert own_solvers("e", config) == []
    config["experiments"]["e"]["solvers"].append("ism_reference")
    assert own_solvers("e", config) == ["mine", "ism"]
