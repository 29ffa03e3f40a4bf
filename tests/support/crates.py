"""Records that are changed after the fact, and what crates of them say."""

import json
from dataclasses import replace

from kdrbench.suite.crate.contents import METADATA
from kdrbench.suite.experiments.results import read_results, write_results


def change(place, is_changed, *, status=None, message=None, **provenance):
    """Change the rows of a record for which ``is_changed`` is true."""
    results = read_results(place)
    named = {name: word for name, word in (("status", status), ("message", message)) if word is not None}
    changed = {
        name: [
            replace(row, **named, provenance=replace(row.provenance, **provenance)) if is_changed(row) else row
            for row in rows
        ]
        for name, rows in results.records.items()
    }
    write_results(place, replace(results, records=changed))


def entities_of(crate):
    """Return the entities of a crate by identifier."""
    graph = json.loads((crate / METADATA).read_text())["@graph"]
    found = {one["@id"]: one for one in graph}
    assert len(found) == len(graph)
    return found
