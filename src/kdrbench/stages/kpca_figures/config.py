"""An experiment of the KPCA trick's figures: its schema, and the checks that a schema cannot make."""

from __future__ import annotations

from kdrbench.bench.stage import Config
from kdrbench.datasets.own import registry_of
from kdrbench.errors import ConfigError
from kdrbench.metric_learning import LEARNERS
from kdrbench.stages.kpca_trick.config import DEFAULT, check_names, check_training

# The data sets of Figure 2, whose first samples are as random as the others.
MADE_SETS = ("cone", "disc-and-ring")
LEADING, PLANES, SETTINGS, ALL_SETTINGS = 2, 3, 4, 5
# The keys that only some figures have: the figures that need each.
_NEEDED = {"learners": (LEADING,), "draws": (SETTINGS, ALL_SETTINGS)}

SCHEMA: Config = {
    "required": ["figure", "datasets", "training"],
    "properties": {
        "figure": {"enum": [LEADING, PLANES, SETTINGS, ALL_SETTINGS], "description": "its number in the paper"},
        "learners": {
            "type": "array",
            "items": {"enum": sorted(LEARNERS)},
            "minItems": 1,
            "uniqueItems": True,
            "description": "of Figure 2",
        },
        "training": {
            "type": "object",
            "required": [DEFAULT],
            # Figure 4 goes down to a quarter of them.
            "additionalProperties": {"type": "integer", "minimum": 8},
            "description": "number of training samples, by data set",
        },
        "draws": {"type": "integer", "minimum": 1, "description": "random draws of each setting, of Figures 4 and 5"},
    },
}


def check_experiment(place: str, experiment: Config, config: Config) -> None:
    """Raise ``ConfigError`` naming the key, the value and what is allowed, for the first fault of the experiment."""
    figure, registry = experiment["figure"], registry_of(config)
    for key, figures in _NEEDED.items():
        if (key in experiment) != (figure in figures):
            raise ConfigError(
                f"{place}.figure is {figure}, which {'does not use' if key in experiment else 'needs'} the key {key!r}"
            )
    if figure == LEADING:
        check_names(f"{place}.datasets", "data set of Figure 2", experiment["datasets"], MADE_SETS)
    check_names(f"{place}.training", "data set", experiment["training"], [DEFAULT, *registry])
    for name in experiment["datasets"]:
        check_training(place, registry[name], training_of(experiment, name))


def training_of(experiment: Config, dataset: str) -> int:
    """Return the number of training samples of a data set."""
    return int(experiment["training"].get(dataset, experiment["training"][DEFAULT]))
