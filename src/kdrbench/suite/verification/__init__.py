"""A second opinion on a record: every stored result computed again from the data, by code of its own.

Nothing here imports kernels, problems, evaluators, solvers or paradigms of kdrbench: their faults are not repeated.
"""
