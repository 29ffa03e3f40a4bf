"""What reports ask of the configuration of IKDR."""

from kdrbench.bench.config import NO_KERNEL
from kdrbench.bench.experiment import ALTERNATIVE, EIGENGAP, Config, is_scaling, rows_of, runs_of, split_of

__all__ = ["ALTERNATIVE", "EIGENGAP", "NO_KERNEL", "Config", "is_scaling", "rows_of", "runs_of", "split_of"]
