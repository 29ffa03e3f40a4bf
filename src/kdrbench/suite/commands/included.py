"""The results that a command reads, with the record beside them that a configuration includes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from kdrbench.suite.archive import shown
from kdrbench.suite.commands.options import frozen_configuration, root_and_name

if TYPE_CHECKING:
    from kdrbench.suite.engine.system import Config

NO_RECORD = "none"


class Runs(NamedTuple):
    """A configuration, the folder of its merged tables, and that of traces, findings and data."""

    config: Config
    merged: Path
    store: Path


def runs_of(results: Path, name: str = "") -> Runs:
    """Return the runs of the configuration with this name; errors as of :func:`.options.frozen_configuration`."""
    from kdrbench.suite.experiments.results import read_frozen

    root, name = root_and_name(results, name)
    frozen = frozen_configuration(root, name)
    return Runs(read_frozen(frozen), frozen.parent, root)


@contextmanager
def with_included(runs: Runs, reference: str | None = None) -> Iterator[Runs]:
    """Give the runs with the record beside them that ``reference`` or else the key ``include`` names, if one does.

    The reference ``none`` leaves out the record that the key names. Says on standard error which rows of the record are
    left out, and why.
    """
    reference = reference or runs.config.get("include")
    if not reference or reference == NO_RECORD:
        yield runs
        return
    from kdrbench.suite.archive.beside import opened_beside
    from kdrbench.suite.experiments.results import read_frozen

    with opened_beside(runs.merged, runs.store, reference) as (both, left_out):
        for reason in shown(left_out):
            click.echo(f"kdrbench: of the reference is left out: {reason}", err=True)
        # Reports stay those of the configuration's name.
        yield Runs({**read_frozen(both / "config.json"), "name": runs.config.get("name", "")}, both, both)
