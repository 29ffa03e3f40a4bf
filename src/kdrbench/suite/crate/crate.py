"""A crate of a record: its files, the workflow's, metadata of the data, a page for readers, and what describes all."""

from __future__ import annotations

from datetime import date
from pathlib import Path

from kdrbench.errors import InputError
from kdrbench.suite.crate.contents import METADATA, README, Content, write
from kdrbench.suite.crate.data import croissant_files
from kdrbench.suite.crate.metadata import About, Description
from kdrbench.suite.crate.record_files import RecordFiles
from kdrbench.suite.crate.swhid import directory_swhid
from kdrbench.suite.crate.workflow import WORKFLOW
from kdrbench.suite.engine.provenance import checkout
from kdrbench.suite.experiments.results import read_results

_OF_WORKFLOW = (WORKFLOW, "rules/*.smk", "requirements.lock", "CITATION.cff", "LICENSE")


def write_crate(
    place: Path, out: Path, *, source: Path | None, licence: str, authors: tuple[str, ...], published: date
) -> Description:
    """Write a crate of the record in ``place`` to ``out``, an archive (``.zip``) or a folder, and return what it says.

    ``source`` is the checkout of the workflow, by default the one that this package is in. Nothing that the record
    names is loaded. Raises ``InputError`` without a checkout, and what :func:`.read_results` raises.
    """
    root = source or checkout()
    if root is None or not (root / WORKFLOW).is_file():
        raise InputError(
            f"{root or 'this installation'} has no {WORKFLOW}, which a crate holds; name a checkout: --source"
        )
    results = read_results(place)
    files = RecordFiles(results)
    about = About(licence, published, authors, directory_swhid(root))
    names = dict.fromkeys(row.dataset for rows in results.records.values() for row in rows)
    contents = {README: Content(_page(files, about).encode()), **_workflow_files(root)}
    contents |= {**croissant_files(names), **files.contents}
    found = Description(results, files, contents, about)
    text = found.text()
    write({METADATA: Content(text.encode()), **contents}, out)
    return found


def _workflow_files(root: Path) -> dict[str, Content]:
    paths = [path for pattern in _OF_WORKFLOW for path in sorted(root.glob(pattern))]
    return {path.relative_to(root).as_posix(): Content(path) for path in paths}


def _page(files: RecordFiles, about: About) -> str:
    name = files.folder.partition("/")[2]
    option = f" --name {name}" if name else ""
    return (
        "# Runs of kdrbench\n\n"
        f"`{files.folder}/` holds the configuration and the tables, `results/traces/` the cost over time, and\n"
        "`results/findings/` the projections. `data/` describes the data sets, whose values are not here.\n"
        f"`{METADATA}` says what made each file.\n\n"
        f"The source of the workflow is {about.source}.\n"
        f"With it installed, `kdrbench verify results{option}` computes the tables again from the projections.\n"
    )
