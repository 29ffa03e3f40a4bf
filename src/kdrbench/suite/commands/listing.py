"""`kdrbench list`: what there is."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import click
import numpy as np

from kdrbench.baselines import BASELINES
from kdrbench.datasets import load_registry
from kdrbench.errors import KdrbenchError
from kdrbench.kernels import FAMILIES, Combination, build_kernel
from kdrbench.methods import load_method
from kdrbench.metric_learning import LEARNERS
from kdrbench.plugins import declared_places
from kdrbench.solvers import CONTROLS
from kdrbench.solvers.registry import METHODS, NAMED, in_words
from kdrbench.suite.commands.options import FILE, aligned, as_json, read_configs
from kdrbench.suite.conformance.subject import registered_names

_KINDS = ("solvers", "controls", "kernels", "datasets", "baselines", "metric-learners", "experiments")


@click.command("list")
@click.argument("kinds", nargs=-1, type=click.Choice(_KINDS))
@click.option(
    "--config", "configs", type=FILE, multiple=True, help="Whose experiments are listed (default: config.yaml here)."
)
@as_json
def list_names(kinds: tuple[str, ...], configs: tuple[Path, ...], as_json: bool) -> None:
    """List solvers, controls, kernels, data sets, baselines, metric learners, experiments; or some KINDS of these."""
    names_by_kind = {kind: names_of(kind, configs) for kind in kinds or _KINDS}
    if as_json:
        click.echo(json.dumps(names_by_kind))
        return
    for kind, names in names_by_kind.items():
        lines = [f"  {line}" for line in aligned([*names.items()] or [("none", "")], 2)]
        click.echo("\n".join([f"{kind}:", *lines]))


def names_of(kind: str, configs: tuple[Path, ...]) -> dict[str, str]:
    """Return the names of a kind with a line on each."""
    if kind == "experiments":
        there = configs or tuple(path for path in (Path("config.yaml"),) if path.is_file())
        titled = read_configs(there).get("experiments")
        items = titled.items() if isinstance(titled, dict) else ()
        return {str(name): str(one.get("title", "")) if isinstance(one, dict) else "" for name, one in items}
    if kind == "datasets":
        registry = load_registry()
        return {name: registry[name].title if name in registry else "" for name in registered_names("dataset")}
    if kind in ("solvers", "controls"):
        chosen = {name: one for name, one in NAMED.items() if (one["method"] in CONTROLS) == (kind == "controls")}
        named = {name: f"{in_words(one)}: {_summary('solver', one['method'])}" for name, one in chosen.items()}
        own = declared_places("solver") if kind == "solvers" else ()
        return named | {name: _summary("solver", name) for name in own}
    return {name: _summary(kind.removesuffix("s"), name) for name in registered_names(kind.removesuffix("s"))}


def _summary(kind: str, name: str) -> str:
    """Return the first line of a method's documentation; of an installed one that cannot be loaded, why."""
    registered: dict[str, Any] = {"solver": METHODS, "baseline": BASELINES, "metric-learner": LEARNERS}
    method: type
    try:
        if kind == "kernel" and name in FAMILIES:
            samples = np.arange(16.0).reshape(16, 1)
            method = Combination if name == "combination" else type(build_kernel({"family": name}, samples, 1))
        else:
            method = load_method(kind.removeprefix("metric-"), name, registered.get(kind, {}), ())
    except KdrbenchError as error:
        return str(error)
    # Without the markup of documentation: `names` and :math:`formulas`.
    return re.sub(r":\w+:(?=`)|`", "", (method.__doc__ or "").strip().split("\n")[0])
