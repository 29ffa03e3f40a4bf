"""The passes over the data where these are: arrays of another library, such as tensors of torch on a GPU.

The features, and what has as many rows, stay on their device. Projections, directions, gradients, matrices of d x d and
single numbers cross, and the small problems of solvers are numpy's.
"""

from kdrbench.errors import InputError
from kdrbench.evaluation.device.base import DeviceEvaluator
from kdrbench.evaluation.device.factored import DeviceFactored
from kdrbench.evaluation.device.panels import DevicePanels
from kdrbench.problems import TraceObjective

__all__ = ["DeviceEvaluator", "DeviceFactored", "DevicePanels", "device_evaluator"]


def device_evaluator(name: str, objective: TraceObjective, *, single_precision: bool = False) -> DeviceEvaluator:
    """Return the evaluator on the features' device that has the name of one for arrays of numpy.

    Raises ``InputError`` where there is none of that name.
    """
    if name == "factored":
        return DeviceFactored(objective)
    if name != "panels":
        raise InputError(
            f"evaluator {name!r} is for arrays of numpy; for those of a device there are auto, factored and panels"
        )
    return DevicePanels(objective, single_precision=single_precision)
