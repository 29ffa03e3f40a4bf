"""Sweeps as machine code, made by numba: the same steps as those of numpy. Only :mod:`..inner_loop` imports these."""
