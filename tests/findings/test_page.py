"""What the dashboard reads of claims."""

import json

import pandas as pd

from kdrbench.suite.findings.claim_rows import Records
from kdrbench.suite.findings.claims import CLAIMS, claims_json, decide_claims
from kdrbench.suite.findings.finding import Claim, Decision, Finding
from kdrbench.suite.reports.dashboard.rendering import slug


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
    found = [(Claim("n < 5.", "Paper", "Table 1", lambda records: result, "n is below 5", "ours: 5"), result)]
    words = {"claim": "n < 5.", "paper": "Paper", "where": "Table 1", "verdict": "contradicted"}
    words |= {"measure": "7 of 9 (78 %)", "power": "one cell is 11 %", "evidence": "n = 7 & more", "note": "so"}
    words |= {"holds": "n is below 5", "threshold": "ours: 5"}
    assert json.loads(claims_json(found)) == [words]


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


def test_claims_count_experiments_that_name_their_paper_alone():
    one, counts = records_of({"kpca_trick": {"published": {"paper": "kpca_trick"}}})
    assert counts == {"ikdr": 0, "kpca_trick": 1, "kpca_figures": 0, "low_rank": 0}
    # A paper of another system is none of this one's.
    assert records_of({"ikdr": {"published": {"paper": "lowrank2006"}}})[1]["ikdr"] == 0
    assert one.config["run"] == ["kpca_trick"]
