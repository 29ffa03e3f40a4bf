"""Orthonormal matrices: the Stiefel and Grassmann manifolds, curvature and certificates."""
