"""The systems of the benchmark, each a folder: how its experiments are checked, expanded to cells, run and recorded."""

from kdrbench.suite.systems.registry import STAGES, build_stage, stage_of, system_of, table_of

__all__ = ["STAGES", "build_stage", "stage_of", "system_of", "table_of"]
