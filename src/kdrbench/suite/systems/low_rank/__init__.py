"""Low-rank kernel learning: methods on random draws of constraints, for several numbers of them."""
