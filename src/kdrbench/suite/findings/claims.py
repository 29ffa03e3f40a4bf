"""All claims of the papers, as claims.toml declares them, with their decisions: JSON for the dashboard."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Mapping
from functools import partial
from importlib.resources import files
from typing import Any

from kdrbench.suite.findings import finding, ism_claims, kernel_claims
from kdrbench.suite.findings.claim_rows import (
    TABLES,
    Records,
    cells_of_experiment,
    decided_in_lanes,
    decided_on,
    lanes_of,
    printed_cells,
    timed_cells,
)
from kdrbench.suite.findings.finding import UNDECIDED, Claim, Finding
from kdrbench.suite.reports.protocol import departures_in_words
from kdrbench.suite.reports.tables.published_numbers import paper_label
from kdrbench.suite.systems import build_system

_MODULES = {module.__name__.rpartition(".")[2]: module for module in (finding, ism_claims, kernel_claims)}


def _by(cells: Callable[..., Any], decided: Callable[..., Finding]) -> Callable[..., Finding]:
    """Return the decision of a test by the cells that a claim declares."""
    return lambda records, test, **declared: decided(cells(records, **declared), test)


# What a claim is decided by: see claims.toml.
_EVIDENCE: dict[str, Callable[..., Finding]] = {
    "cells": _by(printed_cells, decided_on),
    "times": _by(timed_cells, decided_on),
    "qualities": _by(ism_claims.qualities, decided_on),
    "folds": _by(cells_of_experiment, decided_on),
    "lanes": _by(lanes_of, decided_in_lanes),
    "rows": kernel_claims.decided_by_data,
    "records": lambda records, test: test(records),
}


def _declared(entry: Mapping[str, Any]) -> Claim:
    """Return the claim of an entry of claims.toml."""
    module, _, test = entry["test"].partition(".")
    judge = partial(getattr(_MODULES[module], test), **_with_tables(entry.get("with", {})))
    evidence = next((name for name in _EVIDENCE if name in entry), "records")
    declared = _with_tables(entry.get(evidence, {}))

    def decide(records: Records) -> Finding:
        found = _EVIDENCE[evidence](records, judge, **declared)
        # What a reader should know beside a decision is no news where there is none.
        return found if found.decision is UNDECIDED else found.with_note(entry.get("note", ""))

    axes = (entry["words"], entry["paper"], entry.get("where", ""))
    return Claim(*axes, decide, entry["holds"], entry.get("threshold", "none"))


def _with_tables(arguments: Mapping[str, Any]) -> dict[str, Any]:
    tables = {"tables": [TABLES[name] for name in arguments["tables"]]} if "tables" in arguments else {}
    return {**arguments, **tables}


# By their names, in the order of the papers: those of ISM first.
NAMED = {
    name: _declared(entry)
    for name, entry in tomllib.loads(files(__package__).joinpath("claims.toml").read_text(encoding="utf-8")).items()
}
CLAIMS = tuple(NAMED.values())
Decided = list[tuple[Claim, Finding]]


def decide_claims(records: Records) -> Decided:
    """Return the claims of those papers that some experiment of the records names, then those of the user's systems."""
    papers = {_paper_of(name, records) for name in records.config["run"]}
    of_papers = [claim for claim in CLAIMS if papers & set(claim.paper.split(", "))]
    decided = [(claim, _with_departures(claim, claim.decide(records), records)) for claim in of_papers]
    own = ((claim, rows) for system, rows in records.own.items() for claim in build_system(system).claims())
    return decided + [(claim, claim.decide(rows)) for claim, rows in own]


def _paper_of(experiment: str, records: Records) -> str:
    return paper_label(records.config["experiments"][experiment]["published"]["paper"])


def _with_departures(claim: Claim, found: Finding, records: Records) -> Finding:
    """Return what was found; undecided, it says which runs of the paper's experiments were left out, and why."""
    left_out = [reason for reason in records.left_out if _paper_of(reason[0], records) in claim.paper.split(", ")]
    if not (found.decision is UNDECIDED and left_out):
        return found
    return found.with_note(f"Left out, since they depart from the paper's protocol: {departures_in_words(left_out)}.")


def claims_json(decisions: Decided) -> str:
    """Return a list with claim, paper, where, verdict, measure, power, evidence, note and criterion of each."""
    lines = [
        {"claim": claim.words, "paper": claim.paper, "where": claim.where, "verdict": str(found.decision)}
        | {"measure": found.measure, "power": found.power, "evidence": found.evidence, "note": found.note}
        | {"holds": claim.holds, "threshold": claim.threshold}
        for claim, found in decisions
    ]
    return json.dumps(lines, indent=2)
