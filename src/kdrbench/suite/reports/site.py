"""A page over the reports of several records: a link to each dashboard, and their claims side by side."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from kdrbench.files import write_text
from kdrbench.suite.findings.finding import Decision
from kdrbench.suite.reports.dashboard.rendering import environment


def write_index(out: Path, names: Iterable[str]) -> Path:
    """Write and return ``out/index.html``; the reports of each record are in the folder ``out/NAME``."""
    read = {name: json.loads((out / name / "claims.json").read_text(encoding="utf-8")) for name in names}
    page = environment().get_template("site.html.j2")
    text = page.render(names=list(read), claims=claims_by_record(read))
    write_text(out / "index.html", text)
    return out / "index.html"


def claims_by_record(read: dict[str, list[dict[str, str]]]) -> list[dict[str, Any]]:
    """Return each claim with what every record says of it, and whether the records agree."""
    rows: dict[tuple[str, str], dict[str, Any]] = {}
    for name, claims in read.items():
        for claim in claims:
            row = rows.setdefault((claim["claim"], claim["paper"]), {**claim, "by": dict.fromkeys(read)})
            row["by"][name] = claim
    for row in rows.values():
        verdicts = [one["verdict"] for one in row["by"].values() if one and one["verdict"] != Decision.UNDECIDED]
        several = "differ" if len(set(verdicts)) > 1 else "agree"
        row["records"] = several if len(verdicts) > 1 else "one decides" if verdicts else "none decides"
    return list(rows.values())
