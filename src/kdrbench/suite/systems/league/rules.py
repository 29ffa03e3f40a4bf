"""The rules by which methods play, and the names of the judges; what a configuration needs to know of the league.

Rules, as optimisation benchmarks have them:

``fixed``   the published or default parameters of the method.
``tuned``   the best of these and of the method's grid by an inner cross validation over the training rows. Candidates
            are scored by the mean of both accuracies; their time counts as the method's.
"""

FIXED, TUNED = "fixed", "tuned"
RULES = (FIXED, TUNED)
INNER_FOLDS = 3
# Columns of the scores, each higher where the projection is better, with their names in sentences.
JUDGES = {
    "knn_accuracy": "k-NN accuracy",
    "linear_accuracy": "linear accuracy",
    "distance_correlation": "distance correlation",
}
