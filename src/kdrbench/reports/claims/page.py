"""All claims with what the records say of them, as a page and as JSON for the dashboard."""

from __future__ import annotations

import json
from collections import Counter
from importlib.resources import files
from pathlib import Path

from kdrbench.files import write_text
from kdrbench.reports.claims.claim import Claim, Decision, Found, Records
from kdrbench.reports.claims.register import CLAIMS

Decided = list[tuple[Claim, Found]]


def decided(records: Records) -> Decided:
    """Return every claim with what the records say of it."""
    return [(claim, claim.decide(records)) for claim in CLAIMS]


def write_claims(found: Decided, stem: Path) -> None:
    """Write ``stem`` as .html and .json; each appears whole."""
    write_text(stem.parent / f"{stem.name}.html", claims_html(found))
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


def claims_html(found: Decided) -> str:
    """Return one self-contained page."""
    import jinja2

    source = files("kdrbench.reports").joinpath("claims.html.j2").read_text(encoding="utf-8")
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined)
    counts = Counter(result.decision for _, result in found)
    words = ", ".join(f"{counts[decision]} {decision}" for decision in Decision)
    return environment.from_string(source).render(decided=found, counts=f"{len(found)} claims: {words}")
