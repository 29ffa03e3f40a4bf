"""What is learned from: each paradigm turns data into problems for a solver."""

from kdrbench.paradigms.alternation import Alternation, ClusteringTask, FirstStep
from kdrbench.paradigms.embedding import Guidance, cluster_rows, degree_scaling, spectral_embedding
from kdrbench.paradigms.reduced import Clustering, Learned, ReducedObjective, Round
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
    "FirstStep",
    "Guidance",
    "Learned",
    "ReducedObjective",
    "Round",
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
