"""Figures 2 to 5 of the KPCA trick: what their runs compute."""
