"""The systems of the benchmark, each a folder: how its experiments are checked, expanded to cells, run and recorded."""

from kdrbench.suite.systems.registry import SYSTEMS, build_system, system_name, system_of, table_of

__all__ = ["SYSTEMS", "build_system", "system_name", "system_of", "table_of"]
