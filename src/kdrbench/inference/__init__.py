"""Is a learned projection real? Tests by refitting, intervals by resampling, for any estimator that learns one."""

from kdrbench.inference.atlas import Atlas, Optimum, atlas
from kdrbench.inference.components import TestedComponents, choose_n_components
from kdrbench.inference.permutation import PermutationTest, held_out_test, linear_time_hsic, permutation_test
from kdrbench.inference.resampling import BootstrapAngles, bootstrap_angles

__all__ = [
    "Atlas",
    "BootstrapAngles",
    "Optimum",
    "PermutationTest",
    "TestedComponents",
    "atlas",
    "bootstrap_angles",
    "choose_n_components",
    "held_out_test",
    "linear_time_hsic",
    "permutation_test",
]
