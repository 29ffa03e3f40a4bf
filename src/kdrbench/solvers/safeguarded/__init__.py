"""The safeguarded ISM, one module for each of its roles.

``solver`` runs the roles in order: explore with plain ISM, approach, finish, escape.
``approach`` takes ISM steps from exact gradients and one held surrogate matrix; ``extrapolation`` speeds them up.
``correction`` makes an approximate problem exact to first order, so that few exact gradients are needed.
``blended`` takes first order from an exact problem and second order from an approximation of it.
``finish`` takes trust-region Newton steps and escapes from saddles; ``quadratic_model`` is what they minimise.
"""
