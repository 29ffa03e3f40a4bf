"""Data sets by name: where they come from, how they are verified, parsed and standardised."""

from kdrbench.datasets import synthetic
from kdrbench.datasets.dataset import Dataset, check_dataset, load_prepared, save_prepared
from kdrbench.datasets.load import load_dataset
from kdrbench.datasets.registry import DatasetEntry, load_registry
from kdrbench.datasets.standardise import Standardiser

__all__ = [
    "Dataset",
    "DatasetEntry",
    "Standardiser",
    "check_dataset",
    "load_dataset",
    "load_prepared",
    "load_registry",
    "save_prepared",
    "synthetic",
]
