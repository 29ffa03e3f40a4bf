"""Problems of whole data sets, whose solutions are known."""

from kdrbench.datasets import Standardiser, load_dataset
from kdrbench.kernels import build_kernel
from kdrbench.paradigms import supervised_problem


def problem_on(name, n_components, kernel):
    """The supervised problem of all rows, standardised, with the kernel's usual options."""
    dataset = load_dataset(name)
    features = Standardiser.fit(dataset.features).transform(dataset.features)
    return supervised_problem(features, dataset.labels, build_kernel({"family": kernel}, features, n_components))
