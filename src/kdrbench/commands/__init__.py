"""The commands for people at a terminal; those of the workflow's steps stand in :mod:`kdrbench.cli`.

Exit codes: 0, all is well; 1, what was asked for was done and the answer is bad (a check failed, a run ended without a
result); 2, something in the command or the configuration is to be mended, said in one sentence.
"""
