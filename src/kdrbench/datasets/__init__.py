"""Data sets by name: where they come from, how they are verified, parsed and standardised."""

from kdrbench.datasets import synthetic
from kdrbench.datasets.dataset import Dataset, Labelling, Standardiser, check_dataset
from kdrbench.datasets.load import load_dataset
from kdrbench.datasets.own import entry_of, load_own, registry_of
from kdrbench.datasets.prepared import PreparedFolder, load_defined, load_prepared, save_prepared
from kdrbench.datasets.registry import DatasetEntry, SourceFile, load_registry

__all__ = [
    "Dataset",
    "DatasetEntry",
    "Labelling",
    "PreparedFolder",
    "SourceFile",
    "Standardiser",
    "check_dataset",
    "entry_of",
    "load_dataset",
    "load_defined",
    "load_own",
    "load_prepared",
    "load_registry",
    "registry_of",
    "save_prepared",
    "synthetic",
]
