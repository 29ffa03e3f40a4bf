"""An experiment of low-rank kernel learning and the definitions of its methods: schemas, and checks beyond them."""

from __future__ import annotations

from typing import Any

from kdrbench.bench.stage import Config
from kdrbench.datasets.own import registry_of
from kdrbench.datasets.registry import DatasetEntry
from kdrbench.errors import ConfigError, unknown_name

METHODS = "low_rank_methods"
_COUNT = {"type": "integer", "minimum": 0}
SCHEMA: Config = {
    "required": ["datasets", "constraints", "methods", "runs"],
    "properties": {
        "constraints": {
            "type": "array",
            "items": _COUNT,
            "minItems": 1,
            "uniqueItems": True,
            "description": "numbers of constraints; 0 judges the kernel as it is",
        },
        "methods": {"$ref": "#/$defs/names", "description": f"of those that {METHODS} defines"},
        "runs": {"type": "integer", "minimum": 1, "description": "draws of the constraints"},
        "draw": {
            "$ref": "#/$defs/name",
            "description": "name by which the draws are seeded, the same for the same draws; that of the data set if "
            "nothing is said",
        },
    },
}
_METHOD = {
    "type": "object",
    "additionalProperties": False,
    "required": ["rule"],
    "properties": {
        "divergence": {"enum": ["burg", "von_neumann"]},
        "solver": {"enum": ["cyclic", "newton"]},
        "step": {"enum": ["own_range", "symmetric", "exact"], "description": "of DefiniteBoost"},
        "rule": {
            "enum": ["published", "converged"],
            "description": "stop when the duals come to rest, or when the KKT residual is small too",
        },
        "max_sweeps": {"type": "integer", "minimum": 1},
    },
}
SECTIONS: dict[str, Any] = {
    METHODS: {"type": "object", "propertyNames": {"$ref": "#/$defs/name"}, "additionalProperties": _METHOD},
}


def check_methods(config: Config) -> None:
    """Raise ``ConfigError`` for the first method that is neither one of a divergence nor DefiniteBoost."""
    for name, method in config.get(METHODS, {}).items():
        if ("step" in method) == ("divergence" in method) or ("solver" in method) != ("divergence" in method):
            raise ConfigError(
                f"config: {METHODS}.{name} must hold either divergence and solver, or the step of DefiniteBoost; it "
                f"holds {', '.join(method)}"
            )


def check_experiment(place: str, experiment: Config, config: Config) -> None:
    """Raise ``ConfigError`` naming the key, the value and what is allowed, for the first fault of the experiment."""
    registry, methods = registry_of(config), config.get(METHODS, {})
    for name in experiment["methods"]:
        if name not in methods:
            raise ConfigError(f"{place}.methods: {unknown_name('method', name, sorted(methods))}")
    for name in experiment["datasets"]:
        _check_dataset(place, registry[name], max(experiment["constraints"]))


def _check_dataset(place: str, entry: DatasetEntry, most: int) -> None:
    if not entry.classes:
        raise ConfigError(f"{place}.datasets: data set {entry.name!r} has no labels; constraints come from them")
    pairs = entry.n_samples * (entry.n_samples - 1) // 2
    if most > pairs:
        raise ConfigError(
            f"{place}.constraints asks for {most}; the {entry.n_samples} samples of {entry.name!r} have {pairs} pairs, "
            "so it must be at most that"
        )
