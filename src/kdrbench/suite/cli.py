"""The command line. Each command imports what it needs: a job should not pay for another's packages."""

from __future__ import annotations

import errno
import os
from importlib import import_module
from typing import Any

import click

from kdrbench import __version__
from kdrbench.errors import KdrbenchError, refusal, unknown_name
from kdrbench.extras import said_of_missing

# The module of each command, imported when it is asked for. `list` is a name of Python's.
_COMMANDS = {
    "audit": "kdrbench.suite.commands.audit",
    "batch": "kdrbench.suite.commands.workflow",
    "check": "kdrbench.suite.commands.plugin",
    "claims": "kdrbench.suite.commands.reports",
    "compare": "kdrbench.suite.commands.compare",
    "crate": "kdrbench.suite.commands.crate",
    "dashboard": "kdrbench.suite.commands.reports",
    "data": "kdrbench.datasets.commands",
    "doctor": "kdrbench.suite.commands.doctor",
    "figure": "kdrbench.suite.commands.reports",
    "forget": "kdrbench.suite.commands.forget",
    "freeze-config": "kdrbench.suite.commands.workflow",
    "list": "kdrbench.suite.commands.listing",
    "merge": "kdrbench.suite.commands.workflow",
    "merge-results": "kdrbench.suite.commands.records",
    "new": "kdrbench.suite.commands.plugin",
    "pack": "kdrbench.suite.commands.packing",
    "papers": "kdrbench.suite.commands.reports",
    "picture": "kdrbench.suite.commands.reports",
    "plan": "kdrbench.suite.commands.plan",
    "prepare": "kdrbench.suite.commands.workflow",
    "published-vs-ours": "kdrbench.suite.commands.reports",
    "report": "kdrbench.suite.commands.record_reports",
    "reports": "kdrbench.suite.commands.reports",
    "run": "kdrbench.suite.commands.run",
    "show": "kdrbench.suite.commands.show",
    "site": "kdrbench.suite.commands.records",
    "status": "kdrbench.suite.commands.workflow",
    "summary": "kdrbench.suite.commands.reports",
    "table": "kdrbench.suite.commands.reports",
    "unpack": "kdrbench.suite.commands.packing",
    "verify": "kdrbench.suite.commands.verify",
    "where": "kdrbench.suite.commands.records",
    "why": "kdrbench.suite.commands.why",
}


class _Group(click.Group):
    """A group whose commands end with one sentence and exit code 2 on an error that the user can correct.

    What the system refuses is such an error, and so is a package of an extra that is not installed.
    """

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted([*super().list_commands(ctx), *_COMMANDS])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return super().get_command(ctx, cmd_name)
        module, name = import_module(_COMMANDS[cmd_name]), cmd_name.replace("-", "_")
        command: click.Command = getattr(module, "list_names" if name == "list" else name)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if not args[0].startswith("-") and args[0] not in (known := self.list_commands(ctx)):
            raise click.UsageError(unknown_name("command", args[0], known), ctx)
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except KdrbenchError as error:
            click.echo(f"kdrbench: {error}", err=True)
            ctx.exit(2)
        except OSError as error:
            # Of a reader that has gone click takes care.
            if error.errno == errno.EPIPE:
                raise
            click.echo(f"kdrbench: {refusal(error)}", err=True)
            ctx.exit(2)
        except ModuleNotFoundError as error:
            if not (sentence := said_of_missing(error, "this command")):
                raise
            click.echo(f"kdrbench: {sentence}", err=True)
            ctx.exit(2)


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__)
def main() -> None:
    """Benchmark of solvers that learn projections and kernels.

    For people: run, plan, list, data, compare, show, status, forget, where, verify, audit, crate, merge-results, site,
    pack, unpack, report, summary, doctor, new, check. The other commands are the steps of the Snakemake workflow;
    `snakemake --cores N` runs them in order.

    Exit codes: 0, all is well; 1, the answer is bad; 2, something has to be corrected; one sentence says what.
    Colours are for terminals; NO_COLOR turns them off.
    """
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        click.get_current_context().color = False
