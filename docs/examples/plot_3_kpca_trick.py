"""
The KPCA trick on two toy sets
==============================

Metric learners find linear maps. Where no line separates the classes, the KPCA trick runs them, unchanged, on
coordinates of feature vectors.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_circles, make_moons
from sklearn.neighbors import KNeighborsClassifier

from kdrbench.estimators import DNE, KPCATrick

SETS = {
    "two moons": make_moons(400, noise=0.15, random_state=0),
    "two circles": make_circles(400, noise=0.08, factor=0.5, random_state=0),
}
COLOURS = ["#0072b2", "#d55e00"]


def draw(axes, points, labels, title):
    """Draw the first two coordinates."""
    for label, (colour, marker) in enumerate(zip(COLOURS, "o^", strict=True)):
        axes.scatter(*points[labels == label, :2].T, s=12, c=colour, marker=marker, alpha=0.7)
    axes.set_title(title, fontsize=10)
    axes.set_xticks([])
    axes.set_yticks([])


# %%
# From the left: the samples, then those that DNE was not fitted to, in its linear map and in that of its kernel
# version. The kernel is chosen from the labels by alignment. With one dimension, the linear map loses what the kernel's
# keeps.

figure, grid = plt.subplots(2, 3, figsize=(9, 5.6), layout="constrained")
for row, (name, (X, y)) in zip(grid, SETS.items(), strict=True):
    draw(row[0], X, y, name)
    linear = DNE(n_components=1).fit(X[:200], y[:200])
    kernel = KPCATrick(DNE(n_components=1)).fit(X[:200], y[:200])
    for axes, model, title in ((row[1], linear, "DNE"), (row[2], kernel, "kernel DNE")):
        neighbours = KNeighborsClassifier(1).fit(model.transform(X[:200]), y[:200])
        mapped = model.transform(X[200:])
        accuracy = neighbours.score(mapped, y[200:])
        for label, colour in enumerate(COLOURS):
            axes.hist(mapped[y[200:] == label, 0], bins=30, color=colour, alpha=0.7)
        axes.set_title(f"{title}, one dimension: 1-NN {accuracy:.0%}", fontsize=10)
        axes.set_xticks([])
        axes.set_yticks([])
        print(f"{name}, {title}: {accuracy:.3f}")
plt.show()
