"""The page of claims, and what the dashboard reads."""

import json
from pathlib import Path

import pandas as pd

from kdrbench.suite.findings.claim_rows import Records
from kdrbench.suite.findings.claims import CLAIMS, claims_html, decide_claims, write_claims
from kdrbench.suite.findings.finding import Claim, Decision, Finding
from kdrbench.suite.reports.dashboard.rendering import slug


def test_every_claim_is_undecided_without_records():
    assert len(CLAIMS) == 40
    for claim in CLAIMS:
        result = claim(Records())
        assert result.decision is Decision.UNDECIDED
        assert result.evidence.startswith("lacking: ")
        if "2006" in claim.paper or "2010" in claim.paper:
            assert ".csv)" in result.evidence
    # Pages lead to a claim by its words.
    assert len({slug(claim.words) for claim in CLAIMS}) == len(CLAIMS)


def test_page_and_json_hold_decision_evidence_and_note(tmp_path):
    result = Finding(Decision.CONTRADICTED, "n = 7 & more", "so", "7 of 9 (78 %)", "one cell is 11 %")
    found = [(Claim("n < 5.", "Paper", "Table 1", lambda records: result, "n is below 5", "ours: 5"), result)]
    write_claims(found, tmp_path / "claims", ["demo_supervised", "the KPCA trick"], Path("results/demo"))
    page = (tmp_path / "claims.html").read_text()
    assert "made from: demo_supervised, the KPCA trick." in page
    assert "merged tables in <code>results/demo</code>" in page
    assert "1 claim: 0 confirmed, 0 mostly confirmed, 0 not distinguishable, 1 contradicted, 0 undecided" in page
    assert "n &lt; 5." in page
    for words in ("n is below 5", "ours: 5", "one cell is 11 %"):
        assert words in page
    assert "n = 7 &amp; more" in page
    words = {"claim": "n < 5.", "paper": "Paper", "where": "Table 1", "verdict": "contradicted"}
    words |= {"measure": "7 of 9 (78 %)", "power": "one cell is 11 %", "evidence": "n = 7 & more", "note": "so"}
    words |= {"holds": "n is below 5", "threshold": "ours: 5"}
    assert json.loads((tmp_path / "claims.json").read_text()) == [words]


def records_of(published):
    """Rows of all systems, of one experiment each, which names what ``published`` says."""
    systems = {"ikdr": "runs", "kpca_trick": "kpca", "kpca_figures": "tricks", "low_rank": "low_rank"}
    experiments = {name: {"system": name, **published.get(name, {})} for name in systems}
    tables = {name: pd.DataFrame({"experiment": [name]}) for name in systems}
    found = Records.of(tables, {"run": list(systems), "experiments": experiments})
    return found, {name: len(getattr(found, of)) for name, of in systems.items()}


def test_experiments_that_name_no_paper_decide_nothing():
    own, counts = records_of({})
    assert set(counts.values()) == {0}
    assert decide_claims(own) == []
    assert "names a paper, so there is no claim to decide" in claims_html([], ["mine"], Path("results/mine"))


def test_claims_count_experiments_that_name_their_paper_alone():
    one, counts = records_of({"kpca_trick": {"published": {"paper": "kpca_trick"}}})
    assert counts == {"ikdr": 0, "kpca_trick": 1, "kpca_figures": 0, "low_rank": 0}
    # A paper of another system is none of this one's.
    assert records_of({"ikdr": {"published": {"paper": "lowrank2006"}}})[1]["ikdr"] == 0
    assert one.config["run"] == ["kpca_trick"]
