"""All claims with their decisions, as a page and as JSON for the dashboard."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

from kdrbench.files import write_text
from kdrbench.reports.claims import costs, kpca_trick, low_rank, results
from kdrbench.reports.claims.claim import Claim, Decision, Found, Records
from kdrbench.reports.tables.html import render

_NEURIPS, _ISMPLUS = "NeurIPS 2019", "ISM+"
# In the order of the page.
CLAIMS = (
    Claim("few_iterations", "ISM needs fewer than 5 iterations.", _NEURIPS, "", results.few_iterations),
    Claim("lower_cost", "ISM ends at lower cost than DG, SM and GM.", _NEURIPS, "Table 4", costs.lower_cost),
    Claim(
        "lower_cost_than_converged",
        "ISM ends at lower cost than DG, SM and GM, also where these are run until they converge.",
        f"{_NEURIPS}, {_ISMPLUS}",
        "Table 4; Tables 5 and 6",
        costs.lower_cost_than_converged,
    ),
    Claim(
        "quadratic_time",
        "Time grows as n^2 for every solver, with like slopes.",
        _NEURIPS,
        "Figure 1b",
        costs.quadratic_time,
    ),
    Claim("times_faster", "ISM is up to 10^5 times faster.", _ISMPLUS, "Tables 5 and 6", costs.times_faster),
    Claim(
        "accuracy_above", "Supervised accuracy is never below 95 %.", _NEURIPS, "Tables 4 and 5", results.accuracy_above
    ),
    Claim(
        "conic_is_best",
        "The conic combination Gaussian + polynomial is the best kernel.",
        _NEURIPS,
        "Table 5",
        results.conic_is_best,
    ),
    Claim(
        "second_order",
        "A fixed point of ISM satisfies the second-order conditions when the eigengap is large enough.",
        _NEURIPS,
        "Theorem 1",
        results.second_order,
    ),
    *kpca_trick.CLAIMS,
    *low_rank.CLAIMS,
)
Decided = list[tuple[Claim, Found]]


def decided(records: Records) -> Decided:
    """Return every claim with its decision by the records."""
    return [(claim, claim.decide(records)) for claim in CLAIMS]


def write_claims(decisions: Decided, stem: Path, decided_by: list[str]) -> None:
    """Write ``stem`` as .html and .json; each appears whole. ``decided_by`` names what was run."""
    write_text(stem.parent / f"{stem.name}.html", claims_html(decisions, decided_by))
    write_text(stem.parent / f"{stem.name}.json", claims_json(decisions))


def claims_json(decisions: Decided) -> str:
    """Return a list with claim, paper, where, verdict, evidence and note of each."""
    return json.dumps(
        [
            {
                "claim": claim.words,
                "paper": claim.paper,
                "where": claim.where,
                "verdict": str(result.decision),
                "evidence": result.evidence,
                "note": result.note,
            }
            for claim, result in decisions
        ],
        indent=2,
    )


def claims_html(decisions: Decided, decided_by: list[str]) -> str:
    """Return one self-contained page."""
    counts = Counter(result.decision for _, result in decisions)
    numbers = ", ".join(f"{counts[decision]} {decision}" for decision in Decision)
    counted = f"{len(decisions)} claims: {numbers}"
    return render("claims.html.j2", decided=decisions, counts=counted, decided_by=", ".join(decided_by))
