"""Whether a plug-in keeps its contract, said in words, with how to mend it."""

from kdrbench.conformance.check import check
from kdrbench.conformance.common import Finding
from kdrbench.conformance.subject import KINDS, Subject, find_subject

__all__ = ["KINDS", "Finding", "Subject", "check", "find_subject"]
