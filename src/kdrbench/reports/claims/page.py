"""All claims with their decisions, as a page and as JSON for the dashboard."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

from kdrbench.files import write_text
from kdrbench.reports.claims import accuracies, costs, growth, iterations, kernel_choice, kernels, times
from kdrbench.reports.claims.claim import Claim, Decision, Found, Records
from kdrbench.reports.tables.html import render

_KPCA, _LOW_RANK = "KPCA trick 2010", "Low-rank kernels 2006"
_LEARNED_KERNELS = (
    Claim(
        "kernel_versions_win",
        "The KPCA trick's versions beat the plain learners in 28 of 30 cells.",
        _KPCA,
        "Tables 1 to 3",
        kernels.kernel_versions_win,
    ),
    Claim(
        "aligned_come_close",
        "Aligned kernels come close to cross-validated ones, in minutes instead of hours.",
        _KPCA,
        "Tables 1 to 3 (accuracies)",
        kernels.aligned_come_close,
    ),
    Claim(
        "tricks_agree",
        "The kernel trick and the KPCA trick agree unless K is ill-conditioned.",
        _KPCA,
        "Figure 5",
        kernels.tricks_agree,
    ),
    Claim(
        "cost_of_projections",
        "Burg and von Neumann take time linear in n and quadratic in r.",
        _LOW_RANK,
        "",
        kernels.cost_of_projections,
    ),
    Claim(
        "fewer_sweeps",
        "Exact projections need far fewer sweeps than DefiniteBoost.",
        _LOW_RANK,
        "",
        kernels.fewer_sweeps,
    ),
    Claim("agreement_rises", "NMI rises with constraints.", _LOW_RANK, "", kernels.agreement_rises),
)
# In the order of the papers: those of ISM first.
CLAIMS: tuple[Claim, ...] = (
    *costs.CLAIMS,
    *iterations.CLAIMS,
    *times.CLAIMS,
    *growth.CLAIMS,
    *accuracies.CLAIMS,
    *kernel_choice.CLAIMS,
    *_LEARNED_KERNELS,
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
    """Return a list with claim, paper, where, verdict, measure, evidence and note of each."""
    return json.dumps(
        [
            {
                "claim": claim.words,
                "paper": claim.paper,
                "where": claim.where,
                "verdict": str(result.decision),
                "measure": result.measure,
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
