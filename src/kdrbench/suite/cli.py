"""The command line. Each command imports what it needs: a job should not pay for another's packages."""

from __future__ import annotations

import errno
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import click

from kdrbench import __version__
from kdrbench.errors import KdrbenchError, refusal, unknown_name
from kdrbench.extras import said_of_missing

# Sections of `--help`: of each command its module, imported when the command is called, and what it does.
_SECTIONS = {
    "Use": {
        "data": ("data", "List, fetch and verify the registered data sets."),
        "forget": ("progress", "Mark runs to be made again."),
        "list": ("listing", "List solvers, kernels, data sets, baselines, learners, experiments."),
        "plan": ("plan", "Estimate runs and core-hours before anything runs."),
        "run": ("run", "Run one solver with one kernel on one data set."),
        "status": ("progress", "Show the progress of the workflow, and what its results say."),
        "why": ("progress", "Say which runs are out of date, and what has changed."),
    },
    "Add": {
        "check": ("plugin", "Check that a plug-in keeps its contract."),
        "new": ("plugin", "Write a working plug-in and its test, or an experiment."),
        "submit": ("submit", "Run your solver by the rules of submissions, and pack its rows."),
    },
    "Read": {
        "compare": ("compare", "Compare two solvers run by run, or all solvers."),
        "report": ("reports", "Make all tables, figures and pages of a record, or a site of several."),
    },
    "Ship": {
        "pack": ("packing", "Pack the runs of a record, or write them as an RO-Crate."),
        "unpack": ("packing", "Unpack a record, so that the workflow can go on."),
        "verify": ("verify", "Recompute the numbers of a record, or make random runs of it again."),
    },
}
# Steps of the Snakemake workflow and of `make`, which `--help` does not list.
_STEPS = {
    "batch": "workflow",
    "dashboard": "reports",
    "merge": "workflow",
    "papers": "reports",
    "prepare": "workflow",
    "reports": "reports",
    "summary": "reports",
}
_MODULES = _STEPS | {name: module for section in _SECTIONS.values() for name, (module, _) in section.items()}


class _Group(click.Group):
    """A group whose commands end with one sentence and exit code 2 on an error that the user can correct.

    What the system refuses is such an error, and so is a package of an extra that is not installed.
    """

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted([*super().list_commands(ctx), *_MODULES])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _MODULES:
            return super().get_command(ctx, cmd_name)
        module = import_module(f"kdrbench.suite.commands.{_MODULES[cmd_name]}")
        command: click.Command = getattr(module, "list_names" if cmd_name == "list" else cmd_name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for section, commands in _SECTIONS.items():
            with formatter.section(section):
                formatter.write_dl([(name, summary) for name, (_, summary) in commands.items()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if not args[0].startswith("-") and args[0] not in (known := self.list_commands(ctx)):
            raise click.UsageError(unknown_name("command", args[0], known), ctx)
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            with _warnings_in_words():
                return super().invoke(ctx)
        except (KdrbenchError, OSError, ModuleNotFoundError) as error:
            if not (sentence := _sentence_on(error)):
                raise
            click.echo(f"kdrbench: {sentence}", err=True)
            ctx.exit(2)


def _sentence_on(error: KdrbenchError | OSError | ModuleNotFoundError) -> str:
    """Return what to correct; nothing where click takes care, of a reader that has gone, or where it is our own."""
    if isinstance(error, OSError):
        return "" if error.errno == errno.EPIPE else refusal(error)
    return said_of_missing(error, "this command") if isinstance(error, ModuleNotFoundError) else str(error)


@contextmanager
def _warnings_in_words() -> Iterator[None]:
    """Print each warning to users once, as a sentence without the line of code."""
    with warnings.catch_warnings():
        usual, shown = warnings.showwarning, set[str]()

        def show(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
            if category is not UserWarning:
                usual(message, category, *place, **more)
            elif str(message) not in shown:
                shown.add(str(message))
                click.echo(f"kdrbench: {message}", err=True)

        warnings.showwarning = show
        yield


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__)
def main() -> None:
    """Benchmark of solvers that learn projections and kernels.

    `snakemake --cores N` runs the workflow. Its steps are commands too: batch, dashboard, merge,
    papers, prepare, reports and summary.

    Exit codes: 0, all is well; 1, the answer is bad; 2, something has to be corrected; one sentence says what.
    """
