"""All claims with their decisions, as a page and as JSON for the dashboard."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

from kdrbench.files import write_text
from kdrbench.reports.claims.claim import Claim, Decision, Found, Records
from kdrbench.reports.claims.register import CLAIMS
from kdrbench.reports.tables.html import render

Decided = list[tuple[Claim, Found]]


def decided(records: Records) -> Decided:
    """Return every claim with its decision by the records."""
    return [(claim, claim.decide(records)) for claim in CLAIMS]


def write_claims(found: Decided, stem: Path, decided_by: list[str]) -> None:
    """Write ``stem`` as .html and .json; each appears whole. ``decided_by`` names what was run."""
    write_text(stem.parent / f"{stem.name}.html", claims_html(found, decided_by))
    write_text(stem.parent / f"{stem.name}.json", claims_json(found))


def claims_json(found: Decided) -> str:
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
            for claim, result in found
        ],
        indent=2,
    )


def claims_html(found: Decided, decided_by: list[str]) -> str:
    """Return one self-contained page."""
    counts = Counter(result.decision for _, result in found)
    words = ", ".join(f"{counts[decision]} {decision}" for decision in Decision)
    counted = f"{len(found)} claims: {words}"
    return render("claims.html.j2", decided=found, counts=counted, decided_by=", ".join(decided_by))
