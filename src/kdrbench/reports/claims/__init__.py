"""The papers' claims that can be decided from records, each by a function of its own."""

from kdrbench.reports.claims.claim import Claim, Decision, Found, Records
from kdrbench.reports.claims.page import claims_html, claims_json, decided, write_claims
from kdrbench.reports.claims.register import CLAIMS

__all__ = [
    "CLAIMS",
    "Claim",
    "Decision",
    "Found",
    "Records",
    "claims_html",
    "claims_json",
    "decided",
    "write_claims",
]
