"""The safeguarded ISM, composed of four roles.

| role | what it does | module |
|---|---|---|
| explore | plain ISM steps by ISM's own rule; the best iterate is kept | ``solver`` |
| approach | on an approximation: ISM steps from gradients and one surrogate matrix held, extrapolated | ``approach`` |
| finish | limited-memory or trust-region Newton steps down to the tolerance | ``finish`` |
| escape | a step along negative curvature, where a saddle was reached; then finish again | ``finish`` |

``solver`` runs them in this order and owns the options. ``quadratic_model`` is what a Newton step minimises, and it
knows the smallest curvature.

A problem that is costly to evaluate offers an approximation: single precision, or a low-rank kernel matrix. Then the
exploration and the beginning of the approach use it, and second order is taken from it. What ends the search is always
exact. A plain :class:`~kdrbench.problems.Problem` offers none, and all four roles use the problem itself.
"""
