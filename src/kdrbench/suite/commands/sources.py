"""What reports are made of and where they are written: the options of the commands that make them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kdrbench.errors import InputError
from kdrbench.suite.commands.options import FILE, RECORD, frozen_configuration, root_and_name

if TYPE_CHECKING:
    from kdrbench.suite.engine.system import Config

_RESULTS, _NAME = Path("results"), re.compile(r"[A-Za-z0-9_-]*")

# Not called like the argument NAME of a table or a figure.
which = click.option("--name", "configuration", default="", help="Name of the configuration; see --config.")
config_file = click.option(
    "--config",
    type=FILE,
    help="The frozen configuration; that of --results, or the only one with a name there, if not said.",
)
merged_folder = click.option(
    "--results",
    type=RECORD,
    help="The workflow's results, the folder of one of its configurations, or a packed record; results/ if not said.",
)
store_folder = click.option("--store", type=FILE, help="Folder of traces, findings and data; of --results if not said.")
out_stem = click.option(
    "--out",
    type=FILE,
    help="Path without extension; if not said in the configuration's reports, of another record in reports/RECORD.",
)


class ReportCommand(click.Command):
    """A command that is given the configuration itself, and the folders that were not said."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the options, and fill in what was not said; ``InputError`` where there are no results."""
        rest = super().parse_args(ctx, args)
        if not ctx.resilient_parsing:
            _fill_in(ctx.params, {param.name for param in self.params}, str(ctx.command.name))
        return rest


def _fill_in(params: dict[str, Any], taken: set[str | None], command: str) -> None:
    name, path, place = params.pop("configuration"), params.get("config"), params["results"]
    if path and name:
        raise InputError(f"--config {path} and --name {name} both say which configuration; leave one out")
    root, name = root_and_name(place or _RESULTS, name)
    frozen = path or frozen_configuration(root, name)
    config = _read(frozen)
    if "config" in taken:
        params["config"] = config
    if path is None:
        params["results"] = frozen.parent
    elif place is None:
        params["results"] = _RESULTS / config.get("name", "")
    if "store" in taken and params["store"] is None:
        params["store"] = root if path is None or (root / "traces").is_dir() else _RESULTS
    if "out" in taken and params["out"] is None:
        folder = reports_of(root, config)
        params["out"] = folder / (f"figures/{params['name']}" if params.get("name") else command.replace("-", "_"))
        click.echo(f"kdrbench: writing {params['out']}.*", err=True)


def _read(path: Path) -> Config:
    """Return a frozen configuration, which may be of a stranger: reports are written to a folder with its name."""
    try:
        config: Config = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(config, dict) or not _NAME.fullmatch(str(config.get("name", ""))):
            raise ValueError("it is no mapping, or its name is not one of letters, digits, - and _")
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{path} is no frozen configuration ({error}); start the workflow, which writes it") from error
    return config


def reports_of(root: Path, config: Config) -> Path:
    """Return where reports of the results in ``root`` are written; those of another record never among the user's own.

    Raises ``InputError`` where the user has a configuration with the name of the record.
    """
    from kdrbench.suite.reports.outputs import report_folder

    if root.resolve() == _RESULTS.resolve():
        return Path(report_folder(config))
    reports = Path("reports", root.resolve().name)
    if (_RESULTS / reports.name / "config.json").is_file():
        raise InputError(f"{reports} is of your own configuration {reports.name}; say with --out where to write")
    return reports
