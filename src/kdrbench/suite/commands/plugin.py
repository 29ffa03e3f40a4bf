"""`kdrbench new` and `kdrbench check`."""

from __future__ import annotations

import json
import re
import sys
from dataclasses import asdict
from importlib.resources import files
from pathlib import Path
from typing import Any

import click

from kdrbench.errors import InputError, counted
from kdrbench.files import write_text
from kdrbench.suite.commands.options import FILE, Number, data_options, read_options

# By the word of the command: the word of sentences, and the entry of a configuration that names the file.
_NEW = {
    "solver": ("solver", "solvers:\n  {name}: {{method: {path}}}"),
    "kernel": ("kernel", "kernels:\n  {name}: {{family: {path}}}"),
    "dataset": ("data set", "datasets:\n  {name}: {{loader: {path}}}"),
    "metric-learner": ("metric learner", "experiments:\n  kpca_tables: {{learners: [lmnn, {path}]}}"),
    "baseline": ("baseline", "baselines:\n  {name}: {{method: {path}}}"),
}
_EXPERIMENT = "experiment"
# Optimisers of others that a solver may be written around.
_AROUND = ("scipy", "pymanopt", "program")


@click.command()
@click.argument("kind", type=click.Choice([*_NEW, _EXPERIMENT]))
@click.argument("name")
@click.argument("parts", nargs=-1)
@click.option("--around", type=click.Choice(_AROUND), help="Write the solver around an optimiser that exists.")
@data_options
@click.option("--published", default="", metavar="PAPER[:TABLE[:SETTING]]", help="Put these printed numbers beside.")
@click.option("--out", type=FILE, default=Path(), show_default=True, help="Folder to write to.")
def new(kind: str, name: str, parts: tuple[str, ...], around: str | None, out: Path, **given: Any) -> None:
    """Write a working plug-in NAME.py of a KIND, and its test, to begin from.

    An experiment is a configuration, config.NAME.yaml, that runs the files PARTS: solvers, kernels, data sets, and
    tables of data as file.csv:COLUMN, where the column holds the classes. A part may be a name of `kdrbench list` as
    well: of a data set (without any it is wine), a solver or a control. Where all data are those of NeurIPS 2019, Table
    4 (wine, cancer, face, mnist), folds and components are the paper's, so that `include: reference` has rows beside
    yours. Other data have five folds, and components by their classes.
    """
    from kdrbench.suite.commands.data import absent
    from kdrbench.suite.commands.experiment import command_of, new_experiment, refuse_taken

    if kind == _EXPERIMENT:
        options = read_options(given["data_options"])
        (path,) = _write(out, new_experiment(name, parts, out, options, given["published"]))
        click.echo(f"run it:  {command_of(path)}")
        if not Path("Snakefile").is_file():
            click.echo("There is no Snakefile here: run it in a checkout of kdrbench, with your files in it.", err=True)
        if sentence := absent(parts):
            click.echo(sentence, err=True)
        return
    alone = {"--data-option": given["data_options"], "--published": given["published"], "parts": parts}
    if wrong := [word for word, value in alone.items() if value]:
        raise InputError(f"only an experiment takes {', '.join(wrong)}; this is a {kind}")
    if around and kind != "solver":
        raise InputError(f"--around {around} is for solvers; this is a {kind}")
    refuse_taken(kind, name)
    plugin, test = _write(out, render(kind, name, around))
    click.echo(f"check it: kdrbench check {plugin}\ntest it:  python -m pytest {test}  (after pip install pytest)")
    entry = _NEW[kind][1].format(name=name, path=plugin.as_posix())
    click.echo(f"run it, with this in a configuration:\n\n{entry}")


def _write(out: Path, texts: dict[str, str]) -> list[Path]:
    """Write files that are not there yet; ``InputError`` where one is."""
    paths = [out / file for file in texts]
    if there := [path for path in paths if path.exists()]:
        raise InputError(f"{there[0]} is there already; choose another name, or move it away")
    for path, text in zip(paths, texts.values(), strict=True):
        write_text(path, text)
        click.echo(f"written: {path}")
    return paths


def render(kind: str, name: str, around: str | None = None) -> dict[str, str]:
    """Return the plug-in and its test by file name; ``InputError`` unless the name can be that of a module.

    A solver may be one ``around`` an optimiser of somebody else's.
    """
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name):
        raise InputError(f"a plug-in is named by small letters, digits and '_', beginning with a letter; got {name!r}")
    replacements = {"plugin_name": name, "kind_name": _NEW[kind][0]}
    replacements["ClassName"] = "".join(map(str.capitalize, name.split("_")))
    stem = kind.replace("-", "_")

    def template(file: str) -> str:
        text = files("kdrbench.suite").joinpath("templates", f"{file}.txt").read_text(encoding="utf-8")
        for word, stands_for in replacements.items():
            text = text.replace(word, stands_for)
        return text

    plugin = template(f"{stem}_{around}" if around else stem)
    return {f"{name}.py": plugin, f"test_{name}.py": template("test") + template(f"test_{stem}")}


@click.command()
@click.argument("plugin")
@click.option("--kind", type=click.Choice(list(_NEW)), help="What it is, where the class does not show it.")
@click.option("--option", "options", multiple=True, help="An option of the plug-in, as name=value; may be repeated.")
@click.option("--time-limit", type=Number(0.1), default=60.0, show_default=True, help="Of a check, in s.")
@click.option("--out", type=FILE, help="Also write the findings as JSON; faults then leave the exit code 0.")
def check(plugin: str, kind: str | None, options: tuple[str, ...], time_limit: float, out: Path | None) -> None:
    """Run the contract of PLUGIN, a file, module:Class or name, on a small problem.

    Says what is wrong, and what to do; exit code 1 if something is.
    """
    from kdrbench.datasets.tables import table_of
    from kdrbench.suite.conformance import check as findings_of
    from kdrbench.suite.conformance import find_subject

    if table_of(plugin):
        raise InputError(
            f"{plugin} is a table, and PLUGIN a Python file, module:Class or name; a table is checked when it is read: "
            f"`kdrbench run {plugin} gaussian ism`"
        )
    subject = find_subject(plugin, kind, read_options(options))
    findings: list[dict[str, Any]] = []
    for finding in findings_of(subject, time_limit):
        findings.append(asdict(finding))
        click.echo(str(finding))
    faults = sum(bool(finding["fault"]) for finding in findings)
    if out is not None:
        report = {"plugin": plugin, "kind": subject.kind, "faults": faults, "findings": findings}
        write_text(out, json.dumps(report, indent=2) + "\n")
    kept = f"has {counted(faults, 'fault')}" if faults else "keeps the contract"
    click.echo(f"{plugin} {kept} of a {_NEW[subject.kind][0]}")
    sys.exit(1 if faults and out is None else 0)
