"""Sets that ship inside scikit-learn."""

from __future__ import annotations

from kdrbench.datasets.parsers.parsed import Parsed


def bundled_wine() -> Parsed:
    """Read scikit-learn's copy of UCI Wine."""
    from sklearn.datasets import load_wine

    bunch = load_wine()
    return Parsed(bunch.data, [str(bunch.target_names[code]) for code in bunch.target], bunch.feature_names)


def bundled_wdbc() -> Parsed:
    """Read scikit-learn's copy of the diagnostic Wisconsin breast cancer set."""
    from sklearn.datasets import load_breast_cancer

    bunch = load_breast_cancer()
    labels = [str(bunch.target_names[code]) for code in bunch.target]
    return Parsed(bunch.data, labels, [str(name) for name in bunch.feature_names])


def bundled_iris() -> Parsed:
    """Read scikit-learn's copy of Iris."""
    from sklearn.datasets import load_iris

    bunch = load_iris()
    return Parsed(bunch.data, [str(bunch.target_names[code]) for code in bunch.target], bunch.feature_names)
