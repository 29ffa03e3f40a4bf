"""Whether a plug-in keeps its contract: each fault with advice."""

from kdrbench.conformance.check import check
from kdrbench.conformance.common import Finding
from kdrbench.conformance.subject import KINDS, Subject, find_subject

__all__ = ["KINDS", "Finding", "Subject", "check", "find_subject"]
