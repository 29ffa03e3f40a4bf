"""What is learned from: each paradigm turns data into problems for a solver."""

from kdrbench.paradigms.alternation import Alternation, Clustering, Guidance, Round
from kdrbench.paradigms.embedding import cluster_rows, degree_scaling, spectral_embedding
from kdrbench.paradigms.guidance import expert_scores, given_labellings
from kdrbench.paradigms.supervised import regression_problem, supervised_problem

__all__ = [
    "Alternation",
    "Clustering",
    "Guidance",
    "Round",
    "cluster_rows",
    "degree_scaling",
    "expert_scores",
    "given_labellings",
    "regression_problem",
    "spectral_embedding",
    "supervised_problem",
]
