"""The contract of results: small runs of every component, whose numbers are stored with the revisions they have.

See ``docs/measuring.md``, "When results change".
"""
