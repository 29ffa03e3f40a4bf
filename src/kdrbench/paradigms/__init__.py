"""What is learned from: each paradigm turns data into problems for a solver."""

from kdrbench.paradigms.alternation import ClusteringTask
from kdrbench.paradigms.embedding import Alternation, cluster_rows, degree_scaling, spectral_embedding
from kdrbench.paradigms.reduced import Clustering, Learned, ReducedObjective
from kdrbench.paradigms.task import (
    PARADIGMS,
    SupervisedTask,
    Task,
    build_task,
    expert_scores,
    given_labellings,
    learn_from_all,
    supervised_problem,
)

__all__ = [
    "PARADIGMS",
    "Alternation",
    "Clustering",
    "ClusteringTask",
    "Learned",
    "ReducedObjective",
    "SupervisedTask",
    "Task",
    "build_task",
    "cluster_rows",
    "degree_scaling",
    "expert_scores",
    "given_labellings",
    "learn_from_all",
    "spectral_embedding",
    "supervised_problem",
]
