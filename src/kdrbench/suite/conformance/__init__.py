"""Whether a plug-in keeps its contract: each fault with advice."""

from kdrbench.suite.conformance.check import Finding, check
from kdrbench.suite.conformance.subject import KINDS, Subject, find_subject

__all__ = ["KINDS", "Finding", "Subject", "check", "find_subject"]
