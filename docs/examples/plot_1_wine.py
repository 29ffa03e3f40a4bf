"""
Wine in two dimensions, and which measurements say so
======================================================

The data are thirteen measurements of 178 wines from three cultivars. Supervised kernel dimension reduction finds the
two directions in which a Gaussian kernel says most about the cultivar. A direction is a sum of measurements, so its
entries (loadings) say which of them matter.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from kdrbench.estimators import InterpretableKDR

wine = load_wine()
model = make_pipeline(StandardScaler(), InterpretableKDR(n_components=2))
projected = model.fit_transform(wine.data, wine.target)
reduction = model[-1]
print(f"{reduction.status_}: F = {reduction.objective_:.2f}, stationarity {reduction.certificate_.stationarity:.0e}")

# %%
# The wines
# ---------
# The three cultivars lie apart, along one direction and then the other.

COLOURS = ["#0072b2", "#d55e00", "#009e73"]
figure, axes = plt.subplots(figsize=(6.4, 4.4), layout="constrained")
for cultivar, (colour, marker) in enumerate(zip(COLOURS, "os^", strict=True)):
    axes.scatter(
        *projected[wine.target == cultivar].T, s=22, c=colour, marker=marker, alpha=0.8, label=f"cultivar {cultivar}"
    )
axes.set(xlabel="first component", ylabel="second component")
axes.legend(frameon=False)

# %%
# The loadings
# ------------
# A column of W has length one. Signs are arbitrary: a direction may be turned around. Measurements are sorted by their
# squared loadings, in which a component counts by its share of the objective.

order = np.argsort(reduction.explained_objective_ratio_ @ reduction.components_**2)
names = np.array(
    [name.replace("od280/od315_of_diluted_wines", "od280/od315").replace("_", " ") for name in wine.feature_names]
)
figure, axes = plt.subplots(figsize=(6.4, 4.6), layout="constrained")
places = np.arange(len(names))
for component, (offset, colour) in enumerate(zip((0.2, -0.2), COLOURS[:2], strict=True)):
    axes.barh(
        places + offset, reduction.components_[component][order], 0.38, color=colour, label=f"component {component + 1}"
    )
axes.set_yticks(places, names[order])
axes.axvline(0, color="0.3", linewidth=0.8)
axes.set_xlabel("loading")
axes.legend(frameon=False)
plt.show()
