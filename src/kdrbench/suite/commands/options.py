"""Options that several commands share, and what they name: results, configurations, grids."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click
from click.core import ParameterSource

from kdrbench.errors import InputError, unknown_name
from kdrbench.suite.archive import check_there, is_packed, shown

if TYPE_CHECKING:
    from kdrbench.suite.engine.grid import Grid
    from kdrbench.suite.engine.system import Config

FILE = click.Path(path_type=Path)
# Where Snakefile and config.yaml are, if this is a checkout.
CHECKOUT = Path(__file__).resolve().parents[4]


class _Record(click.Path):
    """A folder of results; a packed record becomes one for as long as the command works, by ``--jobs`` processes."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        """Return the folder of results."""
        place = Path(str(super().convert(value, param, ctx)))
        if ctx is None or ctx.resilient_parsing:
            return place
        check_there(place)
        if not is_packed(place):
            return place
        from kdrbench.suite.archive.layers import opened
        from kdrbench.suite.engine.isolation.core_lock import leave_when_told

        # What is unpacked is removed then, too.
        leave_when_told()
        click.echo(f"kdrbench: unpacking {place}", err=True)
        folder: Path = ctx.with_resource(opened(place, ctx.params.get("jobs", 1)))
        return folder


RECORD = _Record(path_type=Path)


class Number(click.FloatRange):
    """A finite number of at least ``min``."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the number."""
        number: float = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value} is not a finite number.", param, ctx)
        return number


class Whole(click.IntRange):
    """A whole number within bounds."""

    name = "integer"


# Eager, so that a packed record is opened by as many.
processes = click.option("--jobs", type=Whole(1), default=1, show_default=True, is_eager=True, help="Processes.")
as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON and nothing else.")
data_options = click.option(
    "--data-option", "data_options", multiple=True, help="Of your own data, as name=value; may be repeated."
)
results_folder = click.option("--results", type=RECORD, default=Path("results"), help="A folder, or a packed record.")
results_word = click.argument("place", metavar="[RESULTS]", default="")
# Of steps that need no single configuration, and of no packed record.
all_results = click.option("--results", type=FILE, default="results", show_default=True, help="Folder of all results.")
configuration_name = click.option("--name", default="", help="Name of the configuration (default: the one without).")
mirror_option = click.option("--mirror", default="", help="Folder or http(s) URL of data; KDRBENCH_MIRROR wins.")


def place_given(word: str, results: Path) -> Path:
    """Return the folder of results that a ``word`` of the command names, or without one that of --results."""
    ctx = click.get_current_context()
    if not word:
        return results
    if ctx.get_parameter_source("results") is ParameterSource.COMMANDLINE:
        raise click.UsageError(f"{word!r} is taken for the place of results, as is --results: leave out one of them")
    return RECORD.convert(word, None, ctx)


def root_and_name(results: Path, name: str = "") -> tuple[Path, str]:
    """Return the folder of all runs and the name of a configuration; ``results`` may be the folder of the latter."""
    kinds = ("runs", "traces", "findings")
    below = not any((results / kind).is_dir() for kind in kinds)
    if not name and results.name and below and any((results.parent / kind).is_dir() for kind in kinds):
        return results.parent, results.name
    return results, name


def frozen_configuration(results: Path, name: str = "") -> Path:
    """Return the frozen configuration with this name; without one that without a name, or the only one, and say so."""
    wanted, there = results / name / "config.json", sorted(results.glob("*/config.json"))
    if wanted.is_file():
        return wanted
    if name or len(there) != 1:
        names = ", ".join(path.parent.name for path in there)
        others = f"; those with a name: {names} (--name {there[0].parent.name})" if there else ""
        packed = [path.name for path in results.iterdir() if is_packed(path)] if name and results.is_dir() else []
        if packed:
            raise InputError(unknown_name("record or results", name, [*packed, *(one.parent.name for one in there)]))
        raise InputError(f"{wanted} is not there: start the workflow, or name the folder of its results{others}")
    click.echo(f"kdrbench: of {there[0].parent}, the only configuration with results", err=True)
    return there[0]


class Runs(NamedTuple):
    """A configuration, the folder of its merged tables, and that of traces, findings and data."""

    config: Config
    merged: Path
    store: Path


def runs_of(results: Path, name: str = "") -> Runs:
    """Return the runs of the configuration with this name; errors as of :func:`frozen_configuration`."""
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
    if not reference or reference == "none":
        yield runs
        return
    from kdrbench.suite.archive.beside import opened_beside
    from kdrbench.suite.experiments.results import read_frozen

    with opened_beside(runs.merged, runs.store, reference) as (both, left_out):
        for reason in shown(left_out):
            click.echo(f"kdrbench: of the reference is left out: {reason}", err=True)
        # Reports stay those of the configuration's name.
        yield Runs({**read_frozen(both / "config.json"), "name": runs.config.get("name", "")}, both, both)


def grid_of(path: Path) -> Grid:
    """Return the grid of the configuration in a file."""
    from kdrbench.suite.experiments.config import load_grid
    from kdrbench.suite.experiments.config_file import read_config_file

    return load_grid(read_config_file(path))


def present_grid(results: Path, frozen: Path) -> Grid:
    """Return the grid of a configuration as its files are now; says where it differs from the ``frozen`` one.

    Where the files are not known, or have faults, it is the grid of the frozen configuration, with its errors.
    """
    from kdrbench.errors import KdrbenchError
    from kdrbench.suite.experiments.config import load_grid
    from kdrbench.suite.experiments.config_file import present_configuration

    config = present_configuration(results, "" if frozen.parent == results else frozen.parent.name)
    if config is None:
        return grid_of(frozen)
    try:
        grid = load_grid(config)
    except KdrbenchError as fault:
        grid = grid_of(frozen)
        click.echo(
            f"kdrbench: the configuration of now has a fault, so that of the last start is shown: {fault}", err=True
        )
        return grid
    if json.loads(grid.to_json()) != json.loads(frozen.read_text(encoding="utf-8")):
        click.echo("kdrbench: the configuration has changed since the workflow was started", err=True)
    return grid


def read_options(pairs: tuple[str, ...]) -> dict[str, Any]:
    """Return options given as ``name=value``; values are read as YAML, so that 1e-3 and true are what they look like.

    Raises ``InputError`` for a word without ``=``.
    """
    import yaml

    options = {}
    for word in pairs:
        name, equals, value = word.partition("=")
        if not equals or not name:
            raise InputError(f"an option is written name=value, got {word!r}")
        try:
            options[name] = yaml.safe_load(value)
        except yaml.YAMLError:
            # A mark of YAML, such as a comma, is itself.
            options[name] = value
        # YAML takes 1e-3 for a word.
        if isinstance(options[name], str):
            with suppress(ValueError):
                options[name] = float(value)
    return options


def read_configs(paths: tuple[Path, ...]) -> dict[str, Any]:
    """Return configurations laid over one another, as Snakemake does: mappings are merged, all else is replaced."""
    from kdrbench.suite.experiments.config_file import lay_over, read_config_file

    config: dict[str, Any] = {}
    for path in paths:
        if not path.is_file():
            raise InputError(f"there is no configuration {path}")
        config = lay_over(config, read_config_file(path))
    return config


def aligned(rows: Sequence[Sequence[str]], n_labels: int) -> list[str]:
    """Return rows as lines: ``n_labels`` columns of words to the left, numbers to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.ljust(width) if place < n_labels else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
