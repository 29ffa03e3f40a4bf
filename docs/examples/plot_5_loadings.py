"""
Which features matter, and how stable that is
==============================================

The thirteen measurements of 178 wines again. The number of components and the bandwidth are chosen by cross validation.
Then the choice is fitted on bootstrap samples, and each fit is rotated to the first one.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_wine

from kdrbench.displays import EmbeddingDisplay, LoadingsDisplay
from kdrbench.estimators import InterpretableKDRCV

wine = load_wine(as_frame=True)
model = InterpretableKDRCV(n_components=[1, 2], random_state=0).fit(wine.data, wine.target)
print(f"{model.best_params_}: accuracy {model.best_score_:.3f}, the best of {len(model.cv_results_['params'])}")

# %%
# The loadings
# ------------
# A line holds 95 % of the resamples. A feature whose line crosses zero may not count at all.

LoadingsDisplay.from_estimator(model, wine.data, wine.target, n_resamples=50, random_state=0)

# %%
# The wines
# ---------
# Points are samples, with a colour and a symbol for each cultivar.

EmbeddingDisplay.from_estimator(model, wine.data, wine.target_names[wine.target])
plt.show()
