"""The commands: for people at a terminal, and, in :mod:`.workflow`, for the steps of the workflow that make runs.

Exit codes: 0, all is well; 1, what was asked for was done and the answer is bad (a check failed, a run ended without a
result); 2, something in the command or the configuration must be corrected, as one sentence says.
"""
