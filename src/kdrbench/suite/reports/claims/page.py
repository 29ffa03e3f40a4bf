"""All claims with their decisions, as a page and as JSON for the dashboard."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

from kdrbench.errors import counted
from kdrbench.files import write_text
from kdrbench.suite.reports.claims import (
    accuracies,
    costs,
    growth,
    iterations,
    kernel_choice,
    kpca_trick,
    low_rank,
    times,
)
from kdrbench.suite.reports.claims.claim import DECISION_RULES, Claim, Decision, Found, Records
from kdrbench.suite.reports.protocol import departures_in_words
from kdrbench.suite.reports.tables.labels import TIMES_MEAN
from kdrbench.suite.reports.tables.published_numbers import paper_label
from kdrbench.suite.reports.tables.table import render

# In the order of the papers: those of ISM first.
CLAIMS: tuple[Claim, ...] = (
    *costs.CLAIMS,
    *iterations.CLAIMS,
    *times.CLAIMS,
    *growth.CLAIMS,
    *accuracies.CLAIMS,
    *kernel_choice.CLAIMS,
    *kpca_trick.CLAIMS,
    *low_rank.CLAIMS,
)
Decided = list[tuple[Claim, Found]]


def decided(records: Records) -> Decided:
    """Return every claim with its decision by the records."""
    return [(claim, claim.decide(records)) for claim in CLAIMS]


def decided_of_papers(records: Records) -> Decided:
    """Return the claims of those papers that some experiment of the records names."""
    papers = {name: _paper_of(name, records) for name in records.config["run"]}
    of_papers = [claim for claim in CLAIMS if set(papers.values()) & set(claim.paper.split(", "))]
    return [(claim, _with_departures(claim, claim.decide(records), records)) for claim in of_papers]


def _paper_of(experiment: str, records: Records) -> str:
    return paper_label(records.config["experiments"][experiment]["published"]["paper"])


def _with_departures(claim: Claim, found: Found, records: Records) -> Found:
    """Return what was found; undecided, it says which runs of the paper's experiments were left out, and why."""
    left_out = [one for one in records.left_out if _paper_of(one[0], records) in claim.paper.split(", ")]
    if found.decision is not Decision.UNDECIDED or not left_out:
        return found
    note = f"Left out, since they depart from the paper's protocol: {departures_in_words(left_out)}."
    return replace(found, note=f"{found.note} {note}".strip())


def write_claims(decisions: Decided, stem: Path, decided_by: list[str], folder: Path) -> None:
    """Write ``stem`` as .html and .json; each appears whole.

    ``decided_by`` names what was run, and ``folder`` is that of its merged tables.
    """
    write_text(stem.parent / f"{stem.name}.html", claims_html(decisions, decided_by, folder))
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


def claims_html(decisions: Decided, decided_by: list[str], folder: Path) -> str:
    """Return one self-contained page."""
    counts = Counter(result.decision for _, result in decisions)
    numbers = ", ".join(f"{counts[decision]} {decision}" for decision in Decision)
    words = f"{counted(len(decisions), 'claim')}: {numbers}"
    return render(
        "claims.html.j2",
        decided=decisions,
        counts=words,
        rules=DECISION_RULES,
        times_mean=TIMES_MEAN,
        decided_by=", ".join(decided_by),
        folder=folder.as_posix(),
    )
