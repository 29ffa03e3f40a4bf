"""What the shell offers to complete: names, and files where a plug-in may stand."""

from __future__ import annotations

import click
from click.shell_completion import CompletionItem


class PluginName(click.ParamType):  # type: ignore[type-arg]
    """A registered name of one of the ``kinds``, or a file of one's own."""

    name = "name"

    def __init__(self, *kinds: str) -> None:
        self.kinds = kinds

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Return the names that begin as what has been typed, and let the shell add files."""
        from kdrbench.conformance.subject import registered_names

        names = [name for kind in self.kinds for name in registered_names(kind) if name.startswith(incomplete)]
        return [*(CompletionItem(name) for name in names), CompletionItem(incomplete, type="file")]


class RunName(click.ParamType):  # type: ignore[type-arg]
    """A solver's or a run's name in the merged table of runs."""

    name = "name"

    def __init__(self, column: str) -> None:
        self.column = column

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Return what the table below ``--results`` holds."""
        import csv

        table = ctx.params.get("results")
        if table is None or not (table / "runs.csv").is_file():
            return []
        with (table / "runs.csv").open(encoding="utf-8", newline="") as stream:
            axes = ("experiment", "dataset", "kernel", "solver", "fold")
            rows = list(csv.DictReader(stream))
        names = {"/".join(row[axis] for axis in axes) if self.column == "run" else row[self.column] for row in rows}
        return [CompletionItem(name) for name in sorted(names) if name.startswith(incomplete)]
