"""Learners of Mahalanobis distances, their kernel versions by the KPCA trick, and the choice of the kernel."""

from kdrbench.metric_learning.descent import LMNN, NCA, lmnn_objective
from kdrbench.metric_learning.dne import DNE, dne_weights, kdne
from kdrbench.metric_learning.kernel_pca import (
    AnyKernel,
    KernelMap,
    KPCATrick,
    SamplePairs,
    drawn_landmarks,
    fit_in_coordinates,
    fit_on_landmarks,
    kernel_pca,
    landmark_pca,
    scaled_gaussian,
)
from kdrbench.metric_learning.learner import LEARNERS, Learner, build_learner, learn_map
from kdrbench.metric_learning.neighbours import nearest, predict_by_neighbours, squared_distances
from kdrbench.metric_learning.selection import (
    Alignment,
    aligned_kernel,
    best_of,
    cross_validated_kernel,
    gaussian_grid,
    polynomial_grid,
    stratified_folds,
)

__all__ = [
    "DNE",
    "LEARNERS",
    "LMNN",
    "NCA",
    "Alignment",
    "AnyKernel",
    "KPCATrick",
    "KernelMap",
    "Learner",
    "SamplePairs",
    "aligned_kernel",
    "best_of",
    "build_learner",
    "cross_validated_kernel",
    "dne_weights",
    "drawn_landmarks",
    "fit_in_coordinates",
    "fit_on_landmarks",
    "gaussian_grid",
    "kdne",
    "kernel_pca",
    "landmark_pca",
    "learn_map",
    "lmnn_objective",
    "nearest",
    "polynomial_grid",
    "predict_by_neighbours",
    "scaled_gaussian",
    "squared_distances",
    "stratified_folds",
]
