"""What the shell offers to complete: names, and files where a plug-in may be named."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import click
from click.shell_completion import CompletionItem


class PluginName(click.ParamType):  # type: ignore[type-arg]
    """A registered name of one of the ``kinds``, or a file of one's own."""

    name = "name"

    def __init__(self, *kinds: str) -> None:
        self.kinds = kinds

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Return the names that begin as what has been typed, and let the shell add files."""
        names = [name for kind in self.kinds for name in self.names(kind) if name.startswith(incomplete)]
        return [*(CompletionItem(name) for name in names), CompletionItem(incomplete, type="file")]

    def names(self, kind: str) -> Iterable[str]:
        """Return the names of plug-ins of a kind."""
        from kdrbench.suite.conformance.subject import registered_names

        return registered_names(kind)


class SolverName(PluginName):
    """A solver's name, which is none of a method, or a file of one's own."""

    def names(self, kind: str) -> Iterable[str]:
        """Return the names of solvers."""
        from kdrbench.plugins import declared_names
        from kdrbench.solvers.registry import NAMED

        return [*NAMED, *declared_names(kind)]


class RunName(click.ParamType):  # type: ignore[type-arg]
    """A method's name in the merged table of ikdr, or a run's in the merged table of any system."""

    name = "name"

    def __init__(self, column: str) -> None:
        self.column = column

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Return what the tables below ``--results`` hold."""
        results = ctx.params.get("results")
        folder = None if results is None else results / ctx.params.get("name", "")
        names = set() if folder is None else _methods(folder) if self.column == "method" else _runs(folder)
        return [CompletionItem(name) for name in sorted(names) if name.startswith(incomplete)]


def _methods(results: Path) -> set[str]:
    return {row["method"] for row in _rows(results / "ikdr.csv")}


def _runs(results: Path) -> set[str]:
    from kdrbench.suite.systems import STAGES, build_stage

    tables = {results / f"{system}.csv": system for system in STAGES}
    names = set()
    for table, system in tables.items():
        for row in _rows(table):
            names.add("/".join(row[axis] for axis in build_stage(system).record.axis_names()))
    return names


def _rows(table: Path) -> list[dict[str, str]]:
    from kdrbench.suite.csv_files import read_csv

    return read_csv(table) if table.is_file() else []
